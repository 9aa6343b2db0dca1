"""The driver: takes a Python function and abstract arguments through all stages, to something that can be called."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from adc.backend.calls.abi import Signature
from adc.border import containers
from adc.border.complexes import conjugate_gradients
from adc.border.options import NAN, Derivative, Selection
from adc.border.selecting import Wanted, select
from adc.driver import changes, collector
from adc.driver.derived import clear_shadows, gradients_returned
from adc.driver.float_results import with_aux, with_float_result
from adc.driver.intermediate import shifted
from adc.driver.parts import part_of as part_of
from adc.driver.reporting import reporting
from adc.driver.subject import Builtin, Subject, UnknownConstant
from adc.frontend.abstract import Abstract, Scalar
from adc.frontend.entrance import constant_path, trace
from adc.frontend.frame import NeedsConstant
from adc.frontend.traced import ResultTuple, Traced
from adc.ir import forks, kinds
from adc.ir.arith import contract
from adc.ir.attached import FORWARD, REVERSE, Modes, attach, detach, drop_unmentioned
from adc.ir.callgraph import reachable
from adc.ir.core import Func, Module
from adc.ir.lazy_dataclass import dataclass
from adc.ir.schedules import MEMORY
from adc.passes.analysis.machine import made_for
from adc.passes.base import Pipeline, asked_verification, run_pipeline

if TYPE_CHECKING:
    from adc.driver.loadable import Loadable
    from adc.passes.checkpointing.budget import Chosen
    from adc.passes.checkpointing.outline_steps import StepsPlan
    from adc.passes.differentiation.activity.tangents import Tangent
    from adc.passes.differentiation.call_plan import CallPlan
    from adc.passes.differentiation.forward.algebras import Derivatives
    from adc.passes.differentiation.forward.several import Direction, Tangents
    from adc.passes.differentiation.storage.adjoints import Adjoint
    from adc.passes.plans import ParallelPlan

@dataclass
class Staged:
    """The stages of one function for one tuple of abstract arguments; ``seconds`` is how long each stage took."""

    subject: Subject
    abstracts: tuple[Abstract, ...]
    seconds: dict[str, float] = field(default_factory=dict)
    steps: list[StepsPlan] = field(default_factory=list)  # of loops that are checkpointed
    # Native code, the function it calls for arguments that do not fit, and its callable functions.
    loaded: list[tuple[Loadable, Builtin, list[Builtin]]] = field(default_factory=list)
    record: str | None = None  # name of the record for other processes; None if there is none
    recorded: int = 0  # value of ``found_out`` when the record was written
    whole: bool = False  # with the code of kernels: for object files, and for inspection
    slot: int | None = None  # number among the records of that name

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        """A context that measures (a part of) a stage."""
        start = time.perf_counter()
        try:
            with forks.held_off(), collector.paused():
                yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start

    def traced(self, *, reverse: bool = False) -> Traced:
        """The function in IR as it was written. ``reverse``: it will be differentiated in reverse mode; for this,
        gradients inside the function must keep their tapes."""
        from adc.passes import pipelines
        from adc.passes.checkpointing.calls import expand_calls
        from adc.passes.differentiation.inner import define_derivatives, takes_derivatives
        from adc.passes.differentiation.take_gradients import gradients_of

        traced = self.subject.remembered.traced((self.abstracts, self.whole), self._trace)
        if reverse:
            expand_calls(traced.module, gradients_of(traced.module))
        if takes_derivatives(traced.module):
            self.bring_rules(traced, deep=True)
        define_derivatives(traced.module, traced.entry, pipelines.SIMPLIFY)
        return traced

    def _trace(self) -> Traced:
        from adc.passes.differentiation.activity import ranks

        positional, keywords = self.subject.parameters.split(self.abstracts)
        options = self.subject.options
        with self.measure("trace"):
            if self.subject.read is not None:
                return self.subject.read()
            try:
                traced = trace(
                    self.subject.fn,
                    positional,
                    keywords,
                    pins=True,
                    lapack=options.lapack,
                    deterministic=options.deterministic,
                    library=None if self.whole else self.subject.target.kernels(options),
                )
            except NeedsConstant as need:
                name, *positions = constant_path(need)
                path = (self.subject.parameters.names.index(str(name)), *map(int, positions))
                shown = containers.label(self.abstracts, self.subject.parameters.names, path)
                raise UnknownConstant(shown, path) from None
        ranks.settle_ranks(traced.module, traced.entry)
        if options.contract:
            contract(traced.module)
        return traced

    def traced_for(self, chain: Sequence[Selection], *, has_aux: bool = False) -> tuple[Traced, Wanted]:
        """The function whose gradient is taken by the last of ``chain``, and with respect to what.

        With more than one selection that function is itself a gradient, by those before. ``has_aux``: it returns a pair
        of the value and an auxiliary value. Raises if there is no such gradient.
        """
        traced = self.traced(reverse=True)
        if has_aux:
            traced = with_aux(self.subject.name, traced)
        traced, wanted = self._selected(traced, chain[0])
        for chosen in chain[1:]:
            traced, wanted = self._selected(self._differentiated(traced, wanted), chosen)
        return traced, wanted

    def _selected(self, traced: Traced, chosen: Selection) -> tuple[Traced, Wanted]:
        for name in chosen.names:
            known = self.subject.parameters.path(name, self.abstracts)
            if known is None and all(leaf.path[0] != name for leaf in traced.leaves):
                traced = shifted(traced, name) or traced
        wanted = select(self.subject.name, self.subject.parameters, self.abstracts, traced, chosen)
        return with_float_result(self.subject.name, traced), wanted

    def _differentiated(self, traced: Traced, wanted: Wanted) -> Traced:
        """The gradient as a function that can be differentiated again; it must be one float."""
        from adc.passes.differentiation.activity import ranks

        by = traced.leaves[wanted.wrt[0]].abstract
        if len(wanted.wrt) > 1 or not isinstance(by, Scalar) or not wanted.single:
            raise kinds.NOT_SCALAR(
                f"the gradient of {self.subject.name} is not one float, so it has no gradient",
                help="differentiate by one float argument first",
            )
        ranks.refuse_ranks(traced.module, traced.entry, "the gradient of a gradient", "adc.hvp has second derivatives")
        # Schedules belong to the outer gradient; the inner one keeps a tape.
        return self._as_function(traced, wanted, with_value=False, steps=False)

    def function(self, derivative: Derivative) -> Traced:
        """The function to be differentiated in forward mode: the function itself, or one of its derivatives."""

        if not derivative.chain:
            return self.traced()
        if derivative.has_aux:
            raise kinds.NO_DERIVATIVE(
                f"the gradient of {self.subject.name} hands on another value, and has no derivative",
                help="differentiate a function that returns the float alone",
            )
        traced, wanted = self.traced_for(derivative.chain)
        return self._as_function(traced, wanted, with_value=derivative.with_value, then=(FORWARD,))

    def _as_function(
        self, traced: Traced, wanted: Wanted, *, with_value: bool, steps: bool = True, then: Modes | None = None
    ) -> Traced:
        """The gradient as a function that returns what Python receives, and changes none of its arguments."""
        module, adjoint = self.gradient(traced, wanted, with_value=with_value, steps=steps, then=then)
        if traced.alias_groups:
            raise kinds.NO_DERIVATIVE(
                f"second derivatives of {self.subject.name} with overlapping arguments, of which it writes to one",
                help="pass a copy of one of them",
            )
        places = gradients_returned(module.funcs[adjoint.name], wanted.wrt, values=int(with_value))
        detach(module)
        drop_unmentioned(module, [adjoint.name])
        result = wanted.result(traced, places)
        if with_value:
            result = ResultTuple((traced.result, result))
        return replace(traced, module=module, entry=adjoint.name, result=result, mutated=frozenset(), changed={})

    def simplified(self, traced: Traced, modes: Modes | None = None) -> Module:
        """The primal, prepared for differentiation in these modes; None: in any. Changes the module of ``traced``."""
        from adc.passes import pipelines
        from adc.passes.differentiation.inner import takes_derivatives
        from adc.passes.differentiation.needed_rules import keep_needed
        from adc.passes.ranks.inline_shared import InlineShared
        from adc.passes.ranks.same_extents import unite_extents
        from adc.passes.simplify.mark_forward import MarkForward

        if modes is None or takes_derivatives(traced.module):
            self.bring_rules(traced, deep=True)
        else:
            self.bring_rules(traced, again=len(modes) > 1)
            keep_needed(traced.module, traced.entry, modes)
        passes = pipelines.PREPARE if self.subject.options.bounds else pipelines.UNCHECKED
        if (shared := self.subject.options.shared) is not None:
            passes = (InlineShared(shared.grid, differentiated=False), *pipelines.without_rows(passes))
            unite_extents(traced.module, shared)
        if self.subject.options.checkpoint is not None:
            passes = pipelines.in_steps(passes)
        if self.subject.options.debug == NAN:
            passes = (*passes, MarkForward())
        return self.subject.remembered.simplified(traced.module, passes, lambda m: self._run(m, passes, "simplify"))

    def bring_rules(self, traced: Traced, *, deep: bool = False, again: bool = False) -> None:
        """Bring the rules of kernels into the module. ``deep``: those for derivatives of derivatives, too; ``again``:
        these are brought later, when the derivative is differentiated."""
        library = self.subject.target.kernels(self.subject.options)
        if library is not None:
            find = library.rules if deep or again else library.first_rules
            attach(traced.module, [traced.entry], find, deep=deep, again=again)

    def primal(self, traced: Traced) -> Module:
        """The primal, ready to be lowered to LLVM."""
        from adc.passes.calls.drop_rules import DropRules, without_marks
        from adc.passes.differentiation.inner import takes_derivatives

        without_marks(traced.module)
        if not takes_derivatives(traced.module):
            DropRules().run(traced.module)  # rules are often more code than the functions
            drop_unmentioned(traced.module, [traced.entry])
        return self.prepared(self.simplified(traced), [traced.entry])

    def gradient(
        self, traced: Traced, wanted: Wanted, *, with_value: bool, clears: bool = False, steps: bool = True,
        then: Modes | None = (),
    ) -> tuple[Module, Adjoint]:
        """A module with the gradient, before the passes that prepare it for lowering.

        ``clears``: the gradient sets shadows to zero itself; without it, and where arguments overlap, the caller must.
        ``steps``: whether schedules of loops and checkpointed calls apply. ``then``: the modes in
        which it will be differentiated; None if that is not known.
        """
        from adc.passes.checkpointing.calls import expand_calls
        from adc.passes.checkpointing.outline_steps import without_schedules
        from adc.passes.differentiation import differentiate
        from adc.passes.differentiation.activity import ranks

        ranks.check_loss(traced.module, traced.entry)
        if not steps:
            expand_calls(traced.module, [traced.entry])
        module = self.simplified(traced, None if then is None else (REVERSE, *then))
        module = self._in_steps(module) if steps else without_schedules(module)
        with self.measure("differentiate"):
            adjoint = differentiate.gradient(module, traced.entry, wanted.wrt, with_value=with_value)
        func = module.funcs[adjoint.name]
        shared = bool(traced.alias_groups)
        conjugate_gradients(func, traced.leaves, wanted, arrays=not (clears and shared))
        if clears and not shared:
            clear_shadows(func, [k for k, attrs in enumerate(func.arg_attrs) if "adc.shadow" in attrs])
        return module, adjoint

    def tangent(
        self, traced: Traced, wrt: Sequence[int], final: Sequence[int] = (), algebra: Derivatives | None = None
    ) -> tuple[Module, Tangent]:
        """A module with the forward-mode derivative, before the passes that prepare it for lowering."""
        from adc.passes.calls.drop_rules import without_marks
        from adc.passes.differentiation.forward import forward

        without_marks(traced.module)
        module = self.simplified(traced, (FORWARD,))
        with self.measure("differentiate"):
            return module, forward.jvp(module, traced.entry, wrt, final, algebra)

    def tangents(self, traced: Traced, directions: Sequence[Direction]) -> tuple[Module, Tangents | None]:
        """As ``tangent``, along several directions at once; None instead of the tangents where that is not possible."""
        from adc.passes.calls.drop_rules import without_marks
        from adc.passes.differentiation.forward import several

        without_marks(traced.module)
        module = self.simplified(traced, (FORWARD,))
        with self.measure("differentiate"):
            return module, several.jvps(module, traced.entry, directions)

    def split(self, traced: Traced, wanted: Wanted) -> tuple[Module, Adjoint, CallPlan]:
        """A module with the two halves of the pullback, before the passes that prepare it for lowering."""
        from adc.passes.differentiation import differentiate
        from adc.passes.differentiation.activity import ranks

        ranks.check_pullback(traced.module, traced.entry)
        module = self._in_steps(self.simplified(traced, (REVERSE,)))
        with self.measure("differentiate"):
            adjoint, plan = differentiate.split(module, traced.entry, wanted.wrt)
        return module, adjoint, plan

    def _in_steps(self, module: Module) -> Module:
        """The module with checkpointed loops outlined into functions that run some of the steps."""
        from adc.passes.checkpointing.outline_steps import OutlineSteps

        with self.measure("differentiate"):
            self.steps = OutlineSteps(self.subject.options.checkpoint).plan(module)
        return module

    def tidied(self, module: Module) -> Module:
        """Differentiated code, simplified for display."""
        from adc.passes import pipelines

        return self._run(module, pipelines.SIMPLIFY, "prepare")

    def prepared(self, module: Module, roots: Sequence[str]) -> Module:
        """The functions ``roots``, and all that they use, ready to be lowered to LLVM."""
        from adc.passes.differentiation.needed_rules import without_rules

        return self._run(without_rules(module, roots), self._lowering(), "prepare")

    def keep_to_memory(
        self, module: Module, entry: str, reverse: str | None = None, measured: Func | None = None
    ) -> Chosen | None:
        """Let a function of a prepared module choose the schedules of its loops at run time, within the memory that the
        options allow; None if they do not limit it. ``reverse``: a function that runs later, with the record of this
        one; ``measured`` then stands for both."""
        from adc.passes import pipelines
        from adc.passes.checkpointing.budget import choose_schedules
        from adc.passes.checkpointing.footprint import Unsized

        schedule = self.subject.options.checkpoint
        if schedule is None or not schedule.memory:
            return None
        with self.measure("prepare"):
            try:
                chosen = choose_schedules(module, entry, schedule.memory, self.subject.options.threads, measured)
            except Unsized as error:
                raise kinds.UNKNOWN_SIZE(
                    f"how much memory the gradient of {self.subject.name} takes is not known before it runs: "
                    f"{error.reason}",
                    error.loc,
                    help="call it without memory= and forecast; checkpoint= saves memory where it applies",
                ) from None
        for name in (entry, *([] if reverse is None else [reverse])):
            module.funcs[name].attrs[MEMORY] = schedule.memory
        made = part_of(module, [chosen.search, chosen.footprint])
        module.funcs.update(self._run(made, pipelines.TIDY, "prepare").funcs)
        return chosen

    def workspace(self, module: Module, entry: str, chosen: Chosen | None, *, fails: bool = False) -> Func | None:
        """Add a function that computes how much memory ``entry`` of a prepared module takes; None if that is not known
        in advance. ``fails``: it raises if the size is impossible on any machine."""
        from adc.passes import pipelines
        from adc.passes.checkpointing.budget import workspace
        from adc.passes.checkpointing.footprint import Unsized

        options = self.subject.options
        memory = options.checkpoint.memory if options.checkpoint is not None else 0
        try:
            made = workspace(module, entry, chosen, memory, options.threads, fails=fails)
        except Unsized:
            return None
        module.funcs.update(self._run(part_of(module, [made.name]), pipelines.TIDY, "prepare").funcs)
        return made

    def planned(self, module: Module, roots: Sequence[str]) -> ParallelPlan:
        """What ``prepared`` decides about the loops of ``roots`` and their callees."""
        from adc.passes.cache.block_time import BlockTime
        from adc.passes.cache.tile_loops import TileLoops
        from adc.passes.plans import ParallelPlan
        from adc.passes.ranks.owner_computes import OwnerComputes
        from adc.passes.scatter.lower_accumulate import LowerAccumulate
        from adc.passes.threads.parallelise import Parallelise, parallelise

        plan, shown = ParallelPlan(), reachable(module, roots)
        # Passes that decide about loops report their plan; some of them then also carry it out.
        tell: dict[type, Callable[[Any, Module], None]] = {
            Parallelise: lambda _, module: plan.loops.update(parallelise(module).loops),
            LowerAccumulate: lambda step, module: plan.shadows.update(step.plan(module).shadows),
            TileLoops: lambda step, module: plan.tiles.update(step.plan(module)),
            BlockTime: lambda step, module: plan.times.update(step.plan(module)),
            OwnerComputes: lambda step, module: plan.ranks.update(step.plan(module)),
        }
        self._run(module, reporting(self._lowering(), tell), "prepare")
        return ParallelPlan(
            {name: loops for name, loops in plan.loops.items() if name in shown},
            {name: shadows for name, shadows in plan.shadows.items() if name in shown},
            {name: tiles for name, tiles in plan.tiles.items() if name in shown},
            {name: times for name, times in plan.times.items() if name in shown},
            {name: ranks for name, ranks in plan.ranks.items() if name in shown},
        )

    def _lowering(self) -> Pipeline:
        return self.subject.target.lowering(self.subject.options)

    def _run(self, module: Module, passes: Pipeline, stage: str) -> Module:
        with self.measure(stage), made_for(self.subject.target.machine):
            after = changes.requested(module, self.subject.name)
            return run_pipeline(module, passes, verify=asked_verification(), after=after)


def compile_functions(
    staged: Staged, module: Module, signatures: Sequence[Signature], miss: Callable[..., Any]
) -> list[Builtin]:
    """A callable for each of the signatures."""
    subject = staged.subject
    with staged.measure("native"):
        part, name, doc = part_of(module, [s.function for s in signatures]), subject.name, subject.fn.__doc__
        made, functions = subject.target.functions(part, signatures, subject.options, name=name, doc=doc, miss=miss)
    if made is not None:
        staged.loaded.append((made, miss, functions))
    return functions
