"""The options of all of NumPy's universal functions: ``out``, ``where``, ``dtype``, ``casting``.

NumPy itself decides in which types an operation is computed, and whether operands and results may be converted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from adc.frontend import abstract
from adc.frontend.arrays import arrays
from adc.frontend.arrays.nested import array_of
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Array, Lazy, Scalar, Static, Tuple, is_array, is_numeric
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries.creation import astype, casting_rule, dtype_argument
from adc.frontend.libraries.rules import Rule, apply, fold, loop_types, operand_types, positional, static_of
from adc.frontend.numeric import nests
from adc.frontend.numeric.choosing import chosen
from adc.frontend.numeric.convert import as_number, as_scalar, cast, convert, kind, real_needed, wrap
from adc.ir import kinds
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.types import Type, f64, i1

Emit = Callable[..., Value | tuple[Value, ...]]


def loops(name: str, emit: Emit) -> Rule:
    """The rule for a ufunc that has a loop for each dtype, chosen by NumPy: ``emit`` gets its operands in the types of
    the loop, and the dtype of the first of them."""
    function: np.ufunc = getattr(np, name)

    def results(args: Sequence[AbstractValue]) -> list[Scalar]:
        types = loop_types(function, args)
        if any(kind(t) == 3 for t in types):
            raise real_needed()
        given, made = types[: function.nin], types[function.nin :]
        values = emit(*(convert(cast(a, t, False), t) for a, t in zip(args, given, strict=True)), dtype=given[0])
        listed = values if isinstance(values, tuple) else (values,)
        return [Scalar(wrap(v, t), t, weak=False) for v, t in zip(listed, made, strict=True)]

    def rule(frame: Frame, *args: AbstractValue) -> AbstractValue:
        if function.nout == 1:
            known = fold(function, args)
            return known or apply(f"np.{name}", lambda *values: results(values)[0], *args)
        each = (apply(f"np.{name}", lambda *values, k=k: results(values)[k], *args) for k in range(function.nout))
        return Tuple(tuple(each))

    return positional(f"np.{name}", function.nin, rule)


def call(
    frame: Frame, function: np.ufunc, rule: Rule, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]
) -> AbstractValue:
    """A call of a ufunc whose ``rule`` only handles operands, and keywords of its own."""
    name = f"np.{function.__name__}"
    given = dict(kwargs)
    inputs = [array_of(frame, a, None) if type(a) is Tuple else a for a in args[: function.nin]]
    outs = _outputs(name, function, args[function.nin :], given)
    mask = _mask(name, given.pop("where", Static(True)))
    dtype, casting = given.pop("dtype", None), given.pop("casting", Static("same_kind"))
    for key in ("order", "subok"):
        if key in given:
            static_of(given.pop(key), f"'{key}'")
    if len(inputs) < function.nin or not all(is_array(a) or is_numeric(a) for a in inputs):
        return rule(frame, inputs, given)  # says what is wrong
    inputs = _converted(function, inputs, outs, dtype, casting)
    result = rule(frame, inputs, given)
    results = list(result.items) if function.nout > 1 and isinstance(result, Tuple) else [result]
    if len(results) > 1:  # before storing one of them changes what the others are computed from
        results = [arrays.settled(frame, r) for r in results]
    stored = [_stored(frame, name, r, out, mask) for r, out in zip(results, outs, strict=True)]
    return stored[0] if len(stored) == 1 else Tuple(tuple(stored))


def stored(frame: Frame, function: np.ufunc, result: AbstractValue, out: AbstractValue | None) -> AbstractValue:
    """``result``, stored into ``out`` if there is one, as by ``function``."""
    name = f"np.{function.__name__}"
    (target,) = _outputs(name, function, [] if out is None else [out], {})
    if target is not None:
        _converted(function, [result], [target], None, Static("same_kind"))
    return _stored(frame, name, result, target, None)


def _outputs(
    name: str, function: np.ufunc, more: Sequence[AbstractValue], given: dict[str, AbstractValue]
) -> list[Array | None]:
    """The arrays that the results are stored into."""
    listed = list(more)
    if "out" in given:
        if listed:
            message = f"{name}() got 'out' as a positional and as a keyword argument"
            raise refuse(current_loc(), message, kind=kinds.WRONG_CALL)
        out = given.pop("out")
        listed = list(out.items) if isinstance(out, Tuple) else [out]
        if isinstance(out, Tuple) and len(listed) != function.nout:
            message = f"the 'out' tuple of {name}() must have one entry per result, of which there are {function.nout}"
            raise refuse(current_loc(), message, kind=kinds.WRONG_CALL)
    if len(listed) > function.nout:
        most = function.nin + function.nout
        message = f"{name}() takes from {function.nin} to {most} arguments here, got {function.nin + len(listed)}"
        raise refuse(current_loc(), message, kind=kinds.WRONG_CALL)
    found: list[Array | None] = []
    for out in listed + [Static(None)] * (function.nout - len(listed)):
        if isinstance(out, Array):
            found.append(out)
        elif isinstance(out, Static) and out.value is None:
            found.append(None)
        else:
            message = f"'out' of {name}() has to be an array, not {describe_type(out)}"
            raise refuse(current_loc(), message, "assign to a variable instead", kind=kinds.WRONG_TYPE)
    return found


def _mask(name: str, where: AbstractValue) -> AbstractValue | None:
    """The elements that are computed; None for all."""
    if isinstance(where, Static) and where.value is True:
        return None
    known = is_array(where) or is_numeric(where)
    if not known or (where.dtype if isinstance(where, Array | Lazy) else as_number(where).dtype) != i1:
        message = f"'where' of {name}() takes bools, not {describe_type(where)}"
        raise refuse(current_loc(), message, "compare, as in x != 0", kind=kinds.WRONG_TYPE)
    return where


def _converted(
    function: np.ufunc,
    inputs: Sequence[AbstractValue],
    outs: Sequence[Array | None],
    dtype: AbstractValue | None,
    casting: AbstractValue,
) -> list[AbstractValue]:
    """The operands in the types that ``dtype`` asks for. Refuses conversions that ``casting`` does not allow."""
    rule = casting_rule(casting, "same_kind")
    wanted = None if static_of(dtype, "the dtype") is None else abstract.numpy_dtype(dtype_argument(dtype, f64))
    types = (*operand_types(inputs), *(None if out is None else abstract.numpy_dtype(out.dtype) for out in outs))
    signature = None if wanted is None else (*[None] * function.nin, *[wanted] * function.nout)
    found = loop_types(function, inputs, types=types, signature=signature, casting=rule)
    if wanted is None:
        return list(inputs)
    return [_as(v, t) for v, t in zip(inputs, found, strict=False)]


def _as(v: AbstractValue, dtype: Type) -> AbstractValue:
    return astype(v, dtype) if isinstance(v, Array | Lazy) else cast(v, dtype, weak=False)


def _stored(
    frame: Frame, name: str, result: AbstractValue, out: Array | None, mask: AbstractValue | None
) -> AbstractValue:
    """The value of the call: the result itself, or the array that it is stored into. Elements that are not computed are
    unchanged, or zero in new arrays."""
    if out is not None:
        result = _as(result, out.dtype)
    if mask is not None:
        dtype = result.dtype if isinstance(result, Array | Lazy) else as_scalar(result).dtype
        others = cast(Static(0), dtype, weak=False) if out is None else out
        operands: list[AbstractValue] = [mask, result, others]
        if any(map(is_array, operands)):
            result = arrays.elementwise(chosen, *operands, deferred=True)
        else:
            result = chosen(*(lambda v=v: v for v in operands))
    if out is None:
        return result
    value = nests.lazy_of(result) if isinstance(result, Array | Lazy) else nests.constant_array(result)
    if value.rank > out.rank:
        message = f"the result of {name}() is {describe_type(value)}, which 'out', {describe_type(out)}, cannot hold"
        raise refuse(current_loc(), message, "give it an array of the result's shape", kind=kinds.RANK_MISMATCH)
    arrays.store(frame, out, value)
    return out
