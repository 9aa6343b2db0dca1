"""Copies that are only read, of arrays that do not change meanwhile: what reads the copy can read the array.

A pullback copies the cotangent that its caller passes, since the reverse sweep clears what it has read; if those stores
turn out to be dead, so is the copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from adc.ir import ops
from adc.ir.core import Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import having, place_in
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.kinds import VIEWS

_LOOKS = VIEWS | {ops.load, ops.dim}


@dataclass(frozen=True)
class ForwardCopies:
    """Let what reads a copy read the array that was copied, where that makes no difference."""

    name: ClassVar[str] = "forward-copies"
    needs = frozenset({ops.copy})

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in having(module, self.needs):
            found = [op for op in func.walk() if op.opdef is ops.copy and _is_only_read(op)]
            if found:
                _forward(func, found, summaries)
        return module


def _forward(func: Func, copies: list[Op], summaries: Summaries) -> None:
    memory = Memory.asked(func, summaries)
    for copy in copies:
        source, made = copy.operands
        if source.type == made.type and not _is_written_meanwhile(copy, memory):
            assert copy.parent is not None
            copy.parent.set_ops([op for op in copy.parent.ops if op is not copy])
            copy.drop()
            made.replace_uses(source)
            memory = Memory.asked(func, summaries)  # the new reads of the array count as its uses


def _is_only_read(copy: Op) -> bool:
    """Whether the copy goes to a new array of the same block, and all other uses of that array only look at it."""
    made = copy.operands[1].op
    if made is None or made.opdef is not ops.alloc or made.parent is not copy.parent:
        return False
    return all(op is copy or _looks(op, position) for op, position in _uses(made.result)) and (
        sum(op is copy for op, _ in made.result.uses) == 1
    )


def _looks(op: Op, position: int) -> bool:
    return position == 0 and (op.opdef in _LOOKS or op.opdef is ops.copy)


def _uses(memref: Value) -> Iterator[tuple[Op, int]]:
    """The uses of a memref and of all views of it."""
    for op, position in memref.uses:
        yield op, position
        if op.opdef in VIEWS:
            yield from _uses(op.result)


def _is_written_meanwhile(copy: Op, memory: Memory) -> bool:
    """Whether the array may change, or be freed, before the last look at the copy, or a look comes before the copy."""
    source, made = copy.operands
    block = copy.parent
    assert block is not None
    order = {op: k for k, op in enumerate(block.ops)}
    places = {place_in(block, op) for op, _ in _uses(made) if op is not copy}
    looks = sorted(order[place] for place in places if place is not None)
    if not looks:
        return False
    if looks[0] < order[copy]:
        return True
    between = block.ops[order[copy] + 1 : looks[-1] + 1]
    return any(memory.may_write(op, source) for op in between)
