"""Checks of functions with rules."""

from __future__ import annotations

from adc.frontend.data.callables import Closure, Partial
from adc.frontend.data.compounds import Contents
from adc.frontend.data.roots import Roots, grounded
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Array, Compound, Scalar, Static
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.objects.merge import arrays
from adc.frontend.rules.functions import loc_of
from adc.frontend.rules.layout import Values
from adc.frontend.rules.registry import Rule, name_of
from adc.ir import kinds


def check_effects(frame: Frame, before: Values, main: Rule, rule: Rule | None) -> None:
    """Refuse rules for functions that modify their arguments, and rules that do."""
    written = grounded(frozenset(frame.written)) & set(frame.argument_roots.values())
    changed = [ref.key for ref, _ in frame.heap.given if frame.env.get(ref.key) is not before.get(ref.key)]
    if not written and not changed:
        return
    main = rule or main
    name = name_of(main.function)
    who = name if rule is None else f"the {main.kind} of {name}"
    what = f"'{min(root.name for root in written)}'" if written else "an object"
    raise refuse(
        loc_of(main),
        f"{who} changes {what}, which it was given: rules are for functions without such effects",
        "return what is new, or take the rule away",
        kind=kinds.WRONG_RULE,
    )


def check_result(frame: Frame, result: AbstractValue, rule: Rule) -> None:
    """Refuse results for which cotangents would be ambiguous."""
    name = name_of(rule.function)
    if _holds_objects(result):
        message = f"{name} has a rule and returns {describe_type(result)}"
        help = "return numbers, arrays, or tuples of them"
        raise refuse(loc_of(rule), message, help, kind=kinds.WRONG_RULE)
    seen: Roots = frozenset()
    for found in arrays(result):
        roots = grounded(found.roots)
        if not roots.isdisjoint(frame.argument_roots.values()):
            message = f"{name} has a rule and may return an array that it was given, or a view of one"
            raise refuse(loc_of(rule), message, "return a copy", kind=kinds.WRONG_RULE)
        if roots & seen:
            message = f"{name} has a rule and may return one array twice"
            raise refuse(loc_of(rule), message, "return a copy", kind=kinds.WRONG_RULE)
        seen |= roots


def _holds_objects(v: AbstractValue) -> bool:
    if isinstance(v, Compound):
        return isinstance(v, Closure | Partial | Contents) or any(map(_holds_objects, v.items))
    return not isinstance(v, Scalar | Array | Static)
