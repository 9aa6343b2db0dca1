"""The leaves with respect to which a gradient is taken, and the container in which it is returned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from adc.border import containers
from adc.border.options import Selection
from adc.border.signature import Parameters
from adc.frontend.abstract import Abstract, Array, Scalar, Static, Tuple, spelled, with_article
from adc.frontend.forms import TUPLE, Form, build
from adc.frontend.suggestions import for_name
from adc.frontend.traced import Leaf, Result, ResultLeaf, ResultStatic, ResultTuple, Traced
from adc.ir import kinds
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import ComplexType


@dataclass(frozen=True)
class GradLeaf:
    """The gradient of IR argument ``position``."""

    position: int


@dataclass(frozen=True)
class GradTuple:
    """A container of gradients; None stands for parts that are not differentiable."""

    items: tuple[GradTree, ...]
    form: Form = TUPLE

    @cached_property
    def _plain(self) -> Form:
        return containers.plain_form(self.form)

    def build(self, items: Iterable[Any]) -> Any:
        """The gradient of the container, from those of its items."""
        return build(self._plain, tuple(items))


GradTree = GradLeaf | GradTuple | None


def built(tree: GradTree, gradient: Callable[[int], Any]) -> Any:
    """The gradients of a tree in Python's form; ``gradient`` returns that of each IR argument."""
    if tree is None:
        return None
    if isinstance(tree, GradLeaf):
        return gradient(tree.position)
    return tree.build([built(item, gradient) for item in tree.items])


def _positions(tree: GradTree) -> Iterator[int]:
    if isinstance(tree, GradLeaf):
        yield tree.position
    elif isinstance(tree, GradTuple):
        for item in tree.items:
            yield from _positions(item)


@dataclass(frozen=True)
class Wanted:
    """The requested gradients, as trees over IR arguments; ``wrt`` lists all these arguments, in order."""

    positional: tuple[GradTree, ...]
    single: bool
    named: tuple[tuple[str, GradTree], ...] = ()

    @cached_property
    def wrt(self) -> tuple[int, ...]:
        return tuple(sorted(self.ordered))

    @cached_property
    def ordered(self) -> tuple[int, ...]:
        """The arguments of ``wrt`` in the order in which their gradients are returned."""
        trees = (*self.positional, *(tree for _, tree in self.named))
        return tuple(dict.fromkeys(position for tree in trees for position in _positions(tree)))

    def build(self, by_position: Mapping[int, Any]) -> Any:
        """The gradients in Python's form, given those with respect to each IR argument."""
        positional = tuple(built(tree, by_position.__getitem__) for tree in self.positional)
        gradients: Any = positional[0] if self.single else positional
        if not self.named:
            return gradients
        by_name = {name: built(tree, by_position.__getitem__) for name, tree in self.named}
        return (gradients, by_name) if positional else by_name

    def result(self, traced: Traced, places: Mapping[int, int]) -> Result:
        """The gradients as a result; ``places`` are the positions, among the IR results, of the gradients for each
        argument."""

        def build(tree: GradTree) -> Result:
            if tree is None:
                return ResultStatic(None)
            if isinstance(tree, GradTuple):
                return ResultTuple(tuple(map(build, tree.items)), containers.plain_form(tree.form))
            abstract = traced.leaves[tree.position].abstract
            if isinstance(abstract, Array):
                abstract = Array(abstract.element, abstract.rank)
            return ResultLeaf(places[tree.position], abstract)

        positional = tuple(map(build, self.positional))
        gradients = positional[0] if self.single else ResultTuple(positional)
        if not self.named:
            return gradients
        form = Form("dict", dict, tuple(name for name, _ in self.named))
        named = ResultTuple(tuple(build(tree) for _, tree in self.named), form)
        return ResultTuple((gradients, named)) if positional else named


def is_float(abstract: Abstract) -> bool:
    """Whether a leaf has a gradient: a float, or an array of floats."""
    if isinstance(abstract, Scalar):
        return abstract.type.is_float
    return isinstance(abstract, Array) and (abstract.element.is_float or isinstance(abstract.element, ComplexType))


def select(
    function: str, parameters: Parameters, abstracts: tuple[Abstract, ...], traced: Traced, chosen: Selection
) -> Wanted:
    """The leaves that ``chosen`` selects. Raises for arguments that do not exist or have no gradient."""
    names = parameters.names
    leaves = {leaf.path: k for k, leaf in enumerate(traced.leaves) if leaf.kind == "argument"}
    places = _places(names, abstracts)
    captured = {leaf.path: k for k, leaf in enumerate(traced.leaves) if leaf.kind == "capture"}

    def of_argument(path: LeafPath) -> GradTree:
        abstract = abstracts[names.index(str(path[0]))]
        for k in path[1:]:
            assert isinstance(abstract, Tuple)
            abstract = abstract.items[int(k)]
        tree = _tree(path, abstract, leaves, places)
        if tree is None:
            name = str(path[0]) + "".join(f"[{k}]" for k in path[1:])
            raise kinds.NO_GRADIENT(
                f"{function}: argument {name!r} is {_what(abstract)} and has no gradient",
                help=_way_out(abstract),
            )
        return tree

    asked = [path for number in chosen.numbers if (path := parameters.path(number, abstracts)) is not None]
    if len(set(asked)) < len(asked):
        raise kinds.WRONG_ARGNUMS(
            f"argnums {chosen.numbers} names an argument of {function} twice", help="name each argument once"
        )
    positional = []
    for number in chosen.numbers:
        path = parameters.path(number, abstracts)
        if path is None:
            known = ", ".join(f"{k} ({name})" for k, name in enumerate(names))
            raise kinds.WRONG_ARGNUMS(
                f"{function} has no argument number {number}; it takes {len(names)}",
                help=f"argnums count from 0: {known}" if names else "",
            )
        positional.append(of_argument(path))
    named = []
    for name in chosen.names:
        path = parameters.path(name, abstracts)
        if path is not None:
            named.append((name, of_argument(path)))
        else:
            named.append((name, _of_capture(function, name, names, traced.leaves, captured)))
    return Wanted(tuple(positional), chosen.single, tuple(named))


def everything(names: Sequence[str], abstracts: Sequence[Abstract], traced: Traced) -> Wanted:
    """All arguments, with None for those that are not differentiable, as a pullback returns them."""
    leaves = {leaf.path: k for k, leaf in enumerate(traced.leaves) if leaf.kind == "argument"}
    places = _places(names, abstracts)
    return Wanted(tuple(_tree((name,), a, leaves, places) for name, a in zip(names, abstracts, strict=True)), False)


LeafPath = tuple[str | int, ...]
Places = dict[int, tuple[LeafPath, Tuple]]


def _places(names: Sequence[str], abstracts: Sequence[Abstract]) -> Places:
    found = containers.first_places(abstracts)
    return {number: ((names[path[0]], *path[1:]), abstract) for number, (path, abstract) in found.items()}


def _tree(
    path: LeafPath, abstract: Abstract, leaves: dict[LeafPath, int], places: Places, inside: tuple[int, ...] = ()
) -> GradTree:
    """``inside``: the objects that the value is part of."""
    if isinstance(abstract, Tuple):
        number = abstract.form.number
        if number in inside:
            return None  # an object that contains itself
        if abstract.form.again:
            path, abstract = places[number]
        items = tuple(
            _tree((*path, k), item, leaves, places, (*inside, number) if number >= 0 else inside)
            for k, item in enumerate(abstract.items)
        )
        return GradTuple(items, abstract.form) if any(item is not None for item in items) else None
    return GradLeaf(leaves[path]) if is_float(abstract) else None


def _of_capture(
    function: str,
    name: str,
    names: Sequence[str],
    leaves: Sequence[Leaf],
    captured: dict[tuple[str | int, ...], int],
) -> GradTree:
    found = [(path, k) for path, k in captured.items() if path[0] == name]
    if not found:
        known = sorted({*names, *(str(path[0]) for path in captured)})
        raise kinds.WRONG_ARGNUMS(
            f"{function} neither takes nor reads a variable {name!r}; it has {', '.join(known)}",
            help=for_name(name, known),
        )
    tree = _capture_tree((name,), dict(found), leaves)
    if tree is None:
        abstract = leaves[found[0][1]].abstract
        raise kinds.NO_GRADIENT(
            f"{function}: captured variable {name!r} is {_what(abstract)} and has no gradient", help=_way_out(abstract)
        )
    return tree


def _capture_tree(
    path: tuple[str | int, ...], found: dict[tuple[str | int, ...], int], leaves: Sequence[Leaf]
) -> GradTree:
    if path in found:
        return GradLeaf(found[path]) if is_float(leaves[found[path]].abstract) else None
    deeper = sorted({p[len(path)] for p in found if p[: len(path)] == path and len(p) > len(path)}, key=int)
    items = tuple(_capture_tree((*path, k), found, leaves) for k in deeper)
    return GradTuple(items) if any(item is not None for item in items) else None


def _what(abstract: Abstract) -> str:
    if isinstance(abstract, Scalar):
        return with_article(str(abstract))
    if isinstance(abstract, Array):
        return spelled(abstract)
    if isinstance(abstract, Static):
        return "None" if abstract.value is None else with_article(type(abstract.value).__name__)
    return f"a {abstract.form} without floats" if isinstance(abstract, Tuple) else "a value without floats"


def _way_out(abstract: Abstract) -> str:
    if isinstance(abstract, Array):
        return "pass an array of floats, x.astype(float), or choose other arguments with argnums or argnames"
    if isinstance(abstract, Scalar):
        return "pass a float, or choose other arguments with argnums or argnames"
    return "choose other arguments with argnums or argnames"
