"""Reading ELF objects: 64-bit, little-endian (System V ABI, "Sections", "Symbol Table")."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

_LOCAL = 0  # STB_LOCAL
_FUNCTION = 2  # STT_FUNC
_SYMBOL_TABLE = 2  # SHT_SYMTAB
ADDRESS = 0x10  # offset, in the entry of a section, of its load address
_NAMES = 0x3E  # offset, in the header, of the index of the section with section names
_SECTIONS = 0x28  # offset, in the header, of the offset of these entries


class Symbol(NamedTuple):
    name: str
    section: int
    offset: int
    size: int
    is_exported: bool


class Section(NamedTuple):
    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    information: int
    alignment: int
    entry: int


def sections(object_code: bytes) -> list[Section]:
    """The sections of a 64-bit little-endian ELF object; empty for any other object."""
    if object_code[:6] != b"\x7fELF\x02\x01":
        return []
    found = [struct.unpack_from("<IIQQQQIIQQ", object_code, place) for place in entries(object_code)]
    (own,) = struct.unpack_from("<H", object_code, _NAMES)
    return [Section(_text(object_code, found[own][4] + name), *others) for name, *others in found]


def _text(object_code: bytes, start: int) -> str:
    return object_code[start : object_code.index(b"\0", start)].decode(errors="replace")


def entries(object_code: bytes) -> range:
    """The offsets of the section entries."""
    (table,) = struct.unpack_from("<Q", object_code, _SECTIONS)
    size, count = struct.unpack_from("<HH", object_code, 0x3A)
    return range(table, table + size * count, size)


def functions(object_code: bytes) -> Iterator[Symbol]:
    """The functions that an object defines."""
    there = sections(object_code)
    for section in there:
        if section.kind != _SYMBOL_TABLE:
            continue
        names = there[section.link].offset
        for position in range(section.offset, section.offset + section.size, section.entry):
            name, info, _, owner, value, length = struct.unpack_from("<IBBHQQ", object_code, position)
            if info & 15 == _FUNCTION and owner != 0:
                yield Symbol(_text(object_code, names + name), owner, value, length, info >> 4 != _LOCAL)
