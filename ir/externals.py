"""C functions that programs call, by library and symbol: where they are in this process, and how Python calls them.

IR names them (``adc.external``); it runs where they have been provided.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Provided:
    """``call`` takes and returns Python numbers."""

    address: int
    call: Callable[..., Any]


_PROVIDED: dict[tuple[str, str], Provided] = {}


def provide(library: str, symbol: str, function: Provided) -> None:
    """Let programs in this process call ``symbol`` of ``library``."""
    _PROVIDED[library, symbol] = function


def provided(library: str, symbol: str) -> Provided | None:
    """None if nobody has."""
    return _PROVIDED.get((library, symbol))
