"""Cotangents of values, and of arguments: made for results of a function, taken apart for its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adc.frontend.abstract import Row
from adc.frontend.data.compounds import WHOLE, Contents
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import (
    NONE,
    AbstractValue,
    Array,
    Compound,
    Lazy,
    Ref,
    Scalar,
    Static,
    Tuple,
    is_complex,
    is_number,
)
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.numeric.convert import as_scalar, convert
from adc.frontend.objects import heap
from adc.ir import kinds
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.types import ComplexType, Type


def is_differentiable(dtype: Type) -> bool:
    """Whether numbers of this dtype have derivatives."""
    return dtype.is_float or isinstance(dtype, ComplexType)


def refuse_complex(*values: AbstractValue) -> None:
    """Refuse complex numbers where a rule of the user's is applied or returns cotangents: whether these are cotangents
    of the parts, or conjugated, is not specified."""
    if any(is_complex(v) or (isinstance(v, Array | Lazy) and isinstance(v.dtype, ComplexType)) for v in values):
        raise refuse(
            current_loc(),
            "a function with a derivative rule takes or returns complex numbers, which is not supported",
            "give the rule for a function of the real and the imaginary part",
            kind=kinds.WRONG_RULE,
        )
    for v in values:
        if isinstance(v, Compound) and not isinstance(v, WHOLE):
            refuse_complex(*v.items)


def shaped_as(value: AbstractValue, leaf: Callable[[Scalar | Array], AbstractValue]) -> AbstractValue:
    """The cotangent of a result: its shape, with ``leaf`` applied to each float and array of floats, and None for the
    rest."""
    refuse_complex(value)
    if isinstance(value, Scalar | Array):
        return leaf(value) if value.dtype.is_float else NONE
    if isinstance(value, Compound) and not isinstance(value, (*WHOLE, Contents)):
        return value.of(shaped_as(item, leaf) for item in value.items)
    return NONE


def float_leaves(value: AbstractValue) -> list[Scalar | Array]:
    """The floats and the arrays of floats in a value, in order."""
    if isinstance(value, Scalar | Array):
        return [value] if value.dtype.is_float else []
    return [x for item in value.items for x in float_leaves(item)] if isinstance(value, Compound) else []


class Spread:
    """Takes cotangents, or tangents, apart to match the arguments or results that they belong to.

    ``found`` maps each leaf to its IR value. ``given`` is the name in messages of what is taken apart.
    """

    def __init__(self, frame: Frame, given: str) -> None:
        self.frame = frame
        self.given = given
        self.found: dict[Scalar | Array, Value] = {}

    def add(self, primal: AbstractValue, given: AbstractValue, name: str) -> None:
        """Add ``given`` as that of ``primal``, a packed value; None is zero."""
        if isinstance(given, Static) and given.value is None:
            return
        if isinstance(primal, Scalar):
            if primal.dtype.is_float:
                self._number(primal, given, name)
        elif isinstance(primal, Array):
            if primal.dtype.is_float:
                self._array(primal, given, name)
        elif isinstance(primal, Compound) and not isinstance(primal, WHOLE):
            self._container(primal, given, name)
        elif not (isinstance(given, Static) and is_number(given.value)):
            self._refuse(f"{name} is {describe_type(primal)}, which has none: give None for it")

    def _refuse(self, message: str) -> None:
        raise refuse(current_loc(), f"{self.given} does not fit: {message}", kind=kinds.WRONG_RULE)

    def _number(self, primal: Scalar, given: AbstractValue, name: str) -> None:
        if not isinstance(given, Scalar) and not (isinstance(given, Static) and is_number(given.value)):
            self._refuse(f"{name} is a float, and what is given for it is {describe_type(given)}")
        self.found[primal] = convert(as_scalar(given), primal.dtype)

    def _array(self, primal: Array, given: AbstractValue, name: str) -> None:
        if isinstance(given, Static) and is_number(given.value) and given.value == 0:
            return
        if not isinstance(given, Array) or (given.rank, given.dtype) != (primal.rank, primal.dtype):
            self._refuse(f"{name} is {describe_type(primal)}, and what is given for it is {describe_type(given)}")
        assert isinstance(given, Array)
        self.found[primal] = given.memref

    def _container(self, primal: Compound, given: AbstractValue, name: str) -> None:
        held: Compound | None = None
        if isinstance(given, Ref):
            held = heap.contents(self.frame, given)
        elif isinstance(given, Compound) and not isinstance(given, WHOLE):
            held = given
        if held is None:
            self._refuse(f"{name} is {describe_type(primal)}, and what is given for it is {describe_type(given)}")
            return
        if any(isinstance(n, Row) for n in (*primal.form.names, *held.form.names)):
            self._refuse(f"{name} is a list of run-time length, which has no cotangents here; pass an array instead")
        names: Sequence[object] = primal.form.names
        if names and held.form.names:
            unknown = [n for n in held.form.names if n not in names]
            if unknown:
                self._refuse(f"{name} has no '{unknown[0]}'")
            for n, item in zip(held.form.names, held.items, strict=True):
                k = list(names).index(n)
                self.add(primal.items[k], item, name + primal.form.label(k))
            return
        if len(primal.items) != len(held.items) or not isinstance(held, Tuple | Contents):
            self._refuse(f"{name} has {len(primal.items)} items, and what is given for it has {len(held.items)}")
        for k, (one, item) in enumerate(zip(primal.items, held.items, strict=True)):
            self.add(one, item, name + primal.form.label(k))
