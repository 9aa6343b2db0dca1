"""Recognising time loops of stencils: what they carry, what their fields are, which statements a step has."""

from __future__ import annotations

from collections.abc import Iterator

from adc.ir import ops
from adc.ir.arith import constant_of, fusible
from adc.ir.core import Block, Op, Value
from adc.ir.nesting import inside, with_inner
from adc.ir.rewrite import used_from_outside
from adc.ir.types import MemRefType
from adc.passes.analysis.cold import cold_region, warm_regions
from adc.passes.analysis.costs import has_known_length
from adc.passes.analysis.dependence import Access, Analysis
from adc.passes.analysis.kinds import LOOPS, PURE
from adc.passes.cache.time_rows import Rows
from adc.passes.cache.time_steps import MOST, Field, Guards, Statement, Steps, Unfit, varies
from adc.passes.simd.align_loops import is_quick


def recognise(analysis: Analysis, loop: Op) -> Steps:
    """Analyse a loop as a time loop of stencils. Raises ``Unfit``."""
    return _Recognition(analysis, loop).run()


def is_candidate(loop: Op) -> bool:
    """Whether this is a loop over steps that contains loops on threads, and not a loop around such loops."""
    return loop.opdef is ops.for_ and any(op.attrs.get("threads") for op, _ in _flat(loop.regions[0]))


def _flat(block: Block) -> Iterator[tuple[Op, Guards]]:
    """What a block does in the common case, with branches taken apart: each operation with its conditions."""
    for op in block.ops[:-1]:
        if op.opdef is ops.if_ and not op.results and any(region.ops[:-1] for region in op.regions):
            for region in warm_regions(op):
                taken = region is op.regions[0]
                guard = () if cold_region(op) is not None else ((op.operands[0], taken),)
                for inner, guards in _flat(region):
                    yield inner, (*guard, *guards)
        else:
            yield op, ()


class _Recognition:
    def __init__(self, analysis: Analysis, loop: Op) -> None:
        self.analysis = analysis
        self.loop = loop
        self.body = loop.regions[0]
        self.known: set[Value] = set()  # values of the step that are found before its statements
        self.late: dict[Value, Op] = {}  # what only the statements find
        self.guarded: set[Op] = set()
        self.position: dict[Op, int] = {}
        self.statements: list[Statement] = []
        self.scalars: list[Op] = []

    def run(self) -> Steps:
        if constant_of(self.loop.operands[2]) != 1:
            raise Unfit("its step is not one")
        conditions = list(self._conditions(self.body))
        items = list(_flat(self.body))
        self.position = {op: n for n, (op, _) in enumerate(items)}
        found = [(op, self._accesses(op)) for op, _ in items]
        changed = [a for _, accesses in found for a in accesses if a.changes]
        if not changed:
            raise Unfit("it changes no array")
        self.fields = self._fields([a for _, accesses in found for a in accesses], changed)
        series: list[int] = []
        while True:
            self._classify(items, [accesses for _, accesses in found], series)
            more = [k for k in range(len(self.body.args) - 1) if k not in series and self._is_of_fields(k)]
            if not more:
                break
            series += more
        buffers = [k for k, arg in enumerate(self.body.args[1:]) if isinstance(arg.type, MemRefType)]
        numbers = [k for k in range(len(self.body.args) - 1) if k not in buffers and k not in series]
        flags = [k for k in numbers if not inside(self.body.terminator.operands[k], self.loop)]
        self._check_fused()
        self._check_shapes()
        summing = self._sampled(series)
        self._merge()
        if not 0 < len(self.statements) <= MOST:
            raise Unfit(f"a step has {len(self.statements)} statements")
        rows = Rows(self.analysis, self.loop, self.statements, self.fields)
        axes = rows.find()
        self.statements = rows.statements
        return Steps(
            self.loop, self.statements, self.scalars, buffers, flags, [k for k in numbers if k not in flags],
            series, summing, conditions, axes, self.fields,
        )  # fmt: skip

    def _check_shapes(self) -> None:
        """Check that the extents of buffers that are swapped are not asked for, since they may differ."""
        for op in self.scalars:
            if op.opdef is ops.dim and op.operands[0].owner is self.body:
                raise Unfit("buffers that are swapped may differ in shape", op)

    def _conditions(self, block: Block) -> Iterator[tuple[Value, bool]]:
        """For branches with a cold side: the condition, and its value in the common case."""
        for op in block.ops:
            if op.opdef is ops.if_ and not op.results:
                cold = cold_region(op)
                if cold is not None:
                    if inside(op.operands[0], self.loop):
                        raise Unfit("which version of its code runs is decided in each step", op)
                    yield op.operands[0], cold is op.regions[1]
                for region in warm_regions(op):
                    yield from self._conditions(region)

    def _accesses(self, op: Op) -> list[Access]:
        found = self.analysis.accesses_of(op, self.loop)
        if found.obstacles:
            raise Unfit(found.obstacles[0][1], found.obstacles[0][0])
        if op.opdef is ops.alloc:
            raise Unfit("allocates memory in each step", op)
        for access in found.found:
            if inside(access.base, self.loop) and access.base.owner is not self.body:
                raise Unfit("which array it touches is decided in each step", access.op)
        return found.found

    # Fields -----------------------------------------------------------------------------------------------------------

    def _fields(self, accesses: list[Access], changed: list[Access]) -> dict[Value, Field]:
        """The fields by memref: memory that is changed, or that may be the same memory at another moment."""
        args, yields = self.body.args, self.body.terminator.operands
        memrefs = [k for k, arg in enumerate(args[1:]) if isinstance(arg.type, MemRefType)]
        source = {}
        for k in memrefs:
            value = yields[k]
            if value.owner is not self.body or value.index == 0:
                raise Unfit(f"{args[k + 1].hint or 'an array'} is another one after a step", self.loop)
            source[k] = value.index - 1
        if sorted(source.values()) != sorted(source):
            raise Unfit("it loses an array that it carries", self.loop)
        fields: dict[Value, Field] = {}
        for k in memrefs:
            if args[k + 1] not in fields:
                cycle = [k]
                while source[cycle[-1]] != k:
                    cycle.append(source[cycle[-1]])
                made = Field(args[k + 1], tuple(cycle))
                fields.update((args[n + 1], made) for n in cycle)
        bases = dict.fromkeys([*(args[k + 1] for k in memrefs), *(a.base for a in accesses)])
        touched = {a.base for a in changed}
        whole = {fields[b] for b in touched if b in fields}
        touched |= {b for b, f in fields.items() if f in whole}
        for base in (b for b in bases if b in touched):
            fields.setdefault(base, Field(base))
            for other in bases:
                if other is not base and not self.analysis.apart_now(base, other):
                    raise Unfit(f"{_name(base)} and {_name(other)} may share memory")
        return {base: f for base, f in fields.items() if base in touched}

    # Statements -------------------------------------------------------------------------------------------------------

    def _classify(self, items: list[tuple[Op, Guards]], found: list[list[Access]], series: list[int]) -> None:
        """Find scalars and statements, if the values carried at positions ``series`` are not known when a step
        begins."""
        self.statements, self.scalars, self.late = [], [], {}
        self.unknown = {self.body.args[1 + k] for k in series}
        self.known = {arg for arg in self.body.args if arg not in self.unknown}
        for (op, guards), accesses in zip(items, found, strict=True):
            self._item(op, guards, accesses)

    def _item(self, op: Op, guards: Guards, accesses: list[Access]) -> None:
        used = used_from_outside([op])
        if guards:
            self.guarded.add(op)
        if not any(a.changes for a in accesses):
            if not op.results:
                return
            if any(inner.opdef in LOOPS for inner in with_inner(op)):
                raise Unfit("a loop in the step has a result", op)
            if op.opdef not in PURE and op.opdef is not ops.load and not op.regions:
                raise Unfit(f"{op.opdef.name} in the step", op)
            fields = any(a.base in self.fields for a in accesses)
            if guards or fields or any(v in self.late or v in self.unknown for v in used):
                self.late.update((r, op) for r in op.results)
            else:
                self.scalars.append(op)
                self.known.update(op.results)
            return
        if op.results:
            raise Unfit("a loop in the step has a result", op)
        if any(condition in self.late or condition in self.unknown for condition, _ in guards):
            raise Unfit("whether it runs depends on fields", op)
        before = self._needed([op])
        if any(v in self.unknown for v in used_from_outside([*before, op])):
            raise Unfit("uses a sum of what fields were", op)
        if any(a.kind == "accumulate" for a in accesses):
            raise Unfit("adds atomically", op)
        if op.opdef is ops.parallel and _is_simd(op) and any(not is_quick(o) for o in op.regions[0].walk()):
            raise Unfit("elementary functions of its rows are SIMD, in vectors that blocks would cut", op)
        statement = Statement(op, guards, before, len(self.statements))
        for inner in (*before, op):
            statement.accesses += accesses if inner is op else self._accesses(inner)
        self.statements.append(statement)

    def _check_fused(self) -> None:
        """Check that products and sums in one block, which are rounded once, stay in one, and that no others get into
        one."""
        for op in self.position:
            for product in _products(op):
                if product not in self.position or product.parent is op.parent:
                    continue
                if product.result in self.late or op not in self.guarded:
                    raise Unfit("adds a product that is found in another branch", op)

    def _is_of_fields(self, position: int) -> bool:
        """Whether the value carried at a position depends on fields."""
        value = self.body.terminator.operands[position]
        if isinstance(value.type, MemRefType):
            return False
        return inside(value, self.loop) and value not in self.known

    def _sampled(self, series: list[int]) -> list[Op]:
        """How numbers follow from field values at one row. Adds statements that note these values."""
        ends = [self.body.terminator.operands[k] for k in series]
        last = {self.late[v] for v in ends if v in self.late}
        summing = sorted({*last, *self._needed(list(last))}, key=self.position.__getitem__)
        for op in summing:
            if op in self.guarded:
                raise Unfit("a sum of what fields are has terms under a condition", op)
            accesses = self._accesses(op)
            if not any(a.base in self.fields for a in accesses):
                continue
            if op.opdef is not ops.load or any(v not in self.known and inside(v, self.loop) for v in op.operands):
                raise Unfit("a sum of what fields are has terms that are found in another way", op)
            self.statements.append(Statement(op, (), [], 0, accesses))
        self.statements.sort(key=lambda s: self.position[s.op])
        for number, statement in enumerate(self.statements):
            statement.number = number
        return summing

    def _needed(self, of: list[Op]) -> list[Op]:
        """The operations found only in statements that these depend on, in order; with products that are fused with
        sums of their block."""
        needed: set[Op] = set()
        work = list(of)
        while work:
            for value in used_from_outside([work.pop()]):
                source = self.late.get(value)
                if source is not None and source not in needed:
                    needed.add(source)
                    work.append(source)
        for op in (*of, *needed):
            needed.update(p for p in _products(op) if p in self.position and p.parent is op.parent)
        return sorted(needed, key=self.position.__getitem__)

    def _merge(self) -> None:
        """Merge code for one row that uses what was loaded before another statement overwrote it with that
        statement."""
        for statement in list(self.statements):
            while (other := self._in_the_way(statement)) is not None:
                first, last = (self.statements.index(s) for s in (other, statement))
                simple = not other.op.regions and not statement.is_nest and not other.is_sample
                if not simple or other.guards != statement.guards or self._meet(
                    other.accesses, [a for s in self.statements[first + 1 : last] for a in s.accesses]
                ):  # fmt: skip
                    raise Unfit("a field is read before and used after it is changed", statement.op)
                taken = {*statement.before, *other.before, other.op}
                statement.before = sorted(taken, key=self.position.__getitem__)
                statement.accesses = [*other.accesses, *statement.accesses]
                self.statements.remove(other)

    def _in_the_way(self, statement: Statement) -> Statement | None:
        """An earlier statement that changes what this one has loaded, or stored, before."""
        for other in self.statements[: self.statements.index(statement)]:
            for op in statement.before:
                if self.position[other.op] > self.position[op] and self._meet(self._accesses(op), other.accesses):
                    return other
        return None

    def _meet(self, some: list[Access], others: list[Access]) -> bool:
        """Whether two accesses, one of which changes memory, may be to one element."""
        return any(
            a.base is b.base and (a.changes or b.changes) and not self._distinct(a, b) for a in some for b in others
        )

    def _distinct(self, a: Access, b: Access) -> bool:
        """Whether the two are to different elements, whatever the iterations."""
        if not (a.is_point and b.is_point):
            return False
        assert a.where is not None and b.where is not None
        for (p, _), (q, _) in zip(a.where, b.where, strict=True):
            difference = p - q
            if difference.is_constant and difference.terms and not varies(p, self.loop):
                return True
        return False


def _products(op: Op) -> Iterator[Op]:
    """The products that an operation may be fused with."""
    if op.opdef in (ops.addf, ops.subf, ops.accumulate):
        for value in op.operands:
            if value.op is not None and fusible(op, value):
                yield value.op


def _is_simd(loop: Op) -> bool:
    """Whether LLVM may make the loop SIMD; inner loops of known length may be unrolled."""
    return not any(op.opdef in LOOPS and not has_known_length(op) for op in loop.regions[0].walk())




def _name(memref: Value) -> str:
    return memref.hint or "an array"
