"""Small functions that are called in loops are inlined, and so are functions with loops that are called from one place,
or that are short. Functions that are hardly longer than their call, such as those that return a view of an array, are
inlined everywhere.

From outside, it is only known what a callee does to an array as a whole. Inside the loop its subscripts are seen, so
that the loop can be shown to be parallel, checks of subscripts can be made before it, and its adjoint needs no record
of the call. And the callee's loops can be fused with those of the caller.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import ClassVar

from adc.ir import ops
from adc.ir.attached import TANGENT, attached
from adc.ir.builder import insert_at
from adc.ir.callgraph import components, reachable, recursive
from adc.ir.core import Block, Func, Module, Op
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import enclosing
from adc.ir.rewrite import inline_block
from adc.ir.schedules import REMATERIALISED
from adc.passes.analysis.kinds import LOOPS
from adc.passes.analysis.records import names_arguments
from adc.passes.rewrite import put_instead, replace_op

_STAYS = frozenset({"adc.entry", "adc.noinline", REMATERIALISED})


@dataclass(frozen=True)
class Inline:
    """Inline callees of at most ``most`` operations that are called in loops, and callees with loops at their only
    call, or at all calls if that makes no more than ``most`` operations, until a function has grown by ``growth``.
    Callees with tangents may have ``along`` operations at their only call, beside that: loops over directions share
    what they compute. ``anywhere``: inline callees without loops that are no longer than ``most`` at all calls, and no
    others. Functions that nobody calls any more are removed."""

    most: int = 120
    growth: int = 600
    along: int = 2000
    anywhere: bool = False
    name: ClassVar[str] = "inline"

    def run(self, module: Module) -> Module:
        circular = recursive(module)
        gone: set[str] = set()
        calls = Counter(op.attrs["callee"] for func in module.funcs.values() for op in func.walk() if _is_call(op))
        loops = {name for name, func in module.funcs.items() if any(op.opdef in LOOPS for op in func.walk())}
        sizes = {name: sum(1 for _ in module.funcs[name].walk()) for name in loops}
        along = {name for name, func in module.funcs.items() if any(TANGENT in attrs for attrs in func.arg_attrs)}
        joined = {name for name in loops if calls[name] == 1 or calls[name] * sizes[name] <= self.most}
        for func in [module.funcs[name] for component in components(module) for name in component]:
            left = self.growth
            several = sum(_is_call(op) and op.attrs["callee"] in joined for op in func.walk()) > 1
            beside = joined if func.name in loops or several else set()
            if self.anywhere:
                beside = calls.keys() - loops
            work = list(_calls(func.body, beside, inside=False))
            while work:
                call = work.pop(0)
                callee = module.funcs.get(call.attrs["callee"])
                if callee is None or callee.name in circular or not may_be_inlined(callee):
                    continue
                if self.anywhere and callee.name in loops:
                    continue
                size = sum(1 for _ in callee.walk())
                alone = calls[callee.name] == 1 and callee.name in along
                if size <= (self.along if alone else min(self.most, left)):
                    if alone:
                        along.add(func.name)
                    else:
                        left -= size
                    work += _inline(call, callee, beside)
                    gone.add(callee.name)
        for name in gone - reachable(module, module.funcs.keys() - gone):
            del module.funcs[name]
        return module


def may_be_inlined(callee: Func) -> bool:
    """Whether a function that does not call itself may be inlined."""
    if not _STAYS.isdisjoint(callee.attrs) or names_arguments(callee):
        return False
    return attached(callee) is None  # else its rule is needed where the call is differentiated


def inline_call(call: Op, callee: Func) -> list[Op]:
    """Inline ``callee`` in place of ``call``, and return the operations that were put there."""
    with insert_at(Block()) as made:
        results = inline_block(callee.body, call.operands)
    put_instead(call, made.ops)
    replace_op(call, results)
    return list(made.ops)


def _is_call(op: Op) -> bool:
    return op.opdef is ops.call


def _calls(block: Block, beside: set[str], *, inside: bool) -> Iterator[Op]:
    """The calls in loops, or of one of the functions ``beside``."""
    for op in block.ops:
        if _is_call(op) and (inside or op.attrs["callee"] in beside):
            yield op
        for region in op.regions:
            yield from _calls(region, beside, inside=inside or op.opdef in LOOPS)


def _inline(call: Op, callee: Func, beside: set[str]) -> list[Op]:
    """Inline ``callee`` in place of ``call``, and return the calls in it that may be inlined, too."""
    with insert_at(Block()) as made:
        results = inline_block(callee.body, call.operands)
    assert call.parent is not None
    found = list(_calls(made, beside, inside=any(around.opdef in LOOPS for around in enclosing(call.parent))))
    put_instead(call, made.ops)
    replace_op(call, results)
    return found
