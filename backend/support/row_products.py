"""Products of one row and a matrix whose rows are contiguous, as LLVM IR: see ``products.py``, which
replaces the names in capitals.

A product reads each number of the matrix once, so what counts is to read memory in order: several rows at a time are
added to the sums of a block of columns, which stay in the first-level cache. Each sum has the same order as in a
product with more rows: over the depth of a block, starting from zero, then added to C. With strong zeros, the rows of
the matrix that belong to zeros of the row are skipped.
"""

from __future__ import annotations

ROWS = 8  # rows that are added at a time


def row_ir(lanes: int, fused: bool) -> str:
    """The function for a float type. Names in capitals are replaced by the caller."""
    lines = [
        "define internal void @adc_product_row_KIND(i64 %k, i64 %n, ptr noalias %a, i64 %a.column, ptr noalias %b,",
        "    i64 %b.row, ptr noalias %c, i1 %strong) nounwind noinline {",
        "entry:",
        "  %sums = alloca [WIDE x SCALAR], align 64",
        "  br label %columns",
        "columns:",
        "  %jc = phi i64 [ 0, %entry ], [ %jc1, %columns.next ]",
        "  %j.left = sub i64 %n, %jc",
        "  %width = call i64 @llvm.smin.i64(i64 %j.left, i64 WIDE)",
        f"  %vectors = and i64 %width, {-lanes}",
        "  %b.columns = getelementptr SCALAR, ptr %b, i64 %jc",
        "  %c.columns = getelementptr SCALAR, ptr %c, i64 %jc",
        "  %bytes = mul i64 %width, BYTES",
        "  br label %depth",
        "depth:",
        "  %pc = phi i64 [ 0, %columns ], [ %pc1, %depth.next ]",
        "  %p.left = sub i64 %k, %pc",
        "  %kc = call i64 @llvm.smin.i64(i64 %p.left, i64 DEPTH)",
        "  %end = add i64 %pc, %kc",
        "  call void @llvm.memset.p0.i64(ptr %sums, i8 0, i64 %bytes, i1 false)",
        "  br label %rows",
        "rows:",
        "  %p = phi i64 [ %pc, %depth ], [ %p1, %many.done ], [ %q1, %one.done ]",
        "  %rows.left = sub i64 %end, %p",
        "  %any = icmp sgt i64 %rows.left, 0",
        "  br i1 %any, label %choose, label %add",
        "choose:",
        f"  %many = icmp sge i64 %rows.left, {ROWS}",
        "  br i1 %many, label %load.many, label %load.one",
        "load.many:",
        *_loads("many", "%p", ROWS),
        *_zeros("many", ROWS),
        "  %skip = and i1 %strong, %many.zero",
        "  br i1 %skip, label %load.one, label %many.vector",
        *_rows("many", ROWS, lanes, fused),
        f"  %p1 = add i64 %p, {ROWS}",
        "  br label %rows",
        "load.one:",
        *_loads("one", "%p", 1),
        *_zeros("one", 1),
        "  %skip.one = and i1 %strong, %one.zero",
        "  br i1 %skip.one, label %one.done, label %one.vector",
        *_rows("one", 1, lanes, fused),
        "  %q1 = add i64 %p, 1",
        "  br label %rows",
        "add:",
        "  %i = phi i64 [ 0, %rows ], [ %i1, %add.next ]",
        "  %i.more = icmp slt i64 %i, %width",
        "  br i1 %i.more, label %add.next, label %depth.next",
        "add.next:",
        "  %s.p = getelementptr SCALAR, ptr %sums, i64 %i",
        "  %s = load SCALAR, ptr %s.p, align BYTES",
        "  %c.p = getelementptr SCALAR, ptr %c.columns, i64 %i",
        "  %old = load SCALAR, ptr %c.p, align BYTES",
        "  %new = fadd SCALAR %old, %s",
        "  store SCALAR %new, ptr %c.p, align BYTES",
        "  %i1 = add nuw nsw i64 %i, 1",
        "  br label %add",
        "depth.next:",
        "  %pc1 = add i64 %pc, DEPTH",
        "  %d.more = icmp slt i64 %pc1, %k",
        "  br i1 %d.more, label %depth, label %columns.next",
        "columns.next:",
        "  %jc1 = add i64 %jc, WIDE",
        "  %c.more = icmp slt i64 %jc1, %n",
        "  br i1 %c.more, label %columns, label %done",
        "done:",
        "  ret void",
        "}",
    ]
    return "\n".join([*lines, ""])


def _loads(name: str, first: str, rows: int) -> list[str]:
    """Load numbers of the row, and compute the addresses of the rows of the matrix that belong to them."""
    lines = []
    for r in range(rows):
        v = f"{name}{r}"
        lines += [
            f"  %{v}.k = add i64 {first}, {r}",
            f"  %{v}.a.at = mul nsw i64 %{v}.k, %a.column",
            f"  %{v}.a.p = getelementptr SCALAR, ptr %a, i64 %{v}.a.at",
            f"  %{v}.x = load SCALAR, ptr %{v}.a.p, align BYTES",
            f"  %{v}.b.at = mul nsw i64 %{v}.k, %b.row",
            f"  %{v}.b = getelementptr SCALAR, ptr %b.columns, i64 %{v}.b.at",
        ]
    return lines


def _zeros(name: str, rows: int) -> list[str]:
    """Whether any of the numbers is zero."""
    lines = [f"  %{name}.zero.0 = fcmp oeq SCALAR %{name}0.x, 0.0"]
    for r in range(1, rows):
        lines += [
            f"  %{name}.here.{r} = fcmp oeq SCALAR %{name}{r}.x, 0.0",
            f"  %{name}.zero.{r} = or i1 %{name}.zero.{r - 1}, %{name}.here.{r}",
        ]
    return [*lines, f"  %{name}.zero = or i1 %{name}.zero.{rows - 1}, false"]


def _rows(name: str, rows: int, lanes: int, fused: bool) -> list[str]:
    """Add rows of the matrix to the sums: whole vectors, then the rest."""
    lines = [f"{name}.vector:"]
    for r in range(rows):
        lines += [
            f"  %{name}{r}.first = insertelement VECTOR poison, SCALAR %{name}{r}.x, i64 0",
            f"  %{name}{r}.all = shufflevector VECTOR %{name}{r}.first, VECTOR poison, <{lanes} x i32> zeroinitializer",
        ]
    before = f"{name}.vector"
    for part, kind, step, limit in (("v", "VECTOR", lanes, "%vectors"), ("s", "SCALAR", 1, "%width")):
        at = f"{name}.{part}"
        following = f"{name}.s" if part == "v" else f"{name}.done"
        start = f"[ 0, %{before} ]" if part == "v" else f"[ %vectors, %{name}.v ]"
        lines += [
            f"  br label %{at}" if part == "v" else "",
            f"{at}:",
            f"  %{at}.j = phi i64 {start}, [ %{at}.j1, %{at}.do ]",
            f"  %{at}.more = icmp slt i64 %{at}.j, {limit}",
            f"  br i1 %{at}.more, label %{at}.do, label %{following}",
            f"{at}.do:",
            f"  %{at}.p = getelementptr SCALAR, ptr %sums, i64 %{at}.j",
            f"  %{at}.t0 = load {kind}, ptr %{at}.p, align BYTES",
        ]
        suffix = f"v{lanes}KIND" if part == "v" else "KIND"
        for r in range(rows):
            x = f"%{name}{r}.{'all' if part == 'v' else 'x'}"
            lines += [
                f"  %{at}.b{r}.p = getelementptr SCALAR, ptr %{name}{r}.b, i64 %{at}.j",
                f"  %{at}.b{r} = load {kind}, ptr %{at}.b{r}.p, align BYTES",
            ]
            if fused:
                given = f"{kind} {x}, {kind} %{at}.b{r}, {kind} %{at}.t{r}"
                lines.append(f"  %{at}.t{r + 1} = call {kind} @llvm.fma.{suffix}({given})")
            else:
                lines += [
                    f"  %{at}.m{r} = fmul {kind} {x}, %{at}.b{r}",
                    f"  %{at}.t{r + 1} = fadd {kind} %{at}.t{r}, %{at}.m{r}",
                ]
        lines += [
            f"  store {kind} %{at}.t{rows}, ptr %{at}.p, align BYTES",
            f"  %{at}.j1 = add nuw nsw i64 %{at}.j, {step}",
            f"  br label %{at}",
        ]
    return [line for line in [*lines, f"{name}.done:"] if line]


def single_row(*, strong: bool) -> str:
    """The beginning of a product: return if there is nothing to add, and call the special kernel for one row; otherwise
    continue at the label ``matrix``."""
    return _SINGLE_ROW.replace("STRONG", "true" if strong else "false")


_SINGLE_ROW = """\
  %least.mn = call i64 @llvm.smin.i64(i64 %m, i64 %n)
  %least = call i64 @llvm.smin.i64(i64 %least.mn, i64 %k)
  %some = icmp sgt i64 %least, 0
  br i1 %some, label %look, label %out
out:
  ret void
look:
  %single = icmp eq i64 %m, 1
  %b.contiguous = icmp eq i64 %b.column, 1
  %c.contiguous = icmp eq i64 %c.column, 1
  %both.contiguous = and i1 %b.contiguous, %c.contiguous
  %is.row = and i1 %single, %both.contiguous
  br i1 %is.row, label %one.row, label %matrix
one.row:
  call void @adc_product_row_KIND(i64 %k, i64 %n, ptr %a, i64 %a.column, ptr %b, i64 %b.row, ptr %c, i1 STRONG)
  ret void
"""
