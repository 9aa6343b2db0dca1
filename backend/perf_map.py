"""Names of JIT code for Linux ``perf``: the file /tmp/perf-<pid>.map, written if ``ADC_PERF_MAP`` is set.

Each line holds the start and size of a function in hexadecimal and its name, internal functions included. They are
read from the symbol table of the ELF object (System V ABI, "Symbol Table"); code of one section stays together when
it is loaded, so the address of one function gives those of all.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from adc.ir import forks

_FUNCTION = 2  # STT_FUNC
_SYMBOL_TABLE = 2  # SHT_SYMTAB
_lock = forks.Lock()


class Symbol(NamedTuple):
    name: str
    section: int
    offset: int
    size: int


def wanted() -> bool:
    return os.environ.get("ADC_PERF_MAP", "") not in ("", "0")


def functions(object_code: bytes) -> Iterator[Symbol]:
    """The functions that a 64-bit little-endian ELF object defines; none of another kind of object."""
    if object_code[:6] != b"\x7fELF\x02\x01":
        return
    (table,) = struct.unpack_from("<Q", object_code, 0x28)
    size, count = struct.unpack_from("<HH", object_code, 0x3A)
    # name, type, flags, address, offset, size, link, info, alignment, size of an entry
    sections = [struct.unpack_from("<IIQQQQIIQQ", object_code, table + k * size) for k in range(count)]
    for section in sections:
        if section[1] != _SYMBOL_TABLE:
            continue
        names = sections[section[6]][4]
        for position in range(section[4], section[4] + section[5], section[9]):
            name, info, _, owner, value, length = struct.unpack_from("<IBBHQQ", object_code, position)
            if info & 15 == _FUNCTION and owner != 0:
                start = names + name
                text = object_code[start : object_code.index(b"\0", start)].decode(errors="replace")
                yield Symbol(text, owner, value, length)


def write(object_code: bytes, addresses: Mapping[str, int]) -> None:
    """Append the functions of an object that was loaded so that its exports have these addresses."""
    found = list(functions(object_code))
    bases = {s.section: addresses[s.name] - s.offset for s in found if s.name in addresses}
    lines = [f"{bases[s.section] + s.offset:x} {s.size:x} {s.name}\n" for s in found if s.section in bases]
    with _lock, open(f"/tmp/perf-{os.getpid()}.map", "a", encoding="utf-8") as file:
        file.writelines(lines)
