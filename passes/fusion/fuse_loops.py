"""Adjacent parallel loops over the same range become one, if they have memory in common.

What one loop has brought into cache or registers is then there for the other one, and what both compute is computed
once: for the forward and the reverse sweep of a loop with independent iterations, or for statements on whole arrays.

Two loops may be fused if no iteration of either touches what another iteration of the other one changes. Within one
iteration the order is kept. Operations between the two move before them, or after them; so do branches on one
condition, which are joined first if there are loops in them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import enclosing, inside, of_kinds, with_enclosing
from adc.ir.rewrite import used_from_outside
from adc.passes.analysis.cold import COLD, walk_likely, warm_regions
from adc.passes.analysis.dependence import Analysis
from adc.passes.analysis.effects import Effects, Memory, Summaries
from adc.passes.analysis.kinds import ELEMENT, SILENT, accessed
from adc.passes.fusion.bodies import Bodies
from adc.passes.fusion.joining import joined_branches, joined_loops, with_following

MAX_OPERATIONS = 600
"""Innermost loops with longer bodies run out of registers, and are not faster."""

MAX_IN_NEST = 2000
"""Operations of a nest, in all its loops together."""

MOST_LOOPS = 64
"""In a function with more loops, without those that rarely run, loops are not joined past others, and nests only if
they become one throughout. Otherwise parts that are alike, such as the layers of a network, would not be compiled
once."""


@dataclass(frozen=True)
class FuseLoops:
    """Fuse neighbouring parallel loops, and branches around such loops. Nests that are ``alone`` are not fused, since
    they would no longer be recognised. ``in_steps``: only loops inside sequential loops are fused.
    ``throughout``: only loops all of whose inner loops may be fused, too."""

    name: ClassVar[str] = "fuse-loops"
    needs = frozenset({ops.parallel})
    alone: Callable[[Op], bool] | None = None
    in_steps: bool = False
    throughout: bool = False

    def run(self, module: Module) -> Module:
        wanted = self._wanted if self.in_steps or self.alone is not None else fusible
        fuse(module, wanted, throughout=self.throughout)
        return module

    def _wanted(self, bodies: Bodies, first: Op, second: Op) -> bool:
        if self.in_steps and not any(op.opdef in (ops.for_, ops.while_) for op in enclosing(first.parent)):
            return False
        alone = self.alone is not None and (self.alone(first) or self.alone(second))
        return not alone and fusible(bodies, first, second)


Fusible = Callable[[Bodies, Op, Op], bool]
"""Whether two parallel loops of one range may be fused, and gain by it; what is between them is not considered."""


def fuse(
    module: Module,
    wanted: Fusible,
    past: Fusible | None = None,
    *,
    throughout: bool = False,
    among: Callable[[Func], bool] | None = None,
) -> None:
    """Fuse neighbouring loops as far as ``wanted``, and branches around such loops;
    ``throughout`` only loops all of whose inner loops may be fused, too. ``among``: in which functions.

    With ``past``, also loops with other loops between them. What keeps two branches apart is then done on both sides of
    one, if loops in them that are still apart may be fused in the end, as ``past`` decides. Only loops without inner
    loops are duplicated in this way, since one side seldom runs, and is slow.
    """
    summaries = Summaries.asked(module)
    for func in module.funcs.values():
        loops = len(of_kinds(func.body, {ops.parallel}))
        many = sum(op.opdef is ops.parallel for op in walk_likely(func.body)) > MOST_LOOPS
        if loops > 1 and not (many and past) and (among is None or among(func)):
            _Fusion(func, module, summaries, wanted, past, many or throughout).run()


class _Fusion:
    def __init__(
        self, func: Func, module: Module, summaries: Summaries, wanted: Fusible, past: Fusible | None, throughout: bool
    ) -> None:
        """``throughout``: loops are fused only if all of their inner loops may be fused, too."""
        self.func = func
        self.module = module
        self.summaries = summaries
        self.wanted = wanted
        self.past = past
        self.throughout = throughout
        self._fresh()

    def _fresh(self) -> None:
        """Analyse the function as it is now."""
        self.memory = Memory.asked(self.func, self.summaries)
        self.analysis = Analysis(self.func, self.module, self.summaries, self.memory.alias)
        self.bodies = Bodies(self.analysis)

    def run(self) -> None:
        self._block(self.func.body)

    def _block(self, block: Block) -> None:
        at = 0
        while at < len(block.ops):
            if not block.ops[at].regions:
                at += 1
                continue
            like = _like(block.ops[at])
            if self._with_next(block, at):  # the result may have more in common with what comes before
                before = range(at) if self.past else reversed(range(at))
                at = next((n for n in before if like(block.ops[n])), at)
            else:
                at += 1
        for op in block.ops:
            for region in warm_regions(op):
                with self.analysis.inside(region):
                    self._block(region)

    def _with_next(self, block: Block, at: int) -> bool:
        """Join the operation at that position with the next one of its kind, if possible."""
        first = block.ops[at]
        like = _like(first)
        if not like(first):
            return False
        following = (n for n in range(at + 1, len(block.ops)) if like(block.ops[n]))
        return any(self._join(block, at, n) for n in (following if self.past else itertools.islice(following, 1)))

    def _join(self, block: Block, at: int, found: int) -> bool:
        first, second = block.ops[at], block.ops[found]
        loops = _is_loop(first)
        if not (self._match_loops(first, second) if loops else self._match_branches(first, second)):
            return False
        between = block.ops[at + 1 : found]
        parted = self._between(first, second, between)
        copied = parted is None and not loops and self.past is not None and all(_is_simple(op) for op in between)
        if copied:
            first, parted = with_following(first, between), ([], [])
        if parted is None:
            return False
        before, after = parted
        joined = self.bodies.join(first, second, joined_loops) if loops else joined_branches(first, second)
        block.set_ops([*block.ops[:at], *before, joined, *after, *block.ops[found + 1 :]])
        if copied or not all(r.type.is_float for r in joined.results):
            self._fresh()  # else neither memory nor integers have changed
        return True

    def _match_branches(self, first: Op, second: Op) -> bool:
        if first.operands != second.operands or first.attrs.get(COLD) != second.attrs.get(COLD):
            return False
        if (past := self.past) is None:
            return True
        pairs = itertools.product(*(filter(_is_loop, branch.regions[0].ops) for branch in (first, second)))
        return any(_run_alike(a, b) and past(self.bodies, a, b) for a, b in pairs)

    def _match_loops(self, first: Op, second: Op) -> bool:
        """Whether the two have one range, run in the same way, and may be fused."""
        if not _run_alike(first, second) or (self.throughout and not self.bodies.are_one_throughout(first, second)):
            return False
        return self.wanted(self.bodies, first, second)

    def _between(self, first: Op, second: Op, between: Sequence[Op]) -> tuple[list[Op], list[Op]] | None:
        """The operations that can go before ``first``, and those that must stay, after ``second``; None if there is a
        conflict."""
        before: list[Op] = []
        after: list[Op] = []
        late, touching = set(first.results), [first]  # values computed too late, and what may have an order
        for op in between:
            silent = op.opdef in SILENT
            used = used_from_outside([op]) if op.regions else op.operands
            if late.isdisjoint(used) and (silent or not any(self._conflict(op, other) for other in touching)):
                before.append(op)
            elif _uses(second, op) or op.opdef is ops.assert_ or (not silent and self._conflict(op, second)):
                return None  # what the second loop reads may exist only if an assertion holds
            else:
                after.append(op)
                late.update(op.results)
                touching += [] if silent else [op]
        return before, after

    def _conflict(self, a: Op, b: Op) -> bool:
        """Whether the order of the two matters to memory, or to which error comes first."""
        x, y = self.memory.effects(a), self.memory.effects(b)
        if x.everything or y.everything or (x.traps and (y.traps or self._seen(y))) or (y.traps and self._seen(x)):
            return True
        if x.is_apart(y):
            return False
        # Buffers that swap come from the same allocations, but are different at any moment.
        one, other = self._touched(a), self._touched(b)
        if one is None or other is None:
            return True
        pairs = ((m, n) for m, changes in one.items() for n, too in other.items() if changes or too)
        return not all(self.analysis.apart_now(m, n) for m, n in pairs)

    def _touched(self, op: Op) -> dict[Value, bool] | None:
        """The arrays defined outside ``op`` that it reads or changes, including nested operations, and whether it
        changes them; None if it touches memory in another way."""
        found: dict[Value, bool] = {}
        for inner in (op, *(o for region in op.regions for o in region.walk())):
            if inner.opdef in ELEMENT:
                base = accessed(inner)[0]
                if inside(base, op):
                    return None
                found[base] = found.get(base, False) or inner.opdef is not ops.load
            elif inner.opdef is ops.copy and not any(inside(array, op) for array in inner.operands):
                source, target = inner.operands
                found |= {source: found.get(source, False), target: True}
            elif not inner.regions and (effects := self.memory.effects(inner)).reads | effects.writes:
                return None
        return found

    def _seen(self, effects: Effects) -> bool:
        """Whether writes can be seen if an error follows. Shadows do not count: then there is no gradient."""
        return not all(self.memory.is_local(root) or self._is_shadow(root) for root in effects.writes)

    def _is_shadow(self, root: Value) -> bool:
        return root.owner is self.func.body and "adc.shadow" in self.func.arg_attrs[root.index]


def fusible(bodies: Bodies, first: Op, second: Op) -> bool:
    """Whether the two have memory in common and similar inner loops, and may be fused (see ``Fusible``)."""
    return bodies.of(first).shape == bodies.of(second).shape and may_be_fused(bodies, first, second)


def may_be_fused(bodies: Bodies, first: Op, second: Op) -> bool:
    """Whether the two have memory in common and may be fused, whatever they contain."""
    if _uses(second, first):
        return False
    one, other = bodies.of(first), bodies.of(second)
    if one.size + other.size > (MAX_IN_NEST if other.nested else MAX_OPERATIONS):
        return False
    if one.obstacles or other.obstacles or any(inside(base, second) for base in other.accesses):
        return False
    return bodies.meet(first, second) and bodies.independent(first, second)


def _is_loop(op: Op) -> bool:
    return op.opdef is ops.parallel


def is_branch(op: Op) -> bool:
    return op.opdef is ops.if_ and any(_is_loop(inner) for region in warm_regions(op) for inner in region.ops)


def _like(op: Op) -> Callable[[Op], bool]:
    """A predicate for operations with which ``op`` might be joined."""
    return _is_loop if _is_loop(op) else is_branch


def _run_alike(first: Op, second: Op) -> bool:
    return first.operands[:3] == second.operands[:3] and first.attrs.get("threads") == second.attrs.get("threads")


def _uses(op: Op, other: Op) -> bool:
    """Whether ``op``, or what is in it, uses a result of ``other``."""
    return any(op in with_enclosing(user) for result in other.results for user, _ in result.uses)


def _is_simple(op: Op) -> bool:
    return not op.regions or (_is_loop(op) and not any(inner.regions for inner in op.regions[0].ops))
