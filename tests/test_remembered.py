"""All derivatives of a function begin with the same valid trace, and do not depend on what was made before."""

from __future__ import annotations

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.driver import compiler
from adc.passes import pipelines

FACTOR = 2.0


def helper(v):
    return v * v


def source(x, y):
    total = 0.0
    for i in range(x.shape[0]):
        total += FACTOR * helper(x[i]) * y
    return total


ARGUMENTS = np.arange(5.0), 3.0


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions that are traced, one after the other."""
    seen: list[str] = []
    trace = compiler.trace

    def counted(fn, *args, **kwargs):
        seen.append(fn.__name__)
        return trace(fn, *args, **kwargs)

    monkeypatch.setattr(compiler, "trace", counted)
    return seen


@pytest.fixture
def simplified(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """A mark for each time that traced code is simplified."""
    seen: list[object] = []
    run = compiler.run_pipeline

    def counted(module, passes, **kwargs):
        if passes == pipelines.PREPARE:
            seen.append(passes)
        return run(module, passes, **kwargs)

    monkeypatch.setattr(compiler, "run_pipeline", counted)
    return seen


def test_once_for_all_derivatives(traces, simplified) -> None:
    function = jit_grad(source, argnums=(0, 1))
    value = function(*ARGUMENTS)
    gradient = function.grad(*ARGUMENTS)
    back = function.pullback(*ARGUMENTS)[1]
    tangent = function.jvp(ARGUMENTS, (None, 1.0))[1]
    function.report("f64[::1], f64")
    assert traces == ["source"] and len(simplified) == 1
    assert value == source(*ARGUMENTS) and tangent == gradient[1] == back(1.0)[1] == value / 3.0


@pytest.mark.parametrize("stage", ["simplified", "adjoint", "lowered", "llvm"])
def test_what_came_before_does_not_matter(stage) -> None:
    alone, later = jit_grad(source, argnums=(0, 1)), jit_grad(source, argnums=(0, 1))
    later(*ARGUMENTS)
    later.jvp(ARGUMENTS, (None, 1.0))
    types = "f64[::1], f64"
    assert alone.grad.dump_ir(stage, types) == later.grad.dump_ir(stage, types) == later.grad.dump_ir(stage, types)


def test_what_it_reads_may_change(monkeypatch, traces) -> None:
    function = jit_grad(source, argnums=1)
    assert function(*ARGUMENTS) == 180.0
    monkeypatch.setitem(globals(), "FACTOR", 10.0)
    assert function.grad(*ARGUMENTS) == 300.0
    monkeypatch.setitem(globals(), "helper", lambda v: v)
    assert function.jvp(ARGUMENTS, (None, 1.0)) == (300.0, 100.0)
    assert len(traces) >= 2


def test_rules_may_be_given(traces) -> None:
    def inner(v):
        return v * v

    def outer(v):
        return inner(v) + v

    function = jit_grad(outer)
    assert function(3.0) == 12.0
    adc.scalar_rule(inner, lambda v: 100.0)
    assert function.grad(3.0) == 101.0
    assert len(traces) == 2


def test_schedules_do_not_see_each_other() -> None:
    def steps(u, count):
        v = u.copy()
        for _ in range(count):
            u[1:-1] = v[1:-1] + 0.1 * (v[2:] - 2.0 * v[1:-1] + v[:-2]) * v[1:-1]
            u, v = v, u
        return np.sum(v * v)

    function = jit_grad(steps)
    arguments = np.linspace(0.0, 1.0, 20), 12
    plain = function.grad(*arguments)
    kept = function.grad(*arguments, checkpoint=adc.revolve(3))
    np.testing.assert_allclose(kept, plain, rtol=1e-13)
    assert np.array_equal(function.grad(*arguments), plain)
