"""Time loops of stencils: what a step does, statement by statement, and to which rows of its fields.

A *field* is memory that the loop changes, or may overlap: an array from outside, or a buffer that the loop carries and
permutes with others (``u, v = v, u``). Each field has an axis whose subscripts are *rows*. A *statement* is a parallel
loop whose outermost counter runs through rows, each iteration touching rows at constant distances from its own; or code
that touches rows at constant distances from one fixed row, as boundary conditions and the rims of gathered adjoints do,
which is the same as a loop of one iteration. What a step computes from the time, from numbers and from memory that
nobody changes are its *scalars*.
"""

from __future__ import annotations

from dataclasses import field

from adc.ir import ops
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import inside
from adc.passes.analysis.affine import Form
from adc.passes.analysis.dependence import Access

Guards = tuple[tuple[Value, bool], ...]
NO_AXIS = -1  # for a field whose elements are in no rows
MOST = 64  # statements of a step; the number of pairs grows with the square


class Unfit(Exception):
    """Raised with the reason why the steps of a loop cannot be run several at a time, and the operation in the way."""

    def __init__(self, reason: str, op: Op | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.op = op


@dataclass(frozen=True)
class Field:
    """``base``: an array from outside, or the first of the buffers that a loop permutes. ``cycle``: their positions
    among the carried values, in such an order that a step later each is where the one before it was."""

    base: Value
    cycle: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Touch:
    """An access of a statement at row ``x`` to the row ``x + shift`` of a field."""

    access: Access
    field: Field
    shift: int


@dataclass(eq=False)
class Statement:
    """What ``op`` does in a step, if all ``guards`` have the values given.

    ``before``: what only it needs, in order. ``keep``: its own stores, if ``op`` is cut into several statements.
    ``lower`` and ``upper`` limit its rows.
    """

    op: Op
    guards: Guards
    before: list[Op]
    number: int
    accesses: list[Access] = field(default_factory=list)
    touches: list[Touch] = field(default_factory=list)
    lower: Form = Form.ZERO
    upper: Form = Form.ZERO
    is_row: bool = False  # of one row
    keep: frozenset[Op] | None = None

    @property
    def is_sample(self) -> bool:
        """Whether the statement only notes the value of an element, for ``series``."""
        return self.op.opdef is ops.load

    @property
    def is_nest(self) -> bool:
        return self.op.opdef is ops.parallel


@dataclass(eq=False)
class Steps:
    """A time loop. ``scalars`` come first in a step.

    By position among the carried values: ``buffers``; ``flags``, which are the same from the second step on;
    ``recurrences``, numbers that follow from themselves; ``series``, numbers that no statement uses and that follow
    from field values at one row, computed by ``summing``. ``conditions``: what must be true (or false) before the loop
    for steps to be like this. ``rows``: the axis of rows of each field.
    """

    loop: Op
    statements: list[Statement]
    scalars: list[Op]
    buffers: list[int]
    flags: list[int]
    recurrences: list[int]
    series: list[int]
    summing: list[Op]
    conditions: list[tuple[Value, bool]]
    rows: dict[Field, int]
    fields: dict[Value, Field]

    @property
    def body(self) -> Block:
        return self.loop.regions[0]

    def yields(self, position: int) -> Value:
        return self.body.terminator.operands[position]


def varies(form: Form, loop: Op) -> bool:
    """Whether a form has different values in different steps, or in different iterations inside a step."""
    return any(inside(symbol.value, loop) for symbol in form.symbols())
