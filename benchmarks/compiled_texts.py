"""What is compiled while programs run, as LLVM IR."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from unittest import mock

import numpy as np

from adc.backend.optimize import Optimized, optimize
from adc.backend.target import Target
from adc.driver import cpu, late_units


@contextlib.contextmanager
def compiled_texts() -> Iterator[dict[str, int]]:
    """A context that collects the texts of modules and of units, each with LLVM's level for it. They are compiled
    without optimisation, and nothing comes from the cache."""
    found: dict[str, int] = {}

    def keep(levels: dict[str, int], target: Target) -> list[Optimized]:
        found.update(levels)
        return [optimize(each, target, 0) for each in levels]

    def keep_one(text: str, target: Target, level: int) -> Optimized:
        return keep({text: level}, target)[0]

    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, {"ADC_CACHE": "0"}))
        stack.enter_context(mock.patch.object(cpu, "optimize_or_find_all", keep))
        stack.enter_context(mock.patch.object(late_units, "optimize_or_find", keep_one))
        stack.enter_context(np.errstate(all="ignore"))
        yield found
