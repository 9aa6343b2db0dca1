"""Thousands of malformed calls in one process: each ends in a Python exception or gives the result of plain Python.

``python tests/safety/malformed.py COUNT SEED`` makes ``COUNT`` calls, and prints ``done`` and how they ended. Calls get
random types, shapes, dtypes, layouts and overlaps; between calls buffers are resized, freed and rewritten, and
pullbacks are called after their inputs have changed.
"""

from __future__ import annotations

import gc
import os
import random
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from adc import jit_grad, prange
from adc.backend import runtime


def total(a):
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i] * a[i]
    return s


def gather(a, idx):
    s = 0.0
    for i in range(idx.shape[0]):
        s += a[idx[i]] * (i + 1)
    return s


def scatter(a, idx, v):
    for i in range(idx.shape[0]):
        a[idx[i]] = a[idx[i]] * 0.5 + v
    return a[0]


def parallel_scatter(a, idx, v):
    for i in prange(idx.shape[0]):
        a[idx[i]] = v * i
    return a[idx[0]]


def stencil(u, v, n):
    for _ in range(n):
        for i in range(1, u.shape[0] - 1):
            v[i] = u[i] + 0.1 * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        for i in range(1, u.shape[0] - 1):
            u[i] = v[i]
    return u[n]


def window(a, lo, hi):
    return np.sum(a[lo:hi] * a[lo:hi]) + a[lo]


def slices(a, b):
    a[1:] += b[:-1] * 2.0
    return np.sum(a)


def plane(a, i, j):
    a[i, j] = a[j, i] + 1.0
    return a[i, j] * a[0, 0]


def integers(a, i, n):
    return a[i % n] * (i // n) + n


def local(n, x):
    w = np.zeros(n)
    for i in range(w.shape[0]):
        w[i] = x * i
    return w[n - 1] + w[0]


def pair(p, x):
    return p[0] * x + p[1]


def returned(a, k):
    return a[k:]


FUNCTIONS: dict[Callable[..., Any], str] = {
    total: "a", gather: "ai", scatter: "aif", parallel_scatter: "aif", stencil: "aan", window: "ann", slices: "aa",
    plane: "mnn", integers: "ann", local: "nf", pair: "tf", returned: "an",
}  # fmt: skip
LEVEL = int(os.environ.get("ADC_LEVEL", "1"))
COMPILED = {f: jit_grad(_level=LEVEL)(f) for f in FUNCTIONS}
DTYPES = ["f8", "f8", "f8", "f4", "i8", "i4", "?", "f2", "g", "F", "D", "O", "M8[s]", "U2", "S1", "u1", ">f8", "i2"]


class Maker:
    """Random arguments. ``kept`` are arrays of earlier calls, which may come again, changed or not."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.kept: list[Any] = []

    def argument(self, kind: str) -> Any:
        rng = self.rng
        if rng.random() < 0.06:
            return self.junk()
        if kind in "nf":
            return self.number(kind)
        if kind == "t":
            return tuple(self.number("f") for _ in range(rng.choice([2, 2, 2, 1, 3, 0])))
        if kind == "i":
            size = rng.choice([0, 1, 3, 8, 40])
            top = rng.choice([3, 8, 20, 2**40])
            low = rng.choice([0, 0, 0, -top])
            dtype = rng.choice(["i8", "i8", "f8"] if top > 2**31 else ["i8", "i4"])
            return self.laid_out(np.array([rng.randrange(low, top) for _ in range(size)], dtype))
        if self.kept and rng.random() < 0.25:
            return rng.choice(self.kept)
        rank = (1 if kind == "a" else 2) if rng.random() < 0.93 else rng.choice([0, 1, 2, 3])
        shape = tuple(rng.choice([0, 1, 2, 3, 5, 8, 17]) for _ in range(rank))
        dtype = "f8" if rng.random() < 0.8 else rng.choice(DTYPES)
        values = np.array([rng.uniform(-2, 2) for _ in range(int(np.prod(shape)))])
        try:
            array = values.reshape(shape).astype(dtype)
        except (TypeError, ValueError):
            array = np.zeros(shape, dtype)
        array = self.laid_out(array)
        if rng.random() < 0.3:
            self.kept = [*self.kept[-20:], array]
        return array

    def laid_out(self, a: Any) -> Any:
        rng, choice = self.rng, self.rng.random()
        if choice < 0.6 or a.dtype.hasobject or not a.ndim:
            return a
        if choice < 0.67:
            return a[::-1]
        if choice < 0.74:
            return np.repeat(a, 2, axis=0)[::2]
        if choice < 0.80:
            return np.asfortranarray(a)
        if choice < 0.84:
            flat = np.zeros(a.nbytes + 1, np.uint8)[1:].view(a.dtype).reshape(a.shape)
            flat[...] = a
            return flat
        if choice < 0.88:
            return np.broadcast_to(a[:1], (rng.choice([0, 1, 4]), *a.shape[1:])) if a.shape[0] else a
        if choice < 0.91:
            a = a.copy()
            a.flags.writeable = False
            return a
        if choice < 0.93 and a.size > 4:
            return as_strided(a, (a.shape[0] // 2, *a.shape[1:]), (0, *a.strides[1:]))
        if choice < 0.95:
            return a.view(np.memmap)
        if choice < 0.97:
            return np.ma.masked_array(a, np.zeros(a.shape, bool))
        return a.astype(a.dtype.newbyteorder())

    def number(self, kind: str) -> Any:
        rng = self.rng
        if kind == "n" and rng.random() < 0.75:
            return rng.choice([0, 1, 2, 3, 3, 5, 7, -1, -2, -3, 17, 100, np.int64(2), np.int32(3)])
        return rng.choice(
            [0.5, -1.25, 2, True, float("nan"), float("inf"), np.float64(1.5), np.float32(0.25), np.int64(-2), 2**40,
             2**63, -(2**63) - 1, 2**64, 10**30, np.float16(1), np.longdouble(2), 1j, np.array(1.5), np.array(3), None]
        )  # fmt: skip

    def junk(self) -> Any:
        return self.rng.choice(
            [None, "text", b"bytes", [1.0, 2.0], {}, {1.0}, object(), 1.5, 3, (), (1.0, (2.0, np.ones(3))), np, print,
             range(4), slice(1), ..., memoryview(np.ones(3)), bytearray(3), np.matrix, np.float64, lambda x: x, 1j,
             np.zeros((2, 2, 2)), np.zeros(3, "i1, f8"), np.ma.masked, float("nan")]
        )  # fmt: skip

    def disturb(self) -> None:
        """Change what was kept: contents, sizes, memory."""
        for a in list(self.kept):
            choice = self.rng.random()
            if choice < 0.1 and a.flags.writeable and a.dtype.kind in "fi":
                a[...] = self.rng.randrange(3)
            elif choice < 0.2 and a.flags.owndata and a.ndim and isinstance(a, np.ndarray):
                try:
                    a.resize(tuple(self.rng.choice([0, 1, 6]) for _ in a.shape), refcheck=False)
                except ValueError:
                    pass
            elif choice < 0.25:
                self.kept = [b for b in self.kept if b is not a]
        if self.rng.random() < 0.05:
            gc.collect()
            runtime.release_memory()


def truth(f: Callable[..., Any], args: list[Any]) -> tuple[Any, list[Any]] | BaseException | None:
    """The result of plain Python and the arguments after it, or what it raised; None if nobody can tell."""
    arrays = [a for a in args if isinstance(a, np.ndarray)]
    for k, a in enumerate(arrays):
        for b in arrays[:k]:
            if a is not b and np.may_share_memory(a, b):
                return None
    memo: dict[int, Any] = {}
    given = [_copy(a, memo) for a in args]
    try:
        with np.errstate(all="ignore"):
            return f(*given), given
    except Exception as error:
        return error


def _copy(a: Any, memo: dict[int, Any]) -> Any:
    if not isinstance(a, np.ndarray):
        return a
    if id(a) not in memo:
        memo[id(a)] = made = a.copy()
        made.flags.writeable = a.flags.writeable
    return memo[id(a)]


def same(mine: Any, theirs: Any, loose: bool) -> bool:
    if theirs is None or mine is None:
        return mine is theirs
    m, t = np.asarray(mine), np.asarray(theirs)
    tolerance = 1e-4 if loose else 1e-9
    with np.errstate(all="ignore"):
        return m.shape == t.shape and bool(np.allclose(m, t, rtol=tolerance, atol=tolerance, equal_nan=True))


def call(f: Callable[..., Any], args: list[Any], rng: random.Random, backs: list[Any]) -> str:
    """One call; how it ended."""
    compiled: Any = COMPILED[f]
    way = rng.choice(["call", "call", "call", "grad", "pullback"])
    if rng.random() < 0.04:
        args = args[:-1] if rng.random() < 0.5 else [*args, 1.0]
    keywords = {"nothing": 1} if rng.random() < 0.02 else {}
    expected = truth(f, args) if way == "call" and not keywords else None
    loose = any(getattr(a, "dtype", None) in (np.float32, np.float16) for a in args)
    try:
        if way == "grad":
            compiled.grad(*args, **keywords)
            return "a gradient"
        if way == "pullback":
            backs.append(compiled.pullback(*args, **keywords)[1])
            return "a pullback"
        result = compiled(*args, **keywords)
    except Exception as error:
        return f"{way}: {type(error).__name__}"
    if isinstance(expected, BaseException):
        raise AssertionError(f"plain Python raises {expected!r}, compiled code returns {result!r}")
    if expected is not None:
        assert same(result, expected[0], loose), f"{result!r}, not {expected[0]!r}"
        for mine, theirs in zip(args, expected[1], strict=True):
            if isinstance(theirs, np.ndarray):
                assert same(mine, theirs, loose), f"afterwards {mine!r}, not {theirs!r}"
    return "the right answer"


def main(count: int, seed: int) -> None:
    rng = random.Random(seed)
    maker = Maker(rng)
    backs: list[Any] = []
    ends: Counter[str] = Counter()
    for number in range(count):
        f = rng.choice(list(FUNCTIONS))
        args = [maker.argument(kind) for kind in FUNCTIONS[f]]
        if f is stencil and isinstance(args[2], int) and args[2] > 1000:
            args[2] = 3  # as many steps would take for ever
        shown = f"{f.__name__}({', '.join(_shown(a) for a in args)})"
        try:
            ends[call(f, args, rng, backs)] += 1
        except AssertionError as error:
            print(f"call {number} of seed {seed}: {shown}\n{error}", flush=True)
            sys.exit(1)
        maker.disturb()
        if backs and rng.random() < 0.3:
            try:
                rng.choice(backs)(rng.choice([1.0, 0.5, None, "x", np.ones(2), (1.0, 2.0)]))
                ends["pulled back"] += 1
            except Exception as error:
                ends[f"back: {type(error).__name__}"] += 1
        del backs[:-10]
    print("\n".join(f"{n:6} {end}" for end, n in ends.most_common()))
    print("done")


def _shown(a: Any) -> str:
    if isinstance(a, np.ndarray):
        return f"{type(a).__name__} {a.dtype}{a.shape} strides {a.strides} {a.tolist() if a.size < 20 else ''}"
    return repr(a)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
