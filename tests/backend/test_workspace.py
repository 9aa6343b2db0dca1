"""Gradients in memory that a C caller provides: the same bits, and no memory from the system while there is room."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from adc.backend.jit import engine
from adc.backend.optimize import optimize
from adc.backend.support import contexts
from adc.backend.support.workspace import CONTEXT_BYTES
from adc.backend.target import host
from adc.cli import main

PROGRAMS = {
    "heat": """
import numpy as np
def heat(u0: "f64[:, ::1]", c: "f64", n: "i64"):
    u = u0.copy()
    for _ in range(n):
        w = u.copy()
        for i in range(1, u.shape[0] - 1):
            for j in range(u.shape[1]):
                u[i, j] = w[i, j] + c * np.sin(w[i - 1, j] - 2 * w[i, j] + w[i + 1, j])
    return np.sum(u * u)
""",
    "phases": """
import numpy as np
def grown(u, k):
    v = np.zeros((k * u.shape[0], u.shape[1]))
    for i in range(v.shape[0]):
        for j in range(u.shape[1]):
            v[i, j] = np.sin(u[i // k, j] * (i + 1))
    return v
def phases(u0: "f64[:, ::1]", c: "f64", n: "i64"):
    s = c * np.sum(np.exp(-grown(u0, 5)))
    for t in range(n):
        small = grown(u0[:3], 2)
        s += np.sum(small * small) * c
        large = grown(u0, 3)
        s += np.sum(large * np.sin(large * t))
    return s * np.sum(grown(u0, 7) ** 2)
""",
}
MAIN = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "NAME.h"
static long taken = 0;
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
void *malloc(size_t n) { taken += 1; return __libc_malloc(n); }
void *calloc(size_t k, size_t n) { taken += 1; return __libc_calloc(k, n); }
static int small(void) {
  double u[1] = {0.5}, du[1], value;
  for (int n = 0; n < 400; n = 3 * n + 1) {
    int64_t bytes;
    if (NAME_grad_workspace_bytes(1, 1, 0.1, n, &bytes)) return 1;
    bytes += bytes / 4 + 4096;
    char *memory = __libc_malloc(bytes);
    long before = taken;
    if (NAME_grad_in(memory, bytes, u, 1, 1, 0.1, n, du, &value)) return 2;
    if (taken != before) return 3;
    free(memory);
  }
  return 0;
}
int main(void) {
  if (small()) return 10 + small();
  static double u[30 * 20], du[3][30 * 20], value[3];
  for (int i = 0; i < 600; i++) u[i] = (i % 17) * 0.1;
  int64_t bytes;
  int64_t huge[] = {(int64_t)1 << 32, (int64_t)1 << 40, (int64_t)1 << 61, INT64_MAX};
  for (int i = 0; i < 4; i++)  // a product that wraps around is no size
    if (NAME_grad_workspace_bytes(huge[i], huge[i], 0.1, 12, &bytes) != 4) return 9;
  if (NAME_grad_workspace_bytes(30, 20, 0.1, 12, &bytes)) return 1;
  bytes += bytes / 4 + 4096;
  char *memory = __libc_malloc(bytes + 1);
  memset(memory, 0x5a, bytes + 1);
  if (NAME_grad(u, 30, 20, 0.1, 12, du[0], &value[0])) return 2;
  long before = taken;
  if (NAME_grad_in(memory, bytes, u, 30, 20, 0.1, 12, du[1], &value[1])) return 3;
  if (NAME_grad_in(memory + 1, bytes, u, 30, 20, 0.1, 12, du[1], &value[1])) return 3;
  long inside = taken - before;
  for (int64_t less = 0; less < bytes; less += 1 + bytes / 50) {
    if (NAME_grad_in(memory, less, u, 30, 20, 0.1, 12, du[2], &value[2])) return 4;
    if (memcmp(du[0], du[2], sizeof du[0]) || value[0] != value[2]) return 5;
  }
  if (NAME_grad_in(0, bytes, u, 30, 20, 0.1, 12, du[2], &value[2])) return 6;
  if (memcmp(du[0], du[1], sizeof du[0]) || memcmp(du[0], du[2], sizeof du[0])) return 7;
  if (value[0] != value[1] || value[0] != value[2]) return 8;
  printf("%ld\\n", inside);
  return 0;
}
"""
needs_glibc = pytest.mark.skipif(shutil.which("cc") is None or sys.platform != "linux", reason="needs cc and glibc")


@needs_glibc
@pytest.mark.parametrize("options", [[], ["--checkpoint", "revolve:3"], ["--memory", "400kB"]], ids=lambda o: o[-1:])
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients(name: str, options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / f"{name}.py"
    source.write_text(PROGRAMS[name])
    made = ["-o", str(tmp_path / f"{name}.o"), "--no-parallel", *options]
    assert main(["compile", f"{source}:{name}", *made]) == 0
    flags = capsys.readouterr().out.split(f"{name}.o ")[-1].split()
    (tmp_path / "main.c").write_text(MAIN.replace("NAME", name))
    subprocess.run(["cc", "-Wall", "-Werror", "main.c", f"{name}.o", *flags, "-o", "main"], cwd=tmp_path, check=True)
    run = subprocess.run([str(tmp_path / "main")], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "0\n")


@needs_glibc
@pytest.mark.parametrize(
    ("name", "expected"),
    [("workspace", "workspace1"), ("workspace_bytes", "workspace1"), ("w", "workspace"), ("workspaces", "workspace")],
)
def test_names(name: str, expected: str, tmp_path: Path) -> None:
    """Parameters may be called as those for the memory would be."""
    source = tmp_path / "named.py"
    source.write_text(
        "import numpy as np\n"
        f'def named(u: "f64[::1]", {name}: "f64", n: "i64"):\n'
        "    for _ in range(n):\n"
        f"        u = np.sin(u * {name})\n"
        "    return np.sum(u)\n"
    )
    assert main(["compile", f"{source}:named", "-o", str(tmp_path / "named.o")]) == 0
    assert f"void *{expected}, int64_t {expected}_bytes" in (tmp_path / "named.h").read_text()
    subprocess.run(["cc", "-Wall", "-Werror", "-c", "-xc", "named.h", "-o", "checked"], cwd=tmp_path, check=True)


# The allocator itself -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def functions() -> dict[str, Callable[..., int]]:
    text = f'target triple = "{host().triple}"\n{contexts.support_ir("external", linux=sys.platform == "linux")}'
    names = ("adc_context_in", "adc_context_give", "adc_alloc", "adc_free", "adc_grow")
    library = engine().load(optimize(text, host(), 1).object_code, names)
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    types = {
        "adc_context_in": (pointer, pointer, number),
        "adc_context_give": (None, pointer),
        "adc_alloc": (pointer, pointer, number),
        "adc_free": (None, pointer, pointer),
        "adc_grow": (pointer, pointer, pointer, number),
    }
    found = {name: ctypes.CFUNCTYPE(*types[name])(library.address(name)) for name in names}
    found["keep"] = library  # type: ignore[assignment]
    return found


def workspace(size: int) -> tuple[ctypes.Array[ctypes.c_char], int]:
    memory = ctypes.create_string_buffer(size)
    return memory, ctypes.addressof(memory)


def test_random_requests(functions: dict[str, Callable[..., int]]) -> None:
    """Nothing overlaps, contents stay, what is given back can be had again, and what has no room is had elsewhere."""
    import random

    rng = random.Random(0)
    for size in (0, 100, CONTEXT_BYTES + 400, 20_000, 100_001):
        memory, base = workspace(size)
        context = functions["adc_context_in"](base + size % 7, size - size % 7)
        live: dict[int, tuple[int, int]] = {}
        outside = 0
        for step in range(2000):
            if live and rng.random() < 0.5:
                data = rng.choice(list(live))
                length, mark = live.pop(data)
                assert ctypes.string_at(data, length) == bytes([mark]) * length
                if rng.random() < 0.2:
                    more = length + rng.randrange(1000)
                    moved = functions["adc_grow"](context, data, more)
                    assert ctypes.string_at(moved, length) == bytes([mark]) * length
                    data = moved
                functions["adc_free"](context, data)
            else:
                length, mark = rng.choice([0, 1, 63, 64, 65, 500, 3000]), step % 251
                data = functions["adc_alloc"](context, length)
                assert data and data % 64 == 0
                assert all(data + length <= other or other + n <= data for other, (n, _) in live.items() if n)
                ctypes.memset(data, mark, length)
                live[data] = length, mark
                outside += not base <= data < base + size
        assert outside if size < 20_000 else True
        for data in live:
            functions["adc_free"](context, data)
        if size > 2 * CONTEXT_BYTES + 1000:  # it is one piece again
            whole = size - CONTEXT_BYTES - 1000
            data = functions["adc_alloc"](context, whole)
            assert base <= data and data + whole <= base + size
        functions["adc_context_give"](context)
        assert len(memory) == size


@pytest.mark.parametrize("holes", [0, 1, 1000])
def test_many_small_ones(holes: int, functions: dict[str, Callable[..., int]]) -> None:
    """A tape's blocks are freed in the opposite order. Were all looked at for each, this would take minutes."""
    memory, base = workspace(40_000_000)
    context = functions["adc_context_in"](base, len(memory))
    small = [functions["adc_alloc"](context, 64) for _ in range(2 * holes)]
    for data in small[::2]:
        functions["adc_free"](context, data)
    live = [functions["adc_alloc"](context, 128) for _ in range(300_000)]
    inside = [base <= data < base + len(memory) for data in live]
    assert sum(inside) > 200_000
    assert functions["adc_alloc"](context, 1) in (*small[::2], 0) or not holes
    for data in reversed(live):
        functions["adc_free"](context, data)
    assert base <= functions["adc_alloc"](context, 38_000_000) < base + len(memory)
    functions["adc_context_give"](context)
