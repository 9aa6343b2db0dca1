"""Sums of parallel loops in an order that does not depend on how LLVM compiles the loop.

LLVM reassociates a sum as it vectorises the loop, or does not, which depends on the code around it. Where bits must not
depend on that (``ModuleEmitter.alike``: on several ranks loops are cut in other ways than on one), the terms are added
to a few vectors, which are added up after the last term; what does not fill them is added one by one. The vectors are
those of no machine, so the order is the same on all.

The loop stores its terms in a row of the stack, and a function that is compiled by itself adds up each row. A body that
is short is written twice: once for a small buffer with a term for each element of the vectors, where LLVM makes
vectors of the loop over the buffer, unrolls it, and keeps the buffer in registers; and once for what is left.
A product that may be fused with the sum is stored as its two factors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from adc.backend.lowering.lower_emitter import FunctionEmitter, Operand
from adc.backend.lowering.lower_loops import FEW, IN_REGISTERS, range_loop, trip_count
from adc.backend.lowering.lower_types import literal, register_type
from adc.backend.lowering.module_emitter import ModuleEmitter
from adc.backend.lowering.multiply_add import is_fused, multiply_add
from adc.ir.core import Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import FloatType, Type, f32, f64

ROW = 256  # terms
_VECTORS = 4  # so that additions do not wait for each other
_BITS = 256
_SHORT = 40  # operations of a body that is written twice
_PREFIX = "adc$sum."


def is_defined(e: FunctionEmitter, op: Op, step: str) -> bool:
    """Whether a parallel loop has sums that are to be added up in this order."""
    kinds = op.regions[0].terminator.attrs["kinds"]
    return e.module.alike and step == "1" and any(map(_is_sum, kinds, [r.type for r in op.results]))


def _is_sum(kind: str, t: Type) -> bool:
    return kind == "add" and t in (f32, f64)


@dataclass
class _Sum:
    """One sum of a loop: its type, its vectors, how many ``parts`` a term has (one, or two factors), and the rows of
    these."""

    t: FloatType
    vectors: str
    parts: int
    rows: list[str]


Combine = Callable[[str, Value, str], str]  # of a reduction's kind, a value and what has been combined


def loop(
    e: FunctionEmitter,
    op: Op,
    bounds: tuple[str, str],
    inits: Sequence[Operand],
    iteration: Callable[[str], Op],
    combine: Combine,
    group: str,
    strip: int,
) -> list[Operand]:
    """Write a parallel loop; returns its results. ``iteration`` writes the body for a counter, and returns the
    operation that reduces; reductions that are no such sums are combined in order."""
    lower, upper = bounds
    reduced = op.regions[0].terminator
    kinds, types = reduced.attrs["kinds"], [r.type for r in op.results]
    sums: list[_Sum | None] = []
    for kind, value, t in zip(kinds, reduced.operands, types, strict=True):
        sums.append(_begin(e, t, factors=is_fused(e, reduced, value)) if _is_sum(kind, t) else None)
    others = [k for k, each in enumerate(sums) if each is None]
    other_types = [types[k] for k in others]
    full = [each for each in sums if each is not None]
    if not others and len(set(types)) == 1 and _is_short(e, op):
        return _by_buffers(e, op, bounds, full, inits, iteration, group, strip)
    for each, init in zip(sums, inits, strict=True):
        if each is None:
            continue
        _clear(e, each, str(init))
        each.rows += [e.stack(f"[{ROW} x {register_type(each.t)}]", 64) for _ in range(each.parts)]

    def row(start: str, carried: list[Operand]) -> list[Operand]:
        rest = e.let(f"sub i64 {upper}, {start}")
        e.module.declare("llvm.smin.i64", "declare i64 @llvm.smin.i64(i64, i64)")
        count = e.let(f"call i64 @llvm.smin.i64(i64 {rest}, i64 {ROW})")
        end = e.let(f"add nsw i64 {start}, {count}")

        def body(counter: str, carried: list[Operand]) -> list[Operand]:
            reduce = iteration(counter)
            place = e.let(f"sub nsw i64 {counter}, {start}")
            for each, value in zip(sums, reduce.operands, strict=True):
                if each is not None:
                    _store(e, each, value, place, group)
            pairs = zip(others, carried, strict=True)
            return [combine(kinds[k], reduce.operands[k], str(x)) for k, x in pairs]

        found = range_loop(e, start, end, "1", other_types, carried, body, group, op)
        for each in sums:
            if each is not None:
                rows = ", ".join(f"ptr {x}" for x in each.rows)
                e.do(f"call void @{_adder(e.module, each)}(ptr {each.vectors}, {rows}, i64 {count})")
        return found

    carried = [inits[k] for k in others]
    found = iter(range_loop(e, lower, upper, str(ROW), other_types, carried, row, strip=strip // ROW))
    trips = trip_count(e, lower, upper, "1")
    return [next(found) if each is None else _total(e, each, trips) for each in sums]


def _is_short(e: FunctionEmitter, op: Op) -> bool:
    (body,) = op.regions
    short = len(body.ops) <= _SHORT and not any(each.regions for each in body.ops)
    return short and e.module.vectors and not e.cold_depth


def _by_buffers(
    e: FunctionEmitter,
    op: Op,
    bounds: tuple[str, str],
    sums: list[_Sum],
    inits: Sequence[Operand],
    iteration: Callable[[str], Op],
    group: str,
    strip: int,
) -> list[Operand]:
    """The loop over buffers of terms, and the one over the terms that are left."""
    lower, upper = bounds
    size = _VECTORS * _lanes(sums[0].t)
    for each in sums:
        each.rows += [e.stack(f"[{size} x {register_type(each.t)}]", 64) for _ in range(each.parts)]
    whole = e.let(f"and i64 {trip_count(e, lower, upper, '1')}, {-size}")
    stop = e.add(lower, whole, "nsw ")

    def buffer(start: str, carried: list[Operand]) -> list[Operand]:
        def body(place: str, carried: list[Operand]) -> list[Operand]:
            reduce = iteration(e.add(start, place, "nsw "))
            for each, value in zip(sums, reduce.operands, strict=True):
                _store(e, each, value, place, group)
            return []

        range_loop(e, "0", str(size), "1", [], [], body, group, op, hints=IN_REGISTERS)
        for each in sums:
            _add_buffer(e, each)
        return carried

    start, long, done = e.label, e.new_label(), e.new_label()
    e.branch_if(e.let(f"icmp ne i64 {whole}, 0"), long, done)
    e.begin(long)
    for each, init in zip(sums, inits, strict=True):
        _clear(e, each, str(init))
    range_loop(e, lower, stop, str(size), [], [], buffer, strip=strip // size)
    wholes = [_whole(e, each) for each in sums]
    latch = e.label
    e.branch(done)
    e.begin(done)
    so_far = e.join([each.t for each in sums], [(start, inits), (latch, wholes)])

    def rest(counter: str, carried: list[Operand]) -> list[Operand]:
        reduce = iteration(counter)
        totals: list[Operand] = []
        for each, value, so_far in zip(sums, reduce.operands, map(str, carried), strict=True):
            kind = register_type(each.t)
            fused = each.parts == 2
            totals.append(
                multiply_add(e, value, so_far) if fused else e.let(f"fadd {kind} {so_far}, {e.scalar(value)}")
            )
        return totals

    return range_loop(e, stop, upper, "1", [each.t for each in sums], so_far, rest, group, op, hints=FEW)


def _add_buffer(e: FunctionEmitter, made: _Sum) -> None:
    """Add the terms of a buffer to the vectors."""
    lanes, kind = _lanes(made.t), register_type(made.t)
    vector = f"<{lanes} x {kind}>"

    def at(base: str, k: int) -> str:
        address = e.let(f"getelementptr inbounds {kind}, ptr {base}, i64 {k * lanes}")
        return e.let(f"load {vector}, ptr {address}, align {_BITS // 8}")

    for k in range(_VECTORS):
        so_far, parts = at(made.vectors, k), [at(row, k) for row in made.rows]
        if made.parts == 2:
            symbol = _fma(e.module, made.t, lanes)
            found = e.let(f"call {vector} @{symbol}({', '.join(f'{vector} {x}' for x in (*parts, so_far))})")
        else:
            found = e.let(f"fadd {vector} {so_far}, {parts[0]}")
        address = e.let(f"getelementptr inbounds {kind}, ptr {made.vectors}, i64 {k * lanes}")
        e.do(f"store {vector} {found}, ptr {address}, align {_BITS // 8}")


def _whole(e: FunctionEmitter, made: _Sum) -> str:
    """The vectors of a sum, added up as ``_Code.total`` does."""
    code = _code(made)
    names: dict[str, str] = {}

    def renamed(match: re.Match[str]) -> str:
        return names.setdefault(match[0], made.vectors if match[0] == "%sums" else e.name())

    for line in code.added_up():
        e.do(re.sub(r"%[a-z]\w*", renamed, line.strip()))
    return names["%whole"]


def _begin(e: FunctionEmitter, t: Type, *, factors: bool) -> _Sum:
    assert isinstance(t, FloatType)
    return _Sum(t, e.stack(f"[{_VECTORS * _lanes(t)} x {register_type(t)}]", 64), 2 if factors else 1, [])


def _clear(e: FunctionEmitter, made: _Sum, init: str) -> None:
    t = made.t
    kind, lanes = register_type(t), _lanes(t)
    zeros = ", ".join([f"{kind} {literal(-0.0, t)}"] * lanes)
    first = e.let(f"insertelement <{lanes} x {kind}> <{zeros}>, {kind} {init}, i64 0")
    for k in range(_VECTORS):
        address = e.let(f"getelementptr inbounds {kind}, ptr {made.vectors}, i64 {k * lanes}")
        e.do(f"store <{lanes} x {kind}> {f'<{zeros}>' if k else first}, ptr {address}, align {_BITS // 8}")


def _store(e: FunctionEmitter, made: _Sum, value: Value, place: str, group: str) -> None:
    assert value.op is not None or made.parts == 1
    parts = value.op.operands if made.parts == 2 and value.op is not None else [value]
    kind = register_type(made.t)
    tag = f", !llvm.access.group {group}" if group else ""
    for part, row in zip(parts, made.rows, strict=True):
        address = e.let(f"getelementptr inbounds {kind}, ptr {row}, i64 {place}")
        e.do(f"store {kind} {e.scalar(part)}, ptr {address}, align {made.t.width // 8}{tag}")


def _total(e: FunctionEmitter, made: _Sum, trips: str) -> str:
    """The sum, once all rows are added to the vectors: what is left of the last row is added here."""
    rows = ", ".join(f"ptr {x}" for x in made.rows)
    kind = register_type(made.t)
    return e.let(f"call {kind} @{_adder(e.module, made, last=True)}(ptr {made.vectors}, {rows}, i64 {trips})")


def _lanes(t: FloatType) -> int:
    return _BITS // t.width


def _fma(module: ModuleEmitter, t: FloatType, number: int) -> str:
    of = f"<{number} x {register_type(t)}>" if number > 1 else register_type(t)
    symbol = f"llvm.fma.{f'v{number}' if number > 1 else ''}f{t.width}"
    module.declare(symbol, f"declare {of} @{symbol}({of}, {of}, {of})")
    return symbol


def _code(made: _Sum) -> _Code:
    return _Code(register_type(made.t), _lanes(made.t), made.t.width, made.parts == 2)


def _adder(module: ModuleEmitter, made: _Sum, *, last: bool = False) -> str:
    """The name of the function that adds a row to the vectors, or of the one that adds up these and what is left."""
    kind, fused = register_type(made.t), made.parts == 2
    name = f"{_PREFIX}{'total' if last else 'row'}{'.fused' if fused else ''}.{kind}"
    if name not in module.helpers:
        module.helpers[name] = name
        for number in (1, _lanes(made.t)) if fused else ():
            _fma(module, made.t, number)
        code = _code(made)
        attributes = module.attributes(f"nounwind willreturn noinline {module.function_attributes}".rstrip())
        parameters = "ptr noalias %sums, ptr noalias %x, " + ("ptr noalias %y, " if fused else "")
        result = kind if last else "void"
        lines = code.total() if last else code.row()
        module.bodies.append(
            f"define internal {result} @{name}({parameters}i64 %n) {attributes} {{\n" + "\n".join(lines) + "\n}\n"
        )
    return name


@dataclass
class _Code:
    """The text of these functions."""

    kind: str
    lanes: int
    width: int
    fused: bool

    @property
    def vector(self) -> str:
        return f"<{self.lanes} x {self.kind}>"

    def _added(self, name: str, of: str, number: int, so_far: str, place: str) -> list[str]:
        """``name``: what has been added up so far, and one term more, or a vector of them, at ``place``."""
        align = self.width // 8
        lines = [
            f"  {name}.px = getelementptr inbounds {self.kind}, ptr %x, i64 {place}",
            f"  {name}.x = load {of}, ptr {name}.px, align {align}",
        ]
        if not self.fused:
            return [*lines, f"  {name} = fadd {of} {so_far}, {name}.x"]
        symbol = f"llvm.fma.{f'v{number}' if number > 1 else ''}f{self.width}"
        return [
            *lines,
            f"  {name}.py = getelementptr inbounds {self.kind}, ptr %y, i64 {place}",
            f"  {name}.y = load {of}, ptr {name}.py, align {align}",
            f"  {name} = call {of} @{symbol}({of} {name}.x, {of} {name}.y, {of} {so_far})",
        ]

    def _vectors(self) -> list[str]:
        lines = []
        for k in range(_VECTORS):
            lines += [
                f"  %p{k} = getelementptr inbounds {self.kind}, ptr %sums, i64 {k * self.lanes}",
                f"  %a{k} = load {self.vector}, ptr %p{k}, align 64",
            ]
        return lines

    def row(self) -> list[str]:
        group = _VECTORS * self.lanes
        lines = ["entry:", *self._vectors(), f"  %end = and i64 %n, {-group}"]
        lines += ["  %any = icmp sgt i64 %end, 0", "  br i1 %any, label %head, label %done", "head:"]
        lines.append("  %k = phi i64 [0, %entry], [%next, %head]")
        lines += [f"  %s{k} = phi {self.vector} [%a{k}, %entry], [%t{k}, %head]" for k in range(_VECTORS)]
        for k in range(_VECTORS):
            lines.append(f"  %k{k} = add i64 %k, {k * self.lanes}")
            lines += self._added(f"%t{k}", self.vector, self.lanes, f"%s{k}", f"%k{k}")
        lines += [f"  %next = add i64 %k, {group}", "  %more = icmp slt i64 %next, %end"]
        lines += ["  br i1 %more, label %head, label %store", "store:"]
        lines += [f"  store {self.vector} %t{k}, ptr %p{k}, align 64" for k in range(_VECTORS)]
        return [*lines, "  br label %done", "done:", "  ret void"]

    def added_up(self) -> list[str]:
        """The vectors are added up, the halves of the vector that is left, and so on."""
        lines = [*self._vectors(), f"  %b1 = fadd {self.vector} %a1, %a0"]
        lines += [f"  %b{k} = fadd {self.vector} %a{k}, %b{k - 1}" for k in range(2, _VECTORS)]
        found, half = f"%b{_VECTORS - 1}", self.lanes // 2
        while half:
            chosen = ", ".join(f"i32 {k + half if k < half else 'poison'}" for k in range(self.lanes))
            moved = f"{self.vector} {found}, {self.vector} poison, <{self.lanes} x i32> <{chosen}>"
            lines += [
                f"  %h{half} = shufflevector {moved}",
                f"  %c{half} = fadd {self.vector} {found}, %h{half}",
            ]
            found, half = f"%c{half}", half // 2
        return [*lines, f"  %whole = extractelement {self.vector} {found}, i64 0"]

    def total(self) -> list[str]:
        """The vectors are added up, then the terms behind the last vectors."""
        group = _VECTORS * self.lanes
        return [
            "entry:",
            *self.added_up(),
            f"  %left = and i64 %n, {group - 1}",
            "  %start = sub i64 %n, %left",
            f"  %first = and i64 %start, {ROW - 1}",
            "  %end = add i64 %first, %left",
            "  %any = icmp sgt i64 %left, 0",
            "  br i1 %any, label %head, label %done",
            "head:",
            "  %k = phi i64 [%first, %entry], [%next, %head]",
            f"  %s = phi {self.kind} [%whole, %entry], [%t, %head]",
            *self._added("%t", self.kind, 1, "%s", "%k"),
            "  %next = add i64 %k, 1",
            "  %more = icmp slt i64 %next, %end",
            "  br i1 %more, label %head, label %done",
            "done:",
            f"  %sum = phi {self.kind} [%whole, %entry], [%t, %head]",
            f"  ret {self.kind} %sum",
        ]
