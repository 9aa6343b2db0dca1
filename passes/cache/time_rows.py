"""Which axis of each field of a time loop is that of rows, and how far from its own row a statement reaches."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from adc.ir.arith import constant_of
from adc.ir.core import Op, Value
from adc.passes.analysis.affine import Form
from adc.passes.analysis.dependence import Access, Analysis
from adc.passes.cache.time_parts import parts
from adc.passes.cache.time_steps import MOST, NO_AXIS, Field, Statement, Touch, Unfit, varies


class Rows:
    """The search for them. ``statements``: the given ones, some of them cut into parts."""

    def __init__(self, analysis: Analysis, loop: Op, statements: list[Statement], fields: dict[Value, Field]) -> None:
        self.analysis = analysis
        self.loop = loop
        self.statements = statements
        self.waiting: list[Statement] = []
        self.fields = fields
        self.rows: dict[Field, int] = {}

    def find(self) -> dict[Field, int]:
        self.waiting = list(self.statements)
        while self.waiting:
            if not (
                self._settle(lambda s: self._is_connected(s) and self._nest(s))
                or self._settle(lambda s: self._is_connected(s) and self._one_row(s))
                or self._start()
                or self._settle(lambda s: self._is_connected(s) and (self._one_row(s, loose=True) or self._cut(s)))
            ):
                self._no_rows()
        for number, statement in enumerate(self.statements):
            statement.number = number
        return self.rows

    def _settle(self, settled: Callable[[Statement], bool]) -> bool:
        """Remove waiting statements that ``settled`` is true of; whether there were any."""
        before = len(self.waiting)
        self.waiting = [s for s in self.waiting if not settled(s)]
        return len(self.waiting) < before

    def _is_connected(self, statement: Statement) -> bool:
        """Whether a statement touches fields whose rows are known."""
        return any(self.fields[a.base] in self.rows for a in self._of(statement))

    def _start(self) -> bool:
        """Begin with the largest of the loops that share no fields with those before."""
        nests = [s for s in self.waiting if s.is_nest and not self._is_connected(s)]
        start = max(nests, key=lambda s: sum(1 for _ in s.op.regions[0].walk()), default=None)
        return start is not None and self._settle(lambda s: s is start and self._nest(s))

    def _no_rows(self) -> None:
        """Take statements that touch no rows to be at one row that all of them share."""
        nest = next((s for s in self.statements if s.is_nest and s not in self.waiting and not s.is_row), None)
        if nest is None or any(s.is_nest or self._is_connected(s) for s in self.waiting):
            raise Unfit("is not over rows at constant distances", self.waiting[0].op)
        for statement in self.waiting:
            self._at(statement, nest.lower)
        self.waiting = []

    def _cut(self, statement: Statement) -> bool:
        """Cut a statement that touches several rows far from each other into several, if possible."""
        rows: dict[Access, Form] = {}
        for access in self._of(statement):
            axis = self.rows.get(self.fields[access.base], NO_AXIS)
            if axis == NO_AXIS:
                continue
            if access.where is None or access.where[axis][0] is not access.where[axis][1]:
                return False
            rows[access] = access.where[axis][0]
        found = None if statement.before else parts(statement.op, statement.accesses, rows)
        if found is None or len(found) > MOST:
            return False
        made = []
        for near, keep in found:
            part = Statement(statement.op, statement.guards, [], 0, keep=keep)
            part.accesses = [
                a
                for a in statement.accesses
                if (a.op in keep or not a.changes) and (a not in rows or (rows[a] - near).is_constant)
            ]
            if not self._one_row(part, loose=True):
                return False
            made.append(part)
        at = self.statements.index(statement)
        self.statements[at : at + 1] = made
        return True

    def _of(self, statement: Statement) -> Iterator[Access]:
        return (a for a in statement.accesses if a.base in self.fields)

    def _nest(self, statement: Statement) -> bool:
        """Treat the statement as a loop over rows, if it can be one."""
        op = statement.op
        if not statement.is_nest:
            return False
        counter = Form.symbol(self.analysis.forms.symbol(op.regions[0].args[0]))
        lower, upper = (self.analysis.forms.of(v) for v in op.operands[:2])
        if constant_of(op.operands[2]) != 1 or any(varies(f, self.loop) for f in (lower, upper)):
            return False
        rows = dict(self.rows)
        found: dict[Field, set[int]] = {}
        for access in self._of(statement):
            options = {
                d
                for d, (low, high) in enumerate(access.where or ())
                if low is high and (low - counter).is_constant
            }  # fmt: skip
            known = found.setdefault(self.fields[access.base], options)
            known &= options
        for place, options in found.items():
            if rows.setdefault(place, min(options, default=-1)) not in options:
                return False
        self.rows = rows
        statement.lower, statement.upper = lower, upper
        self._touch(statement, counter)
        return True

    def _one_row(self, statement: Statement, *, loose: bool = False) -> bool:
        """Treat the statement as code at one row, if it can be that.

    ``loose``: fields that are in no loop over rows may have no rows.
        """
        base: Form | None = None
        for access in self._of(statement):
            axis = self.rows.get(self.fields[access.base])
            if access.where is None:
                return False
            if axis is None and loose:
                continue
            if axis is None:
                return False
            if axis == NO_AXIS:
                continue
            low, high = access.where[axis]
            base = low if base is None else base
            if low is not high or varies(low, self.loop) or not (low - base).is_constant:
                return False
        if base is None:
            return False
        self._at(statement, base)
        return True

    def _at(self, statement: Statement, row: Form) -> None:
        statement.lower, statement.upper, statement.is_row = row, row + 1, True
        for access in self._of(statement):
            self.rows.setdefault(self.fields[access.base], NO_AXIS)
        self._touch(statement, row)

    def _touch(self, statement: Statement, own: Form) -> None:
        statement.touches = []
        for access in self._of(statement):
            place = self.fields[access.base]
            axis = self.rows[place]
            shift = 0
            if axis != NO_AXIS:
                assert access.where is not None
                shift = (access.where[axis][0] - own).constant
            statement.touches.append(Touch(access, place, shift))
