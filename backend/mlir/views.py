"""Converts views in MLIR, ``memref.extract_strided_metadata`` and ``memref.reinterpret_cast``, to views in adc's IR.

The offset and the strides of a memref are not values in adc's IR. They are followed here through the sums and products
that compute the offset and the strides of a view, which is then recognised as a window (``memref.subview``), a
permutation of dimensions, a reshape, or a window on contiguous memory.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from adc.backend.mlir.generic import DYNAMIC, Operation
from adc.backend.mlir.memory import contiguous
from adc.backend.mlir.types import Types
from adc.ir import ops
from adc.ir.builder import build
from adc.ir.core import Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import MemRefType

if TYPE_CHECKING:
    from adc.backend.mlir.reading import Reader

_STATIC = "static_offsets", "static_sizes", "static_strides"


@dataclass(frozen=True)
class _Base:
    source: Value


@dataclass(frozen=True)
class _Offset:
    """The offset of a memref, plus steps along its dimensions (``starts``), plus a number of elements (``more``)."""

    source: Value
    starts: tuple[tuple[int, Value], ...] = ()
    more: Value | None = None


@dataclass(frozen=True)
class _Stride:
    """The stride of a dimension, times a number."""

    source: Value
    dim: int
    times: Value | None = None


_Part = _Base | _Offset | _Stride


@dataclass
class Views:
    """The bases, offsets and strides in a function."""

    reader: Reader
    parts: dict[str, _Part] = field(default_factory=dict)

    def take(self, op: Operation) -> bool:
        """Read an operation if it computes an offset or a stride, or a view from them; returns whether it does."""
        if op.name == "memref.extract_strided_metadata":
            self._metadata(op)
        elif op.name == "memref.reinterpret_cast":
            self.reader.values[op.results[0]] = self._view(op)
        elif op.name == "memref.subview":
            self.reader.values[op.results[0]] = self._subview(op)
        elif any(name in self.parts for name in op.operands):
            self._arithmetic(op)
        else:
            return False
        return True

    def _metadata(self, op: Operation) -> None:
        source = self.reader[op.operands[0]]
        assert isinstance(source.type, MemRefType)
        rank = source.type.rank
        base, offset, *rest = op.results
        self.parts |= {base: _Base(source), offset: _Offset(source)}
        for k in range(rank):
            self.reader.values[rest[k]] = build(ops.dim, [source], {"dim": k}).results[0]
            self.parts[rest[rank + k]] = _Stride(source, k)

    def _arithmetic(self, op: Operation) -> None:
        a, b = (self.parts.get(name) for name in (*op.operands, "")[:2])
        if op.name == "arith.muli" and isinstance(a, _Stride) and b is None:
            self.parts[op.results[0]] = self._times(a, self.reader[op.operands[1]])
        elif op.name == "arith.muli" and isinstance(b, _Stride) and a is None:
            self.parts[op.results[0]] = self._times(b, self.reader[op.operands[0]])
        elif op.name == "arith.addi" and isinstance(a, _Offset):
            self.parts[op.results[0]] = self._further(op, a, b, op.operands[1])
        elif op.name == "arith.addi" and isinstance(b, _Offset):
            self.parts[op.results[0]] = self._further(op, b, a, op.operands[0])
        else:
            raise op.rejected(
                f"{op.name} of an offset or a stride is not supported",
                "views are read whose offset is that of the memory, plus subscripts times strides",
            )

    def _times(self, stride: _Stride, number: Value) -> _Stride:
        if stride.times is not None:
            number = build(ops.muli, [stride.times, number]).results[0]
        return replace(stride, times=number)

    def _further(self, op: Operation, offset: _Offset, step: _Part | None, name: str) -> _Offset:
        if isinstance(step, _Stride) and step.source is offset.source:
            start = step.times if step.times is not None else self.reader.constant(1)
            return replace(offset, starts=(*offset.starts, (step.dim, start)))
        if step is not None:
            raise op.rejected("a sum of the offsets of two memrefs is not supported")
        more = self.reader[name]
        if offset.more is not None:
            more = build(ops.addi, [offset.more, more]).results[0]
        return replace(offset, more=more)

    # Views ------------------------------------------------------------------------------------------------------------

    def _view(self, op: Operation) -> Value:
        base, *operands = op.operands
        part = self.parts.get(base)
        source = part.source if isinstance(part, _Base) else self.reader[base]
        assert isinstance(source.type, MemRefType)
        given = [self._static(op.attrs[name]) for name in _STATIC]
        offsets, sizes, strides = ([operands.pop(0) if n is None else n for n in listed] for listed in given)
        extents = [self._value(n) for n in sizes]
        offset = self.parts.get(offsets[0]) if isinstance(offsets[0], str) else None
        followed = [self.parts.get(s) if isinstance(s, str) else None for s in strides]
        if "strided" not in op.result_types[0]:
            return self._reshaped(op, source, offsets[0], extents)
        start = offset if isinstance(offset, _Offset) else self._plain(op, source, part, offsets[0])
        if start.source is not source:
            raise op.rejected("the offset is that of another memref")
        along = self._along(source, followed, strides)
        if along is not None and start.more is None:
            return self._window(op, source, start, extents, along)
        if source.type.strides is None and not start.starts and not any(followed):
            return self._cut(source, start, extents, strides)
        raise op.rejected(
            "this view is not supported", "views are windows, permutations of dimensions, or of contiguous memory"
        )

    def _subview(self, op: Operation) -> Value:
        source, *operands = op.operands
        memref = self.reader[source]
        assert isinstance(memref.type, MemRefType)
        given = [self._static(op.attrs[name]) for name in _STATIC]
        starts, sizes, steps = ([self._value(operands.pop(0) if n is None else n) for n in listed] for listed in given)
        made = Types(op).of(op.result_types[0])
        assert isinstance(made, MemRefType)
        ones = tuple(k for k, n in enumerate(given[1]) if n == 1)
        dropped = ones if memref.type.rank > made.rank else ()
        if memref.type.rank - len(dropped) != made.rank:
            help = "keep all dimensions, or leave out all whose extent is 1"
            raise op.rejected("which dimensions this view leaves out is not known", help)
        attrs = {"static_steps": tuple(given[2]), "dropped": dropped}
        return build(ops.subview, [memref, *starts, *sizes, *steps], attrs).results[0]

    def _along(
        self, source: Value, followed: list[_Part | None], strides: list[str | int]
    ) -> list[_Stride] | None:
        """The dimension of the memory that belongs to each dimension of a view. A constant stride is matched with a
        dimension of known stride: an equal one if possible, else a divisor."""
        t = source.type
        assert isinstance(t, MemRefType)
        known = contiguous(t) if t.strides is None else t.strides
        used = {s.dim for s in followed if isinstance(s, _Stride)}
        found: list[_Stride] = []
        for part, stride in zip(followed, strides, strict=True):
            if isinstance(part, _Stride) and part.source is source:
                found.append(part)
                continue
            if not isinstance(stride, int):
                return None
            fitting = [(n != stride, -n, k) for k, n in enumerate(known) if n and k not in used and stride % n == 0]
            if not fitting:
                return None
            other, negative, dim = min(fitting)
            used.add(dim)
            found.append(_Stride(source, dim, self.reader.constant(stride // -negative) if other else None))
        return found

    def _plain(self, op: Operation, source: Value, part: _Part | None, offset: str | int) -> _Offset:
        """An offset relative to the beginning of contiguous memory."""
        assert isinstance(source.type, MemRefType)
        if source.type.strides is not None:
            raise op.rejected("an offset that does not begin with that of the memory is not supported")
        zero = offset == 0
        return _Offset(source, (), None if zero else self._value(offset))

    def _static(self, text: str) -> list[int | None]:
        """The numbers of an attribute; None for those that are operands."""
        numbers = text.strip()[len("array<i64") : -1].lstrip(":").split(",")
        return [None if n.strip() == DYNAMIC else int(n) for n in numbers if n.strip()]

    def _value(self, number: str | int) -> Value:
        return self.reader.constant(number) if isinstance(number, int) else self.reader[number]

    def _reshaped(self, op: Operation, source: Value, offset: str | int, extents: list[Value]) -> Value:
        assert isinstance(source.type, MemRefType)
        if source.type.strides is not None or offset != 0:
            raise op.rejected("a view of the identity layout is read of memory that has it, at its beginning")
        groups = ((source.type.rank, len(extents)),)
        return build(ops.reshape, [source, *extents], {"groups": groups}).results[0]

    def _cut(self, source: Value, start: _Offset, extents: list[Value], strides: list[str | int]) -> Value:
        first = start.more if start.more is not None else self.reader.constant(0)
        static = tuple(s if isinstance(s, int) else None for s in strides)
        operands = [source, first, *extents, *map(self._value, strides)]
        return build(ops.reinterpret_cast, operands, {"static_strides": static}).results[0]

    def _window(
        self, op: Operation, source: Value, start: _Offset, extents: list[Value], along: list[_Stride]
    ) -> Value:
        """A window, followed by a permutation if its dimensions are not in the order of the memory."""
        t = source.type
        assert isinstance(t, MemRefType)
        dims = [s.dim for s in along]
        if len(set(dims)) < len(dims):
            raise op.rejected("a view with one dimension of the memory twice is not supported")
        zero, one = self.reader.constant(0), self.reader.constant(1)
        starts, sizes, steps = [zero] * t.rank, [one] * t.rank, [one] * t.rank
        for dim, value in start.starts:
            starts[dim] = value if starts[dim] is zero else build(ops.addi, [starts[dim], value]).results[0]
        for s, extent in zip(along, extents, strict=True):
            sizes[s.dim], steps[s.dim] = extent, s.times if s.times is not None else one
        dropped = tuple(k for k in range(t.rank) if k not in dims)
        static = tuple(s.op.attrs["value"] if s.op is not None and s.op.opdef is ops.constant else None for s in steps)
        attrs = {"static_steps": static, "dropped": dropped}
        window = build(ops.subview, [source, *starts, *sizes, *steps], attrs).results[0]
        order = tuple(sorted(dims).index(d) for d in dims)
        if order == tuple(range(len(order))):
            return window
        return build(ops.transpose, [window], {"permutation": order}).results[0]
