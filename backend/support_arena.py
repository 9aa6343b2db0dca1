"""The arena of a context, as LLVM IR: blocks of memory in size classes, kept between runs. See ``adc.backend.support``.

Each block has a header of 64 bytes before its data. Classes come four to a power of two, so at most a fifth of a block
is unused; what is live, and its peak, is what was asked for, for nobody touches the rest. A request takes a free block
of its class or of the next three. Where a new one would be more than the context is to hold, and is no small part of
that, what is free is returned first. Blocks of at least ``HUGE`` bytes are
marked for huge pages. A block of ``LARGE`` bytes or more that was in no use during the last ``KEEP_CALLS`` calls of its
context is returned to the system when a new large one is needed. Blocks in files (``adc.backend.support_files``) are
linked with the others, and returned when they are freed. A context may have a workspace, where it looks for room first
(``adc.backend.support_workspace``).
"""

from __future__ import annotations

from adc.backend.support_workspace import CHUNK

LARGE = 1 << 20
HUGE = 1 << 22
KEEP_CALLS = 8

_TEXT = r"""
%adc.context = type { i32, i32, i32, i32, i64, i64, i64, i64, i64, i64, i64, ptr, ptr, ptr, [160 x ptr], [14 x i64],
  [11 x i64], ptr, ptr, i64, i64 }
;  0 threads  1 error  2 site  3 lock  4 a  5 b  6 epoch  7 live  8 live bytes  9 peak bytes  10 held bytes
; 11 blocks  12 next  13 record  14 free lists  15 more values of the error
; 16 how far the run is  17 start of a workspace  18 its end  19 what it has no room for  20 how much to hold
%adc.block = type { ptr, ptr, ptr, ptr, i64, i32, i32, i64, ptr }
;  0 address to free  1 context  2 next of all  3 next free  4 capacity  5 class  6 live
;  7 while it is live, how much was asked for, in whole lines; when it is free, the epoch of its last use
;  8 the thread that asked for it last, or the file that it is in

declare noalias ptr @malloc(i64)
declare void @free(ptr)
declare i32 @sched_yield()
declare ptr @pthread_self()
declare i32 @madvise(ptr, i64, i32)
declare i64 @llvm.ctlz.i64(i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; A lock that is held has the number of forks that led to this process, plus one. One with another number was held by a
; thread of a process before, which is not here and will never release it: it is free.
define internal void @adc_rt_lock(ptr %lock) {
  %forks = load atomic i32, ptr @adc_forked monotonic, align 4
  %mine = add i32 %forks, 1
  br label %try
try:
  %old = atomicrmw xchg ptr %lock, i32 %mine acquire, align 4
  %taken = icmp eq i32 %old, %mine
  br i1 %taken, label %wait, label %done
wait:
  %ignored = call i32 @sched_yield()
  %now = load atomic i32, ptr %lock monotonic, align 4
  %busy = icmp eq i32 %now, %mine
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
  %class.p = getelementptr %adc.block, ptr %block, i32 0, i32 5
  %class = load i32, ptr %class.p
  %file = icmp eq i32 %class, -1
  %over = or i1 %old, %file
  br i1 %over, label %drop, label %list
drop:
  %next = load ptr, ptr %next.p
  store ptr %next, ptr %link
  %capacity.p = getelementptr %adc.block, ptr %block, i32 0, i32 4
  %capacity = load i64, ptr %capacity.p
  %own = select i1 %file, i64 0, i64 %capacity
  %held = load i64, ptr %held.p
  %less = sub i64 %held, %own
  store i64 %less, ptr %held.p
  call void @adc_rt_release(ptr %block)
  br label %loop
list:
  %slot = getelementptr ptr, ptr %lists, i32 %class
  %first = load ptr, ptr %slot
  %free.p = getelementptr %adc.block, ptr %block, i32 0, i32 3
  store ptr %first, ptr %free.p
  store ptr %block, ptr %slot
  br label %loop
done:
  ret void
}

; A new block from the system for so many bytes, linked into the context and live; its data, or null. What of the block
; is beyond them is not on huge pages: it takes no memory as long as nobody uses it.
define internal ptr @adc_rt_new_block(ptr %ctx, i32 %class, i64 %bytes) noinline {
entry:
  %capacity = call i64 @adc_rt_capacity(i32 %class)
  %lock = getelementptr %adc.context, ptr %ctx, i32 0, i32 3
  %large = icmp uge i64 %capacity, LARGE_BYTES
  %limit.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 20
  %limit = load i64, ptr %limit.p
  %has.limit = icmp ne i64 %limit, 0
  %part = lshr i64 %limit, 8
  %counts = icmp uge i64 %capacity, %part
  %limited = and i1 %has.limit, %counts
  %tidies = or i1 %large, %limited
  br i1 %tidies, label %tidy, label %get
tidy:
  call void @adc_rt_lock(ptr %lock)
  call void @adc_rt_trim(ptr %ctx, i64 KEEP_EPOCHS)
  %holds.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 10
  %holds = load i64, ptr %holds.p
  %would = add i64 %holds, %capacity
  %beyond = icmp ugt i64 %would, %limit
  %full = and i1 %has.limit, %beyond
  br i1 %full, label %empty, label %tidied
empty:
  call void @adc_rt_trim(ptr %ctx, i64 0)
  br label %tidied
tidied:
  call void @adc_rt_unlock(ptr %lock)
  br label %get
get:
  ; Alignment 64, or 2 MiB for huge pages. The start is staggered: arrays must not compete for the same cache sets.
  %huge = icmp uge i64 %capacity, HUGE_BYTES
  %align = select i1 %huge, i64 2097152, i64 64
  %small = icmp ult i64 %capacity, 16384
  %room = select i1 %small, i64 64, i64 4096  ; for the header, and the stagger
  %spare = add i64 %align, %room
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
  %used = add i64 %bytes, 4096
  %pages = and i64 %used, -2097152
  %start = inttoptr i64 %aligned to ptr
  MADVISE
  br label %place
place:
  call void @adc_rt_lock(ptr %lock)
  %held.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 10
  %held = load i64, ptr %held.p
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
  %user.p = getelementptr %adc.block, ptr %block, i32 0, i32 8
  %me = call ptr @pthread_self()
  store ptr %me, ptr %user.p
  call void @adc_rt_mark(ptr %ctx, ptr %block, i64 %bytes)
  call void @adc_rt_unlock(ptr %lock)
  %data = getelementptr i8, ptr %block, i64 64
  ret ptr %data
}

; Marks a block live, for so many bytes, and counts it. The caller holds the lock.
define internal void @adc_rt_mark(ptr %ctx, ptr %block, i64 %asked) {
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
  %on.disk = icmp eq i32 %class, -1
  br i1 %on.disk, label %file, label %memory
file:
  call void @adc_rt_free_file(ptr %ctx, ptr %block)
  br label %done
memory:
  %lock = getelementptr %adc.context, ptr %ctx, i32 0, i32 3
  call void @adc_rt_lock(ptr %lock)
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
  %in.workspace = icmp eq i32 %class, CHUNK_CLASS
  br i1 %in.workspace, label %chunk, label %listed
chunk:
  call void @adc_rt_leave(ptr %ctx, ptr %block)
  br label %unlock
listed:
  %lists = getelementptr %adc.context, ptr %ctx, i32 0, i32 14
  %slot = getelementptr ptr, ptr %lists, i32 %class
  %first = load ptr, ptr %slot
  %free.p = getelementptr %adc.block, ptr %block, i32 0, i32 3
  store ptr %first, ptr %free.p
  store ptr %block, ptr %slot
  br label %unlock
unlock:
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
    """The text; ``LINKAGE`` stands for the linkage of what is called from outside. ``linux``: with huge pages."""
    text = _TEXT
    values = {"LARGE_BYTES": LARGE, "HUGE_BYTES": HUGE, "KEEP_EPOCHS": KEEP_CALLS, "CHUNK_CLASS": CHUNK}
    for name, value in values.items():
        text = text.replace(name, str(value))
    return text.replace("MADVISE", "%advised = call i32 @madvise(ptr %start, i64 %pages, i32 14)" if linux else "")
