"""Ranks that call a distributed function in different ways: an error on all of them, and no result."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc import errors, jit_grad, mpi
from adc.ir.messages import communicator
from adc.ir.partitions import Partition
from adc.mpi.agreements import version

X, DATA = np.random.default_rng(1).random((2, 9, 4))
WEIGHTS = [np.array([0.5, 1.0]), np.array([0.5, 2.0])]


def cooling(u0: Any, r: Any, data: Any, steps: Any) -> Any:
    u = u0.copy()
    for _ in range(steps):
        u[1:-1] += r * (u[:-2] + u[2:] - 2.0 * u[1:-1])
    return np.sum((u - data) ** 2)


PLAIN = jit_grad(argnums=(0, 1))(cooling)
REVOLVE = jit_grad(argnums=(0, 1), checkpoint=adc.revolve(2))(cooling)


def scaled(weight: Any) -> Any:
    """Of one source, with another number or array inside."""

    def weighted(u0: Any, r: Any, data: Any, steps: Any) -> Any:
        return cooling(u0, r, data, steps) * np.sum(weight)

    return jit_grad(argnums=(0, 1))(weighted)


def helped(helper: Callable[[Any], Any]) -> Any:
    def helping(u0: Any, r: Any, data: Any, steps: Any) -> Any:
        return helper(cooling(u0, r, data, steps))

    return jit_grad(argnums=(0, 1))(helping)


def weighted_by(weight: float, call: Callable[..., Any]) -> Any:
    @functools.wraps(call)
    def weighted(*args: Any) -> Any:
        return weight * call(*args)

    return weighted


conf: Any = None


def settings(factor: float) -> Any:
    """A function that reads a number of a module."""
    module = types.ModuleType("settings")
    vars(module)["factor"] = factor
    return types.FunctionType((lambda x: x * conf.factor).__code__, {"conf": module})


class Held:
    """Numbers as attributes, and itself."""

    def __init__(self, factor: float, **others: Any) -> None:
        self.factor = factor
        self.held = self
        vars(self).update(others)

    def __call__(self, x: Any) -> Any:
        return x * self.factor

    def times(self, x: Any) -> Any:
        return x * self.factor


def by_attribute(held: Any) -> Any:
    return lambda x: x * held.factor


def by_method(held: Any) -> Any:
    return lambda x: held.times(x)


def by_object(u0: Any, r: Any, data: Any, steps: Any, held: Any = None) -> Any:
    return cooling(u0, r, data, steps) * held.factor


def by_function(u0: Any, r: Any, data: Any, steps: Any, held: Any = None) -> Any:
    return held(cooling(u0, r, data, steps))


def both(one: Any, other: Any) -> Any:
    return lambda x: one(x) + other(x)


def once(x: Any) -> Any:
    return x


def twice(x: Any) -> Any:
    return 2.0 * x


def told(change: Callable[[int, dict[str, Any]], None]) -> str:
    """What is raised on both ranks if ``change`` is made of what a rank calls."""
    said: list[str] = []

    def run() -> None:
        given: dict[str, Any] = {"f": PLAIN, "shape": (9, 4), "u0": X, "r": 0.1, "data": DATA, "steps": 3}
        change(mpi.rank(), given)
        f, grid = given.pop("f"), adc.Grid(given.pop("shape"))
        call = adc.distribute(f, grid).grad if given.pop("grad", False) else adc.distribute(f, grid).value_and_grad
        try:
            call(**given)
        except errors.RankError as error:
            said.append(error.message)
            raise

    with pytest.raises(errors.RankError):
        mpi.simulate(2, run)
    assert len(said) == 2, said
    return said[0]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda k, given: given.update(steps=3 + k), "the argument steps"),
        (lambda k, given: given.update(r=np.nextafter(0.1, k)), "the argument r"),
        (lambda k, given: given.update(u0=X + k), "the argument u0"),
        (lambda k, given: given.update(u0=X.astype([np.float32, np.float64][k])), "the argument u0"),
        (lambda k, given: given.update(data=DATA[: 9 - k]), "the argument data"),
        (lambda k, given: given.update(shape=(9, 4 + k)), "the grid"),
        (lambda k, given: given.update(grad=k == 1), "what is called"),
        (lambda k, given: given.update(f=[PLAIN, REVOLVE][k]), "how it is differentiated"),
        (lambda k, given: given.update(f=[scaled(1.0), scaled(2.0)][k]), "its code"),
        (lambda k, given: given.update(f=scaled(WEIGHTS[k])), "its code"),
        (lambda k, given: given.update(f=[helped(once), helped(twice)][k]), "its code"),
        (lambda k, given: given.update(f=helped(functools.partial(np.add, 1.0 + k))), "its code"),
        (lambda k, given: given.update(f=helped(weighted_by(1.0 + k, once))), "its code"),
        (lambda k, given: given.update(f=helped(settings(1.0 + k))), "its code"),
        (lambda k, given: given.update(f=helped(Held(1.0 + k))), "its code"),
        (lambda k, given: given.update(f=helped(Held(1.0 + k).times)), "its code"),
        (lambda k, given: given.update(f=helped(by_attribute(Held(1.0 + k)))), "its code"),
        (lambda k, given: given.update(f=helped(by_method(Held(1.0, held=Held(1.0 + k))))), "its code"),
        (lambda k, given: given.update(f=jit_grad(by_object), held=Held(1.0 + k)), "the argument held"),
        (lambda k, given: given.update(f=jit_grad(by_function), held=[once, twice][k]), "the argument held"),
        (lambda k, given: given.update(f=helped(both(settings(3.0), settings(3.0 + k)))), "its code"),
    ],
)
def test_what_differs_is_said_on_all_ranks(change: Any, what: str) -> None:
    assert f"{what}" in (said := told(change)), said


def test_functions_of_one_source_are_the_same() -> None:
    """Each rank makes its own, and gives it arrays of its own."""

    def run() -> Any:
        grid = adc.Grid((9, 4))
        f = scaled(WEIGHTS[0].copy())
        return adc.distribute(f, grid).value_and_grad(X.copy(), 0.1, grid.scatter(DATA), np.int64(3))[0]

    one, two = mpi.simulate(2, run)
    assert one == two
    assert abs(one - 1.5 * cooling(X, 0.1, DATA, 3)) <= 1e-14 * one


def test_equal_objects_are_the_same_and_what_is_not_read_of_them_does_not_matter() -> None:
    def called(k: int) -> Any:
        return helped(by_attribute(Held(2.0, rank=k)))

    one, two = (version(called(k).__wrapped__) for k in range(2))
    assert one == two
    assert version(Held(2.0).times) == version(Held(2.0).times)
    functions: list[Any] = []
    functions.append(lambda x: functions[0](x - 1) if x > 0 else x)
    assert version(functions[0]) == version(functions[0])


def test_what_is_called_like_an_attribute_is_not_read() -> None:
    """A global variable ``copy`` of a rank has nothing to do with ``u0.copy()``."""
    one, two = (types.FunctionType(cooling.__code__, {"np": np, "copy": k}) for k in range(2))
    assert version(one) == version(two)


def test_messages_of_another_place_in_the_program_are_not_taken() -> None:
    whole = [-1, 8, 1, 0, 0, 0, 8, 1, 0, 0]

    def run() -> None:
        partition = Partition((8,), (2,), communicator())
        region = np.array([0, 1, 0, *whole])
        other = np.array([0, 2, 0, *whole, 0, *whole]) if mpi.rank() else region  # as many elements
        x = np.arange(8.0)
        partition.fetch(x, region)
        partition.wrote(x)
        partition.fetch(x, other)

    with pytest.raises(errors.RankError, match=r"is not where rank [01] is in the program"):
        mpi.simulate(2, run)
