"""Objects of programs with small arrays, lists of arrays and ``while`` loops give the same bits as Python."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adc.cli import main
from adc.commands.loading import load_all

PROGRAM = '''\
import numpy as np
from adc import jit_grad

P = np.dtype([("x", "f8"), ("m", "f8")])


@jit_grad(argnums=(0, 1), parallel=False)
def spin(w: "f64[::1]", h: "f64", steps: "i64"):
    """A small array is numbers."""
    q = np.array([1.0, 0.0, 0.0, 0.5])
    for _ in range(steps):
        q = q + h * np.array([-q[1] * w[0], q[0] * w[1], q[3] * w[2], -q[2] * w[0]])
        q = q / np.sqrt(np.sum(q * q))
    return q[0] * 2.0 + q[3]


def halved(box, k, depth):
    """Recursive: it takes a small array and returns one."""
    if depth <= 0:
        return np.array([box[1] - box[0], box[0] * box[1]])
    m = 0.5 * (box[0] + box[1]) + k * box[0] * box[1]
    a = halved(np.array([box[0], m]), k, depth - 1)
    b = halved(np.array([m, box[1]]), k, depth - 2)
    return a * b + 0.1 * b


@jit_grad(argnums=(0, 1), parallel=False)
def boxes(p: "f64[::1]", k: "f64", depth: "i64"):
    r = halved(np.array([p[0], p[1]]), k, depth)
    return r[0] + 3.0 * r[1]


@jit_grad(argnums=(0, 1), parallel=False)
def history(x: "f64[::1]", k: "f64", steps: "i64"):
    """A list of arrays that grows."""
    states = [x.copy()]
    for _ in range(steps):
        last = states[-1]
        states.append(last + k * last * last)
    total = 0.0
    for s in states:
        for j in range(len(s)):
            total += s[j] * s[j]
    return total


@jit_grad(argnums=(0, 1), parallel=False)
def march(u: "f64[::1]", k: "f64", most: "i64"):
    """A ``while`` loop over arrays, which ends by what they hold or early."""
    t, steps = 0.0, 0
    v = u.copy()
    while t < 3.0:
        dt = 0.1 / (1.0 + v[0] * v[0])
        v = v - dt * k * v * v
        t = t + dt
        steps += 1
        if steps > most:
            break
    return v[0] * v[1] + t


@jit_grad(argnums=(0, 1), parallel=False)
def weighed(x: "f64[::1]", k: "f64", n: "i64"):
    """A structured array inside."""
    r = np.zeros(3, dtype=P)
    for _ in range(n):
        r["x"] = r["x"] + k * x[:3]
        r["m"] = r["m"] * 0.5 + r["x"] * x[:3]
    return r["m"][0] * r["x"][1] + r["m"][2]


@jit_grad
def points(p):
    return np.sum(p["x"])


@jit_grad(parallel=False)
def pair(a: "f64", n: "i64"):
    """Small arrays, and a list of arrays of which none knows how many, as results."""
    rows = [np.array([a, 1.0])]
    for _ in range(n):
        rows.append(rows[-1] * a)
    return np.array([a, a * a, 1.0]), rows
'''
X = np.array([0.3, 0.7, -0.4])
CALLS = {
    "spin": (X, 0.01, 20),
    "boxes": (X, 0.2, 6),
    "history": (X, 0.1, 7),
    "march": (X, 0.4, 100),
    "weighed": (X, 0.6, 5),
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("programs")
    (folder / "program.py").write_text(PROGRAM)
    target = f"{folder / 'program.py'}:{','.join(CALLS)},pair"
    assert main(["compile", target, "--emit", "shared", "-o", str(folder / "all.so"), "--no-threads"]) == 0
    (folder / "main.c").write_text('#include "all.h"\nint main(void) { return 0; }\n')
    command = ["cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "main.c"]
    subprocess.run(command, cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def functions(built: Path) -> dict[str, Any]:
    return dict(zip(CALLS, load_all(f"{built / 'program.py'}:{','.join(CALLS)}"), strict=True))


def at(array: np.ndarray[Any, Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


@pytest.mark.parametrize("name", CALLS)
def test_python_s_bits(name: str, built: Path, functions: dict[str, Any]) -> None:
    library, f = ctypes.CDLL(str(built / "all.so")), functions[name]
    x, k, n = CALLS[name]
    given = [at(x), ctypes.c_int64(len(x)), ctypes.c_double(k), ctypes.c_int64(n)]
    value, other = ctypes.c_double(), ctypes.c_double()

    def call(suffix: str, *args: Any) -> None:
        assert getattr(library, name + suffix)(*args) == 0

    call("", *given, ctypes.byref(value))
    assert value.value == f.__wrapped__(x, k, n) == f(x, k, n)
    gradient = np.full_like(x, 7.0)
    call("_grad", *given, at(gradient), ctypes.byref(value), ctypes.byref(other))
    expected, (by_x, by_k) = f.value_and_grad(x, k, n)
    assert (value.value, gradient.tolist(), other.value) == (expected, by_x.tolist(), by_k)
    dot = x[::-1].copy()
    call("_jvp", *given, at(dot), ctypes.c_double(0.5), ctypes.byref(value), ctypes.byref(other))
    assert (value.value, other.value) == f.jvp((x, k, n), (dot, 0.5, None))
    assert other.value == pytest.approx(by_x @ dot + 0.5 * by_k, rel=1e-12)


def test_results(built: Path) -> None:
    library = ctypes.CDLL(str(built / "all.so"))
    small, rows, count = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int64()
    of_small, of_rows = (ctypes.c_int64 * 1)(), (ctypes.c_int64 * 2)()
    outputs = [ctypes.byref(small), of_small, ctypes.byref(count), ctypes.byref(rows), of_rows]
    assert library.pair(ctypes.c_double(0.5), ctypes.c_int64(3), *outputs) == 0
    doubles = ctypes.POINTER(ctypes.c_double)
    found = np.ctypeslib.as_array(ctypes.cast(small, doubles), tuple(of_small))
    assert found.tolist() == [0.5, 0.25, 1.0]
    found = np.ctypeslib.as_array(ctypes.cast(rows, doubles), tuple(of_rows))
    assert count.value == 4 and found[:4].tolist() == [[0.5**k * 0.5, 0.5**k] for k in range(4)]
    for memory in (small, rows):
        ctypes.CDLL(None).free(memory)


def test_structured_arguments_are_refused(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = f"{built / 'program.py'}:points"
    assert main(["compile", target, "-o", str(built / "points.o")]) == 1
    assert "annotate the parameters" in capsys.readouterr().err
    assert main(["compile", target, "--signature", "{x: f64}[:]", "-o", str(built / "points.o")]) == 1
    assert "is not a type" in capsys.readouterr().err
