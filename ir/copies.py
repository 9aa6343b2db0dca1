"""Whether a module is an unchanged copy of another: then what was done with the original need not be done again.

Names, attributes and source locations count, since later stages may show them. Attributes are compared by identity,
which copies keep: by value, zero equals negative zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adc.ir.core import Block, Func, Module, Op, Value


def is_copy(copy: Module, original: Module) -> bool:
    """Whether ``copy`` is what ``adc.ir.rewrite.clone_module`` makes of ``original``."""
    if list(copy.funcs) != list(original.funcs):
        return False
    pairs = zip(copy.funcs.values(), original.funcs.values(), strict=True)
    return all(_same_interface(a, b) and _same_blocks(a.body, b.body, {}) for a, b in pairs)


def _same_interface(a: Func, b: Func) -> bool:
    if a.result_types != b.result_types or len(a.arg_attrs) != len(b.arg_attrs):
        return False
    return _same_attrs(a.attrs, b.attrs) and all(map(_same_attrs, a.arg_attrs, b.arg_attrs))


def _same_blocks(a: Block, b: Block, mapping: dict[Value, Value]) -> bool:
    """``mapping`` takes values of ``a`` to those of ``b``, and is extended."""
    if len(a.ops) != len(b.ops) or not _same_values(a.args, b.args, mapping):
        return False
    return all(_same_ops(x, y, mapping) for x, y in zip(a.ops, b.ops, strict=True))


def _same_ops(a: Op, b: Op, mapping: dict[Value, Value]) -> bool:
    if a.opdef is not b.opdef or a.loc is not b.loc or len(a.regions) != len(b.regions):
        return False
    if not _same_attrs(a.attrs, b.attrs) or tuple(map(mapping.get, a.operands)) != b.operands:
        return False
    regions = zip(a.regions, b.regions, strict=True)
    return all(_same_blocks(x, y, mapping) for x, y in regions) and _same_values(a.results, b.results, mapping)


def _same_values(a: tuple[Value, ...], b: tuple[Value, ...], mapping: dict[Value, Value]) -> bool:
    if [(v.type, v.hint) for v in a] != [(v.type, v.hint) for v in b]:
        return False
    mapping.update(zip(a, b, strict=True))
    return True


def _same_attrs(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    return a.keys() == b.keys() and all(value is b[name] for name, value in a.items())
