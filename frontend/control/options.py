"""Uses of a value that is one of several at run time: the use is built for each, under a condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adc.frontend.control.branches import branch, trace
from adc.frontend.control.thrown import raise_now
from adc.frontend.data.compounds import OneOf
from adc.frontend.data.values import NONE, AbstractValue, Choice, Static
from adc.frontend.frame import Frame, discard
from adc.frontend.traps import trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const_index
from adc.ir.builder import current_block, current_loc
from adc.ir.diagnostics import AdcError
from adc.ir.raising import escape


def split(frame: Frame, owner: AbstractValue, use: Callable[[AbstractValue], AbstractValue]) -> AbstractValue:
    """The result of ``use`` on an object: ``use`` is applied to each object that it may be, under the condition that it
    is."""
    if not isinstance(owner, Choice | OneOf):
        return use(owner)
    options: Sequence[AbstractValue] = owner.refs if isinstance(owner, Choice) else owner.options
    at = owner.position
    left = _with_use(frame, owner, use) if isinstance(owner, OneOf) else list(range(len(options)))

    def between(low: int, high: int) -> AbstractValue:
        if high - low == 1:
            return use(options[left[low]])
        middle = (low + high) // 2
        first = ops.cmpi(at, const_index(left[middle]), predicate="slt")
        result = branch(frame, first, lambda: between(low, middle), lambda: between(middle, high))
        assert result is not None
        return result

    return between(0, len(left))


TEST_FIRST = "test first whether it is None, or say that it is not: assert x is not None"
_OF_NONE = {
    kinds.UNSUPPORTED_OPERAND.name: "TypeError",
    kinds.NOT_SUBSCRIPTABLE.name: "TypeError",
    kinds.NOT_CALLABLE.name: "TypeError",
    kinds.UNKNOWN_ATTRIBUTE.name: "AttributeError",
    kinds.UNSUPPORTED_TARGET.name: "AttributeError",
    kinds.WRONG_TYPE.name: "TypeError",
}


def _with_use(frame: Frame, owner: OneOf, use: Callable[[AbstractValue], AbstractValue]) -> list[int]:
    """The alternatives to apply ``use`` to. None, which stands for a value that is not there yet, is left out if it
    cannot be used so: it is Python's error at run time."""
    left = list(range(len(owner.options)))
    none = _place_of_none(owner)
    if none is None:
        return left
    try:
        discard(trace(frame, lambda: use(NONE)).block)
    except AdcError as refusal:
        error = _OF_NONE.get(refusal.kind)
        if refusal.loc != current_loc() or error is None:
            raise refusal.helped(TEST_FIRST) from None
        left.remove(none)
        _trap_none(owner, none, error, refusal.message)
    return left


def _place_of_none(v: AbstractValue) -> int | None:
    """The position of None among the alternatives of a value, if others are run-time values."""
    if not isinstance(v, OneOf) or all(isinstance(one, Static) for one in v.options):
        return None
    return next((k for k, one in enumerate(v.options) if isinstance(one, Static) and one.value is None), None)


def _trap_none(v: OneOf, none: int, error: str, message: str) -> None:
    there = ops.cmpi(v.position, const_index(none), predicate="ne")
    trap_unless(there, error, escape(message))


def there(v: AbstractValue, message: str, error: str = "TypeError") -> AbstractValue:
    """The other value of one that may be None, for uses that do not accept None: a run-time error if it is None."""
    none = _place_of_none(v)
    if none is None or not isinstance(v, OneOf) or len(v.options) > 2:
        return v
    _trap_none(v, none, error, message)
    return v.options[1 - none]


def of_none(frame: Frame, refusal: AdcError, *used: AbstractValue) -> AdcError:
    """The refusal of a use of these values. If one is None, on a path that may not be taken, it is an error of the
    run, and ends the path: ``if k > 0: d = x - last`` where ``last`` is None before the loop."""
    none = any(isinstance(v, Static) and v.value is None for v in used)
    if none and current_block() is not frame.func.body:
        raise_now(frame, _OF_NONE[refusal.kind], escape(refusal.message))
    return refusal


def split_all(
    frame: Frame, values: Sequence[AbstractValue], use: Callable[[list[AbstractValue]], AbstractValue]
) -> AbstractValue:
    """``use(values)``, for each of the alternatives of values that are chosen at run time."""
    for k, v in enumerate(values):
        if isinstance(v, OneOf):
            rest = lambda one, k=k: split_all(frame, [*values[:k], one, *values[k + 1 :]], use)  # noqa: E731
            return split(frame, v, rest)
    return use(list(values))
