"""One function with tangents beside its values, operation by operation, for forward mode (``forward.py``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from adc.ir import ops
from adc.ir.arith import const
from adc.ir.attached import TANGENT
from adc.ir.builder import current_block, insert_at
from adc.ir.core import Attr, Block, Func, Op, Value
from adc.ir.opdef import OpDef
from adc.passes.differentiation.forward.along import Along


class ForwardSweep:
    """Adds tangents to a function, along one direction or several: the values are computed once for all of them."""

    def __init__(self, func: Func, lanes: Sequence[Along]) -> None:
        self.func = func
        self.lanes = lanes

    def function(
        self, arguments: Sequence[Sequence[int]], results: Sequence[Sequence[int]], ones: Sequence[Iterable[Value]]
    ) -> None:
        """Add the tangents. ``arguments`` and ``results``: those that have tangents, for each direction; ``ones``: the
        numbers whose tangents are one."""
        func = self.func
        with insert_at(func.body.in_place_of(), func.loc) as start:
            for lane, numbers_of_lane in zip(self.lanes, ones, strict=True):
                for v in numbers_of_lane:
                    lane.tangents[v] = const(1.0, v.type)
        func.body.set_ops([*start.ops, *func.body.ops])
        numbers = [attrs["adc.alias"] for attrs in func.arg_attrs if "adc.alias" in attrs]
        shift = max(numbers, default=0) + 1
        for n, (lane, taken) in enumerate(zip(self.lanes, arguments, strict=True), 1):
            for k in taken:
                self._take(lane, k, n * shift)
        self._block(func.body, results)
        func.result_types = tuple(v.type for v in func.body.terminator.operands)

    def _take(self, lane: Along, k: int, shift: int) -> None:
        """Add an argument: the tangent of the argument at position ``k``."""
        func = self.func
        arg, attrs = func.args[k], func.arg_attrs[k]
        lane.tangents[arg] = func.body.add_arg(lane.algebra.of(arg.type), lane.dot(arg.hint))
        given: dict[str, Attr] = {TANGENT: k}
        given |= {name: attrs[name] for name in ("adc.readonly",) if name in attrs}
        if "adc.name" in attrs:
            given["adc.name"] = lane.dot(attrs["adc.name"])
        if "adc.alias" in attrs:
            given["adc.alias"] = attrs["adc.alias"] + shift
        func.arg_attrs.append(given)

    def _block(self, block: Block, slots: Sequence[Sequence[int]], first: int = 0) -> None:
        """Go through a block; its terminator also hands on tangents of its operands ``slots``, counted from ``first``,
        for each direction."""
        new = block.in_place_of()
        for op in block.ops[:-1]:
            with insert_at(new, op.loc):
                self._op(op)
        end = block.terminator
        with insert_at(new, end.loc):
            handed = [lane.tangent(end.operands[first + k]) for lane, of in self._each(slots) for k in of]
            for tangent in handed:
                end.add_operand(tangent)
        if end.opdef is ops.reduce:
            end.set_attr("kinds", (*end.attrs["kinds"], *(end.attrs["kinds"][k] for of in slots for k in of)))
        new.append(end)
        block.set_ops(new.ops)

    def _each(self, slots: Sequence[Sequence[int]]) -> Iterable[tuple[Along, Sequence[int]]]:
        return zip(self.lanes, slots, strict=True)

    def _op(self, op: Op) -> None:
        """Append an operation and what computes its tangents."""
        around = _AROUND.get(op.opdef)
        if around is not None:
            around(self, op)
            return
        current_block().append(op)
        for lane in self.lanes:
            lane.after(op)

    def _call(self, op: Op) -> None:
        (lane, *others) = self.lanes
        if op not in lane.calls:
            current_block().append(op)
            for each in self.lanes:
                each.untouched(op)
            return
        assert not others
        lane.call(op)

    def _loop(self, op: Op, first: int) -> None:
        """A counted loop that carries its operands from ``first`` on."""
        (body,) = op.regions
        sequential = op.opdef is ops.for_
        slots = [
            [
                k
                for k, r in enumerate(op.results)
                if r in lane.tangible or (sequential and body.args[1 + k] in lane.tangible)
            ]
            for lane in self.lanes
        ]
        self._give(op, slots, first)
        if sequential:
            self._carry(slots, body, body.args[1:])
        self._block(body, slots)
        self._finish(op, slots)

    def _while(self, op: Op) -> None:
        before, after = op.regions
        slots = [[k for k, a in enumerate(before.args) if a in lane.tangible] for lane in self.lanes]
        passed = [
            [k for k, r in enumerate(op.results) if r in lane.tangible or after.args[k] in lane.tangible]
            for lane in self.lanes
        ]
        self._give(op, slots, 0)
        self._carry(slots, before, before.args)
        self._block(before, passed, 1)
        self._carry(passed, after, after.args)
        self._block(after, slots)
        self._finish(op, passed)

    def _if(self, op: Op) -> None:
        slots = [[r.index for r in op.results if r in lane.tangible] for lane in self.lanes]
        for region in op.regions:
            self._block(region, slots)
        self._finish(op, slots)

    def _give(self, op: Op, slots: Sequence[Sequence[int]], first: int) -> None:
        given = [lane.tangent(op.operands[first + k]) for lane, of in self._each(slots) for k in of]
        for tangent in given:
            op.add_operand(tangent)

    def _carry(self, slots: Sequence[Sequence[int]], block: Block, carried: Sequence[Value]) -> None:
        carried = list(carried)
        for lane, of in self._each(slots):
            for k in of:
                lane.set(carried[k], block.add_arg(lane.algebra.of(carried[k].type)))

    def _finish(self, op: Op, slots: Sequence[Sequence[int]]) -> None:
        current_block().append(op)
        results = list(op.results)
        for lane, of in self._each(slots):
            for k in of:
                lane.set(results[k], op.add_result(lane.algebra.of(results[k].type)))


_AROUND: dict[OpDef, Callable[[ForwardSweep, Op], None]] = {
    ops.for_: partial(ForwardSweep._loop, first=3),
    ops.parallel: partial(ForwardSweep._loop, first=3),
    ops.while_: ForwardSweep._while,
    ops.if_: ForwardSweep._if,
    ops.call: ForwardSweep._call,
}
