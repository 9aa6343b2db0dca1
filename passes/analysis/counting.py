"""The minimum or maximum of integers that a loop nest counts, found by a copy of the counting alone.

    for p in range(n):                              least = 2**63 - 1
        q = 0                                       q = 0
        for i in range(d):                          for i in range(d):
            for j in range(i + 1):                      least = min(least, size - 1 - (q + i))
                ... a[q] ...; q += 1                    q += i + 1

Code that packs triangles, walks blocks of several sizes, or has a row begin at ``i * (i + 1) // 2`` has subscripts that
are no linear forms, but follow from counters and from what is known before the nest. Loops that they do not depend on
are left out of the copy, and there must be at least one: so the copy takes less time than the nest (an inspector, see
``extremes``). If it is known before the nest that such a loop or branch does not run, nothing is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from adc.ir import ops
from adc.ir.arith import const, const_index, constant_of
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.nesting import enclosing, inside
from adc.ir.rewrite import Mapping, clone_op
from adc.ir.types import i1, index
from adc.passes.analysis.kinds import COUNTED, DIVISIONS, LOOPS, PURE

MOST_OPERATIONS = 40
LEAST, GREATEST = -(2**63), 2**63 - 1


class Counting:
    """What integers of ``loop`` follow from: counters, values known before the loop, and arithmetic, if nothing
    else."""

    def __init__(self, loop: Op, values: Iterable[Value], point: Block) -> None:
        self.loop = loop
        self.point = point
        self._ops: set[Op] = set()
        self._loops: set[Op] = set()
        self._carried: dict[Op, dict[int, None]] = {}
        self._runs: list[Value] = []  # whether loops and branches run that are left out around a loop of the copy
        self._path = [loop] if point.parent is loop else [*_up_to(point, loop)][::-1]
        self.found = self._follow(list(values)) and self._is_less()

    def extreme(self, body: Callable[[Mapping], Value], *, least: bool) -> Value:
        """Append the loops that find the extreme of what ``body`` builds at the end of ``point``."""
        self._body, self._extreme = body, ops.minsi if least else ops.maxsi
        return self._level(0, {}, const_index(GREATEST if least else LEAST))

    # What is needed ---------------------------------------------------------------------------------------------------

    def _follow(self, work: list[Value]) -> bool:
        seen: set[Value] = set()
        while work:
            value = work.pop()
            if value in seen or not inside(value, self.loop):
                continue
            seen.add(value)
            op = value.op
            if not value.type.is_integer or len(seen) > MOST_OPERATIONS:
                return False
            if op is None:
                owner = value.owner.parent_op if isinstance(value.owner, Block) else None
                if owner is None or owner.opdef not in COUNTED:
                    return False
                work += self._of_loop(owner, value.index - 1)
            elif op.opdef is ops.for_:
                self._ops.add(op)
                work += self._of_loop(op, value.index)
            elif op.opdef in PURE and not op.regions and (op.opdef not in DIVISIONS or _is_defined(op)):
                self._ops.add(op)
                work += [v for v in op.operands if inside(v, self.loop)]
            else:
                return False
        return True

    def _of_loop(self, loop: Op, carried: int) -> list[Value]:
        """What the trip count of a loop follows from, and the value that it carries at a position; -1 for its
        counter."""
        self._loops.add(loop)
        needed = list(loop.operands[:3])
        if carried >= 0:
            self._carried.setdefault(loop, {})[carried] = None
            needed += [loop.operands[3 + carried], loop.regions[0].terminator.operands[carried]]
        return needed

    def _is_less(self) -> bool:
        outside = any(op.opdef in LOOPS and op not in self._loops for op in self._path)
        return outside or any(op.opdef in LOOPS and op not in self._ops for op in self.point.walk())

    # The copy ---------------------------------------------------------------------------------------------------------

    def _level(self, depth: int, mapping: Mapping, best: Value) -> Value:
        """Append the loop, or branch, of the path at a depth; return the extreme after it."""
        op = self._path[depth]
        if op in self._loops:
            return self._copy(op, mapping, depth, best)
        region = next(r for r in op.regions if r is self.point or self._next(depth) in r.ops)
        around = len(self._runs)
        if not any(inside(v, self.loop) for v in op.operands[:3]):
            if op.opdef in COUNTED:
                self._runs.append(ops.cmpi(*op.operands[:2], predicate="slt"))
            elif op.opdef is ops.if_:
                (taken,) = op.operands
                self._runs.append(taken if region is op.regions[0] else ops.xori(taken, const(True, i1)))
        best = self._run(region, mapping, depth, best)
        del self._runs[around:]
        return best

    def _next(self, depth: int) -> Op | None:
        return self._path[depth + 1] if depth + 1 < len(self._path) else None

    def _copy(self, loop: Op, mapping: Mapping, depth: int | None = None, best: Value | None = None) -> Value:
        """Append what is needed of a loop, and return its last result: the extreme, if the path goes through it."""
        body, carried = loop.regions[0], list(self._carried.get(loop, ()))
        starts = [mapping.get(v, v) for v in (loop.operands[3 + k] for k in carried)]
        made = Block([index, *(v.type for v in starts), *([index] if best is not None else [])], [body.args[0].hint])
        mapping[body.args[0]] = made.args[0]
        mapping.update((body.args[1 + k], made.args[1 + n]) for n, k in enumerate(carried))
        lower, upper, step = (mapping.get(v, v) for v in loop.operands[:3])
        runs, self._runs = self._runs, []
        for each in runs:
            upper = ops.select(each, upper, lower)
        with insert_at(made):
            found = self._run(body, mapping, depth, made.args[-1])
            ends = [mapping.get(v, v) for v in (body.terminator.operands[k] for k in carried)]
            build(ops.yield_, [*ends, *([found] if best is not None else [])])
        self._runs = runs
        begin = [*starts, *([best] if best is not None else [])]
        copy = build(ops.for_, [lower, upper, step, *begin], None, [v.type for v in begin], [made])
        mapping.update((loop.results[k], copy.results[n]) for n, k in enumerate(carried))
        return copy.results[-1]

    def _run(self, block: Block, mapping: Mapping, depth: int | None, best: Value) -> Value:
        """Append what is needed of a block; return the extreme after it."""
        through = None if depth is None else self._next(depth)
        for op in block.ops:
            if op is through and depth is not None:
                best = self._level(depth + 1, mapping, best)
            elif op in self._ops:
                if op.opdef is ops.for_:
                    self._copy(op, mapping)
                else:
                    clone_op(op, mapping)
        if block is self.point and depth is not None:
            best = self._extreme(best, self._body(mapping))
        return best


def _up_to(block: Block, loop: Op) -> Iterable[Op]:
    for op in enclosing(block):
        yield op
        if op is loop:
            return


def _is_defined(division: Op) -> bool:
    """Whether a division by a constant has a result for all operands."""
    divisor = constant_of(division.operands[1])
    return divisor is not None and divisor > 0
