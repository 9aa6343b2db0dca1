"""Cold copies of loops become functions of their own, out of the way of the code that matters.

A function is optimised as a whole: with the rare copies in it, each as large as the nest that it stands in for, LLVM
spends most of its time on code that hardly ever runs, and more than linearly so (unswitching a loop costs time in
proportion to the function around it).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from adc.ir import ops
from adc.ir.alias import APART, Aliasing
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.moments import strip_views
from adc.ir.rewrite import Mapping, inline_block
from adc.ir.types import MemRefType
from adc.passes.parallel.cold import COLD, warm_regions

_LOOPS = (ops.for_, ops.while_, ops.parallel)


@dataclass(frozen=True)
class OutlineCold:
    """Move each cold region with a loop in it to a function marked ``adc.cold``, and call that.

    Regions that use a buffer of fixed size from outside stay: such buffers live in the frame, or in registers, as long
    as nobody else sees them.
    """

    name: ClassVar[str] = "outline-cold"

    def run(self, module: Module) -> Module:
        for func in list(module.funcs.values()):
            found = [op for op in _outermost(func.body) if _worthwhile(op)]
            if found:
                aliasing = Aliasing(func, module)
                for op in found:
                    _outline(module, func, op, aliasing)
        return module


def _outermost(block: Block) -> list[Op]:
    """The operations with a cold region that lie in none themselves."""
    found = []
    for op in block.ops:
        if op.opdef is ops.if_ and COLD in op.attrs:
            found.append(op)
        for region in warm_regions(op):
            found += _outermost(region)
    return found


def _cold_region(op: Op) -> Block:
    return op.regions[0] if op.attrs[COLD] == "then" else op.regions[1]


def _worthwhile(op: Op) -> bool:
    region = _cold_region(op)
    if not any(inner.opdef in _LOOPS for inner in region.walk()):
        return False
    return not any(isinstance(v.type, MemRefType) and _fixed(v) for v in _captured(region))


def _fixed(memref: Value) -> bool:
    base = strip_views(memref)
    assert isinstance(base.type, MemRefType)
    allocated = base.op is not None and base.op.opdef is ops.alloc
    return allocated and all(extent is not None for extent in base.type.shape)


def _captured(region: Block) -> list[Value]:
    """The values from outside that ``region`` uses, constants apart, in the order of their first use."""
    inside: set[Value] = set()
    found: dict[Value, None] = {}

    def visit(block: Block) -> None:
        inside.update(block.args)
        for op in block.ops:
            for v in op.operands:
                if v not in inside and not _is_constant(v):
                    found[v] = None
            for nested in op.regions:
                visit(nested)
            inside.update(op.results)

    visit(region)
    return list(found)


def _is_constant(value: Value) -> bool:
    return value.op is not None and value.op.opdef is ops.constant


def _outline(module: Module, func: Func, op: Op, aliasing: Aliasing) -> None:
    region = _cold_region(op)
    captured = _captured(region)
    name = module.unique_name(f"{func.name}.cold")
    types = [v.type for v in captured]
    made = Func(name, types, [r.type for r in op.results], [v.hint for v in captured], op.loc)
    made.attrs[COLD] = True
    for k, number in _alias_numbers(captured, aliasing).items():
        made.arg_attrs[k]["adc.alias"] = number
    apart = _apart(region.terminator.operands, aliasing)
    mapping: Mapping = dict(zip(captured, made.args, strict=True))
    with insert_at(made.body, op.loc):
        for constant in _constants(region):
            mapping[constant] = build(ops.constant, (), dict(constant.op.attrs)).result  # type: ignore[union-attr]
        build(ops.return_, inline_block(region, (), mapping))
    module.add(made)
    replacement = Block([])
    with insert_at(replacement, op.loc):
        attrs = {"callee": name, "types": made.result_types, **({APART: apart} if apart else {})}
        call = build(ops.call, captured, attrs)
        build(ops.yield_, call.results)
    for inner in reversed(region.ops):
        inner.drop()
    region.set_ops([])
    moved = replacement.ops
    replacement.set_ops([])
    region.set_ops(moved)


def _apart(values: Sequence[Value], aliasing: Aliasing) -> tuple[tuple[int, int], ...]:
    """Pairs of memrefs that do not overlap when the region ends, although they may be of the same memory."""
    memrefs = [(k, v) for k, v in enumerate(values) if isinstance(v.type, MemRefType)]
    return tuple(
        (m, n)
        for at, (n, v) in enumerate(memrefs)
        for m, u in memrefs[:at]
        if aliasing.roots(u) & aliasing.roots(v) and not aliasing.may_overlap(u, v)
    )


def _constants(region: Block) -> list[Value]:
    """The constants from outside that ``region`` uses."""
    inside = {r for op in region.walk() for r in op.results}
    used = {v: None for op in region.walk() for v in op.operands if _is_constant(v)}
    return [v for v in used if v not in inside]


def _alias_numbers(captured: list[Value], aliasing: Aliasing) -> dict[int, int]:
    """A number for each memref that may share memory with another, by position; those that may share have the same."""
    roots = {k: set(aliasing.reach(v)) for k, v in enumerate(captured) if isinstance(v.type, MemRefType)}
    groups: list[tuple[set[Value], list[int]]] = []
    for k, own in roots.items():
        touching = [g for g in groups if not own or g[0] & own]
        groups = [g for g in groups if g not in touching]
        groups.append((own.union(*(g[0] for g in touching)), [k, *(n for g in touching for n in g[1])]))
    return {k: number for number, (_, members) in enumerate(groups) if len(members) > 1 for k in members}
