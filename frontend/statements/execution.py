"""Statements: their effects on a frame's variables, and the code for their other effects."""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from adc.frontend.closures import make_closure
from adc.frontend.containers import pooled_lists, records
from adc.frontend.control.branches import branch
from adc.frontend.control.loops import ChangesInTest, while_loop
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Generator, Poison, Range, Static, Stream, is_dict, is_list
from adc.frontend.errors import refuse, shown
from adc.frontend.expressions import streams
from adc.frontend.expressions.access import evaluate_owner
from adc.frontend.expressions.conditions import condition
from adc.frontend.expressions.evaluation import evaluate, evaluate_kept
from adc.frontend.expressions.generators import iterator_of, names_object
from adc.frontend.few_items import each
from adc.frontend.frame import Frame
from adc.frontend.iteration import Indexed, sequence
from adc.frontend.libraries.attributes import attribute
from adc.frontend.names import attribute_of, lookup
from adc.frontend.objects import cells
from adc.frontend.statements.assignments import annotated, assign, augmented, bind
from adc.frontend.statements.exceptions import assert_, raise_
from adc.frontend.statements.flow import Place, after_loop, function_body, loop_body, run
from adc.frontend.statements.generators import for_generator
from adc.frontend.statements.handlers import try_
from adc.frontend.statements.items import first_apart_if_seen, for_items, repeated
from adc.frontend.statements.parallel_loops import for_prange, runs_in_order
from adc.frontend.statements.range_loops import for_range, unrolled_if_needed
from adc.frontend.syntax.bindings import assigned_in, imported_as
from adc.frontend.syntax.liveness import analyse_block
from adc.frontend.syntax.matching import unsupported_pattern
from adc.frontend.syntax.nodes import at
from adc.frontend.syntax.walrus import assigns, tested_inside
from adc.frontend.unsupported import refuse_expression, refuse_statement
from adc.ir import kinds


def execute_function(frame: Frame, statements: Sequence[ast.stmt]) -> AbstractValue:
    """Execute a function's body; returns its value."""
    cells.enter(frame)
    return function_body(frame, statements, _execute_one)


def _execute_one(frame: Frame, statement: ast.stmt) -> None:
    rule = _RULES.get(type(statement))
    if rule is None:
        odd = unsupported_pattern(statement) if isinstance(statement, ast.Match) else None
        raise refuse_statement(frame.loc(odd or statement), statement)
    with frame.at(statement):
        rule(frame, statement)


def _for(frame: Frame, statement: ast.For) -> None:
    first = len(frame.heap.gone_through)
    try:
        _for_any(frame, statement, first)
    finally:
        del frame.heap.gone_through[first:]


def _for_any(frame: Frame, statement: ast.For, first: int) -> None:
    loop, value = _gone_through(frame, statement)
    with frame.at(statement.iter):
        value = iterator_of(frame, value)
    if isinstance(value, Generator):
        over_generator(frame, loop, value, frame.liveness.after[statement])
        return
    if isinstance(value, Stream) and value.ahead:
        raise refuse(
            frame.loc(statement.iter),
            f"{value.shown} in a for statement is not supported: it would look at all items ahead of the loop",
            _AHEAD.get(
                value.name, f"if nothing happens to the items meanwhile, make a list first: list({value.name}(...))"
            ),
            kind=kinds.NOT_ITERABLE,
        )
    body = partial(loop_body, frame, statement, _execute_one)
    if isinstance(value, Range) and value.parallel and runs_in_order(frame, statement):
        for_range(frame, statement, replace(value, parallel=False), body)
    elif isinstance(value, Range) and value.parallel:
        for_prange(frame, statement, value, body)
    elif isinstance(value, Range):
        for_range(frame, statement, value, body)
    else:
        with frame.at(statement.iter):
            items = sequence(frame, value)
        if items is None:
            raise refuse(
                frame.loc(statement.iter),
                f"cannot loop over {describe_type(value)}",
                "loop over a range, an array or a tuple",
                kind=kinds.NOT_ITERABLE,
            )
        # Items that the iterable asked for are no items of this loop.
        del frame.heap.gone_through[first:]
        begun = frame.heap.begun
        set_target = partial(bind, frame, statement.target)
        if isinstance(items, Indexed) and items.known is not None:
            unrolled_if_needed(
                frame, statement, items.known, lambda: for_items(frame, statement, items, set_target, body), body
            )
        else:
            with each(frame, statement, items) as few:
                for_items(frame, statement, few or items, set_target, body)
        with frame.at(statement.iter):
            pooled_lists.check_lengths(frame, first, begun)
    after_loop(frame, statement, _execute_one)


_AHEAD = {
    "": "write what it says into the loop; or, if nothing happens to the items meanwhile, make a list of it, with []",
    "filter": "write the condition into the loop: for x in v: if keep(x): ...",
    "itertools.cycle": "count, and take the remainder: for k in itertools.count(): x = v[k % len(v)]",
}


def _gone_through(frame: Frame, loop: ast.For) -> tuple[ast.For, AbstractValue]:
    """The loop and its iterable. ``enumerate`` of a generator becomes a loop over the generator that counts."""
    source = streams.as_generator(frame, loop.iter)
    if not isinstance(source, ast.Call) or not _is_enumerate(frame, source):
        return loop, evaluate(frame, source)
    function, given = evaluate(frame, source.func), streams.as_generator(frame, source.args[0])
    with frame.at(given):
        inner = iterator_of(frame, evaluate(frame, given))
    if isinstance(function, Static) and function.value is enumerate and isinstance(inner, Generator):
        from_ = [*source.args[1:], *(k.value for k in source.keywords)]
        start = evaluate(frame, from_[0]) if from_ else Static(0)
        return _counting(frame, loop, source.args[0], start), inner
    with frame.at(source):
        rest = [evaluate(frame, a) for a in source.args[1:]]
        named = {str(k.arg): evaluate(frame, k.value) for k in source.keywords}
        return loop, frame.tracer.call(frame, function, [inner, *rest], named)


def _is_enumerate(frame: Frame, call: ast.Call) -> bool:
    """Whether it looks like ``enumerate(f(...))``, perhaps of a generator, or is that of one under a name."""
    if not isinstance(call.func, ast.Name) or shown(call.func.id) != "enumerate" or len(call.args) not in (1, 2):
        return False
    if call.keywords and (len(call.args) > 1 or [k.arg for k in call.keywords] != ["start"]):
        return False
    given = call.args[0]
    kept = isinstance(given, ast.Name) and isinstance(frame.env.get(given.id), Generator)
    return kept or isinstance(given, ast.Call) or names_object(frame, given)


def _counting(frame: Frame, loop: ast.For, source: ast.expr, start: AbstractValue) -> ast.For:
    """``for i, x in enumerate(source, start)``, where ``source`` is a generator, as a loop that counts."""
    frame.generators += 1
    number, item = (f"<enumerate {frame.generators}>{n}" for n in ("number", "item"))
    frame.env[number] = start
    both = ast.Tuple([ast.Name(number, ast.Load()), ast.Name(item, ast.Load())], ast.Load())
    first = ast.Assign([loop.target], both)
    count = ast.AugAssign(ast.Name(number, ast.Store()), ast.Add(), ast.Constant(1))
    made = ast.For(ast.Name(item, ast.Store()), source, [first, count, *loop.body], loop.orelse)
    for node in (first, count, made):
        at(node, loop)
    return made


def over_generator(frame: Frame, loop: ast.For, found: Generator, live: frozenset[str]) -> None:
    for_generator(frame, loop, found, lambda statements: execute_made(frame, statements, live), live)


def execute_made(frame: Frame, statements: list[ast.stmt], live: frozenset[str]) -> None:
    """Execute statements that stand for a part of the source. ``live``: the variables that are read after them."""
    run(frame, statements, Place(live | frame.captured, False, _execute_one))


def _while(frame: Frame, statement: ast.While) -> None:
    if assigns(statement.test):
        node = next(n for n in ast.walk(statement.test) if isinstance(n, ast.NamedExpr))
        raise refuse_expression(frame.loc(node), node)
    body = partial(loop_body, frame, statement, _execute_one)
    live = frame.liveness.after[statement]
    loop = partial(while_loop, frame, statement, lambda: condition(frame, statement.test), body)
    attempt, place = frame.tracer.attempt, frame.loc(statement)
    try:
        with attempt.undecided(place), attempt.peelable(place):
            runs = partial(condition, frame, statement.test)
            whole = partial(first_apart_if_seen, frame, statement, loop, runs, _nothing, body, loop)
            repeated(frame, statement, body, whole, loop)
    except ChangesInTest as found:
        inside = tested_inside(statement)
        if inside is None:
            does = f"changes {found.shown}" if found.shown else "may raise what is handled"
            raise refuse(
                frame.loc(statement.test),
                f"the condition of this loop {does}",
                "write it in the loop's body, under 'while True' with a break",
                kind=kinds.UNSUPPORTED_EXPRESSION,
            ) from None
        frame.liveness = analyse_block(frame.liveness, [inside], frame.source.body, live, frozenset())
        _execute_one(frame, inside)
        return
    after_loop(frame, statement, _execute_one)


def _nothing() -> None:
    pass


def _expression(frame: Frame, statement: ast.Expr) -> None:
    if isinstance(statement.value, ast.Constant):
        return  # a docstring, or ...
    if isinstance(statement.value, ast.BoolOp):
        _short_circuit(frame, statement.value.values, isinstance(statement.value.op, ast.Or))
    else:
        frame.parting = _appended_last(frame, statement)
        try:
            evaluate_kept(frame, statement.value)
        finally:
            frame.parting = ""


def _appended_last(frame: Frame, statement: ast.Expr) -> str:
    """The variable in ``xs.append(x)``, if it is not read afterwards."""
    call = statement.value
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "append"):
        return ""
    name = call.args[0].id if len(call.args) == 1 and isinstance(call.args[0], ast.Name) else ""
    after = frame.liveness.after.get(statement)
    if after is None or name not in frame.liveness.local - after - frame.captured - frame.liveness.shared:
        return ""
    return name


def _short_circuit(frame: Frame, nodes: Sequence[ast.expr], stop: bool) -> None:
    """``a and b`` as a statement, for the effects of ``b``."""
    if len(nodes) == 1:
        evaluate_kept(frame, nodes[0])
        return
    known = frame.tracer.attempt.decide(at := frame.loc(nodes[0]), condition(frame, nodes[0]))

    def rest() -> None:
        _short_circuit(frame, nodes[1:], stop)

    def skip() -> None:
        pass

    if not isinstance(known, bool):
        with frame.tracer.attempt.undecided(at):
            branch(frame, known, skip if stop else rest, rest if stop else skip, assigned_in(nodes[1:]))
    elif known != stop:
        rest()


def _try(frame: Frame, statement: ast.Try) -> None:
    try_(frame, statement, _execute_one)


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


def _delete(frame: Frame, statement: ast.Delete) -> None:
    for target in statement.targets:
        named = isinstance(target, ast.Name) and target.id in frame.liveness.local
        if isinstance(target, ast.Name) and named and cells.cell_of(frame, target.id) is None:
            with frame.at(target):
                lookup(frame, target.id)  # it must be set
            reason = f"'{target.id}' was deleted"
            frame.env[target.id] = Poison(reason, help="leave out the del", kind=kinds.UNBOUND_VARIABLE)
            continue
        if not isinstance(target, ast.Subscript):
            raise refuse_statement(frame.loc(statement), statement)
        owner = evaluate_owner(frame, target.value)
        own = None if isinstance(target.slice, ast.Slice) else records.method(frame, owner, "__delitem__")
        if own is not None:
            with frame.at(target):
                frame.tracer.call(frame, own, [evaluate(frame, target.slice)], {})
            continue
        if not (is_list(owner) or is_dict(owner)) or isinstance(target.slice, ast.Slice):
            raise refuse_statement(frame.loc(statement), statement)
        with frame.at(target):
            frame.tracer.call(frame, attribute(frame, owner, "pop"), [evaluate(frame, target.slice)], {})


def _import(frame: Frame, statement: ast.Import | ast.ImportFrom) -> None:
    """An import inside a function: modules are as they are when the function is compiled."""
    package = _package(frame, statement) if isinstance(statement, ast.ImportFrom) else None
    for alias in statement.names:
        full = package or alias.name
        try:
            found: Any = importlib.import_module(full)
        except ImportError as error:
            message = f"{type(error).__name__}: {error}"
            help = "install the package, or correct the name"
            raise refuse(frame.loc(statement), message, help, kind=kinds.INVALID_VALUE) from None
        if package is not None:
            if not hasattr(found, alias.name):
                with contextlib.suppress(ImportError):  # a module of the package
                    importlib.import_module(f"{full}.{alias.name}")
            value = attribute_of(frame, found, alias.name)
        else:
            value = Static(found if alias.asname else sys.modules[full.split(".")[0]])
        bind(frame, ast.copy_location(ast.Name(imported_as(alias), ast.Store()), statement), value)


def _package(frame: Frame, statement: ast.ImportFrom) -> str:
    """The full name of the module that ``from M import N`` names."""
    within = frame.module_globals.get("__package__")
    if statement.names[0].name == "*" or (statement.level and not within):
        help = "import at the top of the module, or by the full name of the module"
        message = "this import is not supported in a function"
        raise refuse(frame.loc(statement), message, help, kind=kinds.UNSUPPORTED_STATEMENT)
    name = "." * statement.level + (statement.module or "")
    try:
        return importlib.util.resolve_name(name, within)
    except ImportError as error:
        raise refuse(frame.loc(statement), str(error), "correct the name", kind=kinds.INVALID_VALUE) from None


_RULES: dict[type[ast.stmt], Callable[[Frame, Any], None]] = {
    ast.Assign: assign,
    ast.AnnAssign: annotated,
    ast.AugAssign: augmented,
    ast.Nonlocal: _nonlocal,
    ast.Global: _global,
    ast.For: _for,
    ast.While: _while,
    ast.Expr: _expression,
    ast.Pass: _pass,
    ast.Raise: raise_,
    ast.Try: _try,
    ast.Assert: assert_,
    ast.FunctionDef: _function,
    ast.Delete: _delete,
    ast.Import: _import,
    ast.ImportFrom: _import,
}
