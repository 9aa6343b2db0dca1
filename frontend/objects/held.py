"""Arrays that were copied into a list, where Python's list would have the array itself; and copies of windows instead
of views of them.

A copy is equivalent as long as nothing is stored to the array while the copy is still read. ``check`` examines the code
of a whole function, once it is complete, and refuses it if there may be such a store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from adc.frontend.data.roots import Root
from adc.frontend.data.values import Array
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame, Held, Stand
from adc.ir import kinds, ops
from adc.ir.alias import Aliasing
from adc.ir.builder import current_loc
from adc.ir.core import Block, Func, Loc, Op, Value
from adc.ir.diagnostics import AdcError, Note
from adc.ir.lazy_dataclass import dataclass
from adc.ir.moments import Moments, strip_views
from adc.ir.opdef import Trait
from adc.ir.types import MemRefType


def note(frame: Frame, op: Op, moved: bool) -> None:
    """Note that ``op`` copied an array into a list; ``moved``: the array was in it, or in a list that becomes this
    one."""
    frame.held.append(Held(op, moved, current_loc(), op.operands[0]))


@dataclass(frozen=True)
class _Write:
    op: Op
    target: Value


def check(frame: Frame) -> None:
    """Refuse a function that may store to an array after it became an item of a list, or was copied for a view."""
    if not frame.held and not frame.stands:
        return
    alive = dict.fromkeys(frame.func.walk())
    own = {one.op for one in frame.held}
    _refuse_recursion(frame, alive)
    kept = [one for one in frame.held if one.op in alive and not one.moved]
    aliasing, moments = Aliasing(frame.func, frame.tracer.module), Moments(frame.func)
    writes = [w for op in alive if op not in own or op.opdef is ops.call for w in _writes(frame, op)]
    for one in kept:
        roots = aliasing.roots(one.array)
        for write in writes:
            if not roots.isdisjoint(aliasing.roots(write.target)) and _may_follow(moments, one.op, write, one.array):
                raise _changed(one.loc, write.op.loc)
    for stand in frame.stands:
        if stand.op in alive:
            _check_stand(aliasing, moments, writes, alive, stand)


def _refuse_recursion(frame: Frame, alive: Iterable[Op]) -> None:
    """Refuse calls of functions that are still being traced: it is not known which memory they return."""
    funcs = frame.tracer.module.funcs
    for op in alive:
        callee = funcs.get(op.attrs["callee"]) if op.opdef is ops.call else None
        if callee is not None and (callee is frame.func or not is_finished(callee)):
            what = "arrays in lists that grow" if frame.held else "reshapes and diagonals of what may be a window"
            raise refuse(
                frame.held[0].loc if frame.held else frame.stands[0].op.loc,
                f"{what} are not supported in a function that calls itself",
                "work on an array made with np.zeros()" if frame.held else "take those of a copy: x.copy()",
                kind=kinds.UNSUPPORTED_CALL,
            )


def is_finished(func: Func) -> bool:
    return bool(func.body.ops) and func.body.ops[-1].opdef is ops.return_


def _check_stand(
    aliasing: Aliasing, moments: Moments, writes: Iterable[_Write], alive: Iterable[Op], stand: Stand
) -> None:
    roots, own = aliasing.roots(stand.source), aliasing.roots(stand.copy)
    later = [
        write
        for write in writes
        if not roots.isdisjoint(aliasing.roots(write.target)) and _may_follow(moments, stand.op, write, stand.source)
    ]
    if not later:
        return
    readers = [
        (op, v)
        for op in alive
        if Trait.VIEW not in op.opdef.traits
        for v in op.operands
        if isinstance(v.type, MemRefType) and not own.isdisjoint(aliasing.roots(v))
    ]
    for write in later:
        if any(_may_read_after(write.op, op, v, stand.copy) for op, v in readers):
            raise refuse(
                write.op.loc,
                f"this store may change what {stand.view} gave before",
                f"keep a copy: {stand.view}.copy()",
                kind=kinds.UNSUPPORTED_INDEXING,
            )


def _may_read_after(write: Op, reader: Op, operand: Value, copy: Value) -> bool:
    """Whether an operation with this operand may read the copy after the write."""
    first, second, block = in_common(write, reader)
    if block.ops.index(second) > block.ops.index(first):
        return True
    if first is second and first.opdef is not ops.if_:
        return True
    loop = loop_around(block)
    made = strip_views(copy).op
    return loop is not None and not (made is not None and is_within(made, loop) and strip_views(operand).op is made)


def copied_root(frame: Frame) -> Root:
    """A root for an array that a call returned instead of a view."""
    return frame.new_root("view", "it may be a view, and was copied in the call that gave it")


@dataclass(frozen=True)
class Handed:
    """What the callers of a function have to know of its arrays.

    ``stands``: which results stand for views of which arguments; ``arguments``, ``results``: which of them are in lists
    that the callers can reach, and where they were put there.
    """

    stands: tuple[tuple[int, Root], ...] = ()
    arguments: tuple[tuple[Root, Loc], ...] = ()
    results: tuple[tuple[int, Loc], ...] = ()


NOTHING = Handed()


def note_call(
    frame: Frame, call: Op, handed: Handed, passed: Mapping[Root, Array], results: Sequence[Array]
) -> None:
    """Note the arrays that a call returned instead of views of its arguments, and those that it put into lists."""
    name = f"{str(call.attrs['callee']).split('.')[0]}(...)"
    for k, root in handed.stands:
        frame.stands.append(Stand(call, passed[root].memref, results[k].memref, name))
    frame.held += [Held(call, False, loc, passed[root].memref) for root, loc in handed.arguments]
    frame.held += [Held(call, False, loc, results[k].memref) for k, loc in handed.results]


def handed_on(frame: Frame, returned: Sequence[Value]) -> Handed:
    """What the callers of the function have to know, which returns these arrays."""
    if not frame.stands and not frame.held:
        return NOTHING
    alive = set(frame.func.walk())
    aliasing = Aliasing(frame.func, frame.tracer.module)

    def arguments(array: Value) -> list[Root]:
        roots = aliasing.roots(array)
        return [root for n, root in frame.argument_roots.items() if not roots.isdisjoint(aliasing.roots(args[n]))]

    def results(array: Value) -> list[int]:
        return [k for k, one in enumerate(returned) if not aliasing.roots(one).isdisjoint(aliasing.roots(array))]

    args = frame.func.args
    left = *returned, *(args[n] for n in frame.argument_roots)
    outside: frozenset[Value] = frozenset().union(*map(aliasing.roots, left))
    stands = [one for one in frame.stands if one.op in alive]
    kept = [
        one
        for one in frame.held
        if one.op in alive
        and not one.moved
        and (one.op.opdef is ops.call or not outside.isdisjoint(aliasing.roots(one.op.operands[1])))
    ]
    return Handed(
        tuple((k, root) for one in stands for k in results(one.copy) for root in arguments(one.source)),
        tuple(dict.fromkeys((root, one.loc) for one in kept for root in arguments(one.array))),
        tuple(dict.fromkeys((k, one.loc) for one in kept for k in results(one.array))),
    )


def _writes(frame: Frame, op: Op) -> Iterable[_Write]:
    if op.opdef is ops.call:
        return [_Write(op, v) for v in frame.call_writes.get(op, ())]
    if Trait.WRITES not in op.opdef.traits or op.regions:
        return ()
    position = op.opdef.target
    targets = [op.operands[position]] if position is not None else op.operands
    return [_Write(op, v) for v in targets if isinstance(v.type, MemRefType)]


def _changed(at: Loc, later: Loc) -> AdcError:
    return refuse(
        at,
        "this array may be changed later, and with it the item of the list",
        "append a copy: xs.append(u.copy())",
        [Note("it is changed here", later)],
        kind=kinds.UNSUPPORTED_CALL,
    )


def _may_follow(moments: Moments, copy: Op, write: _Write, copied: Value) -> bool:
    """Whether the write may come after the copy, and to the memory that was copied, given that it may be the same
    memory at some time."""
    first, second, block = in_common(copy, write.op)
    later = block.ops.index(second) > block.ops.index(first)
    if first is second and first.opdef is not ops.if_ and copy is not write.op:  # a called function has been examined
        later = True
    loop = loop_around(block)
    if loop is None:
        return later
    made = moments.made_in_iteration(write.target, loop)
    if made is None:
        return True
    # Memory of this iteration, to which no later iteration writes.
    source = strip_views(copied)
    if not later or (isinstance(source.owner, Block) and source.owner is block):
        return False
    arounds = [_ancestor_in(op, block) for op in made]
    return any(around is None or block.ops.index(around) < block.ops.index(first) for around in arounds)


def in_common(a: Op, b: Op) -> tuple[Op, Op, Block]:
    """The innermost block that contains both, and the operations of it that they are or that contain them."""
    blocks = {block: op for op, block in _ancestors(a)}
    for op, block in _ancestors(b):
        if block in blocks:
            return blocks[block], op, block
    raise AssertionError("of one function")


def _ancestors(op: Op) -> list[tuple[Op, Block]]:
    found: list[tuple[Op, Block]] = []
    at: Op | None = op
    while at is not None and at.parent is not None:
        found.append((at, at.parent))
        at = at.parent.parent_op
    return found


def _ancestor_in(op: Op, block: Block) -> Op | None:
    return next((at for at, inside in _ancestors(op) if inside is block), None)


def loop_around(block: Block) -> Op | None:
    at = block.parent_op
    while at is not None:
        if not at.opdef.traits.isdisjoint({Trait.LOOP, Trait.COUNTED}):
            return at
        at = at.parent.parent_op if at.parent is not None else None
    return None


def is_within(op: Op, loop: Op) -> bool:
    return any(at is loop for at, _ in _ancestors(op)[1:])
