"""The columns of a list of run-time length: a buffer for each number, or each array, in an item.

Arrays in items are kept by value: their buffer has one more dimension, and the arrays of all items have the same shape.
So an array that became part of an item must not change any more: ``objects.held`` checks this for the original array,
and arrays that are read from the list are protected.
"""

from __future__ import annotations

from collections.abc import Sequence

from adc.frontend import abstract
from adc.frontend.data.compounds import Contents, Handle, OneOf, compound
from adc.frontend.data.dims import Dim, brought_here, dim_value, same_dim
from adc.frontend.data.roots import Roots
from adc.frontend.data.values import AbstractValue, Array, Compound, Ref, Scalar, Static, Tuple
from adc.frontend.elements import from_element, to_element
from adc.frontend.errors import refuse
from adc.frontend.forms import LIST
from adc.frontend.frame import Frame
from adc.frontend.numeric.bits import logical_not
from adc.frontend.numeric.convert import convert
from adc.frontend.numeric.nests import allocate
from adc.frontend.numeric.views import row
from adc.frontend.objects import heap, held
from adc.frontend.objects.alternatives import NONE_TYPE
from adc.frontend.objects.merge import coerce, flatten
from adc.frontend.traps import trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const, const_index
from adc.ir.builder import build, current_loc
from adc.ir.core import Value
from adc.ir.types import f32, f64, i64

Shape = tuple[Dim, ...] | None
"""The extents of an array in an item, empty for a number; None: there is no item yet that determines them."""

Part = Value | Array | None
"""The part of an item that goes into one column; nothing into the columns of arrays for an item that is None."""

EXACT = 2**53
"""All ints up to this are numbers of double precision."""

ASSIGN = (
    "assign a new array: xs[k] = xs[k] + y, or x.a = x.a + y for an attribute of an item; or make one array of all, "
    "M = np.zeros((m, n)), and write M[i, j]"
)

UNEVEN = (
    "the arrays of a list whose length depends on the run must all have one shape; for rows of several lengths extend "
    "a list of numbers: xs.extend(row); for a few arrays, such as the levels of a pyramid, let an "
    "integer argument or a number say how many there are, for _ in range(4), or their sizes: while len(x) > 1"
)


def leaves(item: abstract.Abstract) -> list[abstract.Scalar | abstract.Array]:
    """The types of the numbers and arrays in an item."""
    return [leaf for leaf in abstract.walk_abstract(item) if isinstance(leaf, abstract.Scalar | abstract.Array)]


def beside_none(item: abstract.Abstract) -> abstract.Abstract | None:
    """The type of the items that are not None, where some may be; None if there are no such items, or others too."""
    if not isinstance(item, abstract.Tuple) or item.form.kind != "choice":
        return None
    values = [option for option in item.items[1:] if option != NONE_TYPE]
    return values[0] if len(values) == 1 and NONE_TYPE in item.items else None


def has_arrays(item: abstract.Abstract) -> bool:
    return any(isinstance(leaf, abstract.Array) for leaf in leaves(item))


def handles(item: abstract.Abstract) -> list[abstract.Tuple]:
    """The objects in pools in an item, or the item itself if it is one."""
    if not isinstance(item, abstract.Tuple):
        return []
    return [item] if item.form.kind == "handle" else [found for part in item.items for found in handles(part)]


def several_kinds() -> Exception:
    """The refusal of alternatives among items that have arrays."""
    return refuse(
        current_loc(),
        "the items of a list whose length depends on the run cannot have None, or several constants, beside arrays",
        "give items without an array one of zeros, and say in a second list of numbers which they are",
        kind=kinds.TYPE_DIFFERS,
    )


def parts(frame: Frame, v: AbstractValue, item: abstract.Abstract) -> list[Part]:
    """An item of a list taken apart. If it may be None, beside others with arrays, which of the two it is comes
    first."""
    value = beside_none(item)
    if value is None or not has_arrays(value) or isinstance(v, OneOf):
        return parts_inside(frame, v, item)
    assert isinstance(item, abstract.Tuple)
    is_none = isinstance(v, Static) and v.value is None
    inside = [None] * len(leaves(value)) if is_none else parts_inside(frame, v, value)
    return [const_index(item.items[1:].index(NONE_TYPE if is_none else value)), *inside]


def parts_inside(frame: Frame, v: AbstractValue, item: abstract.Abstract) -> list[Part]:
    """An item of a list, what is inside of one, or an attribute, taken apart."""
    if isinstance(item, abstract.Array):
        assert isinstance(v, Array)
        return [v]
    if isinstance(v, Handle):
        return [v.number]
    inside = isinstance(v, Compound) and next(heap.refs_of(v), None) is not None
    if (isinstance(item, abstract.Tuple) and (has_arrays(item) or inside)) or isinstance(v, Ref):
        assert isinstance(item, abstract.Tuple)
        if item.form.kind == "choice":
            raise several_kinds()
        inner = heap.contents(frame, v).items if isinstance(v, Ref) else v.items  # type: ignore[attr-defined]
        return [part for one, t in zip(inner, item.items, strict=True) for part in parts_inside(frame, one, t)]
    if isinstance(v, Scalar) and v.dtype == i64 and isinstance(item, abstract.Scalar) and item.type in (f32, f64):
        _check_exact(v.value)
    return list(flatten(coerce(v, item)))


def _check_exact(number: Value) -> None:
    """Raise OverflowError for an int that a float cannot be equal to: a list with floats would hold another number."""
    bounds = (("sge", -EXACT), ("sle", EXACT))
    inside = [ops.cmpi(number, const(bound, number.type), predicate=p) for p, bound in bounds]
    message = "a list with a float holds ints as floats, and this one has more than 53 bits"
    trap_unless(ops.andi(*inside), "OverflowError", message)


def shapes(found: Sequence[Part]) -> list[Shape]:
    return [None if part is None else part.dims if isinstance(part, Array) else () for part in found]


def shapes_of(columns: Sequence[Array]) -> list[Shape]:
    """The shapes of the items in columns."""
    return [column.dims[1:] for column in columns]


def usable(found: Sequence[Shape]) -> list[Shape]:
    """Shapes as far as their extents are available at the insertion point."""
    return [None if shape is None else _usable(shape) for shape in found]


def _usable(shape: tuple[Dim, ...]) -> Shape:
    dims = [dim for d in shape if (dim := brought_here(d)) is not None]
    return tuple(dims) if len(dims) == len(shape) else None


def are_known(columns: Sequence[Array]) -> bool:
    """Whether there has been an item that determines the shapes of arrays in items."""
    return not any(isinstance(d, int) and d == 0 for column in columns for d in column.dims[1:])


def allocated(frame: Frame, item: abstract.Abstract, room: Value | int, found: Sequence[Shape]) -> list[Array]:
    """Buffers with room for ``room`` items."""
    made = []
    for leaf, shape in zip(leaves(item), found, strict=True):
        if isinstance(leaf, abstract.Scalar):
            made.append(allocate(frame, [room], leaf.type, "list"))
        else:
            made.append(allocate(frame, [room, *([0] * leaf.rank if shape is None else shape)], leaf.element, "list"))
    return made


def differ(columns: Sequence[Array], found: Sequence[Shape]) -> Value | None:
    """Whether arrays have other shapes than the columns; None if it is known that they do not."""
    result: Value | None = None
    for column, shape in zip(columns, found, strict=True):
        for a, b in zip(column.dims[1:], column.dims[1:] if shape is None else shape, strict=True):
            if not same_dim(a, b):
                other = ops.cmpi(dim_value(a), dim_value(b), predicate="ne")
                result = other if result is None else ops.ori(result, other)
    return result


def check_shapes(columns: Sequence[Array], found: Sequence[Shape]) -> None:
    """Check that arrays have the shapes of the columns: those of all items in a list are equal."""
    other = differ(columns, found)
    if other is not None:
        trap_unless(logical_not(other), "ValueError", UNEVEN)


def write(frame: Frame, columns: Sequence[Array], k: Value, found: Sequence[Part], *, moved: bool = False) -> None:
    """Write item ``k`` from its parts. ``moved``: they come from an item of the list itself."""
    for column, part in zip(columns, found, strict=True):
        if part is None:
            continue
        frame.written |= column.roots
        if isinstance(part, Array):
            op = build(ops.copy, [part.memref, row(column, k).memref])
            held.note(frame, op, moved)
        else:
            build(ops.store, [to_element(part, column.dtype), column.memref, k])


def load(
    frame: Frame, columns: Sequence[Array], item: abstract.Abstract, k: Value, pools: Sequence[Ref] = ()
) -> AbstractValue:
    """Item ``k``, which must exist. Arrays in it are copies, which do not change with the list. ``pools`` are those of
    the handles in it."""
    given, of = iter(columns), iter(pools)

    def protected(roots: Roots) -> Roots:
        return roots | {frame.new_root("item", heap.ITEM)}

    def make(a: abstract.Abstract) -> AbstractValue:
        if isinstance(a, abstract.Scalar):
            return Scalar(from_element(ops.load(next(given).memref, k)), a.type, a.weak)
        if isinstance(a, abstract.Array):
            found = row(next(given), k)
            made = allocate(frame, found.dims, found.dtype, "item")
            build(ops.copy, [found.memref, made.memref])
            return Array(made.memref, made.dims, protected(made.roots))
        if isinstance(a, abstract.Tuple):
            if a.form.kind == "handle":
                return Handle((next(of), make(a.items[0])), a.form)
            items = tuple(map(make, a.items))
            if not a.form.copied:
                return compound(a.form, items)
            ref = heap.reference(frame, a.form, heap.ITEM)
            frame.env[ref.key] = Contents(items, a.form)
            return ref
        assert isinstance(a, abstract.Static)
        return Static(a.value)

    return make(item)


def loaded_parts(columns: Sequence[Array], k: Value, into: Sequence[Array]) -> list[Part]:
    """The parts of item ``k``, with numbers converted to the dtypes of the columns ``into``."""

    def part(column: Array, other: Array) -> Part:
        if column.rank > 1 or column.is_complex:
            return row(column, k)
        return convert(Scalar(from_element(ops.load(column.memref, k)), column.dtype), other.dtype)

    return [part(column, other) for column, other in zip(columns, into, strict=True)]


def window(column: Array, count: Value) -> Array:
    """The first ``count`` items of a column, as a view."""
    zero, one = const_index(0), const_index(1)
    extents = [*column.dims[1:], 2] if column.is_complex else [*column.dims[1:]]
    rank = 1 + len(extents)
    operands = [column.memref, *[zero] * rank, count, *map(dim_value, extents), *[one] * rank]
    view = build(ops.subview, operands, {"static_steps": (1,) * rank, "dropped": ()}).result
    return Array(view, (count, *column.dims[1:]), column.roots)


def nested(windows: Sequence[Array], item: abstract.Abstract) -> tuple[AbstractValue, int]:
    """The windows, nested like the lists and tuples in an item, and how deeply these are nested."""
    given = iter(windows)

    def make(a: abstract.Abstract) -> AbstractValue:
        if isinstance(a, abstract.Tuple) and a.form.kind in ("handle", "dict"):
            what, parts = ("dicts", "values") if a.form.kind == "dict" else ("objects", "attributes")
            message, help = f"an array cannot be made of a list of {what}", f"make one of their {parts}"
            raise refuse(current_loc(), message, f"{help}: np.array([...])", kind=kinds.TYPE_DIFFERS)
        if isinstance(a, abstract.Tuple):
            return Tuple(tuple(map(make, a.items)), LIST)
        return Static(a.value) if isinstance(a, abstract.Static) else next(given)

    depth, inner = 0, item
    while isinstance(inner, abstract.Tuple) and inner.items:
        depth, inner = depth + 1, inner.items[0]
    return make(item), depth
