"""Functions that consume a generator: lists, ``reduce``, ``min`` and ``max``."""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Callable, Mapping, Sequence

from adc.frontend.containers import sequences
from adc.frontend.data.values import AbstractValue, Generator, Static
from adc.frontend.expressions.evaluation import evaluate
from adc.frontend.expressions.generators import iterator_of
from adc.frontend.frame import Frame
from adc.frontend.numeric import scalars
from adc.frontend.statements.execution import execute_made, over_generator
from adc.frontend.statements.generators import yielded_from
from adc.frontend.syntax.generators import Renaming
from adc.frontend.syntax.liveness import analyse_block
from adc.frontend.syntax.nodes import at
from adc.frontend.traps import trap_unless
from adc.ir.arith import const
from adc.ir.types import i1

Adding = Callable[[ast.expr], list[ast.stmt]]  # what to do with an item


def list_of_generator(frame: Frame, found: AbstractValue, node: ast.expr) -> AbstractValue:
    """The items of the generator ``found``, or of the comprehension ``node`` over it, in a list."""
    assert isinstance(found, Generator)
    frame.generators += 1
    name = f"<list {frame.generators}>"
    frame.env[name] = sequences.new_list(frame, [])

    def add(value: ast.expr) -> list[ast.stmt]:
        append = ast.Attribute(ast.Name(name, ast.Load()), "append", ast.Load())
        return [ast.Expr(ast.Call(append, [value], []))]

    _go_through(frame, found, node, add)
    return frame.env.pop(name)


def list_of_comprehension(frame: Frame, node: ast.ListComp | ast.GeneratorExp) -> AbstractValue:
    """``[elt for target in f(...) if test ...]`` for a generator function ``f``."""
    return list_of_generator(frame, iterator_of(frame, evaluate(frame, node.generators[0].iter)), node)


def fold(
    frame: Frame,
    callee: AbstractValue,
    args: Sequence[AbstractValue],
    kwargs: Mapping[str, AbstractValue],
    at: int,
    node: ast.expr,
) -> AbstractValue | None:
    """``reduce(f, generator, initial)``, or ``min`` or ``max`` with a key, of the generator ``args[at]``; None for
    other functions. These call a function between one item and the next, and each may see what the other changes."""
    found = args[at]
    assert isinstance(callee, Static) and isinstance(found, Generator)
    given: dict[str, AbstractValue] = {}
    if callee.value is functools.reduce and at == 1 and len(args) < 4 and not kwargs:
        given = {"call": args[0], "first": Static(len(args) < 3), **({"best": args[2]} if len(args) > 2 else {})}
        source, empty = _REDUCE, 'raise TypeError("reduce() of empty iterable with no initial value")'
    elif callee.value in (min, max) and len(args) == 1 and "key" in kwargs and not kwargs.keys() - {"key", "default"}:
        if isinstance(kwargs["key"], Static) and kwargs["key"].value is None:
            return None
        given = {"call": kwargs["key"], "first": Static(True)}
        name = callee.value.__name__
        source = _EXTREMUM.format("<" if callee.value is min else ">")
        empty = f'raise ValueError("{name}() iterable argument is empty")'
        if "default" in kwargs:
            given["default"], empty = kwargs["default"], "best = default"
    else:
        return None
    frame.generators += 1
    prefix = f"<fold {frame.generators}>"
    names = Renaming({n: prefix + n for n in ("call", "first", "item", "best", "rank", "least", "default")})
    frame.env.update({prefix + n: v for n, v in given.items()})

    def parsed(text: str) -> list[ast.stmt]:
        statements = ast.parse(text).body
        for s in statements:
            names.visit(s)
            for n in ast.walk(s):
                if "lineno" in n._attributes:
                    ast.copy_location(n, node)
        return statements

    def add(value: ast.expr) -> list[ast.stmt]:
        return [ast.Assign([ast.Name(prefix + "item", ast.Store())], value), *parsed(source)]

    _go_through(frame, found, node, add, parsed(f"if first: {empty}"), prefix + "best")
    result = evaluate(frame, ast.copy_location(ast.Name(prefix + "best", ast.Load()), node))
    for name in [n for n in frame.env if n.startswith(prefix)]:
        del frame.env[name]
    return result


_REDUCE = """
if first:
    best = item
    first = False
else:
    best = call(best, item)
"""
_EXTREMUM = """
rank = call(item)
if first:
    best = item
    least = rank
    first = False
elif rank {} least:
    best = item
    least = rank
"""


def first_of(frame: Frame, source: ast.GeneratorExp, default: AbstractValue | None) -> AbstractValue:
    """``next(source, default)``: a loop that ends at the first item."""
    (clause,), elt = copy.deepcopy(source.generators), copy.deepcopy(source.elt)
    frame.generators += 1
    prefix = f"<first {frame.generators}>"
    names = {n.id: prefix + n.id for n in ast.walk(clause.target) if isinstance(n, ast.Name)}
    for part in (clause.target, *clause.ifs, elt):
        Renaming(names).visit(part)
    best, there, otherwise = prefix + "item", prefix + "there", prefix + "otherwise"
    frame.env[there] = Static(True)
    body: list[ast.stmt] = [ast.Assign([ast.Name(best, ast.Store())], elt), ast.Break()]
    for test in reversed(clause.ifs):
        body = [ast.If(test, body, [])]
    without: ast.stmt = ast.Assign([ast.Name(there, ast.Store())], ast.Constant(False))
    if default is not None:
        frame.env[otherwise] = default
        without = ast.Assign([ast.Name(best, ast.Store())], ast.Name(otherwise, ast.Load()))
    loop = ast.For(clause.target, clause.iter, body, [without])
    at(loop, source)
    block, live = frame.statement_block, frozenset(frame.env) | frame.liveness.local | {best, there}
    own = frozenset({best, there, otherwise, *names.values()})
    frame.liveness = analyse_block(frame.liveness, [loop], frame.source.body, live, own)
    execute_made(frame, [loop], live)
    frame.statement_block = block
    if default is None:
        found = scalars.truth(evaluate(frame, ast.copy_location(ast.Name(there, ast.Load()), source)))
        trap_unless(const(found, i1) if isinstance(found, bool) else found, "StopIteration", ("",))
    result = evaluate(frame, ast.copy_location(ast.Name(best, ast.Load()), source))
    for name in [n for n in frame.env if n.startswith(prefix)]:
        del frame.env[name]
    return result


def yielded(frame: Frame, found: Generator) -> AbstractValue | None:
    """What a generator goes through that does nothing but yield from it; None for others."""
    return yielded_from(frame, found, evaluate)


def _go_through(
    frame: Frame, found: Generator, node: ast.expr, add: Adding, at_last: Sequence[ast.stmt] = (), made: str = ""
) -> None:
    """Execute ``add`` for all items of a generator, or of the comprehension ``node`` over it; ``made``: the variable
    with the result. The variables of a comprehension are renamed."""
    if not isinstance(node, ast.ListComp | ast.GeneratorExp):
        item = f"<item {frame.generators}>"
        target: ast.expr = ast.Name(item, ast.Store())
        body = add(ast.Name(item, ast.Load()))
    else:
        clauses, elt = copy.deepcopy(node.generators), copy.deepcopy(node.elt)
        names = {n.id for g in clauses for n in ast.walk(g.target) if isinstance(n, ast.Name)}
        renaming = Renaming({n: f"<in {frame.generators}>{n}" for n in names})
        for part in [elt, *(p for g in clauses for p in (g.target, *g.ifs)), *(g.iter for g in clauses[1:])]:
            renaming.visit(part)
        body = add(elt)
        for k, g in reversed(list(enumerate(clauses))):
            for test in reversed(g.ifs):
                body = [ast.If(test, body, [])]
            if k:
                body = [ast.For(g.target, g.iter, body, [])]
        target = clauses[0].target
    loop = ast.For(target, node, body, list(at_last))
    at(loop, node)
    block = frame.statement_block
    over_generator(frame, loop, found, frozenset(frame.env) | frame.liveness.local | {made})
    frame.statement_block = block
