"""Transposes of matrices, as LLVM IR: one function of the run-time support for each element size.

``void adc_transpose_8(i64 m, i64 n, ptr A, i64 rows, ptr B, i64 rows)`` writes the transpose of A, with m rows and n
columns, to B, which must not overlap A. Rows of both are contiguous; ``rows`` is the distance in elements between the
beginnings of successive rows.

Tiles are transposed in registers: as many vectors as a vector has lanes, with one step for each bit of a lane number.
Step ``b`` exchanges, between vectors whose numbers differ in bit ``b``, the lanes in which that bit differs (Eklundh,
"A fast computer method for matrix transposing", 1972). Whole cache lines of B are written, and those of a block of
columns stay in cache until the next tile.
"""

from __future__ import annotations

TILE = 8  # rows and columns
BLOCK = 128  # columns that are processed before the next rows

_TYPES = "(i64, i64, ptr, i64, ptr, i64)"
SIZES = {8: "i64", 4: "i32"}
DECLARATIONS = {f"adc_transpose_{size}": f"declare void @adc_transpose_{size}{_TYPES}" for size in SIZES}


def transposes_ir() -> str:
    """The functions for all sizes."""
    return "\n".join(_one(size, kind) for size, kind in SIZES.items())


def _one(size: int, kind: str) -> str:
    text = _TRANSPOSE.replace("EXCHANGE", "\n".join(_tile(size, kind)))
    words = {"BYTES": str(size), "KIND": kind, "MASK": str(-TILE), "TILE": str(TILE), "BLOCK": str(BLOCK)}
    for word, value in words.items():
        text = text.replace(word, value)
    return text


def _tile(size: int, kind: str) -> list[str]:
    """Load the rows of a tile, exchange lanes, and store what are now its columns."""
    vector, lines = f"<{TILE} x {kind}>", []
    for k in range(TILE):
        lines += [
            f"  %from.at{k} = mul nsw i64 %from.row, {k}",
            f"  %from{k} = getelementptr KIND, ptr %from.tile, i64 %from.at{k}",
            f"  %v0.{k} = load {vector}, ptr %from{k}, align {size}",
        ]
    bit, step = 1, 0
    while bit < TILE:
        for k in range(TILE):
            low = k & ~bit
            if k & bit:
                lanes = [lane + TILE if lane & bit else lane | bit for lane in range(TILE)]
            else:
                lanes = [(lane & ~bit) + TILE if lane & bit else lane for lane in range(TILE)]
            mask = ", ".join(f"i32 {lane}" for lane in lanes)
            a, b = f"%v{step}.{low}", f"%v{step}.{low | bit}"
            lines.append(f"  %v{step + 1}.{k} = shufflevector {vector} {a}, {vector} {b}, <{TILE} x i32> <{mask}>")
        bit, step = 2 * bit, step + 1
    for k in range(TILE):
        lines += [
            f"  %to.at{k} = mul nsw i64 %to.row, {k}",
            f"  %to{k} = getelementptr KIND, ptr %to.tile, i64 %to.at{k}",
            f"  store {vector} %v{step}.{k}, ptr %to{k}, align {size}",
        ]
    return lines


# Blocks of columns; in a block, tiles from top to bottom; the rest of a block element by element.
_TRANSPOSE = """
define void @adc_transpose_BYTES(i64 %m, i64 %n, ptr noalias %from, i64 %from.row, ptr noalias %to, i64 %to.row)
    nounwind {
entry:
  %whole.m = and i64 %m, MASK
  br label %block
block:
  %b = phi i64 [ 0, %entry ], [ %end, %block.done ]
  %blocks = icmp slt i64 %b, %n
  br i1 %blocks, label %columns, label %done
columns:
  %b1 = add nsw i64 %b, BLOCK
  %last = icmp slt i64 %b1, %n
  %end = select i1 %last, i64 %b1, i64 %n
  %width = sub nsw i64 %end, %b
  %whole.width = and i64 %width, MASK
  %whole.n = add nsw i64 %b, %whole.width
  br label %rows
rows:
  %r = phi i64 [ 0, %columns ], [ %r1, %tail.done ]
  %more.rows = icmp slt i64 %r, %whole.m
  br i1 %more.rows, label %tiles, label %rest
tiles:
  %from.first = mul nsw i64 %r, %from.row
  %from.rows = getelementptr KIND, ptr %from, i64 %from.first
  %to.rows = getelementptr KIND, ptr %to, i64 %r
  %r1 = add nsw i64 %r, TILE
  br label %tile
tile:
  %c = phi i64 [ %b, %tiles ], [ %c1, %exchange ]
  %more.tiles = icmp slt i64 %c, %whole.n
  br i1 %more.tiles, label %exchange, label %tail
exchange:
  %from.tile = getelementptr KIND, ptr %from.rows, i64 %c
  %to.first = mul nsw i64 %c, %to.row
  %to.tile = getelementptr KIND, ptr %to.rows, i64 %to.first
EXCHANGE
  %c1 = add nsw i64 %c, TILE
  br label %tile
tail:
  %tc = phi i64 [ %whole.n, %tile ], [ %tc1, %tail.column.done ]
  %more.tail = icmp slt i64 %tc, %end
  br i1 %more.tail, label %tail.column, label %tail.done
tail.column:
  %tr = phi i64 [ %r, %tail ], [ %tr1, %tail.column ]
  %t.from.row = mul nsw i64 %tr, %from.row
  %t.from.at = add nsw i64 %t.from.row, %tc
  %t.from = getelementptr KIND, ptr %from, i64 %t.from.at
  %t = load KIND, ptr %t.from, align BYTES
  %t.to.row = mul nsw i64 %tc, %to.row
  %t.to.at = add nsw i64 %t.to.row, %tr
  %t.to = getelementptr KIND, ptr %to, i64 %t.to.at
  store KIND %t, ptr %t.to, align BYTES
  %tr1 = add nsw i64 %tr, 1
  %t.more = icmp slt i64 %tr1, %r1
  br i1 %t.more, label %tail.column, label %tail.column.done
tail.column.done:
  %tc1 = add nsw i64 %tc, 1
  br label %tail
tail.done:
  br label %rows
rest:
  %rr = phi i64 [ %whole.m, %rows ], [ %rr1, %rest.done ]
  %more.rest = icmp slt i64 %rr, %m
  br i1 %more.rest, label %rest.row, label %block.done
rest.row:
  %rest.first = mul nsw i64 %rr, %from.row
  %rest.from = getelementptr KIND, ptr %from, i64 %rest.first
  %rest.to = getelementptr KIND, ptr %to, i64 %rr
  br label %rest.column
rest.column:
  %rc = phi i64 [ %b, %rest.row ], [ %rc1, %rest.column ]
  %rest.p = getelementptr KIND, ptr %rest.from, i64 %rc
  %x = load KIND, ptr %rest.p, align BYTES
  %rest.at = mul nsw i64 %rc, %to.row
  %rest.q = getelementptr KIND, ptr %rest.to, i64 %rest.at
  store KIND %x, ptr %rest.q, align BYTES
  %rc1 = add nsw i64 %rc, 1
  %rest.more = icmp slt i64 %rc1, %end
  br i1 %rest.more, label %rest.column, label %rest.done
rest.done:
  %rr1 = add nsw i64 %rr, 1
  br label %rest
block.done:
  br label %block
done:
  ret void
}
"""
