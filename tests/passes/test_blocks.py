"""Two-phase blocks, and other values of ``accumulate``: right, chosen by cost, the same on any number of threads."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adc import jit_grad
from adc.backend import runtime
from adc.errors import AdcError
from adc.ir.interpret import interpreter
from adc.passes.choices import STRATEGIES
from adc.passes.stencil_adjoints import block_rows, blocks
from tests.forward_mode import check_gradients
from tests.passes.test_gather import SHAPES, M, arrays, check, nest, number, program, zeros
from tests.stencils.check import threads_at_once


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "LENGTH", {1: 3, 2: 3})
    monkeypatch.setattr(blocks, "SHORT", 2)
    monkeypatch.setattr(blocks, "LEAST", {1: 2})
    monkeypatch.setattr(blocks, "FEW", 2)
    monkeypatch.setattr(blocks, "BLOCKS", 3)
    monkeypatch.setattr(block_rows, "STRIP", 9)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_several_shadows_and_leading_axes(data: st.DataObject) -> None:
    """Terms of two shadows, apart along one axis or any of three, beside a plain one, a store and a sum over all."""
    rank = data.draw(st.sampled_from([1, 3]))
    t, own = SHAPES[rank], ", ".join(f"%i{d}" for d in range(rank))
    lines = [
        f"%g = memref.load %vbar[{own}] : {t}",
        f"memref.store %zero, %vbar[{own}] : {t}",
        f"adc.accumulate %g, %wbar[{own}] : {t}",
    ]
    sums = data.draw(st.booleans())
    if sums:
        lines.append("adc.accumulate %g, %c[] : memref<f64>")
    reach = data.draw(st.sampled_from([(0, 0, 2), (0, 2, 1), (0, 2, 0), (1, 1, 1), (2, 0, 0)] if rank == 3 else [(2,)]))
    for k in range(data.draw(st.integers(2, 5))):
        offset = [data.draw(st.integers(-r, r)) for r in reach]
        for d, o in enumerate(offset):
            lines.append(f"%t{k}_{d} = arith.addi %i{d}, {number(o)} : index")
        at = ", ".join(f"%t{k}_{d}" for d in range(rank))
        lines.append(f"adc.accumulate %g, %{data.draw(st.sampled_from(['abar', 'bbar']))}[{at}] : {t}")
    upper = [f"%n{d}" for d in range(rank)]
    steps = [f"%c{data.draw(st.sampled_from([1, 1, 2]))}" for _ in range(rank)]
    params = ", ".join([f"%{a}: {t}" for a in ("abar", "bbar", "vbar", "wbar")] + ["%c: memref<f64>"])
    bounds = ", ".join(f"{n}: index" for n in upper)
    filled = data.draw(st.lists(st.sampled_from(["abar", "bbar"]), unique=True))
    before = "%zero = arith.constant 0.0 : f64\n" + "".join(zeros(f"%{a}", t) for a in filled)
    module = program(f"{params}, {bounds}", before + nest("\n".join(lines), ["%c2"] * rank, upper, steps))
    inputs = []
    for seed in range(4):
        sizes = data.draw(st.tuples(*[st.integers(0, 7 if rank > 1 else 30)] * rank))
        shape = tuple(n + 4 for n in sizes)
        inputs.append([*arrays(seed, *[shape] * 4, ()), *(n + 2 for n in sizes)])
    # A nest that sums is not cut along an inner axis.
    others = {"gather", "rows"} if sums else set()
    assert set(check(module, inputs, "blocks")) <= {"blocks", "plain", "reduction"} | others


def test_not_where_the_loop_reads_what_it_adds_to() -> None:
    """A row further on is read, which is no other iteration's element, but would be changed too early or too late."""
    body = f"""%g = memref.load %ubar[%i0, %c0] : {M}
  %k = arith.addi %i1, %c1 : index
  %l = arith.addi %i1, %c2 : index
  adc.accumulate %g, %ubar[%i0, %k] : {M}
  adc.accumulate %g, %ubar[%i0, %l] : {M}"""
    module = program(f"%ubar: {M}, %n: index", nest(body, ["%c0"] * 2, ["%n"] * 2))
    assert "blocks" not in check(module, [[*arrays(0, (6, 9)), 6]], "blocks")


def limited(u, k):
    """Terms that are expensive, of two shadows."""
    n, m = u.shape
    v, w = np.zeros((n, m)), np.zeros((n, m))
    for i in range(1, n - 1):
        for j in range(2, m - 2):
            a = np.sin(u[i - 1, j] * u[i, j] + k[i, j - 2] * u[i + 1, j + 2])
            v[i, j] = a * u[i, j - 1]
            w[i, j] = np.exp(-a * k[i, j + 1]) * k[i - 1, j]
    return np.sum(v * w)


def heat(u, k):
    n, m = u.shape
    v = np.zeros((n, m))
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            v[i, j] = u[i, j] + 0.1 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j])
    return np.sum(v * k)


def mesh(u, ends):
    v = np.zeros(ends.shape[0])
    for e in range(ends.shape[0]):
        v[e] = u[ends[e, 0]] * u[ends[e, 1]]
    return np.sum(v * v)


def kinds_of(function, *args):
    function.grad(*args)
    return [p.kind for plans in function.report().parallel.shadows.values() for p in plans]


def test_chosen_by_cost() -> None:
    u, k = arrays(0, (9, 9), (9, 9))
    assert "blocks" in kinds_of(jit_grad(limited, argnums=(0, 1)), u, k)
    found = jit_grad(heat)
    assert "gather" in kinds_of(found, u, k)
    assert "in blocks" in str(found.report())


@functools.cache
def in_order(f: Callable[..., Any], argnums: tuple[int, ...]) -> Any:
    return jit_grad(f, argnums=argnums, parallel=False, accumulate="serial", _level=0)


@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize("kind", STRATEGIES)
def test_any_kind_is_right_on_any_threads(kind: str) -> None:
    rng = np.random.default_rng(3)
    u, k = rng.standard_normal((41, 30)), rng.standard_normal((41, 30))
    x, ends = rng.standard_normal(50), rng.integers(0, 50, (3000, 2))
    before = runtime.threads()
    for f, args, argnums in ((limited, (u, k), (0, 1)), (mesh, (x, ends), (0,))):
        expected = in_order(f, argnums).grad(*args)
        with threads_at_once(2):
            function = jit_grad(f, argnums=argnums, accumulate=kind, deterministic=kind != "atomic")
            first = None
            for threads in (1, 2, 3, 4, 8):
                runtime.set_threads(threads)
                found = function.grad(*args)
                first = first or [g.tobytes() for g in found]
                if kind != "atomic":
                    assert [g.tobytes() for g in found] == first
                for g, e in zip(found, expected, strict=True):
                    np.testing.assert_allclose(g, e, rtol=1e-11, atol=1e-11)
            runtime.set_threads(before)


@pytest.mark.usefixtures("optimised")
def test_atomics_only_where_nothing_else_is_parallel() -> None:
    u, k = arrays(0, (9, 9), (9, 9))
    assert "atomic" not in kinds_of(jit_grad(limited, argnums=(0, 1), deterministic=False), u, k)
    function = jit_grad(mesh, accumulate="atomic", deterministic=False)
    assert "atomic" in kinds_of(function, np.ones(4), np.zeros((5, 2), int))
    assert "atomicrmw fadd" in function.dump_ir("llvm")


def test_what_cannot_be_asked_for() -> None:
    with pytest.raises(AdcError, match="accumulate must be one of 'auto', 'gather'"):
        jit_grad(heat, accumulate="fast")
    with pytest.raises(AdcError, match="deterministic=False"):
        jit_grad(heat, accumulate="atomic")


def test_orders_of_the_interpreter_are_orders_of_threads() -> None:
    """The oracle runs blocks in other orders too: else it would not see that two of them meet."""
    module = program(
        "%a: memref<?xf64>",
        "scf.parallel (%i) = (%c0) to (%c3) step (%c1) {\n"
        "  %x = memref.load %a[%c0] : memref<?xf64>\n  memref.store %x, %a[%i] : memref<?xf64>\n"
        "  %y = arith.addf %x, %x : f64\n  memref.store %y, %a[%c0] : memref<?xf64>\n}",
    )
    outcomes = set()
    for order in (interpreter.forward, interpreter.backward):
        a = np.ones(3)
        interpreter.run(module, "f", [a], order=order)
        outcomes.add(a.tobytes())
    assert len(outcomes) == 2


def chosen_in_turns(u: Any, w: Any) -> Any:
    total, v = u.copy(), u * w
    for i in range(1, len(u) - 1):
        k = 0.0
        while k < 0.5:
            total[i] += 0.3 * (v[i - 1] if total[i] > 0.4 else v[i])
            k += 1.0
    return np.sum(total)


@pytest.mark.parametrize("kind", ["auto", "blocks"])
def test_branches_that_are_taped_in_memory_of_each_iteration(kind: Any) -> None:
    """Of what a short block loads from such a tape nothing is known: its terms are those of the loop all the same."""
    u, w = arrays(2, (40,), (40,))
    function = jit_grad(chosen_in_turns, argnums=(0, 1), accumulate=kind)
    assert "blocks" in kinds_of(function, u, w)
    check_gradients(function, (u, w), dict(enumerate(function.grad(u, w))))
