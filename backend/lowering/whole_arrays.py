"""Large arrays are filled and copied by several threads, each a part of the pages.

Where memory has no page yet, as a new array of NumPy's, the thread that writes first gets it from what is near to its
core: the parts are those that a parallel loop over the array would give to the threads.
"""

from __future__ import annotations

from adc.backend.lowering.lower_emitter import FunctionEmitter, ModuleEmitter

LEAST = 1 << 20  # bytes; what is less is written faster than threads are woken

_TEXT = """\
define internal void @{name}$part(ptr noalias %data) nounwind noinline {{
  %to.p = getelementptr inbounds {{ ptr, {kind}, i64 }}, ptr %data, i32 0, i32 0
  %to = load ptr, ptr %to.p
  %what.p = getelementptr inbounds {{ ptr, {kind}, i64 }}, ptr %data, i32 0, i32 1
  %what = load {kind}, ptr %what.p
  %bytes.p = getelementptr inbounds {{ ptr, {kind}, i64 }}, ptr %data, i32 0, i32 2
  %bytes = load i64, ptr %bytes.p
  %number32 = call i32 @omp_get_thread_num()
  %threads32 = call i32 @omp_get_num_threads()
  %number = zext i32 %number32 to i64
  %threads = zext i32 %threads32 to i64
  %following = add i64 %number, 1
  %pages = lshr i64 %bytes, 12
  %before = mul i64 %pages, %number
  %until = mul i64 %pages, %following
  %first = udiv i64 %before, %threads
  %end = udiv i64 %until, %threads
  %start = shl i64 %first, 12
  %stop = shl i64 %end, 12
  %is_last = icmp eq i64 %following, %threads
  %limit = select i1 %is_last, i64 %bytes, i64 %stop
  %length = sub i64 %limit, %start
  %place = getelementptr i8, ptr %to, i64 %start
  {part}
  ret void
}}

define internal void @{name}(ptr %ctx, ptr %to, {kind} %what, i64 %bytes) nounwind noinline {{
entry:
  %data = alloca {{ ptr, {kind}, i64 }}, align 8
  %large = icmp uge i64 %bytes, {least}
  br i1 %large, label %ask, label %alone
alone:
  {whole}
  ret void
ask:
  %threads = call i32 @adc_threads(ptr %ctx)
  %several = icmp sgt i32 %threads, 1
  br i1 %several, label %nested, label %alone
nested:
  %inside = call i32 @omp_in_parallel()
  %outside = icmp eq i32 %inside, 0
  br i1 %outside, label %fork, label %alone
fork:
  store ptr %to, ptr %data
  %what.p = getelementptr inbounds {{ ptr, {kind}, i64 }}, ptr %data, i32 0, i32 1
  store {kind} %what, ptr %what.p
  %bytes.p = getelementptr inbounds {{ ptr, {kind}, i64 }}, ptr %data, i32 0, i32 2
  store i64 %bytes, ptr %bytes.p
  call void @GOMP_parallel(ptr @{name}$part, ptr %data, i32 %threads, i32 0)
  ret void
}}
"""
_DECLARED = {
    "adc_threads": "declare i32 @adc_threads(ptr) nounwind willreturn",
    "GOMP_parallel": "declare void @GOMP_parallel(ptr, ptr, i32, i32)",
    "omp_in_parallel": "declare i32 @omp_in_parallel() nounwind",
    "omp_get_thread_num": "declare i32 @omp_get_thread_num() nounwind",
    "omp_get_num_threads": "declare i32 @omp_get_num_threads() nounwind",
    "llvm.memset.p0.i64": "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
    "llvm.memcpy.p0.p0.i64": "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
}
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
        text = _TEXT.format(name=name, kind=kind, whole=whole, part=part, least=LEAST)
        module.common[name] = text, f"declare void @{name}(ptr, ptr, {kind}, i64) nounwind"
    return name
