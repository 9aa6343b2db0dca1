"""What a pass is, and how a sequence of them runs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from enum import Enum
from typing import ClassVar, Protocol, runtime_checkable

from adc.ir.core import Func, Module


@runtime_checkable
class Pass(Protocol):
    """A transformation of modules: a frozen dataclass with a kebab-case name.

    It takes valid IR and leaves valid IR. It may change the module it was given, and returns the module to go on with.
    """

    name: ClassVar[str]

    def run(self, module: Module) -> Module: ...


Pipeline = tuple[Pass, ...]
Changed = frozenset[str]  # names of functions that are new, gone, or not what they were
Hook = Callable[[Pass, Changed, Module, float], None]


class PassError(Exception):
    """A pass left invalid IR: an error in adc, not in the user's program."""


class Verify(Enum):
    """When a pipeline verifies the module. The values are those of the environment variable ``ADC_VERIFY``."""

    NEVER = ""
    PIPELINES = "pipelines"  # at the start and at the end
    PASSES = "1"  # at the start and after each pass: an error names the pass


def asked_verification() -> Verify:
    """What ``ADC_VERIFY`` asks for; whatever is not known asks for all."""
    asked = os.environ.get("ADC_VERIFY", "")
    return Verify(asked) if asked in ("", "pipelines") else Verify.PASSES


def run_pipeline(
    module: Module, passes: Sequence[Pass], *, verify: Verify = Verify.NEVER, after: Hook | None = None
) -> Module:
    """Run ``passes`` in order.

    A pass that changed nothing is not run again before something has changed. ``PassError`` names the pass that broke
    the module, or the pipeline's passes, by how often ``verify`` looks. ``after(pass, changed, module, seconds)`` is
    called after each pass: to dump, to measure.
    """
    verifies = _verifier() if verify is not Verify.NEVER else None
    if verifies is not None:
        verifies(module, "the input of the pipeline")
    settled: list[Pass] = []  # what changed nothing, since the last change
    for step in passes:
        start = time.perf_counter()
        changed: Changed = frozenset()
        if step not in settled:
            before = versions(module)
            module = step.run(module)
            changed = differing(before, versions(module))
            settled = [] if changed else [*settled, step]
        seconds = time.perf_counter() - start
        if verifies is not None and verify is Verify.PASSES:
            verifies(module, f"pass {step.name}")
        if after is not None:
            after(step, changed, module, seconds)
    if verifies is not None and verify is Verify.PIPELINES:
        verifies(module, f"one of the passes {', '.join(step.name for step in passes)} (ADC_VERIFY=1 names it)")
    return module


Versions = dict[str, tuple[Func, tuple[object, ...]]]


def versions(module: Module) -> Versions:
    """The functions of a module as they are now, to be told from what they are later."""
    return {name: (func, func.version) for name, func in module.funcs.items()}


def differing(before: Versions, after: Versions) -> Changed:
    """The names of the functions that are new, gone, or not what they were."""
    return frozenset(name for name in {**before, **after} if before.get(name) != after.get(name))


def _verifier() -> Callable[[Module, str], None]:
    # Imported here because a compiler that does not verify need not load the verifier.
    from adc.ir.verifier import Changes, VerificationError

    changes = Changes()

    def verify(module: Module, where: str) -> None:
        try:
            changes.verify(module)
        except VerificationError as error:
            raise PassError(f"{where}: {error}") from error

    return verify
