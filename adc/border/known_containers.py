"""Arguments with the containers of an earlier call, which are taken apart without asking anew what they are.

A call with objects costs a multiple of one with arrays if each object's class, attributes and items are examined as at
the first call. Here each container of that call has become a function that takes only an equal one apart, so that
repeated calls cost one comparison of names for each object.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adc.border.containers import LEAVES, Lowered, Shape
from adc.frontend.data.unusable import WITH_UNUSABLE, unusable
from adc.frontend.forms import TUPLE, Form, Unsuitable, form_of, has_only_dict, items_of, kind_of_class

Take = Callable[[Any, list[Any]], Any]  # the value as nested tuples; mutable objects are appended to the list


class _Different(Exception):
    """A value is not what was there in the earlier call."""


class Known:
    """How to take apart arguments with the containers of an earlier call."""

    def __init__(self, earlier: Lowered) -> None:
        self._shapes = shapes = earlier.shapes or (None,) * len(earlier.values)
        self._takes = [_take(shape, value) for shape, value in zip(shapes, earlier.values, strict=True)]
        self._classes = {(form.cls, form.kind) for form in _forms(shapes) if form.kind in ("object", "record")}

    def lower(self, values: Sequence[Any]) -> Lowered | None:
        """The arguments taken apart; None if their containers are others than in the earlier call."""
        objects: list[Any] = []
        try:
            for cls, kind in self._classes:
                if kind_of_class(cls) != kind:  # classes can be changed
                    return None
            plain = tuple([take(value, objects) for take, value in zip(self._takes, values, strict=True)])
        except (_Different, Unsuitable, AttributeError, KeyError):
            return None
        if len(set(map(id, objects))) != len(objects):  # two places now hold the same object
            return None
        return Lowered(plain, self._shapes, tuple(objects))


def _forms(shapes: Sequence[Shape]) -> list[Form]:
    """The forms of all containers."""
    return [form for shape in shapes if shape is not None for form in (shape[0], *_forms(shape[1]))]


def _take(shape: Shape, plain: Any, owned: bool = False) -> Take:
    """How to take apart a value of this shape, which was ``plain`` when taken apart. ``owned``: it is part of an
    attribute, which may be unusable as a whole because of a part."""
    if shape is None and type(plain) is not tuple:
        return _usable_leaf if owned else _leaf
    form, inner = shape if shape is not None else (TUPLE, (None,) * len(plain))
    if form.again:
        return _again(form.number)
    attributes = form.kind in WITH_UNUSABLE
    parts = [
        _attribute if attributes and s is None and type(p) is not tuple else _take(s, p, owned or attributes)
        for s, p in zip(inner, plain, strict=True)
    ]
    return _container(form, _items(form), parts)


def _container(form: Form, items: Callable[[Any], Sequence[Any]], parts: list[Take]) -> Take:
    cls, count, mutable = form.cls, len(parts), form.mutable

    def take(value: Any, objects: list[Any]) -> Any:
        if type(value) is not cls:
            raise _Different
        if mutable:
            objects.append(value)
        found = items(value)
        if len(found) != count:
            raise _Different
        return tuple([part(item, objects) for part, item in zip(parts, found)])  # as many of each

    return take


def _items(form: Form) -> Callable[[Any], Sequence[Any]]:
    """The items of a value of the form's class, if it has the form."""
    if form.kind in ("tuple", "list", "namedtuple"):
        return lambda value: value
    names = form.names
    if form.kind == "dict":
        return lambda value: [value[name] for name in names] if tuple(value) == names else _items_of_equal(value, form)
    if form.kind in ("object", "record") and names and has_only_dict(form.cls):
        get = operator.attrgetter(*map(str, names), "__class__")  # a tuple also where there is one attribute

        def attributes(value: Any) -> Sequence[Any]:
            return get(value)[:-1] if tuple(vars(value)) == names else _items_of_equal(value, form)

        return attributes
    return lambda value: _items_of_equal(value, form)


def _items_of_equal(value: Any, form: Form) -> Sequence[Any]:
    found = form_of(value)
    if found is None or (found.kind, found.names, found.dtype) != (form.kind, form.names, form.dtype):
        raise _Different
    return items_of(value, found)


def _again(number: int) -> Take:
    def take(value: Any, objects: list[Any]) -> Any:
        if value is not objects[number]:
            raise _Different
        return ()

    return take


def _leaf(value: Any, _: list[Any]) -> Any:
    kind = type(value)
    if kind in LEAVES and (kind is not np.ndarray or value.dtype.names is None):
        return value
    if form_of(value) is not None:
        raise _Different
    return value


def _usable_leaf(value: Any, _: list[Any]) -> Any:
    if unusable(value) is not None:
        raise _Different
    return _leaf(value, _)


def _attribute(value: Any, _: list[Any]) -> Any:
    return unusable(value) or _leaf(value, _)
