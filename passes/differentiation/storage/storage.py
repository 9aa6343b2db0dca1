"""The storage plan: which primal values are kept for the reverse sweep, and which are recomputed.

Each value that the reverse sweep may need is a node. It can be *free* (arguments, constants, loop counters, and, when
both sweeps are one function, whatever is in the function's own block). It can be *stored*, at the cost of its bytes
times the number of times it is computed. Or, if a recipe is legal, it can be *recomputed* from other
nodes at the cost of the recipe times the same number. The cheapest choice is a minimum cut: every node is split in
two halves joined by an edge of the storage cost, a recipe's inputs lie before its result, an edge from the source
carries the cost of recomputing, and demanded values are connected to the sink.

The recomputation side follows Griewank and Walther, Evaluating Derivatives, 2nd ed., section 4.2; the cut
formulation is that of min-cut rematerialisation, weighed here by trip counts.
"""

from __future__ import annotations

from functools import cached_property

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.callgraph import recursive
from adc.ir.core import Block, Op, Value
from adc.ir.opdef import OpDef, Trait
from adc.ir.permutations import Orbit, Permutations
from adc.ir.rewrite import used_from_outside
from adc.ir.types import MemRefType, RecordType
from adc.passes.analysis.cold import is_seldom_run
from adc.passes.analysis.costs import (
    cost_of,
    cost_of_block,
    cost_of_func,
    cost_of_scalar,
    executions,
    memory_cost,
    storage_cost,
)
from adc.passes.analysis.effects import Summaries
from adc.passes.differentiation.need.demand import Augmented, Recipe
from adc.passes.differentiation.storage.legality import Legality
from adc.passes.differentiation.storage.mincut import INFINITE, FlowNetwork
from adc.passes.differentiation.storage.snapshots import Snapshot, make_snapshots, take_out
from adc.passes.differentiation.storage.storage_plan import StoragePlan, in_loop

RECORD_ENTRY = 40.0  # keeping a value in a call's record: an allocation shared by few values
SELDOM = 1e-3  # of the iterations run cold code in loops, but a tape has room for all


class Recipes:
    """How the reverse sweep can obtain values of an augmented function."""

    def __init__(self, augmented: Augmented, legality: Legality) -> None:
        self.augmented = augmented
        self.legality = legality
        self.body = augmented.func.body
        self.refused: dict[Op, str] = {}
        self.snapshots: dict[Op, Snapshot] = {}  # by the loads that they serve
        self.copies: dict[Value, Snapshot] = {}  # by their memory
        self.reloads: dict[Value, Op] = {}  # by what is loaded again; the operations stored it
        self._cache: dict[Value, Recipe | None] = {}
        self.permutations = Permutations()
        self._undone: dict[Value, tuple[Orbit, list[Value]] | None] = {}

    def free(self, value: Value) -> bool:
        """Whether a value is available in the reverse sweep at no cost."""
        if value.op is not None and value.op.opdef in (ops.constant, ops.undef):
            return True
        block = value.block
        if block is self.body:
            return self.augmented.direct or value.op is None
        loop = block.parent_op if block is not None else None
        return value.op is None and value.index == 0 and loop is not None and loop.opdef in (ops.for_, ops.parallel)

    def recipe(self, value: Value) -> Recipe | None:
        """What ``value`` can be recomputed from, and the cost of doing so once; None if it must be stored."""
        if value not in self._cache:
            self._cache[value] = self._find(value)
        return self._cache[value]

    def _find(self, value: Value) -> Recipe | None:
        if isinstance(value.type, MemRefType) and value.block is not self.body and not self.is_constant(value):
            orbit = self.end(value)
            if orbit is not None:
                # The mirrored region begins with what the operation returned; a loop then permutes back each time.
                again = self.permutations.carried(orbit.op)[1] if orbit.op.opdef is not ops.if_ else ()
                return [*orbit.results, *(again[k] for k in orbit.positions if again)], 0.0
            through = self.undone(value)
            if through is not None:
                return [*through[0].results, *through[1]], 0.0
            grown = self.grown(value)
            if grown is not None:
                return [grown], 0.0
        if isinstance(value.type, RecordType):
            return None
        if value.op is not None and value.op.opdef is ops.ruled:
            # A float is stored: if it were recomputed and the gradient differentiated, its derivative would be that of
            # the code that computes it, not that of the rule.
            return None if value.type.is_float else ([value.op.operands[value.index]], 0.0)
        found = self._argument(value) if value.op is None else self._result(value.op)
        store = self.legality.stored(value) if found is None or found[1] > cost_of(ops.load) else None
        if store is None:
            return found
        self.reloads[value] = store
        return list(store.operands[1:]), cost_of(ops.load)

    def add_snapshots(self) -> None:
        """Offer copies of arrays for the loads that were refused."""
        loads = sorted(self.refused, key=self.legality.position.__getitem__)
        for snapshot in make_snapshots(loads, self.legality.aliasing, self.legality.written):
            self.copies[snapshot.memory] = snapshot
            self.snapshots |= dict.fromkeys(snapshot.loads, snapshot)
        for load in self.snapshots:
            self._forget(load.result)

    def choose_snapshots(self, stored: set[Value]) -> None:
        """Keep the copies that are among ``stored``."""
        for memory, snapshot in list(self.copies.items()):
            if memory not in stored:
                take_out(snapshot)
                del self.copies[memory]
            for load in snapshot.loads:
                if memory not in stored:
                    del self.snapshots[load]
                    self._forget(load.result)
                else:
                    self.refused.pop(load, None)

    def _forget(self, value: Value) -> None:
        """Forget the recipe of a value, and where it would be loaded again, so that another recipe is looked for."""
        self._cache.pop(value, None)
        self.reloads.pop(value, None)

    def is_constant(self, value: Value) -> bool:
        """Whether ``value`` is an argument that a counted loop carries without changing it."""
        return value.op is None and self._argument(value) is not None

    def kept_with(self, value: Value) -> list[Value]:
        """The arrays, allocated repeatedly, of which each is kept if the memref ``value`` is and refers to it.

        A shadow refers to the shadows of what its primal refers to, and those are of the same size."""
        if not isinstance(value.type, MemRefType) or value in self.copies:
            return []
        roots = self.legality.aliasing.in_order(self.legality.aliasing.roots(self._shadowed.get(value, value)))
        return [r for r in roots if r.op is not None and r.op.opdef is ops.alloc and r.block is not self.body]

    def _argument(self, value: Value) -> Recipe | None:
        block = value.block
        loop = block.parent_op if block is not None else None
        if loop is None or loop.opdef is not ops.for_ or value.index == 0:
            return None
        k = value.index - 1
        return ([loop.operands[3 + k]], 0.0) if loop.regions[0].terminator.operands[k] is value else None

    # Permuted memrefs: see adc.passes.differentiation.unpermute -------------------------------------------------------

    def end(self, value: Value) -> Orbit | None:
        """The orbit of ``value``, if its region yields it to be permuted with others."""
        around = value.block.parent_op if value.block is not None else None
        orbit = self.permutations.of(around).ends.get(value) if around is not None else None
        return orbit if orbit is not None and self._reversed(orbit.op) else None

    def undone(self, value: Value) -> tuple[Orbit, list[Value]] | None:
        """If ``value`` was permuted with others, in an orbit known afterwards: the orbit, and the further values needed
        to undo that: bounds of loops, and conditions."""
        if value not in self._undone:
            self._undone[value] = None  # the answer while it is being looked for
            self._undone[value] = self._find_undone(value)
        return self._undone[value]

    def _find_undone(self, value: Value) -> tuple[Orbit, list[Value]] | None:
        if (block := value.block) is None or (around := block.parent_op) is None:
            return None
        orbit = self.permutations.of(around).inner.get((block, value))
        if orbit is None or not self._reversed(orbit.op):
            return None
        params = self.parameters(orbit.op)
        return None if params is None or self._depends(params, orbit.inputs) else (orbit, params)

    def grown(self, value: Value) -> Value | None:
        """If ``value`` is a buffer that grows in a loop: its final value, which holds everything."""
        loop = value.block.parent_op if value.block is not None else None
        if loop is None or loop.opdef not in (ops.for_, ops.while_):
            return None
        body, args, _ = self.permutations.carried(loop)
        for arg, yielded, result in zip(args, body.terminator.operands, loop.results, strict=True):
            if value in (arg, yielded) and yielded.op is not None and yielded.op.opdef is ops.grow:
                before = loop.regions[0]
                passed = loop.opdef is ops.for_ or before.terminator.operands[1 + arg.index] is before.args[arg.index]
                return result if passed and yielded.op.operands[0] is arg else None
        return None

    def _reversed(self, op: Op) -> bool:
        return op.opdef is not ops.while_ or op in self.augmented.counters

    def parameters(self, op: Op) -> list[Value] | None:
        """The values that determine how ``op`` permutes, if they are known outside it."""
        if op.opdef is ops.while_:
            own = [self.augmented.counters[op]] if op in self.augmented.counters else None
        else:
            own = list(op.operands[: 1 if op.opdef is ops.if_ else 3])
        if own is None:
            return None
        inside = set(regions_of(op))
        for orbit in dict.fromkeys(self.permutations.of(op).inner.values()):
            more = self.parameters(orbit.op)
            if more is None or any(v.block in inside and constant_of(v) is None for v in more):
                return None
            own += more
        return own

    def _depends(self, params: list[Value], inputs: tuple[Value, ...]) -> bool:
        """Whether recomputing ``params`` needs one of ``inputs``."""
        seen: set[Value] = set()
        work = list(params)
        while work:
            value = work.pop()
            if value in seen or self.free(value):
                continue
            seen.add(value)
            if value in inputs:
                return True
            recipe = self.recipe(value)
            work += recipe[0] if recipe is not None else []
        return False

    def _result(self, op: Op) -> Recipe | None:
        kind = op.opdef
        if kind is ops.bound or (kind.pure and not op.regions and kind is not ops.unpack):
            return list(op.operands), cost_of_scalar(op)
        if kind is ops.load:
            if self._may_reload(op):
                return list(op.operands), cost_of(kind)
            if op in self.augmented.shadowed_loads:
                return None
            if op in self.snapshots:
                return self.snapshots[op].recipe(op), cost_of(kind)
            self.refused[op] = "the memory is written again before the reverse sweep comes to it"
            return None
        if kind is ops.call:
            return self._pure_call(op)
        if kind is ops.for_ and (op.parent is None or not is_seldom_run(op.parent)):
            return None
        if kind in (ops.if_, ops.for_) and all(self._repeatable(o, kind) for r in op.regions for o in r.walk()):
            return used_from_outside([op]), sum(cost_of_block(r) for r in op.regions)
        return None

    def _may_reload(self, load: Op) -> bool:
        """Whether a load may be repeated. Arrays of shadows are written where the arrays of what they shadow are."""
        return self.legality.may_reload(self.augmented.shadowed_loads.get(load, load))

    @cached_property
    def _shadowed(self) -> dict[Value, Value]:
        """The primal of each companion. Companions are younger than the analysis of aliasing."""
        return {companion: primal for primal, companion in self.augmented.companion.items()}

    @cached_property
    def _recursive(self) -> frozenset[str]:
        return recursive(self.augmented.module)

    @cached_property
    def _summaries(self) -> Summaries:
        return Summaries.asked(self.augmented.module)

    def _pure_call(self, op: Op) -> Recipe | None:
        values = (*op.operands, *op.results)
        if any(isinstance(v.type, MemRefType) for v in values):
            return None
        name: str = self.augmented.original_callee.get(op) or op.attrs["callee"]
        callee = self.augmented.module.funcs[name]
        if name in self._recursive or any(isinstance(t, RecordType) for t in callee.result_types):
            return None  # each level of a recursion would repeat all those below
        summary = self._summaries.of(name)
        if summary is None or summary.ordered:
            return None
        return list(op.operands), cost_of_func(callee)

    def _repeatable(self, op: Op, around: OpDef) -> bool:
        kind = op.opdef
        if kind is ops.load:
            return self._may_reload(op)
        if kind in (ops.if_, ops.yield_, ops.bound) or kind is around:
            return True
        return kind.pure and Trait.ALLOCATES not in kind.traits


def regions_of(op: Op) -> list[Block]:
    """The regions of an operation, including nested ones."""
    inner = [r for region in op.regions for o in region.walk() for r in o.regions]
    return [*op.regions, *inner]


def plan_storage(augmented: Augmented, recipes: Recipes) -> StoragePlan:
    """Choose what to store by a minimum cut, then list everything that the reverse sweep will ask for."""
    demanded = [v for v in dict.fromkeys(augmented.all_demands()) if not recipes.free(v)]
    stored = _cut(demanded, recipes)
    if recipes.refused:
        recipes.add_snapshots()
        if recipes.copies:
            stored = _cut(demanded, recipes)
            recipes.choose_snapshots(stored)
    plan = StoragePlan(refused=recipes.refused)
    queue = list(augmented.all_demands())
    while queue:
        value = queue.pop()
        if value in plan.wanted:
            continue
        plan.wanted.add(value)
        if not recipes.free(value) and value not in stored:
            recipe = recipes.recipe(value)
            assert recipe is not None
            queue += recipe[0]
    plan.snapshots = list(recipes.copies.values())
    order = _program_order(augmented)
    plan.stored = sorted((v for v in stored if v in plan.wanted), key=lambda v: order[v])
    return plan


def _program_order(augmented: Augmented) -> dict[Value, int]:
    order: dict[Value, int] = {}
    for arg in augmented.func.args:
        order[arg] = len(order)
    for op in augmented.func.walk():
        for result in op.results:
            order[result] = len(order)
        for region in op.regions:
            for arg in region.args:
                order[arg] = len(order)
    return order


def _cut(demanded: list[Value], recipes: Recipes) -> set[Value]:
    network = FlowNetwork()
    source, sink = network.node(), network.node()
    halves: dict[Value, tuple[int, int]] = {}
    queue: list[Value] = []
    runs: dict[Block, float] = {}
    again: dict[Block, float] = {}
    arrays: dict[Value, int] = {}

    def array(root: Value) -> int:
        """The node on the sink's side of a cut if the memory that ``root`` allocates is kept."""
        if root not in arrays:
            arrays[root] = network.node()
            assert root.block is not None
            network.edge(source, arrays[root], memory_cost(root) * executions(root.block))
        return arrays[root]

    def node(value: Value) -> tuple[int, int]:
        if value not in halves:
            halves[value] = (network.node(), network.node())
            queue.append(value)
        return halves[value]

    for value in demanded:
        network.edge(node(value)[1], sink, INFINITE)
    while queue:
        value = queue.pop()
        block = value.block
        assert block is not None
        if block not in runs:
            runs[block] = executions(block)
            again[block] = SELDOM if is_seldom_run(block) else 1.0
        first, second = halves[value]
        cost = storage_cost(value) if block is not recipes.body else RECORD_ENTRY
        if not recipes.augmented.direct and not in_loop(value):  # in a branch: this goes to the record too
            cost = max(cost, RECORD_ENTRY)
        whole = recipes.copies[value].cost if value in recipes.copies else cost * runs[block]
        network.edge(first, second, max(whole, 1e-3))
        for root in recipes.kept_with(value):
            network.edge(array(root), second, INFINITE)
        recipe = recipes.recipe(value)
        if recipe is None:
            network.edge(source, first, INFINITE)
            continue
        network.edge(source, first, recipe[1] * runs[block] * again[block])
        for operand in dict.fromkeys(recipe[0]):
            if operand in recipes.copies or not recipes.free(operand):
                network.edge(node(operand)[1], first, INFINITE)
    side = network.source_side(source, sink)
    return {value for value, (first, second) in halves.items() if first in side and second not in side}
