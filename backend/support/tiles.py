"""Tiles of matrix products: the part of C that is held in registers and summed over the depth of a block.

See ``products.py``.
"""

from __future__ import annotations

from adc.ir.lazy_dataclass import dataclass

LOW = 4
"""Rows of the tile for products that have no more rows."""


@dataclass(frozen=True)
class Tile:
    """The part of C held in registers: ``rows`` times ``vectors`` of ``lanes`` floats."""

    kind: str  # f32 or f64
    rows: int
    vectors: int
    lanes: int

    @property
    def scalar(self) -> str:
        return {"f32": "float", "f64": "double"}[self.kind]

    @property
    def bytes(self) -> int:
        return {"f32": 4, "f64": 8}[self.kind]

    @property
    def vector(self) -> str:
        return f"<{self.lanes} x {self.scalar}>"

    @property
    def columns(self) -> int:
        return self.vectors * self.lanes


def tiles_ir(t: Tile, fused: bool) -> str:
    """The whole tile and smaller ones, which sum in the same order, so that a product with few rows or columns takes
    correspondingly less time."""
    heads = [
        f"declare {t.vector} @llvm.fma.v{t.lanes}{t.kind}({', '.join([t.vector] * 3)})",
        f"declare {t.scalar} @llvm.fma.{t.kind}({', '.join([t.scalar] * 3)})",
    ]
    heights = sorted({LOW, t.rows})
    return "\n".join([*heads, *(_part(t, rows, vectors, fused) for rows in heights for vectors in (1, t.vectors))])


def _part(t: Tile, height: int, width: int, fused: bool) -> str:
    """Compute ``height`` rows and ``width`` vectors of a tile of A B, and store them as contiguous rows of COLUMNS. If
    there are fewer rows, ``last`` is the number of the last one, which is repeated for the missing rows."""
    rows, vectors = range(height), range(width)
    places = [(r, v) for r in rows for v in vectors]
    lines = [
        f"define internal void @adc_product_tile_{height}x{width}_KIND(i64 %depth, ptr noalias %a, i64 %a.row,",
        "    i64 %a.column, ptr noalias %b, i64 %b.row, ptr noalias %tile, i64 %last) nounwind noinline {",
        "entry:",
    ]
    for r in rows:
        lines += [
            f"  %late{r} = icmp ult i64 %last, {r}",
            f"  %which{r} = select i1 %late{r}, i64 %last, i64 {r}",
            f"  %offset{r} = mul nsw i64 %which{r}, %a.row",
            f"  %a{r} = getelementptr SCALAR, ptr %a, i64 %offset{r}",
        ]
    lines += ["  br label %loop", "loop:", "  %k = phi i64 [ 0, %entry ], [ %k1, %loop ]"]
    lines += ["  %at = phi i64 [ 0, %entry ], [ %at1, %loop ]", "  %b.at = phi ptr [ %b, %entry ], [ %b.next, %loop ]"]
    lines += [f"  %s{r}.{v} = phi VECTOR [ zeroinitializer, %entry ], [ %t{r}.{v}, %loop ]" for r, v in places]
    for v in vectors:
        lines.append(f"  %b.p{v} = getelementptr SCALAR, ptr %b.at, i64 {v * t.lanes}")
        lines.append(f"  %b{v} = load VECTOR, ptr %b.p{v}, align BYTES")
    for r in rows:
        lines += [
            f"  %a.p{r} = getelementptr SCALAR, ptr %a{r}, i64 %at",
            f"  %x{r} = load SCALAR, ptr %a.p{r}, align BYTES",
            f"  %one{r} = insertelement VECTOR poison, SCALAR %x{r}, i64 0",
            f"  %all{r} = shufflevector VECTOR %one{r}, VECTOR poison, <{t.lanes} x i32> zeroinitializer",
        ]
        for v in vectors:
            if fused:
                call = f"@llvm.fma.v{t.lanes}{t.kind}(VECTOR %all{r}, VECTOR %b{v}, VECTOR %s{r}.{v})"
                lines.append(f"  %t{r}.{v} = call VECTOR {call}")
            else:
                lines.append(f"  %p{r}.{v} = fmul VECTOR %all{r}, %b{v}")
                lines.append(f"  %t{r}.{v} = fadd VECTOR %s{r}.{v}, %p{r}.{v}")
    lines += [
        "  %at1 = add nsw i64 %at, %a.column",
        "  %b.next = getelementptr SCALAR, ptr %b.at, i64 %b.row",
        "  %k1 = add nuw i64 %k, 1",
        "  %more = icmp ult i64 %k1, %depth",
        "  br i1 %more, label %loop, label %done",
        "done:",
    ]
    for r, v in places:
        lines.append(f"  %o{r}.{v} = getelementptr SCALAR, ptr %tile, i64 {r * t.columns + v * t.lanes}")
        lines.append(f"  store VECTOR %t{r}.{v}, ptr %o{r}.{v}, align BYTES")
    return "\n".join([*lines, "  ret void", "}", ""])
