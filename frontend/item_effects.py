"""What computing the items of a comprehension changes: found by tracing that and throwing the code away.

A list is complete before a function gets it. If computing one item changes the memory that another refers to, or what
the function does not need is computed for its effects, that differs from computing items one by one as they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from adc.frontend.control.branches import trace
from adc.frontend.data.roots import Root, older, overlap
from adc.frontend.data.values import AbstractValue, Array, Compound, Ref, Unbound
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame, discard
from adc.frontend.objects import heap
from adc.ir import kinds
from adc.ir.core import Loc
from adc.ir.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Effects:
    """``objects``: whether objects are changed; ``memory``: whether arrays from before are; ``on_items``: whether these
    are ones that the items have, or are views of."""

    objects: bool
    memory: bool
    on_items: bool


Compute = Callable[[Callable[[AbstractValue], None]], AbstractValue | None]
"""Computes one item or more, and gives each to a function that looks at it."""


def tried(frame: Frame, compute: Compute) -> tuple[AbstractValue | None, Effects]:
    """The result of ``compute``, whose code is thrown away, and its effects."""
    before, written, held = frame.order + 1, frame.written, set[Root]()
    frame.written = set()

    def look(item: AbstractValue) -> None:
        held.update(*(found.roots for found in _arrays(frame, item)))

    try:
        traced = trace(frame, lambda: compute(look))
    finally:
        changed, frame.written = older(frozenset(frame.written), before), written
    discard(traced.block)
    on_items = overlap(older(frozenset(held), before), changed)
    return traced.result, Effects(traced.mutates, bool(changed), on_items)


@contextmanager
def unchanged_meanwhile(frame: Frame, gathers: str, loc: Loc, shown: str) -> Iterator[None]:
    """Refuse what changes objects or arrays from before, other than the object ``gathers``, while items that were
    computed ahead are gone through: in Python these are computed as they are asked for."""
    env, before, written = dict(frame.env), frame.order + 1, frame.written
    own = {root for a in _arrays(frame, frame.heap.refs.get(gathers)) for root in a.roots}
    frame.written = set()
    try:
        yield
        changed = [key for key in heap.changed(env, frame.env) if key != gathers and not _is_pool(frame, key)]
        memory = (root for root in older(frozenset(frame.written), before) if root not in own)
        if changed or any(not overlap(frozenset({root}), frozenset(own)) for root in memory):
            raise refuse(
                loc,
                f"{shown} would be computed ahead of what is changed for its items",
                "if that does not matter, make a list of it first: xs = list(...)",
                kind=kinds.UNSUPPORTED_EXPRESSION,
            )
    finally:
        written |= frame.written
        frame.written = written


def _is_pool(frame: Frame, key: str) -> bool:
    return any(pool.key == key for pool in frame.heap.pools.values())


def _arrays(frame: Frame, v: AbstractValue | None) -> Iterator[Array]:
    if isinstance(v, Array):
        yield v
    parts = v.items if isinstance(v, Compound) else (v.value,) if isinstance(v, Unbound) else ()
    if isinstance(v, Ref):
        parts = heap.contents(frame, v).items
    for part in parts:
        yield from _arrays(frame, part)
