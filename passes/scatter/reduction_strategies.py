"""The ways in which the terms that iterations add to one shadow can be summed, each tried on a loop nest.

A way that is right appends nests of its own; what these do is then erased from the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adc.ir import ops
from adc.ir.builder import insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.moments import strip_views
from adc.ir.rewrite import erase_if
from adc.ir.types import i1
from adc.passes.analysis.conflicts import Group
from adc.passes.analysis.costs import cost_of_block
from adc.passes.analysis.dependence import Analysis
from adc.passes.choices import AUTO
from adc.passes.distribution.fission import Fission, effects_left
from adc.passes.plans import ShadowPlan
from adc.passes.rewrite import to_sequential
from adc.passes.stencil_adjoints import zeroing
from adc.passes.stencil_adjoints.blocks import blocks_for, build_blocks
from adc.passes.stencil_adjoints.fills import fresh_after, zeros_before
from adc.passes.stencil_adjoints.gather import Axis, Fresh, Gather, by_recomputation, overwrite
from adc.passes.stencil_adjoints.interchange import build_interchanged, recognise_interchange
from adc.passes.stencil_adjoints.stencils import Stencil, recognise
from adc.passes.stencil_adjoints.strategy_costs import Costs
from adc.passes.stencil_adjoints.tiles import build_tiles
from adc.passes.stencil_adjoints.windows import build_gather, convolutions
from adc.passes.threads.parallelise import mark_threads

WORTH_SPLITTING = 40.0  # the cost of an iteration
MAX_PASSES = 8  # more loops than that for one array are no better than a sequential one


class Strategies:
    """The ways for one function. ``descend`` lowers the contents of a region; ``wanted``: the kind the user asks
    for."""

    def __init__(self, analysis: Analysis, descend: Callable[[Block], None], wanted: str) -> None:
        self.analysis = analysis
        self.descend = descend
        self.wanted = wanted
        self.plans: list[ShadowPlan] = []
        self.noted: set[Value] = set()
        self.entry: list[Op] = []  # constants for the start of the function
        self.before: dict[Op, Block] = {}  # operations to put before a loop
        self.after: dict[Op, Block] = {}  # and after it
        self._weighed: dict[Value, str] = {}  # for shadows that were not added to in blocks: what that would cost

    def note(self, group: list[Op], kind: str, reason: str) -> None:
        base = strip_views(group[0].operands[1])
        self.noted.add(base)
        if self.wanted not in (AUTO, kind) and kind != "plain":
            reason += f"{'; ' if reason else ''}{self.wanted} is not possible"
        self.plans.append(ShadowPlan(group[0].loc, base.hint, kind, reason))

    def blocks(self, fission: Fission, groups: Sequence[Group], block: Block) -> bool:
        """Two phases of blocks for all groups together, if that costs less than a nest for each of them."""
        if self.wanted not in (AUTO, "blocks") or not groups:
            return False
        found = blocks_for(fission, groups)
        if found is None:
            return False
        weighed = Costs(fission).weigh(found.stencils)
        if self.wanted == AUTO and not weighed.favours_blocks:
            text = f"estimated cost {weighed.separate:.0f}, in blocks {weighed.together:.0f}"
            self._weighed.update((strip_views(s.base), text) for s in found.stencils)
            return False
        with insert_at(block, fission.loop.loc):
            over = build_blocks(fission, found, block, threads=bool(fission.loop.attrs.get("threads")))
        for group, _ in groups:
            base = strip_views(group[0].operands[1])
            count = sum(len(s.shifts) for s in found.stencils if strip_views(s.base) is base)
            cost = f"estimated cost {weighed.together:.0f}, in nests of their own {weighed.separate:.0f}"
            self.note(group, "blocks", f"{_offsets(count)}, {cost}")
        fission.loop.drop()
        self.descend(over.regions[0])
        return True

    def gather(
        self, group: list[Op], reason: str, fission: Fission, block: Block, *, only_fresh: bool = False
    ) -> bool:
        """Each element collects its terms. ``only_fresh``: only if it need not be overwritten beforehand then."""
        stencils = recognise(fission, group)
        if isinstance(stencils, str):
            return False
        needed = fission.slice(op.operands[0] for op in group) | set(group)
        if fission.obstacle(needed, group) is not None:
            return False
        pending = zeroing.find(fission, stencils[0], group, block) if len(stencils) == 1 else None
        if only_fresh and pending is None:
            return False
        fill = None
        if pending is None and len(stencils) == 1:
            fill = zeros_before(self.analysis, stencils[0], block.ops)
        threads = bool(fission.loop.attrs.get("threads"))
        with insert_at(block, group[0].loc):
            fresh = None if pending is None else self._postpone(pending, stencils[0])
            tiled = False
            for stencil in stencils:
                axes = [Axis(self.analysis.forms, loop, block) for loop in stencil.loops]
                if fill is not None:
                    fresh = fresh_after(fill, stencil, axes, block)
                if self.keeps_terms(fission, stencil):
                    tiled = True
                    build_tiles(fission, stencil, axes, fresh, threads=threads)
                else:
                    Gather(stencil, axes, by_recomputation(fission, stencil, axes), threads, fresh).build()
        text = _offsets(sum(len(stencil.shifts) for stencil in stencils)) if not only_fresh else ""
        weighed = self._weighed.get(strip_views(group[0].operands[1]))
        if weighed is not None and not only_fresh:
            text += f", {weighed}"
        if pending is not None:
            known = "known to be zero" if pending.factor == 0.0 else "that the step before left to multiply"
            text += f"{', ' if text else ''}onto elements {known}"
            erase(fission.loop, {pending.store})
        self.note(group, "plain" if only_fresh else "rows" if tiled else "gather", text)
        return True

    def keeps_terms(self, fission: Fission, stencil: Stencil) -> bool:
        """Whether terms are computed once and kept, rather than computed repeatedly."""
        if self.wanted in ("gather", "rows"):
            return self.wanted == "rows"
        return Costs(fission).favour_tiles(stencil)

    def _postpone(self, pending: zeroing.Pending, stencil: Stencil) -> Fresh:
        """Leave the overwriting to the next step, at the insertion point in the body of the time loop."""
        loop, body = pending.loop, pending.loop.regions[0]
        yes, no = (Op(ops.constant, (), (i1,), {"value": v, "type": i1}, loc=loop.loc) for v in (1, 0))
        self.entry += [yes, no]
        loop.add_operand(no.result)
        before = body.add_arg(i1, "pending")
        body.terminator.add_operand(yes.result)
        after = loop.add_result(i1, "pending")
        base, factor = loop.results[pending.position], self._factor(pending)
        with insert_at(self.after.setdefault(loop, Block()), loop.loc):
            overwrite(stencil, base, Fresh(after, pending.shift, factor), self.analysis.forms)
        return Fresh.of(before, pending.shift, factor)

    def _factor(self, pending: zeroing.Pending) -> Value | None:
        """What elements are multiplied by; None if they are zeroed."""
        factor = pending.factor
        if isinstance(factor, Value):
            return factor
        if factor == 0.0:
            return None
        t = pending.store.operands[0].type
        made = Op(ops.constant, (), (t,), {"value": factor, "type": t}, loc=pending.loop.loc)
        self.entry.append(made)
        return made.result

    def windows(self, group: list[Op], reason: str, fission: Fission, block: Block) -> bool:
        """Each element collects the terms of a window of iterations."""
        found = convolutions(fission, group)
        if found is None or len(found) > MAX_PASSES:
            return False
        with insert_at(block, group[0].loc):
            for convolution in found:
                threads = bool(fission.loop.attrs.get("threads"))
                build_gather(fission, convolution, block, threads=threads)
        self.note(group, "gather", "offsets of an inner loop")
        return True

    def interchange(self, group: list[Op], reason: str, fission: Fission, block: Block) -> bool:
        """The loops that the subscripts follow are moved outside those that are summed over."""
        found = [recognise_interchange(fission, op) for op in group]
        if None in found or len(found) > MAX_PASSES:
            return False
        threads = bool(fission.loop.attrs.get("threads"))
        with insert_at(block, group[0].loc):
            for change in found:
                assert change is not None
                build_interchanged(fission, change, block, threads=threads)
        self.note(group, "interchange", "the loops that the subscripts follow are put outside")
        return True

    def passes(self, group: list[Op], reason: str, fission: Fission, block: Block) -> bool:
        """One nest for each set of terms that never meet."""
        sets: list[list[Op]] = []
        access = {a.op: a for a in fission.accesses.found if a.kind == "accumulate"}
        questions = self.analysis.questions(fission.loop)

        def never_meet(first: Op, second: Op) -> bool:
            return self.analysis.independent(access[first], access[second], fission.loop, questions)

        for op in group:
            if not never_meet(op, op):
                return False
            found = next((s for s in sets if all(never_meet(op, other) for other in s)), None)
            if found is None:
                sets.append([op])
            else:
                found.append(op)
        if len(sets) > MAX_PASSES:
            return False
        needed = [fission.with_surroundings(s) for s in sets]
        if any(fission.obstacle(n, s) is not None for n, s in zip(needed, sets, strict=True)):
            return False
        self.note(group, "passes", f"{len(sets)} loops")
        for n in needed:
            self._append(fission, n, block)
        return True

    def alone(self, group: list[Op], reason: str, fission: Fission, block: Block) -> bool:
        """A sequential nest of its own, so that the rest stays parallel, if threads or SIMD profit from that."""
        loop = fission.loop
        if not loop.attrs.get("threads") and cost_of_block(loop.regions[0]) < WORTH_SPLITTING:
            return False
        needed = fission.with_surroundings(group)
        if not effects_left(fission.loop, set(group)) or fission.obstacle(needed, group) is not None:
            return False
        self.note(group, "serial", f"{reason}; in a loop of its own")
        with insert_at(Block(), fission.loop.loc):
            copy = to_sequential(fission.copy(needed))
        block.append(copy)
        self.descend(copy.regions[0])
        mark_threads(copy.regions[0])
        return True

    def _append(self, fission: Fission, needed: set[Op], block: Block) -> None:
        with insert_at(Block(), fission.loop.loc):
            copy = fission.copy(needed)
        block.append(copy)
        self.descend(copy.regions[0])


def erase(loop: Op, gone: set[Op]) -> None:
    """Remove the operations ``gone`` from the loop."""
    erase_if(loop.regions[0], lambda op: op in gone)


def _offsets(count: int) -> str:
    return f"{count} offset{'s' if count > 1 else ''}"
