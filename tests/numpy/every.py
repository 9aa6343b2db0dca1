"""Properties of every supported function, tested with the calls of ``samples.py``."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import adc
from tests.numpy.checking import _is_float, _unpacking, _weighted, compare, flat
from tests.numpy.functions import function_of
from tests.numpy.samples import INPUTS

STEP = 1e-5
FLOATS = frozenset("abcvwms")


@dataclass(frozen=True)
class Sample:
    """A call as a program of the inputs that it names."""

    names: tuple[str, ...]
    values: Callable[..., Any]  # its results
    loss: Callable[..., Any]  # one number made of those that are floats

    @property
    def floats(self) -> tuple[int, ...]:
        return tuple(k for k, name in enumerate(self.names) if name in FLOATS)

    def inputs(self) -> list[Any]:
        return [INPUTS[name].copy() for name in self.names]


def sample(call: str) -> Sample:
    names = tuple(n for n in INPUTS if re.search(rf"(?<![\w.]){n}(?![\w'])", call))
    body = f"return {call}"
    if call.startswith("SET "):
        body = call.removeprefix("SET ").replace("; ", "\n")
    values = function_of(body, *names)
    with np.errstate(all="ignore"):
        found = values(*(INPUTS[n].copy() for n in names))
    results = flat(found)
    rng = np.random.default_rng(3)
    weights = {f"w{k}": rng.uniform(0.5, 1.5, np.shape(r)) for k, r in enumerate(results) if _is_float(r)}
    taken = f"{_unpacking(found, itertools.count())} = values({', '.join(names)})"
    text = f"{taken}\ns = {_weighted(results)}\nreturn s + s * s"
    loss = function_of(text, *names)
    loss.__globals__.update(weights, values=values)
    return Sample(names, values, loss)


def directions(one: Sample) -> dict[int, Any]:
    """A direction in the space of the arguments."""
    rng = np.random.default_rng(5)
    return {k: rng.uniform(-1, 1, INPUTS[one.names[k]].shape) for k in one.floats}


def check_vmap(one: Sample) -> None:
    """The mapped function is a loop over the items."""
    inputs, along = one.inputs(), directions(one)
    axes = tuple(0 if k in one.floats else None for k in range(len(inputs)))
    many = [np.stack([x, x + 1e-3 * along[k], x - 1e-3 * along[k]]) if k in along else x for k, x in enumerate(inputs)]
    with np.errstate(all="ignore"):
        rows = [flat(one.values(*(x[j].copy() if k in along else x for k, x in enumerate(many)))) for j in range(3)]
    got = flat(adc.vmap(one.values, axes)(*(x.copy() for x in many)))
    compare([np.asarray(r) for r in got], [np.stack(column) for column in zip(*rows, strict=True)], False, 1e-10)


def _expected(one: Sample) -> tuple[dict[int, Any], list[Any]]:
    """A direction, and the derivative of the gradient along it, by differences."""
    along = directions(one)
    gradient = adc.grad(one.loss, argnums=one.floats)

    def at(step: float) -> Any:
        return gradient(*(x + step * along[k] if k in along else x for k, x in enumerate(one.inputs())))

    return along, [(p - q) / (2 * STEP) for p, q in zip(at(STEP), at(-STEP), strict=True)]


def _compare(got: Any, expected: list[Any]) -> None:
    for a, b in zip(got, expected, strict=True):
        size = max(1.0, float(np.max(np.abs(b), initial=0.0)))
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6 * size)


def check_forward_over_reverse(one: Sample) -> None:
    """``adc.hvp`` is the derivative of the gradient."""
    along, expected = _expected(one)
    tangents = [along.get(k) for k in range(len(one.names))]
    _compare(adc.hvp(one.loss, one.inputs(), tangents, argnums=one.floats), expected)


def check_reverse_over_reverse(one: Sample) -> None:
    """So is the gradient of what the gradient is along a direction: the Hessian is symmetric."""
    along, expected = _expected(one)
    parts = " + ".join(f"np.sum(g[{n}] * d{n})" for n in range(len(one.floats)))
    program = function_of(
        f"g = adc.grad(loss, argnums={one.floats!r})({', '.join(one.names)})\nreturn {parts}", *one.names
    )
    program.__globals__.update({f"d{n}": along[k] for n, k in enumerate(one.floats)}, loss=one.loss)
    _compare(adc.grad(program, argnums=one.floats)(*one.inputs()), expected)


CHECKS = {"vmap": check_vmap, "hvp": check_forward_over_reverse, "twice": check_reverse_over_reverse}
