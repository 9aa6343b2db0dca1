"""Functions of the IR that work out schedules at run time."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Loc, Module, Value
from adc.ir.types import index

SPLIT = "adc.binomial_split"
REPEATED = "adc.repeated"
UNDECIDED = "adc.schedule"
OPEN = "adc.open"
"""Attribute of functions that compute the schedule of a loop whose number of steps is not known beforehand: pieces have
one step."""


def split_function(module: Module) -> str:
    """The function that computes after how many of ``l`` pieces the next snapshot is best made, if ``s`` snapshots,
    including the present one, are left: then the number of repeated pieces is minimal.

    Reference: Griewank and Walther, Algorithm 799: revolve, ACM Trans. Math. Softw. 26, 2000.
    """
    if SPLIT not in module.funcs:
        func = module.add(Func(SPLIT, [index, index], [index], ["pieces", "snapshots"]))
        with insert_at(func.body):
            build(ops.return_, [_split(*func.args)])
    return SPLIT


def repeated_function(module: Module) -> str:
    """The function that computes how many of ``l`` pieces are run again, without a tape, to reach the places where they
    are reversed, with ``s`` snapshots. A run to the beginning of the last piece is not counted.

    Reference: Griewank, Achieving logarithmic growth of temporal and spatial complexity in reverse automatic
    differentiation, Optim. Methods Softw. 1, 1992.
    """
    if REPEATED not in module.funcs:
        func = module.add(Func(REPEATED, [index, index], [index], ["pieces", "snapshots"]))
        with insert_at(func.body):
            one = const_index(1)
            pieces, s = ops.maxsi(func.args[0], one), func.args[1]
            r, reach = _repetitions(pieces, s)
            fewest = ops.muli(r, pieces) - ops.divsi(ops.muli(reach, r), ops.addi(s, one))
            build(ops.return_, [fewest - (pieces - one)])
    return REPEATED


def _repetitions(pieces: Value, s: Value) -> tuple[Value, Value]:
    """The least r such that r repetitions of s snapshots are enough, that is, the binomial (s + r over s) is at least
    ``pieces``; and that binomial."""
    one = const_index(1)
    head, body = Block([index, index]), Block([index, index])
    with insert_at(head):
        build(ops.condition, [ops.cmpi(head.args[1], pieces, predicate="slt"), *head.args])
    with insert_at(body):
        r = ops.addi(body.args[0], one)
        build(ops.yield_, [r, ops.divsi(ops.muli(body.args[1], ops.addi(r, s)), r)])
    r, reach = build(ops.while_, [const_index(0), one], None, [index, index], [head, body]).results
    return r, reach


def _split(pieces: Value, s: Value) -> Value:
    zero, one, two, three = (const_index(n) for n in (0, 1, 2, 3))
    r, reach = _repetitions(pieces, s)

    def over(number: Value, by: Value) -> Value:
        """A quotient whose divisor is zero only if the quotient is not used."""
        return ops.divsi(number, ops.maxsi(by, one))

    def at_least(bound: Value, then: Value, otherwise: Value) -> Value:
        return ops.select(ops.cmpi(bound, s, predicate="sle"), then, otherwise)

    # Binomials of s, s - 1, s - 2 and s - 3 over fewer repetitions.
    first = over(ops.muli(reach, r), ops.addi(s, r))
    second = at_least(two, over(ops.muli(first, s), ops.addi(s, r) - one), one)
    third = over(ops.muli(second, s - one), ops.addi(s, r) - two)
    third = at_least(two, at_least(three, third, one), zero)
    fourth = over(ops.muli(second, r - one), s)
    fifth = at_least(three, at_least(const_index(4), over(ops.muli(third, s - two), r), one), zero)
    few = ops.cmpi(pieces, ops.addi(first, third), predicate="sle")
    many = ops.cmpi(reach - fifth, pieces, predicate="sle")
    place = ops.select(few, fourth, ops.select(many, first, pieces - second - third))
    return ops.maxsi(place, one)


WIDTH = 5
"""The length of a schedule that is chosen at run time: the number of snapshots, and of steps of a piece; then the bytes
that snapshots and tapes share, those of a snapshot, and those of the tape of a step (see ``prices``). If they share no
room, the last three are 0, 0 and 1."""

FRUGAL = (1, 1, 0, 0, 1)
"""One snapshot, and pieces of one step."""


def undecided(module: Module, loop: Loc, *, is_open: bool) -> str:
    """The name of the function that computes the schedule of a loop; as long as nothing better is known, that is
    ``FRUGAL``. All copies of a loop share it. ``is_open``: the number of steps is not known beforehand."""
    name = f"{UNDECIDED}.{loop.line}.{loop.column}"
    if name not in module.funcs:
        func = module.add(Func(name, [], [index] * WIDTH, [], loop))
        with insert_at(func.body):
            build(ops.return_, [const_index(n) for n in FRUGAL])
        if is_open:
            func.attrs[OPEN] = True
    return name
