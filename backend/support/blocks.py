"""Blocks of an arena, as LLVM IR: their size classes, how they are made and returned. See ``arena.py``.

The names in capitals are replaced by numbers there.
"""

from __future__ import annotations

_TEXT = r"""
%adc.context = type { i32, i32, i32, i32, i64, i64, i64, i64, i64, i64, i64, ptr, ptr, ptr, [160 x ptr], [14 x i64],
  [11 x i64], ptr, ptr, i64, i64, ptr, ptr, i64, [SMALL_CLASSES x ptr], i64, [TAKEN_COUNT x ptr], i64 }
;  0 threads  1 error  2 site  3 lock  4 a  5 b  6 epoch  7 live  8 live bytes  9 peak bytes  10 held bytes
; 11 blocks  12 next  13 record  14 free lists  15 more values of the error
; 16 how far the run is  17 start of a workspace  18 its end  19 what it has no room for  20 how much to hold
; 21 where the next small block begins  22 end of its slab  23 slabs in use  24 free lists of small blocks
; 25 1 while one thread alone runs code with it  26 the last blocks that were taken, of those that still exist  27 turn
%adc.block = type { ptr, ptr, ptr, ptr, i64, i32, i32, i64, ptr }
;  0 address to free  1 context  2 next of all  3 next free  4 capacity  5 class  6 live (2: cut into small ones)
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
define internal i32 @adc_rt_class(i64 %bytes) alwaysinline {
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
  %last.taken = getelementptr %adc.context, ptr %ctx, i32 0, i32 26
  call void @llvm.memset.p0.i64(ptr %last.taken, i8 0, i64 TAKEN_BYTES, i1 false)
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
"""
_UNLESS_ALONE = r"""
; Around what changes the lists of small blocks: the lock of the context, unless one thread alone runs code with it.
define internal void @adc_rt_NAME(ptr %ctx) alwaysinline {
  %alone.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 25
  %alone = load i64, ptr %alone.p
  %shared = icmp eq i64 %alone, 0
  br i1 %shared, label %several, label %done
several:
  %lock = getelementptr %adc.context, ptr %ctx, i32 0, i32 3
  call void @adc_rt_DO(ptr %lock)
  br label %done
done:
  ret void
}
"""

_AROUND = {"enter": "lock", "exit": "unlock"}
BLOCKS = _TEXT + "".join(_UNLESS_ALONE.replace("NAME", name).replace("DO", do) for name, do in _AROUND.items())
