"""Exceptions that handlers take: control leaves a block by them, as by a ``return``.

Inside a ``try`` statement, of the same function or of a caller, a ``raise`` of a handled class sets the variable
``<raised>`` to a constant that identifies the exception, and later code runs if that is not set. Everything else in a
statement that may raise is traced as a check (``adc.assert``, ``adc.bound``). When the statement has been traced, its
code is divided at each check into what runs if the check holds, and the jump. A function called there returns, beside
its result, the exception that it was left by, or None, and its caller checks that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from adc.frontend.control.branches import branch, either, trace
from adc.frontend.control.jumps import NEVER, RAISED
from adc.frontend.data.compounds import OneOf
from adc.frontend.data.dims import BOUNDS_ERROR, SHAPE_ERROR
from adc.frontend.data.values import NONE, AbstractValue, Static, Tuple, Unbound
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame, PathEnds, Undetermined
from adc.frontend.traps import Watch, trap_unless
from adc.frontend.traps import handled as catches
from adc.ir import kinds, ops
from adc.ir.arith import const, const_index, constant_of
from adc.ir.builder import build, current_block, current_loc, insert_at
from adc.ir.callgraph import reachable
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.raising import KEPT, Message, class_name, class_of
from adc.ir.types import MemRefType, Type, i1, index

Environment = dict[str, AbstractValue]


@dataclass(frozen=True)
class Thrown:
    """An exception that was raised. ``shows``: its message showed run-time numbers, which are not kept."""

    cls: type[Exception]
    message: Message
    shows: bool


def handled(frame: Frame, cls: type[Exception]) -> bool:
    return issubclass(cls, frame.catching)


def together(*several: tuple[type[Exception], ...]) -> tuple[type[Exception], ...]:
    """The union of handled classes, without subclasses of others in it: so a function that calls itself in a ``try`` is
    traced for finitely many."""
    found: tuple[type[Exception], ...] = ()
    for cls in (cls for classes in several for cls in classes):
        if not issubclass(cls, found):
            found += (cls,)
    return found


def watch(frame: Frame) -> Watch | None:
    """The watch that is notified of checks in this frame. None in stand-ins for library functions, which raise what
    they say."""
    if not frame.catching or frame.source.placed is not None:
        return None

    def note(op: Op) -> None:
        frame.states[op] = frame.env.copy()

    return Watch(frame.catching, note)


# What calls return of exceptions --------------------------------------------------------------------------------------


def outcome(frame: Frame, result: AbstractValue) -> AbstractValue:
    """The result of a function whose callers handle exceptions, together with the exception that it was left by, or
    None."""
    raised = frame.env.pop(RAISED, NONE)
    if isinstance(raised, Unbound):
        value = raised.value
        raised = branch(frame, raised.flag, lambda: value, lambda: NONE) or NONE
    return Tuple((result, raised))


def received(frame: Frame, left: AbstractValue) -> AbstractValue:
    """The result of such a function, and the check that it was not left by an exception."""
    assert isinstance(left, Tuple)
    result, raised = left.items
    if raised is NONE or (isinstance(raised, Static) and raised.value is None):
        return result
    if isinstance(raised, OneOf):
        none = next(k for k, one in enumerate(raised.options) if isinstance(one, Static) and one.value is None)
        good = ops.cmpi(raised.position, const_index(none), predicate="eq")
    else:
        good = const(False, i1)
    surely = not isinstance(raised, OneOf)
    op = build(ops.assert_, [good], {"error": "Exception", "message": ("",)})
    frame.thrown[op] = raised
    frame.states[op] = frame.env.copy()
    if surely:
        end_path(frame)
    return result


def end_path(frame: Frame) -> None:
    """What follows in the statement that is being traced is not reached, if all of it is evaluated."""
    if current_block() is frame.statement_block:
        raise PathEnds


def raise_now(frame: Frame, error: str, message: str | tuple[str, ...]) -> None:
    """End the path with an error; it may not be taken. In an expression that may not be evaluated, do nothing."""
    if current_block() is frame.statement_block:
        trap_unless(const(False, i1), error, message)
        raise PathEnds


def raise_if_run(frame: Frame, error: type[Exception], message: str) -> None:
    """The same where this path may not be taken, also as the function may not be called, or the error is handled;
    elsewhere the caller refuses."""
    if catches(error) or not frame.entry or current_block() is not frame.func.body:
        raise_now(frame, error.__name__, (message,))


def options(raised: AbstractValue) -> list[tuple[int, Thrown]]:
    """The exceptions that ``raised`` may be, with their numbers."""
    found = raised.options if isinstance(raised, OneOf) else (raised,)
    return [(k, one.value) for k, one in enumerate(found) if isinstance(one, Static) and isinstance(one.value, Thrown)]


def again(frame: Frame, raised: AbstractValue) -> None:
    """Raise again an exception that was handled."""
    found = options(raised)
    for k, one in found:
        if handled(frame, one.cls):
            continue
        if one.shows:
            raise refuse(
                current_loc(),
                f"a {one.cls.__name__} whose message shows numbers of the run cannot be raised again",
                "raise a new exception, or handle only what is not raised again",
                kind=kinds.UNSUPPORTED_STATEMENT,
            )
        other = const(False, i1)
        if isinstance(raised, OneOf):
            other = ops.cmpi(raised.position, const_index(k), predicate="ne")
        name = class_name(one.cls)
        build(ops.assert_, [other], {"error": name, "message": one.message})
    if any(handled(frame, one.cls) for _, one in found):
        frame.env[RAISED] = raised  # one of those handled here: the others have left
    else:
        frame.env[NEVER] = NONE


# Checks ---------------------------------------------------------------------------------------------------------------

_OWN = {SHAPE_ERROR: ValueError, BOUNDS_ERROR: IndexError}
"""Errors that NumPy raises too. Handlers do not take adc's other errors: Python computes a number there."""


def _class_of(op: Op) -> type[Exception] | None:
    """The class of exceptions that Python raises if this check fails."""
    if op.opdef is ops.bound:
        return IndexError if op.attrs["check"] else None
    if op.opdef is not ops.assert_ or op.attrs["message"] == KEPT:
        return None
    error = str(op.attrs["error"])
    return _OWN.get(error) or class_of(error)


def _raised_by(frame: Frame, op: Op) -> AbstractValue | None:
    """The exception that a handler takes if a check fails; None if no handler does."""
    if op in frame.thrown:
        return frame.thrown[op]
    cls = _class_of(op)
    if cls is None or not handled(frame, cls):
        return None
    own = cls is IndexError and not isinstance(op.attrs.get("message"), tuple)  # a subscript of adc's library
    return None if own and frame.source.placed is not None else _thrown(op, cls)


def _thrown(op: Op, cls: type[Exception]) -> AbstractValue:
    if op.opdef is ops.bound:
        return Static(Thrown(cls, ("index out of range",), False))
    message = op.attrs["message"]
    assert isinstance(message, str | tuple)
    return Static(Thrown(cls, message if isinstance(message, tuple) else (message,), len(op.operands) > 1))


def may_raise(frame: Frame, ops_: Iterable[Op]) -> bool:
    """Whether the operations may raise an exception that is handled."""
    return any(_raised_by(frame, op) is not None for one in ops_ for op in _walk(one))


def _walk(op: Op) -> Iterable[Op]:
    yield op
    for region in op.regions:
        yield from region.walk()


def check_call(frame: Frame, name: str, shown: str) -> None:
    """Refuse a call of a function with derivative rules that may raise a handled exception: it does not return
    exceptions."""
    for one in reachable(frame.tracer.module, [name]):
        for op in frame.tracer.module.funcs[one].walk():
            cls = _class_of(op)
            if cls is not None and handled(frame, cls):
                raise refuse(
                    current_loc(),
                    f"{shown}() has derivative rules, and may raise {cls.__name__}, which cannot be handled here",
                    "test the condition before the call",
                    kind=kinds.UNSUPPORTED_STATEMENT,
                )


def divide(
    frame: Frame, tail: Sequence[Op], before: Environment, rest: Callable[[], None], live: Iterable[str]
) -> None:
    """Append the code of a statement, divided at its checks, and then ``rest``, which builds the code after it.
    ``before``: the variables before the statement; ``live``: those that are read later."""
    block = current_block()
    for k, op in enumerate(tail):
        raised = _raised_by(frame, op)
        if raised is None:
            block.append(op)
            if op.regions and may_raise(frame, [op]):
                after, frame.env = frame.env, dict(before)
                checks = _lifted(frame, op, before)
                frame.env = after
                divide(frame, [*checks, *tail[k + 1 :]], before, rest, live)
                return
            continue
        good = _condition(op)
        if constant_of(good):
            continue
        at = frame.states.get(op, before)

        def fail(at: Environment = at, raised: AbstractValue = raised) -> None:
            frame.env = {**at, RAISED: raised}

        if constant_of(good) is not None:
            for later in tail[k:]:
                later.drop()
            fail()
            return
        after, following = frame.env, tail[k + 1 :]

        def go_on(op: Op = op, after: Environment = after, following: Sequence[Op] = following) -> None:
            frame.env = after
            if op.opdef is ops.bound:
                current_block().append(_passed(op))
            divide(frame, following, before, rest, live)

        if op.opdef is not ops.bound:
            op.drop()
        frame.env = dict(before)
        then, other = trace(frame, go_on), trace(frame, fail)
        if then.undetermined:
            raise Undetermined
        either(frame, good, then, other, [n for n in live if then.env.get(n) is not other.env.get(n)])
        return
    rest()


def _passed(bound: Op) -> Op:
    """Mark a subscript as checked."""
    bound.set_attr("check", False)
    return bound


def _condition(op: Op) -> Value:
    """The condition under which a check passes."""
    if op.opdef is ops.assert_:
        return op.operands[0]
    at, extent = op.operands
    below = ops.cmpi(at, extent, predicate="slt")
    return ops.andi(below, ops.cmpi(at + extent, const_index(0), predicate="sge"))


def _lifted(frame: Frame, op: Op, before: Environment) -> list[Op]:
    """Checks that replace those inside the branch ``op``, and follow it."""
    if op.opdef is not ops.if_:
        cls = next(_class_of(o) for o in _walk(op) if _raised_by(frame, o) is not None)
        raise refuse(
            op.loc,
            f"this may raise {cls.__name__ if cls else 'an exception'} in a loop of its own, which cannot be handled",
            "write a for statement inside the try, with a statement for what may raise",
            kind=kinds.UNSUPPORTED_STATEMENT,
        )
    found: list[tuple[AbstractValue, Environment]] = []
    types = [r.type for r in op.results]
    for region in op.regions:
        inside = list(region.ops)
        region.set_ops([])
        with insert_at(region, op.loc):
            build(ops.yield_, _numbered(frame, inside, types, found, before))
    number = op.add_result(index)
    scratch = Block()
    checks: list[Op] = []
    for k, (raised, at) in enumerate(found):
        with insert_at(scratch, op.loc):
            other = ops.cmpi(number, const_index(k + 1), predicate="ne")
            check = build(ops.assert_, [other], {"error": "Exception", "message": ("",)})
        frame.thrown[check], frame.states[check] = raised, at
    checks += scratch.ops
    scratch.set_ops([])
    return checks


def _numbered(
    frame: Frame,
    inside: Sequence[Op],
    types: Sequence[Type],
    found: list[tuple[AbstractValue, Environment]],
    before: Environment,
) -> list[Value]:
    """Append a block's code. Returns what it yields, and the number of the exception that it raised, or zero."""
    block = current_block()
    for k, op in enumerate(inside):
        if op.opdef is ops.yield_:
            values = list(op.operands)
            op.drop()
            return [*values, const_index(0)]
        raised = _raised_by(frame, op)
        if raised is None:
            block.append(op)
            if op.regions and may_raise(frame, [op]):
                return _numbered(frame, [*_lifted(frame, op, before), *inside[k + 1 :]], types, found, before)
            continue
        good = _condition(op)
        at = frame.states.get(op, before)
        if any(v is not before.get(name) for name, v in at.items()):
            message = "this may raise what is handled, after something was changed in the same expression"
            raise refuse(op.loc, message, "change it in a statement of its own", kind=kinds.UNSUPPORTED_STATEMENT)
        number = len(found) + 1
        found += [(one, before) for one in (raised.options if isinstance(raised, OneOf) else (raised,))]
        then, other = Block(), Block()
        if op.opdef is ops.bound:
            then.append(_passed(op))
        else:
            op.drop()
        with insert_at(then):
            build(ops.yield_, _numbered(frame, inside[k + 1 :], types, found, before))
        with insert_at(other):
            nothing = [ops.undef(type=t) if isinstance(t, MemRefType) else const(0, t) for t in types]
            which = const_index(number)
            if isinstance(raised, OneOf):
                which = raised.position + which
            build(ops.yield_, [*nothing, which])
        result_types = [*types, index]
        return list(build(ops.if_, [good], result_types=result_types, regions=[then, other]).results)
    raise AssertionError("a block ends with a yield")
