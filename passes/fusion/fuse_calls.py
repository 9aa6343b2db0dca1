"""A call that leaves a record for the reverse sweep, and its reversal, become one call, if the reversal could come
first: where the cotangents of the results are known before the results are.

    def total(node, depth):
        if depth == 0:
            return leaf(node)
        return weight[node] * (total(2 * node, depth - 1) + total(2 * node + 1, depth - 1))

The cotangent of each call here is that of the result times a weight. So one walk through the tree computes the value
and adds all terms of the gradient, on the way back from each call, and nothing is recorded: such a recursive function
has a gradient in its own memory, and in less than twice its time. ``weaving.py`` makes the function of both sweeps.

Where the cotangent of a call depends on results (a product of two calls, the sine of their sum), the two sweeps stay
apart: the values would have to be computed twice at each level.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import ClassVar

from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.builder import build, insert_at
from adc.ir.callgraph import reachable
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.rewrite import clone_func
from adc.ir.types import MemRefType, RecordType
from adc.passes.analysis.effects import Summaries
from adc.passes.analysis.kinds import DIVISIONS, PURE, SILENT
from adc.passes.fusion.weaving import Apart, Both, Weaver
from adc.passes.rewrite import put_instead, replace_op

_ADDS = frozenset({ops.load, ops.accumulate, ops.call, ops.release, ops.dealloc, ops.bound})
_STRUCTURED = frozenset({ops.if_, ops.for_, ops.yield_, ops.return_})
SHADOW = "adc.shadow"
_MOST_CHOSEN = 16  # operations of both sides of a branch that are computed whichever is taken


@dataclass(frozen=True)
class FuseCalls:
    """Run the two sweeps of functions at once where their cotangents are known beforehand."""

    name: ClassVar[str] = "fuse-calls"

    def run(self, module: Module) -> Module:
        pairs = [pair for func in module.funcs.values() for pair in _pairs(func)]
        if pairs:
            made = _made(module, [(call.attrs["callee"], reverse.attrs["callee"]) for call, reverse in pairs])
            for call, reverse in pairs:
                if call.attrs["callee"] in made:
                    _replace(call, reverse, made)
            made_of = {name for both in made.values() for name in (both.name, both.forward.name, both.reverse.name)}
            gone = {name for name in made_of if "adc.entry" not in module.funcs[name].attrs}
            for name in gone - reachable(module, module.funcs.keys() - gone):
                del module.funcs[name]
        return module


def _leaves_record(op: Op) -> bool:
    return op.opdef is ops.call and bool(op.results) and isinstance(op.results[-1].type, RecordType)


def _takes_record(op: Op) -> bool:
    return op.opdef is ops.call and bool(op.operands) and isinstance(op.operands[-1].type, RecordType)


def _pairs(func: Func) -> Iterable[tuple[Op, Op]]:
    """Calls that are reversed right after them."""
    for call in func.walk():
        if not _leaves_record(call) or call.parent is None:
            continue
        users = [op for op, _ in call.results[-1].uses]
        reverse = [op for op in users if _takes_record(op) and op.parent is call.parent]
        if len(reverse) != 1 or any(op.opdef is not ops.release for op in users if op is not reverse[0]):
            continue
        block = call.parent.ops
        between = block[block.index(call) + 1 : block.index(reverse[0])]
        made = {v for op in (call, *between) for v in op.results}
        if all(op.opdef in SILENT for op in between) and made.isdisjoint(reverse[0].operands[:-1]):
            yield call, reverse[0]


def _replace(call: Op, reverse: Op, made: dict[str, Both]) -> None:
    both = made[call.attrs["callee"]]
    if reverse.attrs["callee"] != both.reverse.name:
        return
    with insert_at(Block(), call.loc) as block:
        try:
            results = Weaver.call_both(both, call.operands, reverse.operands)
        except Apart:
            return
    for user, _ in list(call.results[-1].uses):
        if user is not reverse:
            put_instead(user, [])
            user.drop()
    put_instead(call, block.ops)
    put_instead(reverse, [])
    count = len(reverse.results)
    replace_op(reverse, results[len(results) - count :])
    replace_op(call, [*results[: len(results) - count], call.results[-1]])


def _made(module: Module, pairs: Sequence[tuple[str, str]]) -> dict[str, Both]:
    """The functions of both sweeps, by the names of the forward sweeps, that can be made for pairs of functions, now in
    the module."""
    wanted = _wanted(module, dict(pairs))
    while wanted:
        made = {name: _woven(module, both, wanted) for name, both in wanted.items()}
        if None not in made.values():
            for func in made.values():
                assert func is not None
                module.add(func)
            return wanted
        wanted = {name: both for name, both in wanted.items() if made[name] is not None}
    return {}


def _wanted(module: Module, pairs: dict[str, str]) -> dict[str, Both]:
    """What functions of both sweeps of these functions, and of those that they call, would be."""
    found: dict[str, Both] = {}
    work = list(pairs.items())
    while work:
        forward, reverse = (module.funcs.get(name) for name in work.pop())
        if forward is None or reverse is None or forward.name in found:
            continue
        if any(isinstance(t, MemRefType | RecordType) for t in (*forward.result_types[:-1], *reverse.result_types)):
            continue
        # Names only propose which arguments of the two are the same: each call is compared (``Weaver.call_both``).
        names = [arg.hint for arg in forward.args]
        place = {name: k for k, name in enumerate(names) if name and names.count(name) == 1}
        same = {
            k: place[arg.hint]
            for k, arg in enumerate(reverse.args)
            if arg.hint in place and forward.args[place[arg.hint]].type == arg.type
        }
        extra = tuple(k for k in range(len(reverse.args) - 1) if k not in same)
        shadows = {reverse.args[k] for k, m in same.items() if SHADOW in forward.arg_attrs[m]}
        if not _only_adds(module, reverse, shadows):
            continue
        name = module.unique_name(f"{reverse.name}.both")
        found[forward.name] = Both(name, forward, reverse, same, extra)
        called = {op.attrs["callee"] for op in forward.walk() if _leaves_record(op)}
        reversed_ = {op.attrs["callee"] for op in reverse.walk() if _takes_record(op)}
        for callee in called:
            (other,) = reversed_ if len(called) == len(reversed_) == 1 else (callee.replace(".aug", ".rev"),)
            work.append((callee, other))
    return found


def _only_adds(module: Module, reverse: Func, shadows: Set[Value]) -> bool:
    """Whether all that a reverse sweep does is to add terms to ``shadows``."""
    aliasing = Aliasing.asked(reverse, module)
    for op in reverse.walk():
        kind = op.opdef
        if kind not in PURE and kind not in _ADDS and kind not in _STRUCTURED:
            return False
        if kind is ops.call and not _takes_record(op):
            return False
        if kind is ops.accumulate and not aliasing.roots(op.operands[1]) <= shadows:
            return False
    return True


def _woven(module: Module, both: Both, wanted: dict[str, Both]) -> Func | None:
    forward, reverse = both.forward, clone_func(both.reverse, both.reverse.name)
    end = forward.body.terminator
    pack = end.operands[-1].op
    unpacked = [op for op, _ in reverse.args[-1].uses]
    if pack is None or pack.opdef is not ops.pack or len(pack.result.uses) != 1 or pack.parent is not forward.body:
        return None
    if any(op.opdef is not ops.unpack or op.parent is not reverse.body for op in unpacked):
        return None
    extra = [reverse.args[k] for k in both.extra]
    args = [*forward.args, *extra]
    results = [*forward.result_types[:-1], *reverse.result_types]
    func = Func(both.name, [a.type for a in args], results, [a.hint for a in args], forward.loc)
    func.arg_attrs = [*map(dict, forward.arg_attrs), *({} for _ in extra)]
    func.attrs = dict(forward.attrs)
    weaver = Weaver(wanted, _Stable(module, both, reverse))
    weaver.values.update(zip(args, func.args, strict=True))
    weaver.same.update((reverse.args[k], forward.args[m]) for k, m in both.same.items())
    for op in unpacked:
        weaver.same.update(zip(op.results, pack.operands, strict=True))
    _choose(reverse.body)
    with insert_at(func.body, forward.loc):
        try:
            ours = [op for op in forward.body.ops[:-1] if op is not pack]
            weaver.block(ours, [op for op in reverse.body.ops[:-1] if op not in unpacked])
            left = [weaver.at(v) for v in (*end.operands[:-1], *reverse.body.terminator.operands)]
        except Apart:
            return None
        known = [v for v in left if v is not None]
        build(ops.return_, known)
    return func if len(known) == len(left) else None


class _Stable:
    """Whether an array of either sweep is an argument that neither sweep writes to."""

    def __init__(self, module: Module, both: Both, reverse: Func) -> None:
        summary = Summaries.asked(module).of(both.forward.name)
        attrs = both.forward.arg_attrs
        aliased = any("adc.alias" in one for one in (*attrs, *reverse.arg_attrs))
        self._aliasing = {func.body: Aliasing(func, module) for func in (both.forward, reverse)}
        self._arguments = {
            func.args[place]
            for k, m in both.same.items()
            if summary is not None and m not in summary.writes and SHADOW not in attrs[m] and not aliased
            for func, place in ((reverse, k), (both.forward, m))
        }

    def __call__(self, memory: Value) -> bool:
        block = memory.block
        while block is not None and block not in self._aliasing:
            around = block.parent_op
            block = around.parent if around is not None else None
        return block is not None and self._aliasing[block].roots(memory) <= self._arguments


def _choose(block: Block) -> None:
    """Compute both sides of branches that are short and only compute, and choose: so each result is known as soon as it
    can be."""
    made: list[Op] = []
    for op in block.ops:
        for region in op.regions:
            _choose(region)
        inner = [one for region in op.regions for one in region.ops[:-1]]
        if op.opdef is not ops.if_ or not op.results or len(inner) > _MOST_CHOSEN or not all(map(_is_simple, inner)):
            made.append(op)
            continue
        taken, other = (region.terminator for region in op.regions)
        with insert_at(Block(), op.loc) as chosen:
            pairs = zip(taken.operands, other.operands, strict=True)
            values = [ops.select(op.operands[0], a, b) for a, b in pairs]
        made += [*inner, *chosen.ops]
        taken.drop()
        other.drop()
        for one in inner:
            one.parent = None
        op.set_regions(())
        replace_op(op, values)
    block.set_ops(made)


def _is_simple(op: Op) -> bool:
    return op.opdef in PURE and op.opdef not in DIVISIONS and not op.regions
