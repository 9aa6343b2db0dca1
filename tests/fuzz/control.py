"""Random programs: how control leaves loops and functions, what loops iterate over, ``match``."""

from __future__ import annotations

from tests.fuzz.expressions import Arr, Int, Scope
from tests.fuzz.integers import Integers

Item = Int | Arr | str  # what a loop binds: an int, a row, a float


class Control(Integers):
    """Statements. The generator proper has ``block``, which fills the bodies."""

    trips: int
    most_trips = 60  # iterations of nested loops

    # Jumps -----------------------------------------------------------------------------------------------------------

    def jump(self, scope: Scope, indent: int, depth: int) -> None:
        """Leave the iteration, the loop or the function under a condition."""
        kinds = list(scope.jumps) + (["return"] if scope.leave is not None else [])
        if not kinds:
            return self.assign(scope, indent, depth)
        kind = self.rng.choice(kinds)
        self.emit(indent, f"if {self.condition(scope)}:")
        inner = scope.child()
        if self.chance(0.4):
            self.block(inner, indent + 1, 1, 3)
        way = self.rng.randint(0, 9)
        if kind == "return" and scope.leave is not None:
            kind = f"return {scope.leave(inner if way else scope.child())}"
        if way == 0:
            self.emit(indent + 1, "pass")
            self.emit(indent, "else:")
        self.emit(indent + 1, kind)
        if way == 1:
            self.emit(indent, "else:")
            self.block(scope.child(), indent + 1, 1, 3)
        return None

    def loop_else(self, scope: Scope, indent: int, depth: int) -> None:
        """``else`` after the loop that was just written."""
        if "jumps" in self.features and self.chance(0.25):
            self.emit(indent, "else:")
            self.block(scope.child(), indent + 1, 1, depth + 1)

    def endless_loop(self, scope: Scope, indent: int, depth: int) -> None:
        """``while True``, left by ``break`` or ``return``."""
        counter = self.fresh("j")
        limit = self.rng.randint(1, 4)
        if self.trips * limit > self.most_trips:
            return self.assign(scope, indent, depth)
        self.emit(indent, f"{counter} = 0")
        self.emit(indent, "while True:")
        first = self.chance(0.5)
        if first:
            self.emit(indent + 1, f"{counter} += 1")
        more = f" or {self.condition(scope)}" if self.chance(0.4) else ""
        self.emit(indent + 1, f"if {counter} > {limit}{more}:")
        self.emit(indent + 2, "break")
        low, high = (1, limit) if first else (0, limit)
        jumps = ("break", "continue") if first else ("break",)
        self.loop_body(scope, indent, depth, Int(counter, low, high), limit, jumps)
        if not first:
            self.emit(indent + 1, f"{counter} += 1")
        scope.ints.append(Int(counter, 0, limit + 1))
        return None

    # What loops go over ----------------------------------------------------------------------------------------------

    def each(self, scope: Scope, indent: int, depth: int) -> None:
        """A loop over something else than a range."""
        source, items, trips = self.iterable(scope, 2, indent)
        if self.trips * trips > self.most_trips:
            return self.assign(scope, indent, depth)
        self.emit(indent, f"for {self._targets(items)} in {source}:")
        inner = scope.child()
        self._bind_items(inner, items)
        self.loop_body(inner, indent, depth, None, trips)
        self.loop_else(scope, indent, depth)
        return None

    def iterable(self, scope: Scope, depth: int, indent: int) -> tuple[str, list[Item | list[Item]], int]:
        """Its text, what it binds, and how many iterations at most."""
        kind = self.rng.randint(0, 9)
        if depth > 0 and kind <= 2:
            text, items, trips = self.iterable(scope, depth - 1, indent)
            first = self.rng.choice([0, 0, 1])
            counter = Int(self.fresh("i"), first, first + max(0, trips - 1))
            return f"enumerate({text}{', 1' if first else ''})", [counter, items if len(items) > 1 else items[0]], trips
        if depth > 0 and kind <= 4:
            text, items, trips = self.iterable(scope, depth - 1, indent)
            other, more, fewer = self.iterable(scope, depth - 1, indent)
            both = [p if len(p) > 1 else p[0] for p in (items, more)]
            return f"zip({text}, {other})", both, min(trips, fewer)
        backwards = "reversed({})" if self.chance(0.3) else "{}"
        if kind <= 6:
            arrays = [a for a in scope.arrays if a.shape]
            if arrays:
                array = self.rng.choice(arrays)
                return backwards.format(array.name), [self._row(array)], array.shape[0]
        if kind == 7 and scope.sequences:
            sequence = self.rng.choice(scope.sequences)
            return backwards.format(sequence.text), [self.fresh("e")], sequence.length
        if kind == 8:
            text, low, high, trips = self.range(scope)
            if self.chance(0.5):
                name = self.fresh("w")
                self.emit(indent, f"{name} = {text}")
                text = name
            return backwards.format(text), [Int(self.fresh("i"), low, high)], trips
        count = self.rng.randint(1, 3)
        values = [self.tame(*self.float_expr(scope, 1)) for _ in range(count)]
        return backwards.format(f"({', '.join(values)},)"), [self.fresh("e")], count

    def _row(self, array: Arr) -> Item:
        if array.ints:
            return Int(self.fresh("i"), -3, 3)
        if len(array.shape) == 1:
            return self.fresh("e")
        return Arr(self.fresh("v"), array.shape[1:], single=array.single, local=array.local)

    def _targets(self, items: list[Item | list[Item]]) -> str:
        parts = []
        for item in items:
            if isinstance(item, list):
                parts.append(f"({self._targets(item)})")
            else:
                parts.append(item if isinstance(item, str) else item.name)
        return ", ".join(parts)

    def _bind_items(self, scope: Scope, items: list[Item | list[Item]]) -> None:
        for item in items:
            if isinstance(item, list):
                self._bind_items(scope, item)
            elif isinstance(item, Int):
                scope.ints.append(item)
                scope.fixed.add(item.name)
            elif isinstance(item, Arr):
                scope.arrays.append(item)
                scope.fixed.add(item.name)
            else:
                scope.floats.append(item)
                if self.mixed:  # it may be a float32, which does not become a float in a loop
                    scope.fixed.add(item)

    # match -----------------------------------------------------------------------------------------------------------

    def match(self, scope: Scope, indent: int, depth: int) -> None:
        """On an int of run time, or on a text that is known when the program is traced."""
        if self.chance(0.25):
            subject, patterns = repr(self.rng.choice(["add", "scale"])), ["'add'", "'scale'", "'none' | 'add'"]
            name = self.fresh("s")
            self.emit(indent, f"{name} = {subject}")
            subject = name
        else:
            subject, _, _ = self.int_expr(scope, 2)
            patterns = ["0", "1", "-1", "1 | 2", "2 | 3 | -2", "3"]
        self.emit(indent, f"match {subject}:")
        for pattern in self.rng.sample(patterns, self.rng.randint(1, 3)):
            guard = f" if {self.condition(scope)}" if self.chance(0.2) else ""
            self.emit(indent + 1, f"case {pattern}{guard}:")
            self.block(scope.child(), indent + 2, 1, depth + 1)
        if self.chance(0.7):
            self.emit(indent + 1, "case _:")
            self.block(scope.child(), indent + 2, 1, depth + 1)

    # What the generator has ------------------------------------------------------------------------------------------

    def block(self, scope: Scope, indent: int, count: int, depth: int) -> None:
        raise NotImplementedError

    def assign(self, scope: Scope, indent: int, depth: int) -> None:
        raise NotImplementedError

    def range(self, scope: Scope) -> tuple[str, int, int, int]:
        raise NotImplementedError

    def loop_body(
        self,
        scope: Scope,
        indent: int,
        depth: int,
        counter: Int | None,
        trips: int,
        jumps: tuple[str, ...] = ("break", "continue"),
    ) -> None:
        raise NotImplementedError
