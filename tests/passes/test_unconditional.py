"""Terms added under conditions: their adjoints are gathered like all others, and stay right."""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adc import jit_grad


def load(text: str, name: str) -> Callable[..., Any]:
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), namespace)
    function: Callable[..., Any] = namespace["f"]
    return function


def check(f: Callable[..., Any], compiled: Any, *args: Any) -> None:
    """Value and gradient by the first argument against Python and central differences."""
    u, *rest = args
    step = np.random.default_rng(5).standard_normal(u.shape)
    gradients = []
    for _ in range(2):
        assert compiled(u, *rest) == pytest.approx(f(u, *rest), rel=1e-12)
        gradients.append(compiled.grad(u, *rest))
    assert all(np.array_equal(g, gradients[0]) for g in gradients)
    numeric = (f(u + 1e-6 * step, *rest) - f(u - 1e-6 * step, *rest)) / 2e-6
    assert np.sum(gradients[0] * step) == pytest.approx(numeric, rel=1e-6, abs=1e-8)


def upwind(u0, c, dt, steps):  # type: ignore[no-untyped-def]
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            if c[i] > 0.0:
                v[i] = u[i] - dt * c[i] * (u[i] - u[i - 1])
            elif c[i] < -0.5:
                v[i] = u[i] - dt * c[i] * (u[i + 1] - u[i]) * u[i]
            else:
                v[i] = u[i]
        u, v = v, u
    return np.sum(u * u)


@pytest.mark.parametrize("threads", [1, 2])
def test_upwind(threads: int) -> None:
    compiled = jit_grad(threads=threads)(upwind)
    for n in (0, 1, 2, 3, 4, 5, 40):
        rng = np.random.default_rng(n)
        check(upwind, compiled, rng.random(n), rng.uniform(-1, 1, n), 0.1, 4)


def test_upwind_is_gathered() -> None:
    report = jit_grad(upwind).dump_ir("plan", "f64[::1], f64[::1], f64, i64")
    accumulation = report[report.index("accumulation in") :]
    assert "3 offsets" in accumulation and "serial" not in accumulation


def test_infinite_on_the_other_side() -> None:
    """The term of a branch that is not taken is not computed: zero times infinity would be no number."""

    def f(u, c):  # type: ignore[no-untyped-def]
        v = np.zeros_like(u)
        for i in range(1, len(u) - 1):
            if c[i] > 0.0:
                v[i] += np.sqrt(u[i - 1]) + u[i + 1]
            else:
                v[i] += u[i]
        return np.sum(v * v)

    u, c = np.array([0.0, 1.0, 0.0, 4.0, 1.0]), np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    gradient = jit_grad(f).grad(u, c)
    # v = (0, u1, sqrt(u1) + u3, u3, 0)
    assert np.allclose(gradient, [0.0, 2.0 + 2 * 5 * 0.5, 0.0, 2 * 5.0 + 8.0, 0.0])


def test_masked_scatter_stays_within_the_array() -> None:
    """Neighbours that only exist where the condition holds: the term cannot move out of its branch."""

    def f(u):  # type: ignore[no-untyped-def]
        n = len(u)
        v = np.zeros(n)
        for i in range(n):
            if u[i] > 0.0 and i > 1:
                v[i] = u[i - 2] * u[i]
            else:
                v[i] = u[i] * u[i]
        return np.sum(v)

    compiled = jit_grad(f)
    for n in range(6):
        check(f, compiled, np.random.default_rng(n).uniform(-1, 1, n))


@pytest.mark.parametrize("seed", range(16))
def test_random_branches(seed: int) -> None:
    rng = random.Random(seed)
    radius = rng.randint(1, 3)

    def term(depth: int) -> str:
        at = [f"u[i + {k}]".replace("+ -", "- ") for k in (rng.randint(-radius, radius) for _ in range(2))]
        return rng.choice([f"{at[0]} * {at[1]}", f"0.5 * {at[0]} - {at[1]}", f"np.sin({at[0]}) + {at[1]}"])

    def statements(depth: int) -> list[str]:
        lines = []
        for _ in range(rng.randint(1, 2)):
            kind = rng.randint(0, 3 if depth < 2 else 1)
            if kind == 0:
                lines.append(f"v[i] = {term(depth)}")
            elif kind == 1:
                lines.append(f"v[i] += 0.5 * ({term(depth)})")
            else:
                lines.append(f"if {rng.choice(['c[i] > 0.1', 'c[i] < -0.2', 'c[i + 1] > 0.0', 'k > 1'])}:")
                lines += ["    " + line for line in statements(depth + 1)]
                if rng.random() < 0.6:
                    lines.append("else:")
                    lines += ["    " + line for line in statements(depth + 1)]
        return lines

    body = "\n".join("            " + line for line in statements(0))
    swap = "        u, v = v, u\n" if rng.random() < 0.5 else ""
    text = f"""def f(u0, c, k, steps):
    u, v = u0.copy(), np.zeros_like(u0)
    for t in range(steps):
        for i in range({radius}, len(u) - {radius}):
{body}
{swap}    return np.sum(u * u) + np.sum(v * v)
"""
    f = load(text, f"<branches {seed}>")
    compiled = jit_grad(threads=2)(f)
    for n in (1, 2 * radius + 1, 2 * radius + 4, 23):
        data = np.random.default_rng(seed)
        try:
            check(f, compiled, data.uniform(-1, 1, n), data.uniform(-1, 1, n), rng.randint(0, 3), 2)
        except AssertionError as error:
            error.add_note(text)
            raise
