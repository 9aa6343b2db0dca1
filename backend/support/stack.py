"""The limit of a thread's stack, as LLVM IR: ``ptr adc_stack_limit()``.

The stack of compiled code may grow down to the returned address; the rest is reserved for functions of the mathematics
library and of the support, and for signal handlers. The bounds of the stack are queried once per thread and kept in a
thread-local variable.
"""

from __future__ import annotations

_TEXT = r"""
@adc_rt_stack_key = internal global KEY 0, align 8
@adc_rt_stack_lock = internal global i32 0, align 4
declare ptr @llvm.frameaddress.p0(i32)
declare i32 @pthread_key_create(ptr, ptr)
declare ptr @pthread_getspecific(KEY)
declare i32 @pthread_setspecific(KEY, ptr)
DECLARATIONS

; The number of the thread's value plus one; 0 if there is none to be had.
define internal KEY @adc_rt_stack_slot() {
entry:
  %known = load atomic KEY, ptr @adc_rt_stack_key acquire, align 8
  %has = icmp ne KEY %known, 0
  br i1 %has, label %done, label %make
make:
  %place = alloca KEY, align 8
  call void @adc_rt_lock(ptr @adc_rt_stack_lock)
  %again = load atomic KEY, ptr @adc_rt_stack_key monotonic, align 8
  %made = icmp ne KEY %again, 0
  br i1 %made, label %late, label %create
create:
  %status = call i32 @pthread_key_create(ptr %place, ptr null)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %keep, label %late
keep:
  %key = load KEY, ptr %place
  %next = add KEY %key, 1
  store atomic KEY %next, ptr @adc_rt_stack_key release, align 8
  br label %late
late:
  %slot = phi KEY [ %again, %make ], [ 0, %create ], [ %next, %keep ]
  call void @adc_rt_unlock(ptr @adc_rt_stack_lock)
  br label %done
done:
  %result = phi KEY [ %known, %entry ], [ %slot, %late ]
  ret KEY %result
}

define LINKAGE ptr @adc_stack_limit() {
entry:
  %slot = call KEY @adc_rt_stack_slot()
  %key = sub KEY %slot, 1
  %keeps = icmp ne KEY %slot, 0
  br i1 %keeps, label %look, label %ask
look:
  %known = call ptr @pthread_getspecific(KEY %key)
  %has = icmp ne ptr %known, null
  br i1 %has, label %old, label %ask
old:
  ret ptr %known
ask:
  %frame = call ptr @llvm.frameaddress.p0(i32 0)
  %low.p = alloca ptr, align 8
  %size.p = alloca i64, align 8
  store ptr null, ptr %low.p
  store i64 0, ptr %size.p
  call void @adc_rt_stack_bounds(ptr %low.p, ptr %size.p)
  %low = load ptr, ptr %low.p
  %size = load i64, ptr %size.p
  %from = ptrtoint ptr %low to i64
  %here = ptrtoint ptr %frame to i64
  %above = sub i64 %here, %from
  %inside = icmp ult i64 %above, %size
  br i1 %inside, label %thread, label %foreign
foreign:
  ; Not the stack that the thread began with: all that is known is that we are on it.
  %guess = getelementptr i8, ptr %frame, i64 -65536
  ret ptr %guess
thread:
  %part = lshr i64 %size, 3
  %margin.low = call i64 @llvm.umax.i64(i64 %part, i64 8192)
  %margin = call i64 @llvm.umin.i64(i64 %margin.low, i64 131072)
  %limit = getelementptr i8, ptr %low, i64 %margin
  br i1 %keeps, label %keep, label %new
keep:
  %ignored = call i32 @pthread_setspecific(KEY %key, ptr %limit)
  br label %new
new:
  ret ptr %limit
}
declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
"""

_LINUX = r"""
define internal void @adc_rt_stack_bounds(ptr %low, ptr %size) {
entry:
  %attr = alloca [128 x i8], align 16
  %self = call ptr @pthread_self()
  %status = call i32 @pthread_getattr_np(ptr %self, ptr %attr)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %read, label %done
read:
  %got = call i32 @pthread_attr_getstack(ptr %attr, ptr %low, ptr %size)
  %gone = call i32 @pthread_attr_destroy(ptr %attr)
  br label %done
done:
  ret void
}
"""
_LINUX_DECLARATIONS = """declare i32 @pthread_getattr_np(ptr, ptr)
declare i32 @pthread_attr_getstack(ptr, ptr, ptr)
declare i32 @pthread_attr_destroy(ptr)"""

_MACOS = r"""
define internal void @adc_rt_stack_bounds(ptr %low, ptr %size) {
  %self = call ptr @pthread_self()
  %top = call ptr @pthread_get_stackaddr_np(ptr %self)
  %bytes = call i64 @pthread_get_stacksize_np(ptr %self)
  %down = sub i64 0, %bytes
  %bottom = getelementptr i8, ptr %top, i64 %down
  store ptr %bottom, ptr %low
  store i64 %bytes, ptr %size
  ret void
}
"""
_MACOS_DECLARATIONS = """declare ptr @pthread_get_stackaddr_np(ptr)
declare i64 @pthread_get_stacksize_np(ptr)"""


def stack_ir(*, linux: bool) -> str:
    """The functions; the caller replaces ``LINKAGE``. ``linux``: for Linux, else for macOS."""
    text = _TEXT.replace("DECLARATIONS", _LINUX_DECLARATIONS if linux else _MACOS_DECLARATIONS)
    return text.replace("KEY", "i32" if linux else "i64") + (_LINUX if linux else _MACOS)
