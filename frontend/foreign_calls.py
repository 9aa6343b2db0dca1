"""Calls of functions outside the program that have effects, take arrays, or return nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from adc.frontend.frame import Frame
from adc.ir import ops
from adc.ir.builder import build, current_loc, insert_at
from adc.ir.core import Func, Value
from adc.ir.externals import Named
from adc.ir.types import MemRefType


def call_foreign(
    frame: Frame,
    named: Named,
    given: Sequence[Value],
    *,
    hint: str,
    written: Collection[int],
    ordered: bool = False,
    by_address: bool = False,
    alone: bool = False,
) -> Value | None:
    """Make an IR function that only calls a foreign function, and call it: so it has the effects of a call.
    ``written``: the positions of the arrays that it may write to; ``ordered``: it is called as often as the program
    says, in order; ``by_address``: called like a Fortran subroutine; ``alone``: its library uses one thread."""
    module = frame.tracer.module
    results = () if named.result is None else (named.result,)
    hints = [f"x{k}" for k in range(len(given))]
    func = module.add(Func(module.unique_name(hint), named.operands, results, hints, current_loc()))
    func.attrs["adc.noinline"] = True
    for k, t in enumerate(named.operands):
        if isinstance(t, MemRefType) and k not in written:
            func.arg_attrs[k]["adc.readonly"] = True
    attrs = {"library": named.library, "symbol": named.symbol, "types": results}
    with insert_at(func.body):
        how = {"written": tuple(written), "ordered": ordered, "by_address": by_address, "alone": alone}
        done = build(ops.foreign, func.args, {**attrs, **how})
        build(ops.return_, done.results)
    call = build(ops.call, given, {"callee": func.name, "types": results})
    return call.results[0] if results else None
