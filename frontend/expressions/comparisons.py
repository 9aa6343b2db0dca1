"""Comparisons, also chained ones; ``is`` and ``in``."""

from __future__ import annotations

import ast

from adc.frontend.arrays import arrays
from adc.frontend.containers import equality, letters, records
from adc.frontend.control import options
from adc.frontend.data.callables import Bound
from adc.frontend.data.compounds import Handle
from adc.frontend.data.type_names import describe_type, for_array
from adc.frontend.data.values import AbstractValue, Array, Compound, Scalar, Static, Tuple, is_array, is_numeric
from adc.frontend.errors import refuse
from adc.frontend.expressions.conditions import conjunction
from adc.frontend.expressions.evaluation import before_calls, evaluate
from adc.frontend.frame import Frame
from adc.frontend.numeric import bits, operands, scalars
from adc.frontend.objects import growing, heap, rows
from adc.frontend.prelude import python_functions
from adc.frontend.syntax.bindings import assigned_in
from adc.frontend.truth import as_condition
from adc.ir import kinds
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.types import i1

_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


def comparison(frame: Frame, node: ast.Compare) -> AbstractValue:
    """``a < b``, ``a < b < c``, ``a is b``, ``a in b``."""
    if len(node.ops) == 1:
        return _one_comparison(frame, node.ops[0], evaluate(frame, node.left), node.comparators[0])[0]
    found: list[AbstractValue] = []
    result = _chain(frame, node, 0, evaluate(frame, node.left), found)
    if isinstance(result, bool):
        return Static(result)
    # The result is one of the comparisons: a NumPy bool if any of them is one.
    return Scalar(result, i1, weak=not any(isinstance(v, Scalar) and not v.weak for v in found))


def _chain(frame: Frame, node: ast.Compare, k: int, left: AbstractValue, found: list[AbstractValue]) -> bool | Value:
    """``a < b < c``: each operand is evaluated once, the later ones only while the comparisons hold. The comparisons
    are added to ``found``."""
    with frame.at(node):
        value, right = _one_comparison(frame, node.ops[k], left, node.comparators[k])
        found.append(value)
        known = as_condition(frame, value)
        if k + 1 == len(node.ops):
            return known
        later = assigned_in(node.comparators[k + 1 :])
        return conjunction(frame, known, lambda: _chain(frame, node, k + 1, right, found), later, stop=False)


def _one_comparison(
    frame: Frame, op: ast.cmpop, left: AbstractValue, node: ast.expr
) -> tuple[AbstractValue, AbstractValue]:
    left = before_calls(frame, left, node)
    right = evaluate(frame, node)
    if isinstance(op, ast.Eq | ast.NotEq) and (same := letters.equal(left, right)) is not None:
        return same if isinstance(op, ast.Eq) else _opposite(same), right
    compared = options.split_all(frame, (left, right), lambda pair: _compared(frame, op, pair[0], pair[1], node))
    return compared, right


def _compared(frame: Frame, op: ast.cmpop, left: AbstractValue, right: AbstractValue, node: ast.expr) -> AbstractValue:
    if isinstance(op, ast.Is | ast.IsNot):
        frame.tracer.attempt.ask(left)
        frame.tracer.attempt.ask(right)
        if _is_flag(left, right) or _is_flag(right, left):
            return arrays.operate(frame, "==" if isinstance(op, ast.Is) else "!=", left, right)
        if isinstance(left, Handle) and isinstance(right, Handle):
            found = equality.same_object(frame, left, right)
            return found if isinstance(op, ast.Is) else arrays.operate(frame, "==", found, Static(False))
        same = _identity(frame, left, right, node)
        return Static(same == isinstance(op, ast.Is))
    symbol = _COMPARE.get(type(op))
    if symbol is None:
        return _membership(frame, op, left, right, node)
    if records.operate(frame, symbol, left, right) is None:
        left, right = operands.beside_array(frame, left, right)
    if not (is_numeric(left) or is_array(left)) or not (is_numeric(right) or is_array(right)):
        return _compare_static(frame, symbol, left, right, node)
    return arrays.operate(frame, symbol, left, right)


def _opposite(v: AbstractValue) -> AbstractValue:
    known = scalars.truth(v)
    return Static(not known) if isinstance(known, bool) else Scalar(bits.logical_not(known), i1)


def _is_flag(v: AbstractValue, other: AbstractValue) -> bool:
    """Whether ``v is other`` compares a Python bool, of which there are two, with True or False."""
    if not (isinstance(v, Scalar) and v.dtype == i1 and v.weak):
        return False
    return (isinstance(other, Static) and isinstance(other.value, bool)) or (
        isinstance(other, Scalar) and other.dtype == i1 and other.weak
    )


def _identity(frame: Frame, left: AbstractValue, right: AbstractValue, node: ast.expr) -> bool:
    if isinstance(left, Static) and isinstance(right, Static):
        return left.value is right.value
    if isinstance(left, Array) and isinstance(right, Array):
        raise refuse(
            current_loc(),
            "whether two arrays are one object is not known when the function is compiled",
            "pass it in, as a bool",
            kind=kinds.UNSUPPORTED_OPERAND,
        )
    if left is not right and all(isinstance(v, Compound) and not isinstance(v, Bound) for v in (left, right)):
        raise refuse(
            frame.loc(node),
            "whether these are one object is not known when the function is compiled",
            "compare them with ==",
            kind=kinds.UNSUPPORTED_OPERAND,
        )
    if heap.may_be_one(frame, left, right):
        frame.want_pool(left)  # type: ignore[arg-type]
        raise refuse(
            frame.loc(node),
            "whether these are one object is not known when the function is compiled",
            kind=kinds.UNSUPPORTED_OPERAND,
        )
    return left is right


def _as_tuple(v: AbstractValue) -> AbstractValue:
    """A known tuple of numbers and texts, such as ``sys.version_info``, item by item."""
    return Tuple(tuple(map(Static, v.value))) if isinstance(v, Static) and isinstance(v.value, tuple) else v


def _compare_static(
    frame: Frame, symbol: str, left: AbstractValue, right: AbstractValue, node: ast.expr
) -> AbstractValue:
    if symbol in ("==", "!="):
        found = records.operate(frame, symbol, left, right)
        if found is not None:
            return found
        found = equality.item_equal(frame, left, right)
        if symbol == "==":
            return found
        return _opposite(found)
    own = records.operate(frame, symbol, left, right)
    if own is not None:
        return own
    if isinstance(left, Static) and isinstance(right, Static):
        try:
            return Static(bool(scalars.PYTHON[symbol](left.value, right.value)))
        except TypeError:
            pass
    left, right = map(_as_tuple, (left, right))
    compared = equality.ordered(frame, symbol, left, right, lambda x, y: compare_items(frame, symbol, x, y, node))
    if compared is not None:
        return compared
    refusal = refuse(
        current_loc(),
        f"{symbol} is not defined for {describe_type(left)} and {describe_type(right)}",
        for_array(left, right),
        kind=kinds.UNSUPPORTED_OPERAND,
    )
    raise options.of_none(frame, refusal, left, right)


def compare_items(
    frame: Frame, symbol: str, left: AbstractValue, right: AbstractValue, node: ast.expr
) -> AbstractValue:
    """``left < right`` and similar, of numbers, texts and tuples, where ``node`` stands."""
    if is_numeric(left) and is_numeric(right):
        return arrays.operate(frame, symbol, left, right)
    return options.split_all(frame, (left, right), lambda pair: _compare_static(frame, symbol, pair[0], pair[1], node))


def _membership(
    frame: Frame, op: ast.cmpop, left: AbstractValue, right: AbstractValue, node: ast.expr
) -> AbstractValue:
    own = records.method(frame, right, "__contains__")
    if is_array(right):
        program = frame.tracer.call(frame, Static(python_functions.contains), [right, left], {})
        known = as_condition(frame, program)
    elif own is not None:
        known = as_condition(frame, frame.tracer.call(frame, own, [left], {}))
    else:
        with frame.at(node):
            known = _contained(frame, left, right, node)
    if isinstance(known, bool):
        return Static(known == isinstance(op, ast.In))
    return Scalar(known if isinstance(op, ast.In) else bits.logical_not(known), i1)


def _contained(frame: Frame, left: AbstractValue, right: AbstractValue, node: ast.expr) -> bool | Value:
    numbers = growing.as_array(heap.contents(frame, right)) if rows.grows(frame, right) else None  # type: ignore[arg-type]
    if numbers is not None and is_numeric(left):
        equality.check_not_nan(left)
        return as_condition(frame, frame.tracer.call(frame, Static(python_functions.contains), [numbers, left], {}))
    found = equality.contains(frame, right, left)
    if found is not None:
        return scalars.truth(found)
    if isinstance(left, Static) and isinstance(right, Static) and isinstance(right.value, str | tuple | frozenset):
        return bool(left.value in right.value)
    raise refuse(
        frame.loc(node),
        "'in' works on what is known when the function is compiled",
        "compare with == and 'or'",
        kind=kinds.NOT_CONSTANT,
    )
