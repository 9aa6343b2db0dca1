"""What forward mode carries beside values: derivatives along a direction, or the set of inputs that a value depends on.

A set is a word of 64 bits: bit k of a float's word is set if the float may vary with the inputs that have bit k. The
word of a result is the union of those of its operands, so values matter only through control flow and subscripts. The
words of an array form an array of the same shape.

Reference: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, section 7.1 (index domains, bit patterns).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from adc.ir import ops
from adc.ir.arith import const, const_index
from adc.ir.attached import attached, is_float, parts
from adc.ir.builder import build, current_block, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.types import MemRefType, Type, i64, index
from adc.passes.building import sum_of
from adc.passes.differentiation.activity.activity import Interface
from adc.passes.differentiation.forward.rule_tangents import Places, rule_places, rule_tangent, tangents_by_pullback
from adc.passes.differentiation.need.need import emit_rule
from adc.passes.differentiation.need.strong_zeros import StrongTangents
from adc.passes.differentiation.prepare.augment import serialise, serialise_reductions
from adc.passes.differentiation.reverse.shadows import cast_to, like
from adc.passes.differentiation.rules import differentiable
from adc.passes.differentiation.user_rules import expand, rules_of


class Derivatives:
    """Derivatives along a direction: floats of the same type as the values that they belong to."""

    suffix, hint = "jvp", "dot"

    def of(self, t: Type) -> Type:
        """The type of what is carried beside a value of type ``t``."""
        return t

    def serialise(self, module: Module, func: Func, interface: Interface) -> None:
        """Turn the parallel loops that cannot carry this into sequential ones."""
        serialise_reductions(module, func, interface)

    def combined(
        self, op: Op, active: Callable[[Value], bool], carried: Callable[[Value], Value], strong: StrongTangents
    ) -> Value | None:
        """What belongs to the result of an operation with a rule, computed from what its operands carry."""
        terms: list[Value] = []
        for k, v in enumerate(op.operands):
            if active(v):
                g = carried(v)
                mark = strong.mark(op, k, g)
                (term,) = emit_rule(op, [k], g, op.result, op.operands, current_block(), mark, strong.sources)
                if term is not None:
                    terms.append(term)
        if not terms:
            return None
        whole = sum_of(terms)
        strong.sources.note(whole, *terms)
        return whole

    def chosen(self, condition: Value, a: Value, b: Value) -> Value:
        """What belongs to the value that ``arith.select`` chooses."""
        return ops.select(condition, a, b)

    def accumulate(self, op: Op, carried: Value, memref: Value, subscripts: Sequence[Value]) -> None:
        build(op.opdef, [carried, memref, *subscripts], dict(op.attrs))

    def expand(self, module: Module, func: Func) -> None:
        """Expand the calls whose tangents only a pullback gives: put what their rules compute in their place."""
        expand(module, func, forward=True)

    def is_pulled(self, module: Module, op: Op) -> bool:
        """Whether the pullback gives what belongs to the results of ``adc.ruled``."""
        rules = rules_of(module, op)
        assert rules is not None
        return rules.frule is None

    def pulled(self, module: Module, op: Op, given: Mapping[int, Value], strong: StrongTangents) -> list[Value]:
        """What belongs to the results of ``adc.ruled``, from what belongs to some of the arguments of the call."""
        rules = rules_of(module, op)
        assert rules is not None
        types = [r.type for r in op.results if r.type.is_float]
        return tangents_by_pullback(module, rules, parts(op, module).residuals, types, given, strong.sources)

    def rule_places(self, module: Module, name: str, interface: Interface) -> Places | None:
        """Which arguments and results of a function carry something by its derivative rules; None if it has no
        rules."""
        return rule_places(module, name, interface)

    def by_rule(self, module: Module, name: str, places: Places) -> Func:
        """The function that carries this through a function with derivative rules."""
        return rule_tangent(module, name, places)


class Dependences(Derivatives):
    """Sets of at most 64 members, as words: what each float may vary with."""

    suffix, hint = "dependences", "of"

    def of(self, t: Type) -> Type:
        if isinstance(t, MemRefType):
            return MemRefType(t.shape, self.of(t.element), t.strides)
        return i64 if t.is_float else t

    def serialise(self, module: Module, func: Func, interface: Interface) -> None:
        """Make all parallel loops sequential: unions are made by loading and storing."""
        serialise(func, lambda loop: True)

    def combined(
        self, op: Op, active: Callable[[Value], bool], carried: Callable[[Value], Value], strong: StrongTangents
    ) -> Value | None:
        return _union([carried(v) for v in differentiable(op) if active(v)])

    def chosen(self, condition: Value, a: Value, b: Value) -> Value:
        """For memory, the chosen one; for numbers the union of both, whatever the condition is at these values."""
        return ops.select(condition, a, b) if isinstance(a.type, MemRefType) else ops.ori(a, b)

    def accumulate(self, op: Op, carried: Value, memref: Value, subscripts: Sequence[Value]) -> None:
        build(ops.store, [ops.ori(ops.load(memref, *subscripts), carried), memref, *subscripts])

    def expand(self, module: Module, func: Func) -> None:
        """Leave calls as they are."""

    def is_pulled(self, module: Module, op: Op) -> bool:
        return False

    def rule_places(self, module: Module, name: str, interface: Interface) -> Places | None:
        func = module.funcs[name]
        rules = attached(func)
        if rules is None:
            return None
        known = {*rules.tangents, *rules.cotangents} & interface.varied
        results = tuple(k for k, t in enumerate(func.result_types) if is_float(t))
        return tuple(sorted(known)), results

    def by_rule(self, module: Module, name: str, places: Places) -> Func:
        """Rules are code that may do anything: each result may vary with all of the arguments."""
        primal = module.funcs[name]
        arguments, results = places
        types = [*(a.type for a in primal.args), *(self.of(primal.args[k].type) for k in arguments)]
        hints = [*(a.hint for a in primal.args), *(f"{primal.args[k].hint}_{self.hint}" for k in arguments)]
        func = Func(module.unique_name(f"{name}.{self.suffix}"), types, (), hints, primal.loc)
        for new, attrs in enumerate(primal.arg_attrs):
            func.arg_attrs[new].update(attrs)
        count = len(primal.args)
        with insert_at(func.body, func.loc):
            attrs = {"callee": name, "types": tuple(primal.result_types)}
            found = list(build(ops.call, list(func.args[:count]), attrs).results)
            word = _union([_all_of(v) for v in func.args[count:]]) or const(0, i64)
            for result in [found[k] for k in results]:
                if isinstance(result.type, MemRefType):
                    fresh = ops.alloc(*like(result), type=MemRefType(result.type.shape, i64))
                    build(ops.fill, [word, fresh])
                    found.append(cast_to(fresh, self.of(result.type)))  # type: ignore[arg-type]
                else:
                    found.append(word)
            build(ops.return_, found)
        func.result_types = tuple(v.type for v in found)
        return module.add(func)


def _union(words: Sequence[Value]) -> Value | None:
    return reduce(ops.ori, words) if words else None


def _all_of(v: Value) -> Value:
    """The union of the words of an array, or the word of a number."""
    if not isinstance(v.type, MemRefType):
        return v

    def loop(subscripts: list[Value], word: Value) -> Value:
        axis = len(subscripts)
        if axis == v.type.rank:  # type: ignore[attr-defined]
            return ops.ori(word, ops.load(v, *subscripts))
        extent = ops.dim(v, dim=axis)
        body = Block([index, i64], ["k", "word"])
        with insert_at(body):
            build(ops.yield_, [loop([*subscripts, body.args[0]], body.args[1])])
        return build(ops.for_, [const_index(0), extent, const_index(1), word], {}, [i64], [body]).result

    return loop([], const(0, i64))
