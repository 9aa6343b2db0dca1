"""Passes that report what they decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from adc.ir.core import Module
from adc.ir.lazy_dataclass import dataclass
from adc.passes.base import IfChanged, Pipeline


@dataclass(frozen=True, eq=False)
class ReportingPass:
    """``step`` as a pass that reports its decisions through ``tell``."""

    step: Any
    tell: Callable[[Any, Module], None]
    name: ClassVar[str] = "plan"

    def run(self, module: Module) -> Module:
        self.tell(self.step, module)
        return module


def reporting(steps: Pipeline, tell: Mapping[type, Callable[[Any, Module], None]]) -> Pipeline:
    """The pipeline with passes that report, for those of the types in ``tell``."""

    def told(step: Any) -> Any:
        return ReportingPass(step, tell[type(step)]) if type(step) in tell else step

    return tuple(replace(s, step=told(s.step)) if isinstance(s, IfChanged) else told(s) for s in steps)
