"""One function with tangents beside its values, operation by operation: see ``adc.passes.differentiation.forward``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial

from adc.ir import ops
from adc.ir.alias import APART
from adc.ir.arith import const
from adc.ir.attached import attached, parts
from adc.ir.builder import build, current_block, insert_at
from adc.ir.core import Attr, Block, Func, Module, Op, Value
from adc.ir.opdef import OpDef, Trait
from adc.ir.types import MemRefType
from adc.passes.differentiation.algebras import Derivatives
from adc.passes.differentiation.held import held, unpack_beside
from adc.passes.differentiation.rules import RULES
from adc.passes.differentiation.shadows import zeroed
from adc.passes.differentiation.strong_zeros import StrongTangents, unless_nothing
from adc.passes.differentiation.tangents import Tangent, Tangible

TANGENT = "adc.tangent"  # of an argument: the position of the argument whose tangent it is


class ForwardSweep:
    """Adds tangents to a function. ``tangents`` maps values to theirs, of the types that the algebra gives them."""

    def __init__(
        self, module: Module, func: Func, tangible: Tangible, calls: dict[Op, Tangent], algebra: Derivatives
    ) -> None:
        self.algebra = algebra
        self.module = module
        self.func = func
        self.tangible = tangible
        self.calls = calls
        self.active = tangible.activity.active
        self.tangents: dict[Value, Value] = {}
        self.strong = StrongTangents(func)

    def function(self, arguments: Sequence[int], results: Sequence[int], ones: Iterable[Value]) -> None:
        func = self.func
        with insert_at(func.body.in_place_of(), func.loc) as start:
            self.tangents.update((v, const(1.0, v.type)) for v in ones)
        func.body.set_ops([*start.ops, *func.body.ops])
        numbers = [attrs["adc.alias"] for attrs in func.arg_attrs if "adc.alias" in attrs]
        shift = max(numbers, default=0) + 1
        for k in arguments:
            arg, attrs = func.args[k], func.arg_attrs[k]
            self.tangents[arg] = func.body.add_arg(self.algebra.of(arg.type), self._dot(arg.hint))
            given: dict[str, Attr] = {TANGENT: k}
            given |= {name: attrs[name] for name in ("adc.readonly",) if name in attrs}
            if "adc.name" in attrs:
                given["adc.name"] = self._dot(attrs["adc.name"])
            if "adc.alias" in attrs:
                given["adc.alias"] = attrs["adc.alias"] + shift
            func.arg_attrs.append(given)
        self._block(func.body, results)
        func.result_types = tuple(v.type for v in func.body.terminator.operands)

    def tangent(self, value: Value) -> Value:
        """The tangent of a value, at the insertion point: zero if it has none."""
        known = self.tangents.get(value)
        if known is not None:
            return known
        return self._zero(value)

    def _zero(self, value: Value) -> Value:
        t = self.algebra.of(value.type)
        if value.op is not None and value.op.opdef is ops.undef and isinstance(t, MemRefType):
            return ops.undef(type=t)  # what grows from it is the only owner of its memory
        return zeroed(value, t=t) if isinstance(t, MemRefType) else const(0.0, t)

    def _dot(self, hint: str) -> str:
        return f"{hint}_{self.algebra.hint}" if hint else ""

    def _like(self, attrs: Mapping[str, Attr]) -> dict[str, Attr]:
        """The attributes of an operation on memory, for the same on tangents."""
        made = dict(attrs)
        if "type" in made:
            made["type"] = self.algebra.of(made["type"])
        return made

    def _set(self, value: Value, tangent: Value) -> None:
        tangent.hint = tangent.hint or self._dot(value.hint)
        self.tangents[value] = tangent

    def _block(self, block: Block, slots: Sequence[int], first: int = 0) -> None:
        """Go through a block; its terminator also hands on tangents of its operands ``slots``, counted from
        ``first``."""
        new = block.in_place_of()
        for op in block.ops[:-1]:
            with insert_at(new, op.loc):
                self._op(op)
        end = block.terminator
        with insert_at(new, end.loc):
            for tangent in [self.tangent(end.operands[first + k]) for k in slots]:
                end.add_operand(tangent)
        if end.opdef is ops.reduce:
            end.set_attr("kinds", (*end.attrs["kinds"], *(end.attrs["kinds"][k] for k in slots)))
        new.append(end)
        block.set_ops(new.ops)

    def _op(self, op: Op) -> None:
        """Append an operation and what computes its tangents."""
        around = _AROUND.get(op.opdef)
        if around is not None:
            around(self, op)
            return
        current_block().append(op)
        if op.opdef in RULES:
            self._scalar(op)
        elif Trait.VIEW in op.opdef.traits:
            if op.result in self.tangible:
                on = [self.tangent(op.operands[0]), *op.operands[1:]]
                self._set(op.result, build(op.opdef, on, self._like(op.attrs)).result)
        elif op.opdef in _AFTER:
            _AFTER[op.opdef](self, op)

    def _scalar(self, op: Op) -> None:
        if not self.active(op.result):
            if op.opdef is ops.select and op.result in self.tangible:
                self._choice(op)
            return
        if op.opdef is ops.select:
            self._choice(op)
            return
        carried = self.algebra.combined(op, self.active, self.tangent, self.strong)
        if carried is not None:
            self._set(op.result, carried)

    def _choice(self, op: Op) -> None:
        condition, *sides = op.operands
        a, b = map(self.tangent, sides)
        chosen = self.algebra.chosen(condition, a, b)
        self.strong.sources.choose(chosen, condition, a, b)
        self._set(op.result, chosen)

    # Memory ----------------------------------------------------------------------------------------------------------

    def _alloc(self, op: Op) -> None:
        """The tangent begins as undefined as the array: whenever something is stored to the array, its tangent or zero
        is stored to this."""
        if op.result in self.tangible:
            self._set(op.result, build(op.opdef, op.operands, self._like(op.attrs)).result)

    def _load(self, op: Op) -> None:
        if op.result in self.tangible:
            self._set(op.result, ops.load(self.tangent(op.operands[0]), *op.operands[1:]))

    def _store(self, op: Op) -> None:
        value, memref, *subscripts = op.operands
        if memref in self.tangible:
            build(op.opdef, [self.tangent(value), self.tangents[memref], *subscripts], dict(op.attrs))

    def _accumulate(self, op: Op) -> None:
        value, memref, *subscripts = op.operands
        if value in self.tangents and memref in self.tangible:
            self.algebra.accumulate(op, self.tangents[value], self.tangents[memref], subscripts)

    def _copy(self, op: Op) -> None:
        source, target = op.operands
        if target not in self.tangible:
            return
        if source in self.tangible:
            build(ops.copy, [self.tangents[source], self.tangents[target]])
        else:
            onto = self.tangents[target]
            build(ops.fill, [const(0.0, onto.type.element), onto])  # type: ignore[attr-defined]

    def _grow(self, op: Op) -> None:
        if op.result in self.tangible:
            self._set(op.result, ops.grow(self.tangent(op.operands[0]), op.operands[1]))

    def _dealloc(self, op: Op) -> None:
        if op.operands[0] in self.tangents:
            build(ops.dealloc, [self.tangents[op.operands[0]]], dict(op.attrs))

    def _release(self, op: Op) -> None:
        if op.operands[0] in self.tangents:
            build(ops.release, [self.tangents[op.operands[0]]])

    # Records ---------------------------------------------------------------------------------------------------------

    def _pack(self, op: Op) -> None:
        """Make a record of the tangents of everything that contains floats."""
        tangents = [self.tangent(op.operands[k]) for k in held(op.operands)]
        self._set(op.result, build(ops.pack, tangents).result)

    def _unpack(self, op: Op) -> None:
        positions = held(op.results)
        places = {k: self.tangents[a] for k, a in enumerate(self.func.args) if a in self.tangents}
        attrs = unpack_beside(op, places, [self.algebra.of(op.results[k].type) for k in positions])
        made = build(ops.unpack, [self.tangents[op.operands[0]]], attrs)
        for k, tangent in zip(positions, made.results, strict=True):
            self._set(op.results[k], tangent)

    def _undef(self, op: Op) -> None:
        if op.result in self.tangible:
            self._set(op.result, ops.undef(type=self.algebra.of(op.result.type)))

    # Calls and regions -----------------------------------------------------------------------------------------------

    def _call(self, op: Op) -> None:
        plan = self.calls.get(op)
        if plan is None:
            current_block().append(op)
            for result in op.results:
                if isinstance(result.type, MemRefType) and result in self.tangible:
                    self._set(result, self._zero(result))
            return
        given = [self.tangent(op.operands[k]) for k in plan.arguments]
        for tangent in given:
            op.add_operand(tangent)
        current_block().append(op)
        at = {k: len(op.results) + n for n, k in enumerate(plan.results)}
        found = [op.add_result(self.algebra.of(op.results[k].type)) for k in plan.results]
        if attached(self.module.funcs[op.attrs["callee"]]) is not None:
            found = self._by_rule(found, given)
        for k, tangent in zip(plan.results, found, strict=True):
            self._set(op.results[k], tangent)
        op.set_attr("callee", plan.name)
        op.set_attr("types", tuple(r.type for r in op.results))
        apart = op.attrs.get(APART)
        if apart:
            op.set_attr(APART, (*apart, *((at[m], at[n]) for m, n in apart if m in at and n in at)))

    def _ruled(self, op: Op) -> None:
        """What a function with derivative rules gave: its tangents by the rules, from those of the call's arguments."""
        plan = self.calls.get(op)
        if plan is None:
            return
        arguments = parts(op, self.module).arguments
        given = {k: self.tangent(arguments[k]) for k in plan.arguments}
        if self.algebra.is_pulled(self.module, op):
            found = self.algebra.pulled(self.module, op, given, self.strong)
        else:
            types = self.module.funcs[plan.name].result_types
            made = build(ops.call, [*arguments, *given.values()], {"callee": plan.name, "types": types})
            found = self._by_rule(made.results[len(op.results) :], given.values())
        for k, tangent in zip(plan.results, found, strict=True):
            self._set(op.results[k], tangent)

    def _by_rule(self, found: Iterable[Value], given: Collection[Value]) -> list[Value]:
        """Tangents that a user's rule made of numbers: nothing where all of those are nothing."""
        if not all(v.type.is_float for v in given):
            return list(found)
        sources = self.strong.sources
        mark = sources.mark(*given)
        tangents = [unless_nothing(mark, v) if v.type.is_float else v for v in found]
        for tangent in tangents:
            sources.note(tangent, *given)
        return tangents

    def _loop(self, op: Op, first: int) -> None:
        """A counted loop that carries its operands from ``first`` on."""
        (body,) = op.regions
        sequential = op.opdef is ops.for_
        slots = [
            k
            for k, r in enumerate(op.results)
            if r in self.tangible or (sequential and body.args[1 + k] in self.tangible)
        ]
        for tangent in [self.tangent(op.operands[first + k]) for k in slots]:
            op.add_operand(tangent)
        if sequential:
            self._carry([body.args[1 + k] for k in slots], body)
        self._block(body, slots)
        self._finish(op, slots)

    def _while(self, op: Op) -> None:
        before, after = op.regions
        slots = [k for k, a in enumerate(before.args) if a in self.tangible]
        passed = [k for k, r in enumerate(op.results) if r in self.tangible or after.args[k] in self.tangible]
        for tangent in [self.tangent(op.operands[k]) for k in slots]:
            op.add_operand(tangent)
        self._carry([before.args[k] for k in slots], before)
        self._block(before, passed, 1)
        self._carry([after.args[k] for k in passed], after)
        self._block(after, slots)
        self._finish(op, passed)

    def _if(self, op: Op) -> None:
        slots = [r.index for r in op.results if r in self.tangible]
        for region in op.regions:
            self._block(region, slots)
        self._finish(op, slots)

    def _carry(self, carried: Sequence[Value], block: Block) -> None:
        for value in carried:
            self._set(value, block.add_arg(self.algebra.of(value.type)))

    def _finish(self, op: Op, slots: Sequence[int]) -> None:
        current_block().append(op)
        for k in slots:
            self._set(op.results[k], op.add_result(self.algebra.of(op.results[k].type)))


_AROUND: dict[OpDef, Callable[[ForwardSweep, Op], None]] = {
    ops.for_: partial(ForwardSweep._loop, first=3),
    ops.parallel: partial(ForwardSweep._loop, first=3),
    ops.while_: ForwardSweep._while,
    ops.if_: ForwardSweep._if,
    ops.call: ForwardSweep._call,
}
_AFTER: dict[OpDef, Callable[[ForwardSweep, Op], None]] = {
    ops.alloc: ForwardSweep._alloc,
    ops.load: ForwardSweep._load,
    ops.store: ForwardSweep._store,
    ops.fill: ForwardSweep._store,
    ops.accumulate: ForwardSweep._accumulate,
    ops.copy: ForwardSweep._copy,
    ops.grow: ForwardSweep._grow,
    ops.dealloc: ForwardSweep._dealloc,
    ops.pack: ForwardSweep._pack,
    ops.release: ForwardSweep._release,
    ops.unpack: ForwardSweep._unpack,
    ops.undef: ForwardSweep._undef,
    ops.ruled: ForwardSweep._ruled,
}
