"""Elements that an innermost loop updates again and again are carried in registers (scalar replacement).

``for j: y[i] += f(j)`` loads and stores ``y[i]`` in each iteration. If nothing else in the loop touches that memory, it
is ``s = y[i]; for j: s += f(j); y[i] = s``: a sum that the loop carries, for which other passes know what to do.

A loop that may not run at all does not access the element: then the load and the store are under that condition. If
an iteration may raise, the element has to be in memory by then, unless only this call of the function can see it.

Reference: Callahan, Carr and Kennedy, Improving register allocation for subscripted variables, PLDI 1990.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const, constant_of
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import having, inside
from adc.ir.types import MemRefType, Type
from adc.passes.analysis.cold import walk_warm
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.kinds import ELEMENT, LOOPS, PURE, TRAPS, accessed
from adc.passes.building import chosen
from adc.passes.rewrite import put_instead

_ACCESSES = frozenset({ops.load, ops.store})
_GO_ON = (PURE - TRAPS) | _ACCESSES  # what does not end the run

_Place = tuple[Value, ...]  # a memref and its subscripts


@dataclass(frozen=True)
class PromoteElements:
    """Carry elements of arrays, at subscripts that a loop does not change, in registers."""

    name: ClassVar[str] = "promote-elements"
    needs = frozenset({ops.for_})

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in having(module, self.needs):
            found = [op for op in walk_warm(func.body) if _is_innermost(op) and any(_updated(op))]
            if found:
                _promote(func, found, summaries)
        return module


def _is_innermost(loop: Op) -> bool:
    return loop.opdef is ops.for_ and all(op.opdef not in LOOPS for op in loop.regions[0].walk())


def _updated(loop: Op) -> list[_Place]:
    """The elements that each iteration loads first, and stores later: floats at the same place in all iterations."""
    first: dict[_Place, Op] = {}
    found: dict[_Place, None] = {}
    for op in loop.regions[0].ops:
        if op.opdef is ops.load or op.opdef is ops.store:
            place = accessed(op)
            if first.setdefault(place, op).opdef is ops.load and op.opdef is ops.store:
                found[place] = None
    return [p for p in found if first[p].result.type.is_float and not any(inside(v, loop) for v in p)]


def _promote(func: Func, loops: Sequence[Op], summaries: Summaries) -> None:
    memory = Memory.asked(func, summaries)
    taken = [(loop, [p for p in _updated(loop) if _is_alone(loop, p, memory)]) for loop in loops]
    for loop, places in taken:
        if places:
            _carry(loop, places)


def _is_alone(loop: Op, place: _Place, memory: Memory) -> bool:
    """Whether nothing else in the loop touches the memory, and nobody sees it before the loop ends."""
    memref, body = place[0], loop.regions[0]
    for op in body.walk():
        if op.regions:
            continue
        if op.opdef in ELEMENT:
            if op.parent is body and op.opdef is not ops.accumulate and accessed(op) == place:
                continue
            if memory.may_overlap(op.operands[ELEMENT[op.opdef]], memref):
                return False
        elif memory.may_read(op, memref) or memory.may_write(op, memref):
            return False
    return not memory.effects(loop).traps or all(memory.is_local(root) for root in memory.roots(memref))


def _carry(loop: Op, places: Sequence[_Place]) -> None:
    """Replace ``loop`` by one that carries the elements at ``places``, and what loads and stores them around it."""
    (body,) = loop.regions
    current: dict[_Place, Value] = {place: body.add_arg(_type(place)) for place in places}
    kept = list[Op]()
    for op in body.ops[:-1]:
        place = accessed(op) if op.opdef is ops.load or op.opdef is ops.store else ()
        if place not in current:
            kept.append(op)
        elif op.opdef is ops.load:
            op.result.replace_uses(current[place])
            op.drop()
        else:
            current[place] = op.operands[0]
            op.drop()
    end = body.terminator
    body.set_ops(kept)
    with insert_at(body, end.loc):
        build(ops.yield_, [*end.operands, *current.values()])
    end.drop()
    with insert_at(Block(), loop.loc) as made:
        runs = {p: None if _is_safe(loop, p) else ops.cmpi(*loop.operands[:2], predicate="slt") for p in places}
        first = [_load(place, runs[place]) for place in places]
        types = [*(r.type for r in loop.results), *(v.type for v in first)]
        loop.set_regions(())
        new = build(ops.for_, [*loop.operands, *first], dict(loop.attrs), types, [body])
        for place, last in zip(places, new.results[len(loop.results) :], strict=True):
            _store(last, place, runs[place])
    put_instead(loop, made.ops)
    for old, value in zip(loop.results, new.results, strict=False):
        value.hint = old.hint
        old.replace_uses(value)
    loop.drop()


def _type(place: _Place) -> Type:
    t = place[0].type
    assert isinstance(t, MemRefType)
    return t.element


def _is_safe(loop: Op, place: _Place) -> bool:
    """Whether the element exists even if the loop does not run: it is accessed before it, or after it with nothing
    between them that may end the run, as a check of the subscript does; or the loop does run."""
    lower, upper = (constant_of(v) for v in loop.operands[:2])
    if lower is not None and upper is not None and lower < upper:
        return True
    assert loop.parent is not None
    beside = loop.parent.ops
    here = beside.index(loop)
    after = takewhile(lambda op: op.opdef in _GO_ON, beside[here + 1 :])
    return any(op.opdef in _ACCESSES and accessed(op) == place for op in (*beside[:here], *after))


def _load(place: _Place, runs: Value | None) -> Value:
    if runs is None:
        return build(ops.load, place).result
    return chosen(runs, lambda: [build(ops.load, place).result], lambda: [const(0.0, _type(place))])[0]


def _store(value: Value, place: _Place, runs: Value | None) -> None:
    def store() -> tuple[()]:
        build(ops.store, [value, *place])
        return ()

    if runs is None:
        store()
    else:
        chosen(runs, store, tuple)
