"""The calls that distribute arrays in compiled code; ``adc.ir.partitions`` answers them."""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir import ops
from adc.ir.arith import const, const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Func, Module, Value
from adc.ir.messages import LIBRARY
from adc.ir.raising import KEPT
from adc.ir.types import MemRefType, Type, i64, index
from adc.passes.analysis.affine import Form
from adc.passes.ranks.regions import Box

SPEC = MemRefType((None,), i64)


def built(form: Form) -> Value:
    """Append the computation of a form."""
    total: Value | None = None
    for monomial, factor in form.terms.items():
        if not monomial:
            continue
        product: Value | None = None
        for symbol in monomial:
            value = symbol.value if symbol.dim is None else ops.dim(symbol.value, dim=symbol.dim)
            if value.type != index:
                value = ops.index_cast(value, type=index)
            product = value if product is None else ops.muli(product, value)
        assert product is not None
        if factor != 1:
            product = ops.muli(product, const_index(factor))
        total = product if total is None else ops.addi(total, product)
    if total is None:
        return const_index(form.constant)
    return ops.addi(total, const_index(form.constant)) if form.constant else total


def end_of_block(module: Module, name: str, axis: int, extent: Value) -> Value:
    """Append a call for the first element of this rank's block, or for its end (``name`` is first or last)."""
    given = ops.index_cast(extent, type=i64)
    found = _called(module, name, [const(axis, i64), given])
    return ops.index_cast(found, type=index)


def distinct(module: Module, a: Value, b: Value) -> Value:
    """Append a call that tells whether two arrays have no memory in common."""
    return ops.cmpi(_called(module, "distinct", [a, b]), const(1, i64), predicate="eq")


def wrote(module: Module, array: Value) -> None:
    """Append a call that says that what was fetched of an array is no longer valid."""
    _checked(module, "wrote", [array])


def changed(module: Module, array: Value) -> None:
    """Append a call that says that an argument may have been written to."""
    _checked(module, "changed", [array])


def returned(module: Module, array: Value, axes: Sequence[int]) -> None:
    """Append a call that says that an array is a result, and distributed."""
    _checked(module, "returned", [array, _numbers(axes)])


def fetch(module: Module, array: Value, axes: Sequence[int], boxes: Sequence[Box], site: int) -> None:
    """Append a call that fetches what this rank is going to read of an array, at a place in the program."""
    numbers: list[Form | int] = [*axes, len(boxes)]
    for box in boxes:
        numbers.append(len(box.guards))
        for guard in box.guards:
            numbers += guard
        for along in box.axes:
            numbers += along
    _checked(module, "fetch", [array, _numbers(numbers), const(site, i64)])


def _numbers(given: Sequence[Form | int]) -> Value:
    """Append an array of numbers."""
    found = ops.alloc(const_index(len(given)), type=SPEC)
    for k, number in enumerate(given):
        value = const_index(number) if isinstance(number, int) else built(number)
        build(ops.store, [ops.index_cast(value, type=i64), found, const_index(k)])
    return found


def _checked(module: Module, name: str, given: Sequence[Value]) -> None:
    """Append a call that may raise an exception."""
    number = _called(module, name, given, written=(0,))
    fine = ops.cmpi(number, const(0, i64), predicate="eq")
    build(ops.assert_, [fine, number], {"error": "Exception", "message": KEPT})


def _called(module: Module, name: str, given: Sequence[Value], written: tuple[int, ...] = ()) -> Value:
    types: tuple[Type, ...] = tuple(v.type for v in given)
    for func in module.funcs.values():
        if func.attrs.get(_CALLS) == name and tuple(a.type for a in func.args) == types:
            break
    else:
        func = module.add(Func(module.unique_name(name), types, (i64,), [f"x{k}" for k in range(len(given))]))
        func.attrs.update({"adc.noinline": True, _CALLS: name})
        attrs = {"library": LIBRARY, "symbol": name, "types": (i64,), "written": written, "ordered": bool(written)}
        with insert_at(func.body):
            build(ops.return_, build(ops.foreign, func.args, attrs).results)
    return build(ops.call, given, {"callee": func.name, "types": (i64,)}).results[0]


_CALLS = "adc.shares"
"""Attribute of a function: which of these calls it is."""
