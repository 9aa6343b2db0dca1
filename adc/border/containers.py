"""Containers at the boundary: arguments are taken apart into nested tuples, results and gradients reassembled.

Compiled code takes and returns numbers and arrays in nested tuples. The argument types (``Tuple.form``) and the traced
result say which containers the tuples stand for; a call without lists, dicts and objects needs none of this.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from adc.frontend.abstract import REAL, Abstract, Row, Tuple
from adc.frontend.data.unusable import WITH_UNUSABLE, unusable
from adc.frontend.forms import TUPLE, Form, Unsuitable, build, fill, form_of, items_of
from adc.frontend.objects.heap import UNCHANGED
from adc.frontend.prelude.python_dicts import fill_dict, is_dict_like
from adc.frontend.traced import Result, ResultLeaf, ResultStatic, ResultTuple
from adc.ir import kinds
from adc.ir.lazy_dataclass import dataclass

Path = tuple[int, ...]
Shape = tuple[Form, tuple["Shape | None", ...]] | None  # None: a leaf, or a tuple of leaves

LEAVES: frozenset[type] = frozenset(
    {float, int, bool, str, type(None), np.ndarray, *(dtype.type for dtype in REAL)}
)


@dataclass(frozen=True)
class Lowered:
    """Arguments as nested tuples; the containers that these stand for, unless all are plain tuples; mutable objects, by
    number."""

    values: tuple[Any, ...]
    shapes: tuple[Shape, ...] | None = None
    objects: tuple[Any, ...] = ()


def lower(names: Sequence[str], values: tuple[Any, ...]) -> Lowered:
    """Take containers apart. Raises ``ArgumentError`` for unsupported ones."""
    for value in values:
        if type(value) not in LEAVES or (type(value) is np.ndarray and value.dtype.names is not None):
            break
    else:
        return Lowered(values)
    objects: dict[int, tuple[int, Any]] = {}
    found = [_apart(value, lambda name=name: name, objects) for name, value in zip(names, values, strict=True)]  # type: ignore[misc]
    shapes = tuple(shape for _, shape in found)
    if not any(shapes):
        return Lowered(values)
    return Lowered(tuple(value for value, _ in found), shapes, tuple(value for _, value in objects.values()))


def _apart(value: Any, where: Callable[[], str], objects: dict[int, tuple[int, Any]]) -> tuple[Any, Shape]:
    """A value as nested tuples, and what they stand for. ``objects``: the mutable objects met so far, with their
    numbers, by ``id``."""
    if type(value) in LEAVES and (type(value) is not np.ndarray or value.dtype.names is None):
        return value, None
    try:
        form = form_of(value)
    except Unsuitable as reason:
        raise kinds.UNSUPPORTED_ARGUMENT(
            f"argument {where()}: {reason}",
            help=reason.help or "pass arrays and numbers in tuples, lists, dicts or dataclasses",
        ) from None
    if form is None:
        return value, None
    if form.mutable:
        known = objects.get(id(value))
        if known is not None:
            return (), (Form(form.kind, form.cls, (), known[0], again=True), ())
        form = form.numbered(len(objects))
        objects[id(value)] = len(objects), value
    label = form.label
    items = items_of(value, form)
    if form.kind in WITH_UNUSABLE:
        items = [unusable(item) or item for item in items]
    parts = [_apart(item, lambda k=k: where() + label(k), objects) for k, item in enumerate(items)]  # type: ignore[misc]
    shapes = tuple(shape for _, shape in parts)
    plain = tuple(part for part, _ in parts)
    return plain, None if form is TUPLE and not any(shapes) else (form, shapes)


def shaped(abstract: Abstract, shape: Shape) -> Abstract:
    """The abstract type of the containers that nested tuples stand for."""
    if shape is None:
        return abstract
    assert isinstance(abstract, Tuple)
    form, inner = shape
    return Tuple(tuple(shaped(a, s) for a, s in zip(abstract.items, inner, strict=True)), form)


def is_special(abstract: Abstract) -> bool:
    """Whether a value of this type is, or contains, a container other than a tuple."""
    return isinstance(abstract, Tuple) and (abstract.form != TUPLE or any(map(is_special, abstract.items)))


def label(abstracts: Sequence[Abstract], names: Sequence[str], path: Path) -> str:
    """How a user would write the leaf at ``path`` of all arguments."""
    shown, abstract = names[path[0]], abstracts[path[0]]
    for position in path[1:]:
        if not isinstance(abstract, Tuple):
            break
        shown += abstract.form.label(position)
        abstract = abstract.items[position]
    return shown


def family(abstracts: Sequence[Abstract], path: Path) -> Path:
    """The path of the structured array of which the leaf at ``path`` is a field; empty if there is none.

    Fields of one structured array are interleaved in memory, but share no element.
    """
    abstract = abstracts[path[0]]
    for n, position in enumerate(path[1:], 1):
        if not isinstance(abstract, Tuple):
            break
        if abstract.form.kind == "structured":
            return path[:n]
        abstract = abstract.items[position]
    return ()


def first_places(abstracts: Sequence[Abstract]) -> dict[int, tuple[Path, Tuple]]:
    """For each object, by number: the path where it is taken apart, and its type."""
    tuples = ((path, a) for k, abstract in enumerate(abstracts) for path, a in _tuples(abstract, (k,)))
    return {a.form.number: (path, a) for path, a in tuples if a.form.number >= 0 and not a.form.again}


def _tuples(abstract: Abstract, path: Path) -> Iterator[tuple[Path, Tuple]]:
    if isinstance(abstract, Tuple):
        yield path, abstract
        for k, item in enumerate(abstract.items):
            yield from _tuples(item, (*path, k))


# Results --------------------------------------------------------------------------------------------------------------


def needs_assembly(tree: Result) -> bool:
    return isinstance(tree, ResultTuple) and (tree.form != TUPLE or any(map(needs_assembly, tree.items)))


def assemble(tree: Result, raw: Any, objects: dict[int, Any]) -> Any:
    """The Python result for nested tuples. ``objects`` are known by number: arguments, and objects that are created."""
    if not isinstance(tree, ResultTuple):
        return raw
    form = tree.form
    if form.again:
        return objects[form.number]
    if form.number < 0:
        return build(form, [assemble(t, r, objects) for t, r in zip(tree.items, raw, strict=True)])
    made = objects[form.number] = _empty(form)
    items = [assemble(t, r, objects) for t, r in zip(tree.items, raw, strict=True)]
    if is_dict_like(form.cls):
        fill_dict(made, form.cls, dict(zip(form.names, items, strict=True)))
    else:
        fill(made, form, items)
    return made


@dataclass(frozen=True)
class Assembly:
    """What compiled code calls with nested tuples to make a result of ``tree``, in which nothing is an argument."""

    tree: Result

    def __call__(self, raw: Any) -> Any:
        return assemble(self.tree, raw, {})


def result_leaves(tree: Result, raw: Any) -> Iterator[tuple[ResultLeaf, Any]]:
    """The numbers and arrays in a result, with their values; ``raw`` is its value in nested tuples."""
    if isinstance(tree, ResultTuple):
        for item, part in zip(tree.items, raw, strict=True):
            yield from result_leaves(item, part)
    elif isinstance(tree, ResultLeaf):
        yield tree, raw


def leaf_results(tree: Result) -> Iterator[ResultLeaf]:
    """The numbers and arrays in a result."""
    if isinstance(tree, ResultTuple):
        for item in tree.items:
            yield from leaf_results(item)
    elif isinstance(tree, ResultLeaf):
        yield tree


def positions(tree: Result) -> list[int]:
    """The positions of the IR results in a Python result, each once."""
    if isinstance(tree, ResultTuple):
        return list(dict.fromkeys(k for item in tree.items for k in positions(item)))
    return [tree.position] if isinstance(tree, ResultLeaf) else []


def is_run_time_list(tree: Result) -> bool:
    """Whether a result is, or contains, a list whose length is known only at run time."""
    if not isinstance(tree, ResultTuple):
        return False
    return (tree.form.kind == "list" and bool(tree.form.names)) or any(map(is_run_time_list, tree.items))


def mentions(tree: Result, numbers: Container[int]) -> bool:
    """Whether one of the objects with these numbers is part of a result."""
    if not isinstance(tree, ResultTuple):
        return False
    return (tree.form.again and tree.form.number in numbers) or any(mentions(item, numbers) for item in tree.items)


def moved(tree: Result, places: Mapping[int, int]) -> Result:
    """A result with other positions of IR results."""
    if isinstance(tree, ResultTuple):
        return replace(tree, items=tuple(moved(item, places) for item in tree.items))
    return replace(tree, position=places[tree.position]) if isinstance(tree, ResultLeaf) else tree


def _empty(form: Form) -> Any:
    if is_dict_like(form.cls):
        return form.cls.stands_for()  # type: ignore[attr-defined]
    return [] if form.kind == "list" else {} if form.kind == "dict" else object.__new__(form.cls)


def apply_changes(changed: Mapping[int, ResultTuple], raws: Sequence[Any], objects: dict[int, Any]) -> None:
    """Update the caller's objects to what the function left in them."""
    for (number, tree), raw in zip(changed.items(), raws, strict=True):
        owner = objects[number]
        items = [
            _current(owner, tree.form, k) if is_unchanged(item) else assemble(item, part, objects)
            for k, (item, part) in enumerate(zip(tree.items, raw, strict=True))
        ]
        fill(owner, tree.form, items)


def is_unchanged(tree: Result) -> bool:
    return isinstance(tree, ResultStatic) and tree.value is UNCHANGED.value


def _current(owner: Any, form: Form, position: int) -> Any:
    if form.kind == "list":
        return owner[position]
    name: Any = form.names[position]
    return owner[name] if form.kind == "dict" else getattr(owner, name)


# Cotangents -----------------------------------------------------------------------------------------------------------


def cotangent_parts(
    value: Any, form: Form, count: int, where: str, *, of: str = "the result", wrong: kinds.Kind = kinds.WRONG_COTANGENT
) -> list[Any]:
    """The cotangents, or tangents, of a container's items. Raises ``ArgumentError`` if ``value`` is structured
    differently.

    The cotangent of a complex number stands for its conjugate (see ``complexes``). For an object or dict it may be a
    dict of fields; missing fields have the cotangent zero. ``of`` says in words what ``value`` belongs to.
    """
    if form.kind == "handle" or (form.kind == "list" and form.names and form.names[0].of_objects):  # type: ignore[attr-defined]
        raise wrong(f"{where} cannot be given: it belongs to objects of a list; return arrays of their attributes")
    if form.kind == "list" and form.names:
        return _row_parts(value, form, where)
    if form.kind == "complex":
        number = _complex(value, where, wrong)
        return [number.real, number.imag if wrong is kinds.WRONG_TANGENT else -number.imag]
    if form.kind == "structured":
        return _field_parts(value, form, where, of, wrong)
    if form.kind in ("tuple", "list"):
        if not isinstance(value, tuple | list) or len(value) != count:
            raise wrong(f"{where} must be a {form} of {count}, as {of} is, not {value!r}")
        return list(value)
    if isinstance(value, form.cls):
        own = form_of(value)
        assert own is not None
        given = dict(zip(own.names, items_of(value, own), strict=True))
    elif isinstance(value, dict):
        given = dict(value)
    elif isinstance(value, tuple) and form.kind == "namedtuple" and len(value) == count:
        return list(value)
    else:
        raise wrong(f"{where} must be a {form} or a dict of its fields, not {value!r}")
    for name in given:
        if name not in form.names:
            what = "key" if form.kind == "dict" else "field"
            known = ", ".join(map(str, form.names))
            raise wrong(f"{where} has the {what} {name!r}, which {form} has not; it has {known}")
    return [given.get(name) for name in form.names]


def _field_parts(value: Any, form: Form, where: str, of: str, wrong: kinds.Kind) -> list[Any]:
    """The cotangents of the fields of a structured array; fields without floats have none."""
    given: Any = dict(value) if isinstance(value, dict) else value
    names = given if isinstance(given, dict) else getattr(getattr(given, "dtype", None), "names", None)
    if names is None or any(name not in form.names for name in names):
        raise wrong(f"{where} must be a structured array of the dtype of {of}, or a dict of its fields, not {value!r}")
    floats = {name for name in form.names if _has_floats(form.dtype[name])}
    return [given[name] if name in names and name in floats else None for name in form.names]


def _has_floats(dtype: np.dtype[Any]) -> bool:
    if dtype.names is not None:
        return any(_has_floats(dtype[name]) for name in dtype.names)
    return dtype.base.kind in "fc" if dtype.base.names is None else _has_floats(dtype.base)


def _complex(value: Any, where: str, wrong: kinds.Kind) -> complex:
    try:
        return complex(value)
    except (TypeError, ValueError):
        raise wrong(f"{where} must be a number, as what it belongs to is, not {value!r}") from None


def _row_parts(value: Any, form: Form, where: str) -> list[Any]:
    """The same for a list whose length was known only at run time."""
    (row,) = form.names
    assert isinstance(row, Row)
    if isinstance(value, list | tuple | np.ndarray):
        try:
            return row.columns(list(value))
        except (ValueError, TypeError, AttributeError):
            pass
    raise kinds.WRONG_COTANGENT(f"{where} must be a list of one cotangent for each item ({row}), not {value!r}")


def plain_form(form: Form) -> Form:
    """The form of a gradient of a container."""
    return replace(form.plain(), again=False)
