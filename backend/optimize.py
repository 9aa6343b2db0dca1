"""LLVM's optimiser and code generator on a lowered module."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import llvmlite.binding as llvm

from adc.backend.target import Target


@dataclass(frozen=True)
class Optimized:
    """An optimised module. LLVM's objects stay inside; the products are made when they are asked for."""

    target: Target
    level: int
    _module: llvm.ModuleRef

    def llvm_ir(self) -> str:
        return str(self._module)

    def assembly(self) -> str:
        return self.target.machine(self.level).emit_assembly(self._module)

    @functools.cached_property
    def object_code(self) -> bytes:
        """A relocatable object file, position-independent."""
        return self.target.machine(self.level).emit_object(self._module)


def optimize(text: str, target: Target, level: int = 3) -> Optimized:
    """Parse LLVM IR and run the default pipeline of an optimisation ``level`` (0 to 3) on it.

    Every call has an LLVM context of its own, so several threads may do this at once.
    """
    machine = target.machine(level)
    module = llvm.parse_assembly(text, llvm.create_context())
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(level)
    options.loop_vectorization = level >= 2
    options.slp_vectorization = level >= 2
    options.loop_interleaving = level >= 2
    options.loop_unrolling = level >= 2
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return Optimized(target, level, module)
