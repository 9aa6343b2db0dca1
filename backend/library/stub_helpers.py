"""Helper functions of all stubs, as LLVM IR, so that their code is not repeated in each stub.

- ``i32 adc_array_is(ptr object, i32 rank, i32 number, i32 other, i32 mask, i32 flags)``: 1 if the object is an ndarray
  (not of a subclass) of that rank, its elements have one of the two NumPy type numbers and native byte order, and its
  flags under the mask equal ``flags``;
- ``void adc_let_go(ptr slots, i64 count)`` releases the references in all slots that are not null.

Both are called with the interpreter lock.
"""

from adc.backend.library import numpy_abi, python_abi

EXPORTS = ("adc_array_is", "adc_let_go")

DECLARATIONS = {
    "adc_array_is": "declare i32 @adc_array_is(ptr, i32, i32, i32, i32, i32) nounwind memory(read)",
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
