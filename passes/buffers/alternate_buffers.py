"""Time loops that make a new array in each step get two buffers, which take turns.

``for ...: new = np.empty_like(u); ...; u = new`` makes an array when the last but one has just died. The loop then
carries that one too, like a loop written with two buffers that are swapped, and is differentiated, lowered and given a
schedule like that: there is no array for each step, nor a shadow. If several arrays follow each other, as in
``old, now = now, new``, the new one is made in the last of them.

What a step leaves as it was, by a copy of the rim, is copied once, before the loop, so that both buffers have it from
the start. This is done if no step changes it otherwise.

The loop qualifies if every array that it hands on so has one shape, and nobody else sees these arrays: it begins with
an array of the function that is not used any more, or else with a copy of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.builder import insert_at
from adc.ir.core import Block, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.rewrite import Mapping, clone_op
from adc.passes.analysis.lifetimes import writers_of
from adc.passes.analysis.nests import RIM, is_visible
from adc.passes.buffers.carried_arrays import like, made_in_steps, own_starts
from adc.passes.rewrite import put_before, put_instead


@dataclass(frozen=True)
class AlternateBuffers:
    """Let new arrays of a sequential loop take the place of those that died in the step before."""

    name: ClassVar[str] = "alternate-buffers"

    def run(self, module: Module) -> Module:
        for func in module.funcs.values():
            for loop, alloc, chain in made_in_steps(func, module):
                _take_turns(loop, alloc, chain)
        return module


def _take_turns(loop: Op, alloc: Op, chain: list[int]) -> None:
    own_starts(loop, chain)
    body, before = loop.regions[0], Block()
    start, old, new = loop.operands[3 + chain[0]], body.args[1 + chain[0]], alloc.result
    rim = _rim(loop, old, new) if len(chain) == 1 else []
    with insert_at(before, alloc.loc):
        spare = like(start)
        mapping: Mapping = {old: start, new: spare}
        for op in rim:
            for view in op.operands:
                if view.op is not None and view not in mapping:
                    clone_op(view.op, mapping)
            clone_op(op, mapping).drop_attr(RIM)
    put_before(loop, list(before.ops))
    loop.add_operand(spare)
    loop.add_result(spare.type)
    room = body.add_arg(spare.type, new.hint)
    new.replace_uses(room)
    body.terminator.add_operand(body.args[1 + chain[-1]])
    for op in (alloc, *rim):
        put_instead(op, [])
        op.drop()


def _rim(loop: Op, old: Value, new: Value) -> list[Op]:
    """The copies, from the old array to the new one, of what each step leaves as it was, if no step changes that."""
    end = loop.regions[0].terminator
    writers = [op for op in writers_of(new) if op is not end]
    copies = [op for op in writers if op.attrs.get(RIM) and op.parent is end.parent]
    stores = [op for op in writers if op not in copies]
    if len(stores) != 1 or stores[0].opdef is not ops.store or any(op is not end for op in writers_of(old)):
        return []
    return copies if all(_is_of(loop, op.operands, (old, new)) for op in copies) else []


def _is_of(loop: Op, views: Sequence[Value], arrays: tuple[Value, Value]) -> bool:
    """Whether ``views``, two in the body of ``loop``, show the same part of two arrays, which is the same in all
    steps."""
    makers = [view.op for view in views]
    if loop.parent is None or any(op is None or op.opdef is not ops.subview for op in makers):
        return False
    parts = [(op.operands[1:], tuple(op.attrs.items())) for op in makers if op is not None]
    bases = tuple(op.operands[0] for op in makers if op is not None)
    return bases == arrays and parts[0] == parts[1] and all(is_visible(v, loop.parent) for v in parts[0][0])
