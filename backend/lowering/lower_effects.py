"""Effects of the functions of a module, including those of their callees, for the lowering."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.callgraph import callees, recursive
from adc.ir.core import Block, Func, Module, Op
from adc.ir.escape import escapes
from adc.ir.externals import SYMBOL
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import BY_LANES, ONE_BY_ONE, OWN, TRIPS
from adc.ir.nesting import inside
from adc.ir.opdef import Trait
from adc.ir.types import MemRefType, scalar_bytes

STACK_BYTES = 2048  # the largest buffer that is put into a frame
INLINE_OPS = 300  # the largest function that always goes into its callers
BRIEF_TRIPS = 256  # total iterations of a loop nest
INLINE_TOTAL = 3000  # the most operations that inlining all calls of one function may add
LOOPS = ops.having(Trait.LOOP)
_LANES = frozenset({BY_LANES, ONE_BY_ONE})


@dataclass(frozen=True)
class Effects:
    """Names of the functions that may fail, that accumulate into memory, and that have loops.

    Functions in ``inlined`` are small and have neither loops nor errors: a loop that calls them can become SIMD only if
    they are inlined.
    """

    fallible: frozenset[str]
    accumulating: frozenset[str]
    looping: frozenset[str]
    inlined: frozenset[str]
    polls: bool = False

    @staticmethod
    def of(module: Module, *, polls: bool = False) -> Effects:
        """The effects of a module. ``polls``: whether loops poll for signals, and so may fail."""
        recursive_names = recursive(module)

        def fails(op: Op) -> bool:
            return _may_fail(op) or recurs(op) or (polls and op.opdef in LOOPS and not is_brief(op))

        def recurs(op: Op) -> bool:
            return op.opdef is ops.call and op.attrs["callee"] in recursive_names

        code = {name: list(func.walk()) for name, func in module.funcs.items()}
        fallible = _closure(module, code, fails, elsewhere=True)
        looping = _closure(module, code, lambda op: op.opdef in LOOPS or recurs(op), elsewhere=True)
        return Effects(
            fallible,
            _closure(module, code, _accumulates),
            looping,
            _inlined(module, [name for name in module.funcs if name not in fallible and name not in looping]),
            polls,
        )

    def op_accumulates(self, op: Op) -> bool:
        return _accumulates(op) or (op.opdef is ops.call and op.attrs["callee"] in self.accumulating)

    def op_loops(self, op: Op) -> bool:
        if op.opdef is ops.call:
            return op.attrs["callee"] in self.looping
        return op.opdef in LOOPS or op.opdef is ops.matmul

    def op_lasts(self, op: Op) -> bool:
        """Whether ``op`` may run so long that it must be interruptible. Callees that poll may fail."""
        if op.opdef is ops.call:
            return op.attrs["callee"] in self.looping and op.attrs["callee"] in self.fallible
        return op.opdef in LOOPS and not is_brief(op)


def _accumulates(op: Op) -> bool:
    return op.opdef is ops.accumulate and not op.attrs.get("atomic")


def _closure(
    module: Module, code: Mapping[str, list[Op]], holds: Callable[[Op], bool], *, elsewhere: bool = False
) -> frozenset[str]:
    """The functions that contain an operation for which ``holds`` is true, and their callers, direct and indirect.
    ``elsewhere``: functions whose code is not in the module are assumed to contain one."""
    callers: dict[str, set[str]] = {}
    work = []
    for name, func in module.funcs.items():
        for callee in callees(func):
            callers.setdefault(callee, set()).add(name)
        if (SYMBOL in func.attrs and elsewhere) or any(map(holds, code[name])):
            work.append(name)
    closed = set(work)
    while work:
        for caller in callers.get(work.pop(), ()):
            if caller not in closed:
                closed.add(caller)
                work.append(caller)
    return frozenset(closed)


def _inlined(module: Module, candidates: Sequence[str]) -> frozenset[str]:
    """Those of the candidates that are small, callees included, and not called at too many places."""
    if not candidates:
        return frozenset()
    calls = Counter(op.attrs["callee"] for func in module.funcs.values() for op in func.walk() if op.opdef is ops.call)
    sizes: dict[str, int] = {}  # too large while it is measured, which excludes recursion

    def size(name: str) -> int:
        if name not in sizes:
            sizes[name] = INLINE_OPS + 1
            total = 0
            for op in module.funcs[name].walk():
                total += size(op.attrs["callee"]) if op.opdef is ops.call else 1
            sizes[name] = total
        return sizes[name]

    return frozenset(n for n in candidates if size(n) <= INLINE_OPS and sizes[n] * calls[n] <= INLINE_TOTAL)


def is_brief(loop: Op) -> bool:
    """Whether a loop nest has a known and small number of iterations, so that it need not be interruptible.

    LLVM unrolls many of these, and vectorises the loops around them. Functions that it calls poll themselves.
    """
    return (trips := _brief_trips(loop)) is not None and trips <= BRIEF_TRIPS


def _brief_trips(loop: Op) -> int | None:
    if loop.opdef is ops.while_:
        return None
    bounds = [constant_of(v) for v in loop.operands[:3]]
    if all(b is not None for b in bounds):
        trips = len(range(*(int(b) for b in bounds if b is not None)))
    elif _LANES.isdisjoint(loop.attrs) or TRIPS not in loop.attrs:
        return None
    else:
        trips = int(loop.attrs[TRIPS])  # an upper bound: the number of lanes
    most = 1
    for op in loop.regions[0].walk():
        if op.opdef in LOOPS:
            inner = _brief_trips(op)
            if inner is None:
                return None
            most = max(most, inner)  # of the inner nest
    return most * trips


def is_ragged(loop: Op) -> bool:
    """Whether a loop is inside another loop that loads its bounds, as in loops over the rows of sparse matrices.

    Its trip count differs from row to row. If it is split into several loops, each of them ends in a branch that the
    processor mispredicts.
    """
    parent = loop.parent.parent_op if loop.parent is not None else None
    if parent is None or parent.opdef not in LOOPS:
        return False
    seen, left = set[Op](), [v.op for v in loop.operands[:3]]
    while left:
        op = left.pop()
        if op is None or op.parent is not loop.parent or op in seen or op.regions:
            continue
        if op.opdef is ops.load:
            return True
        seen.add(op)
        left.extend(v.op for v in op.operands)
    return False


def _may_fail(op: Op) -> bool:
    if op.opdef is ops.bound:
        return bool(op.attrs["check"])
    if op.opdef is ops.alloc:
        return not on_stack(op)
    return op.opdef in (ops.assert_, ops.grow, ops.pack)


def in_turn(loop: Op) -> list[Op]:
    """Private arrays of a parallel loop whose memory the iterations that one thread runs can reuse, one after the
    other."""
    body = loop.regions[0]
    return [op for op in body.ops if op.opdef is ops.alloc and op.attrs.get(OWN) and is_in_turn(op, loop)]


def is_in_turn(alloc: Op, loop: Op) -> bool:
    """Whether the memory of one allocation, marked as private, can be reused by the next iteration."""
    body = loop.regions[0]
    frees = [op for op, _ in alloc.result.uses if op.opdef is ops.dealloc]
    whole = alloc.parent is body and len(frees) == 1 and frees[0].parent is body
    return whole and not on_stack(alloc) and not any(inside(v, loop) for v in alloc.operands)


def on_stack(alloc: Op) -> bool:
    """Whether an allocation can be placed in the frame: it is small, of fixed size, and never handed on.

    In a loop one buffer serves all iterations, so it must not be carried to the next one; a buffer that is not handed
    on is not carried.
    """
    t = alloc.result.type
    assert isinstance(t, MemRefType)
    size = scalar_bytes(t.element)
    for extent in t.shape:
        if extent is None:
            return False
        size *= extent
    return size <= STACK_BYTES and not escapes(alloc.result)


@dataclass(frozen=True)
class Facts:
    """Facts about the loops of a function: which of them accumulate into memory, and which contain loops or calls that
    loop."""

    accumulating: frozenset[Op]
    nesting: frozenset[Op]
    outer: frozenset[Op]  # loops that contain operations which may run for long

    @staticmethod
    def none() -> Facts:
        return Facts(frozenset(), frozenset(), frozenset())

    @staticmethod
    def of(func: Func, effects: Effects) -> Facts:
        accumulating: set[Op] = set()
        nesting: set[Op] = set()
        outer: set[Op] = set()

        def visit(block: Block) -> tuple[bool, bool, bool]:
            accumulates = loops = lasts = False
            for op in block.ops:
                for inner_accumulates, inner_loops, inner_lasts in map(visit, op.regions):
                    if inner_accumulates:
                        accumulating.add(op)
                    if inner_loops:
                        nesting.add(op)
                    if inner_lasts:
                        outer.add(op)
                accumulates = accumulates or op in accumulating or effects.op_accumulates(op)
                loops = loops or op in nesting or effects.op_loops(op)
                lasts = lasts or op in outer or effects.op_lasts(op)
            return accumulates, loops, lasts

        visit(func.body)
        return Facts(frozenset(accumulating), frozenset(nesting), frozenset(outer))
