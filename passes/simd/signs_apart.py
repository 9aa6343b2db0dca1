"""The sign of an extreme that is zero is found separately: the loop compares no signs.

Of two zeros the positive one is greater, and a NaN is always the extreme. On processors that support neither, each step
of a maximum takes seven instructions, four of them for zeros. The maximum of all elements is zero only if no element is
greater; then it is positive if the sign of any element is. The maximum of their bits, as integers, shows that in one
instruction. Likewise the minimum is negative zero if the sign of any element is negative.
"""

from __future__ import annotations

from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const, const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import SIGNS_APART
from adc.ir.nesting import having
from adc.ir.types import f64, i64, index
from adc.passes.analysis.cold import walk_warm
from adc.passes.rewrite import put_instead


@dataclass(frozen=True)
class SignsApart:
    """Let innermost loops that find extremes of doubles find the signs of zeros separately."""

    name: ClassVar[str] = "signs-apart"
    needs = frozenset({ops.parallel})

    def run(self, module: Module) -> Module:
        for func in having(module, self.needs):
            for op in [op for op in walk_warm(func.body) if _extremes(op)]:
                _transform(op)
        return module


def _extremes(op: Op) -> list[int]:
    """The positions of the results of an innermost loop that are extremes of doubles."""
    if op.opdef is not ops.parallel or SIGNS_APART in op.attrs or any(inner.regions for inner in op.regions[0].ops):
        return []
    kinds = op.regions[0].terminator.attrs["kinds"]
    return [k for k, kind in enumerate(kinds) if kind in ("min", "max") and op.results[k].type == f64]


def _transform(loop: Op) -> None:
    extremes, body = _extremes(loop), loop.regions[0]
    end = body.terminator
    kinds = (*end.attrs["kinds"], *(end.attrs["kinds"][k] for k in extremes))
    values = end.operands
    with insert_at(body, end.loc):
        bits = [_bits(values[k]) for k in extremes]
        build(ops.reduce, [*values, *bits], {"kinds": kinds})
    body.set_ops([op for op in body.ops if op is not end])
    end.drop()
    with insert_at(Block(), loop.loc) as made:
        initial = [_bits(loop.operands[3 + k]) for k in extremes]
        types = [*(r.type for r in loop.results), *(index for _ in extremes)]
        loop.set_regions(())
        new = build(ops.parallel, [*loop.operands, *initial], {**loop.attrs, SIGNS_APART: True}, types, [body])
        results = list(new.results[: len(loop.results)])
        for k, sign in zip(extremes, new.results[len(loop.results) :], strict=True):
            results[k] = _signed(results[k], sign)
    put_instead(loop, made.ops)
    for old, result in zip(loop.results, results, strict=True):
        result.hint = old.hint
        old.replace_uses(result)
    loop.drop()


def _bits(value: Value) -> Value:
    return ops.index_cast(ops.bitcast(value, type=i64), type=index)


def _signed(extreme: Value, sign: Value) -> Value:
    """``extreme``; if it is zero, with the sign of an integer."""
    zero = ops.select(ops.cmpi(sign, const_index(0), predicate="slt"), const(-0.0, f64), const(0.0, f64))
    return ops.select(ops.cmpf(extreme, const(0.0, f64), predicate="oeq"), zero, extreme)
