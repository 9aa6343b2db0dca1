"""The garbage collector is paused during compilation, and afterwards as it was."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading

import pytest

import adc
from adc.driver.collector import paused


def test_it_waits_for_the_last_of_all_threads() -> None:
    assert gc.isenabled()
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with paused():
            inside.set()
            leave.wait()

    thread = threading.Thread(target=other)
    with paused():
        thread.start()
        inside.wait()
        assert not gc.isenabled()
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_it_stays_off_where_it_was() -> None:
    gc.disable()
    try:
        with paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_it_is_on_after_compiling_and_after_an_error() -> None:
    assert adc.jit_grad(lambda x: x * x).grad(1.5) == 3.0
    assert gc.isenabled()
    with pytest.raises(adc.AdcError):
        adc.jit_grad(lambda x: {x})(1.5)
    assert gc.isenabled()


SET_ASIDE = """
import gc

from adc.driver import collector


def pair():
    both = [None], []
    both[0][0] = both
    both[1].append(both)


class Seen:
    pass


def compile(objects):
    with collector.paused():
        seen = Seen()
        seen.itself = seen
        for _ in range(objects // 3):
            pair()
    begun.append(gc.get_count()[0])


begun, runs = [], []
gc.collect()
gc.callbacks.append(lambda phase, info: runs.append(info["generation"]) if phase == "start" else None)
compile(60_000)
assert not runs and begun[-1] < 700 and any(isinstance(o, Seen) for o in gc.get_objects(2)), (runs, begun)
for _ in range(7):
    compile(60_000)
assert not runs, runs
compile(60_000)  # now there are many
assert runs == [2] and sum(isinstance(o, Seen) for o in gc.get_objects()) == 1, runs  # the last is still in use
compile(1_000_000)  # at once: they are collected while they are new
assert runs[:2] == [2, 0], runs
gc.freeze()
frozen = gc.get_freeze_count()
compile(60_000)
assert gc.get_freeze_count() == frozen > 0
"""


def test_new_objects_are_set_aside_until_there_are_many() -> None:
    subprocess.run([sys.executable, "-c", SET_ASIDE], check=True)
