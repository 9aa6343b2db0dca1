"""Which branches that only store may store in any case: what they would have stored, or what is there already.

``if t < d[j]: d[j] = t`` in a parallel loop becomes ``d[j] = t if t < d[j] else d[j]``. SIMD code for the branch would
have masked stores, and these take long on x86 processors without registers for masks. The iteration has to access the
element anyway, so that there is one, and no other iteration may write it, on whatever condition: then it would be lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.callgraph import reachable
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.nesting import enclosing, inside, of_kinds
from adc.ir.types import MemRefType
from adc.passes.analysis.integers import Integers
from adc.passes.analysis.kinds import ELEMENT_WRITES, LOOPS, WRITES, accessed, unchecked


def stores_in_place(func: Func, module: Module) -> dict[Op, Op]:
    """The branches of a function, with their stores."""
    found: dict[Op, Op] = {}
    loops = [op for op in of_kinds(func.body, {ops.parallel}) if not _has_loops(op)]
    candidates = [(loop, *pair) for loop in loops for pair in _branches(loop.regions[0])]
    if not candidates or func.name in _called_in_parallel(module):
        return found
    places = _Places(Aliasing.asked(func, module))
    for loop, branch, store in candidates:
        around = [loop, *(op for op in enclosing(loop.parent) if op.opdef is ops.parallel)]
        if all(places.are_own(store, each) for each in around):
            found[branch] = store
    return found


def _branches(block: Block) -> Iterator[tuple[Op, Op]]:
    """The branches in a block that end with a store to what the block has accessed, and do nothing else to memory."""
    seen: set[tuple[Value, ...]] = set()
    for op in block.ops:
        if op.opdef in (ops.load, ops.store):
            seen.add(accessed(op))
        if op.opdef is not ops.if_ or op.results or len(op.regions[1].ops) != 1 or len(op.regions[0].ops) < 2:
            continue
        *before, store, _ = op.regions[0].ops
        if store.opdef is ops.store and accessed(store) in seen and not any(o.opdef in WRITES for o in before):
            yield op, store


def _has_loops(loop: Op) -> bool:
    return any(op.opdef in LOOPS for op in loop.regions[0].walk())


def _called_in_parallel(module: Module) -> set[str]:
    """The functions that may run several times at once."""
    calls = (op for func in module.funcs.values() for op in of_kinds(func.body, {ops.call}))
    inside_loops = (op for op in calls if any(around.opdef is ops.parallel for around in enclosing(op.parent)))
    return reachable(module, [op.attrs["callee"] for op in inside_loops])


class _Places:
    def __init__(self, aliasing: Aliasing) -> None:
        self._aliasing = aliasing
        self._integers = Integers()

    def are_own(self, store: Op, loop: Op) -> bool:
        """Whether all writes in ``loop`` to the memory of ``store`` are to elements that other iterations do not write:
        in some dimension, the subscripts of all are the same function of its counter."""
        subscripts: list[Sequence[Value]] = []
        for op in loop.regions[0].walk():
            if op.opdef in ELEMENT_WRITES:
                memref, *places = accessed(op)
                if memref is store.operands[1]:
                    subscripts.append(places)
                elif self._aliasing.may_overlap(memref, store.operands[1]):
                    return False
            elif op.opdef in WRITES and any(
                isinstance(v.type, MemRefType) and self._aliasing.may_overlap(v, store.operands[1])
                for v in op.operands
            ):
                return False
        return any(self._is_own(dimension, loop) for dimension in zip(*subscripts, strict=True))

    def _is_own(self, subscripts: Sequence[Value], loop: Op) -> bool:
        first, *others = (self._integers.linear(unchecked(v), exact=True) for v in dict.fromkeys(subscripts))
        counter = loop.regions[0].args[0]
        if first.terms.get(counter) not in (1, -1) or any(inside(v, loop) for v in first.terms if v is not counter):
            return False
        return all(form == first for form in others)
