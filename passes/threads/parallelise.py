"""Making loops parallel whose iterations are independent, and choosing which of them run on threads.

A plain ``for`` becomes ``scf.parallel`` only if that makes no visible difference: no iteration touches what another one
changes, none can raise an error (which one would be first?), and the loop carries only sums and extrema of integers.
Sums of floats depend on their order; they stay in Python's, except those that a reverse sweep carries: cotangents of
values from outside the loop, to which every iteration adds, in an order that adc chooses. ``prange`` is the user's word
that the order does not matter, and ``keep_promises`` has checked whether that can be true.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const_index, constant_of
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import REVERSE
from adc.ir.types import MemRefType
from adc.passes.analysis.cold import warm_regions
from adc.passes.analysis.costs import cost_of_block, has_known_length
from adc.passes.analysis.dependence import Access, Accesses, Analysis
from adc.passes.analysis.effects import Summaries
from adc.passes.analysis.kinds import LOOPS
from adc.passes.checkpointing.conventions import is_over_steps
from adc.passes.plans import LoopPlan, ParallelPlan, lines_of
from adc.passes.rewrite import keep_args
from adc.passes.threads.keep_promises import PROMISED, check_races, most_trips

LEAST_WORK = 100_000.0  # as ``costs`` counts: a loop that certainly does less never wakes threads
FEW_TRIPS = 8  # too few iterations to share out, if there is a parallel loop inside
_KINDS = {on_integers: kind for kind, (_, on_integers) in ops.COMBINE.items()}


@dataclass(frozen=True)
class Parallelise:
    """Turn independent loops into ``scf.parallel`` and mark those that run on threads."""

    name: ClassVar[str] = "parallelise"
    needs = LOOPS

    def run(self, module: Module) -> Module:
        parallelise(module)
        return module


def parallelise(module: Module) -> ParallelPlan:
    """Change the module, and report what was done. ``CompileError`` if a parallel loop certainly has a race."""
    plan = ParallelPlan()
    summaries = Summaries.asked(module)
    for func in module.funcs.values():
        plan.loops[func.name] = _Parallelise(func, Analysis(func, module, summaries)).run()
    return plan


@dataclass(frozen=True)
class _Reduction:
    """A carried integer, or cotangent, as a reduction: the operations that combine it with ``terms``, and their
    kind."""

    kind: str
    chain: tuple[Op, ...]
    terms: tuple[Value, ...]


class _Parallelise:
    def __init__(self, func: Func, analysis: Analysis) -> None:
        self.func = func
        self.analysis = analysis
        self.plans: list[LoopPlan] = []

    def run(self) -> list[LoopPlan]:
        self._block(self.func.body, 0)
        mark_threads(self.func.body)
        return [self._final(plan, loop) for plan, loop in zip(self.plans, self._loops, strict=True)]

    @property
    def _loops(self) -> list[Op]:
        return list(_warm_loops(self.func.body))

    def _final(self, plan: LoopPlan, loop: Op) -> LoopPlan:
        if not loop.attrs.get("threads"):
            return plan
        return LoopPlan(plan.loc, plan.counter, plan.depth, "threads", plan.reason)

    def _block(self, block: Block, depth: int) -> None:
        new = block.in_place_of()
        for op in block.ops:
            if op.opdef is ops.for_:
                op = self._for(op, depth)
            elif op.opdef is ops.parallel:
                if op.attrs.get(PROMISED):
                    check_races(op, self.analysis)
                self._note(op, depth, "parallel", "")
            elif op.opdef is ops.while_:
                self._note(op, depth, "sequential", "a while loop")
            new.append(op)
            inner = depth + 1 if op.opdef in (ops.for_, ops.parallel, ops.while_) else depth
            for region in warm_regions(op):
                with self.analysis.inside(region):
                    self._block(region, inner)
        block.set_ops(new.ops)

    def _note(self, op: Op, depth: int, kind: str, reason: str) -> None:
        counter = op.regions[0].args[0].hint if op.opdef is not ops.while_ else "while"
        self.plans.append(LoopPlan(op.loc, counter, depth, kind, reason))

    # Plain loops ------------------------------------------------------------------------------------------------------

    def _for(self, op: Op, depth: int) -> Op:
        """``op``, or the parallel loop that replaces it."""
        if is_over_steps(self.func, op):
            # In parallel, terms of several steps might be added together before they are added to the rest.
            self._note(op, depth, "sequential", "a schedule runs its steps in order")
            return op
        reductions: list[_Reduction] = []
        for k, arg in enumerate(op.regions[0].args[1:]):
            reduction = integer_reduction(op, k) or _cotangent(op, k)
            if reduction is None:
                self._note(op, depth, "sequential", f"carries {_called(arg)} from one iteration to the next")
                return op
            reductions.append(reduction)
        reason = self._obstacle(op)
        if reason is not None:
            self._note(op, depth, "sequential", reason)
            return op
        self._note(op, depth, "parallel", "" if not reductions else "with a reduction")
        return _to_parallel(op, reductions)

    def _obstacle(self, loop: Op) -> str | None:
        accesses: Accesses = self.analysis.accesses(loop)
        for op, reason in accesses.obstacles:
            return f"{reason} (line {op.loc.line})"
        for a, b in self.analysis.conflicts(loop, accesses.found):
            if not a.kind == b.kind == "accumulate":  # lower-accumulate decides how to sum these
                return _explained(a, b)
        return None


def _explained(a: Access, b: Access) -> str:
    name = _called(a.base)
    if a.changes and b.changes:
        return f"iterations may write the same element of {name} ({lines_of((a.op, b.op))})"
    write, read = (a, b) if a.changes else (b, a)
    return f"{name} is read (line {read.op.loc.line}) where another iteration may write it (line {write.op.loc.line})"


def _called(value: Value) -> str:
    return value.hint or ("an array" if isinstance(value.type, MemRefType) else "a value")


def _warm_loops(block: Block) -> list[Op]:
    found: list[Op] = []
    for op in block.ops:
        if op.opdef in (ops.for_, ops.parallel, ops.while_):
            found.append(op)
        for region in warm_regions(op):
            found += _warm_loops(region)
    return found


# Reductions -----------------------------------------------------------------------------------------------------------


def integer_reduction(loop: Op, k: int) -> _Reduction | None:
    """The carried value at position ``k`` as a reduction, if it is one of integers."""
    body = loop.regions[0]
    arg, value = body.args[1 + k], body.terminator.operands[k]
    if not arg.type.is_integer:
        return None
    kind: str | None = None
    chain: list[Op] = []
    terms: list[Value] = []
    while value is not arg:
        op = value.op
        if op is None or op.parent is not body or op.opdef not in _KINDS or len(value.uses) != 1:
            return None
        if kind is not None and _KINDS[op.opdef] != kind:
            return None
        kind = _KINDS[op.opdef]
        chain.append(op)
        through = [v for v in op.operands if _leads_to(v, arg, op.opdef, body)]
        if len(through) != 1:
            return None
        value = through[0]
        terms.append(op.operands[1] if op.operands[0] is value else op.operands[0])
    if kind is None or len(arg.uses) != 1:
        return None
    return _Reduction(kind, tuple(chain), tuple(terms))


def _cotangent(loop: Op, k: int) -> _Reduction | None:
    """The sum that a loop of a reverse sweep carries at position ``k``, if it is one of floats."""
    body = loop.regions[0]
    arg, value = body.args[1 + k], body.terminator.operands[k]
    if not loop.attrs.get(REVERSE) or not arg.type.is_float or len(arg.uses) != 1:
        return None
    chain: list[Op] = []
    terms: list[Value] = []
    made = _made_of(arg, body)
    while value is not arg:
        op = value.op
        if op not in made or len(value.uses) != 1:
            return None
        assert op is not None
        left = op.operands[0] is arg or op.operands[0].op in made
        chain.append(op)
        value, term = op.operands if left else op.operands[::-1]
        terms.append(term)
    return _Reduction("add", tuple(chain), tuple(terms)) if chain else None


def _made_of(arg: Value, body: Block) -> set[Op | None]:
    """The additions in a block that ``arg`` flows into, each through the one before."""
    found: set[Op | None] = set()
    for op in body.ops:
        through = op.operands[:1] if op.opdef is ops.subf else op.operands if op.opdef is ops.addf else ()
        if any(v is arg or (v.op is not None and v.op in found) for v in through):
            found.add(op)
    return found


def _leads_to(value: Value, arg: Value, opdef: object, body: Block) -> bool:
    while value is not arg:
        op = value.op
        if op is None or op.opdef is not opdef or op.parent is not body:
            return False
        value = op.operands[0] if op.operands[0] is arg or _is_link(op.operands[0], opdef, body) else op.operands[1]
    return True


def _is_link(value: Value, opdef: object, body: Block) -> bool:
    return value.op is not None and value.op.opdef is opdef and value.op.parent is body


def _to_parallel(loop: Op, reductions: Sequence[_Reduction]) -> Op:
    """A parallel loop with the body of ``loop``, which is dropped."""
    body = loop.regions[0]
    body.pop().drop()
    with insert_at(body, loop.loc):
        values = []
        for reduction in reductions:
            first, total = reduction.chain[-1], reduction.terms[-1]
            if first.opdef is ops.subf:
                total = ops.negf(total)
            for op, term in zip(reduction.chain[-2::-1], reduction.terms[-2::-1], strict=True):
                total = build(op.opdef, [total, term], dict(op.attrs)).result
            values.append(total)
        dead = {op for r in reductions for op in r.chain}
        for op in [o for o in reversed(body.ops) if o in dead]:
            op.drop()
        body.set_ops([o for o in body.ops if o not in dead])
        build(ops.reduce, values, {"kinds": tuple(r.kind for r in reductions)})
    keep_args(body, [0])
    _run_upwards(body, loop)
    loop.set_regions(())
    attrs = dict(loop.attrs)
    new = Op(ops.parallel, loop.operands, [r.type for r in loop.results], attrs, [body], loop.loc)
    for old, result in zip(loop.results, new.results, strict=True):
        old.replace_uses(result)
        result.hint = old.hint
    loop.drop()
    return new


def _run_upwards(body: Block, loop: Op) -> None:
    """Reverse the counter if only its negative is used: reverse sweeps run loops from the end."""
    counter = body.args[0]
    users = list(counter.uses)
    downwards = all(op.opdef is ops.subi and position == 1 for op, position in users)
    if not users or not downwards or constant_of(loop.operands[2]) != 1:
        return
    start = Block()
    with insert_at(start, loop.loc):
        total = ops.addi(loop.operands[0], loop.operands[1])
        turned = ops.subi(ops.addi(total, const_index(-1)), counter)
    for op, position in users:
        op.set_operand(position, turned)
    body.set_ops([*start.ops, *body.ops])


# Threads --------------------------------------------------------------------------------------------------------------


def mark_threads(block: Block) -> None:
    """Mark the outermost parallel loops outside cold code, except those of few iterations around another one."""
    for op in block.ops:
        if op.opdef is ops.parallel and _worth_sharing(op):
            op.set_attr("threads", True)
            continue
        for region in warm_regions(op):
            mark_threads(region)


def _worth_sharing(loop: Op) -> bool:
    trips = most_trips(loop)
    if trips is None:
        return True
    if _is_bounded(loop.regions[0]) and trips * cost_of_block(loop.regions[0]) < LEAST_WORK:
        return False
    if trips >= FEW_TRIPS:
        return True
    return trips > 1 and not any(o.opdef is ops.parallel for o in loop.regions[0].walk())


def _is_bounded(block: Block) -> bool:
    """Whether the work of a block follows from its text: it contains no loop of unknown length and no call."""
    return all(op.opdef not in _UNBOUNDED and (op.opdef not in LOOPS or has_known_length(op)) for op in block.walk())


_UNBOUNDED = frozenset({ops.call, ops.external, ops.fill, ops.copy, ops.matmul})
