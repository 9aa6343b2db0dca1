"""Random programs on long arrays: loops over elements, statements on whole arrays, time loops, gathers, masks.

Every program is well-behaved by construction: subscripts are in range, denominators are positive, and stored values are
at most about one in size. Programs with only exact operations have Python's bits.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from tests.arrays.arguments import LAYOUTS, Param, shape
from tests.fuzz.lines import Lines

HEAD = """import math

import numpy as np

from adc import prange
"""
MARGIN = 2
"""How far from its own place an element may read."""
FUNCTIONS = "{0} * {0}", "1.0 / (1.0 + {0} * {0})", "np.sqrt({0})", "0.1 / ({0} * {0})", "{0} - {0} * {0}"
"""What is computed of numbers that may be NaN or infinite."""


@dataclass(frozen=True)
class Program:
    """``text`` defines ``main(*params, c)``. ``exact``: all its operations are exact but for one rounding each.
    ``ordered``: also its value, as every sum is in the order of the program."""

    text: str
    params: tuple[Param, ...]
    exact: bool
    ordered: bool


@dataclass
class Place:
    """Where an expression stands: how it names an element of an array near its place, functions, and scalars."""

    read: Callable[[str], str]
    arrays: list[str]
    scalars: list[str]
    whole: bool
    """Whether it is about arrays and not about numbers."""


class Generator(Lines):
    """Makes one program."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        self.shape = shape(rng)
        self.rank = len(self.shape)
        self.exact = self.chance(0.6)
        self.single = self.chance(0.05)
        self.ordered = True
        self.dtype = "float32" if self.single else "float64"
        self.arrays: list[str] = []  # that may be read
        self.local: list[str] = []  # that may be written and swapped
        self.memory: dict[str, str] = {}  # of what other name an array has the memory
        self.scalars = ["c"]
        self.sums: list[str] = []
        self.helpers: list[str] = []
        self.params: list[Param] = []

    def program(self) -> Program:
        for name in ("x", "y", "z")[: self.rng.randint(1, 3)]:
            layout = self.rng.choice(LAYOUTS)
            self.params.append(Param(name, self.shape, dtype=self.dtype, layout=layout))
            self.arrays.append(name)
        if self.chance(0.4):
            self.params.append(Param("out", self.shape, dtype=self.dtype, layout=self.rng.choice(("c", "step"))))
            self.params[-1] = Param("out", self.shape, dtype=self.dtype, layout=self.params[-1].layout, written=True)
            self.local.append("out")
        if self.rank == 1 and self.chance(0.4):
            self.params.append(Param("k", self.shape, "index", self.rng.choice(("int64", "int32"))))
        hazard = self.chance(0.4)
        if hazard or self.chance(0.2):
            self.params.append(Param("ok", self.shape, "mask", "bool"))
        if hazard:
            self.params.append(Param("w", self.shape, "hazard", self.dtype))
        body = [self.element_loop, self.element_loop, self.statement, self.statement, self.time_loop, self.new_array]
        body += [self.recurrence, self.parallel_loop, self.window_sum, self.counts, self.callee, self.search]
        body += [self.axis_sum] * (self.rank > 1) + [self.carried_nest] * 2
        if any(p.name == "k" for p in self.params):
            body += [self.gather, self.scatter] * 2
        self.new_array(1)
        if any(p.name == "ok" for p in self.params):
            body += [self.masked] * 2
        if hazard:
            self.hazard(1)
            body += [self.hazard]
        for _ in range(self.rng.randint(1, 4)):
            self.rng.choice(body)(1)
        self.emit(1, f"return {self.result()}")
        names = [*(p.name for p in self.params), "c"]
        text = "\n".join([HEAD, *self.helpers, "", f"def main({', '.join(names)}):", *self.lines]) + "\n"
        return Program(text, tuple(self.params), self.exact, self.ordered)

    def result(self) -> str:
        parts = list(self.sums)
        for name in self.local:
            if self.chance(0.5):
                parts.append(f"{self.number()} * {name}[{self.corner()}]")
            elif self.chance(0.7):
                self.ordered = False
                other = "" if self.chance(0.5) else f" * {self.rng.choice(self.arrays)}"
                parts.append(f"np.sum({name}{other})")
        return " + ".join(parts) if parts else f"c * {self.arrays[0]}[{self.corner()}]"

    def number(self) -> str:
        return repr(self.rng.choice((0.5, 0.25, 0.75, 1.5, round(self.rng.uniform(0.1, 1.9), 3))))

    def corner(self) -> str:
        return ", ".join(str(self.rng.choice((0, -1, n // 2))) for n in self.shape)

    # Expressions: the text, and how large its value may be ---------------------------------------------------------

    def expr(self, place: Place, depth: int) -> tuple[str, float]:
        if depth == 0 or self.chance(0.15):
            return self.leaf(place)
        a, size = self.expr(place, depth - 1)
        kind = self.rng.randint(0, 11 if self.exact else 15)
        if kind <= 7:
            b, other = self.expr(place, self.rng.randint(0, depth - 1))
            if kind <= 2:
                return f"({a} {self.rng.choice('+-')} {b})", size + other
            if kind <= 5:
                return f"({a} * {b})", size * other
            if kind == 6:
                name = self.rng.choice(("min", "max"))
                name = {"min": "np.minimum", "max": "np.maximum"}[name] if place.whole else name
                return f"{name}({a}, {b})", max(size, other)
            return f"({a} / (1.5 + {self.absolute(place)}({b})))", size
        if kind == 8:
            return f"{self.absolute(place)}({a})", size
        if kind == 9:
            root = "np.sqrt" if place.whole or self.single else "math.sqrt"
            return f"{root}({self.absolute(place)}({a}) + 0.25)", size + 0.5
        if kind == 10:
            b = self.leaf(place)[0]
            test = f"{a} {self.rng.choice(('<', '>', '<=', '>='))} {b}"
            left, right = self.expr(place, depth - 1), self.leaf(place)
            if place.whole:
                return f"np.where({test}, {left[0]}, {right[0]})", max(left[1], right[1])
            return f"({left[0]} if {test} else {right[0]})", max(left[1], right[1])
        if kind == 11:
            return f"(-{a})", size
        module = "np" if place.whole or self.single or self.chance(0.5) else "math"
        return f"{module}.{self.rng.choice(('sin', 'cos', 'tanh', 'exp'))}(-{self.absolute(place)}({a}))", 1.0

    def typed(self, text: str) -> str:
        """A number that may be of Python's type or of float32, as one of float32."""
        return f"np.float32({text})" if self.single else text

    def absolute(self, place: Place) -> str:
        return "np.abs" if place.whole else "abs"

    def leaf(self, place: Place) -> tuple[str, float]:
        kind = self.rng.randint(0, 5)
        if kind == 0:
            return self.typed(self.number()), 2.0
        if kind == 1 and place.scalars:
            return self.typed(self.rng.choice(place.scalars)), 1.0
        return place.read(self.rng.choice(place.arrays)), 1.0

    def tame(self, place: Place, depth: int = 3) -> str:
        """An expression of at most about one in size."""
        text, size = self.expr(place, depth)
        if "[" not in text and place.whole:
            text, size = f"({text} + {place.read(place.arrays[0])})", size + 1.0
        if size > 1.0:
            return f"{round(1.0 / size, 4) or 1e-4!r} * {text}"
        return text

    # Places ---------------------------------------------------------------------------------------------------------

    def at(self, counters: list[str], reach: int, arrays: list[str] | None = None) -> Place:
        """At an element, with others at most ``reach`` away along each axis."""

        def read(name: str) -> str:
            offsets = [self.rng.randint(-reach, reach) if self.chance(0.5) else 0 for _ in counters]
            return f"{name}[{', '.join(_plus(i, d) for i, d in zip(counters, offsets, strict=True))}]"

        return Place(read, self.arrays if arrays is None else arrays, list(self.scalars), whole=False)

    def inside(self, reach: int) -> tuple[str, Place]:
        """The part of an array that is ``reach`` away from its ends, and that part shifted."""

        def part(shift: int) -> str:
            low, high = reach + shift, -reach + shift
            return f"{low or ''}:{high or ''}"

        def read(name: str) -> str:
            if reach == 0:
                return name if self.chance(0.6) else f"{name}[:]"
            shifts = [self.rng.randint(-reach, reach) if self.chance(0.5) else 0 for _ in self.shape]
            return f"{name}[{', '.join(map(part, shifts))}]"

        own = ", ".join(part(0) for _ in self.shape)
        return own, Place(read, self.arrays, list(self.scalars), whole=True)

    # Statements ------------------------------------------------------------------------------------------------------

    def new_array(self, indent: int) -> None:
        name = self.fresh("u")
        kind = self.rng.randint(0, 2)
        if kind == 0:
            self.emit(indent, f"{name} = np.zeros_like({self.arrays[0]})")
        elif kind == 1:
            self.emit(indent, f"{name} = {self.rng.choice(self.arrays)}.copy()")
        else:
            text = self.tame(self.inside(0)[1])
            self.emit(indent, f"{name} = {text}")
            other = text.removesuffix("[:]")
            if other in self.arrays:
                self.memory[name] = self.memory.get(other, other)
        self.local.append(name)
        self.arrays.append(name)

    def target(self) -> str:
        return self.rng.choice(self.local)

    def statement(self, indent: int) -> None:
        """On a whole array, or on its inside."""
        reach = self.rng.choice((0, 0, 1, MARGIN))
        own, place = self.inside(reach)
        name = self.target()
        target = f"{name}[{own}]" if reach else name
        kind = self.rng.randint(0, 3)
        if kind == 0:
            self.emit(indent, f"{target} *= 0.5")
            self.emit(indent, f"{target} += 0.5 * ({self.tame(place)})")
        elif kind == 1 and self.shape[-1] >= 12:
            self.emit(indent, f"{name}[..., ::2] = 0.5 * {name}[..., ::2] + 0.25 * {self.arrays[0]}[..., ::2]")
        else:
            self.emit(indent, f"{target if reach else name + '[:]'} = {self.tame(place)}")

    def loops(self, indent: int, reach: int, word: str = "range") -> tuple[int, list[str]]:
        """The heads of a nest; the depth of its body, and the counters."""
        counters = []
        for n in self.shape:
            counter = self.fresh("i")
            low, high = reach, n - reach
            kind = self.rng.randint(0, 6)
            text = f"{low}, {high}" if low else f"{high}"
            if word == "range" and kind == 0:
                text = f"{high - 1}, {low - 1}, -1"
            elif kind == 1:
                text = f"{low}, {high}, {self.rng.choice((2, 3))}"
            self.emit(indent, f"for {counter} in {word}({text}):")
            indent, word = indent + 1, "range"
            counters.append(counter)
        return indent, counters

    def element_loop(self, indent: int) -> None:
        reach = self.rng.choice((0, 0, 1, MARGIN))
        total = self.fresh("s")
        sums = self.chance(0.4)
        if sums:
            self.start(indent, total)
        inner, counters = self.loops(indent, reach)
        place = self.at(counters, reach)
        self.body(inner, counters, place)
        if sums:
            self.add_to(inner, total, self.tame(place))
            self.sums.append(total)

    def start(self, indent: int, total: str) -> None:
        self.emit(indent, f"{total} = {'np.float32(0.0)' if self.single else '0.0'}")

    def add_to(self, indent: int, total: str, text: str) -> None:
        form = self.rng.choice(("{0} += {1}", "{0} = {0} + {1}"))
        self.emit(indent, form.format(total, f"0.01 * ({text})"))

    def body(self, indent: int, counters: list[str], place: Place, targets: list[str] | None = None) -> None:
        own = ", ".join(counters)
        if self.chance(0.5):
            temporary = self.fresh("t")
            self.emit(indent, f"{temporary} = {self.tame(place)}")
            place.scalars.append(temporary)
        for _ in range(self.rng.randint(1, 2)):
            element = f"{self.rng.choice(targets or self.local)}[{own}]"
            kind = self.rng.randint(0, 3)
            if kind == 0:
                self.emit(indent, f"if {place.read(self.rng.choice(place.arrays))} > {self.leaf(place)[0]}:")
                self.emit(indent + 1, f"{element} = {self.tame(place)}")
                if self.chance(0.5):
                    self.emit(indent, "else:")
                    self.emit(indent + 1, f"{element} = 0.5 * {element}")
            elif kind == 1:
                self.emit(indent, f"{element} = 0.5 * {element} + 0.5 * ({self.tame(place, 2)})")
            else:
                self.emit(indent, f"{element} = {self.tame(place)}")

    def recurrence(self, indent: int) -> None:
        """Each element from the one before it along the last axis."""
        name = self.target()
        inner, counters = indent, []
        for k, n in enumerate(self.shape):
            counters.append(self.fresh("i"))
            self.emit(inner, f"for {counters[-1]} in range({1 if k == self.rank - 1 else 0}, {n}):")
            inner += 1
        own, before = ", ".join(counters), ", ".join([*counters[:-1], f"{counters[-1]} - 1"])
        self.emit(inner, f"{name}[{own}] = 0.5 * {name}[{before}] + 0.5 * ({self.tame(self.at(counters, 0), 2)})")

    def carried_nest(self, indent: int) -> None:
        """Loops in any order, of which some carry values from one iteration to the next and the others do not; several
        terms of the gradient go to the neighbours that are read."""
        written = self.rng.sample(self.local, min(len(self.local), self.rng.choice((1, 1, 2))))
        carried = {d for d in range(self.rank) if self.chance(0.4)} or {self.rng.randrange(self.rank)}
        axes = sorted(range(self.rank), key=lambda d: (d in carried, self.rng.random()))
        if self.chance(0.3):
            self.rng.shuffle(axes)
        counters = [self.fresh("i") for _ in self.shape]
        ends: list[tuple[int, str]] = []
        for d in axes:
            if self.chance(0.15):
                self.emit(indent, f"for _ in range({self.rng.randint(1, 2)}):")
                indent += 1
            indent = self.head(indent, counters[d], self.shape[d] - 1, ends)

        def read(name: str) -> str:
            near = [d in carried or name not in written for d in range(self.rank)]
            offsets = [self.rng.randint(-1, 1) if moves and self.chance(0.6) else 0 for moves in near]
            return f"{name}[{', '.join(map(_plus, counters, offsets))}]"

        place = Place(read, [*self.arrays, *written], list(self.scalars), whole=False)
        self.body(indent, counters, place, written)
        for depth, step in reversed(ends):
            self.emit(depth, step)

    def head(self, indent: int, counter: str, end: int, ends: list[tuple[int, str]]) -> int:
        """A loop over the inside of an axis, which may be a ``while`` loop: then its last line goes to ``ends``. The
        depth of its body is returned."""
        kind = self.rng.randint(0, 7)
        if kind == 0:
            self.emit(indent, f"{counter} = 1")
            self.emit(indent, f"while {counter} < {end}:")
            ends.append((indent + 1, f"{counter} += 1"))
        else:
            limits = {1: f"{end - 1}, 0, -1", 2: f"1, {end}, 2"}.get(kind, f"1, {end}")
            self.emit(indent, f"for {counter} in range({limits}):")
        return indent + 1

    def time_loop(self, indent: int) -> None:
        """Steps from one buffer into another, which change places; a step may have two parts."""
        new = self.fresh("u")
        old = self.rng.choice(self.local)
        if old == "out":
            old = self.fresh("u")
            self.emit(indent, f"{old} = {self.arrays[0]}.copy()")
            self.local.append(old)
            self.arrays.append(old)
        self.emit(indent, f"{new} = {old}.copy()")
        self.emit(indent, f"for _ in range({self.rng.randint(1, 5)}):")
        arrays = [old, old, *(a for a in self.arrays if a != new)]
        for again in range(self.rng.choice((1, 1, 2))):
            before = f"0.5 * {new}[{{0}}] + 0.5 * " if again else ""
            if self.chance(0.5):
                own, place = self.inside(1)
                place.arrays = arrays
                self.emit(indent + 1, f"{new}[{own}] = {before.format(own)}({self.tame(place)})")
            else:
                inner, counters = self.loops(indent + 1, 1)
                place, own = self.at(counters, 1, arrays), ", ".join(counters)
                self.emit(inner, f"{new}[{own}] = {before.format(own)}({self.tame(place)})")
        self.emit(indent + 1, f"{old}, {new} = {new}, {old}")
        self.local.append(new)
        self.arrays.append(new)

    def parallel_loop(self, indent: int) -> None:
        """Each iteration writes elements of its own, of memory that none reads elsewhere."""
        name = self.target()
        reach = self.rng.choice((0, 1))
        own_memory = self.memory.get(name, name)
        others = [a for a in self.arrays if self.memory.get(a, a) != own_memory]
        if not others:
            return
        inner, counters = self.loops(indent, reach, "prange")
        place = self.at(counters, reach, others)
        own = ", ".join(counters)
        self.emit(inner, f"{name}[{own}] = 0.5 * {name}[{own}] + 0.5 * ({self.tame(place)})")

    def window_sum(self, indent: int) -> None:
        """Sums whose order the library owns, or the largest element."""
        total = self.fresh("s")
        place = self.inside(self.rng.choice((0, 1)))[1]
        name = self.rng.choice(("np.sum", "np.mean", "np.max", "np.min"))
        self.ordered = self.ordered and name in ("np.max", "np.min")
        self.emit(indent, f"{total} = {name}({self.tame(place)})")
        self.sums.append(total)

    def gather(self, indent: int) -> None:
        i = self.fresh("i")
        self.emit(indent, f"for {i} in range({self.shape[0]}):")
        name = self.target()
        source = self.rng.choice([a for a in self.arrays if a != name])
        self.emit(indent + 1, f"{name}[{i}] = 0.5 * {name}[{i}] + 0.4 * {source}[k[{i}]] * {source}[{i}]")

    def scatter(self, indent: int) -> None:
        i = self.fresh("i")
        name = self.target()
        source = self.rng.choice([a for a in self.arrays if a != name])
        self.emit(indent, f"for {i} in range({self.shape[0]}):")
        operator = self.rng.choice(("+=", "+=", "="))
        self.emit(indent + 1, f"{name}[k[{i}]] {operator} 0.1 * {source}[{i}] * {source}[{i}]")

    def masked(self, indent: int) -> None:
        name = self.target()
        if self.chance(0.5):
            place = self.inside(0)[1]
            self.emit(indent, f"{name}[:] = np.where(ok, {self.tame(place)}, {self.tame(place, 1)})")
            return
        inner, counters = self.loops(indent, 0)
        own = ", ".join(counters)
        self.emit(inner, f"if {self.rng.choice(('', 'not '))}ok[{own}]:")
        self.body(inner + 1, counters, self.at(counters, 0))

    def counts(self, indent: int) -> None:
        """Integers in an array, and how often something held."""
        number = self.fresh("n")
        dtype = self.rng.choice(("int64", "int32"))
        array = self.fresh("q")
        self.emit(indent, f"{number} = 0")
        self.emit(indent, f"{array} = np.zeros({self.shape}, np.{dtype})")
        inner, counters = self.loops(indent, 0)
        place, own = self.at(counters, 0), ", ".join(counters)
        left, right = (place.read(self.rng.choice(place.arrays)) for _ in range(2))
        self.emit(inner, f"if {left} > {right}:")
        self.emit(inner + 1, f"{number} += 1")
        self.emit(inner + 1, f"{array}[{own}] += {number} % {self.rng.randint(2, 7)}")
        total = self.fresh("s")
        self.start(indent, total)
        inner, counters = self.loops(indent, 0)
        own = ", ".join(counters)
        read = f"{self.rng.choice(self.arrays)}[{own}]"
        scale = self.typed(f"{array}[{own}]")
        self.emit(inner, f"{total} += 0.01 * ({read} * {scale})")
        self.sums += [total] if self.single else [total, f"0.001 * {number}"]

    def callee(self, indent: int) -> None:
        """A function of the module that writes to its first argument, called once or twice."""
        name, target = self.fresh("h"), self.target()
        outer, self.lines = self.lines, []
        scalars, self.scalars = self.scalars, ["c"]
        reach = self.rng.choice((0, 1))
        if self.chance(0.5):
            inner, counters = self.loops(1, reach)
            place = self.at(counters, reach, ["a", "b"])
            self.emit(inner, f"a[{', '.join(counters)}] = {self.tame(place)}")
        else:
            own, place = self.inside(reach)
            place.arrays = ["a", "b"]
            self.emit(1, f"a[{own if reach else ':'}] = {self.tame(place)}")
        self.emit(1, f"return a[{self.corner()}]")
        self.helpers += ["", f"def {name}(a, b, c):", *self.lines, ""]
        self.lines, self.scalars = outer, scalars
        other = self.rng.choice([a for a in self.arrays if a != target])
        total = self.fresh("s")
        self.emit(indent, f"{total} = {name}({target}, {other}, {self.rng.choice(('c', '0.25'))})")
        self.sums.append(total)

    def search(self, indent: int) -> None:
        """A loop that ends early, at an element that is known when it runs."""
        total, i = self.fresh("s"), self.fresh("i")
        name = self.rng.choice(self.arrays)
        rest = "".join(f", {self.rng.randrange(n)}" for n in self.shape[1:])
        self.start(indent, total)
        self.emit(indent, f"for {i} in range({self.shape[0]}):")
        self.emit(indent + 1, f"if {name}[{i}{rest}] > {self.rng.choice((0.9, 0.5, 0.99))}:")
        self.emit(indent + 2, self.rng.choice(("break", "break", "continue")))
        self.emit(indent + 1, f"{total} += 0.1 * {name}[{i}{rest}] * {self.rng.choice(self.arrays)}[{i}{rest}]")
        self.sums.append(total)

    def axis_sum(self, indent: int) -> None:
        """Sums along one axis, of an array or of products."""
        total = self.fresh("s")
        axis = self.rng.randrange(self.rank)
        product = f"{self.rng.choice(self.arrays)} * {self.rng.choice(self.arrays)}"
        self.emit(indent, f"{total} = np.sum({product}, axis={axis})")
        at = ", ".join("0" for _ in range(self.rank - 1))
        self.ordered = False
        self.sums += [f"{total}[{at}]", f"0.1 * np.sum({total} * {total})"]

    def hazard(self, indent: int) -> None:
        """What is NaN or infinite where ``ok`` does not hold, and is read there or not, but does not count."""
        total = self.fresh("s")
        f = self.rng.choice(FUNCTIONS)
        self.start(indent, total)
        kind = self.rng.randint(0, 2)
        if kind == 0:
            self.ordered = False
            temporary = self.fresh("h")
            self.emit(indent, f"{temporary} = {f.format('w')}")
            if self.chance(0.5):
                self.emit(indent, f"{temporary} = {temporary} * {temporary}")
            self.emit(indent, f"{total} += np.sum(np.where(ok, {temporary}, 0.0))")
        else:
            if kind == 1:
                temporary = self.fresh("h")
                self.emit(indent, f"{temporary} = {f.format('w')}")
            inner, counters = self.loops(indent, 0)
            own = ", ".join(counters)
            self.emit(inner, f"if ok[{own}]:")
            self.emit(inner + 1, f"{total} += 0.1 * {f'{temporary}[{own}]' if kind == 1 else f.format(f'w[{own}]')}")
        self.sums.append(total)


def _plus(counter: str, offset: int) -> str:
    return counter if offset == 0 else f"{counter} {'+' if offset > 0 else '-'} {abs(offset)}"


def generate(rng: random.Random) -> Program:
    return Generator(rng).program()
