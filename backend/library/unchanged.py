"""Checks, at each call, that nothing that compiled code depends on has changed: a table of looks, as LLVM IR.

``i32 adc_unchanged(ptr table)``, with the interpreter lock: 1 if each entry of the table still finds the object that it
expects. The table is the number of entries, then four words for each entry: what to do, two operands, and the object
(null: none). ``adc.backend.calls.looks`` makes tables.

The entries of one dictionary are adjacent. An entry before them may hold the address of the dictionary's version, which
differs after each change; the number of these entries; and, instead of an object, the version at which they last held.
As long as the version is the same, they are skipped.
"""

EXPORTS = ("adc_unchanged",)

DECLARATIONS = {"adc_unchanged": "declare i32 @adc_unchanged(ptr)"}

# What to do: read a pointer, look up in a dictionary, call an object, read the version of a dictionary.
MEMORY, VARIABLE, CALL, VERSION = range(4)
WORDS = 4

UNCHANGED_IR = f"""
define i32 @adc_unchanged(ptr %table) {{
entry:
  %count = load i64, ptr %table
  br label %next
next:
  %k = phi i64 [ 0, %entry ], [ %k1, %seen ], [ %behind, %skip ], [ %k1, %again ]
  %open = phi ptr [ null, %entry ], [ %open, %seen ], [ %open, %skip ], [ %expected.p, %again ]
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
  switch i64 %kind, label %call [
    i64 {MEMORY}, label %memory
    i64 {VARIABLE}, label %variable
    i64 {VERSION}, label %version
  ]
version:
  %now = load i64, ptr %first
  %then = load i64, ptr %expected.p
  %old = icmp eq i64 %now, %then
  br i1 %old, label %skip, label %again
skip:
  %entries = load i64, ptr %second.p
  %behind = add i64 %k1, %entries
  br label %next
again:
  store i64 %now, ptr %expected.p
  br label %next
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
  %none = icmp eq ptr %open, null
  br i1 %none, label %out, label %forget
forget:
  store i64 0, ptr %open
  br label %out
out:
  ret i32 0
}}
"""
