"""Least fixed points, computed on demand: properties of functions that may call each other in cycles, or code built for
them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
_NONE = 1 << 62


class Fixpoint(Generic[K, V]):
    """``fixpoint(key)`` is what ``compute(key)`` gives, where ``compute`` asks for other keys in the same way.

    A key that is asked for while it is being computed has the value found so far, ``bottom(key)`` at first; it is then
    computed again until its value no longer changes. ``compute`` must be monotone in the values that it gets, over
    values that cannot grow for ever. Keys that were computed meanwhile from values that were not final are computed
    again when asked for.
    """

    def __init__(self, compute: Callable[[K], V], bottom: Callable[[K], V]) -> None:
        self._compute = compute
        self._bottom = bottom
        self._values: dict[K, V] = {}
        self._settled: set[K] = set()
        self._active: dict[K, int] = {}  # with the depth of each in the chain of requests
        self._lowest: list[int] = []  # per active key: the outermost active one that it depends on

    def __call__(self, key: K) -> V:
        if key in self._settled:
            return self._values[key]
        place = self._active.get(key)
        if place is not None:
            self._lowest[-1] = min(self._lowest[-1], place)
            return self._values[key]
        return self._solve(key)

    def _solve(self, key: K) -> V:
        place = self._active[key] = len(self._lowest)
        self._lowest.append(_NONE)
        self._values.setdefault(key, self._bottom(key))
        lowest = _NONE
        try:
            while True:
                found = self._compute(key)
                stable = found == self._values[key]
                self._values[key] = found
                lowest = self._lowest[place]
                if stable or lowest > place:
                    break
        finally:
            del self._active[key]
            self._lowest.pop()
        if lowest >= place:
            self._settled.add(key)
        else:
            self._lowest[-1] = min(self._lowest[-1], lowest)
        return self._values[key]


class Builder(Generic[K, V]):
    """Like ``Fixpoint``, but computing a value also builds something, by the values that others are assumed to have.

    ``build(key, assumed)`` builds under an assumption, at first ``first(key)``, and returns the value that results,
    which is no smaller. If it differs, ``key`` is built again. What was built meanwhile under a wrong assumption is
    undone by ``forget``. What was built for ``key`` itself is replaced by the later ``build(key, ...)``.
    """

    def __init__(
        self, first: Callable[[K], V], build: Callable[[K, V], V], forget: Callable[[K], None]
    ) -> None:
        self._first = first
        self._build = build
        self._forget = forget
        self._values: dict[K, V] = {}
        self._settled: set[K] = set()
        self._active: dict[K, int] = {}
        self._lowest: list[int] = []  # per active key: the outermost active one whose assumption it depends on
        self._provisional: dict[K, int] = {}  # built, and the outermost active key that it depends on

    @property
    def active(self) -> Iterable[K]:
        """What is being built, from the outermost inwards."""
        return self._active.keys()

    def is_settled(self, key: K) -> bool:
        """Whether what was built for ``key`` stays."""
        return key in self._settled

    def __call__(self, key: K) -> V:
        """The value of ``key``: final, or assumed while something that it depends on is being built."""
        if key in self._settled:
            return self._values[key]
        place = self._active.get(key, self._provisional.get(key))
        if place is not None:
            self._lowest[-1] = min(self._lowest[-1], place)
            return self._values[key]
        return self._solve(key)

    def _solve(self, key: K) -> V:
        if key not in self._values:
            self._values[key] = self._first(key)
        place = self._active[key] = len(self._lowest)
        self._lowest.append(_NONE)
        before = len(self._provisional)
        lowest = _NONE
        try:
            while True:
                assumed = self._values[key]
                found = self._build(key, assumed)
                lowest = self._lowest[place]
                if found == assumed or lowest > place:
                    break
                self._undo(before)
                self._values[key] = found
        except BaseException:
            self._undo(before)
            raise
        finally:
            del self._active[key]
            self._lowest.pop()
        self._values[key] = found
        if lowest >= place:
            for late in list(self._provisional)[before:]:
                del self._provisional[late]
                self._settled.add(late)
            self._settled.add(key)
        else:
            self._provisional[key] = lowest
            self._lowest[-1] = min(self._lowest[-1], lowest)
        return found

    def _undo(self, before: int) -> None:
        """Forget what was built under a wrong assumption. The values found remain, as the next starting points."""
        for late in list(self._provisional)[before:]:
            del self._provisional[late]
            self._forget(late)
