"""Elementwise functions, their keywords and their methods, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from tests.numpy.checking import check, function_of

RNG = np.random.default_rng(3)
A = RNG.normal(size=(3, 4))
B = RNG.uniform(0.5, 2.0, size=(3, 4))
ODD = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, -2.5, 1e308, 3e-310])
M = np.array([12, -18, 0, 7, 5, -(2**40)])
N = np.array([8, 12, 5, 0, -3, 6])


def test_functions_of_bits_of_floats() -> None:
    body = "return np.signbit(a), np.spacing(a), np.frexp(a), np.modf(a), np.nextafter(a, b), np.ldexp(a, n)"
    n = np.array([3, -3, 1074, -1074, 5, 5, 5, 2000, -1100, -2100, 4])
    check(body, a=ODD, b=ODD[::-1].copy(), n=n, derivatives=False)
    check(body, a=ODD.astype(np.float32), b=ODD[::-1].astype(np.float32), n=n.astype(np.int32), derivatives=False)
    check("return np.frexp(a)[0], np.modf(a), np.nextafter(a, 3.0), np.ldexp(a, n)", a=A, n=np.int64(3))


def test_ldexp_rounds_once() -> None:
    x, n = np.array([1.5, 1.0 + 2**-52, 3.0, 0.75]), np.array([-1074, -1060, -1075, -1073])
    check("np.ldexp(x, n)", x=x, n=n, derivatives=False)
    x, n = np.array([1.0 + 2**-23, 1.5], np.float32), np.array([-140, -149])
    check("np.ldexp(x, n)", x=x, n=n, derivatives=False)


def test_functions_of_integers() -> None:
    body = "return np.gcd(m, n), np.lcm(m, n), np.fmod(m, n), m & n, np.bitwise_or(m, n), np.bitwise_xor(m, 5)"
    check(body, m=M, n=N)
    check("return np.invert(m), np.left_shift(m, 2), np.right_shift(m, 1), np.positive(m), np.divmod(m, 3)", m=M)
    check("return np.bitwise_and(m, True), np.gcd(m, m), ~m", m=M.astype(np.int32))
    check("return np.invert(m), np.bitwise_and(m, n), np.bitwise_xor(m, n)", m=M > 6, n=N > 5)


def test_logarithms_of_sums() -> None:
    check("return np.logaddexp(a, b), np.logaddexp2(a, b)", a=A, b=B, exact=False)
    check("return np.logaddexp(a, b), np.logaddexp2(a, b)", a=ODD, b=ODD[::-1].copy(), exact=False, derivatives=False)
    x = np.array([1.5])
    gradients = adc.grad(lambda a, b: np.sum(np.logaddexp(a, b)), argnums=(0, 1))(x, x.copy())
    assert [float(g[0]) for g in gradients] == [0.5, 0.5]


def test_other_functions() -> None:
    check("return np.float_power(a, 2.5), np.float_power(n, 2), np.divmod(a, 0.7)", a=B, n=N, exact=False)
    check("return np.sinc(a), np.i0(a), np.fix(a)", a=3.0 * A, exact=False)
    check("return np.sinc(a), np.i0(a)", a=np.array([0.0, 8.0, -9.5, 40.0]), exact=False, derivatives=False)
    body = "return np.isposinf(a), np.isneginf(a), np.nan_to_num(a), np.nan_to_num(a, nan=2.0, posinf=3.0)"
    check(body, a=ODD, derivatives=False)
    check(body, a=ODD.astype(np.float32), derivatives=False)
    check(body, a=A)


def test_clip_and_round() -> None:
    check("return np.clip(a, -0.5, 0.5), a.clip(max=0.3), np.clip(a, a_min=0.1, a_max=None), a.clip(-0.2, b)", a=A, b=B)
    check("np.clip(a, 0.0, b, out=a)\nreturn np.clip(a, min=0.1, max=0.2)", a=A, b=B)
    check("return np.round(a, 1), np.around(a, decimals=2), a.round(), a.round(decimals=1)", a=3.0 * A)
    check("c = np.zeros((3, 4))\nnp.round(a, out=c)\nreturn c", a=3.0 * A)
    check("return np.clip(m, 0, 5), m.clip(min=-3), np.round(m, -1)", m=M)


def test_comparisons_of_arrays() -> None:
    body = "return np.isclose(a, b), np.allclose(a, b), np.array_equal(a, b), np.isclose(a, b, equal_nan=True)"
    check(body, a=ODD, b=ODD * (1 + 1e-7), derivatives=False)
    check("return np.array_equal(a, a[:2]), np.array_equal(a, a), np.array_equal(a, a[0])", a=A)
    check("return np.array_equiv(a, a[0]), np.array_equiv(a[:2], a), np.array_equiv(a, a)", a=A)
    check("np.array_equal(a, a, equal_nan=True)", a=ODD, derivatives=False)


@pytest.mark.parametrize("shape", [(3, 4), (0,), (1,)])
def test_out(shape: Any) -> None:
    a, b, c = RNG.normal(size=shape), RNG.normal(size=shape), np.zeros(shape)
    check("np.add(a, b, out=c)", a=a, b=b, c=c, by=("a", "b"))
    check("np.add(a, b, a)\nreturn np.multiply(a, b, out=(c,))", a=a, b=b, c=c, by=("a", "b"))
    check("np.exp(a, out=a)\nnp.sqrt(np.abs(a), a)", a=a, exact=False, derivatives=False)


def test_out_of_other_shapes_and_types() -> None:
    check("np.add(1.0, a[0], out=c)", a=A, c=np.zeros((3, 4)), by=("a",))
    check("np.less(a, 0.0, out=c)", a=A, c=np.zeros((3, 4), bool))
    check("np.multiply(n, 2, out=c)", n=N, c=np.zeros(6, np.int32))
    check("x = np.zeros(4)\ny = np.zeros(4)\nnp.modf(a, out=(x, y))\nreturn x, y", a=3.0 * A[0])
    check("x = np.zeros(4)\nreturn np.modf(a, x)[1] + x", a=3.0 * A[0])
    check("np.add(a[1:], a[:-1], out=a[1:])\nreturn a", a=A[0].copy())
    check("np.add(a, a.T, out=a)\nreturn a", a=A[:3, :3].copy())


def test_where() -> None:
    mask = A > 0.0
    check("np.sqrt(a, out=c, where=m)", a=A, c=np.ones((3, 4)), m=mask)
    check("np.sqrt(a, out=c, where=a > 0)", a=A, c=np.ones((3, 4)))
    check("np.divide(a, b, out=np.zeros_like(a), where=b != 0)", a=A, b=np.where(mask, A, 0.0), by=("a",))
    check("r = np.log(a, where=m)\nreturn np.where(m, r, 0.0)", a=A, m=mask, exact=False)
    check("np.add(a, 1.0, out=c, where=m[0])", a=A, c=np.ones((3, 4)), m=mask)


def test_dtype_and_casting() -> None:
    check("np.add(n, 1, dtype=np.float64)", n=N)
    check("np.add(a, b, dtype=np.float32)", a=A, b=B, derivatives=False)
    check("np.sqrt(n, dtype=np.float32)", n=np.abs(N), exact=False, rtol=1e-6)
    check("np.add(a, 1.5, out=c, casting='unsafe')", a=3.0 * A, c=np.zeros((3, 4), np.int64), derivatives=False)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("np.add(a, a, out=n)", "Cannot cast ufunc 'add' output from dtype('float64') to dtype('int64')"),
        ("np.add(a, a, dtype=np.int64)", "Cannot cast ufunc 'add' input 0 from dtype('float64') to dtype('int64')"),
        ("np.add(n, a, casting='no')", "Cannot cast ufunc 'add' input 0"),
        ("np.add(n, a, casting='wild')", "casting must be one of 'no', 'equiv', 'safe', 'same_kind', 'unsafe'"),
        ("np.sqrt(a, where=n)", "'where' of np.sqrt() takes bools"),
        ("np.sqrt(a, out=2.0)", "'out' of np.sqrt() has to be an array, not float"),
        ("np.sqrt(a, a, a)", "np.sqrt() takes from 1 to 2 arguments here, got 3"),
        ("np.sqrt(a, a, out=a)", "np.sqrt() got 'out' as a positional and as a keyword argument"),
        ("np.modf(a, out=(a,))", "the 'out' tuple of np.modf() must have one entry per result"),
        ("np.sqrt(a, out=n, casting='safe')", "Cannot cast ufunc 'sqrt' output"),
        ("np.add(a[None], a, out=a)", "which 'out', a 1-D float64 array, cannot hold"),
        ("np.gcd(a, a)", "ufunc 'gcd' did not contain a loop with signature matching types"),
        ("np.bitwise_and(a, a)", "ufunc 'bitwise_and' not supported for the input types"),
    ],
)
def test_wrong_calls(body: str, message: str) -> None:
    function = function_of(body, "a", "n")
    arguments = np.ones(3), np.arange(3)
    with pytest.raises(adc.AdcError) as refused:
        adc.jit_grad(function)(*arguments)
    assert message in str(refused.value)
    with pytest.raises((TypeError, ValueError)):
        function(*arguments)


def test_shapes_that_do_not_fit() -> None:
    compiled = adc.jit_grad(function_of("np.add(a, 1.0, out=c)", "a", "c"))
    with pytest.raises(ValueError, match="could not broadcast"):
        compiled(np.ones(3), np.ones(4))


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "hypot"])
def test_methods(name: str) -> None:
    k = np.array([0, 2, 1, 3])
    body = f"return np.{name}.reduce(a), np.{name}.accumulate(a, axis=1), np.{name}.outer(a[0], b[:, 1])"
    check(body, a=A, b=B, exact=False)
    check(f"return np.{name}.reduce(a, axis=1), np.{name}.reduceat(a[0], k)", a=A, k=k, exact=False)


def test_outer_into_an_array() -> None:
    check("c = np.empty((4, 3)); r = np.multiply.outer(a[0], b[0, :3], out=c); c[0] = 7; return r, c", a=A, b=B)


def test_methods_of_integers() -> None:
    check("return np.gcd.reduce(m), np.bitwise_xor.reduce(m), np.bitwise_or.accumulate(m), np.gcd.outer(m, m)", m=M)
    check("return np.logical_and.reduce(m > 0), np.logical_or.reduce(m > 0), np.add.reduceat(m, m[:0])", m=M)


def test_reductions_by_method_have_the_arguments_of_reductions() -> None:
    check("np.add.reduce(a, axis=(0, 1), keepdims=True)", a=A)
    check("return np.divide.reduce(m), np.logaddexp.reduce(a, axis=1)", a=A, m=M + 9, exact=False)
    check("return np.logaddexp.reduce(a, axis=1, keepdims=True), np.hypot.reduce(a, axis=None)", a=A, exact=False)
    check("np.logical_xor.reduce(a[:1])", a=A)
    check("return np.multiply.reduce(a, axis=None), np.maximum.reduce(a, axis=1, initial=0.5)", a=A, exact=False)
    check("np.add.reduce(m, dtype=np.float64, where=m > 0)", m=M)


def test_in_place_is_one_loop_without_a_temporary() -> None:
    compiled = adc.jit_grad(function_of("np.add(a, b, out=a)\nreturn a[0]", "a", "b"))
    compiled(np.ones(4), np.ones(4))
    text = compiled.dump_ir("simplified")
    assert "memref.alloc" not in text
    assert text.count("scf.parallel") == 1


@pytest.mark.parametrize("rows", [slice(None, None, -1), slice(0, 0), slice(1, 2)])
def test_strided_empty_and_single(rows: slice) -> None:
    a, b = A[rows, ::2], B[rows, ::-2]
    body = "return np.logaddexp(a, b), np.modf(a), np.frexp(a)[0], np.sinc(a), np.clip(a, -b, b), np.float_power(b, a)"
    check(body, a=a, b=b, exact=False, vmap=False)
    check("c = np.zeros_like(a)\nnp.multiply(a, b, out=c, where=a > 0)\nreturn c, np.nan_to_num(a)", a=a, b=b)


def test_mapped() -> None:
    check("np.modf(a)[0] + np.nextafter(a, 9.0)", a=A, vmap=True)
    check("c = np.zeros(4)\nnp.add(a, 1.0, out=c, where=a > 0)\nreturn c", a=A[0], vmap=True)
