"""Overlapping arguments: if they are only read, each has its own derivative; otherwise they share a shadow."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adc
from adc.cli import main

pytestmark = pytest.mark.usefixtures("stages")


def mixed(x, a, b, c):
    c[2] += x * b[1] * a[0, 1]
    return np.sum(b * b) - np.sum(c) + np.sum(a * a)


@pytest.mark.parametrize("layout", ["C", "F", "strided", "reversed"])
def test_gradient_of_overlapping_arguments_beside_one_that_overlaps_nothing(layout: str) -> None:
    rng = np.random.default_rng(5)
    wide = rng.standard_normal((4, 6))
    a = {"C": wide[:2, :3].copy(), "F": np.asfortranarray(wide[:2, :3]), "strided": wide[::2, ::2]}.get(
        layout, wide[::-1]
    )
    base = rng.standard_normal(5)

    def at(h: float, da: np.ndarray, dbase: np.ndarray) -> float:
        memory = base + h * dbase
        moved = a + h * da
        return float(mixed(0.7 + h, moved, memory[2:], memory[:3]))

    function = adc.jit_grad(mixed)
    value, (gx, ga, gb, gc) = adc.value_and_grad(function, argnums=(0, 1, 2, 3))(0.7, a, base[2:], base[:3])
    assert value == pytest.approx(at(0.0, np.zeros_like(a), np.zeros(5)), rel=1e-14)
    da, dbase = rng.standard_normal(a.shape), rng.standard_normal(5)
    expected = (at(1e-6, da, dbase) - at(-1e-6, da, dbase)) / 2e-6
    # The element that both arguments share has one cotangent, seen through both.
    shared = gb[0] * dbase[2]
    got = gx + np.sum(ga * da) + np.sum(gb * dbase[2:]) + np.sum(gc * dbase[:3]) - shared
    assert got == pytest.approx(expected, rel=1e-7)


# What is only read ----------------------------------------------------------------------------------------------------


def weighted(x, y):
    return np.sum(x * x * y)


def by_elements(x, y):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * x[i] * y[len(x) - 1 - i]
    return total


def in_turns(x, y):
    total = 0.0
    for n in range(3):
        total += (n + 1.0) * by_elements(x, y)
        x, y = y, x
    return total


def product(x, y):
    return x * x * y


READERS = [weighted, by_elements, in_turns]
U = np.array([1.0, 2.0, 4.0, -3.0])
WINDOWS = {
    "twice": lambda u: (u, u),
    "shifted": lambda u: (u[:-1], u[1:]),
    "reversed": lambda u: (u, u[::-1]),
    "gapped": lambda u: (u[::2], u[1::2]),
    "one element": lambda u: (u[:1], u[:1]),
    "no element": lambda u: (u[:0], u[:0]),
}


def copies(pair):
    return tuple(a.copy() for a in pair)


def same(found, expected):
    """Equal to the bit, leaf by leaf."""
    if isinstance(expected, tuple):
        assert len(found) == len(expected)
        for mine, theirs in zip(found, expected, strict=True):
            same(mine, theirs)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("engine", ["native", "interpreter"])
@pytest.mark.parametrize("f", READERS)
def test_each_argument_has_its_own_derivative(f, engine) -> None:
    jitted = adc.jit_grad(f, _engine=engine)
    for window in WINDOWS.values():
        pair = window(U)
        along = tuple(np.linspace(k, k + 1.0, len(a)) for k, a in enumerate(pair))
        for derivative in (
            adc.grad(jitted),
            adc.grad(jitted, argnums=1),
            adc.value_and_grad(jitted, argnums=(0, 1)),
            lambda *args: jitted.pullback(*args)[1](2.0),
            lambda *args: jitted.jvp(args, along),
            lambda *args: jitted.jvp(args, (None, along[1])),
        ):
            same(derivative(*pair), derivative(*copies(pair)))
    u = U.copy()
    both = adc.grad(jitted, argnums=(0, 1))(u, u)
    assert not np.shares_memory(*both)
    assert np.array_equal(u, U)


@pytest.mark.parametrize("f", READERS)
def test_second_derivatives(f) -> None:
    jitted = adc.jit_grad(f)
    along = np.array([1.0, 0.5, -2.0, 3.0]), np.array([0.0, 1.0, 7.0, 2.0])
    for derivative in (
        adc.hessian(jitted, argnums=(0, 1)),
        lambda *args: adc.hvp(jitted, args, along, argnums=(0, 1)),
        lambda *args: adc.hvp(jitted, args, (None, along[1])),
    ):
        same(derivative(U, U), derivative(U, U.copy()))


def test_jacobians_and_maps() -> None:
    pair = U[:-1], U[1:]
    for derivative in (
        adc.jacobian(product),
        adc.jacobian(product, argnums=(0, 1), mode="reverse"),
        adc.vmap(adc.grad(lambda x, y: x * x * y, argnums=(0, 1))),
        lambda *args: adc.sparse_jacobian(product, argnums=1)(*args).toarray(),
        lambda *args: adc.pullback(product, *args)[1](np.array([1.0, 2.0, 3.0])),
        adc.grad(lambda x, y: np.sum(adc.vmap(lambda a, b: a * a * b)(x, y)), argnums=(0, 1)),
    ):
        same(derivative(*pair), derivative(*copies(pair)))


def test_an_array_twice_in_containers() -> None:
    @dataclass
    class Pair:
        first: Any
        second: Any

    def in_a_tuple(p):
        return np.sum(p[0] * p[0] * p[1])

    def in_a_dict(p):
        return np.sum(p["a"] * p["a"] * p["b"])

    def in_an_object(p):
        return np.sum(p.first * p.first * p.second)

    expected = 2.0 * U * U, U * U
    same(adc.grad(in_a_tuple)((U, U)), expected)
    found = adc.grad(in_a_dict)({"a": U, "b": U})
    same((found["a"], found["b"]), expected)
    found = adc.grad(in_an_object)(Pair(U, U))
    same((found.first, found.second), expected)
    same(adc.pullback(in_an_object, Pair(U, U))[1](1.0)[0].second, expected[1])
    same(adc.grad(lambda p, x: in_a_tuple(p) + np.sum(x), argnums=(0, 1))((U, U), U), (expected, np.ones(4)))


def test_one_value_inside_is_one() -> None:
    """An array that a function passes twice to another one is one array: contributions add."""
    same(adc.grad(lambda x: weighted(x, x))(U), 3.0 * U * U)
    same(adc.grad(lambda x, y: weighted(x, x) + by_elements(y, x), argnums=1)(U, U), 2.0 * U * U[::-1])


def test_a_captured_array_that_is_an_argument_too() -> None:
    u = U.copy()
    captured = adc.jit_grad(lambda y: weighted(u, y))
    same(captured.grad(u), u * u)
    same(captured.value_and_grad(u)[1], captured.grad(u.copy()))
    same(captured.pullback(u)[1](1.0), (u * u,))
    same(captured.jvp((u,), (np.ones(4),))[1], np.sum(u * u))
    same(adc.hessian(lambda y: np.sum(u * y * y))(u), np.diag(2.0 * u))
    by_name = adc.grad(lambda y: weighted(u, y), argnums=0, argnames="u")(u)
    same((by_name[0], by_name[1]["u"]), (u * u, 2.0 * u * u))


def test_the_same_code_runs() -> None:
    """No code is compiled for overlap that nothing is written to, and calls do not go through Python."""
    f = adc.jit_grad(weighted)
    g, both = f.grad, adc.value_and_grad(f, argnums=(0, 1))
    for function in (f, g, both):
        function(U, U.copy())
        direct = function._target
        assert direct is not None
        function(U, U)
        function(U[:-1], U[1:])
        assert function._target is direct and len(function._table) == 1


def test_float32_and_mixed_dtypes() -> None:
    u = U.astype(np.float32)
    same(adc.grad(weighted, argnums=(0, 1))(u, u), adc.grad(weighted, argnums=(0, 1))(u, u.copy()))
    bits = U.view(np.int64)

    def read(x, n):
        return np.sum(x * x) + n[0] * 0.0

    same(adc.grad(read)(U, bits), 2.0 * U)


def test_solutions_of_equations() -> None:
    def residual(u, old):
        return u * u * u + u - old

    def start_and_argument(x):
        return np.sum(adc.root(residual, x, x))

    def apart(x):
        return np.sum(adc.root(residual, x.copy(), x))

    u = np.array([0.5, 2.0])
    root = adc.root(residual, u, u)
    np.testing.assert_allclose(adc.grad(start_and_argument)(u), 1.0 / (3.0 * root * root + 1.0), rtol=1e-12)
    same(adc.grad(start_and_argument)(u), adc.grad(apart)(u))

    def step(x, a, b):
        return 0.5 * x + a * b

    both = adc.grad(lambda a, b: np.sum(adc.fixed_point(step, np.zeros(2), a, b)), argnums=(0, 1))(u, u)
    for found in both:
        np.testing.assert_allclose(found, 2.0 * u, rtol=1e-11)
    twice = adc.grad(lambda a: np.sum(adc.fixed_point(step, np.zeros(2), a, a)))(u)
    np.testing.assert_allclose(twice, 4.0 * u, rtol=1e-11)
    # A Newton step: the Jacobian is by the guess alone, where the guess is the state before.
    same(adc.jacobian(residual)(u, u), np.diag(3.0 * u * u + 1.0))


def test_checks_of_derivatives() -> None:
    for f in READERS:
        adc.check_grads(f, (U, U), order=2)
        adc.test_rule(f, U[:-1], U[1:])
        assert adc.find_culprit(f, U, U) is None


# What is written ------------------------------------------------------------------------------------------------------


def overwrites(x, y, out):
    for i in range(len(x)):
        out[i] = x[i] * x[i] * y[i]
    return np.sum(out * y)


def test_writing_elsewhere_shares_nothing() -> None:
    """Columns of one matrix lie among each other, and have no element in common."""
    matrix = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])
    column, out = matrix[:, 0], matrix[:, 1]
    expected = adc.grad(overwrites, argnums=(0, 1))(column.copy(), column.copy(), out.copy())
    same(adc.grad(overwrites, argnums=(0, 1))(column, column, out), expected)
    same(adc.pullback(overwrites, column, column, out.copy())[1](1.0)[:2], expected)
    along = np.array([1.0, 2.0, 3.0])
    tangents = (along, None, None)
    same(
        adc.jvp(overwrites, (column, column, out), tangents),
        adc.jvp(overwrites, copies((column, column, out)), tangents),
    )
    again = matrix.copy()
    same(adc.pullback(overwrites, again[:, 0], again[:, 0], again[:, 1])[1](1.0)[:2], expected)


def test_writing_to_one_that_others_see() -> None:
    """``x`` and ``out`` are one memory, ``y`` is not of it: two shadows."""
    base = np.array([1.0, 2.0, 3.0, 4.0])

    def truth(memory, y):
        return overwrites(memory[1:], y, memory[:-1])

    y = np.array([2.0, 3.0, 5.0])
    gx, gy, gout = adc.grad(overwrites, argnums=(0, 1, 2))(base[1:], y, base[:-1])
    assert np.shares_memory(gx, gout) and not np.shares_memory(gx, gy)
    h = 1e-6
    numeric = [(truth(base + h * e, y) - truth(base - h * e, y)) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose([gout[0], *gx], numeric, rtol=1e-7, atol=1e-8)
    numeric = [(truth(base.copy(), y + h * e) - truth(base.copy(), y - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(gy, numeric, rtol=1e-7)
    np.testing.assert_array_equal(base, [1.0, 2.0, 3.0, 4.0])


def test_calls_with_and_without_overlap_in_turns() -> None:
    f = adc.jit_grad(overwrites)
    base = np.array([1.0, 2.0, 3.0, 4.0])
    apart = f.grad(base[1:], base[1:], np.zeros(3))
    same(apart, 2.0 * base[1:] ** 3)
    for _ in range(2):
        shared = f.grad(base[1:], base[1:], base[:-1])
        assert not np.array_equal(shared, apart)
        same(f.grad(base[1:], base[1:], np.zeros(3)), apart)
        memory = base.copy()
        expected = base.copy()
        same(f(memory[1:], memory[1:], memory[:-1]), overwrites(expected[1:], expected[1:], expected[:-1]))
        same(memory, expected)


def test_gradients_of_gradients_of_what_writes() -> None:
    """The gradient writes to copies; what it is of is seen to write all the same."""

    def f(x, u, v):
        v[0] = x * x
        return u[0] * x

    twice = adc.grad(adc.grad(f))
    assert twice(2.0, np.ones(1), np.ones(1)) == 0.0
    u = np.ones(1)
    with pytest.raises(adc.errors.DifferentiationError, match="overlapping arguments, of which it writes to one"):
        twice(2.0, u, u)
    captured = np.ones(1)
    g = adc.jit_grad(lambda x, v: f(x, captured, v))
    assert g.grad(2.0, np.ones(1)) == 1.0
    for derivative in (g.grad, adc.grad(g.grad)):
        with pytest.raises(adc.errors.ArgumentError, match="shares memory with captured"):
            derivative(2.0, captured)


def test_what_a_function_writes_to_may_change() -> None:
    """What was seen once is not believed when the function is another."""

    def reads(x, y):
        return np.sum(x * y)

    def writes(x, y):
        x[0] = y[1]
        return np.sum(x * y)

    global _INNER
    _INNER = reads
    f = adc.jit_grad(calls_inner, argnums=(0, 1))
    same(f.grad(U, U), (U, U))
    _INNER = writes
    assert np.shares_memory(*f.grad(U, U))
    _INNER = reads
    same(f.grad(U, U), (U, U))


def calls_inner(x, y):
    return _INNER(x, y)


_INNER: Any = None


def test_the_report_says_which_holds() -> None:
    f, g = adc.jit_grad(weighted), adc.jit_grad(overwrites)
    f.grad(U, U)
    assert "overlap: arrays are only read: each has its own partial derivative" in str(f.report())
    out = np.zeros(4)
    g.grad(U, U, out)
    assert "overlap: out is written to: arguments that overlap with it share its shadow" in str(g.report())
    g.grad(U, out, out)
    assert "overlap: {y, out} share memory that is written to: each group has one shadow" in str(g.report())
    h = adc.jit_grad(lambda x: np.sum(x * x))
    h.grad(U)
    assert "overlap:" not in str(h.report())


PROGRAM = """
import numpy as np
def reads(x: "f64[::1]", y: "f64[::1]"):
    return np.sum(x * x * y)
def writes(x: "f64[::1]", y: "f64[::1]"):
    x[0] = y[1]
    return np.sum(x * y)
"""
MAIN = r"""
#include <stdio.h>
#include "reads.h"
#include "writes.h"
int main(void) {
    double x[3] = {1, 2, 4}, y[3] = {5, 6, 7}, g[3] = {0}, value;
    int status = reads_grad(x, 3, x, 3, g, &value);
    printf("%d %g %g %g\n", status, g[0], g[1], g[2]);
    status = writes_grad(x, 3, x, 3, g, &value);
    printf("%d %s\n", status, writes_message());
    status = writes_grad(x, 3, y, 3, g, &value);
    printf("%d %g %g %g\n", status, g[0], g[1], g[2]);
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_object_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is only read may overlap; what is written may not, in the gradient too, which writes to a copy."""
    (tmp_path / "program.py").write_text(PROGRAM)
    for name in ("reads", "writes"):
        assert main(["compile", f"{tmp_path / 'program.py'}:{name}", "-o", str(tmp_path / f"{name}.o")]) == 0
    options = capsys.readouterr().out.split("writes.o ")[-1].split()
    (tmp_path / "main.c").write_text(MAIN)
    command = ["cc", "main.c", "reads.o", "writes.o", *options, "-o", "main"]
    subprocess.run(command, check=True, cwd=tmp_path)
    told = subprocess.run([str(tmp_path / "main")], check=True, capture_output=True, text=True).stdout
    assert told.splitlines() == ["0 2 8 32", "6 writes_grad: x and y overlap", "0 0 6 7"]
