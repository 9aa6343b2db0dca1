"""Snapshots and tapes that share memory: as few steps as the Mixed schedule, within the given memory."""

from __future__ import annotations

import functools
from typing import Any

import checkpoint_schedules
import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.backend import runtime
from adc.ir import ops
from adc.ir.core import Module
from adc.ir.verifier import verify
from adc.passes.checkpointing import prices
from tests.backend.lowering_harness import Native
from tests.checkpointing.test_memory import HEADERS, measured
from tests.checkpointing.test_schedules import walk

pytestmark = pytest.mark.usefixtures("stages")

# The schedule ---------------------------------------------------------------------------------------------------------


@functools.cache
def native() -> Native:
    module = Module()
    prices.repeated_function(module)
    verify(module)
    return Native(module)


def advances(steps: int, room: int, state: int, tape: int) -> int:
    """All steps that are run; those of the first leaf once."""
    deepest = min(max((room - tape) // state, 0), prices.DEEPEST)
    (found,) = native()("adc.prices_advances", steps, deepest, room, state, tape)
    return int(found)


def mixed(steps: int, slots: int) -> int:
    """By the library's schedule, where a slot holds a state or the tape of a step, and one more tape is at hand."""
    found = 0
    for action in checkpoint_schedules.MixedCheckpointSchedule(steps, slots):
        if isinstance(action, checkpoint_schedules.Forward):
            found += action.n1 - action.n0
    return found


@pytest.mark.filterwarnings("ignore:Numba not available")
@pytest.mark.parametrize("slots", [1, 2, 3, 5, 8, 20])
def test_as_few_steps_as_the_mixed_schedule(slots: int) -> None:
    """With states as large as tapes. With one slot steps are run too often for this schedule if they are many."""
    for steps in [*range(2, 40), 63, 64, 65, 97, 120, 150]:
        if slots > 1 or steps < prices.MOST_REPETITIONS:
            assert advances(steps, 7 * (slots + 1), 7, 7) == mixed(steps, slots), steps


def fewest(most: int, room: int, state: int, tape: int) -> list[int]:
    """Of so many steps and fewer, by trying all places for the next snapshot: with as many below as ``depth``, from
    where there is room for none to the first."""
    table: list[float] = [0.0] + [np.inf] * most
    for depth in range((room - tape) // state, -1, -1):
        leaf, deeper = (room - depth * state) // tape, table
        table = [float(n) for n in range(min(leaf, most) + 1)]
        for n in range(len(table), most + 1):
            table.append(min(i + table[i] + deeper[n - i] for i in range(1, n)))
    return [int(c) for c in table]


SIZES = [(300, 30, 10), (100, 4, 10), (21, 3, 10), (120, 7, 10), (60, 19, 10), (400, 120, 10), (30, 1, 10)]


@pytest.mark.parametrize("sizes", SIZES)
def test_other_sizes(sizes: tuple[int, int, int]) -> None:
    """Nearly always the fewest there can be."""
    found = fewest(120, *sizes)
    excess = [advances(n, *sizes) / found[n] - 1 for n in range(2, 121)]
    assert min(excess) == 0 <= max(excess) < 0.05
    assert sum(excess) / len(excess) < 0.01


def test_many_steps_take_no_table() -> None:
    assert 100_000 < advances(100_000, 210, 10, 10) < 5.5 * 100_000
    assert advances(1_000_000_000, 10_000, 10, 10) < 4.5 * 1_000_000_000


# Programs -------------------------------------------------------------------------------------------------------------


def large_tape(x, n):
    v = x.copy()
    for _ in range(n):
        for i in range(v.shape[0]):
            for _ in range(3):
                v[i] = np.sin(v[i]) * 0.5 + v[i]
    return np.sum(v)


def small_tape(x, n):
    u, v = x.copy(), x.copy()
    s = 0.1
    for _ in range(n):
        for i in range(u.shape[0]):
            u[i] += 0.1 * v[i] * s
            v[i] = 0.9 * v[i] - 0.1 * s
        s = np.sin(s + u[0])
    return np.sum(u * v)


PROGRAMS = [walk, large_tape, small_tape]
named = pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)


def point(size: int) -> Any:
    return 0.3 + 0.1 * np.random.default_rng(0).random(size)


def test_a_thousand_steps_and_room_for_twenty_slots() -> None:
    x = point(1000)
    given = jit_grad(walk).grad.forecast(x, 1000, checkpoint=adc.revolve(20))
    (loop,) = jit_grad(walk).grad.forecast(x, 1000, memory=given.peak).loops
    assert (loop.snapshots, loop.length) == (20, 21) and loop.shared > 0
    assert "20 snapshots and tapes of 21 steps share" in str(loop)
    # The library's schedule takes 2823; the forward sweep here runs the step that is reversed first, too.
    assert 1000 + loop.repeated == 2823 + 1


@named
def test_no_more_memory_than_given_and_the_bits_of_storing_all(program: Any) -> None:
    x, n = point(150), 60
    plain = jit_grad(program)
    expected = plain.grad(x, n, checkpoint="store-all")
    table = plain.grad.forecast(x, n)
    repeated = [other.repeated for other in table.others]
    assert repeated == sorted(repeated, reverse=True)
    shared = 0
    for budget in np.linspace(table.least, table.others[-2].peak, 5).astype(int):
        compiled = jit_grad(program, memory=int(budget))
        predicted = compiled.grad.forecast(x, n)
        shared += predicted.loops[0].shared > 0
        for _ in range(2):
            runtime.peak_bytes(reset=True)
            assert compiled.grad(x, n).tobytes() == expected.tobytes()
            assert 0 < runtime.peak_bytes() <= predicted.peak <= budget
    assert shared > 1


@named
def test_as_many_steps_as_predicted_in_the_predicted_memory(program: Any) -> None:
    x, n = point(128), 17  # full vectors: lanes beyond the end would take sines, too
    given = jit_grad(program).grad.forecast(x, n, checkpoint=adc.revolve(4))
    compiled = jit_grad(program, memory=given.peak)
    predicted = compiled.grad.forecast(x, n)
    assert predicted.loops[0].shared > 0 and predicted.loops[0].repeated < given.loops[0].repeated
    taken, statistics = measured(compiled, program, [x, n], (0,))
    assert taken - 4096 <= predicted.peak <= taken + HEADERS + predicted.loops[0].tape
    runs = n + predicted.loops[0].repeated
    sines = {walk: x.size, large_tape: 3 * x.size, small_tape: 1}[program]
    assert statistics.executed[ops.sin] == runs * sines


@named
def test_any_amount_of_memory(program: Any) -> None:
    """With more than all steps take on one tape nothing is shared; numbers of bytes may be as large as there are."""
    x, n, plain = point(150), 60, jit_grad(program)
    (loop,) = plain.grad.forecast(x, n).loops
    assert (loop.shared, loop.snapshots, loop.length, loop.repeated) == (0, 0, n, 0)
    assert plain.grad.forecast(x, n, memory=2**63 - 1).loops == (loop,)
    assert advances(n, 2**62, 8 * x.size, 8 * x.size) == advances(n, 8 * x.size * n, 8 * x.size, 8 * x.size) == n


@named
def test_never_more_steps_than_revolve(program: Any) -> None:
    x, plain = point(140), jit_grad(program)
    for n, snapshots in ((2, 1), (9, 3), (100, 2), (531, 7), (531, 20)):
        given = plain.grad.forecast(x, n, checkpoint=adc.revolve(snapshots))
        chosen = plain.grad.forecast(x, n, memory=given.peak)
        assert chosen.peak <= given.peak and chosen.loops[0].repeated <= given.loops[0].repeated


def test_carried_numbers_and_steps_of_another_number() -> None:
    """Called twice, with different numbers of steps; an array that only is read; numbers that are carried."""

    def f(x, c, n, m):
        return carried(x, c, n) + 2.0 * carried(x * 0.5, c, m)

    def carried(x, c, n):
        v, s, t = x.copy(), 0.5, 0
        for k in range(n):
            for i in range(v.shape[0]):
                v[i] = np.sin(v[i] * s) + c[i] * v[i]
            s = np.cos(s + v[0])
            t += k
        return np.sum(v) * s + t

    x, c = point(200), 0.5 * point(200)
    plain = jit_grad(f, argnums=(0, 1))
    expected = plain.grad(x, c, 40, 23, checkpoint="store-all")
    for memory in (60_000, 90_000, 150_000):
        compiled = jit_grad(f, argnums=(0, 1), memory=memory)
        assert compiled.grad.forecast(x, c, 40, 23).peak <= memory
        runtime.peak_bytes(reset=True)
        found = compiled.grad(x, c, 40, 23)
        assert runtime.peak_bytes() <= memory
        assert all(a.tobytes() == b.tobytes() for a, b in zip(found, expected, strict=True))


def test_several_loops() -> None:
    """Each has its part; the room that one shares is no other's."""

    def f(x, y, n, m):
        v, w = x.copy(), y.copy()
        for _ in range(n):
            for i in range(v.shape[0]):
                v[i] = np.sin(v[i]) + v[i]
        for _ in range(m):
            for i in range(w.shape[0]):
                for _ in range(2):
                    w[i] = np.cos(w[i]) * v[i % v.shape[0]]
        return np.sum(w)

    args = [point(200), point(150), 40, 60]
    plain = jit_grad(f, argnums=(0, 1))
    expected = plain.grad(*args, checkpoint="store-all")
    table, shared = plain.grad.forecast(*args), 0
    for factor in (1.2, 1.5, 2.0, 3.0):
        memory = int(factor * table.least)
        compiled = jit_grad(f, argnums=(0, 1), memory=memory)
        predicted = compiled.grad.forecast(*args)
        shared += sum(loop.shared > 0 for loop in predicted.loops)
        for _ in range(2):
            runtime.peak_bytes(reset=True)
            found = compiled.grad(*args)
            assert runtime.peak_bytes() <= predicted.peak <= memory
            assert all(a.tobytes() == b.tobytes() for a, b in zip(found, expected, strict=True))
    assert shared > 1


def test_second_derivatives() -> None:
    x, v, n = point(200), point(200)[::-1].copy(), 25
    expected = adc.hvp(walk, (x, n), (v, None))
    for memory in (40_000, 60_000, 100_000):
        compiled = jit_grad(walk, memory=memory)
        adc.hvp(compiled, (x, n), (v, None))
        runtime.peak_bytes(reset=True)
        found = adc.hvp(compiled, (x, n), (v, None))
        assert 0 < runtime.peak_bytes() <= memory
        np.testing.assert_allclose(found, expected, rtol=1e-12)
