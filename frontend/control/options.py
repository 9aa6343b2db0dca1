"""What is done with a value that is one of several at run time: done with each, under a condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adc.frontend.control.branches import branch
from adc.frontend.data.compounds import OneOf
from adc.frontend.data.values import AbstractValue, Choice
from adc.frontend.frame import Frame
from adc.ir import ops
from adc.ir.arith import const_index


def split(frame: Frame, owner: AbstractValue, use: Callable[[AbstractValue], AbstractValue]) -> AbstractValue:
    """What is done with an object, done with each that it may be, under the condition that it is that one."""
    if not isinstance(owner, Choice | OneOf):
        return use(owner)
    options: Sequence[AbstractValue] = owner.refs if isinstance(owner, Choice) else owner.options
    at = owner.position

    def between(low: int, high: int) -> AbstractValue:
        if high - low == 1:
            return use(options[low])
        middle = (low + high) // 2
        first = ops.cmpi(at, const_index(middle), predicate="slt")
        result = branch(frame, first, lambda: between(low, middle), lambda: between(middle, high))
        assert result is not None
        return result

    return between(0, len(options))


def split_all(
    frame: Frame, values: Sequence[AbstractValue], use: Callable[[list[AbstractValue]], AbstractValue]
) -> AbstractValue:
    """``use(values)``, for each of the constants that those may be which are chosen at run time."""
    for k, v in enumerate(values):
        if isinstance(v, OneOf):
            rest = lambda one, k=k: split_all(frame, [*values[:k], one, *values[k + 1 :]], use)  # noqa: E731
            return split(frame, v, rest)
    return use(list(values))
