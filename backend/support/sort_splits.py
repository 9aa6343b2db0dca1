"""Stable partitions, as LLVM IR: elements below a pivot go to the front of a range. See ``sorts.py``."""

from __future__ import annotations

from adc.backend.support.sort_keys import Key, first_lanes, suffix_of


def split_ir(key: Key, pairs: bool, relation: str) -> str:
    """Partition a range stably: elements below the pivot (or equal to it) come first. Returns how many these are."""
    places = ", ptr noalias %at, ptr noalias %t" if pairs else ""
    lines = [
        f"define internal i64 @adc_split_{relation}_NAME(",
        f"    ptr noalias %k, ptr noalias %s, i64 %n, SCALAR %pivot{places}) nounwind noinline {{",
        "entry:",
    ]
    kept = [("k", "s", "SCALAR", "v"), *([("at", "t", "i64", "p")] if pairs else [])]
    if key.lanes:
        lines += [
            f"  %whole = and i64 %n, {-key.lanes}",
            "  %one = insertelement VECTOR poison, SCALAR %pivot, i64 0",
            "  %all = shufflevector VECTOR %one, VECTOR poison, <LANES x i32> zeroinitializer",
            "  %some = icmp sgt i64 %whole, 0",
            "  br i1 %some, label %vector, label %rest",
            "vector:",
            "  %r = phi i64 [ 0, %entry ], [ %r1, %vector ]",
            "  %w = phi i64 [ 0, %entry ], [ %w1, %vector ]",
            "  %j = sub nuw nsw i64 %r, %w",
        ]
        for k, _, t, v in kept:
            lines += [
                f"  %{v}.from = getelementptr {t}, ptr %{k}, i64 %r",
                f"  %{v} = load <LANES x {t}>, ptr %{v}.from, align {8 if t == 'i64' else 'BYTES'}",
            ]
        lines += [
            f"  %low = {key.compare(relation)} VECTOR %v, %all",
            "  %high = xor <LANES x i1> %low, splat (i1 true)",
            "  %bits = bitcast <LANES x i1> %low to iLANES",
            "  %count = call iLANES @llvm.ctpop.iLANES(iLANES %bits)",
            "  %more = zext iLANES %count to i64",
        ]
        for k, s, t, v in kept:
            kind = f"<LANES x {t}>"
            name = f"@llvm.experimental.vector.compress.vLANES{'i64' if t == 'i64' else key.kind.lstrip('u')}"
            for half, onto, at in (("low", k, "w"), ("high", s, "j")):
                lines += [
                    f"  %{v}.{half} = call {kind} {name}({kind} %{v}, <LANES x i1> %{half}, {kind} poison)",
                    f"  %{v}.{half}.to = getelementptr {t}, ptr %{onto}, i64 %{at}",
                    f"  store {kind} %{v}.{half}, ptr %{v}.{half}.to, align {8 if t == 'i64' else 'BYTES'}",
                ]
        lines += [
            "  %w1 = add nuw nsw i64 %w, %more",
            "  %r1 = add nuw nsw i64 %r, LANES",
            "  %again = icmp slt i64 %r1, %whole",
            "  br i1 %again, label %vector, label %rest",
            *_last_vector(key, relation, kept),
        ]
        return "\n".join([*lines, "  ret i64 %w3", "}", ""])
    lines += [
        "  %left = icmp sgt i64 %n, 0",
        "  br i1 %left, label %one.by.one, label %back",
        "one.by.one:",
        "  %i = phi i64 [ 0, %entry ], [ %i1, %one.by.one ]",
        "  %x = phi i64 [ 0, %entry ], [ %x1, %one.by.one ]",
        "  %y = sub nuw nsw i64 %i, %x",
    ]
    for k, s, t, v in kept:
        lines += [
            f"  %{v}i.from = getelementptr {t}, ptr %{k}, i64 %i",
            f"  %{v}i = load {t}, ptr %{v}i.from",
            f"  %{v}i.low = getelementptr {t}, ptr %{k}, i64 %x",
            f"  store {t} %{v}i, ptr %{v}i.low",
            f"  %{v}i.high = getelementptr {t}, ptr %{s}, i64 %y",
            f"  store {t} %{v}i, ptr %{v}i.high",
        ]
    lines += [
        f"  %below = {key.compare(relation)} SCALAR %vi, %pivot",
        "  %step = zext i1 %below to i64",
        "  %x1 = add nuw nsw i64 %x, %step",
        "  %i1 = add nuw nsw i64 %i, 1",
        "  %not.yet = icmp slt i64 %i1, %n",
        "  br i1 %not.yet, label %one.by.one, label %back",
        "back:",
        "  %end = phi i64 [ 0, %entry ], [ %x1, %one.by.one ]",
        "  %above = sub nuw nsw i64 %n, %end",
    ]
    for k, s, t, v in kept:
        lines += [
            f"  %{v}.behind = getelementptr {t}, ptr %{k}, i64 %end",
            f"  %{v}.bytes = mul i64 %above, {8 if t == 'i64' else 'BYTES'}",
            f"  call void @llvm.memcpy.p0.p0.i64(ptr %{v}.behind, ptr %{s}, i64 %{v}.bytes, i1 false)",
        ]
    return "\n".join([*lines, "  ret i64 %end", "}", ""])


def _last_vector(key: Key, relation: str, kept: list[tuple[str, str, str, str]]) -> list[str]:
    """Partition the last, incomplete vector; then copy the elements in scratch behind those below the pivot."""
    lines = [
        "rest:",
        "  %w2 = phi i64 [ 0, %entry ], [ %w1, %vector ]",
        "  %left = sub i64 %n, %whole",
        *first_lanes("there", "%left", key.lanes),
        "  %j2 = sub i64 %whole, %w2",
    ]
    kinds = {v: (f"<LANES x {t}>", suffix_of(key, t), "8" if t == "i64" else "BYTES") for _, _, t, v in kept}
    for k, _, t, v in kept:
        kind, suffix, bytes = kinds[v]
        lines += [
            f"  %{v}2.from = getelementptr {t}, ptr %{k}, i64 %whole",
            (f"  %{v}2 = call {kind} @llvm.masked.load.{suffix}.p0(ptr align {bytes} %{v}2.from, <LANES x i1> %there,"
            f" {kind} zeroinitializer)"),
        ]
    lines += [
        f"  %low2.all = {key.compare(relation)} VECTOR %v2, %all",
        "  %low2 = and <LANES x i1> %low2.all, %there",
        "  %high2 = xor <LANES x i1> %low2, %there",
        "  %bits2 = bitcast <LANES x i1> %low2 to iLANES",
        "  %count2 = call iLANES @llvm.ctpop.iLANES(iLANES %bits2)",
        "  %more2 = zext iLANES %count2 to i64",
        *first_lanes("there.low", "%more2", key.lanes),
        "  %w3 = add nuw nsw i64 %w2, %more2",
        "  %above = sub nuw nsw i64 %n, %w3",
    ]
    for k, s, t, v in kept:
        kind, suffix, bytes = kinds[v]
        for half in ("low", "high"):
            lines.append(
                f"  %{v}2.{half} = call {kind} @llvm.experimental.vector.compress.{suffix}({kind} %{v}2,"
                f" <LANES x i1> %{half}2, {kind} poison)"
            )
        lines += [
            f"  %{v}2.low.to = getelementptr {t}, ptr %{k}, i64 %w2",
            (f"  call void @llvm.masked.store.{suffix}.p0({kind} %{v}2.low, ptr align {bytes} %{v}2.low.to,"
            " <LANES x i1> %there.low)"),
            f"  %{v}2.high.to = getelementptr {t}, ptr %{s}, i64 %j2",
            f"  store {kind} %{v}2.high, ptr %{v}2.high.to, align {bytes}",
        ]
    lines += [
        "  %above.whole = and i64 %above, -LANES",
        "  %above.left = sub i64 %above, %above.whole",
        *first_lanes("there.above", "%above.left", key.lanes),
        "  %some.above = icmp sgt i64 %above.whole, 0",
        "  br i1 %some.above, label %back, label %end",
        "back:",
        "  %b = phi i64 [ 0, %rest ], [ %b1, %back ]",
        "  %b.to = add nuw nsw i64 %w3, %b",
    ]
    for k, s, t, v in kept:
        kind, suffix, bytes = kinds[v]
        lines += [
            f"  %{v}.b.from = getelementptr {t}, ptr %{s}, i64 %b",
            f"  %{v}.b = load {kind}, ptr %{v}.b.from, align {bytes}",
            f"  %{v}.b.to = getelementptr {t}, ptr %{k}, i64 %b.to",
            f"  store {kind} %{v}.b, ptr %{v}.b.to, align {bytes}",
        ]
    lines += [
        "  %b1 = add nuw nsw i64 %b, LANES",
        "  %b.more = icmp slt i64 %b1, %above.whole",
        "  br i1 %b.more, label %back, label %end",
        "end:",
        "  %e.to = add nuw nsw i64 %w3, %above.whole",
    ]
    for k, s, t, v in kept:
        kind, suffix, bytes = kinds[v]
        lines += [
            f"  %{v}.e.from = getelementptr {t}, ptr %{s}, i64 %above.whole",
            f"  %{v}.e = load {kind}, ptr %{v}.e.from, align {bytes}",
            f"  %{v}.e.to = getelementptr {t}, ptr %{k}, i64 %e.to",
            (f"  call void @llvm.masked.store.{suffix}.p0({kind} %{v}.e, ptr align {bytes} %{v}.e.to,"
            " <LANES x i1> %there.above)"),
        ]
    return lines
