"""The part that all loops on threads share, as LLVM IR of the run-time support: the decision to use threads, and the
share of each thread. Filling and copying large arrays are such loops.

- ``i32 adc_parallel(ptr ctx, ptr body, ptr data, i64 trips, i64 least, i64 most, double work)`` splits a loop of
  ``trips`` iterations into at most ``most`` blocks, each of a multiple of ``least`` iterations, and runs them. It uses
  threads if ``work`` (per iteration, in the units of ``lower_work``) is worth waking them, if they have paid so far
  (``threads.py``), and if it is not already inside a parallel region. Thread k of n runs the blocks from k * blocks / n
  on. ``i32 body(ptr data, i64 first, i64 last, i64 size, i64 trips)`` runs some blocks, of ``size`` iterations, and
  returns 1 if one of them ended with an error; so does ``adc_parallel``.
- ``adc_parallel_polling`` is the same for loops that poll: the calling thread, which may be the main thread, polls
  while it waits for the others, which stop at their next poll after an error.
- ``void adc_fill(ptr ctx, ptr to, i8 byte, i64 bytes, i64 least)`` and ``void adc_copy(ptr ctx, ptr to, ptr from, i64
  bytes, i64 least)``, for memory that does not overlap: each thread handles a part of the pages if there are ``least``
  bytes or more. A page of a new array is placed in memory near the core of the thread that first writes to it; so the
  parts are the same as in a parallel loop over the array.
"""

from __future__ import annotations

from adc.backend.support.contexts import CONTEXT_ALONE
from adc.backend.support.threads import MEASURE

THRESHOLD = 200_000.0
"""For loops with less work, some 5 to 20 microseconds, threads may cost more than they save."""

# Context, body, data, blocks, status, number of threads that have finished, block size, trip count; nanoseconds that
# the calling thread takes for its share, 0 if not needed.
_TEAM = "{ ptr, ptr, ptr, i64, i32, i64, i64, i64, i64 }"
_TEXT = """\
define internal void @adc_rt_team{kind}(ptr noalias %team) nounwind noinline {{
entry:
  %body.p = getelementptr inbounds {team}, ptr %team, i32 0, i32 1
  %body = load ptr, ptr %body.p
  %data.p = getelementptr inbounds {team}, ptr %team, i32 0, i32 2
  %data = load ptr, ptr %data.p
  %blocks.p = getelementptr inbounds {team}, ptr %team, i32 0, i32 3
  %blocks = load i64, ptr %blocks.p
  %status.p = getelementptr inbounds {team}, ptr %team, i32 0, i32 4
  %size.p = getelementptr inbounds {team}, ptr %team, i32 0, i32 6
  %size = load i64, ptr %size.p
  %trips.p = getelementptr inbounds {team}, ptr %team, i32 0, i32 7
  %trips = load i64, ptr %trips.p
  %number32 = call i32 @omp_get_thread_num()
  %threads32 = call i32 @omp_get_num_threads()
  %number = zext i32 %number32 to i64
  %threads = zext i32 %threads32 to i64
  %following = add i64 %number, 1
  %before = mul i64 %blocks, %number
  %until = mul i64 %blocks, %following
  %first = udiv i64 %before, %threads
  %last = udiv i64 %until, %threads
  %own.p = getelementptr inbounds {team}, ptr %team, i32 0, i32 8
  %calls = icmp eq i64 %number, 0
  br i1 %calls, label %ask, label %work
ask:
  %asked = load i64, ptr %own.p
  %timed = icmp ne i64 %asked, 0
  br i1 %timed, label %time, label %work
time:
  %start = call i64 @adc_now()
  br label %work
work:
  %began = phi i64 [ 0, %entry ], [ 0, %ask ], [ %start, %time ]
  %failed = call i32 %body(ptr %data, i64 %first, i64 %last, i64 %size, i64 %trips)
  %clock = icmp ne i64 %began, 0
  br i1 %clock, label %tell, label %check
tell:
  %stopped = call i64 @adc_now()
  %took = sub i64 %stopped, %began
  store i64 %took, ptr %own.p
  br label %check
check:
  %good = icmp eq i32 %failed, 0
  br i1 %good, label %over, label %note
note:
  store atomic i32 1, ptr %status.p monotonic, align 4
  br label %over
{end}}}

; Most calls of short loops are of one block.
define i32 @adc_parallel{kind}(
    ptr %ctx, ptr %body, ptr %data, i64 %trips, i64 %least, i64 %most, double %work) nounwind noinline {{
entry:
  %short = icmp ule i64 %trips, %least
  br i1 %short, label %block, label %blocks
block:
  %any = icmp ne i64 %trips, 0
  %only = zext i1 %any to i64
  %ran = tail call i32 %body(ptr %data, i64 0, i64 %only, i64 %least, i64 %trips)
  ret i32 %ran
blocks:
  %done = tail call i32 @adc_rt_blocks{kind}(
    ptr %ctx, ptr %body, ptr %data, i64 %trips, i64 %least, i64 %most, double %work)
  ret i32 %done
}}

define internal i32 @adc_rt_blocks{kind}(
    ptr %ctx, ptr %body, ptr %data, i64 %trips, i64 %least, i64 %most, double %work) nounwind noinline {{
entry:
  %team = alloca {team}, align 8
  %measure = alloca [{measure} x i8], align 8
  %spare = alloca i64, align 8
  store i64 0, ptr %spare
  %unit = mul i64 %least, %most
  %more = add i64 %trips, %unit
  %up = sub i64 %more, 1
  %units = udiv i64 %up, %unit
  %wanted = mul i64 %units, %least
  %enough = icmp ugt i64 %wanted, %least
  %size = select i1 %enough, i64 %wanted, i64 %least
  %over = add i64 %trips, %size
  %ends = sub i64 %over, 1
  %blocks = udiv i64 %ends, %size
  %iterations = uitofp i64 %trips to double
  %total = fmul double %iterations, %work
  %worth = fcmp ogt double %total, {threshold}
  %divisible = icmp ugt i64 %blocks, 1
  %may = and i1 %worth, %divisible
  br i1 %may, label %ask, label %serial
ask:
  %allowed = call i32 @adc_threads(ptr %ctx)
  %wide = sext i32 %allowed to i64
  %fewer = icmp slt i64 %wide, %blocks
  %threads = select i1 %fewer, i64 %wide, i64 %blocks
  %several = icmp sgt i64 %threads, 1
  br i1 %several, label %nested, label %serial
nested:
  %inside = call i32 @omp_in_parallel()
  %outside = icmp eq i32 %inside, 0
  br i1 %outside, label %weigh, label %serial
weigh:
  %how = call i32 @adc_threads_pay(ptr %ctx, ptr %body, double %total, ptr %measure)
  %rests = icmp eq i32 %how, 0
  br i1 %rests, label %one, label %fork
one:
  %result = call i32 %body(ptr %data, i64 0, i64 %blocks, i64 %size, i64 %trips)
  call void @adc_threads_paid(ptr %measure, double %total, i32 0, i64 0)
  ret i32 %result
fork:
  %unknown = icmp eq i32 %how, 2
  %asks = zext i1 %unknown to i64
  %own.p = getelementptr inbounds {team}, ptr %team, i32 0, i32 8
  store i64 %asks, ptr %own.p
  store ptr %ctx, ptr %team
  %body.p = getelementptr inbounds {team}, ptr %team, i32 0, i32 1
  store ptr %body, ptr %body.p
  %data.p = getelementptr inbounds {team}, ptr %team, i32 0, i32 2
  store ptr %data, ptr %data.p
  %blocks.p = getelementptr inbounds {team}, ptr %team, i32 0, i32 3
  store i64 %blocks, ptr %blocks.p
  %status.p = getelementptr inbounds {team}, ptr %team, i32 0, i32 4
  store i32 0, ptr %status.p
  %done.p = getelementptr inbounds {team}, ptr %team, i32 0, i32 5
  store i64 0, ptr %done.p
  %size.p = getelementptr inbounds {team}, ptr %team, i32 0, i32 6
  store i64 %size, ptr %size.p
  %trips.p = getelementptr inbounds {team}, ptr %team, i32 0, i32 7
  store i64 %trips, ptr %trips.p
  %count = trunc i64 %threads to i32
  ; Several threads allocate from now on: the arena needs its lock.
  %field = getelementptr i8, ptr %ctx, i64 {alone}
  %none = icmp eq ptr %ctx, null
  %alone.p = select i1 %none, ptr %spare, ptr %field
  %before = load i64, ptr %alone.p
  store i64 0, ptr %alone.p
  call void @GOMP_parallel(ptr @adc_rt_team{kind}, ptr %team, i32 %count, i32 0)
  store i64 %before, ptr %alone.p
  %own = load i64, ptr %own.p
  call void @adc_threads_paid(ptr %measure, double %total, i32 %count, i64 %own)
  %status = load i32, ptr %status.p
  ret i32 %status
serial:
  %alone = call i32 %body(ptr %data, i64 0, i64 %blocks, i64 %size, i64 %trips)
  ret i32 %alone
}}
"""
_AT_ONCE = """\
over:
  ret void
"""
_POLLING = """\
over:
  %done.p = getelementptr inbounds {team}, ptr %team, i32 0, i32 5
  br i1 %calls, label %wait, label %count
count:
  %counted = atomicrmw add ptr %done.p, i64 1 release, align 8
  ret void
wait:
  %ctx = load ptr, ptr %team
  %others = sub i64 %threads, 1
  %signal = call i32 @adc_wait(ptr %ctx, ptr %done.p, i64 %others)
  %quiet = icmp eq i32 %signal, 0
  br i1 %quiet, label %end, label %stop
stop:
  store atomic i32 1, ptr %status.p monotonic, align 4
  br label %end
end:
  ret void
"""
_WHOLE_ARRAY = """\
define internal i32 @adc_rt_{name}_part(
    ptr noalias %data, i64 %first, i64 %last, i64 %size, i64 %pages) nounwind noinline {{
  %to.p = getelementptr inbounds {{ ptr, {kind}, i64 }}, ptr %data, i32 0, i32 0
  %to = load ptr, ptr %to.p
  %what.p = getelementptr inbounds {{ ptr, {kind}, i64 }}, ptr %data, i32 0, i32 1
  %what = load {kind}, ptr %what.p
  %bytes.p = getelementptr inbounds {{ ptr, {kind}, i64 }}, ptr %data, i32 0, i32 2
  %bytes = load i64, ptr %bytes.p
  %page = mul i64 %first, %size
  %start = shl i64 %page, 12
  %until = mul i64 %last, %size
  %end = shl i64 %until, 12
  %limit = call i64 @llvm.umin.i64(i64 %end, i64 %bytes)
  %length = call i64 @llvm.usub.sat.i64(i64 %limit, i64 %start)
  %place = getelementptr i8, ptr %to, i64 %start
  {part}
  ret i32 0
}}

define void @adc_{name}(ptr %ctx, ptr %to, {kind} %what, i64 %bytes, i64 %least) nounwind noinline {{
entry:
  %data = alloca {{ ptr, {kind}, i64 }}, align 8
  %large = icmp uge i64 %bytes, %least
  br i1 %large, label %share, label %alone
alone:
  {whole}
  ret void
share:
  store ptr %to, ptr %data
  %what.p = getelementptr inbounds {{ ptr, {kind}, i64 }}, ptr %data, i32 0, i32 1
  store {kind} %what, ptr %what.p
  %bytes.p = getelementptr inbounds {{ ptr, {kind}, i64 }}, ptr %data, i32 0, i32 2
  store i64 %bytes, ptr %bytes.p
  %more = add i64 %bytes, 4095
  %pages = lshr i64 %more, 12
  %status = call i32 @adc_parallel(
    ptr %ctx, ptr @adc_rt_{name}_part, ptr %data, i64 %pages, i64 1, i64 {pages}, double {work})
  ret void
}}
"""
_EXTERNALS = """
declare void @GOMP_parallel(ptr, ptr, i32, i32)
declare i32 @omp_in_parallel() nounwind
declare i32 @omp_get_thread_num() nounwind
declare i32 @omp_get_num_threads() nounwind
declare i64 @llvm.usub.sat.i64(i64, i64)
"""
_PAGES = 1 << 40  # most blocks: one per page, so that shares are even
_MEMSET = "call void @llvm.memset.p0.i64(ptr {to}, i8 %what, i64 {bytes}, i1 false)"
_MEMCPY = "call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {what}, i64 {bytes}, i1 false)"


_RUN = "(ptr, ptr, ptr, i64, i64, i64, double) nounwind"
DECLARATIONS = {
    "adc_parallel": f"declare i32 @adc_parallel{_RUN}",
    "adc_parallel_polling": f"declare i32 @adc_parallel_polling{_RUN}",
    "adc_fill": "declare void @adc_fill(ptr, ptr, i8, i64, i64) nounwind",
    "adc_copy": "declare void @adc_copy(ptr, ptr, ptr, i64, i64) nounwind",
}
"""Functions that compiled code calls. All need an OpenMP runtime."""


def team_ir(*, polls: bool) -> str:
    """The functions; without ``polls``, which needs the support of signals, there is no ``adc_parallel_polling``."""
    return _EXTERNALS + _loops("", _AT_ONCE) + (_loops("_polling", _POLLING) if polls else "") + _whole_arrays()


def _loops(kind: str, end: str) -> str:
    values = {"threshold": f"{THRESHOLD:e}", "measure": MEASURE, "alone": CONTEXT_ALONE}
    return _TEXT.format(kind=kind, team=_TEAM, end=end.format(team=_TEAM), **values)


def _whole_arrays() -> str:
    source = "%source = getelementptr i8, ptr %what, i64 %start\n  "
    functions = []
    for name, kind, write, before in (("fill", "i8", _MEMSET, ""), ("copy", "ptr", _MEMCPY, source)):
        whole = write.format(to="%to", what="%what", bytes="%bytes")
        part = before + write.format(to="%place", what="%source", bytes="%length")
        work = f"{2 * THRESHOLD:e}"
        functions.append(_WHOLE_ARRAY.format(name=name, kind=kind, whole=whole, part=part, pages=_PAGES, work=work))
    return "".join(functions)
