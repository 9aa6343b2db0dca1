"""Iterables of ``for``: one protocol for tuples, arrays, ranges, ``enumerate``, ``zip`` and ``reversed``.

Iterables whose items differ, such as tuples, are *known*: the loop over them is unrolled. Iterables whose items are
alike are *indexed*, and the loop over them is a loop in the code. ``sequence`` gives one of the two for a value: a new
kind of container is added there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from adc.frontend.arrays import structured
from adc.frontend.containers import pooled_lists, sequences
from adc.frontend.control.loops import counted
from adc.frontend.data.compounds import Structured
from adc.frontend.data.dims import Dim, count_of, dim_value, static_dim, unravelled
from adc.frontend.data.type_names import describe_type, is_iterator
from adc.frontend.data.values import (
    AbstractValue,
    Array,
    Flat,
    Lazy,
    Range,
    Ref,
    Scalar,
    Static,
    Stream,
    Tuple,
    View,
    is_list,
    is_numeric,
)
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.numeric import views
from adc.frontend.numeric.convert import as_scalar, convert, kind, load_scalar
from adc.frontend.numeric.nests import materialise
from adc.frontend.numeric.scalars import binary
from adc.frontend.objects import growing, heap, list_pools, rows
from adc.frontend.prelude.python_dicts import Pairs
from adc.frontend.traps import trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const_index
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.diagnostics import AdcError
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import i64


@dataclass(frozen=True)
class Known:
    """``count`` items; ``item(k)`` builds item ``k`` at the insertion point. There are fewer items if ``k`` reaches one
    of the run-time ``limits``."""

    count: int
    item: Callable[[int], AbstractValue]
    limits: tuple[Value, ...] = ()
    lacking: str = ""  # what Python says where all are needed and there are fewer
    now: Callable[[], int] | None = None  # the present number of items, for a list, whose length may change

    def all(self) -> list[AbstractValue] | None:
        """The items, if their number does not depend on run-time values."""
        return None if self.limits else [self.item(k) for k in range(self.count)]

    def whole(self) -> list[AbstractValue]:
        """All items, where each must be there, since the result must be known. An array that has fewer is a run-time
        error."""
        for limit in self.limits:
            enough = ops.cmpi(limit, const_index(self.count), predicate="sge")
            text = f"an array of {{}} items is paired with {self.count} known items here, and each of them needs one"
            trap_unless(enough, "ValueError", self.lacking or text, limit)
        return [self.item(k) for k in range(self.count)]

    def has(self, k: int) -> Value:
        """Whether there is an item ``k``, where that depends on run-time values."""
        return reduce(ops.andi, [ops.cmpi(const_index(k), limit, predicate="slt") for limit in self.limits])

    def after_first(self) -> Known:
        """All but the first item, which must exist."""
        return Known(self.count - 1, lambda k: self.item(k + 1), tuple(limit - 1 for limit in self.limits))


@dataclass(frozen=True)
class Indexed:
    """``length`` items; ``item(k)`` builds one at the insertion point. ``known``: the same items as a ``Known``, if
    their number is known while tracing."""

    length: Dim
    item: Callable[[Value], AbstractValue]
    known: Known | None = None

    def all(self) -> list[AbstractValue] | None:
        """The items, if they are known."""
        return None if self.known is None else self.known.all()

    def one_by_one(self) -> Known | None:
        """The items as known ones, if there are few and their number is known: an array's of known extent."""
        count = static_dim(self.length)
        if self.known is not None or count is None or count > sequences.MOST:
            return self.known
        return Known(count, lambda k: self.item(const_index(k)))

    def has(self, k: int) -> Value:
        """Whether there is an item ``k``."""
        return ops.cmpi(dim_value(self.length), const_index(k), predicate="sgt")

    def after_first(self) -> Indexed:
        """All but the first item, which must exist."""
        left = ops.subi(dim_value(self.length), const_index(1))
        return Indexed(left, lambda k: self.item(ops.addi(k, const_index(1))))


Items = Known | Indexed


def all_of(frame: Frame, v: AbstractValue) -> list[AbstractValue] | None:
    """The items of a value with a known number of them, which may be an array. In a stream, an array that has fewer is
    a run-time error."""
    if isinstance(v, Stream) and isinstance(v.items, Known):
        return v.items.whole()
    if isinstance(v, Array) and v.rank:
        count = static_dim(v.dims[0])
        return None if count is None or count > sequences.MOST else [element(v, const_index(k)) for k in range(count)]
    return sequences.known_items(frame, v)


def known(items: Sequence[AbstractValue]) -> Known:
    """A ``Known`` of items that all exist."""
    return Known(len(items), lambda k: items[k])


def sequence(frame: Frame, v: AbstractValue) -> Items | None:
    """The items of a value; None if it is not iterable."""
    if list_pools.is_row(v):
        return Indexed(*pooled_lists.gone_through(frame, v))  # type: ignore[arg-type]
    v = sequences.inside(frame, v)
    if isinstance(v, Ref) and issubclass(v.cls, Pairs):
        v = zipped(frame, heap.contents(frame, v).items)
    if isinstance(v, Stream):
        found = v.items
        assert isinstance(found, Known | Indexed)
        return found
    if isinstance(v, Range):
        return _range(v)
    if isinstance(v, View):
        return _view(v)
    if is_list(v):
        assert isinstance(v, Ref)
        return _list(frame, v)
    if isinstance(v, Lazy) and v.rank:
        return sequence(frame, materialise(frame, v))
    if isinstance(v, Array) and v.rank:
        return Indexed(v.dims[0], lambda k: element(v, k))
    if isinstance(v, Structured) and v.rank:
        return Indexed(v.dims[0], lambda k: structured.element(v, k))
    items = sequences.known_items(frame, v)
    return None if items is None else known(items)


def _list(frame: Frame, v: Ref) -> Items:
    """A list. Its items and their number may change while it is iterated over."""
    held = heap.contents(frame, v)
    if rows.is_growing(held):
        count = rows.length(held)

        def item(k: Value) -> AbstractValue:
            found = heap.contents(frame, v)
            if rows.length(found) is not count:
                raise changing()
            return growing.load(frame, found, k)

        return Indexed(count, item)

    def items() -> tuple[AbstractValue, ...]:
        found = heap.contents(frame, v)
        if rows.is_growing(found):
            raise changing()
        return found.items

    return Known(len(items()), lambda k: items()[k], now=lambda: len(items()))


def _view(v: View) -> Known:
    """The values or items of a dict. They may change during the iteration, but their number may not."""
    count = len(v.now())

    def items() -> tuple[AbstractValue, ...]:
        found = v.now()
        if len(found) != count:
            raise refuse(
                current_loc(),
                "RuntimeError: this dict gets or loses keys while a loop goes through it",
                "go through a copy: for value in list(d.values())",
                kind=kinds.UNSUPPORTED_EXPRESSION,
            )
        return found

    return Known(count, lambda k: items()[k])


def changing() -> AdcError:
    return refuse(
        current_loc(),
        "this list changes its length while a loop goes through it, in a way that is known at run time only",
        "go through a copy: for item in items.copy()",
        kind=kinds.UNSUPPORTED_EXPRESSION,
    )


def element(a: Array, k: Value) -> AbstractValue:
    """``a[k]`` for a ``k`` that is in range: an element, or a view of a row."""
    return load_scalar(a.memref, [k], a.dtype) if a.rank == 1 else views.row(a, k)


def _range(r: Range) -> Items:
    bounds = [b.value for b in (r.start, r.stop, r.step) if isinstance(b, Static)]
    loop = counted(r)

    def item(k: Value) -> AbstractValue:
        return Scalar(loop.value(loop.lower + k * loop.step), i64)

    if len(bounds) == 3:
        found = range(*(int(b) for b in bounds))
        return Indexed(len(found), item, Known(len(found), lambda k: Static(found[k])))
    return Indexed(loop.trips(), item)


def need(frame: Frame, v: AbstractValue, name: str) -> Items:
    """The items of an argument of the function ``name``, which must be iterable."""
    found = sequence(frame, v)
    if found is None:
        raise not_iterable(v, f"{name}() cannot go through")
    return found


def not_iterable(v: AbstractValue, message: str) -> AdcError:
    help = "make a list of its items first: list(it)" if is_iterator(v) else ""
    return refuse(current_loc(), f"{message} {describe_type(v)}", help, kind=kinds.NOT_ITERABLE)


def flat(frame: Frame, x: Array | Lazy) -> Stream:
    """``x.flat``, to be iterated over."""
    a = x if isinstance(x, Array) else materialise(frame, x)

    def item(k: Value) -> AbstractValue:
        return load_scalar(a.memref, unravelled(k, a.dims), a.dtype)

    return Flat("flat", Indexed(count_of(a.dims), item), array=a)


def counts(v: AbstractValue) -> bool:
    """Whether the number of items of a stream depends on run-time values."""
    return isinstance(v, Stream) and isinstance(v.items, Indexed | Known) and not _is_known(v.items)


def _is_known(items: Items) -> bool:
    return not items.limits if isinstance(items, Known) else items.known is not None


def is_ahead(values: Sequence[AbstractValue]) -> bool:
    return any(isinstance(v, Stream) and v.ahead for v in values)


def unchanging(frame: Frame, item: Callable[[Value], AbstractValue]) -> Callable[[Value], AbstractValue]:
    """``item``, which must leave all variables and objects as they are, for a loop that carries none."""

    def checked(k: Value) -> AbstractValue:
        before = dict(frame.env)
        found = item(k)
        if any(frame.env.get(name) is not value for name, value in before.items()):
            message = "what is called for the items changes a variable, a list or another object"
            raise refuse(current_loc(), message, "write a for statement", kind=kinds.UNSUPPORTED_CALL)
        return found

    return checked


def unpacked(frame: Frame, v: Stream, wanted: int) -> list[AbstractValue] | None:
    """``a, b, c = stream``; None where the number of items is known, or depends on more than a length."""
    items = v.items
    if not counts(v) or (isinstance(items, Known) and items.count < wanted):
        return None
    length = dim_value(_length(items))
    fits = ops.cmpi(length, const_index(wanted), predicate="eq")
    trap_unless(fits, "ValueError", f"{{}} values cannot be unpacked into {wanted} variables", length)
    return [items.item(k) if isinstance(items, Known) else items.item(const_index(k)) for k in range(wanted)]


def enumerated(frame: Frame, v: AbstractValue, start: AbstractValue) -> Stream:
    """``enumerate(v, start)``."""
    if not is_numeric(start) or kind(as_scalar(start).dtype) == 2:
        message = f"enumerate() counts from an integer, not {describe_type(start)}"
        raise refuse(current_loc(), message, kind=kinds.WRONG_TYPE)
    items = need(frame, v, "enumerate")

    def unrolled(of: Known) -> Known:
        return Known(of.count, lambda k: Tuple((binary("+", start, Static(k)), of.item(k))), of.limits)

    if isinstance(items, Known):
        return Stream("enumerate", unrolled(items), is_ahead([v]))
    first = convert(as_scalar(start), i64)

    def item(k: Value) -> AbstractValue:
        return Tuple((Scalar(first + k, i64), items.item(k)))

    found = Indexed(items.length, item, unrolled(items.known) if items.known else None)
    return Stream("enumerate", found, is_ahead([v]))


def zipped(frame: Frame, values: Sequence[AbstractValue], strict: bool = False) -> Stream:
    """``zip(*values)``: as long as the shortest; ``strict``, as long as each of them."""
    parts = [need(frame, v, "zip") for v in values]
    if strict:
        parts = _of_one_length(parts)
    if all(isinstance(p, Indexed) for p in parts) and parts:
        return Stream("zip", _zip_indexed([p for p in parts if isinstance(p, Indexed)]), is_ahead(values))
    count = min([_count(p) for p in parts if isinstance(p, Known) or static_dim(p.length) is not None], default=0)
    limits: list[Value] = []
    makers: list[Callable[[int], AbstractValue]] = []
    for p in parts:
        if isinstance(p, Indexed):
            if p.known is None and static_dim(p.length) is None:
                limits.append(dim_value(p.length))
            makers.append(p.known.item if p.known is not None else _by_constant(p))
        else:
            limits += p.limits
            makers.append(p.item)
    found = Known(count, lambda k: Tuple(tuple(make(k) for make in makers)), tuple(limits))
    return Stream("zip", found, is_ahead(values))


def _of_one_length(parts: list[Items]) -> list[Items]:
    """The arguments of ``zip(..., strict=True)``, checked in advance. If one has a known length, all have."""
    lengths = [_length(p) for p in parts]
    for n, length in enumerate(lengths[1:], 2):
        before = "argument 1" if n == 2 else f"arguments 1-{n - 1}"
        for predicate, differs in (("sge", "shorter"), ("sle", "longer")):
            fits = ops.cmpi(dim_value(length), dim_value(lengths[0]), predicate=predicate)
            trap_unless(fits, "ValueError", f"zip() argument {n} is {differs} than {before}")
    known_ = next((size for size in map(static_dim, lengths) if size is not None), None)
    if known_ is None:
        return parts
    return [_first_of(p, known_) for p in parts]


def _first_of(p: Items, count: int) -> Items:
    """The first ``count`` items of ``p``, which must exist."""
    if isinstance(p, Known):
        return Known(count, p.item, now=p.now)
    return Indexed(count, p.item, p.known)


def _length(p: Items) -> Dim:
    if isinstance(p, Indexed):
        return p.length
    return reduce(ops.minsi, p.limits, const_index(p.count)) if p.limits else p.count


def _count(p: Items) -> int:
    found = p.count if isinstance(p, Known) else static_dim(p.length)
    assert found is not None
    return found


def _by_constant(p: Indexed) -> Callable[[int], AbstractValue]:
    return lambda k: p.item(const_index(k))


def _zip_indexed(parts: list[Indexed]) -> Items:
    sizes = [static_dim(p.length) for p in parts]
    length: Dim
    if all(size is not None for size in sizes):
        length = min(size for size in sizes if size is not None)
    else:
        length = parts[0].length
        for p in parts[1:]:
            length = ops.minsi(dim_value(length), dim_value(p.length))
    each = [p.known for p in parts if p.known is not None]
    unrolled = None
    if len(each) == len(parts):
        unrolled = Known(min(p.count for p in each), lambda k: Tuple(tuple(p.item(k) for p in each)))
    return Indexed(length, lambda k: Tuple(tuple(p.item(k) for p in parts)), unrolled)


def backwards(frame: Frame, v: AbstractValue) -> Stream:
    """``reversed(v)``."""
    if isinstance(v, Stream):
        raise refuse(current_loc(), f"reversed() cannot go through {v.name}()", kind=kinds.NOT_ITERABLE)
    items = need(frame, v, "reversed")

    def unrolled(of: Known) -> Known:
        return Known(of.count, lambda k: of.item(of.count - 1 - k))

    if isinstance(items, Known):
        return Stream("reversed", unrolled(items))
    last = ops.subi(dim_value(items.length), const_index(1))
    known_ = unrolled(items.known) if items.known else None
    return Stream("reversed", Indexed(items.length, lambda k: items.item(last - k), known_))
