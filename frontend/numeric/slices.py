"""One item of a subscript: a number, or a slice as a window, known or at run time."""

from __future__ import annotations

from adc.frontend.data.dims import Dim, dim_value, static_dim
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Static, is_array, is_numeric, known_int
from adc.frontend.errors import refuse
from adc.frontend.numeric.convert import as_scalar, convert, kind, unboxed
from adc.frontend.traps import trap_unless, within
from adc.ir import kinds, ops
from adc.ir.arith import const_index
from adc.ir.builder import at_loc
from adc.ir.core import Loc, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import i64


@dataclass(frozen=True)
class Slice:
    """``lower:upper:step``, with None for parts left out."""

    lower: AbstractValue | None = None
    upper: AbstractValue | None = None
    step: AbstractValue | None = None

    def is_by_one(self) -> bool:
        """Whether the step is left out, None or one."""
        return self.step is None or (isinstance(self.step, Static) and self.step.value in (None, 1))


def is_full(s: Slice) -> bool:
    return all(p is None or is_none(p) for p in (s.lower, s.upper)) and s.is_by_one()


@dataclass(frozen=True)
class Window:
    """One dimension of a view."""

    offset: Value
    size: Dim
    step: int | Value
    dropped: bool = False


def window(item: Item, dim: Dim) -> Window:
    if not isinstance(item.value, Slice):
        return Window(bound(item, dim), 1, 1, dropped=True)
    with at_loc(item.loc):
        lower, upper, step = (
            None if p is None or is_none(p) else p for p in (item.value.lower, item.value.upper, item.value.step)
        )
        stride = 1 if step is None else known_int(step)
        if stride is None:
            assert step is not None
            return _run_time_step(_part(lower, item.loc), _part(upper, item.loc), integer(step, item.loc), dim)
        if stride == 0:
            raise refuse(item.loc, "slice step cannot be zero", kind=kinds.INVALID_VALUE)
        start, stop = _part(lower, item.loc), _part(upper, item.loc)
        if stride < 0:
            return _backward(start, stop, stride, dim)
        return _forward(start, stop, stride, dim)


Part = int | Value | None


def _part(v: AbstractValue | None, loc: Loc) -> Part:
    if v is None:
        return None
    known = v.value if isinstance(v, Static) else None
    if isinstance(known, int) and not isinstance(known, bool):
        return known
    return integer(v, loc)


def _forward(start: Part, stop: Part, stride: int, dim: Dim) -> Window:
    """The window of a slice with a positive step. If ``start`` is a constant counted from the front, it is the offset:
    past the end the size is zero."""
    n = static_dim(dim)
    if n is not None and not isinstance(start, Value) and not isinstance(stop, Value):
        first, last, _ = slice(start, stop, stride).indices(n)
        return Window(const_index(first), len(range(first, last, stride)), stride)
    low: Dim = start if isinstance(start, int) and start >= 0 else 0 if start is None else _clamp(start, dim)
    end: Dim
    if stop is None:
        end = dim
    elif isinstance(stop, int) and stop < 0:
        end = _add(dim, stop)
    elif isinstance(stop, int):
        end = ops.minsi(const_index(stop), dim_value(dim))
    else:
        end = _clamp(stop, dim)
    if low == 0 and not isinstance(low, Value):
        # The rest after a start from the front is not negative, unless the stop is counted from the end.
        span: Dim = _at_least_zero(end) if isinstance(stop, int) and stop < 0 else end
    else:
        span = _at_least_zero(_add(end, -low) if isinstance(low, int) else dim_value(end) - low)
    size = span if stride == 1 else ops.ceildivsi(dim_value(span), const_index(stride))
    return Window(dim_value(low), size, stride)


def _add(d: Dim, constant: int) -> Value:
    """``d + constant``, with sums of constants folded: slices of one array then have extents of the same form."""
    value = dim_value(d)
    op = value.op
    if op is not None and op.opdef is ops.addi and (more := static_dim(op.operands[1])) is not None:
        value, constant = op.operands[0], constant + more
    return ops.addi(value, const_index(constant)) if constant else value


def _at_least_zero(d: Dim) -> Value:
    return ops.maxsi(dim_value(d), const_index(0))


def _clamp(part: int | Value, dim: Dim) -> Value:
    """A run-time or negative bound of a slice as Python reads it: counted from the end if negative, within 0..n."""
    n, zero = dim_value(dim), const_index(0)
    if isinstance(part, int):
        return ops.maxsi(n + part, zero) if part < 0 else ops.minsi(const_index(part), n)
    negative = ops.cmpi(part, zero, predicate="slt")
    return ops.select(negative, ops.maxsi(part + n, zero), ops.minsi(part, n))


def _backward(start: Part, stop: Part, stride: int, dim: Dim) -> Window:
    n = static_dim(dim)
    if n is not None and not isinstance(start, Value) and not isinstance(stop, Value):
        first, last, _ = slice(start, stop, stride).indices(n)
        return Window(const_index(first), len(range(first, last, stride)), stride)
    extent = dim_value(dim)
    first_value = extent - 1 if start is None else _clamp_backward(start, extent)
    last_value = const_index(-1) if stop is None else _clamp_backward(stop, extent)
    span = _at_least_zero(first_value - last_value)
    size = span if stride == -1 else ops.ceildivsi(span, const_index(-stride))
    return Window(first_value, size, stride)


def _clamp_backward(part: int | Value, n: Value) -> Value:
    if isinstance(part, int):
        return ops.maxsi(n + part, const_index(-1)) if part < 0 else ops.minsi(const_index(part), n - 1)
    negative = ops.cmpi(part, const_index(0), predicate="slt")
    return ops.select(negative, ops.maxsi(part + n, const_index(-1)), ops.minsi(part, n - 1))


def _run_time_step(start: Part, stop: Part, step: Value, dim: Dim) -> Window:
    zero = const_index(0)
    trap_unless(ops.cmpi(step, zero, predicate="ne"), "ValueError", "slice step cannot be zero")
    up = ops.cmpi(step, zero, predicate="sgt")
    n = dim_value(dim)
    low = ops.select(up, zero, const_index(-1))
    high = ops.select(up, n, n - 1)

    def clamp(part: Part, default: Value) -> Value:
        if part is None:
            return default
        value = const_index(part) if isinstance(part, int) else part
        value = ops.select(ops.cmpi(value, zero, predicate="slt"), value + n, value)
        return ops.minsi(ops.maxsi(value, low), high)

    first, last = clamp(start, ops.select(up, zero, n - 1)), clamp(stop, ops.select(up, n, const_index(-1)))
    return Window(first, _at_least_zero(ops.ceildivsi(last - first, step)), step)


@dataclass(frozen=True)
class Item:
    """One subscript with its source location: an integer, a slice, None or an ellipsis."""

    loc: Loc
    value: AbstractValue | Slice


def is_none(v: AbstractValue) -> bool:
    return isinstance(v, Static) and v.value is None


def bound(item: Item, dim: Dim) -> Value:
    """A checked subscript; its source range is that of the subscript alone."""
    assert not isinstance(item.value, Slice)
    value = integer(item.value, item.loc)
    with at_loc(item.loc):
        return within(value, dim_value(dim))


def integer(v: AbstractValue, loc: Loc) -> Value:
    v = unboxed(v)
    if is_array(v):
        raise refuse(
            loc,
            "indexing with an array is not supported",
            "loop over the elements, or use np.where to choose between values",
            kind=kinds.UNSUPPORTED_INDEXING,
        )
    if not is_numeric(v):
        raise refuse(loc, f"a subscript must be an integer, not {describe_type(v)}", kind=kinds.INVALID_SUBSCRIPT)
    with at_loc(loc):
        s = as_scalar(v)
        if kind(s.dtype) == 2:
            raise refuse(
                loc,
                "a subscript must be an integer, not a float",
                "use // to divide integers, or convert it with int(...)",
                kind=kinds.INVALID_SUBSCRIPT,
            )
        if kind(s.dtype) == 0:
            raise refuse(
                loc,
                "indexing with a bool is not supported",
                "use int(...) or np.where",
                kind=kinds.UNSUPPORTED_INDEXING,
            )
        return convert(s, i64)
