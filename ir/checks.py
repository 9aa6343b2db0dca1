"""Checks of single operations beyond their type rule: valid attributes, regions of the right form.

A check raises ``TypeError`` with what is wrong; the verifier says where. Checks of operations with regions are made by
functions that take the terminator, since the table declares both together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from adc.ir.core import Block, Op, Value
from adc.ir.diagnostics import own_class
from adc.ir.evaluate.evaluate import normal
from adc.ir.opdef import OpDef
from adc.ir.raising import MOST, class_of, places
from adc.ir.typerules import require
from adc.ir.types import MemRefType, RecordType, Type, i1, index

Check = Callable[[Op], None]


def types_of(values: Iterable[Value]) -> list[Type]:
    return [v.type for v in values]


def _equal(values: Sequence[Value], wanted: Sequence[Value], what: str) -> None:
    """Require that two lists of values agree in type; ``what`` says "... must be those of ..."."""
    got, want = types_of(values), types_of(wanted)
    if got != want:
        shown = [", ".join(map(str, types)) or "none" for types in (got, want)]
        raise TypeError(f"{what}: {shown[0]} against {shown[1]}")


# Attributes -----------------------------------------------------------------------------------------------------------


def one_of(name: str, values: Collection[str]) -> Check:
    """The attribute ``name`` is one of ``values``."""

    def check(op: Op) -> None:
        if op.attrs[name] not in values:
            raise TypeError(f"{name} must be one of {' '.join(values)}, not {op.attrs[name]!r}")

    return check


CONTRACT = "contract"
OWNED = "reassoc,contract"
FAST_MATH = ("none", CONTRACT, OWNED)
"""What may be done to float arithmetic, by MLIR's names. ``contract``: a product and a sum that both say so may be
rounded once, as a fused multiply-add. ``reassoc``: the order of the sum is adc's own."""


def constant(op: Op) -> None:
    value, t = op.attrs["value"], op.attrs["type"]
    if isinstance(t, MemRefType | RecordType):
        raise TypeError(f"there are no constants of type {t}")
    if t.is_float:
        fits = isinstance(value, float)
    elif t == i1:
        fits = value in (0, 1)
    else:
        fits = isinstance(value, int) and normal(value, t) == value
    if not fits:
        raise TypeError(f"{value!r} is no constant of type {t}")


def order(op: Op) -> None:
    value = op.attrs["order"]
    require(isinstance(value, int) and value >= 0, f"order must not be negative, got {value!r}")


def error_kind(op: Op) -> None:
    """``adc.assert`` names an exception, and its message has a place for each value."""
    name, message = op.attrs["error"], op.attrs["message"]
    cls = class_of(name)
    require(cls is not None or own_class(name) is not None, f"no such exception: {name}")
    own = isinstance(message, str)
    require(own or cls is not None, f"no such exception: {name}")
    try:
        count = places(message)
    except ValueError as problem:
        raise TypeError(str(problem)) from None
    require(count == len(op.operands) - 1, f"the message has {count} places for {len(op.operands) - 1} values")
    require(count <= MOST, f"a message has at most {MOST} values")
    require(
        all(t.is_float or t.is_integer for t in types_of(op.operands)), "the message can show integers and floats only"
    )


def subview(constant: OpDef) -> Check:
    """Steps that are declared static are constants with these values."""

    def check(op: Op) -> None:
        source = op.operands[0].type
        assert isinstance(source, MemRefType)
        require(all(0 <= k < source.rank for k in op.attrs["dropped"]), "dropped names a dimension that is not there")
        steps = op.operands[1 + 2 * source.rank :]
        for step, static in zip(steps, op.attrs["static_steps"], strict=True):
            if static is not None and step.op is not None and step.op.opdef is constant:
                given = step.op.attrs["value"]
                require(given == static, f"static step {static}, but the step is {given}")

    return check


def reduction(kinds: Collection[str]) -> Check:
    """Each value of ``scf.reduce`` has a kind, and is a number."""

    def check(op: Op) -> None:
        given = op.attrs["kinds"]
        require(len(given) == len(op.operands), f"{len(given)} kinds for {len(op.operands)} values")
        require(all(kind in kinds for kind in given), f"kinds must be among {' '.join(kinds)}")
        require(all(t.is_float or t.is_integer for t in types_of(op.operands)), "reduces numbers only")

    return check


# Regions --------------------------------------------------------------------------------------------------------------


def _ends(block: Block, terminator: OpDef) -> tuple[Value, ...]:
    end = block.terminator
    if end.opdef is not terminator:
        raise TypeError(f"the region must end in {terminator.name}, not {end.opdef.name}")
    return end.operands


def _limits(op: Op) -> list[Value]:
    require(types_of(op.operands[:3]) == [index] * 3, "lower bound, upper bound and step must be of type index")
    return list(op.operands[3:])


def for_loop(terminator: OpDef) -> Check:
    def check(op: Op) -> None:
        (body,) = op.regions
        inits = _limits(op)
        require(types_of(body.args[:1]) == [index], "the counter must be of type index")
        _equal(op.results, inits, "results must have the types of the initial values")
        _equal(body.args[1:], inits, "what is carried must have the types of the initial values")
        _equal(_ends(body, terminator), inits, "what is yielded must have the types of the initial values")

    return check


def parallel_loop(terminator: OpDef) -> Check:
    def check(op: Op) -> None:
        (body,) = op.regions
        inits = _limits(op)
        require(types_of(body.args) == [index], "the region takes the counter alone, of type index")
        _equal(op.results, inits, "results must have the types of the initial values")
        _equal(_ends(body, terminator), inits, "what is reduced must have the types of the initial values")

    return check


def while_loop(condition: OpDef, terminator: OpDef) -> Check:
    def check(op: Op) -> None:
        before, after = op.regions
        _equal(before.args, op.operands, "what is carried must have the types of the initial values")
        end = _ends(before, condition)
        require(types_of(end[:1]) == [i1], "the condition must be of type i1")
        passed = end[1:]
        _equal(after.args, passed, "the second region must take the types that are passed on")
        _equal(op.results, passed, "results must have the types that are passed on")
        _equal(_ends(after, terminator), op.operands, "what is yielded must have the types of the initial values")

    return check


def branch(terminator: OpDef) -> Check:
    def check(op: Op) -> None:
        require(types_of(op.operands) == [i1], "takes one condition of type i1")
        for region in op.regions:
            require(not region.args, "the regions take no arguments")
            _equal(_ends(region, terminator), op.results, "what is yielded must have the types of the results")

    return check
