"""Random programs: the text of Python functions in the language that adc compiles.

Every program terminates and is well-behaved by construction: subscripts are in range (except those of ``failures.py``),
loops are short, and all values of variables and elements are at most ``BOUND`` in size, so that they neither overflow
nor lose digits. All choices come from one ``random.Random``, which hypothesis can control.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from tests.fuzz import features
from tests.fuzz.expressions import BOUND, Arr, Int, Scope, Seq
from tests.fuzz.idioms import Idioms
from tests.fuzz.params import Choice, Group, Maybe, Spec, name_of
from tests.fuzz.statements import Helper

Statement = Callable[[Scope, int, int], None]
HEAD = """import dataclasses
import enum
import functools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from adc import prange

SCALE = 0.75
"""
MODES = """class Mode(enum.Enum):
    FAST = 1
    SLOW = 2
"""


@dataclass(frozen=True)
class Program:
    """``text`` defines ``main`` (and what it calls). ``params`` are its parameters, in order."""

    text: str
    params: tuple[Spec, ...]


class Generator(Idioms):
    """Makes one program. ``size`` bounds the number of statements."""

    def __init__(self, rng: random.Random, size: int = 14, only: frozenset[str] | None = None) -> None:
        super().__init__(rng, features.choose(rng, only))
        self.budget = size
        self.helpers = []
        self.classes = []
        self.calls = []
        self.makers = []
        self.object_makers = []
        self.trips = 1

    # Programs --------------------------------------------------------------------------------------------------------

    def program(self) -> Program:
        chunks = [HEAD]
        n = self.extent()
        if self.kinds_of_class():
            chunks += [self.define_class(n) for _ in range(self.rng.randint(1, 2))]
        if "options" in self.features:
            chunks.append(MODES)
        chunks += [self.helper() for _ in range(self.rng.randint(0, 2))]
        chunks += self.top_functions()
        chunks += self.idiom_functions()
        scope = Scope(leave=self.result)
        params: list[Spec] = ["x"]
        scope.floats.append("x")
        if self.chance(0.5):
            params.append("y")
            scope.floats.append("y")
        for name in ["a", "b", "c"][: self.few_arrays()]:
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
        if "container_arguments" in self.features:
            params += [self.group(scope, name, n) for name in ["s", "r"][: self.rng.randint(1, 2)]]
        if "options" in self.features:
            params.append(self.option(scope))
        self.lines = []
        self.block(scope, 1, self.rng.randint(2, 7), depth=0)
        self.emit(1, f"return {self.result(scope)}")
        head = f"def main({', '.join(name_of(p) for p in params)}):"
        chunks.append("\n".join([head, *self.lines]))
        return Program("\n\n".join(chunks) + "\n", tuple(params))

    def extent(self) -> int:
        """How long the arrays of the program are."""
        return self.rng.randint(3, 6)

    def few_arrays(self) -> int:
        """How many arrays it is given."""
        return self.rng.randint(0, 3)

    def group(self, scope: Scope, name: str, extent: int) -> Group:
        """A parameter that is a container; its leaves come into scope."""
        if self.classes and self.chance(0.6):
            cls = self.rng.choice(self.classes)
            self.expose(scope, name, cls)
            scope.fixed.add(name)
            return self.spec_of(name, cls)
        kind = self.rng.choice(["tuple", "list", "dict"])
        labels = ["u", "v", "w"][: self.rng.randint(1, 3)]
        items: list[tuple[str, Spec]] = []
        arrays = self.chance(0.4)
        for k, label in enumerate(labels):
            path = f"{name}['{label}']" if kind == "dict" else f"{name}[{k}]"
            if arrays:
                items.append((label, Arr(label, (extent,))))
                scope.arrays.append(Arr(path, (extent,)))
            elif kind != "list" and self.chance(0.2):
                inner = ("p", "q")
                items.append((label, Group(label, "tuple", tuple((i, i) for i in inner))))
                scope.floats += [f"{path}[0]", f"{path}[1]"]
                scope.fixed |= {f"{path}[0]", f"{path}[1]"}
            else:
                items.append((label, label))
                scope.floats.append(path)
                if kind == "tuple":
                    scope.fixed.add(path)
        if all(isinstance(item, str) for _, item in items):
            scope.sequences.append(Seq(f"{name}.values()" if kind == "dict" else name, len(items)))
        return Group(name, kind, tuple(items))

    def option(self, scope: Scope) -> Spec:
        """A parameter that selects: a text, an enum, a bool, or a float that may be None."""
        kind = self.rng.randint(0, 3)
        name = "mode"
        if kind == 3:
            scope.floats.append(f"({self.constant()} if {name} is None else {name})")
            scope.fixed.add(scope.floats[-1])
            self.tests.append(f"{name} is {self.rng.choice(['', 'not '])}None")
            return Maybe(name)
        texts = (("'fast'", "'slow'"), ("Mode.FAST", "Mode.SLOW"), ("True", "False"))[kind]
        test = name if kind == 2 else f"{name} {'==' if kind == 0 or self.chance(0.5) else 'is'} {texts[0]}"
        self.tests.append(test)
        if kind == 2:
            scope.ints.append(Int(f"({name} + 1)", 1, 2))
            scope.fixed.add(f"({name} + 1)")
        return Choice(name, texts)

    def helper(self) -> str:
        """A function with a loop or a branch of its own; it may write to its arrays."""
        helper = Helper(
            self.fresh("h"),
            floats=self.rng.randint(1, 2),
            arrays=self.rng.randint(0, 2),
            returns_pair=self.chance(0.25),
            default=self.chance(0.3),
        )
        with self.apart() as lines:
            params = self._helper_body(helper)
        self.helpers.append(helper)
        return "\n".join([f"def {helper.name}({', '.join(params)}):", *lines])

    def _helper_body(self, helper: Helper) -> list[str]:
        """Writes it, and returns the parameters."""
        scope = Scope(leave=lambda inner: self.helper_result(inner, helper))
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
            inner.jumps = ("break", "continue")
            inner.fixed.add(k)
            if "jumps" in self.features and self.chance(0.4):
                self.jump(inner, 2, 3)
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
        return params

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
        text = " + ".join(f"{self.constant()} * {part}" if self.chance(0.5) else part for part in parts)
        return self.of_one_type(text) if "jumps" in self.features else text

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
        if scope.jumps and "jumps" in self.features:
            kinds += [self.jump] * 4
        for feature, at_most, made in self.special:
            if depth <= at_most and feature in self.features:
                kinds += made
        self.rng.choice(kinds)(scope, indent, depth)

    @cached_property
    def special(self) -> list[tuple[str, int, list[Statement]]]:
        """Statements of features: at which depth of loops and branches they may be."""
        return [
            ("jumps", 2, [self.jump]),
            ("while_true", 1, [self.endless_loop] * 2),
            ("iteration", 2, [self.each] * 3),
            ("match", 2, [self.match] * 2),
            ("raise", 3, [self.raising] * 4),
            ("assert", 3, [self.asserting] * 4),
            ("zero_division", 3, [self.dividing] * 4),
            ("out_of_bounds", 3, [self.outside] * 4),
            ("unset", 2, [self.unset] * 3),
            ("integers", 3, [self.int_assign] * 3),
            ("int_then_float", 1, [self.late_float] * 2),
            ("tuples", 3, [self.new_tuple, self.new_tuple, self.unpack]),
            ("named", 3, [self.new_object, self.change_object]),
            ("frozen", 3, [self.new_object, self.change_object, self.made_object]),
            ("mutable", 3, [self.new_object, self.change_object, self.change_object, self.made_object]),
            ("lists", 2, [self.new_list, self.new_list, self.change_list]),
            ("comprehensions", 2, [self.new_list, self.new_list, self.generator_sum]),
            ("growing_lists", 1, [self.growing_list] * 2),
            ("dicts", 2, [self.new_dict] * 2),
            ("container_arguments", 3, [self.change_object]),
            ("recursion", 1, [self.call_top] * 2),
            ("higher_order", 2, [self.call_top] * 2),
            ("variadic", 2, [self.call_top] * 2),
            ("partial", 1, [self.partial] * 2),
            ("makers", 1, [self.made] * 2),
            ("closures", 1, [self.closure, self.closure, self.call_local]),
            ("function_tuples", 1, [self.function_tuple] * 2),
            ("buffers", 1, [self.time_loop] * 3),
            ("states", 1, [self.history] * 3),
            ("counting", 2, [self.counting] * 3),
            ("structured", 1, [self.structured] * 2),
            ("small_arrays", 2, [self.small_array] * 3),
            ("products", 1, [self.product] * 3),
            ("index_arrays", 2, [self.indexed] * 3),
            ("masks", 2, [self.masked] * 3),
            ("counts", 1, [self.counted] * 2),
            ("shapes", 2, [self.shaped] * 3),
            ("zero_rank", 2, [self.zero_rank] * 2),
            ("complex", 2, [self.complex_numbers] * 2),
            ("returned_containers", 1, [self.returned] * 2),
        ]

    def scalar_helpers(self) -> list[tuple[str, int]]:
        return [(h.name, h.floats) for h in self.helpers if not h.arrays and not h.returns_pair]


def generate(rng: random.Random, size: int = 14, only: frozenset[str] | None = None) -> Program:
    """A random program, of the features ``only`` if they are given, else of some of all."""
    return Generator(rng, size, only).program()
