"""One-process functions with distributed arrays: the bits do not depend on the number of ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc import errors, jit_grad, mpi

pytestmark = pytest.mark.usefixtures("stages")

SHAPE = (13, 11)


@jit_grad(argnums=(0, 1))
def heat(u0: Any, r: Any, data: Any, steps: Any) -> Any:
    u, v = u0.copy(), u0.copy()
    n, m = u.shape
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                v[i, j] = u[i, j] + r * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j])
        u, v = v, u
    return 0.5 * np.sum((u - data) ** 2)


@jit_grad(argnums=(0, 1, 2))
def wave(c: Any, u0: Any, source: Any, i0: Any, j0: Any, steps: Any) -> Any:
    """Absorbing borders, a source at the place of arguments, a receiver at a constant one."""
    u, w = u0.copy(), u0.copy()
    seen = np.zeros(steps)
    for t in range(steps):
        v = 2.0 * w - u
        v[1:-1, 1:-1] += c[1:-1, 1:-1] ** 2 * (
            w[2:, 1:-1] + w[:-2, 1:-1] + w[1:-1, 2:] + w[1:-1, :-2] - 4.0 * w[1:-1, 1:-1]
        )
        v[0, :] = w[1, :] + 0.3 * (v[1, :] - w[0, :])
        v[-1, :] = w[-2, :] + 0.3 * (v[-2, :] - w[-1, :])
        v[:, 0] = w[:, 1]
        v[:, -1] = w[:, -2]
        v[i0, j0] += source[t]
        seen[t] = v[2, 3]
        u, w = w, v
    return np.sum(seen**2) + 0.5 * np.sum(w * w)


@jit_grad(argnums=(0, 1))
def shallow_water(h0: Any, b: Any, steps: Any) -> Any:
    """Arrays that are longer than the grid by one."""
    n, m = h0.shape
    h = h0.copy()
    u, v = np.zeros((n + 1, m)), np.zeros((n, m + 1))
    for _ in range(steps):
        u[1:-1, :] -= 0.1 * (h[1:, :] + b[1:, :] - h[:-1, :] - b[:-1, :])
        v[:, 1:-1] -= 0.1 * (h[:, 1:] + b[:, 1:] - h[:, :-1] - b[:, :-1])
        h -= 0.1 * h * (u[1:, :] - u[:-1, :] + v[:, 1:] - v[:, :-1])
    return np.sum(h**2)


@jit_grad(argnums=(0, 1))
def frame(u0: Any, r: Any, steps: Any) -> Any:
    """A frame that is copied from the other end; a nonlinear term; a maximum and a sum over a part."""
    n, m = u0.shape
    u = np.zeros((n + 2, m + 2))
    u[1:-1, 1:-1] = u0
    for _ in range(steps):
        u[0, :] = u[-2, :]
        u[-1, :] = u[1, :]
        change = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]
        u[1:-1, 1:-1] += r * change * change
    return np.max(u) + np.mean(u[1:-1, 1:-1] ** 2)


def field(seed: int) -> Any:
    return np.random.default_rng(seed).random(SHAPE)


def arguments() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    return {
        "heat": (heat, (field(0), 0.1, field(1), 3)),
        "wave": (wave, (field(0), field(1), np.arange(1.0, 5.0), 6, 5, 4)),
        "shallow water": (shallow_water, (1.0 + field(0), field(1), 3)),
        "frame": (frame, (field(0), 0.1, 3)),
    }


def whole(grid: adc.Grid, x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(whole(grid, each) for each in x)
    return grid.gather(x) if isinstance(x, adc.Field) else x


def on_ranks(count: int, ranks: Any, f: Any, args: tuple[Any, ...]) -> list[Any]:
    """The value and the gradient, in one piece, as each rank has them."""

    def run() -> Any:
        grid = adc.Grid(SHAPE, ranks)
        return whole(grid, adc.distribute(f, grid).value_and_grad(*args))

    return mpi.simulate(count, run)


def bits(x: Any) -> Any:
    return tuple(map(bits, x)) if isinstance(x, tuple) else np.asarray(x).tobytes()


@pytest.mark.parametrize("name", arguments())
def test_bits_do_not_depend_on_the_ranks(name: str) -> None:
    f, args = arguments()[name]
    value, gradient = f.value_and_grad(*args)
    (one,) = on_ranks(1, None, f, args)
    np.testing.assert_allclose(one[0], value, rtol=1e-14)
    for a, b in zip(one[1], gradient, strict=True):  # terms may be added up in another order
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
    for count, ranks in ((2, None), (3, None), (6, (2, 3))):
        assert {bits(found) for found in on_ranks(count, ranks, f, args)} == {bits(one)}, (count, ranks)


def test_a_call_without_gradient_and_effects_in_fields() -> None:
    def smooth(u: Any, steps: Any) -> Any:
        for _ in range(steps):
            u[1:-1, :] = 0.25 * (u[2:, :] + 2.0 * u[1:-1, :] + u[:-2, :])
        return u

    expected = smooth(field(0), 3)

    def run() -> Any:
        grid = adc.Grid(SHAPE)
        u = grid.scatter(field(0))
        found = adc.distribute(smooth, grid)(u, 3)
        messages, sent = grid.sent
        return grid.gather(u), grid.gather(found), u.own.shape, messages, sent

    for u, found, shape, messages, sent in mpi.simulate(5, run):
        np.testing.assert_array_equal(u, expected)
        np.testing.assert_array_equal(found, expected)
        assert shape in ((3, 11), (2, 11))
        assert messages in (3, 6) and sent == 88 * messages  # once a step, a row to each neighbour


def test_more_ranks_than_rows() -> None:
    def twice(u: Any) -> Any:
        return np.sum(2.0 * u[1:, :] - u[:-1, :])

    x = field(0)[:3]

    def run() -> Any:
        return adc.distribute(twice, adc.Grid(x.shape))(x)

    assert len({bits(value) for value in [*mpi.simulate(5, run), *mpi.simulate(1, run)]}) == 1


def refused(f: Callable[..., Any], *args: Any) -> str:
    def run() -> None:
        adc.distribute(f, adc.Grid(SHAPE)).value_and_grad(*args)

    with pytest.raises(errors.CompileTypeError) as caught:
        mpi.simulate(2, run)
    assert caught.value.kind == "not-distributed"
    return str(caught.value)


def test_what_goes_through_the_blocks_in_order_is_refused_with_its_line() -> None:
    def gauss_seidel(u: Any) -> Any:
        for i in range(1, u.shape[0] - 1):
            for j in range(u.shape[1]):
                u[i, j] = 0.5 * (u[i - 1, j] + u[i + 1, j])
        return np.sum(u)

    assert "u[i - 1, j]" in refused(gauss_seidel, field(0))


def test_what_needs_whole_arrays_is_refused() -> None:
    def product(u: Any) -> Any:
        return np.sum(u @ u.T)

    assert "u @ u.T" in refused(product, field(0))


def test_messages_inside_are_refused() -> None:
    def talks(u: Any) -> Any:
        return mpi.allreduce(np.sum(u))

    assert "sends messages" in refused(talks, field(0))


def test_loops_that_read_what_they_write_elsewhere_are_split_or_need_arrays_that_are_long_enough() -> None:
    def ends(u: Any) -> Any:
        for j in range(u.shape[1]):
            u[0, j] = u[2, j]
            u[u.shape[0] - 1, j] = u[u.shape[0] - 3, j]
        return np.sum(u)

    def linked(u: Any) -> Any:
        for j in range(u.shape[1]):
            first = u[2, j]
            u[0, j] = first
            u[u.shape[0] - 1, j] = u[u.shape[0] - 3, j] + first
        return np.sum(u)

    def run(f: Any, x: Any) -> Any:
        return adc.distribute(f, adc.Grid(x.shape))(x.copy())

    for f, x in ((ends, field(0)), (ends, field(0)[:3]), (linked, field(0))):
        value = f(x.copy())
        assert all(float(found) == pytest.approx(float(value), rel=1e-14) for found in mpi.simulate(2, run, f, x))
    with pytest.raises(ValueError, match="too small"):
        mpi.simulate(2, run, linked, field(0)[:3])


def test_a_field_is_no_array_and_a_grid_takes_its_own() -> None:
    grid = adc.Grid(SHAPE)
    x = grid.scatter(field(0))
    with pytest.raises(TypeError, match="own"):
        np.sum(x)
    with pytest.raises(errors.AdcError, match="another grid"):
        adc.distribute(heat, adc.Grid(SHAPE))(x, 0.1, x, 1)
    with pytest.raises(errors.AdcError, match="extents"):
        grid.scatter(np.ones(3))


def versions_of_a_sum(c, u, v, x):
    n, m = c.shape
    total = 0.0
    for i in range(n):
        for j in reversed(range(m)):
            u[i, j] = 0.6 * u[i, j] + c[min(i + 1, n - 1), j] * (c[min(i + 1, n - 1), j] - c[i, j])
            a = c[i, max(0, min(m - 1, abs(j - 1)))] - c[i, j]
            b = a / (1.5 + a * a)
            v[i, j] = 0.5 * b * a + x * b
            total += u[i, j] * u[i, j]
    return total * total


def test_a_nest_with_operations_on_whole_arrays_may_be_steps() -> None:
    """What it computes then is right, or refused."""
    compiled = jit_grad(versions_of_a_sum, argnums=(0, 1, 2, 3))

    def arguments() -> list[Any]:
        return [*(np.random.default_rng(k).random((4, 10)) for k in range(3)), 0.3]

    def run() -> Any:
        grid = adc.Grid((4, 10), (2, 1))
        try:
            value, gradient = adc.distribute(compiled, grid).value_and_grad(*arguments())
        except ValueError as error:
            return error
        return value, *(grid.gather(each) if isinstance(each, adc.Field) else each for each in gradient)

    value, gradient = compiled.value_and_grad(*arguments())
    for found in mpi.simulate(2, run):
        if isinstance(found, ValueError):
            assert "rank" in str(found)
            continue
        for a, b in zip(found, (value, *gradient), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)


def every_second(u, v, steps):
    n = u.shape[0]
    for _ in range(steps):
        for i in range(0, n, 2):
            u[i] = 0.4 * v[i] * u[i]
            v[i] *= np.cos(u[i - 3] if i > 2 else u[0])
            if i >= n - 2:
                v[i] *= u[i]
    return np.sum(u * v)


def test_arrays_of_a_coarser_grid_that_a_branch_makes() -> None:
    """The reverse sweep has some: as long as the loop has iterations."""
    compiled = jit_grad(every_second, argnums=(0, 1))
    arguments = (*np.random.default_rng(0).random((2, 24)), 2)

    def run() -> Any:
        grid = adc.Grid((24,))
        value, gradient = adc.distribute(compiled, grid).value_and_grad(*arguments)
        return value, *map(grid.gather, gradient)

    value, gradient = compiled.value_and_grad(*arguments)
    one, (two, _) = mpi.simulate(1, run)[0], mpi.simulate(2, run)
    for a, b, c in zip(one, two, (value, *gradient), strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(a, c, rtol=1e-12)
