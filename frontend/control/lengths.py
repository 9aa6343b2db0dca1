"""Lists whose length changes in loops and branches, so that it is known only at run time.

Their ``Contents`` then become those of ``objects.growing``, before the loop or at the ends of the branches.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from adc.frontend.data.callables import function_of
from adc.frontend.data.compounds import Contents
from adc.frontend.data.described import describe, widen
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Unbound
from adc.frontend.frame import Frame
from adc.frontend.objects import heap
from adc.frontend.objects.columns import are_known
from adc.frontend.objects.growing import converted, uneven, with_room
from adc.frontend.objects.joining import identical
from adc.frontend.objects.merge import Clash, join
from adc.frontend.objects.rows import TABLE, buffers, common_type, is_growing, nested, type_of_items
from adc.ir.builder import insert_at
from adc.ir.core import Block, Value

if TYPE_CHECKING:
    from adc.frontend.control.carry import Carry

Env = Mapping[str, AbstractValue | None]

FEW = 32
"""The most iterations of a loop that is unrolled to keep the length of a list, or the position of an item, known."""

SHORT = 300  # the most nodes in the syntax tree of a loop that is unrolled for its subscripts


class Appends:
    """The number of items that every iteration of a loop appends to lists; ``trips`` is the trip count, if known before
    it.

    A list to which each iteration appends the same number of items, and whose length does not change otherwise, gets
    room for all of them before the loop.
    """

    def __init__(self) -> None:
        self.body: Block | None = None
        self.trips: Callable[[], Value] | None = None
        self.few = False
        self._room: dict[str, int] = {}  # per list: the number of items with room in each iteration
        self._refused: set[str] = set()
        self._seen: dict[str, tuple[int, Contents]] = {}
        self._head: dict[str, AbstractValue] = {}

    def enter(self, head: dict[str, AbstractValue]) -> None:
        self._seen, self._head = {}, head

    def place(self, key: str, held: Contents) -> int | None:
        """The number of this append within the iteration, unless the length of the list was changed otherwise."""
        first = self._head.get(key)
        count, last = self._seen.get(key, (0, first))
        return count if last is not None and identical(held, last) else None

    def note(self, key: str, place: int, now: Contents) -> None:
        self._seen[key] = place + 1, now

    def has_room(self, key: str, place: int) -> bool:
        return place < self._room.get(key, 0)

    def settle(self, carry: Carry) -> bool:
        """Make room before the loop, after its body was traced. Whether it was already there."""
        good, end = True, carry.frame.env
        if self.trips is None:
            return True
        for key in (*self._seen, *self._room):
            if key in self._refused or key not in carry.before:
                continue
            count, last = self._seen.get(key, (0, None))
            now = end.get(key)
            even = last is not None and now is not None and identical(now, last)
            if not even:
                self._refused.add(key)
                good = self._room.pop(key, None) is None and good
                continue
            before = carry.before[key]
            if key in self._room or not isinstance(before, Contents) or not is_growing(before):
                continue
            if not are_known(buffers(before)):  # the first item determines the shape of the arrays
                continue
            self._room[key] = count
            made = with_room(carry.frame, before, self.trips() * count)
            carry.before[key] = made
            carry.specs[key] = widen(describe(made))
            good = False
        return good


def unroll_few(frame: Frame, name: str) -> None:
    """Unroll a short loop around this point, if there is one that may be unrolled: the length of the list then stays
    known."""
    heap.unroll(frame, [c for c in frame.loops if c.appends.few and name in c.before])


def unroll_counted(frame: Frame, position: Value) -> None:
    """Unroll a short loop around this point whose counter determines the position in a list or tuple, if there is
    one."""
    sources: set[Value] = set()
    work = [position]
    while work:
        value = work.pop()
        if value.op is None:
            sources.add(value)
        elif value.op.opdef.pure and not value.op.regions:
            work += value.op.operands
        else:
            return
    counters = {c.appends.body.args[0]: c for c in frame.loops if c.appends.few and c.appends.body is not None}
    if sources <= counters.keys():
        loops = [c for c in frame.loops if any(counters[v] is c for v in sources)]
        heap.unroll(frame, [c for c in loops if sum(1 for _ in ast.walk(c.stmt)) <= SHORT])


def settled_list(carry: Carry, start: Contents, end: AbstractValue) -> Contents | None:
    """The contents before the loop of a list whose length it changes, as those of a list of run-time length. None if
    that is impossible."""
    if not isinstance(end, Contents) or not uneven(start, end):
        return None
    if carry.appends.few and not is_growing(end):
        heap.unroll(carry.frame, [carry])
    try:
        item = common_type(carry.frame, start, end)
    except Clash:
        return None
    if item is None:
        return None
    return converted(carry.frame, start, item, end, carry.before)


def not_kept(frame: Frame, shown: str, start: Contents, end: AbstractValue, clash: Clash) -> tuple[str, str]:
    """The message and the advice in the refusal of an object that a loop gives another structure."""
    if nested(frame.env, start) or nested(frame.env, end):
        return f"{shown} would hold lists: neither its length nor theirs are known before the run", TABLE
    message = f"{shown} does not keep its structure in the loop: {describe_type(start)} before it, "
    otherwise = "in a loop that is not unrolled an object keeps the number and types of its items"
    return f"{message}{describe_type(end)} here; {clash}", way_out(frame.env, start, end, otherwise)


def way_out(env: Env, a: AbstractValue | None, b: AbstractValue | None, otherwise: str) -> str:
    """The advice in the refusal of two values that are lists or functions; ``otherwise`` for others."""
    if function_of(a) is not None and function_of(b) is not None:
        return "call each in a branch of its own: y = f(x) under the condition, and y = g(x) under the other"
    if not uneven(a, b):
        return otherwise
    if nested(env, a) or nested(env, b):
        return TABLE
    return (
        "a list whose length depends on the run holds numbers, arrays of one shape, objects of one class that the "
        "function makes, or tuples, lists or dicts of these; for other items, make an array for all (np.zeros) and "
        "store into its rows"
    )


def meet(
    frame: Frame,
    name: str,
    blocks: tuple[Block, Block],
    envs: tuple[Env, Env],
    a: AbstractValue | None,
    b: AbstractValue | None,
) -> tuple[AbstractValue | None, AbstractValue | None]:
    """A list with two lengths at the ends of two branches, as one of run-time length. ``envs``: what their variables
    hold there."""
    if isinstance(a, Unbound) and isinstance(b, Unbound):
        x, y = meet(frame, name, blocks, envs, a.value, b.value)
        assert x is not None and y is not None
        return Unbound(a.flag, x), Unbound(b.flag, y)
    if not uneven(a, b):
        return a, b
    assert isinstance(a, Contents) and isinstance(b, Contents)
    unroll_few(frame, name)
    known = [{**envs[1], **envs[0]}, {**envs[0], **envs[1]}]  # at each end, and the objects made in the other branch
    try:
        found = []
        for env, held in zip(known, (a, b), strict=True):
            with _variables(frame, env):
                if nested(env, held):
                    return a, b
                found.append(type_of_items(frame, held))
        first, second = found
        item = join(first, second) if first is not None and second is not None else first or second
    except Clash:
        return a, b
    if item is None:
        return a, b
    ends = []
    for env, block, held, other in zip(known, blocks, (a, b), (b, a), strict=True):
        with insert_at(block), _variables(frame, env):
            ends.append(converted(frame, held, item, other))
    return ends[0], ends[1]


@contextmanager
def _variables(frame: Frame, env: Env) -> Iterator[None]:
    """The frame at the end of a branch."""
    before = frame.env
    frame.env = {name: value for name, value in env.items() if value is not None}
    try:
        yield
    finally:
        frame.env = before
