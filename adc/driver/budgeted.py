"""Gradients within a memory limit: without a schedule if that fits, else with one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from adc.driver.compiler import Staged
from adc.driver.specialise import Gradient, Specialisation
from adc.errors import OutOfMemoryError
from adc.ir import forks

Make = Callable[[Staged, bool], Gradient]
"""Makes the gradient; the flag says whether it must know how much memory it takes."""


class Budgeted(Specialisation):
    """A gradient without a schedule, and one with a schedule, compiled when first needed. Last bits of the two may
    differ."""

    def __init__(self, staged: Staged, make: Make, memory: int) -> None:
        options = replace(staged.subject.options, checkpoint=None)
        self._whole = make(Staged(replace(staged.subject, options=options), staged.abstracts), True)
        super().__init__(staged, self._whole.traced)
        self.wrapped = self._whole.wrapped  # also if only the auxiliary value is
        self._memory = memory
        self._make = make
        self._scheduled: Gradient | None = None
        self._lock = forks.Lock()

    def run(self, values: tuple[Any, ...]) -> Any:
        return self._within(values, lambda gradient: gradient.run(values))

    def _run_wrapped(self, values: tuple[Any, ...], objects: dict[int, Any]) -> Any:
        return self._within(values, lambda gradient: gradient._run_wrapped(values, objects))

    def _within(self, values: tuple[Any, ...], run: Callable[[Gradient], Any]) -> Any:
        takes = self._whole.takes(values)
        if takes is not None and takes <= self._memory:
            return run(self._whole)
        with self._lock:
            if self._scheduled is None:
                self._scheduled = self._make(self.staged, False)
        try:
            return run(self._scheduled)
        except OutOfMemoryError as error:
            raise too_little(error, takes) from None


def too_little(error: OutOfMemoryError, whole: int | None) -> OutOfMemoryError:
    """The error of a schedule that does not fit; its least memory may be more than ``whole``, that without a
    schedule."""
    from adc.passes.checkpointing.budget import TOO_SMALL

    least = re.search(TOO_SMALL.split("{")[0] + r"(\d+)", error.message)
    if whole is None or least is None or whole >= int(least[1]):
        return error
    return error.helped(f"without a schedule it takes {whole} bytes")
