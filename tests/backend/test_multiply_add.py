"""Sums of products are fused by what they are, not by what is around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adc.backend.target import host
from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Func, Value
from adc.ir.opdef import OpDef
from adc.ir.types import FloatType, f32, f64, index, memref
from tests.backend.lowering_harness import Native, module_of

# The sum, and what its result is by fma: factors and addend.
SUMS: dict[str, tuple[Callable[[Value, Value], Value], Callable[..., tuple[float, float, float]]]] = {
    "p + c": (lambda p, c: ops.addf(p, c), lambda a, b, c: (a, b, c)),
    "c + p": (lambda p, c: ops.addf(c, p), lambda a, b, c: (a, b, c)),
    "p - c": (lambda p, c: ops.subf(p, c), lambda a, b, c: (a, b, -c)),
    "c - p": (lambda p, c: ops.subf(c, p), lambda a, b, c: (-a, b, c)),
}


def _expected(t: FloatType, a: float, b: float, c: float) -> float:
    if host().fused:
        return float(_value(ops.fma, t, a, b, c))
    return float(_value(ops.addf, t, _value(ops.mulf, t, a, b), c))


def _value(opdef: OpDef, t: FloatType, *operands: float) -> Any:
    assert opdef.evaluate is not None
    return opdef.evaluate({}, t, *operands)


@pytest.mark.parametrize("t", [f64, f32], ids=str)
@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("name", SUMS)
def test_whatever_else_uses_the_product(name: str, level: int, t: FloatType) -> None:
    make, factors = SUMS[name]
    alone, also = Func("alone", [t, t, t], [t]), Func("also", [t, t, t], [t, t, t])
    with insert_at(alone.body):
        a, b, c = alone.args
        build(ops.return_, [make(ops.mulf(a, b), c)])
    with insert_at(also.body):
        a, b, c = also.args
        product = ops.mulf(a, b)
        build(ops.return_, [make(product, c), product, ops.sin(product)])
    native = Native(module_of(alone, also), level=level)
    rng = np.random.default_rng(0)
    for _ in range(50):
        a, b, c = (float(x) for x in rng.standard_normal(3).astype(f"f{t.width // 8}"))
        expected = _expected(t, *factors(a, b, c))
        assert native("alone", a, b, c)[0] == native("also", a, b, c)[0] == expected
        assert native("also", a, b, c)[1] == _value(ops.mulf, t, a, b)


def test_terms_added_to_memory() -> None:
    func = Func("f", [f64, f64, memref(f64, 1), index], [])
    with insert_at(func.body):
        a, b, m, i = func.args
        build(ops.accumulate, [ops.mulf(a, b), m, i])
        build(ops.return_, [])
    native = Native(module_of(func))
    rng = np.random.default_rng(0)
    for _ in range(50):
        a, b, c = rng.standard_normal(3)
        memory = np.array([c])
        native("f", float(a), float(b), memory, 0)
        assert memory[0] == _expected(f64, a, b, c)
