"""Many random stencil programs through ``adc.distribute``, on one to six ranks: ``python -m tests.ranks.stencils``.

Prints failures with their seeds, and how many programs were refused, by message. One seed again:
``python -m tests.ranks.stencils --first SEED --programs 1``.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np

import adc
from adc import errors, jit_grad, mpi
from tests import many
from tests.fuzz.check import Verdict, loaded
from tests.fuzz.params import Arr
from tests.stencils import steps
from tests.stencils.generator import generate

COUNTS = (2, 3, 4, 6)
TOLERANCE = 1e-9
REFUSED = ("each rank would need", "the same loop computes", "cannot be told", "is too small to be", "whole arrays")


def layouts(count: int, shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Along one axis, and along two if there are so many, and the second has more than one element."""
    rest = [1] * (len(shape) - 1)
    found = [(count, *rest)]
    if len(shape) > 1 and count % 2 == 0 and shape[1] > 1:
        found.append((2, count // 2, *rest[1:]))
    return found


def check(seed: int, *, small: bool = False, counts: tuple[int, ...] = COUNTS) -> Verdict:
    """Value and gradient on one rank follow those of the function, and have the same bits on several.

    Raises ``AssertionError`` (or what went wrong), with the program's text. What is refused is skipped, and says so.

    One program in three is a time loop of several fields.
    """
    rng = random.Random(seed)
    if seed % 3 == 0:
        text, leaves = (made := steps.generate(rng)).text, made.args
        wrt: tuple[int, ...] = (0, 1, 2, 3)
        shape = leaves[0].shape
    else:
        program = generate(rng, small=small)
        text, leaves = program.text, program.leaves
        arrays = [k for k, p in enumerate(program.params) if isinstance(p, Arr) and not p.ints]
        wrt = tuple(k for k, p in enumerate(program.params) if k in arrays or isinstance(p, str))
        shape = leaves[arrays[0]].shape
    try:
        return _check(text, leaves, wrt, shape, counts)
    except Exception as error:
        shown = [f"{leaf.dtype}{leaf.shape}" if isinstance(leaf, np.ndarray) else leaf for leaf in leaves]
        error.add_note(f"seed {seed}\narguments {shown}\n{text}")
        raise


def _check(text: str, leaves: list[Any], wrt: tuple[int, ...], shape: tuple[int, ...], counts: Any) -> Verdict:
    with loaded(text) as names:
        if 0 in shape:
            return Verdict(skipped="no elements")
        function = jit_grad(argnums=wrt)(names["main"])
        with np.errstate(all="ignore"):
            try:
                plain = names["main"](*_copies(leaves))
            except Exception as error:
                return Verdict(skipped=f"raises {type(error).__name__}")
        if not np.isfinite(plain):
            return Verdict(skipped="not finite")
        value, gradient = function.value_and_grad(*_copies(leaves))
        one = _on(1, (1,) * len(shape), function, leaves, shape)
        _follows(one[0], value, "the value on one rank")
        _follows(one[1], gradient, "the gradient on one rank")
        same = bits(one) == bits((value, gradient))
        for count in counts:
            for ranks in layouts(count, shape):
                try:
                    found = _on(count, ranks, function, leaves, shape)
                except errors.CompileTypeError as error:
                    if error.kind != "not-distributed":
                        raise
                    return Verdict(skipped=f"refused: {error.message}")
                except ValueError as error:
                    if not any(text in str(error) for text in REFUSED):
                        raise
                    return Verdict(skipped=f"refused at run time: {error}")
                assert bits(found) == bits(one), f"on {ranks} ranks {found}, not {one}"
        return Verdict(checked=1) if same else Verdict(skipped="right, but other bits than the function's")


def _on(count: int, ranks: tuple[int, ...], function: Any, leaves: list[Any], shape: tuple[int, ...]) -> Any:
    def run() -> Any:
        grid = adc.Grid(shape, ranks)
        return _whole(grid, adc.distribute(function, grid, replicate=True).value_and_grad(*_copies(leaves)))

    found = mpi.simulate(count, run)
    assert all(bits(each) == bits(found[0]) for each in found), f"ranks of {ranks} have different results: {found}"
    return found[0]


def _copies(leaves: list[Any]) -> list[Any]:
    return [leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in leaves]


def _whole(grid: adc.Grid, x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(_whole(grid, each) for each in x)
    return grid.gather(x) if isinstance(x, adc.Field) else x


def bits(x: Any) -> Any:
    return tuple(map(bits, x)) if isinstance(x, tuple) else np.asarray(x).tobytes()


def _follows(found: Any, truth: Any, what: str) -> None:
    if isinstance(truth, tuple):
        for k, pair in enumerate(zip(found, truth, strict=True)):
            _follows(*pair, f"{what}, {k}")
        return
    mine, theirs = np.asarray(found, float), np.asarray(truth, float)
    scale = max(1.0, float(np.max(np.abs(theirs), initial=0.0)))
    tolerance = 1e-4 if np.asarray(truth).dtype == np.float32 else TOLERANCE
    near = mine.shape == theirs.shape and np.all(np.abs(mine - theirs) <= tolerance * scale)
    assert near, f"{what}: {found}, not {truth}"


if __name__ == "__main__":
    sys.exit(many.run(check, many.parser(__doc__, 200).parse_args(), report=50))
