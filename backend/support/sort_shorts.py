"""Short ranges, as LLVM IR, sorted by counting or by networks. See ``sorts.py``."""

from __future__ import annotations

from adc.backend.support.sort_keys import Key, first_lanes
from adc.backend.support.sort_network import VECTORS, Network

COUNTED = 32  # elements that are sorted by counting


def longest(key: Key, pairs: bool) -> int:
    """The length of the longest range that is sorted directly."""
    return VECTORS * key.lanes if _has_network(key, pairs) else COUNTED


def short_ir(key: Key, pairs: bool) -> str:
    """The function that sorts ranges up to that length."""
    return _network(key) if _has_network(key, pairs) else _counted(key, pairs)


def _has_network(key: Key, pairs: bool) -> bool:
    return key.lanes > 0 and not pairs


def _counted(key: Key, pairs: bool) -> str:
    """Sort at most ``COUNTED`` elements, stably. Each element increments the rank of all elements that belong after it:
    the greater ones, and equal ones that come later. There is code for each number of vectors; the last vector is
    padded with the greatest value, which stays behind all others."""
    most = COUNTED // key.wide
    lines = [
        f"define internal void @adc_short_NAME(ptr noalias %k, i64 %n{', ptr noalias %at' if pairs else ''})",
        "    nounwind noinline {",
        "entry:",
        *(f"  %{v} = alloca [SHORT x SCALAR], align 64" for v in ("own", "out")),
        "  %ranks = alloca [SHORT x WORD], align 64",
        *(f"  %{v} = alloca [SHORT x i64], align 64" for v in ("own.at", "out.at") if pairs),
        f"  %up = add i64 %n, {key.wide - 1}",
        f"  %vectors = udiv i64 %up, {key.wide}",
        f"  switch i64 %vectors, label %c{most} [ {' '.join(f'i64 {c}, label %c{c}' for c in range(1, most))} ]",
    ]
    for count in range(1, most + 1):
        lines += _counting(key, pairs, count)
    return "\n".join([*lines, ""])


def _moved(key: Key, kept: list[tuple[str, str, str]], name: str, count: int, *, back: bool) -> list[str]:
    """Copy elements from memory to a padded buffer in the frame, or back."""
    lines = []
    if not key.lanes:
        for k, own, t in kept:
            fill = "GREATEST" if t == "SCALAR" else "0"
            if not back:
                whole = f"<{key.wide * count} x {t}>"
                lines.append(f"  store {whole} splat ({t} {fill}), ptr %{own}, align 64")
            size = f"%{name}.{own}.bytes"
            to, source = (k, own) if back else (own, k)
            lines += [
                f"  {size} = mul i64 %n, {'BYTES' if t == 'SCALAR' else 8}",
                f"  call void @llvm.memcpy.p0.p0.i64(ptr %{to}, ptr %{source}, i64 {size}, i1 false)",
            ]
        return lines
    for c in range(count):
        for k, own, t in kept:
            here = f"%{name}.{own}{c}"
            kind, bytes = f"<{key.wide} x {t}>", "BYTES" if t == "SCALAR" else "8"
            suffix = f"v{key.wide}{'i64' if t == 'i64' else key.kind.lstrip('u')}.p0"
            fill = f"splat ({t} {'GREATEST' if t == 'SCALAR' else '0'})"
            last = c == count - 1
            lines += [
                f"  {here}.k = getelementptr {t}, ptr %{k}, i64 {c * key.wide}",
                f"  {here}.own = getelementptr {t}, ptr %{own}, i64 {c * key.wide}",
            ]
            if back:
                lines.append(f"  {here}.v = load {kind}, ptr {here}.own, align 64")
                given = f"{kind} {here}.v, ptr align {bytes} {here}.k, <{key.wide} x i1> %{name}.there"
                lines.append(
                    f"  call void @llvm.masked.store.{suffix}({given})" if last
                    else f"  store {kind} {here}.v, ptr {here}.k, align {bytes}"
                )
            else:
                given = f"ptr align {bytes} {here}.k, <{key.wide} x i1> %{name}.there, {kind} {fill}"
                lines += [
                    f"  {here}.v = call {kind} @llvm.masked.load.{suffix}({given})" if last
                    else f"  {here}.v = load {kind}, ptr {here}.k, align {bytes}",
                    f"  store {kind} {here}.v, ptr {here}.own, align 64",
                ]
    return lines


def _counting(key: Key, pairs: bool, count: int) -> list[str]:
    """Sort elements that fill ``count`` vectors."""
    lanes = key.wide
    name, kind, word = f"c{count}", f"<{lanes} x SCALAR>", f"<{lanes} x WORD>"
    bools, chunks = f"<{lanes} x i1>", range(count)
    numbers = ", ".join(f"WORD {k}" for k in range(lanes))
    here = [("k", "own", "SCALAR"), *([("at", "own.at", "i64")] if pairs else [])]
    there = [("k", "out", "SCALAR"), *([("at", "out.at", "i64")] if pairs else [])]
    lines = [
        f"{name}:",
        f"  %{name}.last = sub i64 %n, {(count - 1) * lanes}",
        *first_lanes(f"{name}.there", f"%{name}.last", lanes),
        *_moved(key, here, name, count, back=False),
    ]
    for c in chunks:
        lines += [
            f"  %{name}.p{c} = getelementptr SCALAR, ptr %own, i64 {c * lanes}",
            f"  %{name}.v{c} = load {kind}, ptr %{name}.p{c}, align 64",
        ]
    lines.append(f"  br label %{name}.0")
    before, ranks = name, ["zeroinitializer" for _ in chunks]
    for j in chunks:
        at = f"{name}.{j}"
        lines += [f"{at}:", f"  %{at}.j = phi i64 [ 0, %{before} ], [ %{at}.j1, %{at} ]"]
        lines += [f"  %{at}.r{c} = phi {word} [ {ranks[c]}, %{before} ], [ %{at}.s{c}, %{at} ]" for c in chunks]
        lines += [
            f"  %{at}.p = getelementptr SCALAR, ptr %{name}.p{j}, i64 %{at}.j",
            f"  %{at}.x = load SCALAR, ptr %{at}.p",
            f"  %{at}.one = insertelement {kind} poison, SCALAR %{at}.x, i64 0",
            f"  %{at}.all = shufflevector {kind} %{at}.one, {kind} poison, <{lanes} x i32> zeroinitializer",
            f"  %{at}.turn = {'trunc i64' if key.bits < 64 else 'bitcast i64'} %{at}.j to WORD",
            f"  %{at}.turn.one = insertelement {word} poison, WORD %{at}.turn, i64 0",
            f"  %{at}.turns = shufflevector {word} %{at}.turn.one, {word} poison, <{lanes} x i32> zeroinitializer",
            f"  %{at}.later = icmp sgt {word} <{numbers}>, %{at}.turns",
        ]
        for c in chunks:
            moves = f"%{at}.m{c}"
            relation = key.compare("lt" if c <= j else "le")
            lines.append(f"  {moves} = {relation} {kind} %{at}.all, %{name}.v{c}")
            if c == j:
                lines += [
                    f"  %{at}.le = {key.compare('le')} {kind} %{at}.all, %{name}.v{c}",
                    f"  %{at}.ties = and {bools} %{at}.le, %{at}.later",
                    f"  %{at}.own = or {bools} {moves}, %{at}.ties",
                ]
                moves = f"%{at}.own"
            if key.lanes:
                lines += [
                    f"  %{at}.up{c} = add {word} %{at}.r{c}, splat (WORD 1)",
                    f"  %{at}.s{c} = select {bools} {moves}, {word} %{at}.up{c}, {word} %{at}.r{c}",
                ]
            else:
                lines += [
                    f"  %{at}.up{c} = sext {bools} {moves} to {word}",
                    f"  %{at}.s{c} = sub {word} %{at}.r{c}, %{at}.up{c}",
                ]
        lines += [
            f"  %{at}.j1 = add nuw nsw i64 %{at}.j, 1",
            f"  %{at}.more = icmp slt i64 %{at}.j1, {lanes}",
            f"  br i1 %{at}.more, label %{at}, label %{f'{name}.{j + 1}' if j < count - 1 else f'{name}.end'}",
        ]
        before, ranks = at, [f"%{at}.s{c}" for c in chunks]
    lines.append(f"{name}.end:")
    for c in chunks:
        lines += [
            f"  %{name}.to{c} = getelementptr WORD, ptr %ranks, i64 {c * lanes}",
            f"  store {word} {ranks[c]}, ptr %{name}.to{c}, align 64",
        ]
    lines += [
        f"  br label %{name}.put",
        f"{name}.put:",
        f"  %{name}.i = phi i64 [ 0, %{name}.end ], [ %{name}.i1, %{name}.put ]",
        f"  %{name}.rank.p = getelementptr WORD, ptr %ranks, i64 %{name}.i",
        f"  %{name}.rank = load WORD, ptr %{name}.rank.p",
        f"  %{name}.rank64 = {'zext WORD' if key.bits < 64 else 'bitcast WORD'} %{name}.rank to i64",
    ]
    for own, out, t in (("own", "out", "SCALAR"), *([("own.at", "out.at", "i64")] if pairs else [])):
        lines += [
            f"  %{name}.{own}.p = getelementptr {t}, ptr %{own}, i64 %{name}.i",
            f"  %{name}.{own}.v = load {t}, ptr %{name}.{own}.p",
            f"  %{name}.{out}.p = getelementptr {t}, ptr %{out}, i64 %{name}.rank64",
            f"  store {t} %{name}.{own}.v, ptr %{name}.{out}.p",
        ]
    lines += [
        f"  %{name}.i1 = add nuw nsw i64 %{name}.i, 1",
        f"  %{name}.again = icmp slt i64 %{name}.i1, {count * lanes}",
        f"  br i1 %{name}.again, label %{name}.put, label %{name}.done",
        f"{name}.done:",
        *_moved(key, there, f"{name}", count, back=True),
        "  ret void",
    ]
    return [*lines, *(["}"] if count == COUNTED // lanes else [])]


def _network(key: Key) -> str:
    """Sort at most SHORT elements by networks of one, two, four, ... vectors."""
    sizes = [1 << k for k in range(VECTORS.bit_length())]
    which = [(c, next(s for s in sizes if s >= c)) for c in range(1, VECTORS // 2 + 1)]
    cases = " ".join(f"i64 {c}, label %v{size}" for c, size in which)
    lines = [
        "define internal void @adc_short_NAME(ptr noalias %k, i64 %n) nounwind noinline {",
        "entry:",
        "  %up = add i64 %n, LANES",
        "  %up1 = sub i64 %up, 1",
        "  %vectors = udiv i64 %up1, LANES",
        f"  switch i64 %vectors, label %v{VECTORS} [ {cases} ]",
    ]
    suffix = key.suffix
    limits = ("", "")
    if not key.is_float:
        sign = "u" if key.kind.startswith("u") else "s"
        limits = f"@llvm.{sign}min.{suffix}", f"@llvm.{sign}max.{suffix}"
    for count in sizes:
        name = f"v{count}"
        lines.append(f"{name}:")
        network = Network(name, key.scalar, key.lanes, *limits)
        vectors = []
        for c in range(count):
            v = f"%{name}.in{c}"
            lines.append(f"  {v}.p = getelementptr SCALAR, ptr %k, i64 {c * key.lanes}")
            vectors.append(v)
            if c < count // 2:
                lines.append(f"  {v} = load VECTOR, ptr {v}.p, align BYTES")
                continue
            left = f"{v}.left".lstrip("%")
            lines += [
                f"  %{left}.all = sub i64 %n, {c * key.lanes}",
                f"  %{left}.some = call i64 @llvm.smax.i64(i64 %{left}.all, i64 0)",
                f"  %{left} = call i64 @llvm.smin.i64(i64 %{left}.some, i64 LANES)",
                *first_lanes(f"{left}.there", f"%{left}", key.lanes),
                (f"  {v} = call VECTOR @llvm.masked.load.{suffix}.p0(ptr align BYTES {v}.p, <LANES x i1> %{left}.there,"
                " VECTOR splat (SCALAR GREATEST))"),
            ]
        done = network.sort(vectors)
        lines += network.lines
        for c, v in enumerate(done):
            place = f"%{name}.in{c}"
            if c < count // 2:
                lines.append(f"  store VECTOR {v}, ptr {place}.p, align BYTES")
            else:
                lines.append(
                    f"  call void @llvm.masked.store.{suffix}.p0(VECTOR {v}, ptr align BYTES {place}.p,"
                    f" <LANES x i1> {place}.left.there)"
                )
        lines.append("  ret void")
    return "\n".join([*lines, "}", ""])
