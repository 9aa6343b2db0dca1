"""What the reverse sweep needs from a branch in a parallel loop is stored and loaded outside of it, taken or not."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from adc import jit_grad
from adc.backend.runtime import on_threads
from adc.ir import ops
from adc.ir.core import Block, Op
from adc.ir.text.parser import parse_module
from adc.passes.differentiation.storage import tape
from tests.passes.test_unconditional import check, load
from tests.stencils.check import threads_at_once


def limited(a0, limit, steps):  # type: ignore[no-untyped-def]
    a, b = a0.copy(), 0.5 * a0
    for _ in range(steps):
        for i in range(1, len(a) - 1):
            if a[i] > limit:
                if b[i] < a[i]:
                    b[i] = b[i] * a[i - 1] * a[i + 1]
                else:
                    b[i] = b[i] / (1.0 + a[i] * a[i])
        for i in range(len(a)):
            a[i] = 0.9 * a[i] + 0.1 * b[i] * a[i]
    return np.sum(a * b)


def in_branches(text: str, kinds: tuple[ops.OpDef, ...]) -> Iterator[Op]:
    """Operations of some kinds on tapes, in branches of parallel loops."""

    def walk(block: Block, loop: bool, branch: bool) -> Iterator[Op]:
        for op in block.ops:
            if op.opdef in kinds and loop and branch:
                memref = op.operands[1 if op.opdef is ops.store else 0]
                if memref.hint.startswith("tape"):
                    yield op
            for region in op.regions:
                if op.opdef is ops.if_:
                    yield from walk(region, loop, branch=loop)
                else:
                    yield from walk(region, loop=op.opdef is ops.parallel, branch=False)

    for func in parse_module(text).funcs.values():
        if "cold" not in func.name:
            yield from walk(func.body, loop=False, branch=False)


def test_no_tape_in_branches() -> None:
    compiled = jit_grad(limited)
    signature = "f64[::1], f64, i64"
    assert any(value in compiled.dump_ir("plan", signature) for value in ("cmpf", "f64, 8 bytes"))
    assert not list(in_branches(compiled.dump_ir("lowered", signature), (ops.store, ops.load)))


def test_few_values_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a region that keeps many values, which may never run, nothing is kept beforehand."""
    monkeypatch.setattr(tape, "MOST_ALWAYS", 0)
    text = jit_grad(limited).dump_ir("adjoint", "f64[::1], f64, i64")
    assert list(in_branches(text, (ops.store,)))


@pytest.mark.parametrize("threads", [1, 2])
def test_limited(threads: int) -> None:
    compiled = jit_grad(threads=threads)(limited)
    for n in (0, 1, 2, 3, 5, 40):
        check(limited, compiled, np.random.default_rng(n).uniform(0.2, 1.5, n), 0.7, 3)


def test_what_is_not_taken_may_be_infinite() -> None:
    def f(a0, steps):  # type: ignore[no-untyped-def]
        a = a0.copy()
        for _ in range(steps):
            for i in range(len(a)):
                if a[i] > 0.0:
                    a[i] = np.sqrt(a[i]) * np.log(a[i]) / a[i]
                else:
                    a[i] = 2.0 * a[i]
        return np.sum(a)

    a = np.array([0.0, -1.0, 2.0, -0.0, 3.0])
    gradient = jit_grad(f).grad(a, 1)
    inner = (2.0 - np.log(a[[2, 4]])) / (2.0 * a[[2, 4]] ** 1.5)
    assert np.allclose(gradient, [2.0, 2.0, inner[0], 2.0, inner[1]], rtol=1e-14)


def test_second_derivatives() -> None:
    import adc

    def total(a, limit):  # type: ignore[no-untyped-def]
        return limited(a, limit, 2)

    a, v = np.random.default_rng(3).uniform(0.2, 1.5, 12), np.random.default_rng(4).standard_normal(12)

    def along(a, v):  # type: ignore[no-untyped-def]
        return np.sum(adc.grad(total)(a, 0.7) * v)

    g = adc.grad(total)
    numeric = (g(a + 1e-6 * v, 0.7) - g(a - 1e-6 * v, 0.7)) / 2e-6
    assert np.allclose(adc.grad(along)(a, v), numeric, rtol=1e-6, atol=1e-7)
    assert np.allclose(adc.hvp(total, (a, 0.7), (v, 0.0)), numeric, rtol=1e-6, atol=1e-7)


FIELDS = "abc"


def program(rng: random.Random) -> str:
    """Time steps of loops over points, each of which changes some fields and reads the others' neighbours."""
    radius = rng.randint(1, 2)

    def at(field: str, written: str) -> str:
        k = 0 if field in written else rng.randint(-radius, radius)
        return f"{field}[i]" if k == 0 else f"{field}[i {'+' if k > 0 else '-'} {abs(k)}]"

    def term(written: str) -> str:
        x, y, z = (at(rng.choice(FIELDS), written) for _ in range(3))
        forms = [
            f"{x} * {y} * {z}", f"0.5 * {x} - {y} * {z}", f"np.sin({x}) * {y}", f"{x} / (1.5 + {y} * {y})",
            f"np.sqrt(2.0 + {x} * {x})", f"min({x}, {y} * {z})", f"0.3 * {x}",
        ]  # fmt: skip
        return rng.choice(forms)

    def condition(written: str) -> str:
        x, y = (at(rng.choice(FIELDS), written) for _ in range(2))
        return rng.choice([f"{x} > 0.1", f"{x} * {y} <= 0.0", f"p[i] > {rng.choice(['0.5', '0.98'])}", "k > 1"])

    def statements(written: str, depth: int) -> list[str]:
        lines = []
        for _ in range(rng.randint(1, 2)):
            kind = rng.random()
            if kind < 0.45 or depth > 2:
                lines.append(f"{rng.choice(written)}[i] = {term(written)}")
            elif kind < 0.55:
                lines += [f"for r in range(k + {rng.randint(0, 1)}):", f"    {written[0]}[i] = 0.5 * ({term(written)})"]
            else:
                lines.append(f"if {condition(written)}:")
                lines += ["    " + line for line in statements(written, depth + 1)]
                if rng.random() < 0.6:
                    lines.append("else:")
                    lines += ["    " + line for line in statements(written, depth + 1)]
        return lines

    text = "def f(a0, p, k, steps):\n    a, b, c = a0.copy(), 0.5 * a0, a0 * a0 - 0.2\n    for t in range(steps):\n"
    for _ in range(rng.randint(1, 3)):
        written = "".join(rng.sample(FIELDS, rng.randint(1, 2)))
        step = rng.choice(["", "", ", 2"])
        text += f"        for i in range({radius}, len(a) - {radius}{step}):\n"
        text += "".join(f"            {line}\n" for line in statements(written, 0))
    return text + "    return np.sum(a * a) + np.sum(b) + np.sum(c * b)\n"


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against plain Python and differences; and the same bits as with a tape in branches, on any number of threads."""
    rng = random.Random(seed)
    text = program(rng)
    f = load(text, f"<tape in branches {seed}>")
    compiled = jit_grad(f)
    cases = []
    for n in (1, 4, 9, 45):
        data = np.random.default_rng(100 * seed + n)
        cases.append((data.uniform(-1, 1, n), data.random(n), rng.randint(0, 2), 3))
    try:
        with threads_at_once(4):
            found = []
            for count in (1, 2, 3, 4, 8):
                with on_threads(count):
                    found.append([compiled.grad(*args) for args in cases])
            for args in cases:
                check(f, compiled, *args)
            monkeypatch.setattr(tape, "MOST_ALWAYS", 0)
            before = jit_grad(f)
            found.append([before.grad(*args) for args in cases])
        for other in found[1:]:
            assert all(x.tobytes() == y.tobytes() for x, y in zip(found[0], other, strict=True))
    except AssertionError as error:
        error.add_note(text)
        raise


def test_conditions_on_counters_are_computed_again() -> None:
    """Python's remainder chooses between two values by the signs."""

    def around(u, m):  # type: ignore[no-untyped-def]
        total = 0.0
        for i in range(len(m)):
            for j in range(len(u)):
                total += u[(i * j) % len(u)] * m[i] * m[(j - i) % len(m)]
        return total

    rng = np.random.default_rng(0)
    u, m = rng.random(7), rng.random(5)
    compiled = jit_grad(around, argnums=(0, 1))
    direction = rng.random(7), rng.random(5)
    ahead, behind = (around(u + t * direction[0], m + t * direction[1]) for t in (1e-6, -1e-6))
    found = compiled.grad(u, m)
    assert sum(np.sum(g * d) for g, d in zip(found, direction, strict=True)) == pytest.approx((ahead - behind) / 2e-6)
    assert "tape" not in compiled.grad.dump_ir("lowered")
