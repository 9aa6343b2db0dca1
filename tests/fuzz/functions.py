"""Random programs: recursion, functions as values, nested functions that write, star arguments."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.classes import Cls, Thing
from tests.fuzz.expressions import BOUND, Fn, Scope
from tests.fuzz.sequences import Sequences

Call = Callable[[Scope], str | None]  # makes the text of a call; None if something for it is missing


class Functions(Sequences):
    """Functions at the top of the module (each with a way to call it), and functions inside ``main``."""

    calls: list[Call]

    def top_functions(self) -> list[str]:
        """Texts of functions, of the features that this program has."""
        made = {
            "recursion": self.recursive,
            "higher_order": self.higher_order,
            "makers": self.maker,
            "variadic": self.variadic,
        }
        chunks = [make() for name, make in made.items() if name in self.features]
        if self.classes and self.chance(0.7):
            chunks.append(self.of_objects())
        if self.classes and self.chance(0.5):
            chunks.append(self.returning_object())
        return chunks

    def number(self, scope: Scope, depth: int = 1) -> str:
        return self.tame(*self.float_expr(scope, depth))

    def vectors(self, scope: Scope) -> list[str]:
        return [a.name for a in self.writable(scope) if len(a.shape) == 1 and not a.single]

    # Recursion -------------------------------------------------------------------------------------------------------

    def recursive(self) -> str:
        """A function that calls itself, or two that call each other; perhaps twice, perhaps writing to an array."""
        first = self.fresh("r")
        mutual, array = self.chance(0.35), self.chance(0.4)
        twice = not mutual and self.chance(0.3)
        second = self.fresh("r") if mutual else first
        params = ["p0", "k", "m0"] if array else ["p0", "k"]
        rest = ", m0" if array else ""
        scope = Scope(floats=["p0"])
        texts = []
        for name, other in ([(first, second), (second, first)] if mutual else [(first, first)]):
            with self.apart() as lines:
                self.emit(0, f"def {name}({', '.join(params)}):")
                self.emit(1, f"if k <= {0 if name == first else self.rng.randint(0, 1)}:")
                self.emit(2, f"return {self.number(scope, 2)}")
                again = f"{other}({self.number(scope, 2)}, k - 1{rest})"
                if array:
                    element = "m0[k % len(m0)]"
                    self.emit(1, f"{element} = {self.tame(f'0.6 * {element} + {self.number(scope, 2)}', 4.0)}")
                if self.chance(0.4):
                    self.emit(1, f"if {self.condition(scope)}:")
                    self.emit(2, f"return {self.tame(f'{again} * 0.8', 2.0)}")
                text, bound = self.float_expr(scope, 2)
                if twice:
                    self.emit(1, f"q0 = {again}")
                    both = f"0.5 * q0 + {first}({self.number(scope)}, k - 2{rest}) * {text}"
                    self.emit(1, f"return {self.tame(both, BOUND * bound + 1)}")
                elif self.chance(0.4):
                    self.emit(1, f"p0 = {again}")
                    if array:
                        self.emit(1, f"m0[0] = {self.tame('0.5 * m0[0] + p0 * m0[-1]', 6.0)}")
                    self.emit(1, f"return {self.tame(f'p0 + {text}', bound + BOUND)}")
                else:
                    self.emit(1, f"return {self.tame(f'0.7 * {again} + {text}', bound + BOUND)}")
            texts.append("\n".join(lines))

        def call(scope: Scope) -> str | None:
            arrays = self.vectors(scope)
            if array and not arrays:
                return None
            depths = [i.name for i in scope.ints if i.high <= 5] + ["3"]
            last = f", {self.rng.choice(arrays)}" if array else ""
            return f"{first}({self.number(scope)}, {self.rng.choice(depths)}{last})"

        self.calls.append(call)
        return "\n\n".join(texts)

    # Functions as values ---------------------------------------------------------------------------------------------

    def higher_order(self) -> str:
        name = self.fresh("h")
        scope = Scope(floats=["v"], functions=[Fn("f")])
        with self.apart() as lines:
            kind = self.rng.randint(0, 2)
            if kind == 0:
                self.emit(0, f"def {name}(f, v):")
                self.emit(1, f"return {self.tame(f'0.5 * f({self.number(scope)}) + f(v) * {self.number(scope)}', 6.0)}")
            elif kind == 1:
                self.emit(0, f"def {name}(f, v, n=2):")
                self.emit(1, "for _ in range(n):")
                self.emit(2, f"v = {self.tame('f(v) + 0.3 * v', 3.0)}")
                self.emit(1, "return v")
            else:
                self.emit(0, f"def {name}(f, v, g=math.sin):")
                self.emit(1, f"if {self.condition(Scope(floats=['v']))}:")
                self.emit(2, "return g(f(v))")
                self.emit(1, "return f(g(v))")

        def call(scope: Scope) -> str | None:
            return f"{name}({self.function_value(scope)}, {self.number(scope)})"

        self.calls.append(call)
        return "\n".join(lines)

    def function_value(self, scope: Scope) -> str:
        """An expression for a function of one float."""
        named = [f.name for f in scope.functions if f.floats == 1 and not f.arrays]
        kind = self.rng.randint(0, 4)
        if kind <= 1 and named:
            return self.rng.choice(named)
        plain = [h for h in self.scalar_helpers()]
        if kind == 2 and "partial" in self.features and plain:
            helper, floats = self.rng.choice(plain)
            if floats > 1:
                return f"functools.partial({helper}, {', '.join(self.number(scope) for _ in range(floats - 1))})"
        if kind == 3:
            return self.rng.choice(["math.sin", "math.tanh", "np.cos", "abs"])
        inner = scope.child()
        inner.floats.append("z")
        return f"lambda z: {self.number(inner, 2)}"

    def scalar_helpers(self) -> list[tuple[str, int]]:
        """Functions of the module that take floats alone and return one, with how many."""
        raise NotImplementedError

    def partial(self, scope: Scope, indent: int, depth: int) -> None:
        helpers = [(name, floats) for name, floats in self.scalar_helpers() if floats > 1]
        if not helpers:
            return self.assign(scope, indent, depth)
        helper, floats = self.rng.choice(helpers)
        name = self.fresh("g")
        if self.chance(0.3):
            given = f"p{floats - 1}={self.number(scope)}"
        else:
            given = self.number(scope)
        self.emit(indent, f"{name} = functools.partial({helper}, {given})")
        scope.functions.append(Fn(name, floats - 1))
        return None

    def maker(self) -> str:
        """A function that returns a function, which captures its parameters."""
        name = self.fresh("h")
        scope = Scope(floats=["c", "z"])
        with self.apart() as lines:
            self.emit(0, f"def {name}(c):")
            if self.chance(0.5):
                self.emit(1, f"return lambda z: {self.number(scope, 2)}")
            else:
                self.emit(1, f"c = {self.tame(*self.float_expr(Scope(floats=['c']), 2))}")
                self.emit(1, "def inner(z):")
                self.emit(2, f"return {self.number(scope, 2)}")
                self.emit(1, "return inner")
        self.calls.append(lambda scope: f"{name}({self.number(scope)})({self.number(scope)})")
        self.makers.append(name)
        return "\n".join(lines)

    makers: list[str]

    def made(self, scope: Scope, indent: int, depth: int) -> None:
        if not self.makers:
            return self.assign(scope, indent, depth)
        name = self.fresh("g")
        self.emit(indent, f"{name} = {self.rng.choice(self.makers)}({self.number(scope)})")
        scope.functions.append(Fn(name))
        return None

    def function_tuple(self, scope: Scope, indent: int, depth: int) -> None:
        """Functions in a tuple or a dict, called one after the other or by subscript."""
        name, item, target = self.fresh("t"), self.fresh("g"), self.fresh("f")
        values = [self.function_value(scope) for _ in range(self.rng.randint(1, 3))]
        self.emit(indent, f"{name} = ({', '.join(values)},)")
        scope.functions.append(Fn(f"{name}[{self.rng.randrange(len(values))}]"))
        if self.chance(0.6):
            self.emit(indent, f"{target} = {self.number(scope)}")
            self.emit(indent, f"for {item} in {name}:")
            self.emit(indent + 1, f"{target} = {self.tame(f'{item}({target}) + 0.2 * {target}', 4.0)}")
            scope.floats.append(target)

    # Nested functions ------------------------------------------------------------------------------------------------

    def closure(self, scope: Scope, indent: int, depth: int) -> None:
        """A nested function that writes to captured arrays, or to captured floats declared nonlocal."""
        arrays = [a for a in self.writable(scope) if a.name.isidentifier()]
        floats = [f for f in scope.floats if f.isidentifier() and f not in scope.fixed]
        name = self.fresh("g")
        inner = scope.child()
        inner.jumps, inner.leave = (), None
        inner.floats.append("z")
        inner.functions = []
        self.emit(indent, f"def {name}(z):")
        changed = self.rng.choice(floats) if floats and self.chance(0.6) else None
        if changed is not None:
            self.emit(indent + 1, f"nonlocal {changed}")
            self.emit(indent + 1, f"{changed} = {self.tame(*self.float_expr(inner, 2))}")
        if arrays and (changed is None or self.chance(0.5)):
            element = self.element(self.rng.choice(arrays), inner)
            if self.chance(0.3):
                self.emit(indent + 1, f"if {self.condition(inner)}:")
                self.emit(indent + 2, f"return {self.number(inner)}")
            self.emit(indent + 1, f"{element} = {self.tame(f'0.5 * {element} + {self.number(inner, 2)}', 4.0)}")
        self.emit(indent + 1, f"return {self.number(inner, 2)}")
        scope.functions.append(Fn(name, pure=False))
        self.call_local(scope, indent, depth, Fn(name))

    def call_local(self, scope: Scope, indent: int, depth: int, function: Fn | None = None) -> None:
        """Call something that may write, in a statement of its own."""
        functions = [f for f in scope.functions if not f.arrays]
        if function is None:
            if not functions:
                return self.call_top(scope, indent, depth)
            function = self.rng.choice(functions)
        target = self.target(scope)
        arguments = ", ".join(self.number(scope) for _ in range(function.floats))
        self.emit(indent, f"{target} = {function.name}({arguments})")
        self.bind(scope, target)
        return None

    def call_top(self, scope: Scope, indent: int, depth: int) -> None:
        text = self.rng.choice(self.calls)(scope) if self.calls else None
        if text is None:
            return self.assign(scope, indent, depth)
        target = self.target(scope)
        self.emit(indent, f"{target} = {text}")
        self.bind(scope, target)
        return None

    # Parameters ------------------------------------------------------------------------------------------------------

    def variadic(self) -> str:
        """A function with *args, keyword-only parameters and **kwargs."""
        name = self.fresh("h")
        named = self.rng.sample(["alpha", "beta"], self.rng.randint(0, 2))
        defaults = {key: self.chance(0.5) for key in named}
        extra = self.chance(0.5)
        params = ["*args" if named or self.chance(0.8) else "p0=0.5, *args"]
        params += [f"{key}={self.constant()}" if defaults[key] else key for key in named]
        if extra:
            params.append("**options")
        scope = Scope(floats=["e0", "s0", *named])
        with self.apart() as lines:
            self.emit(0, f"def {name}({', '.join(params)}):")
            self.emit(1, "s0 = 0.3")
            if self.chance(0.5):
                self.emit(1, "for e0 in args:")
            else:
                self.emit(1, "for j0, e0 in enumerate(args):")
            self.emit(2, f"s0 = {self.tame(f'0.6 * s0 + {self.number(scope, 2)}', 4.0)}")
            if extra:
                self.emit(1, "for key, value in options.items():")
                self.emit(2, "s0 = math.sin(s0 + (2.0 * value if key == 'gamma' else value))")
            self.emit(1, f"return {self.tame('s0 + 0.1 * len(args)', 3.0)}")

        def call(scope: Scope) -> str | None:
            parts = [self.number(scope) for _ in range(self.rng.randint(0, 2))]
            stars = [s.text for s in scope.sequences if s.length <= 4]
            if stars and self.chance(0.6):
                parts.insert(self.rng.randint(0, len(parts)), f"*{self.rng.choice(stars)}")
            parts += [f"{key}={self.number(scope)}" for key in named if not defaults[key] or self.chance(0.5)]
            if extra and self.chance(0.6):
                pair = f"gamma={self.number(scope)}"
                parts.append(pair if self.chance(0.5) else f"**dict({pair}, delta={self.number(scope)})")
            return f"{name}({', '.join(parts)})"

        self.calls.append(call)
        return "\n".join(lines)

    def returning_object(self) -> str:
        """A function that returns an object: a new one, or now and then the one that it was given."""
        cls, name = self.rng.choice(self.classes), self.fresh("h")
        scope = Scope(floats=["z"])
        with self.apart() as lines:
            self.emit(0, f"def {name}(o, z):")
            self.expose(scope, "o", cls)
            if cls.kind == "mutable":
                self.store_field(scope, 1)
            self.emit(1, f"return {'o' if self.chance(0.2) else self._another(scope, Thing('o', cls))}")
        self.object_makers.append((name, cls))
        return "\n".join(lines)

    object_makers: list[tuple[str, Cls]]

    def made_object(self, scope: Scope, indent: int, depth: int) -> None:
        if not self.object_makers:
            return self.new_object(scope, indent, depth)
        maker, cls = self.rng.choice(self.object_makers)
        paths = [t.path for t in scope.things if getattr(t, "cls", None) == cls]
        text = self.rng.choice(paths) if paths and self.chance(0.8) else self.make(scope, cls)
        if text is None:
            return self.assign(scope, indent, depth)
        name = self.fresh("o")
        self.emit(indent, f"{name} = {maker}({text}, {self.number(scope)})")
        self.expose(scope, name, cls)
        return None

    def of_objects(self) -> str:
        """A function that takes an object, perhaps changes it, and returns a float made with it."""
        cls, name = self.rng.choice(self.classes), self.fresh("h")
        scope = Scope(floats=["z"])
        with self.apart() as lines:
            self.emit(0, f"def {name}(o, z=0.4):")
            self.expose(scope, "o", cls)
            if cls.kind == "mutable":
                self.store_field(scope, 1)
            if self.chance(0.5):
                self.emit(1, f"for _ in range({self.rng.randint(1, 3)}):")
                self.change_object(scope.child(), 2, 2)
            self.emit(1, f"return {self.number(scope, 3)}")

        def call(scope: Scope) -> str | None:
            paths = [t.path for t in scope.things if getattr(t, "cls", None) == cls]
            text = self.rng.choice(paths) if paths and self.chance(0.8) else self.make(scope, cls)
            if text is None:
                return None
            return f"{name}({text})" if self.chance(0.3) else f"{name}({text}, {self.number(scope)})"

        self.calls.append(call)
        return "\n".join(lines)
