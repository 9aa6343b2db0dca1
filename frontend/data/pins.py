"""Run-time numbers that can be made constants: arguments and captured variables, and what is computed from integers.

The pin of such a value (``Value.pin``) returns its number and makes the code depend on it: a captured variable is
looked at in each call, and for an argument the function is traced again, for this number (``NeedsConstant``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adc.frontend import abstract
from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Op, Value

_MOST_OPERATIONS = 64


class _OfData:
    """The pin of one of NumPy's integers. Code is not made for each of these, unless it cannot be made otherwise."""

    def __init__(self, pin: Callable[[], Any]) -> None:
        self.pin = pin

    def __call__(self) -> Any:
        return self.pin()


class _OfFloat(_OfData):
    """The pin of a float. It is made a constant where it is itself an option, as the order of a norm, and nowhere
    else: what is computed from it depends on the run."""


def marked(value: Value, pin: Callable[[], Any] | None, a: abstract.Scalar) -> Value:
    """``value``, which is the number ``a``, with its pin, if it has one."""
    kind = _OfFloat if a.type.is_float else _OfData
    value.pin = pin if pin is None or (a.weak and not a.type.is_float) else kind(pin)
    return value


def option_of(value: Value) -> Callable[[], Any] | None:
    """What makes ``value``, an option of a function, a constant. None if there is no way."""
    return value.pin if isinstance(value.pin, _OfFloat) else pin_of(value)


def pin_of(value: Value, *, data: bool = True) -> Callable[[], Any] | None:
    """What makes ``value`` a constant: its pin, or those of all that it is computed from. None if there is no way.
    ``data``: also if it is computed from NumPy's integers."""
    return (lambda: _number(value, {})) if _is_computable(value, data) else None


def _is_computable(value: Value, data: bool) -> bool:
    found: set[Value] = set()
    todo = [value]
    while todo:
        v = todo.pop()
        if v in found or constant_of(v) is not None:
            continue
        if v.pin is not None and (not isinstance(v.pin, _OfData) or (data and not isinstance(v.pin, _OfFloat))):
            continue
        sources = _sources(v)
        if sources is None or len(found) == _MOST_OPERATIONS:
            return False
        found.add(v)
        todo += sources
    return True


def _sources(v: Value) -> Sequence[Value] | None:
    """The values that a number is computed from; None if not from numbers alone."""
    if v.op is None:
        return None
    if v.op.opdef is ops.if_:
        return [v.op.operands[0], *_sides(v)]
    return None if v.op.opdef.evaluate is None else v.op.operands


def _sides(v: Value) -> list[Value]:
    """The values that a result of an ``scf.if`` may have: where its condition holds, and where not."""
    assert isinstance(v.op, Op)
    return [region.ops[-1].operands[v.index] for region in v.op.regions]


def _number(v: Value, known: dict[Value, Any]) -> Any:
    if v not in known:
        constant = constant_of(v)
        if v.pin is not None:
            known[v] = v.pin()
        elif constant is not None:
            known[v] = constant
        elif v.op is not None and v.op.opdef is ops.if_:
            known[v] = _number(_sides(v)[not _number(v.op.operands[0], known)], known)
        else:
            assert v.op is not None and v.op.opdef.evaluate is not None
            known[v] = v.op.opdef.evaluate(v.op.attrs, v.type, *(_number(o, known) for o in v.op.operands))
    return known[v]
