"""What a pass is, and how a sequence of them runs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import ClassVar, Protocol, runtime_checkable

from adc.ir.attached import mentioned
from adc.ir.callgraph import closure
from adc.ir.core import Func, Module
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import having
from adc.ir.opdef import OpDef
from adc.ir.states import Version, version


@runtime_checkable
class Pass(Protocol):
    """A transformation of modules: a frozen dataclass with a kebab-case name.

    It takes valid IR and leaves valid IR. It may change the module it was given, and returns the module to go on with.
    One that ``settles`` (a class attribute) is not worth running again before another pass has changed something. One
    that ``needs`` operations of some kinds (a class attribute) changes no function that has none of them.
    """

    name: ClassVar[str]

    def run(self, module: Module) -> Module: ...


@dataclass(frozen=True)
class IfChanged:
    """``step``, and if it changed anything ``then``: what cleans up after a pass."""

    step: Pass
    then: Pipeline


@dataclass(frozen=True)
class Repeat:
    """``steps``, repeated until they change nothing."""

    steps: Pipeline


@dataclass(frozen=True)
class OnPart:
    """``steps`` on the functions that ``roots`` names and those that they mention, as if there were no others."""

    roots: Callable[[Module], Sequence[str]]
    steps: Pipeline


Step = Pass | IfChanged | Repeat | OnPart
Pipeline = tuple[Step, ...]
"""The steps that are run, in order. A pass does not run others: what has to follow it is stated here."""


def passes_of(steps: Sequence[Step]) -> Iterator[Pass]:
    """All passes of a pipeline, including those that may not be run."""
    for step in steps:
        if isinstance(step, IfChanged):
            yield step.step
            yield from passes_of(step.then)
        elif isinstance(step, Repeat | OnPart):
            yield from passes_of(step.steps)
        else:
            yield step


Changed = frozenset[str]  # names of functions that are new, gone, or not what they were
Hook = Callable[[Pass, Changed, Module, float], None]
Verifies = Callable[[Module, str], None]


class PassError(Exception):
    """A pass left invalid IR: an error in adc, not in the user's program."""


class Verify(Enum):
    """When a pipeline verifies the module. The values are those of the environment variable ``ADC_VERIFY``."""

    NEVER = ""
    PIPELINES = "pipelines"  # at the start and at the end
    PASSES = "1"  # at the start and after each pass: an error names the pass


def asked_verification() -> Verify:
    """The value of ``ADC_VERIFY``; one that is not known asks for all."""
    asked = os.environ.get("ADC_VERIFY", "")
    return Verify(asked) if asked in ("", "pipelines") else Verify.PASSES


def run_pipeline(
    module: Module, steps: Sequence[Step], *, verify: Verify = Verify.NEVER, after: Hook | None = None
) -> Module:
    """Run ``steps`` in order.

    A pass that changed nothing, or settles, is not run again before something else has changed. ``PassError`` names
    the pass that broke the module, or all passes of the pipeline, depending on ``verify``. ``after(pass, changed,
    module, seconds)`` is called after each pass: to dump, to measure.
    """
    verifies = _verifier() if verify is not Verify.NEVER else None
    if verifies is not None:
        verifies(module, "the input of the pipeline")
    run = _Run(module, verifies if verify is Verify.PASSES else None, after)
    run.steps(steps)
    if verifies is not None and verify is Verify.PIPELINES:
        names = ", ".join(step.name for step in passes_of(steps))
        verifies(run.module, f"one of the passes {names} (ADC_VERIFY=1 names it)")
    return run.module


class _Run:
    """A pipeline being run; ``module`` is what has become of it so far."""

    def __init__(self, module: Module, verifies: Verifies | None, after: Hook | None) -> None:
        self.module = module
        self._verifies = verifies
        self._after = after
        self._settled: list[Pass] = []  # passes that have changed nothing since, or settle, from the last change on

    def steps(self, steps: Sequence[Step]) -> bool:
        """Run all steps. Returns whether anything was changed."""
        changed = False
        for step in steps:
            changed |= self._step(step)
        return changed

    def _step(self, step: Step) -> bool:
        if isinstance(step, IfChanged):
            changed = self._pass(step.step)
            if changed:
                self.steps(step.then)
            return changed
        if isinstance(step, Repeat):
            changed = False
            while self.steps(step.steps):
                changed = True
            return changed
        if isinstance(step, OnPart):
            return self._part(step)
        return self._pass(step)

    def _part(self, step: OnPart) -> bool:
        roots = step.roots(self.module)
        if not roots:
            return False
        names = closure(self.module, roots, mentioned)
        part = _Run(Module({name: self.module.funcs[name] for name in names}), self._verifies, self._after)
        changed = part.steps(step.steps)
        self.module.funcs.update(part.module.funcs)
        if changed:
            self._settled = []
        return changed

    def _pass(self, step: Pass) -> bool:
        start = time.perf_counter()
        changed: Changed = frozenset()
        if step not in self._settled and _has_work(step, self.module):
            before = versions(self.module)
            self.module = step.run(self.module)
            changed = differing(before, versions(self.module))
            if changed:
                self._settled = []
            if not changed or getattr(step, "settles", False):
                self._settled.append(step)
        seconds = time.perf_counter() - start
        if self._verifies is not None:
            self._verifies(self.module, f"pass {step.name}")
        if self._after is not None:
            self._after(step, changed, self.module, seconds)
        return bool(changed)


def _has_work(step: Pass, module: Module) -> bool:
    needs: frozenset[OpDef] | None = getattr(step, "needs", None)
    return needs is None or next(having(module, needs), None) is not None


Versions = dict[str, tuple[Func, Version]]


def versions(module: Module) -> Versions:
    """The functions of a module as they are now, to be compared with a later state."""
    return {name: (func, version(func)) for name, func in module.funcs.items()}


def differing(before: Versions, after: Versions) -> Changed:
    """The names of the functions that are new, gone, or not what they were."""
    return frozenset(name for name in {**before, **after} if before.get(name) != after.get(name))


def _verifier() -> Verifies:
    # Imported here because a compiler that does not verify need not load the verifier.
    from adc.ir.verifier import Changes, VerificationError

    changes = Changes()

    def verify(module: Module, where: str) -> None:
        try:
            changes.verify(module)
        except VerificationError as error:
            raise PassError(f"{where}: {error}") from error

    return verify
