"""Contexts in memory of the caller (a workspace), as LLVM IR: a call allocates from there. See ``contexts.py``.

The workspace begins with the context and a table; the rest is a sequence of chunks, live or free, each with the header
of a block. Two free chunks are never adjacent. A request takes the first free chunk that is large enough, and splits
off the rest. For each power of two the table has an address below which no free chunk has so many lines, so that many
live chunks or small holes are not searched again and again. Requests that do not fit are taken from the system.
"""

from __future__ import annotations

CONTEXT_BYTES = 1840
CHUNK = -2  # the class of blocks in a workspace
_ROVERS, _COUNT = 1856, 48  # offset of the table in a context, and its number of entries

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
  call void @adc_rt_chunk(ptr %ctx, ptr %first, i64 %capacity, ptr null)
  br label %rovers
rovers:
  %c = phi i64 [ 0, %make ], [ %c1, %rovers ]
  %rover.p = call ptr @adc_rt_rover(ptr %ctx, i64 %c)
  store ptr %first, ptr %rover.p
  %c1 = add i64 %c, 1
  %more = icmp ult i64 %c1, ROVERS
  br i1 %more, label %rovers, label %ready
ready:
  %start.f = getelementptr %adc.context, ptr %ctx, i32 0, i32 17
  store ptr %first, ptr %start.f
  %end.f = getelementptr %adc.context, ptr %ctx, i32 0, i32 18
  store ptr %end.p, ptr %end.f
  %failed.f = getelementptr %adc.context, ptr %ctx, i32 0, i32 19
  store i64 -1, ptr %failed.f
  ret ptr %ctx
}

define internal ptr @adc_rt_rover(ptr %ctx, i64 %c) {
  %table = getelementptr i8, ptr %ctx, i64 TABLE
  %entry = getelementptr ptr, ptr %table, i64 %c
  ret ptr %entry
}

define internal void @adc_rt_chunk(ptr %ctx, ptr %chunk, i64 %capacity, ptr %previous) {
  call void @llvm.memset.p0.i64(ptr %chunk, i8 0, i64 64, i1 false)
  %owner.p = getelementptr %adc.block, ptr %chunk, i32 0, i32 1
  store ptr %ctx, ptr %owner.p
  %previous.p = getelementptr %adc.block, ptr %chunk, i32 0, i32 2
  store ptr %previous, ptr %previous.p
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

; Tells the chunk after %chunk, if there is one, which is before it.
define internal void @adc_rt_tell(ptr %ctx, ptr %chunk) {
  %end.f = getelementptr %adc.context, ptr %ctx, i32 0, i32 18
  %end = load ptr, ptr %end.f
  %next = call ptr @adc_rt_after(ptr %chunk)
  %last = icmp uge ptr %next, %end
  br i1 %last, label %done, label %tell
tell:
  %previous.p = getelementptr %adc.block, ptr %next, i32 0, i32 2
  store ptr %chunk, ptr %previous.p
  br label %done
done:
  ret void
}

; The data of a chunk for so many bytes, or null.
define internal ptr @adc_rt_inside(ptr %ctx, i64 %bytes) noinline {
entry:
  %up = add i64 %bytes, 63
  %lines = lshr i64 %up, 6
  %nothing = icmp eq i64 %lines, 0
  %units = select i1 %nothing, i64 1, i64 %lines
  %need = shl i64 %units, 6
  %zeros = call i64 @llvm.ctlz.i64(i64 %units, i1 true)
  %class = sub i64 63, %zeros
  %power = shl i64 64, %class
  %lock = getelementptr %adc.context, ptr %ctx, i32 0, i32 3
  call void @adc_rt_lock(ptr %lock)
  %failed.f = getelementptr %adc.context, ptr %ctx, i32 0, i32 19
  %failed = load i64, ptr %failed.f
  %hopeless = icmp uge i64 %need, %failed
  br i1 %hopeless, label %none, label %search
search:
  %end.f = getelementptr %adc.context, ptr %ctx, i32 0, i32 18
  %end = load ptr, ptr %end.f
  %rover.p = call ptr @adc_rt_rover(ptr %ctx, i64 %class)
  %rover = load ptr, ptr %rover.p
  br label %loop
loop:
  %chunk = phi ptr [ %rover, %search ], [ %next, %pass ]
  %lowest = phi ptr [ null, %search ], [ %lowest.now, %pass ]
  %over = icmp uge ptr %chunk, %end
  br i1 %over, label %give.up, label %look
give.up:
  store i64 %need, ptr %failed.f
  %empty = icmp eq ptr %lowest, null
  %from = select i1 %empty, ptr %end, ptr %lowest
  store ptr %from, ptr %rover.p
  br label %none
none:
  call void @adc_rt_unlock(ptr %lock)
  ret ptr null
look:
  %free = call i1 @adc_rt_is_free(ptr %chunk)
  br i1 %free, label %measure, label %pass
measure:
  %capacity.p = getelementptr %adc.block, ptr %chunk, i32 0, i32 4
  %room = load i64, ptr %capacity.p
  %counts = icmp uge i64 %room, %power
  %none.yet = icmp eq ptr %lowest, null
  %is.lowest = and i1 %counts, %none.yet
  %lowest.free = select i1 %is.lowest, ptr %chunk, ptr %lowest
  %fits = icmp uge i64 %room, %need
  br i1 %fits, label %take, label %pass
pass:
  %lowest.now = phi ptr [ %lowest, %look ], [ %lowest.free, %measure ]
  %next = call ptr @adc_rt_after(ptr %chunk)
  br label %loop
take:
  store ptr %lowest.free, ptr %rover.p
  %left = sub i64 %room, %need
  %much = icmp uge i64 %left, 128
  br i1 %much, label %split, label %mark
split:
  store i64 %need, ptr %capacity.p
  %rest = call ptr @adc_rt_after(ptr %chunk)
  %remaining = sub i64 %left, 64
  call void @adc_rt_chunk(ptr %ctx, ptr %rest, i64 %remaining, ptr %chunk)
  call void @adc_rt_tell(ptr %ctx, ptr %rest)
  br label %mark
mark:
  call void @adc_rt_mark(ptr %ctx, ptr %chunk, i64 %need)
  call void @adc_rt_unlock(ptr %lock)
  %data = getelementptr i8, ptr %chunk, i64 64
  ret ptr %data
}

; Joins a chunk that became free with free neighbours. The caller holds the lock.
define internal void @adc_rt_leave(ptr %ctx, ptr %chunk) {
entry:
  %failed.f = getelementptr %adc.context, ptr %ctx, i32 0, i32 19
  store i64 -1, ptr %failed.f
  %end.f = getelementptr %adc.context, ptr %ctx, i32 0, i32 18
  %end = load ptr, ptr %end.f
  %beside = call ptr @adc_rt_after(ptr %chunk)
  %last = icmp uge ptr %beside, %end
  br i1 %last, label %before, label %see
see:
  %next.free = call i1 @adc_rt_is_free(ptr %beside)
  br i1 %next.free, label %swallow, label %before
swallow:
  call void @adc_rt_join(ptr %chunk, ptr %beside)
  br label %before
before:
  %previous.p = getelementptr %adc.block, ptr %chunk, i32 0, i32 2
  %previous = load ptr, ptr %previous.p
  %first = icmp eq ptr %previous, null
  br i1 %first, label %joined, label %look
look:
  %previous.free = call i1 @adc_rt_is_free(ptr %previous)
  br i1 %previous.free, label %swallowed, label %joined
swallowed:
  call void @adc_rt_join(ptr %previous, ptr %chunk)
  br label %joined
joined:
  %whole = phi ptr [ %chunk, %before ], [ %chunk, %look ], [ %previous, %swallowed ]
  call void @adc_rt_tell(ptr %ctx, ptr %whole)
  %after = call ptr @adc_rt_after(ptr %whole)
  %capacity.p = getelementptr %adc.block, ptr %whole, i32 0, i32 4
  %capacity = load i64, ptr %capacity.p
  br label %rovers
rovers:
  %c = phi i64 [ 0, %joined ], [ %c1, %rovers ]
  %rover.p = call ptr @adc_rt_rover(ptr %ctx, i64 %c)
  %rover = load ptr, ptr %rover.p
  %power = shl i64 64, %c
  %counts = icmp uge i64 %capacity, %power
  %within = icmp ult ptr %rover, %after
  %moves = or i1 %counts, %within  ; a place inside is that of no chunk any more
  %above = icmp ugt ptr %rover, %whole
  %lower = and i1 %moves, %above
  %now = select i1 %lower, ptr %whole, ptr %rover
  store ptr %now, ptr %rover.p
  %c1 = add i64 %c, 1
  %more = icmp ult i64 %c1, ROVERS
  br i1 %more, label %rovers, label %done
done:
  ret void
}

define internal void @adc_rt_join(ptr %chunk, ptr %other) {
  %capacity.p = getelementptr %adc.block, ptr %chunk, i32 0, i32 4
  %own = load i64, ptr %capacity.p
  %their.p = getelementptr %adc.block, ptr %other, i32 0, i32 4
  %their = load i64, ptr %their.p
  %both = add i64 %own, %their
  %whole = add i64 %both, 64
  store i64 %whole, ptr %capacity.p
  ret void
}
"""


def workspace_ir() -> str:
    """The text; ``LINKAGE`` stands for the linkage of functions that are called from outside."""
    room = _ROVERS + 8 * _COUNT
    values = {"TABLE": _ROVERS, "ROVERS": _COUNT}
    values |= {"CONTEXT_ROOM": room, "CHUNK_CLASS": CHUNK, "LEAST_BYTES": room + 64 + 128 + 63}
    text = _TEXT
    for name, value in values.items():
        text = text.replace(name, str(value))
    return text
