"""Measures whether threads pay for a parallel loop, as LLVM IR of the run-time support.

If all cores are busy, a thread that a loop waits for may sleep for milliseconds; if a loop is short, waking threads
costs more than they save. Both have the same symptom: the loop takes longer than on one thread. So for each loop, and
for each power of four of the work of a run, the time per unit of work on one thread is recorded. A run on threads that
takes longer is a loss. After a loss the loop runs on one thread for ``REST`` times the lost time: so losses are at most
a fixed share of the time, however busy the machine is, and threads are used again when it is idle. A loss of ``LONG``
nanoseconds means that a thread was asleep; after it all loops rest, and twice as long if the last run on threads was
such a loss, too. Results do not depend on any of this: blocks of iterations are the same on any number of threads.

- ``i32 adc_threads_pay(ptr ctx, ptr body, double work, ptr measure)``: 0 if a loop with this work should run on one
  thread now, 1 if on several, 2 if on several and the calling thread should measure its own share. ``measure`` has
  ``MEASURE`` bytes. If the user has set the number of threads (in the context), they always pay.
- ``void adc_threads_paid(ptr measure, double work, i32 threads, i64 own)``: called after the loop has run, on so many
  threads (0: on one); ``own`` is the calling thread's share in nanoseconds, or 0
- ``i64 adc_now()``: nanoseconds
"""

from __future__ import annotations

MEASURE = 16  # bytes: start of the run, and address of the loop's entry
REST = 16
LONG = 300_000
MOST_REST = 1_000_000_000
MOST_TIMES = 6  # times that the rest may be doubled

FUNCTIONS = ("adc_now", "adc_threads_pay", "adc_threads_paid")
DECLARATIONS = {
    "adc_now": "declare i64 @adc_now() nounwind",
    "adc_threads_pay": "declare i32 @adc_threads_pay(ptr, ptr, double, ptr) nounwind",
    "adc_threads_paid": "declare void @adc_threads_paid(ptr, double, i32, i64) nounwind",
}

# An entry for a loop: its key, the end of its rest, nanoseconds per unit of work on one thread (0: not known).
_LOOP = "{ i64, i64, double }"
_TEXT = f"""
@adc_rt_loops = internal global [256 x {_LOOP}] zeroinitializer, align 64
@adc_rt_rest = internal global i64 0, align 8
@adc_rt_losses = internal global i64 0, align 8

declare i32 @clock_gettime(i32, ptr)

define LINKAGE i64 @adc_now() nounwind {{
entry:
  %time = alloca {{ i64, i64 }}, align 8
  %unused = call i32 @clock_gettime(i32 MONOTONIC, ptr %time)
  %seconds = load i64, ptr %time
  %rest.p = getelementptr inbounds i8, ptr %time, i64 8
  %rest = load i64, ptr %rest.p
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}}

define LINKAGE i32 @adc_threads_pay(ptr %ctx, ptr %body, double %work, ptr %measure) nounwind {{
entry:
  %loop.p = getelementptr inbounds i8, ptr %measure, i64 8
  store ptr null, ptr %loop.p
  %without = icmp eq ptr %ctx, null
  br i1 %without, label %find, label %look
look:
  %own = load i32, ptr %ctx
  %set = icmp sgt i32 %own, 0
  br i1 %set, label %several, label %find
find:
  %place = ptrtoint ptr %body to i64
  %bits = bitcast double %work to i64
  %size = lshr i64 %bits, 53
  %high = shl i64 %size, 52
  %key = add i64 %place, %high
  %mixed = mul i64 %key, -7046029254386353131
  %number = lshr i64 %mixed, 56
  %loop = getelementptr inbounds [256 x {_LOOP}], ptr @adc_rt_loops, i64 0, i64 %number
  %until.p = getelementptr inbounds {_LOOP}, ptr %loop, i32 0, i32 1
  %rate.p = getelementptr inbounds {_LOOP}, ptr %loop, i32 0, i32 2
  store ptr %loop, ptr %loop.p
  %known = load atomic i64, ptr %loop monotonic, align 8
  %same = icmp eq i64 %known, %key
  br i1 %same, label %decide, label %new
new:
  store atomic i64 %key, ptr %loop monotonic, align 8
  store atomic i64 0, ptr %until.p monotonic, align 8
  store atomic double 0.0, ptr %rate.p monotonic, align 8
  br label %decide
decide:
  %now = call i64 @adc_now()
  store i64 %now, ptr %measure
  %until = load atomic i64, ptr %until.p monotonic, align 8
  %rest = load atomic i64, ptr @adc_rt_rest monotonic, align 8
  %alone = icmp slt i64 %now, %until
  %all = icmp slt i64 %now, %rest
  %rests = or i1 %alone, %all
  br i1 %rests, label %one, label %run
one:
  ret i32 0
run:
  %rate = load atomic double, ptr %rate.p monotonic, align 8
  %measured = fcmp ogt double %rate, 0.0
  %how = select i1 %measured, i32 1, i32 2
  ret i32 %how
several:
  ret i32 1
}}

define LINKAGE void @adc_threads_paid(ptr %measure, double %work, i32 %threads, i64 %own) nounwind {{
entry:
  %loop.p = getelementptr inbounds i8, ptr %measure, i64 8
  %loop = load ptr, ptr %loop.p
  %asked = icmp eq ptr %loop, null
  br i1 %asked, label %done, label %look
look:
  %until.p = getelementptr inbounds {_LOOP}, ptr %loop, i32 0, i32 1
  %rate.p = getelementptr inbounds {_LOOP}, ptr %loop, i32 0, i32 2
  %start = load i64, ptr %measure
  %now = call i64 @adc_now()
  %took = sub i64 %now, %start
  %time = sitofp i64 %took to double
  %sample = fdiv double %time, %work
  %rate = load atomic double, ptr %rate.p monotonic, align 8
  %known = fcmp ogt double %rate, 0.0
  %alone = icmp eq i32 %threads, 0
  br i1 %alone, label %one, label %several

one:
  ; What is slower may have been interrupted: it counts for little.
  %change = fsub double %sample, %rate
  %slower = fcmp ogt double %change, 0.0
  %much = fcmp ogt double %change, %rate
  %most = select i1 %much, double %rate, double %change
  %up = fmul double %most, 0.25
  %down = fmul double %change, 0.5
  %step = select i1 %slower, double %up, double %down
  %moved = fadd double %rate, %step
  %settled = select i1 %known, double %moved, double %sample
  store atomic double %settled, ptr %rate.p monotonic, align 8
  ret void

several:
  %count = sitofp i32 %threads to double
  %share = sitofp i64 %own to double
  %all = fmul double %share, %count
  %guess = fdiv double %all, %work
  %first = select i1 %known, double %rate, double %guess
  %least = fmul double %sample, %count
  %over = fcmp ogt double %first, %least
  %bounded = select i1 %over, double %least, double %first
  store atomic double %bounded, ptr %rate.p monotonic, align 8
  %expected = fmul double %bounded, %work
  %limit = fmul double %expected, 1.1
  %lost = fsub double %time, %limit
  %loss = fcmp ogt double %lost, 0.0
  %said = fcmp ogt double %bounded, 0.0
  %counts = and i1 %loss, %said
  br i1 %counts, label %rest, label %gain
gain:
  store atomic i64 0, ptr @adc_rt_losses monotonic, align 8
  ret void
rest:
  %lost64 = fptosi double %lost to i64
  %long = icmp sgt i64 %lost64, {LONG}
  %before = load atomic i64, ptr @adc_rt_losses monotonic, align 8
  %times = select i1 %long, i64 %before, i64 0
  %once = mul i64 %lost64, {REST}
  %wanted = shl i64 %once, %times
  %much.rest = icmp sgt i64 %wanted, {MOST_REST}
  %wait = select i1 %much.rest, i64 {MOST_REST}, i64 %wanted
  %until = add i64 %now, %wait
  store atomic i64 %until, ptr %until.p monotonic, align 8
  br i1 %long, label %everywhere, label %done
everywhere:
  %more = icmp ult i64 %before, {MOST_TIMES}
  %one.more = zext i1 %more to i64
  %losses = add i64 %before, %one.more
  store atomic i64 %losses, ptr @adc_rt_losses monotonic, align 8
  store atomic i64 %until, ptr @adc_rt_rest monotonic, align 8
  br label %done
done:
  ret void
}}
"""


def threads_ir(*, linux: bool) -> str:
    """The functions; ``linux``: use Linux's number of the clock (else that of macOS)."""
    return _TEXT.replace("MONOTONIC", "1" if linux else "6")
