"""Statements: what they do to a frame's variables, and the code for their effects."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from adc.frontend import arrays, subscripts
from adc.frontend.branches import Path, branch, merge, trace
from adc.frontend.closures import make_closure
from adc.frontend.errors import refuse
from adc.frontend.expressions import BINARY, before_calls, condition, evaluate, evaluate_kept, items_of
from adc.frontend.frame import Frame
from adc.frontend.loops import for_range, while_loop
from adc.frontend.names import lookup
from adc.frontend.parallel_loops import for_prange
from adc.frontend.unsupported import refuse_expression, refuse_statement
from adc.frontend.values import (
    NONE,
    AbstractValue,
    Array,
    Lazy,
    Range,
    Scalar,
    Tuple,
    Unbound,
    describe_type,
    is_array,
)
from adc.ir.builder import current_loc
from adc.ir.core import Value


def execute(frame: Frame, statements: Sequence[ast.stmt]) -> None:
    """Statements from which control falls through; a return among them is refused."""
    for statement in statements:
        if isinstance(statement, ast.Return):
            raise refuse(
                frame.loc(statement),
                "return inside a loop is not supported",
                "keep the result in a variable, and return it after the loop",
            )
        _execute_one(frame, statement)


def execute_function(frame: Frame, statements: Sequence[ast.stmt]) -> AbstractValue:
    """A function's body; the value that it returns."""
    result = _block(frame, statements, None)
    assert result is not None and not isinstance(result, Unbound)
    return result


Live = frozenset[str] | None  # variables that are read after a block; None for the end of the function


def _block(frame: Frame, statements: Sequence[ast.stmt], live: Live) -> AbstractValue | None:
    """Statements that may return: what they return; None if control falls through; ``Unbound`` if it depends."""
    for k, statement in enumerate(statements):
        if isinstance(statement, ast.Return):
            return NONE if statement.value is None else evaluate_kept(frame, statement.value)
        if isinstance(statement, ast.If) and _has_return(statement):
            return _returning_if(frame, statement, statements[k + 1 :], live)
        _execute_one(frame, statement)
    return NONE if live is None else None


def _has_return(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Return):
        return True
    return isinstance(statement, ast.If) and any(map(_has_return, [*statement.body, *statement.orelse]))


def _falls_through(statements: Sequence[ast.stmt]) -> bool:
    """Whether control may reach the end."""
    for s in statements:
        if isinstance(s, ast.Return):
            return False
        if isinstance(s, ast.If) and not _falls_through(s.body) and not _falls_through(s.orelse):
            return False
    return True


def _returning_if(frame: Frame, statement: ast.If, rest: Sequence[ast.stmt], live: Live) -> AbstractValue | None:
    """An ``if`` with a return in it, and the ``rest`` of its block.

    Where one branch always returns, the rest goes with the other. Else the rest runs unless a branch has returned.
    """
    known = condition(frame, statement.test)
    if isinstance(known, bool):
        return _block(frame, [*(statement.body if known else statement.orelse), *rest], live)
    falls = _falls_through(statement.body), _falls_through(statement.orelse)
    if not all(falls):
        then, other = [*statement.body, *(rest if falls[0] else ())], [*statement.orelse, *(rest if falls[1] else ())]
        with frame.at(statement):
            return _either(frame, known, partial(_block, frame, then, live), partial(_block, frame, other, live), live)
    after = frame.liveness.after[statement] | frame.liveness.captured
    with frame.at(statement):
        paths = partial(_block, frame, statement.body, after), partial(_block, frame, statement.orelse, after)
        result = _either(frame, known, paths[0], paths[1], after)
    if result is None:
        return _block(frame, rest, live)
    if not isinstance(result, Unbound):
        return result
    returned, value = result.flag, result.value
    with frame.at(statement):
        return _either(frame, returned, lambda: value, partial(_block, frame, rest, live), live)


def _either(frame: Frame, condition: Value, then: Path, other: Path, live: Live) -> AbstractValue | None:
    """Two paths, and those live variables merged that either of them changes."""
    first, second = trace(frame, then), trace(frame, other)
    before = frame.env
    names = [n for n in live or () if any(t.env.get(n) is not before.get(n) for t in (first, second))]
    return merge(frame, condition, first, second, names)


def _execute_one(frame: Frame, statement: ast.stmt) -> None:
    rule = _RULES.get(type(statement))
    if rule is None:
        raise refuse_statement(frame.loc(statement), statement)
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
    value = evaluate_kept(frame, statement.value)
    for target in statement.targets:
        _bind(frame, target, value)


def _annotated(frame: Frame, statement: ast.AnnAssign) -> None:
    if statement.value is not None:
        _bind(frame, statement.target, evaluate_kept(frame, statement.value))


def _bind(frame: Frame, target: ast.expr, value: AbstractValue) -> None:
    if isinstance(target, ast.Name):
        _bind_name(frame, target, value)
    elif isinstance(target, ast.Tuple | ast.List):
        items = _unpack(frame, target, value)
        for part, item in zip(target.elts, items, strict=True):
            _bind(frame, part, item)
    elif isinstance(target, ast.Subscript):
        _store(frame, target, value)
    elif isinstance(target, ast.Attribute):
        raise refuse(frame.loc(target), "attributes cannot be assigned", "use a local variable")
    else:
        raise refuse_expression(frame.loc(target), target)


def _bind_name(frame: Frame, target: ast.Name, value: AbstractValue) -> None:
    frame.env[target.id] = value
    frame.assigned_at[target.id] = frame.loc(target)
    if isinstance(value, Scalar | Array):
        ir = value.value if isinstance(value, Scalar) else value.memref
        if not ir.hint and ir.op is not None:
            ir.hint = target.id


def _unpack(frame: Frame, target: ast.Tuple | ast.List, value: AbstractValue) -> Sequence[AbstractValue]:
    for part in target.elts:
        if isinstance(part, ast.Starred):
            raise refuse_expression(frame.loc(part), part)
    wanted = len(target.elts)
    if isinstance(value, Tuple):
        if len(value.items) != wanted:
            raise refuse(frame.loc(target), f"cannot unpack {len(value.items)} values into {wanted} variables")
        return value.items
    if isinstance(value, Array):
        return arrays.unpack(frame, value, wanted)
    raise refuse(frame.loc(target), f"cannot unpack {describe_type(value)}")


def _store(frame: Frame, target: ast.Subscript, value: AbstractValue) -> None:
    owner = evaluate(frame, target.value)
    items = items_of(frame, owner, target.slice)
    with frame.at(target):
        place = _place(frame, owner, items)
        if isinstance(place, Array):
            arrays.store(frame, place, value)
        else:
            arrays.check_writable(frame, place.array)
            place.store(value)


def _place(frame: Frame, owner: AbstractValue, items: list[subscripts.Item]) -> subscripts.Element | Array:
    if not isinstance(owner, Array):
        what = "an array expression" if isinstance(owner, Lazy) else describe_type(owner)
        help = "only elements and slices of arrays can be stored to"
        raise refuse(current_loc(), f"cannot store into {what}", help)
    return subscripts.locate(owner, items)


def _augmented(frame: Frame, statement: ast.AugAssign) -> None:
    symbol = BINARY[type(statement.op)]
    target = statement.target
    if isinstance(target, ast.Name):
        with frame.at(target):
            old = lookup(frame, target.id)
        value = evaluate(frame, statement.value)
        with frame.at(statement):
            if isinstance(old, Array):
                arrays.update(frame, old, symbol, value)
            else:
                _bind_name(frame, target, arrays.settled(frame, arrays.operate(frame, symbol, old, value)))
        return
    if not isinstance(target, ast.Subscript):
        raise refuse(frame.loc(target), "attributes cannot be assigned", "use a local variable")
    owner = evaluate(frame, target.value)
    items = items_of(frame, owner, target.slice)
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


# Control flow ---------------------------------------------------------------------------------------------------------


def _if(frame: Frame, statement: ast.If) -> None:
    known = condition(frame, statement.test)
    if isinstance(known, bool):
        execute(frame, statement.body if known else statement.orelse)
        return
    live = frame.liveness.after[statement] | frame.liveness.captured

    def path(statements: list[ast.stmt]) -> Callable[[], None]:
        return lambda: execute(frame, statements)

    names = frame.liveness.assigns[statement] & live
    branch(frame, known, path(statement.body), path(statement.orelse), names)


def _for(frame: Frame, statement: ast.For) -> None:
    if statement.orelse:
        raise refuse(frame.loc(statement.orelse[0]), "else after a loop is not supported", "put it after the loop")
    value = evaluate(frame, statement.iter)
    if isinstance(value, Range) and value.parallel:
        for_prange(frame, statement, value, execute)
    elif isinstance(value, Range):
        for_range(frame, statement, value, execute)
    elif isinstance(value, Tuple):
        for item in value.items:
            _bind(frame, statement.target, item)
            execute(frame, statement.body)
    else:
        raise refuse(
            frame.loc(statement.iter),
            f"cannot loop over {describe_type(value)}",
            "loop over range(len(x)) and use subscripts" if is_array(value) else "loop over a range",
        )


def _while(frame: Frame, statement: ast.While) -> None:
    if statement.orelse:
        raise refuse(frame.loc(statement.orelse[0]), "else after a loop is not supported", "put it after the loop")
    while_loop(frame, statement, lambda: condition(frame, statement.test), execute)


def _expression(frame: Frame, statement: ast.Expr) -> None:
    if isinstance(statement.value, ast.Constant):
        return  # a docstring, or ...
    evaluate_kept(frame, statement.value)


def _pass(frame: Frame, statement: ast.Pass) -> None:
    pass


def _function(frame: Frame, statement: ast.FunctionDef) -> None:
    if statement.decorator_list:
        raise refuse(
            frame.loc(statement.decorator_list[0]),
            "decorators on inner functions are not supported",
            "define the function without it: what it calls is compiled anyway",
        )
    frame.env[statement.name] = make_closure(frame, statement, evaluate_kept)
    frame.assigned_at[statement.name] = frame.loc(statement)


_RULES: dict[type[ast.stmt], Callable[[Frame, Any], None]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.If: _if,
    ast.For: _for,
    ast.While: _while,
    ast.Expr: _expression,
    ast.Pass: _pass,
    ast.FunctionDef: _function,
}
