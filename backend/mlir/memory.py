"""Memory of adc's IR as MLIR: memrefs with strides; views by ``memref.reinterpret_cast``; loops that fill and copy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from adc.backend.mlir.writing import DYNAMIC, Body, Name, Text, numbers
from adc.ir import kinds, ops
from adc.ir.core import Op, Value
from adc.ir.opdef import OpDef
from adc.ir.types import IntType, MemRefType, RecordType, Type


class Writes(Protocol):
    """A writer of functions."""

    text: Text

    def __getitem__(self, value: Value) -> Name: ...


def type_text(t: Type) -> str:
    """A type as MLIR writes it. Integers are signless: operations say how their bits are interpreted."""
    if isinstance(t, RecordType):
        raise kinds.UNSUPPORTED_VALUE(
            "a call keeps a record for its reverse sweep, for which the standard dialects of MLIR have no type",
            help="write the function that is called into the one that calls it, or use --emit llvm",
        )
    if isinstance(t, IntType):
        return f"i{t.width}"
    if not isinstance(t, MemRefType):
        return str(t)
    dims = "".join("?x" if extent is None else f"{extent}x" for extent in t.shape)
    if t.strides is None:
        return f"memref<{dims}{type_text(t.element)}>"
    strides = ", ".join("?" if s is None else str(s) for s in t.strides)
    return f"memref<{dims}{type_text(t.element)}, strided<[{strides}], offset: ?>>"


def _names(w: Writes, values: Sequence[Value]) -> list[Name]:
    return [w[v] for v in values]


def _alloc(w: Writes, op: Op) -> list[Name]:
    return [_new(w.text, type_text(op.results[0].type), _names(w, op.operands))]


def _new(text: Text, type: str, extents: Sequence[Name]) -> Name:
    return text.one("memref.alloc", extents, type, f"operandSegmentSizes = {numbers([len(extents), 0], 32)}")


def _dealloc(w: Writes, op: Op) -> list[Name]:
    w.text.op("memref.dealloc", _names(w, op.operands))
    return []


def _dim(w: Writes, op: Op) -> list[Name]:
    return [_extent(w.text, w[op.operands[0]], op.attrs["dim"])]


def _extent(text: Text, memref: Name, dimension: int) -> Name:
    return text.one("memref.dim", [memref, text.index(dimension)], "index")


def _load(w: Writes, op: Op) -> list[Name]:
    return [w.text.one("memref.load", _names(w, op.operands), type_text(op.results[0].type))]


def _store(w: Writes, op: Op) -> list[Name]:
    w.text.op("memref.store", _names(w, op.operands))
    return []


def _accumulate(w: Writes, op: Op) -> list[Name]:
    value, *place = _names(w, op.operands)
    old = w.text.one("memref.load", place, value.type)
    w.text.op("memref.store", [w.text.one("arith.addf", [old, value], value.type), *place])
    return []


# Views ----------------------------------------------------------------------------------------------------------------


class _Layout:
    """Offset, extents and strides of a memref."""

    def __init__(self, text: Text, memref: Name, t: MemRefType) -> None:
        self.text = text
        element = type_text(t.element)
        found = text.op(
            "memref.extract_strided_metadata", [memref], [f"memref<{element}>", *["index"] * (1 + 2 * t.rank)]
        )
        self.base, self.offset = found[0], found[1]
        self.extents, self.strides = found[2 : 2 + t.rank], found[2 + t.rank :]

    def times(self, a: Name, b: Name) -> Name:
        return self.text.one("arith.muli", [a, b], "index")

    def view(self, target: MemRefType, offset: Name, extents: Sequence[Name], strides: Sequence[Name]) -> Name:
        """A window on the memory, of type ``target``. A window with identity layout begins where the memory begins."""
        known = contiguous(target) if target.strides is None else target.strides
        moved = target.strides is not None
        given = [e for e, n in zip(extents, target.shape, strict=True) if n is None]
        steps = [s for s, n in zip(strides, known, strict=True) if n is None]
        properties = ", ".join(
            [
                f"operandSegmentSizes = {numbers([1, int(moved), len(given), len(steps)], 32)}",
                f"static_offsets = {numbers([DYNAMIC if moved else 0])}",
                f"static_sizes = {numbers([DYNAMIC if n is None else n for n in target.shape])}",
                f"static_strides = {numbers([DYNAMIC if s is None else s for s in known])}",
            ]
        )
        operands = [self.base, *([offset] if moved else []), *given, *steps]
        return self.text.one("memref.reinterpret_cast", operands, type_text(target), properties)

    def packed(self, extents: Sequence[Name]) -> list[Name]:
        """The strides of contiguous memory with these extents."""
        strides = [self.text.index(1)]
        for extent in reversed(extents[1:]):
            strides.append(self.times(strides[-1], extent))
        return list(reversed(strides))[: len(extents)]


def contiguous(t: MemRefType) -> tuple[int | None, ...]:
    """The strides of the identity layout, as far as they are known."""
    strides: list[int | None] = []
    stride: int | None = 1
    for extent in reversed(t.shape):
        strides.append(stride)
        stride = None if stride is None or extent is None else stride * extent
    return tuple(reversed(strides))


def _source(w: Writes, op: Op) -> tuple[_Layout, MemRefType, MemRefType]:
    source, target = op.operands[0], op.results[0].type
    assert isinstance(source.type, MemRefType) and isinstance(target, MemRefType)
    return _Layout(w.text, w[source], source.type), source.type, target


def _subview(w: Writes, op: Op) -> list[Name]:
    layout, source, target = _source(w, op)
    rest = _names(w, op.operands[1:])
    first, sizes, steps = (rest[k * source.rank : (k + 1) * source.rank] for k in range(3))
    offset = layout.offset
    for start, stride in zip(first, layout.strides, strict=True):
        offset = w.text.one("arith.addi", [offset, layout.times(start, stride)], "index")
    kept = [k for k in range(source.rank) if k not in op.attrs["dropped"]]
    strides = [layout.times(layout.strides[k], steps[k]) for k in kept]
    return [layout.view(target, offset, [sizes[k] for k in kept], strides)]


def _transpose(w: Writes, op: Op) -> list[Name]:
    layout, _, target = _source(w, op)
    order = op.attrs["permutation"]
    extents, strides = [layout.extents[p] for p in order], [layout.strides[p] for p in order]
    return [layout.view(target, layout.offset, extents, strides)]


def _cast(w: Writes, op: Op) -> list[Name]:
    layout, _, target = _source(w, op)
    return [layout.view(target, layout.offset, layout.extents, layout.strides)]


def _reinterpret_cast(w: Writes, op: Op) -> list[Name]:
    layout, _, target = _source(w, op)
    start, *rest = _names(w, op.operands[1:])
    offset = w.text.one("arith.addi", [layout.offset, start], "index")
    return [layout.view(target, offset, rest[: target.rank], rest[target.rank :])]


def _reshape(w: Writes, op: Op) -> list[Name]:
    layout, source, target = _source(w, op)
    extents = _names(w, op.operands[1:])
    if source.strides is None:
        return [layout.view(target, layout.offset, extents, layout.packed(extents))]
    strides: list[Name] = []
    old = new = 0
    for m, n in op.attrs["groups"]:
        inner = layout.packed(extents[new : new + n])
        strides += [layout.times(s, layout.strides[old]) for s in inner] if m else inner
        old, new = old + m, new + n
    return [layout.view(target, layout.offset, extents, strides)]


# Whole arrays ---------------------------------------------------------------------------------------------------------


def _each(text: Text, extents: Sequence[Name], body: Callable[[list[Name]], None]) -> None:
    """Loops over all subscripts."""

    def level(subscripts: list[Name]) -> None:
        if len(subscripts) == len(extents):
            body(subscripts)
            return
        counter = text.new("index")

        def inside() -> None:
            level([*subscripts, counter])
            text.op("scf.yield")

        limits = [text.index(0), extents[len(subscripts)], text.index(1)]
        text.regions("scf.for", limits, [], [Body([counter], inside)])

    level([])


def _extents(text: Text, memref: Name, rank: int) -> list[Name]:
    return [_extent(text, memref, d) for d in range(rank)]


def _fill(w: Writes, op: Op) -> list[Name]:
    value, target = _names(w, op.operands)
    extents = _extents(w.text, target, op.operands[1].type.rank)  # type: ignore[attr-defined]

    def body(at: list[Name]) -> None:
        w.text.op("memref.store", [value, target, *at])

    _each(w.text, extents, body)
    return []


def _copied(text: Text, source: Name, target: Name, extents: Sequence[Name], element: str) -> None:
    def body(at: list[Name]) -> None:
        text.op("memref.store", [text.one("memref.load", [source, *at], element), target, *at])

    _each(text, extents, body)


def _copy(w: Writes, op: Op) -> list[Name]:
    source, target = _names(w, op.operands)
    t = op.operands[0].type
    assert isinstance(t, MemRefType)
    _copied(w.text, source, target, _extents(w.text, source, t.rank), type_text(t.element))
    return []


def _grow(w: Writes, op: Op) -> list[Name]:
    """A buffer with the same contents and room for an element at a subscript: a new one of twice the size if there was
    no room."""
    old, at = _names(w, op.operands)
    t = op.results[0].type
    assert isinstance(t, MemRefType)
    text, type = w.text, type_text(t)
    extent = _extent(text, old, 0)

    def moved() -> None:
        double = text.one("arith.muli", [extent, text.index(2)], "index")
        needed = text.one("arith.addi", [at, text.index(16)], "index")
        new = _new(text, type, [text.one("arith.maxsi", [double, needed], "index")])
        _copied(text, old, new, [extent], type_text(t.element))
        some = text.one("arith.cmpi", [extent, text.index(0)], "i1", "predicate = 1 : i64")
        bodies = [Body([], freed), Body([], lambda: text.line('"scf.yield"() : () -> ()'))]
        text.regions("scf.if", [some], [], bodies)
        text.op("scf.yield", [new])

    def freed() -> None:  # not the initial empty buffer, which several buffers share
        text.op("memref.dealloc", [old])
        text.op("scf.yield")

    full = text.one("arith.cmpi", [at, extent], "i1", "predicate = 5 : i64")
    bodies = [Body([], moved), Body([], lambda: text.line(f'"scf.yield"({old.text}) : ({type}) -> ()'))]
    return text.regions("scf.if", [full], [type], bodies)


def _undef(w: Writes, op: Op) -> list[Name]:
    return [_nothing(w.text, op.results[0].type)]


def _nothing(text: Text, t: Type) -> Name:
    """A value that is never read."""
    if not isinstance(t, MemRefType):
        return text.constant("0.0" if t.is_float else "false" if t == IntType(1) else "0", type_text(t))
    if t.strides is None:
        return _new(text, type_text(t), [text.index(0) for n in t.shape if n is None])
    plain = MemRefType(t.shape, t.element)
    memory = _nothing(text, plain)
    layout = _Layout(text, memory, plain)
    return layout.view(t, layout.offset, layout.extents, layout.strides)


def _page_out(w: Writes, op: Op) -> list[Name]:
    return []


def _matmul(w: Writes, op: Op) -> list[Name]:
    left, right, target = _names(w, op.operands)
    text, strong = w.text, op.attrs["strong"]
    element = type_text(op.operands[2].type.element)  # type: ignore[attr-defined]
    rows, columns = _extents(text, target, 2)

    def body(at: list[Name]) -> None:
        i, j, k = at
        a = text.one("memref.load", [left, i, k], element)
        b = text.one("memref.load", [right, k, j], element)
        product = text.one("arith.mulf", [a, b], element)
        if strong:
            zero = text.constant("0.0", element)
            nothing = text.one("arith.cmpf", [a if strong == "left" else b, zero], "i1", "predicate = 1 : i64")
            product = text.one("arith.select", [nothing, zero, product], element)
        old = text.one("memref.load", [target, i, j], element)
        text.op("memref.store", [text.one("arith.addf", [old, product], element), target, i, j])

    _each(text, [rows, columns, _extent(text, left, 1)], body)
    return []


RULES: dict[OpDef, Callable[[Any, Op], list[Name]]] = {
    ops.alloc: _alloc,
    ops.dealloc: _dealloc,
    ops.dim: _dim,
    ops.load: _load,
    ops.store: _store,
    ops.accumulate: _accumulate,
    ops.subview: _subview,
    ops.transpose: _transpose,
    ops.reshape: _reshape,
    ops.reinterpret_cast: _reinterpret_cast,
    ops.cast: _cast,
    ops.copy: _copy,
    ops.fill: _fill,
    ops.matmul: _matmul,
    ops.undef: _undef,
    ops.grow: _grow,
    ops.page_out: _page_out,
}
