"""What is known about extents of arrays: which are 1, which are equal, in loops, branches and calls."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from adc import jit_grad
from adc.frontend.abstract import abstract_of
from tests.forward_mode import check_gradients

pytestmark = pytest.mark.usefixtures("stages")

rng = np.random.default_rng(7)


def chain(a: Any, b: Any, c: Any) -> Any:
    d = a * b
    e = d + c
    a = np.where(e > 0.5, e - a, e * b)
    return np.sum(a * c)


def repeated(a: Any, b: Any, c: Any) -> Any:
    for _ in range(3):
        a = a * b + 0.1
        if np.sum(a) > 1.0:
            a = a - c
        else:
            a = c * a
    return np.sum(a * b)


def step(u: Any, v: Any) -> Any:
    w = u + 0.5 * v
    return w * w


def called(a: Any, b: Any, c: Any) -> Any:
    u = step(a, b)
    for _ in range(2):
        u = step(u, c)
    return np.sum(u * a)


def into(a: Any, b: Any, c: Any) -> Any:
    u = a * 1.0
    u[:] = b
    u += c
    return np.sum(u * a)


FUNCTIONS = [chain, repeated, called, into]


def branches(text: str) -> int:
    """How many choices are left between arrays that are stretched and arrays that are not."""
    return text.count("adc.likely")


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_nothing_is_chosen_at_run_time(function: Any, rank: int) -> None:
    arguments = rng.random((3, *(4, 3, 5)[:rank]))
    compiled = jit_grad(function, argnums=(0, 1, 2))
    assert compiled(*arguments) == pytest.approx(function(*arguments), rel=1e-13)
    assert branches(compiled.dump_ir("simplified")) == 0
    types = ", ".join(["f64[" + ":, " * (rank - 1) + "::1]"] * 3)
    assert branches(jit_grad(function).dump_ir("simplified", types)) == 0


@pytest.mark.parametrize("function", [chain, repeated, called])
def test_calls_with_and_without_extents_of_one(function: Any) -> None:
    """One function, called in turn with all kinds, twice over: each call is Python's."""
    shapes = [(4, 3), (1, 3), (4, 1), (1,), (0, 3)]
    compiled = jit_grad(function, argnums=(0, 1, 2))
    for _ in range(2):
        for kinds in itertools.product(shapes[:2], shapes, [(4, 3), (3,)]):
            given = [rng.random(shape) for shape in kinds]
            try:
                expected = function(*given)
            except ValueError:
                with pytest.raises(ValueError, match="broadcast"):
                    compiled(*given)
                continue
            assert compiled(*given) == pytest.approx(expected, rel=1e-13), kinds


SHAPES = [((4, 3), (1, 3), (4, 1)), ((1, 3), (4, 3), (3,)), ((1, 1), (4, 1), (1, 3))]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_gradients_of_what_is_stretched(shapes: Any) -> None:
    given = [rng.random(shape) for shape in shapes]
    compiled = jit_grad(chain, argnums=(0, 1, 2))
    _, gradients = compiled.value_and_grad(*given)
    check_gradients(compiled, given, dict(enumerate(gradients)), rel=1e-11)


def test_a_captured_array_that_becomes_a_row() -> None:
    global weights
    weights = rng.random((4, 3))

    def f(x: Any) -> Any:
        return np.sum(x * weights)

    x, compiled = rng.random((4, 3)), jit_grad(f)
    for shape in [(4, 3), (1, 3), (4, 1), (4, 3)]:
        weights = rng.random(shape)
        assert compiled(x) == pytest.approx(f(x), rel=1e-14)
        assert np.allclose(compiled.grad(x), weights + np.zeros((4, 3)), rtol=1e-14)


weights: Any = None


def windows(a: Any, b: Any, n: int, m: int) -> Any:
    x, y = a[:n], b[:m]
    z = x * y + 1.0
    return np.sum(z * y)


@pytest.mark.parametrize("lengths", [(4, 4), (1, 4), (4, 1), (1, 1), (0, 1), (9, 9)], ids=str)
def test_extents_that_nobody_knows(lengths: tuple[int, int]) -> None:
    a, b = rng.random((2, 6))
    compiled = jit_grad(windows, argnums=(0, 1))
    value, (of_a, _) = compiled.value_and_grad(a, b, *lengths)
    assert value == pytest.approx(windows(a, b, *lengths), rel=1e-14)
    check_gradients(compiled, (a, b, *lengths), {0: of_a})
    with pytest.raises(ValueError, match="broadcast"):
        compiled(a, b, 3, 4)


def in_a_branch(a: Any, b: Any, wanted: bool) -> Any:
    s = 0.0
    if wanted:
        s = np.sum(a * b)
    return s + np.sum(a + b)


def in_a_loop(a: Any, b: Any, wanted: bool) -> Any:
    s = 0.0
    for _ in range(int(wanted)):
        s += np.sum(a * b)
    return s + np.sum(a + b)


@pytest.mark.parametrize("function", [in_a_branch, in_a_loop])
def test_what_a_path_that_was_not_taken_has_checked_is_not_known(function: Any) -> None:
    a, b = rng.random((2, 5))
    compiled = jit_grad(function, argnums=(0, 1))
    for wanted in (True, False):
        assert compiled(a, b, wanted) == pytest.approx(function(a, b, wanted), rel=1e-14)
        with pytest.raises(ValueError, match="broadcast"):
            compiled(a, b[:3].copy(), wanted)


def swapped(a: Any, b: Any, n: int) -> Any:
    s = 0.0
    for _ in range(n):
        s += a[0] * np.sum(a)
        a, b = b, a
    return s + np.sum(a) - 2.0 * np.sum(b)


def shorter(a: Any, n: int) -> Any:
    s = 0.0
    for _ in range(n):
        s += np.sum(a * a)
        a = a[1:]
    return s + np.sum(a)


def either(a: Any, b: Any, n: int) -> Any:
    c = a if n > 2 else b
    return np.sum(c * c) + np.sum(c + 1.0) + len(c)


def test_extents_that_change() -> None:
    a, b = rng.random(5), rng.random(3)
    for n in range(4):
        for function, given in ((swapped, (a, b, n)), (shorter, (a, n)), (either, (a, b, n))):
            compiled = jit_grad(function)
            value, gradient = compiled.value_and_grad(*given)
            assert value == pytest.approx(function(*given), rel=1e-14), (function, n)
            check_gradients(compiled, given, {0: gradient})


def test_an_array_type_says_which_extents_are_one() -> None:
    assert abstract_of(np.zeros((3, 1))).ones == (False, True)
    assert abstract_of(np.zeros((0, 2))).ones == (False, False)
    assert abstract_of(np.float64(2.0)) == abstract_of(np.float64(3.0))


def weighted(a: Any, b: Any, w: Any) -> Any:
    out = np.empty_like(a)
    for i in range(len(a)):
        out[i] = np.sin(a[i]) * b[i]
    return np.sum(w * out), out


def summed_before(a: Any, b: Any, w: Any) -> Any:
    s = 0.0
    for i in range(len(a)):
        s += a[i] * b[i]
    return s + np.sum(w * a), a * w


def static(a: Any, b: Any, w: Any) -> Any:
    u = np.zeros(6)
    for i in range(6):
        u[i] = a[i] * b[i]
    return np.sum(u * w), u


@pytest.mark.parametrize("engine", ["native", "interpreter"])
@pytest.mark.parametrize("function", [weighted, summed_before, static])
def test_nothing_is_read_before_its_extents_were_checked(function: Any, engine: str) -> None:
    """The interpreter notices what lies beyond the end; where extents fit there is one loop, or two."""
    a, b, w = rng.random((3, 6))
    compiled = jit_grad(function, _engine=engine)
    value, out = compiled(a, b, w)
    expected = function(a, b, w)
    assert value == pytest.approx(expected[0], rel=1e-14) and np.allclose(out, expected[1], rtol=1e-14)
    with pytest.raises(ValueError, match="broadcast"):
        compiled(a, b, w[:4].copy())
    with pytest.raises(ValueError, match="broadcast"):
        compiled.pullback(a, b, w[:4].copy())


def made(n: int, m: int) -> Any:
    return np.ones((n // 2 + 1, 2 * m + n))


def given_numbers(a: Any, n: int, m: int) -> Any:
    x = made(n, m) * a[0, 0]
    return np.sum((x + made(n, m)) * x)


def rows_or_columns(a: Any, n: int, m: int) -> Any:
    x = made(n, m) if n > m else made(m, n)
    return np.sum(x * a[:1, :1])


def recursive(n: int, m: int) -> Any:
    return np.ones(n) if m == 0 else 2.0 * recursive(n + 1, m - 1)


def of_recursion(a: Any, n: int, m: int) -> Any:
    return np.sum(recursive(n, m) * a[0, : n + m])


def transforms(a: Any) -> Any:
    for _ in range(2):
        a = np.fft.ifft2(np.fft.fft2(a) * a).real - a
    return np.sum(a)


@pytest.mark.parametrize(
    ("function", "most"), [(given_numbers, 0), (rows_or_columns, 9), (of_recursion, 9)]
)
def test_extents_that_a_called_function_computes(function: Any, most: int) -> None:
    """Extents of results are known where they follow from numbers that are passed, and from extents."""
    compiled = jit_grad(function)
    a = rng.random((7, 10))
    for n, m in [(4, 6), (6, 4), (1, 2), (2, 1), (3, 3), (1, 1)]:
        assert compiled(a, n, m) == pytest.approx(function(a, n, m), rel=1e-12)
    check_gradients(compiled, (a, 4, 6), {0: compiled.grad(a, 4, 6)}, rel=1e-9, abs=1e-12)
    assert branches(compiled.dump_ir("simplified", "f64[:, ::1], i64, i64")) <= most


def test_extents_of_transforms_are_known() -> None:
    assert branches(jit_grad(transforms).dump_ir("simplified", "f64[:, ::1]")) == 0


def test_extents_that_a_called_function_computes_are_checked() -> None:
    @jit_grad
    def sum_of(a: Any, n: int, m: int) -> Any:
        return np.sum(made(n, m) * a)

    assert sum_of(np.ones((3, 8)), 4, 2) == 24.0
    assert sum_of(np.ones((3, 1)), 4, 2) == 24.0
    with pytest.raises(ValueError, match="broadcast"):
        sum_of(np.ones((3, 3)), 4, 2)
    with pytest.raises(ValueError, match="negative"):
        sum_of(np.ones((3, 3)), -4, 2)
