"""Marking the operations that a function has before derivatives are added: for debugging (``debug="nan"``)."""

from __future__ import annotations

from typing import ClassVar

from adc.ir.core import Module, Op
from adc.ir.lazy_dataclass import dataclass

FORWARD = "adc.forward"
"""The attribute of an operation that was there before the function was differentiated."""


@dataclass(frozen=True)
class MarkForward:
    """Mark the operations that are the function's own, before derivatives are added."""

    name: ClassVar[str] = "mark-forward"

    def run(self, module: Module) -> Module:
        for func in module.funcs.values():
            for op in func.walk():
                if makes_float(op):
                    op.set_attr(FORWARD, True)
        return module


def makes_float(op: Op) -> bool:
    return len(op.results) == 1 and op.results[0].type.is_float and op.opdef.evaluate is not None
