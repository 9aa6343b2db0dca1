"""Branch melding: what both branches compute by one costly function, each of its own number, is computed once.

    if x >= 0.0:                          z = exp(-x if x >= 0.0 else x)
        z = exp(-x)                       if x >= 0.0:
        y = 1.0 / (1.0 + z)       ->          y = 1.0 / (1.0 + z)
    else:                                 else:
        z = exp(x)                            y = z / (1.0 + z)
        y = z / (1.0 + z)

Sigmoids, running sums of exponentials and the like are written so, to stay in range. Where branches become SIMD, both
are computed: the function twice for each element. A reverse sweep keeps its value twice, too. The operand is chosen
instead. What makes the operands moves in front of the branch, if it is cheap and never fails.

Reference: Saumya, Sundararajah, Kulkarni, DARM: Control-Flow Melding for SIMT Thread Divergence Reduction, CGO 2022.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import having
from adc.passes.analysis.attributes import attr_key
from adc.passes.analysis.cold import COLD
from adc.passes.analysis.costs import cost_of
from adc.passes.analysis.kinds import LINEAR
from adc.passes.analysis.speculation import Speculation

LEAST_COST = 7.0  # of the operations that are worth it, in the units of ``costs``: quotients, roots, functions
SHARE = 0.5  # of the cost of an operation: the most that what makes its operands may cost


@dataclass(frozen=True)
class MeldBranches:
    """Do a costly operation that both regions of an ``scf.if`` do with different operands in front of it, once.
    ``differentiable``: for code that is yet to be differentiated. What moves with it is linear then: zero times the
    infinite partial of a branch not taken is not zero."""

    differentiable: bool = False
    name: ClassVar[str] = "meld-branches"
    needs = frozenset({ops.if_})

    def run(self, module: Module) -> Module:
        for func in having(module, self.needs):
            if any(op.opdef is ops.if_ and _costly(op.regions[0]) for op in func.body.walk()):
                _Melding(self.differentiable, Speculation(func)).block(func.body)
        return module


def _costly(region: Block) -> list[Op]:
    return [op for op in region.ops if not op.regions and len(op.results) == 1 and _is_costly(op)]


def _is_costly(op: Op) -> bool:
    return op.result.type.is_float and op.opdef.cost is not None and cost_of(op.opdef) >= LEAST_COST


class _Melding:
    def __init__(self, differentiable: bool, speculation: Speculation) -> None:
        self._differentiable = differentiable
        self._speculation = speculation

    def block(self, block: Block) -> None:
        new = block.in_place_of()
        for op in block.ops:
            for region in op.regions:
                self.block(region)
            if op.opdef is ops.if_ and COLD not in op.attrs:
                self._meld(op, new)
            new.append(op)
        block.set_ops(new.ops)

    def _meld(self, branch: Op, before: Block) -> None:
        """Append to ``before`` what both regions do, and take it out of them."""
        then, other = branch.regions
        moved: dict[Hashable, Op] = {}
        for op in _costly(then):
            for twin in _costly(other):
                if _kind(op) != _kind(twin):
                    continue
                cone, other_cone = self._cone(op, then), self._cone(twin, other)
                if cone is None or other_cone is None:
                    continue
                _move(cone, then, before, moved)
                _move(other_cone, other, before, moved)
                _move([op], then, before, {}, self._chosen(branch, op, twin, before))
                twin.result.replace_uses(op.result)
                other.set_ops([o for o in other.ops if o is not twin])
                twin.drop()
                break

    def _chosen(self, branch: Op, op: Op, twin: Op, before: Block) -> list[Value]:
        operands = []
        with insert_at(before, op.loc):
            for x, y in zip(op.operands, twin.operands, strict=True):
                if x is not y:
                    chosen = build(ops.select, (branch.operands[0], x, y)).result
                    self._speculation.note_choice(chosen, (x, y))
                    x = chosen
                operands.append(x)
        return operands

    def _cone(self, op: Op, region: Block) -> list[Op] | None:
        """What in ``region`` the operands of ``op`` are made by, in order; None if it may not move with ``op``."""
        if not self._speculation.safe(op):
            return None
        found: set[Op] = set()
        work = [v.op for v in op.operands if v.block is region and v.op is not None]
        while work:
            inner = work.pop()
            if inner in found:
                continue
            if not self._may_move(inner):
                return None
            found.add(inner)
            work += [v.op for v in inner.operands if v.block is region and v.op is not None]
        cost = sum(cost_of(inner.opdef) for inner in found)
        return [o for o in region.ops if o in found] if cost <= SHARE * cost_of(op.opdef) else None

    def _may_move(self, op: Op) -> bool:
        if not self._speculation.safe(op) or len(op.results) != 1 or op.opdef.cost is None:
            return False
        linear = not op.result.type.is_float or op.opdef in LINEAR or op.opdef is ops.constant
        return linear or not self._differentiable


def _kind(op: Op) -> Hashable:
    """What the operation does, and with operands of which types."""
    return op.opdef, attr_key(op.attrs), op.result.type, tuple(v.type for v in op.operands)


def _move(
    cone: list[Op], region: Block, before: Block, moved: dict[Hashable, Op], operands: list[Value] | None = None
) -> None:
    """Move operations of ``region`` to the end of ``before``; equal ones once."""
    gone = set(cone)
    region.set_ops([op for op in region.ops if op not in gone])
    for op in cone:
        for k, operand in enumerate(operands or ()):
            op.set_operand(k, operand)
        same = moved.setdefault((op.opdef, attr_key(op.attrs), op.operands, op.result.type), op)
        if same is op:
            before.append(op)
        else:
            op.result.replace_uses(same.result)
            op.drop()
