"""NumPy's reductions, as functions and as methods: their common arguments are handled in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from adc.frontend.arrays import arrays, reductions
from adc.frontend.arrays.contractions import squared
from adc.frontend.arrays.nested import array_of
from adc.frontend.arrays.reductions import Over, Reduction, axes_of
from adc.frontend.data.type_names import describe_type, for_array
from adc.frontend.data.values import (
    AbstractValue,
    Array,
    Lazy,
    Scalar,
    Static,
    Tuple,
    is_array,
    is_numeric,
    is_static_number,
)
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries.creation import astype, dtype_argument
from adc.frontend.libraries.extreme_places import first_extreme
from adc.frontend.libraries.rules import Rule, static_of, take
from adc.frontend.numeric import nests, scalars
from adc.frontend.numeric.choosing import chosen
from adc.frontend.numeric.convert import accumulator, as_complex, as_number, as_scalar, cast, convert, kind, nonzero
from adc.ir import kinds, ops
from adc.ir.arith import const
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import ComplexType, Type, f64, i1, i64

Args = Sequence[AbstractValue]
Keywords = Mapping[str, AbstractValue]


@dataclass(frozen=True, eq=False)
class Call:
    """The arguments of a call, by name; those that are None are left out."""

    frame: Frame
    name: str
    given: Mapping[str, AbstractValue]
    value: Array | Lazy
    over: Over

    def dtype(self, default: Type) -> Type:
        """The dtype of the computation: ``dtype``, or that of ``out``."""
        out = self.given.get("out")
        return dtype_argument(self.given.get("dtype"), out.dtype if isinstance(out, Array) else default)

    @property
    def where(self) -> AbstractValue | None:
        found = self.given.get("where")
        return None if isinstance(found, Static) and found.value is True else found

    def masked(self, value: Array | Lazy, instead: Value) -> Array | Lazy:
        """``value`` with ``instead`` at the elements that ``where`` excludes."""
        if self.where is None:
            return value
        other = Scalar(instead, part_of(value.dtype), weak=False)
        return arrays.elementwise(chosen, self.where, value, other, deferred=True)

    def reduce(
        self, r: Reduction, value: Array | Lazy, keepdims: bool = False, dtype: Type | None = None
    ) -> AbstractValue:
        over = Over(self.over.axes, True) if keepdims else self.over
        return reductions.reduce(self.frame, r, self.masked(value, _neutral(r, value.dtype)), over, dtype)

    def count(self, dtype: Type) -> AbstractValue:
        """The number of elements that each result combines."""
        dtype = part_of(dtype)
        if self.where is None:
            return Scalar(ops.sitofp(reductions.count(self.value, self.over), type=dtype), dtype, weak=False)
        taken = arrays.elementwise(_truth_of_first, self.where, self.value)
        found = reductions.reduce(self.frame, reductions.SUM, taken, self.over)
        return apply(partial(cast, dtype=dtype, weak=False), found)

    def stored(self, result: AbstractValue) -> AbstractValue:
        """The result, in ``out`` if there is one."""
        out = self.given.get("out")
        if out is None:
            return result
        rank = result.rank if isinstance(result, Array | Lazy) else 0
        if not isinstance(out, Array) or out.rank != rank:
            message = f"the result has {rank} dimensions, 'out' is {describe_type(out)}"
            raise refuse(current_loc(), message, kind=kinds.RANK_MISMATCH)
        arrays.store(self.frame, out, result)
        return out


def apply(function: Callable[..., AbstractValue], *operands: AbstractValue) -> AbstractValue:
    """``function`` of numbers, or elementwise if there is an array."""
    return arrays.elementwise(function, *operands) if any(map(is_array, operands)) else function(*operands)


def part_of(dtype: Type) -> Type:
    """The dtype of the parts of complex numbers; any other dtype unchanged."""
    return dtype.part if isinstance(dtype, ComplexType) else dtype


def _truth_of_first(condition: AbstractValue, _: AbstractValue) -> Scalar:
    return Scalar(nonzero(as_number(condition)), i1, weak=False)


def _neutral(r: Reduction, dtype: Type) -> Value:
    found = r.identity(part_of(dtype))
    return const(r is reductions.ALL or r.kind == "mul", i1) if dtype == i1 else found


def call_of(name: str, parameters: Sequence[str], frame: Frame, args: Args, kwargs: Keywords) -> Call:
    """Bind the arguments; numbers and nested tuples of them become arrays."""
    found = take(name, ["a", *parameters], args, kwargs)
    given = {
        p: v
        for p, v in zip(("a", *parameters), found, strict=True)
        if v is not None and not (isinstance(v, Static) and v.value is None)
    }
    value = as_array(frame, name, given["a"] if "a" in given else Static(None))
    axes = axes_of(given.get("axis"), value.rank, ranges=False)
    over = Over(axes, bool(static_of(given.get("keepdims"), "keepdims")))
    return Call(frame, name, given, value, over)


def as_array(frame: Frame, name: str, value: AbstractValue) -> Array | Lazy:
    """An argument that NumPy's functions accept as an array."""
    if isinstance(value, Tuple):
        return array_of(frame, value, None)
    if is_numeric(value):
        return nests.constant_array(value)
    if not isinstance(value, Array | Lazy):
        message = f"{name}() takes an array, not {describe_type(value)}"
        raise refuse(current_loc(), message, for_array(value), kind=kinds.WRONG_TYPE)
    return value


def _folded(name: str, args: Args, kwargs: Keywords) -> Static | None:
    """The result for known numbers, such as an extent that is a product of others."""
    if len(args) != 1 or kwargs or not isinstance(args[0], Tuple):
        return None
    items = args[0].items
    if not items or not all(is_static_number(i) for i in items):
        return None
    with np.errstate(all="ignore"):
        return Static(getattr(np, name)([i.value for i in items]))  # type: ignore[attr-defined]


# The reductions ------------------------------------------------------------------------------------------------------


def _combining(name: str, r: Reduction, parameters: str) -> Rule:
    """The rules for sum, prod, min and max."""

    def rule(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
        known = _folded(name, args, kwargs)
        if known is not None:
            return known
        call = call_of(f"np.{name}", parameters.split(), frame, args, kwargs)
        initial = call.given.get("initial")
        if r.empty and call.where is not None and initial is None:
            message = f"np.{name}() with 'where' needs 'initial', the result where nothing is chosen"
            raise refuse(current_loc(), message, "write initial=...", kind=kinds.WRONG_CALL)
        dtype = call.dtype(r.accumulator(call.value.dtype))
        value = astype(call.value, dtype)
        kind_of = Reduction(r.name, r.kind) if initial is not None else r
        result = call.reduce(kind_of, value, dtype=dtype)
        if initial is not None and not (isinstance(initial, Static) and initial.value == 0 and r is reductions.SUM):
            if kind(dtype) == 3:
                symbol = "+" if r is reductions.SUM else "*"
                return call.stored(arrays.operate(frame, symbol, as_complex(initial, dtype), result))
            start = Scalar(convert(as_scalar(initial), dtype), dtype, weak=False)
            result = apply(lambda x: r.combine(start, as_scalar(x)), result)
        return call.stored(result)

    return rule


def _testing(name: str, r: Reduction) -> Rule:
    """The rules for any and all."""

    def rule(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
        call = call_of(f"np.{name}", ["axis", "out", "keepdims", "where"], frame, args, kwargs)
        return call.stored(call.reduce(r, astype(call.value, i1)))

    return rule


def _count_nonzero(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    call = call_of("np.count_nonzero", ["axis", "keepdims"], frame, args, kwargs)
    found = call.reduce(reductions.SUM, astype(call.value, i1))
    if isinstance(found, Scalar) and call.over.axes is None:
        return Scalar(found.value, i64, weak=_COUNTS_ARE_PYTHON)
    return found


_COUNTS_ARE_PYTHON = not isinstance(np.count_nonzero(np.zeros(1)), np.generic)  # not in newer versions of NumPy


def _first(name: str, r: Reduction) -> Rule:
    """The rules for argmin and argmax."""

    def rule(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
        call = call_of(f"np.{name}", ["axis", "out", "keepdims"], frame, args, kwargs)
        value = call.value if isinstance(call.value, Array) else nests.materialise(frame, call.value)
        return call.stored(first_extreme(frame, r, value, call.over))

    return rule


def _floats(call: Call) -> Array | Lazy:
    """The array in the dtype of its mean: float64 for integers."""
    dtype = call.value.dtype
    return astype(call.value, call.dtype(dtype if kind(dtype) >= 2 else f64))


def _mean(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    call = call_of("np.mean", ["axis", "dtype", "out", "keepdims", "where"], frame, args, kwargs)
    value = _floats(call)
    dtype, wide = value.dtype, accumulator(value.dtype)
    total = call.reduce(reductions.SUM, astype(value, wide))
    found = arrays.operate(frame, "/", total, call.count(wide))
    if wide != dtype:
        found = apply(partial(cast, dtype=dtype, weak=False), found)
    return call.stored(found)


def _variance(name: str, finish: Callable[[AbstractValue], AbstractValue]) -> Rule:
    parameters = ["axis", "dtype", "out", "ddof", "keepdims", "where", "mean", "correction"]

    def rule(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
        call = call_of(f"np.{name}", parameters, frame, args, kwargs)
        value = _floats(call)
        if isinstance(value, Lazy):
            value = nests.materialise(frame, value)
        off = arrays.operate(frame, "-", value, _mean_of(call, value))
        square = arrays.elementwise(squared, off)
        total = call.reduce(reductions.SUM, square)
        return call.stored(apply(finish, arrays.operate(frame, "/", total, _freedom(call, part_of(value.dtype)))))

    return rule


def _mean_of(call: Call, value: Array | Lazy) -> AbstractValue:
    """The mean of each group, with extents that broadcast over the group."""
    given = call.given.get("mean")
    if given is not None:
        return given
    total = call.reduce(reductions.SUM, value, keepdims=True)
    kept = Call(call.frame, call.name, call.given, call.value, Over(call.over.axes, True))
    mean = arrays.operate(call.frame, "/", total, kept.count(value.dtype))
    return arrays.settled(call.frame, mean)


def _freedom(call: Call, dtype: Type) -> AbstractValue:
    """The number of elements minus ``ddof``, but not less than zero."""
    off = call.given.get("ddof", call.given.get("correction"))
    number = call.count(dtype)
    if off is None or (isinstance(off, Static) and off.value == 0):
        return number

    def left(n: AbstractValue) -> Scalar:
        less = as_scalar(scalars.binary("-", n, Scalar(convert(as_scalar(off), dtype), dtype, weak=False)))
        return Scalar(ops.maximumf(less.value, const(0.0, dtype)), dtype, weak=False)

    return apply(left, number)


def root(v: AbstractValue) -> Scalar:
    """The square root of a sum of squares, with derivative zero if it is zero."""
    s = as_scalar(v)
    zero = const(0.0, s.value.type)
    found = ops.select(ops.cmpf(s.value, zero, predicate="oeq"), zero, ops.sqrt(s.value))
    return Scalar(found, s.dtype, weak=False)


def _same(v: AbstractValue) -> AbstractValue:
    return v


_SUMS = "axis dtype out keepdims initial where"
_EXTREMES = "axis out keepdims initial where"
RULES: dict[str, Rule] = {
    "sum": _combining("sum", reductions.SUM, _SUMS),
    "prod": _combining("prod", reductions.PROD, _SUMS),
    "min": _combining("min", reductions.MIN, _EXTREMES),
    "max": _combining("max", reductions.MAX, _EXTREMES),
    "any": _testing("any", reductions.ANY),
    "all": _testing("all", reductions.ALL),
    "argmin": _first("argmin", reductions.MIN),
    "argmax": _first("argmax", reductions.MAX),
    "mean": _mean,
    "var": _variance("var", _same),
    "std": _variance("std", root),
    "count_nonzero": _count_nonzero,
}
TABLE: dict[Any, Rule] = {
    **{getattr(np, name): rule for name, rule in RULES.items()},
    np.amin: RULES["min"],
    np.amax: RULES["max"],
}
