"""Tangents of the values of a function along one direction: see
``adc.passes.differentiation.forward.forward_sweep``, which goes through the function."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from adc.ir import ops
from adc.ir.alias import APART
from adc.ir.arith import const, const_index, constant_of
from adc.ir.attached import attached, parts
from adc.ir.builder import build, current_block
from adc.ir.core import Attr, Func, Module, Op, Value
from adc.ir.opdef import OpDef, Trait
from adc.ir.types import MemRefType
from adc.passes.differentiation.activity.held import held, unpack_beside
from adc.passes.differentiation.activity.tangents import Tangent, Tangible
from adc.passes.differentiation.forward.algebras import Derivatives
from adc.passes.differentiation.need.strong_zeros import StrongTangents, unless_nothing
from adc.passes.differentiation.reverse.shadows import zeroed
from adc.passes.differentiation.rules import RULES

Units = Mapping[Value, int | None]


class Along:
    """``tangents`` maps values to theirs, of the types that the algebra gives them. ``units``: arrays that are only
    read and whose tangents are known: one where the last subscript is this number (None: everywhere), and zero
    elsewhere. ``nothing``: floats that are known not to vary along the direction.
    """

    def __init__(
        self,
        module: Module,
        func: Func,
        tangible: Tangible,
        calls: dict[Op, Tangent],
        algebra: Derivatives,
        strong: StrongTangents,
        units: Units | None = None,
    ) -> None:
        self.algebra = algebra
        self.module = module
        self.func = func
        self.tangible = tangible
        self.calls = calls
        self.strong = strong
        self.units = units or {}
        self.tangents: dict[Value, Value] = {}
        self.nothing: set[Value] = set()

    def active(self, value: Value) -> bool:
        return value not in self.nothing and self.tangible.activity.active(value)

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

    def dot(self, hint: str) -> str:
        return f"{hint}_{self.algebra.hint}" if hint else ""

    def _like(self, attrs: Mapping[str, Attr]) -> dict[str, Attr]:
        """The attributes of an operation on memory, for the same on tangents."""
        made = dict(attrs)
        if "type" in made:
            made["type"] = self.algebra.of(made["type"])
        return made

    def set(self, value: Value, tangent: Value) -> None:
        tangent.hint = tangent.hint or self.dot(value.hint)
        self.tangents[value] = tangent

    def after(self, op: Op) -> None:
        """Append what computes the tangents of an operation without regions that has just been appended."""
        if op.opdef in RULES:
            self._scalar(op)
        elif Trait.VIEW in op.opdef.traits:
            if op.result in self.tangible:
                on = [self.tangent(op.operands[0]), *op.operands[1:]]
                self.set(op.result, build(op.opdef, on, self._like(op.attrs)).result)
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
            self.set(op.result, carried)
        else:
            self.nothing.add(op.result)

    def _choice(self, op: Op) -> None:
        condition, *sides = op.operands
        a, b = map(self.tangent, sides)
        chosen = self.algebra.chosen(condition, a, b)
        self.strong.sources.choose(chosen, condition, a, b)
        self.set(op.result, chosen)

    # Memory ----------------------------------------------------------------------------------------------------------

    def _alloc(self, op: Op) -> None:
        """The tangent begins as undefined as the array: whenever something is stored to the array, its tangent or zero
        is stored to this."""
        if op.result in self.tangible:
            self.set(op.result, build(op.opdef, op.operands, self._like(op.attrs)).result)

    def _load(self, op: Op) -> None:
        if op.result not in self.tangible:
            return
        if op.operands[0] in self.units:
            self._load_unit(op)
        else:
            self.set(op.result, ops.load(self.tangent(op.operands[0]), *op.operands[1:]))

    def _load_unit(self, op: Op) -> None:
        one, last = self.units[op.operands[0]], op.operands[-1]
        known, t = _known(last), self.algebra.of(op.result.type)
        if one is None or known == one:
            self.set(op.result, const(1.0, t))
        elif known is not None:
            self.nothing.add(op.result)
        else:
            here = ops.cmpi(last, const_index(one), predicate="eq")
            self.set(op.result, ops.select(here, const(1.0, t), const(0.0, t)))

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
            self.set(op.result, ops.grow(self.tangent(op.operands[0]), op.operands[1]))

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
        self.set(op.result, build(ops.pack, tangents).result)

    def _unpack(self, op: Op) -> None:
        positions = held(op.results)
        places = {k: self.tangents[a] for k, a in enumerate(self.func.args) if a in self.tangents}
        attrs = unpack_beside(op, places, [self.algebra.of(op.results[k].type) for k in positions])
        made = build(ops.unpack, [self.tangents[op.operands[0]]], attrs)
        for k, tangent in zip(positions, made.results, strict=True):
            self.set(op.results[k], tangent)

    def _undef(self, op: Op) -> None:
        if op.result in self.tangible:
            self.set(op.result, ops.undef(type=self.algebra.of(op.result.type)))

    # Calls -----------------------------------------------------------------------------------------------------------

    def untouched(self, call: Op) -> None:
        """A call without tangents: those of memory that it returns are zeros."""
        for result in call.results:
            if isinstance(result.type, MemRefType) and result in self.tangible:
                self.set(result, self._zero(result))

    def call(self, op: Op) -> None:
        """Append a call with tangents."""
        plan = self.calls[op]
        given = [self.tangent(op.operands[k]) for k in plan.arguments]
        for tangent in given:
            op.add_operand(tangent)
        current_block().append(op)
        at = {k: len(op.results) + n for n, k in enumerate(plan.results)}
        found = [op.add_result(self.algebra.of(op.results[k].type)) for k in plan.results]
        if attached(self.module.funcs[op.attrs["callee"]]) is not None:
            found = self._by_rule(found, given)
        for k, tangent in zip(plan.results, found, strict=True):
            self.set(op.results[k], tangent)
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
            self.set(op.results[k], tangent)

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


def _known(subscript: Value) -> int | None:
    """The value of a subscript, if it is a known number. Checked ones that count from the end depend on the extent."""
    op = subscript.op
    number = constant_of(op.operands[0] if op is not None and op.opdef is ops.bound else subscript)
    return int(number) if number is not None and number >= 0 else None


_AFTER: dict[OpDef, Callable[[Along, Op], None]] = {
    ops.alloc: Along._alloc,
    ops.load: Along._load,
    ops.store: Along._store,
    ops.fill: Along._store,
    ops.accumulate: Along._accumulate,
    ops.copy: Along._copy,
    ops.grow: Along._grow,
    ops.dealloc: Along._dealloc,
    ops.pack: Along._pack,
    ops.release: Along._release,
    ops.unpack: Along._unpack,
    ops.undef: Along._undef,
    ops.ruled: Along._ruled,
}
