"""Half precision: NumPy's bits, conversions, derivatives in the dtype of the argument."""

from __future__ import annotations

import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adc
from adc.backend.target import for_cpu
from adc.cli import main
from adc.errors import CompileError
from adc.ir.text.parser import parse_module
from adc.ir.text.printer import print_module
from tests.backend.lowering_harness import Native
from tests.numpy.checking import compare
from tests.numpy.functions import function_of

HALF = np.float16
ENDS = np.array([0.0, -0.0, 6e-8, -6e-5, 0.1, 1.0, -1.5, 3.0, 7.0, 2049.0, 65504.0, np.inf, np.nan], HALF)
ENDS = np.concatenate([ENDS, -ENDS])


def random(shape: Any, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(-2, 2, shape).astype(HALF)


def run(body: str, rtol: float = 0.0, **inputs: Any) -> None:
    """Held against NumPy: to the bit, or to ``rtol``."""
    plain = function_of(body, *inputs)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        compare(adc.jit_grad(plain)(**inputs), plain(**inputs), rtol == 0.0, rtol)


def test_arithmetic():
    a, b = ENDS[:, None], np.concatenate([ENDS, random(40)])[None, :]
    run("return a + b, a - b, a * b, a / b, a // b, a % b, -a, abs(b), np.divmod(a, b)", a=a, b=b)
    run("return a < b, a <= b, a == b, a != b, np.maximum(a, b), np.fmin(a, b), np.where(a > b, a, b)", a=a, b=b)
    run("return a**2, b**3, b**-1, a**0.5, np.sqrt(b), np.square(a), np.reciprocal(b), np.copysign(a, b)", a=a, b=b)
    run("return np.sign(a), np.floor(b), np.rint(a), np.trunc(b), np.isnan(a), np.signbit(b), np.isfinite(a)", a=a, b=b)
    run("return np.nextafter(a, b), np.spacing(b), np.frexp(b), np.ldexp(b, 3), np.modf(b), np.fmod(b, a)", a=a, b=b)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint8", "int16", "int64", "bool", "complex64"])
def test_promotion(dtype: str):
    a, b = random(24), np.arange(24).astype(dtype) + np.ones(1, dtype)
    run("return a + b, a * b, b - a, a == b, np.where(a > 0, a, b), np.result_type(a, b) == (a * b).dtype", a=a, b=b)
    run("return a * 2, a + 0.1, 3 / a, a[0] * b[1], a[1] * 2.5, np.float16(0.3) * b, a * np.float64(0.1)", a=a, b=b)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8"])
def test_functions_of_small_integers_are_half(dtype: str):
    run("return np.sqrt(a), np.sin(a), np.exp(a), np.arctan(a), np.log1p(a)", 1e-3, a=np.arange(5).astype(dtype))


def test_conversions():
    every = np.arange(1 << 16, dtype=np.uint16).view(HALF)
    run("return a.astype(np.float32), a.astype(np.float64), a.astype(bool)", a=every)
    finite = every[np.isfinite(every)]
    run("return a.astype(np.int32), a.astype(np.int64)", a=finite)
    run("return a.astype(np.float16), (a > 0) * np.float16(2)", a=np.arange(-70000, 70000, 37))
    with np.errstate(over="ignore"):
        run("return a.astype(np.float16), a.astype(np.float32).astype(np.float16)", a=between())


def between() -> Any:
    """Doubles where rounding is decided: neighbours, middles, and one bit beside the middles."""
    every = np.arange(0x7C00, dtype=np.uint16).view(HALF).astype(np.float64)
    middle = (every[1:] + every[:-1]) / 2
    beside = np.nextafter(middle, 0), np.nextafter(middle, np.inf)
    found = np.concatenate([every, middle, *beside, [1e-300, 65519.99, 65520.0, 1e5, 1e300, np.inf, np.nan]])
    return np.concatenate([found, -found])


@pytest.mark.parametrize("cpu", ["x86-64-v3", None])
def test_doubles_are_rounded_once(cpu: str | None):
    """With the instruction for it and without: by way of single precision."""
    if cpu is not None and not for_cpu(cpu).is_x86:
        pytest.skip("levels are of x86-64")
    text = "func.func @f(%x: f64) -> f16 {\n  %y = arith.truncf %x : f64 to f16\n  func.return %y : f16\n}\n"
    native = Native(parse_module(text), threads=False, target=None if cpu is None else for_cpu(cpu), level=0)
    with np.errstate(over="ignore"):
        for x in between()[:: 97 if cpu is None else 11]:
            np.testing.assert_equal(native("f", float(x))[0], float(HALF(x)), err_msg=float(x).hex())


SUMS = "return np.sum(a), np.sum(m, axis=0), np.mean(m, axis=1), np.mean(a), m @ m.T, m @ a[:5], np.prod(a[:5])"


def test_sums_are_accumulated_in_single_precision():
    a, m = random(3000, 1), random((4, 5), 2)
    run(SUMS, 2e-3, a=a, m=m)
    run("return np.cumsum(a), np.max(m, axis=0), np.argmin(a), np.sort(a), np.unique(m)", a=a, m=m)
    run("return np.std(m), np.var(m, axis=0), np.linalg.norm(m), np.median(m, axis=1)", 3e-3, m=m)
    run("return np.einsum('ij,kj', m, m), np.convolve(m[0], m[1])", 3e-3, m=m)
    compiled = adc.jit_grad(lambda a: np.sum(a))
    assert compiled(np.full(5000, 1.0, HALF)) == 5000  # in half precision 2048 is the end


def test_functions():
    a = np.abs(random(50, 3)) + HALF(0.1)
    for body in (
        "return np.sin(a), np.exp(a), np.log(a), np.tanh(a), np.arctan2(a, a[::-1]), a**a, np.hypot(a, 1), np.sinc(a)",
        "return np.clip(a, 0.5, 1), np.round(a, 1), np.interp(a, a[:2] * 0 + [0, 1], a[:2]), np.diff(a), np.roll(a, 3)",
    ):
        run(body, 1e-3, a=a)


def stepped(x, s, n):
    """Loops, stores, aliasing views, numbers and other dtypes."""
    y = np.zeros_like(x)
    w = np.ones(len(x), np.float32)
    for k in range(n):
        for i in range(1, len(x) - 1):
            y[i] = x[i] * s + x[i - 1] * x[i + 1] * w[i]
        x[1:-1] += y[1:-1] * 0.5
        x[0] = s * x[-1]
    return np.sum(x * x) * s


def test_loops_and_gradients():
    x, s = random(9, 4), HALF(0.375)
    for given in (x, np.repeat(x, 2)[::2]):
        compiled, mine, theirs = adc.jit_grad(stepped), given.copy(), given.copy()
        value = compiled(mine, s, 3)
        expected = stepped(theirs, s, 3)
        np.testing.assert_allclose(mine, theirs, rtol=2e-3)
        assert type(value) is HALF and value == pytest.approx(expected, rel=4e-3)
    grads = adc.grad(stepped, argnums=(0, 1))(x, s, 3)
    assert grads[0].dtype == HALF and type(grads[1]) is HALF
    wide = adc.grad(stepped, argnums=(0, 1))(x.astype(np.float64), float(s), 3)
    np.testing.assert_allclose(grads[0], wide[0], rtol=2e-2, atol=2e-2)
    assert grads[1] == pytest.approx(wide[1], rel=2e-2)
    v = random(9, 5)
    _, tangent = adc.jvp(lambda x: stepped(x, s, 3), (x.copy(),), (v,))
    assert tangent == pytest.approx(np.dot(wide[0], v.astype(float)), rel=4e-2, abs=4e-2)


def test_maps_threads_and_second_derivatives():
    def f(x):
        return np.sum(np.sin(x) * x[::-1])

    x = random((3, 6), 6)
    wide = x.astype(np.float64)
    rows = adc.vmap(adc.grad(f))(x)
    assert rows.dtype == HALF
    np.testing.assert_allclose(rows, [adc.grad(f)(row) for row in wide], atol=4e-3)
    np.testing.assert_allclose(adc.hessian(f)(x[0]), adc.hessian(f)(wide[0]), atol=1e-2)
    product = adc.hvp(f, (x[0],), (x[1],))
    product = product[0] if isinstance(product, tuple) else product
    np.testing.assert_allclose(product, adc.hessian(f)(wide[0]) @ wide[1], atol=2e-2)
    big = random(70_000, 7)
    total = lambda x: np.sum(x * x) + np.sum(np.exp(x))
    one, several = (adc.jit_grad(threads=n)(total).value_and_grad(big) for n in (1, 2))
    assert one[0] == several[0]
    np.testing.assert_array_equal(one[1], several[1])


def test_losses_in_wider_types():
    """Parameters in half precision, the loss in single or double."""
    x, w = random((20, 3), 8), random(3, 9)

    def loss(w, x):
        return np.mean((x.astype(np.float32) @ w.astype(np.float32) - 1) ** 2)

    value, gradient = adc.value_and_grad(loss)(w, x)
    assert type(value) is np.float32 and gradient.dtype == HALF
    exact = adc.grad(loss)(w.astype(np.float64), x.astype(np.float64))
    np.testing.assert_allclose(gradient, exact, rtol=2e-3, atol=1e-3)


def test_what_is_not_there():
    for body in ("return np.linalg.solve(m, m)", "return np.linalg.eigh(m)"):
        with pytest.raises(CompileError, match=r"astype\(np.float32\)"):
            adc.jit_grad(function_of(body, "m"))(random((3, 3)))


def test_messages_show_numbers():
    def f(x):
        if x[1] > 1:
            raise ValueError(f"{x[1]} is too large")
        return x[0]

    for g in (f, adc.jit_grad(f)):
        with pytest.raises(ValueError, match=r"^1\.2998046875 is too large"):
            g(np.array([1, 1.3], HALF))


def test_text():
    text = "func.func @f() -> f16 {\n  %a = arith.constant 0x7C00 : f16\n  %b = arith.constant 0.1 : f16\n"
    text += "  %c = arith.addf %a, %b : f16\n  func.return %c : f16\n}\n"
    module = parse_module(text)
    shown = print_module(module)
    assert "0x7C00 : f16" in shown and print_module(parse_module(shown)) == shown


PROGRAM = """import numpy as np


def scale(x, s):
    for i in range(len(x)):
        x[i] = x[i] * s + 1
    return np.sum(x)
"""
MAIN = """#include "scale.h"
#include <stdio.h>
int main(void) {
    _Float16 x[3] = {1, 2, 3}, total;
    int status = scale(x, 3, (_Float16)0.1, &total);
    printf("%d %.6g %.6g\\n", status, (double)total, (double)x[2]);
    return 0;
}
"""


def test_ahead_of_time(tmp_path: Path, capsys: Any):
    (tmp_path / "scale.py").write_text(PROGRAM)
    given = [f"{tmp_path}/scale.py:scale", "--signature", "f16[::1], f16", "-o", f"{tmp_path}/scale.o"]
    assert main(["compile", *given]) == 0
    (tmp_path / "main.c").write_text(MAIN)
    run = subprocess.run(
        ["cc", "main.c", "scale.o", "-lm", "-fopenmp", "-o", "main"], cwd=tmp_path, capture_output=True, text=True
    )
    if "_Float16" in run.stderr:
        pytest.skip("this C compiler has no _Float16")
    assert run.returncode == 0, run.stderr
    x = np.array([1, 2, 3], HALF) * HALF(0.1) + 1
    shown = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split()
    assert shown == ["0", f"{float(np.sum(x)):.6g}", f"{float(x[2]):.6g}"]
    assert main(["compile", *given, "--fortran"]) != 0
    assert "Fortran has no float16" in capsys.readouterr().err
