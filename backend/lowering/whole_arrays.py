"""Large arrays are filled and copied by several threads, each a part of the pages.

Where memory has no page yet, as a new array of NumPy's, the thread that writes first gets it from what is near to its
core: the parts are those that a parallel loop over the array would give to the threads (``team``).
"""

from __future__ import annotations

from adc.backend.lowering.lower_emitter import FunctionEmitter, ModuleEmitter
from adc.backend.lowering.lower_types import literal
from adc.backend.lowering.team import THRESHOLD, runner
from adc.ir.types import f64

LEAST = 1 << 20  # bytes; what is less is written faster than threads are woken

_TEXT = """\
define internal i32 @{name}$part(ptr noalias %data, i64 %first, i64 %last, i64 %size, i64 %pages) nounwind noinline {{
  %to.p = getelementptr inbounds {{ ptr, {kind}, i64 }}, ptr %data, i32 0, i32 0
  %to = load ptr, ptr %to.p
  %what.p = getelementptr inbounds {{ ptr, {kind}, i64 }}, ptr %data, i32 0, i32 1
  %what = load {kind}, ptr %what.p
  %bytes.p = getelementptr inbounds {{ ptr, {kind}, i64 }}, ptr %data, i32 0, i32 2
  %bytes = load i64, ptr %bytes.p
  %page = mul i64 %first, %size
  %start = shl i64 %page, 12
  %until = mul i64 %last, %size
  %end = shl i64 %until, 12
  %limit = call i64 @llvm.umin.i64(i64 %end, i64 %bytes)
  %length = call i64 @llvm.usub.sat.i64(i64 %limit, i64 %start)
  %place = getelementptr i8, ptr %to, i64 %start
  {part}
  ret i32 0
}}

define internal void @{name}(ptr %ctx, ptr %to, {kind} %what, i64 %bytes) nounwind noinline {{
entry:
  %data = alloca {{ ptr, {kind}, i64 }}, align 8
  %large = icmp uge i64 %bytes, {least}
  br i1 %large, label %share, label %alone
alone:
  {whole}
  ret void
share:
  store ptr %to, ptr %data
  %what.p = getelementptr inbounds {{ ptr, {kind}, i64 }}, ptr %data, i32 0, i32 1
  store {kind} %what, ptr %what.p
  %bytes.p = getelementptr inbounds {{ ptr, {kind}, i64 }}, ptr %data, i32 0, i32 2
  store i64 %bytes, ptr %bytes.p
  %more = add i64 %bytes, 4095
  %pages = lshr i64 %more, 12
  %status = call i32 {runner}(ptr %ctx, ptr @{name}$part, ptr %data, i64 %pages, i64 1, i64 {pages}, double {work})
  ret void
}}
"""
_DECLARED = {
    "llvm.umin.i64": "declare i64 @llvm.umin.i64(i64, i64)",
    "llvm.usub.sat.i64": "declare i64 @llvm.usub.sat.i64(i64, i64)",
    "llvm.memset.p0.i64": "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
    "llvm.memcpy.p0.p0.i64": "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
}
_PAGES = 1 << 40  # blocks at most: each page is one, so that threads come out even
_MEMSET = "call void @llvm.memset.p0.i64(ptr {to}, i8 %what, i64 {bytes}, i1 false)"
_MEMCPY = "call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {what}, i64 {bytes}, i1 false)"


def may_be_large(e: FunctionEmitter, total: str) -> bool:
    """Whether so many bytes may be worth threads, here."""
    return e.module.has_threads and not e.outlined and not (total.isdigit() and int(total) < LEAST)


def fill(e: FunctionEmitter, to: str, byte: str, total: str) -> None:
    """Write ``total`` bytes that ``may_be_large``."""
    name = _function(e.module, "adc$fill", "i8", _MEMSET, "")
    e.do(f"call void @{name}(ptr %ctx, ptr {to}, i8 {byte}, i64 {total})")


def copy(e: FunctionEmitter, to: str, source: str, total: str) -> None:
    """Copy ``total`` bytes that ``may_be_large``, to a place that does not overlap them."""
    name = _function(e.module, "adc$copy", "ptr", _MEMCPY, "%source = getelementptr i8, ptr %what, i64 %start\n  ")
    e.do(f"call void @{name}(ptr %ctx, ptr {to}, ptr {source}, i64 {total})")


def _function(module: ModuleEmitter, name: str, kind: str, write: str, before: str) -> str:
    """The symbol of ``void (ptr ctx, ptr to, kind what, i64 bytes)``."""
    if name not in module.helpers:
        module.helpers[name] = name
        for symbol, text in _DECLARED.items():
            module.declare(symbol, text)
        whole = write.format(to="%to", what="%what", bytes="%bytes")
        part = before + write.format(to="%place", what="%source", bytes="%length")
        team = {"runner": runner(module, polls=False), "pages": _PAGES, "work": literal(2 * THRESHOLD, f64)}
        text = _TEXT.format(name=name, kind=kind, whole=whole, part=part, least=LEAST, **team)
        module.common[name] = text, f"declare void @{name}(ptr, ptr, {kind}, i64) nounwind"
    return name
