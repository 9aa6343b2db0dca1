"""Snapshots in files: the same bits, little memory, and nothing left behind."""

from __future__ import annotations

import gc
import itertools
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adc
from adc import errors, jit_grad
from tests.checkpointing.test_gradients import PROGRAMS, arguments, bits, copied, growth, heat

pytestmark = pytest.mark.usefixtures("stages")

ON_DISK = ["revolve:1,disk:3", "revolve:3,disk:100", "every:2,disk"]


def files_open() -> int:
    """Files without a name that this process has open."""
    links = (Path(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd"))
    return sum("adc-" in os.readlink(link) for link in links if link.is_symlink())


on_linux = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="asks the system which files are open")


PULLED = dict(zip(["heat", "wave", "bodies", "recurrent", "two_loops"], itertools.cycle(ON_DISK), strict=False))


@pytest.mark.parametrize("name", PULLED)
def test_the_bits_of_storing_all(name: str) -> None:
    """By each schedule; pullbacks by one of them, another for each program."""
    function, _, argnums = PROGRAMS[name]
    args = arguments(name)
    stored = jit_grad(function, argnums=argnums, checkpoint="store-all")
    for schedule in ON_DISK:
        compiled = jit_grad(function, argnums=argnums, checkpoint=schedule)
        for n in (0, 1, 2, 9):
            expected = stored.value_and_grad(*copied(args), n)
            assert bits(*compiled.value_and_grad(*copied(args), n)) == bits(*expected), (schedule, n)
            if schedule == PULLED[name]:
                value, back = compiled.pullback(*copied(args), n)
                for _ in range(2):
                    pulled = back(1.0)
                    assert bits(value, [pulled[k] for k in argnums]) == bits(*expected), (schedule, n)


def test_second_derivatives() -> None:
    args = arguments("heat")
    tangents = (np.random.default_rng(3).standard_normal(args[0].shape), None, None)

    def product(schedule: str) -> Any:
        return adc.hvp(jit_grad(heat, checkpoint=schedule), (*copied(args), 7), tangents)

    expected = product("store-all")
    for schedule in ON_DISK:
        assert product(schedule).tobytes() == expected.tobytes()


def test_the_interpreter_agrees() -> None:
    args = arguments("heat")
    found, expected = (
        jit_grad(heat, checkpoint=adc.revolve(2, disk=2), _engine=engine).grad(*copied(args), 7)
        for engine in ("interpreter", "native")
    )
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@on_linux
def test_files_have_no_names_and_end_with_the_record(tmp_path: Path) -> None:
    before = files_open()
    compiled = jit_grad(heat, checkpoint=adc.revolve(1, disk=50, directory=tmp_path))
    _, back = compiled.pullback(*arguments("heat"), 9)
    held = files_open()
    assert held > before and os.listdir(tmp_path) == []
    back(1.0)
    assert files_open() == held
    del back
    gc.collect()
    assert files_open() == before
    compiled.grad(*arguments("heat"), 9)
    assert files_open() == before


@on_linux
def test_files_end_with_an_error() -> None:
    def f(u, n):
        for t in range(n):
            for i in range(1, len(u)):
                u[i] = np.sin(u[i]) * u[i - 1]
            if t == 30:
                raise ValueError("enough")
        return np.sum(u)

    before = files_open()
    compiled = jit_grad(f, checkpoint=adc.every(2, disk=True))
    with pytest.raises(ValueError, match="enough"):
        compiled.grad(np.ones(4), 50)
    assert files_open() == before
    assert compiled.grad(np.ones(4), 5).tobytes() == jit_grad(f, checkpoint="every:2").grad(np.ones(4), 5).tobytes()


def test_a_disk_that_is_full_and_a_directory_that_is_not_there(tmp_path: Path) -> None:
    u, many = np.ones((20, 20)), 1 << 42
    compiled = jit_grad(heat, checkpoint=adc.every(1, disk=True, directory=tmp_path))
    with pytest.raises(errors.FileError, match=rf"{tmp_path}: there is not so much room") as caught:
        compiled.grad(u, 0.01, many)
    assert isinstance(caught.value, OSError) and os.listdir(tmp_path) == []
    assert np.all(u == 1.0)
    with pytest.raises(errors.FileError, match="there is no such directory"):
        jit_grad(heat, checkpoint=adc.revolve(1, disk=9, directory=tmp_path / "none")).grad(u, 0.01, 20)


def test_loops_of_unknown_length_stay_in_memory() -> None:
    def f(u):
        while u[0] < 5.0:
            for i in range(len(u)):
                u[i] = 0.1 * np.sin(u[i]) + 1.5 * u[i]
        return np.sum(u)

    with pytest.raises(errors.DifferentiationError, match=r"nothing to act on.*cannot be on disk"):
        jit_grad(f, checkpoint="revolve:2,disk:3").grad(np.ones(3))
    found = jit_grad(f, checkpoint="revolve:2").grad(np.ones(3))
    np.testing.assert_allclose(found, jit_grad(f).grad(np.ones(3)), rtol=1e-13)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: adc.revolve(3, disk=-1), "disk must be at least 0"),
        (lambda: adc.revolve(3, disk=1.5), "disk must be an int"),
        (lambda: adc.every(3, disk=2), "disk must be True or False"),
        (lambda: adc.revolve(3, directory="/tmp"), "there are none"),
        (lambda: jit_grad(heat, checkpoint="revolve:3,disk"), "checkpoint cannot be"),
        (lambda: jit_grad(heat, checkpoint="every:3,disk:2"), "checkpoint cannot be"),
    ],
)
def test_wrong_options(make: Any, message: str) -> None:
    with pytest.raises(errors.AdcError, match=message):
        make()


@on_linux
def test_what_is_on_disk_is_not_in_memory() -> None:
    assert growth("revolve:2,disk:1000") < 24.0
