"""Whether threads pay: a loop that lost time with them rests, depending on the loss, and uses them again later."""

from __future__ import annotations

import ctypes
import itertools
import time

import numpy as np
import pytest

from adc import jit_grad, prange
from adc.backend import runtime
from adc.backend.support.threads import LONG, MEASURE, REST

BODIES = itertools.count(0x7000_0000_0000, 64)  # addresses of code, as far as the functions know


class Loop:
    """One loop on two threads, whose runs take as long as they are said to."""

    def __init__(self, work: float = 1e6, threads: int = 0) -> None:
        self.body, self.work = next(BODIES), work
        self.context = (ctypes.c_int32 * 4)(threads)
        pay = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p)
        paid = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double, ctypes.c_int32, ctypes.c_int64)
        self.pay = pay(runtime.address("adc_threads_pay"))
        self.paid = paid(runtime.address("adc_threads_paid"))
        self.now = ctypes.CFUNCTYPE(ctypes.c_int64)(runtime.address("adc_now"))

    def run(self, alone: int, together: int, work: float | None = None) -> int:
        """A run that takes ``alone`` nanoseconds on one thread and ``together`` on two; what was chosen."""
        measure = (ctypes.c_int64 * (MEASURE // 8))()
        work = self.work if work is None else work
        how = self.pay(ctypes.addressof(self.context), self.body, work, ctypes.addressof(measure))
        # Instead of waiting: the run began earlier.
        place, took = ctypes.addressof(measure), together if how else alone
        measure[0] = self.now() - took
        self.paid(place, work, 2 if how else 0, alone // 2 if how == 2 else 0)
        return how


@pytest.fixture(autouse=True)
def rested() -> None:
    """No loop of another test lets all rest."""
    quiet = Loop()
    for _ in range(1000):
        if quiet.run(1000, 500):
            return
        time.sleep(0.005)
    pytest.fail("all loops rest")


def test_what_gains_goes_on() -> None:
    loop = Loop()
    assert [loop.run(200_000, 110_000) for _ in range(5)] == [2, 1, 1, 1, 1]


def test_what_loses_rests_and_comes_back() -> None:
    loop = Loop()
    lost = LONG // 2
    start = time.perf_counter()
    assert loop.run(100_000, 100_000 + lost) == 2
    assert loop.run(100_000, 0) == 0
    assert Loop().run(100_000, 60_000) == 2  # others do not rest
    while loop.run(100_000, 60_000) == 0:
        time.sleep(0.0002)
    assert time.perf_counter() - start >= 0.8 * REST * lost / 1e9
    assert loop.run(100_000, 60_000) == 1


def test_after_a_long_loss_all_rest() -> None:
    assert Loop().run(100_000, 100_000 + 2 * LONG) == 2
    other = Loop()
    assert other.run(100_000, 60_000) == 0
    while other.run(100_000, 60_000) == 0:
        time.sleep(0.001)


def test_what_is_measured_on_one_thread_counts_more_than_the_guess() -> None:
    loop = Loop()
    assert loop.run(50_000, 90_000) == 2  # of unequal shares: the guess is half of the truth
    found = []
    while found[-5:] != [1] * 5:
        found.append(loop.run(120_000, 90_000))
        assert len(found) < 2000
        time.sleep(0.0001)


def test_sizes_are_told_apart() -> None:
    loop = Loop()
    assert loop.run(100_000, 60_000) == 2
    assert loop.run(800_000, 450_000, work=1e7 / 2) == 2  # slower for its work: out of the cache, say
    assert loop.run(800_000, 450_000, work=1e7 / 2) == 1


def test_threads_that_are_asked_for_run() -> None:
    loop = Loop(threads=2)
    assert [loop.run(100_000, 10_000_000) for _ in range(3)] == [1, 1, 1]
    assert Loop().run(100_000, 60_000) == 2


def test_same_bits_while_loops_rest() -> None:
    @jit_grad
    def total(x):
        s = 0.0
        for i in prange(x.shape[0]):
            s += np.sin(x[i]) * x[i]
        return s

    x = np.linspace(0.0, 1.0, 100_000)
    found = set()
    for _ in range(10):
        Loop().run(100_000, 100_000 + 2 * LONG)
        found.add((total(x), total.grad(x).tobytes()))
    assert len(found) == 1
