"""Expressions: from a node of the syntax tree to an abstract value, with the code for it at the insertion point."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from adc.frontend.control import comprehensions
from adc.frontend.control.branches import Traced, branch, merge, trace
from adc.frontend.control.choosing import narrow
from adc.frontend.data import cells, equality, growing, heap, indexing, options, records, sequences
from adc.frontend.data.callables import Bound
from adc.frontend.data.compounds import OneOf
from adc.frontend.data.texts import joined
from adc.frontend.data.type_names import describe_type, for_array
from adc.frontend.data.values import (
    NONE,
    AbstractValue,
    Array,
    Choice,
    Compound,
    Lazy,
    Method,
    Ref,
    Scalar,
    Static,
    Tuple,
    is_array,
    is_numeric,
)
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame, discard
from adc.frontend.functions.closures import make_closure
from adc.frontend.libraries.attributes import attribute
from adc.frontend.libraries.container_methods import extend, pairs
from adc.frontend.libraries.table import is_library
from adc.frontend.names import lookup
from adc.frontend.numeric import arrays, bits, scalars, subscripts
from adc.frontend.numeric.nests import materialise
from adc.frontend.syntax.liveness import assigned_in
from adc.frontend.syntax.walrus import assigns
from adc.frontend.unsupported import refuse_expression
from adc.ir import kinds, ops
from adc.ir.arith import const_index
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.types import i1

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.MatMult: "@",
}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}


def evaluate(frame: Frame, node: ast.expr) -> AbstractValue:
    """The value of an expression."""
    rule = _RULES.get(type(node))
    if rule is None:
        raise refuse_expression(frame.loc(node), node)
    with frame.at(node):
        return rule(frame, node)


def evaluate_kept(frame: Frame, node: ast.expr) -> AbstractValue:
    """As ``evaluate``, for a value that is kept: an array expression is computed now."""
    value = evaluate(frame, node)
    with frame.at(node):
        return arrays.settled(frame, value)


def _constant(frame: Frame, node: ast.Constant) -> AbstractValue:
    if isinstance(node.value, complex | bytes):
        raise refuse_expression(frame.loc(node), node)
    return Static(node.value)


def _name(frame: Frame, node: ast.Name) -> AbstractValue:
    return lookup(frame, node.id)


def _tuple(frame: Frame, node: ast.Tuple) -> AbstractValue:
    return Tuple(tuple(displayed(frame, node.elts)))


def _list(frame: Frame, node: ast.List) -> AbstractValue:
    if not any(isinstance(item, ast.Starred) for item in node.elts):
        return sequences.new_list(frame, displayed(frame, node.elts))
    made = sequences.new_list(frame, [])
    for item in node.elts:
        if isinstance(item, ast.Starred):
            given = evaluate_kept(frame, item.value)
            with frame.at(item):
                extend(frame, made, given)
        else:
            value = evaluate_kept(frame, item)
            with frame.at(item):
                growing.append(frame, made, value)
    return made


def displayed(frame: Frame, nodes: list[ast.expr]) -> list[AbstractValue]:
    """The items of a tuple or list as it is written."""
    found: list[AbstractValue] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            items = sequences.known_items(frame, evaluate_kept(frame, node.value))
            if items is None:
                raise refuse_expression(frame.loc(node), node)
            found += items
        else:
            found.append(evaluate_kept(frame, node))
    return found


def _dict(frame: Frame, node: ast.Dict) -> AbstractValue:
    items: dict[object, AbstractValue] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            items |= pairs(frame, evaluate_kept(frame, value))
            continue
        with frame.at(key):
            name = sequences.constant_key(evaluate_kept(frame, key))
        items[name] = evaluate_kept(frame, value)
    return sequences.new_dict(frame, items)


def _binary(frame: Frame, node: ast.BinOp) -> AbstractValue:
    """``a + b + c + ...`` leans to the left, maybe far: walked without recursion."""
    spine = [node]
    while isinstance(spine[-1].left, ast.BinOp):
        spine.append(spine[-1].left)
    value = evaluate(frame, spine[-1].left)
    for part in reversed(spine):
        value = before_calls(frame, value, part.right)
        right = evaluate(frame, part.right)
        with frame.at(part):
            value = arrays.operate(frame, BINARY[type(part.op)], value, right)
    return value


def before_calls(frame: Frame, value: AbstractValue, *rest: ast.expr) -> AbstractValue:
    """Compute a pending array expression if evaluating ``rest`` may change what it reads."""
    if isinstance(value, Lazy) and any(_may_write(frame, node) for node in rest):
        return materialise(frame, value)
    return value


def _may_write(frame: Frame, node: ast.expr) -> bool:
    return any(isinstance(n, ast.Call) and not _calls_library(frame, n.func) for n in ast.walk(node))


def _calls_library(frame: Frame, callee: ast.expr) -> bool:
    if isinstance(callee, ast.Attribute):
        owner = callee.value
        if not isinstance(owner, ast.Name) or owner.id in frame.liveness.local:
            return False
        return is_library(getattr(_outer(frame, owner.id), callee.attr, None))
    return isinstance(callee, ast.Name) and callee.id not in frame.env and is_library(_outer(frame, callee.id))


def _outer(frame: Frame, name: str) -> Any:
    found = frame.module_globals.get(name)
    builtin = frame.module_globals.get("__builtins__")
    return found if found is not None else getattr(builtin, name, None)


def _unary(frame: Frame, node: ast.UnaryOp) -> AbstractValue:
    if isinstance(node.op, ast.Not):
        known = condition(frame, node.operand)
        return Static(not known) if isinstance(known, bool) else Scalar(bits.logical_not(known), i1)
    return arrays.operate_unary(frame, _UNARY[type(node.op)], evaluate(frame, node.operand))


def _compare(frame: Frame, node: ast.Compare) -> AbstractValue:
    if len(node.ops) == 1:
        return _comparison(frame, node.ops[0], evaluate(frame, node.left), node.comparators[0])[0]
    result = _chain(frame, node, 0, evaluate(frame, node.left))
    return Static(result) if isinstance(result, bool) else Scalar(result, i1)


def _chain(frame: Frame, node: ast.Compare, k: int, left: AbstractValue) -> bool | Value:
    """``a < b < c``: each operand is evaluated once, the later ones only while the comparisons hold."""
    with frame.at(node):
        value, right = _comparison(frame, node.ops[k], left, node.comparators[k])
        known = as_condition(frame, value)
        if k + 1 == len(node.ops):
            return known
        later = assigned_in(node.comparators[k + 1 :])
        return _conjunction(frame, known, lambda: _chain(frame, node, k + 1, right), later, stop=False)


def _comparison(
    frame: Frame, op: ast.cmpop, left: AbstractValue, node: ast.expr
) -> tuple[AbstractValue, AbstractValue]:
    right = evaluate(frame, node)
    compared = options.split_all(frame, (left, right), lambda pair: _compared(frame, op, pair[0], pair[1], node))
    return compared, right


def _compared(frame: Frame, op: ast.cmpop, left: AbstractValue, right: AbstractValue, node: ast.expr) -> AbstractValue:
    if isinstance(op, ast.Is | ast.IsNot):
        if _is_flag(left, right) or _is_flag(right, left):
            return arrays.operate(frame, "==" if isinstance(op, ast.Is) else "!=", left, right)
        same = _identity(frame, left, right, node)
        return Static(same == isinstance(op, ast.Is))
    symbol = _COMPARE.get(type(op))
    if symbol is None:
        return _membership(frame, op, left, right, node)
    if not (is_numeric(left) or is_array(left)) or not (is_numeric(right) or is_array(right)):
        return _compare_static(frame, symbol, left, right, node)
    return arrays.operate(frame, symbol, left, right)


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
        raise refuse(
            frame.loc(node),
            "whether these are one object is not known when the function is compiled",
            kind=kinds.UNSUPPORTED_OPERAND,
        )
    return left is right


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
        known = scalars.truth(found)
        return Static(not known) if isinstance(known, bool) else Scalar(bits.logical_not(known), i1)
    own = records.operate(frame, symbol, left, right)
    if own is not None:
        return own
    if isinstance(left, Static) and isinstance(right, Static):
        try:
            return Static(bool(scalars.PYTHON[symbol](left.value, right.value)))
        except TypeError:
            pass
    raise refuse(
        current_loc(),
        f"{symbol} is not defined for {describe_type(left)} and {describe_type(right)}",
        for_array(left, right),
        kind=kinds.UNSUPPORTED_OPERAND,
    )


def _membership(
    frame: Frame, op: ast.cmpop, left: AbstractValue, right: AbstractValue, node: ast.expr
) -> AbstractValue:
    own = records.method(frame, right, "__contains__")
    if own is not None:
        known = as_condition(frame, frame.tracer.call(frame, own, [left], {}))
    else:
        with frame.at(node):
            known = _contained(frame, left, right, node)
    if isinstance(known, bool):
        return Static(known == isinstance(op, ast.In))
    return Scalar(known if isinstance(op, ast.In) else bits.logical_not(known), i1)


def _contained(frame: Frame, left: AbstractValue, right: AbstractValue, node: ast.expr) -> bool | Value:
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


# Truth, short circuits ------------------------------------------------------------------------------------------------


def condition(frame: Frame, node: ast.expr) -> bool | Value:
    """Whether an expression holds: known now, or an i1."""
    if isinstance(node, ast.BoolOp):
        with frame.at(node):
            return _conditions(frame, node.values, stop=isinstance(node.op, ast.Or))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        known = condition(frame, node.operand)
        with frame.at(node):
            return not known if isinstance(known, bool) else bits.logical_not(known)
    value = evaluate(frame, node)
    with frame.at(node):
        return as_condition(frame, value)


def as_condition(frame: Frame, value: AbstractValue) -> bool | Value:
    """Truth of a value."""
    if growing.grows(frame, value):
        assert isinstance(value, Ref)
        return ops.cmpi(growing.length(heap.contents(frame, value)), const_index(0), predicate="sgt")
    if isinstance(value, Ref) and value.kind in ("list", "dict"):
        return bool(heap.contents(frame, value).items)
    for name in ("__bool__", "__len__"):
        own = records.method(frame, value, name)
        if own is not None:
            return arrays.truth(frame.tracer.call(frame, own, [], {}))
    return arrays.truth(value)


def _conditions(frame: Frame, nodes: list[ast.expr], stop: bool) -> bool | Value:
    first = condition(frame, nodes[0])
    if len(nodes) == 1:
        return first

    def rest() -> bool | Value:
        narrow(frame, nodes[0], not stop, evaluate)
        return _conditions(frame, nodes[1:], stop)

    return _conjunction(frame, first, rest, assigned_in(nodes[1:]), stop)


def _conjunction(
    frame: Frame, first: bool | Value, rest: Callable[[], bool | Value], names: frozenset[str], stop: bool
) -> bool | Value:
    """``first and rest`` (``stop`` False) or ``first or rest``; ``rest`` is evaluated only if it is needed, unless
    evaluating it does no harm. It may assign ``names``."""
    if isinstance(first, bool):
        return first if first == stop else rest()
    other = trace(frame, lambda: _as_value(rest()))
    result = _join_conditions(frame, first, other, names, stop)
    assert result is not None
    return scalars.truth(result)


def _as_value(known: bool | Value) -> AbstractValue:
    return Static(known) if isinstance(known, bool) else Scalar(known, i1)


def _join_conditions(
    frame: Frame, first: Value, other: Traced, names: frozenset[str], stop: bool
) -> AbstractValue | None:
    pure = other.pure and not names
    if pure and isinstance(other.result, Static):
        discard(other.block)
        return other.result if bool(other.result.value) == stop else Scalar(first, i1)
    if pure and isinstance(other.result, Scalar) and other.result.dtype == i1:
        other.splice()
        return Scalar((ops.ori if stop else ops.andi)(first, other.result.value), i1, other.result.weak)
    decided = trace(frame, lambda: Static(stop))
    return merge(frame, first, decided if stop else other, other if stop else decided, names)


def _boolean(frame: Frame, node: ast.BoolOp) -> AbstractValue:
    """``a and b`` as a value: one of the operands."""
    return _select_operand(frame, node.values, stop=isinstance(node.op, ast.Or))


def _select_operand(frame: Frame, nodes: list[ast.expr], stop: bool) -> AbstractValue:
    first = evaluate(frame, nodes[0])
    if len(nodes) == 1:
        return first
    known = as_condition(frame, first)
    if isinstance(known, bool):
        return first if known == stop else _select_operand(frame, nodes[1:], stop)
    other = trace(frame, lambda: arrays.settled(frame, _select_operand(frame, nodes[1:], stop)))
    both = isinstance(first, Scalar) and isinstance(other.result, Scalar) and first.dtype == other.result.dtype == i1
    names = assigned_in(nodes[1:])
    if both and other.pure:
        result = _join_conditions(frame, known, other, names, stop)
        assert result is not None
        return result
    keep = trace(frame, lambda: arrays.settled(frame, first))
    result = merge(frame, known, keep if stop else other, other if stop else keep, names)
    assert result is not None
    return result


def _conditional(frame: Frame, node: ast.IfExp) -> AbstractValue:
    known = condition(frame, node.test)
    if isinstance(known, bool):
        return evaluate(frame, node.body if known else node.orelse)
    names = assigned_in([node.body, node.orelse])

    def side(part: ast.expr, holds: bool) -> AbstractValue:
        narrow(frame, node.test, holds, evaluate)
        return evaluate_kept(frame, part)

    result = branch(frame, known, lambda: side(node.body, True), lambda: side(node.orelse, False), names)
    assert result is not None
    return result


# Attributes, subscripts, calls, functions -----------------------------------------------------------------------------


def _attribute(frame: Frame, node: ast.Attribute) -> AbstractValue:
    owner = evaluate_owner(frame, node.value)
    return options.split(frame, owner, lambda one: arrays.settled(frame, attribute(frame, one, node.attr)))


def evaluate_owner(frame: Frame, node: ast.expr) -> AbstractValue:
    """What stands before a dot or bracket: a ``Choice``, where it is one of the objects in a list."""
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice | ast.Tuple):
        owner = evaluate_owner(frame, node.value)
        if isinstance(owner, Ref | Tuple) and records.method(frame, owner, "__getitem__") is None:
            index = evaluate(frame, node.slice)
            with frame.at(node.slice):
                found = indexing.choice(frame, owner, index)
            if found is not None:
                return found
            with frame.at(node):
                items = [subscripts.Item(frame.loc(node.slice), index)]
                return with_items(frame, items, lambda each: _read(frame, owner, each))
        with frame.at(node):
            return _subscript_of(frame, owner, node)
    return evaluate(frame, node)


def _subscript(frame: Frame, node: ast.Subscript) -> AbstractValue:
    return _subscript_of(frame, evaluate_owner(frame, node.value), node)


def _subscript_of(frame: Frame, owner: AbstractValue, node: ast.Subscript) -> AbstractValue:
    if isinstance(owner, Lazy):
        owner = before_calls(frame, owner, node.slice)
    items = items_of(frame, owner, node.slice)
    return with_items(frame, items, lambda each: options.split(frame, owner, lambda one: _read(frame, one, each)))


def _read(frame: Frame, owner: AbstractValue, items: list[subscripts.Item]) -> AbstractValue:
    return subscripts.read(frame, owner, items)


def with_items(
    frame: Frame, items: list[subscripts.Item], use: Callable[[list[subscripts.Item]], AbstractValue]
) -> AbstractValue:
    """``use(items)``, for each of the constants that subscripts may be which are chosen at run time."""
    values = [item.value if isinstance(item.value, AbstractValue) else NONE for item in items]
    if not any(isinstance(v, OneOf) for v in values):
        return use(items)

    def chosen(each: list[AbstractValue]) -> AbstractValue:
        pairs = zip(items, each, values, strict=True)
        return arrays.settled(frame, use([i if v is was else replace(i, value=v) for i, v, was in pairs]))

    return options.split_all(frame, values, chosen)


def items_of(frame: Frame, owner: AbstractValue, node: ast.expr) -> list[subscripts.Item]:
    """What stands between the brackets, evaluated, each with its range."""
    nodes = node.elts if isinstance(node, ast.Tuple) else [node]
    items: list[subscripts.Item] = []
    for item in nodes:
        loc = frame.loc(item)
        if isinstance(item, ast.Slice):
            parts = [None if p is None else evaluate(frame, p) for p in (item.lower, item.upper, item.step)]
            items.append(subscripts.Item(loc, subscripts.Slice(*parts)))
            continue
        value = evaluate(frame, item)
        if isinstance(value, Tuple) and is_array(owner) and len(nodes) == 1:
            items += [subscripts.Item(loc, v) for v in value.items]
        else:
            items.append(subscripts.Item(loc, value))
    return items


def _of_comprehension(
    frame: Frame, callee: Static, node: ast.Call, first: ast.ListComp | ast.GeneratorExp
) -> AbstractValue | None:
    """The call of a function that takes a comprehension over a run-time number of items; None if it does not."""
    if not is_library(callee.value):
        return None
    if comprehensions.reduces(callee.value) and len(node.args) <= 1 + (callee.value is sum) and not node.keywords:
        start = evaluate_kept(frame, node.args[1]) if len(node.args) > 1 else None
        return comprehensions.reduced(frame, callee.value, first, start, _TOOLS)
    array = comprehensions.array_of(frame, callee.value, first, _TOOLS) if isinstance(first, ast.ListComp) else None
    if array is None:
        return None
    rest = [evaluate_kept(frame, a) for a in node.args[1:]]
    kwargs = {str(k.arg): evaluate_kept(frame, k.value) for k in node.keywords}
    return frame.tracer.call(frame, callee, [array, *rest], kwargs)


def _comprehension(frame: Frame, node: ast.ListComp) -> AbstractValue:
    return comprehensions.list_of(frame, node, _TOOLS)


def _generator(frame: Frame, node: ast.GeneratorExp) -> AbstractValue:
    return Tuple(tuple(comprehensions.items_of(frame, node, _TOOLS)))


def _dict_comprehension(frame: Frame, node: ast.DictComp) -> AbstractValue:
    return comprehensions.dict_of(frame, node, _TOOLS)


def _makes_list(callee: AbstractValue) -> bool:
    """Whether a function takes any number of items into a list."""
    if isinstance(callee, Static):
        return callee.value is list
    return isinstance(callee, Method) and sequences.is_list(callee.owner) and callee.name == "extend"


def _call(frame: Frame, node: ast.Call) -> AbstractValue:
    owner = evaluate_owner(frame, node.func.value) if isinstance(node.func, ast.Attribute) else None
    several = isinstance(owner, Choice | OneOf)
    if owner is None:
        callee = evaluate(frame, node.func)
    elif not several:
        assert isinstance(node.func, ast.Attribute)
        with frame.at(node.func):
            callee = attribute(frame, owner, node.func.attr)
    if not several and isinstance(callee, Static) and node.args and isinstance(node.args[0], comprehensions.Nodes):
        found = _of_comprehension(frame, callee, node, node.args[0])
        if found is not None:
            return found
    inputs: list[ast.expr] = [*node.args, *(k.value for k in node.keywords)]
    args: list[AbstractValue] = []
    for k, item in enumerate(node.args):
        if isinstance(item, ast.Starred):
            given = evaluate_kept(frame, item.value)
            items = sequences.known_items(frame, given)
            if items is None:
                message = f"how many items {describe_type(given)} has is not known when the function is compiled"
                help = "write the arguments out, or pass a tuple"
                raise refuse(frame.loc(item), message, help, kind=kinds.UNSUPPORTED_CALL)
            args += items
        elif isinstance(item, ast.GeneratorExp) and not several and _makes_list(callee):
            args.append(comprehensions.list_of(frame, item, _TOOLS))
        else:
            args.append(before_calls(frame, evaluate(frame, item), *inputs[k + 1 :]))
    kwargs: dict[str, AbstractValue] = {}
    for k, keyword in enumerate(node.keywords, len(node.args)):
        if keyword.arg is None:
            given = evaluate_kept(frame, keyword.value)
            if not sequences.is_dict(given):
                message = f"{describe_type(given)} does not give keyword arguments"
                raise refuse(frame.loc(keyword.value), message, "** takes a dict", kind=kinds.WRONG_CALL)
            more = pairs(frame, given)
        else:
            more = {keyword.arg: before_calls(frame, evaluate(frame, keyword.value), *inputs[k + 1 :])}
        for name, value in more.items():
            if not isinstance(name, str) or name in kwargs:
                what = f"two values for '{name}'" if name in kwargs else f"the keyword {name!r}, which is no string"
                raise refuse(frame.loc(keyword), f"the call has {what}", kind=kinds.WRONG_CALL)
            kwargs[name] = value
    if not several:
        if isinstance(callee, Static) and args and not kwargs and growing.grows(frame, args[0]):
            found = comprehensions.reduced_list(frame, callee.value, node, args, _TOOLS)
            if found is not None:
                return found
        return frame.tracer.call(frame, callee, args, kwargs)
    assert owner is not None and isinstance(node.func, ast.Attribute)
    name = node.func.attr

    def call(one: AbstractValue) -> AbstractValue:
        return arrays.settled(frame, frame.tracer.call(frame, attribute(frame, one, name), args, kwargs))

    return options.split(frame, owner, call)


def _joined(frame: Frame, node: ast.JoinedStr) -> AbstractValue:
    names = dict.fromkeys(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
    chosen = {n: v for n in names if isinstance(v := frame.env.get(n), OneOf)}
    if chosen and assigns(node):
        named = next(n for n in ast.walk(node) if isinstance(n, ast.NamedExpr))
        raise refuse_expression(frame.loc(named), named)

    def text(each: list[AbstractValue]) -> AbstractValue:
        frame.env.update(zip(chosen, each, strict=True))
        return joined(node, lambda part: evaluate(frame, part))

    return options.split_all(frame, list(chosen.values()), text)


def _named(frame: Frame, node: ast.NamedExpr) -> AbstractValue:
    value = evaluate_kept(frame, node.value)
    cells.bind(frame, node.target, value)
    return value


def _lambda(frame: Frame, node: ast.Lambda) -> AbstractValue:
    return make_closure(frame, node, evaluate_kept)


_TOOLS = comprehensions.Tools(evaluate_kept, evaluate, condition, as_condition)
_RULES: dict[type[ast.expr], Callable[[Frame, Any], AbstractValue]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Tuple: _tuple,
    ast.List: _list,
    ast.Dict: _dict,
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _generator,
    ast.DictComp: _dict_comprehension,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _boolean,
    ast.IfExp: _conditional,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Call: _call,
    ast.Lambda: _lambda,
    ast.NamedExpr: _named,
    ast.JoinedStr: _joined,
}
