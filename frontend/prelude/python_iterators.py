"""``iter`` and ``next`` of containers. An iterator is an object of this class while the function is traced."""

from __future__ import annotations

from typing import Any

import numpy as np

EXHAUSTED = 2**62  # the position of an iterator that has come to its end: what is appended later is not gone through


class Iterator:
    """The items of a sequence from the position ``at`` on; of a dict those of ``source``, which keeps its size."""

    def __init__(self, items: Any, source: Any) -> None:
        self.items = items
        self.source = source
        self.size = len(source)
        self.at = 0

    def __iter__(self) -> Any:
        while self.has_more():
            self.at += 1
            yield self.items[self.at - 1]

    def __next__(self) -> Any:
        if not self.has_more():
            raise StopIteration
        self.at += 1
        return self.items[self.at - 1]

    def has_more(self) -> Any:
        if len(self.source) != self.size:
            raise RuntimeError("dictionary changed size during iteration")
        if self.at < len(self.items):
            return True
        self.at = EXHAUSTED
        return False


def iterator(items: Any, /) -> Any:
    if isinstance(items, (list, tuple, np.ndarray, range, str)):
        return Iterator(items, ())
    return Iterator(list(items), items if isinstance(items, dict) else ())


def following(source: Any, /) -> Any:
    return source.__next__()


def following_or(source: Any, default: Any, /) -> Any:
    if isinstance(source, Iterator):
        return source.__next__() if source.has_more() else default
    try:
        return following(source)
    except StopIteration:
        return default


def exhausted() -> Any:
    raise StopIteration
