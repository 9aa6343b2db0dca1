"""Draws random arguments for the types of a function's parameters: numbers, arrays of several shapes and strides,
arrays that share memory."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from adc.checks.leaves import flat
from adc.driver.subject import Subject
from adc.frontend.abstract import Abstract, Array, Scalar, Tuple, numpy_dtype
from adc.frontend.annotations import from_annotation
from adc.ir import kinds
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import i1
from adc.reports.dump import resolve

NDArray = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Fields:
    """An object of a dataclass, whose fields are drawn one by one."""

    cls: type
    items: tuple[Any, ...]

    def __str__(self) -> str:
        return self.cls.__name__


Wanted = Abstract | Fields


@dataclass(frozen=True)
class Style:
    """How arguments are drawn. ``extents``: "unequal", "one", "zero" or "large"; ``layout``: that of arrays;
    ``sharing``: how two arrays share memory."""

    extents: str = "unequal"
    layout: str = "contiguous"
    sharing: str = ""

    def __str__(self) -> str:
        parts = ["" if self.extents == "unequal" else _EXTENTS[self.extents], self.layout, self.sharing]
        return ", ".join(p for p in parts if p and p != "contiguous") or "contiguous"


_EXTENTS = {"one": "extents of one", "zero": "extents of zero", "large": "large"}
_ARRAYS = (
    Style(),
    Style(layout="reversed"),
    Style(layout="every other element"),
    Style(layout="Fortran order"),
    Style(extents="one"),
    Style(extents="zero"),
    Style(extents="large"),
)
_SHARED = (Style(sharing="the same array twice"), Style(sharing="overlapping views"))


def wanted_types(subject: Subject, signature: str | None) -> tuple[Wanted, ...]:
    """What to draw for each parameter, according to a signature, or else to annotations, which may be dataclasses.

    Parameters with a default and no annotation keep the default. Raises ``kinds.UNKNOWN_TYPES``.
    """
    if signature is not None:
        return resolve(subject, signature)
    found: list[Wanted] = []
    for name, parameter in inspect.signature(subject.fn).parameters.items():
        if parameter.annotation is parameter.empty:
            if parameter.default is not parameter.empty:
                break
            raise kinds.UNKNOWN_TYPES(
                f"the type of the parameter '{name}' of {subject.name} is not known",
                help='annotate it, as in x: "f64[:, :]", or give types of all with --signature "f64[:, :], f64, i64"',
            )
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            if parameter.default is not parameter.empty:
                break
            raise kinds.UNKNOWN_TYPES(
                f"the parameter '{name}' of {subject.name} cannot be passed by position",
                help="check a function that passes it",
            )
        try:
            found.append(_wanted(parameter.annotation, name, subject.fn))
        except ValueError as error:
            raise kinds.UNKNOWN_TYPES(f"{subject.name}: {error}") from None
    return tuple(found)


def _wanted(annotation: Any, name: str, fn: Callable[..., Any]) -> Wanted:
    if isinstance(annotation, str):
        annotation = getattr(fn, "__globals__", {}).get(annotation, annotation)
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        fields = [f for f in dataclasses.fields(annotation) if f.init]
        return Fields(annotation, tuple(_wanted(f.type, f"{name}.{f.name}", annotation.__init__) for f in fields))
    return from_annotation(annotation, name)


def styles(wanted: Sequence[Wanted]) -> list[Style]:
    """The ways in which arguments of these types can be drawn, the plain one first."""
    arrays = [w for top in wanted for w in _parts(top) if isinstance(w, Array)]
    if not arrays:
        return [Style()]
    free = [a for a in arrays if a.layout != "C"]
    found = [s for s in _ARRAYS if s.layout == "contiguous" or free]
    return found + [s for s in _SHARED if _pair(wanted, s) is not None]


def _parts(wanted: Wanted) -> Iterator[Wanted]:
    yield wanted
    if isinstance(wanted, Tuple | Fields):
        for item in wanted.items:
            yield from _parts(item)


def _pair(wanted: Sequence[Wanted], style: Style) -> tuple[int, int] | None:
    """The first two parameters that may share memory in this style: arrays of one type, views of any strides."""
    arrays = [(k, w) for k, w in enumerate(wanted) if isinstance(w, Array)]
    for n, (k, first) in enumerate(arrays):
        for other, second in arrays[n + 1 :]:
            alike = (first.element, first.rank) == (second.element, second.rank)
            # Views that start one row later are contiguous too.
            if alike and first.rank:
                return k, other
    return None


# Arguments -----------------------------------------------------------------------------------------------------------

_ROW = {"one": 1, "zero": 0}
_LARGE = {1: 700, 2: 36, 3: 10}
CONSTRAINTS = ("", "alike", "two", "two", "two", "equal")
"""Relations between extents: none; equal along the same axis of all arrays; each one of two values; all equal."""
RANGES = ("any sign", "positive", "below one")


def draw(
    wanted: Sequence[Wanted], style: Style, constraint: str, values: str, integer: int, rng: np.random.Generator
) -> tuple[Any, ...]:
    """Draw arguments; ``integer`` is the approximate size of integers, ``values`` the range of floats."""
    drawer = _Drawer(style, constraint, values, integer, rng)
    found = [drawer.one(w) for w in wanted]
    pair = _pair(wanted, style) if style.sharing else None
    if pair is not None:
        found[pair[0]], found[pair[1]] = drawer.sharing(wanted[pair[0]])
    return tuple(found)


class _Drawer:
    def __init__(self, style: Style, constraint: str, values: str, integer: int, rng: np.random.Generator) -> None:
        self.style, self.values, self.integer, self.rng = style, values, integer, rng
        self.constraint = constraint
        own = list(rng.permutation([2, 3, 4, 5]))
        if style.extents in _ROW:
            own[int(rng.integers(0, 2)) if constraint == "" else 0] = _ROW[style.extents]
        self.extents = [int(n) for n in own]
        self.drawn = 0

    def one(self, wanted: Wanted) -> Any:
        if isinstance(wanted, Fields):
            return wanted.cls(*map(self.one, wanted.items))
        if isinstance(wanted, Tuple):
            return tuple(map(self.one, wanted.items))
        if isinstance(wanted, Array):
            return self.laid_out(wanted, self.shape(wanted.rank))
        assert isinstance(wanted, Scalar)
        return self.number(wanted)

    def number(self, wanted: Scalar) -> Any:
        if wanted.type == i1:
            value: Any = bool(self.rng.integers(0, 2))
        elif wanted.type.is_float:
            value = float(self.floats(()))
        else:
            value = self.integer
        return value if wanted.weak else numpy_dtype(wanted.type).type(value)

    def shape(self, rank: int) -> tuple[int, ...]:
        if self.style.extents == "large":
            return (_LARGE.get(rank, 5),) * rank
        if self.constraint == "equal":
            return (self.extents[0],) * rank
        if self.constraint == "alike":
            return tuple(self.extents[k % 4] for k in range(rank))
        if self.constraint == "two":
            return tuple(self.extents[int(self.rng.integers(0, 2))] for _ in range(rank))
        found = tuple(self.extents[(self.drawn + k) % 4] for k in range(rank))
        self.drawn += rank
        return found

    def floats(self, shape: tuple[int, ...]) -> Any:
        if self.values == "any sign":
            return self.rng.normal(0.0, 1.0, shape)
        return self.rng.uniform(0.2, 2.0, shape) if self.values == "positive" else self.rng.uniform(0.05, 0.95, shape)

    def elements(self, wanted: Array, shape: tuple[int, ...]) -> NDArray:
        if wanted.element.is_float:
            made = self.floats(shape)
        else:
            made = self.rng.integers(0, 2, shape)
        return np.asarray(made).astype(numpy_dtype(wanted.element))

    def laid_out(self, wanted: Array, shape: tuple[int, ...]) -> NDArray:
        layout = "contiguous" if wanted.layout == "C" else self.style.layout
        elements = self.elements(wanted, shape)
        if layout == "Fortran order":
            return np.asfortranarray(elements)
        if layout == "reversed":
            backwards = (slice(None, None, -1),) * wanted.rank
            return np.ascontiguousarray(elements[backwards])[backwards]
        if layout == "every other element":
            held = np.zeros(tuple(2 * n for n in shape), elements.dtype)
            held[(slice(None, None, 2),) * wanted.rank] = elements
            return held[(slice(None, None, 2),) * wanted.rank]
        return elements

    def sharing(self, wanted: Any) -> tuple[NDArray, NDArray]:
        shape = self.shape(wanted.rank)
        if self.style.sharing == "the same array twice":
            both = self.elements(wanted, shape)
            return both, both
        whole = self.elements(wanted, (shape[0] + 1, *shape[1:]))
        return whole[:-1], whole[1:]


def shown(name: str, value: Any) -> str:
    """An argument in a few words: a number, the shape of an array."""
    if isinstance(value, np.ndarray):
        return f"{name} {value.shape}"
    leaves = flat(value)[0]
    if len(leaves) == 1 and leaves[0] is value:
        return f"{name} {value:.3g}" if isinstance(value, float | np.floating) else f"{name} {value}"
    return f"{name} {type(value).__name__}"
