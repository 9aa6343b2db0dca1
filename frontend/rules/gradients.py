"""``adc.grad`` and ``adc.value_and_grad`` of functions inside compiled code.

``adc.grad(f)(x)`` traces the call ``f(x)`` into a separate function, whose arguments are those to differentiate by and
everything that it uses from outside. The call becomes ``adc.gradient``, which a pass replaces by a call of the
gradient.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adc.frontend.arrays import arrays
from adc.frontend.closures import released
from adc.frontend.data.callables import partial
from adc.frontend.data.compounds import WHOLE
from adc.frontend.data.roots import Roots, overlap
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import (
    NONE,
    AbstractValue,
    Array,
    Complex,
    Compound,
    Scalar,
    Static,
    Tuple,
    is_number,
    leaves,
)
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame, discard
from adc.frontend.libraries.table import LIBRARY
from adc.frontend.numeric import complexes, nests
from adc.frontend.numeric.convert import as_scalar
from adc.frontend.objects.merge import flatten
from adc.frontend.rules.cotangents import is_differentiable
from adc.ir import kinds, ops
from adc.ir.arith import const
from adc.ir.builder import build, current_block, current_loc, insert_at
from adc.ir.core import Func, Value
from adc.ir.rewrite import clone_op, used_from_outside

Keywords = Mapping[str, AbstractValue]


def register(grad: Any, value_and_grad: Any) -> None:
    """Let traced code call ``adc.grad`` and ``adc.value_and_grad``."""
    for function, with_value in ((grad, False), (value_and_grad, True)):
        LIBRARY[function] = _taken(function.__name__, with_value=with_value)


def _taken(name: str, *, with_value: bool) -> Any:
    def call(frame: Frame, args: Sequence[AbstractValue], kwargs: Keywords) -> AbstractValue:
        """``adc.grad(f, argnums)``: a function that stores what to do when it is called."""
        given = dict(zip(("fn", "argnums"), args, strict=False)) | dict(kwargs)
        unknown = [key for key in given if key not in ("fn", "argnums")]
        if unknown or len(args) > 2 or "fn" not in given:
            raise refuse(
                current_loc(),
                f"adc.{name}() in compiled code takes a function and argnums",
                "leave out argnames and has_aux",
                kind=kinds.UNSUPPORTED_OPTION,
            )
        numbers = _argnums(given.get("argnums", NONE))
        return partial([Static(_Gradient(name, numbers, with_value)), given["fn"]], {})

    return call


FLOATS = "floats"  # all arguments that have floats; the others get None
ArgNums = int | tuple[int, ...] | str


def _argnums(v: AbstractValue) -> ArgNums:
    if isinstance(v, Static) and v.value is None:
        return 0
    if isinstance(v, Static) and v.value == FLOATS:
        return FLOATS
    if isinstance(v, Static) and isinstance(v.value, int) and not isinstance(v.value, bool):
        return v.value
    if isinstance(v, Tuple) and all(isinstance(i, Static) and type(i.value) is int for i in v.items):
        return tuple(i.value for i in v.items)  # type: ignore[attr-defined]
    raise refuse(current_loc(), "argnums is an integer, or a tuple of integers, written down", kind=kinds.WRONG_ARGNUMS)


class _Gradient:
    """The effect of calling ``adc.grad(f)``, with ``f`` as first argument."""

    def __init__(self, name: str, argnums: ArgNums, with_value: bool) -> None:
        self.__name__ = name
        self.argnums = argnums
        self.with_value = with_value

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("is for compiled code")


def as_gradient(obj: Any) -> tuple[_Gradient, AbstractValue] | None:
    """The gradient that an object ``adc.grad(f)``, made outside, stands for, and its function."""
    known = getattr(obj, "__adc_gradient__", None)
    if known is None:
        return None
    name, function, argnums, with_value = known
    return _Gradient(name, argnums, with_value), Static(function)


def is_gradient(obj: Any) -> bool:
    return isinstance(obj, _Gradient)


def call_gradient(frame: Frame, made: _Gradient, args: Sequence[AbstractValue], kwargs: Keywords) -> AbstractValue:
    """Call a gradient: ``args`` are the function and its arguments."""
    function, *given = [arrays.settled(frame, a) for a in args]
    count = len(given)
    if made.argnums == FLOATS:
        numbers: Sequence[int] = [n for n, v in enumerate(given) if _has_floats(v)]
    else:
        numbers = made.argnums if isinstance(made.argnums, tuple) else (made.argnums,)  # type: ignore[assignment]
    positions = [n + count if n < 0 else n for n in numbers]
    if (
        any(not 0 <= n < count for n in positions)
        or len(set(positions)) != len(positions)
        or (not positions and made.argnums != FLOATS)
    ):
        raise refuse(
            current_loc(),
            f"argnums {made.argnums} of adc.{made.__name__}() does not fit a call with {count} positional arguments",
            kind=kinds.WRONG_ARGNUMS,
        )
    by = [given[n] for n in positions]
    for n, v in zip(positions, by, strict=True):
        given[n] = by[positions.index(n)] = _differentiable(v, n)
    value, gradients = _build(frame, made.__name__, function, given, positions, kwargs)
    if made.argnums == FLOATS:
        every = dict(zip(positions, gradients, strict=True))
        found: AbstractValue = Tuple(tuple(every.get(n, NONE) for n in range(count)))
    else:
        found = Tuple(tuple(gradients)) if isinstance(made.argnums, tuple) else gradients[0]
    return Tuple((value, found)) if made.with_value else found


def _has_floats(v: AbstractValue) -> bool:
    """Whether an argument has a gradient; a float literal does."""
    if isinstance(v, Static):
        return isinstance(v.value, float)
    plain = isinstance(v, Scalar | Array) or (isinstance(v, Compound) and not isinstance(v, WHOLE))
    return plain and any(is_differentiable(x.dtype) for x in leaves(v))


def _has_leaves(v: AbstractValue) -> bool:
    """Whether any part of a value has a gradient."""
    return any(is_differentiable(x.dtype) for x in leaves(v))


def _differentiable(v: AbstractValue, position: int) -> AbstractValue:
    """An argument with its numbers as run-time values. Refused unless it is made of floats."""
    if isinstance(v, Static) and isinstance(v.value, float):
        return as_scalar(v)
    if _has_floats(v):
        if isinstance(v, Compound):
            return v.of(_differentiable(i, position) if _has_leaves(i) else i for i in v.items)
        return v
    raise refuse(
        current_loc(),
        f"no gradient by argument {position}, which is {describe_type(v)}: it is not made of floats",
        "pass a float, an array of floats, or a tuple of them",
        kind=kinds.NO_GRADIENT,
    )


def _build(
    frame: Frame,
    name: str,
    function: AbstractValue,
    given: list[AbstractValue],
    positions: list[int],
    kwargs: Keywords,
) -> tuple[AbstractValue, list[AbstractValue]]:
    """The value of a call, and its gradient with respect to some arguments."""
    outer = dict(frame.env)
    before = set(frame.written)
    frame.written.clear()
    block = current_block().in_place_of()
    sources: list[Scalar | Array] = []  # the values to differentiate by, outside

    def inside(v: AbstractValue) -> AbstractValue:
        if isinstance(v, Scalar | Array) and is_differentiable(v.dtype):
            sources.append(v)
            arg = block.add_arg(v.value.type if isinstance(v, Scalar) else v.type, "x")
            if isinstance(v, Scalar):
                return Scalar(arg, v.dtype, v.weak)
            return Array(arg, v.dims, v.roots)
        return v.of(map(inside, v.items)) if isinstance(v, Compound) and _has_leaves(v) else v

    passed = [inside(v) if n in positions else v for n, v in enumerate(given)]
    with insert_at(block, current_loc()):
        made = arrays.settled(frame, frame.tracer.call(frame, function, passed, kwargs))
        if isinstance(made, Static) and is_number(made.value) and isinstance(made.value, float):
            made = as_scalar(made)
        if not isinstance(made, Scalar) or not made.dtype.is_float:
            raise refuse(
                current_loc(),
                f"adc.{name}() is of a function that returns one float, not {describe_type(made)}",
                kind=kinds.NOT_SCALAR,
            )
        end = build(ops.return_, [made.value])
    changed = [key for key, v in outer.items() if frame.env.get(key) is not v]
    if changed:
        raise refuse(
            current_loc(),
            "the function whose gradient is taken here changes what is outside of it",
            "let it return what is new",
            kind=kinds.NO_DERIVATIVE,
        )
    own = set(block.args)
    used = [v for v in used_from_outside(block.ops) if v not in own]
    others = [*(v for n, v in enumerate(given) if n not in positions), *kwargs.values(), released(function)]
    captured = [v for _, v in frame.captures.values()]
    around = [x for v in (*others, *captured) for x in leaves(v) if isinstance(x, Array)]
    _refuse_overlap(sources, used, around, frozenset(frame.written))
    frame.written.clear()
    frame.written.update(before)  # the function works on copies of the arrays that it changes
    frame.tracer.called = None
    func = Func(frame.tracer.module.unique_name("differentiated"), [], (made.value.type,), (), current_loc())
    mapping: dict[Value, Value] = {}
    for v in (*block.args, *used):
        mapping[v] = func.body.add_arg(v.type, v.hint)
        func.arg_attrs.append({})
    with insert_at(func.body, func.loc):
        for op in block.ops:
            clone_op(op, mapping)
    frame.tracer.module.add(func)
    end.drop()
    block.set_ops(block.ops[:-1])
    discard(block)
    return _emit(frame, func, sources, used, made, [given[n] for n in positions])


def _emit(
    frame: Frame,
    func: Func,
    sources: list[Scalar | Array],
    used: list[Value],
    made: Scalar,
    by: list[AbstractValue],
) -> tuple[AbstractValue, list[AbstractValue]]:
    shadows: dict[int, Array] = {}
    for k, x in enumerate(sources):
        if isinstance(x, Array):
            shadows[k] = nests.allocate(frame, x.dims, x.dtype, "gradient")
            build(ops.fill, [const(0.0, x.type.element), shadows[k].memref])
    values = [v for x in sources for v in flatten(x)]
    types = (made.value.type, *(x.value.type for x in sources if isinstance(x, Scalar)))
    attrs = {"callee": func.name, "wrt": tuple(range(len(sources))), "types": types}
    op = build(ops.gradient, [*values, *used, *(s.memref for s in shadows.values())], attrs)
    results = iter(op.results[1:])
    found = [
        shadows[k] if k in shadows else Scalar(next(results), x.dtype, x.weak)  # type: ignore[union-attr]
        for k, x in enumerate(sources)
    ]
    rest = iter(found)

    def shaped(v: AbstractValue) -> AbstractValue:
        if isinstance(v, Array) and v.is_complex:
            return arrays.settled(frame, arrays.elementwise(complexes.conjugate, next(rest)))
        if isinstance(v, Scalar | Array):
            return next(rest) if v.dtype.is_float else NONE
        if isinstance(v, Complex):
            return complexes.conjugate(v.of(map(shaped, v.items)))
        return v.of(map(shaped, v.items)) if isinstance(v, Compound) and _has_leaves(v) else NONE

    return Scalar(op.results[0], made.dtype, made.weak), [shaped(v) for v in by]


def _refuse_overlap(sources: list[Scalar | Array], used: list[Value], around: list[Array], written: Roots) -> None:
    """Refuse overlapping arrays if the function writes to one of them: it works on a separate copy of each.

    ``around``: the other arrays that the function may use.
    """
    own = {x.memref: x for x in around if x.memref in used}
    arrays_ = [*(x for x in sources if isinstance(x, Array)), *own.values()]
    pairs = ((a, b) for k, a in enumerate(arrays_) for b in arrays_[:k])
    if any(overlap(a.roots, b.roots) and overlap(a.roots | b.roots, written) for a, b in pairs):
        raise refuse(
            current_loc(),
            "the gradient of a function that writes to an array which may overlap another cannot be taken inside "
            "compiled code",
            "pass a copy of one of them",
            kind=kinds.NO_DERIVATIVE,
        )
