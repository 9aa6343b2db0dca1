"""Random stencil programs: loops and slices over one to four dimensions, with boundaries, in place, in time loops.

Every program is well-behaved by construction: weights of a stencil sum to about one, nonlinear terms are bounded, loops
are short. All choices come from one ``random.Random``.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.fuzz.params import Spec, name_of
from tests.stencils.grids import COUNTERS, EXTENTS, Field
from tests.stencils.irregular import Irregular
from tests.stencils.points import LIMITERS

HEAD = """import math

import numpy as np

from adc import prange
"""


@dataclass(frozen=True)
class Program:
    """``text`` defines ``main``. ``params`` are its parameters, in order, and ``leaves`` their values."""

    text: str
    params: tuple[Spec, ...]
    leaves: list[Any]


class Generator(Irregular):
    """Makes one program; ``small`` ones have few points."""

    def __init__(self, rng: random.Random, *, small: bool = False) -> None:
        super().__init__(rng)
        self.small = small

    def program(self) -> Program:
        self._sizes()
        self.single = self.chance(0.15)
        u = self.new_field()
        for name in ("x", "y")[: self.rng.randint(0, 2)]:
            self.scalars.append(self.number(name))
        for _ in range(self.rng.randint(1, 3)):
            self.new_field(self._staggered() if self.chance(0.2) else None, fixed=self.chance(0.3))
        if len([f for f in self.fields if not f.fixed and max(f.more) == 0]) < 2:
            self.new_field()
        with self.apart() as lines:
            for _ in range(self.rng.randint(1, 3)):
                if self.chance(0.5):
                    self._in_time(1)
                else:
                    self.kernel(1)
            total = self._result(1)
        parameters = ", ".join(name_of(p) for p in self.params)
        size = f"{', '.join(EXTENTS[: self.rank])} = {u.name}.shape"
        if self.rank == 1:
            size = self.rng.choice((f"n = len({u.name})", f"n = {u.name}.shape[0]"))
        main = [f"def main({parameters}):", f"    {size}", *lines, f"    return {total}", ""]
        text = "\n\n".join([HEAD, *(LIMITERS[name] for name in self.helpers), "\n".join(main)])
        if self.single:
            text = text.replace("math.", "np.")  # those of math return Python's floats, which are doubles
        if self.rank == 1 and "prange" not in "\n".join(main) and self.chance(0.1):
            self._overlap()
        return Program(text, tuple(self.params), self.leaves)

    def _sizes(self) -> None:
        rank = self.rng.choices((1, 2, 3, 4), (40, 35, 17, 8))[0]
        self.radius = self.rng.choice({1: (1, 1, 2, 3, 4, 5, 6, 7, 8), 2: (1, 1, 2, 3), 3: (1, 1, 2), 4: (1,)}[rank])
        least = 2 * self.radius + 1
        if self.chance(0.35):
            self.shape = tuple(self.rng.randint(0, min(least + 3, 40 // rank)) for _ in range(rank))
            if 0 in self.shape and self.chance(0.5):
                self.shape = tuple(max(1, n) for n in self.shape)
            return
        most = {1: 24, 2: 7, 3: 4, 4: 3}[rank] if self.small else {1: 40, 2: 11, 3: 6, 4: 4}[rank]
        shape = [self.rng.randint(min(least, most), most) for _ in range(rank)]
        if not self.small and self.chance(0.25):
            shape[-1] = self.rng.randint(40, {1: 300, 2: 80, 3: 50, 4: 40}[rank])
        self.shape = tuple(shape)

    def _staggered(self) -> tuple[int, ...]:
        """One more or one fewer point in one dimension, or in all."""
        by = self.rng.choice((1, 1, -1))
        if self.chance(0.3):
            return (by,) * self.rank
        d = self.rng.randrange(self.rank)
        return tuple(by if k == d else 0 for k in range(self.rank))

    # Statements -------------------------------------------------------------------------------------------------------

    def kernel(self, indent: int) -> None:
        kinds: list[tuple[int, Callable[[int], None]]] = [
            (10, self.apply),
            (3, self.sweep),
            (2, self.recurrence),
            (1, self.tridiagonal),
            (2, self.fluxes),
            (2, self.edges),
            (1, self.restriction),
            (1, self.prolongation),
            (1, self.red_black),
            (2, self.ghosts),
            (1, self.receivers),
            (1, self.sources),
            (1, self.mesh),
            (1, self.streaming),
            (2, self.buffers),
        ]
        self.rng.choices([write for _, write in kinds], [weight for weight, _ in kinds])[0](indent)

    def buffers(self, indent: int) -> None:
        """A new array, or whole arrays copied and added."""
        u, v = self.rng.choice(self.fields), self.mutable()
        if u.more == v.more and u.name != v.name and self.chance(0.6):
            self.emit(indent, self.rng.choice(
                (f"{v.name}[:] = {u.name}", f"{v.name} += 0.3 * {u.name}", f"{v.name} -= 0.2 * np.sin({u.name})")
            ))  # fmt: skip
            return
        name = self.fresh("w")
        self.emit(indent, self.rng.choice((f"{name} = {u.name}.copy()", f"{name} = 0.5 * {u.name}")))
        if indent == 1:
            self.fields.append(Field(name, u.more))

    def _in_time(self, indent: int) -> None:
        """A time loop, perhaps with buffers that change places."""
        if all(name_of(p) != "steps" for p in self.params):
            self.integer("steps", self.rng.choice((0, 1, 2, 3, 4)) if not self.small else self.rng.choice((1, 2, 3)))
        known = len(self.scalars)
        with self.apart() as body:
            self.steps = "t"
            if self.chance(0.3):
                self._step_size(indent + 1)
            for _ in range(self.rng.randint(1, 3)):
                self.kernel(indent + 1)
            self.steps = ""
            if self.chance(0.45):
                self._swap(indent + 1)
        del self.scalars[known:]
        self.emit(indent, "for t in range(steps):")
        self.lines += body

    def _step_size(self, indent: int) -> None:
        """By the largest value on the grid."""
        u = self.rng.choice(self.fields)
        name = self.fresh("top")
        self.emit(indent, f"{name} = 0.0")
        for d in range(self.rank):
            self.emit(indent + d, f"for {COUNTERS[d]} in range({u.name}.shape[{d}]):")
        self.emit(indent + self.rank, f"{name} = max({name}, abs({u.name}[{', '.join(COUNTERS[: self.rank])}]))")
        self.scalars.append(self._tamed(indent, name))

    def _swap(self, indent: int) -> None:
        alike: dict[tuple[int, ...], list[str]] = {}
        for f in self.fields:
            if not f.fixed:
                alike.setdefault(f.more, []).append(f.name)
        names = self.rng.choice(list(alike.values()))
        if len(names) < 2:
            return
        chosen = self.rng.sample(names, min(len(names), self.rng.randint(2, 3)))
        self.emit(indent, f"{', '.join(chosen)} = {', '.join([*chosen[1:], chosen[0]])}")

    def _result(self, indent: int) -> str:
        """Statements that sum something up, and the text of the result."""
        terms = [*self.scalars]
        for f in self.rng.sample(self.fields, min(len(self.fields), self.rng.randint(1, 3))):
            kind = self.rng.randrange(6 if 0 not in self.shape and min(self.shape) > 1 else 5)
            if kind == 0:
                terms.append(f"np.sum({f.name} * {f.name})")
            elif kind == 1:
                terms.append(f"np.sum(np.sin({f.name}))")
            elif kind == 5:
                terms.append(self.rng.choice((f"np.max({f.name})", f"np.min({f.name})")))
            else:
                name = self.fresh("r")
                self.emit(indent, f"{name} = 0.0")
                call = "prange" if self.chance(0.3) else "range"
                for d in range(self.rank):
                    text = f"{call if d == 0 else 'range'}({f.name}.shape[{d}])"
                    self.emit(indent + d, f"for {COUNTERS[d]} in {text}:")
                here = f"{f.name}[{', '.join(COUNTERS[: self.rank])}]"
                value = (f"{here} * {here}", f"0.3 * {here} * math.cos({here})", f"0.5 * {here}")[kind - 2]
                self.emit(indent + self.rank, f"{name} += {value}")
                terms.append(name)
        return " + ".join(terms)

    def _overlap(self) -> None:
        """Two fields become windows on one array."""
        arrays = [k for k, leaf in enumerate(self.leaves) if isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f"]
        if len(arrays) < 2:
            return
        i, j = self.rng.sample(arrays, 2)
        n, m = len(self.leaves[i]), len(self.leaves[j])
        shift = self.rng.randint(0, 2)
        base = np.array([self.rng.uniform(-1.3, 1.3) for _ in range(max(n, m + shift))], self.leaves[i].dtype)
        if self.leaves[i].ndim == self.leaves[j].ndim == 1:
            self.leaves[i], self.leaves[j] = base[:n], base[shift : shift + m]


def generate(rng: random.Random, *, small: bool = False) -> Program:
    return Generator(rng, small=small).program()
