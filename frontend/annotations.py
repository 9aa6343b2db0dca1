"""Types written down: ``"f64[:, ::1], f64, i64"`` and parameter annotations.

``f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool`` are numbers; ``f64[:, :]`` is an array of any strides, ``f64[:, ::1]`` a
C-contiguous one (as in Numba); ``(f64, i64)`` is a tuple. ``float`` and ``int`` mean ``f64`` and ``i64``.
"""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable
from typing import Any

from adc.frontend.abstract import REAL, Abstract, Array, Scalar, Tuple, dtype_name
from adc.ir.types import Type, f64, i1, i64

_ELEMENTS: dict[str, Type] = {dtype_name(t): t for t in REAL.values()} | {"float": f64, "int": i64}
_NUMPY: dict[str, Type] = {d.name + "_" * (d.kind == "b"): t for d, t in REAL.items()}
_CLASSES: dict[type, Type] = {float: f64, int: i64, bool: i1} | {d.type: t for d, t in REAL.items()}


def parse_signature(text: str) -> tuple[Abstract, ...]:
    """The types of all parameters, separated by commas. Raises ``ValueError`` if one is not a type."""
    if not text.strip():
        return ()
    try:
        tree = ast.parse(f"({text},)", mode="eval").body
    except SyntaxError:
        raise ValueError(f"not a signature: {text!r}; write it as in {_EXAMPLE}") from None
    assert isinstance(tree, ast.Tuple)
    return tuple(_type(node, text) for node in tree.elts)


_EXAMPLE = '"f64[:, ::1], f64, i64"'


def parse_type(text: str) -> Abstract:
    """One type. Raises ``ValueError`` if the text is not one type."""
    found = parse_signature(text)
    if len(found) != 1:
        raise ValueError(f"not one type: {text!r}")
    return found[0]


def _type(node: ast.expr, text: str) -> Abstract:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return parse_type(node.value)
    if isinstance(node, ast.Tuple):
        return Tuple(tuple(_type(item, text) for item in node.elts))
    if isinstance(node, ast.Attribute):
        node = ast.Name(node.attr)  # adc.f64
    if isinstance(node, ast.Name) and node.id in _ELEMENTS:
        return _scalar(_ELEMENTS[node.id])
    if isinstance(node, ast.Name) and node.id in _NUMPY:
        return Scalar(_NUMPY[node.id], weak=False)
    if isinstance(node, ast.Subscript):
        element = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
        if element == "tuple":
            items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return Tuple(tuple(_type(item, text) for item in items))
        if element in _ELEMENTS:
            return _array(_ELEMENTS[element], node.slice, text)
    known = ", ".join(_ELEMENTS)
    raise ValueError(f"{ast.unparse(node)!r} is not a type in {text!r}; types are {known}, and arrays as in {_EXAMPLE}")


def _scalar(t: Type) -> Scalar:
    return Scalar(t, weak=t in (f64, i64, i1))


def _array(element: Type, dims: ast.expr, text: str) -> Array:
    items = dims.elts if isinstance(dims, ast.Tuple) else [dims]
    contiguous = False
    for k, item in enumerate(items):
        if not isinstance(item, ast.Slice) or item.lower is not None or item.upper is not None:
            raise ValueError(f"dimensions are written ':' or '::1' in {text!r}")
        if item.step is not None:
            if not (isinstance(item.step, ast.Constant) and item.step.value == 1 and k == len(items) - 1):
                raise ValueError(f"only the last dimension may be '::1' in {text!r}")
            contiguous = True
    return Array(element, len(items), "C" if contiguous else "any")


def annotated(fn: Callable[..., Any]) -> tuple[Abstract, ...] | None:
    """The types of ``fn``'s parameters from its annotations; None if a parameter without a default has none.

    The type of a parameter without an annotation is that of its default. Raises ``ValueError`` for an annotation that
    is not a type of adc's.
    """
    found: list[Abstract] = []
    for name, parameter in inspect.signature(fn).parameters.items():
        annotation = parameter.annotation
        if annotation is inspect.Parameter.empty:
            if parameter.default is inspect.Parameter.empty:
                return None
            break
        found.append(from_annotation(annotation, name))
    return tuple(found)


def from_annotation(annotation: Any, name: str) -> Abstract:
    """The type that an annotation of the parameter ``name`` stands for. Raises ``ValueError`` if it is not a type of
    adc's."""
    if isinstance(annotation, Abstract):
        return annotation
    if isinstance(annotation, str):
        return parse_type(annotation)
    if isinstance(annotation, type) and annotation in _CLASSES:
        weak = annotation in (float, int, bool)
        return Scalar(_CLASSES[annotation], weak)
    if isinstance(annotation, types.GenericAlias) and annotation.__origin__ is tuple:
        return Tuple(tuple(from_annotation(a, name) for a in annotation.__args__))
    raise ValueError(
        f"the annotation of '{name}' is not a type that adc knows: {annotation!r}; write it as in {_EXAMPLE}"
    )
