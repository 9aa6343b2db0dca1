"""A small survey that workers import in tests of sums over shots."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Ground:
    speed: Any
    loss: float
    names: tuple[str, ...] = ("a",)


def shot(ground, steps, source, heard):  # type: ignore[no-untyped-def]
    """The misfit of a string that is hit at one place."""
    u, old = np.zeros(len(ground.speed)), np.zeros(len(ground.speed))
    total = 0.0
    for t in range(steps):
        new = (2.0 - ground.loss) * u - (1.0 - ground.loss) * old
        new[1:-1] += ground.speed[1:-1] ** 2 * (u[:-2] - 2.0 * u[1:-1] + u[2:])
        new[source] += np.exp(-((t - 3.0) ** 2))
        total += (new[1] - heard[t]) ** 2
        u, old = new, u
    return total


def survey(count: int) -> tuple[tuple[Ground, int], list[tuple[int, Any]]]:
    """Model and shots."""
    rng = np.random.default_rng(7)
    model = Ground(0.4 + 0.2 * rng.random(12), 0.01), 9
    return model, [(int(rng.integers(1, 11)), rng.random(9)) for _ in range(count)]


def one(x: float) -> float:
    return x * x


def fails(x, n):  # type: ignore[no-untyped-def]
    if n == 2:
        raise ValueError("not this one")
    return x * n


class Deaf(Exception):
    """Cannot be made again from its arguments alone."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one)


def killed_once(file: str, task: Any) -> Any:
    """Run a task; the process is killed if there is a file, which is deleted."""
    from adc.shots import parcels

    try:
        os.unlink(file)
    except FileNotFoundError:
        return parcels.run(task)
    os.kill(os.getpid(), signal.SIGKILL)
    return None
