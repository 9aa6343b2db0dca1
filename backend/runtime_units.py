"""The run-time library of this process in units, each compiled when the first program needs one of its symbols.

Units are never unloaded: contexts that outlive a call, and the types made from the slots of ``NativeCallable``, may be
destroyed when the interpreter shuts down. They are written by hand in SSA form, so LLVM's passes would improve little
and take most of the time. So the passes are left out, and functions to be inlined are marked ``alwaysinline``.
"""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable

import llvmlite.binding as llvm

from adc.backend import target
from adc.backend.library import (
    array_memory,
    callable_slots,
    contents,
    interrupts,
    late,
    numpy_abi,
    python_abi,
    running,
    stub_helpers,
    unchanged,
)
from adc.backend.optimize import WRITTEN, optimize_or_find
from adc.backend.support import contexts, libraries, products, sorts, team, transposes
from adc.ir.lazy_dataclass import dataclass

_CAPSULE_IR = r"""
@adc_rt_capsule = constant [12 x i8] c"adc.context\00"

; Destructor of the capsule that owns a context after a forward sweep.
define void @adc_capsule_destroy(ptr %capsule) {
  %ctx = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr @adc_rt_capsule)
  call void @adc_context_give(ptr %ctx)
  ret void
}
"""


@dataclass(frozen=True)
class Unit:
    """``text`` makes the definitions, which may use those symbols of other units that are declared here."""

    text: Callable[[], str]
    exports: tuple[str, ...]
    level: int = WRITTEN


def _core() -> str:
    linux = target.host().is_linux
    parts = (
        contexts.support_ir("external", linux=linux),
        interrupts.interrupts_ir(linux=linux),
        running.running_ir(),
        array_memory.array_memory_ir(),
        unchanged.UNCHANGED_IR,
        stub_helpers.stub_helpers_ir(),
        _CAPSULE_IR,
        libraries.LIBRARIES_IR,
    )
    return "\n".join(parts)


_CORE = (
    *contexts.FUNCTIONS,
    *contexts.GLOBALS,
    *interrupts.EXPORTS,
    *running.EXPORTS,
    *array_memory.EXPORTS,
    *unchanged.EXPORTS,
    *stub_helpers.EXPORTS,
    *libraries.DECLARATIONS,
    *libraries.GLOBALS,
    "adc_capsule_destroy",
    "adc_rt_capsule",
)
CORE, CALLABLE, _TEAM = "core", "callable", "team"
UNITS = {
    CALLABLE: Unit(lambda: callable_slots.TEXT, tuple(f"adc_callable_{slot}" for slot in callable_slots.SLOTS)),
    CORE: Unit(_core, _CORE),
    "contents": Unit(contents.contents_ir, contents.EXPORTS, level=1),
    "late": Unit(lambda: late.TEXT, late.EXPORTS),
    "products": Unit(lambda: products.products_ir(target.host()), tuple(products.DECLARATIONS)),
    "transposes": Unit(transposes.transposes_ir, tuple(transposes.DECLARATIONS)),
    _TEAM: Unit(lambda: team.team_ir(polls=True), tuple(team.DECLARATIONS)),
    **{name: Unit(functools.partial(sorts.sorts_ir, target.host(), [name]), (name,), level=1) for name in sorts.NAMES},
}
HOMES = {symbol: name for name, unit in UNITS.items() for symbol in unit.exports}
"""The unit of each symbol."""

_DECLARATIONS = contexts.DECLARATIONS | interrupts.DECLARATIONS | python_abi.DECLARATIONS | numpy_abi.DECLARATIONS
_OBJECTS = {*python_abi.OBJECTS, "PyArray_Type"}


def address(symbol: str) -> int:
    """The address of a symbol of a unit, of Python or of NumPy; raises ``KeyError`` for other names."""
    if symbol in python_abi.DECLARATIONS or symbol in python_abi.OBJECTS:
        return python_abi.address(symbol)
    if symbol in numpy_abi.DECLARATIONS or symbol in numpy_abi.OBJECTS or symbol == "PyArray_Type":
        return numpy_abi.address(symbol)
    name = HOMES[symbol]
    if name == _TEAM and target.openmp() is None:
        raise KeyError(symbol)
    return addresses(name)[symbol]


@functools.cache
def addresses(name: str) -> dict[str, int]:
    """The addresses of all symbols of a unit, which is compiled at the first call."""
    unit, host = UNITS[name], target.host()
    text = unit.text()
    used = set(re.findall(r"@(\w+)", text)).difference(unit.exports)
    externals = sorted(used & (_DECLARATIONS.keys() | _OBJECTS))
    declared = "\n".join(_DECLARATIONS.get(symbol, f"@{symbol} = external global i8") for symbol in externals)
    whole = f'target triple = "{host.triple}"\n{text}\n{declared}\n'
    builder = llvm.JITLibraryBuilder().add_object_img(optimize_or_find(whole, host, unit.level).object_code)
    builder.add_current_process()
    for symbol in externals:
        builder.import_symbol(symbol, address(symbol))
    for symbol, place in (target.openmp() or {}).items() if name == _TEAM else ():
        builder.import_symbol(symbol, place)
    for symbol in unit.exports:
        builder.export_symbol(symbol)
    library = builder.link(_linker(), f"adc_runtime_{name}")
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))
    return {symbol: int(library[symbol]) for symbol in unit.exports}


@functools.cache
def _linker() -> llvm.LLJIT:
    jit = llvm.create_lljit_compiler(target.host().machine(level=0))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(jit))
    return jit
