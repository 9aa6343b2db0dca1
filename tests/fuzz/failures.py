"""Random programs: statements that sometimes raise, and variables that some paths do not set.

The exception, its message, and everything stored before it must be as in Python.
"""

from __future__ import annotations

from tests.fuzz.control import Control
from tests.fuzz.expressions import Arr, Int, Scope

RAISED = ("ValueError", "RuntimeError", "ArithmeticError", "IndexError", "TypeError", "OverflowError", "LookupError")


class Failures(Control):
    """Statements that fail under conditions that seldom hold."""

    def rare(self, scope: Scope) -> str:
        name = self.rng.choice(scope.floats) if scope.floats else "0.0"
        return f"{self.rng.choice(['{} > 0.97', '{} < -0.97', 'abs({}) > 1.1']).format(name)}"

    def message(self, scope: Scope) -> str:
        """The text of an exception's argument."""
        parts = ["no convergence"]
        if scope.ints and self.chance(0.6):
            form = self.rng.choice(["at step {%s}", "{%s:d} of 7", "{%s:3d}"])
            parts.append(form % self.rng.choice(scope.ints).name)
        if scope.floats and self.chance(0.6):
            form = self.rng.choice(["residual {%s:.3f}", "x = {%s:8.2e}", "{%s:+.2f}"])
            parts.append(form % self.rng.choice(scope.floats).replace('"', "'"))
        if len(parts) == 1:
            return '"no convergence"'
        return f'f"{": ".join(parts)}"'

    def raising(self, scope: Scope, indent: int, depth: int) -> None:
        self.emit(indent, f"if {self.rare(scope)}:")
        if self.chance(0.3):
            self.block(scope.child(), indent + 1, 1, 3)
        name = self.rng.choice(RAISED)
        self.emit(indent + 1, f"raise {name}({self.message(scope)})" if self.chance(0.9) else f"raise {name}")

    def asserting(self, scope: Scope, indent: int, depth: int) -> None:
        message = f", {self.message(scope)}" if self.chance(0.7) else ""
        self.emit(indent, f"assert not {self.rare(scope)}{message}")

    def dividing(self, scope: Scope, indent: int, depth: int) -> None:
        """By an int that may be 0. An element of an array would not do: NumPy's ints do not raise."""
        ints = [i for i in scope.ints if i.low < i.high]
        if not ints:
            return self.assign(scope, indent, depth)
        number = self.rng.choice(ints)
        zero = self.rng.randint(number.low, number.high)
        divisor = f"(int({number.name}) - {zero})"
        size = number.high - number.low
        if self.chance(0.6):
            self.emit(indent, f"if {self.rare(scope)}:")
            indent += 1
            scope = scope.child()
        name = self.fresh("k")
        self.emit(indent, f"{name} = {self.rng.randint(-9, 9)} {self.rng.choice(['//', '%'])} {divisor}")
        scope.ints.append(Int(name, -max(9, size), max(9, size)))
        return None

    def outside(self, scope: Scope, indent: int, depth: int) -> None:
        """A subscript that may be out of range, on either side."""
        arrays = [a for a in scope.arrays if len(a.shape) == 1 and not a.ints]
        if not arrays:
            return self.assign(scope, indent, depth)
        array = self.rng.choice(arrays)
        at = self._reaching(scope, array)
        if self.chance(0.5):
            name = self.target(scope)
            self.emit(indent, f"{name} = {self.tame(f'0.5 * {array.name}[{at}]', 2.0)}")
            self.bind(scope, name)
        else:
            self.emit(indent, f"{array.name}[{at}] = {self.tame(*self.float_expr(scope, 2))}")
        return None

    def _reaching(self, scope: Scope, array: Arr) -> str:
        """An index that may be one too far."""
        extent = array.shape[0]
        ints = [i for i in scope.ints if i.high - i.low <= 4 and (i.name not in scope.fixed or self.chance(0.2))]
        if not ints or self.chance(0.3):
            far = extent if self.chance(0.5) else -extent - 1
            return f"{far} if {self.rare(scope)} else {self.rng.randrange(extent)}"
        number = self.rng.choice(ints)
        # The greatest value of the number is just beyond the end, or the least one before the beginning.
        shift = extent - number.high if self.chance(0.5) else -extent - 1 - number.low
        return f"{number.name} + {shift}" if shift >= 0 else f"{number.name} - {-shift}"

    def unset(self, scope: Scope, indent: int, depth: int) -> None:
        """A variable that one path sets, read after the paths met: often where it was set, now and then not."""
        name = self.fresh("f")
        kind = self.rng.randint(0, 2)
        test = self.condition(scope)
        if kind == 0:
            self.emit(indent, f"if not {self.rare(scope)}:")
        elif kind == 1:
            self.emit(indent, f"if {test}:")
        else:
            counts = [i.name for i in scope.ints if 1 <= i.low and i.high <= 4] or ["2"]
            self.emit(indent, f"for {self.fresh('i')} in range({self.rng.choice(counts)}):")
        self.emit(indent + 1, f"{name} = {self.tame(*self.float_expr(scope, 2))}")
        if kind == 1:
            self.emit(indent, f"if {self.rng.choice([test, f'not {self.rare(scope)}'])}:")
            indent, scope = indent + 1, scope.child()
        target = self.target(scope)
        self.emit(indent, f"{target} = {self.tame(f'0.5 * {name}', 1.0)}")
        self.bind(scope, target)
