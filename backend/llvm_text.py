"""Writing one LLVM function as text, with the declarations it needs; and putting such fragments into a module."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field

from adc.backend.library import array_memory, interrupts, numpy_abi, python_abi, running, stub_helpers, unchanged
from adc.backend.support import contexts
from adc.ir.lazy_dataclass import dataclass

_TABLES = tuple(
    module.DECLARATIONS
    for module in (python_abi, numpy_abi, contexts, interrupts, running, array_memory, stub_helpers, unchanged)
)


def functions(text: str, keyword: str = "declare|define") -> list[str]:
    """The names of the functions that LLVM IR declares or defines; ``keyword`` selects one of the two."""
    return re.findall(rf"^(?:{keyword}) [^@\n]*@([\w.$]+)", text, re.MULTILINE)


@dataclass
class Fragment:
    """Definitions, and the declarations of what they refer to, by name."""

    text: str
    declarations: dict[str, str] = field(default_factory=dict)


class Writer:
    """Appends instructions, and makes names for values and labels."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.declarations: dict[str, str] = {}
        self._count = 0

    def let(self, text: str) -> str:
        """Append an instruction with a result, and return the name of the result."""
        self._count += 1
        self.lines.append(f"  %v{self._count} = {text}")
        return f"%v{self._count}"

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def label(self, hint: str = "b") -> str:
        self._count += 1
        return f"{hint}{self._count}"

    def begin(self, label: str) -> None:
        self.lines.append(f"{label}:")

    def branch(self, label: str) -> None:
        self.do(f"br label %{label}")

    def branch_if(self, condition: str, then: str, other: str) -> None:
        self.do(f"br i1 {condition}, label %{then}, label %{other}")

    def require(self, condition: str, otherwise: str, *, rare: bool = True) -> None:
        """Continue in a new block if the condition holds, else at the label ``otherwise``."""
        label = self.label()
        weights = ", !prof !{!\"branch_weights\", i32 2000, i32 1}" if rare else ""
        self.do(f"br i1 {condition}, label %{label}, label %{otherwise}{weights}")
        self.begin(label)

    def field(self, base: str, offset: int | str, type: str = "ptr") -> str:
        """The value of a type at a byte offset."""
        return self.let(f"load {type}, ptr {self.offset(base, offset)}")

    def offset(self, base: str, offset: int | str) -> str:
        return base if offset == 0 else self.let(f"getelementptr i8, ptr {base}, i64 {offset}")

    def put(self, value: str, base: str, offset: int | str = 0) -> None:
        """Store a typed value (``"i64 %x"``) at a byte offset."""
        self.do(f"store {value}, ptr {self.offset(base, offset)}")

    def symbol(self, name: str) -> str:
        """A reference to a symbol of Python, NumPy or the support, declared."""
        for table in _TABLES:
            if name in table:
                self.declarations[name] = table[name]
                return f"@{name}"
        self.declarations[name] = f"@{name} = external global i8"
        return f"@{name}"

    def call(self, name: str, *args: str, returns: str = "ptr") -> str:
        """Call a declared function that has a result."""
        return self.let(f"call {returns} {self.symbol(name)}({', '.join(args)})")

    def call_void(self, name: str, *args: str) -> None:
        self.do(f"call void {self.symbol(name)}({', '.join(args)})")


def c_string(name: str, text: str) -> str:
    """The definition of a constant C string."""
    data = text.encode() + b"\0"
    escaped = "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}" for byte in data)
    return f'{name} = private unnamed_addr constant [{len(data)} x i8] c"{escaped}"\n'


_DEFINED = re.compile(r'^(?:define|declare)[^@\n]*@"?([\w.$-]+)"?\(|^@"?([\w.$-]+)"? *=', re.MULTILINE)


def alone(triple: str, fragments: Iterable[Fragment]) -> str:
    """Fragments as a module of their own."""
    return merge(f'target triple = "{triple}"', fragments)


def with_aliases(text: str, names: Mapping[str, str]) -> str:
    """A module with aliases: ``names`` maps names of functions that it defines to further names."""
    return "\n".join([text, *(f'@"{other}" = alias i8, ptr @"{name}"' for name, other in names.items())]) + "\n"


_EXPORTED = re.compile(r'^define (?=i32 @"?adc\.)', re.MULTILINE)


def merge(text: str, fragments: Iterable[Fragment]) -> str:
    """The lowered module ``text`` with fragments added, each symbol declared once and not at all if it is defined.

    The compiled functions become internal: the fragments are the only callers, and LLVM may inline and drop them.
    """
    parts, declarations = [_EXPORTED.sub("define internal ", text)], {}
    for fragment in fragments:
        parts.append(fragment.text)
        declarations.update(fragment.declarations)
    known = {a or b for part in parts for a, b in _DEFINED.findall(part)}
    parts.extend(line for name, line in declarations.items() if name not in known)
    return "\n".join(parts) + "\n"
