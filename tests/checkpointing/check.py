"""One random stencil program with a random schedule: the same bits as a full tape, and the plain gradient."""

from __future__ import annotations

import itertools
import random
from typing import Any

import adc
from adc import jit_grad
from tests.fuzz.check import Verdict, level_of, loaded
from tests.stencils.check import Stencil, bits, on_threads, threads_at_once
from tests.stencils.generator import generate

SCHEDULES = ("every:2", "every:3", "sqrt", "revolve:2", "revolve:3", "recompute-all", "revolve:1,disk:2")


def check(seed: int, *, rng: random.Random | None = None, small: bool = False) -> Verdict:
    """Raises ``AssertionError`` (or what went wrong), with the program's text. One seed in four is compiled as for
    users."""
    rng = rng or random.Random(seed)
    program = generate(rng, small=small)
    schedule, block = rng.choice(SCHEDULES), rng.choice((1, 2, 3))
    level = level_of(seed)
    try:
        with threads_at_once(block):
            return Scheduled(program, level, block, schedule).check(rng)
    except Exception as error:
        error.add_note(f"seed {seed}, level {level}, {schedule}\n{program.text}")
        raise


class Scheduled(Stencil):
    """A program, and the schedule for its loops."""

    def __init__(self, program: Any, level: int, block: int, schedule: str) -> None:
        super().__init__(program, level, block, "auto", True)
        self.level = level
        self.schedule = schedule

    def check(self, rng: random.Random) -> Verdict:
        if self.oracle.run_plain(self.leaves).error is not None or not self._wrt():
            return Verdict(skipped="raises")
        with loaded(self.text) as names:
            first: list[Any] = []
            scheduled = jit_grad(names["main"], _level=self.level, checkpoint=self.schedule)
            try:
                adc.value_and_grad(scheduled, argnums=self._wrt())(*self._given(names))
            except adc.errors.DifferentiationError as error:
                assert "checkpoint= has nothing to act on" in error.message
                return Verdict(skipped="no loop has a schedule")
            stored = jit_grad(names["main"], _level=self.level, checkpoint="store-all")
            for function, count in itertools.product((stored, scheduled), (1, 2)):
                with on_threads(count):
                    found = self._both(function, names)
                first = first or found
                for what, mine, theirs in zip(("value", "gradient", "arguments"), found, first, strict=True):
                    assert bits(mine) == bits(theirs), f"the {what} on {count} threads: {mine}, not {theirs}"
            plain = self._both(jit_grad(names["main"], _level=self.level), names)
            for what, mine, theirs in zip(("value", "gradient", "arguments"), first, plain, strict=True):
                self._compare(mine, theirs, f"the {what} with a schedule")
        return Verdict(checked=1)

    def _both(self, function: Any, names: dict[str, Any]) -> list[Any]:
        given = self._given(names)
        return [*adc.value_and_grad(function, argnums=self._wrt())(*given), given]
