"""Lowering of memory: views, loads and stores, whole-array fills and copies, records.

A memref is pointer arithmetic. In memory (as an element of another memref, in a record) it is a struct of 64-bit
words: pointer, extents, strides. Addresses of elements are ``inbounds``, since subscripts are in range; those of views
are not, because an empty view may point outside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adc.backend.lowering import whole_arrays
from adc.backend.lowering.lower_allocations import allocate_bytes, free
from adc.backend.lowering.lower_effects import on_stack
from adc.backend.lowering.lower_emitter import FunctionEmitter, Operand
from adc.backend.lowering.lower_loops import counted_loop
from adc.backend.lowering.lower_types import (
    Descriptor,
    alignment,
    carried_types,
    carried_values,
    literal,
    memory_type,
    register_type,
)
from adc.backend.lowering.masked import settled
from adc.backend.lowering.multiply_add import is_fused, multiply_add
from adc.backend.support import transposes
from adc.ir import ops
from adc.ir.core import Op, Value
from adc.ir.loop_attrs import OWN
from adc.ir.types import MemRefType, Type, i1, scalar_bytes


def _element(memref: Value) -> Type:
    assert isinstance(memref.type, MemRefType)
    return memref.type.element


# Addresses and accesses -----------------------------------------------------------------------------------------------


def offset(e: FunctionEmitter, memref: Descriptor, subscripts: Sequence[str]) -> str:
    """The distance, in elements, of an element from the first one."""
    total = "0"
    for subscript, stride in zip(subscripts, memref.strides, strict=True):
        total = e.add(total, e.multiply(subscript, stride, "nsw "), "nsw ")
    return total


def element_address(e: FunctionEmitter, memref: Descriptor, element: Type, subscripts: Sequence[str]) -> str:
    distance = offset(e, memref, subscripts)
    return memref.ptr if distance == "0" else _advance(e, memref.ptr, element, distance, "inbounds ")


def _advance(e: FunctionEmitter, ptr: str, element: Type, distance: str, flags: str = "") -> str:
    if isinstance(element, MemRefType):
        words = 1 + 2 * element.rank
        return e.let(f"getelementptr {flags}[{words} x i64], ptr {ptr}, i64 {distance}")
    return e.let(f"getelementptr {flags}{memory_type(element)}, ptr {ptr}, i64 {distance}")


def metadata(e: FunctionEmitter, memref: Value) -> str:
    """Metadata of an access to the memory of ``memref``: alias scopes, and access groups of enclosing parallel
    loops."""
    text = e.scopes.suffix(memref)
    if e.groups:
        roots = e.scopes.aliasing.roots(memref)
        groups = [group for loop, group in e.groups if not any(_in_frame_of(root, loop) for root in roots)]
        if groups:
            group = groups[0] if len(groups) == 1 else e.module.metadata(f"!{{{', '.join(groups)}}}")
            text += f", !llvm.access.group {group}"
    return text


def _in_frame_of(root: Value, loop: Op) -> bool:
    """Whether ``root`` is a private buffer that the iterations of ``loop`` reuse one after the other, in the frame or
    not."""
    op = root.op
    if op is None or op.opdef is not ops.alloc or not (op.attrs.get(OWN) or on_stack(op)):
        return False
    block = op.parent
    while block is not None:
        parent = block.parent_op
        if parent is loop:
            return True
        block = parent.parent if parent is not None else None
    return False


def read(e: FunctionEmitter, op: Op, address: str, t: Type, suffix: str) -> Operand:
    """The value of type ``t`` at an address, loaded for ``op``."""
    if isinstance(t, MemRefType):
        words = [e.let(f"load ptr, ptr {address}, align 8{suffix}")]
        for k in range(1, 1 + t.rank * (1 if t.strides is None else 2)):
            place = e.let(f"getelementptr inbounds i64, ptr {address}, i64 {k}")
            words.append(e.let(f"load i64, ptr {place}, align 8{suffix}"))
        return e.from_abi(t, words)
    if t == i1:
        bits = e.module.metadata("!{i8 0, i8 2}")
        byte = e.let(f"load i8, ptr {address}, align 1, !range {bits}{suffix}")
        return e.let(f"trunc nuw i8 {settled(e, op, 'i8', byte)} to i1")
    kind = register_type(t)
    return settled(e, op, kind, e.let(f"load {kind}, ptr {address}, align {alignment(t)}{suffix}"))


def write(e: FunctionEmitter, address: str, t: Type, value: Operand, suffix: str) -> None:
    if isinstance(value, Descriptor):
        e.do(f"store ptr {value.ptr}, ptr {address}, align 8{suffix}")
        for k, word in enumerate((*value.extents, *value.strides)):
            place = e.let(f"getelementptr inbounds i64, ptr {address}, i64 {k + 1}")
            e.do(f"store i64 {word}, ptr {place}, align 8{suffix}")
    elif t == i1:
        e.do(f"store i8 {e.let(f'zext i1 {value} to i8')}, ptr {address}, align 1{suffix}")
    else:
        e.do(f"store {register_type(t)} {value}, ptr {address}, align {alignment(t)}{suffix}")


def load(e: FunctionEmitter, op: Op) -> None:
    source, *subscripts = op.operands
    address = element_address(e, e.memref(source), _element(source), e.scalars(subscripts))
    e.env[op.result] = read(e, op, address, op.result.type, metadata(e, source))


def store(e: FunctionEmitter, op: Op) -> None:
    value, target, *subscripts = op.operands
    address = element_address(e, e.memref(target), value.type, e.scalars(subscripts))
    write(e, address, value.type, e[value], metadata(e, target))


def accumulate(e: FunctionEmitter, op: Op) -> None:
    """Read, add, write. If it is not atomic, the enclosing loops do not run on threads."""
    value, target, *subscripts = op.operands
    address = element_address(e, e.memref(target), value.type, e.scalars(subscripts))
    suffix, kind = metadata(e, target), register_type(value.type)
    if op.attrs.get("atomic"):
        # No ordering is needed except that everything is done when the loop ends, which its barrier ensures.
        e.do(f"atomicrmw fadd ptr {address}, {kind} {e.scalar(value)} monotonic, align {alignment(value.type)}")
        return
    old = settled(e, op, kind, e.let(f"load {kind}, ptr {address}, align {alignment(value.type)}{suffix}"))
    fused = is_fused(e, op, value)
    new = multiply_add(e, value, old) if fused else e.let(f"fadd {kind} {old}, {e.scalar(value)}")
    e.do(f"store {kind} {new}, ptr {address}, align {alignment(value.type)}{suffix}")


# Views ----------------------------------------------------------------------------------------------------------------


def dim(e: FunctionEmitter, op: Op) -> None:
    e.env[op.result] = e.memref(op.operands[0]).extents[op.attrs["dim"]]


def subview(e: FunctionEmitter, op: Op) -> None:
    source, given = op.operands[0], e.scalars(op.operands[1:])
    old, rank = e.memref(source), len(op.operands) // 3
    offsets, sizes, steps = given[:rank], given[rank : 2 * rank], given[2 * rank :]
    distance = "0"
    for start, stride in zip(offsets, old.strides, strict=True):
        distance = e.add(distance, e.multiply(start, stride))
    ptr = old.ptr if distance == "0" else _advance(e, old.ptr, _element(source), distance)
    kept = [k for k in range(rank) if k not in op.attrs["dropped"]]
    t = op.result.type
    assert isinstance(t, MemRefType) and t.strides is not None
    strides = tuple(
        str(static) if static is not None else e.multiply(old.strides[k], steps[k])
        for k, static in zip(kept, t.strides, strict=True)
    )
    extents = tuple(sizes[k] if e_static is None else str(e_static) for k, e_static in zip(kept, t.shape, strict=True))
    e.env[op.result] = Descriptor(ptr, extents, strides)


def transpose(e: FunctionEmitter, op: Op) -> None:
    old, permutation = e.memref(op.operands[0]), op.attrs["permutation"]
    e.env[op.result] = Descriptor(
        old.ptr, tuple(old.extents[p] for p in permutation), tuple(old.strides[p] for p in permutation)
    )


def reshape(e: FunctionEmitter, op: Op) -> None:
    old, extents, t = e.memref(op.operands[0]), tuple(e.scalars(op.operands[1:])), op.result.type
    assert isinstance(t, MemRefType)
    if t.strides is None:
        e.env[op.result] = Descriptor(old.ptr, extents, e.contiguous(extents))
        return
    strides: list[str] = []
    at = 0
    for m, n in op.attrs["groups"]:
        group = ["1"] * n
        if m and n:
            group[-1] = old.strides[at]
            for k in reversed(range(n - 1)):
                group[k] = e.multiply(group[k + 1], extents[len(strides) + k + 1])
        strides += group
        at += m
    e.env[op.result] = Descriptor(old.ptr, extents, tuple(strides))


def reinterpret_cast(e: FunctionEmitter, op: Op) -> None:
    source, t = op.operands[0], op.result.type
    assert isinstance(t, MemRefType) and t.strides is not None
    distance, *rest = e.scalars(op.operands[1:])
    old = e.memref(source)
    ptr = old.ptr if distance == "0" else _advance(e, old.ptr, _element(source), distance)
    strides = tuple(s if static is None else str(static) for s, static in zip(rest[t.rank :], t.strides, strict=True))
    e.env[op.result] = Descriptor(ptr, tuple(rest[: t.rank]), strides)


def cast(e: FunctionEmitter, op: Op) -> None:
    e.env[op.result] = e.memref(op.operands[0])


def select(e: FunctionEmitter, op: Op) -> None:
    """Select one of two memrefs, part by part."""
    condition, t = e.scalar(op.operands[0]), op.result.type
    parts = [carried_values(e[v], t) for v in op.operands[1:]]
    chosen = [
        x if x == y else e.let(f"select i1 {condition}, {kind} {x}, {kind} {y}")
        for kind, x, y in zip(carried_types(t), *parts, strict=True)
    ]
    e.env[op.result] = e.rebuild(t, chosen)


# Whole arrays ---------------------------------------------------------------------------------------------------------


def fill(e: FunctionEmitter, op: Op) -> None:
    value, target = op.operands
    t, memref, suffix = target.type, e.memref(target), metadata(e, target)
    assert isinstance(t, MemRefType)
    operand = e[value]

    def write_one(address: str) -> None:
        write(e, address, t.element, operand, suffix)

    if t.strides is not None:
        _each(e, memref, t.element, write_one)
        return
    count = "1"
    for extent in memref.extents:
        count = e.multiply(count, extent)
    byte = _fill_byte(operand, t.element)
    if byte is None:
        _each(e, Descriptor(memref.ptr, (count,), ("1",)), t.element, write_one)
        return
    if t.element == i1 and operand not in ("true", "false"):
        byte = e.let(f"zext i1 {operand} to i8")
    e.module.declare("llvm.memset.p0.i64", "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    total = e.multiply(count, str(scalar_bytes(t.element)))
    if whole_arrays.may_be_large(e, total):
        whole_arrays.fill(e, memref.ptr, byte, total)
        return
    e.do(
        f"call void @llvm.memset.p0.i64(ptr align {alignment(t.element)} {memref.ptr}, i8 {byte}, i64 {total}, "
        f"i1 false){suffix}"
    )


def _fill_byte(value: Operand, element: Type) -> str | None:
    """The byte whose repetition is the value, if there is one."""
    if element == i1:
        return {"true": "1", "false": "0"}.get(str(value), "")
    if isinstance(element, MemRefType):
        return None
    return "0" if value == literal(0, element) else None


def _each(e: FunctionEmitter, memref: Descriptor, element: Type, visit: Callable[[str], None]) -> None:
    """Call ``visit(address)`` for every element, in loops over the dimensions."""

    def nest(k: int, ptr: str) -> None:
        if k == len(memref.extents):
            visit(ptr)
            return
        with counted_loop(e, memref.extents[k]) as i:
            nest(k + 1, _advance(e, ptr, element, e.multiply(i, memref.strides[k], "nsw "), "inbounds "))

    nest(0, memref.ptr)


def copy(e: FunctionEmitter, op: Op) -> None:
    """Copy an array: as one block if both sides are C-contiguous, else row by row if the rows are contiguous on both
    sides. Matrices with contiguous columns on one side and contiguous rows on the other are transposed."""
    source, target = op.operands
    from_, to = e.memref(source), e.memref(target)
    element, rank = _element(source), len(from_.extents)
    size = scalar_bytes(element)
    assert isinstance(source.type, MemRefType) and isinstance(target.type, MemRefType)
    whole = source.type.strides is None and target.type.strides is None
    row = rank > 0 and from_.strides[-1] == to.strides[-1] == "1"
    movable = not whole and not row and size in transposes.SIZES and not isinstance(element, MemRefType)
    if movable and rank > 1 and from_.strides[-2] == to.strides[-1] == "1":
        _transposed_copy(e, element, from_, to)
        return
    loops = 0 if whole else rank - 1 if row else rank
    # One call reads one memory and writes the other, so it has the metadata of neither.
    e.module.declare("llvm.memcpy.p0.p0.i64", "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    align = alignment(element)

    def nest(k: int, here: str, there: str) -> None:
        if k < loops:
            with counted_loop(e, to.extents[k]) as i:
                nest(
                    k + 1,
                    _advance(e, here, element, e.multiply(i, from_.strides[k], "nsw "), "inbounds "),
                    _advance(e, there, element, e.multiply(i, to.strides[k], "nsw "), "inbounds "),
                )
            return
        if row or whole or isinstance(element, MemRefType):
            total = str(size)
            for extent in to.extents[k:]:
                total = e.multiply(total, extent)
            if loops == 0 and whole_arrays.may_be_large(e, total):
                whole_arrays.copy(e, there, here, total)
                return
            e.do(f"call void @llvm.memcpy.p0.p0.i64(ptr align {align} {there}, ptr align {align} {here}, i64 {total}, "
                 "i1 false)")
            return
        kind = memory_type(element)
        value = settled(e, op, kind, e.let(f"load {kind}, ptr {here}, align {align}{e.scopes.suffix(source)}"))
        e.do(f"store {kind} {value}, ptr {there}, align {align}{e.scopes.suffix(target)}")

    nest(0, from_.ptr, to.ptr)


def _transposed_copy(e: FunctionEmitter, element: Type, from_: Descriptor, to: Descriptor) -> None:
    """Copy an array with contiguous columns to one with contiguous rows: matrices are transposed in loops over the
    other axes. If the axis before the columns continues them in both arrays, it becomes part of them: short axes would
    make matrices that are smaller than tiles."""
    name = f"adc_transpose_{scalar_bytes(element)}"
    e.module.declare(name, transposes.DECLARATIONS[name])
    *counts, columns, rows = to.extents
    if counts:
        continues = "true"
        for side in (from_, to):
            whole = e.multiply(columns, side.strides[-2])
            continues = e.let(f"and i1 {continues}, {e.let(f'icmp eq i64 {side.strides[-3]}, {whole}')}")
        both = e.multiply(counts[-1], columns)
        columns = e.let(f"select i1 {continues}, i64 {both}, i64 {columns}")
        counts[-1] = e.let(f"select i1 {continues}, i64 1, i64 {counts[-1]}")

    def nest(k: int, here: str, there: str) -> None:
        if k == len(counts):
            given = f"ptr {here}, i64 {from_.strides[-1]}, ptr {there}, i64 {to.strides[-2]}"
            e.do(f"call void @{name}(i64 {rows}, i64 {columns}, {given})")
            return
        with counted_loop(e, counts[k]) as i:
            nest(
                k + 1,
                _advance(e, here, element, e.multiply(i, from_.strides[k], "nsw "), "inbounds "),
                _advance(e, there, element, e.multiply(i, to.strides[k], "nsw "), "inbounds "),
            )

    nest(0, from_.ptr, to.ptr)


# Records --------------------------------------------------------------------------------------------------------------


def pack(e: FunctionEmitter, op: Op) -> None:
    size = sum(max(8, scalar_bytes(v.type)) for v in op.operands)
    ptr = allocate_bytes(e, op, str(max(8, size)))
    position = 0
    for value in op.operands:
        place = e.let(f"getelementptr inbounds i8, ptr {ptr}, i64 {position}")
        write(e, place, value.type, e[value], "")
        position += max(8, scalar_bytes(value.type))
    e.env[op.result] = ptr


def release(e: FunctionEmitter, op: Op) -> None:
    free(e, e.scalar(op.operands[0]))


def unpack(e: FunctionEmitter, op: Op) -> None:
    ptr, position = e.scalar(op.operands[0]), 0
    for result in op.results:
        place = e.let(f"getelementptr inbounds i8, ptr {ptr}, i64 {position}")
        e.env[result] = read(e, op, place, result.type, "")
        position += max(8, scalar_bytes(result.type))
