"""Questions about pairs of accesses in one loop: what many pairs ask is answered once."""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir.core import Block, Op
from adc.ir.nesting import enclosing
from adc.passes.analysis.affine import Form, Forms
from adc.passes.analysis.form_conditions import TRUE
from adc.passes.analysis.kinds import COUNTED
from adc.passes.analysis.ranges import Ranges
from adc.passes.analysis.running import running


class Questions:
    """Valid as long as the code does not change, nor the ``facts`` that are known at ``loop``."""

    def __init__(self, forms: Forms, loop: Op, facts: Sequence[Form]) -> None:
        self.forms = forms
        self.loop = loop
        self._facts = tuple(facts)
        self._later: dict[Form, Form] = {}
        self._running: dict[Block | None, list[Form]] = {}
        self._answers: dict[tuple[Block | None, Block | None], tuple[Ranges, dict[Form, bool]]] = {}

    def later(self, form: Form) -> Form:
        """The form in a later iteration of the loop."""
        known = self._later.get(form)
        if known is None:
            known = self._later[form] = self.forms.later(form, self.loop)
        return known

    def nonnegative(self, first: Block | None, second: Block | None, form: Form) -> bool:
        """Whether ``form`` is proved not negative, for code in ``first`` in one iteration and in ``second`` in a later
        one."""
        found = self._answers.get((first, second))
        if found is None:
            facts = [*self._facts, *self._runs(first), *map(self.later, self._runs(second))]
            found = self._answers[first, second] = Ranges(self.forms, facts=facts), {}
        ranges, answers = found
        known = answers.get(form)
        if known is None:
            known = answers[form] = ranges.nonnegative(form) == TRUE
        return known

    def _runs(self, block: Block | None) -> list[Form]:
        """Forms that are not negative because the loops around ``block`` run."""
        known = self._running.get(block)
        if known is None:
            loops = (op for op in enclosing(block) if op.opdef in COUNTED)
            known = self._running[block] = list(running(self.forms, loops))
        return known
