"""What a pass is, and how a sequence of them runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol, runtime_checkable

from adc.ir.core import Module


@runtime_checkable
class Pass(Protocol):
    """A transformation of modules: a frozen dataclass with a kebab-case name.

    It takes valid IR and leaves valid IR. It may change the module it was given, and returns the module to go on with.
    """

    name: ClassVar[str]

    def run(self, module: Module) -> Module: ...


Pipeline = tuple[Pass, ...]
Hook = Callable[[Pass, Module, float], None]


class PassError(Exception):
    """A pass left invalid IR: an error in adc, not in the user's program."""


def run_pipeline(module: Module, passes: Sequence[Pass], *, verify: bool = False, after: Hook | None = None) -> Module:
    """Run ``passes`` in order.

    With ``verify`` the module is verified at the start and after each pass; ``PassError`` names the pass that broke it.
    ``after(pass, module, seconds)`` is called after each pass: to dump, to measure.
    """
    verifies = _verifier() if verify else None
    if verifies is not None:
        verifies(module, "the input of the pipeline")
    for step in passes:
        start = time.perf_counter()
        module = step.run(module)
        seconds = time.perf_counter() - start
        if verifies is not None:
            verifies(module, f"pass {step.name}")
        if after is not None:
            after(step, module, seconds)
    return module


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
