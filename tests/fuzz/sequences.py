"""Random programs: tuples, lists and dicts as local variables."""

from __future__ import annotations

from dataclasses import dataclass

from tests.fuzz.classes import Classes
from tests.fuzz.expressions import BOUND, Arr, Int, Scope, Seq


@dataclass
class Local:
    """A list of floats of known length, of which the scope has the first ``seen`` items as variables."""

    name: str
    length: int
    seen: int


class Sequences(Classes):
    """Makes, changes and unpacks containers; their items are variables of the scope."""

    # Tuples ----------------------------------------------------------------------------------------------------------

    def new_tuple(self, scope: Scope, indent: int, depth: int) -> None:
        name = self.fresh("t")
        parts, floats = [], True
        kinds = [self.rng.randint(0, 9) for _ in range(self.rng.randint(1, 3))]
        arrays = [a for a in scope.arrays if a.shape and not a.ints]
        inner = scope.child()  # has the items, while what they are made of may not use them
        for k, kind in enumerate(kinds):
            path = f"{name}[{k}]"
            if kind <= 6 or (kind == 7 and not arrays):
                parts.append(self.tame(*self.float_expr(scope, 2)))
                self._read_only(inner, path)
                continue
            floats = False
            if kind == 7:
                array = self.rng.choice(arrays)
                parts.append(array.name)
                inner.arrays.append(Arr(path, array.shape, single=array.single))
            elif kind == 8:
                number, low, high = self.int_expr(scope, 1)
                parts.append(number)
                inner.ints.append(Int(path, low, high))
                inner.fixed.add(path)
            else:
                parts.append(f"({self.tame(*self.float_expr(scope, 1))}, {self.tame(*self.float_expr(scope, 1))})")
                self._read_only(inner, f"{path}[0]")
                self._read_only(inner, f"{path}[-1]")
                inner.sequences.append(Seq(path, 2))
        self.emit(indent, f"{name} = ({', '.join(parts)},)")
        scope.floats, scope.ints, scope.arrays = inner.floats, inner.ints, inner.arrays
        scope.fixed, scope.sequences = inner.fixed, inner.sequences
        if floats:
            scope.sequences.append(Seq(name, len(kinds)))

    def unpack(self, scope: Scope, indent: int, depth: int) -> None:
        """``a, *b = t``, ``t + (x,)``, ``t[1:]``, ``sum(t)``."""
        sequences = [s for s in scope.sequences if s.text.isidentifier() and s.text.startswith("t")]
        if not sequences:
            return self.new_tuple(scope, indent, depth)
        sequence = self.rng.choice(sequences)
        n, name = sequence.length, self.fresh("t")
        kind = self.rng.randint(0, 3)
        if kind == 0:
            targets = [self.fresh("f") for _ in range(n)]
            self.emit(indent, f"{', '.join(targets)}{',' if n == 1 else ''} = {sequence.text}")
            scope.floats += targets
        elif kind == 1:
            first = self.fresh("f")
            self.emit(indent, f"{first}, *{name} = {sequence.text}")
            scope.floats.append(first)
        elif kind == 2:
            self.emit(indent, f"{name} = {sequence.text} + ({self.tame(*self.float_expr(scope, 1))},)")
            scope.sequences.append(Seq(name, n + 1))
            self._read_only(scope, f"{name}[-1]")
        else:
            self.emit(indent, f"{name} = {self.tame(f'sum({sequence.text})', n * BOUND)}")
            scope.floats.append(name)
        return None

    def _read_only(self, scope: Scope, path: str) -> None:
        scope.floats.append(path)
        scope.fixed.add(path)

    # Lists -----------------------------------------------------------------------------------------------------------

    def new_list(self, scope: Scope, indent: int, depth: int) -> None:
        name = self.fresh("l")
        if "comprehensions" in self.features and self.chance(0.6):
            # A list over an array has a length that is known at run time. One with a condition may be too short for
            # the subscripts below.
            text, length = self.comprehension(scope, arrays="growing_lists" in self.features, filtered=False)
            self.emit(indent, f"{name} = [{text}]")
        elif self.chance(0.2):
            length = self.rng.randint(1, 3)
            self.emit(indent, f"{name} = [{self.tame(*self.float_expr(scope, 1))}] * {length}")
        else:
            length = self.rng.randint(1, 3)
            self.emit(indent, f"{name} = [{', '.join(self.tame(*self.float_expr(scope, 2)) for _ in range(length))}]")
        if "lists" in self.features:
            for _ in range(self.rng.randint(0, 2)):
                if length > 1 and self.chance(0.4):
                    popped = self.fresh("f")
                    self.emit(indent, f"{popped} = {name}.pop({self.rng.choice(['', '0', '-1'])})")
                    scope.floats.append(popped)
                    length -= 1
                else:
                    self.emit(indent, f"{name}.append({self.tame(*self.float_expr(scope, 2))})")
                    length += 1
        scope.floats += [f"{name}[{k if self.chance(0.7) else k - length}]" for k in range(length)]
        scope.sequences.append(Seq(name, length))
        scope.things.append(Local(name, length, length))

    def comprehension(self, scope: Scope, *, arrays: bool, filtered: bool) -> tuple[str, int]:
        """What stands in the brackets: floats over an array, a range or a sequence; how many at most."""
        inner = scope.child()
        vectors = [a for a in scope.arrays if len(a.shape) == 1 and not a.ints and not a.single]
        kind = self.rng.randint(0, 2)
        if kind == 0 and vectors and arrays:
            array = self.rng.choice(vectors)
            name, source, length = self.fresh("e"), array.name, array.shape[0]
            inner.floats.append(name)
        elif kind == 1 and scope.sequences:
            sequence = self.rng.choice(scope.sequences)
            name, source, length = self.fresh("e"), sequence.text, sequence.length
            inner.floats.append(name)
        else:
            name, length = self.fresh("i"), self.rng.randint(1, 4)
            source = f"range({length})"
            inner.ints.append(Int(name, 0, length - 1))
        test = f" if {self.condition(inner)}" if filtered and self.chance(0.2) else ""
        return f"{self.tame(*self.float_expr(inner, 2))} for {name} in {source}{test}", length

    def generator_sum(self, scope: Scope, indent: int, depth: int) -> None:
        """A sum, an extreme or a test over a generator expression; an array or a sum made of a list, of any length."""
        target = self.target(scope)
        kind = self.rng.randint(0, 5)
        text, length = self.comprehension(scope, arrays=kind in (0, 4, 5), filtered=kind == 0)
        if kind == 5:
            name = self.fresh("u")
            self.emit(indent, f"{name} = np.array([{text}])")
            scope.arrays.append(Arr(name, (length,), local=True))
            return
        if kind == 4:
            self.emit(indent, f"{target} = {self.tame(f'np.sum([{text}])', BOUND * length)}")
        elif kind == 0:
            self.emit(indent, f"{target} = {self.tame(f'sum({text})', BOUND * length)}")
        elif kind == 1:
            self.emit(indent, f"{target} = 0.8 * {self.rng.choice(['max', 'min'])}({text})")
        else:
            which = self.rng.choice(["any", "all"])
            value, rest = text.split(" for ", 1)
            test = f"{which}({value} > {self.constant()} for {rest})"
            self.emit(indent, f"{target} = 0.3 if {test} else {self.constant()}")
        self.bind(scope, target)

    def change_list(self, scope: Scope, indent: int, depth: int) -> None:
        """Append, pop, sum; where the length is known when the program is traced, so not in loops and branches."""
        lists = [t for t in scope.things if isinstance(t, Local)]
        if not lists:
            return self.new_list(scope, indent, depth)
        chosen = self.rng.choice(lists)
        target = self.target(scope)
        kind = self.rng.randint(0, 3)
        if depth == 0 and kind == 0:
            self.emit(indent, f"{chosen.name}.append({self.tame(*self.float_expr(scope, 2))})")
            chosen.length += 1
            return None
        if depth == 0 and kind == 1 and chosen.length > chosen.seen:
            self.emit(indent, f"{target} = {chosen.name}.pop()")
            chosen.length -= 1
        elif kind == 2:
            self.emit(indent, f"{target} = {self.tame(f'sum({chosen.name})', 99.0)}")
        else:
            extreme = self.rng.choice(["max", "min"])
            self.emit(indent, f"{target} = {extreme}({chosen.name}) * (0.5 / len({chosen.name}))")
        self.bind(scope, target)
        return None

    def growing_list(self, scope: Scope, indent: int, depth: int) -> None:
        """A list whose length is known at run time only."""
        name, item = self.fresh("l"), self.fresh("e")
        if self.chance(0.3):
            made, _ = self.comprehension(scope, arrays=True, filtered=True)
            self.emit(indent, f"{name} = [{made}]")
        elif self.chance(0.6):
            self.emit(indent, f"{name} = [{self.tame(*self.float_expr(scope, 1))}]")
        else:
            self.emit(indent, f"{name} = []")
        text, low, high, trips = self.range(scope)
        counter = self.fresh("i")
        self.emit(indent, f"for {counter} in {text}:")
        inner = scope.child()
        inner.ints.append(Int(counter, low, high))
        at = indent + 1
        if self.chance(0.6):
            self.emit(at, f"if {self.condition(inner)}:")
            at += 1
        self.emit(at, f"{name}.append({self.tame(*self.float_expr(inner, 2))})")
        if self.chance(0.3):
            self.emit(at, f"{name}[{self.rng.choice(['0', '-1', f'{counter} % len({name})'])}] *= 0.7")
        if self.chance(0.3):
            self.emit(indent, f"{name} += [{self.tame(*self.float_expr(scope, 1))}] + {name}[1::2]")
        target = self.target(scope)
        kind = self.rng.randint(0, 3)
        if kind == 0:
            self.emit(indent, f"{target} = {self.tame(f'sum({name})', 99.0)}")
        elif kind == 1:
            self.emit(indent, f"{target} = 0.0")
            self.emit(indent, f"for {item} in {name}:")
            self.emit(indent + 1, f"{target} = {self.tame(f'0.7 * {target} + {item} * {item}', 9.0)}")
        elif kind == 2:
            self.emit(indent, f"{target} = {name}[-1] if len({name}) > 0 else {self.constant()}")
        else:
            self.emit(indent, f"{target} = 0.1 * len({name})")
            self.emit(indent, f"while {name}:")
            self.emit(indent + 1, f"{target} = {self.tame(f'0.7 * {target} + {name}.pop()', 9.0)}")
        self.bind(scope, target)

    # Dicts -----------------------------------------------------------------------------------------------------------

    def new_dict(self, scope: Scope, indent: int, depth: int) -> None:
        name = self.fresh("d")
        keys = self.rng.sample(["'mass'", "'k'", "'rate'", "'x'", "3"], self.rng.randint(1, 3))
        values = [self.tame(*self.float_expr(scope, 2)) for _ in keys]
        if self.chance(0.2) and all(k.startswith("'") for k in keys):
            items = ", ".join(f"{k[1:-1]}={v}" for k, v in zip(keys, values, strict=True))
            self.emit(indent, f"{name} = dict({items})")
        else:
            items = ", ".join(f"{k}: {v}" for k, v in zip(keys, values, strict=True))
            self.emit(indent, f"{name} = {{{items}}}")
        if self.chance(0.3) and depth == 0:
            keys.append("'new'")
            self.emit(indent, f"{name}['new'] = {self.tame(*self.float_expr(scope, 2))}")
        scope.floats += [f"{name}[{key}]" for key in keys]
        scope.sequences.append(Seq(f"{name}.values()", len(keys)))
        if self.chance(0.3):
            self._read_only(scope, f"{name}.get('none', {self.constant()})")
        if self.chance(0.4):
            key, item, target = self.fresh("s"), self.fresh("e"), self.fresh("f")
            self.emit(indent, f"{target} = 0.5")
            self.emit(indent, f"for {key}, {item} in {name}.items():")
            test = f"{key} == {self.rng.choice(keys)}"
            self.emit(indent + 1, f"{target} = {self.tame(f'{target} * 0.6 + ({item} if {test} else 0.3)', 4.0)}")
            scope.floats.append(target)
