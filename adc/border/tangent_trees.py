"""The tangent of a function's result, or of the final contents of its arguments, in the same containers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adc.border import binding, containers
from adc.border.selecting import is_float
from adc.frontend.abstract import Abstract, Array, Row, Scalar, Static, Tuple, numpy_dtype
from adc.frontend.forms import Form, build
from adc.frontend.traced import Result, ResultLeaf, ResultStatic, ResultTuple, Traced
from adc.ir.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Carried:
    """Values and tangents of a call. By position of the IR argument: ``values`` after the call, and ``tangents``, where
    there are any. By position of the IR result: ``results``, their tangents, where there are any."""

    values: Mapping[int, Any]
    tangents: Mapping[int, Any]
    results: Mapping[int, Any]


class TangentTrees:
    """Puts tangents into containers. Containers without floats have the tangent None."""

    def __init__(self, names: Sequence[str], abstracts: Sequence[Abstract], traced: Traced, held: Carried) -> None:
        self.names = names
        self.abstracts = abstracts
        self.traced = traced
        self.held = held
        self._places = containers.first_places(abstracts)
        self._positions = {
            binding.leaf_path(names, leaf): k for k, leaf in enumerate(traced.leaves) if leaf.kind == "argument"
        }
        self._made: dict[int, tuple[ResultTuple, Any]] = {}
        self._raw: dict[int, Any] = {}  # new contents of changed objects, by their numbers
        self._inside: list[int] = []

    def result(self, tree: Result, raw: Any) -> Any:
        """The tangent of a result; ``raw`` is its value, in nested tuples."""
        return self._result(tree, raw)[1]

    def final(self, name: str, changed: Mapping[int, Any]) -> tuple[Any, Any]:
        """The contents of a parameter after the call, and their tangent. ``changed``: the new contents of objects, by
        number."""
        self._raw = dict(changed)
        position = list(self.names).index(name)
        return self._argument(self.abstracts[position], (position,))

    # Pairs of a value and its tangent --------------------------------------------------------------------------------

    def _result(self, tree: Result, raw: Any) -> tuple[Any, Any]:
        if isinstance(tree, ResultLeaf):
            return raw, self._leaf(tree.abstract, raw, self.held.results.get(tree.position))
        if isinstance(tree, ResultStatic):
            return tree.value, 0.0 if isinstance(tree.value, float) else None
        if tree.form.again:
            number = tree.form.number
            return self._object(number) if number in self._places else self._result(*self._made[number])
        if tree.form.number >= 0:
            self._made[tree.form.number] = tree, raw
        parts = [self._result(item, part) for item, part in zip(tree.items, raw, strict=True)]
        return self._container(tree.form, parts)

    def _object(self, number: int) -> tuple[Any, Any]:
        """A mutable object among the arguments."""
        if number in self._inside:
            return None, None  # it contains itself
        self._inside.append(number)
        path, before = self._places[number]
        after, raw = self.traced.changed.get(number), self._raw.get(number)
        form = before.form
        if after is None or raw is None:
            parts = [self._argument(item, (*path, k)) for k, item in enumerate(before.items)]
        else:
            form, parts = after.form, []
            for k, (item, part) in enumerate(zip(after.items, raw, strict=True)):
                if containers.is_unchanged(item):
                    at = k if form.kind == "list" else before.form.names.index(form.names[k])
                    parts.append(self._argument(before.items[at], (*path, at)))
                else:
                    parts.append(self._result(item, part))
        self._inside.pop()
        return self._container(form, parts)

    def _argument(self, abstract: Abstract, path: tuple[int, ...]) -> tuple[Any, Any]:
        if isinstance(abstract, Tuple):
            if abstract.form.number >= 0:
                return self._object(abstract.form.number)
            return self._container(
                abstract.form, [self._argument(item, (*path, k)) for k, item in enumerate(abstract.items)]
            )
        if isinstance(abstract, Static):
            return abstract.value, None
        position = self._positions[path]
        value = self.held.values[position]
        return value, self._leaf(abstract, value, self.held.tangents.get(position))

    @staticmethod
    def _leaf(abstract: Abstract, value: Any, tangent: Any) -> Any:
        if not is_float(abstract):
            return None
        if isinstance(abstract, Scalar):
            return binding.as_scalar(0.0 if tangent is None else tangent, abstract.type, strong=not abstract.weak)
        assert isinstance(abstract, Array)
        return np.zeros(np.shape(value), numpy_dtype(abstract.element)) if tangent is None else tangent

    @staticmethod
    def _container(form: Form, parts: Sequence[tuple[Any, Any]]) -> tuple[Any, Any]:
        plain = containers.plain_form(form)
        values, tangents = [v for v, _ in parts], [t for _, t in parts]
        if form.kind == "list" and form.names:
            (row,) = form.names
            assert isinstance(row, Row)
            return build(plain, values), row.listed_tangents(values, tangents)
        if form.kind == "choice":
            return build(plain, values), tangents[1 + values[0]]
        if form.kind == "handle":
            return build(plain, values), None if tangents[0] is None else tangents[0][values[1]]
        return build(plain, values), build(plain, tangents) if any(t is not None for t in tangents) else None
