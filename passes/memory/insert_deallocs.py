"""Freeing memory: every allocation that does not outlive its block is freed after its last use in it.

Each memref that may own its memory has a flag (i1): whether it does so in this run. Ownership moves with values out of
branches and around loops; loops and branches carry flags beside the memrefs that need them. In

    for t in range(nt):
        u = u + dt * f(u)

``u`` may start as the caller's array, which is not ours to free, and from the second iteration on is the buffer of the
iteration before: the flag starts as false, each iteration yields true, and frees what it was given if the flag is true.
Most flags are constant, which ``Canonicalize`` finds afterwards. What the code frees itself, as reverse sweeps do, no
memref owns from there on, whatever name its memory has got in branches.

Safe by construction: if it cannot be told who else refers to memory, nobody owns it, and it stays until the end of the
run, when the arena takes back what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import place_in
from adc.ir.types import RecordType, i1
from adc.passes.memory.ownership_flags import Flags, Scope, holds_memrefs, refers, uncast


@dataclass(frozen=True)
class InsertDeallocs:
    """Add ``memref.dealloc`` for memory that does not escape; to be run last, on final functions."""

    name: ClassVar[str] = "insert-deallocs"

    def run(self, module: Module) -> Module:
        owned = _Results(module)
        for name in module.funcs:
            owned.of(name)
        return module


class _Results:
    """Processes each function before its callers. It knows which results of a function the caller owns and, for
    records, whether they hold nothing that the function was given."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._known: dict[str, tuple[bool, ...] | None] = {}

    def of(self, name: str) -> tuple[bool, ...] | None:
        """None: nothing is owned (a recursive function, or one from elsewhere)."""
        if name not in self._known:
            self._known[name] = None
            func = self._module.funcs.get(name)
            if func is not None:
                self._known[name] = _Ownership(func, self._module, self).run()
        return self._known[name]


class _Ownership(Flags):
    def __init__(self, func: Func, module: Module, results: _Results) -> None:
        super().__init__(func, module)
        self._results = results

    def run(self) -> tuple[bool, ...]:
        body = self._func.body
        scope = Scope(body)
        returned = body.terminator.operands
        self._walk(scope, 0)
        moved = self._give_away(scope, returned)
        owned = tuple(
            self._holds_nothing_given(v)
            if isinstance(v.type, RecordType)
            else flag is not None and self._is_ours(v) and self._is_whole(v, set())
            for v, flag in zip(returned, moved, strict=True)
        )
        self._free(scope)
        body.set_ops([*[op for op in (self._true, self._false) if op.result.uses], *body.ops])
        return owned

    def _is_ours(self, returned: Value) -> bool:
        """Whether the memory was certainly allocated here, and only the caller has it after the call."""
        roots = self._alias.roots(returned)
        if not roots or not all(root in self._fresh for root in roots):
            return False
        return self._holds_nothing_given(uncast(returned))

    def _is_whole(self, value: Value, seen: set[Value]) -> bool:
        """Whether a memref begins where its memory does, whichever way it came: a view of it cannot be freed."""
        value = uncast(value)
        if value in seen:
            return True
        seen.add(value)
        op, k = value.op, value.index
        made = op if op is not None else value.block.parent_op if value.block is not None else None
        kind = made.opdef if made is not None else None
        if made is None or kind is ops.parallel:
            return False
        if kind is ops.for_:
            slot = k if op is not None else k - 1
            ways = [made.operands[3 + slot], made.regions[0].terminator.operands[slot]]
        elif kind is ops.while_ and value.block is made.regions[0]:
            ways = [made.operands[k], made.regions[1].terminator.operands[k]]
        elif kind is ops.while_:
            ways = [made.regions[0].terminator.operands[1 + k]]
        elif kind is ops.if_:
            ways = [region.terminator.operands[k] for region in made.regions]
        elif kind is ops.call:
            owned = self._results.of(made.attrs["callee"])
            return owned is not None and owned[k]
        else:
            return kind is ops.alloc or kind is ops.grow
        return all(self._is_whole(way, seen) for way in ways)

    def _holds_nothing_given(self, value: Value) -> bool:
        """Whether neither the value nor anything it holds may be memory of an argument."""
        members = self._classes.members(self._classes.reach(value))
        return all(m.op is not None or m.owner is not self._func.body for m in members)

    # The walk ---------------------------------------------------------------------------------------------------------

    def _walk(self, scope: Scope, depth: int) -> None:
        block = scope.block
        self._depth[block] = depth
        order = {op: k for k, op in enumerate(block.ops)}
        for op in block.ops[:-1]:
            kind = op.opdef
            if kind is ops.if_:
                self._if(op, scope, depth)
            elif kind is ops.for_:
                self._for(op, scope, depth, order)
            elif kind is ops.while_:
                self._while(op, scope, depth, order)
            elif op.regions:
                inner = Scope(op.regions[0])
                self._inside(inner, depth + 1)
                self._free(inner)
            elif kind is ops.alloc:
                self._own(scope, op.result)
            elif kind is ops.grow:
                self._give_back(scope, op.operands[0])
                self._classes.union(op.result, op.operands[0])
                self._own(scope, op.result)
            elif kind is ops.dealloc:
                self._freed_here(scope, op.operands[0])
            elif kind is ops.call:
                self._call(op, scope)
            else:
                self._flow(op)

    def _inside(self, scope: Scope, depth: int) -> list[Value | None]:
        """Walk a region. Returns the flags of what its terminator gives away (None: borrowed)."""
        self._walk(scope, depth)
        return self._give_away(scope, scope.block.terminator.operands)

    def _call(self, op: Op, scope: Scope) -> None:
        given = [v for v in op.operands if refers(v.type)]
        for record in [v for v in given if isinstance(v.type, RecordType)]:
            self._hand_over(scope, record, op)
        owned = self._results.of(op.attrs["callee"]) or (False,) * len(op.results)
        apart = [r for r, own in zip(op.results, owned, strict=True) if own and isinstance(r.type, RecordType)]
        others = [r for r in op.results if r not in apart]
        holds = any(isinstance(v.type, RecordType) or holds_memrefs(v) for v in (*given, *others))
        shared = [r for r, own in zip(op.results, owned, strict=True) if refers(r.type) and (holds or not own)]
        if holds or shared:
            self._unite([*given, *shared])
        if apart:
            # A record may hold what is returned beside it.
            self._unite([r for r in op.results if refers(r.type)])
        for result, own in zip(op.results, owned, strict=True):
            if own and result not in apart:
                self._own(scope, result)

    # Moving ownership -------------------------------------------------------------------------------------------------

    # Branches ---------------------------------------------------------------------------------------------------------

    def _if(self, op: Op, scope: Scope, depth: int) -> None:
        inner = [Scope(region, scope) for region in op.regions]
        given = [self._inside(s, depth + 1) for s in inner]
        yields = [region.terminator.operands for region in op.regions]
        count = len(op.results)
        for k in range(count):
            result = op.results[k]
            if not refers(result.type):
                continue
            for flags, values in zip(given, yields, strict=True):
                base = uncast(values[k])
                # What holds other memory must still be known to hold it under its new name.
                owned = flags[k] is self._true.result and not holds_memrefs(result)
                if owned or (flags[k] is not None and self._has_no_lender(base)):
                    self._classes.hold(result, base)
                else:
                    self._classes.union(result, values[k])
            if any(flags[k] is not None for flags in given):
                for region, flags in zip(op.regions, given, strict=True):
                    region.terminator.add_operand(flags[k] or self._false.result)
                self._flag(scope, result, op.add_result(i1))
        for memref in dict.fromkeys([*inner[0].changed, *inner[1].changed]):
            before = scope.flag(memref)
            assert before is not None
            for s in inner:
                s.block.terminator.add_operand(s.changed.get(memref, before))
            scope.set(memref, op.add_result(i1))
        for s in inner:
            self._free(s)

    # Loops ------------------------------------------------------------------------------------------------------------

    def _for(self, op: Op, scope: Scope, depth: int, order: dict[Op, int]) -> None:
        body = op.regions[0]
        count = len(op.results)
        slots = [k for k in range(count) if self._may_own(op.results[k])]
        entries = [self._enter(op, 3 + k, scope, order) for k in slots]
        inner = Scope(body)
        for k, entry in zip(slots, entries, strict=True):
            op.add_operand(entry or self._false.result)
            self._flag(inner, body.args[1 + k], body.add_arg(i1))
        given = self._inside(inner, depth + 1)
        self._unite_holders(op.results[:count], body.args[1 : 1 + count], body.terminator.operands[:count])
        self._tie([(body.args[1 + k], [op.operands[3 + k], body.terminator.operands[k]]) for k in range(count)])
        for k in slots:
            body.terminator.add_operand(given[k] or self._false.result)
            self._flag(scope, op.results[k], op.add_result(i1))
        taken = {k for k, entry in zip(slots, entries, strict=True) if entry is self._true.result}
        borrowed = [op.operands[3 + k] for k in range(count) if k not in taken]
        borrowed += [v for v, flag in zip(body.terminator.operands[:count], given, strict=True) if flag is None]
        self._lend(op.results[:count], borrowed)
        self._free(inner)

    def _while(self, op: Op, scope: Scope, depth: int, order: dict[Op, int]) -> None:
        before, after = op.regions
        carried = [k for k, arg in enumerate(before.args) if self._may_own(arg)]
        passed = [k for k, arg in enumerate(after.args) if self._may_own(arg)]
        counts = len(before.args), len(after.args)
        entries = [self._enter(op, k, scope, order) for k in carried]
        first, second = Scope(before), Scope(after)
        for k, entry in zip(carried, entries, strict=True):
            op.add_operand(entry or self._false.result)
            self._flag(first, before.args[k], before.add_arg(i1))
        given = self._inside(first, depth + 1)
        for k in passed:
            before.terminator.add_operand(given[1 + k] or self._false.result)
            self._flag(second, after.args[k], after.add_arg(i1))
        back = self._inside(second, depth + 1)
        handed = before.terminator.operands[1 : 1 + counts[1]]
        self._unite_holders(op.results[: counts[1]], after.args[: counts[1]], handed)
        self._unite_holders(before.args[: counts[0]], after.terminator.operands[: counts[0]])
        self._tie(
            [(before.args[k], [op.operands[k], after.terminator.operands[k]]) for k in range(counts[0])]
            + [(after.args[k], [before.terminator.operands[1 + k]]) for k in range(counts[1])]
        )
        for k in carried:
            after.terminator.add_operand(back[k] or self._false.result)
        for k in passed:
            self._flag(scope, op.results[k], op.add_result(i1))
        taken = {k for k, entry in zip(carried, entries, strict=True) if entry is self._true.result}
        borrowed = [op.operands[k] for k in range(counts[0]) if k not in taken]
        borrowed += [v for v, flag in zip(handed, given[1:], strict=True) if flag is None]
        borrowed += [v for v, flag in zip(after.terminator.operands[: counts[0]], back, strict=True) if flag is None]
        self._lend(op.results[: counts[1]], borrowed)
        self._free(first)
        self._free(second)

    def _unite_holders(self, *names: Sequence[Value]) -> None:
        """Note that what holds other memory is known by each of its ``names``, whoever owns it."""
        for values in zip(*names, strict=True):
            if holds_memrefs(values[0]):
                self._unite(values)

    def _tie(self, ways: Sequence[tuple[Value, Sequence[Value]]]) -> None:
        """Note that what a loop keeps for after it, under the name of an argument of its region, may be any of the
        values that the argument may be: for each argument, these. What the region keeps is known only after it has been
        walked."""
        waiting = [(arg, values) for arg, values in ways if refers(arg.type)]
        found = True
        while found:
            found = False
            for arg, values in list(waiting):
                assert arg.block is not None
                if self._classes.outermost(self._classes.reach(arg)) < self._depth[arg.block]:
                    self._unite([arg, *values])
                    waiting.remove((arg, values))
                    found = True

    def _enter(self, loop: Op, position: int, scope: Scope, order: dict[Op, int]) -> Value | None:
        """Hand the initial value at operand ``position`` to the loop, if nothing else uses that memory any more."""
        base = uncast(loop.operands[position])
        if base not in scope.flags:
            return None
        for member in self._classes.members(self._classes.reach(base)):
            for user, at in member.uses:
                place = place_in(scope.block, user)
                if place is None or place not in order or order[place] > order[loop]:
                    return None
                if place is loop and (user is not loop or at != position):
                    return None
        return self._take(scope, base)

    # Freeing ----------------------------------------------------------------------------------------------------------

    def _free(self, scope: Scope) -> None:
        """Put the deallocations of what ``scope`` still owns after the last uses."""
        block = scope.block
        handed_on = {self._classes.find(uncast(v)) for v in block.terminator.operands if refers(v.type)}
        order = {op: k for k, op in enumerate(block.ops)}
        places: dict[int, list[tuple[Value, Value]]] = {}
        for memref, flag in scope.flags.items():
            if flag is self._false.result:
                continue
            reach = self._classes.reach(memref)
            if not reach.isdisjoint(handed_on) or self._classes.outermost(reach) < self._depth[block]:
                continue
            last = max(order.get(v.op, -1) if v.op is not None else -1 for v in (memref, flag))
            for member in self._classes.members(reach):
                for user, _ in member.uses:
                    place = place_in(block, user)
                    if place is not None:
                        last = max(last, order[place])
            places.setdefault(last, []).append((memref, flag))
        if not places:
            return
        out: list[Op] = []
        for k in range(-1, len(block.ops)):
            if k >= 0:
                out.append(block.ops[k])
            for memref, flag in places.get(k, ()):
                out.append(self._dealloc(memref, flag))
        block.set_ops(out)

    def _dealloc(self, memref: Value, flag: Value) -> Op:
        loc = memref.op.loc if memref.op is not None else self._func.loc
        free = Op(ops.dealloc, (memref,), (), loc=loc)
        if flag is self._true.result:
            return free
        then, other = Block(), Block()
        then.append(free)
        for region in (then, other):
            region.append(Op(ops.yield_, (), (), loc=loc))
        return Op(ops.if_, (flag,), (), regions=(then, other), loc=loc)
