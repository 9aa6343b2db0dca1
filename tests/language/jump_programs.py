"""Random small programs of nested loops that are left early in every way, and their results in plain Python.

Values stay small, loops short and subscripts in range. Variables may be unset where they are read, and programs may
raise; then the compiled function must raise the same exception at the same place, with the same effects on its array
before it.
"""

from __future__ import annotations

import random

import numpy as np

from adc import jit_grad
from adc.errors import CompileUnboundError, DifferentiationError
from tests.fuzz.check import Subject
from tests.fuzz.generator import Arr, Int, Program

LENGTH = 6


class Generator:
    """Makes one program over ``x``, ``y``, an array ``a`` of six and an integer ``n`` from 2 to 5."""

    def __init__(self, rng: random.Random, size: int = 16) -> None:
        self.rng = rng
        self.budget = size
        self.lines: list[str] = []
        self.count = 0
        self.floats = ["x", "y", "s"]
        self.ints = ["n"]
        self.loops: list[str] = []  # what encloses the present block: "for", "while", "items"
        self.trips = 1
        self.in_helper = False

    def program(self) -> Program:
        helpers = []
        for k in range(self.rng.randint(0, 1)):
            helpers.append(self.function(f"h{k}", "x, y, a, n", self.rng.randint(3, 6)))
        self.helpers = len(helpers)
        main = self.function("main", "x, y, a, n", self.budget)
        text = "\n\n".join(["import math\nimport numpy as np\n", *helpers, main]) + "\n"
        return Program(text, ("x", "y", Arr("a", (LENGTH,)), Int("n", 2, 5)))

    def function(self, name: str, parameters: str, size: int) -> str:
        self.lines, self.budget = [], size
        self.floats, self.ints, self.loops, self.trips = ["x", "y", "s"], ["n"], [], 1
        self.in_helper = name != "main"
        self.emit(1, "s = 0.5 * x")
        self.block(1, self.rng.randint(2, 5))
        self.emit(1, f"return {self.expression()}")
        return "\n".join([f"def {name}({parameters}):", *self.lines])

    def emit(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    # Expressions ------------------------------------------------------------------------------------------------------

    def index(self) -> str:
        if self.chance(0.3):
            return str(self.rng.randrange(LENGTH))
        return f"({self.rng.choice(self.ints)} + {self.rng.randint(0, 5)}) % {LENGTH}"

    def atom(self) -> str:
        kind = self.rng.randint(0, 5)
        if kind < 3:
            return self.rng.choice(self.floats)
        if kind < 5:
            return f"a[{self.index()}]"
        return repr(round(self.rng.uniform(-1, 1), 2))

    def expression(self) -> str:
        a, b, c = self.atom(), self.atom(), self.atom()
        products = [f"{b} * math.cos({a})", f"{a} - 0.3 * {b} * {c}"]
        return self.rng.choice([f"math.sin({a} + {b} * {c})", f"0.5 * {a} + 0.4 * {b}", *products, a])

    def tame(self) -> str:
        return f"math.sin({self.expression()})"

    def condition(self) -> str:
        kind = self.rng.randint(0, 5)
        if kind < 3:
            return f"{self.expression()} > {round(self.rng.uniform(-0.8, 0.8), 3)}"
        if kind < 5:
            return f"{self.rng.choice(self.ints)} % {self.rng.randint(2, 3)} == {self.rng.randint(0, 1)}"
        return f"{self.atom()} < {self.atom()} and {self.rng.choice(self.ints)} > {self.rng.randint(0, 3)}"

    # Statements -------------------------------------------------------------------------------------------------------

    def block(self, indent: int, count: int) -> None:
        floats, ints = list(self.floats), list(self.ints)
        before = len(self.lines)
        for _ in range(count):
            if self.budget <= 0:
                break
            self.budget -= 1
            if self.statement(indent):
                break
        if len(self.lines) == before:
            self.emit(indent, "pass")
        # What a block first assigns may be unset after it; now and then it is read all the same.
        self.floats = [f for f in self.floats if f in floats or self.chance(0.08)]
        self.ints = [i for i in self.ints if i in ints or self.chance(0.08)]

    def statement(self, indent: int) -> bool:
        """Write one statement; whether it always leaves the block."""
        kinds = [self.assign, self.store, self.branch, self.branch, self.for_loop, self.while_loop, self.over]
        if self.loops or self.chance(0.3):
            kinds += [self.jump] * 4
        if not self.in_helper and self.helpers:
            kinds.append(self.call)
        return bool(self.rng.choice(kinds)(indent))

    def assign(self, indent: int) -> None:
        name = "s" if self.chance(0.5) else self.rng.choice([*self.floats[2:], self.fresh("t")])
        value = self.tame()
        self.emit(indent, f"{name} = {value}")
        if name not in self.floats:
            self.floats.append(name)

    def store(self, indent: int) -> None:
        self.emit(indent, f"a[{self.index()}] = {self.tame()}")

    def call(self, indent: int) -> None:
        self.emit(indent, f"s = math.sin(h0(x, s, a, {self.rng.choice(self.ints)}))")

    def branch(self, indent: int) -> bool:
        self.emit(indent, f"if {self.condition()}:")
        self.block(indent + 1, self.rng.randint(1, 2))
        if self.chance(0.5):
            self.emit(indent, "else:")
            self.block(indent + 1, self.rng.randint(1, 2))
        return False

    def jump(self, indent: int) -> bool:
        """A jump, mostly under a condition."""
        bare = self.chance(0.12)
        if not bare:
            self.emit(indent, f"if {self.condition()}:")
            indent += 1
            if self.chance(0.4):
                self.assign(indent) if self.chance(0.5) else self.store(indent)
        ways = ["return"] if not self.loops else ["break"] * 4 + ["continue"] * 4 + ["return"] * 2
        if self.chance(0.06):
            ways = ["raise"]
        way = self.rng.choice(ways)
        if way == "return":
            way = f"return {self.expression()}"
        elif way == "raise":
            way = self.rng.choice(
                [
                    'raise ValueError("stop")',
                    'raise KeyError(f"at {n} with {n % 3:03d}")',
                    'raise ArithmeticError("%d of %s" % (n, "five"))',
                    "raise RuntimeError",
                    'raise LookupError("several", n, 2.5)',
                ]
            )
        self.emit(indent, way)
        return bare

    def inner(self, indent: int, kind: str, trips: int) -> None:
        outer, self.trips = self.trips, self.trips * trips
        self.loops.append(kind)
        self.block(indent + 1, self.rng.randint(1, 4))
        self.loops.pop()
        self.trips = outer

    def otherwise(self, indent: int) -> None:
        if self.chance(0.3):
            self.emit(indent, "else:")
            self.block(indent + 1, 1)

    def for_loop(self, indent: int) -> None:
        trips = self.rng.randint(1, 5)
        if self.trips * trips > 60:
            return self.assign(indent)
        counter = self.fresh("i")
        ranges = [f"range({trips})", f"range(n - {self.rng.randint(0, 3)})", f"range({trips}, 0, -1)", "range(0, n, 2)"]
        self.emit(indent, f"for {counter} in {self.rng.choice(ranges)}:")
        ints = list(self.ints)
        self.ints.append(counter)
        self.inner(indent, "for", trips)
        self.otherwise(indent)
        if not self.chance(0.3):
            self.ints = ints
        return None

    def while_loop(self, indent: int) -> None:
        limit = self.rng.randint(1, 4)
        if self.trips * limit > 60:
            return self.assign(indent)
        counter = self.fresh("j")
        self.emit(indent, f"{counter} = 0")
        self.ints.append(counter)
        if self.chance(0.4):
            self.emit(indent, "while True:")
            self.emit(indent + 1, f"if {counter} >= {limit}:")
            self.emit(indent + 2, "break" if self.chance(0.8) else f"return {self.expression()}")
        else:
            more = f" and {self.condition()}" if self.chance(0.5) else ""
            self.emit(indent, f"while {counter} < {limit}{more}:")
        self.emit(indent + 1, f"{counter} += 1")
        self.inner(indent, "while", limit)
        self.otherwise(indent)
        return None

    def over(self, indent: int) -> None:
        """A loop over what is no range."""
        if self.trips * LENGTH > 60:
            return self.assign(indent)
        value, counter = self.fresh("v"), self.fresh("k")
        self.emit(
            indent,
            self.rng.choice(
                [
                    f"for {value} in a:",
                    f"for {value} in (x, y, s):",
                    f"for {value} in reversed(a[1:4]):",
                    f"for {counter}, {value} in enumerate(a):",
                    f"for {counter}, {value} in zip(range(n), a):",
                    f"for {counter}, {value} in enumerate((x, s), n):",
                    f"for {value} in a[:n] * y:",
                ]
            ),
        )
        floats, ints = list(self.floats), list(self.ints)
        self.floats.append(value)
        if counter in self.lines[-1]:
            self.ints.append(counter)
        self.inner(indent, "items", LENGTH)
        self.otherwise(indent)
        if not self.chance(0.3):
            self.floats = [f for f in self.floats if f in floats]
            self.ints = [i for i in self.ints if i in ints]
        return None


def check(seed: int) -> str:
    """Hold a random program against Python. Returns how that went: "compared", "raised", or why it was skipped."""
    rng = random.Random(seed)
    program = Generator(rng).program()
    args = [rng.uniform(-1.2, 1.2), rng.uniform(-1.2, 1.2), np.array([rng.uniform(-1.2, 1.2) for _ in range(LENGTH)])]
    args.append(rng.randint(2, 5))
    jit = jit_grad(_level=3 if seed % 24 == 0 else 0)
    try:
        verdict = Subject(program, args, jit).check(rng)
    except (CompileUnboundError, DifferentiationError) as refused:  # it surely reads what is not set, or always raises
        return f"refused: {refused.message}"
    except Exception as problem:
        problem.add_note(f"seed {seed}\narguments {args!r}\n{program.text}")
        raise
    return verdict.skipped or "compared"
