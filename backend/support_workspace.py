"""Contexts in memory that the caller gives, as LLVM IR: what a call allocates comes from there. See
``adc.backend.support``.

The context is at the start; the rest is chunks, each with the header of a block, one after another, free or live. A
request takes the first free chunk that is large enough, and leaves what is too much; neighbours that are free become
one. Below the place where the search starts all chunks are live, so that a tape of many small ones takes no time for
each. What finds no room is taken from the system.
"""

from __future__ import annotations

CONTEXT_BYTES = 1608
CHUNK = -2  # the class of blocks in a workspace

_TEXT = r"""
; A context in %bytes from %memory, or one of the pool where that is too little.
define LINKAGE ptr @adc_context_in(ptr %memory, i64 %bytes) {
entry:
  %null = icmp eq ptr %memory, null
  %short = icmp slt i64 %bytes, LEAST_BYTES
  %none = or i1 %null, %short
  br i1 %none, label %pool, label %make
pool:
  %pooled = call ptr @adc_context_take()
  ret ptr %pooled
make:
  %low = ptrtoint ptr %memory to i64
  %up = add i64 %low, 63
  %start = and i64 %up, -64
  %ctx = inttoptr i64 %start to ptr
  call void @llvm.memset.p0.i64(ptr %ctx, i8 0, i64 CONTEXT_ROOM, i1 false)
  %first = getelementptr i8, ptr %ctx, i64 CONTEXT_ROOM
  %high = add i64 %low, %bytes
  %end = and i64 %high, -64
  %end.p = inttoptr i64 %end to ptr
  %begin = ptrtoint ptr %first to i64
  %all = sub i64 %end, %begin
  %capacity = sub i64 %all, 64
  call void @adc_rt_chunk(ptr %ctx, ptr %first, i64 %capacity)
  %start.f = getelementptr %adc.context, ptr %ctx, i32 0, i32 17
  store ptr %first, ptr %start.f
  %end.f = getelementptr %adc.context, ptr %ctx, i32 0, i32 18
  store ptr %end.p, ptr %end.f
  %rover.f = getelementptr %adc.context, ptr %ctx, i32 0, i32 19
  store ptr %first, ptr %rover.f
  %failed.f = getelementptr %adc.context, ptr %ctx, i32 0, i32 20
  store i64 -1, ptr %failed.f
  ret ptr %ctx
}

define internal void @adc_rt_chunk(ptr %ctx, ptr %chunk, i64 %capacity) {
  call void @llvm.memset.p0.i64(ptr %chunk, i8 0, i64 64, i1 false)
  %owner.p = getelementptr %adc.block, ptr %chunk, i32 0, i32 1
  store ptr %ctx, ptr %owner.p
  %capacity.p = getelementptr %adc.block, ptr %chunk, i32 0, i32 4
  store i64 %capacity, ptr %capacity.p
  %class.p = getelementptr %adc.block, ptr %chunk, i32 0, i32 5
  store i32 CHUNK_CLASS, ptr %class.p
  ret void
}

define internal ptr @adc_rt_after(ptr %chunk) {
  %capacity.p = getelementptr %adc.block, ptr %chunk, i32 0, i32 4
  %capacity = load i64, ptr %capacity.p
  %data = getelementptr i8, ptr %chunk, i64 64
  %next = getelementptr i8, ptr %data, i64 %capacity
  ret ptr %next
}

define internal i1 @adc_rt_is_free(ptr %chunk) {
  %live.p = getelementptr %adc.block, ptr %chunk, i32 0, i32 6
  %live = load i32, ptr %live.p
  %free = icmp eq i32 %live, 0
  ret i1 %free
}

; The data of a chunk for so many bytes, or null.
define internal ptr @adc_rt_inside(ptr %ctx, i64 %bytes) noinline {
entry:
  %up = add i64 %bytes, 63
  %lines = and i64 %up, -64
  %nothing = icmp eq i64 %lines, 0
  %need = select i1 %nothing, i64 64, i64 %lines
  %lock = getelementptr %adc.context, ptr %ctx, i32 0, i32 3
  call void @adc_rt_lock(ptr %lock)
  %failed.f = getelementptr %adc.context, ptr %ctx, i32 0, i32 20
  %failed = load i64, ptr %failed.f
  %hopeless = icmp uge i64 %need, %failed
  br i1 %hopeless, label %none, label %search
search:
  %end.f = getelementptr %adc.context, ptr %ctx, i32 0, i32 18
  %end = load ptr, ptr %end.f
  %rover.f = getelementptr %adc.context, ptr %ctx, i32 0, i32 19
  %rover = load ptr, ptr %rover.f
  br label %loop
loop:
  %chunk = phi ptr [ %rover, %search ], [ %next, %pass ]
  %lowest = phi ptr [ null, %search ], [ %lowest.now, %pass ]
  %over = icmp uge ptr %chunk, %end
  br i1 %over, label %give.up, label %look
give.up:
  store i64 %need, ptr %failed.f
  br label %none
none:
  call void @adc_rt_unlock(ptr %lock)
  ret ptr null
look:
  %free = call i1 @adc_rt_is_free(ptr %chunk)
  br i1 %free, label %join, label %pass
join:
  %none.yet = icmp eq ptr %lowest, null
  %lowest.free = select i1 %none.yet, ptr %chunk, ptr %lowest
  %capacity.p = getelementptr %adc.block, ptr %chunk, i32 0, i32 4
  br label %neighbour
neighbour:
  %beside = call ptr @adc_rt_after(ptr %chunk)
  %last = icmp uge ptr %beside, %end
  br i1 %last, label %joined, label %see
see:
  %also = call i1 @adc_rt_is_free(ptr %beside)
  br i1 %also, label %swallow, label %joined
swallow:
  %own = load i64, ptr %capacity.p
  %their.p = getelementptr %adc.block, ptr %beside, i32 0, i32 4
  %their = load i64, ptr %their.p
  %both = add i64 %own, %their
  %whole = add i64 %both, 64
  store i64 %whole, ptr %capacity.p
  br label %neighbour
joined:
  %room = load i64, ptr %capacity.p
  %fits = icmp uge i64 %room, %need
  br i1 %fits, label %take, label %pass
pass:
  %lowest.now = phi ptr [ %lowest, %look ], [ %lowest.free, %joined ]
  %next = call ptr @adc_rt_after(ptr %chunk)
  br label %loop
take:
  %left = sub i64 %room, %need
  %much = icmp uge i64 %left, 128
  br i1 %much, label %split, label %mark
split:
  store i64 %need, ptr %capacity.p
  %rest = call ptr @adc_rt_after(ptr %chunk)
  %remaining = sub i64 %left, 64
  call void @adc_rt_chunk(ptr %ctx, ptr %rest, i64 %remaining)
  br label %mark
mark:
  store ptr %lowest.free, ptr %rover.f
  call void @adc_rt_mark(ptr %ctx, ptr %chunk)
  call void @adc_rt_unlock(ptr %lock)
  %data = getelementptr i8, ptr %chunk, i64 64
  ret ptr %data
}

; Frees a chunk that is not counted any more. The caller holds the lock.
define internal void @adc_rt_leave(ptr %ctx, ptr %chunk) {
  %rover.f = getelementptr %adc.context, ptr %ctx, i32 0, i32 19
  %rover = load ptr, ptr %rover.f
  %below = icmp ult ptr %chunk, %rover
  %lower = select i1 %below, ptr %chunk, ptr %rover
  store ptr %lower, ptr %rover.f
  %failed.f = getelementptr %adc.context, ptr %ctx, i32 0, i32 20
  store i64 -1, ptr %failed.f
  ret void
}
"""


def workspace_ir() -> str:
    """The text; ``LINKAGE`` stands for the linkage of what is called from outside."""
    room = (CONTEXT_BYTES + 63) // 64 * 64
    values = {"CONTEXT_ROOM": room, "CHUNK_CLASS": CHUNK, "LEAST_BYTES": room + 64 + 128 + 63}
    text = _TEXT
    for name, value in values.items():
        text = text.replace(name, str(value))
    return text
