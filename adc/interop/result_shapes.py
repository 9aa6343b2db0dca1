"""The containers, dtypes and shapes of a function's result, without running it.

Extents are read from the traced function, where they follow from those of the arguments by integer arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adc.border import containers
from adc.border.alignment import Borrowed
from adc.border.containers import lower
from adc.driver.compiler import Staged
from adc.frontend.abstract import Array, Scalar, numpy_dtype
from adc.frontend.traced import Leaf, ResultLeaf
from adc.interop.flat import Flat, Results, no_complex
from adc.interop.trees import flatten
from adc.ir import kinds, ops
from adc.ir.core import Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import MemRefType
from adc.passes.analysis.extents import Extent, Extents

Shape = tuple[int, ...]
Aval = tuple[Shape, Any]


class _Unknown(Exception):
    """An extent that cannot be computed from what is known."""


@dataclass(frozen=True)
class _Out:
    """A placeholder for a result."""

    shape: Shape
    dtype: Any


def shapes_of(flat: Flat, values: Sequence[Any], known: Sequence[bool]) -> tuple[Results, list[Aval]]:
    """The structure and shapes of the result of a call with these arguments; of arguments that are not ``known``, only
    type and shape are used."""
    subject = flat.fn._subject
    names = subject.parameters.names
    key, _ = flat.fn._made(lower(names, tuple(values)), Borrowed(), lambda key: key)
    for k, abstract in enumerate(key):
        if not known[k] and not isinstance(abstract, Array | Scalar):
            raise kinds.NOT_CONSTANT(
                f"argument {k} must be known when {subject.name} is compiled, and JAX traces it",
                help="pass it as a number of Python that is not traced, as by functools.partial or static_argnums",
            )
    traced = Staged(subject, key).traced()
    func = traced.module.funcs[traced.entry]
    arguments = {arg: _argument(leaf, values, known) for arg, leaf in zip(func.args, traced.leaves, strict=True)}
    scope = _Scope(traced.module, func, arguments)

    def out(leaf: ResultLeaf) -> _Out:
        shape: Shape = ()
        if isinstance(leaf.abstract, Array):
            value = func.body.terminator.operands[leaf.position]
            try:
                shape = scope.shape(value)
            except _Unknown:
                raise kinds.UNKNOWN_SIZE(
                    f"the shape of what {subject.name} returns does not follow from the shapes of its arguments, "
                    "and JAX asks for it before the function runs",
                    func.loc,
                    help="say it: to_jax(f, result=lambda *args: jax.ShapeDtypeStruct(shape, dtype))",
                ) from None
        assert isinstance(leaf.abstract, Array | Scalar)
        t = leaf.abstract.element if isinstance(leaf.abstract, Array) else leaf.abstract.type
        dtype = np.dtype(numpy_dtype(t))
        if dtype.kind == "c":
            raise no_complex("returns")
        return _Out(shape, dtype)

    leaves = {leaf.position: out(leaf) for leaf in containers.leaf_results(traced.result)}
    sample = containers.assemble(traced.result, _raw(traced.result, leaves), {})
    found, tree = flatten(sample, lambda v: isinstance(v, _Out))
    return Results(tree, tuple(o.dtype.kind == "f" for o in found)), [(o.shape, o.dtype) for o in found]


def _raw(tree: Any, leaves: Mapping[int, _Out]) -> Any:
    if isinstance(tree, ResultLeaf):
        return leaves[tree.position]
    items = getattr(tree, "items", None)
    return tree.value if items is None else tuple(_raw(item, leaves) for item in items)


def _argument(leaf: Leaf, values: Sequence[Any], known: Sequence[bool]) -> Any:
    """The value of an argument of the traced function; None for a number that is not known."""
    if leaf.kind == "capture":
        return leaf.fetch() if leaf.fetch is not None else None
    k = int(leaf.path[0]) if isinstance(leaf.path[0], int) else int(leaf.path[0][1:])
    value = values[k]
    return value if isinstance(value, np.ndarray) or known[k] else None


class _Scope:
    """The evaluation of a function with what is known of its arguments."""

    def __init__(
        self, module: Module, func: Func, arguments: Mapping[Value, Any], caller: tuple[_Scope, Op] | None = None
    ) -> None:
        self._module, self._arguments, self._caller = module, arguments, caller
        self._args = {arg: k for k, arg in enumerate(func.args)}
        self._extents = Extents()
        self._inside: dict[Op, tuple[_Scope, Func]] = {}

    def shape(self, memref: Value) -> Shape:
        return tuple(self._extent(e) for e in self._extents.shape(memref))

    def _extent(self, extent: Extent) -> int:
        if isinstance(extent, int):
            return extent
        if isinstance(extent, Value):
            return int(self._number(extent))
        memref, k = extent
        if memref in self._args:
            if self._caller is not None:
                scope, call = self._caller
                return scope.shape(call.operands[self._args[memref]])[k]
            value = self._arguments.get(memref)
            if value is None:
                raise _Unknown
            return int(np.shape(value)[k])
        if memref.op is not None and memref.op.opdef is ops.call:
            scope, func = self._called(memref.op)
            return scope.shape(func.body.terminator.operands[memref.index])[k]
        raise _Unknown

    def _called(self, call: Op) -> tuple[_Scope, Func]:
        if call not in self._inside:
            func = self._module.funcs[call.attrs["callee"]]
            self._inside[call] = _Scope(self._module, func, {}, (self, call)), func
        return self._inside[call]

    def _number(self, value: Value) -> Any:
        if value in self._args:
            if self._caller is not None:
                scope, call = self._caller
                return scope._number(call.operands[self._args[value]])
            known = self._arguments.get(value)
            if known is None:
                raise _Unknown
            return known
        op = value.op
        if op is None:
            raise _Unknown
        if op.opdef is ops.dim:
            return self.shape(op.operands[0])[op.attrs["dim"]]
        if op.opdef is ops.call:
            scope, func = self._called(op)
            return scope._number(func.body.terminator.operands[value.index])
        if op.opdef is ops.if_:
            side = op.regions[0 if self._number(op.operands[0]) else 1]
            return self._number(side.terminator.operands[value.index])
        if op.opdef.evaluate is None or isinstance(value.type, MemRefType):
            raise _Unknown
        if op.opdef is ops.select:
            return self._number(op.operands[1 if self._number(op.operands[0]) else 2])
        return op.opdef.evaluate(op.attrs, value.type, *map(self._number, op.operands))
