"""Functions that are compiled by themselves, once for all programs: the declaration that a calling program has.

The program has a stand-in of the same types with the attribute ``adc.symbol``, the name of the compiled code. The body
of the stand-in describes the effects of a call: it reads the arguments, and returns numbers and new arrays about which
nothing more is known. It is never run.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any, Protocol

from adc.frontend import abstract
from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Func, Loc, Module, Value
from adc.ir.externals import REACHED, SYMBOL
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import MemRefType, Type, index


@dataclass(frozen=True)
class Declared:
    """The types of such a function. ``result`` is the type of its result, with extents expressed by those of the
    arguments. ``written``: the positions of arguments to which it writes. ``reached``: it is compiled when a call
    reaches it."""

    symbol: str
    argument_types: tuple[Type, ...]
    result_types: tuple[Type, ...]
    result: abstract.Abstract
    written: tuple[int, ...] = ()
    reached: bool = False


class Library(Protocol):
    """The collection of such functions."""

    def find(
        self, function: FunctionType, signature: tuple[abstract.Abstract, ...], trace: Callable[[], Traced]
    ) -> Declared | None:
        """The function for arguments of these types, traced now if it is not known; None if it must be a part of the
        program. ``trace`` returns its code."""

    def symbol(self, function: FunctionType, signature: tuple[abstract.Abstract, ...]) -> str | None:
        """The symbol of the function for arguments of these types; None if it must be a part of the program."""

    def keep_rules(
        self, function: FunctionType, signature: tuple[abstract.Abstract, ...], trace: Callable[[], Traced]
    ) -> str | None:
        """A name for the function with its derivative rules, which are traced only when a derivative needs them; None
        if they must be a part of the program."""

    def rules(self, name: str) -> tuple[Module, str]:
        """The module in which the function with this name has its rules, and the function's name there."""

    def first_rules(self, name: str) -> tuple[Module, str]:
        """The same, for derivatives that are not differentiated again."""


Traced = tuple[Module, str, abstract.Abstract]
"""A module, the name of a function in it, and the type of its result."""


def general(a: abstract.Abstract) -> abstract.Abstract:
    """The type of an argument for which these functions are compiled: they write to no argument, so overlaps do not
    matter, and the code is the same for all extents."""
    return _of_arrays(a, alias=None, writable=True, ones=(), extents=(), dims=())


def unprotected(a: abstract.Abstract) -> abstract.Abstract:
    """The type of an argument of a function with rules; one that writes to an argument is refused."""
    return _of_arrays(a, writable=True)


def _of_arrays(a: abstract.Abstract, **changes: Any) -> abstract.Abstract:
    return abstract.map_abstract(a, lambda leaf: replace(leaf, **changes) if isinstance(leaf, abstract.Array) else leaf)


def declare(module: Module, name: str, loc: Loc, declared: Declared) -> Func:
    """Add the stand-in for a function to a module."""
    func = module.add(Func(module.unique_name(name), declared.argument_types, declared.result_types, loc=loc))
    func.attrs.update({SYMBOL: declared.symbol, "adc.noinline": True})
    if declared.reached:
        func.attrs[REACHED] = True
    for k, (arg, attrs) in enumerate(zip(func.args, func.arg_attrs, strict=True)):
        if isinstance(arg.type, MemRefType) and k not in declared.written:
            attrs["adc.readonly"] = True

    numbers = itertools.count()

    def unknown(given: Sequence[Value], types: tuple[Type, ...]) -> tuple[Value, ...]:
        attrs = {"library": "", "symbol": f"{declared.symbol}.{next(numbers)}", "types": types}
        written = (*(declared.written if not types else ()), *range(len(func.args), len(given)))
        return build(ops.foreign, given, {**attrs, "written": written, "ordered": False}).results

    def result(t: Type) -> Value:
        if not isinstance(t, MemRefType):
            return unknown(func.args, (t,))[0]
        extents = [unknown(func.args, (index,))[0] for extent in t.shape if extent is None]
        return build(ops.alloc, extents, {"type": t}).results[0]

    with insert_at(func.body, loc):
        values = [result(t) for t in declared.result_types]
        made = [v for v in values if isinstance(v.type, MemRefType)]
        if made or declared.written:
            unknown([*func.args, *made], ())
        build(ops.return_, values)
    return func
