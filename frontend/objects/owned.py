"""Arrays of objects in pools that the program changes in place: ``b.pos += v``, ``b.pos[k] = x``.

Pools keep arrays by value, so this is the same as in Python only if the object alone has its array. ``check`` examines
the code of a whole function, once it is complete. An array that was given to an object must be a new one that nothing
else keeps, and must not be read under its other name after the object's array has changed. The same holds for an array
read from the object before, which is a copy. Arrays that functions return, or give to objects and lists, may have names
that are not visible in one function: they are noted for the program, and none of them may be changed in place anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from adc.frontend import abstract
from adc.frontend.data.compounds import Handle, Record
from adc.frontend.data.roots import overlap, protection
from adc.frontend.data.values import AbstractValue, Array, Compound, Ref
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame, Held, Part
from adc.frontend.objects import columns, heap
from adc.frontend.objects.held import in_common, is_finished, is_within, loop_around
from adc.ir import kinds, ops
from adc.ir.alias import Aliasing
from adc.ir.builder import current_block, current_loc
from adc.ir.core import Loc, Op, Value
from adc.ir.diagnostics import AdcError, Note
from adc.ir.moments import strip_views
from adc.ir.opdef import Trait
from adc.ir.types import MemRefType, Type


def note_given(frame: Frame, before: int, record: Record, *types: abstract.Tuple) -> None:
    """Note the arrays of ``record`` that were written to a pool, after the first ``before`` notes of such writes.
    ``types``: that of the record, and those of the pool's objects after and before: a converted array is not the array
    itself."""
    written = [one for one in frame.held[before:] if not one.moved]
    given = [
        ((record.form.cls, str(name), n), v, len({elements[n] for elements in map(_elements, row_types)}) > 1)
        for name, item, *row_types in zip(record.form.names, record.items, *(t.items for t in types), strict=True)
        for n, v in enumerate(_arrays(frame, item))
    ]
    for one, (part, v, converted) in zip(written, given, strict=True):
        frame.owned.given.append((one, part, None if converted or protection(v.roots) else v))


def _elements(item: abstract.Abstract) -> list[Type]:
    return [leaf.element for leaf in columns.leaves(item) if isinstance(leaf, abstract.Array)]


def _arrays(frame: Frame, v: AbstractValue) -> list[Array]:
    """The arrays in an attribute, in the order of its columns."""
    return [one for one in _leaves(frame, v) if isinstance(one, Array)]


def _leaves(frame: Frame, v: AbstractValue) -> list[AbstractValue]:
    if isinstance(v, Ref) and v.kind == "list":
        return [leaf for item in heap.contents(frame, v).items for leaf in _leaves(frame, item)]
    if isinstance(v, Compound) and not isinstance(v, Handle):
        return [leaf for item in v.items for leaf in _leaves(frame, item)]
    return [v]


def note_read(frame: Frame, cls: type, name: str, v: AbstractValue) -> None:
    """Note the copies that were read from an attribute."""
    for n, one in enumerate(_arrays(frame, v)):
        made = strip_views(one.memref).op
        assert made is not None
        frame.owned.read.append((made, (cls, name, n), one))


def note_changed(frame: Frame, cls: type, name: str) -> None:
    """Note that the last operation here changed the array in an attribute."""
    frame.owned.changed.append((current_block().ops[-1], (cls, name, 0), current_loc()))


class _Change(NamedTuple):
    op: Op
    called: bool
    loc: Loc


def check(frame: Frame) -> None:
    """Refuse a function after which an array that was changed in place may differ under another name."""
    program, own = frame.tracer.owned, frame.owned
    if not own.given and not own.read and not own.changed and not program.by_function:
        return
    alive = list(frame.func.walk())
    among = set(alive)
    changes: dict[Part, list[_Change]] = {}
    for op, part, loc in own.changed:
        if op in among:
            changes.setdefault(part, []).append(_Change(op, False, loc))
    for op in alive:
        for callee in _names(op) & program.by_function.keys():
            for part in program.by_function[callee]:
                changes.setdefault(part, []).append(_Change(op, True, op.loc or program.changed[part]))
    _note_recursion(frame, alive)
    if changes:
        program.by_function[frame.func.name] = set(changes)
    for part, several in changes.items():
        program.changed.setdefault(part, several[0].loc)
    _Uses(frame, alive, changes).look()
    for part, loc in program.changed.items():
        other = program.shared.get(part, program.circular)
        if other is not None:
            raise _refused(loc, other)


def _names(op: Op) -> set[str]:
    """The strings among the attributes of an operation, which may be names of functions."""
    inside = [v for v in op.attrs.values() if isinstance(v, tuple)]
    return {v for several in (op.attrs.values(), *inside) for v in several if isinstance(v, str)}


def _note_recursion(frame: Frame, alive: Iterable[Op]) -> None:
    """Note calls of functions that are still being traced: what they change is not known."""
    program, funcs = frame.tracer.owned, frame.tracer.module.funcs
    for op in alive:
        callee = funcs.get(op.attrs["callee"]) if op.opdef is ops.call else None
        if callee is frame.func:
            for _, part, _ in frame.owned.read:
                program.shared.setdefault(part, op.loc or current_loc())
        elif callee is not None and not is_finished(callee):
            program.circular = program.circular or op.loc


class _Uses:
    """The uses of the arrays of objects in a function."""

    def __init__(self, frame: Frame, alive: list[Op], changes: dict[Part, list[_Change]]) -> None:
        self.frame, self.changes = frame, changes
        self.among = set(alive)
        self.aliasing = Aliasing(frame.func, frame.tracer.module)
        self.readers = [
            (op, v)
            for op in alive
            if Trait.VIEW not in op.opdef.traits
            for v in op.operands
            if isinstance(v.type, MemRefType)
        ]
        self.held = [one for one in frame.held if one.op in self.among and not one.moved]

    def look(self) -> None:
        shared = self.frame.tracer.owned.shared
        for op, part, v in self.frame.owned.read:
            if op in self.among and self._goes_on(op, v):
                shared.setdefault(part, op.loc or current_loc())
            elif op in self.among:
                self._check_uses(op, part, v.memref)
        for one, part, given in self.frame.owned.given:
            if one.op not in self.among:
                continue
            if given is None or not self._is_new(one, given):
                shared.setdefault(part, one.loc)
            else:
                self._check_uses(one.op, part, one.op.operands[0])

    def _goes_on(self, op: Op, v: Array) -> bool:
        """Whether a copy that was read from an object may be kept in another object or list, have views that are
        copies, or be returned by the function."""
        roots = self.aliasing.roots(v.memref)
        kept = [one.op.operands[0] for one in self.held]
        if not self.frame.entry:
            kept += self._returned()
        return self._meets(roots, kept) or self._has_copies(roots, v)

    def _returned(self) -> list[Value]:
        terminator = self.frame.func.body.terminator
        return [v for v in terminator.operands if isinstance(v.type, MemRefType)]

    def _meets(self, roots: frozenset[Value], others: Iterable[Value]) -> bool:
        return any(not roots.isdisjoint(self.aliasing.roots(v)) for v in others)

    def _has_copies(self, roots: frozenset[Value], v: Array) -> bool:
        """Whether copies may stand for views of an array, or it is itself such a copy."""
        stands = [w for s in self.frame.stands if s.op in self.among for w in (s.source, s.copy)]
        return self._meets(roots, stands) or any(overlap(v.roots, seen) for _, seen, _ in self.frame.snapshots)

    def _is_new(self, one: Held, given: Array) -> bool:
        """Whether an array given to an object was made for it: in this function, once for each, and for nothing
        else."""
        roots = self.aliasing.roots(one.op.operands[0])
        if len(roots) != 1:
            return False
        made = next(iter(roots)).op
        if made is None or made.opdef not in (ops.alloc, ops.call) or made.parent is None or one.op.parent is None:
            return False
        others = [other.op.operands[0] for other in self.held if other.op is not one.op]
        others += self._returned() if not self.frame.entry else []
        same = loop_around(made.parent) is loop_around(one.op.parent)
        return same and not self._meets(roots, others) and not self._has_copies(roots, given)

    def _check_uses(self, op: Op, part: Part, copy: Value) -> None:
        """Refuse reads of ``copy``, which was the same as the array of an object at ``op``, after that array has
        changed."""
        if part not in self.changes:
            return
        roots = self.aliasing.roots(copy)
        made = next(iter(roots)).op
        for reader, v in self.readers:
            if roots.isdisjoint(self.aliasing.roots(v)):
                continue
            for change in self.changes[part]:
                now = len(roots) == 1 and made is not None and self._is_of_now(v, made)
                if not now or made is None or (_follows(op, change.op) and _read_after(change, reader, made)):
                    raise _refused(change.loc, op.loc)

    def _is_of_now(self, v: Value, made: Op) -> bool:
        """Whether ``v``, which may be memory of ``made``, is what ``made`` returned last, not carried by a loop or
        branch."""
        base = strip_views(v)
        if base.op is None or base.op is made or base.op.opdef is not ops.call:
            return base.op is made
        roots = frozenset(made.results)
        given = [w for w in base.op.operands if isinstance(w.type, MemRefType) and self._meets(roots, [w])]
        return bool(given) and all(self._is_of_now(w, made) for w in given)


def _follows(first: Op, second: Op) -> bool:
    """Whether ``second`` may come after ``first`` in one iteration of the loop around them."""
    a, b, block = in_common(first, second)
    return block.ops.index(b) > block.ops.index(a) or (a is b and a.opdef is not ops.if_)


def _read_after(change: _Change, reader: Op, made: Op) -> bool:
    """Whether memory of ``made`` may be read after a change, before it is made anew."""
    if change.called or not (reader is change.op or is_within(reader, change.op)):
        first, second, block = in_common(change.op, reader)
        if block.ops.index(second) > block.ops.index(first) or (first is second and first.opdef is not ops.if_):
            return True
    else:
        assert change.op.parent is not None
        block = change.op.parent
    loop = loop_around(block)
    return loop is not None and not is_within(made, loop)


def _refused(loc: Loc, other: Loc | None) -> AdcError:
    return refuse(
        loc,
        f"cannot store into this array: {heap.ITEM}",
        columns.ASSIGN,
        [Note("the array may have another name here", other)] if other is not None else [],
        kind=kinds.CAPTURED_WRITE,
    )
