"""Containers of numbers and arrays as lists of leaves: taken apart, moved along a direction, multiplied.

Arrays that share memory also share it in copies and in directions; in sums, shared memory counts once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from adc.border import aliasing
from adc.frontend.forms import Form, build, form_of, items_of
from adc.ir.lazy_dataclass import dataclass

NDArray = np.ndarray[Any, Any]
Rebuild = Callable[[Sequence[Any]], Any]


@dataclass(frozen=True)
class _Node:
    form: Form
    parts: tuple[_Node | int, ...]


def flat(value: Any, like: Any = None) -> tuple[list[Any], Rebuild]:
    """The leaves of containers, and a function that rebuilds the containers from other leaves. ``like``: a value with
    the same containers, in which some may be None."""
    leaves: list[Any] = []
    return leaves, functools.partial(_rebuilt, _apart(value, like, leaves))


def _apart(value: Any, like: Any, leaves: list[Any]) -> _Node | int:
    """The containers, with positions in place of leaves; the leaves are appended to ``leaves``."""
    form = form_of(value if like is None else like)
    if form is None:
        leaves.append(value)
        return len(leaves) - 1
    models = items_of(like, form) if like is not None else [None] * len(items_of(value, form))
    parts = [None] * len(models) if value is None else items_of(value, form)
    return _Node(form, tuple(_apart(part, model, leaves) for part, model in zip(parts, models, strict=True)))


def _rebuilt(node: _Node | int, leaves: Sequence[Any]) -> Any:
    return (
        build(node.form, [_rebuilt(part, leaves) for part in node.parts]) if isinstance(node, _Node) else leaves[node]
    )


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same containers with other leaves."""
    leaves, rebuild = flat(value)
    return rebuild([change(leaf) for leaf in leaves])


def is_array(a: Any) -> bool:
    """Whether a leaf is an array of floats."""
    return isinstance(a, np.ndarray) and a.dtype.kind == "f"


def is_float(a: Any) -> bool:
    """Whether a leaf is a float or an array of floats, and so has derivatives."""
    return isinstance(a, float | np.floating) or is_array(a)


def is_single(leaves: Sequence[Any]) -> bool:
    """Whether any leaf has single precision."""
    return any(np.asarray(a).dtype == np.float32 for a in leaves if is_float(a))


def moved(leaves: Sequence[Any], direction: Sequence[Any], h: float) -> list[Any]:
    """Copies of the leaves, moved by a step along the direction; arrays share memory as before."""
    made: dict[int, Any] = {}
    for members in groups(leaves):
        names = {k: f"number {k}" for k in members}
        made.update(aliasing.laid_out_alike({k: leaves[k] for k in members}, copy=True, names=names))
    found = []
    for k, (a, d) in enumerate(zip(leaves, direction, strict=True)):
        if isinstance(a, np.ndarray):
            copy = made.get(k)
            copy = a.copy(order="K") if copy is None else copy
            if d is not None and h:
                copy[...] = a + h * d
            found.append(copy)
        else:
            found.append(type(a)(a + h * d) if d is not None and h else a)
    return found


def copied(leaves: Sequence[Any]) -> list[Any]:
    """Copies, which share memory as the leaves do."""
    return moved(leaves, [None] * len(leaves), 0.0)


def groups(leaves: Sequence[Any]) -> list[list[int]]:
    """Groups of positions of arrays that share elements (overlapping address ranges are not enough)."""
    numbers: Mapping[int, int] = aliasing.groups({k: a for k, a in enumerate(leaves) if isinstance(a, np.ndarray)})
    found: list[list[int]] = []
    for number in dict.fromkeys(numbers.values()):
        near = {k: leaves[k] for k, n in numbers.items() if n == number}
        found += [members for members in aliasing.joined(near, near) if len(members) > 1]
    return sorted(found)


def freed(leaves: Sequence[Any], sharing: Sequence[Sequence[int]]) -> list[Any]:
    """The leaves, with copies of the arrays that overlap others without sharing a shadow with them (``sharing``).

    Such arrays are only read, so derivatives are those for arrays that do not overlap.
    """
    together = {k for members in sharing if len(members) > 1 for k in members}
    alone = {k for members in groups(leaves) for k in members} - together
    return [a.copy(order="K") if k in alone else a for k, a in enumerate(leaves)]


def direction_of(leaves: Sequence[Any], random: Callable[[Any], Any]) -> list[Any]:
    """A random direction, leaf by leaf; arrays that share memory get windows on one direction."""
    found = [random(a) for a in leaves]
    for members in groups(leaves):
        arrays = {k: leaves[k] for k in members}
        shared = aliasing.laid_out_alike(arrays, copy=False, names={k: f"number {k}" for k in members})
        for k, window in shared.items():
            if found[k] is not None:
                window[...] = found[k]
        found = [shared.get(k, d) if d is not None else None for k, d in enumerate(found)]
    return found


def along(leaves: Sequence[Any], cotangents: Sequence[Any], direction: Sequence[Any]) -> float:
    """The inner product of cotangents of the leaves and a direction. Shared memory counts once."""
    total = 0.0
    grouped: set[int] = set()
    for members in groups(leaves):
        grouped |= set(members)
        if any(direction[k] is None for k in members):
            continue
        arrays = {k: leaves[k] for k in members}
        names = {k: f"number {k}" for k in members}
        whole, along = (aliasing.laid_out_alike(arrays, copy=False, names=names) for _ in range(2))
        for k in members:
            whole[k][...], along[k][...] = cotangents[k], direction[k]
        dtype = arrays[members[0]].dtype
        memory: list[Any] = [next(iter(views.values())).base for views in (whole, along)]
        total += float(np.dot(*(np.frombuffer(m, dtype).astype(float) for m in memory)))
    for k, (c, d) in enumerate(zip(cotangents, direction, strict=True)):
        if d is not None and k not in grouped:
            total += float(np.sum(np.asarray(c, float) * d))
    return total


def inner(weight: Any, value: Any, *, absolute: bool = False) -> float:
    """The inner product of weights (or None) and a value in the same containers; ``absolute``: of magnitudes."""
    weights = flat(weight)[0]
    values = flat(value, weight)[0]
    total = 0.0
    for w, v in zip(weights, values, strict=True):
        if w is not None and v is not None:
            terms = np.asarray(w, float) * v
            total += float(np.sum(np.abs(terms) if absolute else terms))
    return total


def equal(a: Any, b: Any, rtol: float) -> bool:
    """Whether two leaves have the same type and shape, and are equal within ``rtol`` of the largest element."""
    numeric = int | float | np.generic | np.ndarray
    if not isinstance(a, numeric) or not isinstance(b, numeric):
        return a is b or bool(a == b)
    x, y = np.asarray(a), np.asarray(b)
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    if rtol == 0.0 or x.dtype.kind != "f":
        return bool(np.array_equal(x, y, equal_nan=x.dtype.kind == "f"))
    tolerance = 1e-4 if x.dtype == np.float32 else rtol
    size = float(np.max(np.abs(y[np.isfinite(y)]), initial=0.0))
    return bool(np.allclose(x, y, rtol=tolerance, atol=tolerance * max(size, 1e-3), equal_nan=True))
