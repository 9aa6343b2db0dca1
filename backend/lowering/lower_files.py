"""Lowering of memory that lies in files: see ``adc.backend.support.files``."""

from __future__ import annotations

from adc.backend.llvm_text import c_string
from adc.backend.lowering.lower_emitter import SUPPORT, FunctionEmitter
from adc.backend.sites import Site
from adc.backend.support import contexts
from adc.backend.support.files import FAILED, NO_SPACE
from adc.ir.core import Op
from adc.ir.schedules import FILE
from adc.ir.types import MemRefType, index, scalar_bytes

_ANYWHERE = "the directory for temporary files"
_REASONS = {NO_SPACE: "there is not so much room", 2: "there is no such directory", 13: "that is not allowed"}


def allocate_in_file(e: FunctionEmitter, op: Op, total: str) -> str:
    """A pointer to ``total`` bytes in a file of their own."""
    directory = str(op.attrs[FILE])
    name = f"@adc.directory{len(e.module.declarations)}"
    e.module.declare(name, c_string(name, directory).rstrip())
    e.module.declare("adc_alloc_file", f"{contexts.DECLARATIONS['adc_alloc_file']} {SUPPORT}")
    ptr = e.let(f"call ptr @adc_alloc_file(ptr %ctx, i64 {total}, ptr {name})")
    number = e.let(f"ptrtoint ptr {ptr} to i64")
    # Braces in a message are placeholders for operands.
    where = directory.replace("{}", "{ }") or _ANYWHERE
    refused = f"cannot make a file of {{}} bytes, for snapshots, in {where}: "
    for error, reason in _REASONS.items():
        other = e.let(f"icmp ne i64 {number}, {error}")
        e.trap_unless(other, Site("FileError", refused + reason, op.loc, (index,)), [total])
    have = e.let(f"icmp ugt i64 {number}, {FAILED}")
    e.trap_unless(have, Site("FileError", refused + "error {} of the system", op.loc, (index, index)), [total, number])
    return ptr


def page_out(e: FunctionEmitter, op: Op) -> None:
    memref, number = op.operands
    t = memref.type
    assert isinstance(t, MemRefType)
    e.module.declare("adc_page_out", f"{contexts.DECLARATIONS['adc_page_out']} {SUPPORT}")
    whole = e.memref(memref)
    bytes_ = str(scalar_bytes(t.element))
    for extent in whole.extents[1:]:
        bytes_ = e.multiply(bytes_, extent)
    offset = e.multiply(e.scalar(number), bytes_)
    start = e.let(f"getelementptr i8, ptr {whole.ptr}, i64 {offset}")
    e.do(f"call void @adc_page_out(ptr {whole.ptr}, ptr {start}, i64 {bytes_})")
