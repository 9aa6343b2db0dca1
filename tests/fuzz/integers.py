"""Random programs: integer arithmetic with Python's signs, ints mixed with floats, and bools that count as ints."""

from __future__ import annotations

from tests.fuzz.expressions import BOUND, Expressions, Int, Scope

LARGEST = 500

Ranged = tuple[str, int, int]  # the text of an int expression, its least and its greatest value


class Integers(Expressions):
    """Int expressions with the range of their values, and statements that bind them."""

    def int_expr(self, scope: Scope, depth: int) -> Ranged:
        text, low, high = self._int_expr(scope, depth)
        if max(abs(low), abs(high)) <= LARGEST:
            return text, low, high
        modulus = self.rng.choice([-7, -4, 3, 5, 9])
        return f"({text} % {modulus})", min(0, modulus + 1), max(0, modulus - 1)

    def _int_expr(self, scope: Scope, depth: int) -> Ranged:
        if depth <= 0 or self.chance(0.15):
            return self.int_leaf(scope)
        left, a, b = self.int_expr(scope, depth - 1)
        kind = self.rng.randint(0, 9)
        if kind <= 2:
            right, c, d = self.int_expr(scope, depth - 1)
            return self._ring(left, a, b, right, c, d)
        if kind <= 5:
            return self._division(left, a, b, *self.divisor(scope))
        if kind == 6 and max(abs(a), abs(b)) <= 6:
            exponents = [i for i in scope.ints if i.low >= 0 and i.high <= 3 and not scope.in_parallel]
            if exponents and self.chance(0.5):
                number = self.rng.choice(exponents)
                exponent, power = number.name, number.high
            else:
                power = self.rng.randint(0, 3)
                exponent = str(power)
            size = max(1, abs(a), abs(b)) ** power
            return f"({left}) ** {exponent}", -size, size
        if kind == 7:
            right, c, d = self.int_expr(scope, depth - 1)
            return f"({left} if {self.condition(scope)} else {right})", min(a, c), max(b, d)
        if kind == 8:
            return (f"abs({left})", 0, max(abs(a), abs(b))) if self.chance(0.5) else (f"(-{left})", -b, -a)
        right, c, d = self.int_expr(scope, depth - 1)
        if self.chance(0.5):
            return f"max({left}, {right})", max(a, c), max(b, d)
        return f"min({left}, {right})", min(a, c), min(b, d)

    def _ring(self, left: str, a: int, b: int, right: str, c: int, d: int) -> Ranged:
        op = self.rng.choice("+-*")
        if op == "+":
            low, high = a + c, b + d
        elif op == "-":
            low, high = a - d, b - c
        else:
            products = [a * c, a * d, b * c, b * d]
            low, high = min(products), max(products)
        return f"({left} {op} {right})", low, high

    def _division(self, left: str, a: int, b: int, right: str, c: int, d: int) -> Ranged:
        """By ``right``, which is not 0 and lies between ``c`` and ``d``."""
        if self.chance(0.5):
            return f"({left} // {right})", -max(abs(a), abs(b)) - 1, max(abs(a), abs(b)) + 1
        low, high = min(0, c + 1) if c < 0 else 0, max(0, d - 1) if d > 0 else 0
        return f"({left} % {right})", low, high

    def divisor(self, scope: Scope) -> Ranged:
        if scope.ints and self.chance(0.4):
            number = self.rng.choice(scope.ints)
            size = max(abs(number.low), abs(number.high)) + 1
            if self.chance(0.5):
                return f"(abs({number.name}) + 1)", 1, size
            return f"(-1 - abs({number.name}))", -size, -1
        value = self.rng.choice([-5, -3, -2, 2, 3, 4, 7])
        return f"({value})" if value < 0 else str(value), value, value

    def int_leaf(self, scope: Scope) -> Ranged:
        kind = self.rng.randint(0, 9)
        if kind <= 5 and scope.ints:
            number = self.rng.choice(scope.ints)
            return number.name, number.low, number.high
        if kind == 6 and scope.floats:
            test = f"{self.rng.choice(scope.floats)} {self.rng.choice('<>')} {self.constant()}"
            # A bool by itself would be a mask where it is a subscript.
            return (f"(bool({test}) + 0)", 0, 1) if self.chance(0.5) else (f"int({test})", 0, 1)
        arrays = [a for a in scope.arrays if a.shape]
        if kind == 7 and arrays:
            array = self.rng.choice(arrays)
            return f"len({array.name})", array.shape[0], array.shape[0]
        if kind == 8 and scope.floats and "mixed_numbers" in self.features and not self.mixed:
            # A variable is at most about twice BOUND in size.
            form = self.rng.choice(["int(3.0 * {})", "math.floor({})", "round({})", "math.ceil(2.0 * {})"])
            return form.format(self.rng.choice(scope.floats)), -25, 25
        value = self.rng.randint(-4, 6)
        return (f"({value})" if value < 0 else str(value)), value, value

    def mixed_expr(self, scope: Scope, depth: int) -> tuple[str, float]:
        """A float made with an int in it, or by an operation that rounds."""
        whole, low, high = self.int_expr(scope, min(depth, 2))
        size = float(max(abs(low), abs(high)))
        kind = self.rng.randint(0, 7)
        if kind == 0:
            divisor, c, d = self.divisor(scope)
            return f"({whole} / {divisor})", size / min(abs(c), abs(d)) if c == d else size
        inner, bound = self.float_expr(scope, depth - 1)
        if kind == 1:
            return f"({self.rng.choice([f'{whole} * {inner}', f'{inner} * {whole}'])})", size * bound
        if kind == 2:
            return f"({self.rng.choice([f'{whole} - {inner}', f'{inner} + {whole}'])})", size + bound
        if kind == 3:
            return f"({whole} / {self.positive(inner)})", size
        if kind in (4, 5) and not self.mixed:
            divisor = self.rng.choice(["0.75", "(-0.5)", "1.5", "2", "(-1)"])
            if kind == 4:
                return f"({inner} % {divisor})", 2.0
            return f"({inner} // {divisor})", 2 * bound + 1
        if kind == 6:
            powers = [i for i in scope.ints if -3 <= i.low and i.high <= 3]
            exponent = str(self.rng.choice([-2, -1, 0, 4]))
            if powers and self.chance(0.6):
                exponent = self.rng.choice(powers).name
            return f"((1.1 + math.sin({inner}) ** 2) ** {exponent})", 20.0
        divided, a, b = self._division(whole, low, high, *self.divisor(scope))
        return f"(0.25 * {divided})", 0.25 * max(abs(a), abs(b), 1)

    def int_assign(self, scope: Scope, indent: int, depth: int) -> None:
        """A new int variable, or an old one: that stays in its range, whatever loop this is in."""
        text, low, high = self.int_expr(scope, 3)
        old = [i for i in scope.ints if i.name not in scope.fixed and not scope.in_parallel]
        if old and self.chance(0.5):
            number = self.rng.choice(old)
            extent = number.high - number.low + 1
            if self.chance(0.3):
                self.emit(indent, f"{number.name} {self.rng.choice(['+=', '-=', '*='])} {text}")
                text = number.name
            shift = f"{number.low} + " if number.low else ""
            self.emit(indent, f"{number.name} = {shift}({text}) % {extent}")
            return
        name = self.fresh("k")
        self.emit(indent, f"{name} = {text}")
        scope.ints.append(Int(name, low, high))

    def late_float(self, scope: Scope, indent: int, depth: int) -> None:
        """A variable that is an int at first and a float from the first iteration on."""
        name = self.fresh("f")
        self.emit(indent, f"{name} = {self.rng.randint(-1, 2)}")
        text, bound = self.float_expr(scope, 2)
        counts = ["2", "0", *(i.name for i in scope.ints if i.high <= 4)]
        self.emit(indent, f"for {self.fresh('i')} in range({self.rng.choice(counts)}):")
        self.emit(indent + 1, f"{name} = {self.tame(f'0.5 * {name} + {text}', bound + BOUND)}")
        self.bind(scope, name)
