"""``adc.find_culprit``: from a call to the search for the derivative that is wrong in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adc.alignment import Borrowed
from adc.bound import taken_apart
from adc.boundary import public
from adc.checks import culprit
from adc.checks.culprit import Culprit
from adc.compiler import Staged
from adc.containers import lower
from adc.decorator import function_of
from adc.overlap import with_overlap
from adc.signature import abstracts_of, normalise
from adc.specialise import Specialisation


@public
def find_culprit(
    fn: Callable[..., Any], /, *args: Any, tolerance: float = 1e-5, _rules_only: bool = False, **kwargs: Any
) -> Culprit | None:
    """The rule, operation or function whose derivative is wrong in a call of ``fn``; None if all are right.

    Each is tested alone, in both modes, with what the call passes to it, in ``fn`` and in what it calls. A derivative
    is wrong if it differs from finite differences by more than ``tolerance``, relative to the larger of the two. It
    runs in the interpreter, so use small inputs. The result prints with the source line, that of the rule, and the
    calls that lead there.
    """
    if (part := taken_apart(fn)) is not None:
        fn, args, kwargs = part.func, (*part.args, *args), {**part.keywords, **kwargs}
    subject = function_of(fn)._subject
    lowered = lower(subject.parameters.names, subject.parameters.bind(args, kwargs))
    borrowed = Borrowed()
    values = normalise(subject.parameters.names, lowered.values, borrowed, lowered.shapes)
    types = abstracts_of(subject.parameters.names, values, lowered.shapes)
    staged = Staged(subject, with_overlap(subject, types, values, borrowed))
    traced = staged.traced()
    return culprit.find(traced, Specialisation(staged, traced).leaf_values(values), tolerance, rules_only=_rules_only)
