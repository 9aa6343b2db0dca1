"""Dicts with keys that the run computes: what stands for ``dict``, ``collections.defaultdict`` and ``Counter``.

They are objects of these classes while the function is traced. A ``Dict`` has its keys and its values in two lists, in
the order in which they came; a key is found by looking at all of them. The other two have a dict, which is a ``Dict``
only in programs that compute the keys.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any, ClassVar

from adc.frontend.prelude.python_collections import Held

_NOTHING = object()


class Keys(Held):
    """What ``keys()`` and ``values()`` give: the list is the dict's own."""

    stands_for: ClassVar[type] = type({}.keys())

    def __init__(self, items: Any) -> None:
        self.items = items


class Values(Keys):
    stands_for: ClassVar[type] = type({}.values())


class Pairs(Held):
    """What ``items()`` gives. Going through it is going through the two lists of the dict."""

    stands_for: ClassVar[type] = type({}.items())

    def __init__(self, names: Any, held: Any) -> None:
        self.names = names
        self.held = held

    def __len__(self) -> Any:
        return len(self.names)

    def __contains__(self, pair: Any) -> Any:
        return any(pair[0] == name and pair[1] == x for name, x in zip(self.names, self.held))


def place_of(names: Any, key: Any) -> Any:
    """The number of a key, -1 if there is none like it."""
    for k in range(len(names)):
        if names[k] == key:
            return k
    return -1


def _missing(key: Any) -> None:
    if isinstance(key, tuple):
        raise KeyError(f"{key}")
    raise KeyError(key)


class Dict(Held):
    stands_for: ClassVar[type] = dict
    within: ClassVar[str] = "names"

    def __init__(self, names: Any, held: Any) -> None:
        self.names = names
        self.held = held

    def __len__(self) -> Any:
        return len(self.names)

    def __contains__(self, key: Any) -> Any:
        return key in self.names

    def __getitem__(self, key: Any) -> Any:
        if key not in self.names:
            _missing(key)
        return self.held[self.names.index(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        if key in self.names:
            self.held[self.names.index(key)] = value
        else:
            self.names.append(key)
            self.held.append(value)

    def __delitem__(self, key: Any) -> None:
        self.pop(key)

    def get(self, key: Any, default: Any = None) -> Any:
        if key in self.names:
            default = self.held[self.names.index(key)]
        return default

    def pop(self, key: Any, default: Any = _NOTHING) -> Any:
        if default is _NOTHING:
            if key not in self.names:
                _missing(key)
            at = self.names.index(key)
            self.names.pop(at)
            return self.held.pop(at)
        if key in self.names:
            at = self.names.index(key)
            self.names.pop(at)
            default = self.held.pop(at)
        return default

    def popitem(self) -> Any:
        if len(self.names) == 0:
            raise KeyError("popitem(): dictionary is empty")
        return self.names.pop(), self.held.pop()

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self.names:
            self.names.append(key)
            self.held.append(default)
        return self.held[self.names.index(key)]

    def update(self, other: Any = (), /, **more: Any) -> None:
        if isinstance(other, dict):
            for key, value in other.items():
                self[key] = value
        else:
            for key, value in other:
                self[key] = value
        for key, value in more.items():
            self[key] = value

    def clear(self) -> None:
        self.names.clear()
        self.held.clear()

    def copy(self) -> Any:
        return Dict(self.names.copy(), self.held.copy())

    def keys(self) -> Any:
        return Keys(self.names)

    def values(self) -> Any:
        return Values(self.held)

    def items(self) -> Any:
        return Pairs(self.names, self.held)

    def __or__(self, other: Any) -> Any:
        made = self.copy()
        made.update(other)
        return made

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self

    def __eq__(self, other: Any) -> Any:
        if not isinstance(other, dict) or len(self) != len(other):
            return False
        return all(name in other and other[name] == x for name, x in zip(self.names, self.held))


def fill_keys(made: Any, names: Any, value: Any) -> None:
    for name in names:
        made[name] = value


class _OfDict(Held):
    """What has its items in a dict that is an attribute."""

    within: ClassVar[str] = "held"
    held: Any

    def __contains__(self, key: Any) -> Any:
        return key in self.held

    def __len__(self) -> Any:
        return len(self.held)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.held[key] = value

    def __delitem__(self, key: Any) -> None:
        self.held.pop(key)

    def get(self, key: Any, default: Any = None) -> Any:
        return self.held.get(key, default)

    def pop(self, key: Any, default: Any = _NOTHING) -> Any:
        return self.held.pop(key) if default is _NOTHING else self.held.pop(key, default)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        return self.held.setdefault(key, default)

    def clear(self) -> None:
        self.held.clear()

    def keys(self) -> Any:
        return self.held.keys()

    def values(self) -> Any:
        return self.held.values()

    def items(self) -> Any:
        return self.held.items()

    def __eq__(self, other: Any) -> Any:
        return isinstance(other, dict) and self.held == _plain(other)


def _plain(other: Any) -> Any:
    if isinstance(other, (collections.defaultdict, collections.Counter)):
        return other.held  # type: ignore[union-attr]
    return other


class DefaultDict(_OfDict):
    stands_for: ClassVar[type] = collections.defaultdict

    def __init__(self, held: Any, factory: Callable[[], Any] | None = None) -> None:
        self.held = held
        self.default_factory = factory

    def __getitem__(self, key: Any) -> Any:
        if self.default_factory is None:
            return self.held[key]
        if key not in self.held:
            self.held[key] = self.default_factory()
        return self.held[key]

    def update(self, other: Any = (), /, **more: Any) -> None:
        self.held.update(_plain(other), **more)

    def copy(self) -> Any:
        return DefaultDict(self.held.copy(), self.default_factory)


class Counter(_OfDict):
    stands_for: ClassVar[type] = collections.Counter

    def __init__(self, held: Any, iterable: Any = None, **more: Any) -> None:
        self.held = held
        self.update(iterable, **more)

    def __getitem__(self, key: Any) -> Any:
        return self.held.get(key, 0)

    def update(self, iterable: Any = None, /, **more: Any) -> None:
        if iterable is not None:
            if isinstance(iterable, dict):
                for key, value in iterable.items():
                    self.held[key] = self.held.get(key, 0) + value
            else:
                for key in iterable:
                    self.held[key] = self.held.get(key, 0) + 1
        for key, value in more.items():
            self.held[key] = self.held.get(key, 0) + value

    def subtract(self, iterable: Any = None, /, **more: Any) -> None:
        if iterable is not None:
            if isinstance(iterable, dict):
                for key, value in iterable.items():
                    self.held[key] = self.held.get(key, 0) - value
            else:
                for key in iterable:
                    self.held[key] = self.held.get(key, 0) - 1
        for key, value in more.items():
            self.held[key] = self.held.get(key, 0) - value

    def total(self) -> Any:
        return sum(self.held.values())

    def most_common(self, n: Any = None) -> Any:
        ordered = sorted(self.held.items(), key=_count_of, reverse=True)
        return ordered if n is None else ordered[: max(n, 0)]

    def __delitem__(self, key: Any) -> None:
        self.held.pop(key, 0)

    def __eq__(self, other: Any) -> Any:
        if not isinstance(other, collections.Counter):
            return isinstance(other, dict) and self.held == _plain(other)
        if not all(other[key] == x for key, x in self.held.items()):  # a key that one has not is counted 0 times
            return False
        return all(self[key] == x for key, x in _plain(other).items())

    def copy(self) -> Any:
        return Counter(self.held.copy())


def _count_of(pair: Any) -> Any:
    return pair[1]


def is_of_dict(cls: type) -> bool:
    """Whether what ``cls`` is of has a dict as its first attribute."""
    return issubclass(cls, _OfDict)


def is_dict_like(cls: object) -> bool:
    """Whether ``cls`` stands for a class of dicts."""
    return isinstance(cls, type) and issubclass(cls, Dict | _OfDict)


def fill_dict(made: Any, cls: type, parts: dict[Any, Any]) -> None:
    """Give a dict, which a program gets, what an object of ``cls`` with these attributes holds."""
    if cls is Dict:
        made.update(zip(parts["names"], parts["held"], strict=True))
    else:
        made.update(parts["held"])
    if cls is DefaultDict:
        made.default_factory = parts["default_factory"]


for _cls in (Keys, Values, Pairs, Dict, DefaultDict, Counter):  # as messages call them
    _cls.__name__ = _cls.stands_for.__name__
