"""Parallel loops over the same range that follow each other become one, if they have memory in common.

What one loop brought into cache or registers the other one then finds there, and what both compute is computed once:
the forward and the reverse sweep of a loop whose iterations are independent, statements on whole arrays.

Two loops may be fused if no iteration of either touches what another iteration of the other one changes. Within one
iteration the order stays. What stands between the two moves in front of them, or behind; so do branches on one
condition, which are joined first if there are loops in them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from adc.ir import ops
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.types import Type
from adc.passes.base import Pipeline, run_pipeline
from adc.passes.effects import Effects, Memory, Summaries
from adc.passes.kinds import ELEMENT
from adc.passes.parallel.affine import LOOPS, Form, inside, with_enclosing
from adc.passes.parallel.cold import COLD, warm_regions
from adc.passes.parallel.dependence import MAX_PAIRS, Access, Analysis, distinct

MAX_OPERATIONS = 600
"""Innermost loops with longer bodies run out of registers, and gain nothing."""

MAX_IN_NEST = 2000
"""Operations of a nest, all its loops together."""

MOST_LOOPS = 64
"""In a function with more nothing is fused: after each fusion the whole function is looked at again."""


@dataclass(frozen=True)
class FuseLoops:
    """Join neighbouring parallel loops, and branches around such.

    The passes ``then`` follow if anything was joined: what is in the loops may have become alike, and is looked at
    once more.
    """

    then: Pipeline = ()
    name: ClassVar[str] = "fuse-loops"

    def run(self, module: Module) -> Module:
        while fuse(module, fusible) and self.then:
            module = run_pipeline(module, self.then)
        return module


Fusible = Callable[[Analysis, Op, Op], bool]
"""Whether two parallel loops of one range may become one, and gain by it; what stands between them is not seen."""


def fuse(module: Module, wanted: Fusible) -> bool:
    """Join neighbouring loops as far as ``wanted``, and branches around such; whether anything was joined."""
    summaries = Summaries(module)
    joined = False
    for func in module.funcs.values():
        if 1 < sum(op.opdef is ops.parallel for op in func.walk()) <= MOST_LOOPS:
            joined |= _Fusion(func, module, summaries, wanted).run()
    return joined


class _Fusion:
    def __init__(self, func: Func, module: Module, summaries: Summaries, wanted: Fusible) -> None:
        self.func = func
        self.module = module
        self.summaries = summaries
        self.wanted = wanted
        self.joined = False
        self._fresh()

    def _fresh(self) -> None:
        """Look at the function as it is now."""
        self.memory = Memory(self.func, self.summaries)
        self.analysis = Analysis(self.func, self.module, self.summaries, self.memory.alias)

    def run(self) -> bool:
        """Whether anything was joined."""
        self._block(self.func.body)
        return self.joined

    def _block(self, block: Block) -> None:
        at = 0
        while at < len(block.ops):
            like = _like(block.ops[at])
            if self._with_next(block, at):  # which may give what comes before more to have in common with
                at = next((n for n in range(at - 1, -1, -1) if like(block.ops[n])), at)
            else:
                at += 1
        for op in block.ops:
            for region in warm_regions(op):
                with self.analysis.inside(region):
                    self._block(region)

    def _with_next(self, block: Block, at: int) -> bool:
        """Join the operation at that place with the next one of its kind, if that can be."""
        first = block.ops[at]
        like = _like(first)
        found = next((n for n in range(at + 1, len(block.ops)) if like(block.ops[n])), None)
        if found is None or not like(first):
            return False
        second = block.ops[found]
        if not (self._match_loops(first, second) if like is _is_loop else _match_branches(first, second)):
            return False
        parted = self._between(first, second, block.ops[at + 1 : found])
        if parted is None:
            return False
        before, after = parted
        joined = _fused(first, second) if like is _is_loop else _joined(first, second)
        block.set_ops([*block.ops[:at], *before, joined, *after, *block.ops[found + 1 :]])
        self.joined = True
        self._fresh()
        return True

    def _match_loops(self, first: Op, second: Op) -> bool:
        """Whether the two have one range, are run alike, are simple alike, and may be fused."""
        if first.operands[:3] != second.operands[:3] or first.attrs.get("threads") != second.attrs.get("threads"):
            return False
        return self.wanted(self.analysis, first, second)

    def _between(self, first: Op, second: Op, between: list[Op]) -> tuple[list[Op], list[Op]] | None:
        """What can go in front of ``first`` and what must stay, behind ``second``; None if it cannot be parted so."""
        before: list[Op] = []
        after: list[Op] = []
        for op in between:
            if not any(_uses(op, other) or self._conflict(op, other) for other in (first, *after)):
                before.append(op)
            elif _uses(second, op) or self._conflict(op, second):
                return None
            else:
                after.append(op)
        return before, after

    def _conflict(self, a: Op, b: Op) -> bool:
        """Whether the order of the two matters to memory, or to which error comes first."""
        x, y = self.memory.effects(a), self.memory.effects(b)
        if x.everything or y.everything or (x.traps and (y.traps or self._seen(y))) or (y.traps and self._seen(x)):
            return True
        if x.writes.isdisjoint(y.writes | y.reads) and x.reads.isdisjoint(y.writes):
            return False
        # Buffers that swap come from the same allocations, and are two at any moment.
        one, other = self._touched(a), self._touched(b)
        if one is None or other is None:
            return True
        pairs = ((m, n) for m, changes in one.items() for n, too in other.items() if changes or too)
        return not all(self.analysis.apart_now(m, n) for m, n in pairs)

    def _touched(self, op: Op) -> dict[Value, bool] | None:
        """The arrays from around ``op`` whose elements it, or what is in it, reads or changes, and whether it changes
        them; None if it touches memory in another way."""
        found: dict[Value, bool] = {}
        for inner in (op, *(o for region in op.regions for o in region.walk())):
            if inner.opdef in ELEMENT:
                base = inner.operands[ELEMENT[inner.opdef]]
                if inside(base, op):
                    return None
                found[base] = found.get(base, False) or inner.opdef is not ops.load
            elif not inner.regions and (effects := self.memory.effects(inner)).reads | effects.writes:
                return None
        return found

    def _seen(self, effects: Effects) -> bool:
        """Whether what is written can be seen if an error follows. Shadows are not: there is no gradient then."""
        return not all(self.memory.is_local(root) or self._is_shadow(root) for root in effects.writes)

    def _is_shadow(self, root: Value) -> bool:
        return root.owner is self.func.body and "adc.shadow" in self.func.arg_attrs[root.index]


def fusible(analysis: Analysis, first: Op, second: Op) -> bool:
    """Whether the two have memory in common and may be fused (see ``Fusible``)."""
    shape = _shape(first)
    if shape != _shape(second) or _uses(second, first):
        return False
    size = sum(1 for loop in (first, second) for _ in loop.regions[0].walk())
    if size > (MAX_IN_NEST if shape[0] else MAX_OPERATIONS):
        return False
    one, other = (analysis.accesses(loop) for loop in (first, second))
    if one.obstacles or other.obstacles:
        return False
    if any(inside(access.base, second) for access in other.found):
        return False
    if not _meet(one.found, other.found):
        return False
    moved = [_as_in(analysis, access, first, second) for access in distinct(other.found)]
    pairs = [
        (a, b)
        for a in distinct(one.found)
        for b in moved
        if (a.changes or b.changes) and not analysis.apart(a, b, first)
    ]
    return len(pairs) <= MAX_PAIRS and all(analysis.independent(a, b, first) for a, b in pairs)


def _as_in(analysis: Analysis, access: Access, first: Op, second: Op) -> Access:
    """An access of ``second`` with the counter of ``first`` for its own."""
    if access.where is None:
        return access
    old, new = (analysis.forms.symbol(loop.regions[0].args[0]) for loop in (second, first))
    form = Form.symbol(new)
    where = []
    for low, high in access.where:
        least = low.substitute(old, form)
        where.append((least, least if high is low else high.substitute(old, form)))
    return replace(access, where=tuple(where))


def _is_loop(op: Op) -> bool:
    return op.opdef is ops.parallel


def _is_branch(op: Op) -> bool:
    return op.opdef is ops.if_ and any(_is_loop(inner) for region in warm_regions(op) for inner in region.ops)


def _like(op: Op) -> Callable[[Op], bool]:
    """What says of another operation whether it is one that ``op`` might be joined with."""
    return _is_loop if _is_loop(op) else _is_branch


def _shape(loop: Op) -> tuple[bool, bool]:
    """Whether there are loops inside, and whether there is what keeps the vectoriser from the innermost one."""
    inner = list(loop.regions[0].walk())
    return any(op.opdef in LOOPS for op in inner), any(op.opdef in (ops.call, ops.while_, ops.if_) for op in inner)


def _match_branches(first: Op, second: Op) -> bool:
    return first.operands == second.operands and first.attrs.get(COLD) == second.attrs.get(COLD)


def _uses(op: Op, other: Op) -> bool:
    """Whether ``op``, or what is in it, uses a result of ``other``."""
    return any(op in with_enclosing(user) for result in other.results for user, _ in result.uses)


def _meet(one: list[Access], other: list[Access]) -> bool:
    """Whether the two loops have memory in common."""
    bases = {access.base for access in one}
    return any(access.base in bases for access in other)


def _fused(first: Op, second: Op) -> Op:
    """One loop that does what both do, the first one's part of an iteration before the second one's."""
    body, rest = (loop.regions[0] for loop in (first, second))
    rest.args[0].replace_uses(body.args[0])
    ends = [body.terminator, rest.terminator]
    kinds = tuple(kind for end in ends for kind in end.attrs["kinds"])
    values = [v for end in ends for v in end.operands]
    body.set_ops([*body.ops[:-1], *rest.ops[:-1]])
    body.append(Op(ops.reduce, values, (), {**ends[0].attrs, "kinds": kinds}, (), ends[0].loc))
    operands = [*first.operands, *second.operands[3:]]
    attrs = {name: value for name, value in first.attrs.items() if second.attrs.get(name) == value}
    return _instead(first, second, ends, Op(ops.parallel, operands, _types(first, second), attrs, [body], first.loc))


def _joined(first: Op, second: Op) -> Op:
    """One branch that does what both do."""
    regions, ends = [], []
    for one, other in zip(first.regions, second.regions, strict=True):
        end, last = one.terminator, other.terminator
        ends += [end, last]
        for result, value in zip(first.results, end.operands, strict=True):
            _replace_inside(result, value, other)
        values = [*end.operands, *last.operands]
        one.set_ops([*one.ops[:-1], *other.ops[:-1]])
        one.append(Op(ops.yield_, values, (), {}, (), last.loc))
        regions.append(one)
    joined = Op(ops.if_, first.operands, _types(first, second), dict(first.attrs), regions, first.loc)
    return _instead(first, second, ends, joined)


def _replace_inside(old: Value, new: Value, block: Block) -> None:
    for user, position in list(old.uses):
        if any(op.parent is block for op in with_enclosing(user)):
            user.set_operand(position, new)


def _types(first: Op, second: Op) -> list[Type]:
    return [r.type for op in (first, second) for r in op.results]


def _instead(first: Op, second: Op, ends: list[Op], new: Op) -> Op:
    """``new`` takes the place of two operations, whose regions it has."""
    old = [*first.results, *second.results]
    for result, made in zip(old, new.results, strict=True):
        made.hint = result.hint
        result.replace_uses(made)
    for end in ends:
        end.drop()
    for op in (first, second):
        op.regions = ()
        op.drop()
    return new
