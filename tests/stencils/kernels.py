"""Random stencil programs, third part: kernels, which update fields by loops or slices."""

from __future__ import annotations

from tests.stencils.grids import COUNTERS, EXTENTS, Field, Kernel, plus
from tests.stencils.points import Points


class Kernels(Points):
    """Each method writes one kernel at an indent."""

    def targets(self, kernel: Kernel) -> list[Field]:
        return [f for f in self.readable(kernel) if not f.fixed]

    def apply(self, indent: int) -> None:
        """A stencil from some fields to others, or to the same ones with the dependence that this has."""
        sliced = self.chance(0.25)
        kernel = self.begin(prange=not sliced and self.chance(0.35), sliced=sliced)
        targets = self.targets(kernel)
        target = self.rng.choice(targets)
        also = [self.rng.choice(targets)] if self.chance(0.25) else []
        written = {target.name, *(f.name for f in also)}
        in_place = not kernel.prange and self.chance(0.3)
        readable = self.readable(kernel)
        sources = [f for f in readable if in_place or f.name not in written]
        if not sources:
            kernel.prange, sources = False, readable
        sources = self.rng.sample(sources, min(len(sources), self.rng.randint(1, 3)))
        body, masked = self._mask(kernel)
        for f in dict.fromkeys([target, *also]):
            before, value = self.expression(kernel, sources)
            body += [masked + line for line in [*before, self._store(kernel, f, value)]]
            if not sliced and self.chance(0.25):
                body += [masked + line for line in self._layer(kernel, f)]
        reduction = "" if sliced or not self.chance(0.25) else self._reduce(kernel, target, body)
        if reduction:
            self.emit(indent, f"{reduction} = 0.0")
        if sliced:
            for line in body:
                self.emit(indent, self.slices(kernel, line))
        else:
            self.loops(kernel, indent, body)
        if reduction:
            self.scalars.append(self._tamed(indent, reduction))

    def _store(self, kernel: Kernel, target: Field, value: str) -> str:
        place = self.own(kernel, target)
        return self.rng.choice(
            (
                f"{place} = {value}",
                f"{place} = {value}",
                f"{place} += 0.4 * ({value})",
                f"{place} -= 0.3 * ({value})",
                f"{place} = 0.6 * {place} + 0.4 * ({value})",
                f"{place} *= math.cos({value})" if not kernel.sliced else f"{place} *= np.cos({value})",
            )
        )

    def _mask(self, kernel: Kernel) -> tuple[list[str], str]:
        """Statements under which the body stands, and its indent: now and then the kernel leaves out some points."""
        if kernel.sliced or not self.chance(0.15):
            return [], ""
        at = ", ".join(COUNTERS[: self.rank])
        kernel.reach.note([0] * self.rank, [0] * self.rank)
        name = f"mask{self.rank}"
        if not any(getattr(p, "name", p) == name for p in self.params):
            values = [self.rng.randint(0, 1) for _ in range(_product(self.shape))]
            self.integers(name, values)
            self.leaves[-1] = self.leaves[-1].reshape(self.shape)
            if self.chance(0.3):
                self.leaves[-1] = self.leaves[-1].astype(bool)
        if self.chance(0.5):
            return [f"if {name}[{at}]:"], "    "
        if kernel.prange or self.chance(0.5):
            return [f"if {name}[{at}] == 1:"], "    "
        return [f"if {name}[{at}] == 0:", "    continue"], ""

    def _layer(self, kernel: Kernel, target: Field) -> list[str]:
        """An absorbing layer along one dimension."""
        d = self.rng.randrange(self.rank)
        i, n = COUNTERS[d], EXTENTS[d]
        place = self.own(kernel, target)
        width = self.rng.randint(1, 4)
        kind = self.rng.randrange(3)
        if kind == 0:
            return [f"if {i} < {width}:", f"    {place} *= {self.weight()}"]
        if kind == 1:
            return [f"if {i} < {width} or {i} >= {n} - {width}:", f"    {place} *= 0.5 + 0.1 * {i}"]
        return [f"if {i} >= {n} - {width}:", f"    {place} *= math.exp(-0.2 * ({i} - ({n} - {width})) ** 2)"]

    def _reduce(self, kernel: Kernel, target: Field, body: list[str]) -> str:
        """A scalar that the body adds to, or takes the maximum into; its name."""
        name = self.fresh("r")
        here = self.own(kernel, target)
        kind = self.rng.randrange(4)
        if kind == 0:
            body.append(f"{name} += {here} * {here}")
        elif kind == 1:
            body.append(f"{name} += 0.3 * math.sin({here})")
        elif kind == 2:
            body.append(f"{name} = max({name}, abs({here}))")
        elif kernel.prange:
            body.append(f"{name} = min({name}, {here})")
        else:
            body += [f"if {here} > {name}:", f"    {name} = {here}"]
        return name

    def _tamed(self, indent: int, name: str) -> str:
        """A step that a norm or a maximum limits."""
        step = self.fresh("dt")
        value = self.rng.choice(("0.5 / (1.0 + {0} * {0})", "0.4 * math.sin({0})")).format(name)
        self.emit(indent, f"{step} = {value}")
        return step

    # Sweeps: the dependence is the point of them ----------------------------------------------------------------------

    def sweep(self, indent: int) -> None:
        """Gauss-Seidel or a line sweep: each point uses what the ones before it became."""
        kernel = self.begin(interior=self.chance(0.7))
        u = self.rng.choice(self.targets(kernel))
        sources = [u]
        if self.chance(0.4):
            sources.append(self.rng.choice(self.readable(kernel)))
        before, value = self.expression(kernel, sources)
        place = self.own(kernel, u)
        self.loops(kernel, indent, [*before, f"{place} = 0.5 * {place} + 0.5 * ({value})"], whole=False)

    def recurrence(self, indent: int) -> None:
        """First-order recurrences along one dimension, there and back; the other dimensions are independent."""
        kernel = self.begin(prange=self.rank > 1 and self.chance(0.4), interior=True)
        u = self.rng.choice(self.targets(kernel))
        d = self.rng.randrange(self.rank)
        others = [k for k in range(self.rank) if k != d]
        if not others:
            kernel.prange = False
        inner = kernel.prange or self.chance(0.5)
        order = [*others, d] if inner else [d, *others]
        c = self.rng.choice([f for f in self.fields if f.name != u.name] or [u])
        kernel.reach.note([0] * self.rank, u.more)
        kernel.reach.note([0] * self.rank, c.more)
        at = list(COUNTERS[: self.rank])
        for back in (False, True) if self.chance(0.6) else (self.chance(0.5),):
            o = self.rng.randint(1, min(2, self.radius))
            behind = [f"{x} {'+' if back else '-'} {o}" if k == d else x for k, x in enumerate(at)]
            high = kernel.reach.high[d]
            for depth, k in enumerate(order):
                call = "prange" if kernel.prange and depth == 0 and k != d else "range"
                if k != d:
                    text = f"{call}({self.extent(k, -kernel.reach.high[k])})"
                elif back:
                    text = self.rng.choice(
                        (
                            f"range({self.extent(d, -high - 1 - o)}, -1, -1)",
                            f"reversed(range({self.extent(d, -high - o)}))",
                        )
                    )
                else:
                    text = f"range({o}, {self.extent(d, -high)})"
                self.emit(indent + depth, f"for {at[k]} in {text}:")
            here, last, factor = (f"{x}[{', '.join(y)}]" for x, y in ((u.name, at), (u.name, behind), (c.name, at)))
            self.emit(indent + self.rank, self.rng.choice(
                (
                    f"{here} = 0.6 * {here} - 0.3 * {factor} * {last}",
                    f"{here} += 0.4 * {last}",
                    f"{here} = ({here} - 0.4 * {last}) / (1.5 + 0.3 * {factor} * {factor})",
                    f"{here} = 0.7 * {here} + 0.3 * math.sin({last})",
                    f"{here} = max(0.5 * {here}, 0.5 * {last} + 0.2 * {factor})",
                )
            ))  # fmt: skip

    def tridiagonal(self, indent: int) -> None:
        """Forward and backward substitution along the last dimension."""
        kernel = self.begin(prange=self.rank > 1 and self.chance(0.5), interior=True)
        u = self.rng.choice(self.targets(kernel))
        d = self.rank - 1
        c = self.rng.choice(self.fields)
        kernel.reach.note([0] * self.rank, u.more)
        kernel.reach.note([0] * self.rank, c.more)
        size = self.extent(d, -kernel.reach.high[d])
        self.emit(indent, f"if {size} > 1:")
        indent += 1
        for depth in range(d):
            call = "prange" if kernel.prange and depth == 0 else "range"
            self.emit(indent, f"for {COUNTERS[depth]} in {call}({self.extent(depth, -kernel.reach.high[depth])}):")
            indent += 1
        g, i = self.fresh("g"), COUNTERS[d]
        lead = "".join(f"{x}, " for x in COUNTERS[:d])
        x = lambda at: f"{u.name}[{lead}{at}]"
        f = lambda at: f"{c.name}[{lead}{at}]"
        self.emit(indent, f"{g} = {self.zeros(size)}")
        self.emit(indent, f"b = 3.0 + {f('0')} * {f('0')}")
        self.emit(indent, f"{x('0')} = {x('0')} / b")
        self.emit(indent, f"for {i} in range(1, {size}):")
        self.emit(indent + 1, f"{g}[{i}] = {self.rng.choice([f(i), '0.8'])} / b")
        self.emit(indent + 1, f"b = 3.0 + {f(i)} * {f(i)} - 0.5 * {g}[{i}]")
        self.emit(indent + 1, f"{x(i)} = ({x(i)} + 0.5 * {x(f'{i} - 1')}) / b")
        self.emit(indent, f"for {i} in range({plus(size, -2)}, -1, -1):")
        self.emit(indent + 1, f"{x(i)} -= {g}[{i} + 1] * {x(f'{i} + 1')}")

    # Scatter within the grid ------------------------------------------------------------------------------------------

    def fluxes(self, indent: int) -> None:
        """Each face adds its flux to the cells at its sides."""
        kernel = self.begin(interior=True)
        r = self.rng.choice(self.targets(kernel))
        d = self.rng.randrange(self.rank)
        o = self.rng.choice((1, 1, self.radius))
        sources = [f for f in self.fields if f.name != r.name] or [r]
        before, value = self.expression(kernel, self.rng.sample(sources, min(2, len(sources))))
        zero = [0] * self.rank
        far = [o if k == d else 0 for k in range(self.rank)]
        f = self.fresh("f")
        one, other = self.read(kernel, r, zero), self.read(kernel, r, far)
        self.loops(kernel, indent, [*before, f"{f} = 0.3 * ({value})", f"{one} += {f}", f"{other} -= {f}"])

    # Boundaries -------------------------------------------------------------------------------------------------------

    def edges(self, indent: int) -> None:
        """Dirichlet, Neumann or periodic values on the first and last points of one dimension."""
        u = self.rng.choice([f for f in self.fields if not f.fixed])
        d = self.rng.randrange(self.rank)
        size = self.extent(d, u.more[d])
        others = [k for k in range(self.rank) if k != d]
        sliced = self.chance(0.5)
        kind = self.rng.randrange(4)
        width = self.rng.randint(1, 2) if kind == 2 else 1
        self.emit(indent, f"if {size} > {2 * width}:")
        indent += 1
        if not sliced:
            for k in others:
                self.emit(indent, f"for {COUNTERS[k]} in range({self.extent(k, u.more[k])}):")
                indent += 1
        rest = [":" if sliced else COUNTERS[k] for k in range(self.rank)]
        at = lambda x: f"{u.name}[{', '.join(x if k == d else rest[k] for k in range(self.rank))}]"
        for g in range(width):
            pair = (at(str(g)), at(str(-1 - g)))
            if kind == 0:
                value = self.rng.choice(self.scalars) if self.scalars else "0.5"
                lines = [f"{pair[0]} = {value}", f"{pair[1]} = 0.0"]
            elif kind == 1:
                lines = [f"{pair[0]} = {at('1')}", f"{pair[1]} = {at('-2')}"]
            elif kind == 2:
                lines = [f"{pair[0]} = {at(f'{size} - {2 * width - g}')}", f"{pair[1]} = {at(str(2 * width - 1 - g))}"]
            else:
                lines = [f"{pair[0]} = 0.7 * {pair[0]} - 0.3 * {at('1')}", f"{pair[1]} += 0.2 * {at('-2')}"]
            for line in lines:
                self.emit(indent, line)


def _product(shape: tuple[int, ...]) -> int:
    total = 1
    for n in shape:
        total *= n
    return total
