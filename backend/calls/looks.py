"""Tables of looks: what compiled code depends on outside itself, as ``adc_unchanged`` reads it at each call."""

from __future__ import annotations

import ctypes
import functools
import types
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from adc.backend import runtime
from adc.backend.calls import python_abi
from adc.backend.calls.unchanged import CALL, MEMORY, VARIABLE, WORDS

_PARTS: dict[type, tuple[str, ...]] = {
    types.FunctionType: ("__code__", "__defaults__", "__kwdefaults__"),
    type: ("__mro__",),
}


class Look(Protocol):
    """``fetch()`` looks, and is to give ``seen``. If ``fetch`` has the attributes ``namespace`` (a dict) and ``name``,
    ``cell``, or ``owner`` and ``attribute``, it is read without a call, where that is possible."""

    @property
    def fetch(self) -> Callable[[], Any]: ...

    @property
    def seen(self) -> Any: ...


class Table:
    """The looks of compiled code in memory. ``absent`` is what is seen where there is nothing."""

    def __init__(self, looks: Iterable[Look], absent: object) -> None:
        self._looks = tuple(looks)
        self._absent = absent
        self._words = (ctypes.c_int64 * (1 + WORDS * len(self._looks)))(len(self._looks))
        self._kept: list[object] = [None] * len(self._looks)
        self.address = ctypes.addressof(self._words)
        for k, look in enumerate(self._looks):
            self._words[1 + WORDS * k : 4 + WORDS * k] = list(self._place(look))
        self.refresh()

    def refresh(self) -> None:
        """Expect from now on what the looks have seen since."""
        for k, look in enumerate(self._looks):
            kind = self._words[1 + WORDS * k]
            part = kind == MEMORY and not hasattr(look.fetch, "cell")  # of a function: None is a null pointer
            none = (kind == VARIABLE and look.seen is self._absent) or (part and look.seen is None)
            self._words[4 + WORDS * k] = 0 if none else id(look.seen)
            self._kept[k] = look.seen

    def holds(self) -> bool:
        """Whether all see what they saw."""
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
