"""What the bodies of loops do to memory: found once for each loop, and merged when two loops become one.

So fusing many loops, one after the other, takes time proportional to their total size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field, replace

from adc.ir import ops
from adc.ir.core import Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import enclosing
from adc.passes.analysis.affine import Form
from adc.passes.analysis.dependence import MAX_PAIRS, Access, Analysis, distinct
from adc.passes.analysis.kinds import COUNTED
from adc.passes.analysis.spans import Span
from adc.passes.branches.if_convert import is_choice

_KEEP_FROM_VECTORS = frozenset({ops.call, ops.while_})

Ranges = tuple[tuple[Value, ...], ...]


@dataclass
class Body:
    """``size``: the number of operations. ``nested``: whether there are inner loops. ``scalar``: whether something
    keeps the innermost one from being vectorised. ``obstacles``: whether something rules out any order. ``ranges``:
    those of the inner loops, from the outer to the inner ones, if all loops of a level have one range; else None.
    Accesses that are alike are kept once, by base; ``meeting``: the bases that may be memory of a root.
    """

    size: int
    nested: bool
    scalar: bool
    obstacles: bool
    ranges: Ranges | None
    accesses: dict[Value, list[Access]] = field(default_factory=dict)
    meeting: dict[Value, list[Value]] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[bool, bool]:
        return self.nested, self.scalar


class Bodies:
    """The bodies of the loops of one function, as long as nothing changes them except joining loops."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self._known: dict[Op, Body] = {}

    def of(self, loop: Op) -> Body:
        known = self._known.get(loop)
        if known is None:
            known = self._known[loop] = self._find(loop)
        return known

    def _find(self, loop: Op) -> Body:
        inner = list(loop.regions[0].walk())
        accesses = self.analysis.accesses(loop)
        nested, scalar = any(op.opdef in COUNTED for op in inner), any(_keeps_from_vectors(op) for op in inner)
        body = Body(len(inner), nested, scalar, bool(accesses.obstacles), _ranges_inside(loop))
        self._include(body, accesses.found)
        return body

    def _include(self, body: Body, accesses: Iterable[Access]) -> None:
        by_base: dict[Value, list[Access]] = {}
        for access in accesses:
            by_base.setdefault(access.base, []).append(access)
        for base, found in by_base.items():
            if base not in body.accesses:
                for root in self.analysis.aliasing.roots(base):
                    body.meeting.setdefault(root, []).append(base)
            body.accesses[base] = distinct([*body.accesses.get(base, ()), *found])

    def are_one_throughout(self, first: Op, second: Op) -> bool:
        """Whether all loops inside the two have the same ranges, so that they may be fused, too."""
        ranges = self.of(first).ranges
        return ranges is not None and ranges == self.of(second).ranges

    def meet(self, first: Op, second: Op) -> bool:
        """Whether the two loops have memory in common."""
        return not self.of(first).accesses.keys().isdisjoint(self.of(second).accesses)

    def independent(self, first: Op, second: Op) -> bool:
        """Whether no iteration of either loop touches what another iteration of the other one changes."""
        one, pairs = self.of(first), list[tuple[Access, Access]]()
        for base, accesses in self._as_in(first, second).items():
            for met in self._met_by(one, base):
                both = [(a, b) for a in one.accesses[met] for b in accesses if a.changes or b.changes]
                if met is base:
                    pairs += both
                elif both and not self.analysis.apart(*both[0], first):
                    return False
        questions = self.analysis.questions(first)
        return len(pairs) <= MAX_PAIRS and all(self.analysis.independent(a, b, first, questions) for a, b in pairs)

    def _met_by(self, body: Body, base: Value) -> list[Value]:
        """The bases of ``body`` that may have memory in common with ``base``."""
        roots = self.analysis.aliasing.roots(base)
        found = dict.fromkeys(met for root in roots for met in body.meeting.get(root, ()))
        if base in body.accesses:
            found[base] = None
        return list(found)

    def _as_in(self, first: Op, second: Op) -> dict[Value, list[Access]]:
        """The accesses of ``second``, with its counter replaced by that of ``first``."""
        forms = self.analysis.forms
        new, old = (forms.symbol(loop.regions[0].args[0]) for loop in (first, second))
        counter = Form.symbol(new)

        def moved(access: Access) -> Access:
            if access.where is None:
                return access
            where: list[Span] = []
            for low, high in access.where:
                least = low.substitute(old, counter)
                where.append((least, least if high is low else high.substitute(old, counter)))
            return replace(access, where=tuple(where))

        return {base: [moved(a) for a in accesses] for base, accesses in self.of(second).accesses.items()}

    def join(self, first: Op, second: Op, make: Callable[[Op, Op], Op]) -> Op:
        """The loop that ``make`` makes of the two, which has the counter of ``first``."""
        one, other, moved = self.of(first), self.of(second), self._as_in(first, second)
        inner = list(second.regions[0].walk())
        blocks = [second.regions[0], *(region for op in inner for region in op.regions)]
        values = [v for block in blocks for v in (*block.args, *(r for op in block.ops for r in op.results))]
        joined = make(first, second)
        for changed in (first, second, *inner, *enclosing(first.parent)):
            self._known.pop(changed, None)
        self.analysis.forms.forget(values)
        one.size += other.size - 1  # there is only one terminator
        one.nested, one.scalar = one.nested or other.nested, one.scalar or other.scalar
        one.obstacles = one.obstacles or other.obstacles
        one.ranges = one.ranges if one.ranges == other.ranges else None
        self._include(one, (a for accesses in moved.values() for a in accesses))
        self._known[joined] = one
        return joined


def _keeps_from_vectors(op: Op) -> bool:
    return op.opdef in _KEEP_FROM_VECTORS or (op.opdef is ops.if_ and not is_choice(op))


def _ranges_inside(loop: Op) -> Ranges | None:
    inner = [op for op in loop.regions[0].ops if op.regions]
    if not all(op.opdef is ops.parallel for op in inner):
        return None
    found = {(op.operands[:3], _ranges_inside(op)) for op in inner}
    if len(found) > 1:
        return None
    for bounds, within in found:
        return None if within is None else (bounds, *within)
    return ()
