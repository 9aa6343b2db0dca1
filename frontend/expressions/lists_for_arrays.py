"""Lists that comprehensions make for NumPy's functions: arrays of a run-time number of items."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from adc.frontend import abstract
from adc.frontend.arrays import arrays
from adc.frontend.data.described import widen
from adc.frontend.data.dims import dim_value, equal_dims, same_dim
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Array, Static, Tuple, is_list, is_numeric
from adc.frontend.errors import refuse
from adc.frontend.expressions.comprehensions import Walk, own_scope
from adc.frontend.expressions.evaluation import evaluate_kept
from adc.frontend.expressions.targets import bind_target
from adc.frontend.frame import Frame
from adc.frontend.item_effects import tried
from adc.frontend.iteration import Indexed
from adc.frontend.numeric import views
from adc.frontend.numeric.convert import as_number, store_scalar
from adc.frontend.numeric.nests import allocate
from adc.frontend.traps import trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const_index
from adc.ir.core import Value

_ARRAYS = frozenset(
    {np.array, np.asarray, np.sum, np.min, np.max, np.prod, np.mean, np.dot, np.median, np.std, np.var, np.argmin}
    | {np.argmax, np.stack, np.vstack, np.column_stack, np.cumsum}
)
_ONE_BEHIND_THE_OTHER = frozenset({np.concatenate, np.hstack})
_JOINED = frozenset({np.vstack, np.column_stack})  # their items may differ in length unless they are rows


def takes_array(callee: Any) -> bool:
    """Whether a function of NumPy takes the array of a list's items instead of the list."""
    return isinstance(callee, Hashable) and callee in _ARRAYS


def array_of(frame: Frame, callee: Any, node: ast.ListComp) -> Array | None:
    """The array that NumPy makes of a list with a run-time number of items; None if ``node`` is not such a list."""
    if not takes_array(callee) or len(node.generators) != 1 or node.generators[0].ifs:
        return None
    walk = Walk(frame, node, lambda: None, frozenset())
    with own_scope(frame, node):
        items, sample = _items(frame, walk)
        if items is None or sample is None:
            return None
        if isinstance(sample, Array):
            if callee not in _JOINED or sample.rank == 1:
                return _rows(frame, walk, items)
            return None
        if callee in _JOINED:
            return None
        spec = widen(abstract.Static(sample.value)) if isinstance(sample, Static) else None
        dtype = spec.type if isinstance(spec, abstract.Scalar) else as_number(sample).dtype
        result = allocate(frame, [items.length], dtype)
        counter: list[Value] = []

        def store() -> None:
            store_scalar(evaluate_kept(frame, node.elt), result.memref, counter, dtype)

        walk.loop(0, items, store, counter)
    return result


def joined_of(frame: Frame, callee: Any, node: ast.ListComp) -> ast.ListComp:
    """The list of all elements of the arrays in the list ``node``, if ``callee`` concatenates them; else ``node``."""
    if not isinstance(callee, Hashable) or callee not in _ONE_BEHIND_THE_OTHER or len(node.generators) != 1:
        return node
    walk = Walk(frame, node, lambda: None, frozenset())
    with own_scope(frame, node):
        _, sample = _items(frame, walk)
    if not isinstance(sample, Array) or sample.rank != 1:
        return node
    item = ast.comprehension(ast.Name("<item>", ast.Store()), node.elt, [], 0)
    made = ast.ListComp(ast.Name("<item>", ast.Load()), [*node.generators, item])
    for part in (made, made.elt, item.target):
        ast.copy_location(part, node)
    return made


def _rows(frame: Frame, walk: Walk, items: Indexed) -> Array:
    """The array of items that are arrays, or lists and tuples of numbers: the first determines their shape."""
    node = walk.node
    assert isinstance(node, ast.ListComp)

    def row() -> Array:
        value = evaluate_kept(frame, node.elt)
        with frame.at(node.elt):
            found = frame.tracer.call(frame, Static(np.asarray), [value], {})
        assert isinstance(found, Array)
        return found

    some = ops.cmpi(dim_value(items.length), const_index(0), predicate="sgt")
    trap_unless(some, "ValueError", "an array of rows needs one of them at least")
    bind_target(frame, node.generators[0].target, items.item(const_index(0)))
    first = row()
    result = allocate(frame, [items.length, *first.dims], first.dtype)
    arrays.store(frame, views.row(result, const_index(0)), first)
    counter: list[Value] = []

    def store() -> None:
        found = row()
        for a, b in zip(found.dims, first.dims, strict=True):
            if not same_dim(a, b):
                trap_unless(equal_dims(a, b), "ValueError", "the requested array has an inhomogeneous shape")
        arrays.store(frame, views.row(result, ops.addi(counter[0], const_index(1))), found)

    left = Indexed(ops.subi(dim_value(items.length), const_index(1)), lambda k: items.item(ops.addi(k, const_index(1))))
    walk.loop(0, left, store, counter)
    return result


def _items(frame: Frame, walk: Walk) -> tuple[Indexed | None, AbstractValue | None]:
    """What a list goes through, if only the run knows how many items that has, and one of its items."""
    items = walk.items(0)
    if not isinstance(items, Indexed) or items.all() is not None:
        return None, None
    return items, _sample(frame, walk, items)


def _sample(frame: Frame, walk: Walk, items: Indexed) -> AbstractValue | None:
    """An item, traced and then discarded: a number, or the array of its contents. None if computing it changes objects,
    which the first of the items must not do before the others, or what other items refer to."""
    node = walk.node
    assert isinstance(node, ast.ListComp)

    def compute(look: Callable[[AbstractValue], None]) -> AbstractValue:
        bind_target(frame, node.generators[0].target, items.item(const_index(0)))
        value = evaluate_kept(frame, node.elt)
        look(value)
        if isinstance(value, Tuple) or is_list(value):
            return frame.tracer.call(frame, Static(np.array), [value], {})
        return value

    value, effects = tried(frame, compute)
    if effects.objects or effects.on_items or (walk.ahead and effects.memory):
        return None
    if value is None or not (is_numeric(value) or isinstance(value, Array)):
        shown = describe_type(value) if value is not None else "nothing"
        raise refuse(
            frame.loc(node.elt),
            f"a list of a run-time number of items holds numbers or arrays, not {shown}",
            kind=kinds.WRONG_TYPE,
        )
    return value
