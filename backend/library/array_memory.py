"""Memory of the arrays that calls return, as LLVM IR: when an array is deleted, its memory is kept for the next call.

An array of a few hundred kilobytes or more gets new pages from the system each time, and each page costs about as much
as computing its contents. So such arrays are made with a memory handler of their own (NumPy's NEP 49), which uses an
arena like those of contexts (``adc.backend.support.arena``). To NumPy they own their data like any other array.

The block of the run that holds a result is swapped with the block of the array: both arenas have as many blocks as
before, and nothing is copied.

Up to ``MOST_IDLE`` bytes of idle memory stay with the process; ``release_memory`` gives all of it back.
"""

from __future__ import annotations

from adc.backend.library.numpy_abi import DATA
from adc.backend.support.arena import TAKEN

SMALLEST = 1 << 16
MOST_IDLE = 1 << 29
EXPORTS = (
    "adc_array_new",
    "adc_array_adopt",
    "adc_array_release",
    "adc_array_handler",
    "adc_array_capsule",
    "adc_array_arena",
)
DECLARATIONS = {
    "adc_array_new": "declare ptr @adc_array_new(i32, ptr, ptr, i64, i32)",
    "adc_array_adopt": "declare i1 @adc_array_adopt(ptr, ptr, ptr, i64)",
}

_TEXT = r"""
; The arena, and the capsule of the handler: a Python object, which the process keeps.
@adc_array_arena = global ptr null, align 8
@adc_array_capsule = global ptr null, align 8
@adc_array_handler = global { [127 x i8], i8, ptr, ptr, ptr, ptr, ptr } {
  [127 x i8] c"adcNAMEPADDING", i8 1, ptr null,
  ptr @adc_array_malloc, ptr @adc_array_calloc, ptr @adc_array_realloc, ptr @adc_array_free }, align 64

; NumPy calls these holding the interpreter lock.
define internal ptr @adc_array_malloc(ptr %unused, i64 %bytes) {
entry:
  %known = load ptr, ptr @adc_array_arena
  %none = icmp eq ptr %known, null
  br i1 %none, label %first, label %go
first:
  %new = call ptr @adc_context_new()
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %out, label %keep
out:
  ret ptr null
keep:
  store ptr %new, ptr @adc_array_arena
  br label %go
go:
  %ctx = phi ptr [ %known, %entry ], [ %new, %keep ]
  %epoch.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 6
  %epoch = load i64, ptr %epoch.p
  %epoch1 = add i64 %epoch, 1
  store i64 %epoch1, ptr %epoch.p
  %data = call ptr @adc_alloc(ptr %ctx, i64 %bytes)
  ret ptr %data
}

define internal ptr @adc_array_calloc(ptr %unused, i64 %count, i64 %size) {
  %bytes = mul i64 %count, %size
  %data = call ptr @adc_array_malloc(ptr %unused, i64 %bytes)
  %none = icmp eq ptr %data, null
  br i1 %none, label %done, label %clear
clear:
  call void @llvm.memset.p0.i64(ptr %data, i8 0, i64 %bytes, i1 false)
  br label %done
done:
  ret ptr %data
}

define internal ptr @adc_array_realloc(ptr %unused, ptr %data, i64 %bytes) {
  %ctx = load ptr, ptr @adc_array_arena
  %new = call ptr @adc_grow(ptr %ctx, ptr %data, i64 %bytes)
  ret ptr %new
}

define internal void @adc_array_free(ptr %unused, ptr %data, i64 %bytes) {
entry:
  %ctx = load ptr, ptr @adc_array_arena
  call void @adc_free(ptr %ctx, ptr %data)
  %live.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 8
  %live = load i64, ptr %live.p
  %held.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 10
  %held = load i64, ptr %held.p
  %idle = sub i64 %held, %live
  %much = icmp ugt i64 %idle, MOST_IDLE
  br i1 %much, label %trim, label %done
trim:
  call void @adc_array_release()
  br label %done
done:
  ret void
}

; Gives what is idle back to the system.
define void @adc_array_release() {
entry:
  %ctx = load ptr, ptr @adc_array_arena
  %none = icmp eq ptr %ctx, null
  br i1 %none, label %done, label %trim
trim:
  %lock = getelementptr %adc.context, ptr %ctx, i32 0, i32 3
  call void @adc_rt_lock(ptr %lock)
  call void @adc_rt_trim(ptr %ctx, i64 0)
  call void @adc_rt_unlock(ptr %lock)
  br label %done
done:
  ret void
}

; Whether arrays of so many bytes are made by the handler.
define internal i1 @adc_array_ours(i64 %bytes) {
  %ours = icmp sge i64 %bytes, SMALLEST
  ret i1 %ours
}

; Where the pointer to the block with such data is, among the first so many blocks of a context; null if it is not.
define internal ptr @adc_array_link(ptr %ctx, ptr %data, i64 %most) {
entry:
  %head = getelementptr %adc.context, ptr %ctx, i32 0, i32 11
  br label %look
look:
  %link = phi ptr [ %head, %entry ], [ %next, %other ]
  %count = phi i64 [ 0, %entry ], [ %count1, %other ]
  %block = load ptr, ptr %link
  %end = icmp eq ptr %block, null
  %late = icmp uge i64 %count, %most
  %stop = or i1 %end, %late
  br i1 %stop, label %none, label %compare
compare:
  %its = getelementptr i8, ptr %block, i64 64
  %same = icmp eq ptr %its, %data
  br i1 %same, label %found, label %other
other:
  %next = getelementptr %adc.block, ptr %block, i32 0, i32 2
  %count1 = add i64 %count, 1
  br label %look
found:
  ret ptr %link
none:
  ret ptr null
}

; Among the last blocks that a context has taken, ``new`` now stands where ``old`` was.
define internal void @adc_array_swapped(ptr %ctx, ptr %old, ptr %new) {
entry:
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %k1, %each ]
  %slot = getelementptr %adc.context, ptr %ctx, i32 0, i32 26, i64 %k
  %block = load ptr, ptr %slot
  %gone = icmp eq ptr %block, %old
  %kept = select i1 %gone, ptr %new, ptr %block
  store ptr %kept, ptr %slot
  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, TAKEN_COUNT
  br i1 %more, label %each, label %done
done:
  ret void
}

; Gives a new array of ``bytes`` the block of the context that ``data`` is all of, and the context the array's. Whether
; it could; it is not searched for longer than copying would take.
define i1 @adc_array_adopt(ptr %array, ptr %ctx, ptr %data, i64 %bytes) {
entry:
  %ours = call i1 @adc_array_ours(i64 %bytes)
  br i1 %ours, label %search, label %no
search:
  %most = lshr i64 %bytes, 8
  %arena = load ptr, ptr @adc_array_arena
  %its.p = getelementptr i8, ptr %array, i64 ARRAY_DATA
  %its = load ptr, ptr %its.p
  %lock = getelementptr %adc.context, ptr %arena, i32 0, i32 3
  call void @adc_rt_lock(ptr %lock)
  %link.a = call ptr @adc_array_link(ptr %ctx, ptr %data, i64 %most)
  %link.b = call ptr @adc_array_link(ptr %arena, ptr %its, i64 %most)
  %no.a = icmp eq ptr %link.a, null
  %no.b = icmp eq ptr %link.b, null
  %lacks = or i1 %no.a, %no.b
  br i1 %lacks, label %leave, label %compare
compare:
  %a = load ptr, ptr %link.a
  %b = load ptr, ptr %link.b
  %class.p = getelementptr %adc.block, ptr %a, i32 0, i32 5
  %class = load i32, ptr %class.p
  %class.b.p = getelementptr %adc.block, ptr %b, i32 0, i32 5
  %class.b = load i32, ptr %class.b.p
  %alike = icmp eq i32 %class, %class.b
  br i1 %alike, label %swap, label %leave
swap:
  store ptr %b, ptr %link.a
  store ptr %a, ptr %link.b
  %next.a.p = getelementptr %adc.block, ptr %a, i32 0, i32 2
  %next.b.p = getelementptr %adc.block, ptr %b, i32 0, i32 2
  %next.a = load ptr, ptr %next.a.p
  %next.b = load ptr, ptr %next.b.p
  store ptr %next.b, ptr %next.a.p
  store ptr %next.a, ptr %next.b.p
  %owner.a.p = getelementptr %adc.block, ptr %a, i32 0, i32 1
  %owner.b.p = getelementptr %adc.block, ptr %b, i32 0, i32 1
  store ptr %arena, ptr %owner.a.p
  store ptr %ctx, ptr %owner.b.p
  %epoch.a.p = getelementptr %adc.block, ptr %a, i32 0, i32 7
  %epoch.b.p = getelementptr %adc.block, ptr %b, i32 0, i32 7
  %epoch.a = load i64, ptr %epoch.a.p
  %epoch.b = load i64, ptr %epoch.b.p
  store i64 %epoch.b, ptr %epoch.a.p
  store i64 %epoch.a, ptr %epoch.b.p
  store ptr %data, ptr %its.p
  call void @adc_array_swapped(ptr %ctx, ptr %a, ptr %b)
  call void @adc_rt_unlock(ptr %lock)
  ret i1 true
leave:
  call void @adc_rt_unlock(ptr %lock)
  br label %no
no:
  ret i1 false
}

; A new contiguous array, not initialised, in Fortran's order if ``columns`` is 1; takes the reference to the dtype.
; ``bytes``: its size.
define ptr @adc_array_new(i32 %rank, ptr %extents, ptr %dtype, i64 %bytes, i32 %columns) {
entry:
  %ours = call i1 @adc_array_ours(i64 %bytes)
  br i1 %ours, label %handler, label %plain
plain:
  %usual = call ptr @PyArray_Empty(i32 %rank, ptr %extents, ptr %dtype, i32 %columns)
  ret ptr %usual
handler:
  %capsule = load ptr, ptr @adc_array_capsule
  %before = call ptr @PyDataMem_SetHandler(ptr %capsule)
  %failed = icmp eq ptr %before, null
  br i1 %failed, label %out, label %make
out:
  call void @Py_DecRef(ptr %dtype)
  ret ptr null
make:
  %new = call ptr @PyArray_Empty(i32 %rank, ptr %extents, ptr %dtype, i32 %columns)
  %mine = call ptr @PyDataMem_SetHandler(ptr %before)
  call void @Py_DecRef(ptr %before)
  call void @Py_DecRef(ptr %mine)
  ret ptr %new
}
"""


def array_memory_ir() -> str:
    text = _TEXT.replace("NAMEPADDING", r"\00" * 124)
    values = {"SMALLEST": SMALLEST, "MOST_IDLE": MOST_IDLE, "ARRAY_DATA": DATA, "TAKEN_COUNT": TAKEN}
    for name, value in values.items():
        text = text.replace(name, str(value))
    return text
