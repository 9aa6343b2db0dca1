"""The progress of calls, observed from outside while they run."""

from __future__ import annotations

import io
import math
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import adc
from adc import errors, jit_grad
from adc.backend import running
from adc.backend.ahead.aot import Part, build
from adc.backend.ahead.cabi import primal
from adc.backend.running import Count, Loop, Run
from adc.driver.compiler import Staged
from adc.ir.core import UNKNOWN, Loc
from adc.passes.checkpointing.count_steps import CountSteps
from adc.reports.dump import resolve
from adc.watch import bars, watching
from adc.watch.sweeps import Calls, Sweep


def decay(u0, n):
    u = u0.copy()
    for _ in range(n):
        for i in range(1, u.shape[0]):
            u[i] = u[i] * 0.99 + 0.01 * np.sin(u[i - 1])
    return np.sum(u * u)


def swapped(u0, n):
    """Two steps are one where there is a schedule, and one may be left over."""
    u, v = u0.copy(), u0.copy()
    for _ in range(n):
        for i in range(1, u.shape[0] - 1):
            v[i] = u[i] + 0.1 * (u[i - 1] - 2.0 * u[i] + u[i + 1]) * np.sin(u[i])
        u, v = v, u
    return np.sum(u * u)


def linear(u0, n):
    """Steps that can be run several at a time."""
    u, v = u0.copy(), u0.copy()
    for _ in range(n):
        for i in range(1, u.shape[0] - 1):
            v[i] = u[i] + 0.1 * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        u, v = v, u
    return np.sum(u * u)


def until(u0, n):
    u, k = u0.copy(), 0
    while k < n:
        for i in range(1, u.shape[0]):
            u[i] = u[i] * 0.99 + 0.01 * np.sin(u[i - 1])
        k += 1
    return np.sum(u * u)


def scalar(u0, n):
    x = u0[0]
    for t in range(0, 3 * n, 3):
        x = x * 0.999 + 1e-3 * math.sin(x + t)
    return x


def scalar_until(u0, n):
    x, k = u0[0], 0
    while k < n:
        x = x * 0.999 + 1e-3 * math.sin(x)
        k += 1
    return x


def twice(u0, n):
    return decay(u0, n) + 2.0 * decay(0.5 * u0, n)


def watched(call: Callable[[], Any]) -> tuple[Any, list[Run]]:
    """What a call returns, and samples while it runs, the one of its end included."""
    results: list[Any] = []
    running.watch(True)
    running.ask(True)
    running.read()
    thread = threading.Thread(target=lambda: results.append(call()))
    seen: list[Run] = []
    try:
        thread.start()
        while thread.is_alive():
            seen += running.read()
            time.sleep(0.002)
        seen += running.read()
    finally:
        running.ask(False)
        running.watch(False)
    return results[0], seen


def seen_when(enough: Callable[[list[Run]], bool], call: Callable[[], Any]) -> tuple[Any, list[Run]]:
    """The same of a call that is made again until ``enough`` was seen of it: a busy machine may run it all between two
    looks."""
    for _ in range(200):
        result, seen = watched(call)
        if enough(seen):
            break
    return result, seen


def steps_done(seen: list[Run], sweep: str) -> list[int]:
    """The steps that were done in each sample of a sweep."""
    counts = [run.reverse if sweep == "reverse" else run.forward for run in seen]
    return [count.done for count in counts if count is not None]


def of_calls(seen: list[Run], sweep: str) -> list[tuple[int, int | None]]:
    """The steps of a sweep that are done, and all of them, at each sample, as the bars show them."""
    calls, found = Calls(), []
    for run in seen:
        (call,) = calls.see([run], 0.0)
        found += [(s.done, s.total) for s in call.sweeps.values() if s.loop.sweep == sweep]
    assert not calls.known
    return found


def point(size: int = 400) -> Any:
    return np.linspace(0.5, 1.5, size)


RECOMPUTE = "recompute-all"
GRADIENTS = [
    (decay, {}, 8_000, 8_000),
    (decay, {"checkpoint": "sqrt"}, 8_000, 8_000),
    (decay, {"checkpoint": adc.every(7)}, 8_000, 8_000),
    (decay, {"checkpoint": adc.revolve(20)}, 3_000, 3_000),
    (decay, {"checkpoint": RECOMPUTE}, 200, 200),
    (decay, {"memory": "1MB"}, 3_000, 3_000),
    (swapped, {}, 8_001, 8_001),
    (swapped, {"checkpoint": "sqrt"}, 8_000, 4_000),
    (linear, {"time_block": 5}, 80_001, 80_001),
    (until, {}, 8_000, 8_000),
    (until, {"checkpoint": adc.revolve(20)}, 3_000, 3_000),
]


@pytest.mark.parametrize(("fn", "options", "n", "steps"), GRADIENTS)
def test_steps_of_gradients_grow_and_end_with_all(fn: Any, options: Any, n: int, steps: int) -> None:
    f, u = jit_grad(**options)(fn), point()
    expected = f.grad(u, n)
    has_sweep = options.get("checkpoint") != RECOMPUTE  # a step of which lasts as long as the forward sweep

    def on_the_way(seen: list[Run]) -> bool:
        forward = {done for done, _ in of_calls(seen, "forward")}
        return len(set(steps_done(seen, "reverse"))) > 3 and (not has_sweep or len(forward) > 1)

    gradient, seen = seen_when(on_the_way, lambda: f.grad(u, n))
    assert np.array_equal(gradient, expected)
    last = seen[-1]
    assert not last.goes_on and last.reverse is not None
    assert (last.reverse.done, last.reverse.total) == (steps, steps)
    assert last.reverse.loop.function == fn.__name__ and last.reverse.loop.loc.line > 0
    reverse, forward = steps_done(seen, "reverse"), [done for done, _ in of_calls(seen, "forward")]
    assert reverse == sorted(reverse) and forward == sorted(forward)
    assert on_the_way(seen)
    assert not has_sweep or forward[-1] == steps


@pytest.mark.parametrize(("fn", "options"), [GRADIENTS[0][:2], GRADIENTS[2][:2], GRADIENTS[-1][:2]])
def test_counting_does_not_change_results(fn: Any, options: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    u, counted = point(), jit_grad(**options)(fn)
    with adc.progress(console=Console(file=io.StringIO())):
        expected = counted.grad(u, 1000)
    monkeypatch.setattr(CountSteps, "run", lambda self, module: module)
    plain = jit_grad(**options)(fn)
    assert np.array_equal(plain.grad(u, 1000), expected) and plain(u, 1000) == counted(u, 1000)


@pytest.mark.parametrize("fn", [decay, until, scalar, scalar_until])
def test_steps_of_functions_and_in_forward_mode(fn: Any) -> None:
    f, u = jit_grad(fn), point()
    many = 4_000_000 if fn in (scalar, scalar_until) else 20_000
    f(u, 3)
    for call in (lambda n: f(u, n), lambda n: f.jvp((u, n), (u, None))):
        call(3)
        _, seen = seen_when(lambda seen: len(set(steps_done(seen, "forward"))) > 3, lambda call=call: call(many))
        forward = steps_done(seen, "forward")
        assert forward == sorted(forward) and forward[-1] == many and len(set(forward)) > 3
        assert seen[-1].reverse is None
        for n in (0, 1):
            _, few = watched(lambda call=call, n=n: call(n))
            assert few[-1].forward is not None and few[-1].forward.done == n


def test_steps_of_pullbacks_and_second_derivatives() -> None:
    f, u = jit_grad(checkpoint=adc.revolve(5))(decay), point()
    adc.hvp(f, (u, 3), (u, None))
    _, seen = watched(lambda: adc.hvp(f, (u, 2000), (u, None)))
    assert seen[-1].reverse is not None and seen[-1].reverse.done == seen[-1].reverse.total == 2000
    (_, back), seen = watched(lambda: f.pullback(u, 2000))
    assert seen[-1].forward is not None and seen[-1].forward.done == 2000 and seen[-1].reverse is None
    for _ in range(2):  # the second time it begins with the first step
        _, seen = watched(lambda: back(1.0))
        assert seen[-1].reverse is not None and seen[-1].reverse.done == seen[-1].reverse.total == 2000


def test_float32_and_one_step() -> None:
    for options in ({}, {"checkpoint": "sqrt"}):
        f, u = jit_grad(**options)(decay), point().astype(np.float32)
        for n in (0, 1, 2):
            f.grad(u, n)
            _, seen = watched(lambda f=f, u=u, n=n: f.grad(u, n))
            # With no step there is no piece to reverse.
            done = seen[-1].reverse.done if seen[-1].reverse is not None else 0
            assert done == n


def test_threads_are_told_apart() -> None:
    f, u = jit_grad(checkpoint="sqrt")(decay), point()
    f.grad(u, 3)
    lengths = [3000, 5000, 7000, 9000]

    def all_at_once() -> None:
        threads = [threading.Thread(target=f.grad, args=(u, n)) for n in lengths]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    _, seen = watched(all_at_once)
    ended = [run.reverse for run in seen if not run.goes_on]
    assert sorted(r.done for r in ended if r is not None) == lengths
    assert all(r is not None and r.done == r.total for r in ended)
    numbers = {run.number for run in seen}
    for number in numbers:
        done = [run.reverse.done for run in seen if run.number == number and run.reverse is not None]
        assert done == sorted(done)
    calls = Calls()
    for run in seen:
        assert [c.number for c in calls.see([run], 0.0)] == [run.number]


def inner(u, n):
    total = 0.0
    for i in range(n):
        for j in range(u.shape[0]):
            total += u[j] * np.sin(u[j] + i)
    return total


def nested(u, n):
    """What is called in a loop is a part of its steps, also where it was called outside before."""
    total = inner(u, 2)
    for _ in range(n):
        total = 0.5 * total + inner(u, 5)
    return total


def recursive(u, n, depth):
    total = 0.0
    for i in range(n):
        for j in range(u.shape[0]):
            total += u[j] * np.sin(u[j] + i)
    return total if depth == 0 else total + recursive(u, n, depth - 1)


def scheduled(u0, n):
    u = u0.copy()
    for _ in adc.steps(n, checkpoint=adc.revolve(3)):
        for _ in adc.steps(11, checkpoint="sqrt"):
            for i in range(1, u.shape[0]):
                u[i] = u[i] * 0.99 + 0.01 * np.sin(u[i - 1])
    return np.sum(u)


def test_only_outermost_loops_count() -> None:
    u = point(50)
    f = jit_grad(nested)
    f.grad(u, 3)
    _, seen = watched(lambda: f.grad(u, 4000))
    counts = [c for run in seen for c in (run.forward, run.reverse) if c is not None]
    assert {c.loop.loc.line - nested.__code__.co_firstlineno for c in counts if c.total == 4000} == {3}
    assert {c.total for c in counts} <= {4000, 2} and seen[-1].reverse is not None
    g = jit_grad(recursive)
    g(u, 3, 2)
    _, seen = watched(lambda: g(u, 3, 100))
    assert all(run.forward is None for run in seen)
    h = jit_grad(scheduled)
    h.grad(u, 3)
    _, seen = watched(lambda: h.grad(u, 300))
    assert {c.total for run in seen for c in (run.forward, run.reverse) if c is not None} == {300}
    assert seen[-1].reverse is not None and seen[-1].reverse.done == 300


@pytest.mark.parametrize("checkpoint", ["sqrt", adc.every(7), adc.revolve(20)])
@pytest.mark.parametrize("fn", [decay, until])
def test_loops_that_plan_a_schedule_do_not_count(fn: Any, checkpoint: Any) -> None:
    before = set(running._loops.values())
    f = jit_grad(checkpoint=checkpoint)(fn)
    f.grad(point(), 30)
    loops = set(running._loops.values()) - before
    assert loops and all(loop.is_part for loop in loops)


def test_loops_in_turn_go_on_where_the_last_one_ended() -> None:
    f, u = jit_grad(twice), point()
    f.grad(u, 3)

    def both(seen: list[Run]) -> bool:
        return of_calls(seen, "reverse")[-1] == (10_000, 10_000)

    _, seen = seen_when(both, lambda: f.grad(u, 5_000))
    assert both(seen)
    done = [steps for steps, _ in of_calls(seen, "reverse")]
    assert done == sorted(done)


def test_an_error_leaves_the_count_where_it_was() -> None:
    def fails(u, n):
        total = 0.0
        for t in range(n):
            for i in range(u.shape[0]):
                total += u[i]
            if total > 2469.0:
                raise ValueError(f"at {t}")
        return total

    f, u = jit_grad(fails), np.full(8, 0.25)
    f(u, 3)

    def call() -> None:
        with pytest.raises(ValueError, match="at 1234"):
            f(u, 5000)

    for _ in range(2):
        _, seen = watched(call)
        assert seen[-1].forward is not None
        assert not seen[-1].goes_on and seen[-1].forward.done == 1234


def test_object_files_do_not_count() -> None:
    subject = jit_grad(decay)._subject
    staged = Staged(subject, resolve(subject, "f64[::1], i64"))
    traced = staged.traced()
    module = staged.primal(traced)
    built = build([Part(CountSteps([traced.entry]).run(module), (primal(module, traced.entry, "decay"),))], "decay")
    steps = [line for line in built.llvm_ir().splitlines() if "store atomic i64" in line and "release" in line]
    assert "adc_counted" not in built.llvm_ir() and not steps


def sample(sweep: str, done: int, total: int | None, loop: Loop | None = None, *, is_part: bool = False) -> Count:
    return Count(loop or Loop("f", Loc("f.py", 3), sweep, is_part), done, total)


def test_steps_that_are_run_again_do_not_count_again() -> None:
    one = Sweep(Loop("f", Loc("f.py", 3), "forward", True), 100)
    for done in (0, 40, 100, 90, 95):  # the last piece begins before the reverse sweep does
        one.see(sample("forward", done, 100, is_part=True))
    assert (one.done, one.total) == (100, 100)
    loop = Loop("f", Loc("f.py", 3), "reverse", True)
    back = Sweep(loop, 100)
    for done in (0, 100, 10, 50):  # a loop that is run once more
        back.see(sample("reverse", done, 100, loop))
    assert (back.done, back.total) == (150, 200)
    back.see(sample("reverse", 1, 1))  # one that follows it in the same line
    assert (back.done, back.total) == (201, 201)
    open_end = Sweep(Loop("f", Loc("f.py", 3), "forward", False), None)
    for done in (3, 9):
        open_end.see(sample("forward", done, None, open_end.loop))
    open_end.see(sample("forward", 2, None))
    assert (open_end.done, open_end.total) == (11, None)


def shown(console: Console, call: Callable[[], Any]) -> str:
    with adc.progress(console=console):
        call()
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_bars_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    f, u, n = jit_grad(checkpoint="sqrt")(decay), point(), 3000
    f.grad(u, 3)
    console = Console(file=io.StringIO(), force_terminal=True, width=120, color_system=None)
    assert "decay" not in shown(console, lambda: f.grad(u, 3))  # it is over too soon
    monkeypatch.setattr(watching, "SOONEST", 0.0)

    def call() -> None:
        assert sys.stdout is out  # what a file is to get does not go to the terminal of the bars
        with adc.progress():  # changes nothing
            f.grad(u, n)

    out = sys.stdout
    text = shown(console, call)
    line = decay.__code__.co_firstlineno + 2
    assert f"decay, line {line}, reverse" in text and f"{n}/{n}" in text


def test_lines_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    f, u, n = jit_grad(decay), point(), 20_000
    f.grad(u, 3)
    assert shown(Console(file=io.StringIO(), width=120), lambda: f.grad(u, n)) == ""
    monkeypatch.setattr(watching, "SOONEST", 0.0)
    monkeypatch.setattr(bars, "LINE", 0.0)
    console, end = Console(file=io.StringIO(), width=120), time.monotonic() + 60

    def call() -> None:
        while not console.file.getvalue() and time.monotonic() < end:  # type: ignore[attr-defined]
            f.grad(u, n)

    lines = shown(console, call).splitlines()
    assert lines and all(line.startswith("decay, line ") and f"/{n} steps" in line for line in lines), lines


def test_after_the_last_context_nobody_asks() -> None:
    with pytest.raises(ZeroDivisionError), adc.progress(), adc.progress():
        raise ZeroDivisionError
    assert "adc.progress" not in [thread.name for thread in threading.enumerate()]
    f, u = jit_grad(decay), point()
    f(u, 3)
    assert running.read() == []


def test_bad_use() -> None:
    with pytest.raises(errors.AdcError, match=r"console must be a rich\.console\.Console, not 'stderr'"):
        adc.progress(console="stderr")  # type: ignore[arg-type]

    def inside(x):
        adc.progress()
        return x

    with pytest.raises(errors.CompileTypeError, match="cannot be called in a compiled function"):
        jit_grad(inside)(1.0)


def seen_forward(samples: list[tuple[Loop, int, int | None, bool]]) -> list[int]:
    """The forward steps that are shown at samples: a loop, its steps done and in all, and whether reversing began."""
    calls, shown = Calls(), []
    reverse = Loop("f", UNKNOWN, "reverse", is_part=False)
    for loop, done, total, began in samples:
        run = Run(1, True, Count(loop, done, total), Count(reverse, 0, 7) if began else None)
        (call,) = calls.see([run], 0.0)
        shown.append(next(s.done for s in call.sweeps.values() if s.loop.sweep == "forward"))
    return shown


def test_steps_that_are_run_again_before_the_first_one_is_reversed() -> None:
    """A loop in a part with a schedule and a rest, of which a sample may see the first steps that are run again."""
    part, rest = (Loop("f", UNKNOWN, "forward", is_part=is_part) for is_part in (True, False))
    forward = [(part, 30, 40, False), (part, 40, 40, False), (rest, 1, 1, False)]
    again = [(part, 6, None, False), (part, 8, None, True)]
    assert seen_forward(forward + again) == [30, 40, 41, 41, 41]
    assert seen_forward([*forward, (part, 20, 40, False), (part, 40, 40, False), (rest, 1, 1, False)])[-1] == 82
