"""Random programs: namedtuples, frozen and mutable dataclasses, with methods and properties, nested."""

from __future__ import annotations

from dataclasses import dataclass

from tests.fuzz.expressions import BOUND, Arr, Fn, Int, Scope
from tests.fuzz.failures import Failures
from tests.fuzz.params import Group, Spec


@dataclass(frozen=True)
class Cls:
    """A class of the program. ``kind``: named, frozen or mutable. ``items``: its fields; float, int, array, class."""

    name: str
    kind: str
    items: tuple[tuple[str, object], ...]
    methods: tuple[str, ...]  # take one float, return one, write to nothing
    properties: tuple[str, ...]
    steps: tuple[str, ...]  # take one float, return one, and change fields


@dataclass(frozen=True)
class Thing:
    """A variable that holds an object of a class."""

    path: str
    cls: Cls


class Classes(Failures):
    """Defines classes; makes, changes and replaces objects; their fields are variables of the scope."""

    classes: list[Cls]

    def kinds_of_class(self) -> list[str]:
        return [kind for kind in ("named", "frozen", "mutable") if kind in self.features]

    def define_class(self, extent: int) -> str:
        kind = self.rng.choice(self.kinds_of_class())
        items: list[tuple[str, object]] = [(self.fresh("p"), "float") for _ in range(self.rng.randint(1, 3))]
        if self.chance(0.3):
            items.append((self.fresh("k"), Int("", 1, 3)))
        if self.chance(0.35):
            items.append((self.fresh("m"), Arr("", (extent,))))
        inner = [c for c in self.classes if len(c.items) <= 4]
        if inner and self.chance(0.4):
            items.append((self.fresh("o"), self.rng.choice(inner)))
        self.rng.shuffle(items)
        name = self.fresh("C")
        head = {
            "named": f"class {name}(NamedTuple):",
            "frozen": f"@dataclass(frozen=True)\nclass {name}:",
            "mutable": f"@dataclass\nclass {name}:",
        }[kind]
        lines = [head, *(f"    {label}: {self._annotation(item)}" for label, item in items)]
        bare = Cls(name, kind, tuple(items), (), (), ())
        methods, properties, steps = [], [], []
        with self.apart() as body:
            if self.chance(0.5):
                methods.append(self.fresh("a"))
                self._method(bare, methods[-1], changes=False)
            if kind != "named" and self.chance(0.25):
                methods.append("__call__")
                self._method(bare, "__call__", changes=False)
            if self.chance(0.3):
                properties.append(self.fresh("b"))
                self.emit(1, "@property")
                self._method(bare, properties[-1], changes=False, argument=False)
            if kind == "mutable" and self.chance(0.7):
                steps.append(self.fresh("s"))
                self._method(bare, steps[-1], changes=True)
        self.classes.append(Cls(name, kind, tuple(items), tuple(methods), tuple(properties), tuple(steps)))
        return "\n".join(lines + body)

    def _annotation(self, item: object) -> str:
        if isinstance(item, Cls):
            return item.name
        return "float" if item == "float" else "int" if isinstance(item, Int) else "np.ndarray"

    def _method(self, cls: Cls, name: str, *, changes: bool, argument: bool = True) -> None:
        scope = Scope(floats=["z"] if argument else [])
        self.expose(scope, "self", cls)
        self.emit(1, f"def {name}(self{', z' if argument else ''}):")
        if changes:
            for _ in range(self.rng.randint(1, 2)):
                self.store_field(scope, 2)
        elif self.chance(0.3):
            self.emit(2, f"if {self.condition(scope)}:")
            self.emit(3, f"return {self.tame(*self.float_expr(scope, 1))}")
        self.emit(2, f"return {self.tame(*self.float_expr(scope, 2))}")

    def store_field(self, scope: Scope, indent: int) -> None:
        fields = [name for name in scope.floats if "." in name and name not in scope.fixed]
        if not fields:
            return
        name = self.rng.choice(fields)
        text, bound = self.float_expr(scope, 2)
        if self.chance(0.3):
            self.emit(indent, f"{name} {self.rng.choice(['+=', '-='])} {text}")
            self.emit(indent, f"{name} = {self.tame(name, bound + BOUND)}")
        else:
            self.emit(indent, f"{name} = {self.tame(text, bound)}")

    # Objects ---------------------------------------------------------------------------------------------------------

    def expose(self, scope: Scope, path: str, cls: Cls) -> None:
        """The fields of an object become variables of the scope, its methods functions."""
        for label, item in cls.items:
            name = f"{path}.{label}"
            if cls.kind != "mutable":
                scope.fixed.add(name)
            if item == "float":
                scope.floats.append(name)
            elif isinstance(item, Int):
                scope.ints.append(Int(name, item.low, item.high))
            elif isinstance(item, Arr):
                scope.arrays.append(Arr(name, item.shape))
            elif isinstance(item, Cls):
                self.expose(scope, name, item)
        for label in cls.properties:
            scope.floats.append(f"{path}.{label}")
            scope.fixed.add(f"{path}.{label}")
        for label in cls.methods:
            scope.functions.append(Fn(path if label == "__call__" else f"{path}.{label}"))
        for label in cls.steps:
            scope.functions.append(Fn(f"{path}.{label}", pure=False))
        scope.things.append(Thing(path, cls))

    def make(self, scope: Scope, cls: Cls) -> str | None:
        """An expression that makes an object; None if there is no array for a field."""
        parts = []
        for label, item in cls.items:
            if item == "float":
                text: str | None = self.tame(*self.float_expr(scope, 1))
            elif isinstance(item, Int):
                numbers = [i.name for i in scope.ints if item.low <= i.low and i.high <= item.high]
                text = self.rng.choice([*numbers, str(self.rng.randint(item.low, item.high))])
            elif isinstance(item, Cls):
                nested = [t.path for t in scope.things if isinstance(t, Thing) and t.cls == item]
                text = self.rng.choice(nested) if nested and self.chance(0.4) else self.make(scope, item)
            else:
                assert isinstance(item, Arr)
                arrays = [a.name for a in scope.arrays if a.shape == item.shape and not a.ints and not a.single]
                text = self.rng.choice(arrays) if arrays and self.chance(0.7) else f"np.zeros({item.shape[0]})"
            if text is None:
                return None
            parts.append(text)
        named = self.rng.randint(0, len(parts)) if self.chance(0.4) else len(parts)
        labels = ["" if k < named else f"{label}=" for k, (label, _) in enumerate(cls.items)]
        return f"{cls.name}({', '.join(label + part for label, part in zip(labels, parts, strict=True))})"

    def new_object(self, scope: Scope, indent: int, depth: int) -> None:
        if not self.classes:
            return self.assign(scope, indent, depth)
        cls = self.rng.choice(self.classes)
        text = self.make(scope, cls)
        if text is None:
            return self.assign(scope, indent, depth)
        name = self.fresh("o")
        self.emit(indent, f"{name} = {text}")
        self.expose(scope, name, cls)
        return None

    def change_object(self, scope: Scope, indent: int, depth: int) -> None:
        """Assign a field or call a method that does; or bind the variable to another object."""
        things = [t for t in scope.things if isinstance(t, Thing)]
        if not things:
            return self.new_object(scope, indent, depth)
        thing = self.rng.choice(things)
        if thing.cls.steps and self.chance(0.5):
            target = self.target(scope)
            call = f"{thing.path}.{thing.cls.steps[0]}({self.tame(*self.float_expr(scope, 1))})"
            self.emit(indent, f"{target} = {call}")
            self.bind(scope, target)
        elif self.chance(0.3) and (text := self.store_array(scope, thing)):
            self.emit(indent, text)
        elif thing.cls.kind == "mutable" and self.chance(0.6):
            inner = scope.child()
            inner.fixed |= {name for name in inner.floats if not name.startswith(f"{thing.path}.")}
            self.store_field(inner, indent)
        elif self.may_bind(scope, thing, indent):
            self.emit(indent, f"{thing.path} = {self._another(scope, thing)}")
        else:
            self.new_object(scope, indent, depth)
        return None

    def may_bind(self, scope: Scope, thing: Thing, indent: int) -> bool:
        """Whether the variable may hold another object from now on.

        Not under a condition if the object may hold, or be held by, one that has another name and may be changed: that
        would leave open which object a change reaches, which adc refuses.
        """
        if not thing.path.isidentifier() or thing.path in scope.fixed:
            return False
        return indent == 1 or not any(
            isinstance(item, Cls) and item.kind == "mutable" and thing.cls in (outer, item)
            for outer in self.classes
            for _, item in outer.items
        )

    def store_array(self, scope: Scope, thing: Thing) -> str | None:
        """Another array for a field of an object of this function's own."""
        fields = [(label, item) for label, item in thing.cls.items if isinstance(item, Arr)]
        if thing.cls.kind != "mutable" or not thing.path.startswith("o") or not fields:
            return None
        label, item = self.rng.choice(fields)
        arrays = [a.name for a in scope.arrays if a.shape == item.shape and not a.ints and not a.single]
        name = self.rng.choice(arrays)
        return f"{thing.path}.{label} = {name}" if self.chance(0.5) else f"{thing.path}.{label} = 0.5 * {name}"

    def _another(self, scope: Scope, thing: Thing) -> str:
        """Another object of the same class, with arrays of the same shapes."""
        label = self.rng.choice([label for label, item in thing.cls.items if item == "float"])
        value = self.tame(*self.float_expr(scope, 2))
        if self.chance(0.6):
            if thing.cls.kind == "named":
                return f"{thing.path}._replace({label}={value})"
            return f"dataclasses.replace({thing.path}, {label}={value})"
        return self.make(scope, thing.cls) or thing.path

    def spec_of(self, name: str, cls: Cls) -> Group:
        """A parameter of this class."""
        items: list[tuple[str, Spec]] = []
        for label, item in cls.items:
            if isinstance(item, Cls):
                items.append((label, self.spec_of(label, item)))
            elif isinstance(item, Int):
                items.append((label, Int(label, item.low, item.high)))
            elif isinstance(item, Arr):
                items.append((label, Arr(label, item.shape)))
            else:
                items.append((label, label))
        return Group(name, "class", tuple(items), cls.name, constant=cls.kind != "mutable")
