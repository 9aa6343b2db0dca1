"""The forward half of a function of steps that is differentiated by a schedule: see
``adc.passes.differentiation.calls.checkpointed``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Value
from adc.ir.types import MemRefType, index, record
from adc.passes.analysis.effects import Summaries
from adc.passes.building import choose, copy
from adc.passes.checkpointing.conventions import ASKED, BOUNDS, CHECKPOINT
from adc.passes.checkpointing.schedule import WIDTH, split_function
from adc.passes.differentiation.activity.activity import Interface
from adc.passes.differentiation.call_plan import CallPlan, union
from adc.passes.differentiation.calls.open_steps import run_open
from adc.passes.differentiation.calls.pieces import Pieces, copied, is_float, like, root
from adc.passes.differentiation.calls.slots import Slots
from adc.passes.differentiation.calls.split_plans import SplitKey, Sweeps, SweepsKey

BothSweeps = Callable[[SweepsKey], Sweeps]


class ForwardSteps:
    """The plan and the augmented function of ``primal``, by its schedule.

    Positions are those of the arguments, which are the range of steps (``BOUNDS``), what is used, and what is carried.
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
        self.sweeps = SweepsKey(self.run, self.interface, frozenset(self.carried))
        self.inner = both(self.sweeps)
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
        """The interface of the steps of a piece, which take and leave the whole state."""
        floats = {k for k in self.state if is_float(self.types[k])}
        carried = {k for k in self.carried if is_float(self.types[k])}
        results = frozenset(k - self.first_carried for k in carried)
        return Interface(frozenset(outer.varied | floats | carried), results, frozenset(outer.useful_args | floats))

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
        """Append the forward sweep. Returns what is carried in the end, and what goes into the record."""
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
        """Append the forward sweep and return what is carried in the end."""
        place, top, *carried = self._place_snapshots(pieces, slots, places, given, carried)
        build(ops.store, [top, places, pieces.slots])
        # The state before the last piece stays in the buffers with which the reverse sweep begins.
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
        """The same where the number of steps is not known in advance; the pieces, which are found out, are returned as
        well."""

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
        """The number of snapshots on disk: those that do not fit into memory."""
        return ops.subi(pieces.slots, ops.minsi(pieces.slots, const_index(self.snapshots)))

    def _place_snapshots(
        self, pieces: Pieces, slots: Slots, places: Value, args: Sequence[Value], carried: Sequence[Value]
    ) -> Sequence[Value]:
        """Append the loop that makes the snapshots of the forward sweep. Returns the place of the last one, its number,
        and what is carried there."""
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
        """Append a run of the pieces from ``start`` to ``end`` and return what they carry then."""
        operands = [*pieces.bounds(start, end, pieces.steps), *args[BOUNDS : self.first_carried], *carried]
        types = self.primal.result_types
        return build(ops.call, operands, {"callee": self.run, "types": types}).results

    def _save(self, slots: Slots, number: Value, args: Sequence[Value], carried: Sequence[Value]) -> None:
        slots.save(number, [args[k] for k in self.state], carried)
