"""Do later writes go to other elements than those that were read?

    for t in range(steps):
        u[t + 1, :] = step(u[t, :])

writes to ``u`` repeatedly after it has read from it, but never to an element that it has read. Two accesses to one
array are compared loop by loop, from the outermost loop around both. Suppose that in one dimension the subscripts are
``a*t + r`` and ``a*t + s``, where ``t`` is the loop's counter and ``r`` and ``s`` are loop-invariant. Then the write
reaches the element that was read, in the same or a later iteration, only if ``(r - s)/a`` is a whole number of
iterations and not negative. If it is zero, only the same iteration does, and the next inner loop decides.
Subscripts that inner loops move are replaced by their extremes: if ``x[k]`` is read for ``k`` below ``t``, a write to
``x[t]`` does not change what was read, in this iteration or later.

An array that is made in each iteration is a new one each time. Writes to it change nothing that was there before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.arith import constant_of
from adc.ir.core import Block, Op, Value
from adc.ir.moments import strip_views
from adc.ir.nesting import inside
from adc.passes.analysis.affine import Form, Forms
from adc.passes.analysis.integers import Integers

_WRITES = (ops.store, ops.accumulate, ops.fill, ops.copy)
_SUBSCRIPTS = {ops.load: 1, ops.store: 2, ops.accumulate: 2}
_DEEPEST = 4  # of loops in a loop
_FARTHEST = 1 << 10  # how far one iteration may move, so that no feasible number of iterations wraps around


class Elsewhere:
    """Answers for one function, as it was when ``aliasing`` was made."""

    def __init__(self, aliasing: Aliasing) -> None:
        self._aliasing = aliasing
        self._forms = Forms()
        self._integers = Integers()

    def misses(self, write: Op, reader: Op, memref: Value, scope: Block, follows: Callable[[], bool]) -> bool:
        """Whether no run of ``write`` after one of ``reader`` changes what that read of ``memref``, within one run of
        ``scope``. ``follows``: whether the write may follow in one iteration of the loops around both."""
        if write.opdef not in _WRITES:
            return False
        target = write.operands[1]
        base = strip_views(target)
        if base.op is not None and base.op.opdef is ops.alloc:
            # It is allocated each time: what was there before is something else. (If a loop carries memory that is at
            # first the caller's, the later ones could live as long as that.)
            if not self._aliasing.may_overlap(memref, base):
                return all(root.op is not None for root in self._aliasing.roots(memref))
            if strip_views(memref) is base:
                assert base.block is not None
                scope = base.block
        comparable = target is memref and reader.opdef in _SUBSCRIPTS and write.opdef in _SUBSCRIPTS
        pairs: list[tuple[Form, Form]] | None = None
        for loop in _common_loops(reader, write, scope):
            if loop.opdef is ops.parallel:  # its iterations do not write what others read
                continue
            if loop.opdef is not ops.for_ or not comparable or inside(memref, loop):
                return False
            pairs = pairs or self._pairs(reader, write)
            distances = [self._distance(loop, read, written) for read, written in pairs]
            if _NEVER in distances:
                return True
            if _SAME not in distances:
                return False
        return not follows() or (comparable and _apart(pairs or self._pairs(reader, write), reader, write))

    def _pairs(self, reader: Op, write: Op) -> list[tuple[Form, Form]]:
        """The subscripts of both, dimension by dimension."""
        found = (
            [self._forms.of(self._plain(v, op)) for v in op.operands[_SUBSCRIPTS[op.opdef] :]] for op in (reader, write)
        )
        return list(zip(*found, strict=True))

    def _plain(self, subscript: Value, access: Op) -> Value:
        """A subscript without its bounds check, unless it may be negative and count from the end."""
        while subscript.op is not None and subscript.op.opdef is ops.bound:
            if not self._integers.proves_ge_zero_in(subscript.op.operands[0], access.parent):
                break
            subscript = subscript.op.operands[0]
        return subscript

    def _distance(self, loop: Op, read: Form, written: Form) -> str:
        """When a write reaches the element that was read, as far as one dimension tells."""
        step = constant_of(loop.operands[2])
        if step is None or not 0 < step <= _FARTHEST:
            return _PERHAPS
        exact = self._between(loop, read, written)
        if exact is not None:
            stride, between = exact[0] * int(step), exact[1]
            if stride == 0:
                return _NEVER if between else _PERHAPS
            if between == 0:
                return _SAME
            return _PERHAPS if between % stride == 0 and between // stride < 0 else _NEVER
        above = self._between(loop, self._extreme(loop, read, 1), self._extreme(loop, written, -1))
        if above is not None and above[0] >= 0 and above[1] >= 0 and any(above):
            return _NEVER if above[1] else _SAME
        below = self._between(loop, self._extreme(loop, read, -1), self._extreme(loop, written, 1))
        if below is not None and below[0] <= 0 and below[1] <= 0 and any(below):
            return _NEVER if below[1] else _SAME
        return _PERHAPS

    def _between(self, loop: Op, read: Form | None, written: Form | None) -> tuple[int, int] | None:
        """``(a, s - r)`` if the two are ``a*t + r`` and ``a*t + s``, by the counter ``t`` of the loop."""
        if read is None or written is None:
            return None
        counter = self._forms.symbol(loop.regions[0].args[0])
        (a, r), (b, s) = read.split(counter), written.split(counter)
        fixed = not any(inside(symbol.value, loop) for form in (r, s) for symbol in form.symbols())
        between = s - r
        if not fixed or a != b or not a.is_constant or not between.is_constant:
            return None
        if abs(a.constant) > _FARTHEST or abs(between.constant) > _FARTHEST**2:
            return None
        return a.constant, between.constant

    def _extreme(self, loop: Op, form: Form, side: int) -> Form | None:
        """The greatest (``side`` 1) or least (-1) value of a form in one iteration of the loop: the counters of inner
        loops go from their lower limit to one less than their upper one."""
        for _ in range(_DEEPEST):
            inner = next((s for s in form.symbols() if s.loop not in (None, loop) and inside(s.value, loop)), None)
            if inner is None:
                return form
            factor, rest = form.split(inner)
            assert inner.loop is not None
            step = constant_of(inner.loop.operands[2])
            if not factor.is_constant or abs(factor.constant) > _FARTHEST or step is None or step <= 0:
                return None
            lower, upper = (self._forms.of(v) for v in inner.loop.operands[:2])
            form = rest + (upper - 1 if factor.constant * side > 0 else lower) * factor
        return None


def _apart(pairs: Sequence[tuple[Form, Form]], a: Op, b: Op) -> bool:
    """Whether two accesses are to different elements, in one iteration of the loops around both."""
    blocks = set(_blocks(a)) & set(_blocks(b))
    for one, other in pairs:
        between = one - other
        fixed = all(symbol.value.block in blocks for form in (one, other) for symbol in form.symbols())
        if fixed and between.is_constant and 0 < abs(between.constant) < _FARTHEST**2:
            return True
    return False


_NEVER, _SAME, _PERHAPS = "never", "in the same iteration only", "perhaps"


def _common_loops(a: Op, b: Op, scope: Block) -> list[Op]:
    """The loops inside ``scope`` that contain both, outermost first."""
    around = set(_loops(a, scope))
    return [loop for loop in _loops(b, scope) if loop in around][::-1]


def _loops(op: Op, scope: Block) -> Iterator[Op]:
    block = op.parent
    while block is not None and block is not scope:
        around = block.parent_op
        if around is None:
            return
        if around.opdef is not ops.if_:
            yield around
        block = around.parent


def _blocks(op: Op) -> Iterator[Block]:
    """The blocks that contain an operation, innermost first."""
    block = op.parent
    while block is not None:
        yield block
        block = block.parent_op.parent if block.parent_op is not None else None
