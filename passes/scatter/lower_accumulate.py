"""How the terms that parallel loops add to shadows are summed: without races, and in a fixed order.

The adjoint of a parallel loop is a parallel loop with ``adc.accumulate``: additions whose order does not matter. For
each shadow the first of these strategies that is right is chosen:

- *reduction*: the element is the same in all iterations; see ``hoist_sums``;
- *plain*: distinct iterations add to distinct elements; load, add, store;
- *blocks*: two phases of blocks in which each iteration runs once (``blocks``), where that costs less than the next;
- *gather* and *rows*: neighbouring iterations add to one element, at constant offsets (``gather``, ``tiles``) or at
  those that an inner loop counts through (``windows``);
- *interchange*: loops whose iterations meet are put inside those whose iterations do not; not if much would be computed
  twice, and copies may pay;
- *passes*: one loop for each term, if each term by itself is plain;
- *colours*: blocks of one colour have no element in common (``colouring``), if many steps share the subscripts;
- *private*: chunks of iterations add to copies, which are added in order (``privatisation``), where that pays;
- *atomic*: in any order, only if the user has given up determinism;
- *serial*: the loop runs in sequence, as a loop of its own if the rest need not.

``strategy_costs`` weighs the first ones against each other; ``reduction_strategies`` carries them out. Afterwards only
what is atomic, or goes to private copies, is an ``adc.accumulate`` (see
``settle_accumulates``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.builder import contractible, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import ONE_BY_ONE
from adc.ir.moments import strip_views
from adc.passes.analysis.cold import warm_regions
from adc.passes.analysis.conflicts import Group, conflicting, has_accumulate
from adc.passes.analysis.dependence import Analysis
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.kinds import LOOPS, PURE
from adc.passes.choices import AUTO
from adc.passes.distribution.distribute_terms import ends_in_rows, rows_last
from adc.passes.distribution.fission import Fission, effects_left
from adc.passes.plans import ParallelPlan, ShadowPlan
from adc.passes.rewrite import put_before, put_instead, to_sequential
from adc.passes.scatter.colouring import build_colouring, find_colouring
from adc.passes.scatter.privatisation import WORTH, Private, build_private, shared
from adc.passes.scatter.reduction_strategies import Strategies, erase
from adc.passes.scatter.row_writes import store_first
from adc.passes.scatter.rows import build_branch, find_rows
from adc.passes.scatter.settle_accumulates import add_in_place
from adc.passes.scatter.unconditional import make_unconditional
from adc.passes.scatter.worth_of_copies import may_pay
from adc.passes.stencil_adjoints.interchange import computes_twice
from adc.passes.sums.factor_sums import SMALL_SUMS
from adc.passes.sums.hoist_sums import HoistSums
from adc.passes.threads.parallelise import mark_threads

_Solve = Callable[[list[Op], str, Fission, Block], bool]


@dataclass(frozen=True)
class LowerAccumulate:
    """Replace every ``adc.accumulate`` by code that is right on threads.

    ``wanted`` (one of ``choices.STRATEGIES``) is used wherever it is right. With ``atomics``, terms that would have to
    be added one after the other are added atomically instead, in an order that depends on threads.
    """

    name: ClassVar[str] = "lower-accumulate"
    needs = frozenset({ops.accumulate})

    wanted: str = AUTO
    atomics: bool = False

    @contractible()
    def run(self, module: Module) -> Module:
        self.plan(module)
        return module

    def plan(self, module: Module) -> ParallelPlan:
        """Change the module, and report what was done."""
        plan = ParallelPlan()
        summaries = Summaries.asked(module)
        for func in module.funcs.values():
            if any(op.opdef is ops.accumulate for op in func.walk()):
                plan.shadows[func.name] = _Lowering(func, module, summaries, self).run()
        return plan


def lower_accumulate(module: Module) -> ParallelPlan:
    """Change the module, and report what was done."""
    return LowerAccumulate().plan(module)


class _Lowering:
    def __init__(self, func: Func, module: Module, summaries: Summaries, options: LowerAccumulate) -> None:
        self.func = func
        self.options = options
        self.analysis = Analysis(func, module, summaries)
        self.strategies = Strategies(self.analysis, self._block, options.wanted)
        self._privates: list[Private] = []
        self._in_chunk = False
        self._in_sweep = False  # whether around is a loop that runs in order: of a chunk, or instead of chunks
        self._memory: Memory | None = None  # only if subscripts are loaded

    def run(self) -> list[ShadowPlan]:
        sums = HoistSums(self.func, self.analysis)
        sums.run()
        self.strategies.noted |= sums.bases
        self._look_around()
        self._block(self.func.body)
        for loop, added in self.strategies.before.items():
            put_before(loop, added.ops)
        self._finish(self.func.body, None, {copy for private in self._privates for copy in private.copies})
        for private in self._privates:
            if not private.only_accumulates() or private.has_rows():
                put_instead(private.loop, [to_sequential(private.loop)])
        self.func.body.set_ops([*self.strategies.entry, *self.func.body.ops])
        return sums.plans + self.strategies.plans

    def _look_around(self) -> None:
        """Find what sequential loops write before anything is changed, if subscripts are loaded."""
        if any(op.opdef is ops.load and op.result.type.is_integer for op in self.func.walk()):
            self._memory = Memory.asked(self.func, self.analysis.summaries)
            for op in self.func.walk():
                if op.opdef is ops.for_:
                    self._memory.effects(op)

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
            if op in self.strategies.after:
                for added in self.strategies.after[op].ops:
                    new.append(added)
        block.set_ops(new.ops)

    def _parallel(self, loop: Op, block: Block) -> None:
        """Append the code that replaces ``loop`` to ``block``."""
        groups = conflicting(self.analysis, loop)
        if self._rows(loop, groups, block):
            return
        moved = [make_unconditional(self.analysis, loop, group) for group, _ in groups]
        if any(moved):
            groups = conflicting(self.analysis, loop)
        fission = Fission(self.analysis, loop)
        if self.strategies.blocks(fission, groups, block):
            return
        left = groups
        if self.options.wanted == "private" and self._private(loop, left, block):
            return
        if self.options.wanted == "atomic":
            left = [group for group in left if not self._atomic(group, fission)]
        if self.options.wanted != "serial":
            left = self._one_by_one(fission, left, block)
            if self._coloured(fission, groups, left, block):
                return
        self._rest(fission, groups, left, block)

    def _one_by_one(self, fission: Fission, groups: list[Group], block: Block) -> list[Group]:
        """Append nests for the groups that can have one of their own, and return those that are still in the loop.

        Sums with few elements are among the latter if there can be copies: their terms are computed in each iteration,
        and would have to be computed again in another nest. So are other sums of which that is true, if there can be
        copies of them, or if the loop is inside one that runs in order.
        """
        solves = (self.strategies.gather, self.strategies.windows, self.strategies.interchange, self.strategies.passes)
        copies = self.options.wanted == AUTO and fission.loop.attrs.get("threads")
        left: list[Group] = []
        sums: list[Group] = []
        twice: list[Group] = []
        for terms in groups:
            if copies and _are_small_sums(terms):
                sums.append(terms)
            elif (copies or self._in_sweep) and computes_twice(fission, terms[0]):
                twice.append(terms)
            elif not self._solve(solves, *terms, fission, block):
                left.append(terms)
        if not self._in_sweep and not self._may_copy(fission.loop, [*left, *sums, *twice]):
            left += [terms for terms in twice if not self._solve(solves, *terms, fission, block)]
            twice = []
        return [*left, *sums, *twice]

    def _may_copy(self, loop: Op, groups: list[Group]) -> bool:
        """Whether the terms of all ``groups`` may be added to copies, and that may pay."""
        if any(shared(self.analysis, loop, group) is None for group, _ in groups):
            return False
        return may_pay(self.analysis, loop, [group for group, _ in groups], 2 * WORTH)

    def _rest(self, fission: Fission, groups: list[Group], left: list[Group], block: Block) -> None:
        """Append what becomes of a loop that still contains only those of its ``groups`` that are ``left``."""
        loop = fission.loop
        if self.options.wanted != "serial" and self._private(loop, left, block):
            return
        if self.options.atomics:
            left = [group for group in left if not self._atomic(group, fission)]
        # In a chunk only SIMD is to be gained, which is in the innermost loops.
        twice = self._in_sweep and any(computes_twice(fission, group) for group, _ in left)
        inner = (self._in_chunk or twice) and any(op.opdef in LOOPS for op in loop.regions[0].walk())
        alone = [] if inner else [self.strategies.alone]
        serial = [(g, reason) for g, reason in left if not self._solve(alone, g, reason, fission, block)]
        for group, reason in serial:
            self.strategies.note(group, "serial", reason)
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

    def _rows(self, loop: Op, groups: list[Group], block: Block) -> bool:
        """Append a branch for rows of elements, which do not overlap if their limits are in order."""
        if loop in self.analysis.rows:
            return False
        rows = find_rows(self.analysis, loop, [op for group, _ in groups for op in group])
        if not rows:
            return False
        self.analysis.rows[loop] = {op: (r.limits, r.offset) for r in rows for op in r.accesses}
        front = len(block.ops)
        with insert_at(block, loop.loc):
            then, otherwise = build_branch(rows)
        _serialise(otherwise)
        for r in rows:
            limits = r.limits.hint or "their limits"
            self.strategies.note(r.accesses, "plain", f"rows do not overlap where {limits} is in order")
        (end,) = then.ops
        then.set_ops([])
        store_first(self.analysis, rows, block, front, then, otherwise)
        with self.analysis.inside(then):
            self._parallel(loop, then)
        then.append(end)
        return True

    def _finish(self, block: Block, parallel: Op | None, copies: set[Value]) -> None:
        """Replace by load, add, store: right where only one iteration at a time touches an element."""
        new = block.in_place_of()
        for op in block.ops:
            if op.opdef is ops.accumulate and op.operands[1] not in copies and not op.attrs.get("atomic"):
                value, memref, *at = op.operands
                if parallel is not None and strip_views(memref) not in self.strategies.noted:
                    self.strategies.note([op], "plain", "distinct iterations add to distinct elements")
                with insert_at(new, op.loc):
                    add_in_place(value, memref, at)
                op.drop()
                continue
            for region in op.regions:
                self._finish(region, op if op.opdef is ops.parallel else parallel, copies)
            new.append(op)
        block.set_ops(new.ops)

    def _solve(
        self, solves: Sequence[_Solve], group: list[Op], reason: str, fission: Fission, block: Block
    ) -> bool:
        """Append nests that add ``group``, which is then erased from the old loop; False if that cannot be done."""
        for solve in solves:
            if solve(group, reason, fission, block):
                erase(fission.loop, set(group))
                return True
        return False

    def _coloured(self, fission: Fission, groups: list[Group], left: list[Group], block: Block) -> bool:
        """Append a branch: the loop by colours of blocks, or in another form."""
        if self.options.wanted not in (AUTO, "colours") or self._memory is None:
            return False
        colouring = find_colouring(fission, [group for group, _ in left], self._memory)
        if colouring is None:
            return False
        before = self.strategies.before.setdefault(colouring.around[0], Block())
        with insert_at(block, fission.loop.loc):
            over, otherwise = build_colouring(colouring, before, always=self.options.wanted == "colours")
        steps = colouring.around[0].regions[0].args[0].hint or "steps"
        for group, reason in left:
            self.strategies.note(group, "colours", f"{reason}, the same for all {steps}; found once")
        self._block(over.regions[0])
        (end,) = otherwise.ops
        otherwise.set_ops([])
        self._rest(fission, groups, left, otherwise)
        otherwise.append(end)
        return True

    def _private(self, loop: Op, groups: list[Group], block: Block) -> bool:
        """Append chunks of ``loop`` that add to copies, and the loop in sequence for the case that these do not pay."""
        bases = [shared(self.analysis, loop, group) for group, _ in groups]
        found = [base for base in bases if base is not None]
        if not groups or not loop.attrs.get("threads") or len(found) < len(groups):
            return False
        terms = [group for group, _ in groups]
        if self.options.wanted == AUTO and not may_pay(self.analysis, loop, terms, 2 * WORTH):
            for group, reason in groups:
                self.strategies.note(group, "serial", f"{reason}; copies would cost more than the terms")
            made = Block()
            alone = self._in_order(loop, made)
            for op in made.ops:
                block.append(op)
            self._descend(alone)
            return True
        with insert_at(block, loop.loc):
            private = build_private(loop, terms, found)
        for group, reason in groups:
            self.strategies.note(group, "private", reason)
        alone = self._in_order(loop, private.otherwise)
        self._privates.append(private)
        around, self._in_chunk, self._in_sweep = (self._in_chunk, self._in_sweep), True, True
        self._block(private.loop.regions[0])
        self._in_chunk, self._in_sweep = around[0], True
        self._descend(alone)
        self._in_sweep = around[1]
        return True

    def _descend(self, loop: Op) -> None:
        """Lower the contents of a loop that runs in order."""
        self._block(loop.regions[0])
        mark_threads(loop.regions[0])

    def _in_order(self, loop: Op, block: Block) -> Op:
        """Put ``loop`` at the start of ``block``, to run in order; or only the part that adds terms, if it comes last,
        with what comes before it on threads."""
        if ends_in_rows(loop) and not self.analysis.accesses(loop).obstacles:

            def repeatable(op: Op) -> bool:
                return op.opdef in PURE or (op.opdef is ops.load and self.analysis.leaves(loop, op.operands[0]))

            made = Block()
            with insert_at(made, loop.loc):
                alone = rows_last(loop, repeatable)
            loop.drop()
            whole = made.ops
        else:
            alone = to_sequential(loop)
            whole = [alone]
        alone.set_attr(ONE_BY_ONE, True)
        block.set_ops([*whole, *block.ops])
        return alone

    def _atomic(self, terms: Group, fission: Fission) -> bool:
        """Let ``terms`` be added atomically, if the loop does nothing else with the array that they are added to."""
        group, reason = terms
        accesses = fission.accesses.found
        mine = [a for a in accesses if a.op in group]
        others = [a for a in accesses if a.kind != "accumulate"]
        for a in mine:
            for b in others:
                if not (self.analysis.apart(a, b, fission.loop) or self.analysis.independent(a, b, fission.loop)):
                    return False
        for op in group:
            op.set_attr("atomic", True)
        self.strategies.note(group, "atomic", reason)
        return True

    def _plain(self, fission: Fission, done: set[Op], block: Block) -> None:
        """Terms that never meet: nothing to do, unless the array that they are added to is known to be zero."""
        body = fission.loop.parent
        if body is None or body.parent_op is None or body.parent_op.opdef is not ops.for_:
            return
        groups: dict[Value, list[Op]] = {}
        for access in fission.accesses.found:
            if access.kind == "accumulate" and access.op not in done:
                groups.setdefault(access.base, []).append(access.op)
        for group in groups.values():
            if self.strategies.gather(group, "", fission, block, only_fresh=True):
                erase(fission.loop, set(group))


def _are_small_sums(terms: Group) -> bool:
    shadow = strip_views(terms[0][0].operands[1]).op
    return shadow is not None and SMALL_SUMS in shadow.attrs


def _serialise(block: Block) -> None:
    """In cold code, make loops that accumulate sequential."""
    new = block.in_place_of()
    for op in block.ops:
        if op.opdef is ops.parallel and has_accumulate(op):
            op = to_sequential(op)
        for region in op.regions:
            _serialise(region)
        new.append(op)
    block.set_ops(new.ops)
