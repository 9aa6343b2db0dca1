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
from adc.passes.building import strip

Limits = tuple[Value, Value]


class Cut:
    """``loop``, with the operations ``last`` of its body in a second loop, which reduces if the terminator is one of
    them. Operands of these are recomputed there by operations that are ``repeatable``, unless they are floats; the
    others are ``kept``."""

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
        ``opdef``; the first one has the attributes of the loop. The loop's reductions begin with ``initial``."""
        body, step = self.loop.regions[0], self.loop.operands[2]
        known, extents = (size, ()) if isinstance(size, int) else (None, (size,))
        buffers = {value: ops.alloc(*extents, type=MemRefType((known,), value.type)) for value in self.kept}
        reduces_last = body.terminator in self.last

        first = Block([index], [body.args[0].hint])
        mapping: Mapping = {body.args[0]: first.args[0]}
        with insert_at(first):
            for op in body.ops[:-1]:
                if op not in self.last:
                    clone_op(op, mapping)
            here = ops.subi(first.args[0], limits[0])
            for value, buffer in buffers.items():
                build(ops.store, [mapping.get(value, value), buffer, here])
            if reduces_last:
                build(ops.reduce, [], {"kinds": ()})
            else:
                clone_op(body.terminator, mapping)

        second = Block([index], [body.args[0].hint])
        mapping = {body.args[0]: second.args[0]}
        with insert_at(second):
            here = ops.subi(second.args[0], limits[0])
            for value, buffer in buffers.items():
                mapping[value] = ops.load(buffer, here)
            for op in body.ops:
                if op in self._again or op in self.last:
                    with at_loc(op.loc):
                        clone_op(op, mapping)
            if not reduces_last:
                build(ops.yield_ if opdef is ops.for_ else ops.reduce, [])

        starts = [(), initial] if reduces_last else [initial, ()]
        types = [[v.type for v in values] for values in starts]
        made = build(ops.parallel, [*limits, step, *starts[0]], dict(self.loop.attrs), types[0], [first])
        return made, build(opdef, [*limits, step, *starts[1]], {}, types[1], [second])


def in_strips(
    loop: Op, size: Value, opdef: OpDef, attrs: dict[str, Attr], name: str, body: Callable[[Limits], Sequence[Value]]
) -> Op:
    """Append a loop over strips of ``size`` iterations of ``loop``; ``body`` appends the code between two limits, and
    returns a strip's part of the loop's reductions."""
    lower, upper, step, *starts = loop.operands
    # Strips are counted, since the start of one after the last could wrap around.
    count = ops.ceildivsi(trip_count(lower, upper, step), size)
    block = Block([index], [name])
    with insert_at(block):
        start, length = strip(block.args[0], size, upper, lower)
        parts = body((start, ops.addi(start, length)))
        if opdef is ops.for_:
            build(ops.yield_, parts)
        else:
            build(ops.reduce, parts, {"kinds": loop.regions[0].terminator.attrs["kinds"]})
    types = [v.type for v in parts]
    return build(opdef, [const_index(0), count, const_index(1), *starts[: len(parts)]], attrs, types, [block])
