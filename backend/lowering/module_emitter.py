"""What the functions of an LLVM module share: declarations, error sites, loops that count, metadata."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

from adc.backend.lowering.linking import Linking
from adc.backend.sites import NO_MEMORY
from adc.ir import ops
from adc.ir.core import Loc, Module, Op
from adc.ir.externals import RUNTIME
from adc.ir.lazy_dataclass import dataclass
from adc.ir.opdef import OpDef

if TYPE_CHECKING:
    from adc.backend.lowering.debuginfo import DebugInfo
    from adc.backend.lowering.lower_effects import Effects
    from adc.backend.lowering.lower_emitter import FunctionEmitter
    from adc.backend.sites import Site
    from adc.backend.target import Target


@dataclass(frozen=True)
class Counted:
    """A loop that counts its steps: its sweep (``forward`` or ``reverse``), whether it runs only some of the steps of a
    longer loop, and its place in the source."""

    sweep: str
    is_part: bool
    loc: Loc


@dataclass(frozen=True)
class Unit:
    """A function that is a module of its own: its symbol, its error sites, and its loops that count steps. It numbers
    both from zero; if it has any, the caller passes where they begin in its own lists.
    """

    symbol: str
    sites: tuple[Site, ...]
    counted: tuple[Counted, ...]


FIRST_SITE, FIRST_LOOP = "%site", "%loops"
"""The parameters of a unit for the number of its first site and the name of its first counting loop."""


@dataclass
class ModuleEmitter:
    """What the functions of one LLVM module share."""

    module: Module
    target: Target
    effects: Effects
    lowerings: Mapping[OpDef, Callable[[FunctionEmitter, Op], None]]
    threads: bool
    debug: DebugInfo | None = None
    is_kernel: bool = False  # called by other modules, which do not know its sites
    is_unit: bool = False  # called by other modules, which number its sites and loops differently
    limited: frozenset[str] = frozenset()  # functions with a parameter for the stack limit
    sites: list[Site] = field(default_factory=list)
    counted: list[Counted] = field(default_factory=list)
    declarations: dict[str, str] = field(default_factory=dict)
    bodies: list[str] = field(default_factory=list)
    used: dict[str, None] = field(default_factory=dict)  # kept alive in @llvm.compiler.used
    places: dict[tuple[str, int], int] = field(default_factory=dict)  # file and line of loops, numbered
    helpers: dict[object, str] = field(default_factory=dict)
    linking: Linking = field(default_factory=Linking)
    units: Mapping[str, Unit] = field(default_factory=dict)  # functions that are modules of their own
    firsts: dict[str, tuple[int, int]] = field(default_factory=dict)  # of a unit: its first site and loop here
    taking: dict[str, tuple[bool, bool]] = field(default_factory=dict)  # a unit's functions that take either of these
    needs: dict[str, None] = field(default_factory=dict)  # units that it is linked with
    late: dict[str, None] = field(default_factory=dict)  # those that are compiled when they are called
    vectors: bool = True  # functions have vector variants, since loops may become SIMD
    alike: bool = False  # functions have the same bits in the vectors of SIMD loops as everywhere else
    externals: dict[str, str] = field(default_factory=dict)  # the declarations of the user's C functions
    elsewhere: dict[str, None] = field(default_factory=dict)  # functions that are compiled separately
    reached: dict[str, None] = field(default_factory=dict)  # those of them that are compiled when they are called
    repeats: bool = False  # whether there are loops in it
    once: Collection[str] = ()  # functions that are not optimised unless they have loops
    _metadata: list[str] = field(default_factory=list)
    _metadata_numbers: dict[str, str] = field(default_factory=dict)
    _attributes: dict[str, str] = field(default_factory=dict)

    @cached_property
    def has_threads(self) -> bool:
        """Whether a loop runs on threads. Fills alone do not justify linking OpenMP."""
        ops_of = (op for func in self.module.funcs.values() for op in func.walk())
        return self.threads and any(op.opdef is ops.parallel and op.attrs.get("threads") for op in ops_of)

    @property
    def function_attributes(self) -> str:
        """Attributes that every function gets."""
        bits = self.target.vector_bits
        return f'"prefer-vector-width"="{bits}"' if bits else ""

    @property
    def loop_attributes(self) -> str:
        """Attributes of functions with loops. The stack is realigned: callers align it to 16 bytes only, and spilled
        vectors would straddle cache lines."""
        aligned = '"stackrealign"' if self.target.is_x86 else ""
        return f"{aligned} {self.function_attributes}".strip()

    def metadata(self, text: str) -> str:
        """The number of a metadata node, which is made at its first use."""
        number = self._metadata_numbers.get(text)
        if number is None:
            number = self._metadata_numbers[text] = f"!{len(self._metadata)}"
            self._metadata.append(text)
        return number

    def distinct(self, format: Callable[[str], str]) -> str:
        """The number of a new distinct node; ``format`` is given that number."""
        number = f"!{len(self._metadata)}"
        self._metadata.append(f"distinct {format(number)}")
        return number

    def attributes(self, text: str) -> str:
        number = self._attributes.get(text)
        if number is None:
            number = self._attributes[text] = f"#{len(self._attributes)}"
        return number

    def declare(self, name: str, text: str) -> str:
        """Declare an external function; its name is returned."""
        self.declarations.setdefault(name, text)
        return name

    def external(self, op: Op, result: str, parameters: str) -> str:
        """Declare a C function of the user or of the run-time support, and return its name."""
        if op.attrs["library"] == RUNTIME:
            return self.declare(op.attrs["symbol"], f"declare {result}@{op.attrs['symbol']}{parameters} nounwind")
        name = self.linking.name_of(op)
        attributes = self.attributes("nounwind" if op.opdef is ops.foreign else "nounwind willreturn memory(none)")
        self.externals.setdefault(name, f"declare {result}@{name}{parameters} {attributes}")
        return name

    def site(self, site: Site) -> int:
        if self.is_kernel:
            assert site.error == "MemoryError", site
            return NO_MEMORY
        self.sites.append(site)
        return len(self.sites) - 1

    def enter_unit(self, function: str) -> str:
        """The symbol of a unit; adds its sites and loops to those of this module."""
        unit = self.units[function]
        if function not in self.firsts:
            self.firsts[function] = len(self.sites), len(self.counted)
            self.sites.extend(unit.sites)
            self.counted.extend(unit.counted)
        return unit.symbol

    def count(self, loop: Counted) -> int:
        self.counted.append(loop)
        return len(self.counted) - 1

    def trailer(self) -> str:
        """The end of the module: the names of loops that count, the list of kept symbols, attributes, metadata."""
        lines = []
        if self.counted and not self.is_unit:
            lines.append(f"@adc_counted = constant [{len(self.counted)} x i8] zeroinitializer")
        if self.used:
            names = ", ".join(f"ptr @{name}" for name in self.used)
            kind = f"[{len(self.used)} x ptr]"
            lines.append(f'@llvm.compiler.used = appending global {kind} [{names}], section "llvm.metadata"')
        lines += [f"attributes {number} = {{ {text} }}" for text, number in self._attributes.items()]
        if self.debug is not None:
            lines += self.debug.named_metadata(self)
        lines += [f"!{number} = {text}" for number, text in enumerate(self._metadata)]
        return "\n".join(lines) + "\n"
