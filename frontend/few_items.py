"""Loops over arrays of few items: they are unrolled if the program is refused otherwise."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager

from adc.frontend.frame import Frame
from adc.frontend.iteration import Indexed, Items, Known


@contextmanager
def each(frame: Frame, node: ast.AST, items: Items) -> Iterator[Known | None]:
    """A loop over ``items`` is traced; they are given if it is unrolled since an earlier attempt was refused."""
    few = items.one_by_one() if isinstance(items, Indexed) else None
    if few is None:
        yield None
        return
    with frame.tracer.attempt.unrollable(frame.loc(node)) as unrolls:
        yield few if unrolls else None
