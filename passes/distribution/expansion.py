"""A loop cut in two: what the second half needs from the first one is recomputed, or kept in buffers.

(Loop distribution with scalar expansion; Allen and Kennedy, Optimizing Compilers for Modern Architectures, sections 5.2
and 5.3.) The caller has shown that the second half of an iteration may come after the first halves of others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from adc.ir import ops
from adc.ir.arith import const_index, trip_count
from adc.ir.builder import at_loc, build, insert_at
from adc.ir.core import Attr, Block, Op, Value
from adc.ir.nesting import inside
from adc.ir.opdef import OpDef
from adc.ir.rewrite import Mapping, clone_op, used_from_outside
from adc.ir.types import MemRefType, index
from adc.passes.building import loop_of, strip

Limits = tuple[Value, Value]


class Cut:
    """``loop``, with the operations ``last`` of its body in a second loop. Operands of these are recomputed there by
    operations that are ``repeatable``, unless they are floats; the others are ``kept``."""

    def __init__(self, loop: Op, last: Collection[Op], repeatable: Callable[[Op], bool]) -> None:
        self.loop = loop
        self.last = last
        self._repeatable = repeatable
        self._again: set[Op] = set()
        self.kept = [v for v in used_from_outside(list(last)) if inside(v, loop) and not self._has(v)]

    def _has(self, value: Value) -> bool:
        """Whether ``value`` can be recomputed; if so, the operations for that are added to ``_again``."""
        op = value.op
        if not inside(value, self.loop) or value is self.loop.regions[0].args[0] or op in self._again:
            return True
        if op is None or op.parent is not self.loop.regions[0] or op.regions or value.type.is_float:
            return False
        if not self._repeatable(op) or not all(map(self._has, op.operands)):
            return False
        self._again.add(op)
        return True

    def build(self, limits: Limits, size: int | Value, opdef: OpDef, initial: Sequence[Value] = ()) -> tuple[Op, Op]:
        """Append both loops for the iterations between ``limits``, at most ``size`` of them. The second loop is an
        ``opdef``; the first one has the attributes of the loop, and its reductions, which begin with ``initial``."""
        body, step = self.loop.regions[0], self.loop.operands[2]
        known, extents = (size, ()) if isinstance(size, int) else (None, (size,))
        buffers = {value: ops.alloc(*extents, type=MemRefType((known,), value.type)) for value in self.kept}

        first = Block([index], [body.args[0].hint])
        mapping: Mapping = {body.args[0]: first.args[0]}
        with insert_at(first):
            for op in body.ops[:-1]:
                if op not in self.last:
                    clone_op(op, mapping)
            here = ops.subi(first.args[0], limits[0])
            for value, buffer in buffers.items():
                build(ops.store, [mapping.get(value, value), buffer, here])
            clone_op(body.terminator, mapping)
        types = [v.type for v in initial]
        made = build(ops.parallel, [*limits, step, *initial], dict(self.loop.attrs), types, [first])

        def second(counter: Value) -> None:
            mapping: Mapping = {body.args[0]: counter}
            here = ops.subi(counter, limits[0])
            for value, buffer in buffers.items():
                mapping[value] = ops.load(buffer, here)
            for op in body.ops:
                if op in self._again or op in self.last:
                    with at_loc(op.loc):
                        clone_op(op, mapping)

        return made, loop_of(opdef, *limits, step, second, body.args[0].hint)


def in_strips(
    loop: Op, size: Value, opdef: OpDef, attrs: dict[str, Attr], name: str, body: Callable[[Limits], object]
) -> None:
    """Append a loop over strips of ``size`` iterations of ``loop``; ``body`` appends the code between two limits."""
    lower, upper, step = loop.operands[:3]
    # Strips are counted, since the start of one after the last could wrap around.
    count = ops.ceildivsi(trip_count(lower, upper, step), size)

    def one(number: Value) -> None:
        start, length = strip(number, size, upper, lower)
        body((start, ops.addi(start, length)))

    loop_of(opdef, const_index(0), count, const_index(1), one, name, attrs)
