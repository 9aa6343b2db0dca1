"""Functions that are compiled by themselves (``adc.frontend.kernels``), as used by programs that are traced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, Protocol

from adc.frontend import abstract
from adc.frontend.callee import Callee
from adc.frontend.data.roots import Root
from adc.frontend.functions.declared import Declared, Library, Traced, declare, general
from adc.frontend.functions.recursion import Specialisation
from adc.frontend.kernels import COMPILED_ONCE, WHEN_REACHED
from adc.frontend.names import symbol as symbol_of
from adc.frontend.objects.merge import types
from adc.frontend.syntax.source import FunctionSource
from adc.ir.core import Module
from adc.ir.externals import SYMBOL
from adc.ir.types import MemRefType, Type

Key = tuple[object, tuple[abstract.Abstract, ...]]  # a callee's identity, and the types of its arguments


class Tracer(Protocol):
    """The tracer of the program; see ``adc.frontend.tracer``."""

    module: Module
    known: dict[Key, Specialisation]
    sources: dict[str, FunctionSource]

    @property
    def library(self) -> Library | None: ...

    @property
    def root(self) -> Key | None: ...

    @property
    def tasks(self) -> Mapping[Key, tuple[Callee, list[str]]]: ...

    def alone(self, key: Key) -> Callable[[], Traced]:
        """A function that traces a function by itself, with its rules if it has any. It does not keep this tracer."""


def by_itself(callee: Callee) -> bool:
    """Whether the function is compiled once for all programs."""
    return callee.ruled is None and (callee.function in COMPILED_ONCE or callee.function in WHEN_REACHED)


def declared(tracer: Tracer, key: Key) -> Specialisation | None:
    """The declaration of a function that is compiled by itself; None if ``key`` is not one."""
    callee = tracer.tasks[key][0]
    if tracer.library is None or key == tracer.root or not by_itself(callee):
        return None
    if callee.function in WHEN_REACHED:
        found = _reached(tracer.library, key, *tracer.tasks[key])
    else:
        found = tracer.library.find(callee.function, key[1], tracer.alone(key))
    if found is None:
        return None
    func = declare(tracer.module, symbol_of(callee.source.name), callee.source.header, found)
    tracer.sources[func.name] = callee.source
    roots = tuple(Root(arg.hint or "") for arg in func.args if isinstance(arg.type, MemRefType))
    new = tuple(frozenset({Root("result")}) for t in func.result_types if isinstance(t, MemRefType))
    arrays = [k for k, arg in enumerate(func.args) if isinstance(arg.type, MemRefType)]
    written = frozenset(root for k, root in zip(arrays, roots, strict=True) if k in found.written)
    arguments, results = found.argument_types, found.result_types
    made = Specialisation(func.name, arguments, results, found.result, (), roots, {}, new, written, False)
    tracer.known[key] = made
    return made


def _reached(library: Library, key: Key, callee: Callee, names: list[str]) -> Declared | None:
    """The declaration of a part of kernels, which need not be traced for it."""
    symbol = library.symbol(callee.function, key[1])
    if symbol is None:
        return None
    arguments: list[Type] = []
    written: list[int] = []
    for name, a in zip(names, key[1], strict=True):
        own = types(a)
        if name in WHEN_REACHED[callee.function]:
            written += range(len(arguments), len(arguments) + len(own))
        arguments += own
    nothing = abstract.Tuple((abstract.Static(None),))
    return Declared(symbol, tuple(arguments), (), nothing, tuple(written), reached=True)


def rules_kept(tracer: Tracer, key: Key) -> str | None:
    """The name under which the library keeps the rules of a kernel; None if this is not a kernel whose code it has."""
    ruled = tracer.tasks[key][0].ruled
    if tracer.library is None or key == tracer.root or ruled is None or ruled.plain is None:
        return None
    kernel = ruled.chosen.kernel if ruled.chosen is not None else None
    if kernel is None:
        return None
    plain = tracer.known.get((ruled.plain.identity, tuple(map(general, key[1]))))
    if plain is None or SYMBOL not in tracer.module.funcs[plain.name].attrs:
        return None
    return tracer.library.keep_rules(kernel, key[1], tracer.alone(key))


def of_no_tracer(*_args: Any) -> NoReturn:
    """Replaces the function that calls functions in a program, which must not be kept."""
    raise AssertionError
