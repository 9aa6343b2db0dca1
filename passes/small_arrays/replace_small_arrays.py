"""Arrays of few elements are values: ``np.array([a, b, c])``, ``u + h * k``, three numbers that a function returns.

If all subscripts are known, each element of an array is a value of its own: there is no memory, no allocation, and a
reverse sweep has to keep only numbers. This is done before differentiation, so that shadows are values too.

1. Memrefs that hand on one another's memory, through loops and branches, are webs (``webs``). All members of a web have
   one shape, and may be copies of each other (``sharing``).
2. Loops that go through their elements are unrolled (``unrolling``), if that is not too much code.
3. What loops carry and branches choose becomes scalars (``carrying``); then each array is an allocation with loads and
   stores, and these become values (``promotion``).
"""

from __future__ import annotations

from typing import ClassVar

from adc.ir import ops
from adc.ir.core import Func, Module, Op
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import having
from adc.passes.small_arrays.carrying import carry_scalars
from adc.passes.small_arrays.numbers import Numbers
from adc.passes.small_arrays.promotion import promote
from adc.passes.small_arrays.sharing import may_be_copies
from adc.passes.small_arrays.unrolling import are_short, loops_of_uses, write_out
from adc.passes.small_arrays.webs import Web, find_shapes, find_webs, is_known, is_known_use


@dataclass(frozen=True)
class ReplaceSmallArrays:
    """Replace arrays of at most ``most`` elements by a value for each element, if loops over them are at most ``code``
    operations each when unrolled."""

    most: int = 16
    code: int = 512
    name: ClassVar[str] = "replace-small-arrays"
    needs = frozenset({ops.alloc})

    def run(self, module: Module) -> Module:
        for func in having(module, self.needs):
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
            promote(func, {**{memref: shapes[memref] for memref in arrays}, **made}, found.shapes)


class _Found:
    """The ``webs`` of a function that become scalars, and the ``loops`` that are unrolled for that."""

    def __init__(self, func: Func, most: int, code: int) -> None:
        webs = [web for web in find_webs(func) if all(map(is_known, web.members))]
        self.shapes = find_shapes(webs, most)
        self.numbers = Numbers(self.shapes)
        self.loops: set[Op] = set()
        self.webs: list[Web] = []
        for web in webs:
            if web.shape and all(is_known_use(*use) for use in web.others) and _gains(web) and may_be_copies(web):
                loops = loops_of_uses(web.others, self.numbers)
                if loops is not None and are_short(loops, self.loops | loops, self.numbers, code):
                    self.loops |= loops
                    self.webs.append(web)


def _gains(web: Web) -> bool:
    """Whether its elements are read in the function, and it is returned at most once: otherwise the caller could tell
    copies from the array itself."""
    returns = sum(op.opdef is ops.return_ for op, _ in web.others)
    reads = any(op.opdef is ops.load or (op.opdef is ops.copy and at == 0) for op, at in web.others)
    return returns <= 1 and (bool(web.flows) or reads)
