"""Calls of functions that the reverse sweep runs again (``adc.checkpoint``).

In the forward sweep the function runs as it is. The reverse sweep runs it once more, with a tape that is freed before
it returns, on what it was given: on copies of the arrays that it writes to, made before it ran, on copies of those that
are written to later, and on the other arrays themselves. An array that it overwrites without reading it needs no copy,
only memory to write to.

The shadows of returned arrays are the caller's if the function makes the arrays for nobody else. The other shadows
(of an array that a loop carries, say, which may be an argument) are found in the forward sweep. When the function is
run again, it returns other arrays with other shadows; what has been accumulated in the first ones is moved to these.

Reference: Chen, Xu, Zhang and Guestrin, Training Deep Nets with Sublinear Memory Cost, arXiv:1604.06174, 2016.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from adc.ir import ops
from adc.ir.arith import const
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.rewrite import clone_func
from adc.ir.schedules import REMATERIALISED
from adc.ir.types import MemRefType, record
from adc.passes.analysis.effects import Summaries
from adc.passes.building import nest
from adc.passes.differentiation.call_plan import CallPlan, union
from adc.passes.differentiation.calls.pieces import as_type, copied, like
from adc.passes.differentiation.calls.split_plans import SplitKey, Sweeps
from adc.passes.differentiation.need.demand import Augmented
from adc.passes.differentiation.need.residuals import aliasing_of, fresh_memory, residual_memory
from adc.passes.differentiation.reverse.shadows import SHADOW_ALIAS, attrs_of_kept, forward_shadow
from adc.passes.rewrite import put_instead


def is_rematerialised(func: Func) -> bool:
    return REMATERIALISED in func.attrs


def keeps_tape(module: Module, func: Func) -> str:
    """Why the function cannot be run again on copies of its arguments, or nothing."""
    types = [*(a.type for a in func.args), *func.result_types]
    if any(isinstance(t, MemRefType) and isinstance(t.element, MemRefType) for t in types):
        return "it takes or returns an array of arrays"
    summary = Summaries(module).of(func.name)
    assert summary is not None
    if summary.once:
        return "it prints, or calls a C function whose effects are in order"
    groups = [attrs.get("adc.alias") for attrs in func.arg_attrs]
    if any(groups[k] is not None and groups.count(groups[k]) > 1 for k in summary.writes):
        return "it writes to an array that may overlap another one"
    return ""


@dataclass(eq=False)
class ResultShadows:
    """The shadows of the arrays that a function returns, where both sweeps of it are in one function.

    ``given``: the caller's; ``shadowed``: those found in the forward sweep; ``moved``: those of the latter whose memory
    may differ each time that the function runs.
    """

    augmented: Augmented
    returned: Sequence[Value]
    originals: Sequence[Value]
    positions: Sequence[int]  # of the arguments with shadows

    def __post_init__(self) -> None:
        activity, count = self.augmented.activity, len(self.originals)
        found = [k for k, v in enumerate(self.returned) if activity.has_companion(v)]
        self.given = tuple(k for k in found if self.returned[k] in self.augmented.given)
        self.shadowed = tuple(k for k in found if k not in self.given)
        arguments = set(self.originals[:count])
        self.roots = {k: activity.aliasing.roots(self.returned[k]) for k in self.shadowed}
        self.moved = tuple(k for k in self.shadowed if not self.roots[k] <= arguments)

    def move(self, sources: Mapping[int, Value], func: Func) -> None:
        """Append, between the sweeps, the code that moves the contents of the shadows ``sources``, arguments of
        ``func``, to the shadows of this run. They may be the same."""
        if not sources:
            return
        self._may_overlap(func, sources)
        for k, source in sources.items():
            whole = copied(source)
            build(ops.fill, [const(0.0, whole.type.element), source])  # type: ignore[attr-defined]
            _add(whole, forward_shadow(self.augmented, self.returned[k]))

    def _may_overlap(self, func: Func, sources: Mapping[int, Value]) -> None:
        """Mark that these shadows may be those of arguments."""
        reached = set[Value]().union(*(self.roots[k] for k in sources))
        places = {k: self.augmented.companion[self.originals[k]].index for k in self.positions}
        numbers = {func.arg_attrs[places[k]].get("adc.alias") for k in places if self.originals[k] in reached}
        known = [attrs.get("adc.alias", 0) for attrs in func.arg_attrs[: len(self.originals)]]
        group = SHADOW_ALIAS + 1 + max(known, default=0)
        for k, place in places.items():
            number = func.arg_attrs[place].get("adc.alias")
            if self.originals[k] in reached or (number is not None and number in numbers):
                func.arg_attrs[place]["adc.alias"] = group
        for source in sources.values():
            func.arg_attrs[source.index]["adc.alias"] = group


def _add(terms: Value, target: Value) -> None:
    t = terms.type
    assert isinstance(t, MemRefType)
    extents = [ops.dim(terms, dim=d) for d in range(t.rank)]
    nest(extents, lambda at: build(ops.accumulate, [ops.load(terms, *at), target, *at]))


@dataclass(frozen=True)
class MadeSweeps:
    """A function that runs both sweeps of another one; ``shadowed``: see ``ResultShadows``."""

    sweeps: Sweeps
    func: Func
    augmented: Augmented
    shadowed: tuple[int, ...]


WithShadows = Callable[[Func, SplitKey, CallPlan], tuple[Augmented, list[Value]]]


class Call:
    """Makes the augmented and the reverse function of ``primal``, by ``made``, which runs it again.

    ``with_shadows`` makes a copy of it into its forward sweep and removes the return.
    """

    def __init__(
        self,
        module: Module,
        primal: Func,
        key: SplitKey,
        assumed: CallPlan,
        made: MadeSweeps,
        with_shadows: WithShadows,
    ) -> None:
        self.module = module
        self.primal = primal
        self.key = key
        self.sweeps = made.sweeps
        self._with_shadows = with_shadows
        summary = Summaries(module).of(primal.name)
        assert summary is not None
        reads, writes, stable = summary.reads, summary.writes, key[2]
        memrefs = [k for k, a in enumerate(primal.args) if isinstance(a.type, MemRefType)]
        self.state = [k for k in memrefs if k in writes and k in reads]
        self.blank = [k for k in memrefs if k in writes and k not in reads]
        self.copied = [k for k in memrefs if k in reads and k not in writes and k not in stable]
        fixed = [k for k in range(len(primal.args)) if k not in self.state and k not in self.copied]
        held = bool(self.state or self.copied or self.sweeps.moved)
        self.plan = CallPlan(
            assumed.augmented,
            assumed.reverse,
            self.sweeps.shadows,
            made.shadowed,
            self.sweeps.given,
            union(assumed.kept, fixed),
            self.sweeps.cotangents_in,
            self.sweeps.cotangents_out,
            held or assumed.record,
        )

    def __str__(self) -> str:
        names = [self.primal.args[k].hint or "an array" for k in (*self.state, *self.copied)]
        kept = f"copies of {', '.join(names)}" if names else "nothing but its arguments"
        return f"calls of @{self.primal.name} (line {self.primal.loc.line}): run again; kept until then: {kept}"

    def augmented(self) -> Func:
        """The function as it is, preceded by copies of what it takes."""
        plan = self.plan
        if plan.shadow_results:
            return self._augmented_with_shadows()
        args = self.primal.args
        shadows = [args[k] for k in plan.shadows]
        func = Func(
            plan.augmented,
            [a.type for a in (*args, *shadows)],
            (),
            [*(a.hint for a in args), *(f"{a.hint}_bar" for a in shadows)],
            self.primal.loc,
        )
        for attrs, given in zip(func.arg_attrs, self.primal.arg_attrs, strict=False):
            attrs.update(given)
        for n, k in enumerate(plan.shadows, len(args)):
            number = self.primal.arg_attrs[k].get("adc.alias")
            func.arg_attrs[n] |= {} if number is None else {"adc.alias": number + SHADOW_ALIAS}
        with insert_at(func.body, func.loc):
            residuals = self._copies(func)
            attrs = {"callee": self.primal.name, "types": self.primal.result_types}
            results = list(build(ops.call, func.args[: len(args)], attrs).results)
            self._memory = fresh_memory([v.type for v in residuals])
            self._return(func, results, residuals)
        return func

    def _augmented_with_shadows(self) -> Func:
        """The same with the shadows of its results."""
        plan = self.plan
        func = clone_func(self.primal, plan.augmented)
        func.attrs.pop(REMATERIALISED, None)
        originals = list(func.args)
        augmented, returned = self._with_shadows(func, self.key, plan)
        with insert_at(Block(), func.loc) as start:
            residuals = self._copies(func)
        func.body.set_ops([*start.ops, *func.body.ops])
        with insert_at(func.body, func.loc):
            shadows = {k: forward_shadow(augmented, returned[k]) for k in plan.shadow_results}
            residuals += [shadows[k] for k in self.sweeps.moved]
            aliasing = aliasing_of(func, self.module)
            self._memory = residual_memory(aliasing, residuals, originals, plan.kept, plan.shadows, augmented)
            self._return(func, [*returned, *shadows.values()], residuals)
        _without_records(augmented)
        return func

    def _copies(self, func: Func) -> list[Value]:
        return [copied(func.args[k]) for k in (*self.state, *self.copied)]

    def _return(self, func: Func, results: list[Value], residuals: list[Value]) -> None:
        self._packed = [v.type for v in residuals]
        left = [build(ops.pack, residuals).result] if self.plan.record else []
        build(ops.return_, [*results, *left])
        func.result_types = tuple(v.type for v in (*results, *left))

    def reverse(self) -> Func:
        """The function that runs both sweeps on what the augmented one was given. It is made after that."""
        plan, args = self.plan, self.primal.args
        shadow_args, results = [args[k] for k in plan.shadows], [*plan.given, *plan.cotangents_in]
        rev = Func(
            plan.reverse,
            [
                *(args[k].type for k in plan.kept),
                *(a.type for a in shadow_args),
                *(self.primal.result_types[k] for k in results),
                *([record] if plan.record else []),
            ],
            [args[k].type for k in plan.cotangents_out],
            [
                *(args[k].hint for k in plan.kept),
                *(f"{a.hint}_bar" for a in shadow_args),
                *("result_bar" for _ in results),
                *(["record"] if plan.record else []),
            ],
            self.primal.loc,
        )
        for attrs, k in zip(rev.arg_attrs, plan.kept, strict=False):
            attrs |= {**attrs_of_kept(self.primal, plan.kept, k), "adc.readonly": True}
        for attrs, k in zip(rev.arg_attrs[len(plan.kept) :], plan.shadows, strict=False):
            number = self.primal.arg_attrs[k].get("adc.alias")
            attrs |= {} if number is None else {"adc.alias": number + SHADOW_ALIAS}
        inputs = iter(rev.args)
        given = {k: next(inputs) for k in plan.kept}
        shadows = {k: next(inputs) for k in plan.shadows}
        cotangents = {k: next(inputs) for k in results}
        with insert_at(rev.body, rev.loc):
            unpacked: list[Value] = []
            if plan.record:
                attrs = {"types": tuple(self._packed), **self._memory}
                unpacked = list(build(ops.unpack, [next(inputs)], attrs).results)
            kept = dict(zip((*self.state, *self.copied), unpacked, strict=False))
            moved = dict(zip(self.sweeps.moved, unpacked[len(kept) :], strict=True))
            for k in self.state:
                given[k] = like(shadows.get(k, kept[k]))
                build(ops.copy, [kept[k], given[k]])
            for k in self.copied:
                given[k] = kept[k]
            for k in self.blank:
                given[k] = like(given[k])
            operands = [as_type(given[k], a.type) if isinstance(a.type, MemRefType) else given[k]
                        for k, a in enumerate(args)]  # fmt: skip
            operands += [shadows[k] for k in plan.shadows]
            operands += [cotangents[k] for k in plan.given]
            operands += moved.values()
            operands += [cotangents[k] for k in plan.cotangents_in]
            back = build(ops.call, operands, {"callee": self.sweeps.name, "types": rev.result_types})
            if self.key[3]:
                for memory in kept.values():
                    build(ops.dealloc, [memory])
            build(ops.return_, back.results)
        return rev


def _without_records(augmented: Augmented) -> None:
    """Remove the records of calls, as there is no reverse sweep here, unless the shadows of their results are
    wanted."""
    for op, plan in augmented.calls.items():
        if plan.shadow_results or op not in augmented.records:
            continue
        name = augmented.original_callee[op]
        func = augmented.module.funcs[name]
        with insert_at(Block(), op.loc) as made:
            attrs = {"callee": name, "types": func.result_types}
            call = build(ops.call, op.operands[: len(func.args)], attrs)
        put_instead(op, made.ops)
        for old, new in zip(op.results, call.results, strict=False):
            new.hint = old.hint
            old.replace_uses(new)
        op.drop()
