"""Versions of functions for arguments of few elements, if the function nearly determines how many.

    def f(u, steps):
        for _ in range(steps):
            u = u + h * np.array([...three numbers...])

works only for three numbers, unless ``steps`` is 0. One test of the extent chooses between a version for that number,
in which ``u`` can be values, and one for other extents, which ends with an error in the first iteration. The latter is
not optimised in loaded code: it took two thirds of LLVM's time for a model of three bodies.

If nothing is checked, subscripts may reveal the number (``guessed_extents``); then other extents are valid, too.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const, const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.externals import EXCEPTIONAL
from adc.ir.lazy_dataclass import dataclass
from adc.ir.moments import strip_views
from adc.ir.nesting import holds
from adc.ir.rewrite import Mapping as Copies
from adc.ir.rewrite import clone_func, clone_op
from adc.ir.types import MemRefType, i1
from adc.passes.analysis.calls import own_calls
from adc.passes.analysis.cold import COLD
from adc.passes.analysis.extents import Extents
from adc.passes.rewrite import replace_op
from adc.passes.small_arrays.known_extents import (
    Dimension,
    checked_extents,
    equality,
    guessed_extents,
    inline_users,
    is_worth_guessing,
)
from adc.passes.small_arrays.numbers import Numbers
from adc.passes.small_arrays.pass_elements import is_passed
from adc.passes.small_arrays.sharing import may_be_copies
from adc.passes.small_arrays.unrolling import are_short, loops_of_uses
from adc.passes.small_arrays.views import Shape
from adc.passes.small_arrays.webs import Web, find_webs, hands_on, is_known, is_known_use, is_of_numbers


@dataclass(frozen=True)
class SmallExtents:
    """Make a version of a function if arrays of at most ``most`` elements become known in it. The function has at most
    ``code`` operations, and loops over the arrays have ``written_out`` when they are unrolled."""

    most: int = 16
    code: int = 600
    written_out: int = 512
    name: ClassVar[str] = "small-extents"

    def run(self, module: Module) -> Module:
        private = own_calls(module)
        for func in list(module.funcs.values()):
            if any(map(_is_readonly, func.args, func.arg_attrs)) and sum(1 for _ in func.walk()) <= self.code:
                equations = _equations(module, private, func, self.most, self.written_out, checked_extents(func))
                guessed = not equations
                if guessed:
                    equations = self._guessed(module, private, func)
                known = func.body
                for dimension, extent in equations.items():
                    known = _version(func, known, dimension, extent, rare=not guessed)
                if equations and guessed:
                    inline_users(module, known)
                if equations:
                    _copy_arguments(func, known, equations)
        return module

    def _guessed(self, module: Module, private: Container[str], func: Func) -> dict[Dimension, int]:
        """The same by guesses, with short callees inlined into the version."""
        guesses = guessed_extents(func)
        if not guesses:
            return {}
        trial = clone_func(func, func.name)
        inline_users(module, trial.body)
        guesses = {(trial.args[arg.index], d): extent for (arg, d), extent in guesses.items()}
        found = _equations(module, private, trial, self.most, self.written_out, guesses, guessed=True)
        return {(func.args[arg.index], d): extent for (arg, d), extent in found.items()}


def _is_readonly(arg: Value, attrs: dict[str, object]) -> bool:
    return bool(attrs.get("adc.readonly")) and "adc.alias" not in attrs


# What extents have to be -------------------------------------------------------------------------------------------


def _equations(
    module: Module,
    private: Container[str],
    func: Func,
    most: int,
    code: int,
    checked: dict[Dimension, int],
    *,
    guessed: bool = False,
) -> dict[Dimension, int]:
    """The numbers that extents of arguments must equal so that arrays have few elements; without contradictions.
    ``private``: the functions that only calls refer to."""
    own = {arg for arg, attrs in zip(func.args, func.arg_attrs, strict=True) if _is_readonly(arg, attrs)}
    extents = Extents()
    found: dict[Dimension, int] = {}
    for web in find_webs(func):
        if web.allocations and all(v in own or is_known(v) for v in web.members):
            shape, equations = _of_web(web, own, extents, checked)
            agree = all(found.get(dimension, extent) == extent for dimension, extent in equations.items())
            if equations and agree and 0 < math.prod(shape) <= most:
                together = {**found, **equations}
                replaced = _is_replaced(module, private, web, own, shape, together, code)
                if replaced and (not guessed or is_worth_guessing(web)):
                    found = together
    return found


def _is_replaced(
    module: Module,
    private: Container[str],
    web: Web,
    own: set[Value],
    shape: Shape,
    equations: Mapping[Dimension, int],
    code: int,
) -> bool:
    """Whether its memrefs become values if the equations hold, also if the caller's array is among them."""
    returned = any(op.opdef is ops.return_ for op, _ in web.others)
    if returned and not own.isdisjoint(web.members):
        return False
    uses = [(op, position) for op, position in web.others if strip_views(op.operands[position]) not in own]
    if not may_be_copies(web):
        return False
    if not all(is_known_use(*use) or is_passed(module, private, *use, shape, code) for use in uses):
        return False
    numbers = Numbers(dict.fromkeys(web.members, shape), equations)
    loops = loops_of_uses(uses, numbers)
    return loops is not None and are_short(loops, loops, numbers, code)


def _of_web(
    web: Web, own: set[Value], extents: Extents, checked: dict[Dimension, int]
) -> tuple[Shape, dict[Dimension, int]]:
    """The shape of a web if equations hold. There are no equations if it has no such shape, or one that is known
    already.
    """
    rank = len(extents.shape(web.members[0]))
    numbers: list[set[int]] = [set() for _ in range(rank)]
    unknown: list[set[Dimension]] = [set() for _ in range(rank)]
    members = set(web.members)
    for v in web.members:
        for d, extent in enumerate(extents.shape(v)):
            if (v, d) in checked:
                numbers[d].add(checked[v, d])
            if v not in own and (v.op is None or v.op.opdef is not ops.alloc):
                continue
            if isinstance(extent, int):
                numbers[d].add(extent)
            elif isinstance(extent, tuple) and extent[0] in own:
                unknown[d].add(extent)
                if extent in checked:
                    numbers[d].add(checked[extent])
            elif not (isinstance(extent, tuple) and extent[0] in members and extent[1] == d):
                return (), {}
    if any(len(known) != 1 for known in numbers):
        return (), {}
    shape = tuple(next(iter(known)) for known in numbers)
    return shape, {dimension: shape[d] for d, found in enumerate(unknown) for dimension in sorted(found, key=_order)}


def _order(dimension: Dimension) -> tuple[int, int]:
    return dimension[0].index, dimension[1]


# Versions ----------------------------------------------------------------------------------------------------------


def _version(func: Func, block: Block, dimension: Dimension, extent: int, *, rare: bool) -> Block:
    """Duplicate ``block``: a version for this extent, which is returned, and one for others, which may be rare."""
    arg, d = dimension
    end = block.pop()
    before, known, other = Block(), Block(), Block()
    with insert_at(before, func.loc):
        number = const_index(extent)
        test = ops.cmpi(ops.dim(arg, dim=d), number, predicate="eq")
    mapping: Copies = {}
    with insert_at(known, func.loc):
        for op in block.ops:
            clone_op(op, mapping)
        build(ops.yield_, [mapping.get(v, v) for v in end.operands], loc=end.loc)
    for op in list(known.walk()):
        if op.opdef is ops.dim and op.operands[0] is arg and op.attrs["dim"] == d:
            op.result.replace_uses(number)
    other.set_ops(block.ops)
    with insert_at(other, func.loc):
        build(ops.yield_, end.operands, loc=end.loc)
    if rare:
        _end_early(other, dimension, extent)
    attrs = {COLD: "else", EXCEPTIONAL: True} if rare else {}
    choice = Op(ops.if_, [test], [v.type for v in end.operands], attrs, [known, other], func.loc)
    results = Op(end.opdef, choice.results, (), loc=end.loc)
    end.drop()
    block.set_ops([*before.ops, choice, results])
    return known


def _copy_arguments(func: Func, block: Block, equations: Mapping[Dimension, int]) -> None:
    """In ``block``, where the equations hold, let whatever is handed on from an argument be a copy, and results too, so
    that everything else becomes values. An argument that may itself be returned is that object, and stays."""
    start, finish = Block(), Block()
    own = _returned_arguments(func)
    end = block.pop()
    for arg in func.args:
        t = arg.type
        if not is_of_numbers(arg) or not isinstance(t, MemRefType) or arg in own:
            continue
        shape = [equations.get((arg, d), extent) for d, extent in enumerate(t.shape)]
        uses = [(op, k) for op, k in arg.uses if hands_on(op, k) and holds(block, op)]
        if uses and None not in shape:
            with insert_at(start, func.loc):
                copy = _copy_of(arg, [const_index(e) for e in shape if e is not None])
            for op, position in uses:
                op.set_operand(position, copy)
    for position, memref in enumerate(end.operands):
        if is_of_numbers(memref) and memref.op is not None and memref.block is block and memref not in own:
            assert isinstance(memref.type, MemRefType)
            with insert_at(finish, end.loc):
                copy = _copy_of(memref, [ops.dim(memref, dim=d) for d in range(memref.type.rank)])
            end.set_operand(position, copy)
    block.set_ops([*start.ops, *block.ops, *finish.ops, end])


def _returned_arguments(func: Func) -> set[Value]:
    """Memrefs that may be both an argument and a result, and those that may be the same memory."""
    found: set[Value] = set()
    for web in find_webs(func):
        if any(op.opdef is ops.return_ for op, _ in web.others) and not set(web.members).isdisjoint(func.args):
            found.update(web.members)
    return found


def _copy_of(memref: Value, extents: list[Value]) -> Value:
    t = memref.type
    assert isinstance(t, MemRefType)
    dynamic = [e for e, known in zip(extents, t.shape, strict=True) if known is None]
    copy = ops.alloc(*dynamic, type=MemRefType(t.shape, t.element))
    build(ops.copy, [memref, copy])
    return copy if t.strides is None else ops.cast(copy, type=t)


def _end_early(block: Block, dimension: Dimension, extent: int) -> None:
    """In ``block``, for other extents, replace loops that check the extent in each iteration: they fail in the first
    one, if there is one."""
    extents = Extents()
    new = Block()
    for op in list(block.ops):
        check = next(_failing(op, extents, dimension, extent), None) if op.opdef is ops.for_ else None
        if check is None:
            new.append(op)
            continue
        lower, upper = op.operands[:2]
        body = op.regions[0]
        first, none = Block(), Block()
        mapping: Copies = dict(zip(body.args, (lower, *op.operands[3:]), strict=True))
        with insert_at(first, op.loc):
            for inner in body.ops[: body.ops.index(check)]:
                clone_op(inner, mapping)
            shown = [mapping.get(v, v) for v in check.operands[1:]]
            build(ops.assert_, [const(False, i1), *shown], dict(check.attrs), loc=check.loc)
            build(ops.yield_, ())
        with insert_at(none, op.loc):
            build(ops.yield_, ())
        with insert_at(new, op.loc):
            runs = ops.cmpi(lower, upper, predicate="slt")
            build(ops.if_, [runs], {}, [], [first, none])
        replace_op(op, op.operands[3:])
    block.set_ops(new.ops)


def _failing(loop: Op, extents: Extents, dimension: Dimension, extent: int) -> Iterator[Op]:
    """The checks of a loop that fail in its first iteration."""
    body = loop.regions[0]
    starts = dict(zip(body.args[1:], loop.operands[3:], strict=True))
    for op in body.ops:
        pair = equality(op)
        if pair is not None and pair[1] == extent:
            (memref, d), _ = pair
            memref = starts.get(memref, memref)
            if extents.shape(memref)[d] == dimension:
                yield op
