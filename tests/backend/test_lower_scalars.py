"""Every scalar operation of the table: the compiled result against its evaluation, for samples of its operand types."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest

from adc.backend.lowering.lower_table import LOWERINGS
from adc.backend.lowering.scalar_lowerings import SCALARS
from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func
from adc.ir.evaluate import evaluate
from adc.ir.evaluate.evaluate_integers import EXACT_RESULTS
from adc.ir.opdef import OpDef, Trait
from adc.ir.types import Type, f32, f64, i1, i32, i64, index, memref
from tests.backend.lowering_harness import Native, module_of, ulps

DEFINITIONS = [d for d in ops.TABLE.values() if d.evaluate is not None and d is not ops.constant]
FLOATS = (0.0, -0.0, 0.3, -0.7, 1.0, -1.0, 2.5, -2.5, 0.5, 1.5, -3.0, 7.75, 1e-9, -40.25, 12.0, 23.4, 1e300, -1e-310)
FLOATS += (math.inf, -math.inf, math.nan)
INTEGERS = (0, 1, -1, 2, 3, -3, 7, -8, 10, 31, 63, 64, -100, (1 << 31) - 1, -(1 << 31), (1 << 62) + 5)
INTEGERS += ((1 << 63) - 1, -(1 << 63))

# Functions whose value is the difference of larger numbers, in parts of a thousandth of a unit in those.
ABSOLUTE = {ops.lgamma: 1e-14, ops.polygamma: 1e-13}
ULPS = {ops.tgamma: 12, ops.fpowi: 4, ops.polygamma: 4000, ops.lgamma: 8, ops.rsqrt: 2}


def test_every_operation_has_a_lowering() -> None:
    terminators = {d for d in ops.TABLE.values() if Trait.TERMINATOR in d.traits}
    assert {d for d in ops.TABLE.values() if d.evaluate is not None} == set(SCALARS) - {ops.external}
    assert set(ops.TABLE.values()) - terminators - {ops.gradient} == set(LOWERINGS)


def _candidates(t: Type) -> tuple[Any, ...]:
    if t == i1:
        return (False, True)
    if t.is_float:
        return FLOATS if t == f64 else tuple(float(np.float32(x)) for x in FLOATS if abs(x) < 1e30 or x != x)
    width = evaluate.bits(t)
    return tuple(n for n in INTEGERS if -(1 << (width - 1)) <= n < 1 << (width - 1))


TYPES = (f64, f32, index, i64, i32, i1)
ATTRIBUTES: dict[OpDef, list[dict[str, Any]]] = {
    ops.cmpf: [{"predicate": p} for p in ("oeq", "one", "olt", "ole", "ogt", "oge", "une", "uno", "ord")],
    ops.cmpi: [{"predicate": p} for p in ("eq", "ne", "slt", "sle", "sgt", "sge")],
    ops.fits: [{"kind": k} for k in EXACT_RESULTS],
    ops.polygamma: [{"order": n} for n in (0, 1, 2, 3)],
    ops.addf: [{"fastmath": mode} for mode in ("none", ops.CONTRACT, ops.OWNED)],
}


def _variants(definition: OpDef) -> list[tuple[tuple[Type, ...], dict[str, Any], Type]]:
    """Every choice of operand types and attributes that the type rule takes."""
    found = []
    assert definition.infer is not None
    attributes = ATTRIBUTES.get(definition)
    if attributes is None:
        attributes = [{"type": t} for t in TYPES] if "type" in definition.attrs else [{}]
    for count in (1, 2, 3, 4):
        for types in itertools.product(TYPES, repeat=count):
            for attrs in attributes:
                try:
                    (result,) = definition.infer(types, attrs)
                except (TypeError, IndexError, AttributeError):
                    continue
                found.append((types, attrs, result))
    return found


def _module(definition: OpDef) -> tuple[list[tuple[tuple[Type, ...], dict[str, Any], Type]], Native]:
    """All variants of an operation; each as a function of its operands and a loop over arrays of them."""
    variants = _variants(definition)
    funcs = []
    for k, (types, attrs, result) in enumerate(variants):
        scalar = Func(f"scalar{k}", types, [result])
        with insert_at(scalar.body):
            build(ops.return_, [definition(*scalar.args, **attrs)])
        arrays = Func(f"arrays{k}", [memref(t, 1) for t in types] + [memref(result, 1)], [])
        with insert_at(arrays.body):
            _loop(arrays, definition, attrs)
        funcs += [scalar, arrays]
    return variants, Native(module_of(*funcs), level=2)


def _loop(func: Func, definition: OpDef, attrs: dict[str, Any]) -> None:
    *sources, target = func.args
    zero, one = (ops.constant(value=v, type=index) for v in (0, 1))
    body = Block([index])
    with insert_at(body):
        i = body.args[0]
        result = definition(*(ops.load(s, i) for s in sources), **attrs)
        build(ops.store, [result, target, i])
        build(ops.yield_, [])
    build(ops.for_, [zero, ops.dim(target, dim=0), one], result_types=[], regions=[body])
    build(ops.return_, [])


def _close(definition: OpDef, t: Type, found: Any, expected: Any, vector: bool) -> bool:
    if not t.is_float:
        return bool(found == expected)
    expected = float(expected)
    if found != found or expected != expected:
        return bool(found != found and expected != expected)
    if found == expected:
        return expected != 0.0 or vector or math.copysign(1, found) == math.copysign(1, expected)
    limit = ULPS.get(definition, 1) + (4 if vector else 0)
    return ulps(found, expected, t) <= limit or abs(found - expected) <= ABSOLUTE.get(definition, 0.0) * (
        1 + abs(expected)
    )


def _samples(definition: OpDef, types: tuple[Type, ...], attrs: dict[str, Any], result: Type) -> list[tuple[Any, Any]]:
    """Operand tuples at which the operation is defined, with its values."""
    assert definition.evaluate is not None
    grids = [_candidates(t) for t in types]
    if len(grids) == 3:
        grids = [g[:8] if t.is_float else g for g, t in zip(grids, types, strict=True)]
    given = [s for s in definition.samples if len(s) == len(types) and all(t == f64 for t in types)]
    found = []
    for values in [*itertools.product(*grids), *given]:
        operands = [evaluate.normal(v, t) for v, t in zip(values, types, strict=True)]
        try:
            found.append((tuple(operands), definition.evaluate(attrs, result, *operands)))
        except evaluate.Undefined:
            continue
    return found


def _dtype(t: Type) -> str:
    return {"f64": "f8", "f32": "f4", "i1": "?", "i32": "i4"}.get(str(t), "i8")


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda d: d.name)
def test_compiled_equals_evaluated(definition: OpDef) -> None:
    variants, native = _module(definition)
    assert variants
    for k, (types, attrs, result) in enumerate(variants):
        samples = _samples(definition, types, attrs, result)
        assert samples
        columns = [np.array([s[0][p] for s in samples], _dtype(t)) for p, t in enumerate(types)]
        vector = np.zeros(len(samples), _dtype(result))
        native(f"arrays{k}", *columns, vector)
        for n, (operands, expected) in enumerate(samples):
            (scalar,) = native(f"scalar{k}", *(v.item() if isinstance(v, np.generic) else v for v in operands))
            where = f"{definition.name} {attrs} {types} at {operands}: expected {expected}"
            assert _close(definition, result, scalar, expected, False), f"{where}, scalar {scalar}"
            assert _close(definition, result, vector[n].item(), expected, True), f"{where}, vector {vector[n]}"


@pytest.mark.parametrize("order", range(6))
def test_polygamma_against_mpmath(order: int) -> None:
    func = Func("f", [f64], [f64])
    with insert_at(func.body):
        build(ops.return_, [ops.polygamma(func.args[0], order=order)])
    native = Native(module_of(func))
    points = [1e-3, 0.1, 0.9, 1.4616, 2.0, 3.7, 12.5, 15.99, 16.0, 40.0, 1e6, -0.3, -0.5, -1.25, -7.9, -30.2]
    for x in points:
        expected = float(mpmath.psi(order, mpmath.mpf(x)))
        (found,) = native("f", x)
        near = abs(x - round(x)) if x < 0 else 1.0  # conditioning next to a pole, from the rounding of 1 - x
        assert abs(found - expected) <= 1e-13 * (1 + abs(expected)) / near, (x, found, expected)


def test_integer_division_by_constants() -> None:
    divisors = (1, -1, 2, -2, 3, -7, 64, 1 << 40, -(1 << 63))
    func = Func("f", [index], [index] * (4 * len(divisors)))
    with insert_at(func.body):
        results = []
        for d in divisors:
            divisor = ops.constant(value=d, type=index)
            for definition in (ops.divsi, ops.remsi, ops.floordivsi, ops.ceildivsi):
                results.append(definition(func.args[0], divisor))
        build(ops.return_, results)
    native = Native(module_of(func))
    for x in (0, 1, -1, 5, -5, 63, 64, -64, -65, (1 << 63) - 1, -(1 << 63) + 1):
        found = iter(native("f", x))
        for d in divisors:
            towards_zero = abs(x) // abs(d) * (1 if (x < 0) == (d < 0) else -1)
            expected = [towards_zero, x - d * towards_zero, x // d, -(-x // d)]
            assert [next(found) for _ in range(4)] == expected, (x, d)
