"""The memory that an array may be a window on, as known to the tracer while it builds code.

A *root* is a piece of memory: what an argument refers to, an allocation, what a call returned. A loop that carries
arrays gives each a *phase* root, which stands for "what this variable refers to in this iteration": distinct phases of
one loop never overlap, though over all iterations they may be the same memory::

    for t in range(nt):
        ...                  # u and v: two phases over the same two roots
        u, v = v, u
"""

from __future__ import annotations

from dataclasses import field

from adc.ir.lazy_dataclass import dataclass


@dataclass(eq=False)
class Root:
    """Memory of its own. ``order`` increases as a function is traced: roots made inside a loop have higher numbers than
    the loop. ``protected``, if not empty, says why the memory must not be written."""

    name: str
    order: int = 0
    protected: str = ""


@dataclass(eq=False)
class Phases:
    """The phase roots of one loop or branch. ``apart`` holds the pairs of names that never overlap."""

    apart: set[frozenset[str]] = field(default_factory=set)


@dataclass(eq=False)
class Phase(Root):
    """What the carried variable ``name`` refers to, one of ``over`` or memory made by an earlier iteration."""

    phases: Phases = field(default_factory=Phases)
    over: frozenset[Root] = frozenset()


Roots = frozenset[Root]
NOWHERE: Roots = frozenset()


def overlap(a: Roots, b: Roots) -> bool:
    """Whether memory of ``a`` and memory of ``b`` may be the same at this point."""
    apart: set[tuple[Root, Root]] = set()
    return any(_same(x, y, apart) for x in a for y in b)


def _same(x: Root, y: Root, apart: set[tuple[Root, Root]]) -> bool:
    """``apart``: pairs that were looked at. The phases of nested branches share what they stand for, so that there are
    many ways to one pair."""
    if x is y:
        return True
    if (x, y) in apart:
        return False
    apart.add((x, y))
    if isinstance(x, Phase) and isinstance(y, Phase) and x.phases is y.phases:
        return frozenset((x.name, y.name)) not in x.phases.apart
    if isinstance(x, Phase) and (not isinstance(y, Phase) or x.order >= y.order):
        return any(_same(o, y, apart) for o in x.over)
    if isinstance(y, Phase):
        return any(_same(x, o, apart) for o in y.over)
    return False


def in_order(roots: Roots) -> list[Root]:
    """The roots, oldest first: names and messages must not depend on the order of a set."""
    return sorted(roots, key=lambda root: (root.order, root.name))


def protection(roots: Roots) -> str:
    """Why memory of ``roots`` must not be written; empty if it may be."""
    return next((root.protected for root in in_order(grounded(roots)) if root.protected), "")


def grounded(roots: Roots) -> Roots:
    """The roots with phases replaced by what they stand for."""
    return frozenset(root for root in _reached(roots) if not isinstance(root, Phase))


def older(roots: Roots, order: int) -> Roots:
    """The roots below this number, with phases above it replaced by what they stand for."""
    return frozenset(root for root in _reached(roots, order) if root.order < order)


def _reached(roots: Roots, order: int = 0) -> set[Root]:
    """The roots, and what the phases from this number on stand for."""
    found = set(roots)
    left = list(roots)
    while left:
        root = left.pop()
        new = root.over - found if isinstance(root, Phase) and root.order >= order else NOWHERE
        found |= new
        left.extend(new)
    return found
