"""What owns its memory in a function, by flags that move with values; and which values may be the same memory.

See ``adc.passes.memory.insert_deallocs``.
"""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.types import MemRefType, RecordType, Type, i1
from adc.passes.memory.ownership import Classes

_SOURCES = frozenset({ops.alloc, ops.grow, ops.call})


class Scope:
    """What a block owns: memrefs and their flags. The block of a branch may also take from what encloses it."""

    def __init__(self, block: Block, outer: Scope | None = None) -> None:
        self.block = block
        self.outer = outer
        self.flags: dict[Value, Value] = {}
        self.changed: dict[Value, Value] = {}  # flags of memrefs of the enclosing blocks, where they differ now

    def flag(self, memref: Value) -> Value | None:
        if memref in self.flags:
            return self.flags[memref]
        if memref in self.changed:
            return self.changed[memref]
        return self.outer.flag(memref) if self.outer is not None else None

    def set(self, memref: Value, flag: Value) -> None:
        (self.flags if memref in self.flags else self.changed)[memref] = flag

    def owners(self) -> dict[Value, None]:
        """The memrefs that have a flag here."""
        outer = self.outer.owners() if self.outer is not None else {}
        return outer | dict.fromkeys(self.flags)


class Flags:
    """The flags of the memrefs of ``func``, and what they may refer to."""

    def __init__(self, func: Func, module: Module) -> None:
        self._func = func
        self._module = module
        self._alias = Aliasing.asked(func, module)
        self._depth: dict[Block, int] = {}
        self._classes = Classes(self._depth)
        self._fresh: set[Value] = set()  # memory that was certainly allocated in this function
        self._owners: set[Value] = set()  # memrefs that have, or had, a flag
        self._true, self._false = (
            Op(ops.constant, (), (i1,), {"value": value, "type": i1}, loc=func.loc) for value in (1, 0)
        )

    def _own(self, scope: Scope, memref: Value) -> None:
        """Note that ``memref`` was allocated, and is owned unless the code that follows frees it anyway."""
        self._fresh.add(memref)
        if not any(user.opdef is ops.dealloc and user.parent is scope.block for user, _ in memref.uses):
            self._flag(scope, memref, self._true.result)

    def _flag(self, scope: Scope, memref: Value, flag: Value) -> None:
        scope.flags[memref] = flag
        self._owners.add(memref)

    def _unite(self, values: Sequence[Value]) -> None:
        for value in values[1:]:
            self._classes.union(values[0], value)

    def _flow(self, op: Op) -> None:
        """Any other operation: what it returns or stores into may refer to what it was given."""
        kind = op.opdef
        if kind in (ops.load, ops.store, ops.fill, ops.copy, ops.accumulate):
            memref = op.operands[0 if kind in (ops.load, ops.copy) else 1]
            if not (isinstance(memref.type, MemRefType) and refers(memref.type.element)):
                return
        elif not any(refers(r.type) for r in op.results):
            return
        self._unite([v for v in (*op.operands, *op.results) if refers(v.type)])

    def _hand_over(self, scope: Scope, record: Value, call: Op) -> None:
        """Hand the contents of ``record`` to the callee, which frees them; if it was packed here, those that it does
        free, itself or where it hands them on."""
        if record.op is not None and record.op.opdef is ops.pack:
            callee = self._module.funcs.get(call.attrs["callee"])
            self._give_up(scope, record, None if callee is None else [callee.args[call.operands.index(record)]])
            return
        self._lose(scope, record)

    def _give_up(self, scope: Scope, value: Value, names: Sequence[Value] | None) -> None:
        """Note that whatever is freed of ``value`` under its ``names`` in other functions is not owned here any more;
        None: its names are not known."""
        if value.op is not None and value.op.opdef is ops.pack:
            unpacked = self._unpacked(names, set())
            for k, part in enumerate(value.op.operands):
                self._give_up(scope, part, None if unpacked is None else [parts[k] for parts in unpacked])
        elif isinstance(value.type, MemRefType):
            if names is None or any(map(_is_freed, names)):
                self._give_back(scope, value)
            if names is None or any(map(_is_emptied, names)):
                self._take_contents(scope, value)

    def _unpacked(self, records: Sequence[Value] | None, seen: set[Value]) -> list[Sequence[Value]] | None:
        """What the contents of records are called where these are unpacked, also by functions that get them; None if
        that cannot be seen."""
        if records is None:
            return None
        found: list[Sequence[Value]] = []
        for user, k in (use for record in records for use in record.uses):
            if user.opdef is ops.unpack:
                found.append(user.results)
            elif user.opdef is ops.call:
                callee = self._module.funcs.get(user.attrs["callee"])
                if callee is None:
                    return None
                handed = {callee.args[k]} - seen
                inner = self._unpacked(list(handed), seen | handed)
                if inner is None:
                    return None
                found += inner
            elif user.opdef is not ops.release:
                return None
        return found

    def _freed_here(self, scope: Scope, memref: Value) -> None:
        """Note that ``memref`` is freed. If it was loaded, it may be anything that its holder has."""
        base = uncast(memref)
        self._give_back(scope, base)
        if base.op is not None and base.op.opdef is ops.load:
            self._take_contents(scope, base.op.operands[0])

    def _take_contents(self, scope: Scope, holder: Value) -> None:
        """Note that what ``holder``, a memref of memrefs, may hold is freed by whoever has the holder."""
        t = holder.type.element if isinstance(holder.type, MemRefType) else None
        if isinstance(t, MemRefType):
            self._lose(scope, holder, t.element)

    def _give_back(self, scope: Scope, memref: Value) -> None:
        """Note that ``memref`` is freed by the code: under this name, and under all others that it may have."""
        base = uncast(memref)
        flag = self._take(scope, base)
        freed_anyway = base in self._fresh and base not in self._owners
        if flag is not self._true.result and not freed_anyway and isinstance(base.type, MemRefType):
            self._lose(scope, base, base.type.element)

    def _lose(self, scope: Scope, value: Value, element: Type | None = None) -> None:
        """Note that nothing that may be the memory of ``value``, or of what it holds, is owned from here on; if
        ``element`` is given, no memref of such elements. Ownership may have moved to other names before."""
        reach = self._classes.reach(value)
        for memref in scope.owners():
            assert isinstance(memref.type, MemRefType)
            if scope.flag(memref) is self._false.result or element not in (None, memref.type.element):
                continue
            if not reach.isdisjoint(self._classes.reach(memref)):
                self._take(scope, memref)

    def _take(self, scope: Scope, memref: Value) -> Value | None:
        """The flag of ``memref``, which owns nothing from here on; None if it is not owned in this scope."""
        base = uncast(memref)
        flag = scope.flag(base)
        if flag is not None:
            scope.set(base, self._false.result)
        return flag

    def _give_away(self, scope: Scope, operands: Sequence[Value]) -> list[Value | None]:
        """Move the flags of what the terminator hands on, if nothing else that it hands on may be the same memory."""
        refs = [(k, v) for k, v in enumerate(operands) if refers(v.type)]
        leaders = [(k, self._classes.find(uncast(v))) for k, v in refs]
        depth = self._depth[scope.block]
        flags: list[Value | None] = [None] * len(operands)
        for k, value in refs:
            base = uncast(value)
            if not self._may_own(value) or scope.flag(base) is None:
                continue
            reach = self._classes.reach(base)
            alone = not any(j != k and leader in reach for j, leader in leaders)
            # What the next iteration gets must not be known outside of the loop.
            contained = scope.outer is not None or self._classes.outermost(reach) >= depth
            if alone and contained:
                flags[k] = self._take(scope, value)
        return flags

    def _may_own(self, value: Value) -> bool:
        if not isinstance(value.type, MemRefType):
            return False
        return any(root.op is not None and root.op.opdef in _SOURCES for root in self._alias.roots(value))

    def _has_no_lender(self, base: Value) -> bool:
        """Whether no other value in sight owns the memory if the flag of ``base`` is false."""
        own = self._classes.find(base)
        alike = self._classes.members([own])
        return not self._classes.is_held(own) and not any(m is not base and m in self._owners for m in alike)

    def _lend(self, results: Sequence[Value], borrowed: Sequence[Value]) -> None:
        """Note that results of a loop may be what it borrowed: initial and yielded values that it does not own."""
        for value in borrowed:
            for result in results:
                if refers(value.type) and refers(result.type) and self._overlap(result, value):
                    self._classes.union(result, value)

    def _overlap(self, a: Value, b: Value) -> bool:
        if isinstance(a.type, RecordType) or isinstance(b.type, RecordType):
            return True
        return bool(self._alias.roots(a) & self._alias.roots(b))


def uncast(memref: Value) -> Value:
    """The memref that ``memref`` is a cast or another shape of: all of the same memory, at the same address."""
    while (op := memref.op) is not None and op.opdef in (ops.cast, ops.reshape):
        memref = op.operands[0]
    return memref


def refers(t: object) -> bool:
    return isinstance(t, MemRefType | RecordType)


def _is_freed(value: Value) -> bool:
    return any(user.opdef is ops.dealloc for user, _ in value.uses)


def _is_emptied(holder: Value) -> bool:
    """Whether anything that is loaded from a memref of memrefs is freed."""
    loads = (user for user, _ in holder.uses if user.opdef is ops.load)
    return any(_is_freed(load.result) for load in loads)


def holds_memrefs(value: Value) -> bool:
    return isinstance(value.type, MemRefType) and refers(value.type.element)
