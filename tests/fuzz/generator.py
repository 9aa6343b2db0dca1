"""Random programs: the text of Python functions in the language that adc compiles.

Every program is total and tame by construction: subscripts are in range, loops are short, and whatever is bound to a
variable or stored is at most ``BOUND`` in size, so values neither overflow nor lose their digits. All choices come from
one ``random.Random``, which hypothesis can stand behind.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from tests.fuzz.expressions import BOUND, Arr, Expressions, Int, Scope


@dataclass(frozen=True)
class Helper:
    """A function that the program calls: ``floats`` scalar parameters, then ``arrays`` of the given rank."""

    name: str
    floats: int
    arrays: int
    returns_pair: bool
    default: bool


@dataclass(frozen=True)
class Program:
    """``text`` defines ``main`` (and what it calls). ``params`` are its parameters, in order."""

    text: str
    params: tuple[Arr | Int | str, ...]


class Generator(Expressions):
    """Makes one program. ``size`` bounds the number of statements."""

    def __init__(self, rng: random.Random, size: int = 14) -> None:
        super().__init__(rng)
        self.budget = size
        self.helpers: list[Helper] = []
        self.lines: list[str] = []
        self.trips = 1

    def emit(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    # Programs --------------------------------------------------------------------------------------------------------

    def program(self) -> Program:
        chunks = ["import math\nimport numpy as np\nfrom adc import prange\n\nSCALE = 0.75\n"]
        for _ in range(self.rng.randint(0, 2)):
            chunks.append(self.helper())
        scope = Scope()
        n = self.rng.randint(3, 6)
        params: list[Arr | Int | str] = ["x"]
        scope.floats.append("x")
        if self.chance(0.5):
            params.append("y")
            scope.floats.append("y")
        for name in ["a", "b", "c"][: self.rng.randint(0, 3)]:
            rank = 2 if self.chance(0.25) else 1
            shape = (n,) if rank == 1 else (self.rng.randint(2, 4), n)
            array = Arr(name, shape, single=self.chance(0.12))
            self.mixed = self.mixed or array.single
            params.append(array)
            scope.arrays.append(array)
        if self.chance(0.3):
            array = Arr("q", (n,), ints=True)
            params.append(array)
            scope.arrays.append(array)
        if self.chance(0.7):
            number = Int("n", 2, 4)
            params.append(number)
            scope.ints.append(number)
        self.lines = []
        self.block(scope, 1, self.rng.randint(2, 7), depth=0)
        self.emit(1, f"return {self.result(scope)}")
        head = f"def main({', '.join(p if isinstance(p, str) else p.name for p in params)}):"
        chunks.append("\n".join([head, *self.lines]))
        return Program("\n\n".join(chunks) + "\n", tuple(params))

    def helper(self) -> str:
        """A function with a loop or a branch of its own; it may write to its arrays."""
        helper = Helper(
            self.fresh("h"),
            floats=self.rng.randint(1, 2),
            arrays=self.rng.randint(0, 2),
            returns_pair=self.chance(0.25),
            default=self.chance(0.3),
        )
        saved, self.lines = self.lines, []
        scope = Scope()
        scope.floats = [f"p{k}" for k in range(helper.floats)]
        arrays = [f"m{k}" for k in range(helper.arrays)]
        params = [*scope.floats, *arrays]
        if helper.default:
            params.append("w=0.5")
            scope.floats.append("w")
        if arrays:
            # The extent is known at run time only.
            k = self.fresh("k")
            self.emit(1, f"for {k} in range(len({arrays[0]})):")
            element = f"{arrays[0]}[{k}]"
            inner = scope.child()
            text, bound = self.float_expr(inner, 2)
            if self.chance(0.6):
                self.emit(2, f"{element} = {self.tame(f'{element} * 0.5 + {text}', bound + BOUND)}")
            else:
                self.emit(2, f"p0 = {self.tame(f'p0 * 0.5 + {element} * {text}', bound * BOUND + BOUND)}")
            if len(arrays) > 1:
                self.emit(2, f"p0 = {self.tame(f'p0 + 0.3 * {arrays[1]}[-1] * {element}', 4.0)}")
        if self.chance(0.4):
            self.emit(1, f"if {self.condition(scope)}:")
            self.emit(2, f"return {self.helper_result(scope, helper)}")
        self.emit(1, f"return {self.helper_result(scope, helper)}")
        text = "\n".join([f"def {helper.name}({', '.join(params)}):", *self.lines])
        self.lines = saved
        self.helpers.append(helper)
        return text

    def helper_result(self, scope: Scope, helper: Helper) -> str:
        first = self.tame(*self.float_expr(scope, 2))
        return f"{first}, {self.tame(*self.float_expr(scope, 1))}" if helper.returns_pair else first

    def result(self, scope: Scope) -> str:
        """A float that depends on much of what was computed."""
        parts = [name for name in scope.floats if self.chance(0.8)]
        for array in scope.arrays:
            if array.ints:
                continue
            if self.chance(0.6):
                parts.append(f"np.sum({array.name} * {array.name})" if self.chance(0.5) else f"np.sum({array.name})")
            else:
                parts.append(self.element(array, scope))
        if not parts:
            parts = ["x"]
        return " + ".join(f"{self.constant()} * {part}" if self.chance(0.5) else part for part in parts)

    # Statements ------------------------------------------------------------------------------------------------------

    def block(self, scope: Scope, indent: int, count: int, depth: int) -> None:
        emitted = len(self.lines)
        for _ in range(count):
            if self.budget <= 0:
                break
            self.budget -= 1
            self.statement(scope, indent, depth)
        if len(self.lines) == emitted:
            self.emit(indent, "pass" if not scope.floats else f"{self.fresh('t')} = {self.rng.choice(scope.floats)}")

    def statement(self, scope: Scope, indent: int, depth: int) -> None:
        kinds = [self.assign, self.assign, self.augment, self.store, self.store]
        if not scope.in_parallel:
            kinds += [self.slice_store, self.new_array, self.view, self.call, self.swap, self.pair]
        if depth < 3:
            kinds += [self.branch, self.for_loop, self.for_loop]
        if depth < 2 and not scope.in_parallel:
            kinds += [self.while_loop, self.parallel_loop, self.inner_function]
        self.rng.choice(kinds)(scope, indent, depth)

    def assign(self, scope: Scope, indent: int, depth: int) -> None:
        name = self.target(scope)
        self.emit(indent, f"{name} = {self.tame(*self.float_expr(scope, 3))}")
        self.bind(scope, name)

    def pair(self, scope: Scope, indent: int, depth: int) -> None:
        first, second = self.target(scope), self.target(scope)
        if first == second:
            return self.assign(scope, indent, depth)
        values = [self.tame(*self.float_expr(scope, 2)) for _ in range(2)]
        self.emit(indent, f"{first}, {second} = {values[0]}, {values[1]}")
        self.bind(scope, first)
        self.bind(scope, second)
        return None

    def augment(self, scope: Scope, indent: int, depth: int) -> None:
        names = [name for name in scope.floats if name not in scope.fixed]
        if not names:
            return self.assign(scope, indent, depth)
        name = self.rng.choice(names)
        text, bound = self.float_expr(scope, 2)
        text = self.of_one_type(text)
        kind = self.rng.choice("+-*/")
        if kind in "+-":
            self.emit(indent, f"{name} {kind}= {text}")
            self.emit(indent, f"{name} = {self.tame(name, BOUND + bound)}")
        elif kind == "*":
            self.emit(indent, f"{name} *= {self.tame(text, bound * 2)}")
            self.emit(indent, f"{name} = {self.tame(name, 2 * BOUND)}")
        else:
            self.emit(indent, f"{name} /= {self.positive(text)}")
        return None

    def store(self, scope: Scope, indent: int, depth: int) -> None:
        arrays = self.writable(scope)
        if not arrays:
            return self.assign(scope, indent, depth)
        array = self.rng.choice(arrays)
        element = self.element(array, scope, own=scope.in_parallel)
        text, bound = self.float_expr(scope, 3)
        if self.chance(0.35):
            self.emit(indent, f"{element} += {self.tame(text, bound * 4)}")
            self.emit(indent, f"{element} = {self.tame(element, BOUND + BOUND)}")
        else:
            self.emit(indent, f"{element} = {self.tame(text, bound)}")
        return None

    def slice_store(self, scope: Scope, indent: int, depth: int) -> None:
        """A whole-array update; source and target may overlap."""
        arrays = self.writable(scope)
        if not arrays:
            return self.assign(scope, indent, depth)
        array = self.rng.choice(arrays)
        target, shape = self.window(array)
        text = self.array_expr(scope, shape, 2)
        if self.chance(0.3):
            self.emit(indent, f"{target} *= 0.5")
            self.emit(indent, f"{target} += 0.5 * np.tanh({text})")
        else:
            self.emit(indent, f"{target} = {self.rng.choice(['np.tanh({})', 'np.sin({})', '{}']).format(text)}")
            self.emit(indent, f"{target} = np.arctan({target})")
        return None

    def new_array(self, scope: Scope, indent: int, depth: int) -> None:
        sources = [a for a in scope.arrays if not a.ints]
        name = self.fresh("u")
        n = self.rng.randint(2, 5)
        kind = self.rng.randint(0, 4)
        if kind == 0 or not sources:
            shape: tuple[int, ...] = (n,)
            self.emit(indent, f"{name} = np.{self.rng.choice(['zeros', 'ones'])}({n})")
        elif kind == 1:
            shape = (n,)
            self.emit(indent, f"{name} = np.full({n}, {self.tame(*self.float_expr(scope, 1))})")
        else:
            source = self.rng.choice(sources)
            shape = source.shape
            if kind == 2:
                self.emit(indent, f"{name} = {source.name}.copy()")
                scope.arrays.append(replace(source, name=name, local=True))
                return
            if kind == 3:
                self.emit(indent, f"{name} = np.zeros_like({source.name})")
                scope.arrays.append(replace(source, name=name, local=True))
                return
            if any(a.single for a in sources):
                self.emit(indent, f"{name} = np.zeros({shape if len(shape) > 1 else shape[0]})")
            else:
                self.emit(indent, f"{name} = {self.bounded_array(scope, shape)}")
        scope.arrays.append(Arr(name, shape, local=True))

    def bounded_array(self, scope: Scope, shape: tuple[int, ...]) -> str:
        return f"np.tanh({self.array_expr(scope, shape, 2)})"

    def view(self, scope: Scope, indent: int, depth: int) -> None:
        arrays = [a for a in scope.arrays if not a.ints]
        if not arrays:
            return self.assign(scope, indent, depth)
        array = self.rng.choice(arrays)
        text, shape = self.window(array, drop=True)
        name = self.fresh("v")
        self.emit(indent, f"{name} = {text}")
        scope.arrays.append(replace(array, name=name, shape=shape))
        return None

    def swap(self, scope: Scope, indent: int, depth: int) -> None:
        """Exchange two arrays of one shape that the function may rebind."""
        pairs = [
            (a, b)
            for n, a in enumerate(scope.arrays)
            for b in scope.arrays[:n]
            if a.shape == b.shape and a.single == b.single and not a.ints and not b.ints
            and a.local and b.local and not {a.name, b.name} & scope.fixed
        ]
        if not pairs:
            return self.new_array(scope, indent, depth) if depth == 0 else self.assign(scope, indent, depth)
        a, b = self.rng.choice(pairs)
        self.emit(indent, f"{a.name}, {b.name} = {b.name}, {a.name}")
        return None

    def call(self, scope: Scope, indent: int, depth: int) -> None:
        if not self.helpers:
            return self.assign(scope, indent, depth)
        helper = self.rng.choice(self.helpers)
        candidates = [a for a in self.writable(scope) if len(a.shape) == 1 and not a.single]
        if helper.arrays and not candidates:
            return self.assign(scope, indent, depth)
        args = [self.tame(*self.float_expr(scope, 1)) for _ in range(helper.floats)]
        args += [self.rng.choice(candidates).name for _ in range(helper.arrays)]
        if helper.default and self.chance(0.5):
            args.append(f"w={self.tame(*self.float_expr(scope, 1))}")
        first, second = self.target(scope), self.target(scope)
        if helper.returns_pair:
            second = second if second != first else self.fresh("f")
            self.emit(indent, f"{first}, {second} = {helper.name}({', '.join(args)})")
            self.bind(scope, second)
        else:
            self.emit(indent, f"{first} = {helper.name}({', '.join(args)})")
        self.bind(scope, first)
        return None

    def inner_function(self, scope: Scope, indent: int, depth: int) -> None:
        """A lambda or nested function that captures variables, called at once and perhaps in a later statement."""
        name = self.fresh("g")
        captured = [f for f in scope.floats]
        inner = scope.child()
        inner.floats = [*captured, "z"]
        body = self.tame(*self.float_expr(inner, 2))
        if self.chance(0.5):
            self.emit(indent, f"{name} = lambda z: {body}")
        else:
            self.emit(indent, f"def {name}(z):")
            self.emit(indent + 1, f"return {body}")
        target = self.target(scope)
        self.emit(indent, f"{target} = {name}({self.tame(*self.float_expr(scope, 1))})")
        self.bind(scope, target)

    def branch(self, scope: Scope, indent: int, depth: int) -> None:
        self.emit(indent, f"if {self.condition(scope)}:")
        self.block(scope.child(), indent + 1, self.rng.randint(1, 2), depth + 1)
        if self.chance(0.25):
            self.emit(indent, f"elif {self.condition(scope)}:")
            self.block(scope.child(), indent + 1, 1, depth + 1)
        if self.chance(0.6):
            self.emit(indent, "else:")
            self.block(scope.child(), indent + 1, self.rng.randint(1, 2), depth + 1)

    def for_loop(self, scope: Scope, indent: int, depth: int) -> None:
        counter = self.fresh("i")
        text, low, high, trips = self.range(scope)
        if self.trips * trips > 60:
            return self.assign(scope, indent, depth)
        self.emit(indent, f"for {counter} in {text}:")
        self.loop_body(scope, indent, depth, Int(counter, low, high), trips)
        return None

    def loop_body(self, scope: Scope, indent: int, depth: int, counter: Int | None, trips: int) -> None:
        inner = scope.child()
        if counter is not None:
            inner.ints.append(counter)
            inner.fixed.add(counter.name)
        outer, self.trips = self.trips, self.trips * max(1, trips)
        self.block(inner, indent + 1, self.rng.randint(1, 3), depth + 1)
        self.trips = outer

    def range(self, scope: Scope) -> tuple[str, int, int, int]:
        """The text of a range, the least and greatest counter, and the most iterations."""
        bounds = [i for i in scope.ints if 0 <= i.low and i.high <= 5]
        kind = self.rng.randint(0, 4)
        if kind == 0 and bounds:
            bound = self.rng.choice(bounds)
            return f"range({bound.name})", 0, max(0, bound.high - 1), bound.high
        if kind == 1 and bounds:
            bound = self.rng.choice(bounds)
            return f"range({bound.name}, {bound.high + 1})", bound.low, bound.high, bound.high - bound.low + 1
        if kind == 2:
            top = self.rng.randint(2, 5)
            return f"range({top}, -1, -{self.rng.choice([1, 2])})", 0, top, top + 1
        if kind == 3:
            return f"range(1, {self.rng.randint(4, 6)}, 2)", 1, 5, 3
        top = self.rng.randint(1, 4)
        return f"range({top})", 0, top - 1, top

    def parallel_loop(self, scope: Scope, indent: int, depth: int) -> None:
        """Each iteration writes the rows that are its own, and reads what none writes."""
        targets = [a for a in self.writable(scope) if a.local or len(scope.arrays) == 1]
        if not targets or self.trips > 6:
            return self.for_loop(scope, indent, depth)
        target = self.rng.choice(targets)
        counter = self.fresh("i")
        readable = [a for a in scope.arrays if a.local and a.name != target.name and self.chance(0.5)]
        self.emit(indent, f"for {counter} in prange({target.shape[0]}):")
        inner = scope.child()
        inner.in_parallel = True
        inner.arrays = [a for a in readable if not self.may_share(a, target)]
        inner.fixed |= set(inner.floats)
        inner.ints.append(Int(counter, 0, target.shape[0] - 1))
        rest = "".join(f", {self.rng.randrange(extent)}" for extent in target.shape[1:])
        element = f"{target.name}[{counter}{rest}]"
        text, bound = self.float_expr(inner, 3)
        self.emit(indent + 1, f"{element} = {self.tame(f'0.5 * {element} + {text}', bound + BOUND)}")
        return None

    def may_share(self, a: Arr, b: Arr) -> bool:
        """Views carry the flag of what they view, so two arrays of which one is a view may be the same memory."""
        return a.name.startswith("v") or b.name.startswith("v")

    def while_loop(self, scope: Scope, indent: int, depth: int) -> None:
        counter = self.fresh("j")
        limit = self.rng.randint(1, 4)
        if self.trips * limit > 60:
            return self.assign(scope, indent, depth)
        self.emit(indent, f"{counter} = 0")
        more = f" and ({self.condition(scope)})" if self.chance(0.5) and scope.floats else ""
        self.emit(indent, f"while {counter} < {limit}{more}:")
        inner = Int(counter, 0, limit - 1)
        self.loop_body(scope, indent, depth, inner, limit)
        self.emit(indent + 1, f"{counter} += 1")
        return None


def generate(rng: random.Random, size: int = 14) -> Program:
    """A random program."""
    return Generator(rng, size).program()
