"""Targets that code is generated for. The protocol ``Target`` is all that the driver knows of code generation.

The targets are the CPU, and the reference interpreter, which runs the code that the CPU would get. Another target, for
instance a GPU, would be a class like ``adc.driver.cpu.Cpu``, with a folder next to ``backend/lowering`` that generates
its code. Object files (``adc.commands.ahead``) are for the CPU only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from adc.backend.calls.abi import Signature
from adc.border.options import Options
from adc.driver.cpu import CPU
from adc.driver.loadable import Builtin, Loadable
from adc.frontend.functions.declared import Library
from adc.ir.core import Module
from adc.passes.analysis.machine import Machine
from adc.passes.base import Pipeline


class Shown(Protocol):
    """Final code as text."""

    def llvm_ir(self) -> str: ...

    def assembly(self) -> str: ...


class Target(Protocol):
    """Makes callable functions from final IR."""

    @property
    def machine(self) -> Machine:
        """The properties of the machine on which passes base decisions."""

    @property
    def resident(self) -> bool:
        """Whether its code checks the arguments itself, and can be linked again in another process."""

    def lowering(self, options: Options) -> Pipeline:
        """The passes from the primal, or differentiated code, to the final IR."""

    def kernels(self, options: Options) -> Library | None:
        """The library of functions that are compiled once for all programs; None if programs contain them."""

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
        """A callable for each of ``signatures``, with its run-time support, and a ``Loadable`` to make it again in
        another process.

        ``name`` and ``doc`` are those of the Python function. Arguments that do not fit go to ``miss``.
        """

    def shown(self, module: Module, exports: Sequence[str], options: Options, *, debug: bool = False) -> Shown:
        """The code of ``exports`` alone; ``debug``: with the lines of the source that it comes from."""

    def simd_lines(self, module: Module, exports: Sequence[str], options: Options) -> list[int]:
        """The lines of the loops that run several iterations at once, without those of adc's own library."""


def target_of(options: Options) -> Target:
    """The target that the options ask for."""
    if options.engine == "native":
        return CPU
    from adc.driver.interpreted import INTERPRETER

    return INTERPRETER
