"""Random time loops of stencils: several fields in one or two dimensions, in place or with swapped buffers."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

NAMES = ("u", "p", "q")


@dataclass
class Steps:
    """A program with ``main(u0, c, w, data, steps)``, and arguments for it."""

    text: str
    args: list[Any]


@dataclass
class _Writer:
    rng: random.Random
    rank: int
    lines: list[str] = field(default_factory=list)
    carried: list[str] = field(default_factory=list)  # what the step ends with

    def emit(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def offset(self, radius: int) -> int:
        return self.rng.randint(-radius, radius)

    def element(self, name: str, row: int | str, column: int = 0) -> str:
        """An element at a distance from the loops' own; ``row`` may be a subscript."""
        i = row if isinstance(row, str) else _plus("i", row)
        return f"{name}[{i}, {_plus('j', column)}]" if self.rank == 2 else f"{name}[{i}]"

    def terms(self, sources: list[str], radius: int) -> tuple[str, int, int, int]:
        """A sum of some elements, how far up, down and sideways it reaches."""
        rows, columns, parts = [0], [0], []
        for _ in range(self.rng.randint(1, 4)):
            row, column = self.offset(radius), self.rng.randint(-1, 1)
            rows.append(row)
            columns.append(column)
            factor = self.rng.choice(("0.11 * ", "-0.07 * ", "c * ", "-c * "))
            if self.rng.random() < 0.3:
                factor += self.element("w", 0) + " * "
            parts.append(factor + self.element(self.rng.choice(sources), row, column))
        return " + ".join(parts), min(rows), max(rows), max(map(abs, columns))

    def loop(self, target: str, sources: list[str], radius: int, *, old: str, nonlinear: bool) -> None:
        """A statement over points."""
        text, low, high, aside = self.terms(sources, radius)
        low, high = low - self.rng.randint(0, 1), high + self.rng.randint(0, 1)
        here = self.element(target, 0)
        if nonlinear:
            first = self.element(self.rng.choice(sources), 0)
            text += f" + 0.05 * {first} * {first}"
        text = text if old == "none" else f"{self.element(target if old == 'own' else old, 0)} + {text}"
        self.emit(2, f"for i in {self.rng.choice(('range', 'range', 'prange'))}({-low}, n - {high}):")
        if self.rank == 2:
            self.emit(3, f"for j in range({aside}, m - {aside}):")
        self.emit(2 + self.rank, f"{here} = {text}")

    def border(self, name: str) -> None:
        """Rows at the border, one or two."""
        near = [("0", "1"), ("n - 1", "n - 2"), ("1", "3"), ("n - 1", "n - 3"), ("n // 2", "n // 2 + 1")]
        if self.rng.random() < 0.1:
            near.append(("0", "n - 1"))
        pairs = self.rng.sample(near, self.rng.randint(1, 2))
        if self.rank == 2:
            self.emit(2, "for j in range(m):")
        for mine, other in pairs:
            factor = self.rng.choice(("", "0.9 * ", "-"))
            self.emit(1 + self.rank, f"{self.element(name, mine)} = {factor}{self.element(name, other)}")

    def source(self, name: str) -> None:
        at = self.rng.choice(("n // 2", "0", "n - 1", "1"))
        self.emit(2, f"{name}[{at}{', m // 2' if self.rank == 2 else ''}] += data[t] * phase")


def _plus(name: str, number: int) -> str:
    return name if not number else f"{name} {'+' if number > 0 else '-'} {abs(number)}"


def generate(rng: random.Random) -> Steps:
    rank = rng.choice((1, 2, 2))
    write = _Writer(rng, rank)
    radius = rng.choice((1, 1, 1, 2, 3, 4))
    count = rng.randint(1, 3)
    names = list(NAMES[:count])
    points = rng.random() < 0.6  # whether there are statements for single rows
    rows = rng.choice((4, 5, 9, 24, 40, 61) if points else (0, 1, 2, 3, 5, 9, 24, 40, 61))
    shape = (rows, rng.choice((1, 3, 6)))[:rank]
    steps = rng.choice((0, 1, 2, 3, 5, 7, 8))
    write.emit(0, "import math")
    write.emit(0, "import numpy as np")
    write.emit(0, "from adc import prange")
    write.emit(0, "")
    write.emit(0, "def main(u0, c, w, data, steps):")
    write.emit(1, "n, m = u0.shape" if rank == 2 else "n = u0.shape[0]")
    for name in names:
        start = rng.choice(("u0.copy()", "0.5 * u0", "np.zeros_like(u0)"))
        write.emit(1, f"{name} = {'u0.copy()' if name == 'u' else start}")
    swapped = [name for name in names if rng.random() < 0.6]
    rolled = "u" if "u" in swapped and rng.random() < 0.25 else None
    for name in swapped:
        write.emit(1, f"{name}1 = {rng.choice(('u0.copy()', '0.3 * u0'))}")
    if rolled:
        write.emit(1, "u2 = u0.copy()")
    write.emit(1, "phase = 1.0")
    write.emit(1, "total = 0.0")
    write.emit(1, "for t in range(steps):")
    for name in names:
        others = [o for o in names if o != name] or ([name] if name in swapped else [])
        if name in swapped:
            sources = [name, *(o for o in others if rng.random() < 0.5)]
            old = rng.choice(("none", name, "own"))
            write.loop(f"{name}1", sources, radius, old=old, nonlinear=rng.random() < 0.25)
        elif others:
            write.loop(name, others, radius, old="own", nonlinear=rng.random() < 0.25)
        else:
            write.loop(name, ["w"], radius, old="own", nonlinear=False)
    changed = [f"{n}1" if n in swapped else n for n in names]
    for _ in range(rng.randint(0, 2) if points else 0):
        rng.choice((write.border, write.source))(rng.choice(changed))
    for name in swapped:
        if name == rolled:
            write.emit(2, "u, u1, u2 = u1, u2, u")
        else:
            write.emit(2, f"{name}, {name}1 = {name}1, {name}")
    if rng.random() < 0.4:
        write.emit(2, "phase = phase * 0.9")
    if points and rng.random() < 0.4:
        at = rng.choice(("n // 2", "0"))
        write.emit(2, f"total += (u[{at}{', 0' if rank == 2 else ''}] - data[t]) ** 2")
    write.emit(1, "return total + " + " + ".join(f"np.sum({name} * {name})" for name in names))
    numbers = np.random.default_rng(rng.randrange(1 << 30))
    args = [numbers.random(shape), 0.1, numbers.random(shape), numbers.random(max(steps, 1)), steps]
    return Steps("\n".join(write.lines) + "\n", args)
