"""Complex numbers between compiled code and Python: cotangents are conjugated, as in JAX, and arrays become pairs of
floats.

Compiled code differentiates with respect to the real and the imaginary part. With ``z = x + iy`` the gradient of a
float ``f(z)`` is ``df/dx - i df/dy``, and a cotangent ``c`` of a result ``w`` stands for ``Re(c dw)``: both are the
conjugates of the pairs in compiled code. Tangents are not conjugated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from adc.border.selecting import GradLeaf, GradTree, GradTuple, Wanted
from adc.frontend.abstract import Abstract, Array
from adc.frontend.traced import Leaf, Result, ResultLeaf, ResultTuple
from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Value
from adc.ir.types import ComplexType, MemRefType, index


def is_pairs(abstract: Abstract) -> bool:
    """Whether this is an array of complex numbers; in the IR it is an array of floats with one more axis."""
    return isinstance(abstract, Array) and isinstance(abstract.element, ComplexType)


def as_pairs(value: Any) -> Any:
    """A view of a complex array as pairs of floats; any other value unchanged."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "c":
        return value
    return value[..., None].view(value.real.dtype)


def holds_complex(tree: Result) -> bool:
    """Whether a result is a complex number or contains some."""
    if isinstance(tree, ResultTuple):
        return tree.form.kind == "complex" or any(map(holds_complex, tree.items))
    return isinstance(tree, ResultLeaf) and is_pairs(tree.abstract)


def imaginary(wanted: Wanted) -> frozenset[int]:
    """Those IR arguments whose gradients are wanted and that are imaginary parts of scalars."""
    trees = (*wanted.positional, *(tree for _, tree in wanted.named))
    return frozenset(k for tree in trees for k in _imaginary(tree))


def _imaginary(tree: GradTree) -> Iterator[int]:
    if isinstance(tree, GradTuple):
        if tree.form.kind == "complex":
            _, part = tree.items
            assert isinstance(part, GradLeaf)
            yield part.position
        for item in tree.items:
            yield from _imaginary(item)


def conjugate_gradients(func: Func, leaves: Sequence[Leaf], wanted: Wanted, *, arrays: bool = True) -> None:
    """Let a gradient in IR return conjugates for complex arguments; ``arrays``: for arrays, too."""
    end = func.body.terminator
    floats = [k for k in wanted.wrt if func.args[k].type.is_float]
    first = len(end.operands) - len(floats)
    turned = imaginary(wanted)
    shadows = {attrs["adc.shadow"]: n for n, attrs in enumerate(func.arg_attrs) if "adc.shadow" in attrs}
    pairs = [shadows[k] for k in wanted.wrt if arrays and k in shadows and is_pairs(leaves[k].abstract)]
    if not turned and not pairs:
        return
    func.body.set_ops(func.body.ops[:-1])
    with insert_at(func.body, end.loc):
        operands = list(end.operands)
        for n, k in enumerate(floats):
            if k in turned:
                operands[first + n] = ops.negf(operands[first + n])
        for n in pairs:
            _negate_last(func.args[n])
        build(ops.return_, operands)
    end.drop()


def _negate_last(memory: Value) -> None:
    """Change the sign of the second of each pair of floats."""
    t = memory.type
    assert isinstance(t, MemRefType)
    rank = t.rank

    def loops(subscripts: list[Value]) -> None:
        if len(subscripts) == rank - 1:
            place = [*subscripts, const_index(1)]
            build(ops.store, [ops.negf(ops.load(memory, *place)), memory, *place])
            return
        body = Block([index])
        with insert_at(body):
            loops([*subscripts, body.args[0]])
            build(ops.reduce, [])
        bounds = [const_index(0), ops.dim(memory, dim=len(subscripts)), const_index(1)]
        build(ops.parallel, bounds, result_types=[], regions=[body])

    loops([])
