"""The loop of ``adc.vmap``: the result for one item, arrays for the results of all, and the calls that fill them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from adc.frontend.arrays.arrays import settled
from adc.frontend.control.branches import trace
from adc.frontend.data.callables import Bound
from adc.frontend.data.compounds import WHOLE
from adc.frontend.data.dims import SHAPE_ERROR, Dim, dim_value, equal_dims, same_dim
from adc.frontend.data.roots import NOWHERE, Roots, overlap
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Array, Compound, Static, is_numeric, leaves
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame, Undetermined, discard
from adc.frontend.functions.extents import hoisted
from adc.frontend.functions.mapped_arguments import Argument, Axes, arguments_of, items_of
from adc.frontend.numeric import nests, views
from adc.frontend.numeric.convert import as_number, store_scalar
from adc.frontend.objects import heap, rows
from adc.frontend.traps import trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const_index
from adc.ir.builder import build, current_loc, insert_at
from adc.ir.core import Block, Value
from adc.ir.types import index


def loop(frame: Frame, axes: Axes, function: AbstractValue, args: Sequence[AbstractValue]) -> AbstractValue:
    arguments = arguments_of(frame, axes, function, args)
    length = items_of(arguments)

    def one(k: Value, copied: Roots = NOWHERE) -> AbstractValue:
        """The result for item ``k``, with the objects in it taken apart."""
        given = [a.item(frame, k, copied) for a in arguments]
        made = settled(frame, frame.tracer.call(frame, function, given, {}))
        return heap.pack(frame, [made], {})[0]

    first = _First(frame, length, one)
    targets: list[Array] = []
    result = _results(frame, first, length, targets)
    first.forget()
    _refuse_writes(frame, function, arguments)
    before = frame.env
    frame.env = dict(before)
    body = Block([index], ["k"])
    with insert_at(body):
        k = body.args[0]
        for target, v in zip(targets, _stored(one(k)), strict=True):
            _store(frame, target, k, v)
        build(ops.reduce, [])
    for key in heap.changed(before, frame.env):
        raise refuse(
            frame.assigned_at.get(key, current_loc()),
            f"the function that adc.vmap() maps changes {heap.shown(frame, key)}, which is the same for all items",
            "let it return what is new",
            kind=kinds.CARRIED_VARIABLE,
        )
    frame.env = before
    bounds = [const_index(0), dim_value(length), const_index(1)]
    build(ops.parallel, bounds, {"prange": True}, [], [body])
    return heap.unpack(frame, result, {})


class _First:
    """The function's call for the first item: traced for the types of the results, and for their extents.

    Extents that do not follow from those of the arguments are found by a call, of which simplification keeps only the
    necessary part. It works on copies of the arrays that it changes.
    """

    def __init__(self, frame: Frame, length: Dim, one: Callable[..., AbstractValue]) -> None:
        self._frame, self._length, self._one = frame, length, one
        self._traced = trace(frame, lambda: one(const_index(0)))
        self._called: list[AbstractValue] | None = None
        if self._traced.undetermined:
            raise Undetermined
        assert self._traced.result is not None
        self.result = self._traced.result

    def extents(self, position: int, v: Array) -> list[Dim]:
        """The extents of the result at ``position``, an array."""
        found = [hoisted(self._frame.tracer.module, d, self._traced.block) for d in v.dims]
        known = [d for d in found if d is not None]
        if len(known) == v.rank:
            return known
        if self._called is None:
            n = dim_value(self._length)
            trap_unless(
                ops.cmpi(n, const_index(0), predicate="sgt"),
                SHAPE_ERROR,
                "adc.vmap() over no items cannot know the shape of what the function returns",
            )
            frame = self._frame
            frame.env, before = dict(frame.env), frame.env
            self._called = list(_stored(self._one(const_index(0), frozenset(frame.written))))
            frame.env = before
        made = self._called[position]
        assert isinstance(made, Array)
        return list(made.dims)

    def forget(self) -> None:
        discard(self._traced.block)


def _results(frame: Frame, first: _First, length: Dim, targets: list[Array]) -> AbstractValue:
    """Arrays for the results of all items, in the containers of one result; ``targets`` gets those to be filled."""

    def of(v: AbstractValue) -> AbstractValue:
        if isinstance(v, Array):
            targets.append(nests.allocate(frame, [length, *first.extents(len(targets), v)], v.dtype))
            return targets[-1]
        if is_numeric(v):
            targets.append(nests.allocate(frame, [length], as_number(v).dtype))
            return targets[-1]
        if isinstance(v, Static) and not callable(v.value):
            return v
        if isinstance(v, Compound) and not isinstance(v, (*WHOLE, Bound)) and not rows.is_growing(v):
            return v.of(map(of, v.items))
        raise refuse(
            current_loc(),
            f"the function that adc.vmap() maps returns {describe_type(v)}",
            "let it return numbers, arrays, and containers of them; of a list that grows, np.array(items)",
            kind=kinds.CANNOT_RETURN,
        )

    return of(first.result)


def _stored(v: AbstractValue) -> Iterator[AbstractValue]:
    """The numbers and arrays in a result, in order."""
    if isinstance(v, Array) or is_numeric(v):
        yield v
    elif isinstance(v, Compound):
        for item in v.items:
            yield from _stored(item)


def _store(frame: Frame, target: Array, k: Value, v: AbstractValue) -> None:
    if not isinstance(v, Array):
        store_scalar(v, target.memref, [k], target.dtype)
        return
    for n, (wanted, dim) in enumerate(zip(target.dims[1:], v.dims, strict=True)):
        if same_dim(wanted, dim):
            continue
        sizes = k, dim_value(dim), dim_value(wanted)
        trap_unless(
            equal_dims(wanted, dim),
            SHAPE_ERROR,
            f"adc.vmap() stacks results of one shape: for item {{}} axis {n} has extent {{}}, for the first {{}}",
            *sizes,
        )
    nests.store(frame, views.row(target, k), nests.lazy_of(v))


def _refuse_writes(frame: Frame, function: AbstractValue, arguments: Sequence[Argument]) -> None:
    """Refuse writes to arrays that are the same for all items: iterations may run at the same time."""
    common = [a.value for a in arguments if a.axis is None]
    shared = [(x, "an argument") for v in heap.pack(frame, common, {}) for x in leaves(v)]
    shared += [(x, "an array from around it") for v in heap.pack(frame, [function], {}) for x in leaves(v)]
    for x, what in shared:
        if isinstance(x, Array) and overlap(x.roots, frozenset(frame.written)):
            raise refuse(
                current_loc(),
                f"the function that adc.vmap() maps writes to {what} that is the same for all items",
                "let it work on a copy, or return what is new",
                kind=kinds.RACE,
            )
