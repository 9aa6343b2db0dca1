"""Cold copies of loops become functions of their own, out of the way of the code that matters.

A function is optimised as a whole: with the rare copies in it, each as large as the nest that it stands in for, LLVM
spends most of its time on code that hardly ever runs, and more than linearly so (unswitching a loop costs time in
proportion to the function around it).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from adc.ir import ops
from adc.ir.alias import APART, Aliasing
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.moments import strip_views
from adc.ir.rewrite import Mapping, clone_op, inline_block
from adc.ir.types import MemRefType
from adc.passes.parallel.cold import COLD, cold_region, walk_warm

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
            regions = ((op, cold_region(op)) for op in walk_warm(func.body))
            found = [(op, region) for op, region in regions if region is not None and _worthwhile(region)]
            if found:
                aliasing = Aliasing(func, module)
                for op, region in found:
                    _outline(module, func, op, region, aliasing)
        return module


def _worthwhile(region: Block) -> bool:
    if not any(inner.opdef in _LOOPS for inner in region.walk()):
        return False
    return not any(isinstance(v.type, MemRefType) and _fixed(v) for v in _used_from_outside(region))


def _fixed(memref: Value) -> bool:
    base = strip_views(memref)
    assert isinstance(base.type, MemRefType)
    allocated = base.op is not None and base.op.opdef is ops.alloc
    return allocated and all(extent is not None for extent in base.type.shape)


def _used_from_outside(region: Block) -> list[Value]:
    """The values from outside that ``region`` uses, in the order of their first use."""
    inside: set[Value] = set()
    found: dict[Value, None] = {}

    def visit(block: Block) -> None:
        inside.update(block.args)
        for op in block.ops:
            found.update((v, None) for v in op.operands if v not in inside)
            for nested in op.regions:
                visit(nested)
            inside.update(op.results)

    visit(region)
    return list(found)


def _outline(module: Module, func: Func, op: Op, region: Block, aliasing: Aliasing) -> None:
    used = _used_from_outside(region)
    constants = [v.op for v in used if v.op is not None and v.op.opdef is ops.constant]
    captured = [v for v in used if v.op not in constants]
    name = module.unique_name(f"{func.name}.cold")
    types = [v.type for v in captured]
    made = Func(name, types, [r.type for r in op.results], [v.hint for v in captured], op.loc)
    made.attrs[COLD] = True
    for k, number in _alias_numbers(captured, aliasing).items():
        made.arg_attrs[k]["adc.alias"] = number
    apart = aliasing.apart_pairs(region.terminator.operands)
    mapping: Mapping = dict(zip(captured, made.args, strict=True))
    with insert_at(made.body, op.loc):
        for constant in constants:
            clone_op(constant, mapping)
        build(ops.return_, inline_block(region, (), mapping))
    module.add(made)
    for inner in reversed(region.ops):
        inner.drop()
    region.set_ops([])
    with insert_at(region, op.loc):
        attrs = {"callee": name, "types": made.result_types, **({APART: apart} if apart else {})}
        build(ops.yield_, build(ops.call, captured, attrs).results)


def _alias_numbers(captured: list[Value], aliasing: Aliasing) -> dict[int, int]:
    """A number for each memref that may share memory with another, by position; those that may share have the same."""
    roots = {k: set(aliasing.reach(v)) for k, v in enumerate(captured) if isinstance(v.type, MemRefType)}
    groups: list[tuple[set[Value], list[int]]] = []
    for k, own in roots.items():
        touching = [g for g in groups if not own or g[0] & own]
        groups = [g for g in groups if g not in touching]
        groups.append((own.union(*(g[0] for g in touching)), [k, *(n for g in touching for n in g[1])]))
    return {k: number for number, (_, members) in enumerate(groups) if len(members) > 1 for k in members}
