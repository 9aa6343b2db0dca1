"""Arguments of random array programs: shapes, layouts in memory, numbers, and elements that no program may read."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
SHORTEST, LONGEST = 9, 5_000
LAYOUTS = ("c", "c", "c", "step", "back", "fortran", "window")


@dataclass(frozen=True)
class Param:
    """An array parameter. ``kind``: ``"float"``, ``"index"`` (subscripts along the first axis), ``"mask"`` or
    ``"hazard"``: floats that are NaN or infinite wherever the mask ``ok`` is False. ``written``: the program stores in
    it."""

    name: str
    shape: tuple[int, ...]
    kind: str = "float"
    dtype: str = "float64"
    layout: str = "c"
    written: bool = False

    @property
    def differentiable(self) -> bool:
        return self.kind in ("float", "hazard")


def shape(rng: random.Random) -> tuple[int, ...]:
    """Some 9 to 5,000 elements in one to three dimensions."""
    rank = rng.choice((1, 1, 1, 1, 2, 2, 3))
    if rank == 1:
        return (_length(rng, LONGEST),)
    short = tuple(rng.randint(3, 9 if rank == 2 else 6) for _ in range(rank - 1))
    last = _length(rng, max(SHORTEST, 2_000 // int(np.prod(short))))
    return (*short, last) if rng.random() < 0.7 else (last, *short)


def _length(rng: random.Random, most: int) -> int:
    """Around powers of two and multiples of 48 (vectors, blocks of vectors), or anything."""
    kind = rng.randint(0, 2)
    if kind == 0:
        length = 2 ** rng.randint(3, 12) + rng.randint(-2, 2)
    elif kind == 1:
        length = 48 * rng.choice((1, 1, 2, 2, 3, 5, 8, 21, 43, 104)) + rng.randint(-1, 1)
    else:
        length = round(SHORTEST * (LONGEST / SHORTEST) ** rng.random())
    while length > most:
        length = length // 2 + rng.randint(0, 1)
    return max(SHORTEST, length)


def values(params: tuple[Param, ...], rng: random.Random) -> dict[str, Array]:
    """An array for each parameter, in its layout. Windows are parts of one array that overlap."""
    numbers = np.random.default_rng(rng.getrandbits(32))
    found: dict[str, Array] = {}
    ok = numbers.random(params[0].shape) < 0.7
    for p in params:
        if p.kind == "mask":
            found[p.name] = ok
        elif p.kind == "index":
            found[p.name] = numbers.integers(0, p.shape[0], p.shape).astype(p.dtype)
        else:
            found[p.name] = numbers.uniform(-1.0, 1.0, p.shape).astype(p.dtype)
        if p.kind == "hazard":
            found[p.name] = np.abs(found[p.name]) + found[p.name].dtype.type(0.5)
            bad = numbers.choice([np.nan, np.inf, -np.inf, 0.0], p.shape).astype(p.dtype)
            found[p.name][~ok] = bad[~ok]
    shared: Array | None = None
    for p in params:
        if p.layout == "window":
            # All windows of a program lie on one array, each some elements after the one before.
            size, dtype = int(np.prod(p.shape)), np.dtype(p.dtype)
            if shared is None:
                shared = numbers.uniform(-1.0, 1.0, size + 12).astype(dtype)
            offset = rng.randint(0, 12)
            found[p.name] = shared[offset : offset + size].reshape(p.shape)
        else:
            found[p.name] = _laid_out(found[p.name], p.layout)
    return found


def _laid_out(a: Array, layout: str) -> Array:
    """The same elements: every second of a row, backwards, or columns first."""
    if layout == "step":
        wide = np.full((*a.shape[:-1], 2 * a.shape[-1]), 7, a.dtype)
        wide[..., ::2] = a
        return wide[..., ::2]
    if layout == "back":
        return a[..., ::-1].copy()[..., ::-1]
    return np.asfortranarray(a) if layout == "fortran" else a


def copies(given: dict[str, Array], *, apart: bool = False) -> dict[str, Array]:
    """The same arrays in other memory with the same strides; ``apart``: windows become arrays of their own."""
    found: dict[str, Array] = {}
    shared: dict[int, Array] = {}
    for name, a in given.items():
        base = a
        while isinstance(base.base, np.ndarray):
            base = base.base
        if apart:
            found[name] = _alone(a)
            continue
        twin = shared.setdefault(id(base), base.copy(order="K"))
        offset = a.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        memory = twin if twin.flags.c_contiguous else twin.T
        found[name] = np.ndarray(a.shape, a.dtype, memory.data, offset, a.strides)
    return found


def _alone(a: Array) -> Array:
    """A copy in memory of its own, with the same strides."""
    reach = [(n - 1) * step for n, step in zip(a.shape, a.strides, strict=True)]
    before = -sum(min(r, 0) for r in reach)
    memory = np.zeros(before + sum(max(r, 0) for r in reach) + a.itemsize, np.uint8)
    twin = np.ndarray(a.shape, a.dtype, memory.data, before, a.strides)
    twin[...] = a
    return twin
