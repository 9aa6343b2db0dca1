"""Constants that are chosen at run time: what conditions imply about them, and statements traced for each of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial, reduce
from types import ModuleType

from adc.frontend import abstract
from adc.frontend.arrays import arrays
from adc.frontend.control.branches import either, trace
from adc.frontend.data.compounds import Contents, OneOf
from adc.frontend.data.described import describe
from adc.frontend.data.values import AbstractValue, Ref, Static
from adc.frontend.frame import Frame, discard
from adc.frontend.objects import cells, rows
from adc.frontend.objects.merge import Clash, coerce, join
from adc.frontend.syntax.bindings import assigned_in
from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import i64

Evaluate = Callable[[Frame, ast.expr], AbstractValue]


@dataclass(frozen=True)
class _Place:
    """A variable, or an item of an object's contents, whose value is one of several. ``holder``: the contents."""

    frame: Frame
    key: str
    holder: Contents | None = None
    item: int = 0

    def value(self) -> AbstractValue | None:
        return self.frame.env.get(self.key) if self.holder is None else self.holder.items[self.item]

    def keep(self, wanted: Callable[[AbstractValue], bool]) -> None:
        """Forget the alternatives that are not ``wanted``."""
        found = kept(self.value(), wanted)
        if found is not None and self.holder is not None:
            items = list(self.holder.items)
            items[self.item] = found
            self.frame.env[self.key] = self.holder.of(items)
        elif found is not None:
            self.frame.env[self.key] = found


def _place(frame: Frame, node: ast.expr) -> _Place | None:
    """The place that a name, an attribute or a subscript by a constant stands for, if its value is one of several."""
    if isinstance(node, ast.Name):
        place = _Place(frame, node.id)
        return place if isinstance(place.value(), OneOf) else None
    name = node.attr if isinstance(node, ast.Attribute) else _constant_subscript(node)
    owner = _object(frame, node.value) if isinstance(node, ast.Attribute | ast.Subscript) else None
    if owner is None or (owner.kind == "object") != isinstance(node, ast.Attribute):
        return None
    held = frame.env.get(owner.key)
    if not isinstance(held, Contents) or name not in held.form.names or rows.is_growing(held):
        return None
    place = _Place(frame, owner.key, held, held.form.names.index(name))
    return place if isinstance(place.value(), OneOf) else None


def _constant_subscript(node: ast.expr) -> object:
    return node.slice.value if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) else None


def _object(frame: Frame, node: ast.expr) -> Ref | None:
    """The object that a name, or an attribute of such an object, stands for."""
    if isinstance(node, ast.Name):
        value = frame.env.get(node.id)
    elif isinstance(node, ast.Attribute) and (owner := _object(frame, node.value)) is not None:
        held = frame.env.get(owner.key)
        value = held.field(node.attr) if isinstance(held, Contents) else None
    else:
        value = None
    return value if isinstance(value, Ref) else None


@contextmanager
def narrowed(frame: Frame, test: ast.expr, holds: bool, evaluate: Evaluate) -> Iterator[None]:
    """A path on which ``test`` holds, or does not. At its end, the contents of objects are restored, unless the path
    has changed them."""
    before = dict(frame.env)
    narrow(frame, test, holds, evaluate)
    held = [(key, v) for key, v in frame.env.items() if isinstance(v, Contents)]
    changed = [(key, v, before[key]) for key, v in held if before[key] is not v]
    yield
    for key, now, was in changed:
        if frame.env.get(key) is now:
            frame.env[key] = was


def narrow(frame: Frame, test: ast.expr, holds: bool, evaluate: Evaluate) -> None:
    """Where ``test`` holds, or does not, reduce the alternatives of what it compares with a constant: a variable, an
    attribute or an item of a dict.

    The test has run, so nothing follows about what a later part of it has changed.
    """
    assigned = assigned_in([test])
    calls = any(isinstance(n, ast.Call) for n in ast.walk(test))

    def place_of(part: ast.expr) -> _Place | None:
        found = _place(frame, part)
        stays = not assigned & {n.id for n in ast.walk(part) if isinstance(n, ast.Name)}
        return found if found is not None and stays and (found.holder is None or not calls) else None

    def visit(part: ast.expr, holds: bool) -> None:
        if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not):
            visit(part.operand, not holds)
        elif isinstance(part, ast.BoolOp) and isinstance(part.op, ast.And) == holds:
            for one in part.values:
                visit(one, holds)
        elif isinstance(part, ast.Compare) and len(part.ops) == 1:
            place, other = place_of(part.left), part.comparators[0]
            if place is not None and not _changed(frame, other, assigned, calls, evaluate):
                _compared(frame, place, part.ops[0], other, holds, evaluate)
        elif (place := place_of(part)) is not None:
            place.keep(partial(true_as, holds))

    visit(test, holds)


def true_as(holds: bool, v: AbstractValue) -> bool:
    """Whether a value may be true, or, if ``holds`` is False, may be false."""
    return arrays.truth(v) is not (not holds)


def _changed(frame: Frame, node: ast.expr, assigned: frozenset[str], calls: bool, evaluate: Evaluate) -> bool:
    """Whether a test that assigns variables, or calls functions, may have changed ``node``, which it compares."""
    if any(isinstance(n, ast.Name) and n.id in assigned for n in ast.walk(node)):
        return True
    if isinstance(node, ast.Name):
        return calls and cells.cell_of(frame, node.id) is not None
    if not calls or not isinstance(node, ast.Attribute):
        return False
    found = trace(frame, lambda: evaluate(frame, node.value))
    discard(found.block)
    owner = found.result
    return not (isinstance(owner, Static) and isinstance(owner.value, type | ModuleType))


def _compared(frame: Frame, place: _Place, op: ast.cmpop, node: ast.expr, holds: bool, evaluate: Evaluate) -> None:
    if not isinstance(op, ast.Eq | ast.NotEq | ast.Is | ast.IsNot):
        return
    if not isinstance(node, ast.Constant | ast.Name | ast.Attribute):
        return
    found = trace(frame, lambda: evaluate(frame, node))
    discard(found.block)
    other = found.result
    if isinstance(other, Static):
        same = holds == isinstance(op, ast.Eq | ast.Is)
        place.keep(lambda v: (isinstance(v, Static) and v.value == other.value) == same)


def kept(value: AbstractValue | None, wanted: Callable[[AbstractValue], bool]) -> AbstractValue | None:
    """A choice without the alternatives that are not ``wanted``; None if nothing changes."""
    if not isinstance(value, OneOf):
        return None
    left = {name: v for name, v in zip(value.form.names, value.options, strict=True) if wanted(v)}
    if not left or len(left) == len(value.options):
        return None
    types = [describe(v) for v in left.values()]
    try:
        return coerce(value, reduce(join, types)) if len(left) > 1 else next(iter(left.values()))
    except Clash:  # objects, each of which is one that is known
        return coerce(value, abstract.Tuple((abstract.Scalar(i64), *types), replace(value.form, names=tuple(left))))


def for_each(frame: Frame, nodes: Sequence[ast.AST], path: Callable[[], None]) -> None:
    """Trace ``path``, which has no end, for each of the constants that the variables in ``nodes`` may be."""
    names = [n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)]
    chosen = next((n for n in names if isinstance(frame.env.get(n), OneOf)), None)
    if chosen is None:
        path()
        return
    value = frame.env[chosen]
    assert isinstance(value, OneOf)
    options = value.options

    def one(k: int) -> None:
        frame.env[chosen] = options[k]
        for_each(frame, nodes, path)

    def rest(k: int) -> None:
        if k + 1 == len(options):
            one(k)
            return
        here = ops.cmpi(value.position, const_index(k), predicate="eq")
        either(frame, here, trace(frame, lambda: one(k)), trace(frame, lambda: rest(k + 1)), ())

    rest(0)
