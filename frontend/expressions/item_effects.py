"""What computing the items of a comprehension changes: found by tracing that and throwing the code away.

A list is complete before a function gets it. If computing one item changes the memory that another refers to, or what
the function does not need is computed for its effects, that differs from computing items one by one as they are used.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from adc.frontend.control.branches import trace
from adc.frontend.data.roots import Root, older, overlap
from adc.frontend.data.values import AbstractValue, Array, Compound, Ref, Unbound
from adc.frontend.expressions.evaluation import evaluate_kept, may_write
from adc.frontend.frame import Frame, discard
from adc.frontend.objects import heap


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


def one_by_one(frame: Frame, callee: Any, node: ast.ListComp, run: Callable[[Callable[[], None]], None]) -> bool:
    """Whether ``callee``, one of ``sum``, ``min``, ``max``, ``any`` and ``all``, may get the items of a list as they
    are computed. ``run`` walks through the comprehension and calls what it is given for each item."""
    if callee in (builtins.min, builtins.max) or not _may_write(frame, node.elt):
        return True

    def compute(look: Callable[[AbstractValue], None]) -> None:
        run(lambda: look(evaluate_kept(frame, node.elt)))

    _, effects = tried(frame, compute)
    return not (effects.on_items if callee is builtins.sum else effects.objects or effects.memory)


def _may_write(frame: Frame, item: ast.expr) -> bool:
    into = (
        len(call.args) > 2 or any(keyword.arg == "out" for keyword in call.keywords)
        for call in ast.walk(item)
        if isinstance(call, ast.Call)
    )
    return may_write(frame, item) or any(into)


def _arrays(frame: Frame, v: AbstractValue) -> Iterator[Array]:
    if isinstance(v, Array):
        yield v
    parts = v.items if isinstance(v, Compound) else (v.value,) if isinstance(v, Unbound) else ()
    if isinstance(v, Ref):
        parts = heap.contents(frame, v).items
    for part in parts:
        yield from _arrays(frame, part)
