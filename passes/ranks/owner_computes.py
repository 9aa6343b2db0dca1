"""Owner computes: loops over distributed arrays run for this rank's elements, after the elements of other ranks
that they read have been fetched.

The pass runs on final code: what was the program of one process, or its gradient, in which the terms of adjoints are
already gathered. So the adjoint of a stencil is a stencil like any other, each element is computed by the operations of
one process in its order, and no message is transposed. Sums are cut by the terms of their outermost loop, which all
ranks then add up as one process adds them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial, reduce
from typing import ClassVar

from adc.ir import kinds, ops
from adc.ir.arith import const
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.diagnostics import CompileTypeError
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import inside, with_inner
from adc.ir.types import i1
from adc.passes.analysis.affine import Form, Forms
from adc.passes.analysis.costs import has_known_length, trips
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.kinds import COUNTED
from adc.passes.analysis.messages import Messages
from adc.passes.plans import RanksPlan, ReplicatedPlan
from adc.passes.ranks.accesses import Access, goes_to_stores
from adc.passes.ranks.ends import Ends, insert_before
from adc.passes.ranks.exchanges import built, changed, distinct, fetch, wrote
from adc.passes.ranks.layouts import AXES, Layouts, is_same, mark_shadows
from adc.passes.ranks.regions import FEW, Nest
from adc.passes.ranks.replicated import whole_arrays, with_way_out
from adc.passes.ranks.results import Results, arguments_written
from adc.passes.ranks.serial_sums import moves, store_terms
from adc.passes.ranks.sites import fetched_at
from adc.passes.ranks.split_nests import split_nest
from adc.passes.ranks.steps import Step
from adc.passes.ranks.terms import split_sums, write_loops
from adc.passes.rewrite import to_sequential


@dataclass(frozen=True)
class OwnerComputes:
    """Run loops for the elements of one rank. ``cut``: the axes of the grid along which there are several ranks, or
    None if no array is distributed; ``grid``: the number of axes of the grid; ``replicate``: whether all
    ranks run all of the code that cannot be cut."""

    cut: Sequence[int] | None = None
    grid: int = 1
    replicate: bool = False
    name: ClassVar[str] = "owner-computes"

    def run(self, module: Module) -> Module:
        self.plan(module)
        return module

    def plan(self, module: Module) -> dict[str, RanksPlan]:
        """Run the pass, and report what it did."""
        found = {}
        for func in list(module.funcs.values()) if self.cut is not None else ():
            if _mark(func):
                made = _Function(module, func, self.cut or (), self.grid, self.replicate)
                made.run()
                found[func.name] = made.plan
        return found


class _Function:
    def __init__(self, module: Module, func: Func, cut: Sequence[int], grid: int, replicate: bool) -> None:
        self.module, self.func = module, func
        self.cut, self.grid, self.replicate = cut, grid, replicate
        self._terms: list[Value] = []
        self._steps: dict[Op, Step] = {}
        self._ends = Ends(module, func)
        self.plan = RanksPlan()
        self.layouts = self._layouts(range(grid))

    def _layouts(self, cut: Collection[int]) -> Layouts:
        found = Layouts(self.func, Forms(), Memory(self.func, Summaries(self.module)), cut)
        for array in self._terms:
            found.share(array, self.grid)
        return found

    def run(self) -> None:
        written = arguments_written(self.func, self.layouts)
        # How sums are cut does not depend on the number of ranks along any axis, so the bits of results do not either.
        self._terms = store_terms(self.func.body, self.layouts)
        self.layouts = self._layouts(range(self.grid))
        self._terms += split_sums(self.func.body, self.layouts)
        if self.cut:
            self._refuse_messages()
            self.layouts = self._layouts(self.cut)
            write_loops(self.func.body, self.layouts)
            self.layouts = self._layouts(self.cut)
            while self._split(self.func.body):
                self.layouts = self._layouts(self.cut)
            self._plan(self.func.body, certain=True)
            results = Results(self.func, self.layouts)
            if results.views:
                self._steps[self.func.body.terminator] = Step(results.views)
            self._cut_loops()
            insert_before(self.func.body.terminator, lambda: results.say(self.module))
        for arg in written:
            insert_before(self.func.body.terminator, partial(changed, self.module, arg))

    def _cut_loops(self) -> None:
        arrays = [array for step in self._steps.values() for array in step.fetches]
        fetched = {root for array in arrays for root in self.layouts.roots(array)}
        for step in self._steps.values():
            step.written = [v for v in step.written if not fetched.isdisjoint(self.layouts.roots(v))]
        self._emit(self.func.body)

    def _refuse_messages(self) -> None:
        for op in self.func.walk():
            if op.opdef is ops.call and op.attrs["callee"] in Messages.asked(self.module).speaking:
                raise kinds.NOT_DISTRIBUTED("this sends messages itself", op.loc, help="write it for one process")

    def _split(self, block: Block) -> bool:
        """Split nests that read what they compute themselves, and let those that cannot be cut as a whole, but run over
        something else than elements that are distributed, run in order, so that elements are fetched between their
        iterations. Returns whether there were any."""
        changed = False
        for op in list(block.ops):
            if op.opdef is ops.parallel:
                meets, refused = self._meets(op)
                if meets and split_nest(op):
                    changed = True
                elif refused and not op.results and self._runs_over_others(op):
                    at = block.ops.index(op)
                    before, after = block.ops[:at], block.ops[at + 1 :]
                    block.set_ops([*before, to_sequential(op), *after])
                    changed = True
            else:
                for region in op.regions:
                    changed |= self._split(region)
        return changed

    def _meets(self, op: Op) -> tuple[bool, bool]:
        """Whether it is to be split, if it can be; and whether it is refused as it is."""
        try:
            if not self.layouts.touches(op):
                return False, False
            self._plan_op(op)
        except CompileTypeError:
            return True, True
        finally:
            step = self._steps.pop(op, None)
        return step is not None and bool(step.apart or step.distinct), False

    def _runs_over_others(self, op: Op) -> bool:
        """Whether a loop contains loops, and its own counter moves no element that is distributed."""
        try:
            nest = Nest(op, self.layouts)
            moved = any(moves(nest, op, each) for each in (*nest.loads, *nest.writes))
        except CompileTypeError:
            return False
        return not moved and any(inner.opdef in COUNTED for inner in op.regions[0].ops)

    # What is read -----------------------------------------------------------------------------------------------------

    def _plan(self, block: Block, *, certain: bool) -> None:
        """``certain``: whether the block runs in any case. In other blocks, what cannot be done is an error only when
        it is reached: it may be a version of a loop that no arguments need."""
        for op in block.ops:
            try:
                if op.opdef is ops.alloc:
                    self._plan_alloc(op)
                elif op.regions and op.opdef is not ops.parallel and not self._is_nest(op):
                    self._plan_regions(op, certain=certain)
                elif self.layouts.touches(op):
                    self._plan_nest(op, certain=certain)
            except CompileTypeError as error:
                whole = whole_arrays(op, self.layouts)
                if whole is None or not self.replicate:
                    refused = error if whole is None else with_way_out(error)
                    if certain:
                        raise refused from None
                    whole = Step(refused=refused)
                self._forget(op)
                refusal = whole.refused is not None
                self.plan.replicated.append(ReplicatedPlan(error.loc, error.message, refusal))
                self._steps[op] = whole

    def _plan_nest(self, op: Op, *, certain: bool) -> None:
        try:
            self._plan_op(op)
        except CompileTypeError:
            if not op.regions or not self._may_be_steps(op):
                raise
            self._forget(op)
            self._plan_regions(op, certain=certain)

    def _forget(self, op: Op) -> None:
        for inner in with_inner(op):
            self._steps.pop(inner, None)

    def _plan_alloc(self, op: Op) -> None:
        """Make sure that an array has the extents that it is taken to have, or no elements."""
        step = Step()
        for given, held in self.layouts.clipped(op.result):
            step.small += [[(given, held), (Form.ZERO, given)], [(held, given), (Form.ZERO, given)]]
        if step.small:
            self._steps[op] = step

    def _plan_regions(self, op: Op, *, certain: bool) -> None:
        for region in op.regions:
            self._plan(region, certain=certain and op.opdef is not ops.if_)

    def _is_nest(self, op: Op) -> bool:
        """Whether a loop runs over elements of arrays that are distributed, and hands none of these arrays on."""
        if op.opdef not in COUNTED:
            return False
        nest = Nest(op, self.layouts)
        if any(self._is_handed_on(each, op) for each in (*nest.loads, *nest.writes)):
            return False
        return any(moves(nest, op, each) for each in (*nest.loads, *nest.stores))

    def _may_be_steps(self, op: Op) -> bool:
        """Whether a loop stores distributed elements that its counter does not move: then it may be a loop over steps,
        with a series of numbers that happens to have about the grid's extent. So are a few iterations, such as the two
        of a loop over colours that its subscripts count from."""
        if op.opdef is ops.for_ and has_known_length(op) and trips(op) <= FEW:
            return True
        nest = Nest(op, self.layouts)
        shared = [s for s in nest.stores if self.layouts.is_shared(s.array)]
        return op.opdef is ops.for_ and (not shared or any(not moves(nest, op, s) for s in shared))

    def _is_handed_on(self, each: Access, op: Op) -> bool:
        """Whether an array that is distributed has another name inside an operation."""
        if not inside(each.array, op):
            return False
        outside = any(not inside(root, op) for root in self.layouts.roots(each.array))
        return outside and self.layouts.may_share(each.array)

    def _plan_op(self, op: Op) -> None:
        if op.opdef in _HARMLESS or is_same(op):
            return
        for inner in with_inner(op):
            if inner.opdef in _FOREIGN and (inner is not op or any(self.layouts.shares(v) for v in inner.operands)):
                raise kinds.NOT_DISTRIBUTED("this needs whole arrays, and they are distributed among ranks", inner.loc)
        step = self._steps[op] = Step()
        nest = Nest(op, self.layouts)
        for each in nest.writes:
            if self._is_handed_on(each, op):
                raise kinds.NOT_DISTRIBUTED(
                    "it cannot be told which array this writes to, of those that are distributed",
                    each.op.loc,
                    help="choose the array in front of the loop",
                )
        if op.opdef is ops.load and self._is_own(op):
            return
        pairs: list[tuple[Access | None, Access]] = []
        for each in nest.stores:
            pairs += [(each, load) for load in nest.behind_store(each)]
        if op.results and op.regions:
            pairs += [(None, load) for load in nest.behind_results()]
        if op.opdef is ops.load:
            pairs += [(None, load) for load in nest.loads]
        step.around = list(nest.around)
        for store, load in self._alternatives(step, nest, pairs):
            box = nest.box(store, load)
            if box is None:
                continue
            if store is not None and store.array not in self._terms and nest.takes_all(store, load, box):
                raise kinds.NOT_DISTRIBUTED(
                    "each rank would need all of this array",
                    load.op.loc,
                    help="subscripts are to be those of what is computed, and more or less by a number",
                )
            for other in nest.stores:
                if not self.layouts.may_be_one(other.array, load.array):
                    continue
                if other.array is not load.array:  # it is only known at run time whether they are one
                    step.distinct.setdefault((load.array, other.array), load.op)
                    continue
                for each in nest.as_done(load):
                    apart = nest.apart(each, other)
                    if apart is None:
                        raise kinds.NOT_DISTRIBUTED(_COMPUTED, load.op.loc, help="compute them in a loop of their own")
                    if apart and apart not in step.apart:
                        step.apart.append(apart)
            boxes = step.fetches.setdefault(load.array, [])
            if box not in boxes:
                boxes.append(box)
        if not op.results:
            step.cuts = [(loop, cuts) for loop in nest.loops if (cuts := nest.cuts(loop)) is not None]
        step.written = list({s.array: None for s in nest.stores if self.layouts.is_shared(s.array)})

    def _alternatives(
        self, step: Step, nest: Nest, pairs: Sequence[tuple[Access | None, Access]]
    ) -> Iterator[tuple[Access | None, Access]]:
        """The pairs of stores and loads of arrays that are distributed, with each element that a load may be of."""
        for store, load in pairs:
            if inside(load.array, nest.op):
                self._refuse_kept(load)
                continue
            if not self.layouts.is_shared(load.array) or nest.box(store, load) is None:
                continue
            found, conditions = nest.alternatives(load)
            step.around += [c for c in conditions if c not in step.around]
            for each in found:
                yield store, each

    def _refuse_kept(self, load: Access) -> None:
        """Raise if what is loaded is not memory that the loop allocates but was kept by another loop: a buffer along an
        axis that is distributed holds only what the rank needed there."""
        if load.array.op is not None and load.array.op.opdef is not ops.alloc and self.layouts.may_share(load.array):
            raise kinds.NOT_DISTRIBUTED(
                "the reverse sweep needs this buffer again, of which each rank has a part",
                load.op.loc,
                help="use an array of the grid's extents, outside of the loop, for what is computed in between",
            )

    def _is_own(self, op: Op) -> bool:
        """Whether a loaded value only goes to the same element."""
        here = Nest(op, self.layouts).loads[0]

        def same(user: Op) -> bool:
            store = Nest(user, self.layouts).stores[0]
            return store.array is here.array and store.at is not None and store.at == here.at

        return goes_to_stores(op, same, op.parent)

    # Code -------------------------------------------------------------------------------------------------------------

    def _emit(self, block: Block) -> None:
        for op in list(block.ops):
            step = self._steps.get(op)
            if step is None:
                for region in op.regions:
                    self._emit(region)
                continue
            insert_before(op, partial(self._prepare, op, step))
            if step.written:
                after = block.in_place_of()
                with insert_at(after, op.loc):
                    for array in step.written:
                        wrote(self.module, array)
                at = block.ops.index(op) + 1
                block.set_ops([*block.ops[:at], *after.ops, *block.ops[at:]])

    def _prepare(self, op: Op, step: Step) -> None:
        if step.refused is not None:
            said = ": ".join(filter(None, (step.refused.message, step.refused.help)))
            attrs = {"error": "ValueError", "message": (said,)}
            build(ops.assert_, [const(False, i1)], attrs, loc=step.refused.loc)
            return
        for message, each in ((_MEET, step.apart), (_AROUND, step.around), (_SMALL, step.small)):
            for conditions in each:
                met = [ops.cmpi(built(low), built(high), predicate="sge") for low, high in conditions]
                build(ops.assert_, [reduce(ops.ori, met)], {"error": "ValueError", "message": (message,)})
        for (read, stored), load in step.distinct.items():
            apart = distinct(self.module, read, stored)
            build(ops.assert_, [apart], {"error": "ValueError", "message": (_COMPUTED,)}, loc=load.loc)
        for array, boxes in step.fetches.items():
            site = fetched_at(op, array, self._terms)
            self.plan.fetches.append(site)
            fetch(self.module, array, self.layouts.of(array), boxes, site.site)
        cut = []
        for loop, cuts in step.cuts:
            ends = [(self._ends.of(op, "first", by), self._ends.of(op, "last", by)) for by in cuts]
            low, high = ends[0]
            for first, last in ends[1:]:
                low, high = ops.minsi(low, first), ops.maxsi(high, last)
            cut.append((loop, low, high))
        for loop, low, high in cut:
            if loop is op:
                _narrow(loop, low, high)
            else:
                insert_before(loop, partial(_narrow, loop, low, high))


def _narrow(loop: Op, low: Value, high: Value) -> None:
    loop.set_operand(0, ops.maxsi(loop.operands[0], low))
    loop.set_operand(1, ops.minsi(loop.operands[1], high))


_MEET = "an array is too small to be distributed among ranks: a loop reads elements of others that it computes"
_AROUND = "an array is too small to be distributed among ranks: subscripts go around it twice"
_COMPUTED = "this reads elements of other ranks that the same loop computes"
_SMALL = "an array is too small to be distributed among ranks"
_HARMLESS = frozenset({ops.dim, ops.dealloc, ops.alloc, ops.subview, ops.transpose, ops.cast, ops.yield_, ops.return_})
_FOREIGN = frozenset({ops.copy, ops.fill, ops.call, ops.foreign, ops.matmul, ops.grow, ops.pack, ops.gradient})
_FOREIGN |= {ops.reshape, ops.accumulate, ops.release, ops.unpack}


def _mark(func: Func) -> bool:
    """Mark shadows of parameters, too, as distributed. Returns whether any is."""
    found = mark_shadows(func)
    for attrs in func.arg_attrs:
        if AXES in attrs:  # fetched elements are written to it
            attrs.pop("adc.readonly", None)
    return found
