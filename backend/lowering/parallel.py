"""Lowering of ``scf.parallel``: a SIMD loop, or blocks of iterations that are distributed to threads.

The outermost parallel loop of a nest, if the pass that proved it marked it (``threads``), runs on threads through
OpenMP's entry points (``team``). Its body is outlined into a function whose arguments are its live-in values and the
blocks of iterations to run. The number of blocks depends on the trip count alone, and each block is run by the same
code over the same range on any thread; reductions are per block and combined in order. So results do not depend on the
number of threads, not even in the last bit. A run too short to be worth waking threads calls the same function. If the
body ends in an error, the thread skips its remaining blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adc.backend.lowering import defined_sums, team
from adc.backend.lowering.handing_over import hands_over
from adc.backend.lowering.lower_allocations import arrays_in_turn
from adc.backend.lowering.lower_emitter import FunctionEmitter, Operand
from adc.backend.lowering.lower_loops import range_loop, trip_count
from adc.backend.lowering.lower_types import Descriptor, literal, quoted, register_type
from adc.backend.lowering.lower_work import block_iterations, strip_of, work
from adc.ir import ops
from adc.ir.core import Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import SIGNS_APART
from adc.ir.types import FloatType, Type, index

_WORD = 8  # bytes
MAX_BLOCKS = 512
MAX_NESTS = 128  # of loops with loops inside: entering a block costs some 30 ns


@dataclass(frozen=True)
class _Kind:
    """A reduction: its neutral element for integers, and the instructions that combine two floats or integers."""

    integer_neutral: int
    float_text: str
    integer_text: str


_KINDS = {
    "add": _Kind(0, "fadd", "add"),
    "mul": _Kind(1, "fmul", "mul"),
    "min": _Kind((1 << 63) - 1, "llvm.minimum", "llvm.smin"),
    "max": _Kind(-(1 << 63), "llvm.maximum", "llvm.smax"),
}


def combine(e: FunctionEmitter, kind: str, t: Type, x: str, y: str, flags: str = "") -> str:
    """One step of a reduction; ``flags`` for floats."""
    text = _KINDS[kind].float_text if t.is_float else _KINDS[kind].integer_text
    register = register_type(t)
    if not text.startswith("llvm."):
        return e.let(f"{text} {flags if t.is_float else ''}{register} {x}, {y}")
    name = f"{text}.f{t.width}" if isinstance(t, FloatType) else f"{text}.{register}"
    e.module.declare(name, f"declare {register} @{name}({register}, {register})")
    free = "nsz " if t.is_float and "nsz" in flags else ""
    return e.let(f"call {free}{register} @{name}({register} {y}, {register} {x})")


def neutral(kind: str, t: Type) -> str:
    if t.is_float:
        return literal(ops.NEUTRAL[kind], t)
    value = _KINDS[kind].integer_neutral
    width = 64 if t == index else t.width  # type: ignore[attr-defined]
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1
    return literal(min(max(value, low), high), t)


def parallel(e: FunctionEmitter, op: Op) -> None:
    threaded = bool(op.attrs.get("threads")) and e.module.threads and not e.outlined
    if threaded and op not in e.facts.accumulating:
        _Region(e, op).lower()
    else:
        _simd(e, op)


def threads(e: FunctionEmitter, op: Op) -> None:
    e.env[op.result] = _allowed(e) if e.module.threads and not e.outlined else "1"


def _allowed(e: FunctionEmitter) -> str:
    """The number of threads that a parallel loop may run on."""
    e.module.declare("adc_threads", "declare i32 @adc_threads(ptr) nounwind willreturn")
    return e.let(f"sext i32 {e.let('call i32 @adc_threads(ptr %ctx)')} to i64")


def _simd(e: FunctionEmitter, op: Op) -> None:
    lower, upper, step = e.scalars(op.operands[:3])
    inits = [e[v] for v in op.operands[3:]]
    with arrays_in_turn(e, op):
        results = _iterations(e, op, lower, upper, step, inits, lambda counter: counter)
    e.env.update(zip(op.results, results, strict=True))


def _iterations(
    e: FunctionEmitter,
    op: Op,
    lower: str,
    upper: str,
    step: str,
    inits: Sequence[Operand],
    subscript: Callable[[str], str],
) -> list[Operand]:
    """The iterations of a parallel loop in sequence, with reductions; ``subscript`` maps the counter of the LLVM
    loop."""
    (block,) = op.regions
    group = "" if op in e.facts.accumulating else e.module.distinct(lambda n: "!{}")
    if group:
        e.groups.append((op, group))

    signs = "nsz " if op.attrs.get(SIGNS_APART) else ""
    flags = signs if e.module.alike else f"reassoc contract {signs}"

    def iteration(counter: str) -> Op:
        if op in e.facts.outer:
            e.poll()
        e.env[block.args[0]] = subscript(counter)
        return e.lower_ops(block)

    def combined(kind: str, v: Value, x: str) -> str:
        return combine(e, kind, v.type, x, e.scalar(v), flags)

    def body(counter: str, carried: list[Operand]) -> list[Operand]:
        terminator = iteration(counter)
        values = zip(terminator.attrs["kinds"], terminator.operands, map(str, carried), strict=True)
        return [combined(*each) for each in values]

    # Strips change the order of sums, so loops with float results have strips even in code that does not poll.
    strip = strip_of(e, op) if e.module.effects.polls or any(r.type.is_float for r in op.results) else 0
    types = [r.type for r in op.results]
    if defined_sums.is_defined(e, op, step):
        results = defined_sums.loop(e, op, (lower, upper), inits, iteration, combined, group, strip)
    else:
        results = range_loop(e, lower, upper, step, types, inits, body, group, op, strip)
    if group:
        e.groups.pop()
    return results


class _Region:
    """A parallel loop that is outlined. The live-in values of its body are passed in words of 8 bytes in ``data``."""

    def __init__(self, e: FunctionEmitter, op: Op) -> None:
        self.e, self.op = e, op
        number = len(e.module.bodies) + len(e.module.helpers)
        e.module.helpers[op] = ""
        linkage_name = f"adc.{e.func.name}$loop{number}"
        self.name = f"@{quoted(linkage_name)}"
        scope = ""
        if e.module.debug is not None:
            scope = e.module.debug.subprogram(e.module, e.func.name, linkage_name, op.loc)
        self.inside = FunctionEmitter(e.module, e.func, e.scopes, e.facts, scope)
        self.inside.at(op.loc)
        self.inside.capture = self.capture
        self.inside.given = lambda name, kind: self.part(e.given(name, kind), kind)
        self.inside.outlined = True
        self.sources: list[tuple[str, str]] = []  # captured values, and their types
        self.places: dict[str, str] = {}
        # A function with few iterations does not poll, and so has no status to return.
        self.polls = e.module.effects.polls and e.func.name in e.module.effects.fallible

    # What the body takes from outside ---------------------------------------------------------------------------------

    def capture(self, value: Value) -> Operand:
        outside = self.e[value]
        if isinstance(outside, Descriptor):
            return Descriptor(
                self.part(outside.ptr, "ptr"),
                tuple(self.part(x, "i64") for x in outside.extents),
                tuple(self.part(x, "i64") for x in outside.strides),
            )
        return self.part(outside, register_type(value.type))

    def part(self, outside: str, kind: str) -> str:
        """The inner value for an LLVM value outside, passed through ``data``; literals are unchanged."""
        if not outside.startswith("%"):
            return outside
        place = self.places.get(outside)
        if place is None:
            inside = self.inside
            place = self.places[outside] = "%ctx" if outside == "%ctx" else inside.name()
            address, dbg = "%data", inside.dbg
            if self.sources:
                address = inside.name()
                offset = _WORD * len(self.sources)
                inside.prologue.append(f"  {address} = getelementptr inbounds i8, ptr %data, i64 {offset}{dbg}")
            self.sources.append((outside, kind))
            if kind == "i1":
                byte = inside.name()
                inside.prologue.append(f"  {byte} = load i8, ptr {address}, align 8{dbg}")
                inside.prologue.append(f"  {place} = trunc i8 {byte} to i1{dbg}")
            else:
                inside.prologue.append(f"  {place} = load {kind}, ptr {address}, align 8{dbg}")
        return place

    # Inside -----------------------------------------------------------------------------------------------------------

    def write_function(self, partials: str) -> None:
        inside, op = self.inside, self.op
        self.part("%ctx", "ptr")
        partials = self.part(partials, "ptr")
        module = inside.module
        lower, _, step = inside.scalars(op.operands[:3])
        module.declare("llvm.smin.i64", "declare i64 @llvm.smin.i64(i64, i64)")
        kinds = op.regions[0].terminator.attrs["kinds"]
        types = [r.type for r in op.results]

        def run_block(number: str, carried: list[Operand]) -> list[Operand]:
            if self.polls and op not in inside.facts.outer:
                inside.poll()
            start = inside.let(f"mul nuw nsw i64 {number}, %size")
            end = inside.let(f"add nuw nsw i64 {start}, %size")
            stop = inside.let(f"call i64 @llvm.smin.i64(i64 {end}, i64 %trips)")
            neutrals: list[Operand] = [neutral(kind, t) for kind, t in zip(kinds, types, strict=True)]
            results = _iterations(
                inside, op, start, stop, "1", neutrals,
                lambda k: inside.add(lower, inside.multiply(k, step, "nsw "), "nsw "),
            )  # fmt: skip
            for k, (t, x) in enumerate(zip(types, results, strict=True)):
                inside.do(f"store {register_type(t)} {x}, ptr {self.partial(inside, partials, number, k)}, align 8")
            return []

        with arrays_in_turn(inside, op):
            range_loop(inside, "%first", "%last", "1", [], [], run_block)
        inside.do("ret i32 0")
        quick = hands_over(op.regions[0].walk())
        module.repeats |= inside.repeats and not quick
        attributes = module.attributes(f"nounwind noinline {'optnone ' if quick else ''}{module.loop_attributes}")
        scope = f" !dbg {inside.scope}" if inside.scope else ""
        module.bodies.append(
            f"define internal i32 {self.name}(ptr noalias %data, i64 %first, i64 %last, i64 %size, i64 %trips) "
            f"{attributes}{scope} {{\nentry:\n{inside.text()}\n}}\n"
        )

    def partial(self, e: FunctionEmitter, base: str, number: str, k: int) -> str:
        """The address of a block's partial result of a reduction: 8 bytes each."""
        count = len(self.op.results)
        slot = e.let(f"mul nuw nsw i64 {number}, {count}") if count > 1 else number
        return e.let(f"getelementptr inbounds i64, ptr {base}, i64 {e.add(slot, str(k))}")

    # Outside ----------------------------------------------------------------------------------------------------------

    def lower(self) -> None:
        e, op = self.e, self.op
        lower, upper, step = e.scalars(op.operands[:3])
        trips = trip_count(e, lower, upper, step)
        least, most = block_iterations(e, op), MAX_NESTS if op in e.facts.nesting else MAX_BLOCKS
        partials = e.stack(f"[{most * len(op.results)} x i64]") if op.results else "null"
        outside = e.lines
        e.lines = []
        self.write_function(partials)
        assert not e.lines, "captured values are defined outside"
        e.lines = outside
        data = e.stack(f"[{len(self.sources)} x i64]")
        for number, (value, kind) in enumerate(self.sources):
            address = e.let(f"getelementptr inbounds i64, ptr {data}, i64 {number}") if number else data
            if kind == "i1":
                value, kind = e.let(f"zext i1 {value} to i8"), "i8"
            e.do(f"store {kind} {value}, ptr {address}, align 8")
        run = team.runner(e.module, polls=self.polls)
        cut = f"i64 {trips}, i64 {least}, i64 {most}, double {work(e, op)}"
        called = f"call i32 {run}(ptr %ctx, ptr {self.name}, ptr {data}, {cut})"
        if self.inside.can_fail:
            e.fail_if(e.let(f"icmp ne i32 {e.let(called)}, 0"))
        else:
            e.let(called)
        if op.results:
            self.combine_partials(partials, team.blocks(e, trips, least, most))

    def combine_partials(self, partials: str, blocks: str) -> None:
        e, op = self.e, self.op
        kinds = op.regions[0].terminator.attrs["kinds"]
        types = [r.type for r in op.results]

        def step(number: str, carried: list[Operand]) -> list[Operand]:
            results: list[Operand] = []
            for k, (kind, t, x) in enumerate(zip(kinds, types, carried, strict=True)):
                place = self.partial(e, partials, number, k)
                y = e.let(f"load {register_type(t)}, ptr {place}, align 8")
                results.append(combine(e, kind, t, str(x), y))
            return results

        repeats = e.repeats
        results = range_loop(e, "0", blocks, "1", types, [e[v] for v in op.operands[3:]], step)
        e.repeats = repeats
        e.env.update(zip(op.results, results, strict=True))


