"""Lists that are refused because their length is only known at run time, where it may be known when they are compiled.

The loops that make them are then unrolled, or the lists have a known length, in another attempt (``Attempt.decides``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from adc.frontend.data.compounds import Contents
from adc.frontend.data.dims import dim_value, same_dim
from adc.frontend.data.values import AbstractValue, Ref
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame, discard
from adc.frontend.objects import columns, item_shapes, rows
from adc.ir import kinds, ops
from adc.ir.builder import current_loc, insert_at
from adc.ir.core import Block, Loc, Value
from adc.ir.diagnostics import AdcError, CompileError


def check_append(frame: Frame, ref: Ref, held: Contents, shapes: Sequence[columns.Shape]) -> None:
    """An item of these shapes is appended. If they change with the iterations of a loop, it has to be unrolled."""
    attempt = frame.tracer.attempt
    around = [at for at in attempt.open_around(_site(frame, ref)) if at not in attempt.repeated]
    loops = [c for c in frame.loops if c.inside is not None]
    others = _other_sizes(held, shapes) if around or loops else []
    if around and any(_changes(frame, size, before) for size, before in others):
        raise _uneven(tuple(around))
    for loop in loops:
        at = frame.loc(loop.stmt)
        known = attempt.may_decide(at)
        if (known or attempt.sizable) and any(_follows(loop, size, before) for size, before in others):
            raise _uneven((at,) if known else ())


def check_store(frame: Frame, ref: Ref, held: Contents, shapes: Sequence[columns.Shape]) -> None:
    """An item of these shapes takes the place of another. If they may differ, each item has to be kept by itself."""
    site = tuple(at for at in _site(frame, ref) if frame.tracer.attempt.may_decide(at))
    if site and _other_sizes(held, shapes):
        raise _uneven(site)


@contextmanager
def may_help(frame: Frame, args: Iterable[AbstractValue]) -> Iterator[None]:
    """A library function is called. What it does not do with lists of run-time length it may do with others."""
    try:
        yield
    except CompileError as error:
        if any(rows.grows(frame, a) for a in args):
            attempt = frame.tracer.attempt
            error.undecided = (*error.undecided, *attempt.open_around(reversed(attempt.decidable)))
        raise


def _uneven(undecided: tuple[Loc, ...]) -> AdcError:
    refusal = refuse(current_loc(), columns.UNEVEN, kind=kinds.NOT_CONSTANT)
    refusal.undecided = undecided
    return refusal


def _site(frame: Frame, ref: Ref) -> list[Loc]:
    return [frame.heap.sites[ref.key]] if ref.key in frame.heap.sites else []


def _other_sizes(held: Contents, shapes: Sequence[columns.Shape]) -> list[tuple[Value, Value]]:
    """The extents of an item that may not be those of the list's items, each with that."""
    scratch = Block()
    with insert_at(scratch):
        both = zip(item_shapes.shapes_in(held), shapes, strict=True)
        pairs = [(a, b) for old, new in both for a, b in zip(old or (), new or (), strict=True) if not same_dim(a, b)]
        found = [(dim_value(b), dim_value(a)) for a, b in pairs]
    discard(scratch)
    return found


def _changes(frame: Frame, size: Value, before: Value) -> bool:
    """Whether an extent depends on what a loop changes whose body is being traced, or is computed from the one
    ``before``."""
    bodies = [c.appends.body for c in frame.loops if c.appends.body is not None]
    found: set[Value] = set()
    todo = [size]
    while todo:
        v = todo.pop()
        if v is before or (v.op is None and v.block in bodies):
            return True
        if v not in found and v.op is not None:
            found.add(v)
            todo += v.op.operands
    return False


def _follows(loop: Any, size: Value, before: Value) -> bool:
    """Whether an extent is computed from the one ``before``, or from what decides how often a ``while`` loop runs."""
    found = sources(size, before)
    return before in found or any(v.block is loop.inside and v.index in loop.tested for v in found)


def sources(start: Value, *ends: Value) -> set[Value]:
    """The values that an integer or a condition is computed from and that no operation computes, and those of ``ends``
    among them. Elements of arrays are not looked at."""
    found, seen, todo = set[Value](), set[Value](), [start]
    while todo:
        v = todo.pop()
        if v in seen:
            continue
        seen.add(v)
        if v.op is None or v in ends:
            found.add(v)
        elif v.op.opdef is not ops.load:
            todo += [x for x in v.op.operands if not x.type.is_float]
            todo += [x for region in v.op.regions for op in region.ops for x in op.operands if not x.type.is_float]
    return found
