"""The run-time support that compiled code calls, as LLVM IR: contexts, the arena of tapes and temporaries, errors.

A *context* belongs to one run of compiled code. It holds the first error of the run and an arena: blocks of memory
that stay allocated between runs, because first-touch page faults on a large tape cost as much as computing it.
Contexts wait in a pool; a call takes one and gives it back, so any number of threads may be inside compiled code.

In a Python process the support is compiled once (``adc.backend.runtime``) and other libraries import its symbols. An
object file made ahead of time has its own copy with internal linkage (``support_ir("internal")``); there is no Python
in it. Symbols for compiled code:

- ``ptr adc_alloc(ptr ctx, i64 bytes)``: 64-byte aligned, not zeroed; null if memory cannot be had
- ``void adc_free(ptr ctx, ptr p)``: p may be null
- ``ptr adc_grow(ptr ctx, ptr p, i64 bytes)``: room for ``bytes`` with the old contents, at least doubling; p may be
  null; null (and p is still allocated) if memory cannot be had
- ``void adc_raise(ptr ctx, i32 site, i64 a, i64 b)``: records an error; the first one of a run stays
- ``i32 adc_threads(ptr ctx)``: the number of threads for a parallel loop; ctx may be null

These may be called from several threads with one context at a time. For those who run compiled code:

- ``ptr adc_context_new()``, ``void adc_context_delete(ptr)``
- ``void adc_context_reset(ptr)``: everything still allocated goes back to the free lists; no error
- ``ptr adc_context_take()``, ``void adc_context_give(ptr)``: from and to the pool (which has a lock)
- ``void adc_pool_release()``: gives the memory of the contexts in the pool back to the system

The layout of memory: each block has a header of 64 bytes before its data. Blocks come in size classes, four to a power
of two, so at most a fifth of a block is unused. A request takes a free block of its class or of the next three.
Blocks of at least ``HUGE`` bytes are marked for huge pages. A block of ``LARGE`` bytes or more that was in no use
during the last ``KEEP_CALLS`` calls of its context is returned to the system when a new large one is needed.
"""

from __future__ import annotations

from typing import Literal

Linkage = Literal["internal", "external"]

# Byte offsets in a context, for code that reads it without a call.
CONTEXT_THREADS = 0  # i32; 0: the process's default
CONTEXT_ERROR = 4  # i32; 1 once an error was recorded
CONTEXT_SITE = 8  # i32
CONTEXT_A = 16  # i64
CONTEXT_B = 24  # i64
CONTEXT_LIVE = 40  # i64: blocks that are allocated now
CONTEXT_LIVE_BYTES = 48
CONTEXT_PEAK_BYTES = 56  # the most that was allocated at once since the context was taken
CONTEXT_HELD_BYTES = 64  # what the arena has from the system
CONTEXT_NEXT = 80  # ptr: the next in the pool
CONTEXT_RECORD = 88  # ptr: what a forward sweep left for its reverse sweep

LARGE = 1 << 20
HUGE = 1 << 22
KEEP_CALLS = 8

FUNCTIONS = (
    "adc_alloc",
    "adc_free",
    "adc_grow",
    "adc_raise",
    "adc_threads",
    "adc_context_new",
    "adc_context_delete",
    "adc_context_reset",
    "adc_context_take",
    "adc_context_give",
    "adc_pool_release",
)
GLOBALS = ("adc_pool", "adc_default_threads", "adc_forked", "adc_peak_bytes")

DECLARATIONS = {
    "adc_alloc": "declare noalias ptr @adc_alloc(ptr, i64)",
    "adc_free": "declare void @adc_free(ptr, ptr)",
    "adc_grow": "declare ptr @adc_grow(ptr, ptr, i64)",
    "adc_raise": "declare void @adc_raise(ptr, i32, i64, i64)",
    "adc_threads": "declare i32 @adc_threads(ptr)",
    "adc_context_new": "declare ptr @adc_context_new()",
    "adc_context_delete": "declare void @adc_context_delete(ptr)",
    "adc_context_reset": "declare void @adc_context_reset(ptr)",
    "adc_context_take": "declare ptr @adc_context_take()",
    "adc_context_give": "declare void @adc_context_give(ptr)",
    "adc_pool_release": "declare void @adc_pool_release()",
}

_TEXT = r"""
%adc.context = type { i32, i32, i32, i32, i64, i64, i64, i64, i64, i64, i64, ptr, ptr, ptr, [160 x ptr] }
;  0 threads  1 error  2 site  3 lock  4 a  5 b  6 epoch  7 live  8 live bytes  9 peak bytes  10 held bytes
; 11 blocks  12 next  13 record  14 free lists
%adc.block = type { ptr, ptr, ptr, ptr, i64, i32, i32, i64, ptr }
;  0 address to free  1 context  2 next of all  3 next free  4 capacity  5 class  6 live  7 epoch of last use  8 unused

@adc_pool = LINKAGE global ptr null, align 8
@adc_pool_lock = internal global i32 0, align 4
@adc_default_threads = LINKAGE global i32 0, align 4
@adc_forked = LINKAGE global i32 0, align 4
@adc_peak_bytes = LINKAGE global i64 0, align 8
@adc_rt_variable = internal constant [16 x i8] c"ADC_NUM_THREADS\00"
@adc_rt_omp_variable = internal constant [16 x i8] c"OMP_NUM_THREADS\00"

declare noalias ptr @malloc(i64)
declare noalias ptr @calloc(i64, i64)
declare void @free(ptr)
declare i32 @sched_yield()
declare i32 @madvise(ptr, i64, i32)
declare ptr @getenv(ptr)
declare i64 @strtol(ptr, ptr, i32)
declare i64 @sysconf(i32)
declare i64 @llvm.ctlz.i64(i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define internal void @adc_rt_lock(ptr %lock) {
  br label %try
try:
  %old = atomicrmw xchg ptr %lock, i32 1 acquire, align 4
  %taken = icmp ne i32 %old, 0
  br i1 %taken, label %wait, label %done
wait:
  %ignored = call i32 @sched_yield()
  %now = load atomic i32, ptr %lock monotonic, align 4
  %busy = icmp ne i32 %now, 0
  br i1 %busy, label %wait, label %try
done:
  ret void
}

define internal void @adc_rt_unlock(ptr %lock) {
  store atomic i32 0, ptr %lock release, align 4
  ret void
}

; The class of a size: 64-byte units 1, 2, 3, 4, then 5/4, 6/4, 7/4 and 8/4 of each power of two.
define internal i32 @adc_rt_class(i64 %bytes) {
  %up = add i64 %bytes, 63
  %units = lshr i64 %up, 6
  %one = icmp ult i64 %units, 1
  %q = select i1 %one, i64 1, i64 %units
  %last = sub i64 %q, 1
  %small = icmp ult i64 %last, 4
  br i1 %small, label %exact, label %spread
exact:
  %class = trunc i64 %last to i32
  ret i32 %class
spread:
  %zeros = call i64 @llvm.ctlz.i64(i64 %last, i1 true)
  %log = sub i64 63, %zeros
  %shift = sub i64 %log, 2
  %top = lshr i64 %last, %shift
  %sub = and i64 %top, 3
  %four = shl i64 %shift, 2
  %base = add i64 %four, 4
  %wide = add i64 %base, %sub
  %result = trunc i64 %wide to i32
  ret i32 %result
}

define internal i64 @adc_rt_capacity(i32 %class) {
  %small = icmp ult i32 %class, 4
  %wide = zext i32 %class to i64
  br i1 %small, label %exact, label %spread
exact:
  %q = add i64 %wide, 1
  %bytes = shl i64 %q, 6
  ret i64 %bytes
spread:
  %less = sub i64 %wide, 4
  %shift = lshr i64 %less, 2
  %sub = and i64 %less, 3
  %units = add i64 %sub, 5
  %scaled = shl i64 %units, %shift
  %result = shl i64 %scaled, 6
  ret i64 %result
}

define LINKAGE ptr @adc_context_new() {
  %ctx = call ptr @calloc(i64 1, i64 1376)
  ret ptr %ctx
}

; Frees the blocks that are free and were last used %age or more epochs ago, and lists the other free ones anew.
; The caller holds the lock.
define internal void @adc_rt_trim(ptr %ctx, i64 %age) {
entry:
  %lists = getelementptr %adc.context, ptr %ctx, i32 0, i32 14
  call void @llvm.memset.p0.i64(ptr %lists, i8 0, i64 1280, i1 false)
  %epoch.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 6
  %epoch = load i64, ptr %epoch.p
  %held.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 10
  %head = getelementptr %adc.context, ptr %ctx, i32 0, i32 11
  br label %loop
loop:
  %link = phi ptr [ %head, %entry ], [ %link, %drop ], [ %next.p, %keep ], [ %next.p, %list ]
  %block = load ptr, ptr %link
  %end = icmp eq ptr %block, null
  br i1 %end, label %done, label %look
look:
  %next.p = getelementptr %adc.block, ptr %block, i32 0, i32 2
  %live.p = getelementptr %adc.block, ptr %block, i32 0, i32 6
  %live = load i32, ptr %live.p
  %used = icmp ne i32 %live, 0
  br i1 %used, label %keep, label %idle
keep:
  br label %loop
idle:
  %last.p = getelementptr %adc.block, ptr %block, i32 0, i32 7
  %last = load i64, ptr %last.p
  %until = add i64 %last, %age
  %old = icmp ule i64 %until, %epoch
  br i1 %old, label %drop, label %list
drop:
  %next = load ptr, ptr %next.p
  store ptr %next, ptr %link
  %capacity.p = getelementptr %adc.block, ptr %block, i32 0, i32 4
  %capacity = load i64, ptr %capacity.p
  %held = load i64, ptr %held.p
  %less = sub i64 %held, %capacity
  store i64 %less, ptr %held.p
  %base = load ptr, ptr %block
  call void @free(ptr %base)
  br label %loop
list:
  %class.p = getelementptr %adc.block, ptr %block, i32 0, i32 5
  %class = load i32, ptr %class.p
  %slot = getelementptr ptr, ptr %lists, i32 %class
  %first = load ptr, ptr %slot
  %free.p = getelementptr %adc.block, ptr %block, i32 0, i32 3
  store ptr %first, ptr %free.p
  store ptr %block, ptr %slot
  br label %loop
done:
  ret void
}

define LINKAGE void @adc_context_reset(ptr %ctx) {
entry:
  %error.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 1
  store atomic i32 0, ptr %error.p monotonic, align 4
  %record.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 13
  store ptr null, ptr %record.p
  %live.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 7
  %live = load i64, ptr %live.p
  %clean = icmp eq i64 %live, 0
  br i1 %clean, label %done, label %sweep
sweep:
  store i64 0, ptr %live.p
  %live.bytes.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 8
  store i64 0, ptr %live.bytes.p
  %head = getelementptr %adc.context, ptr %ctx, i32 0, i32 11
  br label %loop
loop:
  %link = phi ptr [ %head, %sweep ], [ %next.p, %mark ]
  %block = load ptr, ptr %link
  %end = icmp eq ptr %block, null
  br i1 %end, label %list, label %mark
mark:
  %next.p = getelementptr %adc.block, ptr %block, i32 0, i32 2
  %state.p = getelementptr %adc.block, ptr %block, i32 0, i32 6
  store i32 0, ptr %state.p
  br label %loop
list:
  call void @adc_rt_trim(ptr %ctx, i64 4611686018427387904)
  br label %done
done:
  ret void
}

define LINKAGE void @adc_context_delete(ptr %ctx) {
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
  %base = load ptr, ptr %block
  call void @free(ptr %base)
  br label %loop
done:
  call void @free(ptr %ctx)
  ret void
}

; A new block from the system, linked into the context and live; its data, or null.
define internal ptr @adc_rt_new_block(ptr %ctx, i32 %class) noinline {
entry:
  %capacity = call i64 @adc_rt_capacity(i32 %class)
  %lock = getelementptr %adc.context, ptr %ctx, i32 0, i32 3
  %large = icmp uge i64 %capacity, LARGE_BYTES
  br i1 %large, label %tidy, label %get
tidy:
  call void @adc_rt_lock(ptr %lock)
  call void @adc_rt_trim(ptr %ctx, i64 KEEP_EPOCHS)
  call void @adc_rt_unlock(ptr %lock)
  br label %get
get:
  ; Alignment 64, or 2 MiB for huge pages. The start is staggered: arrays must not compete for the same cache sets.
  %huge = icmp uge i64 %capacity, HUGE_BYTES
  %align = select i1 %huge, i64 2097152, i64 64
  %spare = add i64 %align, 4096
  %total = add i64 %capacity, %spare
  %try1 = call ptr @malloc(i64 %total)
  %failed = icmp eq ptr %try1, null
  br i1 %failed, label %retry, label %have
retry:
  call void @adc_rt_lock(ptr %lock)
  call void @adc_rt_trim(ptr %ctx, i64 0)
  call void @adc_rt_unlock(ptr %lock)
  %try2 = call ptr @malloc(i64 %total)
  %gone = icmp eq ptr %try2, null
  br i1 %gone, label %none, label %have
none:
  ret ptr null
have:
  %base = phi ptr [ %try1, %get ], [ %try2, %retry ]
  %address = ptrtoint ptr %base to i64
  %mask = sub i64 %align, 1
  %over = add i64 %address, %mask
  %inverse = xor i64 %mask, -1
  %aligned = and i64 %over, %inverse
  br i1 %huge, label %advise, label %place
advise:
  %pages = and i64 %capacity, -2097152
  %start = inttoptr i64 %aligned to ptr
  MADVISE
  br label %place
place:
  call void @adc_rt_lock(ptr %lock)
  %held.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 10
  %held = load i64, ptr %held.p
  %small = icmp ult i64 %capacity, 16384
  %turn = lshr i64 %held, 8
  %mixed = mul i64 %turn, 2654435761
  %bits = lshr i64 %mixed, 16
  %step = and i64 %bits, 30
  %offset = shl i64 %step, 6
  %stagger = select i1 %small, i64 0, i64 %offset
  %header = add i64 %aligned, %stagger
  %block = inttoptr i64 %header to ptr
  %more = add i64 %held, %capacity
  store i64 %more, ptr %held.p
  store ptr %base, ptr %block
  %owner.p = getelementptr %adc.block, ptr %block, i32 0, i32 1
  store ptr %ctx, ptr %owner.p
  %next.p = getelementptr %adc.block, ptr %block, i32 0, i32 2
  %head = getelementptr %adc.context, ptr %ctx, i32 0, i32 11
  %first = load ptr, ptr %head
  store ptr %first, ptr %next.p
  store ptr %block, ptr %head
  %capacity.p = getelementptr %adc.block, ptr %block, i32 0, i32 4
  store i64 %capacity, ptr %capacity.p
  %class.p = getelementptr %adc.block, ptr %block, i32 0, i32 5
  store i32 %class, ptr %class.p
  call void @adc_rt_mark(ptr %ctx, ptr %block)
  call void @adc_rt_unlock(ptr %lock)
  %data = getelementptr i8, ptr %block, i64 64
  ret ptr %data
}

; Marks a block live and counts it. The caller holds the lock.
define internal void @adc_rt_mark(ptr %ctx, ptr %block) {
  %live.p = getelementptr %adc.block, ptr %block, i32 0, i32 6
  store i32 1, ptr %live.p
  %epoch.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 6
  %epoch = load i64, ptr %epoch.p
  %last.p = getelementptr %adc.block, ptr %block, i32 0, i32 7
  store i64 %epoch, ptr %last.p
  %count.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 7
  %count = load i64, ptr %count.p
  %count1 = add i64 %count, 1
  store i64 %count1, ptr %count.p
  %capacity.p = getelementptr %adc.block, ptr %block, i32 0, i32 4
  %capacity = load i64, ptr %capacity.p
  %bytes.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 8
  %bytes = load i64, ptr %bytes.p
  %bytes1 = add i64 %bytes, %capacity
  store i64 %bytes1, ptr %bytes.p
  %peak.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 9
  %peak = load i64, ptr %peak.p
  %higher = icmp ugt i64 %bytes1, %peak
  %peak1 = select i1 %higher, i64 %bytes1, i64 %peak
  store i64 %peak1, ptr %peak.p
  ret void
}

define LINKAGE noalias ptr @adc_alloc(ptr %ctx, i64 %bytes) {
entry:
  %absurd = icmp ugt i64 %bytes, 140737488355328
  br i1 %absurd, label %none, label %search
none:
  ret ptr null
search:
  %class = call i32 @adc_rt_class(i64 %bytes)
  %most = add i32 %class, 3
  %inside = icmp ult i32 %most, 159
  %stop = select i1 %inside, i32 %most, i32 159
  %lock = getelementptr %adc.context, ptr %ctx, i32 0, i32 3
  %lists = getelementptr %adc.context, ptr %ctx, i32 0, i32 14
  call void @adc_rt_lock(ptr %lock)
  br label %loop
loop:
  %c = phi i32 [ %class, %search ], [ %c1, %next ]
  %slot = getelementptr ptr, ptr %lists, i32 %c
  %block = load ptr, ptr %slot
  %empty = icmp eq ptr %block, null
  br i1 %empty, label %next, label %found
next:
  %c1 = add i32 %c, 1
  %more = icmp ule i32 %c1, %stop
  br i1 %more, label %loop, label %system
found:
  %free.p = getelementptr %adc.block, ptr %block, i32 0, i32 3
  %rest = load ptr, ptr %free.p
  store ptr %rest, ptr %slot
  call void @adc_rt_mark(ptr %ctx, ptr %block)
  call void @adc_rt_unlock(ptr %lock)
  %data = getelementptr i8, ptr %block, i64 64
  ret ptr %data
system:
  call void @adc_rt_unlock(ptr %lock)
  %new = call ptr @adc_rt_new_block(ptr %ctx, i32 %class)
  ret ptr %new
}

; A block returns to the context it came from, which is that of the forward sweep if the reverse sweep frees a tape.
define LINKAGE void @adc_free(ptr %unused, ptr %data) {
entry:
  %null = icmp eq ptr %data, null
  br i1 %null, label %done, label %release
release:
  %block = getelementptr i8, ptr %data, i64 -64
  %owner.p = getelementptr %adc.block, ptr %block, i32 0, i32 1
  %ctx = load ptr, ptr %owner.p
  %lock = getelementptr %adc.context, ptr %ctx, i32 0, i32 3
  call void @adc_rt_lock(ptr %lock)
  %live.p = getelementptr %adc.block, ptr %block, i32 0, i32 6
  store i32 0, ptr %live.p
  %count.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 7
  %count = load i64, ptr %count.p
  %count1 = sub i64 %count, 1
  store i64 %count1, ptr %count.p
  %capacity.p = getelementptr %adc.block, ptr %block, i32 0, i32 4
  %capacity = load i64, ptr %capacity.p
  %bytes.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 8
  %bytes = load i64, ptr %bytes.p
  %bytes1 = sub i64 %bytes, %capacity
  store i64 %bytes1, ptr %bytes.p
  %class.p = getelementptr %adc.block, ptr %block, i32 0, i32 5
  %class = load i32, ptr %class.p
  %lists = getelementptr %adc.context, ptr %ctx, i32 0, i32 14
  %slot = getelementptr ptr, ptr %lists, i32 %class
  %first = load ptr, ptr %slot
  %free.p = getelementptr %adc.block, ptr %block, i32 0, i32 3
  store ptr %first, ptr %free.p
  store ptr %block, ptr %slot
  call void @adc_rt_unlock(ptr %lock)
  br label %done
done:
  ret void
}

define LINKAGE ptr @adc_grow(ptr %ctx, ptr %data, i64 %bytes) {
entry:
  %null = icmp eq ptr %data, null
  br i1 %null, label %fresh, label %old
fresh:
  %first = call ptr @adc_alloc(ptr %ctx, i64 %bytes)
  ret ptr %first
old:
  %block = getelementptr i8, ptr %data, i64 -64
  %capacity.p = getelementptr %adc.block, ptr %block, i32 0, i32 4
  %capacity = load i64, ptr %capacity.p
  %room = icmp ule i64 %bytes, %capacity
  br i1 %room, label %same, label %move
same:
  ret ptr %data
move:
  %twice = shl i64 %capacity, 1
  %enough = icmp ugt i64 %twice, %bytes
  %wanted = select i1 %enough, i64 %twice, i64 %bytes
  %new = call ptr @adc_alloc(ptr %ctx, i64 %wanted)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %none, label %copy
none:
  ret ptr null
copy:
  call void @llvm.memcpy.p0.p0.i64(ptr align 64 %new, ptr align 64 %data, i64 %capacity, i1 false)
  call void @adc_free(ptr %ctx, ptr %data)
  ret ptr %new
}

define LINKAGE void @adc_raise(ptr %ctx, i32 %site, i64 %a, i64 %b) cold {
entry:
  %error.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 1
  %old = atomicrmw xchg ptr %error.p, i32 1 acq_rel, align 4
  %late = icmp ne i32 %old, 0
  br i1 %late, label %done, label %first
first:
  %site.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 2
  store i32 %site, ptr %site.p
  %a.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 4
  store i64 %a, ptr %a.p
  %b.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 5
  store i64 %b, ptr %b.p
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
  call void @adc_context_reset(ptr %ctx)
  store i32 0, ptr %ctx
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

    With ``"internal"`` linkage it belongs to the one module that it is put into; ``linux`` says whether huge pages are
    asked for and which number asks the system for its processors (macOS otherwise).
    """
    text = _TEXT.replace("LINKAGE ", "internal " if linkage == "internal" else "")
    for name, value in (("LARGE_BYTES", LARGE), ("HUGE_BYTES", HUGE), ("KEEP_EPOCHS", KEEP_CALLS)):
        text = text.replace(name, str(value))
    advice = "%advised = call i32 @madvise(ptr %start, i64 %pages, i32 14)" if linux else ""
    return text.replace("MADVISE", advice).replace("PROCESSORS_ONLINE", "84" if linux else "58")
