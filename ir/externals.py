"""C functions that programs call, by library and symbol: where they are in this process, and how Python calls them.

IR names them (``adc.external``); it runs where they have been provided.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from adc.ir.core import Value

Partial = Callable[..., Value]


@dataclass(frozen=True)
class Provided:
    """``call`` takes and returns Python numbers.

    ``partials`` append the derivative by each operand, given the result and the operands; None where there is none.
    ``linked`` functions are found by linkers, too; the others have no name outside this process.
    """

    address: int
    call: Callable[..., Any]
    partials: tuple[Partial | None, ...] | None = None
    linked: bool = True


_PROVIDED: dict[tuple[str, str], Provided] = {}


def provide(library: str, symbol: str, function: Provided) -> None:
    """Let programs in this process call ``symbol`` of ``library``."""
    _PROVIDED[library, symbol] = function


def provided(library: str, symbol: str) -> Provided | None:
    """None if nobody has."""
    return _PROVIDED.get((library, symbol))
