"""A forked child compiles even if other threads of its parent were compiling."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.backend import optimize, runtime
from adc.ir import forks

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


def status_of(child: Callable[[], bool], seconds: float = 60.0) -> int | None:
    """What a forked child ends with: 0 if it finds what it should; None if it does not end."""
    pid = os.fork()
    if pid == 0:
        good = False
        try:
            good = child()
        finally:
            os._exit(0 if good else 1)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        time.sleep(0.01)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return None


running: list[object] = []  # calls of LLVM by threads other than the main one


@pytest.fixture
def in_llvm(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Set while a thread other than the main one is about to run LLVM, which then takes a while."""
    there, original = threading.Event(), optimize._run_pipeline

    def slowly(*given: object) -> object:
        if threading.current_thread() is not threading.main_thread():
            running.append(given)
            there.set()
            time.sleep(0.3)
        try:
            return original(*given)  # type: ignore[arg-type]
        finally:
            if threading.current_thread() is not threading.main_thread():
                running.pop()

    monkeypatch.setattr(optimize, "_run_pipeline", slowly)
    monkeypatch.setenv("ADC_CACHE", "0")
    yield there


def test_the_same_function_and_others(in_llvm: threading.Event) -> None:
    f, g, x = jit_grad(lambda x: np.sum(x * x * x)), jit_grad(lambda x: np.sum(x * x)), np.array([1.0, 2.0])
    g(x)  # what is made once for a process is there
    thread = threading.Thread(target=f.grad, args=(x,))
    thread.start()
    assert in_llvm.wait(60.0)

    def child() -> bool:
        if running:  # the fork did not wait
            return False
        return f(x) == 9.0 and list(f.grad(x)) == [3.0, 12.0] and list(adc.grad(lambda x: np.sum(x))(x)) == [1.0, 1.0]

    assert status_of(child) == 0
    thread.join()
    assert list(f.grad(x)) == [3.0, 12.0]


def test_many_children_while_threads_compile() -> None:
    stop = threading.Event()

    def compiles(k: float) -> None:
        while not stop.is_set():
            assert adc.grad(lambda x: k * x * x)(3.0) == 6.0 * k

    threads = [threading.Thread(target=compiles, args=(float(k),)) for k in range(2)]
    for thread in threads:
        thread.start()
    try:
        for k in range(6):
            assert status_of(lambda: adc.grad(lambda x: x**3 + float(k))(2.0) == 12.0) == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_a_fork_while_the_same_thread_holds_a_lock() -> None:
    lock = forks.Lock()
    with lock:
        assert status_of(lambda: lock.__enter__() is None) == 0
    with lock, forks.held_off():
        pass
    assert not forks._holders and not forks._forking


def test_a_thread_that_works_for_one_with_locks() -> None:
    """A fork waits for both, and they not for the fork."""
    holding, worked, owner = threading.Event(), threading.Event(), threading.get_ident()

    def work() -> None:
        with forks.helping(owner), forks.Lock():
            worked.set()

    def hold() -> None:
        nonlocal owner
        owner = threading.get_ident()
        with forks.held_off():
            holding.set()
            while not forks._forking:
                time.sleep(0.001)
            helper = threading.Thread(target=work)
            helper.start()
            helper.join()

    thread = threading.Thread(target=hold)
    thread.start()
    assert holding.wait(60.0)
    assert status_of(worked.is_set) == 0
    thread.join()
    assert not forks._holders and not forks._forking and not forks._helped


def test_two_threads_that_hold_locks_and_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither waits for the other for ever, whatever locks hooks of other libraries take; in a child the lock of the
    other is free."""
    monkeypatch.setattr(forks, "_MOST_SECONDS", 2.0)
    locks, together, found = [forks.Lock(), forks.Lock()], threading.Barrier(2), []

    def run(mine: forks.Lock, other: forks.Lock) -> None:
        with mine:
            together.wait()
            found.append(status_of(lambda: other.__enter__() is None))

    threads = [threading.Thread(target=run, args=pair) for pair in (locks, locks[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [0, 0]
    assert not forks._holders and not forks._forking


@pytest.mark.parametrize("forks_before", [0, 1])
def test_locks_of_native_code_that_another_thread_holds(forks_before: int) -> None:
    """The lock of the arena of arrays, held when the process forks; in a child of a child, too."""
    x = np.linspace(0.0, 1.0, 1 << 15)
    f = jit_grad(lambda x: np.sin(x) * 2.0)
    f(x)
    arena = ctypes.c_void_p.from_address(runtime.address("adc_array_arena")).value
    assert arena is not None
    lock = ctypes.c_int32.from_address(arena + 12)

    def child() -> bool:
        if forks_before and lock.value == 1:
            f(x)
            lock.value = 2
            return status_of(child) == 0
        return bool(np.array_equal(f(x), np.sin(x) * 2.0) and np.array_equal(f(x), f(x)) and lock.value == 0)

    assert lock.value == 0
    lock.value = 1
    try:
        assert status_of(child) == 0
    finally:
        lock.value = 0


def slow(x: Any, n: int) -> Any:
    """Its reverse sweep reads a record, if it has more than one step, and takes a while if it has many."""
    for _ in range(n):
        x = x * np.cos(x)
    return x


def test_a_pullback_that_another_thread_runs() -> None:
    """In the child it is refused, for its record may be half done; what has no record, or ran elsewhere, goes on."""
    x = np.linspace(0.1, 0.9, 4)
    f = jit_grad(slow, threads=1)
    _, back = f.pullback(x, 1_000_000)
    _, other = f.pullback(x, 3)
    expected = other(np.ones(4))[0]
    running, thread = threading.Event(), threading.Thread(target=lambda: (running.set(), back(np.ones(4))))
    thread.start()
    assert running.wait(60.0)
    while thread.is_alive() and back._turn._lock.acquire(blocking=False):
        back._turn._lock.release()

    def child() -> bool:
        with pytest.raises(adc.AdcError, match="ran in another thread when this process was forked off"):
            back(np.ones(4))
        return bool(np.array_equal(other(np.ones(4))[0], expected) and np.array_equal(f(x, 3), slow(x, 3)))

    assert status_of(child) == 0
    thread.join()
    assert np.isfinite(back(np.ones(4))[0]).all()


def shifted(x: Any, y: Any) -> Any:
    """Linear: nothing is recorded. Views that overlap share a shadow, which the pullback keeps."""
    x[:] = 2.0 * y
    return x + y


def test_a_pullback_without_a_record_goes_on() -> None:
    x = np.linspace(0.1, 0.9, 4)
    _, back = jit_grad(shifted).pullback(x[:3], x[1:])
    assert not back._code.has_record
    expected = back(np.ones(3))
    there, go = threading.Event(), threading.Event()

    def hold() -> None:
        with back._turn:
            there.set()
            go.wait(60.0)

    def child() -> bool:
        return all(map(np.array_equal, back(np.ones(3)), expected))

    thread = threading.Thread(target=hold)
    thread.start()
    assert there.wait(60.0)
    assert status_of(child) == 0
    go.set()
    thread.join()
    assert status_of(child) == 0
