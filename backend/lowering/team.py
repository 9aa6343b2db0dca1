"""Parallel loops as calls of the run-time support (``support/team.py``), which splits them into blocks."""

from __future__ import annotations

from adc.backend.lowering.lower_emitter import FunctionEmitter
from adc.backend.lowering.module_emitter import ModuleEmitter
from adc.backend.support.team import DECLARATIONS


def runner(module: ModuleEmitter, *, polls: bool) -> str:
    """The symbol of the function that runs loops, with or without polling."""
    name = "adc_parallel_polling" if polls else "adc_parallel"
    return f"@{module.declare(name, DECLARATIONS[name])}"


def blocks(e: FunctionEmitter, trips: str, least: int, most: int) -> str:
    """The number of blocks that ``adc_parallel`` makes."""
    unit = least * most
    few, many, done = e.new_label(), e.new_label(), e.new_label()
    e.branch_if(e.let(f"icmp ule i64 {trips}, {unit}"), few, many)
    e.begin(few)  # blocks of the least size
    first = e.let(f"udiv i64 {e.add(trips, str(least - 1))}, {least}")
    e.branch(done)
    e.begin(many)  # trips / most, rounded up to whole multiples of the least size
    size = e.multiply(e.let(f"udiv i64 {e.add(trips, str(unit - 1))}, {unit}"), str(least))
    second = e.let(f"udiv i64 {e.let(f'sub i64 {e.add(trips, size)}, 1')}, {size}")
    e.branch(done)
    e.begin(done)
    return e.let(f"phi i64 [ {first}, %{few} ], [ {second}, %{many} ]")
