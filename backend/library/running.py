"""The current runs of compiled code and their progress, as LLVM IR; ``adc.backend.running`` reads them.

A run without the interpreter lock links its context into a list, under the lock. Loops that count their steps
(``adc.backend.lowering.counting``) write to the context. It has a record for the loop of the forward sweep that began
last, and one for that of the reverse sweep: which loop it is, how many steps are done, and how many there are (-1: not
known). A loop that begins first clears the name in the record, so a reader that finds the same name before and after
reading has a consistent record.

- ``void adc_run_begin(ptr ctx)``, ``void adc_run_end(ptr ctx)``: around a run, with the lock
- ``i64 adc_runs_read(ptr records)``: with the lock; fills in at most ``RECORDS`` records and returns how many. Runs
  that have ended since the last call come first, if ``adc_runs_watched`` was set. A record is ``WORDS`` words: whether
  the run still goes on, its number, and three words for each sweep.
"""

from __future__ import annotations

from adc.backend.support.contexts import CONTEXT_NEXT_RUN, CONTEXT_RUN

EXPORTS = ("adc_run_begin", "adc_run_end", "adc_runs_read", "adc_runs", "adc_runs_watched")

DECLARATIONS = {
    "adc_run_begin": "declare void @adc_run_begin(ptr)",
    "adc_run_end": "declare void @adc_run_end(ptr)",
}

RECORDS = 128
ENDED = 64  # records for runs that have ended; if there are more, the last ones
WORDS = 8

_TEXT = r"""
@adc_runs = global ptr null, align 8
@adc_runs_watched = global i32 0, align 4
@adc_rt_runs_begun = internal global i64 0, align 8
@adc_rt_runs_ended = internal global i64 0, align 8
@adc_rt_ended = internal global [ENDED x [7 x i64]] zeroinitializer, align 8

define void @adc_run_begin(ptr %ctx) {
entry:
  %next.p = getelementptr i8, ptr %ctx, i64 NEXT
  %before.p = getelementptr i8, ptr %ctx, i64 BEFORE
  %first = load ptr, ptr @adc_runs
  store ptr %first, ptr %next.p
  store ptr @adc_runs, ptr %before.p
  store ptr %ctx, ptr @adc_runs
  %begun = load i64, ptr @adc_rt_runs_begun
  %number = add i64 %begun, 1
  store i64 %number, ptr @adc_rt_runs_begun
  %number.p = getelementptr i8, ptr %ctx, i64 NUMBER
  store i64 %number, ptr %number.p
  %forward.p = getelementptr i8, ptr %ctx, i64 FORWARD
  store i64 0, ptr %forward.p
  %reverse.p = getelementptr i8, ptr %ctx, i64 REVERSE
  store i64 0, ptr %reverse.p
  %alone = icmp eq ptr %first, null
  br i1 %alone, label %done, label %others
others:
  %first.before.p = getelementptr i8, ptr %first, i64 BEFORE
  store ptr %next.p, ptr %first.before.p
  br label %done
done:
  ret void
}

define void @adc_run_end(ptr %ctx) {
entry:
  %next.p = getelementptr i8, ptr %ctx, i64 NEXT
  %before.p = getelementptr i8, ptr %ctx, i64 BEFORE
  %next = load ptr, ptr %next.p
  %before = load ptr, ptr %before.p
  store ptr %next, ptr %before
  %last = icmp eq ptr %next, null
  br i1 %last, label %look, label %others
others:
  %next.before.p = getelementptr i8, ptr %next, i64 BEFORE
  store ptr %before, ptr %next.before.p
  br label %look
look:
  %watched = load i32, ptr @adc_runs_watched
  %alone = icmp eq i32 %watched, 0
  br i1 %alone, label %done, label %keep
keep:
  %ended = load i64, ptr @adc_rt_runs_ended
  %slot = urem i64 %ended, ENDED
  %kept.p = getelementptr [7 x i64], ptr @adc_rt_ended, i64 %slot
  %number.p = getelementptr i8, ptr %ctx, i64 NUMBER
  call void @llvm.memcpy.p0.p0.i64(ptr %kept.p, ptr %number.p, i64 56, i1 false)
  %ended1 = add i64 %ended, 1
  store i64 %ended1, ptr @adc_rt_runs_ended
  br label %done
done:
  ret void
}

define internal void @adc_rt_read_sweep(ptr %from, ptr %to) {
  %done.p = getelementptr i64, ptr %from, i64 1
  %all.p = getelementptr i64, ptr %from, i64 2
  %name = load atomic i64, ptr %from acquire, align 8
  %done = load atomic i64, ptr %done.p acquire, align 8
  %all = load atomic i64, ptr %all.p acquire, align 8
  %after = load atomic i64, ptr %from acquire, align 8
  %same = icmp eq i64 %name, %after
  %sure = select i1 %same, i64 %name, i64 0
  store i64 %sure, ptr %to
  %to.done.p = getelementptr i64, ptr %to, i64 1
  store i64 %done, ptr %to.done.p
  %to.all.p = getelementptr i64, ptr %to, i64 2
  store i64 %all, ptr %to.all.p
  ret void
}

define i64 @adc_runs_read(ptr %records) {
entry:
  %ended = load i64, ptr @adc_rt_runs_ended
  store i64 0, ptr @adc_rt_runs_ended
  %many = icmp ugt i64 %ended, ENDED
  %kept = select i1 %many, i64 ENDED, i64 %ended
  %first = load ptr, ptr @adc_runs
  br label %next.ended
next.ended:
  %n = phi i64 [ 0, %entry ], [ %n1, %copy ]
  %more = icmp ult i64 %n, %kept
  br i1 %more, label %copy, label %next.running
copy:
  %back = sub i64 %kept, %n
  %number = sub i64 %ended, %back
  %slot = urem i64 %number, ENDED
  %kept.p = getelementptr [7 x i64], ptr @adc_rt_ended, i64 %slot
  %to = getelementptr [WORDS x i64], ptr %records, i64 %n
  store i64 0, ptr %to
  %to.words = getelementptr i64, ptr %to, i64 1
  call void @llvm.memcpy.p0.p0.i64(ptr %to.words, ptr %kept.p, i64 56, i1 false)
  %n1 = add i64 %n, 1
  br label %next.ended
next.running:
  %m = phi i64 [ %kept, %next.ended ], [ %m1, %read ]
  %ctx = phi ptr [ %first, %next.ended ], [ %next, %read ]
  %none = icmp eq ptr %ctx, null
  %full = icmp uge i64 %m, RECORDS
  %over = or i1 %none, %full
  br i1 %over, label %finished, label %read
read:
  %run = getelementptr [WORDS x i64], ptr %records, i64 %m
  store i64 1, ptr %run
  %run.number.p = getelementptr i64, ptr %run, i64 1
  %number.p = getelementptr i8, ptr %ctx, i64 NUMBER
  %its.number = load i64, ptr %number.p
  store i64 %its.number, ptr %run.number.p
  %forward.p = getelementptr i8, ptr %ctx, i64 FORWARD
  %run.forward.p = getelementptr i64, ptr %run, i64 2
  call void @adc_rt_read_sweep(ptr %forward.p, ptr %run.forward.p)
  %reverse.p = getelementptr i8, ptr %ctx, i64 REVERSE
  %run.reverse.p = getelementptr i64, ptr %run, i64 5
  call void @adc_rt_read_sweep(ptr %reverse.p, ptr %run.reverse.p)
  %next.p = getelementptr i8, ptr %ctx, i64 NEXT
  %next = load ptr, ptr %next.p
  %m1 = add i64 %m, 1
  br label %next.running
finished:
  ret i64 %m
}
"""


def running_ir() -> str:
    """The LLVM IR, to be compiled with the support."""
    places = {
        "NEXT": CONTEXT_NEXT_RUN,
        "BEFORE": CONTEXT_NEXT_RUN + 8,
        "NUMBER": CONTEXT_RUN,
        "FORWARD": CONTEXT_RUN + 8,
        "REVERSE": CONTEXT_RUN + 32,
        "ENDED": ENDED,
        "RECORDS": RECORDS,
        "WORDS": WORDS,
    }
    text = _TEXT
    for name, value in places.items():
        text = text.replace(f" {name}\n", f" {value}\n").replace(f" {name},", f" {value},")
        text = text.replace(f"[{name} x", f"[{value} x")
    return text
