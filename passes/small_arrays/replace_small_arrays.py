"""Arrays of few elements are values: ``np.array([a, b, c])``, ``u + h * k``, what a function returns of three numbers.

Where all subscripts are known, each element of an array is a value of its own: there is no memory, no allocation, and
nothing that a reverse sweep has to keep but numbers. It is done before differentiation, so that shadows are values too.

1. Memrefs that hand on one another's memory, through loops and branches, are webs (``webs``). All of a web have one
   shape, and may be copies of each other (``sharing``).
2. Loops that go through their elements are written out (``unrolling``), if that is not too much code.
3. What loops carry and branches choose becomes scalars (``carrying``); then each array is an allocation with loads and
   stores, and these become values (``promotion``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from adc.ir import ops
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.nesting import enclosing
from adc.passes.analysis.kinds import ELEMENT
from adc.passes.small_arrays.carrying import carry_scalars
from adc.passes.small_arrays.promotion import promote
from adc.passes.small_arrays.sharing import may_be_copies, writes
from adc.passes.small_arrays.unrolling import Numbers, TooLong, length, loops_to_write_out, write_out
from adc.passes.small_arrays.webs import Web, find_shapes, find_webs, is_known, is_known_use


@dataclass(frozen=True)
class ReplaceSmallArrays:
    """Have a value in place of each element of arrays of at most ``most`` elements, where loops over them, written out,
    are at most ``code`` operations each."""

    most: int = 16
    code: int = 400
    name: ClassVar[str] = "replace-small-arrays"

    def run(self, module: Module) -> Module:
        for func in module.funcs.values():
            if any(op.opdef is ops.alloc for op in func.walk()):
                self._replace(func)
        return module

    def _replace(self, func: Func) -> None:
        found = _Found(func, self.most, self.code)
        if found.loops:
            write_out(func, found.loops, found.numbers)
            found = _Found(func, self.most, 0)
        shapes = {memref: web.shape for web in found.webs for memref in web.members}
        if shapes:
            made = carry_scalars(func, shapes)
            arrays = [memref for memref in shapes if memref.op is not None and memref.op.opdef is ops.alloc]
            promote(func, {**{memref: shapes[memref] for memref in arrays}, **made})


class _Found:
    """The ``webs`` of a function that become scalars, and the ``loops`` that are written out for that."""

    def __init__(self, func: Func, most: int, code: int) -> None:
        webs = [web for web in find_webs(func) if all(map(is_known, web.members))]
        self.numbers = Numbers(find_shapes(webs, most))
        self.loops: set[Op] = set()
        self.webs: list[Web] = []
        for web in webs:
            if web.shape and all(is_known_use(*use) for use in web.others) and _gains(web) and may_be_copies(web):
                loops = self._loops(web)
                if loops is not None and self._is_short(loops, code):
                    self.loops |= loops
                    self.webs.append(web)

    def _loops(self, web: Web) -> set[Op] | None:
        """The loops that have to be written out; None if not all subscripts would be numbers then."""
        subscripts: list[Value] = []
        around: set[Op] = set()
        for op, position in web.others:
            if op.opdef in ELEMENT:
                places = op.operands[position + 1 :]
                if any(self._is_outside(v, extent) for v, extent in zip(places, web.shape, strict=True)):
                    return None  # this code never runs
                subscripts += places
            if writes(op, position):
                around.update(_parallel_between(op, op.operands[position].block))
        subscripts += [loop.regions[0].args[0] for loop in around]
        return loops_to_write_out(subscripts, self.numbers)

    def _is_outside(self, subscript: Value, extent: int) -> bool:
        number = self.numbers.of(subscript)
        return number is not None and not 0 <= number < extent

    def _is_short(self, loops: set[Op], code: int) -> bool:
        chosen = self.loops | loops
        try:
            for loop in loops:
                if chosen.isdisjoint(enclosing(loop.parent)):
                    length(loop, chosen, self.numbers, code)
        except TooLong:
            return False
        return True


def _gains(web: Web) -> bool:
    """Whether its elements are read in the function; and it is returned once at most, or the caller could tell copies
    from what they are copies of."""
    returns = sum(op.opdef is ops.return_ for op, _ in web.others)
    reads = any(op.opdef is ops.load or (op.opdef is ops.copy and at == 0) for op, at in web.others)
    return returns <= 1 and (bool(web.flows) or reads)


def _parallel_between(op: Op, home: Block | None) -> Iterator[Op]:
    """The parallel loops around ``op``, inside of ``home``."""
    for around in enclosing(op.parent):
        if home in around.regions or around.parent is None:
            return
        if around.opdef is ops.parallel:
            yield around
        if around.parent is home:
            return
