"""Code for other systems: for aarch64 it runs under qemu with the same bits as on x86-64; for macOS it is an object
that needs only symbols that macOS has."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from adc.backend import target
from adc.cli import main

ARM, MACOS, X86 = "aarch64-linux-gnu", "arm64-apple-macosx", "x86_64-linux-gnu"
COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
needs_qemu = pytest.mark.skipif(
    EMULATOR is None or shutil.which(COMPILER) is None, reason="no qemu-user-static or no gcc-aarch64-linux-gnu"
)
PROGRAM = """\
import numpy as np
from adc import jit_grad


@jit_grad(argnums=(0, 1))
def heat(u: "f64[:, ::1]", r: "f64", steps: "i64"):
    v = u.copy()
    for _ in range(steps):
        w = v.copy()
        w[1:-1, 1:-1] += r * (v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2] - 4.0 * v[1:-1, 1:-1])
        v = w
    return np.sum(np.exp(-v) * np.sin(v) + np.tanh(v) * np.log(1.0 + v * v) + np.cos(v) ** 1.5)


@jit_grad
def mixed(x: "f32[:]", a: "f64[:, ::1]", k: "i64"):
    y = x[::-1].copy()
    y[1:] += np.exp(x[:-1]) * x[k]
    s = np.sort(a @ a.T, axis=1)
    return np.sum(y) + s[0, -1] * k
"""
C = """\
#include <stdio.h>
#include "both.h"
static double u[64 * 50], u_grad[64 * 50], a[12];
static float x[21], x_grad[21];
int main(void) {
    double value, r_grad;
    for (int k = 0; k < 64 * 50; k++) u[k] = 0.001 * k - 0.0000003 * k * k;
    for (int k = 0; k < 12; k++) a[k] = 1.0 / (k + 1);
    for (int k = 0; k < 21; k++) x[k] = 0.3f * k - 0.02f * k * k;
    for (int threads = 1; threads <= 3; threads += 2) {
        both_set_threads(threads);
        if (heat_grad(u, 64, 50, 0.2, 9, u_grad, &value, &r_grad)) return 1;
        printf("%a %a", value, r_grad);
        for (int k = 0; k < 64 * 50; k += 7) printf(" %a", u_grad[k]);
        printf("\\n");
    }
    if (mixed_grad(x, 21, 1, a, 4, 3, 3, x_grad, &value)) return 2;
    printf("%a", value);
    for (int k = 0; k < 21; k++) printf(" %a", x_grad[k]);
    int status = mixed(x, 21, 1, a, 4, 3, 21, &value);
    printf("\\n%d %s\\n", status, both_message());
    return 0;
}
"""


SMALL = """\
import numpy as np
from adc import prange

def waves(x: "f64[:]", n: "i64"):
    y = x.copy()
    for i in prange(n):
        y[i] = np.sin(x[i]) * y[i] ** 0.3
    return np.sum(y)
"""


def built(out: Path, program: str, functions: str, *options: str) -> Path:
    out.with_suffix(".py").write_text(program)
    assert main(["compile", f"{out.with_suffix('.py')}:{functions}", "-o", str(out), *options]) == 0
    return out


def linked(folder: Path, triple: str, compiler: str, *options: str) -> Path:
    """A program for a system."""
    folder.mkdir()
    built(folder / "both.o", PROGRAM, "heat,mixed", "--target", triple, *options)
    (folder / "main.c").write_text(C)
    command = [compiler, "-static", "-ffp-contract=off", "main.c", "both.o", "-o", "program", "-fopenmp", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "program"


def python() -> tuple[float, np.ndarray]:
    """The value in plain Python, and its gradient by central differences at some places."""
    scope: dict[str, object] = {}
    exec(re.sub(r"(?m)^(from adc|@).*$", "", PROGRAM), scope)
    heat, k = scope["heat"], np.arange(64 * 50)
    u = (0.001 * k - 0.0000003 * k * k).reshape(64, 50)
    slopes = []
    for place in range(0, 64 * 50, 7 * 40):
        step = np.zeros(64 * 50)
        step[place] = 1e-5
        step = step.reshape(64, 50)
        slopes.append((heat(u + step, 0.2, 9) - heat(u - step, 0.2, 9)) / 2e-5)  # type: ignore[operator]
    return heat(u, 0.2, 9), np.array(slopes)  # type: ignore[operator]


@needs_qemu
def test_a_program_for_aarch64_has_the_bits_of_x86(tmp_path: Path) -> None:
    arm = linked(tmp_path / "arm", ARM, COMPILER)
    assert EMULATOR is not None
    found = subprocess.run([EMULATOR, str(arm)], check=True, capture_output=True, text=True).stdout
    first, on_threads, mixed, failure = found.splitlines()
    assert on_threads == first
    values = [float.fromhex(text) for text in first.split()]
    value, slopes = python()
    np.testing.assert_allclose(values[0], value, rtol=1e-13)
    np.testing.assert_allclose(values[2::40], slopes, atol=2e-7)  # differences of numbers near 4000
    assert failure.startswith("1 ") and "both.py:18:33: IndexError" in failure
    if target.host().is_x86 and target.host().has("fma"):
        x86 = linked(tmp_path / "x86", X86, "cc", "--cpu", "v3")
        own = subprocess.run([str(x86)], check=True, capture_output=True, text=True).stdout
        assert own.splitlines()[:3] == [first, on_threads, mixed]


def test_objects_for_other_systems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    elf = built(tmp_path / "arm.o", SMALL, "waves", "--target", ARM).read_bytes()
    assert elf[:4] == b"\x7fELF" and struct.unpack_from("<H", elf, 18) == (183,)  # EM_AARCH64
    assert "-lm -fopenmp" in capsys.readouterr().out
    macho = built(tmp_path / "mac.o", SMALL, "waves", "--target", MACOS).read_bytes()
    assert struct.unpack_from("<II", macho) == (0xFEEDFACF, 0x0100000C)  # 64 bits, ARM
    assert "-lm -lomp" in capsys.readouterr().out
    names = set(re.findall(rb"\0(_[a-zA-Z_]\w*)(?=\0)", macho))  # the string table has all symbols
    assert {b"_GOMP_parallel", b"_pow", b"_waves_grad"} <= names
    assert not names & {b"___errno_location", b"_posix_fallocate", b"_sync_file_range", b"_pthread_getattr_np"}
    assert not any(name.startswith(b"__ZGV") for name in names)


@pytest.mark.parametrize("triple", ["riscv64-linux-gnu", "x86_64-pc-windows-msvc", "nonsense"])
def test_other_targets_are_refused(tmp_path: Path, triple: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "f.py").write_text("def f(x: 'f64'):\n    return x * x\n")
    assert main(["compile", str(tmp_path / "f.py"), "--target", triple, "-o", str(tmp_path / "f.o")]) != 0
    told = capsys.readouterr().err
    assert triple in told and "aarch64-linux-gnu" in told
