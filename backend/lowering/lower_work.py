"""Estimates the work in a loop, which decides whether threads are worth waking for it, and how often it polls."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import field

from adc.backend.lowering.lower_effects import is_brief
from adc.backend.lowering.lower_emitter import FunctionEmitter
from adc.backend.lowering.lower_types import literal, register_type
from adc.ir import ops
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import TILES, TRIPS
from adc.ir.nesting import enclosing
from adc.ir.opdef import Trait
from adc.ir.types import MemRefType, f64

# Other operations count 1. The unit is about 0.02 ns in vectorised code, 0.1 ns in scalar code.
_WEIGHTS = {ops.call: 40, **dict.fromkeys(ops.having(Trait.DIVISION), 8)}
_FREE = frozenset({ops.constant, ops.dim, ops.yield_, ops.reduce, ops.cast, ops.transpose, ops.undef, ops.index_cast})
_FREE |= {ops.reshape, ops.reinterpret_cast}
_LIBRARY = 12  # a function of the mathematics library
_SLOW = 4  # a quotient, a root
_DEPTH = 3  # how deep nested calls are followed
_GUESS = 16.0  # trip count of a loop whose bounds are not known outside

# Integer operations and the operations on doubles that approximate them in an estimate.
_ARITHMETIC = {
    ops.addi: "fadd",
    ops.subi: "fsub",
    ops.muli: "fmul",
    ops.minsi: "minnum",
    ops.maxsi: "maxnum",
    ops.divsi: "fdiv",
    ops.floordivsi: "fdiv",
    ops.ceildivsi: "fdiv",
}
_FOLDED: dict[str, Callable[[float, float], float]] = {
    "fadd": operator.add,
    "fsub": operator.sub,
    "fmul": operator.mul,
    "fdiv": operator.truediv,
    "minnum": min,
    "maxnum": max,
}

Amount = float | str  # a number, or an LLVM value of type double


def work(e: FunctionEmitter, loop: Op) -> str:
    """The work of one iteration, as an LLVM value. Inner loops count with their average trip count, if it can be
    computed from values outside the loop.

    Calls count with the work of their callees.
    """
    amount = _Estimate(e, callers=(e.func.name,)).block(loop.regions[0])
    return literal(amount, f64) if isinstance(amount, float) else amount


def block_iterations(e: FunctionEmitter, loop: Op) -> int:
    """The minimum block size in iterations: enough to fill vectors, unless there are loops inside.

    Sums are added up by blocks. Their bits must not depend on the rest of the body, for instance when a gradient
    computes the terms in the same loop. So in loops with sums the block size does not depend on the body.
    """
    if loop in e.facts.nesting or any(e.module.effects.op_loops(op) for op in loop.regions[0].walk()):
        return 1
    amount = 0.0 if loop.results else sum(map(weight, loop.regions[0].walk()))
    size = 1024
    while size > 64 and size * amount > 65536:
        size //= 2
    return size


def weight(op: Op) -> float:
    """The work of one operation, excluding its regions."""
    if op.opdef in _FREE:
        return 0.0
    if op.opdef in _WEIGHTS:
        return float(_WEIGHTS[op.opdef])
    if op.opdef.called:
        return float(_LIBRARY)
    return float(_SLOW if op.opdef.slow else 1)


@dataclass(frozen=True)
class _Estimate:
    """The function that is being estimated: the loop's own, or a callee, with parameters mapped to the arguments
    (``passed``). Calls of ``callers`` are not followed: values known in the loop's own function may be known in another
    branch only."""

    e: FunctionEmitter
    passed: dict[Value, Value] = field(default_factory=dict)
    callers: tuple[str, ...] = ()
    known: dict[Value, Amount | None] = field(default_factory=dict)  # approximate integers

    def block(self, block: Block) -> Amount:
        total: Amount = 1.0
        for op in block.ops:
            total = self._combine("fadd", total, weight(op) if op.opdef is not ops.matmul else self._product(op))
            for region in op.regions:
                inner = self.block(region)
                if op.opdef in (ops.for_, ops.parallel):
                    inner = self._combine("fmul", inner, self._trips(op))
                elif op.opdef is ops.while_:
                    inner = self._combine("fmul", inner, _GUESS)
                total = self._combine("fadd", total, inner)
            if op.opdef is ops.call:
                total = self._combine("fadd", total, self._call(op))
        return total

    def _product(self, op: Op) -> Amount:
        """The number of multiply-adds of a matrix product."""
        left, right, _ = op.operands
        area = self._combine("fmul", self._extent(left, 0), self._extent(right, 1))
        return self._combine("fmul", area, self._extent(right, 0))

    def _extent(self, memref: Value, dim: int) -> Amount:
        """An approximate extent of an array, or of a window, also of one made inside the loop."""
        if memref in self.e.env:
            extent = self.e.memref(memref).extents[dim]
            return float(extent) if extent.isdigit() else self.e.let(f"sitofp i64 {extent} to double")
        op = memref.op
        if op is None or op.opdef not in (ops.subview, ops.transpose):
            return _GUESS
        source = op.operands[0].type
        assert isinstance(source, MemRefType)
        if op.opdef is ops.transpose:
            return self._extent(op.operands[0], op.attrs["permutation"][dim])
        kept = [k for k in range(source.rank) if k not in op.attrs["dropped"]]
        about = self._about(op.operands[1 + source.rank + kept[dim]])
        return _GUESS if about is None else about

    def _call(self, op: Op) -> Amount:
        name = op.attrs["callee"]
        callee = self.e.module.module.funcs.get(name)
        if callee is None or name in self.callers or len(self.callers) > 1 + _DEPTH:  # the first is the loop's function
            return 0.0
        passed = {arg: self.passed.get(v, v) for arg, v in zip(callee.args, op.operands, strict=True)}
        return _Estimate(self.e, passed, (*self.callers, name)).block(callee.body)

    def _combine(self, instruction: str, x: Amount, y: Amount) -> Amount:
        if isinstance(x, float) and isinstance(y, float) and (instruction != "fdiv" or y):
            return _FOLDED[instruction](x, y)
        if instruction == "fsub" and y == 0.0:
            return x
        texts = [literal(v, f64) if isinstance(v, float) else v for v in (x, y)]
        if instruction not in ("minnum", "maxnum"):
            return self.e.let(f"{instruction} double {texts[0]}, {texts[1]}")
        name = f"llvm.{instruction}.f64"
        self.e.module.declare(name, f"declare double @{name}(double, double)")
        return self.e.let(f"call double @{name}(double {texts[0]}, double {texts[1]})")

    def _trips(self, loop: Op) -> Amount:
        """The approximate trip count of an inner loop."""
        lower, upper, step = (self._about(v) for v in loop.operands[:3])
        if lower is None or upper is None or step is None:
            return float(loop.attrs.get(TRIPS, _GUESS))
        length = self._combine("maxnum", self._combine("fsub", upper, lower), 0.0)
        if step == 1.0:
            return length
        return self._combine("fdiv", self._combine("fadd", length, self._combine("fsub", step, 1.0)), step)

    def _about(self, value: Value) -> Amount | None:
        """An approximate integer. The counter of a loop counts as the middle of its range, so that inner loops whose
        bounds depend on it (over a triangle, or a thread's chunk) count with their average."""
        value = self.passed.get(value, value)
        if value not in self.known:
            self.known[value] = self._find(value)
        return self.known[value]

    def _find(self, value: Value) -> Amount | None:
        op, e = value.op, self.e
        if op is not None and op.opdef is ops.constant:
            return float(op.attrs["value"])
        if value in e.env:
            return e.let(f"sitofp {register_type(value.type)} {e.scalar(value)} to double")
        if op is None:
            assert isinstance(value.owner, Block)
            return self._counter(value, value.owner.parent_op)
        if op.opdef is ops.dim:
            memref = self.passed.get(op.operands[0], op.operands[0])
            if memref not in e.env:
                return None
            extent = e.memref(memref).extents[op.attrs["dim"]]
            return float(extent) if extent.isdigit() else e.let(f"sitofp i64 {extent} to double")
        instruction = _ARITHMETIC.get(op.opdef)
        if instruction is None:
            return None
        x, y = (self._about(v) for v in op.operands)
        return None if x is None or y is None else self._combine(instruction, x, y)

    def _counter(self, value: Value, loop: Op | None) -> Amount | None:
        if loop is None or loop.opdef not in (ops.for_, ops.parallel) or value is not loop.regions[0].args[0]:
            return None
        lower, upper = (self._about(v) for v in loop.operands[:2])
        if TILES in loop.attrs:  # the first tile, which is the largest
            return lower
        if lower is None or upper is None:
            return None
        return self._combine("fmul", self._combine("fadd", lower, upper), 0.5)


STRIP = 1 << 21  # the most work in a strip, in the units above; a cache miss costs about a thousand


def strip_of(e: FunctionEmitter, loop: Op) -> int:
    """The most iterations of an innermost loop between two polls; 0 if it need not poll.

    Strips slow down rows of a few elements by some per cent. So a loop along an array that is inside another loop does
    not poll: the outer loop does, and the inner one has no more iterations than the array has elements.
    """
    if is_brief(loop) or loop in e.facts.outer or (_is_inside_loop(loop) and _goes_along_array(loop)):
        return 0
    size = max(1, sum(int(weight(op)) for op in loop.regions[0].walk()))
    strip = 1 << 20
    while strip > 1 << 10 and strip * size > STRIP:
        strip //= 2
    return strip


def _is_inside_loop(loop: Op) -> bool:
    return any(op.opdef in (ops.for_, ops.while_, ops.parallel) for op in enclosing(loop.parent))


def _goes_along_array(loop: Op) -> bool:
    """Whether an access in every iteration has the counter, plus or minus an invariant, as a subscript."""
    body = loop.regions[0]
    moving = {body.args[0]}
    for op in body.ops:
        if op.opdef in (ops.addi, ops.subi, ops.bound) and sum(v in moving for v in op.operands) == 1:
            if not any(v.op is not None and v.op.parent is body and v not in moving for v in op.operands):
                moving.add(op.result)
        elif op.opdef in (ops.load, ops.store, ops.accumulate):
            subscripts = op.operands[1:] if op.opdef is ops.load else op.operands[2:]
            if any(v in moving for v in subscripts):
                return True
    return False
