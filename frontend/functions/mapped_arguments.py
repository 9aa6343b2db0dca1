"""The arguments of a function made by ``adc.vmap``: which arrays are mapped over, and what the function gets for an
item."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from adc.frontend.arrays import subscripts
from adc.frontend.callee import python_function
from adc.frontend.data.callables import Bound, Closure
from adc.frontend.data.compounds import WHOLE
from adc.frontend.data.dims import SHAPE_ERROR, Dim, dim_value, equal_dims, same_dim
from adc.frontend.data.roots import NOWHERE, Roots, overlap
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Array, Compound, Static, is_numeric
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.numeric import nests, views
from adc.frontend.objects import heap, rows
from adc.frontend.traps import trap_unless
from adc.ir import kinds
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.lazy_dataclass import dataclass


@dataclass(frozen=True)
class After:
    """The axes of the arguments after the first ``count``, which are the same for all items: for bound methods."""

    count: int
    axes: int | tuple[int | None, ...] | None


Axes = int | tuple[int | None, ...] | After | None


@dataclass(frozen=True)
class Argument:
    """An argument with the objects in it taken apart; ``axis`` is None if it is the same for all items."""

    name: str
    value: AbstractValue
    axis: int | None

    def mapped(self) -> Iterator[tuple[Array, int]]:
        """The arrays that the loop maps over, each with its axis."""
        if self.axis is not None:
            yield from self._mapped(self.value)

    def _mapped(self, v: AbstractValue) -> Iterator[tuple[Array, int]]:
        if isinstance(v, Array):
            yield v, self._axis(v)
        elif rows.is_growing(v) or is_numeric(v):
            raise refuse(
                current_loc(),
                f"{self.name} has {describe_type(v)} in it, which adc.vmap() cannot map over"
                if v is not self.value
                else f"{self.name} is {describe_type(v)}, which has no axis that adc.vmap() could map over",
                "give in_axes a tuple with None in its place: then it is the same for all; or make it an array",
                kind=kinds.WRONG_TYPE,
            )
        elif isinstance(v, Compound) and not isinstance(v, (*WHOLE, Bound)):
            for item in v.items:
                yield from self._mapped(item)

    def _axis(self, v: Array) -> int:
        assert self.axis is not None
        axis = self.axis + v.rank if self.axis < 0 else self.axis
        if not 0 <= axis < v.rank:
            raise refuse(
                current_loc(),
                f"{self.name} is {describe_type(v)}, which has no axis {self.axis} that adc.vmap() could map over",
                kind=kinds.INVALID_AXIS,
            )
        return axis

    def item(self, frame: Frame, k: Value, copied: Roots = NOWHERE) -> AbstractValue:
        """The argument for item ``k``. Arrays whose memory is in ``copied`` are copied."""

        def of(v: AbstractValue) -> AbstractValue:
            if isinstance(v, Array):
                found = _along(v, self._axis(v), k)
                again = isinstance(found, Array) and overlap(found.roots, copied)
                return nests.materialise(frame, nests.lazy_of(found)) if again else found  # type: ignore[arg-type]
            if isinstance(v, Compound) and not isinstance(v, (*WHOLE, Bound)):
                return v.of(map(of, v.items))
            return v

        return self.value if self.axis is None else heap.unpack(frame, of(self.value), {})


def _along(v: Array, axis: int, k: Value) -> AbstractValue:
    """``v`` at position ``k`` (in range) along an axis: a number, or a view."""
    if v.rank == 1:
        return subscripts.Element(v, (k,)).load()
    return views.row(v, k, axis)


def arguments_of(frame: Frame, axes: Axes, function: AbstractValue, args: Sequence[AbstractValue]) -> list[Argument]:
    first, rest = (axes.count, axes.axes) if isinstance(axes, After) else (0, axes)
    each = (*(None for _ in args[:first]), *(rest if isinstance(rest, tuple) else (rest,) * (len(args) - first)))
    if len(each) != len(args):
        raise refuse(
            current_loc(),
            f"in_axes of adc.vmap() has {len(each) - first} entries, and there are {len(args) - first} arguments",
            kind=kinds.WRONG_CALL,
        )
    numbers: dict[str, int] = {}
    taken = [v if axis is None else heap.pack(frame, [v], numbers)[0] for v, axis in zip(args, each, strict=True)]
    names = _names(function, len(args))
    return [Argument(name, v, axis) for name, v, axis in zip(names, taken, each, strict=True)]


def _names(function: AbstractValue, count: int) -> list[str]:
    """The names of the arguments in messages: with the function's parameters if these are known."""
    known: Sequence[str] = ()
    if isinstance(function, Closure):
        a = function.source.node.args
        known = [p.arg for p in (*a.posonlyargs, *a.args)]
    elif isinstance(function, Static):
        code = getattr(python_function(function.value), "__code__", None)
        known = code.co_varnames[: code.co_argcount] if code is not None else ()
    return [f"argument {n}" + (f" ('{known[n]}')" if n < len(known) else "") for n in range(count)]


def items_of(arguments: Sequence[Argument]) -> Dim:
    """The number of items, on which all mapped arrays must agree."""
    found: tuple[str, Dim] | None = None
    for argument in arguments:
        for v, axis in argument.mapped():
            dim = v.dims[axis]
            if found is None:
                found = argument.name, dim
                continue
            if same_dim(found[1], dim):
                continue
            message = f"adc.vmap() maps over {{}} items of {found[0]} and over {{}} of {argument.name}"
            sizes = dim_value(found[1]), dim_value(dim)
            trap_unless(equal_dims(found[1], dim), SHAPE_ERROR, message, *sizes)
    if found is None:
        raise refuse(
            current_loc(),
            "adc.vmap() has no array to map over",
            "in_axes says which arguments it maps: an axis for each, or None",
            kind=kinds.WRONG_CALL,
        )
    return found[1]
