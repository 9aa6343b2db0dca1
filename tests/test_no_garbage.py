"""The objects of a call are freed with its results: nothing waits for the garbage collector and keeps arrays alive."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad


@jit_grad(argnums=(0, 1))
def product(a: Any, b: Any) -> Any:
    return np.sin(2 * a) * b


@jit_grad(argnums=(0, 1))
def total(a: Any, b: Any) -> Any:
    return np.sum(np.sin(2 * a) * b)


@jit_grad
def of_dict(p: Any) -> Any:
    return np.sum(p["x"] * p["y"][0])


@jit_grad
def in_place(a: Any) -> Any:
    a[0] = 3.0 * a[1]
    return a * 2


@jit_grad(argnums=(0, 1))
def returns_two(a: Any, b: Any) -> Any:
    b[1:] = a[1:]
    return a * b, {"z": 2.0 * b[0]}


def sine(a: Any) -> Any:
    return np.sin(a)


def with_aux(a: Any) -> Any:
    return np.sum(a * a), {"z": a * 2}


x = np.linspace(0.0, 1.0, 12)
y = x + 1.0
params = {"x": x, "y": (y, 2.0)}
jacobian, hessian = adc.jacobian(sine), adc.hessian(lambda a: np.sum(np.sin(a)))
of_rows, with_value = adc.vmap(sine), adc.value_and_grad(with_aux, has_aux=True)
CALLS: dict[str, Callable[[], Any]] = {
    "value": lambda: product(x, y),
    "gradient": lambda: total.value_and_grad(x, y),
    "gradient of a dict": lambda: of_dict.value_and_grad(params),
    "gradient with aux": lambda: with_value(x),
    "gradient where arguments overlap": lambda: total.grad(x[1:], x[:-1]),
    "pullback": lambda: product.pullback(x, y)[1](x),
    "pullback of a dict": lambda: of_dict.pullback(params)[1](1.0),
    "pullback where arguments overlap": lambda: product.pullback(x[1:], x[:-1])[1](x[1:]),
    "pullback of what is changed": lambda: in_place.pullback(x.copy())[1](x, final={"a": x}),
    "pullback of two results": lambda: returns_two.pullback(x, y.copy())[1]((x, {"z": 1.0})),
    "jvp": lambda: product.jvp((x, y), (x, None)),
    "jvp of a dict": lambda: of_dict.jvp((params,), (params,)),
    "hvp": lambda: adc.hvp(total, (x, y), (x, y)),
    "jacobian": lambda: jacobian(x),
    "hessian": lambda: hessian(x),
    "vmap": lambda: of_rows(np.ones((3, 4))),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_leaves_no_garbage(name: str) -> None:
    call = CALLS[name]
    call(), call()  # what is compiled is kept
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        call()
        gc.collect()
        left = [getattr(thing, "__qualname__", type(thing).__name__) for thing in gc.garbage]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert left == []
