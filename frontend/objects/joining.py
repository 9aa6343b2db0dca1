"""Merging paths: which objects are the same, and values joined item by item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adc.frontend import abstract
from adc.frontend.data.callables import function_of
from adc.frontend.data.compounds import Contents, Handle, OneOf
from adc.frontend.data.described import Same, describe
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import GONE, AbstractValue, Array, Compound, Ref, Scalar, Static, Unbound
from adc.frontend.frame import Frame
from adc.frontend.objects import heap, list_pools
from adc.frontend.objects.merge import Clash, join

Pairs = dict[str, tuple[AbstractValue | None, AbstractValue | None]]
Env = Mapping[str, AbstractValue]


def identical(a: AbstractValue, b: AbstractValue) -> bool:
    """Whether two values are known to be the same."""
    if a is b:
        return True
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return a.value is b.value and a.weak == b.weak
    if isinstance(a, Array) and isinstance(b, Array):
        return a.memref is b.memref
    if isinstance(a, Static) and isinstance(b, Static):
        return abstract.Static(a.value) == abstract.Static(b.value)
    if isinstance(a, Compound) and isinstance(b, Compound) and a.form == b.form and len(a.items) == len(b.items):
        return all(identical(x, y) for x, y in zip(a.items, b.items, strict=True))
    return False


def join_values(a: AbstractValue, b: AbstractValue) -> abstract.Abstract:
    """Like ``join`` of their types; items of objects that are the same value on both paths are kept."""
    if isinstance(a, Contents) and isinstance(b, Contents) and a.form == b.form and len(a.items) == len(b.items):
        items: list[abstract.Abstract] = []
        for k, (x, y) in enumerate(zip(a.items, b.items, strict=True)):
            try:
                items.append(Same(x) if identical(x, y) and not isinstance(x, Static) else join_values(x, y))
            except Clash as clash:
                shown = f"its {a.form.label(k)} is {describe_type(x)} and {describe_type(y)}"
                raise Clash(f"{shown}: {clash}") from None
        return abstract.Tuple(tuple(items), a.form)
    return join(describe(a), describe(b))


class Narrowing(Exception):
    """A literal before a loop must be a NumPy number: the loop ``carry`` must start with ``spec``."""

    def __init__(self, carry: Any, name: str, spec: abstract.Abstract) -> None:
        super().__init__(name)
        self.carry = carry
        self.name = name
        self.spec = spec


def narrow(frame: Frame, name: str, a: abstract.Abstract, b: abstract.Abstract) -> None:
    """If a variable was a literal before an enclosing loop and is combined with float32 or int32 inside: raise
    ``Narrowing``.

    ``s = 0.0`` before loops that add float32 numbers to it is float32 from the beginning; in NumPy it is from the first
    addition on.
    """
    for spec, other in ((a, b), (b, a)):
        wide = isinstance(spec, abstract.Scalar) and spec.weak and isinstance(other, abstract.Scalar)
        if not wide or not isinstance(other, abstract.Scalar) or other.weak:
            continue
        for carry in reversed(frame.loops):
            start, now = carry.before.get(name), carry.specs.get(name)
            if not isinstance(start, Static) or not isinstance(now, abstract.Scalar) or not now.weak:
                continue
            try:
                wanted = join(describe(start), other)
            except Clash:
                return
            if wanted == other:
                raise Narrowing(carry, name, wanted)


def narrow_values(frame: Frame, a: AbstractValue, b: AbstractValue) -> None:
    """Like ``narrow``, for each variable that has one of the values: in ``max(s, x)``, ``s`` meets float32 as in ``s +
    x``."""
    for name in [n for n, v in frame.env.items() if identical(v, a) or identical(v, b)]:
        narrow(frame, name, describe(a), describe(b))


def want_pools(frame: Frame, a: AbstractValue | None, b: AbstractValue | None) -> None:
    """If one of two values is an object in a pool, have the other in that pool as well."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Ref):
            options = other.options if isinstance(other, OneOf) else [other]
            if any(isinstance(v, Handle) and v.form.cls is one.cls for v in options):
                frame.want_pool(one)
            if any(map(list_pools.is_row, options)):
                frame.want_list(one)


def same_objects(frame: Frame, first: Env, second: Env, pairs: Pairs) -> None:
    """Add to ``pairs`` the contents of objects on two paths that differ or that the paths made.

    If a value is one object on one path and another on the other, it becomes a new one that may be either. The frame's
    variables are still those before the paths.
    """
    before = frame.env
    cells = {n for env in (first, second) for n, v in env.items() if heap.is_cell(n) and before.get(n) is not v}
    for name in sorted(n for n in cells if n in before):
        pairs[name] = first.get(name), second.get(name)
    found: dict[tuple[str, str], Ref] = {}
    done: set[str] = set()

    def need(ref: Ref) -> None:
        """Note that the object is needed after the paths, though only one of them may have made it."""
        if ref.key in done or (ref.key in before and ref.key not in pairs):
            return
        done.add(ref.key)
        a, b = (env.get(ref.key, GONE) for env in (first, second))
        pairs[ref.key] = meet(a, b)

    def meet(a: AbstractValue | None, b: AbstractValue | None) -> tuple[AbstractValue | None, AbstractValue | None]:
        want_pools(frame, a, b)
        if isinstance(a, Ref) and isinstance(b, Ref) and a is not b and a.kind == b.kind and a.cls is b.cls:
            return (same := either(a, b)), same
        if isinstance(a, Compound) and isinstance(b, Compound) and _alike(a, b):
            met = [meet(x, y) for x, y in zip(a.items, b.items, strict=True)]
            return _with(a, [x for x, _ in met]), _with(b, [y for _, y in met])
        for value in (a, b):
            for ref in heap.refs_of(value):
                need(ref)
        return a, b

    def either(a: Ref, b: Ref) -> Ref:
        known = found.get((a.key, b.key))
        if known is None:
            known = found[a.key, b.key] = heap.merged(frame, a, b)
            done.add(known.key)
            pairs[known.key] = meet(_held(first, a), _held(second, b))
        return known

    for name, (a, b) in list(pairs.items()):
        if isinstance(a, Unbound) and isinstance(b, Unbound):
            x, y = meet(a.value, b.value)
            assert x is not None and y is not None
            pairs[name] = Unbound(a.flag, x), Unbound(b.flag, y)
        else:
            pairs[name] = meet(a, b)


def _alike(a: Compound, b: Compound) -> bool:
    """Whether two values are joined item by item; different functions are alternatives."""
    if a.form != b.form or len(a.items) != len(b.items):
        return False
    return function_of(a) == function_of(b)


def _held(env: Env, ref: Ref) -> AbstractValue | None:
    value = env.get(ref.key, GONE)
    return value.value if isinstance(value, Unbound) else value


def _with(v: Compound, items: list[AbstractValue | None]) -> Compound:
    if all(new is old for new, old in zip(items, v.items, strict=True)):
        return v
    return v.of(item for item in items if item is not None)


def hinted(spec: abstract.Abstract, hint: abstract.Abstract | None) -> abstract.Abstract:
    try:
        return spec if hint is None else join(spec, hint)
    except Clash:
        return spec


def differ_in_weakness(a: abstract.Abstract, b: abstract.Abstract) -> bool:
    return isinstance(a, abstract.Scalar) and isinstance(b, abstract.Scalar) and a.type == b.type
