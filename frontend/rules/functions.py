"""The IR functions made from the traced parts of rules; see ``adc.frontend.rules.tracing``."""

from __future__ import annotations

import types
from collections.abc import Sequence

from adc.frontend import abstract, kernels
from adc.frontend.data.described import describe
from adc.frontend.data.values import AbstractValue
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame, discard
from adc.frontend.objects.merge import Clash, coerce, flatten, join
from adc.frontend.objects.merge import types as ir_types
from adc.frontend.rules.registry import Rule, name_of
from adc.frontend.rules.selection import Chosen
from adc.frontend.syntax.source import function_source
from adc.frontend.syntax.texts import NoSource
from adc.ir import kinds, ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Loc, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.messages import COLLECTIVE, CROSSING
from adc.ir.rewrite import clone_op, used_from_outside
from adc.ir.types import MemRefType, Type


@dataclass(eq=False)
class Part:
    """The traced parts of a rule: code, the value that it computes, then the code of the derivative.

    ``inputs`` are the cotangents or tangents that the derivative takes, ``outputs`` those that it returns.
    """

    before: Block
    value: AbstractValue
    after: Block
    inputs: list[Value]
    outputs: list[Value]
    positions: tuple[int, ...]


def make(
    frame: Frame,
    left: abstract.Abstract,
    chosen: Chosen,
    parts: tuple[Part | None, Part | None],
    unknown: Sequence[int],
) -> list[Func]:
    """Attach rules to the function of ``frame``, which returns ``left``. Returns the functions made from the rules.

    ``parts``: the traced parts for reverse and for forward mode. ``unknown``: arguments for which there is no
    derivative.
    """
    reverse, forward = parts
    assert isinstance(left, abstract.Tuple)
    spec = left.items[0]
    func, made = frame.func, []
    func.attrs["adc.rule"] = chosen.text
    captured = [k for k, c in enumerate(func.args) if c.index >= _given(frame) and _is_float(c.type)]
    func.attrs["adc.constant"] = (*unknown, *captured)
    if chosen.function in kernels.COLLECTIVE:
        func.attrs[COLLECTIVE] = True
    if chosen.function in kernels.CROSSING:
        func.attrs[CROSSING] = True
    if reverse is not None:
        made += _reverse_functions(frame, reverse, spec, chosen.reverse or chosen.main)
    if forward is not None:
        made.append(_forward_function(frame, forward, spec, chosen.main if chosen.forward is None else chosen.forward))
    for part in parts:
        if part is not None:
            discard(part.after, part.before)
    return made


def _given(frame: Frame) -> int:
    """The number of arguments of the function before those for captured variables."""
    return len(frame.func.args) - len(frame.captures)


def _reverse_functions(frame: Frame, part: Part, spec: abstract.Abstract, rule: Rule) -> list[Func]:
    primal = frame.func
    with insert_at(part.before, loc_of(rule)):
        results = flatten(_conformed(part.value, spec, rule))
    with insert_at(part.after, loc_of(rule)):
        end = build(ops.return_, part.outputs)
    own = set(part.inputs)
    needed = [v for v in used_from_outside(part.after.ops) if v not in own]
    first = _function_like(frame, f"{_base(primal)}.rrule", loc_of(rule))
    mapping = _start(frame, first)
    with insert_at(first.body, first.loc):
        for op in part.before.ops:
            clone_op(op, mapping)
        build(ops.return_, [mapping.get(v, v) for v in (*results, *needed)])
    first.result_types = tuple(v.type for v in (*results, *needed))
    # A pullback takes the cotangents of all float results, in order.
    types_ = [*(v.type for v in needed), *(v.type for v in part.inputs)]
    hints = [*(v.hint for v in needed), *("result_bar" for _ in part.inputs)]
    second = Func(frame.tracer.module.unique_name(f"{_base(primal)}.pullback"), types_, (), hints, loc_of(rule))
    inner = dict(zip((*needed, *part.inputs), second.args, strict=True))
    with insert_at(second.body, second.loc):
        for op in part.after.ops:
            clone_op(op, inner)
    second.result_types = tuple(v.type for v in part.outputs)
    end.drop()
    part.after.set_ops(part.after.ops[:-1])
    primal.attrs["adc.rrule"] = first.name
    primal.attrs["adc.pullback"] = second.name
    primal.attrs["adc.cotangents"] = part.positions
    return [first, second]


def _forward_function(frame: Frame, part: Part, spec: abstract.Abstract, rule: Rule) -> Func:
    primal = frame.func
    with insert_at(part.before, loc_of(rule)):
        results = [*flatten(_conformed(part.value, spec, rule)), *part.outputs]
    func = _function_like(frame, f"{_base(primal)}.frule", loc_of(rule))
    mapping = _start(frame, func)
    for v in part.inputs:
        mapping[v] = func.body.add_arg(v.type, v.hint)
        func.arg_attrs.append({"adc.readonly": True})
    with insert_at(func.body, func.loc):
        for op in part.before.ops:
            clone_op(op, mapping)
        build(ops.return_, [mapping.get(v, v) for v in results])
    func.result_types = tuple(v.type for v in results)
    primal.attrs["adc.frule"] = func.name
    primal.attrs["adc.tangents"] = part.positions
    return func


def _conformed(value: AbstractValue, spec: abstract.Abstract, rule: Rule) -> AbstractValue:
    """The value that a rule computes, converted to the type of the function's result."""
    found = describe(value)
    try:
        both = join(found, spec)
        if ir_types(both) != ir_types(spec) and not _only_layouts(both, spec):
            raise Clash
        return coerce(value, spec)
    except Clash:
        what = f"the {rule.kind} of {name_of(rule.function)} computes {abstract.spelled(found)}"
        message = f"{what}, where the function returns {abstract.spelled(spec)}"
        raise refuse(loc_of(rule), message, "let both return the same type", kind=kinds.WRONG_RULE) from None


def _base(primal: Func) -> str:
    return primal.name.replace(".ruled", "")


def loc_of(rule: Rule) -> Loc:
    """The location where a rule is defined."""
    if isinstance(rule.implementation, types.FunctionType):
        try:
            return function_source(rule.implementation).header
        except NoSource:
            pass
    return Loc(rule.file, rule.line, 0, rule.line, 1)


def _is_float(t: Type) -> bool:
    return t.is_float or (isinstance(t, MemRefType) and t.element.is_float)


def _function_like(frame: Frame, name: str, loc: Loc) -> Func:
    """An empty function with the arguments of the frame's function."""
    args = frame.func.args
    func = Func(frame.tracer.module.unique_name(name), [a.type for a in args], (), [a.hint for a in args], loc)
    func.arg_attrs = [dict(attrs) for attrs in frame.func.arg_attrs]
    for attrs, arg in zip(func.arg_attrs, args, strict=True):
        if isinstance(arg.type, MemRefType):
            attrs["adc.readonly"] = True
    return func


def _start(frame: Frame, func: Func) -> dict[Value, Value]:
    """Copy the frame's prologue to ``func``. Returns the mapping of its values."""
    mapping: dict[Value, Value] = dict(zip(frame.func.args, func.args, strict=True))
    with insert_at(func.body, func.loc):
        for op in frame.prologue.ops:
            clone_op(op, mapping)
    return mapping


def _only_layouts(a: abstract.Abstract, b: abstract.Abstract) -> bool:
    """Whether two types differ only in the layout of arrays, or in the width of floats."""
    if isinstance(a, abstract.Tuple) and isinstance(b, abstract.Tuple):
        return len(a.items) == len(b.items) and all(map(_only_layouts, a.items, b.items))
    if isinstance(a, abstract.Array) and isinstance(b, abstract.Array):
        return (a.element, a.rank) == (b.element, b.rank)
    if isinstance(a, abstract.Scalar) and isinstance(b, abstract.Scalar):
        return a.type.is_float == b.type.is_float
    return a == b
