"""The way in which the arguments of a call are passed to a function with rules, and to its rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from adc.frontend.callee import Callee
from adc.frontend.data.values import AbstractValue, Compound, Ref
from adc.frontend.frame import Frame
from adc.frontend.objects import heap
from adc.frontend.syntax.source import FunctionSource
from adc.ir.lazy_dataclass import dataclass

Values = Mapping[str, AbstractValue]
CallFunction = Callable[[Frame, Callee, Values], AbstractValue]
CallPlain = Callable[[Frame, AbstractValue, Sequence[AbstractValue], Values, CallFunction], AbstractValue]


@dataclass(frozen=True)
class Layout:
    """Which values, by name, are passed by position, as ``*args``, by keyword, and as ``**kwargs``."""

    positional: tuple[str, ...]
    star: str | None
    keywords: tuple[str, ...]
    double_star: str | None

    @staticmethod
    def of(source: FunctionSource) -> Layout:
        a = source.node.args
        return Layout(
            tuple(p.arg for p in (*a.posonlyargs, *a.args)),
            a.vararg.arg if a.vararg else None,
            tuple(p.arg for p in a.kwonlyargs),
            a.kwarg.arg if a.kwarg else None,
        )

    @property
    def names(self) -> tuple[str, ...]:
        stars = [name for name in (self.star, self.double_star) if name is not None]
        return (*self.positional, *self.keywords, *stars)

    def spread(self, frame: Frame) -> tuple[list[tuple[str, AbstractValue]], dict[str, AbstractValue]]:
        """Positional arguments with names for messages, and keyword arguments, from a frame's variables."""
        positional = [(name, frame.env[name]) for name in self.positional]
        if self.star is not None:
            rest = frame.env[self.star]
            assert isinstance(rest, Compound)
            positional += [(f"{self.star}[{k}]", item) for k, item in enumerate(rest.items)]
        keywords = {name: frame.env[name] for name in self.keywords}
        if self.double_star is not None:
            more = frame.env[self.double_star]
            held = heap.contents(frame, more) if isinstance(more, Ref) else more
            assert isinstance(held, Compound)
            keywords |= dict(zip(map(str, held.form.names), held.items, strict=True))
        return positional, keywords


