"""Which overlapping arguments matter: those that share memory with an argument that the function writes to.

Arguments that are only read may be the same array: code cannot tell the difference, and each has its own partial
derivative. So only where one of them is written, code is compiled for overlapping arguments, and shadows are shared.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from adc.border import aliasing, binding, containers
from adc.border.alignment import Borrowed
from adc.border.signature import leaves
from adc.driver.compiler import Staged
from adc.driver.specialise import Specialisation, misfit
from adc.driver.subject import Subject
from adc.frontend.abstract import Abstract, Array, map_abstract
from adc.ir import kinds
from adc.ir.core import Module
from adc.persistent import records

Types = tuple[Abstract, ...]


def with_overlap(subject: Subject, types: Types, values: tuple[Any, ...], borrowed: Borrowed) -> Types:
    """The types of a call's arguments; arrays that overlap a written array are marked with the number of their group.

    The function is traced, once, if any arguments overlap. Raises what tracing raises, and ``ArgumentError`` if an
    array of a group was replaced by an aligned copy, since the copies would not overlap.
    """
    copied = {id(made): original for original, made in borrowed.pairs}
    found = [(path, leaf) for path, leaf in leaves(values) if isinstance(leaf, np.ndarray)]
    arrays = [(path, copied.get(id(leaf), leaf)) for path, leaf in found]
    families = {n: family for n, (path, _) in enumerate(arrays) if (family := containers.family(types, path))}
    numbers = aliasing.groups({n: array for n, (_, array) in enumerate(arrays)}, families)
    if not numbers:
        return types
    written = _written(subject, types)
    shared = {numbers[n] for n, (path, _) in enumerate(arrays) if n in numbers and path in written}
    if not shared:
        return types
    for n, (path, made) in enumerate(found):
        if id(made) in copied and numbers.get(n) in shared:
            other = next(p for m, (p, _) in enumerate(found) if m != n and numbers.get(m) == numbers[n])
            mine, theirs = (containers.label(types, subject.parameters.names, p) for p in (path, other))
            raise kinds.OVERLAPPING_ARGUMENTS(
                f"argument {mine}: the array is not aligned in memory, and shares it with {theirs}",
                help="pass a copy of one of them",
            )
    order = {number: k for k, number in enumerate(sorted(shared))}
    places = iter(range(len(arrays)))

    def mark(leaf: Abstract) -> Abstract:
        if not isinstance(leaf, Array):
            return leaf
        layout = leaf.layout if leaf.layout != "F" else "any"  # shadows are laid out like their arrays
        return replace(leaf, alias=order.get(numbers.get(next(places), -1)), layout=layout)

    return tuple(map_abstract(a, mark) for a in types)


def _written(subject: Subject, types: Types) -> frozenset[tuple[int, ...]]:
    """The paths of the arguments that the function writes to when it is called with arrays that do not overlap."""
    known: _Looked | None = subject.looks.get(types)
    if known is None or not known.fits():
        with subject.lock:
            staged = Staged(subject, types)
            name = records.name_of(("written",), staged)
            found = None if name is None else records.find(name, staged, misfit)
            known = found if isinstance(found, _Looked) else _Looked(staged)
            if name is not None and found is None:
                records.keep(name, known)
            subject.looks[types] = known
    return known.written


class _Looked(Specialisation):
    """A function that was traced to find out what it writes to, and was not compiled."""

    def __init__(self, staged: Staged) -> None:
        traced = staged.traced()
        super().__init__(staged, replace(traced, module=Module({})))
        self.written = frozenset(binding.leaf_path(self.names, traced.leaves[k]) for k in traced.stored)
