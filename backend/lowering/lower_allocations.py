"""Lowering of allocations and deallocations: in the arena of the run, on the stack, in files; arrays that grow."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from adc.backend.lowering.lower_effects import in_turn, on_stack
from adc.backend.lowering.lower_emitter import SUPPORT, FunctionEmitter
from adc.backend.lowering.lower_files import allocate_in_file
from adc.backend.lowering.lower_types import Descriptor
from adc.backend.sites import Site
from adc.ir import ops
from adc.ir.core import Op
from adc.ir.moments import strip_views
from adc.ir.schedules import FILE, TAPE
from adc.ir.types import MemRefType, index, scalar_bytes

_MOST_BYTES = (1 << 63) - 1
_FIRST_BYTES = 64  # of an array that grows: one line of the cache, since many end with few elements
_MEMORY = "cannot allocate an array of {} bytes"
_SCHEDULES = " for what the reverse sweep needs; with memory= or checkpoint= a gradient keeps less"


def alloc(e: FunctionEmitter, op: Op) -> None:
    if op in e.in_turn:
        return
    t = op.result.type
    assert isinstance(t, MemRefType)
    given = iter(e.scalars(op.operands))
    extents = tuple(next(given) if extent is None else str(extent) for extent in t.shape)
    size = scalar_bytes(t.element)
    if on_stack(op):
        count = 1
        for extent in t.shape:
            count *= extent or 0
        ptr = e.stack(f"[{max(1, count * size)} x i8]", 64 if count * size >= 64 else 8)
    else:
        ptr = _allocate(e, op, extents, size)
    e.env[op.result] = Descriptor(ptr, extents, e.contiguous(extents))


@contextlib.contextmanager
def arrays_in_turn(e: FunctionEmitter, loop: Op) -> Iterator[None]:
    """A context around those iterations of a parallel loop that one thread runs: each iteration reuses the private
    arrays of the one before."""
    arrays = in_turn(loop)
    for op in arrays:
        alloc(e, op)
    e.in_turn.update(arrays)
    yield
    for op in arrays:
        free(e, e.memref(op.result).ptr)
    e.in_turn.difference_update(arrays)


def _allocate(e: FunctionEmitter, op: Op, extents: Sequence[str], size: int) -> str:
    total, overflow = str(size), "false"
    checked = "llvm.umul.with.overflow.i64"
    for extent in extents:
        e.module.declare(checked, f"declare {{ i64, i1 }} @{checked}(i64, i64)")
        pair = e.let(f"call {{ i64, i1 }} @{checked}(i64 {total}, i64 {extent})")
        total = e.let(f"extractvalue {{ i64, i1 }} {pair}, 0")
        wrapped = e.let(f"extractvalue {{ i64, i1 }} {pair}, 1")
        overflow = wrapped if overflow == "false" else e.let(f"or i1 {overflow}, {wrapped}")
    if overflow != "false":
        # All sizes beyond 63 bits are treated alike: no such allocation can succeed.
        e.module.declare("llvm.umin.i64", "declare i64 @llvm.umin.i64(i64, i64)")
        total = e.let(f"select i1 {overflow}, i64 {_MOST_BYTES}, i64 {total}")
        total = e.let(f"call i64 @llvm.umin.i64(i64 {total}, i64 {_MOST_BYTES})")
    return allocate_in_file(e, op, total) if FILE in op.attrs else allocate_bytes(e, op, total)


def allocate_bytes(e: FunctionEmitter, op: Op, total: str) -> str:
    attributes = f'{SUPPORT} allockind("alloc,uninitialized") "alloc-family"="adc"'
    e.module.declare("adc_alloc", f"declare noalias align 64 ptr @adc_alloc(ptr, i64) {attributes}")
    ptr = e.let(f"call ptr @adc_alloc(ptr %ctx, i64 {total})")
    have = e.let(f"icmp ne ptr {ptr}, null")
    e.trap_unless(have, _no_memory(op), [total])
    return ptr


def _no_memory(op: Op) -> Site:
    return Site("MemoryError", _MEMORY + _SCHEDULES if TAPE in op.attrs else _MEMORY, op.loc, (index,))


def dealloc(e: FunctionEmitter, op: Op) -> None:
    (memref,) = op.operands
    origin = strip_views(memref).op
    if origin is not None and origin.opdef is ops.alloc and (on_stack(origin) or origin in e.in_turn):
        return
    free(e, e.memref(memref).ptr)


def free(e: FunctionEmitter, ptr: str) -> None:
    attributes = f'{SUPPORT} allockind("free") "alloc-family"="adc"'
    e.module.declare("adc_free", f"declare void @adc_free(ptr, ptr allocptr) {attributes}")
    e.do(f"call void @adc_free(ptr %ctx, ptr {ptr})")


def grow(e: FunctionEmitter, op: Op) -> None:
    """Grow an array. The capacity at least doubles, so that the total copying is linear in the final size."""
    memref, subscript = op.operands
    old, wanted = e.memref(memref), e.scalar(subscript)
    t = memref.type
    assert isinstance(t, MemRefType)
    size = scalar_bytes(t.element)
    e.module.declare("adc_grow", f"declare ptr @adc_grow(ptr, ptr, i64) {SUPPORT}")
    e.module.declare("llvm.smax.i64", "declare i64 @llvm.smax.i64(i64, i64)")
    before = e.label
    enlarge, done = e.new_label(), e.new_label()
    room = e.let(f"icmp slt i64 {wanted}, {old.extents[0]}")
    e.branch_if(room, done, enlarge, e.likely(True))
    e.begin(enlarge)
    twice = e.let(f"shl i64 {old.extents[0]}, 1")
    needed = e.let(f"add i64 {wanted}, 1")
    least = e.let(f"call i64 @llvm.smax.i64(i64 {needed}, i64 {max(1, _FIRST_BYTES // size)})")
    extent = e.let(f"call i64 @llvm.smax.i64(i64 {twice}, i64 {least})")
    total = e.multiply(extent, str(size))
    ptr = e.let(f"call ptr @adc_grow(ptr %ctx, ptr {old.ptr}, i64 {total})")
    have = e.let(f"icmp ne ptr {ptr}, null")
    e.trap_unless(have, _no_memory(op), [total])
    after = e.label
    e.branch(done)
    e.begin(done)
    new_ptr = e.let(f"phi ptr [{old.ptr}, %{before}], [{ptr}, %{after}]")
    new_extent = e.let(f"phi i64 [{old.extents[0]}, %{before}], [{extent}, %{after}]")
    e.env[op.result] = Descriptor(new_ptr, (new_extent,), old.strides)
