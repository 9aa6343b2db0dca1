"""Recognising accumulations at constant offsets: ``abar[i - 1, j] += ..; abar[i, j + 1] += ..`` in a nest of loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import enclosing, inside
from adc.passes.analysis.affine import Form
from adc.passes.distribution.fission import Fission


@dataclass(frozen=True)
class Term:
    """``value``, added to the element ``shift`` iterations (one number per loop) further on."""

    op: Op
    value: Value
    shift: tuple[int, ...]


@dataclass
class Stencil:
    """Terms that iterations of ``loops`` add to their neighbours' elements of ``base``.

    Iteration ``i`` adds a term to the element whose subscript in dimension ``d`` is ``origin[d]``, plus, if ``axes[d]``
    is not None, the counter of that loop, ``shift`` steps further on.
    """

    loops: tuple[Op, ...]
    base: Value
    axes: tuple[int | None, ...]
    origin: tuple[Form, ...]
    terms: list[Term] = field(default_factory=list)

    def span(self, level: int) -> tuple[int, int]:
        """Least and greatest shift along a loop."""
        shifts = [term.shift[level] for term in self.terms]
        return min(shifts), max(shifts)

    @property
    def shifts(self) -> list[tuple[int, ...]]:
        """The distinct shifts, in order."""
        return sorted({term.shift for term in self.terms})


def recognise(fission: Fission, group: Sequence[Op]) -> list[Stencil] | str:
    """The stencils that ``group`` consists of, no two of which add to one element; else why it does not."""
    forms = fission.analysis.forms
    accesses = {a.op: a for a in fission.accesses.found if a.kind == "accumulate"}
    loops = _chain(fission, group)
    if loops is None:
        return "not all terms are in the innermost of nested parallel loops"
    steps = [constant_of(loop.operands[2]) for loop in loops]
    if any(step is None for step in steps):
        return "the loop's step is not constant"
    for loop in loops:
        if any(inside(s.value, fission.loop) for v in loop.operands[:2] for s in forms.of(v).symbols()):
            return "bounds of an inner loop depend on the outer one"
    counters = [forms.symbol(loop.regions[0].args[0]) for loop in loops]
    found: dict[tuple[int, ...], Stencil] = {}
    first: tuple[Form, ...] | None = None
    axes: tuple[int | None, ...] | None = None
    for op in group:
        access = accesses[op]
        if access.where is None:
            return "the subscripts are not known"
        own_axes: list[int | None] = []
        rest: list[Form] = []
        for form, _ in access.where:
            levels = [k for k, c in enumerate(counters) if c in form.symbols()]
            if len(levels) > 1 or (levels and form.coefficient(counters[levels[0]]) != Form.number(1)):
                return "subscripts are not counters at offsets"
            own_axes.append(levels[0] if levels else None)
            rest.append(form - Form.symbol(counters[levels[0]]) if levels else form)
            if any(inside(s.value, fission.loop) for s in rest[-1].symbols()):
                return "offsets change inside the loop"
        if sorted(a for a in own_axes if a is not None) != list(range(len(loops))):
            return "not every loop has a dimension of its own"
        if axes is None:
            axes, first = tuple(own_axes), tuple(rest)
        assert first is not None
        differences = [r - f for r, f in zip(rest, first, strict=True)]
        if tuple(own_axes) != axes or not all(d.is_constant for d in differences):
            return "terms differ by more than constant offsets"
        key, shift = [], [0] * len(loops)
        for axis, difference in zip(axes, differences, strict=True):
            quotient, remainder = 0, difference.constant
            if axis is not None:
                step = steps[axis]
                assert step is not None
                quotient, remainder = divmod(difference.constant, int(step))
                shift[axis] = quotient
            key.append(remainder)
        stencil = found.get(tuple(key))
        if stencil is None:
            origin = tuple(f + k for f, k in zip(first, key, strict=True))
            stencil = found[tuple(key)] = Stencil(loops, access.base, axes, origin)
        stencil.terms.append(Term(op, op.operands[0], tuple(shift)))
    return list(found.values())


def _chain(fission: Fission, group: Sequence[Op]) -> tuple[Op, ...] | None:
    """The parallel loops, from the outermost on, of which the innermost contains all of ``group``."""
    if any(op.parent is not group[0].parent for op in group):
        return None
    chain: list[Op] = []
    for outer in enclosing(group[0].parent):
        if outer.opdef is not ops.parallel:
            return None
        chain.append(outer)
        if outer is fission.loop:
            return tuple(reversed(chain))
    return None
