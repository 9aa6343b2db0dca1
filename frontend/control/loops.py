"""Loops: ``for`` over ranges and tuples, ``while``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from adc.frontend.control.carry import Carry
from adc.frontend.control.jumps import unending
from adc.frontend.control.lengths import FEW
from adc.frontend.control.thrown import may_raise
from adc.frontend.data.described import describe
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import (
    AbstractValue,
    Poison,
    Range,
    Scalar,
    Static,
    Unbound,
    is_numeric,
    known_int,
    needed_int,
)
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame, Undetermined, discard
from adc.frontend.numeric.bits import logical_not
from adc.frontend.numeric.convert import as_scalar, convert, kind, unboxed
from adc.frontend.objects.counts import sources
from adc.frontend.objects.merge import Clash, clash_message, coerce, flatten, join, rebuild
from adc.frontend.traps import trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const, const_index, constant_of, trip_count
from adc.ir.builder import build, current_loc, insert_at
from adc.ir.core import Attr, Block, Loc, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.schedules import SCHEDULE, Schedule
from adc.ir.types import i1, i64, index

Trace = Callable[[], None]  # traces the body of a loop once, at the insertion point


def make_range(args: Sequence[AbstractValue], parallel: bool = False) -> Range:
    """``range(*args)`` or ``prange(*args)``."""
    if not 1 <= len(args) <= 3:
        raise refuse(current_loc(), f"range() takes 1 to 3 arguments, got {len(args)}", kind=kinds.WRONG_CALL)
    args = [unboxed(a) for a in args]
    for a in args:
        if not is_numeric(a) or kind(as_scalar(a).dtype) == 2:
            raise refuse(
                current_loc(),
                f"range() takes integers, not {describe_type(a)}",
                "convert with int(...) first",
                kind=kinds.WRONG_TYPE,
            )
    if len(args) == 1:
        return Range(Static(0), args[0], Static(1), parallel)
    return Range(args[0], args[1], args[2] if len(args) == 3 else Static(1), parallel)


def needed(r: Range) -> Range:
    """A range with known bounds, if they can be known."""
    bounds = [needed_int(v) for v in (r.start, r.stop, r.step)]
    start, stop, step = map(Static, bounds)
    return r if None in bounds else replace(r, start=start, stop=stop, step=step)


def decided(frame: Frame, at: Loc, r: Range) -> Range:
    """The range that a loop goes through, with known bounds if an earlier attempt has found that it needs them."""
    numbers = [v.value for v in (r.start, r.stop, r.step) if isinstance(v, Scalar)]
    return needed(r) if numbers and frame.tracer.attempt.decides(at, numbers) else r


@dataclass(frozen=True)
class Counted:
    """A range as a loop with a positive step; ``value(k)`` is Python's loop variable for the counter ``k``."""

    lower: Value
    upper: Value
    step: Value
    value: Callable[[Value], Value]
    last: Callable[[], Value]  # the loop variable's last value, if there was an iteration
    schedule: Schedule | None = None

    def known_to_run(self) -> bool | None:
        """Whether there is an iteration, if that is known now."""
        low, high = constant_of(self.lower), constant_of(self.upper)
        return None if low is None or high is None else low < high

    def trips(self) -> Value:
        """The trip count."""
        return trip_count(self.lower, self.upper, self.step)

    def known_trips(self, most: int) -> bool:
        """Whether the number of iterations is known and not above ``most``."""
        low, high, step = constant_of(self.lower), constant_of(self.upper), constant_of(self.step)
        return low is not None and high is not None and step is not None and high - low <= most * step

    def ran(self) -> bool | Value:
        """Whether there is an iteration."""
        known = self.known_to_run()
        return known if known is not None else ops.cmpi(self.lower, self.upper, predicate="slt")


def counted(r: Range) -> Counted:
    """The range as a ``Counted``, with its bounds built at the insertion point."""
    start, stop = (convert(as_scalar(v), i64) for v in (r.start, r.stop))
    step = known_int(r.step)
    if step is not None and step > 0:
        stride = const_index(step)
        if step > 1:
            _check_span(start, ops.maxsi(stop, start))

        def last() -> Value:
            if step == 1:
                return stop - 1
            return start + ops.floordivsi(stop - 1 - start, stride) * step

        return Counted(start, stop, stride, lambda k: k, last, r.schedule)
    if step == 0:
        raise refuse(current_loc(), "range() arg 3 must not be zero", kind=kinds.INVALID_VALUE)
    stride = convert(as_scalar(r.step), i64)
    if step is None:
        trap_unless(ops.cmpi(stride, const_index(0), predicate="ne"), "ValueError", "range() arg 3 must not be zero")
    trip = ops.ceildivsi(stop - start, stride)
    if step is None:
        up, down = (ops.cmpi(start, stop, predicate=p) for p in ("slt", "sgt"))
        goes = ops.select(ops.cmpi(stride, const_index(0), predicate="sgt"), up, down)
        _check_span(start, ops.select(goes, stop, start))
        trip = ops.select(goes, trip, const_index(0))
    else:
        _check_span(start, stop)
    return Counted(
        const_index(0),
        trip,
        const_index(1),
        lambda k: start + k * stride,
        lambda: start + (trip - 1) * stride,
        r.schedule,
    )


def _check_span(start: Value, stop: Value) -> None:
    """Check that the difference of the bounds fits into 64 bits, in which iterations are counted."""
    fits = ops.fits(stop, start, kind="sub")
    trap_unless(fits, "RangeError", "a range from {} to {} is too long for 64 bits", start, stop)


def for_range(frame: Frame, stmt: ast.For, r: Range, body: Trace) -> None:
    """A ``for`` over a range."""
    if not isinstance(stmt.target, ast.Name):
        raise refuse(
            frame.loc(stmt.target), "the variable of a loop over a range must be a name", kind=kinds.UNSUPPORTED_TARGET
        )
    name = stmt.target.id
    loop = counted(r)

    def bind(counter: Value) -> None:
        frame.env[name] = Scalar(loop.value(counter), i64)
        frame.assigned_at[name] = frame.loc(stmt.target)

    reassigned = name in _assigned_in(frame, stmt)
    after = frame.liveness.after[stmt] | frame.captured
    private = None if reassigned and name in after else name
    for_counted(frame, stmt, loop, bind, body, name, private)


def for_counted(
    frame: Frame,
    stmt: ast.For,
    loop: Counted,
    bind: Callable[[Value], None],
    trace_body: Trace,
    hint: str = "",
    private: str | None = None,
) -> None:
    """A loop over a counter, from which ``bind`` sets the loop's variables: an ``scf.for``, or an ``scf.while`` if the
    body may end it. The variable ``private`` depends on the counter alone and is not carried."""
    if loop.known_to_run() is False:
        return
    after = frame.liveness.after[stmt] | frame.captured
    carry = Carry(frame, stmt, frozenset() if private is None else frozenset({private}))
    before = None if private is None else frame.env.get(private)
    if not frame.catching and not any(isinstance(node, ast.Break | ast.Return | ast.Try) for node in ast.walk(stmt)):
        carry.appends.trips = loop.trips
    carry.appends.few = loop.known_trips(FEW)
    while True:
        body = carry.appends.body = Block([index, *carry.types()], [hint, *carry.hints()])
        with insert_at(body):
            carry.enter(iter(body.args[1:]))
            bind(body.args[0])
            try:
                traced = carry.attempt(trace_body)
            except Undetermined:
                frame.env = dict(carry.before)  # only the case without an iteration is known
                return
        if traced and carry.settle(body):
            break
        discard(body)
    ran = loop.ran() if carry.late_specs or private in after else None
    inits = carry.inits(ran)
    for t, late in zip(carry.late_types(ran), carry.late_hints(ran), strict=True):
        body.add_arg(t, late)
    yields = carry.yields(body, ran)
    last = loop.last
    if carry.jumps():
        results = _while_counted(carry, loop, body, inits, yields, ran)
        counter, results = results[0], results[1:]
        last = partial(_last_counter, loop, counter)
    else:
        with insert_at(body):
            build(ops.yield_, yields)
        bounds = [loop.lower, loop.upper, loop.step]
        results = build(ops.for_, [*bounds, *inits], _attrs(loop), [v.type for v in inits], [body]).results
    _name_results(results, [*carry.hints(), *carry.late_hints(ran)])
    carry.leave(iter(results), ran)
    if private is not None and private in after:
        assert ran is not None
        _after_loop(frame, private, before, last, ran)


def _while_counted(
    carry: Carry, loop: Counted, body: Block, inits: list[Value], yields: list[Value], ran: bool | Value | None
) -> Sequence[Value]:
    """A loop over a counter that flags among the carried values may end. Its first result is the counter."""
    head = Block([a.type for a in body.args], [a.hint for a in body.args])
    counter, *values = head.args
    with insert_at(head):
        more = ops.cmpi(counter, loop.upper, predicate="slt")
        build(ops.condition, [_unless_ended(carry.ended(values[len(carry.types()) :], ran), more), *head.args])
    with insert_at(body):
        build(ops.yield_, [body.args[0] + loop.step, *yields])
    start = [loop.lower, *inits]
    return build(ops.while_, start, _attrs(loop), [v.type for v in start], [head, body]).results


def _attrs(loop: Counted) -> dict[str, Attr]:
    return {} if loop.schedule is None else {SCHEDULE: loop.schedule.attr()}


def _unless_ended(flags: list[Value], more: Value) -> Value:
    for flag in flags:
        more = ops.andi(more, logical_not(flag))
    return more


def _last_counter(loop: Counted, counter: Value) -> Value:
    return loop.value(counter - loop.step)


def _assigned_in(frame: Frame, stmt: ast.For) -> frozenset[str]:
    """Names that the body itself assigns, except the loop's own target."""
    found = frame.liveness.body_assigns.get(stmt)
    return found if found is not None else frozenset()


def _name_results(results: Sequence[Value], hints: Sequence[str]) -> None:
    for value, hint in zip(results, hints, strict=True):
        value.hint = hint


def _after_loop(
    frame: Frame, name: str, before: AbstractValue | None, last_value: Callable[[], Value], ran: bool | Value
) -> None:
    """Set the loop variable after the loop: to its last value, or, if there was no iteration, to its previous one."""
    last = Scalar(last_value(), i64)
    if ran is True:
        frame.env[name] = last
        return
    assert isinstance(ran, Value)
    if before is None or isinstance(before, Poison):
        frame.env[name] = Unbound(ran, last)
        return
    try:
        spec = join(describe(before), describe(last))
    except Clash as clash:
        frame.env[name] = Poison(clash_message(f"'{name}'", before, last, clash), kind=kinds.TYPE_DIFFERS)
        return
    values = [flatten(coerce(v, spec)) for v in (last, before)]
    chosen = [ops.select(ran, x, y) for x, y in zip(*values, strict=True)]
    frame.env[name] = rebuild(spec, iter(chosen), lambda k: frozenset())


class ChangesInTest(Exception):
    """The condition of a ``while`` changes objects or variables of other functions, or may raise what is handled, so it
    belongs to the iterations. ``shown``: one of them; empty if it changes none."""

    def __init__(self, shown: str) -> None:
        super().__init__(shown)
        self.shown = shown


def while_loop(frame: Frame, stmt: ast.While, test: Callable[[], bool | Value], trace_body: Trace) -> None:
    """A ``while`` as an ``scf.while``. Raises ``ChangesInTest``, with nothing done."""
    carry = Carry(frame, stmt)
    while True:
        head = Block(carry.types(), carry.hints())
        with insert_at(head):
            carry.enter(iter(head.args))
            known = test()
            changed = carry.changed_in_test()
            if changed is None and known is not False and may_raise(frame, head.ops):
                changed = ""
            if changed is not None:
                frame.env = dict(carry.before)
                discard(head)
                raise ChangesInTest(changed)
        if known is False:
            raises = not all(op.opdef.pure for op in head.ops)
            discard(head)
            frame.env = dict(carry.before)
            if raises:
                test()  # once, for what it may raise
            return
        carry.tested = frozenset() if known is True else {v.index for v in sources(known) if v.block is head}
        body = carry.inside = Block(carry.types(), carry.hints())
        with insert_at(body):
            carry.enter(iter(body.args))
            try:
                traced = carry.attempt(trace_body)
            except Undetermined:
                if known is True:
                    raise
                frame.env = dict(carry.before)
                return
        if traced and carry.settle(body):
            break
        discard(head, body)
    inits = carry.inits(None)
    for t, late in zip(carry.late_types(None), carry.late_hints(None), strict=True):
        head.add_arg(t, late)
        body.add_arg(t, late)
    yields = carry.yields(body, None)
    go_on = _tested(head, known, carry.ended(head.args[len(inits) - len(carry.late_types(None)) :], None))
    with insert_at(head):
        build(ops.condition, [go_on, *head.args])
    with insert_at(body):
        build(ops.yield_, yields)
    op = build(ops.while_, inits, result_types=[v.type for v in inits], regions=[head, body])
    _name_results(op.results, [*carry.hints(), *carry.late_hints(None)])
    carry.leave(iter(op.results), None)
    if known is True:
        unending(frame.env)


def _tested(head: Block, known: bool | Value, ended: list[Value]) -> Value:
    """Whether a while loop continues: not if the body has ended it; then the test, in ``head``, is not evaluated."""
    pure = all(op.opdef.pure for op in head.ops)
    if isinstance(known, bool):
        with insert_at(head):
            known = const(known, i1)
    if pure or not ended:
        with insert_at(head):
            return _unless_ended(ended, known)
    test, stop, head_ops = Block(), Block(), list(head.ops)
    head.set_ops([])
    for op in head_ops:
        test.append(op)
    with insert_at(test):
        build(ops.yield_, [known])
    with insert_at(stop):
        build(ops.yield_, [const(False, i1)])
    with insert_at(head):
        go_on = _unless_ended(ended, const(True, i1))
        return build(ops.if_, [go_on], result_types=[i1], regions=[test, stop]).result
