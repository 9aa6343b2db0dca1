"""Compiled functions of numbers, which compute the memory and the schedules of other functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adc.backend.calls.abi import Argument, Out, ScalarParam, Signature, TupleOut
from adc.backend.library.numpy_abi import DTYPES
from adc.border.complexes import as_pairs
from adc.driver.compiler import Staged, compile_functions
from adc.frontend.frame import COLUMNS
from adc.ir.core import Func, Module
from adc.ir.types import Type, f64, i1, i64

_STRONG: dict[Type, type[Any]] = {t: d.type for t, d in DTYPES.items() if t not in (f64, i64, i1) and d.kind != "c"}


def compiled(staged: Staged, module: Module, names: Sequence[str]) -> list[Any]:
    """Callables for functions that take and return numbers: each returns a tuple."""
    return compile_functions(staged, module, [_signature(module.funcs[name]) for name in names], _no_other)


def sizes(func: Func, leaves: Sequence[Any], *, shadows: bool) -> list[int | float]:
    """The arguments of a footprint function: the numbers among the arguments of ``func``, and the extents of its
    arrays, with or without those of shadows."""
    found: list[Any] = []
    for k, attrs in enumerate(func.arg_attrs):
        if "adc.shadow" in attrs and not shadows:
            continue
        of = attrs.get("adc.shadow", k)
        value = leaves[of] if COLUMNS not in func.arg_attrs[of] else leaves[of].T
        found += as_pairs(value).shape if isinstance(value, np.ndarray) else [_number(value, func.args[k].type)]
    return found


def _number(value: Any, t: Type) -> Any:
    """A number as functions take it: a NumPy scalar if Python has no number of that type."""
    return _STRONG[t](value) if t in _STRONG else float(value) if t.is_float else bool(value) if t == i1 else int(value)


def _signature(func: Func) -> Signature:
    arguments = (None,) * len(func.args)
    params = tuple(ScalarParam(Argument((k,)), arg.type, arg.type in _STRONG) for k, arg in enumerate(func.args))
    output = TupleOut(tuple(Out(k) for k in range(len(func.result_types))))
    return Signature(func.name, arguments, params, tuple(func.result_types), output)


def _no_other(*args: Any) -> Any:
    raise TypeError(f"these are numbers of other types: {args}")
