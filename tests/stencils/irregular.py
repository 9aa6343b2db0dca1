"""Random stencil programs, fourth part: other grids, ghost cells, and places given by integer arrays."""

from __future__ import annotations

import itertools

from tests.stencils.grids import COUNTERS, EXTENTS, Field, plus
from tests.stencils.kernels import Kernels


class Irregular(Kernels):
    """Each method writes one kernel at an indent."""

    def mutable(self) -> Field:
        return self.rng.choice([f for f in self.fields if not f.fixed])

    def source_field(self, target: Field) -> Field:
        return self.rng.choice([f for f in self.fields if f.name != target.name] or [target])

    # Multigrid --------------------------------------------------------------------------------------------------------

    def coarse(self) -> str:
        """A parameter on a grid of half as many points."""
        name = f"half{self.rank}"
        if all(getattr(p, "name", p) != name for p in self.params):
            self.floats(name, tuple((n + 1) // 2 for n in self.shape))
        return name

    def restriction(self, indent: int) -> None:
        name, u = self.coarse(), self.rng.choice([f for f in self.fields if min(f.more) >= 0])
        call = "prange" if self.chance(0.4) else "range"
        for d in range(self.rank):
            low = self.rng.randint(0, 1)
            text = f"{call if d == 0 else 'range'}(1, ({EXTENTS[d]} - 1) // 2)"
            if low == 0:
                text = text.replace("(1, (", "((")
            self.emit(indent + d, f"for {COUNTERS[d]} in {text}:")
            kernel_low = -1 if low else 0
            self._reaches = kernel_low if d == 0 else max(self._reaches, kernel_low)
        indent += self.rank
        sides = [s for s in itertools.product((-1, 0, 1), repeat=self.rank) if min(s) >= self._reaches]
        chosen = self.rng.sample(sides, min(len(sides), self.rng.randint(2, 5)))
        at = lambda s: f"{u.name}[{', '.join(plus(f'2 * {i}', o) for i, o in zip(COUNTERS, s, strict=False))}]"
        terms = " + ".join(f"{self.rng.uniform(0.1, 0.4):.2f} * {at(s)}" for s in chosen)
        place = f"{name}[{', '.join(COUNTERS[: self.rank])}]"
        value = terms if self.chance(0.6) else f"math.sin({terms})"
        self.emit(indent, f"{place} {self.rng.choice(['=', '+='])} {value}")

    def prolongation(self, indent: int) -> None:
        name, u = self.coarse(), self.rng.choice([f for f in self.fields if min(f.more) >= 0 and not f.fixed])
        d = self.rng.randrange(self.rank)
        stepped = self.chance(0.5)
        for k in range(self.rank):
            n = EXTENTS[k]
            if k != d:
                text = f"range({n})"
            else:
                text = f"range(0, {n} - 2, 2)" if stepped else f"range(({n} - 1) // 2)"
            self.emit(indent + k, f"for {COUNTERS[k]} in {text}:")
        i = COUNTERS[d]
        half, odd = (f"{i} // 2", plus(i, 1)) if stepped else (i, f"2 * {i} + 1")
        at = lambda own: ", ".join(own if k == d else COUNTERS[k] for k in range(self.rank))
        of = lambda own: ", ".join(own if k == d else f"{COUNTERS[k]} // 2" for k in range(self.rank))
        indent += self.rank
        if self.chance(0.6):
            even = i if stepped else f"2 * {i}"
            self.emit(indent, f"{u.name}[{at(even)}] += 0.3 * {name}[{of(half)}]")
        value = f"{name}[{of(half)}] + {name}[{of(f'{half} + 1')}]"
        self.emit(indent, f"{u.name}[{at(odd)}] {self.rng.choice(['=', '+='])} 0.3 * ({value})")

    def red_black(self, indent: int) -> None:
        """Gauss-Seidel in two colours; each half is independent."""
        if self.rank > 2:
            return self.sweep(indent)
        u = self.rng.choice([f for f in self.fields if not f.fixed])
        n, m = self.extent(0, u.more[0]), self.extent(1, u.more[1]) if self.rank == 2 else ""
        x = u.name
        if self.rank == 1 and self.chance(0.5):
            for s in self.rng.sample((1, 2), 2):
                stop = {1: f"{x}[1:-1:2]", 2: f"{x}[2:-1:2]"}[s]
                start = {1: f"{x}[:-2:2] + {x}[2::2]", 2: f"{x}[1:-2:2] + {x}[3::2]"}[s]
                self.emit(indent, f"{stop} = 0.4 * ({start})")
            return None
        self.emit(indent, "for color in range(2):")
        if self.rank == 1:
            self.emit(indent + 1, f"for i in range(1 + color, {n} - 1, 2):")
            self.emit(indent + 2, f"{x}[i] = 0.45 * ({x}[i - 1] + {x}[i + 1]) + 0.1 * math.sin({x}[i])")
            return None
        call = "prange" if self.chance(0.3) else "range"
        self.emit(indent + 1, f"for i in {call}(1, {n} - 1):")
        around = f"{x}[i - 1, j] + {x}[i + 1, j] + {x}[i, j - 1] + {x}[i, j + 1]"
        if self.chance(0.5):
            self.emit(indent + 2, f"for j in range(1 + (i + color) % 2, {m} - 1, 2):")
            self.emit(indent + 3, f"{x}[i, j] = 0.2 * ({around}) + 0.1 * {x}[i, j]")
        else:
            self.emit(indent + 2, f"for j in range(1, {m} - 1):")
            self.emit(indent + 3, "if (i + j) % 2 == color:")
            self.emit(indent + 4, f"{x}[i, j] = 0.2 * ({around}) + 0.1 * {x}[i, j]")
        return None

    # Ghost cells ------------------------------------------------------------------------------------------------------

    def ghosts(self, indent: int) -> None:
        """A copy with ghost cells around it, periodic or reflected; then a stencil that has no boundary."""
        whole = [f for f in self.fields if max(f.more) == min(f.more) == 0]
        u = self.rng.choice(whole)
        r, g = self.radius, self.fresh("g")
        sizes = [self.extent(d, 2 * r) for d in range(self.rank)]
        like = f"({', '.join(sizes)})" if self.rank > 1 else sizes[0]
        self.emit(indent, f"{g} = {self.zeros(like)}")
        if self.chance(0.5):
            self.emit(indent, f"{g}[{', '.join(f'{r}:{plus(EXTENTS[d], r)}' for d in range(self.rank))}] = {u.name}")
        else:
            for d in range(self.rank):
                self.emit(indent + d, f"for {COUNTERS[d]} in range({EXTENTS[d]}):")
            at = ", ".join(plus(i, r) for i in COUNTERS[: self.rank])
            self.emit(indent + self.rank, f"{g}[{at}] = {u.name}[{', '.join(COUNTERS[: self.rank])}]")
        periodic = self.chance(0.6)
        for d in range(self.rank):
            self._fill(indent, g, d, r, sizes, periodic=periodic, sliced=self.chance(0.4))
        kernel = self.begin(interior=True, prange=self.chance(0.4))
        kernel.shift[g] = r
        kernel.reach.high = [0] * self.rank
        ghost = Field(g, (2 * r,) * self.rank)
        targets = [f for f in whole if not f.fixed] or whole
        target = self.rng.choice(targets)
        sources = [ghost, *([f] if (f := self.rng.choice(self.fields)).name != target.name else [])]
        if sources[1:] and sources[1].more != ghost.more:
            sources = sources[: self.rng.randint(1, 2)]
        before, value = self.expression(kernel, sources)
        self.loops(kernel, indent, [*before, self._store(kernel, target, value)])

    def _fill(self, indent: int, g: str, d: int, r: int, sizes: list[str], *, periodic: bool, sliced: bool) -> None:
        """The ghost cells on both sides of one dimension. Domains narrower than these need a loop."""
        n = EXTENTS[d]
        others = [k for k in range(self.rank) if k != d]
        if sliced and self.shape[d] >= r:
            at = lambda x: f"{g}[{', '.join(x if k == d else ':' for k in range(self.rank))}]"
            if periodic:
                self.emit(indent, f"{at(f':{r}')} = {at(f'{n}:{plus(n, r)}')}")
                self.emit(indent, f"{at(f'{plus(n, r)}:')} = {at(f'{r}:{2 * r}')}")
            else:
                self.emit(indent, f"{at(f':{r}')} = {at(f'{r}:{r + 1}')}")
                self.emit(indent, f"{at(f'{plus(n, r)}:')} = {at(f'{plus(n, r - 1)}:{plus(n, r)}')}")
            return
        self.emit(indent, f"if {n} > 0:")
        indent += 1
        loops = [(COUNTERS[k], f"range({sizes[k]})") for k in others]
        loops.insert(self.rng.randint(0, len(loops)), ("h", f"range({r})"))
        for var, text in loops:
            self.emit(indent, f"for {var} in {text}:")
            indent += 1
        at = lambda x: f"{g}[{', '.join(x if k == d else COUNTERS[k] for k in range(self.rank))}]"
        if periodic:
            self.emit(indent, f"{at('h')} = {at(f'{r} + (h - {r}) % {n}')}")
            self.emit(indent, f"{at(f'{plus(n, r)} + h')} = {at(f'{r} + h % {n}')}")
        else:
            self.emit(indent, f"{at('h')} = {at(str(r))}")
            self.emit(indent, f"{at(f'{plus(n, r)} + h')} = {at(plus(n, r - 1))}")

    # Places given by arrays of integers -------------------------------------------------------------------------------

    def points(self, prefix: str, *, apart: bool = False) -> tuple[str, str]:
        """Parameters that list points of the grid: the name of the first, and the subscripts for point number ``k``."""
        count = 0 if 0 in self.shape else self.rng.randint(0, 6)
        places = [tuple(self.rng.randrange(n) for n in self.shape) for _ in range(count)]
        if apart:
            places = list(dict.fromkeys(places))
        names = [self.integers(self.fresh(f"{prefix}{d}_"), [place[d] for place in places]) for d in range(self.rank)]
        return names[0], ", ".join(f"{name}[k]" for name in names)

    def receivers(self, indent: int) -> None:
        """The misfit at some points, or their values."""
        u = self.rng.choice([f for f in self.fields if min(f.more) >= 0])
        first, at = self.points("at")
        count = len(self.leaves[self._number(first)])
        data, kind = self.fresh("data"), self.rng.randrange(3)
        if kind == 2 and self.steps and self.chance(0.7):
            self.floats(data, (int(self.leaves[self._number("steps")]), count))
            place = f"{data}[{self.steps}, k]"
        else:
            self.floats(data, (count,))
            place = f"{data}[k]"
        if kind == 2:
            call = "prange" if self.chance(0.3) else "range"
            self.emit(indent, f"for k in {call}(len({first})):")
            self.emit(indent + 1, f"{place} {self.rng.choice(['=', '+='])} {u.name}[{at}]")
            return
        name = self.fresh("r")
        self.emit(indent, f"{name} = 0.0")
        self.emit(indent, f"for k in range(len({first})):")
        misfit = f"{u.name}[{at}] - {place}"
        self.emit(indent + 1, f"{name} += " + (f"({misfit}) ** 2" if kind else f"abs({misfit})"))
        self.scalars.append(self._tamed(indent, name))

    def sources(self, indent: int) -> None:
        u = self.rng.choice([f for f in self.fields if min(f.more) >= 0 and not f.fixed])
        first, at = self.points("at")
        amplitude = self.floats(self.fresh("amp"), (len(self.leaves[self._number(first)]),))
        self.emit(indent, f"for k in range(len({first})):")
        value = f"{amplitude}[k]" if self.chance(0.5) else f"0.4 * {amplitude}[k] * math.cos({u.name}[{at}])"
        if self.steps and self.chance(0.5):
            value = f"{value} * math.sin(0.3 * {self.steps})"
        operator = "=" if self.chance(0.2) else "+="
        self.emit(indent + 1, f"{u.name}[{at}] {operator} {value}")

    def mesh(self, indent: int) -> None:
        """Differences along the edges of a graph, added at both ends; or gathered at each node."""
        target = self.rng.choice([f for f in self.fields if min(f.more) >= 0 and not f.fixed])
        readable = [f for f in self.fields if min(f.more) >= 0 and f.name != target.name] or [target]
        source = self.rng.choice(readable)
        count = 0 if 0 in self.shape else self.rng.randint(1, 12)
        place = lambda: [self.rng.randrange(n) for n in self.shape]
        ends = [[place() for _ in range(count)] for _ in range(2)]
        names = [
            [self.integers(self.fresh(f"{'ab'[s]}{d}_"), [at[d] for at in ends[s]]) for d in range(self.rank)]
            for s in range(2)
        ]
        stiff = self.floats(self.fresh("stiff"), (count,))
        a, b = (", ".join(f"{name}[e]" for name in side) for side in names)
        self.emit(indent, f"for e in range(len({stiff})):")
        if self.chance(0.3):
            self.emit(indent + 1, f"{target.name}[{a}] += 0.3 * math.tanh({stiff}[e] * {source.name}[{b}])")
            return
        difference = f"{source.name}[{b}] - {source.name}[{a}]"
        value = self.rng.choice((f"0.3 * {stiff}[e] * ({difference})", f"0.3 * {stiff}[e] * math.sin({difference})"))
        self.emit(indent + 1, f"f = {value}")
        self.emit(indent + 1, f"{target.name}[{a}] += f")
        self.emit(indent + 1, f"{target.name}[{b}] -= f")

    def streaming(self, indent: int) -> None:
        """Populations move by their own offsets and are mixed, as in a lattice-Boltzmann step."""
        q = self.rng.randint(2, 4)
        name = f"pop{self.rank}"
        if all(getattr(p, "name", p) != name for p in self.params):
            self.floats(name, (q, *self.shape))
            for d in range(self.rank):
                r = min(2, self.radius)
                self.integers(f"move{d}", [self.rng.randint(-r, r) for _ in range(q)])
        moved = self.fresh("w")
        self.emit(indent, f"{moved} = np.zeros_like({name})")
        call = "prange" if self.chance(0.4) else "range"
        self.emit(indent, f"for e in range({name}.shape[0]):")
        for d in range(self.rank):
            text = f"{call if d == 0 else 'range'}({EXTENTS[d]})"
            self.emit(indent + 1 + d, f"for {COUNTERS[d]} in {text}:")
        own = ", ".join(COUNTERS[: self.rank])
        back = ", ".join(f"({COUNTERS[d]} - move{d}[e]) % {EXTENTS[d]}" for d in range(self.rank))
        inside = indent + 1 + self.rank
        if self.chance(0.5):
            self.emit(inside, f"{moved}[e, {own}] = {name}[e, {back}]")
        else:
            forth = back.replace(" - ", " + ")
            self.emit(inside, f"{moved}[e, {forth}] = {name}[e, {own}]")
        for d in range(self.rank):
            self.emit(indent + d, f"for {COUNTERS[d]} in range({EXTENTS[d]}):")
        inside = indent + self.rank
        self.emit(inside, "rho = 0.0")
        self.emit(inside, f"for e in range({name}.shape[0]):")
        self.emit(inside + 1, f"rho += {moved}[e, {own}]")
        self.emit(inside, f"for e in range({name}.shape[0]):")
        self.emit(inside + 1, f"{name}[e, {own}] = 0.6 * {moved}[e, {own}] + 0.1 * math.sin(rho)")

    def _number(self, name: str) -> int:
        """Which parameter it is."""
        return next(k for k, p in enumerate(self.params) if getattr(p, "name", p) == name)
