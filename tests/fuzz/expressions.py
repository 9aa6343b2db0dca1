"""Random programs, first part: variables in scope, and expressions over them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tests.fuzz.lines import Lines

BOUND = 2.0


@dataclass(frozen=True)
class Arr:
    """An array variable of known shape. ``single``: float32. ``ints``: integers, which are only read."""

    name: str
    shape: tuple[int, ...]
    single: bool = False
    ints: bool = False
    local: bool = False  # allocated in the function itself


@dataclass(frozen=True)
class Int:
    """An integer variable with its range, ends included."""

    name: str
    low: int
    high: int


@dataclass(frozen=True)
class Fn:
    """Something to call, which returns a float: with ``floats`` numbers, then ``arrays`` of rank 1."""

    name: str
    floats: int = 1
    arrays: int = 0
    pure: bool = True  # writes to nothing


@dataclass(frozen=True)
class Seq:
    """Something to loop over: at most ``length`` floats."""

    text: str
    length: int


@dataclass
class Scope:
    """The variables that are surely set here. A branch or a loop body works on a copy.

    A name may be a path, such as ``s.x`` or ``t[1]``. How control may leave: ``jumps`` are statements that end the
    iteration or the loop, ``leave`` makes the expression that a return statement returns.
    """

    floats: list[str] = field(default_factory=list)
    ints: list[Int] = field(default_factory=list)
    arrays: list[Arr] = field(default_factory=list)
    fixed: set[str] = field(default_factory=set)  # must not be assigned here
    in_parallel: bool = False
    functions: list[Fn] = field(default_factory=list)
    sequences: list[Seq] = field(default_factory=list)
    things: list[Any] = field(default_factory=list)  # containers, as the module that makes them knows them
    jumps: tuple[str, ...] = ()
    leave: Callable[[Scope], str] | None = None

    def child(self) -> Scope:
        return replace(
            self,
            floats=list(self.floats),
            ints=list(self.ints),
            arrays=list(self.arrays),
            fixed=set(self.fixed),
            functions=list(self.functions),
            sequences=list(self.sequences),
            things=list(self.things),
        )


UNARY = (
    ("math.sin({})", 1.0),
    ("math.cos({})", 1.0),
    ("math.tanh({})", 1.0),
    ("math.atan({})", 1.6),
    ("np.sin({})", 1.0),
    ("np.tanh({})", 1.0),
    ("math.exp(-{0} * {0})", 1.0),
    ("math.sqrt(1.5 + {0} * {0})", None),
    ("math.log(1.5 + {0} * {0})", 3.0),
    ("(-{})", None),
    ("abs({})", None),
    ("math.erf({})", 1.0),
    ("math.fabs({})", None),
)
ARRAY_UNARY = ("np.sin({})", "np.cos({})", "np.tanh({})", "np.exp(-{0} * {0})", "np.abs({})", "(-{})", "np.arctan({})")


class Expressions(Lines):
    """Makes expressions."""

    def __init__(self, rng: random.Random, features: frozenset[str] = frozenset()) -> None:
        super().__init__(rng)
        self.features = features
        self.mixed = False  # whether there are float32 arrays
        self.tests: list[str] = []  # conditions that are known when the program is traced

    def float_expr(self, scope: Scope, depth: int) -> tuple[str, float]:
        """The text of a float expression, and a bound on its size."""
        if depth <= 0 or self.chance(0.15):
            return self.float_leaf(scope)
        if "mixed_numbers" in self.features and self.chance(0.12):
            return self.mixed_expr(scope, depth)
        if scope.functions and not scope.in_parallel and self.chance(0.12):
            called = self.call_expr(scope)
            if called is not None:
                return called, BOUND
        kind = self.rng.randint(0, 9)
        if kind <= 4:
            (left, a), (right, b) = self.float_expr(scope, depth - 1), self.float_expr(scope, depth - 1)
            op = self.rng.choice("+-*")
            return (f"({left} {op} {right})", a + b if op != "*" else a * b)
        if kind == 5:
            (left, a), (right, _) = self.float_expr(scope, depth - 1), self.float_expr(scope, depth - 1)
            return f"({left} / {self.positive(right)})", a / 1.25
        if kind == 6:
            (left, a), (right, b) = self.float_expr(scope, depth - 1), self.float_expr(scope, depth - 1)
            left, right = self.of_one_type(left), self.of_one_type(right)
            return f"({left} if {self.condition(scope)} else {right})", max(a, b)
        if kind == 7 and self.chance(0.6):
            (left, a), (right, b) = self.float_expr(scope, depth - 1), self.float_expr(scope, depth - 1)
            left, right = self.of_one_type(left), self.of_one_type(right)
            return f"{self.rng.choice(['max', 'min'])}({left}, {right})", max(a, b)
        inner, bound = self.float_expr(scope, depth - 1)
        if bound > 4:
            inner, bound = f"math.sin({inner})", 1.0
        if kind == 8:
            return f"({inner} ** {self.rng.choice([2, 3])})", max(1.0, bound) ** 3
        form, limit = self.rng.choice(UNARY)
        return form.format(inner), bound + 1.3 if limit is None else limit

    def mixed_expr(self, scope: Scope, depth: int) -> tuple[str, float]:
        raise NotImplementedError

    def call_expr(self, scope: Scope) -> str | None:
        """A call of something that writes to nothing: in an expression the order of effects is Python's own."""
        functions = [f for f in scope.functions if f.pure and not f.arrays]
        if not functions:
            return None
        function = self.rng.choice(functions)
        arguments = [self.tame(*self.float_expr(scope, 1)) for _ in range(function.floats)]
        return f"{function.name}({', '.join(arguments)})"

    def float_leaf(self, scope: Scope) -> tuple[str, float]:
        arrays = [a for a in scope.arrays if a.shape]
        if scope.sequences and scope.ints and self.chance(0.08):
            sequence = self.rng.choice(scope.sequences)
            if sequence.text.isidentifier():
                return f"{sequence.text}[{self.rng.choice(scope.ints).name} % len({sequence.text})]", BOUND
        kind = self.rng.randint(0, 9)
        if kind <= 4 and scope.floats:
            return self.rng.choice(scope.floats), BOUND
        if kind <= 7 and arrays:
            return self.element(self.rng.choice(arrays), scope), 3.0
        if kind == 8 and scope.ints:
            number = self.rng.choice(scope.ints)
            return f"0.25 * {number.name}", 0.25 * max(abs(number.low), abs(number.high))
        if kind == 9 and arrays and not scope.in_parallel:
            array = self.rng.choice(arrays)
            count = 1
            for extent in array.shape:
                count *= extent
            forms = ["np.sum({})", "np.max({})", "np.min({})"]
            if len(array.shape) == 1:
                forms += ["np.dot({0}, {0})"] * 2
            form = self.rng.choice(forms)
            return f"(0.1 * {form.format(array.name)})", 0.9 * count
        return (self.constant(), 1.5) if self.chance(0.85) else ("SCALE", 0.75)

    def condition(self, scope: Scope) -> str:
        if self.tests and self.chance(0.15):
            return self.rng.choice(self.tests)
        kind = self.rng.randint(0, 6)
        if kind == 0 and scope.ints:
            number = self.rng.choice(scope.ints)
            return f"{number.name} % 2 == {self.rng.randint(0, 1)}"
        if kind == 1 and scope.ints:
            number = self.rng.choice(scope.ints)
            return f"{number.name} {self.rng.choice(['<', '<=', '>', '!='])} {self.rng.randint(0, 3)}"
        left, right = self.float_expr(scope, 1)[0], self.constant()
        if kind == 2:
            return f"-0.9 < {left} <= {self.constant()}"
        if kind == 3:
            joined = self.rng.choice(["and", "or"])
            return f"{left} < {right} {joined} {self.float_expr(scope, 1)[0]} > {self.constant()}"
        if kind == 4:
            return f"not {left} > {right}"
        return f"{left} {self.rng.choice(['<', '>', '<=', '>='])} {right}"

    def array_expr(self, scope: Scope, shape: tuple[int, ...], depth: int) -> str:
        """An elementwise expression of this shape; its size does not matter, the caller squashes it."""
        windows = [w for a in scope.arrays if (w := self.window_of_shape(a, shape)) is not None]
        if depth <= 0 or self.chance(0.2):
            if windows and self.chance(0.8):
                return self.rng.choice(windows)
            if windows:
                return f"({self.rng.choice(windows)} * {self.float_leaf(scope)[0]})"
            return self.float_leaf(scope)[0]
        kind = self.rng.randint(0, 3)
        if kind == 0:
            inner = self.array_expr(scope, shape, depth - 1)
            return self.rng.choice(ARRAY_UNARY).format(f"({inner})")
        op = self.rng.choice("+-*")
        left = self.rng.choice(windows) if windows else self.array_expr(scope, shape, depth - 1)
        return f"({left} {op} {self.array_expr(scope, shape, depth - 1)})"

    def element(self, array: Arr, scope: Scope, *, own: bool = False) -> str:
        return f"{array.name}[{', '.join(self.subscript(extent, scope) for extent in array.shape)}]"

    def subscript(self, extent: int, scope: Scope) -> str:
        fitting = [i for i in scope.ints if 0 <= i.low and i.high < extent]
        kind = self.rng.randint(0, 5)
        if "wrapped" in self.features and self.chance(0.4):
            turned = [self.wrapped(i, extent) for i in scope.ints if -extent <= i.low and i.high < extent]
            if turned:
                return self.rng.choice(turned)
        if kind <= 2 and fitting:
            return self.rng.choice(fitting).name
        if kind == 3 and fitting:
            return f"{extent - 1} - {self.rng.choice(fitting).name}"
        if kind == 4 and scope.ints:
            number = self.rng.choice(scope.ints)
            return f"({number.name} * {self.rng.randint(1, 3)} + {self.rng.randint(0, 2)}) % {extent}"
        if kind == 5:
            return str(-self.rng.randint(1, extent))
        return str(self.rng.randrange(extent))

    def wrapped(self, number: Int, extent: int) -> str:
        """A subscript that may count from the end."""
        back = min(2, extent + number.low)
        forms = [f"{number.name} - {self.rng.randint(0, back)}", f"-1 - {number.name}", f"~{number.name}"]
        if number.high <= extent:
            forms.append(f"-{number.name}")
        return self.rng.choice(forms[:1] if number.low < 0 or not number.name.isidentifier() else forms)

    def window(self, array: Arr, *, drop: bool = False) -> tuple[str, tuple[int, ...]]:
        """A basic slice of an array, and its shape."""
        parts, shape = [], []
        for axis, extent in enumerate(array.shape):
            if drop and len(array.shape) > 1 and axis == 0 and self.chance(0.4):
                parts.append(str(self.rng.randrange(extent)))
                continue
            text, size = self.slice(extent)
            parts.append(text)
            shape.append(size)
        return f"{array.name}[{', '.join(parts)}]", tuple(shape)

    def slice(self, extent: int) -> tuple[str, int]:
        kind = self.rng.randint(0, 5)
        if kind == 0:
            return ":", extent
        if kind == 1 and extent > 2:
            return "1:-1", extent - 2
        if kind == 2 and extent > 1:
            return "1:", extent - 1
        if kind == 3 and extent > 1:
            return ":-1", extent - 1
        if kind == 4:
            return "::-1", extent
        if kind == 5 and extent > 2:
            return "::2", (extent + 1) // 2
        return ":", extent

    def window_of_shape(self, array: Arr, shape: tuple[int, ...]) -> str | None:
        if len(array.shape) != len(shape) or any(have < want for have, want in zip(array.shape, shape, strict=True)):
            return None
        parts = []
        for have, want in zip(array.shape, shape, strict=True):
            start = self.rng.randint(0, have - want)
            parts.append(":" if have == want and self.chance(0.5) else f"{start}:{start + want}")
        return array.name if set(parts) == {":"} and self.chance(0.7) else f"{array.name}[{', '.join(parts)}]"

    # Small things ----------------------------------------------------------------------------------------------------

    def writable(self, scope: Scope) -> list[Arr]:
        return [a for a in scope.arrays if not a.ints and a.shape and not scope.in_parallel]

    def target(self, scope: Scope) -> str:
        """An existing variable or a new one."""
        names = [name for name in scope.floats if name not in scope.fixed]
        return self.rng.choice(names) if names and self.chance(0.6) else self.fresh("f")

    def bind(self, scope: Scope, name: str) -> None:
        if name not in scope.floats:
            scope.floats.append(name)

    def tame(self, text: str, bound: float) -> str:
        """``text``, squashed if it may be larger than ``BOUND``."""
        if self.mixed:
            text = f"float({text})"  # a variable is of one type on all paths
        if bound <= BOUND:
            return text
        return f"{self.rng.choice(['math.sin', 'math.tanh', 'math.atan'])}({text})"

    def of_one_type(self, text: str) -> str:
        return f"float({text})" if self.mixed else text

    def positive(self, text: str) -> str:
        return f"(1.25 + {text} ** 2)"

    def constant(self) -> str:
        return f"{self.rng.choice([-1.25, -0.75, -0.5, -0.3, 0.2, 0.4, 0.6, 0.9, 1.1, 1.5])}"
