"""Random stencil programs, first part: grids, the arrays on them, and loops over their points.

A kernel's body is written before its loops: its accesses record how far they reach (``Reach``), which determines the
ranges of the loops.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.fuzz.expressions import Arr, Int
from tests.fuzz.lines import Lines
from tests.fuzz.params import Spec

EXTENTS = ("n", "m", "p", "q")
COUNTERS = ("i", "j", "k", "l")
# How a subscript beyond the grid is met, dimension by dimension.
BOUNDARIES = ("interior", "modulo", "wrap", "clamp", "mirror", "zero", "choose", "table")


@dataclass(frozen=True)
class Field:
    """An array on the grid: in each dimension ``more`` points than the grid has (staggered grids, ghost cells)."""

    name: str
    more: tuple[int, ...]
    fixed: bool = False  # only read


@dataclass
class Reach:
    """How far below a point, and beyond its grid's end, a kernel reaches in each dimension."""

    low: list[int]
    high: list[int]

    def note(self, offsets: Sequence[int], more: Sequence[int]) -> None:
        for d, (o, e) in enumerate(zip(offsets, more, strict=True)):
            self.low[d] = max(self.low[d], -o)
            self.high[d] = max(self.high[d], o - e)


@dataclass
class Kernel:
    """What the loops of one kernel are like."""

    boundaries: list[str]
    prange: bool
    sliced: bool = False
    reach: Reach = field(default_factory=lambda: Reach([], []))
    shift: dict[str, int] = field(default_factory=dict)  # of arrays with ghost cells: where the grid starts in them
    before: list[str] = field(default_factory=list)  # statements at the start of the body


def plus(text: str, offset: int) -> str:
    return text if offset == 0 else f"{text} + {offset}" if offset > 0 else f"{text} - {-offset}"


class Grids(Lines):
    """Writes lines; keeps the parameters of the program with their values, and what is in scope."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        self.params: list[Spec] = []
        self.leaves: list[Any] = []
        self.fields: list[Field] = []
        self.scalars: list[str] = []
        self.helpers: list[str] = []
        self.shape: tuple[int, ...] = ()
        self.single = False
        self.radius = 1
        self.steps = ""  # the counter of the time loop that this stands in
        self.tables: dict[tuple[int, int], str] = {}

    # Parameters -------------------------------------------------------------------------------------------------------

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> Any:
        return np.float32 if self.single else np.float64

    def zeros(self, shape: str) -> str:
        """The text of a new array, of the type of the others."""
        return f"np.zeros({shape}, np.float32)" if self.single else f"np.zeros({shape})"

    def number(self, name: str, low: float = -1.3, high: float = 1.3) -> str:
        self.params.append(name)
        self.leaves.append(self.rng.uniform(low, high))
        return name

    def integer(self, name: str, value: int) -> str:
        self.params.append(Int(name, value, value))
        self.leaves.append(value)
        return name

    def floats(self, name: str, shape: tuple[int, ...]) -> str:
        """A parameter that is an array of floats; rows or columns may be contiguous, or neither."""
        made = np.empty(shape, self.dtype, order="F" if self.chance(0.15) else "C")
        for at in np.ndindex(*shape):
            made[at] = self.rng.uniform(-1.3, 1.3)
        self.params.append(Arr(name, shape, single=self.single))
        self.leaves.append(made)
        return name

    def integers(self, name: str, values: Any, dtype: Any = np.int64) -> str:
        made = np.array(values, dtype)
        self.params.append(Arr(name, made.shape, ints=True))
        self.leaves.append(made)
        return name

    def new_field(self, more: tuple[int, ...] | None = None, *, fixed: bool = False) -> Field:
        """A parameter on the grid."""
        more = more or (0,) * self.rank
        shape = tuple(max(0, n + e) for n, e in zip(self.shape, more, strict=True))
        made = Field(self.floats(self.fresh("c" if fixed else "u"), shape), more, fixed)
        self.fields.append(made)
        return made

    def extent(self, d: int, more: int = 0) -> str:
        return plus(EXTENTS[d], more)

    def table(self, d: int, offset: int) -> str:
        """An array of integers with each point's neighbour at this offset, all around."""
        if (d, offset) not in self.tables:
            n = self.shape[d]
            values = [(i + offset) % n for i in range(n)]
            self.tables[d, offset] = self.integers(f"{'east' if offset > 0 else 'west'}{d}{abs(offset)}", values)
        return self.tables[d, offset]

    # Accesses ---------------------------------------------------------------------------------------------------------

    def read(self, kernel: Kernel, array: Field, offsets: Sequence[int]) -> str:
        """The element at these offsets from the point; what is beyond the boundary is as the kernel says."""
        shift = kernel.shift.get(array.name, 0)
        offsets = [o + shift for o in offsets]
        if kernel.sliced:
            return self.part(kernel, array, offsets)
        inside = [kind == "interior" for kind in kernel.boundaries]
        kernel.reach.note([o if k else 0 for o, k in zip(offsets, inside, strict=True)], array.more)
        subscripts, conditions, edges = [], [], {}
        for d, o in enumerate(offsets):
            i, kind = COUNTERS[d], kernel.boundaries[d]
            subscripts.append(plus(i, o) if inside[d] else self.beyond(kernel, d, o, kind))
            if o and kind in ("zero", "choose"):
                test = f"{i} > {-o - 1}" if o < 0 else f"{plus(i, o)} < {EXTENTS[d]}"
                if kind == "zero":
                    conditions.append(test)
                else:
                    edges[d] = (test, "0" if o < 0 else f"{EXTENTS[d]} - 1")
        place = lambda: f"{array.name}[{', '.join(subscripts)}]"
        if len(edges) == 1 and not conditions and self.chance(0.5):
            ((d, (test, edge)),) = edges.items()
            found = place()
            subscripts[d] = edge
            return f"({found} if {test} else {place()})"
        for d, (test, edge) in edges.items():
            subscripts[d] = f"{subscripts[d]} if {test} else {edge}"
        return f"({place()} if {' and '.join(conditions)} else 0.0)" if conditions else place()

    def beyond(self, kernel: Kernel, d: int, o: int, kind: str) -> str:
        """A subscript that stays on the grid, unless that takes a condition."""
        i, n = COUNTERS[d], EXTENTS[d]
        if o == 0 or kind in ("zero", "choose"):
            return plus(i, o)
        if kind == "wrap" and -self.shape[d] <= o < 0:
            return plus(i, o)  # Python counts from the end
        if kind in ("modulo", "wrap"):
            text = f"({plus(i, o)}) % {n}"
            if not self.chance(0.3):
                return text
            name = self.fresh(i)
            kernel.before.append(f"{name} = {text}")
            return name
        if kind == "clamp":
            return f"max({plus(i, o)}, 0)" if o < 0 else f"min({plus(i, o)}, {n} - 1)"
        if kind == "mirror":
            return f"max(0, min({n} - 1, abs({plus(i, o)})))"
        assert kind == "table"
        return f"{self.table(d, o)}[{i}]"

    def part(self, kernel: Kernel, array: Field, offsets: Sequence[int]) -> str:
        kernel.reach.note(offsets, array.more)
        return f"{array.name}[{', '.join(f'<{d}:{o}:{array.more[d]}>' for d, o in enumerate(offsets))}]"

    def own(self, kernel: Kernel, array: Field) -> str:
        """The element at the point itself, to be stored to."""
        if kernel.sliced:
            return self.part(kernel, array, (0,) * self.rank)
        interior = [d for d in range(self.rank) if kernel.boundaries[d] == "interior"]
        kernel.reach.note([0] * self.rank, [array.more[d] if d in interior else 0 for d in range(self.rank)])
        return f"{array.name}[{', '.join(COUNTERS[: self.rank])}]"

    # Loops ------------------------------------------------------------------------------------------------------------

    def begin(self, *, prange: bool = False, interior: bool = False, sliced: bool = False) -> Kernel:
        kinds = []
        for _ in range(self.rank):
            kinds.append("interior" if interior or sliced or self.chance(0.5) else self.rng.choice(BOUNDARIES))
        kernel = Kernel(kinds, prange, sliced)
        kernel.reach = Reach([0] * self.rank, [0] * self.rank)
        return kernel

    def loops(self, kernel: Kernel, indent: int, body: Sequence[str], *, whole: bool = True) -> None:
        """Loops over the points that the body may touch, and the body. ``whole``: steps other than 1 would do too."""
        dims = list(range(self.rank))
        if self.rank > 1 and self.chance(0.15):
            self.rng.shuffle(dims)
        if self._flat(kernel, indent, body):
            return
        for depth, d in enumerate(dims):
            text = self.range_of(kernel, d, steps=whole)
            parallel = kernel.prange and (depth == 0 or self.chance(0.3)) and not text.startswith("reversed")
            call = text.replace("range(", "prange(", 1) if parallel else text
            self.emit(indent + depth, f"for {COUNTERS[d]} in {call}:")
        for line in [*kernel.before, *body]:
            self.emit(indent + self.rank, line)

    def _flat(self, kernel: Kernel, indent: int, body: Sequence[str]) -> bool:
        """Now and then one loop over all points of a plane."""
        if self.rank != 2 or "interior" in kernel.boundaries or not self.chance(0.1):
            return False
        self.emit(indent, "for s in range(n * m):")
        self.emit(indent + 1, "i, j = s // m, s % m")
        for line in [*kernel.before, *body]:
            self.emit(indent + 1, line)
        return True

    def range_of(self, kernel: Kernel, d: int, *, steps: bool) -> str:
        low, high = kernel.reach.low[d], kernel.reach.high[d]
        if kernel.boundaries[d] == "interior" and self.chance(0.1):
            low, high = low + self.rng.randint(0, 2), high + self.rng.randint(0, 2)
        end = self.extent(d, -high)
        step = self.rng.choice((2, 3)) if steps and self.chance(0.08) else 1
        way = self.rng.random()
        if way < 0.8 or kernel.prange:
            first = f"{low}, " if low or step > 1 else ""
            return f"range({first}{end}{f', {step}' if step > 1 else ''})"
        if way < 0.9:
            return f"reversed(range({low}, {end}))"
        return f"range({self.extent(d, -high - 1)}, {low - 1}, {-step})"

    def slices(self, kernel: Kernel, text: str) -> str:
        """The text with its places for slices filled in."""

        def fill(match: re.Match[str]) -> str:
            d, o, more = map(int, match.groups())
            return self._slice(d, kernel.reach.low[d] + o, kernel.reach.high[d] - o, more)

        return re.sub(r"<(\d+):(-?\d+):(-?\d+)>", fill, text)

    def _slice(self, d: int, first: int, less: int, more: int) -> str:
        """From ``first`` to ``less`` before the grid's end, of an array with ``more`` points than the grid."""
        start = str(first) if first else ""
        if less + more == 0:
            return f"{start}:"
        if less + more > 0 and self.chance(0.6):
            return f"{start}:{-(less + more)}"
        return f"{start}:{self.extent(d, -less)}"
