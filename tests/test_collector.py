"""The garbage collector is paused during compilation, and afterwards as it was."""

from __future__ import annotations

import gc
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
