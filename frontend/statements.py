"""Statements: what they do to a frame's variables, and the code for their effects."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from adc.frontend.control.branches import branch
from adc.frontend.control.exceptions import assert_, raise_
from adc.frontend.control.flow import after_loop, for_items, function_body, loop_body
from adc.frontend.control.iteration import known, sequence
from adc.frontend.control.loops import for_range, while_loop
from adc.frontend.control.parallel_loops import for_prange, runs_in_order
from adc.frontend.data import cells, growing, heap, indexing, options, records, sequences
from adc.frontend.data.compounds import OneOf
from adc.frontend.data.heap import Unroll
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import NONE, AbstractValue, Array, Choice, Lazy, Range, Ref
from adc.frontend.errors import refuse
from adc.frontend.expressions.access import evaluate_owner, items_of, with_items
from adc.frontend.expressions.conditions import condition
from adc.frontend.expressions.evaluation import before_calls, evaluate, evaluate_kept
from adc.frontend.expressions.operators import BINARY
from adc.frontend.frame import Frame
from adc.frontend.functions.closures import make_closure
from adc.frontend.libraries.attributes import attribute
from adc.frontend.libraries.container_methods import extend, pairs
from adc.frontend.names import lookup
from adc.frontend.numeric import arrays, subscripts
from adc.frontend.syntax.liveness import assigned_in
from adc.frontend.syntax.matching import unsupported_pattern
from adc.frontend.syntax.walrus import assigns
from adc.frontend.unsupported import refuse_expression, refuse_statement
from adc.ir import kinds
from adc.ir.builder import current_loc
from adc.ir.diagnostics import AdcError


def execute_function(frame: Frame, statements: Sequence[ast.stmt]) -> AbstractValue:
    """A function's body; the value that it returns."""
    cells.enter(frame)
    return function_body(frame, statements, _execute_one)


def _execute_one(frame: Frame, statement: ast.stmt) -> None:
    rule = _RULES.get(type(statement))
    if rule is None:
        odd = unsupported_pattern(statement) if isinstance(statement, ast.Match) else None
        raise refuse_statement(frame.loc(odd or statement), statement)
    with frame.at(statement):
        rule(frame, statement)


# Assignment -----------------------------------------------------------------------------------------------------------


def _assign(frame: Frame, statement: ast.Assign) -> None:
    if len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Subscript):
        value = evaluate(frame, statement.value)
        with frame.at(statement):
            value = before_calls(frame, value, statement.targets[0])
        _store(frame, statement.targets[0], value)
        return
    if statement in frame.in_place:
        _combine(frame, statement)
        return
    value = evaluate_kept(frame, statement.value)
    for target in statement.targets:
        _bind(frame, target, value)


def _combine(frame: Frame, statement: ast.Assign) -> None:
    """``r = r + x`` or ``r = x + r`` as ``r += x``."""
    target, value = statement.targets[0], statement.value
    assert isinstance(target, ast.Name) and isinstance(value, ast.BinOp)
    first = isinstance(value.left, ast.Name) and value.left.id == target.id
    with frame.at(statement):
        made = ast.AugAssign(target, value.op, value.right if first else value.left)
        _augmented(frame, ast.copy_location(made, statement))


def _annotated(frame: Frame, statement: ast.AnnAssign) -> None:
    if statement.value is not None:
        _bind(frame, statement.target, evaluate_kept(frame, statement.value))


def _bind(frame: Frame, target: ast.expr, value: AbstractValue) -> None:
    if isinstance(target, ast.Name):
        cells.bind(frame, target, value)
    elif isinstance(target, ast.Tuple | ast.List):
        items = _unpack(frame, target, value)
        for part, item in zip(target.elts, items, strict=True):
            _bind(frame, part, item)
    elif isinstance(target, ast.Subscript):
        _store(frame, target, value)
    elif isinstance(target, ast.Attribute):
        owner = evaluate_owner(frame, target.value)
        with frame.at(target):
            options.split(frame, owner, lambda one: records.set_attribute(frame, one, target.attr, value))
    elif isinstance(target, ast.Starred):
        _bind(frame, target.value, value)
    else:
        raise refuse_expression(frame.loc(target), target)


def _unpack(frame: Frame, target: ast.Tuple | ast.List, value: AbstractValue) -> Sequence[AbstractValue]:
    wanted = len(target.elts)
    known = sequences.known_items(frame, value)
    starred = [k for k, part in enumerate(target.elts) if isinstance(part, ast.Starred)]
    if starred and known is None:
        raise refuse_expression(frame.loc(target.elts[starred[0]]), target.elts[starred[0]])
    if known is not None:
        if len(starred) == 1 and len(known) >= wanted - 1:
            first, last = starred[0], len(known) - (wanted - starred[0] - 1)
            known = [*known[:first], sequences.new_list(frame, known[first:last]), *known[last:]]
        if len(known) != wanted:
            raise refuse(
                frame.loc(target),
                f"cannot unpack {len(known)} values into {wanted} variables",
                kind=kinds.WRONG_UNPACKING,
            )
        return known
    if isinstance(value, Array):
        return arrays.unpack(frame, value, wanted)
    if growing.grows(frame, value):
        assert isinstance(value, Ref)
        return growing.unpack(heap.contents(frame, value), wanted)
    raise refuse(frame.loc(target), f"cannot unpack {describe_type(value)}", kind=kinds.NOT_ITERABLE)


def _store(frame: Frame, target: ast.Subscript, value: AbstractValue) -> None:
    owner = evaluate_owner(frame, target.value)
    items = items_of(frame, owner, target.slice)
    with frame.at(target):
        if isinstance(owner, Ref | Choice | OneOf) or records.is_instance(owner):
            settled = arrays.settled(frame, value)
            with_items(frame, items, lambda each: _store_items(frame, owner, each, settled))
            return
        place = _place(frame, owner, items)
        if isinstance(place, Array):
            arrays.store(frame, place, value)
        else:
            arrays.check_writable(frame, place.array)
            place.store(value)


def _store_items(
    frame: Frame, owner: AbstractValue, items: list[subscripts.Item], value: AbstractValue
) -> AbstractValue:
    return options.split(frame, owner, lambda one: _store_item(frame, one, items, value))


def _store_item(
    frame: Frame, owner: AbstractValue, items: list[subscripts.Item], value: AbstractValue
) -> AbstractValue:
    """``owner[items] = value`` of a list, a dict or an object with ``__setitem__``."""
    setter = records.method(frame, owner, "__setitem__")
    if setter is not None:
        frame.tracer.call(frame, setter, [subscripts.key_of(items), value], {})
    elif not isinstance(owner, Ref) or owner.kind == "object":
        raise refuse(current_loc(), f"cannot store into {describe_type(owner)}", kind=kinds.UNSUPPORTED_TARGET)
    elif (part := subscripts.known_slice(items)) is not None:
        indexing.store_slice(frame, owner, part, value)
    else:
        indexing.store(frame, owner, subscripts.key_of(items), value)
    return NONE


def _place(frame: Frame, owner: AbstractValue, items: list[subscripts.Item]) -> subscripts.Element | Array:
    if not isinstance(owner, Array):
        what = "an array expression" if isinstance(owner, Lazy) else describe_type(owner)
        help = "only elements and slices of arrays can be stored to"
        raise refuse(current_loc(), f"cannot store into {what}", help, kind=kinds.UNSUPPORTED_TARGET)
    return subscripts.locate(owner, items)


def _augmented(frame: Frame, statement: ast.AugAssign) -> None:
    symbol = BINARY[type(statement.op)]
    target = statement.target
    if isinstance(target, ast.Name):
        with frame.at(target):
            old = lookup(frame, target.id)
        then, cell = dict(frame.env), cells.cell_of(frame, target.id)
        value = evaluate(frame, statement.value)
        with frame.at(statement):
            new = updated(frame, old, symbol, value)
            if new is not old or _replaced(frame, then, cell):
                cells.bind(frame, target, new)
        return
    owner = evaluate_owner(frame, target.value)
    if isinstance(target, ast.Attribute):
        name = target.attr
        with frame.at(target):
            before = None if isinstance(owner, Choice) else attribute(frame, owner, name)
        then = dict(frame.env)
        value = arrays.settled(frame, evaluate(frame, statement.value))

        def update_attribute(one: AbstractValue) -> AbstractValue:
            old = _as_of(frame, then, lambda: attribute(frame, one, name)) if before is None else before
            new = updated(frame, old, symbol, value)
            kept = new is old and not _replaced(frame, then, one)
            return NONE if kept else records.set_attribute(frame, one, name, new)

        with frame.at(statement):
            options.split(frame, owner, update_attribute)
        return
    items = items_of(frame, owner, target.slice)
    if isinstance(owner, Ref | Choice | OneOf) or records.is_instance(owner):
        several = isinstance(owner, Choice | OneOf) or any(isinstance(item.value, OneOf) for item in items)
        with frame.at(target):
            held = None if several else subscripts.read(frame, owner, items)
        then = dict(frame.env)
        value = arrays.settled(frame, evaluate(frame, statement.value))

        def update_item(one: AbstractValue, each: list[subscripts.Item]) -> AbstractValue:
            old = _as_of(frame, then, lambda: subscripts.read(frame, one, each)) if held is None else held
            new = updated(frame, old, symbol, value)
            return NONE if new is old and not _replaced(frame, then, one) else _store_item(frame, one, each, new)

        with frame.at(statement):
            with_items(
                frame, items, lambda each: options.split(frame, owner, lambda one: update_item(one, each))
            )
        return
    with frame.at(target):
        place = _place(frame, owner, items)
        current = None if isinstance(place, Array) else place.load()
    value = evaluate(frame, statement.value)
    with frame.at(statement):
        if isinstance(place, Array):
            arrays.update(frame, place, symbol, value)
        else:
            assert current is not None
            arrays.check_writable(frame, place.array)
            place.store(arrays.operate(frame, symbol, current, value))


def _as_of(frame: Frame, then: dict[str, AbstractValue], read: Callable[[], AbstractValue]) -> AbstractValue:
    """``read()`` of what objects held ``then``: before the right side of an assignment, which may change them."""
    now, frame.env = frame.env, dict(then)
    try:
        return read()
    finally:
        made = {k: v for k, v in frame.env.items() if then.get(k) is not v and now.get(k) is then.get(k)}
        frame.env = now
        frame.env.update(made)


def _replaced(frame: Frame, then: dict[str, AbstractValue], owner: AbstractValue | None) -> bool:
    """Whether an object holds something else than ``then``, so that what was changed in place has to be put back."""
    return isinstance(owner, Ref) and then.get(owner.key) is not frame.env.get(owner.key)


def updated(frame: Frame, old: AbstractValue, symbol: str, value: AbstractValue) -> AbstractValue:
    """What a variable holds after ``old symbol= value``: ``old`` itself where that is changed in place."""
    if isinstance(old, Array):
        arrays.update(frame, old, symbol, value)
        return old
    if isinstance(old, Ref) and old.kind == "list" and symbol == "+":
        extend(frame, old, value)
        return old
    if isinstance(old, Ref) and old.kind == "dict" and symbol == "|":
        sequences.assign_dict(frame, old, sequences.dict_items(frame, old) | pairs(frame, value))
        return old
    own = records.operate_in_place(frame, symbol, old, value)
    return arrays.settled(frame, arrays.operate(frame, symbol, old, value) if own is None else own)


# Control flow ---------------------------------------------------------------------------------------------------------


def _for(frame: Frame, statement: ast.For) -> None:
    value = evaluate(frame, statement.iter)
    body = partial(loop_body, frame, statement, _execute_one)
    if isinstance(value, Range) and value.parallel and runs_in_order(frame, statement):
        _for_range(frame, statement, replace(value, parallel=False), body)
    elif isinstance(value, Range) and value.parallel:
        for_prange(frame, statement, value, body)
    elif isinstance(value, Range):
        _for_range(frame, statement, value, body)
    else:
        items = sequence(frame, value)
        if items is None:
            raise refuse(
                frame.loc(statement.iter),
                f"cannot loop over {describe_type(value)}",
                "loop over a range, an array or a tuple",
                kind=kinds.NOT_ITERABLE,
            )
        for_items(frame, statement, items, lambda item: _bind(frame, statement.target, item), body)
    after_loop(frame, statement, _execute_one)


_UNROLLED_AT_MOST = 1000  # iterations


def _for_range(frame: Frame, statement: ast.For, value: Range, body: Callable[[], None]) -> None:
    """A loop over a range; unrolled if it changes the structure of a list, say, and its bounds are known."""
    numbers = sequences.known_items(frame, value)
    if numbers is None or len(numbers) > _UNROLLED_AT_MOST or statement in frame.unrollable:
        for_range(frame, statement, value, body)
        return
    env, hints, loops = dict(frame.env), dict(frame.hints), list(frame.loops)
    parallel = list(frame.parallel)
    frame.unrollable.add(statement)
    try:
        for_range(frame, statement, value, body)
        return
    except Unroll as need:
        if need.stmt is not statement:
            raise
    except AdcError as error:  # the counter may be what has to be known
        if error.kind != kinds.NOT_CONSTANT.name:
            raise
    finally:
        frame.unrollable.discard(statement)
    frame.env, frame.abandoned = env, True
    frame.hints, frame.loops[:], frame.parallel[:] = hints, loops, parallel
    for_items(frame, statement, known(numbers), lambda item: _bind(frame, statement.target, item), body)


def _while(frame: Frame, statement: ast.While) -> None:
    if assigns(statement.test):
        node = next(n for n in ast.walk(statement.test) if isinstance(n, ast.NamedExpr))
        raise refuse_expression(frame.loc(node), node)
    body = partial(loop_body, frame, statement, _execute_one)
    while_loop(frame, statement, lambda: condition(frame, statement.test), body)
    after_loop(frame, statement, _execute_one)


def _expression(frame: Frame, statement: ast.Expr) -> None:
    if isinstance(statement.value, ast.Constant):
        return  # a docstring, or ...
    if isinstance(statement.value, ast.BoolOp):
        _short_circuit(frame, statement.value.values, isinstance(statement.value.op, ast.Or))
    else:
        evaluate_kept(frame, statement.value)


def _short_circuit(frame: Frame, nodes: Sequence[ast.expr], stop: bool) -> None:
    """``a and b`` whose value nobody wants, for what ``b`` does."""
    if len(nodes) == 1:
        evaluate_kept(frame, nodes[0])
        return
    known = condition(frame, nodes[0])

    def rest() -> None:
        _short_circuit(frame, nodes[1:], stop)

    def skip() -> None:
        pass

    if not isinstance(known, bool):
        branch(frame, known, skip if stop else rest, rest if stop else skip, assigned_in(nodes[1:]))
    elif known != stop:
        rest()


def _pass(frame: Frame, statement: ast.Pass) -> None:
    pass


def _function(frame: Frame, statement: ast.FunctionDef) -> None:
    decorators = [evaluate_kept(frame, node) for node in statement.decorator_list]
    value: AbstractValue = make_closure(frame, statement, evaluate_kept)
    for node, decorator in zip(reversed(statement.decorator_list), reversed(decorators), strict=True):
        with frame.at(node):
            value = frame.tracer.call(frame, decorator, [value], {})
    frame.assigned_at[statement.name] = frame.loc(statement)
    if not cells.assign(frame, statement.name, value):
        frame.env[statement.name] = value


def _nonlocal(frame: Frame, statement: ast.Nonlocal) -> None:
    for name in statement.names:
        if cells.cell_of(frame, name) is None:
            what = "the variable of a loop" if name in frame.env else "no variable of a compiled function"
            raise refuse(
                frame.loc(statement),
                f"'{name}' is {what}, so that it cannot be assigned here",
                "pass the value in and return the new one",
                kind=kinds.CAPTURED_WRITE,
            )


def _global(frame: Frame, statement: ast.Global) -> None:
    for name in statement.names:
        if name in frame.liveness.local:
            raise refuse(
                frame.loc(statement),
                f"the global variable '{name}' cannot be assigned",
                "pass the value in and return the new one",
                kind=kinds.CAPTURED_WRITE,
            )


_RULES: dict[type[ast.stmt], Callable[[Frame, Any], None]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Nonlocal: _nonlocal,
    ast.Global: _global,
    ast.For: _for,
    ast.While: _while,
    ast.Expr: _expression,
    ast.Pass: _pass,
    ast.Raise: raise_,
    ast.Assert: assert_,
    ast.FunctionDef: _function,
}
