"""What is gone through item by item: functions of ``itertools`` as generators, objects and generators as arguments of
``zip`` and similar functions."""

from __future__ import annotations

import ast
import builtins
import itertools
import types
from collections.abc import Hashable
from typing import Any

from adc.frontend import iteration
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Generator, Static, Stream
from adc.frontend.expressions.evaluation import of_library
from adc.frontend.expressions.generators import gives_generator, iterator_of, over_generator
from adc.frontend.frame import Frame
from adc.frontend.item_effects import unchanged_meanwhile
from adc.frontend.prelude import python_streams
from adc.frontend.syntax.bindings import own_nodes
from adc.frontend.syntax.generators import ITEM
from adc.ir.builder import current_loc

GENERATORS: dict[Any, Any] = {
    builtins.filter: python_streams.filtering,
    itertools.accumulate: python_streams.accumulating,
    itertools.compress: python_streams.compressing,
    itertools.dropwhile: python_streams.dropping_while,
    itertools.filterfalse: python_streams.leaving_out,
    itertools.takewhile: python_streams.taking_while,
}
"""Functions that, where items are computed ahead, give a list, and generators with the same items."""

_LAZY = (builtins.zip, builtins.enumerate, builtins.map, itertools.islice, itertools.chain, itertools.pairwise)
_ENDLESS = ("itertools.count", "itertools.cycle", "itertools.repeat")
_FINITE = {"range", "enumerate", "zip", "reversed", "sorted", "list", "tuple"}


def as_generator(frame: Frame, node: ast.expr) -> ast.expr:
    """A call of a function in ``GENERATORS``, as one of its generator; other expressions as they are."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name | ast.Attribute):
        return node
    function = of_library(frame, node.func) or _held(frame, node.func)
    program = GENERATORS.get(function) if isinstance(function, Hashable) else None
    if program is None:
        return node
    name = f"<{program.__name__}>"
    frame.env[name] = Static(program)
    made = ast.Call(ast.copy_location(ast.Name(name, ast.Load()), node.func), node.args, node.keywords)
    return ast.copy_location(made, node)


def _held(frame: Frame, node: ast.expr) -> Any:
    """The function that a variable has, or the module in one."""
    owner = frame.env.get(node.id) if isinstance(node, ast.Name) else None
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        owner = frame.env.get(node.value.id)
        module = owner.value if isinstance(owner, Static) else None
        return getattr(module, node.attr, None) if isinstance(module, types.ModuleType) else None
    return owner.value if isinstance(owner, Static) else None


def item_by_item(frame: Frame, node: ast.Call, callee: AbstractValue) -> ast.GeneratorExp | None:
    """The items of the generator that the first argument of ``next()`` makes, or goes through; None for others."""
    if not isinstance(callee, Static) or callee.value is not builtins.next or not node.args:
        return None
    if isinstance(node.args[0], ast.GeneratorExp):
        return node.args[0] if over_generator(frame, node.args[0]) else None
    source = as_generator(frame, node.args[0])
    if source is node.args[0] and not gives_generator(frame, source):
        return None
    return _items_of(source, node.args[0])


def _items_of(source: ast.expr, place: ast.expr) -> ast.GeneratorExp:
    """The generator expression with the items of ``source``."""
    target, item = ast.Name(ITEM, ast.Store()), ast.Name(ITEM, ast.Load())
    made = ast.GeneratorExp(item, [ast.comprehension(target, source, [], 0)])
    for part in (made, item, target):
        ast.copy_location(part, place)
    return made


_STREAMS = (zip, enumerate, map, filter, reversed, *(f for f in vars(itertools).values() if isinstance(f, type)))


def is_stream(frame: Frame, node: ast.expr) -> bool:
    """Whether this is a call of ``zip``, ``map`` or a similar function, which gives items of its arguments."""
    if not isinstance(node, ast.Call) or node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
        return False
    return any(of_library(frame, node.func) is f for f in _STREAMS)


def in_expression(frame: Frame, node: ast.expr) -> ast.expr:
    """An argument that is such a call, as a generator expression with the same items; others as they are."""
    if not is_stream(frame, node):
        return node
    known = frame.source.streams.get(node)
    if known is None:
        known = frame.source.streams[node] = _items_of(node, node)
    return known


def takes_items_later(callee: AbstractValue) -> bool:
    """Whether a function asks for the items of its arguments when its own are asked for."""
    return isinstance(callee, Static) and any(callee.value is f for f in _LAZY)


def gathered(frame: Frame, value: AbstractValue, all_of_them: bool = False) -> AbstractValue:
    """The items of an object that a function asks for one by one. What it yields from is gone through as it is; else
    they are computed ahead, if they certainly come to an end. Other values as they are. ``all_of_them``: so are those
    of a generator, which all are asked for."""
    made = iterator_of(frame, value)
    if not isinstance(made, Generator) or (value is made and not all_of_them):
        return value
    inside = frame.tracer.yielded_from(frame, made)
    if inside is not None:
        return gathered(frame, inside)
    if not _ends(made):
        return value
    node = ast.Constant(None)
    of = "" if value is made else f"{describe_type(value)}."
    name, loc = f"{of}{made.target.source.name}", current_loc()
    frame.source.locs[node] = loc
    with unchanged_meanwhile(frame, "", loc, f"what {name}() gives"):
        items = frame.tracer.collected(frame, made, node)
    return Stream(name, iteration.sequence(frame, items), ahead=True)


def decided_by(frame: Frame, node: ast.Call, callee: AbstractValue) -> ast.GeneratorExp | None:
    """``any()`` or ``all()`` of a generator, or of an expression over one, which they leave at the item that decides:
    the items that do. None for others."""
    if not isinstance(callee, Static) or callee.value not in (any, all) or len(node.args) != 1 or node.keywords:
        return None
    first = node.args[0]
    if not isinstance(first, ast.GeneratorExp):
        first = _items_of(as_generator(frame, first), first)
    if len(first.generators) != 1 or not over_generator(frame, first):
        return None
    (part,) = first.generators
    test = first.elt if callee.value is any else ast.UnaryOp(ast.Not(), first.elt)
    clause = ast.comprehension(part.target, part.iter, [*part.ifs, test], part.is_async)
    made = ast.GeneratorExp(ast.Constant(callee.value is any), [clause])
    for part_ in (made, made.elt, test):
        ast.copy_location(part_, first)
    return made


def _ends(value: Generator) -> bool:
    """Whether a generator function has no loops but those over what has an end."""
    for n in own_nodes(value.target.source.node.body):
        through = n.iter if isinstance(n, ast.For) else n.value if isinstance(n, ast.YieldFrom) else None
        if isinstance(n, ast.While) or (through is not None and not _has_end(through)):
            return False
    given = value.bound.values()
    endless = any(isinstance(v, Stream) and v.name in _ENDLESS for v in given)
    return not endless and all(_ends(v) for v in given if isinstance(v, Generator))


def _has_end(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Tuple | ast.List | ast.ListComp)
    if isinstance(node.func, ast.Attribute):
        return node.func.attr in ("values", "items", "keys", "copy")
    return isinstance(node.func, ast.Name) and node.func.id in _FINITE and all(map(_may_end, node.args))


def _may_end(node: ast.expr) -> bool:
    counts = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"
    return not isinstance(node, ast.Call) or counts or _has_end(node)

