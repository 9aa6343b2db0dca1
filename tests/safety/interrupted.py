"""Kernels that would run for days, each interrupted: as a program, it prints one line for each, and ``done``.

It is a separate program, so that a kernel that cannot be interrupted fails a test instead of blocking it.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console

import adc
from adc import jit_grad, prange
from adc.backend import runtime

LONG = 10**14


@jit_grad
def innermost(x, n):
    for _ in range(n):
        x = x * 0.999 + 1e-3
    return x


@jit_grad
def steps(x, n):
    for _ in range(0, n, 3):
        x = x * 0.999 + 1e-3
    return x


@jit_grad
def summed(u, n):
    total = 0
    for i in range(n):
        total += i & 3
    return u[0] * total


@jit_grad
def nest(u, n):
    total = 0.0
    for t in range(n):
        for i in range(u.shape[0]):
            total += u[i] * 0.5 + t
    return total


@jit_grad
def endless(x, n):
    k = 0
    while k < n:
        x = x * 0.999 + 1e-3
        k += 1
    return x


@jit_grad
def update(u, n):
    w = np.zeros(1000)
    for _ in range(n):
        u[1:-1] += 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        w[: u.shape[0]] += u
    return np.sum(w)


def inner(u, t):
    total = 0.0
    for i in range(u.shape[0]):
        total += u[i] * t
    return total


@jit_grad
def through_callee(u, n):
    total = 0.0
    for t in range(n):
        total += inner(u, t)
    return total


@jit_grad
def parallel(u, n):
    total = 0.0
    for i in prange(n):
        part = 0.0
        for j in range(100_000):
            part += u[j % 8] * i
        total += part
    return total


@jit_grad
def flat_parallel(u, n):
    total = 0.0
    for i in prange(n):
        total += u[i % 8] * 1e-9
    return total


@jit_grad
def last_one_is_long(u, n):
    out = np.zeros(64)
    for i in prange(64):
        m = 10_000
        if i == 63:
            m = n
        part = 0.0
        for j in range(m):
            part += u[j % 8] * i
        out[i] = part
    return np.sum(out)


@jit_grad
def power_loop(x, n):
    y = 0.0
    for k in range(n):
        y = y + np.sin(x * k)
    return y


def fibonacci(x, n):
    if n < 2:
        return x
    return fibonacci(x, n - 1) + fibonacci(x, n - 2)


@jit_grad
def recursion(x, n):
    return fibonacci(x, n)


class Alarm(Exception):
    pass


def interrupt(call: Callable[[], Any], name: str, error: type[BaseException] = KeyboardInterrupt) -> None:
    sent = []
    done = threading.Event()

    def send() -> None:
        # Python loses an interrupt that comes while it is in a finaliser, as it may be while the code is compiled.
        while not done.wait(5.0 if sent else 0.1):
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT if error is KeyboardInterrupt else signal.SIGUSR1)

    helper = threading.Thread(target=send)
    helper.start()
    try:
        result = call()
    except error:
        late = time.perf_counter() - sent[-1] if sent else float("nan")
        print(f"{name} {late:.3f}", flush=True)
    else:
        print(f"{name} was not interrupted: {result!r}", flush=True)
        sys.exit(1)
    finally:
        done.set()
        helper.join()


def main() -> None:
    # A shell that starts this in the background has interrupts ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    runtime.set_threads(2)
    u = np.linspace(0.1, 1.0, 8)
    programs = [
        (innermost, 0.5), (steps, 0.5), (summed, u), (nest, u), (endless, 0.5), (update, u), (through_callee, u),
        (parallel, u), (flat_parallel, u), (last_one_is_long, u),
    ]  # fmt: skip
    for f, x in programs:
        before = f(np.copy(x) if x is u else x, 70)
        f.grad(x, 70)
        interrupt(lambda f=f, x=x: f(np.copy(x) if x is u else x, LONG), f.__name__)
        assert f(np.copy(x) if x is u else x, 70) == before, f.__name__
    # Forward sweeps that need no tape; those that do end sooner, for want of memory.
    for f, x in ((nest, u), (through_callee, u), (parallel, u), (last_one_is_long, u), (power_loop, 0.5)):
        before = f.grad(x, 70)
        f.pullback(x, 70)
        interrupt(lambda f=f, x=x: f.grad(x, LONG), f"{f.__name__}.grad")
        assert np.array_equal(f.grad(x, 70), before), f.__name__
        interrupt(lambda f=f, x=x: f.pullback(x, LONG), f"{f.__name__}.pullback")
    before = recursion(0.5, 10)
    interrupt(lambda: recursion(0.5, 100), "recursion")
    assert recursion(0.5, 10) == before
    # The reverse sweep of a pullback, which may then be called again.
    _, back = last_one_is_long.pullback(u, 70)
    right = back(1.0)[0]
    late = {"n": 10**7}

    def again() -> None:
        _, slow = parallel.pullback(u, late["n"] // 10**5)
        while True:
            slow(1.0)

    interrupt(again, "back")
    assert np.array_equal(back(1.0)[0], right)

    # A handler that does not raise is run, and the kernel goes on; one may call compiled code itself.
    seen = []
    signal.signal(signal.SIGUSR1, lambda *_: seen.append(nest(u, 70)))
    expected = nest(u, 10**7)
    helper = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1))
    helper.start()
    while not seen:
        assert nest(u, 10**7) == expected
    assert seen == [nest(u, 70)]
    # It may do so with other arguments, also during a call that was the first of its kind.
    inside: list[float] = []
    signal.signal(signal.SIGUSR1, lambda *_: inside.append(nest(u.astype(np.float32), 70)))
    helper = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGUSR1))
    helper.start()
    nest(u[::2], 3 * 10**7)
    while not inside:
        nest(u[::-1], 10**7)
    assert np.allclose(inside, [nest(u, 70)], rtol=1e-3)

    def alarm(*_: object) -> None:
        raise Alarm

    signal.signal(signal.SIGUSR1, alarm)
    interrupt(lambda: nest(u, LONG), "alarm", Alarm)

    # While somebody watches how far they are.
    with adc.progress(console=Console(file=io.StringIO(), force_terminal=True)):
        for f, x in ((steps, 0.5), (nest, u), (endless, 0.5), (through_callee, u)):
            interrupt(lambda f=f, x=x: f(x, LONG), f"{f.__name__} with bars")
        interrupt(lambda: nest.grad(u, LONG), "nest.grad with bars")

    # Another thread's kernel is not disturbed by what stops the main thread's.
    results: list[float] = []
    other = threading.Thread(target=lambda: results.append(nest(u, 3 * 10**7)))
    other.start()
    interrupt(lambda: nest(u, LONG), "beside a thread")
    other.join()
    assert results == [nest(u, 3 * 10**7)]

    # Nothing is kept of what the runs allocated.
    live = runtime.held_bytes()
    for _ in range(3):
        interrupt(lambda: update(np.copy(u), LONG), "update again")
    assert runtime.held_bytes() <= live + 100_000, (live, runtime.held_bytes())

    # In a forked child the thread that forked is the main one, and has a ticker of its own.
    child = os.fork()
    if child == 0:
        interrupt(lambda: nest(u, LONG), "in a child")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert adc.grad(innermost)(0.5, 3) != 0.0
    print("done", flush=True)


if __name__ == "__main__":
    main()
