"""Schedules: how many snapshots there are, and how many steps a tape holds between them."""

from __future__ import annotations

from dataclasses import dataclass

from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Value
from adc.ir.types import index

SPLIT = "adc.binomial_split"


@dataclass(frozen=True)
class Schedule:
    """``snapshots`` of the state, at most, are there at a time (0: as many as there are pieces); the loop is cut into
    pieces of ``steps`` (0: the root of their number), each of which is reversed with a tape of its own."""

    snapshots: int
    steps: int = 1

    def attr(self) -> tuple[int, int]:
        return self.snapshots, self.steps


def split_function(module: Module) -> str:
    """The function that says after how many of ``l`` pieces the next snapshot is best made, if ``s`` snapshots, the one
    that is there included, are left: with it the number of repeated pieces is the least possible.

    Reference: Griewank and Walther, Algorithm 799: revolve, ACM Trans. Math. Softw. 26, 2000.
    """
    if SPLIT not in module.funcs:
        func = module.add(Func(SPLIT, [index, index], [index], ["pieces", "snapshots"]))
        with insert_at(func.body):
            build(ops.return_, [_split(*func.args)])
    return SPLIT


def _split(pieces: Value, s: Value) -> Value:
    one, two, three = (const_index(n) for n in (1, 2, 3))
    # The least r such that r repetitions of s snapshots are enough: the binomial (s + r over s) is at least ``pieces``.
    head, body = Block([index, index]), Block([index, index])
    with insert_at(head):
        build(ops.condition, [ops.cmpi(head.args[1], pieces, predicate="slt"), *head.args])
    with insert_at(body):
        r = ops.addi(body.args[0], one)
        build(ops.yield_, [r, ops.divsi(ops.muli(body.args[1], ops.addi(r, s)), r)])
    r, reach = build(ops.while_, [const_index(0), one], None, [index, index], [head, body]).results
    zero = const_index(0)

    def over(number: Value, by: Value) -> Value:
        """A quotient whose divisor is zero only where it is not asked for."""
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
