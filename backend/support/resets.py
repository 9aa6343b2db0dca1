"""The end of a run, as LLVM IR: everything that is still allocated goes back to the free lists of its context.

Results are live then, and little else in most runs. They are found among the blocks that were taken last, so that a run
costs the same in a context that has run many other programs. See ``contexts.py``.
"""

from __future__ import annotations

from adc.backend.support.arena import MOST_SLABS, SMALL_CLASSES, TAKEN

MANY_BLOCKS = 256  # with more, a context that is gone through keeps only those that the last run used

_TEXT = r"""
define LINKAGE void @adc_context_reset(ptr %ctx) {
entry:
  %error.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 1
  store atomic i32 0, ptr %error.p monotonic, align 4
  %record.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 13
  store ptr null, ptr %record.p
  %live.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 7
  %live = load i64, ptr %live.p
  %none = icmp eq i64 %live, 0
  %slabs.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 23
  %slabs = load i64, ptr %slabs.p
  %few = icmp ule i64 %slabs, MOST_SLABS
  %clean = and i1 %none, %few
  br i1 %clean, label %done, label %try
try:
  %little = icmp ule i64 %live, TAKEN_COUNT
  %search = and i1 %little, %few
  br i1 %search, label %each, label %sweep
each:
  %k = phi i64 [ 0, %try ], [ %k1, %after ]
  %last.slot = getelementptr %adc.context, ptr %ctx, i32 0, i32 26, i64 %k
  %taken = load ptr, ptr %last.slot
  %nothing = icmp eq ptr %taken, null
  br i1 %nothing, label %after, label %known
known:
  %its.p = getelementptr %adc.block, ptr %taken, i32 0, i32 1
  %its = load ptr, ptr %its.p
  %ours = icmp eq ptr %its, %ctx
  %is.live.p = getelementptr %adc.block, ptr %taken, i32 0, i32 6
  %is.live = load i32, ptr %is.live.p
  %one = icmp eq i32 %is.live, 1
  %free = and i1 %ours, %one
  br i1 %free, label %give, label %after
give:
  %data = getelementptr i8, ptr %taken, i64 64
  call void @adc_free(ptr %ctx, ptr %data)
  br label %after
after:
  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, TAKEN_COUNT
  br i1 %more, label %each, label %searched
searched:
  %left = load i64, ptr %live.p
  %all = icmp eq i64 %left, 0
  br i1 %all, label %done, label %sweep
sweep:
  ; Slabs are blocks like others again, and whatever was cut from them is gone.
  %cut = getelementptr %adc.context, ptr %ctx, i32 0, i32 21
  call void @llvm.memset.p0.i64(ptr %cut, i8 0, i64 CUT_BYTES, i1 false)
  store i64 0, ptr %live.p
  %live.bytes.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 8
  store i64 0, ptr %live.bytes.p
  %epoch.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 6
  %epoch = load i64, ptr %epoch.p
  %head = getelementptr %adc.context, ptr %ctx, i32 0, i32 11
  br label %loop
loop:
  %link = phi ptr [ %head, %sweep ], [ %next.p, %next ]
  %count = phi i64 [ 0, %sweep ], [ %count1, %next ]
  %block = load ptr, ptr %link
  %end = icmp eq ptr %block, null
  br i1 %end, label %list, label %look
look:
  %next.p = getelementptr %adc.block, ptr %block, i32 0, i32 2
  %state.p = getelementptr %adc.block, ptr %block, i32 0, i32 6
  %state = load i32, ptr %state.p
  %used = icmp ne i32 %state, 0
  br i1 %used, label %mark, label %next
mark:
  store i32 0, ptr %state.p
  %last.p = getelementptr %adc.block, ptr %block, i32 0, i32 7
  store i64 %epoch, ptr %last.p
  br label %next
next:
  %count1 = add i64 %count, 1
  br label %loop
list:
  ; What this run has not used is given up where there is so much that going through it takes long: it was another
  ; program's, and every run that comes after it would do so.
  %many = icmp ugt i64 %count, MANY_BLOCKS
  %age = select i1 %many, i64 1, i64 4611686018427387904
  call void @adc_rt_trim(ptr %ctx, i64 %age)
  br label %done
done:
  ret void
}
"""


def resets_ir() -> str:
    text = _TEXT.replace("MANY_BLOCKS", str(MANY_BLOCKS)).replace("MOST_SLABS", str(MOST_SLABS))
    return text.replace("TAKEN_COUNT", str(TAKEN)).replace("CUT_BYTES", str(24 + 8 * SMALL_CLASSES))
