"""Ctrl-C while compiled code runs, as LLVM IR: the flag that loops poll, and the ticker that sets it.

Python handles signals in the main thread only, between bytecodes or where C code asks. Compiled code runs without the
interpreter lock, and asking needs the lock, so it is done only ten times a second. Loops read one byte,
``adc_attention``, which is nearly always zero. The *ticker*, a thread that lives while the main thread runs compiled
code and a few seconds longer, sets it; a loop that finds it set calls ``adc_poll``. In the main thread ``adc_poll``
takes the lock and lets Python run the handlers. If one of them raises, the run ends: the exception is set, and the site
in the error record of the context is ``SITE_SIGNAL``. Threads that work for the main thread stop as soon as their
context has an error.

- ``i32 adc_attention``: the first byte is not zero when ``adc_poll`` should be called. Loops that count steps read two
  bytes at once: the second byte is not zero while somebody asks for their progress
- ``i32 adc_poll(ptr ctx)``: not zero if the run is over
- ``i32 adc_wait(ptr ctx, ptr done, i64 others)``: the thread that called a parallel loop waits until ``others`` threads
  have counted themselves in ``done``, and polls meanwhile (in OpenMP's barrier it could not); not zero if the run is
  over
- ``void adc_enter(ptr state)``, ``void adc_leave()``: around a run without the lock; ``state`` is what
  ``PyEval_SaveThread`` returned
- ``i64 adc_main_thread``: the identifier of the main thread, as in ``PyThread_get_thread_ident``
"""

from __future__ import annotations

SITE_SIGNAL = -2  # the site of the error when a signal handler raised an exception

EXPORTS = ("adc_attention", "adc_poll", "adc_wait", "adc_enter", "adc_leave", "adc_main_thread", "adc_ticker_alive")

DECLARATIONS = {
    "adc_enter": "declare void @adc_enter(ptr)",
    "adc_leave": "declare void @adc_leave()",
    "adc_wait": "declare i32 @adc_wait(ptr, ptr, i64)",
}

TICK_NANOSECONDS = 100_000_000
IDLE_TICKS = 30  # the ticker ends after this many ticks without a run

TEXT = r"""
@adc_attention = global i32 0, align 4
@adc_main_thread = global i64 0, align 8
@adc_main_state = internal global ptr null, align 8 ; of the main thread, while it runs compiled code without the lock
@adc_ticker_alive = global i32 0, align 4
declare i32 @nanosleep(ptr, ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)

define internal i1 @adc_rt_is_main() {
  %me = call i64 @PyThread_get_thread_ident()
  %main = load i64, ptr @adc_main_thread
  %is = icmp eq i64 %me, %main
  ret i1 %is
}

define i32 @adc_poll(ptr %ctx) {
entry:
  %error.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 1
  %error = load atomic i32, ptr %error.p acquire, align 4
  %failed = icmp ne i32 %error, 0
  br i1 %failed, label %stop, label %who
stop:
  ret i32 1
who:
  %main = call i1 @adc_rt_is_main()
  %state = load atomic ptr, ptr @adc_main_state acquire, align 8
  %out = icmp ne ptr %state, null
  %mine = and i1 %main, %out
  br i1 %mine, label %ask, label %continue
continue:
  ret i32 0
ask:
  ; A handler may run compiled code itself: it finds everything as if nothing ran.
  store atomic ptr null, ptr @adc_main_state release, align 8
  store atomic i8 0, ptr @adc_attention release, align 4
  call void @PyEval_RestoreThread(ptr %state)
  %answer = call i32 @PyErr_CheckSignals()
  %again = call ptr @PyEval_SaveThread()
  store atomic ptr %again, ptr @adc_main_state release, align 8
  %raised = icmp ne i32 %answer, 0
  br i1 %raised, label %end, label %continue
end:
  call void @adc_raise(ptr %ctx, i32 SITE_SIGNAL, i64 0, i64 0)
  store atomic i8 1, ptr @adc_attention release, align 4
  ret i32 1
}

define i32 @adc_wait(ptr %ctx, ptr %done, i64 %others) {
entry:
  %pause = alloca [2 x i64]
  store i64 0, ptr %pause
  %nanoseconds = getelementptr i64, ptr %pause, i64 1
  store i64 50000, ptr %nanoseconds
  br label %look
look:
  %turn = phi i64 [ 0, %entry ], [ %turn1, %spin ], [ %turn1, %rest ], [ %turn1, %sleep ]
  %count = load atomic i64, ptr %done acquire, align 8
  %all = icmp uge i64 %count, %others
  br i1 %all, label %finished, label %wait
finished:
  ret i32 0
wait:
  %turn1 = add i64 %turn, 1
  %short = icmp ult i64 %turn, 4000
  br i1 %short, label %spin, label %poll
spin:
  br label %look
poll:
  %flag = load atomic i8, ptr @adc_attention monotonic, align 4
  %quiet = icmp eq i8 %flag, 0
  br i1 %quiet, label %long, label %ask
ask:
  %answer = call i32 @adc_poll(ptr %ctx)
  %go = icmp eq i32 %answer, 0
  br i1 %go, label %long, label %over
over:
  ret i32 1
long:
  %soon = icmp ult i64 %turn, 8000
  br i1 %soon, label %rest, label %sleep
rest:
  %yielded = call i32 @sched_yield()
  br label %look
sleep:
  %slept = call i32 @nanosleep(ptr %pause, ptr null)
  br label %look
}

define internal ptr @adc_rt_ticker(ptr %unused) {
entry:
  %pause = alloca [2 x i64]
  store i64 0, ptr %pause
  %nanoseconds = getelementptr i64, ptr %pause, i64 1
  store i64 TICK_NANOSECONDS, ptr %nanoseconds
  br label %loop
loop:
  %idle = phi i32 [ 0, %entry ], [ 0, %tick ], [ %idle1, %rest ], [ 0, %stay ]
  %slept = call i32 @nanosleep(ptr %pause, ptr null)
  %state = load atomic ptr, ptr @adc_main_state acquire, align 8
  %running = icmp ne ptr %state, null
  br i1 %running, label %tick, label %rest
tick:
  store atomic i8 1, ptr @adc_attention release, align 4
  br label %loop
rest:
  store atomic i8 0, ptr @adc_attention release, align 4
  %idle1 = add i32 %idle, 1
  %tired = icmp uge i32 %idle1, IDLE_TICKS
  br i1 %tired, label %end, label %loop
end:
  ; A run that began before this was seen has begun when the pause is over.
  store atomic i32 0, ptr @adc_ticker_alive seq_cst, align 4
  %slept1 = call i32 @nanosleep(ptr %pause, ptr null)
  %state1 = load atomic ptr, ptr @adc_main_state acquire, align 8
  %late = icmp ne ptr %state1, null
  br i1 %late, label %back, label %done
back:
  %pair = cmpxchg ptr @adc_ticker_alive, i32 0, i32 1 seq_cst seq_cst
  %won = extractvalue { i32, i1 } %pair, 1
  br i1 %won, label %stay, label %done
stay:
  store atomic i8 1, ptr @adc_attention release, align 4
  br label %loop
done:
  ret ptr null
}

define internal void @adc_rt_start_ticker() noinline {
entry:
  %pair = cmpxchg ptr @adc_ticker_alive, i32 0, i32 1 seq_cst seq_cst
  %won = extractvalue { i32, i1 } %pair, 1
  br i1 %won, label %start, label %done
start:
  ; The ticker must not be the thread that a signal interrupts: blocking calls of the main thread rely on that.
  %all = alloca [16 x i64]
  %old = alloca [16 x i64]
  %thread = alloca ptr
  %filled = call i32 @sigfillset(ptr %all)
  %masked = call i32 @pthread_sigmask(i32 SIG_SETMASK, ptr %all, ptr %old)
  %status = call i32 @pthread_create(ptr %thread, ptr null, ptr @adc_rt_ticker, ptr null)
  %unmasked = call i32 @pthread_sigmask(i32 SIG_SETMASK, ptr %old, ptr null)
  %made = icmp eq i32 %status, 0
  br i1 %made, label %detach, label %failed
detach:
  %id = load ptr, ptr %thread
  %detached = call i32 @pthread_detach(ptr %id)
  ret void
failed:
  store atomic i32 0, ptr @adc_ticker_alive seq_cst, align 4
  ret void
done:
  ret void
}

define void @adc_enter(ptr %state) {
entry:
  %main = call i1 @adc_rt_is_main()
  br i1 %main, label %mark, label %done
mark:
  store atomic ptr %state, ptr @adc_main_state release, align 8
  %alive = load atomic i32, ptr @adc_ticker_alive monotonic, align 4
  %dead = icmp eq i32 %alive, 0
  br i1 %dead, label %start, label %done
start:
  call void @adc_rt_start_ticker()
  ret void
done:
  ret void
}

define void @adc_leave() {
entry:
  %main = call i1 @adc_rt_is_main()
  br i1 %main, label %clear, label %done
clear:
  store atomic ptr null, ptr @adc_main_state release, align 8
  br label %done
done:
  ret void
}
"""


def interrupts_ir(*, linux: bool) -> str:
    """The LLVM IR, to be compiled with the support. ``linux``: use the constants of its C library (else those of
    macOS)."""
    text = TEXT.replace("SITE_SIGNAL", str(SITE_SIGNAL)).replace("SIG_SETMASK", "2" if linux else "3")
    return text.replace("TICK_NANOSECONDS", str(TICK_NANOSECONDS)).replace("IDLE_TICKS", str(IDLE_TICKS))
