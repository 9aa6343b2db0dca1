"""Calls of libraries with threads of their own, as LLVM IR: they are restricted to one thread, so that the bits of
results do not depend on their number of threads, and so that parallel loops may call them.

The number of threads is a setting of the whole library. The first call that begins sets it to one, and the last one
that ends sets it back. ``adc_library_get`` and ``adc_library_set`` are the library's functions for that; they are null
where it has none, and then nothing is done.
"""

from __future__ import annotations

from collections.abc import Mapping

DECLARATIONS: Mapping[str, str] = {
    "adc_library_begin": "declare void @adc_library_begin() nounwind",
    "adc_library_end": "declare void @adc_library_end() nounwind",
}
GLOBALS = ("adc_library_get", "adc_library_set", "adc_library_calls")
LIBRARIES_IR = r"""
@adc_library_get = global ptr null
@adc_library_set = global ptr null
@adc_library_calls = global i32 0
@adc_rt_library_lock = internal global i32 0
@adc_rt_library_threads = internal global i32 1

define void @adc_library_begin() nounwind {
  %get = load ptr, ptr @adc_library_get
  %none = icmp eq ptr %get, null
  br i1 %none, label %done, label %enter
enter:
  call void @adc_rt_lock(ptr @adc_rt_library_lock)
  %calls = load i32, ptr @adc_library_calls
  %more = add i32 %calls, 1
  store i32 %more, ptr @adc_library_calls
  %first = icmp eq i32 %calls, 0
  br i1 %first, label %look, label %leave
look:
  %threads = call i32 %get()
  store i32 %threads, ptr @adc_rt_library_threads
  %many = icmp ne i32 %threads, 1
  br i1 %many, label %change, label %leave
change:
  %set = load ptr, ptr @adc_library_set
  call void %set(i32 1)
  br label %leave
leave:
  call void @adc_rt_unlock(ptr @adc_rt_library_lock)
  br label %done
done:
  ret void
}

define void @adc_library_end() nounwind {
  %get = load ptr, ptr @adc_library_get
  %none = icmp eq ptr %get, null
  br i1 %none, label %done, label %enter
enter:
  call void @adc_rt_lock(ptr @adc_rt_library_lock)
  %calls = load i32, ptr @adc_library_calls
  %less = sub i32 %calls, 1
  store i32 %less, ptr @adc_library_calls
  %last = icmp eq i32 %less, 0
  %threads = load i32, ptr @adc_rt_library_threads
  %many = icmp ne i32 %threads, 1
  %back = and i1 %last, %many
  br i1 %back, label %change, label %leave
change:
  %set = load ptr, ptr @adc_library_set
  call void %set(i32 %threads)
  br label %leave
leave:
  call void @adc_rt_unlock(ptr @adc_rt_library_lock)
  br label %done
done:
  ret void
}
"""
