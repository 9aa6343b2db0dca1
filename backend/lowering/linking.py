"""How code calls C functions: loaded code by their addresses in this process, object files by their names."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import field

from adc.ir import kinds
from adc.ir.core import Loc, Op
from adc.ir.diagnostics import AdcError
from adc.ir.externals import Named, provided
from adc.ir.lazy_dataclass import dataclass


@dataclass
class Linking:
    """The C functions of all modules of the IR that become one object. ``defined``: the public functions of an object
    file, and where they were written; None for loaded code. ``names``: the names in LLVM IR of the functions called so
    far.
    """

    defined: Mapping[str, Loc] | None = None
    names: dict[Named, str] = field(default_factory=dict)
    _locs: dict[str, Loc] = field(default_factory=dict)
    _others: set[str] = field(default_factory=set)

    def name_of(self, op: Op) -> str:
        """The name to call a function by. Raises ``AdcError`` if an object file cannot call it."""
        function = Named.by(op)
        if function not in self.names:
            if self.defined is not None:
                self._check(function, op.loc)
            at = function.symbol if self.defined is not None else f"adc.external{len(self.names)}.{function.symbol}"
            self.names[function] = at
            self._locs[at] = op.loc
        return self.names[function]

    def _check(self, function: Named, loc: Loc) -> None:
        known = provided(function)
        if known is not None and not known.linked:
            help = "give adc.extern a C function of a library that you link"
            raise _refused(f"call {known.shown or f'{function.library}.{function.symbol}'}", loc, help)
        assert self.defined is not None
        if function.symbol in self.defined:
            raise _refused(f"call a C function {function.symbol}, since it has one of that name itself", loc, _RENAMED)
        if any(other.symbol == function.symbol for other in self.names):
            raise _refused(f"refer to functions called {function.symbol} of two libraries, or of two types", loc)

    def check_others(self, declared: Iterable[str]) -> None:
        """Refuse functions whose names a module uses for other functions, its own or those of the C library.
        ``declared`` are the names that this module uses."""
        if self.defined is None:
            return
        for other in declared:
            intrinsic = re.fullmatch(r"llvm\.(\w+)\.f(32|64)", other)
            self._others.add(intrinsic[1] + ("f" if intrinsic[2] == "32" else "") if intrinsic else other)
        self.check_defined(self._others)
        for function, name in self.names.items():
            if name in self._others and function.library and "libm." not in function.library:
                message = f"call {name} of {function.library}, since the program needs another function of that name"
                raise _refused(message, self._locs[name])

    def check_defined(self, others: Container[str]) -> None:
        """Refuse to define a function whose name is among ``others``."""
        for name, loc in (self.defined or {}).items():
            if name in others:
                raise _refused(f"define {name}, since that is a function of the C library", loc, _RENAMED)

    def libraries(self, called: Iterable[str]) -> list[str]:
        """The libraries of the functions that are called, as they were given to ``adc.extern``."""
        return [function.library for function, name in self.names.items() if function.library and name in called]


_RENAMED = "give the Python function another name"
_ANOTHER_NAME = "let a C function of another name call it, and give that to adc.extern"


def _refused(message: str, loc: Loc, help: str = _ANOTHER_NAME) -> AdcError:
    return kinds.UNSUPPORTED_OPTION(f"an object file cannot {message}", loc, help=help)
