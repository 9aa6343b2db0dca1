"""Helper functions of all stubs, as LLVM IR, so that their code is not repeated in each stub.

- ``i32 adc_array_is(ptr object, i32 rank, i32 number, i32 other, i32 mask, i32 flags)``: 1 if the object is an ndarray
  (not of a subclass) of that rank, its elements have one of the two NumPy type numbers and native byte order, and its
  flags under the mask equal ``flags``;
- ``i32 adc_array_same(ptr array, i32 rank, ptr extents, ptr strides, ptr data)``: 1 if these are the extents, the
  strides in bytes, and the data of an array;
- ``ptr adc_array_view(ptr array, ptr dtype, i32 rank, ptr extents, ptr strides, ptr data)``: a window on ``array``; a
  new reference, or null with an exception set;
- ``void adc_let_go(ptr slots, i64 count)`` releases the references in all slots that are not null.

All are called with the interpreter lock.
"""

from adc.backend.library import numpy_abi, python_abi

EXPORTS = ("adc_array_is", "adc_array_same", "adc_array_view", "adc_let_go")

DECLARATIONS = {
    "adc_array_is": "declare i32 @adc_array_is(ptr, i32, i32, i32, i32, i32) nounwind memory(read)",
    "adc_array_same": "declare i32 @adc_array_same(ptr, i32, ptr, ptr, ptr) nounwind memory(read)",
    "adc_array_view": "declare ptr @adc_array_view(ptr, ptr, i32, ptr, ptr, ptr)",
    "adc_let_go": "declare void @adc_let_go(ptr, i64)",
}


def stub_helpers_ir() -> str:
    return f"""
define i32 @adc_array_is(ptr %object, i32 %rank, i32 %number, i32 %other, i32 %mask, i32 %flags) nounwind {{
entry:
  %kind.p = getelementptr i8, ptr %object, i64 {python_abi.TYPE_OFFSET}
  %kind = load ptr, ptr %kind.p
  %array = icmp eq ptr %kind, @PyArray_Type
  br i1 %array, label %look, label %no
look:
  %rank.p = getelementptr i8, ptr %object, i64 {numpy_abi.ND}
  %has_rank = load i32, ptr %rank.p
  %ranks = icmp eq i32 %has_rank, %rank
  %flags.p = getelementptr i8, ptr %object, i64 {numpy_abi.FLAGS}
  %has_flags = load i32, ptr %flags.p
  %under = and i32 %has_flags, %mask
  %right = icmp eq i32 %under, %flags
  %descr.p = getelementptr i8, ptr %object, i64 {numpy_abi.DESCR}
  %descr = load ptr, ptr %descr.p
  %number.p = getelementptr i8, ptr %descr, i64 {numpy_abi.TYPE_NUMBER}
  %has_number = load i32, ptr %number.p
  %one = icmp eq i32 %has_number, %number
  %two = icmp eq i32 %has_number, %other
  %either = or i1 %one, %two
  %order.p = getelementptr i8, ptr %descr, i64 {numpy_abi.BYTE_ORDER}
  %order = load i8, ptr %order.p
  %native = icmp eq i8 %order, {ord("=")}
  %none = icmp eq i8 %order, {ord("|")}
  %ordered = or i1 %native, %none
  %shape = and i1 %ranks, %right
  %element = and i1 %either, %ordered
  %all = and i1 %shape, %element
  %result = zext i1 %all to i32
  ret i32 %result
no:
  ret i32 0
}}

define i32 @adc_array_same(ptr %array, i32 %rank, ptr %extents, ptr %strides, ptr %data) nounwind {{
entry:
  %data.p = getelementptr i8, ptr %array, i64 {numpy_abi.DATA}
  %has_data = load ptr, ptr %data.p
  %starts = icmp eq ptr %has_data, %data
  %rank.p = getelementptr i8, ptr %array, i64 {numpy_abi.ND}
  %has_rank = load i32, ptr %rank.p
  %ranks = icmp eq i32 %has_rank, %rank
  %maybe = and i1 %starts, %ranks
  br i1 %maybe, label %compare, label %no
compare:
  %extents.p = getelementptr i8, ptr %array, i64 {numpy_abi.DIMENSIONS}
  %has_extents = load ptr, ptr %extents.p
  %strides.p = getelementptr i8, ptr %array, i64 {numpy_abi.STRIDES}
  %has_strides = load ptr, ptr %strides.p
  %some = icmp sgt i32 %rank, 0
  br i1 %some, label %axis, label %yes
axis:
  %d = phi i32 [ 0, %compare ], [ %d1, %same ]
  %extent.a = getelementptr i64, ptr %extents, i32 %d
  %extent.b = getelementptr i64, ptr %has_extents, i32 %d
  %stride.a = getelementptr i64, ptr %strides, i32 %d
  %stride.b = getelementptr i64, ptr %has_strides, i32 %d
  %e.a = load i64, ptr %extent.a
  %e.b = load i64, ptr %extent.b
  %s.a = load i64, ptr %stride.a
  %s.b = load i64, ptr %stride.b
  %e.same = icmp eq i64 %e.a, %e.b
  %s.same = icmp eq i64 %s.a, %s.b
  %both = and i1 %e.same, %s.same
  br i1 %both, label %same, label %no
same:
  %d1 = add i32 %d, 1
  %more = icmp slt i32 %d1, %rank
  br i1 %more, label %axis, label %yes
yes:
  ret i32 1
no:
  ret i32 0
}}

define ptr @adc_array_view(ptr %array, ptr %dtype, i32 %rank, ptr %extents, ptr %strides, ptr %data) {{
entry:
  call void @Py_IncRef(ptr %dtype) ; the call takes a reference
  %flags.p = getelementptr i8, ptr %array, i64 {numpy_abi.FLAGS}
  %has_flags = load i32, ptr %flags.p
  %flags = and i32 %has_flags, {numpy_abi.WRITEABLE}
  %new = call ptr @PyArray_NewFromDescr(ptr @PyArray_Type, ptr %dtype, i32 %rank, ptr %extents, ptr %strides, ptr %data,
                                        i32 %flags, ptr null)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %none, label %keep
keep:
  call void @Py_IncRef(ptr %array) ; so does this one
  %status = call i32 @PyArray_SetBaseObject(ptr %new, ptr %array)
  %lost = icmp slt i32 %status, 0
  br i1 %lost, label %drop, label %done
drop:
  call void @Py_DecRef(ptr %new)
  br label %none
none:
  ret ptr null
done:
  ret ptr %new
}}

define void @adc_let_go(ptr %slots, i64 %count) {{
entry:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %next, label %done
next:
  %k = phi i64 [ 0, %entry ], [ %k1, %next ]
  %slot = getelementptr ptr, ptr %slots, i64 %k
  %object = load ptr, ptr %slot
  call void @Py_DecRef(ptr %object)
  %k1 = add i64 %k, 1
  %more = icmp slt i64 %k1, %count
  br i1 %more, label %next, label %done
done:
  ret void
}}
"""
