"""Large arrays are filled and copied by several threads, each a part of the pages (``support/team.py``)."""

from __future__ import annotations

from adc.backend.lowering.lower_emitter import FunctionEmitter
from adc.backend.support.team import DECLARATIONS

LEAST = 1 << 20  # bytes; less than this is written faster than threads are woken


def may_be_large(e: FunctionEmitter, total: str) -> bool:
    """Whether ``total`` bytes may be worth threads at this place."""
    return e.module.has_threads and not e.outlined and not (total.isdigit() and int(total) < LEAST)


def fill(e: FunctionEmitter, to: str, byte: str, total: str) -> None:
    """Write ``total`` bytes that ``may_be_large``."""
    name = e.module.declare("adc_fill", DECLARATIONS["adc_fill"])
    e.do(f"call void @{name}(ptr %ctx, ptr {to}, i8 {byte}, i64 {total}, i64 {LEAST})")


def copy(e: FunctionEmitter, to: str, source: str, total: str) -> None:
    """Copy ``total`` bytes that ``may_be_large``, to a place that does not overlap them."""
    name = e.module.declare("adc_copy", DECLARATIONS["adc_copy"])
    e.do(f"call void @{name}(ptr %ctx, ptr {to}, ptr {source}, i64 {total}, i64 {LEAST})")
