"""Debug information: maps machine code to lines of the Python source, for debuggers and profilers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from adc.backend.lowering.lower_types import quoted
from adc.ir.core import Loc

if TYPE_CHECKING:
    from adc.backend.lowering.module_emitter import ModuleEmitter


class DebugInfo:
    """The compile unit of a module, its subprograms and locations."""

    def __init__(self) -> None:
        self._unit = ""
        self._locations: dict[tuple[Loc, str], str] = {}

    def _file(self, module: ModuleEmitter, path: str) -> str:
        folder, name = os.path.split(os.path.abspath(path) if not path.startswith("<") else path)
        return module.metadata(f'!DIFile(filename: {quoted(name)}, directory: {quoted(folder)})')

    def unit(self, module: ModuleEmitter, path: str) -> str:
        if not self._unit:
            file = self._file(module, path)
            self._unit = module.distinct(
                lambda n: f'!DICompileUnit(language: DW_LANG_Python, file: {file}, producer: "adc", isOptimized: true, '
                "runtimeVersion: 0, emissionKind: FullDebug)"
            )
        return self._unit

    def subprogram(self, module: ModuleEmitter, name: str, linkage_name: str, loc: Loc) -> str:
        """The scope of the locations in one LLVM function."""
        file, unit = self._file(module, loc.file), self.unit(module, loc.file)
        kind = module.metadata("!DISubroutineType(types: null)")
        return module.distinct(
            lambda n: f'!DISubprogram(name: {quoted(name)}, linkageName: {quoted(linkage_name)}, scope: {file}, '
            f"file: {file}, line: {loc.line}, type: {kind}, scopeLine: {loc.line}, "
            f"spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: {unit})"
        )

    def location(self, module: ModuleEmitter, loc: Loc, scope: str) -> str:
        """The suffix of an instruction: ``", !dbg !7"``."""
        found = self._locations.get((loc, scope))
        if found is None:
            number = module.metadata(f"!DILocation(line: {loc.line}, column: {loc.column + 1}, scope: {scope})")
            found = self._locations[(loc, scope)] = f", !dbg {number}"
        return found

    def named_metadata(self, module: ModuleEmitter) -> list[str]:
        if not self._unit:
            return []
        version = module.metadata('!{i32 2, !"Debug Info Version", i32 3}')
        dwarf = module.metadata('!{i32 7, !"Dwarf Version", i32 4}')
        return [f"!llvm.dbg.cu = !{{{self._unit}}}", f"!llvm.module.flags = !{{{version}, {dwarf}}}"]
