"""Sums of products are fused if both allow it, depending on these operations and not on their surroundings."""

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
SUMS: dict[str, tuple[Callable[..., Value], Callable[..., tuple[float, float, float]]]] = {
    "p + c": (lambda p, c, **fast: ops.addf(p, c, **fast), lambda a, b, c: (a, b, c)),
    "c + p": (lambda p, c, **fast: ops.addf(c, p, **fast), lambda a, b, c: (a, b, c)),
    "p - c": (lambda p, c, **fast: ops.subf(p, c, **fast), lambda a, b, c: (a, b, -c)),
    "c - p": (lambda p, c, **fast: ops.subf(c, p, **fast), lambda a, b, c: (-a, b, c)),
}
# What may be done to the product and to the sum; only with both they are rounded once.
PERMISSIONS = [("none", "none"), ("none", ops.CONTRACT), (ops.CONTRACT, "none"), (ops.CONTRACT, ops.CONTRACT)]


def _expected(t: FloatType, a: float, b: float, c: float, *, fused: bool = True) -> float:
    if fused and host().fused:
        return float(_value(ops.fma, t, a, b, c))
    return float(_value(ops.addf, t, _value(ops.mulf, t, a, b), c))


def _value(opdef: OpDef, t: FloatType, *operands: float) -> Any:
    assert opdef.evaluate is not None
    return opdef.evaluate({}, t, *operands)


@pytest.mark.parametrize("t", [f64, f32], ids=str)
@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize(("of_product", "of_sum"), PERMISSIONS)
def test_whatever_else_uses_the_product(of_product: str, of_sum: str, name: str, level: int, t: FloatType) -> None:
    make, factors = SUMS[name]
    alone, also = Func("alone", [t, t, t], [t]), Func("also", [t, t, t], [t, t, t])
    with insert_at(alone.body):
        a, b, c = alone.args
        build(ops.return_, [make(ops.mulf(a, b, fastmath=of_product), c, fastmath=of_sum)])
    with insert_at(also.body):
        a, b, c = also.args
        product = ops.mulf(a, b, fastmath=of_product)
        build(ops.return_, [make(product, c, fastmath=of_sum), product, ops.sin(product)])
    native = Native(module_of(alone, also), level=level)
    rng = np.random.default_rng(0)
    for _ in range(50):
        a, b, c = (float(x) for x in rng.standard_normal(3).astype(f"f{t.width // 8}"))
        expected = _expected(t, *factors(a, b, c), fused=of_product == of_sum == ops.CONTRACT)
        assert native("alone", a, b, c)[0] == native("also", a, b, c)[0] == expected
        assert native("also", a, b, c)[1] == _value(ops.mulf, t, a, b)


@pytest.mark.parametrize("of_product", ["none", ops.CONTRACT])
def test_terms_added_to_memory(of_product: str) -> None:
    func = Func("f", [f64, f64, memref(f64, 1), index], [])
    with insert_at(func.body):
        a, b, m, i = func.args
        build(ops.accumulate, [ops.mulf(a, b, fastmath=of_product), m, i])
        build(ops.return_, [])
    native = Native(module_of(func))
    rng = np.random.default_rng(0)
    for _ in range(50):
        a, b, c = rng.standard_normal(3)
        memory = np.array([c])
        native("f", float(a), float(b), memory, 0)
        assert memory[0] == _expected(f64, a, b, c, fused=of_product == ops.CONTRACT)
