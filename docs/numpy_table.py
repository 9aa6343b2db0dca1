"""Writes ``numpy.md``: which of NumPy's public functions and methods compiled code can call.

python docs/numpy_table.py [--count]
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

import numpy as np

from adc.frontend import prelude
from adc.frontend.in_place_of_numpy import GROUPS
from adc.frontend.libraries.methods import METHODS
from adc.frontend.libraries.table import is_library
from adc.frontend.suggestions import for_function

PAGE = Path(__file__).with_name("numpy.md")

# Results that are whole numbers or bools have no derivative; those of other functions have one where NumPy's have.
_WHOLE = """
    all any argmax argmin argpartition argsort argwhere array_equal array_equiv allclose bincount bitwise_and
    bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor
    broadcast_shapes can_cast count_nonzero diag_indices diag_indices_from digitize equal flatnonzero gcd
    greater greater_equal indices invert iscomplex iscomplexobj isclose isdtype isfinite isin isinf isnan
    isneginf isposinf isreal isrealobj isscalar issubdtype iterable ix_ lcm left_shift less less_equal lexsort
    logical_and logical_not logical_or logical_xor mask_indices nanargmax nanargmin ndim nonzero not_equal
    packbits promote_types ravel_multi_index result_type right_shift searchsorted shape signbit size
    tril_indices tril_indices_from triu_indices triu_indices_from unpackbits unravel_index matrix_rank fftfreq
    rfftfreq ndindex min_scalar_type common_type
"""
WHOLE = frozenset(_WHOLE.split())


def public() -> dict[str, list[str]]:
    """The names of callables, by module."""
    outside = {n for names, _, _ in GROUPS.values() for n in names.split()} | {"ndarray", "__array_namespace_info__"}
    found = {}
    for module, owner in (("numpy", np), ("numpy.linalg", np.linalg), ("numpy.fft", np.fft)):
        names = [n for n in owner.__all__ if callable(getattr(owner, n)) and n not in outside]
        found[module] = sorted(n for n in names if not n.endswith("Error"))
    return found


def resolved(full: str) -> Any:
    owner: Any = np
    for part in full.split(".")[1:]:
        owner = getattr(owner, part)
    return owner


def is_there(obj: Any) -> bool:
    return obj is np.vectorize or is_library(obj) or prelude.stand_in(obj) is not None


def missing_parameters(obj: Any) -> str:
    """NumPy's parameters that the function has not here, where both can be told."""
    program = prelude.stand_in(obj)
    try:
        theirs = inspect.signature(obj).parameters
    except (TypeError, ValueError):
        return ""
    if program is None or any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in theirs.values()):
        return ""
    mine = inspect.signature(program).parameters
    return ", ".join(f"`{n}`" for n in theirs if n not in mine)


VALUES = {"numpy.meshgrid": "`copy=False`, unless `sparse=True`"}
"""Values of parameters that are refused."""


def methods() -> list[tuple[str, bool]]:
    """Methods of arrays, and whether they are there."""
    found = []
    for n in dir(np.ndarray):
        if n.startswith("_") or not callable(getattr(np.ndarray, n)):
            continue
        there = n in METHODS or any(
            f is not None and prelude.stand_in(f) is not None for f in (getattr(np.ndarray, n), getattr(np, n, None))
        )
        found.append((n, there))
    return found


def page() -> str:
    lines = [
        "# NumPy in compiled code",
        "",
        "Made by `python docs/numpy_table.py` from what the compiler knows. *Derivative*: a dash where results are",
        "whole numbers or bools, which have none. *Not taken*: parameters of NumPy's, or values of them, that are",
        "refused. Universal functions take arrays and numbers alike.",
        "",
    ]
    absent: list[tuple[str, str]] = []
    for module, names in public().items():
        lines += [f"## {module}", "", "| function | derivative | not taken |", "|---|---|---|"]
        for n in names:
            full = f"{module}.{n}"
            obj = resolved(full)
            if is_there(obj):
                lines.append(
                    f"| `{n}` | {'-' if n in WHOLE else 'yes'} | {missing_parameters(obj) or VALUES.get(full, '')} |"
                )
            else:
                absent.append((full, for_function(obj, full)))
        lines.append("")
    lines += ["## Methods of arrays", "", ", ".join(f"`{n}`" for n, there in methods() if there) + ".", ""]
    lines += ["## What is not there", "", "| function | in its place |", "|---|---|"]
    lines += [f"| `{full}` | {help} |" for full, help in absent]
    lines += ["", "Without a meaning in compiled code, which works on arrays of numbers:", ""]
    lines += ["| function | in its place |", "|---|---|"]
    for names, text, some in GROUPS.values():
        alike: dict[str, list[str]] = {}
        for n in names.split():
            alike.setdefault(some.get(n, text), []).append(f"`{n}`")
        lines += [f"| {', '.join(group)} | {help} |" for help, group in alike.items()]
    return "\n".join(lines) + "\n"


def count() -> tuple[int, int]:
    """How many functions with a meaning there are here, and in NumPy."""
    all_ = [resolved(f"{m}.{n}") for m, names in public().items() for n in names]
    return sum(map(is_there, all_)), len(all_)


if __name__ == "__main__":
    if "--count" in sys.argv:
        here, there = count()
        print(f"{here} of {there} functions: {100 * here / there:.1f} %")
        absent = [f"{m}.{n}" for m, names in public().items() for n in names if not is_there(resolved(f"{m}.{n}"))]
        print("not there:", " ".join(absent))
        print("methods not there:", " ".join(n for n, there in methods() if not there))
    else:
        PAGE.write_text(page())
