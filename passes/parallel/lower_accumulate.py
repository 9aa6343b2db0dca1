"""How the terms that parallel loops add to shadows are summed: without races, and in an order that is fixed.

The adjoint of a parallel loop is a parallel loop with ``adc.accumulate``: adds whose order does not matter. For each
shadow the first of these that is right is chosen:

- *reduction*: the element is the same in all iterations; see ``hoist_sums``;
- *plain*: distinct iterations add to distinct elements; load, add, store;
- *gather* and *rows*: neighbouring iterations add to one element, at constant offsets (``gather``, ``tiles``) or at
  those that an inner loop counts through (``windows``);
- *interchange*: loops whose iterations meet are put inside of those whose iterations do not;
- *passes*: terms of which each alone is plain; one loop for each of them;
- *private*: chunks of iterations add to copies, which are added in order (``private``), where that is worth it;
- *serial*: the loop runs in sequence, in a loop of its own if the rest need not.

Afterwards only what goes to private copies is an ``adc.accumulate``; see ``settle``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from adc.ir import ops
from adc.ir.builder import insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.moments import strip_views
from adc.ir.rewrite import erase_if
from adc.ir.types import i1
from adc.passes.costs import cost_of_block
from adc.passes.effects import Summaries
from adc.passes.kinds import ONE_BY_ONE
from adc.passes.parallel import zeroing
from adc.passes.parallel.cold import warm_regions
from adc.passes.parallel.dependence import Access, Analysis
from adc.passes.parallel.fission import Fission, effects_left
from adc.passes.parallel.gather import Axis, Fresh, Gather, by_recomputation, clear
from adc.passes.parallel.hoist_sums import HoistSums
from adc.passes.parallel.interchange import build_interchanged, recognise_interchange
from adc.passes.parallel.parallel_plan import ParallelPlan, ShadowPlan, lines_of
from adc.passes.parallel.parallelise import mark_threads
from adc.passes.parallel.private import Private, build_private, shared
from adc.passes.parallel.rows import build_branch, find_rows
from adc.passes.parallel.settle import add_in_place, to_sequential
from adc.passes.parallel.stencils import Stencil, recognise
from adc.passes.parallel.tiles import build_tiles, pays_off
from adc.passes.parallel.unconditional import make_unconditional
from adc.passes.parallel.windows import WindowGather, convolutions
from adc.passes.rewrite import put_instead

_Solve = Callable[[list[Op], str, Fission, Block], bool]
WORTH_SPLITTING = 40.0  # the cost of an iteration
MAX_PASSES = 8  # more loops than that for one array are not better than one that is sequential


@dataclass(frozen=True)
class LowerAccumulate:
    """Replace every ``adc.accumulate`` by code that is right on threads."""

    name: ClassVar[str] = "lower-accumulate"

    def run(self, module: Module) -> Module:
        lower_accumulate(module)
        return module


def lower_accumulate(module: Module) -> ParallelPlan:
    """Change the module, and say what was done."""
    plan = ParallelPlan()
    summaries = Summaries(module)
    for func in module.funcs.values():
        if any(op.opdef is ops.accumulate for op in func.walk()):
            plan.shadows[func.name] = _Lowering(func, module, summaries).run()
    return plan


def has_accumulate(op: Op) -> bool:
    return any(o.opdef is ops.accumulate for region in op.regions for o in region.walk())


class _Lowering:
    def __init__(self, func: Func, module: Module, summaries: Summaries) -> None:
        self.func = func
        self.analysis = Analysis(func, module, summaries)
        self.plans: list[ShadowPlan] = []
        self._noted: set[Value] = set()
        self._privates: list[Private] = []
        self._entry: list[Op] = []  # constants for the start of the function
        self._after: dict[Op, Block] = {}

    def run(self) -> list[ShadowPlan]:
        sums = HoistSums(self.func, self.analysis)
        sums.run()
        self._noted |= sums.bases
        self._block(self.func.body)
        self._finish(self.func.body, None, {copy for private in self._privates for copy in private.copies})
        for private in self._privates:
            if not private.only_accumulates():
                put_instead(private.loop, [to_sequential(private.loop)])
        self.func.body.set_ops([*self._entry, *self.func.body.ops])
        return sums.plans + self.plans

    def _block(self, block: Block) -> None:
        new = block.in_place_of()
        for op in block.ops:
            if op.opdef is ops.parallel and has_accumulate(op):
                self._parallel(op, new)
                continue
            new.append(op)
            warm = warm_regions(op)
            for region in op.regions:
                if region in warm:
                    with self.analysis.inside(region):
                        self._block(region)
                else:
                    _serialise(region)
            if op in self._after:
                for added in self._after[op].ops:
                    new.append(added)
        block.set_ops(new.ops)

    def _parallel(self, loop: Op, block: Block) -> None:
        """Append what ``loop`` becomes to ``block``."""
        groups = self._conflicting(loop)
        if self._rows(loop, groups, block):
            return
        moved = [make_unconditional(self.analysis, loop, group) for group, _ in groups]
        if any(moved):
            groups = self._conflicting(loop)
        fission = Fission(self.analysis, loop)
        solves = (self._gather, self._windows, self._interchange, self._passes)
        left = [(group, reason) for group, reason in groups if not self._solve(solves, group, reason, fission, block)]
        if self._private(loop, left, block):
            return
        serial = [(g, reason) for g, reason in left if not self._solve([self._alone], g, reason, fission, block)]
        for group, reason in serial:
            self._note(group, "serial", reason)
        if not serial:
            self._plain(fission, {op for group, _ in groups for op in group}, block)
        if serial:
            loop = to_sequential(loop)
        elif not effects_left(loop, set()):
            loop.drop()
            return
        block.append(loop)
        self._block(loop.regions[0])
        if serial:
            mark_threads(loop.regions[0])

    def _rows(self, loop: Op, groups: list[tuple[list[Op], str]], block: Block) -> bool:
        """Append a branch for rows of elements that do not overlap if their limits are in order."""
        if loop in self.analysis.rows:
            return False
        rows = find_rows(self.analysis, loop, [op for group, _ in groups for op in group])
        if not rows:
            return False
        self.analysis.rows[loop] = {op: (r.limits, r.offset) for r in rows for op in r.accesses}
        with insert_at(block, loop.loc):
            then, otherwise = build_branch(rows)
        _serialise(otherwise)
        for r in rows:
            self._note(r.accesses, "plain", f"rows do not overlap where {r.limits.hint or 'their limits'} is in order")
        (end,) = then.ops
        then.set_ops([])
        with self.analysis.inside(then):
            self._parallel(loop, then)
        then.append(end)
        return True

    def _finish(self, block: Block, parallel: Op | None, copies: set[Value]) -> None:
        """Load, add, store: right where only one iteration at a time comes to an element."""
        new = block.in_place_of()
        for op in block.ops:
            if op.opdef is ops.accumulate and op.operands[1] not in copies:
                value, memref, *at = op.operands
                if parallel is not None and strip_views(memref) not in self._noted:
                    self._note([op], "plain", "distinct iterations add to distinct elements")
                with insert_at(new, op.loc):
                    add_in_place(value, memref, at)
                op.drop()
                continue
            for region in op.regions:
                self._finish(region, op if op.opdef is ops.parallel else parallel, copies)
            new.append(op)
        block.set_ops(new.ops)

    # Conflicts --------------------------------------------------------------------------------------------------------

    def _conflicting(self, loop: Op) -> list[tuple[list[Op], str]]:
        """Accumulations that another iteration of ``loop`` may meet, in groups that add to one memref, and why."""
        accesses = self.analysis.accesses(loop).found
        involved = [a for a in accesses if a.kind == "accumulate"]
        groups: dict[Value, dict[Op, None]] = {}
        reasons: dict[Value, str] = {}
        for a in involved:
            for b in accesses:
                if self.analysis.apart(a, b, loop) or self.analysis.independent(a, b, loop):
                    continue
                for access in (a, b):
                    if access.kind == "accumulate":
                        groups.setdefault(access.base, {})[access.op] = None
                        reasons.setdefault(access.base, _reason(a, b))
        # The others of a group go with them: terms of one memref are best added together.
        for a in involved:
            if a.base in groups:
                groups[a.base][a.op] = None
        return [(list(group), reasons[base]) for base, group in groups.items()]

    def _solve(
        self, solves: Sequence[_Solve], group: list[Op], reason: str, fission: Fission, block: Block
    ) -> bool:
        """Append nests that do ``group``, which is then erased from the old one; False if that cannot be done."""
        for solve in solves:
            if solve(group, reason, fission, block):
                _erase(fission.loop, set(group))
                return True
        return False

    def _private(self, loop: Op, groups: list[tuple[list[Op], str]], block: Block) -> bool:
        """Append chunks of ``loop`` that add to copies, and the loop in sequence for where that is not worth it."""
        bases = [shared(self.analysis, loop, group) for group, _ in groups]
        found = [base for base in bases if base is not None]
        if not groups or not loop.attrs.get("threads") or len(found) < len(groups):
            return False
        with insert_at(block, loop.loc):
            private = build_private(loop, [group for group, _ in groups], found)
        for group, reason in groups:
            self._note(group, "private", reason)
        alone = to_sequential(loop)
        alone.attrs[ONE_BY_ONE] = True
        private.otherwise.set_ops([alone, *private.otherwise.ops])
        self._privates.append(private)
        for body in (private.loop.regions[0], alone.regions[0]):
            self._block(body)
        mark_threads(alone.regions[0])
        return True

    def _plain(self, fission: Fission, done: set[Op], block: Block) -> None:
        """Terms that never meet: nothing to do, unless what they are added to is known to be zero."""
        body = fission.loop.parent
        if body is None or body.parent_op is None or body.parent_op.opdef is not ops.for_:
            return
        groups: dict[Value, list[Op]] = {}
        for access in fission.accesses.found:
            if access.kind == "accumulate" and access.op not in done:
                groups.setdefault(access.base, []).append(access.op)
        for group in groups.values():
            if self._gather(group, "", fission, block, only_fresh=True):
                _erase(fission.loop, set(group))

    def _note(self, group: list[Op], kind: str, reason: str) -> None:
        base = strip_views(group[0].operands[1])
        self._noted.add(base)
        self.plans.append(ShadowPlan(group[0].loc, base.hint, kind, reason))

    def _gather(
        self, group: list[Op], reason: str, fission: Fission, block: Block, *, only_fresh: bool = False
    ) -> bool:
        """Each element collects its terms. ``only_fresh``: only if that does away with zeroing it beforehand."""
        stencils = recognise(fission, group)
        if isinstance(stencils, str):
            return False
        needed = fission.slice(op.operands[0] for op in group) | set(group)
        if fission.obstacle(needed, group) is not None:
            return False
        pending = zeroing.find(fission, stencils[0], group) if len(stencils) == 1 else None
        if only_fresh and pending is None:
            return False
        threads = bool(fission.loop.attrs.get("threads"))
        with insert_at(block, group[0].loc):
            fresh = None if pending is None else self._postpone(pending, stencils[0])
            tiled = False
            for stencil in stencils:
                axes = [Axis(self.analysis.forms, loop, block) for loop in stencil.loops]
                if pays_off(fission, stencil):
                    tiled = True
                    build_tiles(fission, stencil, axes, fresh, threads=threads)
                else:
                    Gather(stencil, axes, by_recomputation(fission, stencil, axes), threads, fresh).build()
        count = sum(len(stencil.shifts) for stencil in stencils)
        text = f"{count} offset{'s' if count > 1 else ''}" if not only_fresh else ""
        if pending is not None:
            text += ", onto elements known to be zero" if text else "onto elements known to be zero"
            _erase(fission.loop, {pending.store})
        self._note(group, "plain" if only_fresh else "rows" if tiled else "gather", text)
        return True

    def _postpone(self, pending: zeroing.Pending, stencil: Stencil) -> Fresh:
        """Leave the zeroing to the next step, at the insertion point in the body of the time loop."""
        loop, body = pending.loop, pending.loop.regions[0]
        yes, no = (Op(ops.constant, (), (i1,), {"value": v, "type": i1}, loc=loop.loc) for v in (1, 0))
        self._entry += [yes, no]
        loop.add_operand(no.result)
        before = body.add_arg(i1, "pending")
        body.terminator.add_operand(yes.result)
        after = loop.add_result(i1, "pending")
        base = loop.results[pending.position]
        with insert_at(self._after.setdefault(loop, Block()), loop.loc):
            clear(stencil, base, pending.shift, after, self.analysis.forms)
        return Fresh(before, pending.shift)

    def _windows(self, group: list[Op], reason: str, fission: Fission, block: Block) -> bool:
        """Each element collects the terms of a window of iterations."""
        found = convolutions(fission, group)
        if found is None or len(found) > MAX_PASSES:
            return False
        with insert_at(block, group[0].loc):
            for convolution in found:
                threads = bool(fission.loop.attrs.get("threads"))
                WindowGather(fission, convolution, block, threads=threads).build()
        self._note(group, "gather", "offsets of an inner loop")
        return True

    def _interchange(self, group: list[Op], reason: str, fission: Fission, block: Block) -> bool:
        """The loops that the subscripts follow are put outside of those that are summed over."""
        found = [recognise_interchange(fission, op) for op in group]
        if None in found or len(found) > MAX_PASSES:
            return False
        threads = bool(fission.loop.attrs.get("threads"))
        with insert_at(block, group[0].loc):
            for change in found:
                assert change is not None
                build_interchanged(fission, change, block, threads=threads)
        self._note(group, "interchange", "the loops that the subscripts follow are put outside")
        return True

    def _passes(self, group: list[Op], reason: str, fission: Fission, block: Block) -> bool:
        """One nest for each set of terms that never meet."""
        sets: list[list[Op]] = []
        access = {a.op: a for a in fission.accesses.found if a.kind == "accumulate"}
        for op in group:
            if not self._alone_plain(op, access, fission.loop):
                return False
            fits = (s for s in sets if all(self.analysis.independent(access[op], access[o], fission.loop) for o in s))
            found = next(fits, None)
            if found is None:
                sets.append([op])
            else:
                found.append(op)
        if len(sets) > MAX_PASSES:
            return False
        needed = [fission.with_surroundings(s) for s in sets]
        if any(fission.obstacle(n, s) is not None for n, s in zip(needed, sets, strict=True)):
            return False
        self._note(group, "passes", f"{len(sets)} loops")
        for n in needed:
            self._append(fission, n, block)
        return True

    def _alone_plain(self, op: Op, access: dict[Op, Access], loop: Op) -> bool:
        return self.analysis.independent(access[op], access[op], loop)

    def _alone(self, group: list[Op], reason: str, fission: Fission, block: Block) -> bool:
        """A sequential nest of its own, so that the rest stays parallel, if threads or SIMD gain by that."""
        loop = fission.loop
        if not loop.attrs.get("threads") and cost_of_block(loop.regions[0]) < WORTH_SPLITTING:
            return False
        needed = fission.with_surroundings(group)
        if not effects_left(fission.loop, set(group)) or fission.obstacle(needed, group) is not None:
            return False
        self._note(group, "serial", f"{reason}; in a loop of its own")
        with insert_at(Block(), fission.loop.loc):
            copy = to_sequential(fission.copy(needed))
        block.append(copy)
        self._block(copy.regions[0])
        mark_threads(copy.regions[0])
        return True

    def _append(self, fission: Fission, needed: set[Op], block: Block) -> None:
        with insert_at(Block(), fission.loop.loc):
            copy = fission.copy(needed)
        block.append(copy)
        self._block(copy.regions[0])


def _reason(a: Access, b: Access) -> str:
    return f"iterations may meet in one element ({lines_of((a.op, b.op))})"


def _erase(loop: Op, gone: set[Op]) -> None:
    erase_if(loop.regions[0], lambda op: op in gone)


def _serialise(block: Block) -> None:
    """In cold code: loops that accumulate are sequential."""
    new = block.in_place_of()
    for op in block.ops:
        if op.opdef is ops.parallel and has_accumulate(op):
            op = to_sequential(op)
        for region in op.regions:
            _serialise(region)
        new.append(op)
    block.set_ops(new.ops)
