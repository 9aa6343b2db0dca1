"""Locks beside entries of the cache: one process compiles, others wait; nobody waits for a dead process."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from adc import jit_grad
from adc.backend import cache_locks, object_cache, optimize
from adc.persistent import records

NAME = "ab" + 62 * "0"


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("ADC_CACHE", "1")
    monkeypatch.setenv("ADC_CACHE_DIR", str(tmp_path / "kept"))
    return tmp_path / "kept"


def lock_files(folder: Path) -> list[str]:
    return [path.name for path in folder.glob(f"??/*{object_cache.LOCK}")]


HOLDER = """
import fcntl, os, sys, time
number = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(number, fcntl.LOCK_EX)
print("locked", flush=True)
time.sleep(60)
"""


@pytest.fixture
def holder(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the lock."""
    with object_cache.opened_directory(NAME, make=True):
        path = folder / NAME[:2] / (NAME[2:] + object_cache.LOCK)
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "locked\n"
        yield process
        process.kill()


def test_a_lock_is_gone_afterwards(folder: Path) -> None:
    with cache_locks.held(NAME) as waited:
        assert not waited and len(lock_files(folder)) == 1
    assert lock_files(folder) == []


def test_what_a_thread_holds_it_does_not_wait_for() -> None:
    with cache_locks.held(NAME), cache_locks.held(NAME) as waited:
        assert not waited
    with cache_locks.held(NAME), cache_locks.held("cd" + NAME[2:], outermost=True) as waited:
        assert not waited


def test_a_second_thread_waits() -> None:
    order: list[str] = []
    inside = threading.Event()

    def first() -> None:
        with cache_locks.held(NAME):
            inside.set()
            time.sleep(0.1)
            order.append("first")

    thread = threading.Thread(target=first)
    thread.start()
    inside.wait()
    with cache_locks.held(NAME) as waited:
        order.append("second")
    thread.join()
    assert waited and order == ["first", "second"]


def test_killed_processes_hold_nothing(folder: Path, holder: subprocess.Popen[str]) -> None:
    threading.Timer(0.1, holder.send_signal, [signal.SIGKILL]).start()
    start = time.monotonic()
    with cache_locks.held(NAME) as waited:
        assert waited and 0.05 < time.monotonic() - start < 10.0
    assert lock_files(folder) == []


def test_stopped_processes_are_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, folder: Path, holder: subprocess.Popen[str]
) -> None:
    monkeypatch.setattr(cache_locks, "_MOST", 0.1)
    holder.send_signal(signal.SIGSTOP)
    with cache_locks.held(NAME):
        assert len(lock_files(folder)) == 1  # still its own


def test_what_a_killed_process_left_is_taken(folder: Path) -> None:
    with object_cache.opened_directory(NAME, make=True):
        (folder / NAME[:2] / (NAME[2:] + object_cache.LOCK)).touch(0o600)
    with cache_locks.held(NAME) as waited:
        assert not waited
    assert lock_files(folder) == []
    with object_cache.opened_directory(NAME, make=True):
        (folder / NAME[:2] / (NAME[2:] + object_cache.LOCK)).touch(0o600)
    assert object_cache.clear() == 0 and lock_files(folder) == []


def test_without_a_cache_nothing_is_locked(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("ADC_CACHE", "0")
    with cache_locks.held(NAME) as waited:
        assert not waited and not folder.exists()


def test_where_nothing_can_be_written_nothing_is_locked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ADC_CACHE_DIR", str(tmp_path / "file"))
    with cache_locks.held(NAME) as waited:
        assert not waited


def curve(a, k):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(len(a)):
        total += np.sin(k * a[i]) * a[i]
    return total


def compiled(start, found) -> None:  # type: ignore[no-untyped-def]
    """In a forked process: how often LLVM ran, and what came out."""
    original, runs = optimize._run_pipeline, list[int]()
    optimize._run_pipeline = lambda *args: runs.append(1) or original(*args)  # type: ignore[assignment, func-returns-value]
    start.wait()
    value = jit_grad(curve).grad(np.linspace(0.0, 1.0, 7), 1.5)
    found.put((len(runs), value.tobytes()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_of_processes_that_start_together_one_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "enabled", True)
    context = multiprocessing.get_context("fork")
    start, found = context.Barrier(3), context.Queue()
    processes = [context.Process(target=compiled, args=(start, found)) for _ in range(3)]
    for process in processes:
        process.start()
    answers = sorted(found.get(timeout=60) for _ in processes)
    for process in processes:
        process.join()
    assert [runs for runs, _ in answers][:2] == [0, 0] and answers[2][0] > 0
    assert len({value for _, value in answers}) == 1
