"""Products of matrices, as LLVM IR: one function of the run-time support for each float type.

``void adc_product_f64(ptr ctx, i64 m, i64 n, i64 k, ptr A, i64 rows, i64 columns, ptr B, ..., ptr C, ...)`` adds A B to
C: m x k times k x n, each with the strides of its rows and columns in elements. C overlaps neither A nor B.

The blocking is Goto's (Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS 34, 2008),
without packing A. A block of B, DEPTH rows of at most WIDE columns, is packed into panels as wide as a tile, which stay
in the second-level cache. Tiles of C are summed in registers over the depth of the block, then added to C. So each
element of C is summed in an order that depends on k alone, whatever part of C is computed: its bits do not depend on
the number of threads. If A has so few rows that packing does not pay, contiguous panels of B are read in place; a
single row has code of its own (``row_products.py``).

``adc_product_strong_f64`` does the same with strong zeros in A: their products add nothing, even if the other factor is
infinite or NaN. That makes a difference only where B is not finite, which is checked first.
"""

from __future__ import annotations

from adc.backend.support.row_products import row_ir, single_row
from adc.backend.support.strong_products import STRONG
from adc.backend.support.tiles import LOW, Tile, tiles_ir
from adc.backend.target import Target

DEPTH = 256  # rows of a block: a panel of B takes 32 kB
WIDE = 512  # columns of a block, which takes 1 MB
FEW = 24  # up to this many rows of A, B is not packed

_TYPES = ", ".join(["ptr", *["i64"] * 3, *["ptr, i64, i64"] * 3])
_NAMES = [f"adc_product_{strong}{kind}" for strong in ("", "strong_") for kind in ("f32", "f64")]
DECLARATIONS = {name: f"declare void @{name}({_TYPES})" for name in _NAMES}


def tile(target: Target, kind: str) -> Tile:
    """A tile: two vectors wide, with as many rows as leave registers for the panel of B and one number of A."""
    lanes = max(target.double_lanes) * (2 if kind == "f32" else 1)
    rows = {8: 12, 4: 6}.get(max(target.double_lanes), 4)
    return Tile(kind, rows, 2, lanes)


def products_ir(target: Target) -> str:
    """Both functions, for one machine."""
    kinds = [_one(tile(target, kind), target.fused) for kind in ("f32", "f64")]
    return "\n".join(["declare i64 @llvm.smin.i64(i64, i64)", *kinds])


def _one(t: Tile, fused: bool) -> str:
    text = tiles_ir(t, fused) + row_ir(t.lanes, fused) + _PACK + _ADD + _PRODUCT + STRONG
    numbers = {
        "KIND": t.kind,
        "SCALAR": t.scalar,
        "VECTOR": t.vector,
        "BYTES": str(t.bytes),
        "ROWS": str(t.rows),
        "COLUMNS": str(t.columns),
        "TILE": str(t.rows * t.columns),
        "PANEL": str(DEPTH * t.columns),
        "DEPTH": str(DEPTH),
        "WIDE": str(WIDE // t.columns * t.columns),
        "FEW": str(FEW),
        "LANES": str(t.lanes),
        "LOW": str(LOW),
        "BROAD": str(t.vectors),
    }
    for name, value in numbers.items():
        text = text.replace(name, value)
    return text


# Packs a panel of B: ``depth`` rows of COLUMNS numbers, padded with zeros where B has fewer columns.
_PACK = """
define internal void @adc_product_pack_KIND(i64 %depth, i64 %width, ptr noalias %b, i64 %b.row, i64 %b.column,
    ptr noalias %panel) nounwind noinline {
entry:
  %numbers = mul nuw nsw i64 %depth, COLUMNS
  %bytes = mul nuw nsw i64 %numbers, BYTES
  call void @llvm.memset.p0.i64(ptr %panel, i8 0, i64 %bytes, i1 false)
  %unit = icmp eq i64 %b.column, 1
  br label %row
row:
  %k = phi i64 [ 0, %entry ], [ %k1, %next ]
  %from.at = mul nsw i64 %k, %b.row
  %from = getelementptr SCALAR, ptr %b, i64 %from.at
  %to.at = mul nuw nsw i64 %k, COLUMNS
  %to = getelementptr SCALAR, ptr %panel, i64 %to.at
  br i1 %unit, label %four, label %number
four:
  %q = phi i64 [ 0, %row ], [ %q1, %four.put ]
  %q1 = add nuw nsw i64 %q, 4
  %q.fits = icmp ule i64 %q1, %width
  br i1 %q.fits, label %four.put, label %rest
four.put:
  %q.from = getelementptr SCALAR, ptr %from, i64 %q
  %q.to = getelementptr SCALAR, ptr %to, i64 %q
  %q.found = load <4 x SCALAR>, ptr %q.from, align BYTES
  store <4 x SCALAR> %q.found, ptr %q.to, align BYTES
  br label %four
rest:
  %q.all = icmp eq i64 %q, %width
  br i1 %q.all, label %next, label %number
number:
  %j = phi i64 [ 0, %row ], [ %q, %rest ], [ %j1, %number ]
  %source.at = mul nsw i64 %j, %b.column
  %source = getelementptr SCALAR, ptr %from, i64 %source.at
  %x = load SCALAR, ptr %source, align BYTES
  %place = getelementptr SCALAR, ptr %to, i64 %j
  store SCALAR %x, ptr %place, align BYTES
  %j1 = add nuw nsw i64 %j, 1
  %more = icmp ult i64 %j1, %width
  br i1 %more, label %number, label %next
next:
  %k1 = add nuw nsw i64 %k, 1
  %rows = icmp ult i64 %k1, %depth
  br i1 %rows, label %row, label %done
done:
  ret void
}

define internal void @adc_product_rows_KIND(i64 %depth, ptr noalias %b, i64 %b.row, ptr noalias %panel) nounwind
    noinline {
entry:
  br label %row
row:
  %k = phi i64 [ 0, %entry ], [ %k1, %row ]
  %from.at = mul nsw i64 %k, %b.row
  %from = getelementptr SCALAR, ptr %b, i64 %from.at
  %to.at = mul nuw nsw i64 %k, COLUMNS
  %to = getelementptr SCALAR, ptr %panel, i64 %to.at
  %whole = load <COLUMNS x SCALAR>, ptr %from, align BYTES
  store <COLUMNS x SCALAR> %whole, ptr %to, align BYTES
  %k1 = add nuw nsw i64 %k, 1
  %rows = icmp ult i64 %k1, %depth
  br i1 %rows, label %row, label %done
done:
  ret void
}
"""

# Adds a tile to C; ``height`` and ``width`` are those of the part that lies in C.
_ADD = """
define internal void @adc_product_add_KIND(i64 %height, i64 %width, ptr noalias %tile, ptr noalias %c, i64 %c.row,
    i64 %c.column) nounwind noinline {
entry:
  %unit = icmp eq i64 %c.column, 1
  %full = icmp eq i64 %width, COLUMNS
  %vector = and i1 %unit, %full
  br label %row
row:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %to.at = mul nsw i64 %i, %c.row
  %to = getelementptr SCALAR, ptr %c, i64 %to.at
  %from.at = mul nuw nsw i64 %i, COLUMNS
  %from = getelementptr SCALAR, ptr %tile, i64 %from.at
  br i1 %vector, label %whole, label %part
part:
  br i1 %unit, label %four, label %number
four:
  %q = phi i64 [ 0, %part ], [ %q1, %four.add ]
  %q1 = add nuw nsw i64 %q, 4
  %q.fits = icmp ule i64 %q1, %width
  br i1 %q.fits, label %four.add, label %rest
four.add:
  %q.to = getelementptr SCALAR, ptr %to, i64 %q
  %q.from = getelementptr SCALAR, ptr %from, i64 %q
  %q.new = load <4 x SCALAR>, ptr %q.from, align BYTES
  %q.old = load <4 x SCALAR>, ptr %q.to, align BYTES
  %q.sum = fadd <4 x SCALAR> %q.old, %q.new
  store <4 x SCALAR> %q.sum, ptr %q.to, align BYTES
  br label %four
rest:
  %q.all = icmp eq i64 %q, %width
  br i1 %q.all, label %next, label %number
whole:
  %new = load <COLUMNS x SCALAR>, ptr %from, align BYTES
  %old = load <COLUMNS x SCALAR>, ptr %to, align BYTES
  %sum = fadd <COLUMNS x SCALAR> %old, %new
  store <COLUMNS x SCALAR> %sum, ptr %to, align BYTES
  br label %next
number:
  %j = phi i64 [ 0, %part ], [ %q, %rest ], [ %j1, %number ]
  %place.at = mul nsw i64 %j, %c.column
  %place = getelementptr SCALAR, ptr %to, i64 %place.at
  %source = getelementptr SCALAR, ptr %from, i64 %j
  %x = load SCALAR, ptr %source, align BYTES
  %y = load SCALAR, ptr %place, align BYTES
  %z = fadd SCALAR %y, %x
  store SCALAR %z, ptr %place, align BYTES
  %j1 = add nuw nsw i64 %j, 1
  %more = icmp ult i64 %j1, %width
  br i1 %more, label %number, label %next
next:
  %i1 = add nuw nsw i64 %i, 1
  %rows = icmp ult i64 %i1, %height
  br i1 %rows, label %row, label %done
done:
  ret void
}
"""

_PRODUCT = """
define void @adc_product_KIND(ptr %ctx, i64 %m, i64 %n, i64 %k, ptr %a, i64 %a.row, i64 %a.column, ptr %b, i64 %b.row,
    i64 %b.column, ptr %c, i64 %c.row, i64 %c.column) nounwind {
entry:
  %panel = alloca [PANEL x SCALAR], align 64
  %tile = alloca [TILE x SCALAR], align 64
""" + single_row(strong=False) + """\
matrix:
  ; Rows of C are contiguous, or else columns may be: then C' = B' A'.
  %unit = icmp eq i64 %c.column, 1
  %other = icmp eq i64 %c.row, 1
  %not.unit = xor i1 %unit, true
  %turn = and i1 %other, %not.unit
  br i1 %turn, label %turned, label %straight
turned:
  call void @adc_product_KIND(ptr %ctx, i64 %n, i64 %m, i64 %k, ptr %b, i64 %b.column, i64 %b.row, ptr %a,
    i64 %a.column, i64 %a.row, ptr %c, i64 %c.column, i64 %c.row)
  ret void
straight:
  %b.unit = icmp eq i64 %b.column, 1
  %few = icmp sle i64 %m, FEW
  %direct = and i1 %b.unit, %few
  %deep = call i64 @llvm.smin.i64(i64 %k, i64 DEPTH)
  %n.up = add i64 %n, COLUMNS
  %n.up1 = sub i64 %n.up, 1
  %n.panels = udiv i64 %n.up1, COLUMNS
  %n.whole = mul i64 %n.panels, COLUMNS
  %wide = call i64 @llvm.smin.i64(i64 %n.whole, i64 WIDE)
  %needed = mul i64 %wide, %deep
  %fits = icmp sle i64 %needed, PANEL
  %none.needed = or i1 %fits, %direct
  br i1 %none.needed, label %in.place, label %ask
ask:
  %bytes = mul i64 %needed, BYTES
  %given = call ptr @adc_alloc(ptr %ctx, i64 %bytes)
  %refused = icmp eq ptr %given, null
  br i1 %refused, label %in.place, label %blocks
in.place:
  ; One panel at a time, unless all fit.
  %narrow = select i1 %fits, i64 %wide, i64 COLUMNS
  %step.direct = select i1 %direct, i64 %wide, i64 %narrow
  br label %blocks
blocks:
  %heap = phi ptr [ null, %in.place ], [ %given, %ask ]
  %packed = phi ptr [ %panel, %in.place ], [ %given, %ask ]
  %step = phi i64 [ %step.direct, %in.place ], [ %wide, %ask ]
  br label %columns
columns:
  %jc = phi i64 [ 0, %blocks ], [ %jc1, %columns.next ]
  %j.left = sub i64 %n, %jc
  %width = call i64 @llvm.smin.i64(i64 %j.left, i64 %step)
  br label %depth
depth:
  %pc = phi i64 [ 0, %columns ], [ %pc1, %depth.next ]
  %p.left = sub i64 %k, %pc
  %kc = call i64 @llvm.smin.i64(i64 %p.left, i64 DEPTH)
  %b.block.row = mul nsw i64 %pc, %b.row
  %b.block.column = mul nsw i64 %jc, %b.column
  %b.block.at = add nsw i64 %b.block.row, %b.block.column
  %b.block = getelementptr SCALAR, ptr %b, i64 %b.block.at
  %a.block.at = mul nsw i64 %pc, %a.column
  %a.block = getelementptr SCALAR, ptr %a, i64 %a.block.at
  br label %pack
pack:
  %pj = phi i64 [ 0, %depth ], [ %pj1, %pack.next ]
  %p.width.left = sub i64 %width, %pj
  %p.width = call i64 @llvm.smin.i64(i64 %p.width.left, i64 COLUMNS)
  %p.full = icmp eq i64 %p.width, COLUMNS
  %p.direct = and i1 %direct, %p.full
  br i1 %p.direct, label %pack.next, label %pack.one
pack.one:
  ; Read in place, there is one panel to be packed: the last one.
  %p.source.at = mul nsw i64 %pj, %b.column
  %p.source = getelementptr SCALAR, ptr %b.block, i64 %p.source.at
  %p.target.block = mul nsw i64 %pj, %kc
  %p.target.at = select i1 %direct, i64 0, i64 %p.target.block
  %p.target = getelementptr SCALAR, ptr %packed, i64 %p.target.at
  %p.rows = and i1 %p.full, %b.unit
  br i1 %p.rows, label %pack.rows, label %pack.numbers
pack.rows:
  call void @adc_product_rows_KIND(i64 %kc, ptr %p.source, i64 %b.row, ptr %p.target)
  br label %pack.next
pack.numbers:
  call void @adc_product_pack_KIND(i64 %kc, i64 %p.width, ptr %p.source, i64 %b.row, i64 %b.column, ptr %p.target)
  br label %pack.next
pack.next:
  %pj1 = add nuw nsw i64 %pj, COLUMNS
  %p.more = icmp slt i64 %pj1, %width
  br i1 %p.more, label %pack, label %rows
rows:
  %i = phi i64 [ 0, %pack.next ], [ %i1, %rows.next ]
  %i.left = sub i64 %m, %i
  %height = call i64 @llvm.smin.i64(i64 %i.left, i64 ROWS)
  %last = sub i64 %height, 1
  %a.tile.at = mul nsw i64 %i, %a.row
  %a.tile = getelementptr SCALAR, ptr %a.block, i64 %a.tile.at
  %c.row.at = mul nsw i64 %i, %c.row
  %c.rows = getelementptr SCALAR, ptr %c, i64 %c.row.at
  br label %tiles
tiles:
  %j = phi i64 [ 0, %rows ], [ %j1, %tiles ]
  %t.left = sub i64 %width, %j
  %t.width = call i64 @llvm.smin.i64(i64 %t.left, i64 COLUMNS)
  %t.full = icmp eq i64 %t.width, COLUMNS
  %t.direct = and i1 %direct, %t.full
  %t.source = getelementptr SCALAR, ptr %b.block, i64 %j
  %t.packed.block = mul nsw i64 %j, %kc
  %t.packed.at = select i1 %direct, i64 0, i64 %t.packed.block
  %t.packed = getelementptr SCALAR, ptr %packed, i64 %t.packed.at
  %t.b = select i1 %t.direct, ptr %t.source, ptr %t.packed
  %t.b.row = select i1 %t.direct, i64 %b.row, i64 COLUMNS
  %t.thin = icmp sle i64 %t.width, LANES
  %t.low = icmp sle i64 %height, LOW
  %t.high.part = select i1 %t.thin, ptr @adc_product_tile_ROWSx1_KIND, ptr @adc_product_tile_ROWSxBROAD_KIND
  %t.low.part = select i1 %t.thin, ptr @adc_product_tile_LOWx1_KIND, ptr @adc_product_tile_LOWxBROAD_KIND
  %t.part = select i1 %t.low, ptr %t.low.part, ptr %t.high.part
  call void %t.part(i64 %kc, ptr %a.tile, i64 %a.row, i64 %a.column, ptr %t.b, i64 %t.b.row, ptr %tile, i64 %last)
  %c.j = add nsw i64 %jc, %j
  %c.at = mul nsw i64 %c.j, %c.column
  %c.tile = getelementptr SCALAR, ptr %c.rows, i64 %c.at
  call void @adc_product_add_KIND(i64 %height, i64 %t.width, ptr %tile, ptr %c.tile, i64 %c.row, i64 %c.column)
  %j1 = add nuw nsw i64 %j, COLUMNS
  %t.more = icmp slt i64 %j1, %width
  br i1 %t.more, label %tiles, label %rows.next
rows.next:
  %i1 = add nuw nsw i64 %i, ROWS
  %r.more = icmp slt i64 %i1, %m
  br i1 %r.more, label %rows, label %depth.next
depth.next:
  %pc1 = add nuw nsw i64 %pc, DEPTH
  %d.more = icmp slt i64 %pc1, %k
  br i1 %d.more, label %depth, label %columns.next
columns.next:
  %jc1 = add nuw nsw i64 %jc, %step
  %c.more = icmp slt i64 %jc1, %n
  br i1 %c.more, label %columns, label %free
free:
  call void @adc_free(ptr %ctx, ptr %heap)
  ret void
}
"""
