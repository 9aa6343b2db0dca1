"""Names of JIT code for Linux ``perf``: the file /tmp/perf-<pid>.map, written if ``ADC_PERF_MAP`` is set.

Each line holds the start and size of a function in hexadecimal and its name, internal functions included. Names and
sizes are read from the symbol table of the object. Code of one section stays together when it is loaded, so the address
of one function determines those of all.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from adc.backend import elf
from adc.ir import forks

_lock = forks.Lock()


def wanted() -> bool:
    return os.environ.get("ADC_PERF_MAP", "") not in ("", "0")


def write(object_code: bytes, addresses: Mapping[str, int]) -> None:
    """Append the functions of an object that was loaded with its exports at ``addresses``."""
    found = list(elf.functions(object_code))
    bases = {s.section: addresses[s.name] - s.offset for s in found if s.name in addresses}
    lines = [f"{bases[s.section] + s.offset:x} {s.size:x} {s.name}\n" for s in found if s.section in bases]
    with _lock, open(f"/tmp/perf-{os.getpid()}.map", "a", encoding="utf-8") as file:
        file.writelines(lines)
