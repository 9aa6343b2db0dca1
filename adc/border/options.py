"""The settings of a function: which arguments to differentiate, and how compiled code runs."""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from adc.frontend.kernels.lapack import is_installed
from adc.ir import kinds
from adc.ir.lazy_dataclass import dataclass
from adc.ir.schedules import Schedule
from adc.passes.choices import AUTO, MOST_STEPS, STRATEGIES, Tiles, TimeBlock

if TYPE_CHECKING:
    from adc.passes.ranks.layouts import Shared

Engine = Literal["native", "interpreter"]
ArgNums = int | Iterable[int] | None
ArgNames = str | Iterable[str]
NAN, GDB = DEBUG = "nan", "gdb"


def default_level() -> int:
    """The default of LLVM's optimisation level: ``ADC_LEVEL``, or 3."""
    given = os.environ.get("ADC_LEVEL", "3")
    if given not in ("0", "1", "2", "3"):
        raise kinds.INVALID_OPTION(f"ADC_LEVEL must be a number from 0 to 3, not {given!r}")
    return int(given)


def default_contract() -> bool:
    """Whether the user's arithmetic may be fused by default: ``ADC_CONTRACT``, or False."""
    given = os.environ.get("ADC_CONTRACT", "0")
    if given not in ("0", "1"):
        raise kinds.INVALID_OPTION(f"ADC_CONTRACT must be 0 or 1, not {given!r}")
    return given == "1"


def default_debug() -> str | None:
    """How compiled code is debugged by default: ``ADC_DEBUG``, which is ``nan``, ``gdb`` or not set."""
    given = os.environ.get("ADC_DEBUG", "")
    if given not in ("", "0", *DEBUG):
        raise kinds.INVALID_OPTION(f"ADC_DEBUG must be nan or gdb, not {given!r}")
    return given if given in DEBUG else None


@dataclass(frozen=True)
class Options:
    """How compiled code runs.

    ``threads``: how many threads parallel loops use; None: ``ADC_NUM_THREADS``, or the processors granted to the
    process. ``parallel``: whether any loop runs on threads (``prange`` included). ``engine``: ``"interpreter"`` runs
    the IR in the reference interpreter instead of native code, slowly; it is the oracle of the tests. ``level`` is
    LLVM's optimisation level, from 0 to 3, by default ``ADC_LEVEL``, or 3; lower levels compile faster. ``bounds``:
    whether subscripts are checked; benchmarks measure the cost of that. ``accumulate``: how terms that several
    iterations add to one element are summed, wherever that is possible (see docs/parallel.md). ``deterministic``:
    whether they are summed in the same order on any number of threads; if not, they are added atomically where they
    would otherwise be added serially. ``contract``: whether a product and a sum that the user wrote may be fused and
    rounded once, as C compilers do; by default ``ADC_CONTRACT``, or False: each operation is rounded, as in Python.
    ``tile``: whether loop nests that read neighbours are tiled for the cache; or the lengths of blocks. ``checkpoint``:
    how gradients run the steps of sequential loops again, or None. ``time_block``: how many steps of a stencil's time
    loop are run in one sweep over memory, where possible; ``"auto"``, or None. ``lapack``: whether LAPACK decomposes
    matrices; it is called by the addresses that SciPy provides: by default where SciPy is installed, unless
    ``ADC_LAPACK`` is 0. Object files do not use it. ``debug``: ``"nan"`` for code that stops where a NaN or an infinity
    first arises, on one thread; ``"gdb"`` for code with line information for debuggers; by default ``ADC_DEBUG``.
    ``shared``: which arguments are distributed over ranks (``adc.distribute``).
    """

    threads: int | None = None
    parallel: bool = True
    engine: Engine = "native"
    level: int = field(default_factory=default_level)
    bounds: bool = True
    contract: bool = field(default_factory=default_contract)
    accumulate: str = AUTO
    deterministic: bool = True
    tile: Tiles = True
    checkpoint: Schedule | None = None
    time_block: TimeBlock = None
    lapack: bool = field(default_factory=is_installed)
    debug: str | None = field(default_factory=default_debug)
    shared: Shared | None = None

    def __post_init__(self) -> None:
        if self.debug not in (None, *DEBUG):
            raise kinds.INVALID_OPTION(f"debug must be 'nan', 'gdb' or None, not {self.debug!r}")
        if self.debug == NAN:  # "first" refers to the order of the program
            object.__setattr__(self, "parallel", False)
        if self.debug == GDB and not sys.platform.startswith("linux"):
            raise kinds.INVALID_OPTION("debug='gdb' is for Linux", help="leave it out, or unset ADC_DEBUG")
        for name in ("parallel", "bounds", "contract", "deterministic"):
            if not isinstance(getattr(self, name), (bool, int, np.bool_)):  # any text would be true, even "no"
                raise kinds.INVALID_OPTION(f"{name} must be True or False, not {getattr(self, name)!r}")
        if self.threads is not None and not (isinstance(self.threads, (int, np.integer)) and self.threads >= 1):
            raise kinds.INVALID_OPTION(f"threads must be an int of at least 1, not {self.threads!r}")
        if self.accumulate not in STRATEGIES:
            known = ", ".join(map(repr, STRATEGIES))
            raise kinds.INVALID_OPTION(f"accumulate must be one of {known}, not {self.accumulate!r}")
        steps = self.time_block
        if not (steps is None or steps == AUTO or (type(steps) is int and 1 <= steps <= MOST_STEPS)):
            raise kinds.INVALID_OPTION(f"time_block must be 'auto' or a number from 1 to {MOST_STEPS}, not {steps!r}")
        if self.accumulate == "atomic" and self.deterministic:
            raise kinds.INVALID_OPTION(
                "accumulate='atomic' adds in an order that threads decide",
                help="allow that with deterministic=False, or leave accumulate out",
            )
        if not isinstance(self.tile, bool) and (not self.tile or min(self.tile) < 1):
            raise kinds.INVALID_OPTION(f"tile must be True, False, or lengths of at least 1, not {self.tile!r}")
        if self.time_block is not None and not isinstance(self.tile, bool):
            raise kinds.INVALID_OPTION(
                "tile= gives lengths of blocks, and with time_block= nests are not cut into any",
                help="leave one of the two out; time_block= chooses how much of the fields it takes at a time",
            )


@dataclass(frozen=True)
class Selection:
    """Which arguments to differentiate with respect to.

    ``numbers`` are positions of parameters, in order; ``single``: one position was given as a bare int, so that its
    gradient is returned without a tuple. ``names`` are parameters or captured variables whose gradients come in a dict.
    """

    numbers: tuple[int, ...] = (0,)
    single: bool = True
    names: tuple[str, ...] = ()

    def by(self, parameters: Sequence[str]) -> str:
        """The selected arguments in words, given the names of the parameters."""
        count = len(parameters)
        shown = [parameters[n] if -count <= n < count else f"argument {n}" for n in self.numbers]
        return ", ".join([*shown, *self.names])


@dataclass(frozen=True)
class Derivative:
    """A gradient, or a gradient of a gradient and so on: the selections in order; without any, the function itself.

    ``has_aux``: the function returns a pair of the value that is differentiated and an auxiliary value. ``with_value``:
    the last gradient is returned with the value.
    """

    chain: tuple[Selection, ...] = (Selection(),)
    has_aux: bool = False
    with_value: bool = False


FIRST = Derivative()
"""The gradient with respect to the first argument."""

NONE = Derivative(())
"""The function itself."""


def tiles(given: object) -> Tiles:
    """Read ``tile`` as users give it: True, False, the length of blocks, or lengths."""
    if isinstance(given, bool):
        return given
    try:
        return tuple(map(operator.index, given if isinstance(given, Iterable) else (given,)))
    except TypeError:
        help = "for instance 16, or (16, 4096)"
        raise kinds.INVALID_OPTION(f"tile must be True, False, or lengths, not {given!r}", help=help) from None


def selection(argnums: ArgNums, argnames: ArgNames) -> Selection:
    """Read ``argnums`` and ``argnames`` as users give them. With neither, the first argument is meant."""
    names = tuple(argnames) if isinstance(argnames, Iterable) and not isinstance(argnames, str) else (argnames,)
    if not all(isinstance(name, str) for name in names):
        raise kinds.WRONG_ARGNUMS(f"argnames must be a name or names, not {argnames!r}", help='for instance "x"')
    single = not isinstance(argnums, Iterable) and not (argnums is None and names)
    given: Iterable[Any] = () if argnums is None else argnums if isinstance(argnums, Iterable) else (argnums,)
    if argnums is None and not names:
        given = (0,)
    try:
        numbers = tuple(operator.index(n) for n in given)
    except TypeError:
        help = "for instance 0, or (0, 1); names go to argnames"
        if isinstance(argnums, (float, np.floating, np.ndarray)):
            help = "arguments go to what grad(f) returns: grad(f)(x)"
        raise kinds.WRONG_ARGNUMS(f"argnums must be an int or ints, not {argnums!r}", help=help) from None
    if len(set(numbers)) != len(numbers) or len(set(names)) != len(names):
        raise kinds.WRONG_ARGNUMS("argnums and argnames must name each argument once", help="leave out the second")
    return Selection(numbers, single, names)
