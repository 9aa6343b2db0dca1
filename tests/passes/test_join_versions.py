"""join-versions: branches between versions of loops are merged, and programs do the same as before."""

from __future__ import annotations

import random

import numpy as np
import pytest

from adc import jit_grad
from tests.fuzz.check import loaded

ENGINES = ("native", "interpreter")
LENGTHS = [(4, 4, 4), (1, 4, 4), (4, 1, 4), (4, 4, 1), (1, 1, 4), (4, 1, 1), (1, 1, 1)]


def chain(a, b, c):
    d = a * b
    e = d + c
    g = np.sin(e) * a
    return np.sum(g)


def chain_of_windows(a, b, c, n, m, k):
    a, b, c = a[:n], b[:m], c[:k]
    d = a * b
    e = d + c
    g = np.sin(e) * a
    return np.sum(g)


def loops_in(text: str, function: str) -> list[int]:
    """The numbers of parallel loops on the sides of the first branch of a function, and in functions that these
    call."""
    bodies = {part.split("(")[0]: part for part in text.split("func.func @")[1:]}
    body = text.split(f"func.func @{function}(")[1].split("\n}\n")[0].split("\n")
    start = next(n for n, line in enumerate(body) if "scf.if" in line)
    middle = next(n for n, line in enumerate(body) if n > start and line == "  } else {")
    end = next(n for n, line in enumerate(body) if n > middle and line.startswith("  }"))

    def count(lines: list[str]) -> int:
        called = [line.split("func.call @")[1].split("(")[0] for line in lines if "func.call @" in line]
        return sum("scf.parallel" in line for line in lines) + sum(count(bodies[n].split("\n")) for n in called)

    return [count(part) for part in (body[start:middle], body[middle:end])]


def gradient_by_differences(function, arguments, k):
    found = np.zeros_like(arguments[k])
    for n in range(found.size):
        sides = []
        for h in (1e-6, -1e-6):
            moved = [a.copy() for a in arguments]
            moved[k].flat[n] += h
            sides.append(function(*moved))
        found.flat[n] = (sides[0] - sides[1]) / 2e-6
    return found


def test_statements_on_whole_arrays_are_one_loop():
    """Forward and reverse together; the other side has a loop for each version of each statement."""
    arguments = *np.random.default_rng(0).random((3, 5)), 5, 5, 5
    compiled = jit_grad(chain_of_windows, argnums=(0, 1, 2))
    compiled(*arguments)
    fast, slow = loops_in(compiled.dump_ir("lowered"), "chain_of_windows")
    assert fast == 1 and slow >= 4
    compiled.value_and_grad(*arguments)
    text = compiled.grad.dump_ir("lowered").split("func.func @chain_of_windows.grad(")[1]
    fast = text.split("} else {")[0]
    assert "func.call" not in fast and fast.count("scf.parallel") == 1
    assert "memref.alloc" not in fast


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_stretched_operands(lengths, engine):
    rng = np.random.default_rng(1)
    arguments = [rng.random(n) for n in lengths]
    compiled = jit_grad(chain, argnums=(0, 1, 2), _engine=engine)
    assert compiled(*arguments) == pytest.approx(chain(*arguments), rel=1e-14)
    gradients = compiled.grad(*arguments)
    for k in range(3):
        assert np.allclose(gradients[k], gradient_by_differences(chain, arguments, k), atol=1e-8)


@pytest.mark.parametrize("lengths", [(0, 0, 0), (0, 1, 0), (1, 1, 0)], ids=str)
def test_no_elements(lengths):
    arguments = [np.ones(n) for n in lengths]
    value, gradients = jit_grad(chain, argnums=(0, 1, 2)).value_and_grad(*arguments)
    assert value == 0.0
    assert all(np.array_equal(g, np.zeros(n)) for g, n in zip(gradients, lengths, strict=True))


def test_a_shape_error_comes_when_it_did():
    """After what was done before it, and with the shapes in it."""

    def f(a, b, c):
        a += b
        d = a * b
        return np.sum(d * c)

    mine, theirs = np.ones(3), np.ones(3)
    with pytest.raises(ValueError, match="broadcast"):
        f(theirs, np.ones(3), np.ones(2))
    with pytest.raises(ValueError, match=r"\(3,\) \(2,\)") as caught:
        jit_grad(f)(mine, np.ones(3), np.ones(2))
    assert "d * c" in str(caught.value)
    assert np.array_equal(mine, theirs)


def test_a_loop_that_checks_and_one_that_stretches():
    def f(a, b, w):
        out = np.empty_like(a)
        for i in range(len(a)):
            out[i] = np.sin(a[i]) * b[i]
        return np.sum(w * out)

    rng = np.random.default_rng(2)
    compiled = jit_grad(f, argnums=(0, 1, 2))
    for lengths in [(4, 4, 4), (4, 6, 4), (4, 4, 1)]:
        arguments = [rng.random(n) for n in lengths]
        assert compiled(*arguments) == pytest.approx(f(*arguments), rel=1e-14)
        for k, gradient in enumerate(compiled.grad(*arguments)):
            assert np.allclose(gradient, gradient_by_differences(f, arguments, k), atol=1e-8)
    with pytest.raises(IndexError):
        compiled(np.ones(4), np.ones(3), np.ones(4))


def test_loops_of_neighbours_stay_apart():
    """Where nothing can be fused nothing is there twice."""

    def f(u, v):
        for i in range(1, len(u) - 1):
            v[i] = u[i - 1] + u[i + 1]
        for i in range(1, len(u) - 1):
            u[i] = v[i - 1] * v[i + 1]
        return u[1]

    compiled = jit_grad(f)
    compiled(np.ones(9), np.ones(9))
    body = compiled.dump_ir("simplified")
    assert body.count("scf.parallel") == 2


NAMES = ("a", "b", "c")


def statement(rng: random.Random, known: list[str], k: int) -> str:
    one, other = rng.choice(known), rng.choice(known)
    text = rng.choice(
        [
            f"{one} * {other}",
            f"np.sin({one}) + {other}",
            f"{one} - 0.5 * {other} * {rng.choice(known)}",
            f"np.where({one} > {other}, {one}, 0.3 * {other})",
            f"np.sum({one}) * {other}",
            f"{one}[::-1] + {other}",
        ]
    )
    if rng.random() < 0.2 and len(known) > 3:
        return f"    {known[-1]} += 0.5 * {known[-1]} * np.cos({known[-1]})"
    known.append(f"t{k}")
    return f"    t{k} = {text}"


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed):
    """Of statements on whole arrays, some of which are stretched."""
    rng = random.Random(seed)
    known = list(NAMES)
    lines = ["def program(a, b, c):", *(statement(rng, known, k) for k in range(rng.randint(2, 5)))]
    lines.append(f"    return np.sum({known[-1]} * {rng.choice(known)})")
    text = "\n".join(["import numpy as np", *lines])
    with loaded(text) as names:
        compare(names["program"], rng, seed, text)


def compare(program, rng, seed, text):
    """Values and gradients with those of Python, of operands of one length, and of some that are stretched."""
    compiled = jit_grad(program, argnums=(0, 1, 2))
    for lengths in [(3, 3, 3), tuple(rng.choice((1, 3)) for _ in NAMES)]:
        arguments = [np.random.default_rng(seed + k).uniform(0.5, 1.5, n) for k, n in enumerate(lengths)]
        expected = program(*(a.copy() for a in arguments))
        assert compiled(*(a.copy() for a in arguments)) == pytest.approx(expected, rel=1e-12)
        gradients = compiled.grad(*(a.copy() for a in arguments))
        for k in range(3):
            expected = gradient_by_differences(program, arguments, k)
            assert np.allclose(gradients[k], expected, atol=1e-6, rtol=1e-5), text


def windows(x, y, n, m):
    x, y = x[:n], y[:m]
    u = np.where(y >= 0.75, x, x) - np.where(x > 0.5, y, y[:])
    for i in range(1, len(u)):
        u[i] = 0.5 * u[i - 1] + x[i % n]
    v = y + x
    for i in range(1, len(u)):
        v[i] = 0.5 * v[i - 1] + u[i]
    return np.sum(u * v)


@pytest.mark.parametrize("lengths", [(3, 3), (1, 3), (3, 1), (1, 1)], ids=str)
def test_an_extent_that_is_one_of_those_it_equals(lengths):
    """What is chosen from two extents is compared with one of them again."""
    x, y = np.random.default_rng(1).random((2, 4))
    compiled = jit_grad(windows, argnums=(0, 1))
    value, gradient = compiled.value_and_grad(x, y, *lengths)
    assert value == pytest.approx(windows(x, y, *lengths), rel=1e-14)
    for k in range(2):
        expected = gradient_by_differences(lambda *args: windows(*args, *lengths), [x, y], k)
        assert np.allclose(gradient[k], expected, rtol=1e-8, atol=1e-8)
