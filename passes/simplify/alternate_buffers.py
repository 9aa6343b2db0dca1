"""Time loops that make a new array in each step have two buffers, which take turns.

``for ...: new = np.empty_like(u); ...; u = new`` makes an array where the one before the last has just died. The loop
then carries that one too, as the loop of somebody who swaps two buffers does, and is differentiated, lowered and given
a schedule as such: there is no array for each step, nor a shadow. Of several arrays that follow each other, as
``old, now = now, new`` has it, the last one is what the new one is made in.

That may be if every array that the loop hands on so has one shape, and nobody else sees it: what the loop begins with
is an array of the function that is not used any more, or else a copy of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from adc.ir.builder import insert_at
from adc.ir.core import Block, Module, Op
from adc.passes.rewrite import put_before, put_instead
from adc.passes.simplify.handed_on import like, made_in_steps, own_starts


@dataclass(frozen=True)
class AlternateBuffers:
    """Have new arrays of a sequential loop take the place of those that died in the step before."""

    name: ClassVar[str] = "alternate-buffers"

    def run(self, module: Module) -> Module:
        for func in module.funcs.values():
            for loop, alloc, chain in made_in_steps(func, module):
                _take_turns(loop, alloc, chain)
        return module


def _take_turns(loop: Op, alloc: Op, chain: list[int]) -> None:
    own_starts(loop, chain)
    body, before = loop.regions[0], Block()
    with insert_at(before, alloc.loc):
        spare = like(loop.operands[3 + chain[0]])
    put_before(loop, list(before.ops))
    loop.add_operand(spare)
    loop.add_result(spare.type)
    room = body.add_arg(spare.type, alloc.result.hint)
    alloc.result.replace_uses(room)
    body.terminator.add_operand(body.args[1 + chain[-1]])
    put_instead(alloc, [])
    alloc.drop()
