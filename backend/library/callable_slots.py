"""The slots of the type ``NativeCallable`` as LLVM IR. See ``adc.backend.calls.callable_type``.

An instance is ``{PyObject, vectorcall, target, C function of the target, its self}``; the last two belong to the target
and are valid while a target is set.
"""

from __future__ import annotations

from adc.backend.library import python_abi

# Byte offsets in an instance, and its size.
VECTORCALL, TARGET, FUNCTION, STATE, SIZE = 16, 24, 32, 40, 48

_TEXT = r"""
@adc_rt_dispatch = internal constant [10 x i8] c"_dispatch\00"
@adc_rt_bare_mark = internal constant [10 x i8] c"_adc_bare\00"
@adc_rt_not_stub = internal constant [53 x i8] c"the target must be a built-in METH_FASTCALL function\00"

; The result of a call. An exception that has a true attribute _adc_bare loses its traceback: users see none of adc's
; frames.
define internal ptr @adc_rt_left(ptr %result) alwaysinline {
  %failed = icmp eq ptr %result, null
  br i1 %failed, label %error, label %done, !prof !{!"branch_weights", i32 1, i32 2000}
error:
  call void @adc_rt_strip()
  br label %done
done:
  ret ptr %result
}

define internal void @adc_rt_strip() cold noinline {
  %type.p = alloca ptr
  %value.p = alloca ptr
  %trace.p = alloca ptr
  call void @PyErr_Fetch(ptr %type.p, ptr %value.p, ptr %trace.p)
  %value = load ptr, ptr %value.p
  %none = icmp eq ptr %value, null
  br i1 %none, label %restore, label %ask
ask:
  %mark = call ptr @PyObject_GetAttrString(ptr %value, ptr @adc_rt_bare_mark)
  %unmarked = icmp eq ptr %mark, null
  br i1 %unmarked, label %forget, label %look
forget:
  call void @PyErr_Clear()
  br label %restore
look:
  %bare = icmp eq ptr %mark, @adc_py_True
  call void @Py_DecRef(ptr %mark)
  %trace = load ptr, ptr %trace.p
  %has = icmp ne ptr %trace, null
  %drop = and i1 %bare, %has
  br i1 %drop, label %strip, label %restore
strip:
  %ok = call i32 @PyException_SetTraceback(ptr %value, ptr @adc_py_None)
  call void @Py_DecRef(ptr %trace)
  store ptr null, ptr %trace.p
  br label %restore
restore:
  %type1 = load ptr, ptr %type.p
  %value1 = load ptr, ptr %value.p
  %trace1 = load ptr, ptr %trace.p
  call void @PyErr_Restore(ptr %type1, ptr %value1, ptr %trace1)
  ret void
}

define internal ptr @adc_rt_call(ptr %self, ptr %args, i64 %count) alwaysinline {
  %target.p = getelementptr i8, ptr %self, i64 24
  %target = load ptr, ptr %target.p
  %function.p = getelementptr i8, ptr %self, i64 32
  %function = load ptr, ptr %function.p
  %state.p = getelementptr i8, ptr %self, i64 40
  %state = load ptr, ptr %state.p
  call void @Py_IncRef(ptr %target)
  %result = call ptr %function(ptr %state, ptr %args, i64 %count)
  call void @Py_DecRef(ptr %target)
  ret ptr %result
}

CALLS
define ptr @adc_callable_new(ptr %type, ptr %args, ptr %keywords) {
  %self = call ptr @PyType_GenericNew(ptr %type, ptr null, ptr null)
  %failed = icmp eq ptr %self, null
  br i1 %failed, label %done, label %fill
fill:
  %vectorcall.p = getelementptr i8, ptr %self, i64 16
  store ptr @adc_callable_vectorcall, ptr %vectorcall.p
  br label %done
done:
  ret ptr %self
}

define i32 @adc_callable_traverse(ptr %self, ptr %visit, ptr %arg) {
  %type.p = getelementptr i8, ptr %self, i64 8
  %type = load ptr, ptr %type.p
  %r1 = call i32 %visit(ptr %type, ptr %arg)
  %stop = icmp ne i32 %r1, 0
  br i1 %stop, label %out, label %next
out:
  ret i32 %r1
next:
  %target.p = getelementptr i8, ptr %self, i64 24
  %target = load ptr, ptr %target.p
  %none = icmp eq ptr %target, null
  br i1 %none, label %zero, label %look
zero:
  ret i32 0
look:
  %r2 = call i32 %visit(ptr %target, ptr %arg)
  ret i32 %r2
}

define i32 @adc_callable_clear(ptr %self) {
  %target.p = getelementptr i8, ptr %self, i64 24
  %target = load ptr, ptr %target.p
  store ptr null, ptr %target.p
  call void @Py_DecRef(ptr %target)
  ret i32 0
}

define void @adc_callable_dealloc(ptr %self) {
  call void @PyObject_GC_UnTrack(ptr %self)
  %cleared = call i32 @adc_callable_clear(ptr %self)
  %type.p = getelementptr i8, ptr %self, i64 8
  %type = load ptr, ptr %type.p
  %free = call ptr @PyType_GetSlot(ptr %type, i32 74)
  call void %free(ptr %self)
  call void @Py_DecRef(ptr %type)
  ret void
}

define ptr @adc_callable_set_target(ptr %self, ptr %target) {
  %target.p = getelementptr i8, ptr %self, i64 24
  %old = load ptr, ptr %target.p
  %forget = icmp eq ptr %target, @adc_py_None
  br i1 %forget, label %reset, label %check
check:
  %type.p = getelementptr i8, ptr %target, i64 8
  %type = load ptr, ptr %type.p
  %builtin = icmp eq ptr %type, @adc_py_builtin
  br i1 %builtin, label %convention, label %refuse
convention:
  %flags = call i32 @PyCFunction_GetFlags(ptr %target)
  %right = icmp eq i32 %flags, 128
  br i1 %right, label %install, label %refuse
refuse:
  call void @PyErr_SetString(ptr @adc_py_TypeError, ptr @adc_rt_not_stub)
  ret ptr null
install:
  %function = call ptr @PyCFunction_GetFunction(ptr %target)
  %state = call ptr @PyCFunction_GetSelf(ptr %target)
  %function.p = getelementptr i8, ptr %self, i64 32
  store ptr %function, ptr %function.p
  %state.p = getelementptr i8, ptr %self, i64 40
  store ptr %state, ptr %state.p
  call void @Py_IncRef(ptr %target)
  store ptr %target, ptr %target.p
  br label %done
reset:
  store ptr null, ptr %target.p
  br label %done
done:
  call void @Py_DecRef(ptr %old)
  call void @Py_IncRef(ptr @adc_py_None)
  ret ptr @adc_py_None
}
"""

_CALL = r"""
define ptr @adc_callable_KIND(ptr %self, ptr %args, PARAMETERS) {
  %target.p = getelementptr i8, ptr %self, i64 24
  %target = load ptr, ptr %target.p
  %ready = icmp ne ptr %target, null
  br i1 %ready, label %look, label %slow
look:
  %unnamed = icmp eq ptr %names, null
  br i1 %unnamed, label %fast, label %ask
ask:
  %named = call i64 @PyObject_Size(ptr %names)
  %empty = icmp eq i64 %named, 0
  br i1 %empty, label %fast, label %slow
fast:
  %count = COUNT
  %items = getelementptr i8, ptr %args, i64 OFFSET
  %result = call ptr @adc_rt_call(ptr %self, ptr %items, i64 %count)
  %left = call ptr @adc_rt_left(ptr %result)
  ret ptr %left
slow:
  %method = call ptr @PyObject_GetAttrString(ptr %self, ptr @adc_rt_dispatch)
  %missing = icmp eq ptr %method, null
  br i1 %missing, label %fail, label %call
fail:
  ret ptr null
call:
  %answer = call ptr @GENERIC(ptr %method, ptr %args, PARAMETERS)
  call void @Py_DecRef(ptr %method)
  %slowly = call ptr @adc_rt_left(ptr %answer)
  ret ptr %slowly
}
"""


def _call(kind: str, parameters: str, count: str, offset: int, generic: str) -> str:
    """A slot by which an instance is called. If there are only positional arguments, ``%names`` is null, or empty (from
    ``**kwargs``). Positional arguments begin at ``offset`` in ``%args``."""
    text = _CALL.replace("KIND", kind).replace("PARAMETERS", parameters).replace("COUNT", count)
    return text.replace("OFFSET", str(offset)).replace("GENERIC", generic)


_CALLS = _call(
    "vectorcall", "i64 %countf, ptr %names", "and i64 %countf, 9223372036854775807", 0, "PyObject_Vectorcall"
) + _call("call", "ptr %names", "call i64 @PyTuple_Size(ptr %args)", python_abi.TUPLE_OFFSET, "PyObject_Call")
TEXT = _TEXT.replace("CALLS", _CALLS)

SLOTS = ("vectorcall", "call", "new", "traverse", "clear", "dealloc", "set_target")
