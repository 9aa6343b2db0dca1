"""The Jacobian of a function inside compiled code, and so under ``vmap``: written in Python, and traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adc.functions.mapping import vmap


def inside(jvp: Callable[..., Any], of: Callable[..., Any], positions: tuple[int, ...], single: bool) -> Any:
    """The Jacobian of ``of`` with respect to the positional arguments ``positions``: one array if ``single``, else a
    tuple for each result. Forward mode along all unit directions, as a parallel loop."""
    parts = tuple(_by_one(jvp, of, (position,)) for position in positions)
    if single:
        return parts[0]

    def jacobian(*args: Any) -> Any:
        return together(tuple([part(*args) for part in parts]))

    def together(blocks: Any) -> Any:
        """For each result its derivatives by all arguments."""
        first = blocks[0]
        if isinstance(first, tuple):
            return tuple([together(tuple([block[k] for block in blocks])) for k in range(len(first))])
        return blocks

    return jacobian


def _by_one(jvp: Callable[..., Any], of: Callable[..., Any], where: tuple[int]) -> Any:
    """By the argument at one position, which is known where it is traced because it is in a tuple."""

    def jacobian(*args: Any) -> Any:
        position = where[0] % len(args)
        x = args[position]
        before, after = args[:position], args[position + 1 :]

        def called(v: Any) -> Any:
            return of(*before, v, *after)

        def along(direction: Any) -> Any:
            return jvp(called, (x,), (direction,))[1]

        def column(k: Any) -> Any:
            """The derivatives along element ``k``."""
            one = np.zeros(x.size, x.dtype)
            if x.size > 0:
                one[k] = 1.0
            return along(one.reshape(x.shape))

        def arranged(found: Any) -> Any:
            """With the subscripts of the argument last, and without the run of an argument without elements."""
            if isinstance(found, tuple):
                return tuple([arranged(item) for item in found])
            if found is None:
                return None
            last = np.transpose(found[: x.size], (*range(1, found.ndim), 0)).copy()
            return last.reshape((*found.shape[1:], *x.shape))

        if np.ndim(x) == 0:
            return along(1.0)
        # An argument without elements takes one run nevertheless: its results have the shapes.
        return arranged(vmap(column)(np.arange(max(x.size, 1))))

    return jacobian
