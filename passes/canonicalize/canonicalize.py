"""Canonicalisation: fold what is known, bring the rest into one form.

One walk over the function, in order. ``float_rules`` and ``integer_rules`` have the identities of arithmetic,
``memory_rules`` those of memrefs; ``loop_rules`` and ``control_rules`` simplify loops and branches.
"""

from __future__ import annotations

from typing import ClassVar

from adc.ir.core import Module
from adc.ir.lazy_dataclass import dataclass
from adc.passes.canonicalize.control_rules import CONTROL
from adc.passes.canonicalize.float_rules import FLOATS
from adc.passes.canonicalize.integer_rules import INTEGERS
from adc.passes.canonicalize.memory_rules import MEMORY
from adc.passes.canonicalize.rewriter import Rewriter
from adc.passes.due import due

RULES = {**FLOATS, **INTEGERS, **MEMORY}


@dataclass(frozen=True)
class Canonicalize:
    """Fold constants, apply identities that are exact, simplify control flow; at most ``rounds`` walks."""

    rounds: int = 3
    name: ClassVar[str] = "canonicalize"

    def run(self, module: Module) -> Module:
        for func in due(self, module):
            for _ in range(self.rounds):
                walk = Rewriter(func, RULES, CONTROL)
                walk.run()
                if not walk.again:
                    break
        return module
