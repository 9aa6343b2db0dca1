"""Pullbacks that compiled code makes and calls, without Python where the arguments and results allow it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from adc.backend.calls.abi import (
    Argument,
    ArrayParam,
    Out,
    Output,
    Param,
    ScalarParam,
    ShadowOut,
    ShadowParam,
    Signature,
    StaticOut,
    StaticParam,
    Structure,
    TupleOut,
)
from adc.border import binding
from adc.border.selecting import GradLeaf, GradTree, is_float
from adc.frontend.abstract import Array, Scalar
from adc.frontend.traced import Result, ResultLeaf, ResultTuple, Traced

if TYPE_CHECKING:
    from adc.passes.differentiation.call_plan import CallPlan

Path = tuple[int, ...]


class _Unknown(Exception):
    """Python is needed to check an argument, or to convert a result."""


def direct(
    signature: Signature,
    traced: Traced,
    leaf_params: Sequence[Param],
    plan: CallPlan,
    taken: Sequence[int],
    cleared: frozenset[int],
    wanted: Sequence[GradTree],
) -> Signature | None:
    """The signature with which Python calls the reverse function with a cotangent, the leaves of the call, and its
    record.

    The shadows are made for each call, and begin with zeros; the function itself clears those in ``cleared``. The
    cotangent has the structure of the result; ``taken`` are the parts that the function takes. The call returns the
    cotangents ``wanted``. None where Python code is needed.
    """
    kept = {k: n for n, k in enumerate(plan.kept)}
    where = dict(_places(traced.result, (0,)))
    if any(k not in kept for k in plan.shadows) or any(k not in where for k in taken):
        return None
    absent: list[Param] = []
    try:
        structure = _structure(traced.result, (0,), {k: where[k] for k in taken}, absent)
        output = _outputs(wanted, traced, plan)
    except _Unknown:
        return None
    params: list[Param] = []
    for k in plan.kept:
        param = leaf_params[k]
        assert isinstance(param, ArrayParam | ScalarParam)
        param = replace(param, source=Argument((1, k)))
        params.append(replace(param, writable=False) if isinstance(param, ArrayParam) else param)
    params += [ShadowParam(kept[k], zeroed=k not in cleared) for k in plan.shadows]
    rest = signature.params[len(params) :]
    sources = [*(where[k] for k in taken), (2,)]
    for param, path in zip(rest, sources, strict=False):
        params.append(replace(param, source=Argument(path)))  # type: ignore[arg-type]
    arguments = structure, (None,) * len(traced.leaves), None
    return replace(signature, arguments=arguments, params=(*params, *absent), output=output)


def array_paths(trees: Sequence[Result], *, several: bool) -> list[tuple[int, Path]]:
    """The arrays among the results of the IR, with their paths in the value of a call in nested tuples. ``several``:
    the value is a tuple with one part for each tree; otherwise it belongs to the only tree."""
    return [
        (tree.position, path)
        for tree, path in _parts_of_all(trees, several)
        if isinstance(tree, ResultLeaf) and isinstance(tree.abstract, Array)
    ]


def choice_paths(trees: Sequence[Result], *, several: bool) -> list[tuple[int, Path]]:
    """Likewise the numbers of the results that are one of several."""
    return [
        (tree.items[0].position, (*path, 0))
        for tree, path in _parts_of_all(trees, several)
        if isinstance(tree, ResultTuple) and tree.form.kind == "choice" and isinstance(tree.items[0], ResultLeaf)
    ]


def _parts_of_all(trees: Sequence[Result], several: bool) -> Iterator[tuple[Result, Path]]:
    return (part for k, tree in enumerate(trees) for part in _parts(tree, (k,) if several else ()))


def _parts(tree: Result, path: Path) -> Iterator[tuple[Result, Path]]:
    yield tree, path
    if isinstance(tree, ResultTuple):
        for k, item in enumerate(tree.items):
            yield from _parts(item, (*path, k))


def _places(tree: Result, path: Path) -> Iterator[tuple[int, Path]]:
    return ((part.position, where) for part, where in _parts(tree, path) if isinstance(part, ResultLeaf))


def _structure(tree: Result, path: Path, places: Mapping[int, Path], absent: list[Param]) -> Structure:
    """The nesting of the cotangent of a result; parts that must be None are added to ``absent``."""
    if isinstance(tree, ResultTuple):
        return tuple(_structure(item, (*path, k), places, absent) for k, item in enumerate(tree.items))
    if isinstance(tree, ResultLeaf) and is_float(tree.abstract):
        if places.get(tree.position) != path:  # not taken, or occurs twice
            raise _Unknown
    else:
        absent.append(StaticParam(Argument(path), None))
    return None


def _outputs(wanted: Sequence[GradTree], traced: Traced, plan: CallPlan) -> Output:
    scalars = {k: n for n, k in enumerate(plan.cotangents_out)}
    shadows = {k: len(plan.kept) + n for n, k in enumerate(plan.shadows)}

    def build(tree: GradTree) -> Output:
        if tree is None:
            return StaticOut(None)
        if not isinstance(tree, GradLeaf):
            return TupleOut(tuple(map(build, tree.items)))
        abstract = traced.leaves[tree.position].abstract
        if isinstance(abstract, Scalar):
            strong = not abstract.weak
            if tree.position not in scalars:
                return StaticOut(binding.as_scalar(0.0, abstract.type, strong=strong))
            return Out(scalars[tree.position], strong)
        if tree.position not in shadows:
            raise _Unknown
        return ShadowOut(shadows[tree.position])

    return TupleOut(tuple(map(build, wanted)))
