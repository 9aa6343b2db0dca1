"""Whether everything that compiled code depends on is as it was, as LLVM IR: a table of looks, checked at each call.

``i32 adc_unchanged(ptr table)``, with the interpreter lock: 1 if each entry of the table still finds the object that it
expects. The table is the number of entries, then four words of each: what to do, two operands, and the object (null:
none). ``adc.backend.calls.looks`` makes tables.
"""

EXPORTS = ("adc_unchanged",)

DECLARATIONS = {"adc_unchanged": "declare i32 @adc_unchanged(ptr)"}

MEMORY, VARIABLE, CALL = range(3)  # what to do: read a pointer, look up in a dictionary, call an object
WORDS = 4

UNCHANGED_IR = f"""
define i32 @adc_unchanged(ptr %table) {{
entry:
  %count = load i64, ptr %table
  br label %next
next:
  %k = phi i64 [ 0, %entry ], [ %k1, %seen ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %look, label %same
look:
  %k1 = add i64 %k, 1
  %at = mul i64 %k, {8 * WORDS}
  %entry.p = getelementptr i8, ptr %table, i64 %at
  %kind.p = getelementptr i8, ptr %entry.p, i64 8
  %first.p = getelementptr i8, ptr %entry.p, i64 16
  %second.p = getelementptr i8, ptr %entry.p, i64 24
  %expected.p = getelementptr i8, ptr %entry.p, i64 32
  %kind = load i64, ptr %kind.p
  %first = load ptr, ptr %first.p
  %expected = load ptr, ptr %expected.p
  switch i64 %kind, label %call [ i64 {MEMORY}, label %memory i64 {VARIABLE}, label %variable ]
memory:
  %there = load ptr, ptr %first
  br label %seen.check
variable:
  %name = load ptr, ptr %second.p
  %item = call ptr @PyDict_GetItemWithError(ptr %first, ptr %name)
  br label %seen.check
call:
  %new = call ptr @PyObject_CallNoArgs(ptr %first)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %error, label %called
error:
  call void @PyErr_Clear()
  br label %changed
called:
  call void @Py_DecRef(ptr %new)
  br label %seen.check
seen.check:
  %found = phi ptr [ %there, %memory ], [ %item, %variable ], [ %new, %called ]
  %equal = icmp eq ptr %found, %expected
  br i1 %equal, label %seen, label %changed
seen:
  br label %next
same:
  ret i32 1
changed:
  ret i32 0
}}
"""
