"""What is known about memory at each point of a walk through a function: the values last loaded or stored."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

from adc.ir import ops
from adc.ir.core import Op, Value
from adc.passes.analysis.effects import Effects, Memory
from adc.passes.analysis.integers import Integers
from adc.passes.analysis.subscripts import differ

Subscripts = tuple[Value, ...]
Known = dict[Subscripts | None, Value]  # None: every element has this value

# A store to an element of a memref keeps what is known of elements that provably differ. Beyond this number of
# entries it is not worth looking at each.
MAX_COMPARED = 16


class AvailableMemory:
    """Tables of known elements, one per memref, that follow the walk into regions and out of them.

    Entering a region returns a mark; leaving takes back what was learnt since and restores what was forgotten. What a
    region writes is forgotten before it is entered if it may repeat, and in any case after it.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._integers = Integers()
        self._known: dict[Value, Known] = {}
        self._of_root: dict[Value, dict[Value, None]] = {}  # memrefs that may refer to it, in order of appearance
        self._log: list[tuple[Any, Any]] = []  # (memref, its table before) or (table, subscripts added to it)

    def load(self, op: Op) -> Value | None:
        """The value that the load gives, if it is known. If not, it is known from now on."""
        memref, *rest = op.operands
        subscripts = tuple(rest)
        value = self.known(memref, subscripts)
        if value is None:
            self._learn(memref, subscripts, op.result)
        return value

    def known(self, memref: Value, subscripts: Subscripts) -> Value | None:
        """The value of an element, if it is known."""
        known = self._known.get(memref)
        return None if known is None else known.get(subscripts) or known.get(None)

    def write(self, op: Op) -> bool:
        """Follow a write (or a call); True if it writes what is there already and can be left out."""
        kind = op.opdef
        if kind is ops.store:
            value, memref, *rest = op.operands
            subscripts = tuple(rest)
            known = self._known.get(memref)
            if known is not None and known.get(subscripts, known.get(None)) is value:
                return True
            self._forget_overlapping(memref, subscripts)
            self._learn(memref, subscripts, value)
        elif kind is ops.accumulate:
            memref, *rest = op.operands[1:]
            self._forget_overlapping(memref, tuple(rest))
        elif kind is ops.fill:
            value, memref = op.operands
            self._forget_overlapping(memref, None)
            self._learn(memref, None, value)
        elif kind is ops.copy or kind is ops.dealloc:
            self._forget_overlapping(op.operands[-1], None)
        else:
            self._forget_written(op)
        return False

    # Regions ----------------------------------------------------------------------------------------------------------

    def enter(self) -> int:
        return len(self._log)

    def leave(self, mark: int) -> None:
        log = self._log
        while len(log) > mark:
            place, old = log.pop()
            if isinstance(place, dict):
                del place[old]  # an element that was learnt
            elif old is None:
                self._known.pop(place, None)
            else:
                self._known[place] = old  # a table that was replaced

    def before_region(self, op: Op) -> None:
        if op.opdef is not ops.if_:
            self._forget_written(op)

    def after_region(self, op: Op) -> None:
        self._forget_written(op)

    # The tables -------------------------------------------------------------------------------------------------------

    def _replace(self, memref: Value, known: Known | None) -> None:
        self._log.append((memref, self._known.get(memref)))
        if known:
            self._known[memref] = known
        else:
            self._known.pop(memref, None)

    def _learn(self, memref: Value, subscripts: Subscripts | None, value: Value) -> None:
        known = self._known.get(memref)
        if known is None:
            self._replace(memref, {subscripts: value})
            for root in self._memory.roots(memref):
                self._of_root.setdefault(root, {})[memref] = None
        else:
            known[subscripts] = value
            self._log.append((known, subscripts))

    def _forget_overlapping(self, memref: Value, subscripts: Subscripts | None) -> None:
        for other in self._candidates(self._memory.roots(memref)):
            if other is memref and subscripts is not None:
                self._forget_element(memref, subscripts)
            elif other is memref or self._memory.may_overlap(memref, other):
                self._replace(other, None)

    def _forget_element(self, memref: Value, subscripts: Subscripts) -> None:
        known = self._known[memref]
        if len(known) > MAX_COMPARED:
            self._replace(memref, None)
            return
        kept: Known = {s: v for s, v in known.items() if s is not None and differ(self._integers, s, subscripts)}
        if len(kept) < len(known):
            self._replace(memref, kept)

    def _forget_written(self, op: Op) -> None:
        effects: Effects = self._memory.effects(op)
        for memref in list(self._known) if effects.everything else self._candidates(effects.writes):
            if self._memory.may_write(op, memref):
                self._replace(memref, None)

    def _candidates(self, roots: Iterable[Value]) -> list[Value]:
        """Memrefs about which something is known and that may refer to ``roots``."""
        tables = [table for root in roots if (table := self._of_root.get(root)) is not None]
        found = tables[0] if len(tables) == 1 else dict.fromkeys(chain.from_iterable(tables))
        return [memref for memref in found if memref in self._known]
