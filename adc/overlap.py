"""Which of the arguments that overlap matter: those that share memory with one that the function writes to.

Arguments that are only read may be one array: no code can tell, and each has its own partial derivative. So it is only
where one is written that code is compiled for arguments that may overlap, and shadows are shared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from adc import aliasing, binding
from adc.compiler import Staged, Subject
from adc.frontend.abstract import Abstract, Array, map_abstract
from adc.ir.core import Module
from adc.signature import leaves
from adc.specialise import Specialisation

Types = tuple[Abstract, ...]


def with_overlap(subject: Subject, types: Types, values: tuple[Any, ...]) -> Types:
    """The types of a call's arguments, with the arrays in numbered groups that overlap one which is written.

    The function is traced, once, if any arguments overlap. Raises what tracing raises.
    """
    arrays = [(path, leaf) for path, leaf in leaves(values) if isinstance(leaf, np.ndarray)]
    numbers = aliasing.groups({n: array for n, (_, array) in enumerate(arrays)})
    if not numbers:
        return types
    written = _written(subject, types)
    shared = {numbers[n] for n, (path, _) in enumerate(arrays) if n in numbers and path in written}
    if not shared:
        return types
    order = {number: k for k, number in enumerate(sorted(shared))}
    places = iter(range(len(arrays)))

    def mark(leaf: Abstract) -> Abstract:
        return replace(leaf, alias=order.get(numbers.get(next(places), -1))) if isinstance(leaf, Array) else leaf

    return tuple(map_abstract(a, mark) for a in types)


def _written(subject: Subject, types: Types) -> frozenset[tuple[int, ...]]:
    """The arguments, by their places, that the function writes to when it is called with arrays that do not overlap."""
    with subject.lock:
        known = subject.looks.get(types)
        if known is None or not known.fits():
            staged = Staged(subject, types)
            traced = staged.traced()
            known = subject.looks[types] = Specialisation(staged, replace(traced, module=Module({})))
    return written_leaves(known)


def written_leaves(spec: Specialisation) -> frozenset[tuple[int, ...]]:
    names: Sequence[str] = spec.names
    return frozenset(binding.leaf_path(names, spec.traced.leaves[k]) for k in spec.traced.stored)
