"""NumPy's views that adc keeps as copies, since several of their subscripts name one element: broadcast arrays, and
windows that overlap. NumPy does not let them be written to. Stores to the arrays they are views of are refused while
they are in use, so a copy is never out of date."""

from __future__ import annotations

from adc.frontend.data.dims import is_usable
from adc.frontend.data.roots import Root, Roots, overlap
from adc.frontend.data.values import Array, Lazy
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame, Stand
from adc.ir import kinds
from adc.ir.builder import current_loc
from adc.ir.moments import strip_views


def keep(frame: Frame, copied: Array, value: Lazy) -> Array:
    """The copy ``copied`` of the view ``value``, which must not be written to."""
    roots: Roots = frozenset[Root]().union(*(r.array.roots for r in value.reads))
    frame.snapshots.append((copied.memref, roots, value.view))
    reason = f"what {value.view} gives is read-only"
    return Array(copied.memref, copied.dims, copied.roots | {frame.new_root("view", reason)})


def stand_in(frame: Frame, copied: Array, owner: Array, view: str) -> Array:
    """The read-only copy ``copied`` of a window, instead of ``view``, which may be a view of it: stores to the window
    while the copy is in use are refused (see ``objects.held``)."""
    made = strip_views(copied.memref).op
    assert made is not None
    frame.stands.append(Stand(made, owner.memref, copied.memref, view))
    reason = f"{view} of an array that is no whole one may be a view or a copy"
    return Array(copied.memref, copied.dims, copied.roots | {frame.new_root("view", reason)})


def check(frame: Frame, written: Roots) -> None:
    """Refuse a store to ``written`` if a copy stands for a view of it."""
    for memref, roots, view in frame.snapshots:
        if is_usable(memref) and overlap(roots, written):
            raise refuse(
                current_loc(),
                f"this store would change what {view} gave before",
                f"keep a copy: {view}.copy()",
                kind=kinds.UNSUPPORTED_INDEXING,
            )
