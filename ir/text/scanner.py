"""Reads the parts of the IR's text: names, numbers, strings, types, attributes, locations."""

from __future__ import annotations

import re
import struct

from adc.ir.core import UNKNOWN, Attr, Loc
from adc.ir.text.cursor import Cursor
from adc.ir.types import PATTERNS, FloatType, FunctionType, IndexType, IntType, MemRefType, RecordType, Type

_WORD = re.compile(r"[A-Za-z_$][\w.$]*", re.ASCII)
_VALUE = re.compile(r"%([\w.$-]+)", re.ASCII)
_HEX = re.compile(r"0x([0-9A-Fa-f]{16}|[0-9A-Fa-f]{8}|[0-9A-Fa-f]{4})\b")
_FLOAT = re.compile(r"[-+]?\d+\.\d*(?:[eE][-+]?\d+)?")
_INT = re.compile(r"-?\d+(?![\w.])")
_NATURAL = re.compile(r"\d+")
_DIM = re.compile(r"(\?|\d+)x")
_STRIDE = re.compile(r"\?|-?\d+")
_SCALAR = re.compile(r"(f16|f32|f64|u?i(?:8|16|32|64)|i1|index)\b")
_STRING = re.compile(r'"((?:[^"\\\n]|\\[^\n])*)"')
_ESCAPE = re.compile(r'\\(["\\nt]|[0-9A-Fa-f]{2})|([^\\]+)')

_SCALARS: dict[str, Type] = {
    "f16": FloatType(16),
    "f32": FloatType(32),
    "f64": FloatType(64),
    "i1": IntType(1),
    **{f"i{width}": IntType(width) for width in (8, 16, 32, 64)},
    **{f"ui{width}": IntType(width, unsigned=True) for width in (8, 16, 32, 64)},
    "index": IndexType(),
}


class Scanner(Cursor):
    """Reads the parts of a text of IR."""

    help = "IR is written as adc compile --dump-ir prints it, each operation with its dialect, as in func.return"

    # Names and literals -----------------------------------------------------------------------------------------------

    def word(self, what: str = "a name") -> str:
        return self.need(_WORD, what).group()

    def value_name(self) -> str:
        return self.need(_VALUE, "a value (%name)").group(1)

    def symbol(self) -> str:
        start = self.position
        self.expect("@")
        if self.position != start + 1:
            raise self.error("expected a symbol (@name)", start)
        return self.string() if self.at('"') else self.word("a symbol (@name)")

    def natural(self) -> int:
        return int(self.need(_NATURAL, "a number").group())

    def string(self) -> str:
        start = self.position
        body = self.need(_STRING, "a string").group(1)
        out = bytearray()
        place = 0
        while place < len(body):
            found = _ESCAPE.match(body, place)
            if found is None:
                raise self.error("unknown escape in a string", start + 1 + place)
            escape, plain = found.groups()
            if plain is not None:
                out += plain.encode("utf-8", "surrogatepass")
            elif len(escape) == 2:
                out.append(int(escape, 16))
            else:
                out += {"n": b"\n", "t": b"\t"}.get(escape, escape.encode())
            place = found.end()
        try:
            return out.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise self.error("a string that is not UTF-8", start) from None

    def float_bits(self) -> tuple[float, int] | None:
        """A float given by its bits, and its width."""
        found = self.read(_HEX)
        if found is None:
            return None
        pattern = bytes.fromhex(found.group(1))
        return struct.unpack(f">{PATTERNS[8 * len(pattern)]}", pattern)[0], 8 * len(pattern)

    def number(self) -> float | int | None:
        if (found := self.read(_FLOAT)) is not None:
            return float(found.group())
        if (found := self.read(_INT)) is not None:
            return int(found.group())
        return None

    # Attributes and locations -----------------------------------------------------------------------------------------

    def attr(self) -> Attr:
        if (given := self.float_bits()) is not None:
            self.expect(":")
            self.expect(f"f{given[1]}")
            return given[0]
        if (number := self.number()) is not None:
            return number
        if self.at('"'):
            return self.string()
        if self.accept("["):
            return tuple(self.items(self.attr, "]"))
        for text, value in (("true", True), ("false", False), ("none", None)):
            if self.accept(text):
                return value
        return self.type("an attribute")

    def dictionary(self) -> dict[str, Attr]:
        """``{name = attribute, ...}`` if there is one here."""
        if not self.accept("{"):
            return {}
        pairs = self.items(self._entry, "}")
        return dict(pairs)

    def _entry(self) -> tuple[str, Attr]:
        name = self.string() if self.at('"') else self.word("the name of an attribute")
        self.expect("=")
        return name, self.attr()

    def loc(self) -> Loc:
        """``loc(...)`` if there is one here."""
        if not self.accept("loc"):
            return UNKNOWN
        self.expect("(")
        if self.accept("unknown"):
            self.expect(")")
            return UNKNOWN
        file = self.string()
        self.expect(":")
        line = self.natural()
        self.expect(":")
        column = self.natural()
        end_line, end_column = 0, 1
        if self.accept("to"):
            end_line = self.natural()
            self.expect(":")
            end_column = self.natural()
        self.expect(")")
        return Loc(file, line, column - 1, end_line, end_column - 1)

    # Types ------------------------------------------------------------------------------------------------------------

    def type(self, what: str = "a type") -> Type:
        if (found := self.read(_SCALAR)) is not None:
            return _SCALARS[found.group(1)]
        if self.accept("!adc.record"):
            return RecordType()
        if self.accept("memref"):
            return self._memref()
        if self.at("("):
            inputs, results = self.function_type()
            return FunctionType(inputs, results)
        raise self.error(f"expected {what}")

    def _memref(self) -> MemRefType:
        self.expect("<")
        shape: list[int | None] = []
        while (found := self.read(_DIM)) is not None:
            shape.append(None if found.group(1) == "?" else int(found.group(1)))
        element = self.type()
        strides: tuple[int | None, ...] | None = None
        if self.accept(","):
            start = self.position
            self.expect("strided")
            self.expect("<")
            self.expect("[")
            strides = tuple(self.items(self._stride, "]"))
            self.expect(",")
            self.expect("offset")
            self.expect(":")
            self.expect("?")
            self.expect(">")
            if len(strides) != len(shape):
                raise self.error(f"needs {len(shape)} strides, got {len(strides)}", start)
        self.expect(">")
        return MemRefType(tuple(shape), element, strides)

    def _stride(self) -> int | None:
        found = self.need(_STRIDE, "a stride")
        return None if found.group() == "?" else int(found.group())

    def types(self) -> list[Type]:
        """One or more types separated by commas."""
        out = [self.type()]
        while self.accept(","):
            out.append(self.type())
        return out

    def type_list(self) -> tuple[Type, ...]:
        """``(type, ...)``, or one type without parentheses."""
        if self.accept("("):
            return tuple(self.items(self.type, ")"))
        return (self.type(),)

    def function_type(self) -> tuple[tuple[Type, ...], tuple[Type, ...]]:
        self.expect("(")
        inputs = tuple(self.items(self.type, ")"))
        self.expect("->")
        return inputs, self.type_list()
