"""split-index-sets: where loops are split, and that programs do the same as before, for domains of every size."""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adc import jit_grad
from adc.border.signature import abstracts_of
from adc.frontend.entrance import trace
from adc.ir import ops
from adc.ir.core import Module
from adc.ir.interpret import interpreter
from adc.ir.verifier import verify
from adc.passes import pipelines
from adc.passes.base import IfChanged, run_pipeline
from adc.passes.bounds.split_index_sets import SplitIndexSets

Arrays = list[np.ndarray[Any, Any]]


def load(text: str, name: str) -> Callable[..., Any]:
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), namespace)
    function: Callable[..., Any] = namespace["f"]
    return function


def simplified(function: Callable[..., Any], *args: Any) -> Module:
    names = tuple(function.__code__.co_varnames[: len(args)])
    return run_pipeline(trace(function, abstracts_of(names, args)).module, pipelines.SIMPLIFY)


def loops(module: Module) -> int:
    return sum(op.opdef is ops.for_ for op in module.funcs["f"].walk())


def parts(module: Module) -> int:
    """The parts of a loop that stores once in each iteration; those of one iteration are branches."""
    return sum(op.opdef is ops.store for op in module.funcs["f"].walk())


def branches(module: Module) -> int:
    return sum(op.opdef in (ops.if_, ops.remsi) for op in module.funcs["f"].walk())


def split(module: Module) -> Module:
    module = run_pipeline(module, (IfChanged(SplitIndexSets(), pipelines.TIDY),))
    verify(module)
    return module


CUT = {
    "left": ("x[i - 1] if i > 0 else x[n - 1]", 2),
    "right": ("x[i + 1] if i < n - 1 else x[0]", 2),
    "both": ("(x[i - 1] if i >= 1 else 0.0) + (x[0] if i == n - 1 else x[i + 1])", 3),
    "mirrored": ("x[n - 1 - i] if n - i > 2 else 1.0", 2),
    "modulo": ("x[(i + 1) % n] - x[(i - 1) % n]", 3),
    "in the middle": ("x[i] if i < k else 0.5", 2),
    "two in the middle": ("x[i] if k <= i < m else 0.5", 3),
    "wide": ("x[(i + 3) % n] + x[(i + 2) % n] - x[(i - 3) % n]", 3),
}


@pytest.mark.parametrize("name", CUT)
def test_cut(name: str) -> None:
    expression, expected_parts = CUT[name]
    f = load(f"def f(x, y, k, m):\n    n = len(x)\n    for i in range(n):\n        y[i] = {expression}\n", f"<{name}>")
    x = np.arange(9.0)
    module = split(simplified(f, x, np.zeros(9), 3, 5))
    assert parts(module) == expected_parts
    for n in range(1 if "%" in expression else 0, 9):
        for k, m in ((3, 5), (-2, 20), (5, 2)):
            expected, got = np.zeros(n), np.zeros(n)
            f(x[:n], expected, k, m)
            interpreter.run(module, "f", [x[:n].copy(), got, k, m])
            assert np.array_equal(got, expected), (n, k, m)


NOT_CUT = {
    "no condition on the counter": "    for i in range(n):\n        y[i] = x[i] if k > 2 else 0.0\n",
    "in sequence": "    for i in range(n):\n        y[0] += x[i] if i > 0 else 1.0\n",
    "a time loop": "    for t in range(k):\n        for i in range(n):\n            y[i] += x[i] if t > 2 else 1.0\n",
    "few iterations": "    for i in range(8):\n        y[i] = x[i] if i > 0 else 1.0\n",
    "steps": "    for i in range(0, n, 2):\n        y[i] = x[i] if i > 0 else 1.0\n",
}


@pytest.mark.parametrize("name", NOT_CUT)
def test_not_cut(name: str) -> None:
    f = load(f"def f(x, y, k):\n    n = len(x)\n{NOT_CUT[name]}", f"<{name}>")
    module = simplified(f, np.zeros(9), np.zeros(9), 3)
    before = loops(module)
    assert loops(split(module)) == before


def test_middle_is_free_of_conditions() -> None:
    text = """def f(x, y):
    n, m = x.shape
    for i in range(n):
        for j in range(m):
            up = x[i - 1, j] if i > 0 else x[i, j]
            left = x[i, j - 1] if j > 0 else x[i, m - 1]
            y[i, j] = up + left + x[(i + 1) % n, (j + 1) % m]
"""
    f = load(text, "<2-D>")
    module = split(simplified(f, np.zeros((4, 4)), np.zeros((4, 4))))
    inner = [
        op
        for op in module.funcs["f"].walk()
        if op.opdef is ops.for_ and not any(o.opdef in (ops.for_, ops.if_, ops.remsi) for o in op.regions[0].walk())
    ]
    assert len(inner) == 1  # the middle; the last row and column are branches, the remainder is a difference
    rng = np.random.default_rng(0)
    for shape in ((1, 1), (2, 3), (1, 5), (5, 4)):
        x, expected, got = rng.random(shape), np.zeros(shape), np.zeros(shape)
        f(x, expected)
        interpreter.run(module, "f", [x, got])
        assert np.array_equal(got, expected)


def random_condition(rng: random.Random) -> str:
    left = rng.choice(["i", "i + 1", "i - 2", "n - i", "n - 1 - i", "i"])
    right = rng.choice(["0", "1", "2", "n - 1", "n - 2", "n", "k", "m - 1"])
    return f"{left} {rng.choice(['<', '<=', '>', '>=', '==', '!='])} {right}"


@pytest.mark.parametrize("seed", range(60))
def test_random(seed: int) -> None:
    rng = random.Random(seed)
    terms = []
    for _ in range(rng.randint(1, 3)):
        if rng.random() < 0.3:
            terms.append(f"x[(i + {rng.randint(-4, 4)}) % n]")
        else:
            terms.append(f"({rng.choice(['x[i]', 'i * 0.5', 'x[n - 1 - i]'])} if {random_condition(rng)} else 0.25)")
    start, stop = rng.choice([("0", "n"), ("1", "n - 1"), ("k", "n"), ("0", "m")])
    text = f"""def f(x, y, k, m):
    n = len(x)
    s = 0
    for i in range({start}, {stop}):
        y[i] = {' + '.join(terms)}
        if {random_condition(rng)}:
            s = s * 3 + i
    return s
"""
    f = load(text, f"<random {seed}>")
    module = split(simplified(f, np.zeros(3), np.zeros(3), 1, 2))
    for n in (1, 2, 3, 5, 9):
        for k, m in ((0, n), (1, 0), (2, n // 2)):
            x = np.arange(1.0, n + 1)
            expected, got = np.zeros(n), np.zeros(n)
            result = f(x, expected, k, m)
            assert interpreter.run(module, "f", [x, got, k, m]) == [result], text
            assert np.array_equal(got, expected), text


def test_gradients_of_periodic_loops() -> None:
    def ring(u0, dt, steps):  # type: ignore[no-untyped-def]
        u, v, n = u0.copy(), u0.copy(), len(u0)
        for _ in range(steps):
            for i in range(n):
                left = u[i - 1] if i > 0 else u[n - 1]
                v[i] = u[i] - dt * u[i] * (u[(i + 1) % n] - left)
            u, v = v, u
        return np.sum(u * u)

    rng, compiled = np.random.default_rng(1), jit_grad(ring)
    for n in (1, 2, 3, 4, 9):
        u0, step = rng.random(n), rng.standard_normal(n)
        assert compiled(u0, 0.1, 3) == pytest.approx(ring(u0, 0.1, 3), rel=1e-13)
        numeric = (ring(u0 + 1e-6 * step, 0.1, 3) - ring(u0 - 1e-6 * step, 0.1, 3)) / 2e-6
        assert np.dot(compiled.grad(u0, 0.1, 3), step) == pytest.approx(numeric, rel=1e-7)
