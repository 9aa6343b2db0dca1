"""One random stencil program against plain Python, differences, the interpreter, and other numbers of threads."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

import adc
from adc import jit_grad
from adc.backend.calls.abi import Signature
from adc.backend.lowering import parallel
from adc.backend.runtime import on_threads
from adc.driver import specialise
from adc.driver.compiler import Staged, compile_functions
from adc.functions import pullback_code
from adc.ir.core import Module
from adc.passes.cache import tile_loops
from adc.passes.choices import Tiles
from adc.passes.stencil_adjoints import blocks, tiles
from tests.fuzz.check import Subject, Verdict, loaded
from tests.fuzz.oracle import SHORT_STEP, lengthen
from tests.fuzz.params import name_of
from tests.stencils.generator import Program, generate

THREADS = (1, 2, 3, 4, 8)


@contextmanager
def threads_at_once(block: int) -> Iterator[None]:
    """What is compiled meanwhile runs loops on threads however short they are; 0 for blocks as long as they are."""
    with mock.patch.object(parallel, "work", lambda e, loop: "1.0e9"):
        if not block:
            yield
            return
        with mock.patch.object(parallel, "block_iterations", lambda e, loop: block):
            yield


@contextmanager
def small_pieces() -> Iterator[None]:
    """What is compiled meanwhile cuts loops into tiles and blocks of a few iterations."""
    with ExitStack() as patches:
        patches.enter_context(mock.patch.object(tile_loops, "GRAIN", 1))
        for module, names in ((tiles, ("TILE", "SMALL_TILE")), (blocks, ("LENGTH", "SHORT"))):
            for name, value in zip(names, ({1: 4, 2: 3}, 2), strict=True):
                patches.enter_context(mock.patch.object(module, name, value))
        yield


class Twofold:
    """What is compiled meanwhile is native and interpreted, of the same IR: ``interpreting`` says which runs."""

    def __init__(self, level: int) -> None:
        self.level = level
        self.interpreting = False

    def __enter__(self) -> Twofold:
        self.patches = ExitStack()
        for module in (specialise, pullback_code):
            self.patches.enter_context(mock.patch.object(module, "compile_functions", self._compile))
        return self

    def __exit__(self, *_: object) -> None:
        self.patches.close()

    def _compile(self, staged: Staged, module: Module, signatures: Sequence[Signature], miss: Any) -> list[Any]:
        made = []
        for engine in ("interpreter", "native"):
            options = replace(staged.subject.options, engine=engine, level=self.level)
            with mock.patch.object(staged.subject, "options", options):
                made.append(compile_functions(staged, module, signatures, miss))
        return [self._either(*pair) for pair in zip(*made, strict=True)]

    def _either(self, interpreted: Any, native: Any) -> Any:
        return lambda *arguments: (interpreted if self.interpreting else native)(*arguments)


def check(
    seed: int,
    *,
    rng: random.Random | None = None,
    small: bool = False,
    level: int | None = None,
) -> Verdict:
    """Generate a program and check it. Raises ``AssertionError`` (or what went wrong), with the program's text.

    One seed in four is compiled with all of LLVM's optimisations, the others with few.
    """
    rng = rng or random.Random(seed)
    program = generate(rng, small=small)
    if level is None:
        level = 3 if seed % 4 == 0 else seed % 2
    block = rng.choice((0, 1, 2, 3))
    kind = rng.choice(("auto", "auto", "gather", "rows", "blocks", "blocks", "private"))
    tile = rng.choice((True, (1,), (2,), (3, 2), (2, 5), (64, 1)))
    try:
        with small_pieces() if rng.random() < 0.7 else nullcontext():
            return Stencil(program, level, block, kind, tile).check(rng)
    except Exception as error:
        shown = [f"{leaf.dtype}{leaf.shape}" if isinstance(leaf, np.ndarray) else leaf for leaf in program.leaves]
        chosen = f"level {level}, {kind}, blocks of {block}, tiles {tile}"
        error.add_note(f"seed {seed}, {chosen}\narguments {shown}\n{program.text}")
        raise


class Stencil(Subject):
    """A program with its arguments; ``block`` is how many iterations a thread takes at least, ``kind`` how shadows are
    to be added to, ``tile`` how nests are cut for the cache."""

    step = SHORT_STEP

    def __init__(self, program: Program, level: int, block: int, kind: str, tile: Tiles) -> None:
        # Other callables than those of the interpreter's engine would not stand for it.
        super().__init__(program, program.leaves, jit_grad(_engine="interpreter", accumulate=kind, tile=tile))
        self.block = block
        self.engines = Twofold(level)

    def check(self, rng: random.Random) -> Verdict:
        expected = self.oracle.run_plain(self.leaves)
        exact = self.oracle.run(lengthen(self.leaves))
        with loaded(self.text) as names, threads_at_once(self.block), on_threads(2), self.engines:
            function = self.jit(names["main"])
            if expected.error is not None:
                self._fails(function, names, expected)
                return Verdict(skipped="raises")
            if not math.isfinite(expected.result):
                return Verdict(skipped="not finite")
            outcome = self._on_any_threads(function, names, random.Random(rng.random()))
            if 0.0 < exact.trail.margin < self.close:
                return Verdict(skipped="a decision is too close")
            self._interpreted(function, names, outcome)
            self._follows(outcome[0], expected.result, "the value")
            self._compare(outcome[1], expected.after, "after the call")
            # A tie that lasts along a direction is no obstacle; one that does not is found there.
            return self._derivatives(function, names, exact, rng)

    def _outcome(self, function: Any, names: dict[str, Any], rng: random.Random) -> list[Any]:
        """The value, arguments afterwards, gradients, pullback: in this order."""
        given = self._given(names)
        value = function(*given)
        wrt = self._wrt()
        both = adc.value_and_grad(function, argnums=wrt)(*self._given(names))
        handed = self._given(names)
        result, back = function.pullback(*handed)
        weights = self._final(self._weights(rng))
        return [value, given, both, result, handed, back(rng.uniform(0.5, 1.5), final=weights)]

    def _on_any_threads(self, function: Any, names: dict[str, Any], rng: random.Random) -> list[Any]:
        """What comes out, which has the same bits on any number of threads."""
        self.state = rng.getstate()
        found: list[Any] = []
        for count in THREADS:
            rng.setstate(self.state)
            with on_threads(count):
                outcome = self._outcome(function, names, rng)
            found = found or outcome
            for what, mine, first in zip(_OUTCOME, outcome, found, strict=True):
                assert bits(mine) == bits(first), f"{what} on {count} threads: {mine}, not {first} as on one"
        return found

    def _interpreted(self, function: Any, names: dict[str, Any], outcome: list[Any]) -> None:
        rng = random.Random()
        rng.setstate(self.state)
        self.engines.interpreting = True
        by_interpreter = self._outcome(function, names, rng)
        self.engines.interpreting = False
        for what, mine, truth in zip(_OUTCOME, outcome, by_interpreter, strict=True):
            self._compare(mine, truth, f"{what} by the interpreter")

    def _compare(self, found: Any, truth: Any, what: str) -> None:
        """Up to rounding, relative to the largest element."""
        if isinstance(truth, tuple | list):
            for k, (mine, theirs) in enumerate(zip(found, truth, strict=True)):
                label = name_of(self.params[k]) if len(truth) == len(self.params) else k
                self._compare(mine, theirs, f"{what}, {label}")
        elif truth is None:
            assert found is None, f"{what}: {found}, not None"
        else:
            self._follows(found, truth, what)

    def _follows(self, found: Any, truth: Any, what: str) -> None:
        mine, theirs = np.asarray(found, float), np.asarray(truth, float)
        assert mine.shape == theirs.shape, f"{what}: shape {mine.shape}, not {theirs.shape}"
        scale = max(1.0, float(np.max(np.abs(theirs), initial=0.0)))
        assert np.all(np.abs(mine - theirs) <= self.tolerance * scale), f"{what}: {found}, not {truth}"


_OUTCOME = (
    "the value",
    "an argument afterwards",
    "the value with the gradient, or the gradient",
    "the value of the pullback",
    "an argument after the pullback",
    "the pullback",
)


def bits(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [bits(v) for v in value]
    return None if value is None else (np.asarray(value).dtype, np.asarray(value).shape, np.asarray(value).tobytes())
