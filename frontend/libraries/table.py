"""All functions that adc knows without tracing them, by the function object itself."""

from __future__ import annotations

import warnings
from typing import Any

from adc.frontend.arrays import subscripts
from adc.frontend.libraries import (
    library_arrays,
    library_builtins,
    library_complex,
    library_containers,
    library_dtypes,
    library_grids,
    library_indexing,
    library_iterators,
    library_itertools,
    library_lapack,
    library_margins,
    library_math,
    library_messages,
    library_next,
    library_numpy,
    library_prelude,
    library_products,
    library_reductions,
    library_rows,
    library_scipy,
    library_shapes,
    library_sorting,
    library_structured,
    library_turns,
    library_windows,
    printing,
    scans,
)
from adc.frontend.libraries.rules import Rule
from adc.frontend.suggestions import SUPPORTED, full_name

LIBRARY: dict[Any, Rule] = {
    **library_math.TABLE,
    **library_builtins.TABLE,
    **library_numpy.TABLE,
    **library_dtypes.TABLE,
    **library_complex.TABLE,
    **library_arrays.TABLE,
    **library_structured.TABLE,
    **library_shapes.TABLE,
    **library_turns.TABLE,
    **library_margins.TABLE,
    **library_windows.TABLE,
    **library_reductions.TABLE,
    **library_products.TABLE,
    **scans.TABLE,
    **library_containers.TABLE,
    **library_indexing.TABLE,
    **library_iterators.TABLE,
    **library_itertools.TABLE,
    **library_next.TABLE,
    **library_prelude.TABLE,
    **library_sorting.TABLE,
    **library_lapack.TABLE,
    **library_messages.TABLE,
    **library_rows.TABLE,
    print: printing.print_,
    warnings.warn: printing.warn,
}


# Functions that take objects themselves, not only their contents.
BY_IDENTITY = frozenset().union(
    *(part.BY_IDENTITY for part in (library_containers, library_iterators, library_itertools, library_rows)),
    {print, iter, next},
)
SUPPORTED.update(map(full_name, LIBRARY))
subscripts.SUBSCRIPTED.update(library_grids.SUBSCRIPTED)


def known_as(alias: Any, original: Any) -> None:
    """Give a function that stands for another one the rule of that one."""
    LIBRARY[alias] = LIBRARY[original]


def is_library(obj: Any) -> bool:
    """Whether there is a rule for ``obj``."""
    try:
        if obj not in LIBRARY and library_scipy.belongs(obj):
            LIBRARY.update(library_scipy.table())
        return obj in LIBRARY
    except TypeError:  # not hashable
        return False
