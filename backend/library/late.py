"""Functions that are compiled when they are first called, as LLVM IR.

A module that calls such a function has a *slot* for it: a pair of pointers, to the code (null until the first call) and
to the name of the function. The name is given to a Python function, the resolver, in a thread of its own: the calling
thread runs without the interpreter lock and perhaps deep in its stack, and the handlers of signals must not run there.

- ``ptr adc_late(ptr slot)``: the address of the code. If it could not be compiled, the code is a function that ends the
  run for lack of memory
- ``ptr adc_late_resolver``: takes the name, and returns the address or null
"""

from __future__ import annotations

from adc.backend.sites import NO_MEMORY

EXPORTS = ("adc_late", "adc_late_resolver")

DECLARATIONS = {"adc_late": "declare ptr @adc_late(ptr) nounwind"}

STACK_BYTES = 1 << 24  # LLVM recurses; the default for threads is half a megabyte on some systems

TEXT = f"""
@adc_late_resolver = global ptr null, align 8
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_destroy(ptr)

define internal i32 @adc_rt_late_failed(ptr %ctx) {{
  call void @adc_raise(ptr %ctx, i32 {NO_MEMORY}, i64 0, i64 0)
  ret i32 1
}}

define internal ptr @adc_rt_late_resolve(ptr %slot) {{
  %resolver = load ptr, ptr @adc_late_resolver
  %name.p = getelementptr ptr, ptr %slot, i64 1
  %name = load ptr, ptr %name.p
  %code = call ptr %resolver(ptr %name)
  ret ptr %code
}}

define ptr @adc_late(ptr %slot) {{
entry:
  %thread.p = alloca i64
  %code.p = alloca ptr
  %attributes = alloca [128 x i8], align 16
  %known = load atomic ptr, ptr %slot acquire, align 8
  %is.known = icmp ne ptr %known, null
  br i1 %is.known, label %done, label %first
done:
  ret ptr %known
first:
  call i32 @pthread_attr_init(ptr %attributes)
  call i32 @pthread_attr_setstacksize(ptr %attributes, i64 {STACK_BYTES})
  %error = call i32 @pthread_create(ptr %thread.p, ptr %attributes, ptr @adc_rt_late_resolve, ptr %slot)
  call i32 @pthread_attr_destroy(ptr %attributes)
  %runs = icmp eq i32 %error, 0
  br i1 %runs, label %wait, label %failed
wait:
  %thread = load i64, ptr %thread.p
  call i32 @pthread_join(i64 %thread, ptr %code.p)
  %code = load ptr, ptr %code.p
  %is.there = icmp ne ptr %code, null
  br i1 %is.there, label %keep, label %failed
keep:
  store atomic ptr %code, ptr %slot release, align 8
  ret ptr %code
failed:
  ret ptr @adc_rt_late_failed
}}
"""
