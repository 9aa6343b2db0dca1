"""Tracing of functions with derivative rules.

A call becomes a call of an IR function ``@f`` that does what the function does without rules. Beside it are the
functions made from the rules, which differentiation looks up in attributes of ``@f``:

- ``adc.rrule``: takes what ``@f`` takes; returns what it returns, then what the pullback uses of the primal;
- ``adc.pullback``: takes that, then the cotangents of the float results; returns those of the arguments
  ``adc.cotangents``;
- ``adc.frule``: takes what ``@f`` takes, then tangents of the arguments ``adc.tangents``; returns what ``@f`` returns,
  then the tangents of the float results.

The function, the rule and the pullback are traced one after the other in one frame, so that all three read captured
variables as the same arguments. The values of earlier code that the pullback uses are what it needs of the primal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field, replace
from typing import Any, ClassVar, NoReturn

from adc.frontend import abstract
from adc.frontend.arrays import arrays as numeric_arrays
from adc.frontend.callee import Callee
from adc.frontend.control.jumps import NEVER
from adc.frontend.data.callables import Closure, Partial
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import (
    NONE,
    AbstractValue,
    Array,
    Compound,
    Scalar,
    Static,
    Tuple,
    array,
    is_number,
    leaves,
)
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.numeric.convert import as_scalar
from adc.frontend.numeric.scalars import binary
from adc.frontend.numeric.slices import is_none
from adc.frontend.objects import heap
from adc.frontend.rules.checks import check_effects, check_result
from adc.frontend.rules.cotangents import Spread, float_leaves, shaped_as
from adc.frontend.rules.functions import Part, loc_of, make
from adc.frontend.rules.layout import CallFunction, Layout, Values
from adc.frontend.rules.registry import Rule, name_of, wants_result
from adc.frontend.rules.selection import Chosen
from adc.ir import kinds
from adc.ir.arith import const
from adc.ir.attached import ELSEWHERE
from adc.ir.builder import insert_at
from adc.ir.core import Func, Loc, Value
from adc.ir.diagnostics import CompileError, Note
from adc.ir.lazy_dataclass import dataclass
from adc.ir.rewrite import clone_op
from adc.ir.types import Type, memref


@dataclass(eq=False)
class Ruled:
    """A function with rules: see ``adc.frontend.callee.Ruled``."""

    chosen: Chosen
    layout: Layout
    plain: Callee | None
    call_function: CallFunction
    place: Loc | None = None  # the location of all its code: for a library's, that of the call
    kept: str | None = None  # the name under which a library keeps the rules, which are then not traced
    reverse: Part | None = field(default=None, init=False)
    forward: Part | None = field(default=None, init=False)
    suffix: ClassVar[str] = ".ruled"
    # Arguments for which a rule gives no derivative: they must not vary in any mode, as one mode may follow another.
    unknown: set[int] = field(default_factory=set, init=False)

    def elsewhere(self, call_function: CallFunction, kept: str | None) -> Ruled:
        return replace(self, call_function=call_function, kept=kept)

    def run(self, frame: Frame) -> AbstractValue:
        given = self.layout.names
        packed = dict(zip(given, heap.pack(frame, [frame.env[n] for n in given], {}), strict=True))
        before = dict(frame.env)
        result: AbstractValue | None = None
        if self.plain is not None:
            result = _at_run_time(self.call_function(frame, self.plain, {name: frame.env[name] for name in given}))
            check_effects(frame, before, self.chosen.main, None)
            if self.kept is not None:
                return result
        with_never = NEVER in frame.env
        after = dict(frame.env)
        rule = self.chosen.main
        loc = frame.source.header
        trace = self._pulled if self.chosen.reverse is not None or self._all_numbers(packed) else None
        if trace is not None:
            self.reverse = self._part(frame, trace, packed, before, self.chosen.reverse or rule, result)
            if result is None:
                result = self._adopted(frame, self.reverse, loc)
        if self.chosen.forward is not None and self.chosen.forward.kind == "frule":
            self.forward = self._part(frame, self._pushed, packed, before, self.chosen.forward, result)
            if result is None:
                result = self._adopted(frame, self.forward, loc)
        assert result is not None
        frame.env.clear()
        frame.env.update(after)
        if not with_never:
            frame.env.pop(NEVER, None)
        check_result(frame, result, rule)
        return result

    def _all_numbers(self, packed: Values) -> bool:
        """Whether all differentiable arguments are numbers: then reverse mode follows from an frule."""
        return all(isinstance(leaf, Scalar) or not leaf.dtype.is_float for v in packed.values() for leaf in leaves(v))

    def _part(
        self,
        frame: Frame,
        trace: Callable[[Frame, Values, Rule, AbstractValue | None], Part],
        packed: Values,
        before: Values,
        rule: Rule,
        result: AbstractValue | None,
    ) -> Part:
        frame.env.clear()
        frame.env.update(before)
        try:
            found = trace(frame, packed, rule, result)
        except CompileError as error:
            if error.loc == loc_of(rule):
                raise
            raise error.noted(Note(f"in the {rule.kind} of {name_of(rule.function)}", loc_of(rule))) from None
        check_effects(frame, before, rule, rule)
        return found

    @staticmethod
    def _adopted(frame: Frame, part: Part, loc: Loc) -> AbstractValue:
        """The value that the rule computes, used as that of the function: its code is copied to the insertion point."""
        mapping: dict[Value, Value] = {}
        for op in part.before.ops:
            clone_op(op, mapping)
        return _at_run_time(_mapped(part.value, mapping))

    # The rule -------------------------------------------------------------------------------------------------------

    def _pulled(self, frame: Frame, packed: Values, rule: Rule, result: AbstractValue | None) -> Part:
        """The value, and the pullback; ``result`` is the function's result, if known."""
        first = frame.func.body.in_place_of()
        with insert_at(first, self.place or loc_of(rule)):
            value, pull = self._reverse_of(frame, rule)
        second = frame.func.body.in_place_of()
        inputs: list[Value] = []

        def cotangent(leaf: Scalar | Array) -> AbstractValue:
            t: Type = memref(leaf.dtype, leaf.rank) if isinstance(leaf, Array) else leaf.value.type
            arg = second.add_arg(t, "result_bar")
            inputs.append(arg)
            if isinstance(leaf, Scalar):
                return Scalar(arg, leaf.dtype, leaf.weak)
            return array(arg, frozenset({frame.new_root("the cotangent of the result")}))

        with insert_at(second, self.place or loc_of(rule)):
            given = pull(shaped_as(result or value, cotangent))
            positional = self.layout.spread(frame)[0]
            shown = f"what the pullback of the {rule.kind} of {name_of(rule.function)} returns"
            cotangents = self._one_each(frame, given, positional, rule)
            spread = Spread(frame, shown)
            for (name, _), primal, cot in zip(positional, self._packed(packed, positional), cotangents, strict=True):
                spread.add(primal, cot, name)
        places = {leaf: _place(leaf) for leaf in spread.found}
        order = sorted(spread.found, key=places.__getitem__)
        given_by = self._packed(packed, positional)
        if rule.kind == "scalar":
            # A partial derivative that is not given is not assumed to be zero.
            given_by = [v for v, c in zip(given_by, cotangents, strict=True) if not is_none(c)]
        self._note_unknown(packed, given_by)
        return Part(first, value, second, inputs, [spread.found[x] for x in order], tuple(places[x] for x in order))

    def _reverse_of(self, frame: Frame, rule: Rule) -> tuple[AbstractValue, Callable[[AbstractValue], AbstractValue]]:
        positional, keywords = self.layout.spread(frame)
        args = [v for _, v in positional]
        name = name_of(rule.function)
        if rule.kind == "rrule":
            pair = self._pair(frame, rule, args, keywords, "the pullback")
            value, pullback = pair
            if not isinstance(pullback, Closure | Partial | Static) or (
                isinstance(pullback, Static) and not callable(pullback.value)
            ):
                message = f"the rrule of {name} returns {describe_type(pullback)} where a pullback is needed"
                raise refuse(loc_of(rule), message, "return value, and a function", kind=kinds.WRONG_RULE)
            return value, lambda g: self._called(frame, pullback, [g], {}, rule)
        if rule.kind == "scalar":
            assert self.plain is not None
            value = self.call_function(frame, self.plain, {n: frame.env[n] for n in self.layout.names})
            partials = self._partials(frame, args, keywords, value, rule)
        else:
            columns = [self._column(frame, rule, k, args, keywords) for k in range(len(args))]
            known = [c for c in columns if c is not None]
            if known:
                value = known[0][0]
            else:
                value, _ = self._pair(frame, rule, [Tuple((NONE,) * len(args)), *args], keywords, "the tangent")
            partials = [c[1] if c is not None else NONE for c in columns]
        if not isinstance(value, Scalar) or not value.dtype.is_float:
            message = f"{rule} is for functions that return one float; {name} returns {describe_type(value)}"
            raise refuse(loc_of(rule), message, "give an rrule", kind=kinds.WRONG_RULE)

        def pull(g: AbstractValue) -> AbstractValue:
            assert isinstance(g, Scalar)
            return Tuple(tuple(p if is_none(p) else binary("*", g, as_scalar(p)) for p in partials))

        return value, pull

    def _partials(
        self,
        frame: Frame,
        args: list[AbstractValue],
        keywords: dict[str, AbstractValue],
        value: AbstractValue,
        rule: Rule,
    ) -> list[AbstractValue]:
        """The partial derivatives of a scalar rule."""

        def called(function: Any) -> AbstractValue:
            extra = {"result": value} if wants_result(function) else {}
            return self._called(frame, Static(function), args, {**keywords, **extra}, rule)

        if rule.implementation is not None:
            made = called(rule.implementation)
            found = list(made.items) if isinstance(made, Tuple) else [made]
        else:
            found = [called(p) if callable(p) else Static(p) for p in rule.partials]
        name = name_of(rule.function)
        if len(found) != len(args):
            message = f"the scalar rule of {name} gives {len(found)} partial derivatives for {len(args)} arguments"
            raise refuse(loc_of(rule), message, "give one for each, None where there is none", kind=kinds.WRONG_RULE)
        for p in found:
            if not isinstance(p, Scalar) and not (isinstance(p, Static) and (p.value is None or is_number(p.value))):
                message = f"a partial derivative of {name} is {describe_type(p)}, not a number"
                raise refuse(loc_of(rule), message, kind=kinds.WRONG_RULE)
        return found

    def _column(
        self, frame: Frame, rule: Rule, k: int, args: list[AbstractValue], keywords: dict[str, AbstractValue]
    ) -> tuple[AbstractValue, AbstractValue] | None:
        """The value and the partial derivative with respect to one float argument, by an frule."""
        arg = args[k]
        if not isinstance(arg, Scalar) or not arg.dtype.is_float:
            return None
        tangents = [
            Scalar(const(float(n == k), a.value.type), a.dtype, a.weak)
            if isinstance(a, Scalar) and a.dtype.is_float
            else NONE
            for n, a in enumerate(args)
        ]
        value, tangent = self._pair(frame, rule, [Tuple(tuple(tangents)), *args], keywords, "the tangent")
        return value, tangent

    def _pushed(self, frame: Frame, packed: Values, rule: Rule, result: AbstractValue | None) -> Part:
        """The value and its tangent, given tangents of the arguments."""
        block = frame.func.body.in_place_of()
        inputs: list[Value] = []
        positions: list[int] = []
        positional, keywords = self.layout.spread(frame)

        def tangent(leaf: Scalar | Array) -> AbstractValue:
            t: Type = leaf.type if isinstance(leaf, Array) else leaf.value.type
            arg = block.add_arg(t, "tangent")
            inputs.append(arg)
            positions.append(_place(leaf))
            if isinstance(leaf, Scalar):
                return Scalar(arg, leaf.dtype, leaf.weak)
            return array(arg, frozenset({frame.new_root("a tangent", "tangents are read-only")}))

        with insert_at(block, self.place or loc_of(rule)):
            tangents = Tuple(tuple(shaped_as(v, tangent) for v in self._packed(packed, positional)))
            args = [tangents, *(v for _, v in positional)]
            value, given = self._pair(frame, rule, args, keywords, "the tangent")
            spread = Spread(frame, f"the tangent that the frule of {name_of(rule.function)} returns")
            spread.add(result or value, given, "the result")
            outputs = []
            for leaf in float_leaves(result or value):
                if leaf not in spread.found:
                    if isinstance(leaf, Array):
                        self._no_tangent(rule)
                    spread.found[leaf] = const(0.0, leaf.value.type)
                outputs.append(spread.found[leaf])
        self._note_unknown(packed, self._packed(packed, positional))
        return Part(block, value, block, inputs, outputs, tuple(positions))

    def _pair(
        self, frame: Frame, rule: Rule, args: list[AbstractValue], keywords: dict[str, AbstractValue], second: str
    ) -> tuple[AbstractValue, AbstractValue]:
        made = self._called(frame, Static(rule.implementation), args, keywords, rule)
        if not isinstance(made, Tuple) or len(made.items) != 2:
            message = f"the {rule.kind} of {name_of(rule.function)} returns {describe_type(made)}"
            raise refuse(loc_of(rule), message, f"return two things: the value and {second}", kind=kinds.WRONG_RULE)
        return made.items[0], made.items[1]

    @staticmethod
    def _called(
        frame: Frame, function: AbstractValue, args: list[AbstractValue], keywords: Values, rule: Rule
    ) -> AbstractValue:
        made = frame.tracer.call(frame, function, args, keywords)
        if NEVER in frame.env:
            message = f"the {rule.kind} of {name_of(rule.function)} raises in every case"
            raise refuse(loc_of(rule), message, "let it return the value and the derivative", kind=kinds.WRONG_RULE)
        return numeric_arrays.settled(frame, made)

    @staticmethod
    def _no_tangent(rule: Rule) -> NoReturn:
        message = f"the frule of {name_of(rule.function)} gives no tangent of an array that the function returns"
        raise refuse(loc_of(rule), message, "give np.zeros() of its shape", kind=kinds.WRONG_RULE)

    # Checks -----------------------------------------------------------------------------------------------------------

    @staticmethod
    def _one_each(
        frame: Frame, given: AbstractValue, positional: list[tuple[str, AbstractValue]], rule: Rule
    ) -> list[AbstractValue]:
        """One cotangent for each positional argument; for a single argument, it may stand alone."""
        if isinstance(given, Tuple) and given.form.kind == "tuple":
            cotangents = list(given.items)
        else:
            cotangents = [given]
        if len(cotangents) != len(positional):
            names = ", ".join(name for name, _ in positional)
            what = "cotangent" if len(cotangents) == 1 else "cotangents"
            raise refuse(
                loc_of(rule),
                f"the pullback of the {rule.kind} of {name_of(rule.function)} returns {len(cotangents)} {what} "
                f"for {len(positional)} positional arguments ({names})",
                "return one for each, None where there is none",
                kind=kinds.WRONG_RULE,
            )
        return cotangents

    def _packed(self, packed: Values, positional: list[tuple[str, AbstractValue]]) -> list[AbstractValue]:
        found = [packed[name] for name in self.layout.positional]
        if self.layout.star is not None:
            rest = packed[self.layout.star]
            assert isinstance(rest, Compound)
            found += rest.items
        return found

    def _note_unknown(self, packed: Values, given_by: Iterable[AbstractValue]) -> None:
        """Note the floats for which no derivative is given: for instance those passed by keyword, or captured by
        functions."""
        known = {_place(x) for v in given_by for x in _own_leaves(v)}
        every = {_place(x) for v in packed.values() for x in float_leaves_of_any(v)}
        self.unknown |= every - known

    def complete(self, frame: Frame, left: abstract.Abstract) -> list[Func]:
        if self.kept is not None:
            frame.func.attrs.update({"adc.rule": self.chosen.text, ELSEWHERE: self.kept})
            return []
        return make(frame, left, self.chosen, (self.reverse, self.forward), sorted(self.unknown))


def _at_run_time(v: AbstractValue) -> AbstractValue:
    """A result with known floats as run-time values, so that they have cotangents."""
    if isinstance(v, Static) and isinstance(v.value, float):
        return as_scalar(v)
    return v.of(map(_at_run_time, v.items)) if isinstance(v, Compound) else v


def _place(leaf: Scalar | Array) -> int:
    """The position of the function's argument that a leaf comes from."""
    value = leaf.memref if isinstance(leaf, Array) else leaf.value
    while value.op is not None:  # an integer may be cast to the type in which it is computed
        value = value.op.operands[0]
    return value.index


def _own_leaves(v: AbstractValue) -> list[Scalar | Array]:
    """The floats of an argument that can have a cotangent: not those captured by functions."""
    if isinstance(v, Closure | Partial):
        return []
    if isinstance(v, Compound):
        return [x for item in v.items for x in _own_leaves(item)]
    return float_leaves(v)


def float_leaves_of_any(v: AbstractValue) -> list[Scalar | Array]:
    return [x for x in leaves(v) if x.dtype.is_float]


def _mapped(v: AbstractValue, mapping: dict[Value, Value]) -> AbstractValue:
    """A value with its code copied under a mapping."""
    if isinstance(v, Scalar):
        return Scalar(mapping.get(v.value, v.value), v.dtype, v.weak)
    if isinstance(v, Array):
        dims = tuple(d if isinstance(d, int) else mapping.get(d, d) for d in v.dims)
        return Array(mapping.get(v.memref, v.memref), dims, v.roots)
    return v.of(_mapped(item, mapping) for item in v.items) if isinstance(v, Compound) else v
