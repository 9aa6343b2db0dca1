"""Random programs: the statements of every program: assignment, arrays, calls, branches, loops."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.fuzz.expressions import BOUND, Arr, Fn, Int, Scope
from tests.fuzz.functions import Functions


@dataclass(frozen=True)
class Helper:
    """A function that the program calls: ``floats`` scalar parameters, then ``arrays`` of the given rank."""

    name: str
    floats: int
    arrays: int
    returns_pair: bool
    default: bool


class Statements(Functions):
    """Each method writes one statement, at a depth of so many loops and branches."""

    helpers: list[Helper]

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
            form = self.rng.choice(["np.tanh({})", "np.sin({})", "{}"])
            if len(shape) == 1 and any("::2" in part or part.startswith("v") for part in (target, text)):
                # NumPy's own copy between overlapping slices with different steps reads what it has written already.
                text = f"1.0 * {text}"
            self.emit(indent, f"{target} = {form.format(text)}")
            self.emit(indent, f"{target} = np.arctan({target})")
        return None

    def new_array(self, scope: Scope, indent: int, depth: int) -> None:
        sources = [a for a in scope.arrays if not a.ints]
        name = self.fresh("u")
        n = self.new_extent()
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

    def new_extent(self) -> int:
        return self.rng.randint(2, 5)

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
        inner = scope.child()
        inner.floats.append("z")
        body = self.tame(*self.float_expr(inner, 2))
        if self.chance(0.5):
            self.emit(indent, f"{name} = lambda z: {body}")
        else:
            self.emit(indent, f"def {name}(z):")
            self.emit(indent + 1, f"return {body}")
        target = self.target(scope)
        self.emit(indent, f"{target} = {name}({self.tame(*self.float_expr(scope, 1))})")
        self.bind(scope, target)
        scope.functions.append(Fn(name))

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
        if self.trips * trips > self.most_trips:
            return self.assign(scope, indent, depth)
        self.emit(indent, f"for {counter} in {text}:")
        self.loop_body(scope, indent, depth, Int(counter, low, high), trips)
        self.loop_else(scope, indent, depth)
        if "loop_variable" in self.features and text[len("range(")].isdigit():
            # It goes round at least once.
            scope.ints.append(Int(counter, low, high))
        return None

    def loop_body(
        self,
        scope: Scope,
        indent: int,
        depth: int,
        counter: Int | None,
        trips: int,
        jumps: tuple[str, ...] = ("break", "continue"),
    ) -> None:
        inner = scope.child()
        inner.jumps = jumps
        self.in_loop(inner)
        if counter is not None:
            inner.ints.append(counter)
            inner.fixed.add(counter.name)
        outer, self.trips = self.trips, self.trips * max(1, trips)
        self.block(inner, indent + 1, self.rng.randint(1, 3), depth + 1)
        self.trips = outer

    def in_loop(self, scope: Scope) -> None:
        """What else holds in the body of a loop; for generators of other kinds of programs."""

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
        if not targets or self.trips * 10 > self.most_trips:
            return self.for_loop(scope, indent, depth)
        target = self.rng.choice(targets)
        counter = self.fresh("i")
        readable = [a for a in scope.arrays if a.local and a.name != target.name and self.chance(0.5)]
        self.emit(indent, f"for {counter} in prange({target.shape[0]}):")
        inner = scope.child()
        inner.in_parallel = True
        inner.jumps, inner.leave = (), None
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
        if self.trips * limit > self.most_trips:
            return self.assign(scope, indent, depth)
        self.emit(indent, f"{counter} = 0")
        more = f" and ({self.condition(scope)})" if self.chance(0.5) and scope.floats else ""
        self.emit(indent, f"while {counter} < {limit}{more}:")
        if self.chance(0.5):
            # In front, so that ``continue`` cannot go round for ever.
            self.emit(indent + 1, f"{counter} += 1")
            self.loop_body(scope, indent, depth, Int(counter, 1, limit), limit)
        else:
            self.loop_body(scope, indent, depth, Int(counter, 0, limit - 1), limit, jumps=("break",))
            self.emit(indent + 1, f"{counter} += 1")
        self.loop_else(scope, indent, depth)
        if "loop_variable" in self.features:
            scope.ints.append(Int(counter, 0, limit))
        return None
