"""Array expressions: elementwise operations with broadcasting, kept lazy until something needs their elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce

from adc.frontend.arrays.matmul import matmul
from adc.frontend.containers import concatenation, records, texts
from adc.frontend.control import options
from adc.frontend.data.compounds import OneOf
from adc.frontend.data.dims import (
    SHAPE_ERROR,
    Dim,
    dim_value,
    equal_dims,
    is_short,
    may_be_one,
    representative,
    same_dim,
    static_dim,
)
from adc.frontend.data.roots import protection
from adc.frontend.data.type_names import describe_type, for_array
from adc.frontend.data.values import (
    AbstractValue,
    Array,
    Complex,
    Compound,
    Generator,
    Lazy,
    Method,
    Number,
    Poison,
    Read,
    Scalar,
    Static,
    Stream,
    Tuple,
    Unbound,
    is_array,
    is_numeric,
)
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame, discard
from adc.frontend.numeric import nests, operands, repetition, scalars, selections, snapshots
from adc.frontend.numeric.convert import as_element, assigned, cannot_hold, kind, undefined
from adc.frontend.numeric.nests import lazy_of, materialise
from adc.frontend.objects import columns, heap
from adc.frontend.traps import trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const_index
from adc.ir.builder import at_loc, current_loc, insert_at
from adc.ir.core import Block, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import Type

Element = Callable[..., AbstractValue]


def operate(frame: Frame, symbol: str, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    """``a symbol b`` for numbers and arrays."""
    if isinstance(a, OneOf) or isinstance(b, OneOf):
        return options.split_all(frame, (a, b), lambda one: settled(frame, operate(frame, symbol, *one)))
    own = records.operate(frame, symbol, a, b)
    if own is not None:
        return own
    a, b = operands.beside_array(frame, a, b, symbol)
    if symbol == "@":
        return matmul(frame, a, b)
    if is_array(a) or is_array(b):
        _need_operands(frame, symbol, a, b)
        if symbol == "**":
            return elementwise(scalars.power_of_elements, *repetition.computed_once(frame, (a, scalars.exponent(a, b))))
        return elementwise(lambda x, y: scalars.binary(symbol, x, y), *repetition.computed_once(frame, (a, b)))
    if isinstance(a, Static) and isinstance(b, Static) and isinstance(a.value, str | tuple):
        try:
            return Static(scalars.PYTHON[symbol](a.value, b.value))
        except TypeError:
            pass
    made = _text(frame, symbol, a, b)
    if made is not None:
        return made
    found = concatenation.operate(frame, symbol, a, b)
    if found is not None:
        return found
    _need_operands(frame, symbol, a, b)
    return scalars.binary(symbol, a, b)


def _text(frame: Frame, symbol: str, a: AbstractValue, b: AbstractValue) -> AbstractValue | None:
    """Texts with run-time numbers in them: concatenated, or formatted by %."""
    if symbol == "+":
        return texts.concatenated(a, b)
    if symbol == "%" and isinstance(a, Static) and isinstance(a.value, str):
        return texts.percent(frame, a.value, b)
    return None


def _need_operands(frame: Frame, symbol: str, a: AbstractValue, b: AbstractValue) -> None:
    if not all(is_numeric(v) or is_array(v) for v in (a, b)):
        message = f"{symbol} is not defined for {describe_type(a)} and {describe_type(b)}"
        refusal = refuse(current_loc(), message, for_array(a, b), kind=kinds.UNSUPPORTED_OPERAND)
        raise options.of_none(frame, refusal, a, b)


def operate_unary(frame: Frame, symbol: str, a: AbstractValue) -> AbstractValue:
    """``-a``, ``+a``, ``~a``."""
    if isinstance(a, OneOf):
        return options.split(frame, a, lambda one: settled(frame, operate_unary(frame, symbol, one)))
    own = records.operate_unary(frame, symbol, a)
    if own is not None:
        return own
    if is_array(a):
        return elementwise(lambda x: scalars.unary(symbol, x), a)
    if not is_numeric(a):
        message = f"unary {symbol} is not defined for {describe_type(a)}"
        refusal = refuse(current_loc(), message, for_array(a), kind=kinds.UNSUPPORTED_OPERAND)
        raise options.of_none(frame, refusal, a)
    return scalars.unary(symbol, a)


def truth(v: AbstractValue) -> bool | Value:
    """Python's truth of a value: known, or an i1."""
    if isinstance(v, Array | Lazy):
        if all(static_dim(n) == 1 for n in v.dims):
            return scalars.truth(lazy_of(v).element([const_index(0) for _ in v.dims], False))
        raise refuse(
            current_loc(),
            "the truth value of an array is ambiguous",
            "test one element, or a reduction such as np.max(x) > 0",
            kind=kinds.AMBIGUOUS_TRUTH,
        )
    if isinstance(v, Tuple):
        return bool(v.items)
    if isinstance(v, Static | Scalar | Complex):
        return scalars.truth(v)
    if isinstance(v, OneOf):
        true = [_true_option(v, k) for k, one in enumerate(v.options) if truth(one) is not False]
        return reduce(ops.ori, true) if true else False
    return True


def _true_option(v: OneOf, k: int) -> Value:
    """Whether ``v`` is its alternative ``k``, and this one is true."""
    here, known = ops.cmpi(v.position, const_index(k), predicate="eq"), truth(v.options[k])
    return here if isinstance(known, bool) else ops.andi(here, known)


def settled(frame: Frame, v: AbstractValue) -> AbstractValue:
    """``v`` with pending array expressions computed, so that later stores do not change it."""
    if isinstance(v, Lazy):
        # The results of NumPy's functions on arrays of rank zero are numbers.
        return materialise(frame, v) if v.dims else v.element([], False)
    if isinstance(v, Compound):
        return v.of(settled(frame, item) for item in v.items)
    if isinstance(v, Method):
        return Method(settled(frame, v.owner), v.name)
    if isinstance(v, Stream | Generator):
        help = f"write it where it is used, or make a list of it: {'list(...)' if v.name else 'with [] instead of ()'}"
        raise refuse(current_loc(), f"{v.shown} cannot be kept", help, kind=kinds.UNSUPPORTED_EXPRESSION)
    assert not isinstance(v, Unbound | Poison)
    return v


# Elementwise operations with broadcasting -----------------------------------------------------------------------------


@dataclass(eq=False)
class Extent:
    """One dimension of a broadcast result: in general, and if no operand is stretched."""

    general: Dim
    plain: Dim


def elementwise(function: Element, *operands: AbstractValue, deferred: bool = False) -> Lazy:
    """``function`` applied to the elements of arrays (and to numbers as they are).

    ``deferred``: ``function`` gets functions that evaluate the operands where and when it calls them.
    """
    selected = selections.wholes(operands)
    if selected is not None:
        first, parts = selected
        return first.of(elementwise(function, *parts, deferred=deferred))
    parts = [lazy_of(v) if isinstance(v, Array | Lazy) else v for v in operands]
    arrays = [p for p in parts if isinstance(p, Lazy)]
    extents, equalities = broadcast(arrays)
    dims = tuple(representative(e.general) for e in extents)
    loc = current_loc()

    def apply(thunks: Sequence[Callable[[], AbstractValue]]) -> Number:
        values = thunks if deferred else [t() for t in thunks]
        return as_element(function(*values))

    def element(subscripts: Sequence[Value], general: bool) -> Number:
        def operand(p: AbstractValue) -> AbstractValue:
            if not isinstance(p, Lazy):
                return p
            return p.element(operand_subscripts(p.dims, dims, subscripts, general), general)

        with at_loc(loc):
            return apply([partial(operand, p) for p in parts])

    dtype = dtype_of(lambda: apply([partial(_sample, p) for p in parts]))
    reads = tuple(
        Read(r.array, r.pointwise and len(p.dims) == len(dims) and not _stretched(p, dims))
        for p in arrays
        for r in p.reads
    )
    equal = tuple(dict.fromkeys([e for p in arrays for e in p.equalities] + equalities))
    return Lazy(dims, tuple(representative(e.plain) for e in extents), dtype, element, reads, equal)


def _sample(p: AbstractValue) -> AbstractValue:
    if not isinstance(p, Lazy):
        return p
    return undefined(p.dtype)


def dtype_of(make: Callable[[], Number]) -> Type:
    """The dtype of what ``make`` returns, without keeping the code that it builds."""
    scratch = Block()
    with insert_at(scratch):
        dtype = make().dtype
    discard(scratch)
    return dtype


def _stretched(p: Lazy, dims: tuple[Dim, ...]) -> bool:
    """Whether an operand of the result's rank is known to be repeated along some dimension, or usually is."""
    return any(is_short(own, d) for own, d in zip(p.dims, dims, strict=True))


def operand_subscripts(
    own_dims: tuple[Dim, ...], dims: tuple[Dim, ...], subscripts: Sequence[Value], general: bool
) -> list[Value]:
    first = len(dims) - len(own_dims)
    result: list[Value] = []
    for own, dim, i in zip(own_dims, dims[first:], subscripts[first:], strict=True):
        if static_dim(own) == 1 or (not general and is_short(own, dim)):
            result.append(const_index(0))
        elif general and may_be_one(own) and not same_dim(own, dim):
            one = ops.cmpi(dim_value(own), const_index(1), predicate="eq")
            result.append(ops.select(one, const_index(0), i))
        else:
            result.append(i)
    return result


Mismatch = tuple[str, str]  # the error of operands that do not fit together, and what it says before the shapes
_OPERANDS = SHAPE_ERROR, "operands could not be broadcast together with shapes"


def broadcast(arrays: Sequence[Lazy], mismatch: Mismatch = _OPERANDS) -> tuple[list[Extent], list[Value]]:
    """The extents of arrays broadcast together, and conditions (i1) that hold if only what is short is stretched."""
    rank = max(len(p.dims) for p in arrays)
    result = [Extent(1, 1) for _ in range(rank)]
    equalities: list[Value] = []
    for position, p in enumerate(arrays):
        first = rank - len(p.dims)
        for k, (general, plain) in enumerate(zip(p.dims, p.plain, strict=True)):
            here = result[first + k]
            result[first + k] = _meet(here, Extent(general, plain), equalities, arrays[: position + 1], mismatch)
    return result, equalities


def _meet(
    a: Extent, b: Extent, equalities: list[Value], shown: Sequence[Lazy], mismatch: Mismatch
) -> Extent:
    if static_dim(a.general) == 1:
        return b
    if static_dim(b.general) == 1 or same_dim(a.general, b.general):
        return a
    if is_short(a.general, b.general) and not is_short(b.general, a.general):
        a, b = b, a
    x, y = dim_value(a.general), dim_value(b.general)
    fits = usual = equal_dims(a.general, b.general)
    kept, other = (b, a) if may_be_one(a.general) and not may_be_one(b.general) else (a, b)
    general = kept.general
    if may_be_one(b.general):
        one = ops.cmpi(y, const_index(1), predicate="eq")
        fits, usual = ops.ori(fits, one), one if other is b and is_short(b.general, a.general) else usual
    if may_be_one(a.general):
        one = ops.cmpi(x, const_index(1), predicate="eq")
        fits = ops.ori(fits, one)
        general = ops.select(one, y, x) if kept is a else general
    error, message = mismatch
    shape_check(fits, message, [p.dims for p in shown], error=error)
    if may_be_one(other.general) and not same_dim(a.plain, b.plain):
        equalities.append(usual)
    return Extent(general, kept.plain)


def shape_check(
    fits: Value, message: str, shapes: Sequence[tuple[Dim, ...]], between: str = " ", error: str = SHAPE_ERROR
) -> None:
    """Raise ``ValueError``, or another error, with the shapes unless ``fits``."""
    texts = between.join(
        "({})".format(",".join("{}" for _ in dims) + ("," if len(dims) == 1 else "")) for dims in shapes
    )
    trap_unless(fits, error, f"{message} {texts}", *(dim_value(d) for dims in shapes for d in dims))


# Stores ---------------------------------------------------------------------------------------------------------------


def store(frame: Frame, target: Array, value: AbstractValue) -> None:
    """``target[...] = value``, which is stretched to the target's shape."""
    check_writable(frame, target)
    if isinstance(value, Array | Lazy):
        if kind(value.dtype) == 3 and kind(target.dtype) < 3:
            raise cannot_hold()
        once = repetition.settled(frame, value, [target.dims])
        nests.store(frame, target, fitted(target, lazy_of(once)))
    elif is_numeric(value):
        nests.store(frame, target, fitted(target, nests.constant_array(assigned(value, target.dtype))))
    else:
        raise refuse(current_loc(), f"cannot store {describe_type(value)} into an array", kind=kinds.WRONG_TYPE)


INTO_SHAPE = "could not broadcast input array from shape", " into shape "


def fitted(target: Array | Lazy, value: Lazy, texts: tuple[str, str] = INTO_SHAPE) -> Lazy:
    """``value`` in the shape of ``target``. Extra leading extents of one are dropped, as in NumPy. ``texts``: the error
    texts before each of the shapes if they do not fit."""
    extra = max(0, value.rank - target.rank)
    if any(static_dim(d) not in (1, None) for d in value.dims[:extra]):
        raise refuse(
            current_loc(),
            f"cannot store {describe_type(value)} where {describe_type(target)} is",
            "only leading dimensions of length one are dropped: store a row, or reshape the array",
            kind=kinds.RANK_MISMATCH,
        )
    dims, first = target.dims, max(0, target.rank - value.rank)
    equalities = list(value.equalities)
    message, between = texts
    for own in value.dims[:extra]:
        if static_dim(own) is None:
            one = ops.cmpi(dim_value(own), const_index(1), predicate="eq")
            shape_check(one, message, [value.dims, dims], between)
    same = value.rank == target.rank and not _stretched(value, dims)
    for own, plain, dim in zip(value.dims[extra:], value.plain[extra:], dims[first:], strict=True):
        if static_dim(own) == 1 or same_dim(own, dim):
            continue
        fits = usual = equal_dims(dim, own)
        if may_be_one(own):
            one = ops.cmpi(dim_value(own), const_index(1), predicate="eq")
            fits, usual = ops.ori(usual, one), one if is_short(own, dim) else usual
        shape_check(fits, message, [value.dims[extra:], dims], between)
        if may_be_one(own) and not same_dim(plain, dim):
            equalities.append(usual)

    def element(subscripts: Sequence[Value], general: bool) -> Number:
        at = operand_subscripts(value.dims[extra:], dims, subscripts, general)
        return value.element([*[const_index(0)] * extra, *at], general)

    reads = tuple(Read(r.array, r.pointwise and same) for r in value.reads)
    return Lazy(dims, dims, value.dtype, element, reads, tuple(dict.fromkeys(equalities)))


def check_writable(frame: Frame, target: Array) -> None:
    """Refuse a store to memory that must not be written."""
    reason = protection(target.roots)
    if reason:
        help = columns.ASSIGN if reason == heap.ITEM else "pass a writable array as an argument, or work on a copy"
        raise refuse(current_loc(), f"cannot store into this array: {reason}", help, kind=kinds.CAPTURED_WRITE)
    snapshots.check(frame, target.roots)
    frame.written |= target.roots


def update(frame: Frame, target: Array, symbol: str, value: AbstractValue) -> None:
    """``target symbol= value`` in place."""
    check_writable(frame, target)
    result = operate(frame, symbol, target, value)
    check_updated(symbol, target, result)
    store(frame, target, result)


def check_updated(symbol: str, target: Array | Lazy, result: AbstractValue) -> None:
    """Refuse the result of ``symbol=`` if it cannot be stored into ``target``, from which it was computed."""
    assert isinstance(result, Array | Lazy)
    if kind(result.dtype) > kind(target.dtype):
        raise refuse(
            current_loc(),
            f"cannot store the result of this operation, {describe_type(result)}, into {describe_type(target)}",
            "use an array of floats: x = x.astype(float)",
            kind=kinds.CAST_NOT_SAFE,
        )
    if result.rank > target.rank:
        raise refuse(
            current_loc(),
            f"{symbol}= would make {describe_type(result)} of {describe_type(target)}, which cannot change its shape",
            f"write x = x {symbol} y, or take a row of y",
            kind=kinds.RANK_MISMATCH,
        )
