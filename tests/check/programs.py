"""Programs of some 200 lines with one rule, in a right and in a wrong version.

A case is a function with a rule and its caller; the program also runs through functions of all kinds around it.
``# CALL`` and ``# RULE`` mark the lines that a check of the wrong program must name.
"""

from __future__ import annotations

from dataclasses import dataclass

HEADER = """import math
from dataclasses import dataclass

import numpy as np

import adc

"""

# Stages of a program: (x, u) -> x, each of which may change u. %(n)d is their number, %(c)r a constant.
STAGES = (
    """
def stage_%(n)d(x, u):
    total = 0.0
    for i in range(len(u)):
        if u[i] > %(c)r:
            total += u[i] * math.sin(x)
        elif u[i] < -%(c)r:
            total -= u[i] * u[i] * 0.1
        else:
            total += math.cos(u[i] * x)
    return total * %(c)r + x
""",
    """
def stage_%(n)d(x, u):
    for i in range(1, len(u)):
        left = u[i - 1]
        u[i] = u[i] * 0.5 + 0.25 * left * math.tanh(x)
    if len(u) > 1:
        u[0] += %(c)r * u[1]
    scale = 1.0 + x * x
    return x / scale
""",
    """
def stage_%(n)d(x, u):
    y = x
    k = 0
    while k < 4 and abs(y) < 10.0:
        y = y * %(c)r + math.exp(-y * y)
        if y > 2.0:
            break
        k += 1
    u *= 0.9
    return y
""",
    """
def stage_%(n)d(x, u):
    def weight(t):
        return t * x + %(c)r

    v = np.zeros(len(u))
    for i in range(len(u)):
        v[i] = weight(u[i]) * weight(x)
    u[:] = 0.5 * u + 0.1 * np.tanh(v)
    return x * 0.75 + 0.1 * np.sum(v) / (1.0 + len(u))
""",
    """
def stage_%(n)d(x, u):
    n = len(u)
    a = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            a[i, j] = math.sin(u[i] - u[j] * %(c)r)
    v = a @ u
    u += 0.1 * v
    return x + 0.01 * np.sum(v * v)
""",
    """
def stage_%(n)d(x, u):
    previous, current = x, x * %(c)r
    for k in range(5):
        previous, current = current, math.sin(current) + 0.3 * previous
    values = [current, previous, current * previous]
    for i, value in enumerate(values):
        if i < len(u):
            u[i] = u[i] + 0.1 * value
    return sum(values) * 0.5
""",
)

MAIN = """
def main(x: float, u: "f64[::1]"):
    u = u.copy()
{before}
    x = special(x, u)
{after}
    return x * np.sum(u * u) + x
"""


@dataclass(frozen=True)
class Case:
    """``text`` is the function with the rule and ``special(x, u)``, which calls it; ``right`` stands in it once, in the
    rule, and ``wrong`` in its place is wrong in the given ``mode``. ``main`` is where the program begins."""

    name: str
    text: str
    right: str
    wrong: str
    main: str = MAIN
    mode: str = ""


def program(number: int, case: Case, *, wrong: bool) -> str:
    """The source of a program."""
    assert case.text.count(case.right) == 1, case.name
    text = case.text.replace(case.right, case.wrong) if wrong else case.text
    count = 14
    stages = [
        STAGES[(number + k) % len(STAGES)] % {"n": k, "c": round(0.3 + 0.07 * ((3 * number + k) % 8), 2)}
        for k in range(count)
    ]
    calls = [f"    x = stage_{k}(x, u)\n    x = 0.5 * math.tanh(x) + 0.01 * x" for k in range(count)]
    half = count // 2
    main = case.main.format(before="\n".join(calls[:half]), after="\n".join(calls[half:]))
    return HEADER + "\n".join(s.strip("\n") + "\n\n" for s in [*stages[:half], text, *stages[half:], main])


def marked(source: str, mark: str) -> set[int]:
    """The lines that bear a mark."""
    return {n for n, line in enumerate(source.splitlines(), 1) if line.endswith(f"# {mark}")}


CASES = (
    Case(
        "a loop, partials, a wrong sign",
        """
def ramp(t):
    return math.cos(t) * t


adc.scalar_rule(ramp, lambda t: math.cos(t) - t * math.sin(t))  # RULE


def special(x, u):
    total = x
    for i in range(len(u)):
        total += ramp(u[i]) * 0.5  # CALL
    return total
""",
        "math.cos(t) - t",
        "math.cos(t) + t",
    ),
    Case(
        "a while loop, an rrule, a missing factor",
        """
def gauss(t):
    return math.exp(-t * t)


@adc.rrule(gauss)
def gauss_rule(t):  # RULE
    y = math.exp(-t * t)
    return y, lambda g: -2.0 * g * t * y


def special(x, u):
    k = 0
    while x < 1.5 and k < 6:
        x = x + 0.4 * gauss(x)  # CALL
        k += 1
    return x
""",
        "-2.0 * g * t * y",
        "-g * t * y",
    ),
    Case(
        "branches, wrong for negative numbers only",
        """
def bend(t):
    return t * t * t


@adc.scalar_rule(bend)
def bend_rule(t):  # RULE
    if t < 0.0:
        return 3.0 * t * t
    return 3.0 * t * t


def special(x, u):
    for i in range(len(u)):
        if u[i] > 0.2:
            x += 0.1 * bend(u[i])  # CALL
        else:
            x += 0.2 * bend(u[i] - 0.5)  # CALL
    return x
""",
        "if t < 0.0:\n        return 3.0",
        "if t < 0.0:\n        return -3.0",
    ),
    Case(
        "an array argument, off by a thousandth",
        """
def energy(v):
    total = 0.0
    for i in range(len(v)):
        total += v[i] ** 4
    return total


@adc.rrule(energy)
def energy_rule(v):  # RULE
    return energy(v), lambda g: 4.0 * g * v**3


def special(x, u):
    return x + 0.05 * energy(u * 0.5)  # CALL
""",
        "4.0 * g",
        "4.004 * g",
    ),
    Case(
        "in-place updates, zero",
        """
def limit(t, a):
    return t / (1.0 + a * t * t)


@adc.rrule(limit)
def limit_rule(t, a):  # RULE
    d = 1.0 + a * t * t
    return t / d, lambda g: (g * (1.0 - a * t * t) / (d * d), -g * t**3 / (d * d))


def special(x, u):
    for step in range(3):
        for i in range(len(u)):
            u[i] -= 0.1 * limit(u[i], x * x)  # CALL
    return x
""",
        "-g * t**3",
        "0.0 * g * t**3",
    ),
    Case(
        "callees two deep, an frule alone",
        """
def soft(t):
    return math.log(1.0 + math.exp(t))


@adc.frule(soft)
def soft_rule(tangents, t):  # RULE
    return math.log(1.0 + math.exp(t)), tangents[0] / (1.0 + math.exp(-t))


def inner(t, k):
    return soft(t * 0.5) + k  # CALL


def outer(u, x):
    total = 0.0
    for i in range(len(u)):
        total += inner(u[i] + x, i)
    return total


def special(x, u):
    return 0.2 * outer(u, x)
""",
        "(1.0 + math.exp(-t))",
        "(1.0 + math.exp(t))",
    ),
    Case(
        "closures, another variable",
        """
def blend(p, q, a):
    return p * a + q * (1.0 - a)


adc.scalar_rule(blend, lambda p, q, a: a, lambda p, q, a: 1.0 - a, lambda p, q, a: p - q)  # RULE


def special(x, u):
    scale = x * 0.5

    def mixed(i):
        return blend(u[i], u[i - 1], scale)  # CALL

    total = x
    for i in range(len(u)):
        total += mixed(i) * 0.3
    return total
""",
        "a: p - q",
        "a: p + q",
    ),
    Case(
        "a dataclass, the cotangent of another field",
        """
@dataclass
class Line:
    slope: float
    offset: float


def at(line, t):
    return line.slope * t * t + line.offset * t


@adc.rrule(at)
def at_rule(line, t):  # RULE
    def pullback(g):
        return Line(g * t * t, g * t), g * (2.0 * line.slope * t + line.offset)

    return at(line, t), pullback


def special(x, u):
    line = Line(x, 0.5 * x + 1.0)
    for i in range(len(u)):
        u[i] = 0.5 * at(line, u[i])  # CALL
    return x
""",
        "Line(g * t * t, g * t)",
        "Line(g * t, g * t * t)",
    ),
    Case(
        "a matrix product, not transposed",
        """
def product(a, v):
    w = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            w[i] += a[i, j] * v[j]
    return w


@adc.rrule(product)
def product_rule(a, v):  # RULE
    def pullback(g):
        a_bar = np.zeros(a.shape)
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                a_bar[i, j] = g[i] * v[j]
        return a_bar, a.T @ g

    return product(a, v), pullback


def special(x, u):
    n = len(u)
    a = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            a[i, j] = 0.1 * (i + 1) * x + 0.2 * (j - i) * u[j]
    u += 0.1 * product(a, u)  # CALL
    return x
""",
        "a.T @ g",
        "a @ g",
    ),
    Case(
        "keyword arguments, one left out",
        """
def scaled(t, *, power, factor=0.5):
    return factor * t**power


@adc.rrule(scaled)
def scaled_rule(t, *, power, factor=0.5):  # RULE
    return factor * t**power, lambda g: factor * g * power * t ** (power - 1)


def special(x, u):
    for i in range(len(u)):
        x += scaled(u[i], power=3, factor=0.2)  # CALL
        x += scaled(u[i] * x, power=2) * 0.1  # CALL
    return x
""",
        "factor * g * power",
        "0.5 * g * power",
    ),
    Case(
        "two arguments, swapped",
        """
def area(w, h):
    return w * w * h


@adc.scalar_rule(area)
def area_rule(w, h):  # RULE
    return 2.0 * w * h, w * w


def special(x, u):
    for i in range(len(u)):
        u[i] = 0.3 * area(math.sin(u[i]), math.cos(x))  # CALL
    return x
""",
        "return 2.0 * w * h, w * w",
        "return w * w, 2.0 * w * h",
    ),
    Case(
        "both rules, the frule wrong",
        """
def arc(t):
    return math.atan(t) * 2.0


@adc.rrule(arc)
def arc_pullback(t):
    return math.atan(t) * 2.0, lambda g: 2.0 * g / (1.0 + t * t)


@adc.frule(arc)
def arc_tangent(tangents, t):  # RULE
    return math.atan(t) * 2.0, 2.0 * tangents[0] / (1.0 + t * t)


def special(x, u):
    for i in range(len(u)):
        x = x + 0.1 * arc(u[i] * x)  # CALL
    return x
""",
        "2.0 * tangents[0] / (1.0 + t * t)",
        "2.0 * tangents[0] / (1.0 + t)",
        mode="forward",
    ),
    Case(
        "both rules, the rrule wrong",
        """
def total_of(v):
    return np.sum(np.sin(v))


@adc.frule(total_of)
def total_tangent(tangents, v):
    return np.sum(np.sin(v)), np.sum(tangents[0] * np.cos(v))


@adc.rrule(total_of)
def total_pullback(v):  # RULE
    return np.sum(np.sin(v)), lambda g: g * np.cos(v)


def special(x, u):
    for step in range(2):
        x = x + 0.1 * total_of(u * x)  # CALL
    return x
""",
        "lambda g: g * np.cos(v)",
        "lambda g: g * np.sin(v)",
        mode="reverse",
    ),
    Case(
        "an array returned, backwards",
        """
def prefix(v):
    w = np.zeros(len(v))
    running = 0.0
    for i in range(len(v)):
        running += v[i] * v[i]
        w[i] = running
    return w


@adc.rrule(prefix)
def prefix_rule(v):  # RULE
    def pullback(g):
        v_bar = np.zeros(len(v))
        running = 0.0
        for i in range(len(v) - 1, -1, -1):
            running += g[i]
            v_bar[i] = 2.0 * v[i] * running
        return v_bar

    return prefix(v), pullback


def special(x, u):
    u[:] = 0.2 * prefix(u) + 0.5 * u  # CALL
    return x
""",
        "range(len(v) - 1, -1, -1)",
        "range(len(v))",
    ),
    Case(
        "a tuple returned, one cotangent forgotten",
        """
def polar(p, q):
    return p * math.cos(q), p * math.sin(q)


@adc.rrule(polar)
def polar_rule(p, q):  # RULE
    c, s = math.cos(q), math.sin(q)

    def pullback(g):
        return g[0] * c + g[1] * s, p * (g[1] * c - g[0] * s)

    return (p * c, p * s), pullback


def special(x, u):
    for i in range(1, len(u)):
        u[i], u[i - 1] = polar(u[i], u[i - 1] * x)  # CALL
    return x
""",
        "g[0] * c + g[1] * s",
        "g[0] * c",
    ),
    Case(
        "only what arguments hold, a factor",
        """
def relax(t, target):
    return t + 0.3 * (target - t) ** 2


@adc.rrule(relax)
def relax_rule(t, target):  # RULE
    d = 0.6 * (target - t)
    return relax(t, target), lambda g: (g * (1.0 - d), g * d)


def special(x, u):
    for i in range(len(u)):
        u[i] = relax(u[i], x)  # CALL
    return x
""",
        "(g * (1.0 - d), g * d)",
        "(g * (1.0 - d), g * 2.0 * d)",
        main="""
def main(x: float, u: "f64[::1]", out: "f64[::1]"):
    given = u.copy()
{before}
    x = special(x, u)
{after}
    for i in range(min(len(out), len(u))):
        out[i] = u[i] * x + given[i]
""",
    ),
    Case(
        "arrays and numbers, a mean for a sum",
        """
def shifted(v, a):
    return v * v + a


@adc.rrule(shifted)
def shifted_rule(v, a):  # RULE
    return v * v + a, lambda g: (2.0 * v * g, np.sum(g))


def special(x, u):
    w = shifted(u, 0.5 * x)  # CALL
    u += 0.1 * w
    return x
""",
        "np.sum(g))",
        "np.mean(g))",
    ),
    Case(
        "nested loops and branches, wrong where it is large",
        """
def stretch(t):
    return t * t if t < 1.2 else 2.4 * t - 1.44


@adc.rrule(stretch)
def stretch_rule(t):  # RULE
    return stretch(t), lambda g: g * (2.0 * t if t < 1.2 else 2.4)


def special(x, u):
    for i in range(len(u)):
        level = abs(u[i])
        k = 0
        while k < 3:
            if level > 0.1:
                x += 0.05 * stretch(level)  # CALL
            level += 0.5
            k += 1
    return x
""",
        "t < 1.2 else 2.4)",
        "t < 1.2 else 2.0)",
    ),
    Case(
        "a method, None for an argument that matters",
        """
@dataclass
class Spring:
    stiffness: float

    def force(self, stretch, rate):
        return self.stiffness * stretch + 0.1 * rate * stretch


@adc.rrule(Spring.force)
def force_rule(self, stretch, rate):  # RULE
    def pullback(g):
        return Spring(g * stretch), g * (self.stiffness + 0.1 * rate), g * 0.1 * stretch

    return self.stiffness * stretch + 0.1 * rate * stretch, pullback


def special(spring, x, u):
    rate = x
    for i in range(len(u)):
        rate = rate - 0.2 * spring.force(u[i], rate)  # CALL
    return rate
""",
        "g * 0.1 * stretch\n",
        "None\n",
        main="""
@dataclass
class Model:
    spring: Spring
    state: "f64[::1]"


def main(x: float, model: Model):
    u = model.state
{before}
    x = special(model.spring, x, u)
{after}
    return (x, {{"state": u * x}})
""",
    ),
    Case(
        "a library's function, a power",
        """
adc.scalar_rule(math.erf, lambda t: 2.0 / math.sqrt(math.pi) * math.exp(-(t**2)))  # RULE


def step(u, i, x):
    return math.erf(u[i] * x) * 0.5  # CALL


def special(x, u):
    values = [step(u, i, x) for i in range(min(len(u), 3))]
    return x + sum(values)
""",
        "-(t**2)",
        "-(t**3)",
        main=MAIN.replace('"f64[::1]"', '"f64[:]"'),
    ),
)
