"""Passes that report what they decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from adc.ir.core import Module


@dataclass(frozen=True, eq=False)
class ReportingPass:
    """``step`` as a pass that reports its decisions through ``tell``."""

    step: Any
    tell: Callable[[Any, Module], None]
    name: ClassVar[str] = "plan"

    def run(self, module: Module) -> Module:
        self.tell(self.step, module)
        return module
