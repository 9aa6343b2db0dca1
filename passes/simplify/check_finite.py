"""Finding the operation that makes a NaN or an infinity, where it happens: for debugging (``debug="nan"``)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Loc, Module, Op, Value
from adc.ir.excerpts import source_line
from adc.ir.lazy_dataclass import dataclass
from adc.ir.moments import strip_views
from adc.ir.opdef import OpDef
from adc.ir.types import i1
from adc.passes.simplify.mark_forward import FORWARD, makes_float

_MADE_OF = {ops.divf: "a division", ops.mulf: "a product", ops.addf: "a sum", ops.subf: "a difference"}
_MADE_OF |= {ops.strong_mulf: "a product", ops.strong_divf: "a division", ops.powf: "a power", ops.fpowi: "a power"}
# Operations that return one operand or another, or that are nothing where the other operand is: a NaN that goes only
# there may be one that nobody ever sees.
_CHOOSES = {ops.select: (1, 2), ops.strong_mulf: (0, 1), ops.strong_divf: (0, 1)}
_ASSIGNMENT = re.compile(r"\s*([^\W\d]\w*)(?:\[[^=]*\])?\s*(?:[-+*/%@]|//|\*\*)?=(?!=)")
_FAR = 40  # values that are looked at to find a name
_TERMS = frozenset({ops.addf, ops.select})
_KEEP = frozenset({ops.constant, ops.select, ops.negf, ops.twin, ops.stop_gradient, ops.bitcast})


@dataclass(frozen=True)
class CheckFinite:
    """After each operation that makes a float: raise FloatingPointError if the result is NaN or infinite and the floats
    that it was made of are not. The message names the variable, and says whether it is a value or a derivative."""

    name: ClassVar[str] = "check-finite"

    def run(self, module: Module) -> Module:
        for func in module.funcs.values():
            own: dict[Loc, list[Op]] = {}
            for op in func.walk():
                if FORWARD in op.attrs:
                    own.setdefault(op.loc, []).append(op)
            after: dict[Op, list[Op]] = {}
            for op in list(func.walk()):
                for place in _shown(op):
                    assert place.op is not None
                    after.setdefault(place.op, []).extend(_checks(op, place, own))
            _put(func.body, after)
        return module


def _shown(op: Op) -> Iterator[Value]:
    """The floats that show what an operation made."""
    if makes_float(op) and op.opdef not in _KEEP:
        yield from _places(op.results[0])
    elif op.opdef is ops.parallel:
        for result, kind in zip(op.results, op.regions[0].terminator.attrs["kinds"], strict=True):
            if result.type.is_float and kind in ("add", "mul"):
                yield result


def _put(block: Block, after: dict[Op, list[Op]]) -> None:
    found: list[Op] = []
    for op in block.ops:
        for region in op.regions:
            _put(region, after)
        found += [op, *after.get(op, ())]
    block.set_ops(found)


def _places(value: Value) -> Iterator[Value]:
    """Where it shows whether a float matters: in itself or, if only choices use it, in their results."""
    uses = list(value.uses)
    if uses and all(position in _CHOOSES.get(user.opdef, ()) for user, position in uses):
        yield from dict.fromkeys(user.results[0] for user, _ in uses)
    else:
        yield value


def _checks(op: Op, place: Value, own: dict[Loc, list[Op]]) -> Sequence[Op]:
    """The assertion that ``op`` made only finite values, to be checked when ``place`` is computed."""
    with insert_at(Block(), op.loc) as new:
        fine = _is_finite(place)
        if place is not op.results[0] and op.opdef is not ops.parallel:
            fine = ops.ori(fine, _is_finite(op.results[0]))
        for operand in dict.fromkeys(v for v in op.operands if v.type.is_float):
            fine = ops.ori(fine, ops.xori(_is_finite(operand), const(1, i1)))
        build(ops.assert_, [fine, place], {"error": "FloatingPointError", "message": _message(op, own)})
    return new.ops


def _is_finite(value: Value) -> Value:
    return ops.cmpf(ops.subf(value, value), const(0.0, value.type), predicate="oeq")


def _message(op: Op, own: dict[Loc, list[Op]]) -> str:
    what = _MADE_OF.get(op.opdef) or ("a sum" if op.opdef is ops.parallel else op.opdef.name.split(".")[-1])
    value = op.results[0]
    if FORWARD in op.attrs or (op.opdef is ops.parallel and not _sums_alone(value).endswith("_bar")):
        name = _variable(value)
        # Only a derivative or the tape uses the value; or a variable of the user has such a name.
        if name.endswith(("_bar", "_dot")) or name.startswith("tape"):
            name = ""
        return f"{_assigned(op.loc) or name or 'a value'} is {{}}, made here by {what}"
    name = _sums_alone(value)
    base = name.removesuffix("_bar").removesuffix("_dot") or _only_operand(own.get(op.loc, []))
    return f"{f'the derivative of {base}' if base else 'a derivative'} is {{}}, made here by {what}"


def _assigned(loc: Loc) -> str:
    """The variable that the source assigns to in this line, if that is all the line does. This is for array
    expressions, whose elements are computed where they are used."""
    found = _ASSIGNMENT.match(source_line(loc.file, loc.line))
    return found[1] if found is not None else ""


def _only_operand(forward: Sequence[Op]) -> str:
    """The variable that the function's own operations at a place read, if there is only one."""
    names = {_read(v) for op in forward for v in op.operands if v.type.is_float} - {""}
    return names.pop() if len(names) == 1 else ""


def _read(value: Value) -> str:
    """The variable that a value is, or is loaded from."""
    op = value.op
    if not value.hint and op is not None and op.opdef is ops.load:
        return strip_views(op.operands[0]).hint or ""
    return value.hint or ""


def _sums_alone(value: Value) -> str:
    """The variable whose derivative, or a term of it, a value is. A value that is multiplied is part of another's."""
    return _variable(value, _TERMS)


def _variable(value: Value, through: Collection[OpDef] | None = None) -> str:
    """The variable that a value is, or the next one that it flows into: ``through`` these operations, or any."""
    work, seen = [value], {value}
    for found in work:
        if found.hint:
            return found.hint
        for user, position in found.uses:
            if user.opdef in (ops.store, ops.accumulate) and position == 0:
                if name := strip_views(user.operands[1]).hint:
                    return name
            elif through is not None and user.opdef not in through:
                continue
            elif len(user.results) == 1 and user.results[0].type.is_float and user.results[0] not in seen:
                seen.add(user.results[0])
                work.append(user.results[0])
        if len(seen) > _FAR:
            break
    return ""
