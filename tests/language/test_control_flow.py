"""Jumps, loops over things, match: values, effects on arrays, gradients and pullbacks against plain Python.

Each snippet is a loop's body, tested as it is, under a branch, in an outer loop, and in a callee.
"""

# ruff: noqa: E501

from __future__ import annotations

import functools
import linecache
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adc import jit_grad
from tests.language import jump_programs
from tests.programs.harness import check

X = np.array([0.7, -0.4, 1.3, 0.2, -1.1, 0.9])

SNIPPETS = {
    "break": "for i in range(n):\n    if x[i] > t: break\n    s += x[i] * x[i]\n    x[i] *= s",
    "continue": "for i in range(n):\n    if x[i] < 0.0: continue\n    s = s * 0.5 + x[i] ** 2\n    x[i] = s",
    "return": "for i in range(n):\n    s += x[i] * t\n    x[i] = s\n    if s > 1.0: return s * x[i]",
    "return nested": (
        "for i in range(n):\n    for j in range(i):\n        s += x[i] * x[j]\n        if s > t: return s * i + j\n"
        "        x[j] += 0.1 * s"
    ),
    "break nested": (
        "for i in range(n):\n    for j in range(n):\n        if j > i: break\n        if x[j] < -1.0: continue\n"
        "        s += x[i] * x[j]\n    if s > 2.0: break\ns += i + j"
    ),
    "for else": "for i in range(n):\n    s += x[i] ** 3\n    if s > t: break\nelse:\n    s = -s * x[0]",
    "else continue": (
        "for i in range(n):\n    for j in range(3):\n        s += x[j] * x[i]\n        if s > t: break\n"
        "    else:\n        continue\n    s *= 0.5\n    break\nelse:\n    s += 2.0"
    ),
    "while true": (
        "k = 0\nwhile True:\n    s = s * x[k] + 0.3\n    k += 1\n    if s > t or k == n:\n        break\n    x[k] += s\n"
        "s += k"
    ),
    "while else": "k = 0\nwhile k < n:\n    s += x[k] ** 2\n    k += 1\n    if s > 2.0: break\nelse:\n    s = s * t",
    "while test": "k = 0\nwhile x[k] > -1.0:\n    s += x[k] * t\n    k += 1\n    if k == n: break",
    "only return": "k = 0\nwhile True:\n    s = s + x[k] * x[k]\n    k += 1\n    if k == n: return s * t",
    "last value": "for i in range(n):\n    if x[i] < -0.3: continue\n    y = x[i] * t\ns += y * i",
    "counter assigned": "for i in range(n):\n    s += x[i]\n    i = i * 2\n    if i > 4: break\ns *= i + 1",
    "over array": "for v in x:\n    if v < -1.0: break\n    s += v * t\n    x[2] = x[2] * 0.5\nelse:\n    s = -s\ns += v",
    "over rows": (
        "m = np.zeros((3, 2))\nfor k in range(3):\n    m[k, 0] = x[k]\n    m[k, 1] = x[k + 1] * t\n"
        "for row in m:\n    row[0] *= 2.0\nfor a, b in m[:2]:\n    s += a * b * b"
    ),
    "enumerate zip": (
        "for k, (a, b) in enumerate(zip(x, x[1:]), 1):\n    if a > 1.2: continue\n    s += k * a * b\n"
        "    if k > n: break"
    ),
    "reversed": "for k, v in zip(range(n, 0, -1), reversed(x[:n])):\n    s = s * 0.5 + k * v * v",
    "range kept": "r = range(1, n, 2)\nfor k in r:\n    s += x[k] * t\nfor k in reversed(r):\n    s = s * 0.7 + x[k]",
    "tuple": (
        "for v, w in zip((x[0], t, 2.0, x[1]), x[:n]):\n    if w < 0.0: continue\n    s += v * w\n"
        "    if s > 1.2: break\nelse:\n    s = s * x[4]"
    ),
    "expression": "for v in x[:n] * x[:n] + t:\n    s += v * s\n    if s > 30.0: return s",
    "no items": "for v in x[:0]:\n    s += v\nelse:\n    s += t\nfor i in range(0):\n    return s\nfor v in ():\n    s = 0.0",
    "match": (
        "for i in range(n):\n    match i % 4:\n        case 0: s += x[i]\n        case 1 | 2 if x[i] > 0: s *= x[i]\n"
        "        case k if k > 2:\n            if s > t: break\n            s -= k * x[i]\n        case _: continue\n"
        "    match (i, n):\n        case (0, _): x[i] *= 2.0\n        case (2 | 3 as p, q): s += p * x[q - 1]\n"
        "    match None:\n        case 3: s = 0.0\n        case None: s += 0.25 * x[0]"
    ),
    "assert": "for i in range(n):\n    assert x[i] < 9.0, f'{x[i]}'\n    s += x[i] ** 2\n    x[i] = s",
    "raise": "for i in range(n):\n    if x[i] > 9.0:\n        x[i] = 0.0\n        raise ValueError(i)\n    s += t * x[i] ** 2",
}

PLACES = {
    "plain": "def main(x, t, n):\n    s = 0.1\n    {}\n    return s",
    "branch": "def main(x, t, n):\n    s = 0.1\n    if t > 0.0:\n        {1}\n    else:\n        s = x[0] * t\n    return s * x[1]",
    "loop": "def main(x, t, n):\n    s = 0.1\n    for outer in range(2):\n        {1}\n        s = s * 0.9 + outer * t\n    return s",
    "callee": (
        "def f(x, t, n):\n    s = 0.1\n    {}\n    return s\n\n"
        "def main(x, t, n):\n    s = 0.0\n    for k in range(2):\n        s = s * x[3] + f(x, t, n - k)\n    return s"
    ),
}


def load(text: str, name: str) -> Callable[..., Any]:
    """The function ``main`` of a text whose lines can be read back."""
    filename = f"<{name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    namespace: dict[str, Any] = {"np": np, "__name__": "snippets"}
    exec(compile(text, filename, "exec"), namespace)
    return namespace["main"]


def placed(snippet: str, place: str) -> str:
    template = PLACES[place]
    depth = 2 if "{1}" in template else 1
    return template.replace("{1}", "{}").format(textwrap.indent(snippet, "    " * depth).lstrip())


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("snippet", SNIPPETS)
def test_snippet(snippet: str, place: str) -> None:
    text = placed(SNIPPETS[snippet], place)
    main = load(text, f"{snippet} {place}")
    cases = [(X.copy(), 0.55, 5), (X.copy(), 1.9, 4), (X.copy(), -0.35, 5)]
    check(main, *cases, pullback=True, step=0.02)


RAISING = """
def inner(x, k, t):
    assert x[k] < 5.0, "element %d is %.2f of %s" % (k, x[k], t)
    x[k] += 1.0
    return x[k] * t

def main(x, t, n):
    s = 0.0
    for k in range(n):
        s += inner(x, k, t)
        if k == 3:
            raise KeyError(f"{k:>3d}|{s!r}|{n}|{t:.1e}", k, x[0])
        elif s > 6.0:
            x[0] = -1.0
            raise OverflowError("{:.3f} and {}".format(s, k + 1)) from None
    if n == 2:
        raise RuntimeError
    while True:
        s += x[n]
        if s > 4.0:
            raise ArithmeticError(str(n) + " " + repr(x[1]))
        if s > t:
            return s
"""


@functools.cache
def raising() -> tuple[Callable[..., Any], Any]:
    """The function and what is compiled, once for all arguments."""
    main = load(RAISING, "raising")
    return main, jit_grad(main)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("t", [0.6, 3.0])
@pytest.mark.parametrize("large", [0, 2, 3])
def test_raising(n: int, t: float, large: int) -> None:
    main, compiled = raising()
    start = X + 6.0 * (np.arange(6) == large) * (large > 0)
    expected, after = _outcome(main, start, t, n)
    for call in (compiled, compiled.value_and_grad, compiled.pullback):
        found, now = _outcome(call, start, t, n)
        if isinstance(expected, Exception):
            assert type(found) is type(expected)
            assert found.args == expected.args and repr(found.args) == repr(expected.args)
            assert "<raising>:" in "".join(found.__notes__)
        else:
            assert np.isclose(found[0] if isinstance(found, tuple) else found, expected)
        if call is not compiled.value_and_grad:
            assert np.array_equal(now, after)


def _outcome(call: Callable[..., Any], start: Any, t: float, n: int) -> tuple[Any, Any]:
    x = start.copy()
    try:
        return call(x, t, n), x
    except Exception as error:
        return error, x


@pytest.mark.parametrize("first", range(0, 60, 12))
def test_random_programs(first: int) -> None:
    outcomes = [jump_programs.check(seed) for seed in range(first, first + 12)]
    assert outcomes.count("compared") + outcomes.count("raised") >= 8, outcomes


def test_items_that_do_not_fit_after_a_break():
    """What a path that is not taken would unpack does not matter; on one that is, it is Python's error."""

    def summed(x):
        total = 0.0
        for a, b in [(1, 2), (3, 4, 5)]:
            if x[0] > 0:
                break
            total += a * x[b]
        return total

    compiled = jit_grad(summed)
    x = np.arange(1.0, 6.0)
    assert compiled(x) == summed(x)
    with pytest.raises(ValueError, match="too many values to unpack"):
        compiled(-x)
