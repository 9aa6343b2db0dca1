"""How values travel into a callee: bound to parameters, described, taken apart into operands, put together again."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from adc.frontend import abstract
from adc.frontend.convert import as_scalar
from adc.frontend.errors import refuse
from adc.frontend.liveness import Function
from adc.frontend.names import lookup
from adc.frontend.roots import Roots, overlap, protection
from adc.frontend.suggestions import for_name
from adc.frontend.values import (
    AbstractValue,
    Array,
    Closure,
    Compound,
    Range,
    Ref,
    Scalar,
    Static,
    compound,
    describe_type,
    is_static_number,
)
from adc.ir import kinds
from adc.ir.builder import current_loc
from adc.ir.core import Loc, Value


def bind(
    node: Function,
    name: str,
    args: Sequence[AbstractValue],
    kwargs: Mapping[str, AbstractValue],
    defaults: Mapping[str, Callable[[], AbstractValue]],
) -> dict[str, AbstractValue]:
    """Arguments by parameter name, as Python binds them."""
    a = node.args
    positional = [p.arg for p in (*a.posonlyargs, *a.args)]
    keyword = [p.arg for p in (*a.args, *a.kwonlyargs)]
    refuse_starred(node, name, current_loc())
    if len(args) > len(positional):
        raise refuse(
            current_loc(),
            f"{name}() takes {len(positional)} positional arguments but {len(args)} were given",
            kind=kinds.WRONG_CALL,
        )
    bound = dict(zip(positional, args, strict=False))
    for key, value in kwargs.items():
        if key not in keyword:
            raise refuse(
                current_loc(), f"{name}() has no parameter '{key}'", for_name(key, keyword), kind=kinds.WRONG_CALL
            )
        if key in bound:
            raise refuse(current_loc(), f"{name}() got two values for '{key}'", kind=kinds.WRONG_CALL)
        bound[key] = value
    ordered: dict[str, AbstractValue] = {}
    for parameter in (*positional, *(p.arg for p in a.kwonlyargs)):
        if parameter not in bound and parameter not in defaults:
            raise refuse(current_loc(), f"{name}() is missing the argument '{parameter}'", kind=kinds.WRONG_CALL)
        ordered[parameter] = bound[parameter] if parameter in bound else defaults[parameter]()
    return ordered


def refuse_starred(node: Function, name: str, loc: Loc) -> None:
    """Refuse a function with ``*args`` or ``**kwargs``."""
    for starred in (node.args.vararg, node.args.kwarg):
        if starred is not None:
            raise refuse(
                loc,
                f"{name}() takes *{starred.arg}, which is not supported",
                "name its parameters",
                kind=kinds.UNSUPPORTED_FUNCTION,
            )


def prepare(v: AbstractValue) -> AbstractValue:
    """An argument as it is passed: numbers at run time (bools stay known), closures with what they capture.

    Array expressions have been computed before.
    """
    if is_static_number(v) and not isinstance(v.value, bool):  # type: ignore[attr-defined]
        return as_scalar(v)
    if isinstance(v, Compound):
        return v.of(prepare(item) for item in v.items)
    if isinstance(v, Closure):
        return capture(v)
    if isinstance(v, Scalar | Array | Static | Range | Ref):
        return v
    raise refuse(current_loc(), f"{describe_type(v)} cannot be passed to a function", kind=kinds.UNSUPPORTED_VALUE)


def capture(c: Closure) -> Closure:
    """A closure with the present values of its free variables."""
    if c.captured is not None:
        return c
    frame = c.frame
    assert frame is not None
    values = []
    for name in c.free:
        value = lookup(frame, name)
        if isinstance(value, Closure) and value.source.node is c.source.node:
            raise refuse(
                current_loc(),
                f"'{c.source.name}' calls itself: recursion is not supported",
                "use a loop",
                kind=kinds.UNSUPPORTED_FUNCTION,
            )
        values.append(prepare(value))
    return Closure(
        c.source,
        c.free,
        tuple(prepare(d) for d in c.defaults),
        tuple((n, prepare(d)) for n, d in c.keyword_defaults),
        None,
        c.module_globals,
        c.outer_cells,
        tuple(values),
    )


@dataclass(frozen=True, eq=False)
class Code:
    """A closure's code, compared by its syntax tree."""

    closure: Closure

    @property
    def name(self) -> str:
        return self.closure.source.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Code) and other.closure.source.node is self.closure.source.node

    def __hash__(self) -> int:
        return id(self.closure.source.node)


def describe_arguments(values: Sequence[AbstractValue]) -> tuple[abstract.Abstract, ...]:
    """Abstract types of prepared arguments; arrays that may overlap get a common alias number."""
    numbers = _alias_numbers([a for v in values for a in arrays_of(v)])
    position = iter(range(10**9))

    def of(v: AbstractValue) -> abstract.Abstract:
        if isinstance(v, Scalar):
            return abstract.Scalar(v.dtype, v.weak)
        if isinstance(v, Array):
            alias = numbers[next(position)]
            return abstract.Array(v.dtype, v.rank, abstract.layout_of(v.type), alias, not protection(v.roots))
        if isinstance(v, Compound):
            return abstract.Tuple(tuple(of(item) for item in v.items), v.form)
        if isinstance(v, Range):
            return abstract.Tuple((abstract.Static(range), of(v.start), of(v.stop), of(v.step)))
        if isinstance(v, Closure):
            return abstract.Closure(Code(v), v.free, tuple(of(item) for item in _parts(v)))
        assert isinstance(v, Static)
        return abstract.Static(v.value)

    return tuple(of(v) for v in values)


def _parts(c: Closure) -> list[AbstractValue]:
    return [*c.defaults, *(d for _, d in c.keyword_defaults), *(c.captured or ())]


def _alias_numbers(arrays: Sequence[Array]) -> list[int | None]:
    """Arrays that may overlap, directly or through others, share a number."""
    group = list(range(len(arrays)))
    for k, a in enumerate(arrays):
        for m in range(k):
            if group[m] != group[k] and overlap(a.roots, arrays[m].roots):
                old, new = group[k], group[m]
                group = [new if g == old else g for g in group]
    order: dict[int, int] = {}
    for g in group:
        if group.count(g) > 1:
            order.setdefault(g, len(order))
    return [order.get(g) for g in group]


def arrays_of(v: AbstractValue) -> list[Array]:
    """The arrays of a prepared argument, in order."""
    return [x for x in leaves_of(v) if isinstance(x, Array)]


def leaves_of(v: AbstractValue) -> list[Scalar | Array]:
    """The run-time leaves of a prepared argument, in order."""
    if isinstance(v, Scalar | Array):
        return [v]
    parts: Sequence[AbstractValue] = ()
    if isinstance(v, Compound):
        parts = v.items
    elif isinstance(v, Range):
        parts = (v.start, v.stop, v.step)
    elif isinstance(v, Closure):
        parts = _parts(v)
    return [x for part in parts for x in leaves_of(part)]


def operands_of(v: AbstractValue) -> list[Value]:
    return [x.value if isinstance(x, Scalar) else x.memref for x in leaves_of(v)]


def receive(a: abstract.Abstract, name: str, leaf: Callable[[abstract.Abstract, str], AbstractValue]) -> AbstractValue:
    """The value of type ``a`` inside the callee; ``leaf`` adds an argument for a scalar or an array."""
    if isinstance(a, abstract.Static):
        return Static(a.value)
    if isinstance(a, abstract.Tuple):
        first = a.items[0] if a.items else None
        items = [receive(item, f"{name}.{k}", leaf) for k, item in enumerate(a.items)]
        if isinstance(first, abstract.Static) and first.value is range and len(items) == 4:
            return Range(items[1], items[2], items[3])
        return compound(a.form, tuple(items))
    if isinstance(a, abstract.Closure):
        c: Closure = a.code.closure
        parts = [receive(item, f"{name}.{k}", leaf) for k, item in enumerate(a.items)]
        d, e = len(c.defaults), len(c.defaults) + len(c.keyword_defaults)
        keyword = tuple((n, v) for (n, _), v in zip(c.keyword_defaults, parts[d:e], strict=True))
        return Closure(
            c.source, c.free, tuple(parts[:d]), keyword, None, c.module_globals, c.outer_cells, tuple(parts[e:])
        )
    return leaf(a, name)


def roots_of(v: AbstractValue) -> list[Roots]:
    return [a.roots for a in arrays_of(v)]


def parameter_names(node: Function) -> list[str]:
    """Names of the parameters, positional and keyword."""
    a: ast.arguments = node.args
    return [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)]
