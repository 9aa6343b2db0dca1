"""Ahead-of-time output: object files, shared libraries, assembly or LLVM IR, with a C header. No Python in any of it.

    parts = [Part(module, (cabi.primal(module, "heat", "heat"),)), Part(gradient_module, (...,))]
    built = build(parts, "heat", target)
    Path("heat.o").write_bytes(built.object_code)
    Path("heat.h").write_text(header(built, "heat.py"))

Each part is a module of the IR with functions to be called from C. The parts, their wrappers and the run-time support
become one LLVM module in which only the functions of the interface are visible from outside.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import llvmlite.binding as llvm

from adc.backend import llvm_text, shared_library
from adc.backend.ahead.aot_status import failure_ir, shared_ir
from adc.backend.ahead.aot_wrappers import wrapper_ir
from adc.backend.ahead.c_names import LIBRARY
from adc.backend.ahead.cabi import CFunction
from adc.backend.ahead.linkable import Linkable
from adc.backend.lowering import lane_code
from adc.backend.lowering.linking import Linking
from adc.backend.lowering.lower import lower_module
from adc.backend.optimize import Optimized
from adc.backend.support import contexts, products, sorts, team, transposes
from adc.backend.target import Target, host
from adc.ir.core import Module
from adc.ir.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Part:
    """A module of the IR, ready to be lowered, and those of its functions that C calls."""

    module: Module
    functions: tuple[CFunction, ...]


@dataclass(frozen=True)
class Built:
    """The result of ``build``. The names of shared functions begin with ``prefix``; ``libraries`` are linker
    options."""

    prefix: str
    functions: tuple[CFunction, ...]
    optimized: Optimized
    libraries: tuple[str, ...]

    @property
    def object_code(self) -> bytes:
        """A relocatable, position-independent object file."""
        return self.optimized.object_code

    def assembly(self) -> str:
        return self.optimized.assembly()

    def llvm_ir(self) -> str:
        return self.optimized.llvm_ir()

    def shared(self, path: Path, compiler: str | None = None) -> None:
        """Write a shared library, linked by the C compiler (``$CC``, or ``cc``). Raises ``AdcError`` if that fails."""
        shared_library.link(self.object_code, path, self.libraries, compiler)


def build(
    parts: Sequence[Part],
    prefix: str,
    target: Target | None = None,
    *,
    level: int = 3,
    threads: bool = True,
    debug: bool = False,
) -> Built:
    """Compile the parts for a target (default: this machine)."""
    target = target or host()
    functions = tuple(f for part in parts for f in part.functions)
    frees = [f.name.removesuffix("_aug") + "_free" for f in functions if f.kind == "forward"]
    written = parts[0].module.funcs[functions[0].function].loc
    public = dict.fromkeys([*(f.name for f in functions), *frees, *shared_names(prefix)], written)
    linking = Linking(public)
    linking.check_defined(LIBRARY)
    own = [
        contexts.support_ir("external", linux=target.is_linux),
        llvm_text.merge("", [shared_ir(prefix, frees)]),
    ]
    linking.check_others([*llvm_text.functions(own[0]), *llvm_text.functions(own[1], "declare")])
    texts = [*own, *(_part_text(part, target, threads, debug, linking) for part in parts)]
    if _called(products.DECLARATIONS, texts):
        texts[0] = "\n".join((texts[0], products.products_ir(target)))
    if _called(transposes.DECLARATIONS, texts):
        texts[0] = "\n".join((texts[0], transposes.transposes_ir()))
    if _called(team.DECLARATIONS, texts):
        texts[0] = "\n".join((texts[0], team.team_ir(polls=False)))
    if sorting := _called(sorts.NAMES, texts):
        texts.append(sorts.sorts_ir(target, sorting))
    context = llvm.create_context()
    linked = llvm.parse_assembly(f'target triple = "{target.triple}"\n{texts[0]}', context)
    for text in texts[1:]:
        linked.link_in(_only_public(text, context, public))
    for item in (*linked.functions, *linked.global_variables):
        if not item.is_declaration and item.name not in public and not item.name.startswith("llvm."):
            item.linkage = llvm.Linkage.internal
    optimized = Linkable(str(linked), target, level)
    return Built(prefix, functions, optimized, libraries(optimized.called, target, linking))


def _called(names: Iterable[str], texts: Sequence[str]) -> list[str]:
    """Those of ``names`` that the LLVM IR in ``texts`` calls."""
    return [name for name in names if any(f"@{name}(" in text for text in texts)]


def _only_public(text: str, context: llvm.ContextRef, public: Collection[str]) -> llvm.ModuleRef:
    """Parse a part and hide its compiled functions from the other parts, which may use the same names.

    What ``lane_code`` defines is the same in all parts and is merged: a second copy would be renamed, LLVM would find
    no vector variants for the new name, and loops that call it would not become SIMD.
    """
    module = llvm.parse_assembly(text, context)
    for function in module.functions:
        if not function.is_declaration and function.name.startswith("adc.") and function.name not in public:
            function.linkage = llvm.Linkage.internal
        if not function.is_declaration and lane_code.defines(function.name):
            function.linkage = llvm.Linkage.linkonce_odr
    return module


def _part_text(part: Part, target: Target, threads: bool, debug: bool, linking: Linking) -> str:
    exports = [f.function for f in part.functions]
    lowered = lower_module(part.module, target, exports=exports, threads=threads, debug=debug, linking=linking)
    wrappers = [wrapper_ir(f) for f in part.functions]
    return llvm_text.merge(lowered.text(), [failure_ir(lowered.sites), *wrappers])


def shared_names(prefix: str) -> list[str]:
    """The functions that every object file has."""
    return [f"{prefix}_{name}" for name in ("message", "strerror", "set_threads", "release_memory")]


def libraries(called: Collection[str], target: Target, linking: Linking) -> tuple[str, ...]:
    """The options that link code which calls these functions, with the C functions of ``linking`` among them.

    Apple's compiler does not know ``-fopenmp``; there the runtime is Homebrew's libomp.
    """
    found = ["-lm"]
    if any(name.startswith("_ZGV") for name in called):
        found.append("-lmvec")
    if any(name.startswith(("GOMP_", "omp_")) for name in called):
        found.append("-fopenmp" if target.is_linux else "-lomp")
    asked = linking.libraries(called)
    given = [library if os.path.dirname(library) else f"-l:{library}" for library in asked]
    return tuple(dict.fromkeys([*given, *found]))
