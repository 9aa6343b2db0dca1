"""The variables that several values are assigned to, and those of comprehensions."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from adc.frontend import iteration
from adc.frontend.arrays import places
from adc.frontend.containers import sequences
from adc.frontend.control import options
from adc.frontend.control.thrown import raise_if_run
from adc.frontend.data.dims import dim_value
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Array, Generator, Ref, Stream
from adc.frontend.errors import refuse
from adc.frontend.expressions.generators import iterator_of
from adc.frontend.frame import Frame
from adc.frontend.objects import heap, list_changes, rows
from adc.frontend.traps import trap_unless
from adc.frontend.unsupported import refuse_expression
from adc.ir import kinds, ops
from adc.ir.arith import const_index


def bind_target(frame: Frame, target: ast.expr, value: AbstractValue) -> None:
    """Set the variables of a comprehension."""
    if isinstance(target, ast.Name):
        frame.env[target.id] = value
        frame.assigned_at[target.id] = frame.loc(target)
    elif isinstance(target, ast.Starred):
        bind_target(frame, target.value, value)
    elif isinstance(target, ast.Tuple | ast.List):
        for part, item in zip(target.elts, unpack(frame, target, value), strict=True):
            bind_target(frame, part, item)
    else:
        raise refuse_expression(frame.loc(target), target)


def unpack(frame: Frame, target: ast.Tuple | ast.List, value: AbstractValue) -> Sequence[AbstractValue]:
    """The items for the parts of a target, one of which may be a list of all that others leave."""
    wanted = len(target.elts)
    value = iterator_of(frame, options.there(value, "cannot unpack None"))
    if isinstance(value, Generator):
        value = frame.tracer.collected(frame, value, target)
    known = sequences.known_items(frame, value)
    starred = [k for k, part in enumerate(target.elts) if isinstance(part, ast.Starred)]
    if starred and known is None:
        return _unpack_starred(frame, target, starred[0], value)
    if known is not None:
        if len(starred) == 1 and len(known) >= wanted - 1:
            first, last = starred[0], len(known) - (wanted - starred[0] - 1)
            known = [*known[:first], sequences.new_list(frame, known[first:last]), *known[last:]]
        if len(known) != wanted:
            raise_if_run(frame, ValueError, _wrong_number(len(known), wanted, bool(starred)))
            raise refuse(
                frame.loc(target),
                f"cannot unpack {len(known)} values into {wanted} variables",
                kind=kinds.WRONG_UNPACKING,
            )
        return known
    if isinstance(value, Array):
        return places.unpack(frame, value, wanted)
    value = sequences.inside(frame, value)
    if rows.grows(frame, value):
        assert isinstance(value, Ref)
        return list_changes.unpack(frame, heap.contents(frame, value), wanted)
    if isinstance(value, Stream) and (found := iteration.unpacked(frame, value, wanted)) is not None:
        return found
    raise refuse(frame.loc(target), f"cannot unpack {describe_type(value)}", kind=kinds.NOT_ITERABLE)


def _wrong_number(known: int, wanted: int, starred: bool) -> str:
    """Python's message."""
    if known > wanted:
        return f"too many values to unpack (expected {wanted})"
    least = f"at least {wanted - 1}" if starred else wanted
    return f"not enough values to unpack (expected {least}, got {known})"


def _unpack_starred(
    frame: Frame, target: ast.Tuple | ast.List, star: int, value: AbstractValue
) -> Sequence[AbstractValue]:
    """``first, *rest, last = value`` with a run-time number of items."""
    found = iteration.sequence(frame, value)
    if not isinstance(found, iteration.Indexed):
        raise refuse_expression(frame.loc(target.elts[star]), target.elts[star])
    length, behind = dim_value(found.length), len(target.elts) - star - 1
    fits = ops.cmpi(length, const_index(star + behind), predicate="sge")
    trap_unless(fits, "ValueError", f"{{}} values cannot be unpacked into {star + behind} variables or more", length)
    first = [found.item(const_index(k)) for k in range(star)]
    rest = sequences.new_list(frame, [])
    item = iteration.unchanging(frame, lambda k: found.item(k + star))
    list_changes.extend(frame, rest, length - (star + behind), item)
    return [*first, rest, *(found.item(length - (behind - k)) for k in range(behind))]
