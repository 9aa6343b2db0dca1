"""The two sweeps of a function in one: each part of the reverse sweep runs as soon as what it uses is known.

The reverse sweep must only add terms to shadows, from its cotangents, records, tapes, and memory that the forward sweep
leaves alone. Then the order of its parts does not matter, and a loop of it runs along with the loop of the forward
sweep that it mirrors, iteration by iteration. A call that leaves a record, and the call that reverses it from this
record, become one call of both sweeps, and nothing is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field

from adc.ir import ops
from adc.ir.arith import const, const_index, constant_of
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.rewrite import clone_op, used_from_outside
from adc.ir.schedules import TAPE
from adc.ir.types import MemRefType, RecordType, i1, index
from adc.passes.analysis.attributes import attr_key
from adc.passes.analysis.integers import Integers
from adc.passes.analysis.kinds import COMMUTATIVE, DIVISIONS, PURE
from adc.passes.analysis.linear import Linear
from adc.passes.fusion.mirrored import are_trips, is_inside, only_adds, together, unchecked

_SUMS = {ops.addi: 1, ops.subi: -1}


class Apart(Exception):
    """The two sweeps cannot be one."""


@dataclass(frozen=True)
class Both:
    """The function ``name`` that runs both sweeps. Its arguments are those of the forward sweep, and the ``extra``
    ones of the reverse sweep, by position; argument ``k`` of the reverse sweep is ``same[k]`` of the forward sweep. It
    returns what the forward sweep does, without the record, and what the reverse sweep does."""

    name: str
    forward: Func
    reverse: Func
    same: dict[int, int]
    extra: tuple[int, ...]


@dataclass
class Weaver:
    """``both``: what may be called instead of pairs of calls, by the names of the forward sweeps."""

    both: dict[str, Both]
    stable: Callable[[Value], bool]  # whether memory of the reverse sweep is the same throughout the forward sweep
    values: dict[Value, Value] = field(default_factory=dict)  # what is woven, for old values of both sweeps
    same: dict[Value, Value] = field(default_factory=dict)  # of old values: other old values that they are
    counters: list[Value] = field(default_factory=list)  # of woven loops around
    _integers: Integers = field(default_factory=Integers)
    _known: dict[Hashable, tuple[Value, ...]] = field(default_factory=dict)
    _kept: dict[Hashable, Value] = field(default_factory=dict)  # on tapes, by the element
    _skipped: set[Op] = field(default_factory=set)
    _done: set[Op] = field(default_factory=set)  # of the forward sweep
    _tapes: dict[Value, Value] = field(default_factory=dict)  # old ones, by those in woven code

    def at(self, value: Value) -> Value | None:
        """What ``value`` is in woven code; None if it is not known yet."""
        while value in self.same:
            value = self.same[value]
        return self.values.get(value)

    def has_record(self, op: Op) -> bool:
        """Whether records are made or used in an operation."""
        inner = (op, *(inner for region in op.regions for inner in region.walk()))
        return any(isinstance(v.type, RecordType) for one in inner for v in (*one.operands, *one.results))

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What is found to be known inside holds inside only."""
        known, kept, same = self._known, self._kept, self.same
        self._known, self._kept, self.same = dict(known), dict(kept), dict(same)
        yield
        self._known, self._kept, self.same = known, kept, same

    def block(self, forward: Sequence[Op], reverse: Sequence[Op]) -> None:
        """Append both at the insertion point, without their terminators."""
        waiting = list(reverse)
        for op in forward:
            self._advance(waiting)
            if op in self._skipped:
                continue
            if op.opdef is ops.call and op.results and isinstance(op.results[-1].type, RecordType):
                self._call(op, waiting)
            elif op.regions and self.has_record(op):
                self._regions(op, waiting)
            else:
                self._forward(op)
        self._advance(waiting)
        for op in waiting:
            if op not in self._skipped:
                self._last(op)

    def _forward(self, op: Op) -> None:
        self._emit(op)
        self._done.add(op)
        self._done.update(inner for region in op.regions for inner in region.walk())
        if op.opdef is ops.alloc and TAPE in op.attrs:
            self._tapes[self.values[op.result]] = op.result
        elif op.opdef is ops.store and (element := self._element(op.operands[1:])) is not None:
            self._kept[element] = self._needed(op.operands[0])

    def _needed(self, value: Value) -> Value:
        new = self.at(value)
        if new is None:
            raise Apart("the reverse sweep starts from what is known at the end")
        return new

    def _element(self, place: Sequence[Value]) -> Hashable | None:
        """An element of a tape, for its subscripts in woven code; None if they are not known, or it is other memory."""
        memory, *subscripts = map(self.at, place)
        if memory not in self._tapes:
            return None
        return None if None in subscripts else (memory, *subscripts)

    def _emit(self, op: Op) -> None:
        """Copy an operation, unless its result is known."""
        for value in used_from_outside([op]):
            self.values[value] = self._needed(value)
        key = self._key(op)
        if key is None:
            clone_op(op, self.values)
            return
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = clone_op(op, self.values).results
            if op.opdef is ops.bound:  # a subscript that has been checked serves where no check is asked for
                self._known.setdefault((ops.bound, False, *(self.values[v] for v in op.operands)), known)
        self.values.update(zip(op.results, known, strict=True))

    def _key(self, op: Op) -> Hashable | None:
        """What is the same for operations with equal results; None if results may differ, or operands are not known."""
        kind = op.opdef
        operands = [v for old in op.operands if (v := self.at(old)) is not None]
        if op.regions or len(operands) < len(op.operands):
            return None
        if kind is ops.bound:
            return kind, op.attrs["check"], *operands
        if kind not in PURE:
            return (kind, *map(unchecked, operands)) if kind is ops.load and self.stable(op.operands[0]) else None
        if kind in _SUMS and operands[0].type == index:
            a, b = map(self._integers.linear, operands)
            return self._form_key(a.plus(b, _SUMS[kind]))
        if kind in COMMUTATIVE:
            operands.sort(key=id)
        return kind, attr_key(op.attrs), tuple(r.type for r in op.results), *operands

    def _form_key(self, form: Linear) -> Hashable:
        """The key of a sum, of which it is known if it is a value."""
        key = index, frozenset(form.terms.items()), form.constant
        if form.constant == 0 and len(form.terms) == 1:
            ((value, factor),) = form.terms.items()
            if factor == 1:
                self._known.setdefault(key, (value,))
        return key

    def _advance(self, waiting: list[Op]) -> None:
        """Append what of the reverse sweep only needs what is known. Loads, checked subscripts and divisions are taken
        from the forward sweep: before its checks they might fail."""
        left: list[Op] = []
        for op in waiting:
            if op in self._skipped:
                continue
            if op.opdef is ops.load and (element := self._element(op.operands)) is not None and element in self._kept:
                self.values[op.result] = self._kept[element]
            elif (key := self._key(op)) in self._known:
                self.values.update(zip(op.results, self._known[key], strict=True))
            elif key is not None and op.opdef in PURE and op.opdef not in DIVISIONS:
                self._emit(op)
            else:
                left.append(op)
        waiting[:] = left

    def _ask(self, values: Iterable[Value], waiting: list[Op]) -> None:
        """Append what the reverse sweep needs for ``values``. Elements whose subscripts are only checked later are
        loaded where they exist: elsewhere the forward sweep is going to fail."""
        makers = {r: op for op in waiting for r in op.results}
        work = [v for v in values if v in makers and self.at(v) is None]
        needed: dict[Op, None] = {}
        while work:
            op = makers[work.pop()]
            if op not in needed:
                needed[op] = None
                work += [v for v in op.operands if v in makers and self.at(v) is None]
        for op in waiting:
            if op not in needed or op in self._skipped or None in map(self.at, op.operands):
                continue
            if op.opdef is ops.load and self.stable(op.operands[0]):
                key = self._key(op)
                if key not in self._known:
                    self._known[key] = (self._loaded_if_there(op),)
            elif op.opdef is ops.bound:
                self.values[op.result] = self._needed(op.operands[0])
                continue
            self._advance([op])

    def _loaded_if_there(self, op: Op) -> Value:
        """The element that a load of the reverse sweep gives, or zero if there is none."""
        memory, *subscripts = map(self._needed, op.operands)
        there = const(True, i1)
        for axis, subscript in enumerate(subscripts):
            there = ops.andi(there, ops.cmpi(subscript, const_index(0), predicate="sge"))
            there = ops.andi(there, ops.cmpi(subscript, ops.dim(memory, dim=axis), predicate="slt"))
        with insert_at(Block(), op.loc) as loaded:
            build(ops.yield_, [ops.load(memory, *subscripts)])
        with insert_at(Block(), op.loc) as nothing:
            build(ops.yield_, [const(0, op.result.type)])
        return build(ops.if_, [there], {}, [op.result.type], [loaded, nothing], loc=op.loc).result

    def _last(self, op: Op) -> None:
        """Append what is left of the reverse sweep, after the forward sweep of this block."""
        if op.opdef in (ops.dealloc, ops.release):
            return  # its records are gone; other memory is freed where all memory is
        inner = [op, *(inner for region in op.regions for inner in region.walk())]
        for one in inner:
            if any(isinstance(v.type, RecordType) for v in (*one.operands, *one.results)):
                raise Apart("a record is left")
            if one.opdef is ops.load and not self.stable(one.operands[0]) and not self._of_this_iteration(one):
                raise Apart("an iteration reads what another one left")
        self._emit(op)

    def _of_this_iteration(self, load: Op) -> bool:
        """Whether an element of a tape has been kept, by the same iteration of all woven loops that the tape is outside
        of."""
        memory, *subscripts = load.operands
        tape = self.at(memory)
        if tape not in self._tapes or not all(self._is_done(*use) for use in self._tapes[tape].uses):
            return False
        found = [self.at(v) for v in subscripts]
        inner = [counter for counter in self.counters if not is_inside(tape, counter)]
        return found[: len(inner)] == inner

    def _is_done(self, user: Op, position: int) -> bool:
        """Whether a user of a tape keeps nothing on it any more."""
        if user.opdef is ops.store and position == 1:
            return user in self._done or user in self._skipped
        return user.opdef in (ops.yield_, ops.pack)

    # Calls -----------------------------------------------------------------------------------------------------------

    def _call(self, call: Op, waiting: list[Op]) -> None:
        both = self.both.get(call.attrs["callee"])
        reverse = self._reversed_by(call, waiting) if both is not None else None
        if both is None or reverse is None:
            raise Apart("a record is left")
        self._ask(reverse.operands[:-1], waiting)
        results = self.call_both(both, [self._needed(v) for v in call.operands], list(map(self.at, reverse.operands)))
        self.values.update(zip((*call.results[:-1], *reverse.results), results, strict=True))
        self._skipped.add(reverse)

    @staticmethod
    def call_both(both: Both, forward: Sequence[Value], reverse: Sequence[Value | None]) -> tuple[Value, ...]:
        """Call the function for both sweeps with the operands of two calls (None: not known yet)."""
        if any(reverse[k] is not forward[m] for k, m in both.same.items()):
            raise Apart("the sweeps are called with other arguments")
        extra = [v for k in both.extra if (v := reverse[k]) is not None]
        if len(extra) < len(both.extra):
            raise Apart("the cotangent of a result depends on the result")
        types = *both.forward.result_types[:-1], *both.reverse.result_types
        return build(ops.call, [*forward, *extra], {"callee": both.name, "types": types}).results

    def _reversed_by(self, call: Op, waiting: Sequence[Op]) -> Op | None:
        """The call that reverses ``call``; what hands on the record is skipped from now on."""
        record = call.results[-1]
        found = {record}
        for user, _ in record.uses:
            if user.opdef is ops.store and user.parent is call.parent:
                self._skipped.add(user)
                element = self._element(user.operands[1:])
                for op in waiting:
                    if op.opdef is ops.load and element is not None and self._element(op.operands) == element:
                        found.add(op.result)
                        self._skipped.add(op)
        both = self.both[call.attrs["callee"]]
        for op in waiting:
            if op.opdef is ops.call and op.attrs["callee"] == both.reverse.name:
                record = op.operands[-1]
                while record not in found and record in self.same:
                    record = self.same[record]
                if record in found:
                    return op
        return None

    # Branches and loops ----------------------------------------------------------------------------------------------

    def _regions(self, op: Op, waiting: list[Op]) -> None:
        for other in waiting:
            if other.opdef is not op.opdef or not self._reverses(other, op):
                continue
            self._ask(used_from_outside([other]), waiting)
            if op.opdef is ops.if_ and self._is_equal(other.operands[0], op.operands[0]):
                self._branch(op, other)
                break
            if op.opdef is ops.for_ and self._is_mirrored(other, op):
                self._loop(op, other)
                break
        else:
            raise Apart("a record is left")
        self._skipped.add(other)

    def _reverses(self, reverse: Op, forward: Op) -> bool:
        """Whether there is a call that uses a record from a call in ``forward``."""
        made = {op for region in forward.regions for op in region.walk() if op.opdef is ops.call}
        inner = (op for region in reverse.regions for op in region.walk() if op.opdef is ops.call)
        return any(not made.isdisjoint(self._makers(op.operands[-1])) for op in inner if op.operands)

    def _makers(self, value: Value) -> set[Op]:
        """The calls that may have made a record."""
        found: set[Op] = set()
        seen: set[Value] = set()
        work = [value]
        while work:
            value = work.pop()
            if value in seen:
                continue
            seen.add(value)
            op = value.op
            if value in self.same:
                work.append(self.same[value])
            elif op is not None and op.opdef is ops.if_:
                work += [region.terminator.operands[value.index] for region in op.regions]
            elif op is not None and op.opdef is ops.load:
                work.append(op.operands[0])
            elif op is not None and op.opdef is ops.alloc:
                work += [user.operands[0] for user, k in value.uses if user.opdef is ops.store and k == 1]
            elif op is not None and op.opdef is ops.call:
                found.add(op)
        return found

    def _is_equal(self, reverse: Value, forward: Value) -> bool:
        """Whether two conditions are the same, or the same ones hold in both."""
        other = self.at(reverse)
        return other is not None and together(other) == together(self._needed(forward))

    def _branch(self, op: Op, other: Op) -> None:
        regions = []
        for ours, theirs in zip(op.regions, other.regions, strict=True):
            with insert_at(Block(), op.loc) as made, self.scope():
                self.same.update(zip(op.results, ours.terminator.operands, strict=True))
                self.block(ours.ops[:-1], theirs.ops[:-1])
                left = *ours.terminator.operands, *theirs.terminator.operands
                build(ops.yield_, [self._needed(v) for v in left if not isinstance(v.type, RecordType)])
            regions.append(made)
        results = [r for r in (*op.results, *other.results) if not isinstance(r.type, RecordType)]
        merged = build(
            ops.if_, [self._needed(op.operands[0])], dict(op.attrs), [r.type for r in results], regions, loc=op.loc
        )
        self._name(results, merged)

    def _is_mirrored(self, reverse: Op, forward: Op) -> bool:
        """Whether a loop counts, from zero, the iterations of another one, which counts by ones."""
        steps = [constant_of(v) for v in (reverse.operands[0], reverse.operands[2], forward.operands[2])]
        trips = self.at(reverse.operands[1])
        if steps != [0, 1, 1] or trips is None:
            return False
        return are_trips(self._integers, trips, self._needed(forward.operands[0]), self._needed(forward.operands[1]))

    def _loop(self, op: Op, other: Op) -> None:
        if any(isinstance(r.type, MemRefType) for r in other.results) or not only_adds(other):
            raise Apart("iterations of the reverse sweep depend on each other")
        body, back = op.regions[0], other.regions[0]
        starts = [self._needed(v) for v in (*op.operands, *other.operands[3:])]
        last = ops.addi(self._needed(other.operands[1]), const_index(-1))
        low = self._needed(op.operands[0])
        types = [*(a.type for a in body.args), *(r.type for r in other.results)]
        with insert_at(Block(types, [*(a.hint for a in body.args)]), op.loc) as made, self.scope():
            self.values.update(zip((*body.args, *back.args[1:]), made.args, strict=True))
            counter = made.args[0]
            self.counters.append(counter)
            self.values[back.args[0]] = ops.subi(last, ops.subi(counter, low))
            self.block(body.ops[:-1], back.ops[:-1])
            self.counters.pop()
            left = *body.terminator.operands, *back.terminator.operands
            build(ops.yield_, [self._needed(v) for v in left])
        results = *op.results, *other.results
        self._name(results, build(ops.for_, starts, {}, [r.type for r in results], [made], loc=op.loc))

    def _name(self, old: Sequence[Value], made: Op) -> None:
        for value, new in zip(old, made.results, strict=True):
            new.hint = value.hint
            self.values[value] = new
