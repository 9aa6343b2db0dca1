"""What a function tells about the extents of its arguments: by checks, and by its subscripts.

    def length(v): return math.sqrt(v[0] * v[0] + v[1] * v[1])

takes arrays with any number of elements from two on, but is written for two.
"""

from __future__ import annotations

from itertools import islice

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.callgraph import recursive
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.nesting import enclosing
from adc.passes.analysis.kinds import ELEMENT, LOOPS
from adc.passes.calls.inline import inline_call, may_be_inlined
from adc.passes.small_arrays.webs import Web, is_of_numbers

Dimension = tuple[Value, int]
"""A dimension of an argument."""

FEW = range(2, 9)
"""Extents that are guessed: those for which people write out each subscript."""

SHORT = 64
"""Operations of a function that is inlined into a version."""


def checked_extents(func: Func) -> dict[Dimension, int]:
    """The extents that the program checks to be certain numbers."""
    found: dict[Dimension, int] = {}
    for op in func.walk():
        pair = equality(op)
        if pair is not None:
            found[pair[0]] = pair[1]
    return found


def equality(op: Op) -> tuple[Dimension, int] | None:
    """The extent that ``op`` asserts to be a number."""
    made = op.operands[0].op if op.opdef is ops.assert_ else None
    if made is None or made.opdef is not ops.cmpi or made.attrs["predicate"] != "eq":
        return None
    for a, b in (made.operands, made.operands[::-1]):
        number = constant_of(b)
        if number is not None and a.op is not None and a.op.opdef is ops.dim:
            return (a.op.operands[0], a.op.attrs["dim"]), int(number)
    return None


def guessed_extents(func: Func) -> dict[Dimension, int]:
    """Extents of arguments that have all numbers from 0 on as subscripts, and no others that are checked."""
    seen: dict[Dimension, set[int | None]] = {}
    for op in func.walk():
        made = op.operands[1].op if op.opdef is ops.bound else None
        if made is not None and made.opdef is ops.dim and made.operands[0] in func.args:
            number = constant_of(op.operands[0])
            seen.setdefault((made.operands[0], made.attrs["dim"]), set()).add(None if number is None else int(number))
    return {place: len(numbers) for place, numbers in seen.items() if len(numbers) in FEW and _all_from_zero(numbers)}


def _all_from_zero(numbers: set[int | None]) -> bool:
    return numbers == set(range(len(numbers)))


def is_worth_guessing(web: Web) -> bool:
    """Whether arrays are made repeatedly, and gone through from end to end where subscripts are not numbers."""
    again = any(around.opdef in LOOPS for op in web.allocations for around in enclosing(op.parent))
    return again and all(
        _is_plain(v) for op, at in web.others if op.opdef in ELEMENT for v in op.operands[at + 1 :]
    )


def _is_plain(subscript: Value) -> bool:
    op = subscript.op
    if op is not None:
        return op.opdef is ops.constant or (op.opdef is ops.bound and constant_of(op.operands[0]) is not None)
    loop = subscript.block.parent_op if subscript.block is not None else None
    if loop is None or subscript.index > 0 or loop.opdef not in (ops.for_, ops.parallel):
        return False
    return constant_of(loop.operands[0]) == 0 and constant_of(loop.operands[2]) == 1


def inline_users(module: Module, block: Block) -> None:
    """Inline short functions without loops that take arrays of numbers into ``block``."""
    circular = recursive(module)
    work = list(block.walk())
    while work:
        op = work.pop()
        callee = module.funcs.get(op.attrs["callee"]) if op.opdef is ops.call else None
        if callee is None or callee.name in circular or not may_be_inlined(callee):
            continue
        if any(map(is_of_numbers, op.operands)) and _is_short(callee):
            for made in inline_call(op, callee):
                work += [made, *(inner for region in made.regions for inner in region.walk())]


def _is_short(callee: Func) -> bool:
    begin = list(islice(callee.walk(), SHORT + 1))
    return len(begin) <= SHORT and not any(op.opdef in LOOPS for op in begin)
