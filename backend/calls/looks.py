"""Tables of looks: the outside objects that compiled code depends on, which ``adc_unchanged`` checks at each call."""

from __future__ import annotations

import ctypes
import functools
import itertools
import types
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from adc.backend import runtime
from adc.backend.library import python_abi
from adc.backend.library.unchanged import CALL, MEMORY, VARIABLE, VERSION, WORDS

_PARTS: dict[type, tuple[str, ...]] = {
    types.FunctionType: ("__code__", "__defaults__", "__kwdefaults__"),
    type: ("__mro__",),
}


class Look(Protocol):
    """A dependence: ``fetch()`` must still return ``seen``. If ``fetch`` has the attributes ``namespace`` (a dict) and
    ``name``, ``cell``, or ``owner`` and ``attribute``, it is read without a call where possible. ``has_version``:
    comparing the version of the namespace is enough."""

    @property
    def fetch(self) -> Callable[[], Any]: ...

    @property
    def seen(self) -> Any: ...


class Table:
    """The looks of compiled code, in memory. ``absent`` stands for a variable that does not exist."""

    def __init__(self, looks: Iterable[Look], absent: object) -> None:
        self._absent = absent
        placed = [(self._place(look), look) for look in looks]
        # Variables grouped by dictionary, then what can be read from memory, then what only Python can read.
        placed.sort(key=lambda entry: (entry[0][0] != VARIABLE, entry[0][0] == CALL, entry[0][1]))
        self._entries: list[tuple[int, int, int, Look | None]] = []
        for (kind, first), group in itertools.groupby(placed, key=lambda entry: entry[0][:2]):
            same = list(group)
            versioned = kind == VARIABLE and all(getattr(look.fetch, "has_version", False) for _, look in same)
            # Where dictionaries have no known version, each variable is looked up at each call.
            if versioned and (offset := python_abi.version_offset()) is not None:
                self._entries.append((VERSION, first + offset, len(same), None))
            self._entries += [(*place, look) for place, look in same]
        self._words = (ctypes.c_int64 * (1 + WORDS * len(self._entries)))(len(self._entries))
        self._kept: list[object] = [None] * len(self._entries)
        self.address = ctypes.addressof(self._words)
        for k, (kind, first, second, _) in enumerate(self._entries):
            self._words[1 + WORDS * k : 4 + WORDS * k] = [kind, first, second]
        self.refresh()

    def refresh(self) -> None:
        """From now on, expect the current ``seen`` of each look."""
        for k, (kind, _, _, look) in enumerate(self._entries):
            if look is None:
                self._words[4 + WORDS * k] = 0  # no version: the entries are checked again
                continue
            part = kind == MEMORY and not hasattr(look.fetch, "cell")  # of a function: stores null for None
            none = (kind == VARIABLE and look.seen is self._absent) or (part and look.seen is None)
            self._words[4 + WORDS * k] = 0 if none else id(look.seen)
            self._kept[k] = look.seen

    def holds(self) -> bool:
        """Whether everything is unchanged."""
        return bool(_unchanged()(self.address))

    def _place(self, look: Look) -> tuple[int, int, int]:
        fetch: Any = look.fetch
        if isinstance(getattr(fetch, "namespace", None), dict):
            return VARIABLE, id(fetch.namespace), id(fetch.name)
        if isinstance(getattr(fetch, "cell", None), types.CellType):
            return MEMORY, id(fetch.cell) + python_abi.CELL_OFFSET, 0
        attribute, owner = getattr(fetch, "attribute", None), getattr(fetch, "owner", None)
        kind = types.FunctionType if isinstance(owner, types.FunctionType) else type
        if isinstance(owner, kind) and attribute in _PARTS[kind]:
            offset = python_abi.offset_in(kind, attribute)
            if offset is not None:
                return MEMORY, id(owner) + offset, 0
        return CALL, id(fetch), 0


@functools.cache
def _unchanged() -> Callable[[int], int]:
    return ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(runtime.address("adc_unchanged"))
