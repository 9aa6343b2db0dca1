"""Partitions in place, not stable, as LLVM IR: for many keys without places. See ``sorts.py``."""

from __future__ import annotations

from adc.backend.support.sort_keys import Key, first_lanes

BLOCK = 8  # vectors that are read at once


def part_ir(key: Key, relation: str) -> str:
    """Partition a range: elements below the pivot (or equal to it) come first. Returns how many these are.

    Each block is read from the end with less free room, so that both ends always have room for a whole block. The first
    block, the last block and the incomplete block are saved in scratch at the beginning, and distributed at the end. A
    short range is partitioned through scratch."""
    suffix, block = key.suffix, BLOCK * key.lanes
    low = f"{key.compare(relation)} VECTOR"
    lines = [
        f"define internal i64 @adc_part_{relation}_NAME(ptr noalias %k, ptr noalias %s, i64 %n, SCALAR %pivot)",
        "    nounwind noinline {",
        "entry:",
        f"  %small = icmp slt i64 %n, {8 * block}",
        "  br i1 %small, label %by.scratch, label %in.place",
        "by.scratch:",
        f"  %found = call i64 @adc_split_{relation}_NAME(ptr %k, ptr %s, i64 %n, SCALAR %pivot)",
        "  ret i64 %found",
        "in.place:",
        f"  %whole = and i64 %n, {-block}",
        f"  %last = sub i64 %whole, {block}",
        "  %behind = sub i64 %n, %last",
        f"  %saved = add i64 %behind, {block}",
        "  %last.p = getelementptr SCALAR, ptr %k, i64 %last",
        f"  %s.last = getelementptr SCALAR, ptr %s, i64 {block}",
        "  %behind.bytes = mul i64 %behind, BYTES",
        f"  call void @llvm.memcpy.p0.p0.i64(ptr %s, ptr %k, i64 {block * key.bits // 8}, i1 false)",
        "  call void @llvm.memcpy.p0.p0.i64(ptr %s.last, ptr %last.p, i64 %behind.bytes, i1 false)",
        "  %one = insertelement VECTOR poison, SCALAR %pivot, i64 0",
        "  %all = shufflevector VECTOR %one, VECTOR poison, <LANES x i32> zeroinitializer",
        "  br label %block",
        "block:",
        f"  %l = phi i64 [ {block}, %in.place ], [ %l1, %block ]",
        "  %r = phi i64 [ %last, %in.place ], [ %r1, %block ]",
        f"  %w.0 = phi i64 [ 0, %in.place ], [ %w.{BLOCK}, %block ]",
        f"  %x.0 = phi i64 [ %n, %in.place ], [ %x.{BLOCK}, %block ]",
        "  %room.left = sub i64 %l, %w.0",
        "  %room.right = sub i64 %x.0, %r",
        "  %left = icmp sle i64 %room.left, %room.right",
        f"  %l.next = add i64 %l, {block}",
        f"  %r.next = sub i64 %r, {block}",
        "  %l1 = select i1 %left, i64 %l.next, i64 %l",
        "  %r1 = select i1 %left, i64 %r, i64 %r.next",
        "  %at = select i1 %left, i64 %l, i64 %r.next",
        "  %from = getelementptr SCALAR, ptr %k, i64 %at",
    ]
    for v in range(BLOCK):
        lines += [
            f"  %p{v} = getelementptr SCALAR, ptr %from, i64 {v * key.lanes}",
            f"  %v{v} = load VECTOR, ptr %p{v}, align BYTES",
        ]
    for v in range(BLOCK):
        lines += [f"  %low{v} = {low} %v{v}, %all", *_put_apart(key, f"{v}", f"%w.{v}", f"%x.{v}", f"%low{v}", "LANES")]
        lines += [
            f"  store VECTOR %below{v}, ptr %below{v}.p, align BYTES",
            f"  %w.{v + 1} = add i64 %w.{v}, %more{v}",
            f"  %x.{v + 1} = add i64 %x.start{v}, 0",
        ]
    lines += [
        "  %again = icmp slt i64 %l1, %r1",
        "  br i1 %again, label %block, label %rest",
        "rest:",
        "  %q = phi i64 [ 0, %block ], [ %q1, %rest ]",
        f"  %w = phi i64 [ %w.{BLOCK}, %block ], [ %w1, %rest ]",
        f"  %x = phi i64 [ %x.{BLOCK}, %block ], [ %x1, %rest ]",
        "  %q.left = sub i64 %saved, %q",
        "  %q.some = call i64 @llvm.smin.i64(i64 %q.left, i64 LANES)",
        *first_lanes("q.there", "%q.some", key.lanes),
        "  %q.p = getelementptr SCALAR, ptr %s, i64 %q",
        "  %v = load VECTOR, ptr %q.p, align BYTES",
        f"  %low.all = {low} %v, %all",
        "  %low = and <LANES x i1> %low.all, %q.there",
        *_put_apart(key, "", "%w", "%x", "%low", "%q.some"),
        *first_lanes("q.below", "%more", key.lanes),
        f"  call void @llvm.masked.store.{suffix}.p0(VECTOR %below, ptr align BYTES %below.p, <LANES x i1> %q.below)",
        "  %w1 = add i64 %w, %more",
        "  %x1 = add i64 %x.start, 0",
        "  %q1 = add i64 %q, LANES",
        "  %q.more = icmp slt i64 %q1, %saved",
        "  br i1 %q.more, label %rest, label %done",
        "done:",
        "  ret i64 %w1",
        "}",
        "",
    ]
    return "\n".join(lines)


def _put_apart(key: Key, v: str, w: str, x: str, low: str, count: str) -> list[str]:
    """Store the elements that are not below the pivot at the right end; the caller stores the others."""
    suffix = key.suffix
    there = "splat (i1 true)" if count == "LANES" else "%q.there"
    return [
        f"  %bits{v} = bitcast <LANES x i1> {low} to iLANES",
        f"  %ones{v} = call iLANES @llvm.ctpop.iLANES(iLANES %bits{v})",
        f"  %more{v} = zext iLANES %ones{v} to i64",
        f"  %others{v} = sub i64 {count}, %more{v}",
        f"  %high{v} = xor <LANES x i1> {low}, {there}",
        (f"  %below{v} = call VECTOR @llvm.experimental.vector.compress.{suffix}(VECTOR %v{v}, <LANES x i1> {low},"
        " VECTOR poison)"),
        (f"  %above{v} = call VECTOR @llvm.experimental.vector.compress.{suffix}(VECTOR %v{v}, <LANES x i1> %high{v},"
        " VECTOR poison)"),
        f"  %below{v}.p = getelementptr SCALAR, ptr %k, i64 {w}",
        f"  %x.start{v} = sub i64 {x}, %others{v}",
        f"  %above{v}.p = getelementptr SCALAR, ptr %k, i64 %x.start{v}",
        *first_lanes(f"above{v}.there", f"%others{v}", key.lanes),
        (f"  call void @llvm.masked.store.{suffix}.p0(VECTOR %above{v}, ptr align BYTES %above{v}.p,"
        f" <LANES x i1> %above{v}.there)"),
    ]
