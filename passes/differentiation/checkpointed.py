"""The two halves of a function of steps (``adc.checkpoint``) that is differentiated by a schedule.

Forward, the steps run as they are, and their state is copied at some of them: what they write to, and what they
carry. In the reverse sweep the last piece that is not reversed yet is run again from the last snapshot before it, on
buffers of its own, with a tape; on the way there further snapshots are made where those that are done with have left
room. Where they are best made says ``schedule.split_function``. What only is read is not copied, unless it changes
later.

Snapshots belong to the record, whose last one of all is the first. So ``back`` can be called again: after the first
time it begins with that alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from adc.ir import ops
from adc.ir.arith import const, const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Value
from adc.ir.types import MemRefType, Type, index, memref, record
from adc.passes.building import choose, parallel_loop
from adc.passes.checkpointing.schedule import split_function
from adc.passes.checkpointing.steps import CHECKPOINT
from adc.passes.differentiation.activity import Interface
from adc.passes.differentiation.demand import CallPlan, union
from adc.passes.differentiation.shadows import cast_to
from adc.passes.differentiation.split_plans import SplitKey
from adc.passes.effects import Summaries


@dataclass(frozen=True)
class Sweeps:
    """The function ``name`` runs the forward and the reverse sweep of another one.

    It takes the arguments of that, shadows of the arguments ``shadows``, the cotangents of the results
    ``cotangents_in``, and those so far of the arguments ``summed``, which it adds to; it returns the cotangents of the
    arguments ``cotangents_out``. The shadows hold cotangents of what is in memory afterwards, then of what was in it
    before; the memory itself is changed as by the other function.
    """

    name: str
    shadows: tuple[int, ...]
    cotangents_in: tuple[int, ...]
    summed: tuple[int, ...]
    cotangents_out: tuple[int, ...]


BothSweeps = Callable[[str, Interface, Collection[int]], Sweeps]


def is_checkpointed(func: Func) -> bool:
    return CHECKPOINT in func.attrs


@dataclass(frozen=True)
class _Pieces:
    """``count`` pieces of ``length`` steps (the last one perhaps shorter) of ``steps`` in all, and ``slots`` for
    snapshots."""

    steps: Value
    length: Value
    count: Value
    slots: Value

    def start(self, piece: Value) -> Value:
        """The first step of a piece."""
        return ops.minsi(ops.muli(piece, self.length), self.steps)


@dataclass(frozen=True)
class _Left:
    """What the reverse sweep works with: snapshots and their places, from the record; arguments and shadows by
    position, with buffers for the state."""

    slots: Sequence[Value]
    places: Value
    given: dict[int, Value]
    shadows: dict[int, Value]


class Steps:
    """Makes the plan, the augmented and the reverse function of ``primal`` (in this order), by its schedule.

    Positions are those of the arguments: the first and the last step, what is used, what is carried.
    """

    def __init__(self, module: Module, primal: Func, key: SplitKey, assumed: CallPlan, both: BothSweeps) -> None:
        _, interface, stable = key
        self.module = module
        self.primal = primal
        snapshots, piece, count, run = primal.attrs[CHECKPOINT]
        self.snapshots, self.piece, self.run = int(snapshots), int(piece), str(run)
        self.types = [a.type for a in primal.args]
        self.first_carried = len(self.types) - int(count)
        self.carried = range(self.first_carried, len(self.types))
        writes = Summaries(module).of(self.run)
        assert writes is not None
        memrefs = [k for k, t in enumerate(self.types) if isinstance(t, MemRefType)]
        self.state = [k for k in memrefs if k in writes.writes]
        self.copied = [k for k in memrefs if k not in writes.writes and k not in stable]
        self.fixed = [k for k in range(2, self.first_carried) if k not in self.state and k not in self.copied]
        self.interface = self._interface(interface)
        self.inner = both(self.run, self.interface, self.carried)
        self.plan = CallPlan(
            assumed.augmented,
            assumed.reverse,
            union(assumed.shadows, self.inner.shadows),
            (),
            (),
            union(assumed.kept, self.fixed),
            union(assumed.cotangents_in, self.inner.cotangents_in),
            union(assumed.cotangents_out, self.inner.cotangents_out),
            True,
        )

    def __str__(self) -> str:
        names = [self.primal.args[k].hint or "an array" for k in self.state]
        names += [self.primal.args[k].hint or "a number" for k in self.carried]
        kept = "a snapshot for each piece" if not self.snapshots else f"at most {self.snapshots} snapshots"
        length = f"{self.piece} step{'s' if self.piece != 1 else ''}" if self.piece else "the root of the steps"
        return f"steps of @{self.run}: {kept} of {', '.join(names)}; pieces of {length}"

    def _interface(self, outer: Interface) -> Interface:
        """Of the steps of a piece: what they are given and leave are all of the state."""
        floats = {k for k in self.state if _is_float(self.types[k])}
        carried = {k for k in self.carried if _is_float(self.types[k])}
        results = frozenset(k - self.first_carried for k in carried)
        return Interface(frozenset(outer.varied | floats | carried), results, frozenset(outer.useful_args | floats))

    # Forward ----------------------------------------------------------------------------------------------------------

    def augmented(self) -> Func:
        args = self.primal.args
        shadows = [args[k] for k in self.plan.shadows]
        func = Func(
            self.plan.augmented,
            [a.type for a in (*args, *shadows)],
            [*self.primal.result_types, record],
            [*(a.hint for a in args), *(f"{a.hint}_bar" for a in shadows)],
            self.primal.loc,
        )
        with insert_at(func.body, func.loc):
            given = list(func.args[: len(args)])
            pieces = self._pieces(given[1])
            slots = [self._slots(self.types[k], pieces, given[k]) for k in (*self.state, *self.carried)]
            places = ops.alloc(ops.addi(pieces.slots, const_index(2)), type=MemRefType((None,), index))
            copies = [_copied(given[k]) for k in self.copied]
            carried: Sequence[Value] = [given[k] for k in self.carried]
            build(ops.store, [const_index(0), places, const_index(0)])
            self._save(slots, const_index(0), given, carried)
            place, top, *carried = self._place_snapshots(pieces, slots, places, given, carried)
            build(ops.store, [top, places, pieces.slots])
            # The state before the last piece is kept beside the snapshots: the reverse sweep begins with it.
            last = ops.maxsi(ops.subi(pieces.count, const_index(1)), place)
            carried = self._advance(pieces, place, last, given, carried)
            at_last = ops.cmpi(place, last, predicate="slt")
            choose(at_last, lambda: self._save(slots, pieces.slots, given, carried), lambda: None)
            flag = ops.select(at_last, const_index(1), const_index(0))
            build(ops.store, [flag, places, ops.addi(pieces.slots, const_index(1))])
            carried = self._advance(pieces, last, pieces.count, given, carried)
            left = build(ops.pack, [given[1], places, *slots, *copies]).result
            build(ops.return_, [*carried, left])
        self._packed = [index, places.type, *(v.type for v in (*slots, *copies))]
        return func

    def _pieces(self, steps: Value) -> _Pieces:
        length = const_index(self.piece) if self.piece else _root(steps)
        count = ops.ceildivsi(steps, length)
        slots = ops.maxsi(count, const_index(1))
        if self.snapshots:
            slots = ops.minsi(slots, const_index(self.snapshots))
        return _Pieces(steps, length, count, slots)

    def _slots(self, t: Type, pieces: _Pieces, value: Value) -> Value:
        """Memory for snapshots of a value, and for one of it before the last piece."""
        count = ops.addi(pieces.slots, const_index(1))
        if not isinstance(t, MemRefType):
            return ops.alloc(count, type=MemRefType((None,), t))
        extents = [ops.dim(value, dim=d) for d in range(t.rank)]
        return ops.alloc(count, *extents, type=MemRefType((None,) * (t.rank + 1), t.element))

    def _place_snapshots(
        self, pieces: _Pieces, slots: Sequence[Value], places: Value, args: Sequence[Value], carried: Sequence[Value]
    ) -> Sequence[Value]:
        """Append the loop that makes the snapshots of the forward sweep: where the last one is, its number, and what is
        carried there."""
        types = [index, index, *(v.type for v in carried)]
        head, body = Block(types), Block(types)
        with insert_at(head):
            place, top, *_ = head.args
            more = ops.cmpi(const_index(1), ops.subi(pieces.count, place), predicate="slt")
            room = ops.cmpi(const_index(1), ops.subi(pieces.slots, top), predicate="slt")
            build(ops.condition, [ops.andi(more, room), *head.args])
        with insert_at(body):
            place, top, *values = body.args
            following = ops.addi(place, self._split(ops.subi(pieces.count, place), ops.subi(pieces.slots, top)))
            values = list(self._advance(pieces, place, following, args, values))
            number = ops.addi(top, const_index(1))
            build(ops.store, [following, places, number])
            self._save(slots, number, args, values)
            build(ops.yield_, [following, number, *values])
        start = [const_index(0), const_index(0), *carried]
        return build(ops.while_, start, None, types, [head, body]).results

    def _split(self, count: Value, snapshots: Value) -> Value:
        name = split_function(self.module)
        return build(ops.call, [count, snapshots], {"callee": name, "types": (index,)}).result

    def _advance(
        self, pieces: _Pieces, start: Value, end: Value, args: Sequence[Value], carried: Sequence[Value]
    ) -> Sequence[Value]:
        """Append a run of the pieces from ``start`` to ``end``; what they carry then."""
        operands = [pieces.start(start), pieces.start(end), *args[2 : self.first_carried], *carried]
        types = self.primal.result_types
        return build(ops.call, operands, {"callee": self.run, "types": types}).results

    def _save(self, slots: Sequence[Value], number: Value, args: Sequence[Value], carried: Sequence[Value]) -> None:
        for k, slot in zip(self.state, slots, strict=False):
            _copy(args[k], slot, (), (number,))
        for value, slot in zip(carried, slots[len(self.state) :], strict=True):
            build(ops.store, [value, slot, number])

    # Reverse ----------------------------------------------------------------------------------------------------------

    def reverse(self) -> Func:
        plan, args = self.plan, self.primal.args
        kept = [args[k] for k in plan.kept]
        shadowed = [args[k] for k in plan.shadows]
        results = [self.primal.result_types[k] for k in plan.cotangents_in]
        out = [self.types[k] for k in plan.cotangents_out]
        func = Func(
            plan.reverse,
            [*(a.type for a in (*kept, *shadowed)), *results, record],
            out,
            [*(a.hint for a in kept), *(f"{a.hint}_bar" for a in shadowed), *["result_bar"] * len(results), "record"],
            self.primal.loc,
        )
        for attrs in func.arg_attrs[: len(kept)]:
            attrs["adc.readonly"] = True
        with insert_at(func.body, func.loc):
            inputs = iter(func.args)
            given: dict[int, Value] = {k: next(inputs) for k in plan.kept}
            shadows = {k: next(inputs) for k in plan.shadows}
            incoming = {k: next(inputs) for k in plan.cotangents_in}
            steps, places, *rest = self._unpacked(next(inputs))
            slots = rest[: len(self.state) + len(self.carried)]
            given.update(zip(self.copied, rest[len(slots) :], strict=True))
            for k, slot in zip(self.state, slots, strict=False):
                given[k] = self._working_buffer(k, slot)
            given.update((k, _as(given[k], self.types[k])) for k in self.copied)
            pieces = self._pieces(steps)
            totals = self._totals(incoming)
            left = _Left(slots, places, given, shadows)
            end, totals = self._reverse_last(pieces, left, totals)
            ends = self._reverse_pieces(pieces, left, totals, end)
            build(ops.store, [const_index(0), places, pieces.slots])
            build(ops.return_, [ends.get(k, const(0.0, self.types[k])) for k in plan.cotangents_out])
        return func

    def _unpacked(self, left: Value) -> Sequence[Value]:
        types = tuple(self._packed)
        memory = [isinstance(t, MemRefType) for t in types]
        roots = tuple((-1 - n,) if is_memory else () for n, is_memory in enumerate(memory))
        attrs = {"types": types, "roots": roots, "contents": ((),) * len(types)}
        return build(ops.unpack, [left], attrs).results

    def _working_buffer(self, position: int, slot: Value) -> Value:
        t = self.types[position]
        assert isinstance(t, MemRefType)
        extents = [ops.dim(slot, dim=d + 1) for d in range(t.rank)]
        return _as(ops.alloc(*extents, type=memref(t.element, t.rank)), t)

    def _totals(self, incoming: dict[int, Value]) -> dict[int, Value]:
        """The cotangents that the loop over the pieces carries, by position: of floats that are carried or used."""
        found = {}
        for k in sorted({*self.inner.cotangents_out, *(k + self.first_carried for k in self.inner.cotangents_in)}):
            found[k] = const(0.0, self.types[k])
            if k >= self.first_carried:
                found[k] = incoming.get(k - self.first_carried, found[k])
        return found

    def _restore(self, left: _Left, number: Value) -> tuple[Sequence[Value], Sequence[Value]]:
        """Append copies of a snapshot to the working buffers; the arguments, what is carried excepted, and that."""
        for k, slot in zip(self.state, left.slots, strict=False):
            _copy(slot, left.given[k], (number,), ())
        carried = [ops.load(slot, number) for slot in left.slots[len(self.state) :]]
        return [left.given.get(k, const_index(0)) for k in range(self.first_carried)], carried

    def _reverse_last(
        self, pieces: _Pieces, left: _Left, totals: dict[int, Value]
    ) -> tuple[Value, dict[int, Value]]:
        """Append the reversal of the last piece, if the state before it was kept; where those before it end, and the
        cotangents there."""
        kept = ops.cmpi(ops.load(left.places, ops.addi(pieces.slots, const_index(1))), const_index(0), predicate="ne")
        before = ops.subi(pieces.count, const_index(1))
        one, none = Block(), Block()
        with insert_at(one):
            args, carried = self._restore(left, pieces.slots)
            found = self._reverse_piece(pieces, before, pieces.count, args, carried, left.shadows, totals)
            build(ops.yield_, [found[k] for k in totals])
        with insert_at(none):
            build(ops.yield_, list(totals.values()))
        made = build(ops.if_, [kept], {}, [v.type for v in totals.values()], [one, none])
        return ops.select(kept, before, pieces.count), dict(zip(totals, made.results, strict=True))

    def _reverse_pieces(
        self, pieces: _Pieces, left: _Left, totals: dict[int, Value], count: Value
    ) -> dict[int, Value]:
        """Append the loop that reverses piece after piece, the first ``count`` of them; the cotangents in the end."""
        positions = list(totals)
        types = [index, index, *(v.type for v in totals.values())]
        hints = ["end", "top"]
        head, body = Block(types, hints), Block(types, hints)
        with insert_at(head):
            build(ops.condition, [ops.cmpi(const_index(0), head.args[0], predicate="slt"), *head.args])
        with insert_at(body):
            end, top, *values = body.args
            here = ops.load(left.places, top)
            reach = ops.subi(end, here)
            unused = ops.subi(pieces.slots, top)
            alone = ops.cmpi(reach, const_index(1), predicate="eq")
            room = ops.cmpi(const_index(1), unused, predicate="slt")
            keep = ops.andi(room, ops.cmpi(const_index(1), reach, predicate="slt"))
            before = ops.subi(end, const_index(1))
            target = ops.select(keep, ops.addi(here, self._split(reach, unused)), before)
            args, carried = self._restore(left, top)
            carried = self._advance(pieces, here, target, args, carried)

            def save() -> None:
                number = ops.addi(top, const_index(1))
                build(ops.store, [target, left.places, number])
                self._save(left.slots, number, args, carried)

            choose(keep, save, lambda: None)
            one = Block()
            with insert_at(one):
                so_far = dict(zip(positions, values, strict=True))
                found = self._reverse_piece(pieces, target, end, args, carried, left.shadows, so_far)
                build(ops.yield_, [found[k] for k in positions])
            same = Block()
            with insert_at(same):
                build(ops.yield_, values)
            ends = build(ops.if_, [keep], {}, types[2:], [same, one]).results
            further = ops.select(alone, ops.subi(top, const_index(1)), top)
            build(
                ops.yield_,
                [ops.select(keep, end, target), ops.select(keep, ops.addi(top, const_index(1)), further), *ends],
            )
        start = [count, ops.load(left.places, pieces.slots), *totals.values()]
        loop = build(ops.while_, start, None, types, [head, body])
        return dict(zip(positions, loop.results[2:], strict=True))

    def _reverse_piece(
        self,
        pieces: _Pieces,
        piece: Value,
        end: Value,
        args: Sequence[Value],
        carried: Sequence[Value],
        shadows: dict[int, Value],
        totals: dict[int, Value],
    ) -> dict[int, Value]:
        """Append both sweeps of one piece; the cotangents before it."""
        inner = self.inner
        operands = [pieces.start(piece), pieces.start(end), *args[2:], *carried, *(shadows[k] for k in inner.shadows)]
        operands += [totals[self.first_carried + k] for k in inner.cotangents_in]
        operands += [totals[k] for k in inner.summed]
        types = tuple(self.types[k] for k in inner.cotangents_out)
        back = build(ops.call, operands, {"callee": inner.name, "types": types})
        passed = dict(zip(inner.cotangents_out, back.results, strict=True))
        return {k: passed[k] if k in passed else const(0.0, self.types[k]) for k in totals}


def _root(steps: Value) -> Value:
    """The root of a number, rounded up; at least one."""
    head, body = Block([index]), Block([index])
    with insert_at(head):
        (n,) = head.args
        build(ops.condition, [ops.cmpi(ops.muli(n, n), steps, predicate="slt"), n])
    with insert_at(body):
        build(ops.yield_, [ops.addi(body.args[0], const_index(1))])
    return build(ops.while_, [const_index(1)], None, [index], [head, body]).result


def _as(memory: Value, t: Type) -> Value:
    assert isinstance(t, MemRefType)
    return cast_to(memory, t)


def _copied(memory: Value) -> Value:
    t = memory.type
    assert isinstance(t, MemRefType)
    fresh = ops.alloc(*(ops.dim(memory, dim=d) for d in range(t.rank)), type=memref(t.element, t.rank))
    build(ops.copy, [memory, fresh])
    return fresh


def _copy(source: Value, target: Value, source_at: tuple[Value, ...], target_at: tuple[Value, ...]) -> None:
    """Append a copy of an array to another one; of either the first subscripts may be given."""
    t = source.type
    assert isinstance(t, MemRefType)
    rank = t.rank - len(source_at)

    def level(at: tuple[Value, ...]) -> None:
        if len(at) == rank:
            build(ops.store, [ops.load(source, *source_at, *at), target, *target_at, *at])
            return
        extent = ops.dim(source, dim=len(source_at) + len(at))
        attrs = {} if at else {"threads": True}
        parallel_loop(const_index(0), extent, lambda x: level((*at, x)), **attrs)

    level(())


def _is_float(t: Type) -> bool:
    return t.element.is_float if isinstance(t, MemRefType) else t.is_float
