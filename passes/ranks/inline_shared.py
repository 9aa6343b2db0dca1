"""Inlining functions that take arrays that are distributed among ranks: functions, before they are differentiated, and
the steps that a schedule runs again, after that.

Which of its own elements a callee computes, and which of others' it reads, follows from the extents of its caller's
arrays, and differs from call to call.
"""

from __future__ import annotations

from typing import ClassVar

from adc.ir import ops
from adc.ir.attached import attached
from adc.ir.builder import insert_at
from adc.ir.callgraph import reachable, recursive
from adc.ir.core import Block, Func, Module, Op
from adc.ir.lazy_dataclass import dataclass
from adc.ir.rewrite import inline_block
from adc.ir.schedules import REMATERIALISED
from adc.ir.types import RecordType
from adc.passes.analysis.affine import Forms
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.ranks.layouts import Layouts, mark_shadows
from adc.passes.rewrite import keep_carried, put_instead, replace_op


@dataclass(frozen=True)
class InlineShared:
    """Inline callees that get arrays that are distributed. ``grid``: along how many axes they are; ``differentiated``:
    whether no more derivatives are taken, so that functions with rules may be inlined too."""

    grid: int
    differentiated: bool = True
    name: ClassVar[str] = "inline-shared"

    def run(self, module: Module) -> Module:
        gone: set[str] = set()
        for func in list(module.funcs.values()):
            if mark_shadows(func):
                while found := self._once(module, func):
                    gone |= found
                    _join_records(func)
        for name in gone - reachable(module, module.funcs.keys() - gone):
            del module.funcs[name]
        return module

    def _once(self, module: Module, func: Func) -> set[str]:
        """Inline once. Returns the functions whose calls were replaced."""
        stays = set(recursive(module))
        if not self.differentiated:
            stays |= {f.name for f in module.funcs.values() if attached(f) is not None or REMATERIALISED in f.attrs}
        layouts = Layouts(func, Forms(), Memory(func, Summaries(module)), range(self.grid))
        calls = [op for op in func.walk() if op.opdef is ops.call and op.attrs["callee"] in module.funcs]
        found = {op: op.attrs["callee"] for op in calls if op.attrs["callee"] not in stays and _takes(op, layouts)}
        for call, callee in found.items():
            with insert_at(Block(), call.loc) as made:
                results = inline_block(module.funcs[callee].body, call.operands)
            put_instead(call, made.ops)
            replace_op(call, results)
        return set(found.values())


def _takes(call: Op, layouts: Layouts) -> bool:
    """Whether a call involves arrays that are distributed; not if it gets records whose contents are not known."""
    records = [v for v in call.operands if isinstance(v.type, RecordType)]
    if not all(record.op is not None and record.op.opdef is ops.pack for record in records):
        return False
    if records or any(isinstance(v.type, RecordType) for v in call.results):
        return True
    return any(layouts.may_share(v) for v in call.operands)


def _join_records(func: Func) -> None:
    """Replace values unpacked from records that are made here by the values packed, also if branches make the
    records."""
    while branches := [op for op in func.walk() if op.opdef is ops.if_ and _made_inside(op)]:
        for op in branches:
            _carry_parts(op)
    for op in list(func.walk()):
        if op.opdef not in (ops.unpack, ops.release) or (made := op.operands[0].op) is None:
            continue
        if made.opdef is ops.pack:
            put_instead(op, [])
            replace_op(op, made.operands if op.results else [])


def _made_inside(branch: Op) -> dict[int, list[Op]]:
    """The results that are records made by one branch, or by both in the same way: for each, what makes it."""
    found = {}
    for k, result in enumerate(branch.results):
        made = [region.terminator.operands[k].op for region in branch.regions]
        known = [op for op in made if op is not None and op.opdef in (ops.pack, ops.undef)]
        types = {tuple(v.type for v in op.operands) for op in known if op.opdef is ops.pack}
        if isinstance(result.type, RecordType) and len(known) == len(made) and len(types) == 1:
            found[k] = known
    return found


def _carry_parts(branch: Op) -> None:
    """Let a branch return the parts of records, which are packed after it."""
    records = _made_inside(branch)
    packs = []
    for k, made in records.items():
        (example, *_) = [op for op in made if op.opdef is ops.pack]
        for region, op in zip(branch.regions, made, strict=True):
            end = region.pop()
            with insert_at(region, branch.loc):
                parts = op.operands or [ops.undef(type=v.type) for v in example.operands]
            region.append(end)
            for part in parts:
                end.add_operand(part)
        results = [branch.add_result(v.type) for v in example.operands]
        pack = Op(ops.pack, results, [branch.results[k].type], dict(example.attrs), loc=example.loc)
        branch.results[k].replace_uses(pack.result)
        packs.append(pack)
    put_instead(branch, [branch, *packs])
    kept = keep_carried(branch, [k for k in range(len(branch.results)) if k not in records])
    put_instead(branch, [kept])
