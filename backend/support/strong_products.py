"""Matrix products in which zeros of the left matrix are strong: see ``products.py``, which replaces the names in
capitals."""

from __future__ import annotations

from adc.backend.support.row_products import single_row

STRONG = """
; Whether all of B is finite: zero times what is not is NaN.
define internal i1 @adc_product_finite_KIND(i64 %rows, i64 %columns, ptr %b, i64 %b.row, i64 %b.column) nounwind
    noinline {
entry:
  %unit = icmp eq i64 %b.column, 1
  %whole = and i64 %columns, -COLUMNS
  %vectors = select i1 %unit, i64 %whole, i64 0
  br label %row
row:
  %i = phi i64 [ 0, %entry ], [ %i1, %row.next ]
  %total = phi <COLUMNS x SCALAR> [ zeroinitializer, %entry ], [ %total.row, %row.next ]
  %one = phi SCALAR [ 0.0, %entry ], [ %one.row, %row.next ]
  %at = mul nsw i64 %i, %b.row
  %from = getelementptr SCALAR, ptr %b, i64 %at
  %none = icmp eq i64 %vectors, 0
  br i1 %none, label %rest, label %vector
vector:
  %j = phi i64 [ 0, %row ], [ %j1, %vector ]
  %sum = phi <COLUMNS x SCALAR> [ %total, %row ], [ %sum1, %vector ]
  %place = getelementptr SCALAR, ptr %from, i64 %j
  %x = load <COLUMNS x SCALAR>, ptr %place, align BYTES
  %nothing = fmul <COLUMNS x SCALAR> %x, zeroinitializer
  %sum1 = fadd <COLUMNS x SCALAR> %sum, %nothing
  %j1 = add nuw nsw i64 %j, COLUMNS
  %more = icmp ult i64 %j1, %vectors
  br i1 %more, label %vector, label %rest
rest:
  %total.row = phi <COLUMNS x SCALAR> [ %total, %row ], [ %sum1, %vector ]
  %some = icmp ult i64 %vectors, %columns
  br i1 %some, label %number, label %row.next
number:
  %k = phi i64 [ %vectors, %rest ], [ %k1, %number ]
  %y.sum = phi SCALAR [ %one, %rest ], [ %y.sum1, %number ]
  %y.at = mul nsw i64 %k, %b.column
  %y.place = getelementptr SCALAR, ptr %from, i64 %y.at
  %y = load SCALAR, ptr %y.place, align BYTES
  %y.nothing = fmul SCALAR %y, 0.0
  %y.sum1 = fadd SCALAR %y.sum, %y.nothing
  %k1 = add nuw nsw i64 %k, 1
  %k.more = icmp ult i64 %k1, %columns
  br i1 %k.more, label %number, label %row.next
row.next:
  %one.row = phi SCALAR [ %one, %rest ], [ %y.sum1, %number ]
  %i1 = add nuw nsw i64 %i, 1
  %rows.more = icmp ult i64 %i1, %rows
  br i1 %rows.more, label %row, label %done
done:
  %bad = fcmp uno <COLUMNS x SCALAR> %total.row, zeroinitializer
  %bits = bitcast <COLUMNS x i1> %bad to iCOLUMNS
  %good.vectors = icmp eq iCOLUMNS %bits, 0
  %good.one = fcmp ord SCALAR %one.row, 0.0
  %good = and i1 %good.vectors, %good.one
  ret i1 %good
}

define void @adc_product_strong_KIND(ptr %ctx, i64 %m, i64 %n, i64 %k, ptr %a, i64 %a.row, i64 %a.column, ptr %b,
    i64 %b.row, i64 %b.column, ptr %c, i64 %c.row, i64 %c.column) nounwind {
entry:
""" + single_row(strong=True) + """\
matrix:
  %upright = icmp ne i64 %b.row, 1
  %rows = select i1 %upright, i64 %k, i64 %n
  %columns = select i1 %upright, i64 %n, i64 %k
  %row = select i1 %upright, i64 %b.row, i64 %b.column
  %column = select i1 %upright, i64 %b.column, i64 %b.row
  ; Short rows without gaps are one long row.
  %row.ends = icmp eq i64 %row, %columns
  %column.unit = icmp eq i64 %column, 1
  %dense = and i1 %row.ends, %column.unit
  %all = mul i64 %rows, %columns
  %lines = select i1 %dense, i64 1, i64 %rows
  %line = select i1 %dense, i64 %all, i64 %columns
  %finite = call i1 @adc_product_finite_KIND(i64 %lines, i64 %line, ptr %b, i64 %row, i64 %column)
  br i1 %finite, label %plain, label %outer
plain:
  call void @adc_product_KIND(ptr %ctx, i64 %m, i64 %n, i64 %k, ptr %a, i64 %a.row, i64 %a.column, ptr %b, i64 %b.row,
    i64 %b.column, ptr %c, i64 %c.row, i64 %c.column)
  ret void
outer:
  %i = phi i64 [ 0, %matrix ], [ %i1, %outer.next ]
  br label %middle
middle:
  %p = phi i64 [ 0, %outer ], [ %p1, %middle.next ]
  %a.i = mul nsw i64 %i, %a.row
  %a.p = mul nsw i64 %p, %a.column
  %a.at = add nsw i64 %a.i, %a.p
  %a.place = getelementptr SCALAR, ptr %a, i64 %a.at
  %x = load SCALAR, ptr %a.place, align BYTES
  %nothing = fcmp oeq SCALAR %x, 0.0
  br i1 %nothing, label %middle.next, label %inner
inner:
  %j = phi i64 [ 0, %middle ], [ %j1, %inner ]
  %b.p = mul nsw i64 %p, %b.row
  %b.j = mul nsw i64 %j, %b.column
  %b.at = add nsw i64 %b.p, %b.j
  %b.place = getelementptr SCALAR, ptr %b, i64 %b.at
  %y = load SCALAR, ptr %b.place, align BYTES
  %c.i = mul nsw i64 %i, %c.row
  %c.j = mul nsw i64 %j, %c.column
  %c.at = add nsw i64 %c.i, %c.j
  %c.place = getelementptr SCALAR, ptr %c, i64 %c.at
  %old = load SCALAR, ptr %c.place, align BYTES
  %product = fmul SCALAR %x, %y
  %new = fadd SCALAR %old, %product
  store SCALAR %new, ptr %c.place, align BYTES
  %j1 = add nuw nsw i64 %j, 1
  %j.more = icmp ult i64 %j1, %n
  br i1 %j.more, label %inner, label %middle.next
middle.next:
  %p1 = add nuw nsw i64 %p, 1
  %p.more = icmp ult i64 %p1, %k
  br i1 %p.more, label %middle, label %outer.next
outer.next:
  %i1 = add nuw nsw i64 %i, 1
  %i.more = icmp ult i64 %i1, %m
  br i1 %i.more, label %outer, label %done
done:
  ret void
}
"""
