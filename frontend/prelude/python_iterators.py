"""``iter`` and ``next`` of containers. An iterator is an object of this class while the function is traced."""

from __future__ import annotations

from typing import Any

import numpy as np


class Iterator:
    """The items of a sequence from the position ``at`` on."""

    def __init__(self, items: Any) -> None:
        self.items = items
        self.at = 0

    def __iter__(self) -> Any:
        while self.at < len(self.items):
            self.at += 1
            yield self.items[self.at - 1]

    def __next__(self) -> Any:
        if self.at >= len(self.items):
            raise StopIteration
        self.at += 1
        return self.items[self.at - 1]


def iterator(items: Any, /) -> Any:
    if isinstance(items, Iterator):
        return items
    return Iterator(items if isinstance(items, (list, tuple, np.ndarray, range, str)) else list(items))


def following(source: Any, /) -> Any:
    return source.__next__()


def following_or(source: Any, default: Any, /) -> Any:
    if isinstance(source, Iterator):
        return following(source) if source.at < len(source.items) else default
    try:
        return following(source)
    except StopIteration:
        return default
