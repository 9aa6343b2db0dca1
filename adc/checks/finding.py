"""``adc.find_culprit``: searches a call for the derivative that is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adc.border.boundary import public
from adc.checks import culprit
from adc.checks.culprit import Culprit
from adc.checks.tracing import of_several_ranks, traced_call
from adc.driver.specialise import Specialisation
from adc.passes.differentiation.activity.ranks import refuse_ranks


@public
def find_culprit(
    fn: Callable[..., Any], /, *args: Any, tolerance: float = 1e-5, _rules_only: bool = False, **kwargs: Any
) -> Culprit | None:
    """The rule, operation or function whose derivative is wrong in a call of ``fn``; None if all are right.

    Each is tested alone, in both modes, with values that occur in the call, in ``fn`` and its callees. A derivative is
    wrong if it differs from finite differences by more than ``tolerance``, relative to the larger of the two. It runs
    in the interpreter, so use small inputs. The printed result shows the source line, the line of the rule, and the
    calls that lead there.
    """
    staged, traced, values = traced_call(fn, args, kwargs)
    if of_several_ranks(traced):
        help = "look for it on one rank; adc.check_grads compares derivatives on several"
        refuse_ranks(traced.module, traced.entry, "the search for what is wrong in derivatives", help)
    return culprit.find(traced, Specialisation(staged, traced).leaf_values(values), tolerance, rules_only=_rules_only)
