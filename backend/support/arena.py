"""The arena of a context, as LLVM IR: blocks of memory in size classes, kept between runs. See ``contexts.py``.

Small blocks (``SMALL_BYTES``) are cut from slabs in order, and freed to a list for each class, last in, first out: a
program that keeps a record from each of many calls has its records next to each other. A reset that finds a few blocks
live, such as results, looks for them among those that were taken last. If others are live it takes back whole slabs, in
time independent of the number of small blocks.

While a single thread runs code with a context (``CONTEXT_ALONE``), small blocks are taken and freed without the
context's lock: the stub marks the beginning and end of such a run, and loops on threads suspend it. No other thread
knows of the run's blocks before it ends, so no other thread frees them.

Each block has a header of 64 bytes before its data. There are four classes per power of two, so at most a fifth of a
block is unused; live bytes, and their peak, count only what was requested, since the rest is never touched. A request
takes a free block of its class or of the next three. If a new block would exceed the limit of the context, and is not a
small part of that, free blocks are returned to the system first. Blocks of at least ``HUGE`` bytes are marked for huge
pages. A block of ``LARGE`` bytes or more that was not used in the last ``KEEP_CALLS`` calls of its context is returned
to the system when a new large block is needed. Blocks in files (``files.py``) are linked with the others, and returned
when they are freed. A context may have a workspace, from which it allocates first (``workspace.py``).
"""

from __future__ import annotations

from adc.backend.support.blocks import BLOCKS
from adc.backend.support.workspace import CHUNK

LARGE = 1 << 20
HUGE = 1 << 22
SMALL_BYTES = 2048  # size of the largest small blocks
SMALL_CLASSES = 16
SLAB = 1 << 16
MOST_SLABS = 4  # slabs that stay cut between runs of a context
KEEP_CALLS = 8
TAKEN = 8  # blocks taken last that a context notes; a power of two

_TEXT = r"""
; Marks a block live, for so many bytes, and counts it; not a slab (-1), of which the blocks count. The caller holds the
; lock.
define internal void @adc_rt_mark(ptr %ctx, ptr %block, i64 %asked) alwaysinline {
entry:
  %slab = icmp eq i64 %asked, -1
  br i1 %slab, label %whole, label %part
whole:
  %state.p = getelementptr %adc.block, ptr %block, i32 0, i32 6
  store i32 2, ptr %state.p
  ret void
part:
  %live.p = getelementptr %adc.block, ptr %block, i32 0, i32 6
  store i32 1, ptr %live.p
  %up = add i64 %asked, 63
  %lines = and i64 %up, -64
  %asked.p = getelementptr %adc.block, ptr %block, i32 0, i32 7
  store i64 %lines, ptr %asked.p
  %count.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 7
  %count = load i64, ptr %count.p
  %count1 = add i64 %count, 1
  store i64 %count1, ptr %count.p
  %bytes.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 8
  %bytes = load i64, ptr %bytes.p
  %bytes1 = add i64 %bytes, %lines
  store i64 %bytes1, ptr %bytes.p
  %peak.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 9
  %peak = load i64, ptr %peak.p
  %higher = icmp ugt i64 %bytes1, %peak
  %peak1 = select i1 %higher, i64 %bytes1, i64 %peak
  store i64 %peak1, ptr %peak.p
  %turn.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 27
  %turn = load i64, ptr %turn.p
  %turn1 = add i64 %turn, 1
  store i64 %turn1, ptr %turn.p
  %place = urem i64 %turn, TAKEN_COUNT
  %last.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 26, i64 %place
  store ptr %block, ptr %last.p
  ret void
}

; Takes a block off a list that is not empty. Of the first few it is the lowest that this thread had before, or else the
; lowest: what one core has in its cache does not move to another, and each call finds its arrays where the last one had
; them, in whatever order they were freed. The caller holds the lock.
define internal ptr @adc_rt_pick(ptr %slot) {
entry:
  %me = call ptr @pthread_self()
  br label %loop
loop:
  %link = phi ptr [ %slot, %entry ], [ %next.p, %look ]
  %looked = phi i32 [ 0, %entry ], [ %looked1, %look ]
  %best = phi ptr [ %slot, %entry ], [ %best1, %look ]
  %own = phi i1 [ false, %entry ], [ %own1, %look ]
  %lowest = phi i64 [ -1, %entry ], [ %lowest1, %look ]
  %block = load ptr, ptr %link
  %end = icmp eq ptr %block, null
  %far = icmp uge i32 %looked, 8
  %stop = or i1 %end, %far
  br i1 %stop, label %take, label %look
look:
  %looked1 = add i32 %looked, 1
  %user.p = getelementptr %adc.block, ptr %block, i32 0, i32 8
  %user = load ptr, ptr %user.p
  %mine = icmp eq ptr %user, %me
  %address = ptrtoint ptr %block to i64
  %lower = icmp ult i64 %address, %lowest
  %same = icmp eq i1 %mine, %own
  %first = and i1 %same, %lower
  %gains = icmp ugt i1 %mine, %own
  %better = or i1 %first, %gains
  %best1 = select i1 %better, ptr %link, ptr %best
  %own1 = or i1 %own, %mine
  %lowest1 = select i1 %better, i64 %address, i64 %lowest
  %next.p = getelementptr %adc.block, ptr %block, i32 0, i32 3
  br label %loop
take:
  %taken = load ptr, ptr %best
  %free.p = getelementptr %adc.block, ptr %taken, i32 0, i32 3
  %rest = load ptr, ptr %free.p
  store ptr %rest, ptr %best
  %new.p = getelementptr %adc.block, ptr %taken, i32 0, i32 8
  store ptr %me, ptr %new.p
  ret ptr %taken
}

define LINKAGE noalias ptr @adc_alloc(ptr %ctx, i64 %bytes) {
entry:
  %alone.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 25
  %alone = load i64, ptr %alone.p
  %one.thread = icmp ne i64 %alone, 0
  %little.one = icmp ule i64 %bytes, SMALL_BYTES
  %quick = and i1 %little.one, %one.thread
  br i1 %quick, label %listed, label %locked
listed:
  %number = call i32 @adc_rt_class(i64 %bytes)
  %slot = getelementptr %adc.context, ptr %ctx, i32 0, i32 24, i32 %number
  %head = load ptr, ptr %slot
  %lacking = icmp eq ptr %head, null
  br i1 %lacking, label %locked, label %pop
pop:
  %free.p = getelementptr %adc.block, ptr %head, i32 0, i32 3
  %rest = load ptr, ptr %free.p
  store ptr %rest, ptr %slot
  call void @adc_rt_mark(ptr %ctx, ptr %head, i64 %bytes)
  %popped = getelementptr i8, ptr %head, i64 64
  ret ptr %popped
locked:
  %absurd = icmp ugt i64 %bytes, 140737488355328
  br i1 %absurd, label %none, label %search
none:
  ret ptr null
search:
  %start.f = getelementptr %adc.context, ptr %ctx, i32 0, i32 17
  %workspace = load ptr, ptr %start.f
  %given = icmp ne ptr %workspace, null
  br i1 %given, label %inside, label %usual
inside:
  %chunk = call ptr @adc_rt_inside(ptr %ctx, i64 %bytes)
  %lacks = icmp eq ptr %chunk, null
  br i1 %lacks, label %usual, label %have
have:
  ret ptr %chunk
usual:
  %class = call i32 @adc_rt_class(i64 %bytes)
  %small = icmp ult i32 %class, SMALL_CLASSES
  %limit.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 20
  %limit = load i64, ptr %limit.p
  %free = icmp eq i64 %limit, 0
  %cut = and i1 %small, %free
  br i1 %cut, label %little, label %large
little:
  %piece = call ptr @adc_rt_cut(ptr %ctx, i32 %class, i64 %bytes)
  ret ptr %piece
large:
  %block = call ptr @adc_rt_take(ptr %ctx, i32 %class, i64 %bytes)
  ret ptr %block
}

; A small block: the last of its class that was freed, or the next part of a slab; its data, or null.
define internal ptr @adc_rt_cut(ptr %ctx, i32 %class, i64 %bytes) {
entry:
  %slot = getelementptr %adc.context, ptr %ctx, i32 0, i32 24, i32 %class
  %at.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 21
  %end.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 22
  %capacity = call i64 @adc_rt_capacity(i32 %class)
  %size = add i64 %capacity, 64
  %me = call ptr @pthread_self()
  call void @adc_rt_enter(ptr %ctx)
  %head = load ptr, ptr %slot
  %none = icmp eq ptr %head, null
  br i1 %none, label %slab, label %listed
listed:
  %user.p = getelementptr %adc.block, ptr %head, i32 0, i32 8
  %user = load ptr, ptr %user.p
  %mine = icmp eq ptr %user, %me
  br i1 %mine, label %pop, label %pick
pop:
  %free.p = getelementptr %adc.block, ptr %head, i32 0, i32 3
  %rest = load ptr, ptr %free.p
  store ptr %rest, ptr %slot
  br label %have
pick:
  %picked = call ptr @adc_rt_pick(ptr %slot)
  br label %have
slab:
  %at = load ptr, ptr %at.p
  %end = load ptr, ptr %end.p
  %from = ptrtoint ptr %at to i64
  %to = ptrtoint ptr %end to i64
  %room = sub i64 %to, %from
  %fits = icmp ule i64 %size, %room
  br i1 %fits, label %next, label %refill
refill:
  call void @adc_rt_exit(ptr %ctx)
  %wide = call i32 @adc_rt_class(i64 SLAB_BYTES)
  %fresh = call ptr @adc_rt_take(ptr %ctx, i32 %wide, i64 -1)
  %failed = icmp eq ptr %fresh, null
  br i1 %failed, label %nothing, label %begin
nothing:
  ret ptr null
begin:
  call void @adc_rt_enter(ptr %ctx)
  %count.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 23
  %count = load i64, ptr %count.p
  %count1 = add i64 %count, 1
  store i64 %count1, ptr %count.p
  %last = getelementptr i8, ptr %fresh, i64 SLAB_BYTES
  store ptr %last, ptr %end.p
  br label %next
next:
  %block = phi ptr [ %at, %slab ], [ %fresh, %begin ]
  %after = getelementptr i8, ptr %block, i64 %size
  store ptr %after, ptr %at.p
  %owner.p = getelementptr %adc.block, ptr %block, i32 0, i32 1
  store ptr %ctx, ptr %owner.p
  %class.p = getelementptr %adc.block, ptr %block, i32 0, i32 5
  %known = add i32 %class, SMALL_CLASS
  store i32 %known, ptr %class.p
  %new.p = getelementptr %adc.block, ptr %block, i32 0, i32 8
  store ptr %me, ptr %new.p
  br label %have
have:
  %found = phi ptr [ %head, %pop ], [ %picked, %pick ], [ %block, %next ]
  call void @adc_rt_mark(ptr %ctx, ptr %found, i64 %bytes)
  call void @adc_rt_exit(ptr %ctx)
  %data = getelementptr i8, ptr %found, i64 64
  ret ptr %data
}

; A block of a class from the free lists or the system; its data, or null. -1 bytes: to be cut into small ones.
define internal ptr @adc_rt_take(ptr %ctx, i32 %class, i64 %bytes) {
usual:
  %most = add i32 %class, 3
  %in.table = icmp ult i32 %most, 159
  %stop = select i1 %in.table, i32 %most, i32 159
  %lock = getelementptr %adc.context, ptr %ctx, i32 0, i32 3
  %lists = getelementptr %adc.context, ptr %ctx, i32 0, i32 14
  call void @adc_rt_lock(ptr %lock)
  br label %loop
loop:
  %c = phi i32 [ %class, %usual ], [ %c1, %next ]
  %slot = getelementptr ptr, ptr %lists, i32 %c
  %head = load ptr, ptr %slot
  %empty = icmp eq ptr %head, null
  br i1 %empty, label %next, label %found
next:
  %c1 = add i32 %c, 1
  %more = icmp ule i32 %c1, %stop
  br i1 %more, label %loop, label %system
found:
  %block = call ptr @adc_rt_pick(ptr %slot)
  call void @adc_rt_mark(ptr %ctx, ptr %block, i64 %bytes)
  call void @adc_rt_unlock(ptr %lock)
  %data = getelementptr i8, ptr %block, i64 64
  ret ptr %data
system:
  call void @adc_rt_unlock(ptr %lock)
  %new = call ptr @adc_rt_new_block(ptr %ctx, i32 %class, i64 %bytes)
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
  %class.p = getelementptr %adc.block, ptr %block, i32 0, i32 5
  %class = load i32, ptr %class.p
  %known = sub i32 %class, SMALL_CLASS
  %small = icmp ult i32 %known, SMALL_CLASSES
  br i1 %small, label %cut, label %large
cut:
  %slot = getelementptr %adc.context, ptr %ctx, i32 0, i32 24, i32 %known
  call void @adc_rt_enter(ptr %ctx)
  call void @adc_rt_idle(ptr %ctx, ptr %block)
  call void @adc_rt_list(ptr %slot, ptr %block)
  call void @adc_rt_exit(ptr %ctx)
  ret void
large:
  %on.disk = icmp eq i32 %class, -1
  br i1 %on.disk, label %file, label %memory
file:
  call void @adc_rt_free_file(ptr %ctx, ptr %block)
  ret void
memory:
  %its = getelementptr %adc.context, ptr %ctx, i32 0, i32 3
  call void @adc_rt_lock(ptr %its)
  call void @adc_rt_idle(ptr %ctx, ptr %block)
  %in.workspace = icmp eq i32 %class, CHUNK_CLASS
  br i1 %in.workspace, label %chunk, label %whole
chunk:
  call void @adc_rt_leave(ptr %ctx, ptr %block)
  br label %unlock
whole:
  %usual = getelementptr %adc.context, ptr %ctx, i32 0, i32 14, i32 %class
  call void @adc_rt_list(ptr %usual, ptr %block)
  br label %unlock
unlock:
  call void @adc_rt_unlock(ptr %its)
  br label %done
done:
  ret void
}

; A block is not live any more. The caller holds the lock, or is alone.
define internal void @adc_rt_idle(ptr %ctx, ptr %block) alwaysinline {
  %live.p = getelementptr %adc.block, ptr %block, i32 0, i32 6
  store i32 0, ptr %live.p
  %count.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 7
  %count = load i64, ptr %count.p
  %count1 = sub i64 %count, 1
  store i64 %count1, ptr %count.p
  %asked.p = getelementptr %adc.block, ptr %block, i32 0, i32 7
  %asked = load i64, ptr %asked.p
  %bytes.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 8
  %bytes = load i64, ptr %bytes.p
  %bytes1 = sub i64 %bytes, %asked
  store i64 %bytes1, ptr %bytes.p
  %epoch.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 6
  %epoch = load i64, ptr %epoch.p
  store i64 %epoch, ptr %asked.p
  ret void
}

; Puts a block in front of a list. The caller holds the lock, or is alone.
define internal void @adc_rt_list(ptr %slot, ptr %block) alwaysinline {
  %first = load ptr, ptr %slot
  %free.p = getelementptr %adc.block, ptr %block, i32 0, i32 3
  store ptr %first, ptr %free.p
  store ptr %block, ptr %slot
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
  %capacity.p = getelementptr %adc.block, ptr %block, i32 0, i32 7
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
"""


def arena_ir(*, linux: bool) -> str:
    """The text; ``LINKAGE`` stands for the linkage of functions that are called from outside. ``linux``: with huge
    pages."""
    text = BLOCKS + _TEXT
    values = {"LARGE_BYTES": LARGE, "HUGE_BYTES": HUGE, "KEEP_EPOCHS": KEEP_CALLS, "CHUNK_CLASS": CHUNK}
    values |= {"SMALL_CLASSES": SMALL_CLASSES, "SMALL_CLASS": 256, "SLAB_BYTES": SLAB}
    values |= {"SMALL_BYTES": SMALL_BYTES, "TAKEN_COUNT": TAKEN, "TAKEN_BYTES": 8 * TAKEN}
    for name, value in values.items():
        text = text.replace(name, str(value))
    return text.replace("MADVISE", "%advised = call i32 @madvise(ptr %start, i64 %pages, i32 14)" if linux else "")
