"""Turns cotangents from users, in the containers of results and arguments, into seeds for the reverse sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from adc.border import binding, containers
from adc.border.selecting import is_float
from adc.frontend.abstract import Abstract, Array, Scalar, Tuple
from adc.frontend.traced import Result, ResultLeaf, ResultTuple, Traced
from adc.ir import kinds
from adc.ir.lazy_dataclass import dataclass


@dataclass
class Seeds:
    """Cotangents for the reverse sweep. ``results``: by position of the IR result. ``arguments``: by position of the IR
    argument, cotangents of its final contents, each with the name that a user would write. ``chosen``: of each result
    that is one of several, by the position of its number, which it is."""

    names: Sequence[str]
    abstracts: Sequence[Abstract]
    traced: Traced
    chosen: Mapping[int, int]
    results: dict[int, Any] = field(default_factory=dict)
    arguments: list[tuple[int, Any, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._places = containers.first_places(self.abstracts)
        self._positions = {
            binding.leaf_path(self.names, leaf): k
            for k, leaf in enumerate(self.traced.leaves)
            if leaf.kind == "argument"
        }
        self._made: dict[int, ResultTuple] = {}
        for tree in (self.traced.result, *self.traced.changed.values()):
            self._find_made(tree)

    def _find_made(self, tree: Result) -> None:
        if isinstance(tree, ResultTuple):
            if tree.form.number >= 0 and not tree.form.again:
                self._made[tree.form.number] = tree
            for item in tree.items:
                self._find_made(item)

    def add_result(self, cotangent: Any) -> None:
        """Add the cotangent of what the function returns. None is zero."""
        self._collect(self.traced.result, cotangent, "the cotangent")

    def add_final(self, final: Mapping[str, Any]) -> None:
        """Add cotangents of the contents of arguments after the call, by parameter name."""
        for name, value in final.items():
            if name not in self.names:
                raise kinds.WRONG_COTANGENT(f"the function has no parameter {name!r}")
            position = list(self.names).index(name)
            abstract = self.abstracts[position]
            if isinstance(abstract, Scalar):
                raise kinds.WRONG_COTANGENT(f"{name} is no array: it has no final state")
            self._argument(abstract, (position,), value, name)

    def _collect(self, tree: Result, cotangent: Any, where: str) -> None:
        if cotangent is None:
            return
        if isinstance(tree, ResultLeaf):
            known = self.results.get(tree.position)
            self.results[tree.position] = cotangent if known is None else np.add(known, cotangent)
        elif isinstance(tree, ResultTuple) and tree.form.again:
            self._object(tree.form.number, cotangent, where)
        elif isinstance(tree, ResultTuple) and tree.form.kind == "choice":
            number, *options = tree.items
            assert isinstance(number, ResultLeaf)
            self._collect(options[self.chosen[number.position]], cotangent, where)
        elif isinstance(tree, ResultTuple):
            parts = containers.cotangent_parts(cotangent, tree.form, len(tree.items), where)
            for k, (item, part) in enumerate(zip(tree.items, parts, strict=True)):
                self._collect(item, part, where + tree.form.label(k))
        elif not isinstance(tree.value, float):  # a float known when tracing does not depend on anything
            raise kinds.WRONG_COTANGENT(f"{where} belongs to {tree.value!r}, which has none; pass None")

    def _object(self, number: int, cotangent: Any, where: str) -> None:
        """Add the cotangent of the final contents of a mutable object."""
        if number not in self._places:
            self._collect(self._made[number], cotangent, where)
            return
        path, before = self._places[number]
        after = self.traced.changed.get(number)
        form, items = (before.form, before.items) if after is None else (after.form, after.items)
        parts = containers.cotangent_parts(cotangent, form, len(items), where)
        for k, part in enumerate(parts):
            inner = where + form.label(k)
            if after is not None and not containers.is_unchanged(after.items[k]):
                self._collect(after.items[k], part, inner)
            else:
                at = k if form.kind == "list" else before.form.names.index(form.names[k])
                self._argument(before.items[at], (*path, at), part, inner)

    def _argument(self, abstract: Abstract, path: tuple[int, ...], cotangent: Any, where: str) -> None:
        """Add the cotangent of a value that an argument holds from beginning to end."""
        if cotangent is None:
            return
        if isinstance(abstract, Tuple) and abstract.form.number >= 0:
            self._object(abstract.form.number, cotangent, where)
        elif isinstance(abstract, Tuple):
            parts = containers.cotangent_parts(cotangent, abstract.form, len(abstract.items), where)
            for k, (item, part) in enumerate(zip(abstract.items, parts, strict=True)):
                self._argument(item, (*path, k), part, where + abstract.form.label(k))
        elif isinstance(abstract, Array | Scalar) and is_float(abstract):
            self.arguments.append((self._positions[path], cotangent, where))
        else:
            raise kinds.WRONG_COTANGENT(f"{where} has no cotangent: it is not made of floats; pass None")
