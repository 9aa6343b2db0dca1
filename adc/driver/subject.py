"""The subject of compilation: a Python function, and how to compile it."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import field, replace
from typing import Any

from adc.border.options import Options
from adc.border.signature import Parameters
from adc.driver.remembered import Kept, Remembered
from adc.driver.targets import Target, target_of
from adc.frontend.abstract import Abstract
from adc.frontend.traced import Traced
from adc.ir import forks, kinds
from adc.ir.diagnostics import CompileTypeError
from adc.ir.lazy_dataclass import dataclass
from adc.ir.schedules import Schedule

Builtin = Callable[..., Any]


class UnknownConstant(CompileTypeError):
    """The value of an argument, the leaf at ``path`` of all arguments, must be known when the function is compiled."""

    def __init__(self, name: str, path: tuple[int, ...]) -> None:
        super().__init__(
            f"the argument {name} must be known when the function is compiled",
            help="call the function with a value, or write the constant into it",
            kind=kinds.NOT_CONSTANT.name,
        )
        self.path = path


@dataclass
class Subject:
    """A Python function and how to compile it; shared by the function and its derivatives."""

    fn: types.FunctionType
    options: Options
    lock: forks.Lock = field(default_factory=forks.Lock)
    last: tuple[Abstract, ...] | None = None  # the types of the last specialisation
    # Integer arguments whose values the code depends on, by the types of all arguments.
    constants: dict[tuple[Abstract, ...], set[tuple[int, ...]]] = field(default_factory=dict)
    looks: dict[tuple[Abstract, ...], Any] = field(default_factory=dict)  # see adc.functions.overlap
    remembered: Remembered = field(default_factory=Remembered)
    reports: Kept = field(default_factory=Kept)  # see adc.reports.report
    forecasts: Kept = field(default_factory=Kept)  # see adc.reports.forecast
    owner: Any = None  # the ``JitFunction``
    read: Callable[[], Traced] | None = None  # compiled instead of ``fn``: a function of an MLIR file

    def __post_init__(self) -> None:
        self._parameters = Parameters(self.fn)

    @property
    def parameters(self) -> Parameters:
        """The current parameters: the code and the defaults of a function can be replaced."""
        if not self._parameters.are_of(self.fn):
            self._parameters = Parameters(self.fn)
        return self._parameters

    def with_schedule(self, schedule: Schedule | None) -> Subject:
        """The same function with another schedule; forecasts share what does not depend on it."""
        return Subject(self.fn, replace(self.options, checkpoint=schedule), forecasts=self.forecasts)

    @property
    def target(self) -> Target:
        return target_of(self.options)

    @property
    def name(self) -> str:
        return str(getattr(self.fn, "__name__", "function"))
