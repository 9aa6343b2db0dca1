"""Blocks of an arena in files, as LLVM IR: for what a gradient keeps on disk. See ``arena.py``.

Such a block is a file of its own that is mapped into memory. The file is unlinked before anything is written to it, so
that nothing is left of it however the process ends, and its space is allocated at once, so that a full disk is noticed
immediately. The system writes stored data in the background; ``adc_page_out`` requests this, and removes the pages from
the memory of the process.

The class of a block, in its header, is -1; the file descriptor is in a field that other blocks do not use.
"""

from __future__ import annotations

NO_SPACE = 28
"""The system's error number for a full disk."""

FAILED = 4095
"""On failure ``adc_alloc_file`` returns the system's error number, at most this, instead of an address."""

_TEXT = r"""
@adc_rt_tmpdir = internal constant [7 x i8] c"TMPDIR\00"
@adc_rt_tmp = internal constant [5 x i8] c"/tmp\00"
@adc_rt_file = internal constant [12 x i8] c"/adc-XXXXXX\00"
declare i64 @strlen(ptr)
declare i32 @mkstemp(ptr)
declare i32 @unlink(ptr)
declare i32 @close(i32)
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare ptr @ERRNO()
DECLARE_ROOM

; A live block of so many bytes in a file in this directory, or, if that has no name, in that for temporary files.
define LINKAGE ptr @adc_alloc_file(ptr %ctx, i64 %bytes, ptr %given) {
entry:
  %path = alloca [4096 x i8], align 1
  %absurd = icmp ugt i64 %bytes, 140737488355328
  br i1 %absurd, label %full, label %where
where:
  %letter = load i8, ptr %given
  %unnamed = icmp eq i8 %letter, 0
  br i1 %unnamed, label %environment, label %name
environment:
  %variable = call ptr @getenv(ptr @adc_rt_tmpdir)
  %unset = icmp eq ptr %variable, null
  %usual = select i1 %unset, ptr @adc_rt_tmp, ptr %variable
  br label %name
name:
  %directory = phi ptr [ %given, %where ], [ %usual, %environment ]
  %length = call i64 @strlen(ptr %directory)
  %long = icmp ugt i64 %length, 4084
  br i1 %long, label %absent, label %open
open:
  call void @llvm.memcpy.p0.p0.i64(ptr %path, ptr %directory, i64 %length, i1 false)
  %rest = getelementptr i8, ptr %path, i64 %length
  call void @llvm.memcpy.p0.p0.i64(ptr %rest, ptr @adc_rt_file, i64 12, i1 false)
  %file = call i32 @mkstemp(ptr %path)
  %refused = icmp slt i32 %file, 0
  br i1 %refused, label %errno, label %opened
opened:
  %gone = call i32 @unlink(ptr %path)
  %with.header = add i64 %bytes, 4159
  %total = and i64 %with.header, -4096
  ROOM
  %scarce = icmp ne i32 %lacking, 0
  br i1 %scarce, label %give.up, label %map
map:
  %base = call ptr @mmap(ptr null, i64 %total, i32 3, i32 1, i32 %file, i64 0)
  %number = ptrtoint ptr %base to i64
  %unmapped = icmp eq i64 %number, -1
  br i1 %unmapped, label %close, label %link
link:
  store ptr %base, ptr %base
  %owner.p = getelementptr %adc.block, ptr %base, i32 0, i32 1
  store ptr %ctx, ptr %owner.p
  %capacity.p = getelementptr %adc.block, ptr %base, i32 0, i32 4
  store i64 %total, ptr %capacity.p
  %class.p = getelementptr %adc.block, ptr %base, i32 0, i32 5
  store i32 -1, ptr %class.p
  %live.p = getelementptr %adc.block, ptr %base, i32 0, i32 6
  store i32 1, ptr %live.p
  %file.p = getelementptr %adc.block, ptr %base, i32 0, i32 8
  store i32 %file, ptr %file.p
  %lock = getelementptr %adc.context, ptr %ctx, i32 0, i32 3
  call void @adc_rt_lock(ptr %lock)
  %head = getelementptr %adc.context, ptr %ctx, i32 0, i32 11
  %next.p = getelementptr %adc.block, ptr %base, i32 0, i32 2
  %first = load ptr, ptr %head
  store ptr %first, ptr %next.p
  store ptr %base, ptr %head
  %count.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 7
  %count = load i64, ptr %count.p
  %count1 = add i64 %count, 1
  store i64 %count1, ptr %count.p
  call void @adc_rt_unlock(ptr %lock)
  %data = getelementptr i8, ptr %base, i64 64
  ret ptr %data
give.up:
  %ignored = call i32 @close(i32 %file)
  %reason = zext i32 %lacking to i64
  br label %fail
close:
  %unmappable = call ptr @ERRNO()
  %why = load i32, ptr %unmappable
  %closed = call i32 @close(i32 %file)
  %because = zext i32 %why to i64
  br label %fail
errno:
  %place = call ptr @ERRNO()
  %what = load i32, ptr %place
  %wide = zext i32 %what to i64
  br label %fail
full:
  br label %fail
absent:
  br label %fail
fail:
  %error = phi i64 [ %reason, %give.up ], [ %because, %close ], [ %wide, %errno ], [ NO_SPACE, %full ], [ 36, %absent ]
  %result = inttoptr i64 %error to ptr
  ret ptr %result
}

; Returns a block to the system, in a file or not. It is in no list any more.
define internal void @adc_rt_release(ptr %block) {
entry:
  %base = load ptr, ptr %block
  %class.p = getelementptr %adc.block, ptr %block, i32 0, i32 5
  %class = load i32, ptr %class.p
  %on.disk = icmp eq i32 %class, -1
  br i1 %on.disk, label %unmap, label %usual
unmap:
  %file.p = getelementptr %adc.block, ptr %block, i32 0, i32 8
  %file = load i32, ptr %file.p
  %capacity.p = getelementptr %adc.block, ptr %block, i32 0, i32 4
  %capacity = load i64, ptr %capacity.p
  %gone = call i32 @munmap(ptr %base, i64 %capacity)
  %closed = call i32 @close(i32 %file)
  br label %done
usual:
  call void @free(ptr %base)
  br label %done
done:
  ret void
}

; Frees a block in a file.
define internal void @adc_rt_free_file(ptr %ctx, ptr %block) {
entry:
  %lock = getelementptr %adc.context, ptr %ctx, i32 0, i32 3
  call void @adc_rt_lock(ptr %lock)
  %head = getelementptr %adc.context, ptr %ctx, i32 0, i32 11
  br label %search
search:
  %link = phi ptr [ %head, %entry ], [ %other.next, %further ]
  %other = load ptr, ptr %link
  %found = icmp eq ptr %other, %block
  br i1 %found, label %take, label %further
further:
  %other.next = getelementptr %adc.block, ptr %other, i32 0, i32 2
  br label %search
take:
  %next.p = getelementptr %adc.block, ptr %block, i32 0, i32 2
  %next = load ptr, ptr %next.p
  store ptr %next, ptr %link
  %count.p = getelementptr %adc.context, ptr %ctx, i32 0, i32 7
  %count = load i64, ptr %count.p
  %count1 = sub i64 %count, 1
  store i64 %count1, ptr %count.p
  call void @adc_rt_unlock(ptr %lock)
  call void @adc_rt_release(ptr %block)
  ret void
}

; So many bytes of a block in a file, from an address on, are not wanted for a while.
define LINKAGE void @adc_page_out(ptr %data, ptr %from, i64 %bytes) {
entry:
  %start = ptrtoint ptr %from to i64
  %end = add i64 %start, %bytes
  %up = add i64 %start, 4095
  %first = and i64 %up, -4096
  %last = and i64 %end, -4096
  %length = sub i64 %last, %first
  %some = icmp sgt i64 %length, 0
  br i1 %some, label %out, label %done
out:
  WRITE
  %pages = inttoptr i64 %first to ptr
  %ignored = call i32 @madvise(ptr %pages, i64 %length, i32 4)
  br label %done
done:
  ret void
}
"""

_LINUX = {
    "DECLARE_ROOM": "declare i32 @posix_fallocate(i32, i64, i64)\ndeclare i32 @sync_file_range(i32, i64, i64, i32)",
    "ROOM": "%lacking = call i32 @posix_fallocate(i32 %file, i64 0, i64 %total)",
    "ERRNO": "__errno_location",
    "WRITE": """%block = getelementptr i8, ptr %data, i64 -64
  %file.p = getelementptr %adc.block, ptr %block, i32 0, i32 8
  %file = load i32, ptr %file.p
  %base = ptrtoint ptr %block to i64
  %offset = sub i64 %first, %base
  %begun = call i32 @sync_file_range(i32 %file, i64 %offset, i64 %length, i32 2)""",
}
_OTHER = {
    "DECLARE_ROOM": "declare i32 @ftruncate(i32, i64)",
    "ROOM": f"%cut = call i32 @ftruncate(i32 %file, i64 %total)\n  %lacking = and i32 %cut, {NO_SPACE}",
    "ERRNO": "__error",
    "WRITE": "",
}


def files_ir(*, linux: bool) -> str:
    """The text; ``LINKAGE`` stands for the linkage of functions that are called from outside."""
    text = _TEXT.replace("NO_SPACE", str(NO_SPACE))
    for name, value in (_LINUX if linux else _OTHER).items():
        text = text.replace(name, value)
    return text
