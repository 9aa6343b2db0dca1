"""What code is made for, and what one has to say to be a target: the driver knows no more of code generation.

There are the CPU, and the reference interpreter, which runs what the CPU would be given. Another one, a GPU for
instance, is a class like ``adc.cpu.Cpu``, with a folder beside ``backend/lowering`` that makes its code. Object files
(``adc.ahead``) are the CPU's alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from adc.backend.calls.abi import Signature
from adc.cpu import CPU
from adc.frontend.functions.declared import Library
from adc.interpreted import Interpreter
from adc.ir.core import Module
from adc.loadable import Builtin, Loadable
from adc.options import Options
from adc.passes.analysis.machine import Machine
from adc.passes.base import Pipeline


class Shown(Protocol):
    """Final code as text."""

    def llvm_ir(self) -> str: ...

    def assembly(self) -> str: ...


class Target(Protocol):
    """How code becomes what can be called."""

    @property
    def machine(self) -> Machine:
        """What passes ask of it, to choose by."""

    @property
    def resident(self) -> bool:
        """Whether what it makes looks at the arguments itself, and can be linked again in another process."""

    def lowering(self, options: Options) -> Pipeline:
        """The passes from the primal, or differentiated code, to what code is made of."""

    def kernels(self, options: Options) -> Library | None:
        """Where programs find functions that are compiled once for all programs; None if they have them inside."""

    def functions(
        self,
        module: Module,
        signatures: Sequence[Signature],
        options: Options,
        *,
        name: str,
        doc: str | None,
        miss: Callable[..., Any],
    ) -> tuple[Loadable | None, list[Builtin]]:
        """A callable for each of ``signatures``, with its run-time support, and what makes it again in another process.

        ``name`` and ``doc`` are those of the Python function. Arguments that do not fit go to ``miss``.
        """

    def shown(self, module: Module, exports: Sequence[str], options: Options, *, debug: bool = False) -> Shown:
        """The code of ``exports`` alone; ``debug``: with the lines of the source that it comes from."""

    def simd_lines(self, module: Module, exports: Sequence[str], options: Options) -> list[int]:
        """The lines of the loops that run several iterations at once, without those of adc's own library."""


INTERPRETER = Interpreter()


def target_of(options: Options) -> Target:
    """The one that is asked for."""
    return CPU if options.engine == "native" else INTERPRETER
