"""Traces a call, for the checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from adc.border.alignment import Borrowed
from adc.border.bound import unbind
from adc.border.containers import lower
from adc.border.signature import abstracts_of, normalise
from adc.driver.compiler import Staged
from adc.frontend.traced import Traced
from adc.functions.decorator import function_of
from adc.functions.overlap import with_overlap
from adc.ir.messages import communicator
from adc.passes.differentiation.activity import ranks


def traced_call(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[Staged, Traced, tuple[Any, ...]]:
    """The stages of compilation for a call, and its arguments as compiled code takes them."""
    if (part := unbind(fn)) is not None:
        fn, args, kwargs = part.func, (*part.args, *args), {**part.keywords, **kwargs}
    subject = function_of(fn)._subject
    lowered = lower(subject.parameters.names, subject.parameters.bind(args, kwargs))
    borrowed = Borrowed()
    values = normalise(subject.parameters.names, lowered.values, borrowed, lowered.shapes)
    types = abstracts_of(subject.parameters.names, values, lowered.shapes)
    staged = Staged(subject, with_overlap(subject, types, values, borrowed))
    traced = staged.traced()
    staged.bring_rules(traced, deep=True)
    return staged, traced, values


def of_several_ranks(traced: Traced) -> bool:
    """Whether the function communicates between ranks, and there is more than one rank."""
    return communicator().size > 1 and ranks.speaks(traced.module, traced.entry)
