"""Which rule a call takes: of those whose types fit the arguments, the most specific."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from adc.frontend import abstract, kernels
from adc.frontend.abstract import Abstract
from adc.frontend.annotations import parse_type
from adc.frontend.data.callables import Closure
from adc.frontend.data.values import AbstractValue, Array, Compound, Lazy, Ref, Scalar, Static
from adc.frontend.errors import refuse
from adc.frontend.rules.registry import RULES, Rule
from adc.ir import kinds
from adc.ir.builder import current_loc
from adc.ir.lazy_dataclass import dataclass

_WEAK = {"f64": float, "f32": float, "i64": int, "i32": int, "bool": bool}


@dataclass(frozen=True)
class Chosen:
    """The rules by which a call of ``function`` is differentiated: a direct one for each mode is preferred.

    There is at least one. If ``reverse`` is None it follows from ``forward``, and vice versa.
    """

    function: Any
    reverse: Rule | None
    forward: Rule | None

    @property
    def text(self) -> str:
        """The name of the rules in messages."""
        return "; ".join(dict.fromkeys(str(r) for r in (self.reverse, self.forward) if r is not None))

    @property
    def kernel(self) -> Any:
        """The function, if it is compiled by itself and the rules are the ones it came with; else None."""
        function, reverse = self.function, self.reverse
        own = reverse is not None and reverse.implementation is kernels.REVERSE.get(function)
        return function if own and function in kernels.COMPILED_ONCE else None

    @property
    def main(self) -> Rule:
        rule = self.reverse or self.forward
        assert rule is not None
        return rule


def choose(function: Any, args: Sequence[AbstractValue]) -> Chosen | None:
    """The rules for a call with these positional arguments; None if there are none, or the best match declares this."""
    fitting = [rule for rule in RULES.of(function) if _fits(rule, args)]
    reverse = _best([r for r in fitting if r.kind in ("rrule", "scalar", "none")], ("rrule", "scalar"), len(args))
    forward = _best([r for r in fitting if r.kind in ("frule", "scalar", "none")], ("frule", "scalar"), len(args))
    reverse, forward = (None if rule is None or rule.kind == "none" else rule for rule in (reverse, forward))
    if forward is not None and reverse is None and _hidden(forward, fitting, len(args)):
        return None
    return Chosen(function, reverse, forward) if reverse is not None or forward is not None else None


def _hidden(rule: Rule, fitting: Sequence[Rule], count: int) -> bool:
    """Whether a declaration that there is no rule is more specific."""
    return any(r.kind == "none" and _before(r, rule, count) for r in fitting)


def _best(rules: Sequence[Rule], direct: tuple[str, ...], count: int) -> Rule | None:
    if not rules:
        return None
    best = [r for r in rules if not any(_before(other, r, count) for other in rules)]
    if len(best) > 1:
        equal = all(_same(best[0], r, count) for r in best[1:])
        if not equal:
            places = " and ".join(f"{r} ({r.file}:{r.line})" for r in best[:2])
            raise refuse(
                current_loc(),
                f"two rules fit this call, and none is more specific: {places}",
                "add a rule for the types of this call",
                kind=kinds.WRONG_RULE,
            )
        best.sort(key=lambda r: (*direct, "none").index(r.kind))
    return best[0]


def _same(a: Rule, b: Rule, count: int) -> bool:
    return all(a.type_at(k) == b.type_at(k) for k in range(count))


def _before(a: Rule, b: Rule, count: int) -> bool:
    """Whether ``a`` is more specific than ``b`` for ``count`` arguments."""
    pairs = [(a.type_at(k), b.type_at(k)) for k in range(count)]
    if all(_narrower(x, y) for x, y in pairs):
        if any(x != y for x, y in pairs):
            return True
        return a.rest is None and b.rest is not None
    return False


def _narrower(a: Any, b: Any) -> bool:
    """Whether type ``a`` is ``b`` or part of it."""
    if a == b or b is object:
        return True
    if isinstance(a, Abstract):
        if isinstance(b, Abstract):
            return _within(a, b)
        return _is_subclass(_class_of_type(a), b)
    return not isinstance(b, Abstract) and _is_subclass(a, b)


def _is_subclass(a: type, b: type) -> bool:
    """Whether ``a`` is a subclass of ``b``, also for numbers as meant in annotations: an int counts as a float, and
    NumPy's numbers as Python's."""
    if b is float:
        return issubclass(a, float | int | np.floating | np.integer | np.bool_)
    if b is int:
        return issubclass(a, int | np.integer | np.bool_)
    return issubclass(a, b)


def _within(a: Abstract, b: Abstract) -> bool:
    if isinstance(a, abstract.Array) and isinstance(b, abstract.Array):
        return (a.element, a.rank) == (b.element, b.rank) and b.layout == "any"
    if isinstance(a, abstract.Scalar) and isinstance(b, abstract.Scalar):
        return a.type == b.type
    return a == b


def _class_of_type(a: Abstract) -> type:
    if isinstance(a, abstract.Array):
        return np.ndarray
    if isinstance(a, abstract.Scalar):
        return _WEAK[abstract.dtype_name(a.type)] if a.weak else abstract.numpy_dtype(a.type).type
    return tuple


def _fits(rule: Rule, args: Sequence[AbstractValue]) -> bool:
    if not rule.takes(len(args)):
        return False
    if rule.kind == "scalar" and not all(_is_number(a) for a in args):
        return False
    return all(_is(a, rule.type_at(k)) for k, a in enumerate(args))


def _is_number(v: AbstractValue) -> bool:
    return isinstance(v, Scalar) or (isinstance(v, Static) and isinstance(v.value, int | float | np.generic))


def _is(v: AbstractValue, t: Any) -> bool:
    if t is object:
        return True
    if not isinstance(t, Abstract):
        return _is_subclass(class_of(v), t)
    if isinstance(t, abstract.Scalar):
        dtype = v.dtype if isinstance(v, Scalar) else None
        if isinstance(v, Static) and _is_number(v):
            dtype = abstract.DTYPES[np.asarray(v.value).dtype]
        return dtype == t.type
    if isinstance(t, abstract.Array):
        if not isinstance(v, Array | Lazy) or (v.dtype, v.rank) != (t.element, t.rank):
            return False
        return t.layout == "any" or isinstance(v, Lazy) or v.layout == "C"
    items = v.items if isinstance(v, Compound) else ()
    wanted = t.items if isinstance(t, abstract.Tuple) else ()
    return len(items) == len(wanted) and all(map(_is, items, wanted))


def class_of(v: AbstractValue) -> type:
    """The Python class that the value has."""
    if isinstance(v, Static):
        return type(v.value)
    if isinstance(v, Scalar):
        return _WEAK[abstract.dtype_name(v.dtype)] if v.weak else abstract.numpy_dtype(v.dtype).type
    if isinstance(v, Array | Lazy):
        return np.ndarray
    if isinstance(v, Closure):
        return types.FunctionType
    if isinstance(v, Ref):
        return v.cls
    return v.form.cls if isinstance(v, Compound) else object


def types_of(
    implementation: Callable[..., Any], skipped: int, names: Mapping[str, Any]
) -> tuple[tuple[Any, ...], Any]:
    """The types that a rule is for, by the annotations of its positional parameters, without the first ``skipped``
    ones.

    ``names`` are variables that annotations may name, besides those of the module. Raises ``ValueError`` for an
    annotation that is not a type.
    """
    found: list[Any] = []
    rest = None
    parameters = list(inspect.signature(implementation).parameters.values())
    given = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for p in given[skipped:]:
        found.append(as_type(_evaluated(p.annotation, implementation, names), p.name))
    for p in parameters:
        if p.kind is p.VAR_POSITIONAL:
            rest = as_type(_evaluated(p.annotation, implementation, names), p.name)
    return tuple(found), rest


def _evaluated(annotation: Any, implementation: Callable[..., Any], names: Mapping[str, Any]) -> Any:
    """An annotation given as text (as under ``from __future__ import annotations``), evaluated."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, getattr(implementation, "__globals__", {}), names)
    except Exception:
        return annotation


def as_type(annotation: Any, name: str) -> Any:
    """A type to select by: a class, a type of adc's such as ``"f64[:, :]"``, or ``object`` for anything."""
    if annotation in (inspect.Parameter.empty, Any, object):
        return object
    if isinstance(annotation, Abstract):
        return annotation
    if isinstance(annotation, str):
        return parse_type(annotation)
    if annotation is None:
        return type(None)
    origin = getattr(annotation, "__origin__", annotation)
    if isinstance(origin, type):
        return origin
    raise ValueError(f"the annotation of '{name}' is not a type to select a rule by: {annotation!r}")
