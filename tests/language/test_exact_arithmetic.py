"""The user's arithmetic has Python's bits in all code: each operation is rounded, in order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.backend.target import host
from tests.bits import is_exact, same_bits
from tests.language import exact_programs as programs

FUSED = pytest.mark.skipif(not host().fused, reason="this machine has no fused multiply-add")


def copied(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)


def values(function: Callable[..., Any], args: tuple[Any, ...], **options: Any) -> Iterator[tuple[str, Any]]:
    """The value by itself, and in each mode of differentiation, which computes it again."""
    compiled = jit_grad(**options)(function)
    wrt = tuple(range(len(args)))
    yield "call", compiled(*copied(args))
    yield "value_and_grad", adc.value_and_grad(compiled, argnums=wrt)(*copied(args))[0]
    yield "pullback", compiled.pullback(*copied(args))[0]
    tangents = tuple(np.ones_like(a) if isinstance(a, np.ndarray) else 1.0 for a in args)
    yield "jvp", compiled.jvp(copied(args), tangents)[0]


def check(function: Callable[..., Any], args: tuple[Any, ...], **options: Any) -> None:
    with np.errstate(all="ignore"):
        expected = function(*copied(args))
    for mode, found in values(function, args, **options):
        assert same_bits(found, expected), f"{mode}: {found!r}, not {expected!r}"


def vectors(n: int, dtype: str = "f8") -> tuple[Any, Any]:
    rng = np.random.default_rng(n)
    x, y = rng.random(n).astype(dtype), rng.random(n).astype(dtype)
    x[2::5], y[2::5] = x[::5][: len(x[2::5])], y[::5][: len(y[2::5])]
    return x, y


@pytest.mark.parametrize("function", programs.NUMBERS, ids=lambda f: f.__name__)
def test_numbers(function: Callable[..., Any]) -> None:
    for x, y in ((0.1, 0.3), (1 / 3, 1e5 / 7), (0.7, 0.7)):
        check(function, (x, y))


@pytest.mark.parametrize("function", [*programs.VECTORS, *programs.PAIRS], ids=lambda f: f.__name__)
def test_arrays(function: Callable[..., Any]) -> None:
    check(function, vectors(101)[: function.__code__.co_argcount])


@pytest.mark.parametrize("function", [programs.turns, programs.lanes, programs.stencil], ids=lambda f: f.__name__)
def test_vectors_of_registers(function: Callable[..., Any], optimised: None) -> None:
    check(function, vectors(301)[: function.__code__.co_argcount])


@pytest.mark.parametrize("function", [programs.kahan, programs.rotations, programs.quotients], ids=lambda f: f.__name__)
def test_in_the_interpreter(function: Callable[..., Any]) -> None:
    check(function, vectors(21)[: function.__code__.co_argcount], _engine="interpreter")


@pytest.mark.parametrize("function", [programs.single, programs.roots, programs.turns], ids=lambda f: f.__name__)
def test_float32(function: Callable[..., Any]) -> None:
    check(function, vectors(101, "f4"))


def test_recomputed_by_a_schedule() -> None:
    x, _ = vectors(40)
    expected = programs.stencil(x)
    compiled = jit_grad(checkpoint=adc.revolve(2))(programs.stencil)
    value, gradient = compiled.value_and_grad(x)
    assert same_bits(value, np.float64(expected))
    assert np.array_equal(gradient, jit_grad(programs.stencil).grad(x))


def test_the_branch_of_the_gradient_is_that_of_the_value() -> None:
    # With a fused product this would take the other branch, whose derivative is another one.
    def f(x: float, y: float) -> float:
        z = x * y
        return 3.0 * x if z - y * x == 0.0 else 5.0 * x

    compiled = jit_grad(f)
    assert compiled.grad(0.1, 0.3) == 3.0
    assert compiled.jvp((0.1, 0.3), (1.0, 0.0)) == (f(0.1, 0.3), 3.0)


def test_a_product_summed_by_numpy_is_rounded_before() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(np.where(x * y - y * x == 0.0, 1.0, 0.0)) + np.sum(x * y - y * x)

    x, y = vectors(500)
    assert jit_grad(f)(x, y) == 500.0


def _fma(a: float, b: float, c: float) -> float:
    return float(Fraction(a) * Fraction(b) + Fraction(c))


@FUSED
def test_contraction_is_an_option() -> None:
    def f(x: float, y: float) -> float:
        return x * y - 0.03

    x, y = 0.1, 0.3
    fused = _fma(x, y, -0.03)
    assert fused != f(x, y)
    assert jit_grad(f)(x, y) == f(x, y)
    for mode, found in values(f, (x, y), contract=True):
        assert found == fused, mode
    assert jit_grad(contract=False)(f)(x, y) == f(x, y)


@FUSED
def test_contraction_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADC_CONTRACT", "1")
    assert jit_grad(lambda x, y: x * y - 0.03)(0.1, 0.3) == _fma(0.1, 0.3, -0.03)
    assert jit_grad(contract=False)(lambda x, y: x * y - 0.03)(0.1, 0.3) == 0.1 * 0.3 - 0.03
    monkeypatch.setenv("ADC_CONTRACT", "yes")
    with pytest.raises(ValueError, match="ADC_CONTRACT must be 0 or 1"):
        jit_grad(lambda x: x)


def test_what_may_be_fused_is_written_in_the_ir() -> None:
    def f(x: Any, y: Any) -> float:
        s = 0.0
        for i in range(len(x)):
            s += x[i] * y[i] * y[i]
        return s + np.dot(x, y)

    x, y = vectors(9)
    compiled = jit_grad(f)
    compiled(x, y)
    lines = [line for line in compiled.dump_ir("traced").splitlines() if "arith.mulf" in line]
    assert [("fastmath<contract>" in line) for line in lines] == [False, False, True]
    compiled.grad(x, y)
    assert "fastmath<contract>" in compiled.grad.dump_ir("adjoint")
    everywhere = jit_grad(contract=True)(f)
    everywhere(x, y)
    assert all("fastmath<" in line for line in everywhere.dump_ir("traced").splitlines() if "arith.mulf" in line)


def test_which_programs_are_compared_to_the_bit() -> None:
    assert is_exact("def f(x):\n    return abs(x * x - math.sqrt(x)) // 3")
    assert not is_exact("def f(x):\n    return np.sum(x)")
    assert not is_exact("def f(x):\n    return x @ x")
    assert not is_exact("def f(x):\n    return math.sin(x)")
    assert not is_exact("def f(x):\n    return x.sum()")
    assert not is_exact("def f(x):\n    x **= 3")
    assert same_bits(math.nan, np.float64("nan"))
    assert not same_bits(0.0, -0.0)


EDGES = [0.0, -0.0, 0.1, -0.1, 3.0, -2.5, 1e16, -(2.0**53) - 2, 5e-324, -1e308, math.inf, -math.inf, math.nan]


def _quotients(x: Any, y: Any) -> Any:
    whole, rest = np.zeros((len(x), len(y)), x.dtype), np.zeros((len(x), len(y)), x.dtype)
    for i in range(len(x)):
        for j in range(len(y)):
            whole[i, j] = x[i] // y[j]
            rest[i, j] = x[i] % y[j]
    return whole, rest, x[:, None] // -3, x // 0.1


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_floor_division_and_remainder_round_as_python(dtype: str) -> None:
    rng = np.random.default_rng(3)
    drawn = rng.standard_normal(40) * 10.0 ** rng.integers(-20, 20, 40)
    with np.errstate(all="ignore"):
        x = np.concatenate([EDGES, drawn, np.round(drawn) * 3]).astype(dtype)
        expected = _quotients(x, x)
    assert same_bits(jit_grad(_quotients)(x, x.copy()), expected)


def _order(n: int, x: float) -> Any:
    return n < x, n <= x, n == x, n != x, x < n, x <= n, x == n


LARGE = [0, -3, 2**53 - 1, 2**53 + 1, -(2**53) - 1, 2**60 + 2**36 + 1, 2**63 - 513, 2**63 - 1, -(2**63), 10**17 + 3]


def test_large_integers_and_floats_are_compared_as_they_are() -> None:
    compiled = jit_grad(_order)
    for n in LARGE:
        for x in [*map(float, LARGE), math.inf, -math.inf, math.nan, 0.5, -2.5]:
            assert compiled(n, x) == _order(n, x), (n, x)


def test_quotients_of_large_integers() -> None:
    compiled = jit_grad(lambda n, m: n / m)
    rng = np.random.default_rng(0)
    drawn = [int(n) >> int(s) for n, s in zip(rng.integers(-(2**63), 2**63, 60), rng.integers(0, 20, 60), strict=True)]
    for n in [*LARGE, *drawn]:
        for m in [1, 3, 2**53 + 1, *drawn]:
            assert compiled(n, m) == n / m, (n, m)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_integers_as_numpy_converts_them(dtype: Any) -> None:
    def f(n: int, x: Any) -> Any:
        return n + x, n * x, x - n, n < x, n == x

    compiled = jit_grad(f)
    for n in LARGE:
        for x in map(dtype, LARGE):
            with np.errstate(all="ignore"):
                expected = f(n, x)
            assert same_bits(compiled(n, x), expected), (n, x)
