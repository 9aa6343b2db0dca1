"""C functions that programs call, by library, symbol and types: where they are in this process, and how Python calls
them.

IR names them (``adc.external``, ``adc.foreign``); it runs where they have been provided.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adc.ir.core import Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import Type

SYMBOL = "adc.symbol"
"""Of a function: the symbol of its code, which was compiled before. The body only describes what it reads and
returns."""

REACHED = "adc.reached"
"""Of such a function: its code is compiled when a call reaches it."""

UNIT = "adc.unit"
"""Of a function: a loop nest, or a rare copy of one, which is compiled by itself, for all modules that have it."""

EXCEPTIONAL = "adc.exceptional"
"""Of a branch with a cold region, and of a unit made from it: a run that gets there nearly always ends with an
error."""

Partial = Callable[..., Value]

RUNTIME = "run-time support"
"""The library of the run-time support: its functions are linked to what calls them, and come from nowhere else."""

SPARE = 16
"""Elements that the scratch array of a sorting function has beyond the number of elements to sort."""


@dataclass(frozen=True)
class Provided:
    """``call`` takes and returns Python numbers; it also takes arrays.

    ``partials`` append the derivative with respect to each operand, given the result and the operands; None if there is
    none. ``linked`` functions are found by linkers, too; the others have no name outside this process. ``shown`` is its
    name in messages, if not library and symbol. ``threads``: the addresses of the library's functions that get and set
    its number of threads, if it has these.
    """

    address: int
    call: Callable[..., Any]
    partials: tuple[Partial | None, ...] | None = None
    linked: bool = True
    shown: str = ""
    threads: tuple[int, int] | None = None


@dataclass(frozen=True)
class Named:
    """Which C function, of what types: the one called by an ``adc.external`` or an ``adc.foreign``."""

    library: str
    symbol: str
    operands: tuple[Type, ...]
    result: Type | None

    @staticmethod
    def by(op: Op) -> Named:
        types = tuple(v.type for v in op.operands)
        return Named(op.attrs["library"], op.attrs["symbol"], types, op.results[0].type if op.results else None)


Provider = Callable[[Named], Provided | None]

_PROVIDED: dict[Named, Provided] = {}
_PROVIDERS: dict[str, Provider] = {}


def provide(name: Named, function: Provided) -> None:
    """Let programs in this process call a function."""
    _PROVIDED[name] = function


def provide_all(library: str, provider: Provider) -> None:
    """Let programs in this process call the functions that ``provider`` finds in a library; it is asked on demand."""
    _PROVIDERS[library] = provider


def provided(name: Named) -> Provided | None:
    """The provided function; None if there is none."""
    known = _PROVIDED.get(name)
    if known is None and name.library in _PROVIDERS and (known := _PROVIDERS[name.library](name)) is not None:
        _PROVIDED[name] = known
    return known
