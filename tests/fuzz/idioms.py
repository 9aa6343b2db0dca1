"""Random programs with idioms of numerical programs: time loops with two buffers, lists of states, structured arrays,
small arrays that functions return, matrix products, masks, index arrays, complex numbers."""

from __future__ import annotations

from tests.fuzz.expressions import BOUND, Arr, Scope
from tests.fuzz.statements import Statements

SMALL = {
    # functions that return small arrays, by their names: their text; each takes two numbers and an array of three
    "turned": """def turned(p, q, v):
    c, s = math.cos(p), math.sin(p)
    return np.array([c * v[0] - s * v[1], s * v[0] + c * v[1], v[2] * q / (1.25 + q ** 2)])""",
    "crossed": """def crossed(p, q, v):
    u = np.array([p, q, 0.5])
    w = np.array([u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]])
    return w / (1.25 + np.sum(w * w))""",
    "pulled": """def pulled(p, q, v):
    f = np.zeros(3)
    for d in range(3):
        if v[d] > q:
            return np.array([p, 0.3 * q, v[d] * 0.2])
        f[d] = -0.4 * v[d] + p * v[d - 1]
    return np.tanh(f)""",
}
MATRICES = "np.einsum('ij,j->i', {0}, {1})", "{0} @ {1}", "np.dot({0}, {1})", "{0}.dot({1})", "({1} @ {0}.T)"


class Idioms(Statements):
    """Each method writes a few lines that belong together."""

    def idiom_functions(self) -> list[str]:
        """Functions at the top that these statements call."""
        return list(SMALL.values()) if "small_arrays" in self.features else []

    # Small things ----------------------------------------------------------------------------------------------------

    def lines_of(self, scope: Scope, least: int = 1, *, local: bool = False) -> list[Arr]:
        found = [a for a in scope.arrays if len(a.shape) == 1 and a.shape[0] >= least and not a.ints and not a.single]
        return [a for a in found if a.local and a.name not in scope.fixed] if local else found

    def line(self, scope: Scope, indent: int, least: int = 3, *, local: bool = False) -> Arr:
        """One in scope, or a new one."""
        found = self.lines_of(scope, least, local=local)
        if found and self.chance(0.8):
            return self.rng.choice(found)
        name, n = self.fresh("u"), self.rng.randint(least, least + 2)
        self.emit(indent, f"{name} = np.linspace({self.number(scope)}, {self.constant()}, {n})")
        scope.arrays.append(Arr(name, (n,), local=True))
        return scope.arrays[-1]

    def room(self, trips: int) -> bool:
        return self.trips * trips <= self.most_trips

    def float_is(self, scope: Scope, indent: int, text: str) -> None:
        """A new variable of this value, made small."""
        name = self.fresh("f")
        self.emit(indent, f"{name} = {self.tame(text, 4 * BOUND)}")
        self.bind(scope, name)

    # Time loops ------------------------------------------------------------------------------------------------------

    def time_loop(self, scope: Scope, indent: int, depth: int) -> None:
        """Two buffers of a stencil: swapped, copied, renewed, or one given to the other."""
        u = self.line(scope, indent)
        n, steps = u.shape[0], self.rng.randint(1, 4)
        if not self.room(steps * n):
            return
        a, b, t, i = self.fresh("u"), self.fresh("u"), self.fresh("i"), self.fresh("i")
        self.emit(indent, f"{a} = {u.name}.copy()")
        self.emit(indent, f"{b} = {self.rng.choice([f'np.zeros({n})', f'{u.name}.copy()', f'np.zeros_like({a})'])}")
        lag = self.rng.randint(0, 2)
        self.emit(indent, f"for {t} in range({steps}):")
        c = self.number(scope)
        kind = self.rng.randint(0, 3)
        if kind == 0:
            low, high = self.rng.choice([(1, n - 1), (0, n - 1), (-1, n - 1), (1 - n, 1)])
            self.emit(indent + 1, f"for {i} in range({low}, {high}):")
            flux = f"{a}[{i} + 1] - 2.0 * {a}[{i}] + {a}[{i} - 1]" if low > -n + 1 else f"{a}[{i}] * {a}[{-low} + {i}]"
            self.emit(indent + 2, f"{b}[{i}] = math.tanh({a}[{i}] + 0.3 * {c} * ({flux}))")
        elif kind == 1:
            self.emit(indent + 1, f"{b}[1:-1] = np.tanh({a}[1:-1] + {c} * ({a}[2:] - {a}[:-2]))")
            if self.chance(0.5):
                self.emit(indent + 1, f"{b}[0], {b}[-1] = {b}[-2], {b}[1]")
        elif kind == 2:
            self.emit(indent + 1, f"for {i} in range({n}):")
            self.emit(indent + 2, f"{b}[{i}] = math.sin({a}[{i}] * {a}[{i} - {lag}] + 0.2 * {b}[{i} - 1])")
        else:
            self.emit(indent + 1, f"{b}[:] = np.sin({a} + 0.5 * np.roll({a}, {lag}) * {c})")
        ends = [f"{a}, {b} = {b}, {a}", f"{a}[:] = {b}", f"{a} = {b}.copy()", f"{a} = {b}"]
        ends.append(f"{a}, {b} = {b}, np.zeros({n})")
        self.emit(indent + 1, self.rng.choice(ends))
        scope.arrays.append(Arr(a, (n,)))
        if self.chance(0.5):
            scope.arrays.append(Arr(b, (n,)))

    def history(self, scope: Scope, indent: int, depth: int) -> None:
        """States in the rows of one array, or in a list that grows; some are the same array."""
        u = self.line(scope, indent)
        n, steps = u.shape[0], self.rng.randint(2, 4)
        if not self.room(steps * n):
            return
        h, t = self.fresh("u"), self.fresh("i")
        c = self.number(scope)
        if self.chance(0.4):
            self.emit(indent, f"{h} = np.zeros(({steps + 1}, {n}))")
            self.emit(indent, f"{h}[0] = {u.name}")
            self.emit(indent, f"for {t} in range({steps}):")
            back = self.rng.choice([f"{t}", f"{t} - 1", "0", "-1"])
            self.emit(indent + 1, f"{h}[{t} + 1] = np.tanh({h}[{t}] * {h}[{back}] + {c})")
            scope.arrays.append(Arr(h, (steps + 1, n)))
            return
        self.emit(indent, f"{h} = [{u.name}{self.rng.choice(['.copy()', ' * 1.0'])}]")
        self.emit(indent, f"for {t} in range({steps}):")
        kind = self.rng.randint(0, 3)
        if kind == 0:
            self.emit(indent + 1, f"{h}.append(np.sin({h}[-1] * {c} + {h}[{t} // 2]))")
        elif kind == 1:
            w = self.fresh("v")
            self.emit(indent + 1, f"{w} = {h}[{t}] * 0.5")
            self.emit(indent + 1, f"{w}[{t} % {n}] = {c}")
            self.emit(indent + 1, f"{h}.append({w})")
            if self.chance(0.4):
                self.emit(indent + 1, f"{w}[{t} - 1] += 0.25")
        elif kind == 2:
            self.emit(indent + 1, f"if {self.condition(scope)}:")
            self.emit(indent + 2, f"{h}.append(np.cos({h}[-1]) * {u.name})")
        else:
            self.emit(indent + 1, f"{h}.append({h}[-1])")
            self.emit(indent + 1, f"{h}[{t}][0] = math.sin({h}[-1][1] + {c})")
        ends = [f"np.sum({h}[-1])", f"{h}[0][1] * {h}[-1][-1]", f"sum(np.sum(e * e) for e in {h}) * 0.1",
                f"float(len({h})) * {h}[len({h}) - 1][0]"]  # fmt: skip
        if kind != 2:
            ends += [f"np.sum(np.array({h})) * 0.1", f"np.sum(np.stack({h})[-1])", f"np.sum(np.array({h}[::-1])[0])"]
        self.float_is(scope, indent, self.rng.choice(ends))

    def counting(self, scope: Scope, indent: int, depth: int) -> None:
        """``while`` loops that count, up and down, and halve."""
        u = self.line(scope, indent)
        n, k = u.shape[0], self.fresh("j")
        if not self.room(n):
            return
        name = self.fresh("f")
        self.emit(indent, f"{name} = {self.number(scope)}")
        last = n - 1
        first, test, step = self.rng.choice([
            ("0", f"{k} < {n}", f"{k} += 1"), ("0", f"{k} <= {last}", f"{k} = {k} + 1"),
            (f"{last}", f"{k} >= 0", f"{k} -= 1"), ("-1", f"{k} != {last}", f"{k} += 1"),
            (f"{n}", f"{k} > 0", f"{k} -= 2"), ("0", f"{k} < len({u.name})", f"{k} += 2"),
            (f"{last}", f"{k}", f"{k} //= 2"), (f"-{n}", f"{k} < 0", f"{k} += 1"),
            ("1", f"{k} * {k} < {n}", f"{k} += 1"), (f"{last}", f"not {k} <= 0", f"{k} = {k} - 1"),
            ("0", f"{k} < {n} and {u.name}[{k}] < 0.5", f"{k} += 1"),
        ])  # fmt: skip
        self.emit(indent, f"{k} = {first}")
        self.emit(indent, f"while {test}:")
        at = f"{u.name}[{k} - 1]" if first == f"{n}" else f"{u.name}[{k}]"
        body = self.rng.choice([
            f"{name} = math.sin({name} + {at})", f"{name} += 0.1 * {at} * {at}",
            f"{name} = 0.5 * {name} + math.cos(0.1 * {at} * {name})", f"{at} = math.tanh({at} + {name})",
        ])  # fmt: skip
        lines = [body]
        if self.chance(0.25):
            lines.append(f"if {name} > 1.2:\n{'    ' * (indent + 2)}break")
        if self.chance(0.25) and first not in (f"{n}", f"-{n}"):
            lines.reverse()
            self.emit(indent + 1, body)
        else:
            for line in lines:
                self.emit(indent + 1, line)
        self.emit(indent + 1, step)
        self.emit(indent, f"{name} = {self.tame(f'{name} + 0.1 * {k}', 4 * BOUND)}")
        self.bind(scope, name)

    # Arrays ----------------------------------------------------------------------------------------------------------

    def structured(self, scope: Scope, indent: int, depth: int) -> None:
        """A structured array: its fields are arrays of the scope."""
        name, n = self.fresh("r"), self.rng.randint(2, 4)
        self.emit(indent, f"{name} = np.zeros({n}, dtype=[('p', 'f8'), ('q', 'f8', (2,))])")
        i = self.fresh("i")
        self.emit(indent, f"for {i} in range({n}):")
        first = self.rng.choice([f"{name}['p'][{i}]", f"{name}[{i}]['p']"])
        self.emit(indent + 1, f"{first} = math.sin({self.number(scope)} + {i})")
        self.emit(indent + 1, f"{name}[{i}]['q'][{self.rng.choice(['0', '1', '-1'])}] = {self.number(scope)} * {first}")
        if self.chance(0.5):
            self.emit(indent, f"{name}['p'] += 0.25 * {name}['q'][:, 0]")
        if self.chance(0.4):
            other = self.fresh("r")
            self.emit(indent, f"{other} = {name}{self.rng.choice(['.copy()', '[1:]', '', '[::-1]'])}")
            self.emit(indent, f"{other}[0]['p'] = {self.number(scope)}")
            scope.arrays.append(Arr(f"{other}['p']", (n - 1,)))
        scope.arrays += [Arr(f"{name}['p']", (n,)), Arr(f"{name}['q']", (n, 2))]

    def small_array(self, scope: Scope, indent: int, depth: int) -> None:
        """A loop around a function that returns a small array."""
        v, t, steps = self.fresh("u"), self.fresh("i"), self.rng.randint(1, 3)
        if not self.room(3 * steps):
            return
        start = self.rng.choice([
            f"np.array([{self.number(scope)}, {self.number(scope)}, 0.25])", f"np.full(3, {self.number(scope)})",
            "np.array([0.5, -0.25, 1.0])",
        ])  # fmt: skip
        self.emit(indent, f"{v} = {start}")
        self.emit(indent, f"for {t} in range({steps}):")
        call = f"{self.rng.choice(sorted(SMALL))}({self.number(scope)}, 0.3 * {t}, {v})"
        update = [f"{v} = {call}", f"{v} = 0.5 * {v} + {call}", f"{v} += 0.5 * {call}", f"{v}[:] = {call}",
                  f"{v}[0], {v}[2] = {call}[1:]", f"{v} = np.array([{call}[2], {v}[0], {v}[1]])"]  # fmt: skip
        self.emit(indent + 1, self.rng.choice(update))
        self.emit(indent, f"{v} = np.tanh({v})")
        scope.arrays.append(Arr(v, (3,), local=True))

    def product(self, scope: Scope, indent: int, depth: int) -> None:
        """Matrices and vectors, in a loop."""
        u = self.line(scope, indent, 2)
        n = u.shape[0]
        m, w, t = self.fresh("u"), self.fresh("u"), self.fresh("i")
        if not self.room(n * n * 2):
            return
        made = [f"np.outer({u.name}, {u.name}[::-1])", f"np.diag({u.name}) + {self.number(scope)}",
                f"np.sin(np.arange({n * n}.0).reshape({n}, {n}) * {self.number(scope)})",
                f"{u.name}[:, None] - {u.name}"]  # fmt: skip
        self.emit(indent, f"{m} = {self.rng.choice(made)}")
        self.emit(indent, f"{w} = {u.name} * 0.5")
        self.emit(indent, f"for {t} in range({self.rng.randint(1, 3)}):")
        if self.chance(0.4):
            square = [f"{m} @ {m}", f"np.einsum('ij,kj->ik', {m}, {m})", f"{m}.T @ {m}"]
            square.append(f"np.einsum('ij,jk', {m}, {m}.T)")
            self.emit(indent + 1, f"{m} = np.sin({self.rng.choice(square)} * 0.3)")
        self.emit(indent + 1, f"{w} = np.tanh({self.rng.choice(MATRICES).format(m, w)} + {self.number(scope)})")
        scope.arrays += [Arr(w, (n,), local=True), Arr(m, (n, n))]
        if self.chance(0.3):
            self.float_is(scope, indent, f"np.einsum('i,ij,j->', {w}, {m}, {w}) * 0.1")

    def indexed(self, scope: Scope, indent: int, depth: int) -> None:
        """Index arrays, in which numbers repeat and count from the end."""
        u = self.line(scope, indent, 2)
        n, k = u.shape[0], self.fresh("k")
        picks = [self.rng.randint(-n, n - 1) for _ in range(self.rng.randint(2, 4))]
        self.emit(indent, f"{k} = np.array({picks})")
        w = self.fresh("u")
        picked = self.rng.choice([k, str(picks), f"{k} % {n}", f"{k}[::-1]"])
        self.emit(indent, f"{w} = {u.name}[{picked}] * {self.number(scope)}")
        update = [f"{u.name}[{k}] = {w}", f"{u.name}[{k}] += 0.5 * {w}", f"np.add.at({u.name}, {k}, 0.25 * {w})",
                  f"{u.name}[{k}] *= 0.5", f"np.subtract.at({u.name}, {k}, {w})",
                  f"{w}[:] = np.take({u.name}, {k} % {n})", f"{u.name}[{k}[0]] = {w}[-1]"]  # fmt: skip
        self.emit(indent, self.rng.choice(update))
        self.emit(indent, f"{u.name}[:] = np.tanh({u.name})")
        scope.arrays.append(Arr(w, (len(picks),)))

    def masked(self, scope: Scope, indent: int, depth: int) -> None:
        u = self.line(scope, indent, 2)
        m = self.fresh("m")
        self.emit(indent, f"{m} = {u.name} {self.rng.choice(['>', '<', '>='])} {self.constant()}")
        update = [f"{u.name}[{m}] = {self.number(scope)}", f"{u.name}[~{m}] *= {self.number(scope)}",
                  f"{u.name}[{m}] += 0.25",
                  f"{u.name}[{m}] = np.sin({u.name}[{m}])", f"{u.name}[{m}] = {u.name}[::-1][{m}]",
                  f"{u.name}[:] = np.where({m}, {u.name} * 0.5, {self.number(scope)})"]  # fmt: skip
        for line in self.rng.sample(update, self.rng.randint(1, 2)):
            self.emit(indent, line)
        self.emit(indent, f"{u.name}[:] = np.arctan({u.name})")
        ends = [f"np.sum({u.name}[{m}])", f"np.sum({m}) * {self.number(scope)}", f"np.mean({u.name}, where={m} | ~{m})",
                f"({u.name}[{m}] ** 2).sum()", f"float(np.count_nonzero({m}))"]  # fmt: skip
        self.float_is(scope, indent, self.rng.choice(ends))

    def counted(self, scope: Scope, indent: int, depth: int) -> None:
        """Arrays of integers that the program fills, as counts and as subscripts."""
        u = self.line(scope, indent)
        n, c, i = u.shape[0], self.fresh("c"), self.fresh("i")
        if not self.room(n):
            return
        self.emit(indent, f"{c} = np.zeros({n}, dtype={self.rng.choice(['np.int64', 'int', 'np.int32'])})")
        self.emit(indent, f"for {i} in range({n}):")
        at, by = self.rng.choice([i, f"{i} - 1", f"({i} * 2) % {n}"]), self.rng.choice(["1", i, f"2 - {i}"])
        self.emit(indent + 1, f"{c}[{at}] += {by}")
        ends = [f"np.sum({u.name} * {c}) * 0.1", f"{u.name}[{c}[0] % {n}] + {u.name}[{c}[-1] % {n}]",
                f"float({c}.sum()) * {self.number(scope)}",
                f"np.dot({u.name}, np.cumsum({c})) * 0.1", f"{u.name}[np.argmax({c})] * {c}[1]",
                f"np.sum({u.name}[np.argsort({c}, kind='stable')] * np.arange({n})) * 0.1"]  # fmt: skip
        self.float_is(scope, indent, f"0.2 * ({self.rng.choice(ends)})")

    def shaped(self, scope: Scope, indent: int, depth: int) -> None:
        """New axes, transposes, reductions along axes, joining."""
        u = self.line(scope, indent)
        n, w = u.shape[0], self.fresh("u")
        rank1 = [f"np.cumsum({u.name})", f"np.concatenate(({u.name}[1:], {u.name}[:1]))",
                 f"np.append({u.name}[:-1], {self.number(scope)})",
                 f"({u.name}[:, None] * {u.name}[None, :]).sum(axis={self.rng.choice('01')})", f"np.sort({u.name})",
                 f"{u.name}[-1::-1]", f"np.maximum.accumulate({u.name})", f"np.hypot({u.name}, {u.name}[::-1])",
                 f"np.stack([{u.name}, {u.name} * 2.0], axis=-1).mean(axis=1)",
                 f"np.diff(np.concatenate(([0.5], {u.name})))"]  # fmt: skip
        self.emit(indent, f"{w} = np.sin({self.rng.choice(rank1)})")
        scope.arrays.append(Arr(w, (n,), local=True))
        steps = [("::-2", (n + 1) // 2), (f"{n - 1}:0:-1", n - 1), ("-1:0:-2", n // 2), ("-2::-1", n - 1)]
        steps.append((f"::{n}", 1))
        if self.chance(0.6):
            v, (part, count) = self.fresh("v"), self.rng.choice(steps)
            self.emit(indent, f"{v} = {self.rng.choice([w, u.name])}[{part}]")
            if self.chance(0.5):
                self.emit(indent, f"{v}[:] = np.tanh({v} + {self.number(scope)})")
            scope.arrays.append(Arr(v, (count,)))

    def zero_rank(self, scope: Scope, indent: int, depth: int) -> None:
        """Arrays of no axes."""
        name = self.fresh("z")
        self.emit(indent, f"{name} = {self.rng.choice([f'np.array({self.number(scope)})', 'np.zeros(())'])}")
        u = self.line(scope, indent)
        update = [f"{name} += {u.name}[0]", f"{name}[()] = {self.number(scope)}", f"{name} *= 0.5",
                  f"{name}[...] = {u.name}[-1] * {name}"]  # fmt: skip
        for line in self.rng.sample(update, 2):
            self.emit(indent, line)
        ends = [f"float({name})", f"{name}[()]", f"{name}.item()", f"np.sum({name} * {u.name})", f"{name} * 1.0"]
        self.float_is(scope, indent, f"float({self.rng.choice(ends)})")

    # Other kinds of values -------------------------------------------------------------------------------------------

    def complex_numbers(self, scope: Scope, indent: int, depth: int) -> None:
        z, t = self.fresh("z"), self.fresh("i")
        if self.chance(0.5):
            self.emit(indent, f"{z} = {self.number(scope)} + 1j * {self.number(scope)}")
            self.emit(indent, f"for {t} in range({self.rng.randint(1, 3)}):")
            step = [f"{z} = {z} * {z} / (1.5 + ({z} * {z}.conjugate()).real)",
                    f"{z} = 0.5 * {z}.conjugate() + {self.number(scope)}",
                    f"{z} *= np.exp(1j * {self.number(scope)})", f"{z} = {z} / (2.5 + {z} * 0.2j)"]  # fmt: skip
            self.emit(indent + 1, self.rng.choice(step))
            ends = [f"{z}.real", f"{z}.imag * {z}.real", f"({z} * {z}.conjugate()).real", f"({z} ** 2).imag"]
        else:
            u = self.line(scope, indent)
            make = [f"np.exp(1j * {u.name})", f"{u.name} + 1j * {u.name}[::-1]", f"{u.name} * (0.5 + 0.25j)"]
            self.emit(indent, f"{z} = {self.rng.choice(make)}")
            update = [f"{z}[0] *= 1j", f"{z} = {z} * {z}.conj() + {z}", f"{z}[1:] = {z}[:-1] * {self.number(scope)}",
                      f"{z}.imag[0] = {self.number(scope)}"]  # fmt: skip
            self.emit(indent, self.rng.choice(update))
            ends = [f"np.sum({z}).real", f"np.sum({z} * np.conj({z})).real", f"{z}[-1].imag",
                    f"np.vdot({z}, {z}).real", f"np.sum({z}.real * {z}.imag)"]  # fmt: skip
        self.float_is(scope, indent, f"0.3 * {self.rng.choice(ends)}")

    def returned(self, scope: Scope, indent: int, depth: int) -> None:
        """A nested function that returns containers of what it captures and of what it makes."""
        g, r, u = self.fresh("g"), self.fresh("r"), self.line(scope, indent)
        n = u.shape[0]
        self.emit(indent, f"def {g}(p, k=1):")
        if self.chance(0.5):
            self.emit(indent + 1, f"if p > {self.constant()}:")
            self.emit(indent + 2, f"return {{'u': {u.name} * 0.5, 's': (p, {u.name}[k])}}")
        new = self.rng.choice([f"np.sin({u.name} + p)", f"{u.name}.copy()", f"np.full({n}, p)"])
        self.emit(indent + 1, f"w = {new}")
        self.emit(indent + 1, f"w[k] += {u.name}[k - 1]")
        self.emit(indent + 1, f"return {{'u': w, 's': ({u.name}[0] * p, 0.5 * p)}}")
        self.emit(indent, f"{r} = {g}({self.number(scope)}{self.rng.choice(['', ', 2', ', k=0'])})")
        if self.chance(0.5):
            t = self.fresh("i")
            self.emit(indent, f"for {t} in range(2):")
            self.emit(indent + 1, f"{r} = {g}({r}['s'][{t}] * 0.5, {t})")
        scope.arrays.append(Arr(f"{r}['u']", (n,)))
        self.float_is(scope, indent, f"{r}['s'][0] + {r}['s'][1]")
