"""Schedules for a memory limit: the predicted memory is the real one, and all schedules give the same bits."""

from __future__ import annotations

import ctypes
import functools
import math
from typing import Any

import numpy as np
import pytest

import adc
from adc import errors, jit_grad, prange
from adc.backend import runtime
from adc.backend.support import contexts
from adc.frontend.checkpoints import read, read_memory
from adc.ir import ops
from adc.ir.interpret import interpreter
from adc.ir.text.parser import parse_module
from adc.passes.checkpointing.footprint import LINE
from adc.passes.scatter import privatisation
from tests.checkpointing import test_new_arrays as new_arrays
from tests.checkpointing.test_gradients import PROGRAMS, bits, copied
from tests.checkpointing.test_schedules import walk
from tests.machines import pretend

pytestmark = pytest.mark.usefixtures("stages")

# Large enough that a header is little, small enough for the interpreter.
SIZES: dict[str, tuple[tuple[int, ...], ...]] = {
    "heat": ((12, 13), ()),
    "wave": ((80,), (4,)),
    "slices": ((90,), ()),
    "gray_scott": ((70,), (70,), ()),
    "bodies": ((9,), (9,), (9,)),
    "recurrent": ((8, 8), (8,), (2, 8)),
    "two_loops": ((60,), (60,)),
    "stepped": ((80,),),
}
HEADERS = 40 * 2 * LINE


def arguments(name: str) -> list[Any]:
    rng = np.random.default_rng(5)
    return [rng.random(s) if s else 0.11 for s in SIZES[name]]


def measured(compiled: Any, function: Any, args: list[Any], argnums: tuple[int, ...]) -> tuple[int, Any]:
    """The peak of a run of the gradient's final IR in the interpreter, shadows of arguments included."""
    types = [f"f64[{', '.join([':'] * (a.ndim - 1) + ['::1'])}]" if isinstance(a, np.ndarray) else
             "i64" if isinstance(a, int) else "f64" for a in args]  # fmt: skip
    module = parse_module(compiled.grad.dump_ir("lowered", ", ".join(types)))
    given = copied(args)
    shadows = [np.zeros_like(args[k]) for k in argnums if isinstance(args[k], np.ndarray)]
    statistics = interpreter.Statistics()
    interpreter.run(module, f"{function.__name__}.grad", [*given, *shadows], statistics=statistics)
    return statistics.peak_bytes + sum(s.nbytes for s in shadows), statistics


@functools.cache
def without_schedule(name: str) -> Any:
    """One for all that is asked of its forecasts."""
    function, _, argnums = PROGRAMS[name]
    return jit_grad(function, argnums=argnums)


@pytest.mark.parametrize("name", SIZES)
def test_what_is_predicted_is_what_it_takes(name: str) -> None:
    function, _, argnums = PROGRAMS[name]
    args, n = arguments(name), 11 if name != "wave" else 26  # where three buffers change places
    plain = without_schedule(name)
    table = plain.grad.forecast(*copied(args), n)
    assert table.memory is None and table.least == table.others[0].peak
    assert table.whole == table.peak and not any(loop.repeated for loop in table.loops)
    taken, _ = measured(plain, function, [*args, n], argnums)
    assert taken - 4096 <= table.whole <= taken + HEADERS + 0.02 * taken, name
    for budget in {table.least, (table.least + table.others[-2].peak) // 2}:
        compiled = jit_grad(function, argnums=argnums, memory=budget)
        predicted = plain.grad.forecast(*copied(args), n, memory=budget)
        assert table.least <= predicted.peak <= budget
        taken, _ = measured(compiled, function, [*args, n], argnums)
        # The interpreter counts small arrays too, and no headers.
        assert taken - 4096 <= predicted.peak <= taken + HEADERS + 0.02 * taken, (name, budget)


@functools.cache
def advances(pieces: int, snapshots: int) -> int:
    """How many are run to come to where others begin, by trying all places for the next snapshot."""
    if pieces <= 1:
        return 0
    if snapshots == 1:
        return pieces * (pieces - 1) // 2
    return min(k + advances(pieces - k, snapshots - 1) + advances(k, snapshots) for k in range(1, pieces))


@pytest.mark.parametrize("name", ["heat", "bodies", "two_loops"])
@pytest.mark.parametrize("schedule", [adc.revolve(4), adc.every(3), "sqrt", "recompute-all", "store-all"], ids=str)
def test_a_schedule_that_is_given(name: str, schedule: Any) -> None:
    """What it takes is predicted, too, as the interpreter counts it, and what it runs again by the closed form."""
    function, _, argnums = PROGRAMS[name]
    args, n = arguments(name), 11
    compiled = jit_grad(function, argnums=argnums, checkpoint=schedule)
    predicted = without_schedule(name).grad.forecast(*copied(args), n, checkpoint=schedule)
    assert predicted.memory is None and "by the schedule that is given" in str(predicted)
    taken, _ = measured(compiled, function, [*args, n], argnums)
    assert taken - 4096 <= predicted.peak <= taken + HEADERS + 0.02 * taken
    given = read(schedule)
    assert given is not None
    for loop in predicted.loops:
        assert 5 <= loop.steps <= 12
        assert loop.length == min(given.steps or math.ceil(math.sqrt(loop.steps)), loop.steps)
        pieces = math.ceil(loop.steps / loop.length)
        assert loop.snapshots == min(given.snapshots or pieces, pieces)
        again = advances(pieces, loop.snapshots) - (pieces - 1)
        assert loop.repeated == loop.steps + again * loop.length
    if name == "two_loops":
        assert compiled.grad.forecast(*copied(args), n) == predicted


def until_small(x, limit):
    v, size = x.copy(), 1.0
    while size > limit:
        v[:] = 0.9 * v - 0.2 * v * v * v
        size = np.sum(v * v)
    return np.sum(v)


shrinking = jit_grad(until_small)


@pytest.mark.parametrize("schedule", [adc.revolve(5), adc.revolve(1), "recompute-all", None], ids=str)
def test_a_schedule_of_a_loop_of_unknown_length(schedule: Any) -> None:
    """It can have snapshots of single steps; without a schedule nothing is known before."""
    x = 0.5 + np.random.default_rng(1).random(200)
    predicted = shrinking.grad.forecast(x, 1e-3, checkpoint=schedule)
    (loop,) = predicted.loops
    assert not loop.known and loop.state == x.nbytes
    if schedule is None:
        assert predicted.peak is None and loop.snapshots == 0 and "peak not known in advance" in str(predicted)
        return
    assert loop.snapshots == read(schedule).snapshots  # type: ignore[union-attr]
    compiled = jit_grad(until_small, checkpoint=schedule)
    taken, _ = measured(compiled, until_small, [x, 1e-3], (0,))
    assert predicted.peak is not None and taken - 4096 <= predicted.peak <= taken + HEADERS + 0.02 * taken


@pytest.mark.parametrize("schedule", ["sqrt", adc.every(3)], ids=str)
def test_pieces_of_several_steps_of_a_loop_of_unknown_length(schedule: Any) -> None:
    """They are refused by the forecast as by the gradient."""
    x = 0.5 + np.random.default_rng(1).random(200)
    for call in (shrinking.grad.forecast, shrinking.grad):
        with pytest.raises(adc.errors.DifferentiationError, match="its length is not known in advance"):
            call(x, 1e-3, checkpoint=schedule)


def test_a_schedule_with_snapshots_on_disk() -> None:
    """They are no memory."""
    function, _, argnums = PROGRAMS["heat"]
    args = arguments("heat")
    compiled = jit_grad(function, argnums=argnums)
    here, there = (
        compiled.grad.forecast(*copied(args), 40, checkpoint=adc.revolve(s, disk=d)) for s, d in ((3, 0), (3, 6))
    )
    assert here.loops[0].state > 0
    assert abs(there.peak - here.peak) <= 2048
    assert there.loops[0].snapshots == 9 and there.loops[0].repeated < here.loops[0].repeated
    for n in (0, 1, 40):
        there = compiled.grad.forecast(*copied(args), n, checkpoint=adc.every(1, disk=True))
        one = compiled.grad.forecast(*copied(args), n, checkpoint="recompute-all")  # a snapshot in memory
        # In memory it has a block of its own, and an array that holds the block.
        assert 0 <= one.peak - there.peak <= 2 * args[0].nbytes + 4 * LINE, n


@pytest.mark.parametrize("name", ["heat", "bodies", "recurrent", "two_loops"])
def test_the_bits_of_storing_all(name: str) -> None:
    function, _, argnums = PROGRAMS[name]
    args, n = arguments(name), 23
    compiled = jit_grad(function, argnums=argnums)
    value, gradients = compiled.value_and_grad(*copied(args), n, checkpoint="store-all")
    table = compiled.grad.forecast(*copied(args), n)
    for budget in (table.least, int(1.3 * table.least)):
        assert bits(*compiled.value_and_grad(*copied(args), n, memory=budget)) == bits(value, gradients)
    again, back = compiled.pullback(*copied(args), n, memory=2 * table.least)
    found = [g for g in back(1.0) if g is not None]
    assert again == value
    for f, e in zip(found, gradients, strict=True):
        np.testing.assert_allclose(f, e, rtol=1e-11, atol=1e-11)
    with pytest.raises(errors.OutOfMemoryError, match=f"at least {table.least} bytes; memory= allows"):
        compiled.grad(*copied(args), n, memory=table.least - 1)


def part_of_the_last(x, n):
    v = x.copy()
    for _ in range(n):
        v[1:] = np.sin(v[:-1]) + x[1:]
    return v[::2]


def test_pullbacks_of_views_and_strided_arguments() -> None:
    rng = np.random.default_rng(1)
    base, n = rng.random(30), 9
    x, seed = base[::3], rng.random(5)
    compiled = jit_grad(part_of_the_last, checkpoint="store-all")
    value, back = compiled.pullback(x, n)
    (expected, *_) = back(seed)
    again, pulled = compiled.pullback(x, n, memory="1MB")
    assert bits(value, (expected,)) == bits(again, (pulled(seed)[0],))


def test_as_many_steps_are_run_again_as_predicted() -> None:
    """More memory never means more of them; nor does the peak exceed it."""
    x, n = np.random.default_rng(0).random(40), 40
    table = jit_grad(walk).grad.forecast(x, n)
    repeated = [o.repeated for o in table.others]
    assert repeated == sorted(repeated, reverse=True) and repeated[-1] == 0 < repeated[-2] == n < repeated[0]
    assert all(o.peak <= o.memory for o in table.others)
    for other in table.others[:-1:2]:
        compiled = jit_grad(walk, memory=other.memory)
        _, statistics = measured(compiled, walk, [x, n], (0,))
        assert statistics.executed[ops.sin] == (n + other.repeated) * x.size
        (loop,) = compiled.grad.forecast(x, n).loops
        assert (loop.steps, loop.repeated) == (n, other.repeated)
        assert x.nbytes <= loop.state <= x.nbytes + 8 + LINE // n + 1


def test_several_loops_share() -> None:
    def twice(x, n, m):
        v = x.copy()
        for _ in range(n):
            for i in range(v.shape[0]):
                v[i] = np.sin(v[i])
        w = np.zeros(2 * x.shape[0])
        for _ in range(m):
            for i in range(w.shape[0]):
                w[i] = np.cos(w[i]) * v[i // 2]
        return np.sum(w)

    x = np.random.default_rng(0).random(50)
    compiled = jit_grad(twice)
    table = compiled.grad.forecast(x, 40, 30)
    assert [loop.line for loop in table.loops] == sorted(loop.line for loop in table.loops)
    assert [loop.steps for loop in table.loops] == [40, 30]
    expected = compiled.grad(x, 40, 30)
    for other in table.others:
        assert other.peak <= other.memory
        np.testing.assert_allclose(compiled.grad(x, 40, 30, memory=other.memory), expected, rtol=1e-12)


def test_receivers_in_buffers_that_change_places() -> None:
    """What is added to places that are loaded takes copies of the shadow, whichever buffer that belongs to."""

    def heard(v, wavelet, row, receivers, n):
        before = np.zeros(v.shape)
        now = v.copy()
        total = 0.0
        for t in range(n):
            for i in range(1, v.shape[0] - 1):
                for j in range(v.shape[1]):
                    before[i, j] = v[i, j] * now[i - 1, j] + np.sin(now[i + 1, j])
            before[row, 1] += wavelet[t]
            before, now = now, before
            for k in range(receivers.shape[0]):
                total += now[row, receivers[k]] ** 2
        return total

    rng = np.random.default_rng(2)
    v, wavelet, receivers = rng.random((9, 14)), rng.random(21), rng.integers(0, 14, 30)
    args = [v, wavelet, 3, receivers, 21]
    expected = jit_grad(heard).grad(*args)
    step, h = rng.standard_normal(v.shape), 1e-6
    ahead, behind = (heard(v + s * h * step, *args[1:]) for s in (1, -1))
    assert np.sum(expected * step) == pytest.approx((ahead - behind) / (2 * h), rel=1e-6)
    table = jit_grad(heard).grad.forecast(*args)
    for budget in (table.least, (table.least + table.peak) // 2):
        compiled = jit_grad(heard, memory=budget)
        np.testing.assert_allclose(compiled.grad(*args), expected, rtol=1e-11)
        assert compiled.grad.forecast(*args).peak <= budget
    np.testing.assert_allclose(jit_grad(heard, checkpoint="sqrt").grad(*args), expected, rtol=1e-11)


def test_no_steps_and_one() -> None:
    x = np.random.default_rng(0).random(5)
    compiled = jit_grad(walk)
    for n in (0, 1, 2, 3):
        table = compiled.grad.forecast(x, n)
        for memory in (table.least, table.whole, "1 MB"):
            np.testing.assert_allclose(compiled.grad(x, n, memory=memory), compiled.grad(x, n), rtol=1e-14)
        with pytest.raises(errors.OutOfMemoryError):
            compiled.grad(x, n, memory=table.least - 1)


def test_a_size_that_changes_from_step_to_step() -> None:
    def triangle(x, n):
        total = 0.0
        for t in range(n):
            part = np.zeros(t + 1)
            for i in range(1, t + 1):
                part[i] = part[i - 1] + 0.1 * x[0]
            for i in range(x.shape[0]):
                total = total * x[i] + part[t // 2]
        return total

    x, n = np.random.default_rng(0).random(5), 40
    compiled = jit_grad(triangle)
    table = compiled.grad.forecast(x, n)
    most = table.others[-2].peak
    np.testing.assert_allclose(compiled.grad(x, n, memory=most), compiled.grad(x, n), rtol=1e-12)
    taken, _ = measured(jit_grad(triangle, memory=most), triangle, [x, n], (0,))
    assert taken - 4096 <= most <= taken + HEADERS


def in_place(u, k, n):
    for _ in range(n):
        for i in range(1, u.shape[0] - 1):
            u[i] = u[i] + k * (u[i - 1] - 2 * u[i] + u[i + 1])
    return np.sum(u * u)


def test_where_a_schedule_takes_more_than_none() -> None:
    """A gradient that needs no tape is the one that fits least, and both forecast and error say so."""
    compiled = jit_grad(in_place)
    x = np.linspace(0.0, 1.0, 50)
    whole = compiled.grad.forecast(x, 0.1, 3).whole
    assert whole is not None
    table = compiled.grad.forecast(x, 0.1, 3, memory=whole)
    assert (table.least, table.peak) == (whole, whole) and table.loops[0].snapshots == 0
    assert compiled.grad(x.copy(), 0.1, 3, memory=whole).tobytes() == compiled.grad(x.copy(), 0.1, 3).tobytes()
    for call in (compiled.grad, compiled.grad.forecast):
        with pytest.raises(errors.OutOfMemoryError, match="at least") as caught:
            call(x.copy(), 0.1, 3, memory=whole - 1)
        assert caught.value.help == f"without a schedule it takes {whole} bytes"


def scattered(w, idx, x):
    total = 0.0
    for i in prange(len(idx)):
        total += np.sin(w[idx[i]] * x[i])
    return total


def test_copies_of_what_threads_add_to_are_counted_for_the_threads_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(privatisation, "WORTH", 1)
    pretend(monkeypatch, block_bytes=8)
    rng = np.random.default_rng(0)
    args = rng.random(500), rng.integers(0, 500, 4000), rng.random(4000)
    compiled, found = jit_grad(scattered), []
    for threads in (1, 2, 4):
        with runtime.on_threads(threads):
            found.append(compiled.grad.forecast(*args).whole)
            compiled.grad(*args)
            runtime.peak_bytes(reset=True)
            compiled.grad(*args)
            taken = runtime.peak_bytes()
            assert taken - 4096 <= found[-1] <= taken + HEADERS
    assert found[1] - found[0] == pytest.approx(4000, abs=2 * LINE)
    assert found[2] - found[1] == pytest.approx(8000, abs=2 * LINE)


def test_without_a_schedule_where_that_fits() -> None:
    """The bits are then those of the plain gradient; below, each step is run again."""
    x, n = np.random.default_rng(0).random(40), 25
    plain = jit_grad(walk)
    whole = plain.grad.forecast(x, n).whole
    assert whole is not None
    limited = jit_grad(walk, memory=whole)
    assert limited.grad(x, n).tobytes() == plain.grad(x, n).tobytes()
    forecasts = [limited.grad.forecast(x, n), plain.grad.forecast(x, n, memory=whole - 1)]
    assert [f.loops[0].repeated for f in forecasts] == [0, n] and forecasts[0].peak == whole
    assert "all on one tape" in str(forecasts[0])
    longer = limited.grad.forecast(x, 2 * n)
    assert longer.peak <= whole < longer.whole and longer.loops[0].repeated >= 2 * n
    np.testing.assert_allclose(limited.grad(x, 2 * n), plain.grad(x, 2 * n), rtol=1e-13)


def test_half_of_the_machine() -> None:
    x = np.random.default_rng(0).random(40)
    assert jit_grad(walk, checkpoint="auto").grad(x, 9).tobytes() == jit_grad(walk).grad(x, 9).tobytes()
    with pytest.raises(errors.ArgumentValueError, match="checkpoint cannot be 'auto'"):
        adc.steps(3, checkpoint="auto")


def test_what_is_not_known_before() -> None:
    def solved(x, n):
        v = x.copy()
        for _ in range(n):
            for i in adc.prange(v.shape[0]):
                while abs(v[i]) > 0.5:
                    v[i] = np.sin(v[i]) * v[i]
        return np.sum(v)

    x = np.random.default_rng(0).random(5)
    with pytest.raises(errors.ArgumentError, match="a loop of unknown length keeps values on a tape") as caught:
        jit_grad(solved, memory="1GB").grad(x, 3)
    assert caught.value.kind == "unknown-size" and "while" in caught.value.text
    assert "help: call it without memory= and forecast" in str(caught.value)
    assert jit_grad(solved, checkpoint="sqrt").grad(x, 3).shape == x.shape  # for the outer loop


def test_a_parameter_of_that_name() -> None:
    def f(x, memory):
        return x * x * memory

    assert jit_grad(f).grad(3.0, memory=2.0) == 12.0


def test_numbers_of_bytes() -> None:
    assert [read_memory(text) for text in ("2GB", "1.5 kB", "512 MiB", "7", "3 b", 12)] == [
        2_000_000_000, 1500, 512 << 20, 7, 3, 12,
    ]  # fmt: skip
    assert read_memory("1000000000 TB") == read_memory(1 << 70) == (1 << 63) - 1
    for wrong in ("2 parsecs", "", "GB", "-1 GB", 0, -5, 2.5, "0 kB"):
        with pytest.raises(errors.AdcError) as caught:
            jit_grad(walk, memory=wrong)  # type: ignore[call-overload]
        assert caught.value.kind == "invalid-option"
    with pytest.raises(errors.AdcError, match="checkpoint= has nothing to say"):
        jit_grad(walk, memory="1GB", checkpoint="sqrt")


@pytest.mark.parametrize("side", [250, 400])
def test_what_is_free_for_another_use_counts(side: int) -> None:
    """Blocks of sizes that are needed no more go back before the arena holds more than is allowed."""
    from benchmarks.memory import wave

    rng = np.random.default_rng(0)
    c, u0 = 0.2 * rng.random((side, side)), rng.random((side, side))
    steps = 3 * 6 + 2  # the last two have a tape of another size
    least = jit_grad(wave).grad.forecast(c, u0, steps).least
    allowed = int(1.03 * least)
    compiled = jit_grad(memory=allowed, threads=1)(wave)
    runtime.release_memory()
    assert compiled.grad.forecast(c, u0, steps).peak <= allowed
    gradient = compiled.grad(c, u0, steps)
    pool = ctypes.c_int64.from_address(runtime.address("adc_pool")).value
    assert 0.8 * least < ctypes.c_int64.from_address(pool + contexts.CONTEXT_HELD_BYTES).value <= allowed
    assert ctypes.c_int64.from_address(pool + contexts.CONTEXT_LIMIT).value == 0
    np.testing.assert_array_equal(gradient, compiled.grad(c, u0, steps))


def mixed_lengths(u0, n):
    """A carried pair, and an inner array of another length in each step."""
    u, v = u0.copy(), u0.copy()
    for _ in range(n):
        edge = np.zeros(len(u0) // 3 + 1)
        for i in range(1, len(u) - 1):
            v[i] = u[i] + 0.1 * math.sin(u[i - 1] * u[i + 1])
            edge[i // 3] += v[i] * v[i]
        for i in range(len(edge)):
            v[i] += 0.01 * math.cos(edge[i])
        u, v = v, u
    return np.sum(u * u)


BUDGETED = [(*PROGRAMS[name][::2], SIZES[name]) for name in ("heat", "bodies", "two_loops", "recurrent")]
BUDGETED += [(program, (0,), ((220,),)) for program in (new_arrays.renewed, new_arrays.runge_kutta, mixed_lengths)]
BUDGETED += [(new_arrays.until_small, (0,), ((300,),)), (new_arrays.lorenz, (0,), ((3,),))]


@pytest.mark.parametrize("number", range(len(BUDGETED)), ids=[program[0].__name__ for program in BUDGETED])
def test_what_is_taken_is_at_most_what_was_given(number: int) -> None:
    """By the arena's count, for a random budget, at every call; and the forecast is between the two."""
    program, argnums, shapes = BUDGETED[number]
    rng = np.random.default_rng(number)
    args = [0.2 + 0.5 * rng.random(s) if s else 0.11 for s in shapes]
    n = int(rng.integers(20, 60))
    table = jit_grad(program, argnums=argnums).grad.forecast(*copied(args), n)
    most = table.whole or table.others[-1].peak
    budget = int(np.exp(rng.uniform(np.log(table.least), np.log(most))))
    compiled = jit_grad(program, argnums=argnums, memory=budget)
    predicted = compiled.grad.forecast(*copied(args), n).peak
    for _ in range(2):
        runtime.peak_bytes(reset=True)
        compiled.grad(*copied(args), n)
        assert 0 < runtime.peak_bytes() <= predicted <= budget


@pytest.mark.parametrize("program", [walk, new_arrays.renewed, mixed_lengths], ids=lambda f: f.__name__)
def test_never_more_steps_than_revolve_in_the_same_bytes(program: Any) -> None:
    x, n = 0.3 + 0.1 * np.random.default_rng(0).random(300), 200
    plain = jit_grad(program)
    for snapshots in (2, 5, 20):
        given = plain.grad.forecast(x, n, checkpoint=adc.revolve(snapshots))
        chosen = plain.grad.forecast(x, n, memory=given.peak)
        assert chosen.peak <= given.peak
        assert chosen.loops[0].repeated <= given.loops[0].repeated


@pytest.mark.parametrize("numbers", [(True, 0.5, 9), (np.bool_(False), np.float32(0.5), np.int32(9))])
def test_numbers_of_all_types_among_the_arguments(numbers: Any) -> None:
    """What is predicted may depend on them, and holds."""

    def f(x, ends, s, n):
        v = x.copy()
        for _ in range(n):
            for i in range(v.shape[0]):
                v[i] = np.sin(v[i]) * s + v[i]
        return np.sum(v) if ends else v[0]

    x, (ends, s, n) = np.linspace(0.1, 0.9, 50), numbers
    predicted = jit_grad(f).grad.forecast(x, ends, s, n)
    compiled = jit_grad(f, memory=predicted.least)
    assert predicted.loops[0].steps == n and compiled.grad.forecast(x, ends, s, n).peak <= predicted.least
    assert np.array_equal(compiled.grad(x, ends, s, n), jit_grad(f).grad(x, ends, s, n))
