"""Reverse-mode differentiation of a function of a module: the entry points.

``gradient`` makes one function that runs the forward and the reverse sweep; ``split`` makes two, joined by a record of
what the second needs. Calls inside a differentiated function use the split form of their callees, as ``pullback`` does.

Reference: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapters 3 to 6 and 12.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial

from adc.ir import ops
from adc.ir.arith import as_float, const
from adc.ir.attached import attached
from adc.ir.builder import build, contractible, insert_at
from adc.ir.core import Func, Module, Value
from adc.ir.rewrite import clone_func
from adc.ir.schedules import REMATERIALISED
from adc.ir.types import MemRefType, Type
from adc.passes.differentiation.activity.activity import Activity, Interface
from adc.passes.differentiation.call_plan import CallPlan, union
from adc.passes.differentiation.calls import derived_signatures
from adc.passes.differentiation.calls.checkpointed import Steps, is_checkpointed
from adc.passes.differentiation.calls.idle import drop_unused, is_idle
from adc.passes.differentiation.calls.rematerialised import (
    Call,
    MadeSweeps,
    ResultShadows,
    is_rematerialised,
    keeps_tape,
)
from adc.passes.differentiation.calls.rule_calls import split_functions
from adc.passes.differentiation.calls.shared_room import SharedRoom, may_share
from adc.passes.differentiation.calls.split_plans import SplitKey, SplitPlans, Sweeps, SweepsKey
from adc.passes.differentiation.mixed import mixed
from adc.passes.differentiation.need.demand import Augmented
from adc.passes.differentiation.need.residuals import aliasing_of, reached, residual_memory
from adc.passes.differentiation.one_number import of_one_number
from adc.passes.differentiation.prepare.augment import augment
from adc.passes.differentiation.reverse.frames import Frame, Reader
from adc.passes.differentiation.reverse.reverse import Cotangents
from adc.passes.differentiation.reverse.reverse_regions import RegionSweep
from adc.passes.differentiation.reverse.shadows import forward_shadow
from adc.passes.differentiation.storage.adjoints import Adjoint, Findings, findings_of
from adc.passes.differentiation.storage.insertion import Insertions
from adc.passes.differentiation.storage.storage import Recipes, plan_storage
from adc.passes.differentiation.storage.storage_plan import StoragePlan
from adc.passes.differentiation.storage.tape import Tape


@contractible()
def gradient(module: Module, name: str, wrt: tuple[int, ...], *, with_value: bool = False) -> Adjoint:
    """Add ``name.grad`` to ``module``: forward and reverse sweep of ``name``, whose first result is a float.

    It takes the arguments, then the shadows (zeroed; marked ``adc.shadow``) of the memref arguments in ``wrt`` and of
    those that may overlap others (marked ``adc.alias``), into which the gradient is accumulated. It returns the
    results of the function if ``with_value``, then the cotangents of the float arguments in ``wrt``. Arguments that
    the function writes to are copied first, except those that may overlap: of these the caller passes copies.
    """
    return drop_unused(module, lambda: _Differentiator(module).gradient(name, wrt, with_value))


@contractible()
def split(module: Module, name: str, wrt: tuple[int, ...]) -> tuple[Adjoint, CallPlan]:
    """Add ``name.aug`` and ``name.rev`` for the cotangents of ``wrt``, given those of all results and of the final
    contents of all memref arguments. See ``CallPlan`` for what they take and give."""
    func = module.funcs[name]
    memrefs = frozenset(k for k, a in enumerate(func.args) if isinstance(a.type, MemRefType))
    floats = frozenset(
        k for k, t in enumerate(func.result_types) if t.is_float or (isinstance(t, MemRefType) and t.element.is_float)
    )
    interface = Interface(frozenset(wrt), floats, memrefs)
    differentiator = _Differentiator(module)

    def both() -> Adjoint:
        plans.append(differentiator.split(name, interface, memrefs))
        return differentiator.adjoints[name, interface, memrefs, False]

    plans: list[CallPlan] = []
    return drop_unused(module, both), plans[0]


def _stored(name: str, module: Module, wrt: tuple[int, ...]) -> list[StoragePlan]:
    """The storage plans of the gradient of a function and of what it calls. ``module`` may be changed."""
    func = clone_func(module.funcs[name], module.unique_name(f"{name}.grad"))
    differentiator = _Differentiator(module)
    own = plan_storage(*differentiator._augmented(func, wrt, frozenset(wrt)))
    return [own, *differentiator._plans()]


class _Differentiator:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.once = False  # whether the reverse sweep of what is being differentiated runs only once
        self._forget()

    def _forget(self) -> None:
        """Forget which functions were made."""
        self.plans = SplitPlans(self.module, self._split, self._both_sweeps)
        self.adjoints: dict[SplitKey, Adjoint] = {}
        self.sweeps: dict[SweepsKey, Adjoint] = {}

    def _plans(self) -> Iterable[StoragePlan]:
        """What is stored by the functions that are called."""
        return [adjoint.plan for adjoint in self.adjoints.values()]

    # One function ----------------------------------------------------------------------------------------------------

    def gradient(self, name: str, wrt: tuple[int, ...], with_value: bool) -> Adjoint:
        before = Module(dict(self.module.funcs))
        func = clone_func(self.module.funcs[name], self.module.unique_name(f"{name}.grad"))
        augmented, recipes = self._augmented(func, wrt, frozenset(wrt))
        plan = plan_storage(augmented, recipes)
        both = mixed(before, name, wrt, [plan, *self._plans()], partial(_stored, name))
        forward = () if both is None else both.positions
        if both is not None:
            self.module.funcs = before.funcs
            self._forget()
            func = clone_func(both.func, self.module.unique_name(f"{name}.grad"))
            augmented, recipes = self._augmented(func, wrt, frozenset(wrt).difference(forward))
            plan = plan_storage(augmented, recipes)
        originals = list(func.args)[: len(self.module.funcs[name].args)]
        tape = self._keep(augmented, recipes, plan)
        returned = derived_signatures.remove_return(func)
        tangents = dict(zip(forward, returned[len(returned) - len(forward) :], strict=True))
        root = Frame(func.body, func.body, func.loc)
        reader = Reader(augmented, plan, tape.slots, root, recipes)
        sweep = RegionSweep(augmented, reader, recipes, read=returned[:1], left=[*originals, *returned], once=True)
        cotangents: Cotangents = {}
        with insert_at(func.body, func.loc):
            sweep.add(cotangents, returned[0], const(1.0, returned[0].type))
            sweep.block(root, cotangents)
            results = returned[: len(returned) - len(forward)] if with_value else []
            floats = [k for k in wrt if originals[k].type.is_float]
            for k in floats:  # a tangent has the type of its value, a cotangent that of the argument
                own = originals[k]
                results.append(as_float(tangents[k], own.type) if k in tangents else sweep.total(cotangents, own))
            build(ops.return_, results)
        func.result_types = tuple(v.type for v in results)
        derived_signatures.copy_mutated(func, originals)
        self.module.add(func)
        made = self._adjoint(func.name, None, augmented, plan)
        if both is not None:
            made.findings.forward = frozenset(both.positions)
            made.findings.notes.append(str(both))
        return made

    def _augmented(self, func: Func, wrt: Collection[int], varied: frozenset[int]) -> tuple[Augmented, Recipes]:
        """Prepare ``func``, a copy, for the gradient by ``wrt``; ``varied``: those of them that use reverse mode."""
        func.attrs.pop("adc.entry", None)
        originals = list(func.args)
        stable = frozenset(k for k, a in enumerate(originals) if isinstance(a.type, MemRefType))

        def shadow_args(func: Func, activity: Activity) -> dict[Value, Value]:
            return derived_signatures.shadow_args_of_gradient(func, activity, originals, frozenset(wrt))

        with self._reversed(once=True):
            interface = Interface(varied, frozenset({0}))
            return augment(self.module, func, interface, stable, self.split, direct=True, shadow_args=shadow_args)

    def split(self, name: str, interface: Interface, stable: frozenset[int]) -> CallPlan:
        """The augmented and the reverse function of a callee."""
        return self.plans.of((name, interface, stable, self.once))

    @contextmanager
    def _reversed(self, *, once: bool) -> Iterator[None]:
        """Set whether what is differentiated inside is reversed only once after each forward sweep."""
        before, self.once = self.once, once
        try:
            yield
        finally:
            self.once = before

    def _split(self, key: SplitKey, assumed: CallPlan) -> tuple[CallPlan, *tuple[Func, ...]]:
        """The two functions made from a callee. Its calls of itself are made as ``assumed`` says.

        The plan that is returned asks for no less than ``assumed``.
        """
        name, interface, stable, once = key
        primal = self.module.funcs[name]
        if attached(primal) is not None:
            return split_functions(self.module, name, stable, assumed)
        if is_checkpointed(primal):
            return self._split_steps(primal, key, assumed)
        why = keeps_tape(self.module, primal) if is_rematerialised(primal) else ""
        if is_rematerialised(primal) and not why:
            return self._split_call(primal, key, assumed)
        number = of_one_number(self.module, name, interface, assumed)
        if number is not None:
            self.adjoints[key] = number.adjoint()
            return number.functions()
        func = clone_func(primal, assumed.augmented)
        func.attrs.pop("adc.entry", None)
        func.attrs.pop(REMATERIALISED, None)
        originals = list(func.args)
        positions: list[int] = []

        def shadow_args(func: Func, activity: Activity) -> dict[Value, Value]:
            return derived_signatures.shadow_args(func, activity, originals, positions)

        with self._reversed(once=once):
            augmented, recipes = augment(
                self.module, func, interface, stable, self.split, direct=False, shadow_args=shadow_args, assumed=assumed
            )
        plan, tape = self._store(augmented, recipes)
        returned = derived_signatures.remove_return(func)
        activity = augmented.activity

        useful = (k for k in interface.useful_results if activity.active(returned[k]))
        cotangents_in = union(assumed.cotangents_in, useful)
        floats_out = union(assumed.cotangents_out, (k for k in interface.varied if activity.active(originals[k])))
        residuals = list(dict.fromkeys(tape.residuals))
        aliasing = aliasing_of(func, self.module)
        held = reached(aliasing, residuals)
        # Whoever keeps a record that refers to an argument's memory has to know that it does.
        kept = union(
            assumed.kept,
            (
                k
                for k, a in enumerate(originals)
                if a in plan.wanted or (isinstance(a.type, MemRefType) and not held.isdisjoint(aliasing.roots(a)))
            ),
        )
        record = bool(residuals) or assumed.record
        shadowed = [k for k, v in enumerate(returned) if activity.has_companion(v)]
        given = tuple(k for k in assumed.given if returned[k] in augmented.given)
        taken = (*given, *cotangents_in)
        rev = derived_signatures.reverse_function(primal, assumed.reverse, augmented, kept, positions, taken, record)
        root = Frame(func.body, rev.body, func.loc)
        inputs = iter(rev.args)
        for k in kept:
            root.values[originals[k]] = next(inputs)
        for k in positions:
            root.values[augmented.companion[originals[k]]] = next(inputs)
        for k in given:
            root.shadows[returned[k]] = next(inputs)
        reader = Reader(augmented, plan, tape.slots, root, recipes)
        left = (*originals, *returned)
        sweep = RegionSweep(augmented, reader, recipes, left=left, residuals=residuals, once=once)
        cotangents: Cotangents = {}
        with insert_at(rev.body, func.loc):
            for k in cotangents_in:
                sweep.add(cotangents, returned[k], next(inputs))
            if record:
                memory = residual_memory(aliasing, residuals, originals, kept, positions, augmented)
                types = tuple(v.type for v in residuals)
                unpacked = build(ops.unpack, [next(inputs)], {"types": types, **memory})
                root.values.update(zip(residuals, unpacked.results, strict=True))
            sweep.block(root, cotangents)
            out = [sweep.total(cotangents, originals[k]) for k in floats_out]
            build(ops.return_, out)
        rev.result_types = tuple(v.type for v in out)

        shadow_results = tuple(k for k in shadowed if k not in given)
        with insert_at(func.body, func.loc):
            results = [*returned, *(forward_shadow(augmented, returned[k]) for k in shadow_results)]
            if record:
                results.append(build(ops.pack, residuals).result)
            build(ops.return_, results)
        func.result_types = tuple(v.type for v in results)
        self.adjoints[key] = self._adjoint(func.name, rev.name, augmented, plan)
        if why:
            self.adjoints[key].findings.notes.append(f"  calls of @{name} keep a tape: {why}")
        names, idle = (func.name, rev.name), is_idle(rev)
        found = CallPlan(*names, tuple(positions), shadow_results, given, kept, cotangents_in, floats_out, record, idle)
        return found, func, rev

    def _split_steps(self, primal: Func, key: SplitKey, assumed: CallPlan) -> tuple[CallPlan, Func, Func]:
        """The same for a function of steps, which is differentiated piece by piece."""
        kind = SharedRoom if may_share(primal, key) else Steps
        steps = kind(self.module, primal, key, assumed, self.plans.sweeps_of)
        inner, plan = self.sweeps.get(steps.sweeps), steps.plan
        if inner is not None:  # None: its own sweeps are being made, as the steps call the function
            self.adjoints[key] = _called(steps, primal, plan, inner)
        return plan, steps.augmented(), steps.reverse()

    def _split_call(self, primal: Func, key: SplitKey, assumed: CallPlan) -> tuple[CallPlan, Func, Func, Func]:
        """The same for a function that the reverse sweep runs again, and the function that runs both sweeps of it."""
        name = f"{assumed.reverse}.sweeps"
        made, inner = self._sweeps(primal.name, name, key[1], range(len(primal.args)), assumed)
        call = Call(self.module, primal, key, assumed, made, self._with_shadows)
        plan = call.plan
        self.adjoints[key] = _called(call, primal, plan, inner)
        return plan, call.augmented(), call.reverse(), made.func

    def _with_shadows(self, func: Func, key: SplitKey, plan: CallPlan) -> tuple[Augmented, list[Value]]:
        """Let a copy of a function carry the shadows of its results, as in a forward sweep; also, what it returned."""
        _, interface, stable, once = key
        originals = list(func.args)
        with self._reversed(once=once):
            augmented, _ = augment(
                self.module,
                func,
                interface,
                stable,
                self.split,
                direct=False,
                shadow_args=lambda func, activity: derived_signatures.shadow_args(func, activity, originals, []),
                assumed=plan,
            )
        return augmented, derived_signatures.remove_return(func)

    def _both_sweeps(self, key: SweepsKey, assumed: Sweeps) -> tuple[Sweeps, Func]:
        """A function that runs the forward and the reverse sweep of a function, on memory that it may change."""
        made, adjoint = self._sweeps(key.name, assumed.name, key.interface, key.carried, assumed.assumed())
        self.sweeps[key] = adjoint
        return made.sweeps, made.func

    def _sweeps(
        self,
        primal: str,
        name: str,
        interface: Interface,
        carried: Collection[int],
        assumed: CallPlan,
    ) -> tuple[MadeSweeps, Adjoint]:
        """The same under a name, not in a module yet. ``assumed``: its shadows and cotangents, at least."""
        func = clone_func(self.module.funcs[primal], name)
        func.attrs.pop(REMATERIALISED, None)
        originals = list(func.args)
        positions: list[int] = []
        stable = frozenset(k for k, a in enumerate(originals) if isinstance(a.type, MemRefType))
        with self._reversed(once=True):
            augmented, recipes = augment(
                self.module,
                func,
                interface,
                stable,
                self.split,
                direct=True,
                shadow_args=lambda func, activity: derived_signatures.shadow_args(func, activity, originals, positions),
                assumed=assumed,
            )
        plan, tape = self._store(augmented, recipes)
        returned = derived_signatures.remove_return(func)
        active = augmented.activity.active
        incoming = union(assumed.cotangents_in, (k for k in interface.useful_results if active(returned[k])))
        found = union(assumed.cotangents_out, (k for k in interface.varied if active(originals[k])))
        summed = tuple(k for k in found if k not in carried)
        results = ResultShadows(augmented, returned, originals, positions)
        root = Frame(func.body, func.body, func.loc)
        reader = Reader(augmented, plan, tape.slots, root, recipes)
        sweep = RegionSweep(augmented, reader, recipes, left=originals, once=True)
        cotangents: Cotangents = {}

        def argument(t: Type, hint: str) -> Value:
            func.arg_attrs.append({})
            return func.body.add_arg(t, hint)

        with insert_at(func.body, func.loc):
            for k in results.given:
                root.shadows[returned[k]] = argument(returned[k].type, "result_bar")
            results.move({k: argument(returned[k].type, "result_bar") for k in results.moved}, func)
            for k in incoming:
                sweep.add(cotangents, returned[k], argument(returned[k].type, "result_bar"))
            for k in summed:
                sweep.add(cotangents, originals[k], argument(originals[k].type, f"{originals[k].hint}_bar"))
            sweep.block(root, cotangents)
            totals = [sweep.total(cotangents, originals[k]) for k in found]
            build(ops.return_, totals)
        func.result_types = tuple(v.type for v in totals)
        sweeps = Sweeps(name, tuple(positions), results.given, results.moved, incoming, summed, found)
        made = MadeSweeps(sweeps, func, augmented, results.shadowed)
        return made, self._adjoint(name, None, augmented, plan)

    # Steps -----------------------------------------------------------------------------------------------------------

    def _store(self, augmented: Augmented, recipes: Recipes) -> tuple[StoragePlan, Tape]:
        plan = plan_storage(augmented, recipes)
        return plan, self._keep(augmented, recipes, plan)

    def _keep(self, augmented: Augmented, recipes: Recipes, plan: StoragePlan) -> Tape:
        insertions = Insertions()
        tape = Tape(augmented.func, insertions, augmented.counters, direct=augmented.direct)
        tape.keep_all([value for value in plan.stored if not recipes.free(value)])
        insertions.apply(augmented.func)
        return tape

    def _adjoint(self, name: str, reverse: str | None, augmented: Augmented, plan: StoragePlan) -> Adjoint:
        wanted = {call.augmented for call in augmented.calls.values()}
        callees = [a for a in self.adjoints.values() if a.name in wanted and a.name != name]
        computes = any(r.type.is_float for op in augmented.activity.func.walk() for r in op.results)
        found = findings_of(augmented.activity, plan)
        return Adjoint(name, reverse, augmented.activity, plan, found, callees, computes)


def _called(made: Steps | Call, primal: Func, plan: CallPlan, inner: Adjoint) -> Adjoint:
    """What is known about a function whose two halves call ``inner``, the sweeps of another function."""
    found = Findings(primal.loc, "", notes=[str(made)])
    return Adjoint(plan.augmented, plan.reverse, inner.activity, inner.plan, found, [inner])
