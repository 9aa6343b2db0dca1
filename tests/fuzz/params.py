"""Parameters of random programs: numbers, arrays, and containers of them.

Arguments are kept as a flat list of *leaves* (floats, ints, arrays, the text of constants); each run builds its own
containers of them, with the classes of its module, and reads them back afterwards.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.fuzz.expressions import Arr, Int

Values = list[Any]


@dataclass(frozen=True)
class Choice:
    """One of some constants, known when the program is traced. The leaf is its text."""

    name: str
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Maybe:
    """A float or None."""

    name: str


@dataclass(frozen=True)
class Group:
    """A container. ``kind``: tuple, list, dict, or class, then ``cls`` is its name. ``items`` are by field or key."""

    name: str
    kind: str
    items: tuple[tuple[str, Spec], ...]
    cls: str = ""
    constant: bool = False  # its items cannot be assigned


Spec = str | Arr | Int | Choice | Maybe | Group


def name_of(spec: Spec) -> str:
    return spec if isinstance(spec, str) else spec.name


def flat(specs: Sequence[Spec]) -> list[Any]:
    """The leaves of some parameters."""
    found: list[Any] = []
    for spec in specs:
        found += flat([item for _, item in spec.items]) if isinstance(spec, Group) else [spec]
    return found


def build(specs: Sequence[Spec], leaves: Values, namespace: dict[str, Any]) -> Values:
    """The arguments made of these leaves."""
    rest = iter(leaves)
    made = [_build(spec, rest, namespace) for spec in specs]
    assert next(rest, rest) is rest
    return made


def _build(spec: Spec, rest: Iterator[Any], namespace: dict[str, Any]) -> Any:
    if isinstance(spec, Choice):
        return eval(next(rest), dict(namespace))
    if not isinstance(spec, Group):
        return next(rest)
    items = {label: _build(item, rest, namespace) for label, item in spec.items}
    if spec.kind == "dict":
        return items
    if spec.kind == "class":
        return namespace[spec.cls](**items)
    return tuple(items.values()) if spec.kind == "tuple" else list(items.values())


def read(specs: Sequence[Spec], made: Sequence[Any], like: Sequence[Any]) -> Values:
    """The leaves of arguments, or of gradients: these have the containers of the arguments ``like``."""
    found: Values = []
    for spec, value, other in zip(specs, made, like, strict=True):
        if isinstance(spec, Choice):
            found.append(None)
        elif not isinstance(spec, Group):
            found.append(value)
        else:
            assert type(value) is type(other), f"{spec.name}: {type(value)}, not {type(other)}"
            found += read([item for _, item in spec.items], _items(spec, value), _items(spec, other))
    return found


def _items(spec: Group, value: Any) -> Values:
    if spec.kind == "class":
        return [getattr(value, label) for label, _ in spec.items]
    if spec.kind == "dict":
        assert list(value) == [label for label, _ in spec.items]
        return list(value.values())
    return list(value)


def arguments(specs: Sequence[Spec], rng: random.Random, *, overlap: bool) -> Values:
    """Random leaves; now and then two arrays are windows on one, if they may ``overlap``."""
    leaves = flat(specs)
    values = [_leaf(leaf, rng) for leaf in leaves]
    if overlap:
        _overlap(leaves, values, rng)
    return values


def _leaf(leaf: Any, rng: random.Random) -> Any:
    if isinstance(leaf, str):
        return rng.uniform(-1.3, 1.3)
    if isinstance(leaf, Maybe):
        return None if rng.random() < 0.4 else rng.uniform(-1.3, 1.3)
    if isinstance(leaf, Choice):
        return rng.choice(leaf.texts)
    if isinstance(leaf, Int):
        return rng.randint(leaf.low, leaf.high)
    if leaf.ints:
        return np.array([rng.randint(-3, 3) for _ in range(leaf.shape[0])], np.int64)
    dtype = np.float32 if leaf.single else np.float64
    made = np.empty(leaf.shape, dtype, order="F" if rng.random() < 0.2 else "C")
    for at in np.ndindex(*leaf.shape):
        made[at] = rng.uniform(-1.3, 1.3)
    return made


def _overlap(leaves: Sequence[Any], values: Values, rng: random.Random) -> None:
    pairs = [
        (i, j)
        for i, p in enumerate(leaves)
        for j, q in enumerate(leaves[:i])
        if isinstance(p, Arr) and isinstance(q, Arr) and len(p.shape) == len(q.shape) == 1
        and not (p.ints or q.ints) and p.single == q.single
    ]
    if not pairs or rng.random() > 0.15:
        return
    i, j = rng.choice(pairs)
    n, m = values[i].shape[0], values[j].shape[0]
    shift = rng.randint(0, 2)
    base = np.array([rng.uniform(-1.3, 1.3) for _ in range(max(n, m + shift))], values[i].dtype)
    values[i], values[j] = base[:n], base[shift : shift + m]
