"""Turns tangents from users, in the containers of the arguments, into tangents of the leaves that compiled code
takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adc.border import binding, containers
from adc.border.complexes import is_pairs
from adc.border.selecting import is_float
from adc.border.signature import at
from adc.errors import AdcError
from adc.frontend.abstract import Abstract, Array, Scalar, Tuple, numpy_dtype
from adc.frontend.traced import Leaf
from adc.ir import kinds
from adc.ir.lazy_dataclass import dataclass

NDArray = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Direction:
    """The tangent of one leaf: real numbers in the shape and dtype of the argument; ``where`` describes its place for
    errors, ``given`` is the user's object."""

    value: Any
    where: str
    given: Any = None


def directions(
    names: Sequence[str],
    abstracts: Sequence[Abstract],
    leaves: Sequence[Leaf],
    values: tuple[Any, ...],
    tangents: Sequence[Any],
) -> dict[int, Direction]:
    """The tangents by position of the IR argument. None, for any part of an argument, stands for zeros.

    Raises ``ArgumentError`` for a tangent with another structure than its argument, ``ShapeError`` for arrays of
    another shape.
    """
    found = _Directions(names, abstracts, leaves, values)
    for k, (name, abstract, tangent) in enumerate(zip(names, abstracts, tangents, strict=True)):
        found.add(abstract, (k,), tangent, f"the tangent of {name}")
    return found.by_position


class _Directions:
    def __init__(
        self, names: Sequence[str], abstracts: Sequence[Abstract], leaves: Sequence[Leaf], values: tuple[Any, ...]
    ) -> None:
        self.by_position: dict[int, Direction] = {}
        self._values = values
        self._places = containers.first_places(abstracts)
        self._positions = {
            binding.leaf_path(names, leaf): k for k, leaf in enumerate(leaves) if leaf.kind == "argument"
        }

    def add(self, abstract: Abstract, path: tuple[int, ...], tangent: Any, where: str) -> None:
        """Add the tangent of the value at ``path`` of the arguments."""
        if tangent is None:
            return
        if isinstance(abstract, Tuple):
            if abstract.form.again:
                first, abstract = self._places[abstract.form.number]
                path = first
            assert isinstance(abstract, Tuple)
            form, count = abstract.form, len(abstract.items)
            parts = containers.cotangent_parts(
                tangent, form, count, where, of="the argument", wrong=kinds.WRONG_TANGENT
            )
            for k, (item, part) in enumerate(zip(abstract.items, parts, strict=True)):
                self.add(item, (*path, k), part, where + form.label(k))
        elif isinstance(abstract, Array | Scalar) and is_float(abstract):
            given = _direction(abstract, at(self._values, path), tangent, where)
            known = self.by_position.setdefault(self._positions[path], given)
            if known is not given and not np.array_equal(known.value, given.value, equal_nan=True):
                raise kinds.WRONG_TANGENT(
                    f"{where} and {known.where} are tangents of one object and differ", help="give one of them as None"
                )
        else:
            raise kinds.WRONG_TANGENT(
                f"{where} is given for what is not made of floats, which has none", help="pass None"
            )


def _direction(abstract: Abstract, value: Any, tangent: Any, where: str) -> Direction:
    assert isinstance(abstract, Array | Scalar)
    shape = np.shape(value)
    try:
        given = np.asarray(tangent)
    except ValueError:  # rows of different lengths
        given = np.empty((), object)
    if given.dtype.kind not in ("fiubc" if is_pairs(abstract) else "fiub"):
        raise kinds.WRONG_TANGENT(
            f"{where} is made of real numbers, not of {given.dtype}", help="pass floats in the shape of the argument"
        )
    if given.shape != shape:
        wanted = f"not {shape}" if shape else "and the argument is a float"
        raise kinds.TANGENT_SHAPE(
            f"{where} has shape {given.shape}, {wanted}", help="pass a tangent of the shape of the argument"
        )
    dtype = numpy_dtype(abstract.element if isinstance(abstract, Array) else abstract.type)
    return Direction(given.astype(dtype, copy=False), where, tangent)


def bound_tangents(signature: Any, function: str, args: Sequence[Any], tangents: Any) -> tuple[Any, ...]:
    """One tangent for each parameter; None for parameters without an argument."""
    if not isinstance(tangents, tuple | list) or len(tangents) != len(args):
        what = str(len(tangents)) if isinstance(tangents, tuple | list) else _short(tangents)
        raise kinds.WRONG_TANGENT(
            f"jvp of {function} takes a tuple of {len(args)} tangents, one for each argument, not {what}",
            help="pass a tuple, with None for arguments that have no tangent",
        )
    try:
        given = signature.bind(*tangents).arguments
    except TypeError as error:
        raise kinds.WRONG_ARGUMENTS(f"{function}() {error}") from None
    return tuple(given.get(name) for name in signature.parameters)


def sequence_of(args: Any, function: str) -> tuple[Any, ...]:
    """The arguments of a ``jvp``, which must be in a tuple or another sequence."""
    if isinstance(args, tuple | list):
        return tuple(args)
    raise kinds.WRONG_ARGUMENTS(
        f"jvp of {function} takes the arguments in a tuple, not {_short(args)}", help="for instance (x,)"
    )


def _short(value: Any) -> str:
    try:
        shown = repr(value)
    except Exception as error:
        if isinstance(error, AdcError):
            raise
        shown = f"a {type(value).__name__}"
    return shown if len(shown) < 60 else f"a {type(value).__name__}"
