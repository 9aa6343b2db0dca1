"""The two halves of a function of steps (``adc.checkpoint``) that is differentiated by a schedule.

In the forward sweep the steps run as they are, and snapshots are made at some of them: copies of what they write to and
what they carry. The reverse sweep takes the last piece that is not reversed yet and runs it again from the last
snapshot before it, with a tape, on buffers of its own. On the way there it makes further snapshots, in the room of
those that are no longer needed. ``schedule.split_function`` says where to make them. What is only read is not copied,
unless it changes later.

Snapshots belong to the record. The first one remains to the end, so that ``back`` can be called again: it then begins
with that one alone. If the reverse sweep runs only once, it frees the snapshots.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from adc.ir import ops
from adc.ir.arith import const, const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import MemRefType, index, record
from adc.passes.building import choose
from adc.passes.checkpointing.conventions import BOUNDS, CHECKPOINT
from adc.passes.differentiation.calls.checkpointed_forward import ForwardSteps
from adc.passes.differentiation.calls.pieces import Pieces, as_type
from adc.passes.differentiation.calls.slots import Slots


@dataclass(frozen=True)
class Left:
    """What the reverse sweep works with: snapshots and their places, from the record; arguments and shadows by
    position, with buffers in place of the state."""

    slots: Slots
    places: Value
    given: dict[int, Value]
    shadows: dict[int, Value]


def is_checkpointed(func: Func) -> bool:
    return CHECKPOINT in func.attrs


class Steps(ForwardSteps):
    """Makes the plan, the augmented and the reverse function of ``primal`` (in this order), by its schedule.

    Positions are those of the arguments, which are the range of steps (``BOUNDS``), what is used, and what is carried.
    """

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
        """Append the reverse sweep and return the final cotangents. ``taken``: the contents of the record."""
        steps, count, slot_count, places, *others = taken
        rest = iter(others)
        slots = Slots.of(rest, len(self.state), len(self.carried), disk=bool(self.disk))
        self._give_copies(given, rest)
        pieces = Pieces(steps, steps if self.advance else count, slot_count)
        left = Left(slots, places, given, shadows)
        end, totals = self._reverse_last(pieces, left, totals)
        ends = self._reverse_pieces(pieces, left, totals, end)
        # Only the first snapshot is left for another run.
        build(ops.store, [const_index(0), places, pieces.slots])
        build(ops.store, [const_index(0), places, ops.addi(pieces.slots, const_index(1))])
        if self.once:
            for memory in (places, *others):
                if isinstance(memory.type, MemRefType):
                    build(ops.dealloc, [memory])
        return ends

    def _give_copies(self, given: dict[int, Value], memory: Iterator[Value]) -> None:
        """Let the working buffers and the copies that were made take the place of arguments."""
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
        """Append copies of a snapshot to the working buffers. Returns the arguments that are not carried, and what is
        carried."""
        carried = left.slots.restore(number, [left.given[k] for k in self.state])
        return self._args(left.given), carried

    def _args(self, given: dict[int, Value]) -> Sequence[Value]:
        """The arguments that are not carried."""
        return [given.get(k, const_index(0)) for k in range(self.first_carried)]

    def _reverse_last(
        self, pieces: Pieces, left: Left, totals: dict[int, Value]
    ) -> tuple[Value, dict[int, Value]]:
        """Append the reversal of the last piece, which is done if the state before it was kept. Returns where the
        pieces that are left end, and the cotangents there."""
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
        """Append the loop that reverses the first ``count`` pieces, one by one, and return the final cotangents."""
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
        """Append both sweeps of one piece and return the cotangents before it."""
        inner = self.inner
        operands = [*pieces.bounds(piece, end, pieces.longest), *args[BOUNDS:], *carried]
        operands += [shadows[k] for k in inner.shadows]
        operands += [totals[self.first_carried + k] for k in inner.cotangents_in]
        operands += [totals[k] for k in inner.summed]
        types = tuple(self.types[k] for k in inner.cotangents_out)
        back = build(ops.call, operands, {"callee": inner.name, "types": types})
        passed = dict(zip(inner.cotangents_out, back.results, strict=True))
        return {k: passed[k] if k in passed else const(0.0, self.types[k]) for k in totals}
