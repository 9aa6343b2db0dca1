"""How Python calls a compiled function: from a traced function to the signature that stubs are made from."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from types import CellType
from typing import Any

from adc.backend.calls.abi import (
    Argument,
    ArrayParam,
    Fetched,
    Out,
    Output,
    Param,
    ScalarParam,
    ShadowOut,
    ShadowParam,
    Signature,
    Source,
    StaticOut,
    StaticParam,
    TupleOut,
    Unchanged,
    Unseen,
)
from adc.backend.calls.looks import Table
from adc.backend.lowering.lower_effects import Effects
from adc.border.complexes import is_pairs
from adc.border.containers import family, positions
from adc.border.selecting import GradLeaf, GradTree, Wanted
from adc.border.signature import at, structure
from adc.frontend.abstract import Abstract, Array, Scalar, Static, Tuple, abstract_of, layout_of, numpy_dtype
from adc.frontend.looks import ABSENT
from adc.frontend.traced import Leaf, Result, ResultLeaf, ResultStatic, Traced
from adc.ir import ops
from adc.ir.core import Func, Module
from adc.ir.types import MemRefType, Type

Path = tuple[int, ...]


def leaf_path(names: Sequence[str], leaf: Leaf) -> Path:
    """The path of an argument leaf: its positions, starting from the tuple of all arguments."""
    return (names.index(str(leaf.path[0])), *(int(k) for k in leaf.path[1:]))


def leaf_params(names: Sequence[str], traced: Traced, *, read_only: bool) -> list[Param]:
    """One parameter for each IR argument of the traced function. ``read_only``: the caller's arrays are not written."""
    params: list[Param] = []
    for position, leaf in enumerate(traced.leaves):
        source: Source = Argument(leaf_path(names, leaf)) if leaf.fetch is None else Fetched(leaf.fetch)
        if isinstance(leaf.abstract, Scalar):
            params.append(ScalarParam(source, leaf.abstract.type, not leaf.abstract.weak))
        else:
            assert isinstance(leaf.abstract, Array)
            a = leaf.abstract
            writable = position in traced.mutated and not read_only
            params.append(ArrayParam(source, a.element, a.rank, a.layout, writable, a.ones, a.extents))
    return params


def guard_params(abstracts: Sequence[Abstract], traced: Traced) -> list[Param]:
    """The guards of compiled code: everything that tracing looked at, and static arguments, must be unchanged."""
    params: list[Param] = [Unchanged(table_of(traced))] if len(traced.looks) else []
    return params + [StaticParam(Argument(path), value) for path, value in static_values(abstracts).items()]


def table_of(traced: Traced) -> Table:
    """The looks of a traced function in the form that compiled code checks; all code made from it shares one table."""
    if traced.looks.table is None:
        traced.looks.table = Table(traced.looks, ABSENT)
    table: Table = traced.looks.table
    return table


def static_values(abstracts: Sequence[Abstract]) -> dict[Path, Any]:
    """The values that are known when tracing, by their place among the arguments."""
    found: dict[Path, Any] = {}

    def visit(abstract: Abstract, path: Path) -> None:
        if isinstance(abstract, Static):
            found[path] = abstract.value
        elif isinstance(abstract, Tuple):
            for k, item in enumerate(abstract.items):
                visit(item, (*path, k))

    for k, abstract in enumerate(abstracts):
        visit(abstract, (k,))
    return found


def disjoint_pairs(
    names: Sequence[str], abstracts: Sequence[Abstract], traced: Traced, shift: int
) -> tuple[tuple[int, int], ...]:
    """Pairs of array parameters that the code assumes not to overlap: the function writes to at least one of the two.

    Arguments in one alias group may overlap, and fields of one structured array cannot. IR arguments are the parameters
    from number ``shift`` on.
    """
    arrays = {k: leaf.abstract for k, leaf in enumerate(traced.leaves) if isinstance(leaf.abstract, Array)}
    families = {k: _family(names, abstracts, traced.leaves[k]) for k in arrays}
    return tuple(
        (a + shift, b + shift)
        for b in arrays
        for a in arrays
        if a < b
        and (a in traced.stored or b in traced.stored)
        and (arrays[a].alias is None or arrays[a].alias != arrays[b].alias)
        and not (families[a] and families[a] == families[b])
    )


def _family(names: Sequence[str], abstracts: Sequence[Abstract], leaf: Leaf) -> Path:
    return family(abstracts, leaf_path(names, leaf)) if leaf.fetch is None else ()


def needs_context(module: Module, name: str) -> tuple[bool, bool]:
    """Whether the function may allocate, raise or run threads; and whether it may run for long."""
    effects = Effects.of(module, polls=True)
    parallel = any(op.opdef is ops.parallel for f in module.funcs.values() for op in f.walk())
    allocates = any(op.opdef is ops.alloc for f in module.funcs.values() for op in f.walk())
    return name in effects.fallible or parallel or allocates, name in effects.looping


def is_strong(leaf: ResultLeaf) -> bool:
    """Whether a result is a NumPy scalar rather than a Python number."""
    return isinstance(leaf.abstract, Scalar) and not leaf.abstract.weak


def primal_output(tree: Result) -> Output:
    """The Python result of the function, from the results of its IR."""
    if isinstance(tree, ResultLeaf):
        return Out(tree.position, is_strong(tree), is_pairs(tree.abstract))
    if isinstance(tree, ResultStatic):
        return StaticOut(tree.value)
    return TupleOut(tuple(primal_output(item) for item in tree.items))


def effects_output(traced: Traced) -> Output:
    """The result of the function and, if it changes objects, their new contents."""
    result = primal_output(traced.result)
    if not traced.changed:
        return result
    return TupleOut((result, *(primal_output(tree) for tree in traced.changed.values())))


def signature(
    names: Sequence[str],
    abstracts: Sequence[Abstract],
    module: Module,
    function: str,
    params: Sequence[Param],
    output: Output,
    *,
    disjoint: tuple[tuple[int, int], ...] = (),
    extra_arguments: int = 0,
    threads: int = 0,
) -> Signature:
    """The signature of ``function``, called with all arguments by position and then ``extra_arguments`` more."""
    context, long = needs_context(module, function)
    arguments = (*(structure(a) for a in abstracts), *(None,) * extra_arguments)
    results = module.funcs[function].result_types
    return Signature(
        function,
        arguments,
        tuple(params),
        results,
        output,
        disjoint,
        context=context,
        release_gil=long,
        threads=threads if context else 0,
    )


class Constant:
    """A default value as the source of a fetched parameter: compiled code reads the cell."""

    def __init__(self, value: Any) -> None:
        self.cell = CellType(value)

    def __call__(self) -> Any:
        return self.cell.cell_contents

    def __reduce__(self) -> tuple[Any, ...]:
        value = self()
        if type(value) not in (float, int, bool, str, type(None)):
            raise pickle.PicklingError("another object would not be the default")
        return Constant, (value,)


def with_defaults(full: Signature, abstracts: Sequence[Abstract], defaults: Sequence[Any]) -> list[Signature]:
    """Additional signatures for calls that omit trailing arguments: the last one, the last two, and so on.

    ``defaults`` are the values of the last parameters. The list ends at a default whose type is not the one that the
    code was compiled for.
    """
    found = []
    count = len(abstracts)
    for left_out in range(1, len(defaults) + 1):
        given = count - left_out
        try:
            if abstract_of(defaults[-left_out]) != abstracts[given]:
                break
        except TypeError:
            break
        rest = defaults[len(defaults) - left_out :]
        params = tuple(_default_source(param, given, rest) for param in full.params)
        found.append(replace(full, arguments=full.arguments[:given], params=params))
    return found


def _default_source(param: Param, given: int, rest: Sequence[Any]) -> Param:
    if isinstance(param, ShadowParam | Unseen | Unchanged) or not isinstance(param.source, Argument):
        return param
    path = param.source.path
    if path[0] < given:
        return param
    return replace(param, source=Fetched(Constant(at(rest[path[0] - given], path[1:]))))


def shadow_positions(func: Func) -> list[int]:
    """The positions of the primal's arguments whose shadows a differentiated function takes, in order."""
    return [int(attrs["adc.shadow"]) for attrs in func.arg_attrs if "adc.shadow" in attrs]


def gradient_output(
    traced: Traced, wanted: Wanted, shadows: Sequence[int], first: int, *, with_value: bool, flat: bool = False
) -> tuple[Output, tuple[Param, ...]]:
    """What a gradient call returns, and the parameters for the shadows that are made for it.

    ``first`` is the position of the first leaf among the parameters. Scalar cotangents are the results after the value,
    in the order of the arguments. ``flat``: the call returns a tuple of the value, if it is wanted, and one gradient
    for each of ``wanted.wrt``. An auxiliary value (``traced.aux``) is returned in a pair with the value; without the
    value, after the gradients; in a flat tuple, before the gradients.
    """
    made = tuple(ShadowParam(first + k) for k in shadows)
    param_of = {k: first + len(traced.leaves) + n for n, k in enumerate(shadows)}
    scalars = [k for k in wanted.wrt if isinstance(traced.leaves[k].abstract, Scalar)]
    first_scalar = cotangents_from(traced, with_value=with_value)
    result_of = {k: n + first_scalar for n, k in enumerate(scalars)}

    def build(tree: GradTree) -> Output:
        if tree is None:
            return StaticOut(None)
        if isinstance(tree, GradLeaf):
            if tree.position in param_of:
                return ShadowOut(param_of[tree.position])
            abstract = traced.leaves[tree.position].abstract
            assert isinstance(abstract, Scalar)
            return Out(result_of[tree.position], not abstract.weak)
        return TupleOut(tuple(build(item) for item in tree.items))

    before = value_outputs(traced, with_value=with_value)
    if flat:
        return TupleOut((*before, *(build(GradLeaf(k)) for k in wanted.wrt))), made
    trees: list[Output] = [build(tree) for tree in wanted.positional]
    named: list[Output] = [build(tree) for _, tree in wanted.named]
    gradients: Output = trees[0] if wanted.single else TupleOut(tuple(trees))
    if wanted.named:
        gradients = TupleOut(tuple(named)) if not trees else TupleOut((gradients, TupleOut(tuple(named))))
    if not before:
        return gradients, made
    if not with_value:
        return TupleOut((gradients, *before)), made
    return TupleOut((TupleOut(before) if len(before) > 1 else before[0], gradients)), made


def value_outputs(traced: Traced, *, with_value: bool) -> tuple[Output, ...]:
    """What a gradient call returns besides gradients: the value if it is wanted, and the auxiliary value if there is
    one."""
    assert isinstance(traced.result, ResultLeaf)
    value = (Out(0, is_strong(traced.result)),) if with_value else ()
    return value if traced.aux is None else (*value, primal_output(traced.aux))


def cotangents_from(traced: Traced, *, with_value: bool) -> int:
    """The position of the first cotangent among the results of a gradient in IR."""
    if traced.aux is not None:
        return 1 + len(positions(traced.aux))
    return 1 if with_value else 0


def explicit_shadows(first: int, types: Sequence[Type]) -> list[Param]:
    """Parameters for shadows that the caller passes as arguments from number ``first`` on, of these memref types."""
    params: list[Param] = []
    for number, t in enumerate(types, first):
        assert isinstance(t, MemRefType)
        params.append(ArrayParam(Argument((number,)), t.element, t.rank, layout_of(t), True))
    return params


def as_scalar(value: Any, type: Type, *, strong: bool) -> Any:
    """A number that compiled code returned as a Python number, converted to a NumPy scalar if ``strong``."""
    return numpy_dtype(type).type(value) if strong else value


def name_gradients(result: Any, wanted: Wanted) -> Any:
    """The gradients of a call; those that were requested by name are put into a dict."""
    if not wanted.named:
        return result
    names = [name for name, _ in wanted.named]
    if wanted.positional:
        return result[0], dict(zip(names, result[1], strict=True))
    return dict(zip(names, result, strict=True))
