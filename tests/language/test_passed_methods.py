"""Methods of containers and arrays that are passed to functions, as keys and otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.language.as_in_python import check


def greatest_of_dict(x: Any) -> Any:
    d = {"a": x[0], "b": x[1] * 2, "c": x[2]}
    most, least = max(d, key=d.get), min(d, key=d.get)
    return d[most] ** 2 - d[least] + (most == "b")


def in_order_of_values(x: Any) -> Any:
    d = {k: v * v for k, v in enumerate(x)}
    order = sorted(d, key=d.get, reverse=True)
    return sum((place + 1.0) * d[k] for place, k in enumerate(order))


def mapped(x: Any) -> Any:
    d = {"a": x[0], "b": x[1] * x[2]}
    first, second = map(d.get, ["b", "a"])
    return first - 3.0 * second


def missing_ones(x: Any) -> Any:
    d = {"a": x[0], "b": x[1] * x[2]}

    def total(get: Any) -> Any:
        return get("a") * get("b", 1.0) + get("z", x[3])

    return total(d.get)


def places(x: Any) -> Any:
    values = [v * v for v in x]
    greatest = max(range(len(values)), key=values.__getitem__)
    return values[greatest] * x[greatest - 1] + values.index(min(values))


def extended(x: Any) -> Any:
    def run(add: Any) -> None:
        for v in x:
            if v > 0.3:
                add(v * v)

    found = [x[0]]
    run(found.append)
    return sum(v * k for k, v in enumerate(found, 1))


def methods_of_arrays(x: Any) -> Any:
    def twice(reduce: Any) -> Any:
        return reduce() * reduce()

    return twice(x.sum) + twice((x * x).mean) * sum(map(x[:2].dot, [x[2:4], x[4:]]))


PROGRAMS = [greatest_of_dict, in_order_of_values, mapped, missing_ones, places, extended, methods_of_arrays]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients(function: Callable[[Any], Any]) -> None:
    check(function)
