"""Containers taken apart into the numbers and arrays in them, and put together again.

A *tree* describes the structure: it is made of nested tuples, hashable, and equal for arguments of equal structure.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

Tree = tuple[Any, ...]
LEAF: Tree = ("leaf",)


def flatten(value: Any, is_leaf: Callable[[Any], bool]) -> tuple[list[Any], Tree]:
    """The leaves of tuples, lists, dicts and dataclasses, and the tree. Everything else that is not a leaf is part of
    the tree."""
    leaves: list[Any] = []

    def tree(part: Any) -> Tree:
        if is_leaf(part):
            leaves.append(part)
            return LEAF
        if isinstance(part, tuple | list):
            return ("sequence", type(part), tuple(tree(item) for item in part))
        if isinstance(part, dict):
            return ("dict", type(part), tuple(part), tuple(tree(item) for item in part.values()))
        if dataclasses.is_dataclass(part) and not isinstance(part, type):
            names = tuple(field.name for field in dataclasses.fields(part))
            return ("record", type(part), names, tuple(tree(getattr(part, name)) for name in names))
        return ("constant", _Constant(part))

    found = tree(value)
    return leaves, found


def unflatten(tree: Tree, leaves: Sequence[Any]) -> Any:
    """The value with these leaves."""
    rest = iter(leaves)

    def value(part: Tree) -> Any:
        kind = part[0]
        if kind == "leaf":
            return next(rest)
        if kind == "constant":
            return part[1].value
        items = [value(item) for item in part[-1]]
        if kind == "sequence":
            cls = part[1]
            return cls(*items) if hasattr(cls, "_fields") else cls(items)
        named = dict(zip(part[2], items, strict=True))
        return part[1](named) if kind == "dict" else part[1](**named)

    return value(tree)


def places(tree: Tree, of: str) -> Iterator[str]:
    """Python expressions for the leaves of the value of the expression ``of``."""
    kind = tree[0]
    if kind == "leaf":
        yield of
    elif kind == "sequence":
        for k, item in enumerate(tree[2]):
            yield from places(item, f"{of}[{k}]")
    elif kind in ("dict", "record"):
        for name, item in zip(tree[2], tree[3], strict=True):
            yield from places(item, f"{of}[{name!r}]" if kind == "dict" else f"{of}.{name}")


def flat_tree(count: int) -> Tree:
    """The tree of a tuple of ``count`` leaves."""
    return ("sequence", tuple, (LEAF,) * count)


class _Constant:
    """An object that is not a leaf; compared by value where Python can, else by identity."""

    def __init__(self, value: Any) -> None:
        self.value = value
        try:
            self._key: Any = (type(value), value, hash(value))
        except TypeError:
            self._key = id(value)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Constant) and (self.value is other.value or bool(self._key == other._key))


def is_number(value: Any) -> bool:
    """Whether a value is a number or a NumPy array, as compiled functions take and return them."""
    return isinstance(value, np.ndarray | np.generic | bool | int | float | complex)
