"""Arithmetic notation on values: ``x * y`` and ``2.0 * x`` append the operation for the operands' type.

Importing this module is what gives ``Value`` its operators.
"""

from __future__ import annotations

from adc.ir import ops
from adc.ir.core import Module, Op, Value
from adc.ir.opdef import OpDef
from adc.ir.types import FloatType, Type, index


def const(value: float | bool, type: Type) -> Value:
    """A constant of the given type at the insertion point."""
    if type.is_float:
        value = float(value)
    elif type.is_integer:
        value = int(value)
    return ops.constant(value=value, type=type)


def const_index(value: int) -> Value:
    return const(value, index)


def constant_of(value: Value) -> float | int | None:
    """The number that ``value`` is known to be, or None."""
    op = value.op
    return op.attrs["value"] if op is not None and op.opdef is ops.constant else None


def fusible(op: Op, addend: Value) -> bool:
    """Whether ``op``, which adds ``addend`` to something, may be fused with it: ``addend`` is a product, and both may
    be rounded once.

    Accumulation into shadows is adc's own arithmetic, and may always be fused.
    """
    product = addend.op
    return (
        product is not None
        and product.opdef is ops.mulf
        and product.attrs["fastmath"] == ops.CONTRACT
        and op.attrs.get("fastmath", ops.CONTRACT) == ops.CONTRACT
    )


def contract(module: Module) -> None:
    """Let all sums and products of a module be fused."""
    for func in module.funcs.values():
        for op in func.walk():
            if op.attrs.get("fastmath") == "none":
                op.set_attr("fastmath", ops.CONTRACT)


def trip_count(lower: Value, upper: Value, step: Value) -> Value:
    """The trip count of a counted loop, appended at the insertion point.

    The bounds are compared before they are subtracted: if the lower bound exceeds the upper one by more than half of
    the range of integers, the difference would wrap around to a positive number. (If the lower bound is the smaller one
    and the difference wraps around, there are more iterations than can be counted, and the trip count is zero.)
    """
    span = upper if constant_of(lower) == 0 else ops.maxsi(upper, lower) - lower
    if constant_of(step) != 1:
        span = ops.ceildivsi(span, step)
    return ops.maxsi(span, const_index(0))


def iteration_number(counter: Value, lower: Value, step: Value) -> Value:
    """Which iteration of a counted loop this is, from zero."""
    offset = counter if constant_of(lower) == 0 else counter - lower
    return offset if constant_of(step) == 1 else ops.divsi(offset, step)


def span(difference: Value) -> tuple[Value, Value] | None:
    """The lower and the upper bound if ``difference`` is their distance as ``trip_count`` computes it, else None."""
    op = difference.op
    if op is None or op.opdef is not ops.subi:
        return None
    upper, lower = op.operands
    most = upper.op
    if most is not None and most.opdef is ops.maxsi and lower in most.operands:
        upper = next((v for v in most.operands if v is not lower), lower)
    return lower, upper


def as_float(x: Value, t: Type) -> Value:
    """A float as one of type ``t``, which is wider, narrower or the same."""
    if x.type == t:
        return x
    assert isinstance(x.type, FloatType) and isinstance(t, FloatType)
    return (ops.extf if t.width > x.type.width else ops.truncf)(x, type=t)


def coerce(x: Value | float, y: Value | float) -> tuple[Value, Value]:
    """Turn a Python number among the two into a constant of the other's type."""
    if isinstance(x, Value):
        return x, y if isinstance(y, Value) else const(y, x.type)
    if isinstance(y, Value):
        return const(x, y.type), y
    raise TypeError("one operand must be an IR value")


def _binary(on_floats: OpDef, on_integers: OpDef):  # type: ignore[no-untyped-def]
    def apply(x: Value | float, y: Value | float) -> Value:
        a, b = coerce(x, y)
        return (on_floats if a.type.is_float else on_integers)(a, b)

    return apply


Value.operators.update(
    {
        "+": _binary(ops.addf, ops.addi),
        "-": _binary(ops.subf, ops.subi),
        "*": _binary(ops.mulf, ops.muli),
        "/": _binary(ops.divf, ops.divsi),
    }
)
