"""The run-time support that compiled code calls, as LLVM IR: contexts, the arena of tapes and temporaries, errors.

A *context* belongs to one run of compiled code. It holds the first error of the run and an arena: blocks of memory
that stay allocated between runs, because first-touch page faults on a large tape cost as much as computing it.
Contexts wait in a pool; a call takes one and gives it back, so any number of threads may be inside compiled code.

In a Python process the support is compiled once (``adc.backend.runtime``) and other libraries import its symbols. An
object file made ahead of time has its own copy with internal linkage (``support_ir("internal")``); there is no Python
in it. Symbols for compiled code:

- ``ptr adc_alloc(ptr ctx, i64 bytes)``: 64-byte aligned, not zeroed; null if there is not enough memory
- ``void adc_free(ptr ctx, ptr p)``: p may be null
- ``ptr adc_grow(ptr ctx, ptr p, i64 bytes)``: room for ``bytes`` with the old contents, at least doubling; p may be
  null; returns null (and p is still allocated) if there is not enough memory
- ``ptr adc_alloc_file(ptr ctx, i64 bytes, ptr directory)``: as ``adc_alloc``, in a file without a name; an empty
  ``directory`` means that for temporary files. If this fails, the system's error number
- ``void adc_page_out(ptr p, ptr from, i64 bytes)``: a part of ``p``, which is in a file, will not be needed for a while
- ``void adc_raise(ptr ctx, i32 site, i64 a, i64 b)``: records an error; only the first one of a run is kept
- ``void adc_raise_values(ptr ctx, i32 site, ptr values, i64 count)``: the same with two to 16 operands
- ``ptr adc_stack_limit()``: how far the stack of the calling thread may grow down
- ``i32 adc_threads(ptr ctx)``: the number of threads for a parallel loop; ctx may be null

Several threads may call these at once with the same context. For callers of compiled code:

- ``ptr adc_context_new()``, ``void adc_context_delete(ptr)``
- ``void adc_context_reset(ptr)``: everything still allocated goes back to the free lists, and the error is cleared
- ``ptr adc_context_take()``, ``void adc_context_give(ptr)``: from and to the pool (which has a lock)
- ``ptr adc_context_in(ptr memory, i64 bytes)``: a context that allocates from the given memory as far as there is room;
  given back in the same way
- ``void adc_pool_release()``: gives the memory of the contexts in the pool back to the system
"""

from __future__ import annotations

from typing import Literal

from adc.backend.support.arena import arena_ir
from adc.backend.support.files import files_ir
from adc.backend.support.resets import resets_ir
from adc.backend.support.stack import stack_ir
from adc.backend.support.threads import DECLARATIONS as THREADS
from adc.backend.support.threads import FUNCTIONS as OF_THREADS
from adc.backend.support.threads import threads_ir
from adc.backend.support.workspace import CONTEXT_BYTES, workspace_ir

Linkage = Literal["internal", "external"]

# Byte offsets in a context, for code that reads it without a call.
CONTEXT_THREADS = 0  # i32; 0: the process's default
CONTEXT_ERROR = 4  # i32; 1 once an error was recorded
CONTEXT_SITE = 8  # i32
CONTEXT_A = 16  # i64
CONTEXT_B = 24  # i64
CONTEXT_LIVE = 40  # i64: blocks that are allocated now
CONTEXT_LIVE_BYTES = 48  # bytes of the arena in use
CONTEXT_PEAK_BYTES = 56  # the most that was allocated at once since the context was taken
CONTEXT_HELD_BYTES = 64  # bytes that the arena has from the system
CONTEXT_NEXT = 80  # ptr: the next in the pool
CONTEXT_RECORD = 88  # ptr: the record of a forward sweep for its reverse sweep
CONTEXT_MORE = 1376  # 14 x i64: the third and further operands of the error
CONTEXT_NEXT_RUN = 1488  # ptr: the next run in the list, then the address of the pointer to this one
CONTEXT_RUN = 1504  # i64: the number of the run; then, of either sweep: loop, steps done, steps in all
CONTEXT_OFFSET = 1560  # i64: where the steps of a partial loop begin in the whole loop
CONTEXT_TOTAL = 1568  # i64: how many steps the whole loop has
CONTEXT_LIMIT = 1600  # i64: limit for the bytes that the arena holds; 0: none
CONTEXT_ALONE = 1760  # i64: 1 while a single thread uses it, which then needs no lock for small blocks

FUNCTIONS = (
    "adc_alloc",
    "adc_free",
    "adc_grow",
    "adc_alloc_file",
    "adc_page_out",
    "adc_raise",
    "adc_raise_values",
    "adc_threads",
    "adc_stack_limit",
    "adc_context_new",
    "adc_context_delete",
    "adc_context_reset",
    "adc_context_take",
    "adc_context_in",
    "adc_context_give",
    "adc_pool_release",
    *OF_THREADS,
)
GLOBALS = ("adc_pool", "adc_default_threads", "adc_forked", "adc_peak_bytes")

DECLARATIONS = {
    "adc_alloc": "declare noalias ptr @adc_alloc(ptr, i64)",
    "adc_free": "declare void @adc_free(ptr, ptr)",
    "adc_grow": "declare ptr @adc_grow(ptr, ptr, i64)",
    "adc_alloc_file": "declare noalias ptr @adc_alloc_file(ptr, i64, ptr)",
    "adc_page_out": "declare void @adc_page_out(ptr, ptr, i64)",
    "adc_raise": "declare void @adc_raise(ptr, i32, i64, i64)",
    "adc_raise_values": "declare void @adc_raise_values(ptr, i32, ptr, i64)",
    "adc_threads": "declare i32 @adc_threads(ptr)",
    "adc_stack_limit": "declare ptr @adc_stack_limit()",
    "adc_context_new": "declare ptr @adc_context_new()",
    "adc_context_delete": "declare void @adc_context_delete(ptr)",
    "adc_context_reset": "declare void @adc_context_reset(ptr)",
    "adc_context_take": "declare ptr @adc_context_take()",
    "adc_context_in": "declare ptr @adc_context_in(ptr, i64)",
    "adc_context_give": "declare void @adc_context_give(ptr)",
    "adc_pool_release": "declare void @adc_pool_release()",
    **THREADS,
}

_TEXT = r"""
@adc_pool = LINKAGE global ptr null, align 8
@adc_pool_lock = internal global i32 0, align 4
@adc_default_threads = LINKAGE global i32 0, align 4
@adc_forked = LINKAGE global i32 0, align 4
@adc_peak_bytes = LINKAGE global i64 0, align 8
@adc_rt_variable = internal constant [16 x i8] c"ADC_NUM_THREADS\00"
@adc_rt_omp_variable = internal constant [16 x i8] c"OMP_NUM_THREADS\00"
declare noalias ptr @calloc(i64, i64)
declare ptr @getenv(ptr)
declare i64 @strtol(ptr, ptr, i32)
declare i64 @sysconf(i32)

define LINKAGE ptr @adc_context_new() {
  %ctx = call ptr @calloc(i64 1, i64 CONTEXT_BYTES)
  ret ptr %ctx
}

define LINKAGE void @adc_context_delete(ptr %ctx) {
  call void @adc_rt_release_all(ptr %ctx)
  call void @free(ptr %ctx)
  ret void
}

define internal void @adc_rt_release_all(ptr %ctx) {
entry:
  %head = getelementptr %adc.context, ptr %ctx, i32 0, i32 11
  %first = load ptr, ptr %head
  br label %loop
loop:
  %block = phi ptr [ %first, %entry ], [ %next, %drop ]
  %end = icmp eq ptr %block, null
  br i1 %end, label %done, label %drop
drop:
  %next.p = getelementptr %adc.block, ptr %block, i32 0, i32 2
  %next = load ptr, ptr %next.p
  call void @adc_rt_release(ptr %block)
  br label %loop
done:
  ret void
}

define LINKAGE void @adc_raise(ptr %ctx, i32 %site, i64 %a, i64 %b) cold {
entry:
  %values = alloca [2 x i64], align 8
  store i64 %a, ptr %values
  %second = getelementptr i64, ptr %values, i64 1
  store i64 %b, ptr %second
  call void @adc_raise_values(ptr %ctx, i32 %site, ptr %values, i64 2)
  ret void
}

define LINKAGE void @adc_raise_values(ptr %ctx, i32 %site, ptr %values, i64 %count) cold {
entry:
  %error.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 1
  %old = atomicrmw xchg ptr %error.p, i32 1 acq_rel, align 4
  %late = icmp ne i32 %old, 0
  br i1 %late, label %done, label %first
first:
  %site.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 2
  store i32 %site, ptr %site.p
  %pair.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 4
  call void @llvm.memcpy.p0.p0.i64(ptr %pair.p, ptr %values, i64 16, i1 false)
  %more.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 15
  %rest = getelementptr i64, ptr %values, i64 2
  %left = sub i64 %count, 2
  %bytes = shl i64 %left, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %more.p, ptr %rest, i64 %bytes, i1 false)
  br label %done
done:
  ret void
}

define internal i64 @adc_rt_environment(ptr %name) {
  %text = call ptr @getenv(ptr %name)
  %unset = icmp eq ptr %text, null
  br i1 %unset, label %none, label %parse
none:
  ret i64 0
parse:
  %value = call i64 @strtol(ptr %text, ptr null, i32 10)
  ret i64 %value
}

define LINKAGE i32 @adc_threads(ptr %ctx) {
entry:
  ; A forked child has none of its parent's threads, and OpenMP runtimes would wait for them for ever.
  %forked = load atomic i32, ptr @adc_forked monotonic, align 4
  %child = icmp ne i32 %forked, 0
  br i1 %child, label %alone, label %choose
alone:
  ret i32 1
choose:
  %without = icmp eq ptr %ctx, null
  br i1 %without, label %default, label %look
look:
  %own = load i32, ptr %ctx
  %set = icmp sgt i32 %own, 0
  br i1 %set, label %mine, label %default
mine:
  ret i32 %own
default:
  %known = load atomic i32, ptr @adc_default_threads monotonic, align 4
  %ready = icmp sgt i32 %known, 0
  br i1 %ready, label %theirs, label %ask
theirs:
  ret i32 %known
ask:
  %first = call i64 @adc_rt_environment(ptr @adc_rt_variable)
  %has = icmp sgt i64 %first, 0
  br i1 %has, label %clamp, label %openmp
openmp:
  %second = call i64 @adc_rt_environment(ptr @adc_rt_omp_variable)
  %has2 = icmp sgt i64 %second, 0
  br i1 %has2, label %clamp, label %cores
cores:
  %online = call i64 @sysconf(i32 PROCESSORS_ONLINE)
  br label %clamp
clamp:
  %asked = phi i64 [ %first, %ask ], [ %second, %openmp ], [ %online, %cores ]
  %positive = icmp sgt i64 %asked, 1
  %least = select i1 %positive, i64 %asked, i64 1
  %sane = icmp slt i64 %least, 1024
  %count = select i1 %sane, i64 %least, i64 1024
  %count32 = trunc i64 %count to i32
  store atomic i32 %count32, ptr @adc_default_threads monotonic, align 4
  ret i32 %count32
}

define LINKAGE ptr @adc_context_take() {
entry:
  call void @adc_rt_lock(ptr @adc_pool_lock)
  %ctx = load ptr, ptr @adc_pool
  %empty = icmp eq ptr %ctx, null
  br i1 %empty, label %new, label %pop
pop:
  %next.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 12
  %next = load ptr, ptr %next.p
  store ptr %next, ptr @adc_pool
  call void @adc_rt_unlock(ptr @adc_pool_lock)
  ret ptr %ctx
new:
  call void @adc_rt_unlock(ptr @adc_pool_lock)
  %fresh = call ptr @adc_context_new()
  ret ptr %fresh
}

define LINKAGE void @adc_context_give(ptr %ctx) {
entry:
  %start.f = getelementptr %adc.context, ptr %ctx, i32 0, i32 17
  %workspace = load ptr, ptr %start.f
  %lent = icmp ne ptr %workspace, null
  br i1 %lent, label %leave, label %keep
leave:
  call void @adc_rt_release_all(ptr %ctx)
  ret void
keep:
  call void @adc_context_reset(ptr %ctx)
  store i32 0, ptr %ctx
  %limit.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 20
  store i64 0, ptr %limit.p
  %epoch.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 6
  %epoch = load i64, ptr %epoch.p
  %epoch1 = add i64 %epoch, 1
  store i64 %epoch1, ptr %epoch.p
  %peak.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 9
  %peak = load i64, ptr %peak.p
  store i64 0, ptr %peak.p
  %next.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 12
  call void @adc_rt_lock(ptr @adc_pool_lock)
  %most = load i64, ptr @adc_peak_bytes
  %higher = icmp ugt i64 %peak, %most
  %most1 = select i1 %higher, i64 %peak, i64 %most
  store i64 %most1, ptr @adc_peak_bytes
  %first = load ptr, ptr @adc_pool
  store ptr %first, ptr %next.p
  store ptr %ctx, ptr @adc_pool
  call void @adc_rt_unlock(ptr @adc_pool_lock)
  ret void
}

define LINKAGE void @adc_pool_release() {
entry:
  call void @adc_rt_lock(ptr @adc_pool_lock)
  %all = load ptr, ptr @adc_pool
  store ptr null, ptr @adc_pool
  call void @adc_rt_unlock(ptr @adc_pool_lock)
  br label %loop
loop:
  %ctx = phi ptr [ %all, %entry ], [ %next, %delete ]
  %end = icmp eq ptr %ctx, null
  br i1 %end, label %done, label %delete
delete:
  %next.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 12
  %next = load ptr, ptr %next.p
  call void @adc_context_delete(ptr %ctx)
  br label %loop
done:
  ret void
}
"""


def support_ir(linkage: Linkage, *, linux: bool = True) -> str:
    """The LLVM IR of the support.

    With ``"internal"`` linkage it is private to the module that it is put into. ``linux``: use huge pages, and Linux's
    constant to query the number of processors (else that of macOS).
    """
    text = arena_ir(linux=linux) + workspace_ir() + files_ir(linux=linux) + resets_ir() + _TEXT
    text += stack_ir(linux=linux) + threads_ir(linux=linux)
    text = text.replace("CONTEXT_BYTES", str(CONTEXT_BYTES))
    text = text.replace("LINKAGE ", "internal " if linkage == "internal" else "")
    return text.replace("PROCESSORS_ONLINE", "84" if linux else "58")
