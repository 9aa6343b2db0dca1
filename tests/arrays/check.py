"""Checks one random program on long arrays against precise references.

- Values: the bits of plain Python if all operations are exact, else a tolerance of 1e-12 relative to the terms.
- Gradients: forward mode along single elements, and along directions that together contain all elements.
- The same bits on other numbers of threads, with overlapping arguments separated, and for any unread elements.
- Differences of plain Python, which are independent of adc.
"""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np

import adc
from adc import jit_grad
from adc.backend.runtime import on_threads
from tests.arrays.arguments import Array, copies, values
from tests.arrays.generator import Program, generate
from tests.fuzz.check import Verdict, loaded

SINGLE_ELEMENTS = 24
DIRECTIONS = 6
ROUNDING = 1e-2
C = 0.37
Gradients = dict[str, Any]


def check(seed: int, *, mutate: Callable[[Gradients], None] | None = None, level: int | None = None) -> Verdict:
    """Generate a program and check it; ``AssertionError`` with its text where something is wrong.

    ``mutate`` makes every gradient wrong in the same way, as a compiler would: the test of this test. One seed in eight
    is compiled with all of LLVM's optimisations, the others as ``ADC_LEVEL`` says, or with none.
    """
    rng = random.Random(seed)
    program = generate(rng)
    given = values(program.params, rng)
    if level is None:
        level = 3 if seed % 8 == 0 else int(os.environ.get("ADC_LEVEL", "0"))
    try:
        return Subject(program, given, level, mutate).check(rng)
    except Exception as error:
        error.add_note(f"seed {seed}\n{program.text}\n{[(p, given[p.name].strides) for p in program.params]}")
        raise


def digest(seed: int) -> str:
    """What a process makes of a program: the bits of its value and its gradients."""
    rng = random.Random(seed)
    program = generate(rng)
    given = values(program.params, rng)
    with loaded(program.text) as names:
        subject = Subject(program, given, 3 if seed % 4 == 0 else 0)
        value, found = subject.gradients(jit_grad(names["main"], _level=subject.level), given)
    parts = [np.asarray(value).tobytes(), *(np.asarray(g).tobytes() for g in found.values())]
    return hashlib.sha256(b"".join(parts)).hexdigest()


class Subject:
    """A program with its arguments, and how sharply it can be looked at."""

    def __init__(
        self, program: Program, given: dict[str, Array], level: int, mutate: Callable[[Gradients], None] | None = None
    ) -> None:
        self.program = program
        self.given = given
        self.level = level
        self.mutate = mutate
        self.params = program.params
        self.single = any(p.dtype == "float32" for p in self.params)
        self.relative = 2e-5 if self.single else 1e-12
        self.wrt = [p for p in self.params if p.differentiable]
        self.numbers = (*(k for k, p in enumerate(self.params) if p.differentiable), len(self.params))

    def check(self, rng: random.Random) -> Verdict:
        with loaded(self.program.text) as names, np.errstate(all="ignore"):
            main = names["main"]
            here = copies(self.given)
            expected = main(*here.values(), C)
            assert np.isfinite(expected), "the generator made a program that is not tame"
            function = jit_grad(main, _level=self.level)
            mine = copies(self.given)
            with on_threads(2):
                value = function(*mine.values(), C)
            self._values(value, expected, mine, here)
            with on_threads(2):
                again, found = self.gradients(function, self.given)
            # A function of vectors and one of numbers may differ in the last bit, and each program chooses; how many
            # parts a library's sum is added up in is chosen with all that its loop computes.
            same = self.program.exact and self.program.ordered
            close = abs(again - value) <= (0.0 if same else self.relative * max(1.0, abs(value)))
            assert close, f"the value beside the gradient: {again!r}, not {value!r}"
            self._other_runs(function, found, rng)
            self._forward(function, found, rng)
            self._differences(main, found, rng)
        return Verdict(checked=1)

    def gradients(self, function: Any, given: dict[str, Array]) -> tuple[Any, Gradients]:
        """The value and a gradient for each array that has one and for the number ``c``, arguments left alone."""
        before = copies(given)
        value, found = adc.value_and_grad(function, argnums=self.numbers)(*given.values(), C)
        for name, a in given.items():
            assert np.array_equal(a, before[name], equal_nan=True), f"{name} was changed by its gradient"
        named = dict(zip([*(p.name for p in self.wrt), "c"], found, strict=True))
        if self.mutate is not None:
            self.mutate(named)
        return value, named

    def _values(self, value: Any, expected: Any, mine: dict[str, Array], here: dict[str, Array]) -> None:
        if self.program.exact and self.program.ordered:
            assert _same(value, expected), f"the value: {value!r}, not {expected!r}"
        else:
            tolerance = 2e-4 if self.single else 1e-12
            size = max(1.0, *(float(np.sqrt(a.size)) for a in here.values()))
            assert abs(value - expected) <= tolerance * max(size, abs(expected)), f"the value: {value}, not {expected}"
        for p in self.params:
            got, want = mine[p.name], here[p.name]
            if self.program.exact:
                assert got.tobytes() == want.tobytes(), f"{p.name} after the call differs: {_where(got, want)}"
            else:
                tolerance = 1e-5 if self.single else 1e-12
                close = np.isclose(got, want, rtol=tolerance, atol=tolerance, equal_nan=True)
                assert close.all(), f"{p.name} after the call differs: {_where(got, want)}"

    def _other_runs(self, function: Any, found: Gradients, rng: random.Random) -> None:
        """What must not matter: threads, whether arguments that are read overlap, and what nothing counts."""
        runs = {"on one thread": (self.given, 1), "on three threads": (self.given, 3)}
        if sum(p.layout == "window" for p in self.params) > 1:
            runs["with arguments apart"] = (copies(self.given, apart=True), 2)
        if any(p.kind == "hazard" for p in self.params):
            clean = copies(self.given)
            clean["w"][~clean["ok"]] = 0.75
            runs["without NaN and infinities"] = (clean, 2)
            unread = found["w"][~clean["ok"]]
            assert not unread.any(), f"what does not count has the gradient {unread}"
        for how, (given, threads) in runs.items():
            with on_threads(threads):
                other = self.gradients(function, given)[1]
            for name, g in found.items():
                assert _same(g, other[name]), f"the gradient of {name} {how} differs: {_where(g, other[name])}"

    def _forward(self, function: Any, found: Gradients, rng: random.Random) -> None:
        """Forward mode along single elements, and along random directions in all elements."""
        numbers = np.random.default_rng(rng.getrandbits(32))
        # Cotangents that cancel leave a rounding error of the terms, which are about one.
        largest = max(ROUNDING, *(float(np.max(np.abs(g), initial=0.0)) for g in found.values()))
        # One in four is differentiated along each argument by itself, with other code for each; the others along all,
        # where a tangent that is zero must be nothing.
        alone = numbers.random() < 0.25
        rest = {} if alone else {p.name: np.zeros(p.shape, p.dtype) for p in self.wrt}
        for _ in range(SINGLE_ELEMENTS):
            p = self.wrt[int(numbers.integers(len(self.wrt)))]
            at = tuple(int(numbers.integers(n)) for n in p.shape)
            direction = np.zeros(p.shape, p.dtype)
            direction[at] = 1.0
            along = self._along(function, {**rest, p.name: direction}, None if alone else 0.0)
            g = float(found[p.name][at])
            close = abs(along - g) <= self.relative * (abs(g) + 0.1 * largest)
            assert close, f"the gradient of {p.name}{list(at)}: {g!r}, forward mode has {along!r}"
        for _ in range(DIRECTIONS):
            sizes = {p: numbers.uniform(0.5, 1.5, p.shape) * numbers.choice((-1, 1), p.shape) for p in self.wrt}
            direction = {p.name: size.astype(p.dtype) for p, size in sizes.items()}
            along = self._along(function, direction, 1.0)
            terms = [np.asarray(found[name], float) * step for name, step in direction.items()]
            total = sum(float(t.sum()) for t in terms) + float(found["c"])
            size = float(np.sqrt(sum(float(np.sum(t * t)) for t in terms) + found["c"] ** 2)) + abs(total)
            size = max(size, ROUNDING)
            assert abs(along - total) <= 3 * self.relative * size, f"along a direction: {total!r}, forward {along!r}"

    def _along(self, function: Any, direction: dict[str, Array], c: float | None = None) -> float:
        given = copies(self.given)
        return float(function.jvp((*given.values(), C), (*(direction.get(p.name) for p in self.params), c))[1])

    def _differences(self, main: Any, found: Gradients, rng: random.Random) -> None:
        """Central differences of plain Python, of two steps: where these disagree, the program is not smooth there. Nor
        is it where differences to both sides disagree: a comparison of numbers that are equal but for rounding, as
        an average of equal numbers is with one of them, holds here and on neither side."""
        if self.single:
            return
        numbers = np.random.default_rng(rng.getrandbits(32))
        direction = {p.name: numbers.uniform(-1.0, 1.0, p.shape) for p in self.wrt}

        def at(step: float) -> float:
            moved = copies(self.given, apart=True)
            for name, d in direction.items():
                moved[name][...] += step * d
            return float(main(*moved.values(), C + step))

        here, step = at(0.0), 1e-6
        coarse, fine = ((at(h) - at(-h)) / (2 * h) for h in (2 * step, step))
        bend = abs(at(step) - 2 * here + at(-step)) / step
        total = float(found["c"]) + sum(float(np.sum(found[name] * d)) for name, d in direction.items())
        size = max(1.0, abs(total))
        if abs(coarse - fine) <= 1e-6 * size and bend <= 1e-2 * size:
            assert abs(total - fine) <= 1e-4 * size, f"along a direction: {total}, differences {fine}"


def _same(a: Any, b: Any) -> bool:
    """The same bits."""
    return bool(np.asarray(a, np.asarray(b).dtype).tobytes() == np.asarray(b).tobytes())


def _where(got: Any, want: Any) -> str:
    """The first elements that differ."""
    got, want = np.asarray(got), np.asarray(want)
    if got.ndim == 0:
        return f"{got!r}, not {want!r}"
    at = np.argwhere((got != want) & ~(np.isnan(got) & np.isnan(want)) | (np.signbit(got) != np.signbit(want)))
    shown = [f"{list(map(int, k))}: {got[tuple(k)]!r}, not {want[tuple(k)]!r}" for k in at[:3]]
    return f"{len(at)} of {got.size}; {'; '.join(shown)}"
