"""Gather and scatter: elements at places along the middle one of three axes, and sums of elements by their places. Both
are linear, and each is the transpose of the other. A place below zero stands for no element."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import compiled_once, forward_rule, reverse_rule


def taken(x: Any, places: Any) -> Any:
    """The elements of an array at ``places``, counted along the middle axis; zeros for places below zero."""
    if x.dtype.kind == "f":
        return floats_at(x, places)
    return _at(x, places) if x.dtype.kind == "c" else others_at(x, places)


def floats_at(x: Any, places: Any) -> Any:
    """``taken`` for floats."""
    return _at(x, places)


@compiled_once
def others_at(x: Any, places: Any) -> Any:
    """``taken`` for integers."""
    return _at(x, places)


def added_up(g: Any, places: Any, n: Any) -> Any:
    """Sums of floats along the middle axis: ``n`` sums, each of the elements with its place."""
    return _added_up(g, places, n)


@compiled_once
def others_added_up(g: Any, places: Any, n: Any) -> Any:
    """The same for integers."""
    return _added_up(g, places, n)


def _added_up(g: Any, places: Any, n: Any) -> Any:
    out = np.zeros((places.shape[0], n, places.shape[2]), g.dtype)
    for i in range(places.shape[0]):
        for j in range(places.shape[2]):
            for k in range(places.shape[1]):
                p = places[i, k, j]
                if p >= 0:
                    out[i, p, j] += g[i, k, j]
    return out


def _at(x: Any, places: Any) -> Any:
    out = np.zeros(places.shape, x.dtype)
    for i in range(places.shape[0]):
        if places.shape[2] == 1:  # no nested loop with one iteration
            _lane_at(x[i, :, 0], places[i, :, 0], out[i, :, 0])
        else:
            for k in range(places.shape[1]):
                for j in range(places.shape[2]):
                    p = places[i, k, j]
                    if p >= 0:
                        out[i, k, j] = x[i, p, j]
    return out


def _lane_at(x: Any, places: Any, out: Any) -> None:
    for k in range(len(places)):
        p = places[k]
        if p >= 0:
            out[k] = x[p]


@reverse_rule(floats_at)
def _floats_at_reverse(x: Any, places: Any) -> Any:
    n = x.shape[1]

    def back(g: Any) -> Any:
        return added_up(g, places, n), None

    return floats_at(x, places), back


@forward_rule(floats_at)
def _floats_at_forward(tangents: Any, x: Any, places: Any) -> Any:
    return floats_at(x, places), floats_at(tangents[0], places)


@reverse_rule(added_up)
def _added_up_reverse(g: Any, places: Any, n: Any) -> Any:
    def back(h: Any) -> Any:
        return floats_at(h, places), None, None

    return added_up(g, places, n), back


@forward_rule(added_up)
def _added_up_forward(tangents: Any, g: Any, places: Any, n: Any) -> Any:
    return added_up(g, places, n), added_up(tangents[0], places, n)


def picked(x: Any, places: Any) -> Any:
    """The elements of a vector at places."""
    return taken(x.reshape(1, len(x), 1), places.reshape(1, len(places), 1)).reshape(len(places))


def sums_at(g: Any, places: Any, n: Any) -> Any:
    """``n`` sums of elements of a vector, each of the elements with its place."""
    x, p = g.reshape(1, len(g), 1), places.reshape(1, len(g), 1)
    if g.dtype.kind == "f":
        return added_up(x, p, n).reshape(n)
    return (_added_up(x, p, n) if g.dtype.kind == "c" else others_added_up(x, p, n)).reshape(n)
