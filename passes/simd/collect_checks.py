"""Checks in loops over elements are collected, so that the loops are SIMD, and failures are looked for afterwards.

A loop that may end the run in each iteration is not a SIMD loop: that of a conversion of floats to integers, for
instance. If nothing outside can see what the loop stores when the run ends, the loop may as well go on: it reduces the
checks to whether all held. If not, it is run again as it was written, and raises the error that it always raised.

This is done for parallel loops without inner loops that read nothing they write and store to memory of the function's
own. The elements they access must not depend on what is checked.
"""

from __future__ import annotations

from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const, const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.rewrite import Mapping, clone_block, clone_op
from adc.ir.types import MemRefType, index
from adc.passes.analysis.cold import COLD, walk_warm
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.speculation import Speculation
from adc.passes.rewrite import put_instead


@dataclass(frozen=True)
class CollectChecks:
    """Let loops go on after a failed check, and raise the error after the loop."""

    name: ClassVar[str] = "collect-checks"
    needs = frozenset({ops.parallel})

    def run(self, module: Module) -> Module:
        if any(_stores_arrays(op) for func in module.funcs.values() for op in func.walk()):
            return module  # others may see what is stored, through containers
        summaries = Summaries.asked(module)
        for func in module.funcs.values():
            loops = [op for op in walk_warm(func.body) if op.opdef is ops.parallel and _checks(op)]
            if loops:
                memory, speculation = Memory.asked(func, summaries), Speculation(func)
                chosen = [loop for loop in loops if _may_go_on(loop, memory, speculation)]
                for loop in chosen:
                    _transform(loop)
        return module


def _stores_arrays(op: Op) -> bool:
    return op.opdef in (ops.store, ops.fill, ops.pack) and any(isinstance(v.type, MemRefType) for v in op.operands[:1])


def _checks(loop: Op) -> bool:
    return any(op.opdef is ops.assert_ for op in loop.regions[0].ops)


def _may_go_on(loop: Op, memory: Memory, speculation: Speculation) -> bool:
    (body,) = loop.regions
    plain = set(body.args)  # values that depend only on the counter

    def is_plain(value: Value) -> bool:
        return value in plain or value.op is None or value.op.parent is not body

    for op in body.ops[:-1]:
        kind = op.opdef
        if op.regions:
            return False
        if kind is ops.load:
            if isinstance(op.result.type, MemRefType) or memory.may_write(loop, op.operands[0]):
                return False
            if not all(map(is_plain, op.operands)):
                return False
        elif kind is ops.store:
            own = all(root.op is not None and root.op.opdef is ops.alloc for root in memory.roots(op.operands[1]))
            if not own or not all(map(is_plain, op.operands[1:])):
                return False
        elif kind not in (ops.assert_, ops.fptosi):
            if not speculation.safe(op):
                return False
            if all(map(is_plain, op.operands)):
                plain.update(op.results)
    return True


def _transform(loop: Op) -> None:
    (body,) = loop.regions
    end = body.terminator
    with insert_at(Block(), loop.loc) as made:
        mapping: Mapping = {}
        going = Block([a.type for a in body.args], [a.hint for a in body.args])
        mapping.update(zip(body.args, going.args, strict=True))
        with insert_at(going):
            holds = _unchecked(body, mapping)
            results = [mapping.get(v, v) for v in end.operands]
            held = ops.select(holds, const_index(1), const_index(0))
            build(ops.reduce, [*results, held], {**end.attrs, "kinds": (*end.attrs["kinds"], "min")})
        types = [*(r.type for r in loop.results), index]
        new = build(ops.parallel, [*loop.operands, const_index(1)], dict(loop.attrs), types, [going])
        failed = Block()
        with insert_at(failed):
            attrs = {name: value for name, value in loop.attrs.items() if name != "threads"}
            build(ops.parallel, loop.operands, attrs, [r.type for r in loop.results], [clone_block(body, {})])
            build(ops.yield_, [])
        fine = Block()
        with insert_at(fine):
            build(ops.yield_, [])
        none = ops.cmpi(new.results[-1], const_index(0), predicate="eq")
        build(ops.if_, [none], {COLD: "then"}, [], [failed, fine])
    put_instead(loop, made.ops)
    for old, result in zip(loop.results, new.results, strict=False):
        result.hint = old.hint
        old.replace_uses(result)
    loop.drop()


def _unchecked(body: Block, mapping: Mapping) -> Value:
    """Append a body without its checks. Returns whether they hold."""
    holds: Value | None = None
    for op in body.ops[:-1]:
        if op.opdef is ops.assert_:
            condition = mapping.get(op.operands[0], op.operands[0])
            holds = condition if holds is None else ops.andi(holds, condition)
            continue
        if op.opdef is ops.fptosi and holds is not None:  # numbers that do not fit have no result
            x = mapping.get(op.operands[0], op.operands[0])
            mapping[op.result] = ops.fptosi(ops.select(holds, x, const(0.0, x.type)), type=op.result.type)
        else:
            clone_op(op, mapping)
    assert holds is not None
    return holds
