"""Random stencil programs, second part: the computation at a point."""

from __future__ import annotations

from collections.abc import Sequence

from tests.stencils.grids import COUNTERS, Field, Grids, Kernel

Offsets = tuple[int, ...]

LIMITERS = {
    "minmod": """def minmod(a, b):
    if a * b <= 0.0:
        return 0.0
    return a if abs(a) < abs(b) else b
""",
    "superbee": """def superbee(a, b):
    if a * b <= 0.0:
        return 0.0
    s = 1.0 if a > 0.0 else -1.0
    a, b = abs(a), abs(b)
    return s * max(min(2.0 * a, b), min(a, 2.0 * b))
""",
    "van_leer": """def van_leer(a, b):
    p = a * b
    if p > 0.0:
        return 2.0 * p / (a + b)
    return 0.0
""",
    "flux": """def flux(a, b):
    speed = max(abs(a), abs(b))
    return 0.5 * (math.sin(a) + math.sin(b)) - 0.3 * speed * (b - a)
""",
}


class Points(Grids):
    """Expressions of size about 1, in loops (``point`` mode) or over slices."""

    def offsets(self) -> list[Offsets]:
        """The points of a random stencil, the point itself perhaps among them."""
        rank, r = self.rank, self.radius
        kind = self.rng.choice(("star", "star", "random", "gapped", "one-sided", "line", "box"))
        reach = [self.rng.randint(0 if self.chance(0.2) else 1, r) for _ in range(rank)]  # anisotropic
        found: set[Offsets] = set()
        if kind == "star":
            for d in range(rank):
                for o in (-reach[d], reach[d]) if self.chance(0.5) else (-1, 1):
                    found.add(tuple(o if k == d else 0 for k in range(rank)))
        elif kind == "line":
            d = self.rng.randrange(rank)
            for o in range(-r, r + 1):
                found.add(tuple(o if k == d else 0 for k in range(rank)))
        else:
            for _ in range(self.rng.randint(1, 5)):
                low = 0 if kind == "one-sided" else -1
                sides = [self.rng.choice((low, 0, 1)) for _ in range(rank)]
                lengths = [self.rng.choice((0, x)) if kind == "gapped" else self.rng.randint(0, x) for x in reach]
                found.add(tuple(s * x for s, x in zip(sides, lengths, strict=True)))
            if kind == "one-sided" and self.chance(0.5):
                found = {tuple(-o for o in offsets) for offsets in found}
        if self.chance(0.5) or not found:
            found.add((0,) * rank)
        made = sorted(found)
        self.rng.shuffle(made)
        return made[:9]

    def readable(self, kernel: Kernel) -> list[Field]:
        """Fields that have an element at every point of the loops."""
        whole = [d for d in range(self.rank) if kernel.boundaries[d] != "interior"]
        return [f for f in self.fields if all(f.more[d] >= 0 for d in whole)]

    def weight(self) -> str:
        if self.chance(0.2) and self.scalars:
            return self.rng.choice(self.scalars)
        return f"{self.rng.uniform(-0.6, 0.6):.2f}"

    def term(self, kernel: Kernel, sources: Sequence[Field], points: Sequence[Offsets]) -> str:
        return self.read(kernel, self.rng.choice(sources), self.rng.choice(points))

    def linear(self, kernel: Kernel, source: Field, points: Sequence[Offsets]) -> str:
        terms = [self.read(kernel, source, o) for o in points]
        if self.chance(0.3):
            return f"{0.8 / len(terms):.3f} * ({' + '.join(terms)})"
        weights = [self.rng.uniform(-1, 1) for _ in terms]
        total = max(1.0, sum(map(abs, weights)))
        return " + ".join(f"{w / total:.3f} * {t}" for w, t in zip(weights, terms, strict=True)).replace("+ -", "- ")

    def expression(self, kernel: Kernel, sources: Sequence[Field]) -> tuple[list[str], str]:
        """Statements, and an expression that may use them."""
        if kernel.sliced:
            return self.array_expression(kernel, sources)
        points = self.offsets()
        kind = self.rng.randrange(11)
        before: list[str] = []
        if kind <= 1:
            return before, self.linear(kernel, self.rng.choice(sources), points)
        if kind == 2:
            c, u = self.rng.choice(sources), self.rng.choice(sources)
            here = self.read(kernel, u, (0,) * self.rank)
            flow = []
            for o in points[:4]:
                factor = self.read(kernel, c, self.rng.choice((o, (0,) * self.rank)))
                flow.append(f"{factor} * ({self.read(kernel, u, o)} - {here})")
            return before, f"0.2 * ({' + '.join(flow)})"
        if kind == 3:
            return self._upwind(kernel, sources)
        if kind == 4:
            return self._limited(kernel, sources)
        a, b = (self.term(kernel, sources, points) for _ in range(2))
        if kind == 5:
            name = self.fresh("a")
            before = [f"{name} = {self.linear(kernel, self.rng.choice(sources), points)}"]
            return before, f"{name} * {self.rng.choice(['math.cos', 'math.tanh', 'math.sin'])}({name} + {b})"
        if kind == 6:
            one, other = self.fresh("a"), self.fresh("b")
            before = [f"{one} = {a} - {b}", f"{other} = {self.weight()} * {one} / (1.5 + {one} * {one})"]
            return before, f"0.5 * {other} * {one} + {self.weight()} * {other}"
        if kind == 7:
            return before, self.rng.choice(
                (
                    f"{a} * {b} / (1.0 + {b} ** 2)",
                    f"0.4 * {a} * math.sin({b})",
                    f"math.exp(-{a} * {a}) * {b}",
                    f"{b} / math.sqrt(1.5 + {a} * {a})",
                    f"0.3 * abs({a}) - 0.2 * {b} * {b} / (1.0 + abs({b}))",
                    f"min({a}, {b}) * 0.5",
                    f"max(min({a}, 0.75), -0.5) + 0.2 * {b}",
                )
            )
        if kind == 8:
            return before, f"0.3 * {self.helper('flux')}({a}, {b})"
        if kind == 9:
            return self._window(kernel, sources)
        name = self.fresh("a")
        test = self.rng.choice((f"{a} > {b}", f"{a} * {b} > 0.1", f"abs({a}) < 0.5"))
        one, other = self.linear(kernel, self.rng.choice(sources), points[:3]), f"0.5 * math.sin({b})"
        if self.chance(0.5):
            return before, f"({one} if {test} else {other})"
        return [f"if {test}:", f"    {name} = {one}", "else:", f"    {name} = {other}"], name

    def helper(self, name: str) -> str:
        if name not in self.helpers:
            self.helpers.append(name)
        return name

    def around(self, kernel: Kernel, u: Field, d: int, o: int) -> list[str]:
        """The elements at ``-o``, 0 and ``o`` along one dimension."""
        return [self.read(kernel, u, tuple(s * o if k == d else 0 for k in range(self.rank))) for s in (-1, 0, 1)]

    def _upwind(self, kernel: Kernel, sources: Sequence[Field]) -> tuple[list[str], str]:
        """A one-sided difference on the side where it comes from."""
        d = self.rng.randrange(self.rank)
        o = self.rng.choice((1, 1, self.radius))
        u, c = self.rng.choice(sources), self.rng.choice(sources)
        left, here, right = self.around(kernel, u, d, o)
        speed = self.read(kernel, c, (0,) * self.rank)
        if self.chance(0.4):
            return [], f"0.3 * {speed} * ({here} - {left} if {speed} > 0.0 else {right} - {here})"
        a = self.fresh("a")
        if self.chance(0.5):
            return [f"{a} = {speed}"], f"0.3 * (max({a}, 0.0) * ({here} - {left}) + min({a}, 0.0) * ({right} - {here}))"
        g = self.fresh("g")
        return [
            f"{a} = {speed}",
            f"if {a} > 0.0:",
            f"    {g} = {here} - {left}",
            "else:",
            f"    {g} = {right} - {here}",
        ], f"0.3 * {a} * {g}"  # fmt: skip

    def _limited(self, kernel: Kernel, sources: Sequence[Field]) -> tuple[list[str], str]:
        d = self.rng.randrange(self.rank)
        u = self.rng.choice(sources)
        left, here, right = self.around(kernel, u, d, 1)
        a, b, s = self.fresh("a"), self.fresh("b"), self.fresh("s")
        before = [f"{a} = {here} - {left}", f"{b} = {right} - {here}"]
        kind = self.rng.choice(("minmod", "superbee", "van_leer", "inline", "median"))
        if kind == "inline":
            before += [f"{s} = 0.0", f"if {a} * {b} > 0.0:", f"    {s} = min(abs({a}), abs({b}))",
                       f"    if {a} < 0.0:", f"        {s} = -{s}"]  # fmt: skip
        elif kind == "median":
            before += [f"{s} = max(min({a}, {b}), min(max({a}, {b}), 0.25))"]
        else:
            before += [f"{s} = {self.helper(kind)}({a}, {b})"]
        return before, f"0.5 * {here} - 0.3 * {s}"

    def _window(self, kernel: Kernel, sources: Sequence[Field]) -> tuple[list[str], str]:
        """A sum over a window, by an inner loop."""
        d = self.rng.randrange(self.rank)
        r = self.rng.randint(1, self.radius)
        u = self.rng.choice(sources)
        s, w = self.fresh("s"), self.fresh("w")
        at = [COUNTERS[k] for k in range(self.rank)]
        n = "nmpq"[d]
        if kernel.boundaries[d] == "interior":
            at[d] = f"{at[d]} + {w} - {r}"
            for o in (-r, r):
                kernel.reach.note([o if k == d else 0 for k in range(self.rank)], u.more)
        else:
            at[d] = f"({at[d]} + {w} - {r}) % {n}"
        more = [e if kind == "interior" else 0 for e, kind in zip(u.more, kernel.boundaries, strict=True)]
        kernel.reach.note([0] * self.rank, more)
        taps = self.taps(2 * r + 1) if self.chance(0.5) else ""
        weight = f"{taps}[{w}]" if taps else f"{1 / (2 * r + 1):.3f}"
        return [
            f"{s} = 0.0",
            f"for {w} in range({2 * r + 1}):",
            f"    {s} += {weight} * {u.name}[{', '.join(at)}]",
        ], f"0.5 * math.sin({s})" if taps else s  # fmt: skip

    def taps(self, length: int) -> str:
        """A parameter with the weights of a window."""
        return self.floats(self.fresh("taps"), (length,))

    def array_expression(self, kernel: Kernel, sources: Sequence[Field]) -> tuple[list[str], str]:
        points = self.offsets()
        kind = self.rng.randrange(7)
        if kind <= 1:
            return [], self.linear(kernel, self.rng.choice(sources), points)
        a, b = (self.term(kernel, sources, points) for _ in range(2))
        if kind == 2:
            c, u = self.rng.choice(sources), self.rng.choice(sources)
            here = self.read(kernel, u, (0,) * self.rank)
            flow = [f"{self.read(kernel, c, o)} * ({self.read(kernel, u, o)} - {here})" for o in points[:4]]
            return [], f"0.2 * ({' + '.join(flow)})"
        if kind == 3:
            name = self.fresh("a")
            value = self.linear(kernel, self.rng.choice(sources), points)
            return [f"{name} = {value}"], f"{name} * np.cos({name} + {b})"
        if kind == 4:
            return [], f"np.where({a} > 0.0, 0.4 * {a} * {b}, 0.2 * np.sin({b}))"
        if kind == 5:
            return [], f"0.4 * (np.maximum({a}, 0.0) * np.cos({b}) + np.minimum({a}, {b}))"
        return [], self.rng.choice(
            (
                f"{a} * {b} / (1.0 + {b} ** 2)",
                f"0.4 * {a} * np.sin({b})",
                f"np.exp(-{a} * {a}) * {b}",
                f"0.3 * np.abs({a}) - 0.2 * np.tanh({b})",
                f"{b} / np.sqrt(1.5 + {a} * {a})",
            )
        )
