"""``adc.jvp`` in compiled code: a call whose function is differentiated after the whole program has been traced.

The function is called like any other. The call then becomes one of a function that is only declared: it also takes
tangents, and also returns the tangents of the results. A pass defines it, from the function whose derivative it is
declared to be (``adc.passes.differentiation.inner``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

from adc.frontend.arrays.arrays import settled
from adc.frontend.containers import sequences
from adc.frontend.data.described import describe
from adc.frontend.data.dims import SHAPE_ERROR, dim_value, equal_dims, same_dim
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Array, Compound, Ref, Scalar, Static, Tuple, is_static_number
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.functions.mapped import apart
from adc.frontend.numeric.convert import as_scalar, convert
from adc.frontend.numeric.nests import lazy_of, materialise
from adc.frontend.objects.merge import rebuild
from adc.frontend.traps import trap_unless
from adc.ir import kinds, ops
from adc.ir.attached import DERIVATIVE
from adc.ir.builder import build, current_loc, insert_at
from adc.ir.core import Func, Op, Value
from adc.ir.types import MemRefType

WRT = "adc.wrt"  # positions of that function's arguments whose tangents follow them

Call = Callable[[Sequence[AbstractValue]], AbstractValue]


def is_jvp(function: object) -> bool:
    """Whether this is ``adc.jvp``."""
    own = getattr(sys.modules.get("adc.functions.along"), "jvp", None)
    return own is not None and function is own


def jvp(
    frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue], call: Callable[..., AbstractValue]
) -> AbstractValue:
    """``adc.jvp(function, args, tangents)``: the pair of the value and its tangent."""
    if len(args) != 3 or kwargs:
        raise refuse(
            current_loc(),
            "adc.jvp() in compiled code takes a function, its arguments and their tangents",
            "adc.jvp(f, (x,), (x_dot,))",
            kind=kinds.WRONG_CALL,
        )
    function, *pairs = args
    given, tangents = (sequences.snapshot(frame, v) for v in pairs)
    if not isinstance(given, Tuple) or not isinstance(tangents, Tuple) or len(given.items) != len(tangents.items):
        raise refuse(
            current_loc(),
            "adc.jvp() takes a tuple of arguments and a tuple of as many tangents",
            "None is the tangent of what has none",
            kind=kinds.WRONG_CALL,
        )
    found: dict[Value, Value] = {}
    passed = [
        _with_tangent(frame, settled(frame, v), settled(frame, t), found)
        for v, t in zip(given.items, tangents.items, strict=True)
    ]
    frame.tracer.called = None
    value = call(frame, apart(function), passed, {})
    called = frame.tracer.called
    if called is None:
        raise refuse(
            current_loc(),
            f"adc.jvp() in compiled code takes a Python function, not {describe_type(function)}",
            "wrap it in a function: lambda x: math.sin(x)",
            kind=kinds.WRONG_TYPE,
        )
    op, written = called
    if written:
        raise refuse(
            current_loc(),
            "adc.jvp() leaves arguments as they were, and the function changes an array that it is given",
            "pass a copy, and let the function return what it makes of it",
            kind=kinds.NO_DERIVATIVE,
        )
    return Tuple((value, _tangent_of(frame, value, _declare(frame, op, found))))


def _with_tangent(frame: Frame, v: AbstractValue, tangent: AbstractValue, found: dict[Value, Value]) -> AbstractValue:
    """An argument to be passed; ``found`` gets the tangents of its floats and arrays."""
    if isinstance(tangent, Static) and tangent.value is None:
        return v
    if isinstance(v, Compound) and isinstance(tangent, Compound) and len(v.items) == len(tangent.items):
        pairs = zip(v.items, tangent.items, strict=True)
        return v.of(_with_tangent(frame, settled(frame, a), settled(frame, b), found) for a, b in pairs)
    if isinstance(v, Array) and v.dtype.is_float and isinstance(tangent, Array) and tangent.rank == v.rank:
        # A value of its own, different from all other arguments: one array may be given twice, with different tangents.
        own = ops.cast(v.memref, type=v.type)
        found[own] = _array_tangent(frame, v, tangent)
        return Array(own, v.dims, v.roots)
    if isinstance(v, Scalar) or is_static_number(v):
        number = as_scalar(v)
        if number.dtype.is_float and (isinstance(tangent, Scalar) or is_static_number(tangent)):
            own = ops.twin(number.value, number.value)
            found[own] = convert(as_scalar(tangent), number.dtype)
            return Scalar(own, number.dtype, number.weak)
    raise refuse(
        current_loc(),
        f"{describe_type(tangent)} is not a tangent of {describe_type(v)}",
        "a tangent is made as its argument is: of floats, arrays of floats, and tuples of them; else it is None",
        kind=kinds.WRONG_TYPE,
    )


def _array_tangent(frame: Frame, v: Array, tangent: Array) -> Value:
    """A copy of a tangent, in the type of the argument."""
    for n, m in zip(v.dims, tangent.dims, strict=True):
        if not same_dim(n, m):
            message = "an argument has extent {} where its tangent has {}"
            trap_unless(equal_dims(n, m), SHAPE_ERROR, message, dim_value(n), dim_value(m))
    copy = materialise(frame, lazy_of(tangent))
    assert isinstance(copy, Array)
    if copy.dtype != v.dtype:
        raise refuse(current_loc(), "a tangent is of another dtype than its argument", kind=kinds.WRONG_TYPE)
    return copy.memref if copy.type == v.type else ops.cast(copy.memref, type=v.type)


def _declare(frame: Frame, op: Op, found: dict[Value, Value]) -> dict[Value, Value]:
    """Make a call also take tangents and return those of its results, which this function returns."""
    given = {k: found[base] for k, v in enumerate(op.operands) if (base := _given(v, found)) is not None}
    module = frame.tracer.module
    callee = module.funcs[op.attrs["callee"]]
    results = [r for r in op.results if _floats(r)]
    types = [*(a.type for a in callee.args), *(callee.args[k].type for k in given)]
    made = Func(module.unique_name(f"{callee.name}.tangent"), types, loc=op.loc)
    made.result_types = (*callee.result_types, *(r.type for r in results))
    made.attrs |= {DERIVATIVE: callee.name, WRT: tuple(given)}
    for k, a in enumerate(callee.args):
        made.body.args[k].hint = a.hint
    for k, attrs in enumerate(callee.arg_attrs):
        made.arg_attrs[k].update(attrs)
    with insert_at(made.body, op.loc):
        build(ops.return_, [ops.undef(type=t) for t in made.result_types])
    module.add(made)
    for k, tangent in given.items():
        wanted = callee.args[k].type
        if tangent.type != wanted:
            with_cast = Op(ops.cast, [tangent], [wanted], {"type": wanted}, loc=op.loc)
            assert op.parent is not None
            op.parent.insert(op.parent.ops.index(op), with_cast)
            tangent = with_cast.result
        op.add_operand(tangent)
    tangents = {r: op.add_result(r.type) for r in results}
    op.set_attr("callee", made.name)
    op.set_attr("types", tuple(r.type for r in op.results))
    return tangents


def _tangent_of(frame: Frame, v: AbstractValue, tangents: dict[Value, Value]) -> AbstractValue:
    """The tangent of a result, in its containers."""
    if isinstance(v, Scalar):
        if not v.dtype.is_float:
            return Static(None)
        known = tangents.get(v.value)
        return Static(0.0) if known is None else Scalar(known, v.dtype, v.weak)
    if isinstance(v, Array):
        known = tangents.get(v.memref)
        if known is None:
            return Static(None)
        root = frame.new_root("result")
        return rebuild(describe(v), iter([known]), lambda k: frozenset({root}))
    if isinstance(v, Ref) or (isinstance(v, Compound) and not isinstance(v, Tuple)):
        raise refuse(
            current_loc(),
            f"adc.jvp() in compiled code cannot return {describe_type(v)}",
            "return numbers and arrays, or tuples of them",
            kind=kinds.NO_DERIVATIVE,
        )
    if isinstance(v, Tuple):
        return v.of(_tangent_of(frame, item, tangents) for item in v.items)
    return Static(0.0 if isinstance(v, Static) and isinstance(v.value, float) else None)


def _given(v: Value, found: Mapping[Value, Value]) -> Value | None:
    """The value with a tangent that an operand is, perhaps in another layout."""
    while v not in found and v.op is not None and v.op.opdef is ops.cast:
        v = v.op.operands[0]
    return v if v in found else None


def _floats(v: Value) -> bool:
    return v.type.element.is_float if isinstance(v.type, MemRefType) else v.type.is_float
