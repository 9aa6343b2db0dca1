"""Objects in loops: their contents are carried like variables, as far as the body changes them.

A variable, or an item of another object, may be one object before the loop and another after an iteration. It then
stands for a new object, which may be any of them (``heap.merged``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from adc.frontend import abstract
from adc.frontend.data.callables import function_of
from adc.frontend.data.compounds import Contents
from adc.frontend.data.described import Maybe, Same, describe, widen
from adc.frontend.data.values import AbstractValue, Array, Compound, Poison, Ref, Static, Unbound
from adc.frontend.errors import refuse
from adc.frontend.objects import heap
from adc.frontend.objects.alternatives import alternatives, options_of
from adc.frontend.objects.joining import identical, want_pools
from adc.frontend.objects.merge import Clash, array_count, arrays, differing, join
from adc.ir import kinds
from adc.ir.builder import current_loc

if TYPE_CHECKING:
    from adc.frontend.control.carry import Carry


def settle_objects(carry: Carry) -> bool:
    """Make ``carry`` carry the contents of objects that the body changed. Whether it already did."""
    return _Settling(carry).run()


class _Settling:
    def __init__(self, carry: Carry) -> None:
        self.carry = carry
        self.end = carry.frame.env
        self.good = True
        self.sources: dict[str, Ref] = {}  # objects made by the body, and what each becomes in the next iteration
        self.held: dict[str, AbstractValue] = {}

    def run(self) -> bool:
        carry, end = self.carry, self.end
        work = [*carry.specs]
        for key in heap.changed(carry.head, end):
            if isinstance(end[key], Poison):
                heap.unroll(carry.frame, [carry])
                if not isinstance(carry.before[key], Poison):
                    carry.before[key] = end[key]
                    self.good = False
                carry.specs.pop(key, None)
            elif key not in work:
                work.append(key)
        done: set[str] = set()
        while work:
            name = work.pop(0)
            value = self.held.get(name) or end.get(name)
            if name in done or name not in carry.before or value is None:
                continue
            done.add(name)
            start, value = self._met(name, carry.before[name], carry.head[name], value)
            if start is not carry.before[name]:
                carry.before[name] = start
                carry.specs[name] = widen(describe(start))
            self.held[name] = value
            work += [key for key in self.held if key not in done and key not in work]
        for name, value in self.held.items():
            end[name] = value
            if heap.is_cell(name) and name not in carry.specs:
                held = carry.before[name]
                if isinstance(held, Poison):
                    continue
                assert isinstance(held, Contents)
                carry.specs[name] = _fixed(held)
                self.good = False
        return self.good

    def _met(
        self, place: str, start: AbstractValue, head: AbstractValue, end: AbstractValue
    ) -> tuple[AbstractValue, AbstractValue]:
        """A value before the loop and at the end of the body, with objects that differ replaced by one for both."""
        want_pools(self.carry.frame, head, end)
        if isinstance(head, Ref) and isinstance(end, Ref) and head.cls is end.cls:
            if head is not end:
                return self._either(place, head, end)
            if self.carry.chosen.get(place) is head:
                self._source(place, head, end)
        if isinstance(head, Unbound) or isinstance(end, Unbound):
            return start, end
        if (
            isinstance(start, Compound)
            and isinstance(head, Compound)
            and isinstance(end, Compound)
            and start.form == end.form
            and len(start.items) == len(head.items) == len(end.items)
            and function_of(start) == function_of(end)
        ):
            met = [
                self._met(f"{place}.{k}", *items)
                for k, items in enumerate(zip(start.items, head.items, end.items, strict=True))
            ]
            starts, ends = [s for s, _ in met], [e for _, e in met]
            if any(a is not b for a, b in zip(starts, start.items, strict=True)):
                start = start.of(starts)
            if any(a is not b for a, b in zip(ends, end.items, strict=True)):
                end = end.of(ends)
        return start, end

    def _either(self, place: str, head: Ref, end: Ref) -> tuple[AbstractValue, AbstractValue]:
        carry, frame = self.carry, self.carry.frame
        chosen = carry.chosen.get(place)
        if chosen is None:
            siblings = {ref.key: carry.initial[ref.key] for ref in carry.chosen.values()}
            chosen = carry.chosen[place] = heap.merged(frame, head, head, siblings)
            carry.initial[chosen.key] = head
            for other in carry.chosen.values():
                if other is not chosen and carry.initial[other.key] is head:
                    heap.relate(frame, chosen, other)
            carry.before[chosen.key] = carry.before[head.key]
            carry.head[chosen.key] = carry.head[head.key]
            self.good = False
        known = [ref.key for ref in carry.chosen.values()]
        if end.key in known:  # they swap
            for origin in frame.heap.kin.get(end.key, set()) - {chosen.key, *known}:
                self.good = not heap.relate(frame, chosen, frame.heap.refs[origin], known) and self.good
        elif end.key in carry.before:
            self.good = not heap.relate(frame, chosen, end, known) and self.good
        self._source(place, chosen, end)
        held = self.end[end.key]
        self.held.setdefault(chosen.key, held.value if isinstance(held, Unbound) else held)
        return chosen, chosen

    def _source(self, place: str, chosen: Ref, end: Ref) -> None:
        """Note that ``end`` becomes ``chosen`` in the next iteration. Two that become one may be the same from then
        on."""
        frame = self.carry.frame
        first = self.sources.setdefault(end.key, chosen)
        if first is chosen:
            return
        if end.key not in self.carry.before:
            frame.want_pool(end)
            raise refuse(
                frame.assigned_at.get(place.split(".")[0], current_loc()),
                f"one {end.cls.__name__} has several names after an iteration of this loop",
                "give each name an object of its own",
                kind=kinds.NOT_CONSTANT,
            )
        self.good = not heap.relate(frame, first, chosen) and self.good


def _fixed(start: Contents) -> abstract.Abstract:
    return abstract.Tuple(tuple(Same(item) for item in start.items), start.form)


def widened_contents(start: Contents, spec: abstract.Abstract, end: AbstractValue) -> abstract.Abstract:
    """The type of the contents of an object at the head of a loop, given the contents at the end of the body. Raises
    ``Clash``.

    Items that the body does not change are not carried: they keep their value from before the loop.
    """
    assert isinstance(spec, abstract.Tuple)
    if not isinstance(end, Contents) or end.form != start.form or len(end.items) != len(start.items):
        raise Clash(differing(spec, describe(end)))
    items: list[abstract.Abstract] = []
    for first, now, last in zip(start.items, spec.items, end.items, strict=True):
        if not isinstance(now, Same):
            items.append(join(now, widen(describe(last))))
        elif identical(now.value, last):
            items.append(now)
        else:
            items.append(widen(join(describe(first), widen(describe(last)))))
    return abstract.Tuple(tuple(items), start.form)


def objects_in_choices(a: abstract.Abstract, inside: bool = False) -> list[Ref]:
    """The objects inside alternatives, such as those of bound methods: which objects these are must be known."""
    if isinstance(a, Same):
        return [a.value] if inside and isinstance(a.value, Ref) else []
    if isinstance(a, Maybe):
        return objects_in_choices(a.item, inside)
    if not isinstance(a, abstract.Tuple):
        return []
    return [ref for item in a.items for ref in objects_in_choices(item, inside or a.form.kind == "choice")]


def carried_arrays(v: AbstractValue, spec: abstract.Abstract) -> list[Array | None]:
    """The arrays of ``v`` in the order of ``spec``, without those in ``Same``; None for those of alternatives that
    ``v`` is not."""
    if isinstance(spec, Same):
        return []
    if isinstance(spec, Maybe):
        return carried_arrays(v.value if isinstance(v, Unbound) else v, spec.item)
    if isinstance(spec, abstract.Tuple) and spec.form.kind == "choice":
        found: list[Array | None] = []
        given = options_of(v)
        for key, t in alternatives(spec).items():
            found += carried_arrays(given[key], t) if key in given else [None] * array_count(t)
        return found
    if isinstance(v, Compound) and isinstance(spec, abstract.Tuple) and len(v.items) == len(spec.items):
        return [a for item, s in zip(v.items, spec.items, strict=True) for a in carried_arrays(item, s)]
    return list(arrays(v))


def made_in(carry: Carry, value: AbstractValue) -> list[tuple[str, AbstractValue]]:
    """The contents of objects that the body made, as far as they are reachable from ``value``."""
    env, found = carry.frame.env, dict[str, AbstractValue]()
    work = [value]
    while work:
        for ref in heap.refs_of(work.pop()):
            if ref.key not in carry.before and ref.key not in found:
                held = env[ref.key]
                found[ref.key] = held
                if not isinstance(held, Static | Poison):
                    work.append(held)
    return list(found.items())
