"""The two halves of a function of steps (``adc.checkpoint``) that is differentiated by a schedule.

Forward, the steps run as they are, and their state is copied at some of them: what they write to, and what they
carry. In the reverse sweep the last piece that is not reversed yet is run again from the last snapshot before it, on
buffers of its own, with a tape; on the way there further snapshots are made where those that are done with have left
room. Where they are best made says ``schedule.split_function``. What only is read is not copied, unless it changes
later.

Snapshots belong to the record, whose last one of all is the first. So ``back`` can be called again: after the first
time it begins with that alone. Where the reverse sweep runs but once they are freed by it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from adc.ir import ops
from adc.ir.arith import const, const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Value
from adc.ir.types import MemRefType, index, record
from adc.passes.analysis.effects import Summaries
from adc.passes.building import choose, copy
from adc.passes.checkpointing.conventions import ASKED, BOUNDS, CHECKPOINT
from adc.passes.checkpointing.schedule import WIDTH, split_function
from adc.passes.differentiation.activity import Interface
from adc.passes.differentiation.demand import CallPlan, union
from adc.passes.differentiation.open_steps import run_open
from adc.passes.differentiation.pieces import Pieces, as_type, copied, is_float, like, root
from adc.passes.differentiation.slots import Slots
from adc.passes.differentiation.split_plans import SplitKey


@dataclass(frozen=True)
class Left:
    """What the reverse sweep works with: snapshots and their places, from the record; arguments and shadows by
    position, with buffers for the state."""

    slots: Slots
    places: Value
    given: dict[int, Value]
    shadows: dict[int, Value]


@dataclass(frozen=True)
class Sweeps:
    """The function ``name`` runs the forward and the reverse sweep of another one.

    It takes the arguments of that, shadows of the arguments ``shadows``, those of the memref results ``given`` and
    ``moved`` (see ``rematerialised.ResultShadows``), the cotangents of the results ``cotangents_in``, and those so far
    of the arguments ``summed``, which it adds to; it returns the cotangents of the arguments ``cotangents_out``. The
    shadows hold cotangents of what is in memory afterwards, then of what was in it before; the memory itself is changed
    as by the other function.
    """

    name: str
    shadows: tuple[int, ...]
    given: tuple[int, ...]
    moved: tuple[int, ...]
    cotangents_in: tuple[int, ...]
    summed: tuple[int, ...]
    cotangents_out: tuple[int, ...]


BothSweeps = Callable[[str, Interface, Collection[int]], Sweeps]


def is_checkpointed(func: Func) -> bool:
    return CHECKPOINT in func.attrs


class Steps:
    """Makes the plan, the augmented and the reverse function of ``primal`` (in this order), by its schedule.

    Positions are those of the arguments: the range of steps (``BOUNDS``), what is used, what is carried.
    """

    def __init__(self, module: Module, primal: Func, key: SplitKey, assumed: CallPlan, both: BothSweeps) -> None:
        _, interface, stable, self.once = key
        self.module = module
        self.primal = primal
        snapshots, piece, asked, count, run, advance, disk, directory = primal.attrs[CHECKPOINT]
        self.snapshots, self.piece, self.asked = int(snapshots), int(piece), str(asked)
        self.disk, self.directory = int(disk), str(directory)
        self.run, self.advance = str(run), str(advance)
        self.types = [a.type for a in primal.args]
        self.first_carried = len(self.types) - int(count)
        self.carried = range(self.first_carried, len(self.types))
        writes = Summaries.asked(module).of(self.run)
        assert writes is not None
        memrefs = [k for k, t in enumerate(self.types) if isinstance(t, MemRefType)]
        self.state = [k for k in memrefs if k in writes.writes]
        self.copied = [k for k in memrefs if k not in writes.writes and k not in stable]
        self.fixed = [k for k in range(BOUNDS, self.first_carried) if k not in self.state and k not in self.copied]
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
        state = ", ".join(names)
        if self.asked:
            return f"steps of @{self.run}: snapshots of {state} and pieces as the memory allows"
        kept = "a snapshot for each piece" if not self.snapshots else f"at most {self.snapshots} snapshots"
        length = f"{self.piece} step{'s' if self.piece != 1 else ''}" if self.piece else "the root of the steps"
        return f"steps of @{self.run}: {kept} of {state}; pieces of {length}"

    def _interface(self, outer: Interface) -> Interface:
        """Of the steps of a piece: what they are given and leave are all of the state."""
        floats = {k for k in self.state if is_float(self.types[k])}
        carried = {k for k in self.carried if is_float(self.types[k])}
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
            carried, left = self._forward(list(func.args[: len(args)]))
            build(ops.return_, [*carried, build(ops.pack, left).result])
        if self.asked:
            func.attrs[ASKED] = self.asked
        self._packed = [v.type for v in left]
        return func

    def _forward(self, given: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        """Append the forward sweep; what is carried in the end, and what goes into the record."""
        pieces = self._pieces(given[1])
        carried: Sequence[Value] = [given[k] for k in self.carried]
        on_disk = self._on_disk(pieces) if self.disk else None
        slots = Slots.made([given[k] for k in self.state], carried, pieces.slots, on_disk, self.directory)
        places = ops.alloc(ops.addi(pieces.slots, const_index(2)), type=MemRefType((None,), index))
        copies = [copied(given[k]) for k in self.copied]
        buffers = [like(given[k]) for k in self.state]
        build(ops.store, [const_index(0), places, const_index(0)])
        self._save(slots, const_index(0), given, carried)
        if self.advance:
            pieces, carried = self._run_open(pieces.slots, slots, places, given, carried)
        else:
            carried = self._run_counted(pieces, slots, places, buffers, given, carried)
        return carried, [pieces.steps, pieces.count, pieces.slots, places, *slots.values(), *buffers, *copies]

    def _run_counted(
        self,
        pieces: Pieces,
        slots: Slots,
        places: Value,
        buffers: Sequence[Value],
        given: Sequence[Value],
        carried: Sequence[Value],
    ) -> Sequence[Value]:
        """Append the forward sweep; what is carried in the end."""
        place, top, *carried = self._place_snapshots(pieces, slots, places, given, carried)
        build(ops.store, [top, places, pieces.slots])
        # The state before the last piece is left in the buffers that the reverse sweep begins to work with.
        last = ops.maxsi(ops.subi(pieces.count, const_index(1)), place)
        carried = self._advance(pieces, place, last, given, carried)
        at_last = ops.cmpi(place, last, predicate="slt")

        def leave() -> None:
            for k, buffer in zip(self.state, buffers, strict=True):
                copy(given[k], buffer)
            slots.save_numbers(pieces.slots, carried)

        choose(at_last, leave, lambda: None)
        flag = ops.select(at_last, const_index(1), const_index(0))
        build(ops.store, [flag, places, ops.addi(pieces.slots, const_index(1))])
        return self._advance(pieces, last, pieces.count, given, carried)

    def _run_open(
        self, room: Value, slots: Slots, places: Value, given: Sequence[Value], carried: Sequence[Value]
    ) -> tuple[Pieces, Sequence[Value]]:
        """The same for steps whose number is found out; that number, too."""

        def advance(done: Value, limit: Value, values: Sequence[Value]) -> Sequence[Value]:
            zero = const_index(0)
            operands = [done, limit, zero, zero, *given[BOUNDS : self.first_carried], *values]
            types = (index, *self.primal.result_types)
            return build(ops.call, operands, {"callee": self.advance, "types": types}).results

        def save(number: Value, values: Sequence[Value]) -> None:
            self._save(slots, number, given, values)

        steps, top, found = run_open(room, places, carried, advance, save, slots.move)
        build(ops.store, [top, places, room])
        build(ops.store, [const_index(0), places, ops.addi(room, const_index(1))])
        return Pieces(steps, steps, room), found

    def _pieces(self, steps: Value) -> Pieces:
        snapshots: Value | None = const_index(self.snapshots + self.disk) if self.snapshots else None
        length = const_index(self.piece) if self.piece else root(steps)
        if self.asked:
            attrs = {"callee": self.asked, "types": (index,) * WIDTH}
            snapshots, length, *_ = build(ops.call, [], attrs).results
        if self.advance:
            return Pieces(steps, steps, snapshots or const_index(1))
        count = ops.ceildivsi(steps, length)
        slots = ops.maxsi(count, const_index(1))
        return Pieces(steps, count, slots if snapshots is None else ops.minsi(slots, snapshots))

    def _on_disk(self, pieces: Pieces) -> Value:
        """How many snapshots are: as many as there are more than fit into memory."""
        return ops.subi(pieces.slots, ops.minsi(pieces.slots, const_index(self.snapshots)))

    def _place_snapshots(
        self, pieces: Pieces, slots: Slots, places: Value, args: Sequence[Value], carried: Sequence[Value]
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
        self, pieces: Pieces, start: Value, end: Value, args: Sequence[Value], carried: Sequence[Value]
    ) -> Sequence[Value]:
        """Append a run of the pieces from ``start`` to ``end``; what they carry then."""
        operands = [*pieces.bounds(start, end, pieces.steps), *args[BOUNDS : self.first_carried], *carried]
        types = self.primal.result_types
        return build(ops.call, operands, {"callee": self.run, "types": types}).results

    def _save(self, slots: Slots, number: Value, args: Sequence[Value], carried: Sequence[Value]) -> None:
        slots.save(number, [args[k] for k in self.state], carried)

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
            ends = self._backward(self._unpacked(next(inputs)), given, shadows, self._totals(incoming))
            build(ops.return_, [ends.get(k, const(0.0, self.types[k])) for k in plan.cotangents_out])
        return func

    def _backward(
        self, taken: Sequence[Value], given: dict[int, Value], shadows: dict[int, Value], totals: dict[int, Value]
    ) -> dict[int, Value]:
        """Append the reverse sweep; the cotangents in the end. ``taken``: from the record."""
        steps, count, slot_count, places, *others = taken
        rest = iter(others)
        slots = Slots.of(rest, len(self.state), len(self.carried), disk=bool(self.disk))
        self._give_copies(given, rest)
        pieces = Pieces(steps, steps if self.advance else count, slot_count)
        left = Left(slots, places, given, shadows)
        end, totals = self._reverse_last(pieces, left, totals)
        ends = self._reverse_pieces(pieces, left, totals, end)
        # What is left for another time is the first snapshot alone.
        build(ops.store, [const_index(0), places, pieces.slots])
        build(ops.store, [const_index(0), places, ops.addi(pieces.slots, const_index(1))])
        if self.once:
            for memory in (places, *others):
                if isinstance(memory.type, MemRefType):
                    build(ops.dealloc, [memory])
        return ends

    def _give_copies(self, given: dict[int, Value], memory: Iterator[Value]) -> None:
        """Let the working buffers and the copies that were made stand for arguments."""
        given.update(zip((*self.state, *self.copied), memory, strict=True))
        given.update((k, as_type(given[k], self.types[k])) for k in (*self.state, *self.copied))

    def _unpacked(self, left: Value) -> Sequence[Value]:
        types = tuple(self._packed)
        memory = [isinstance(t, MemRefType) for t in types]
        roots = tuple((-1 - n,) if is_memory else () for n, is_memory in enumerate(memory))
        holds = [isinstance(t, MemRefType) and isinstance(t.element, MemRefType) for t in types]
        contents = tuple((-1 - len(types) - n,) if is_holder else () for n, is_holder in enumerate(holds))
        return build(ops.unpack, [left], {"types": types, "roots": roots, "contents": contents}).results

    def _totals(self, incoming: dict[int, Value]) -> dict[int, Value]:
        """The cotangents that the loop over the pieces carries, by position: of floats that are carried or used."""
        found = {}
        for k in sorted({*self.inner.cotangents_out, *(k + self.first_carried for k in self.inner.cotangents_in)}):
            found[k] = const(0.0, self.types[k])
            if k >= self.first_carried:
                found[k] = incoming.get(k - self.first_carried, found[k])
        return found

    def _restore(self, left: Left, number: Value) -> tuple[Sequence[Value], Sequence[Value]]:
        """Append copies of a snapshot to the working buffers; the arguments, what is carried excepted, and that."""
        carried = left.slots.restore(number, [left.given[k] for k in self.state])
        return self._args(left.given), carried

    def _args(self, given: dict[int, Value]) -> Sequence[Value]:
        """The arguments, what is carried excepted."""
        return [given.get(k, const_index(0)) for k in range(self.first_carried)]

    def _reverse_last(
        self, pieces: Pieces, left: Left, totals: dict[int, Value]
    ) -> tuple[Value, dict[int, Value]]:
        """Append the reversal of the last piece, if the state before it was kept; where those before it end, and the
        cotangents there."""
        kept = ops.cmpi(ops.load(left.places, ops.addi(pieces.slots, const_index(1))), const_index(0), predicate="ne")
        before = ops.subi(pieces.count, const_index(1))
        one, none = Block(), Block()
        with insert_at(one):
            args, carried = self._args(left.given), left.slots.carried(pieces.slots)
            found = self._reverse_piece(pieces, before, pieces.count, args, carried, left.shadows, totals)
            build(ops.yield_, [found[k] for k in totals])
        with insert_at(none):
            build(ops.yield_, list(totals.values()))
        made = build(ops.if_, [kept], {}, [v.type for v in totals.values()], [one, none])
        return ops.select(kept, before, pieces.count), dict(zip(totals, made.results, strict=True))

    def _reverse_pieces(
        self, pieces: Pieces, left: Left, totals: dict[int, Value], count: Value
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
        pieces: Pieces,
        piece: Value,
        end: Value,
        args: Sequence[Value],
        carried: Sequence[Value],
        shadows: dict[int, Value],
        totals: dict[int, Value],
    ) -> dict[int, Value]:
        """Append both sweeps of one piece; the cotangents before it."""
        inner = self.inner
        operands = [*pieces.bounds(piece, end, pieces.longest), *args[BOUNDS:], *carried]
        operands += [shadows[k] for k in inner.shadows]
        operands += [totals[self.first_carried + k] for k in inner.cotangents_in]
        operands += [totals[k] for k in inner.summed]
        types = tuple(self.types[k] for k in inner.cotangents_out)
        back = build(ops.call, operands, {"callee": inner.name, "types": types})
        passed = dict(zip(inner.cotangents_out, back.results, strict=True))
        return {k: passed[k] if k in passed else const(0.0, self.types[k]) for k in totals}
