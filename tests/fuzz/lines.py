"""Writes a random program line by line."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager


class Lines:
    """The lines so far, and names that are not taken. All choices come from ``rng``."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.counter = 0
        self.lines: list[str] = []

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def fresh(self, prefix: str) -> str:
        self.counter += 1
        return f"{prefix}{self.counter}"

    def emit(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    @contextmanager
    def apart(self) -> Iterator[list[str]]:
        """What is written meanwhile is kept apart, in the list."""
        saved, self.lines = self.lines, []
        try:
            yield self.lines
        finally:
            self.lines = saved
