"""Lowering of ``scf.parallel``: a SIMD loop, or blocks of iterations shared out to threads.

The outermost parallel loop of a nest, if the pass that proved it marked it (``threads``), runs on threads through
OpenMP's entry points. Its body is outlined into a function that is given a struct: what it uses from outside, and the
number and size of the blocks that the iterations are cut into. These depend on the trip count alone, and each block is
run by the same code over the same range whichever thread does it; reductions are per block and combined in order. So
results do not depend on the number of threads, not in the last bit. A run too short to be worth waking threads calls
the same function. Where the body ends in an error the thread leaves its blocks; the status is read after the join.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from adc.backend.lowering.lower_emitter import FunctionEmitter, Operand
from adc.backend.lowering.lower_loops import range_loop, trip_count
from adc.backend.lowering.lower_types import Descriptor, literal, quoted, register_type
from adc.backend.lowering.lower_work import block_iterations, strip_of, work
from adc.ir import ops
from adc.ir.core import Op, Value
from adc.ir.types import FloatType, Type, index

MAX_BLOCKS = 512
MAX_NESTS = 128  # of loops with loops inside: entering a block costs some 30 ns
# In the units of ``lower_work``: below this, some 5 to 20 microseconds, threads may cost more than they save.
THRESHOLD = 200_000.0


@dataclass(frozen=True)
class _Kind:
    """A reduction: its neutral integer, and how two values are combined (float and integer instruction)."""

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
    return e.let(f"call {register} @{name}({register} {x}, {register} {y})")


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
    """The iterations of a parallel loop in sequence, reducing; ``subscript`` maps the LLVM loop's counter."""
    (block,) = op.regions
    group = "" if op in e.facts.accumulating else e.module.distinct(lambda n: "!{}")
    if group:
        e.groups.append((op, group))

    def body(counter: str, carried: list[Operand]) -> list[Operand]:
        if op in e.facts.outer:
            e.poll()
        e.env[block.args[0]] = subscript(counter)
        terminator = e.lower_ops(block)
        return [
            combine(e, kind, v.type, str(x), e.scalar(v), "reassoc contract ")
            for kind, v, x in zip(terminator.attrs["kinds"], terminator.operands, carried, strict=True)
        ]

    # Strips change the order of sums, which is to be the same in code that does not poll.
    strip = strip_of(e, op) if e.module.effects.polls or any(r.type.is_float for r in op.results) else 0
    types = [r.type for r in op.results]
    results = range_loop(e, lower, upper, step, types, inits, body, group, op, strip)
    if group:
        e.groups.pop()
    return results


class _Region:
    """One parallel loop that is outlined."""

    # On threads?, status, trips, blocks, block size, partials, how many threads have finished.
    _HEADER = ("i32", "i32", "i64", "i64", "i64", "ptr", "i64")

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
        self.inside.outlined = True
        self.inside.fail = ["store atomic i32 1, ptr %status monotonic, align 4", "br label %leave"]
        self.fields: list[str] = []  # LLVM types of what is captured
        self.sources: list[str] = []  # and its values outside
        self.places: dict[str, str] = {}
        self.data = e.name()
        # A function of few iterations in all, which does not poll, has no status to end with.
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
        """The value inside of an LLVM value outside, through a field of the struct; literals stay what they are."""
        if not outside.startswith("%"):
            return outside
        place = self.places.get(outside)
        if place is None:
            inside = self.inside
            place = self.places[outside] = "%ctx" if outside == "%ctx" else inside.name()
            number = len(self._HEADER) + len(self.fields)
            self.fields.append("i8" if kind == "i1" else kind)
            self.sources.append(outside)
            address = inside.name()
            self.field(address, number)
            if kind == "i1":
                byte = inside.name()
                inside.prologue.append(f"  {byte} = load i8, ptr {address}, align 1{inside.dbg}")
                inside.prologue.append(f"  {place} = trunc i8 {byte} to i1{inside.dbg}")
            else:
                inside.prologue.append(f"  {place} = load {kind}, ptr {address}{inside.dbg}")
        return place

    def field(self, name: str, number: int) -> None:
        """Define, at the start of the function, the address of a field of the struct."""
        inside = self.inside
        inside.prologue.append(f"  {name} = getelementptr inbounds %DATA, ptr %data, i32 0, i32 {number}{inside.dbg}")

    # Inside -----------------------------------------------------------------------------------------------------------

    def write_function(self) -> None:
        inside, op = self.inside, self.op
        self.part("%ctx", "ptr")
        names = ("%flag", "%status", "%trips", "%blocks", "%size", "%partials", "%done")
        for number, (name, kind) in enumerate(zip(names, self._HEADER, strict=True)):
            shared = name in ("%status", "%done")
            address = name if shared else inside.name()
            self.field(address, number)
            if not shared:
                inside.prologue.append(f"  {name} = load {kind}, ptr {address}{inside.dbg}")
        team, ready = inside.new_label(), inside.new_label()
        inside.branch_if(inside.let("icmp ne i32 %flag, 0"), team, ready)
        inside.begin(team)
        module = inside.module
        for symbol in ("omp_get_thread_num", "omp_get_num_threads"):
            module.declare(symbol, f"declare i32 @{symbol}() nounwind")
        thread = inside.let(f"zext i32 {inside.let('call i32 @omp_get_thread_num()')} to i64")
        threads = inside.let(f"zext i32 {inside.let('call i32 @omp_get_num_threads()')} to i64")
        following = inside.let(f"add i64 {thread}, 1")
        bounds = [
            inside.let(f"udiv i64 {inside.let(f'mul i64 %blocks, {k}')}, {threads}") for k in (thread, following)
        ]
        is_first = inside.let(f"icmp eq i64 {thread}, 0")
        waits_for = inside.let(f"select i1 {is_first}, i64 {inside.let(f'sub i64 {threads}, 1')}, i64 -1")
        inside.branch(ready)
        inside.begin(ready)
        first = inside.let(f"phi i64 [0, %entry], [{bounds[0]}, %{team}]")
        last = inside.let(f"phi i64 [%blocks, %entry], [{bounds[1]}, %{team}]")
        others = inside.let(f"phi i64 [0, %entry], [{waits_for}, %{team}]")
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
                inside.do(f"store {register_type(t)} {x}, ptr {self.partial(inside, '%partials', number, k)}, align 8")
            return []

        range_loop(inside, first, last, "1", [], [], run_block)
        inside.branch("leave")
        inside.begin("leave")
        if self.polls:
            self.wait_for_others(others)
        inside.do("ret void")
        data = ", ".join((*self._HEADER, *self.fields))
        body = inside.text().replace("%DATA", f"{{ {data} }}")
        attributes = module.attributes("nounwind noinline " + module.loop_attributes)
        scope = f" !dbg {inside.scope}" if inside.scope else ""
        module.bodies.append(
            f'define internal void {self.name}(ptr noalias %data) {attributes}{scope} {{\nentry:\n{body}\n}}\n'
        )

    def wait_for_others(self, others: str) -> None:
        """The thread that called, which may be the main thread, polls while it waits for so many others.

        For these, -1, it counts. They stop at the next poll after an error.
        """
        inside = self.inside
        inside.module.declare("adc_wait", "declare i32 @adc_wait(ptr, ptr, i64) nounwind")
        together, wait, count, over, alone = (inside.new_label() for _ in range(5))
        inside.branch_if(inside.let(f"icmp eq i64 {others}, 0"), alone, together)
        inside.begin(together)
        inside.branch_if(inside.let(f"icmp sgt i64 {others}, 0"), wait, count)
        inside.begin(count)
        inside.let("atomicrmw add ptr %done, i64 1 release, align 8")
        inside.branch(alone)
        inside.begin(wait)
        status = inside.let(f"call i32 @adc_wait(ptr %ctx, ptr %done, i64 {others})")
        inside.branch_if(inside.let(f"icmp eq i32 {status}, 0"), alone, over)
        inside.begin(over)
        inside.do("store atomic i32 1, ptr %status monotonic, align 4")
        inside.branch(alone)
        inside.begin(alone)

    def partial(self, e: FunctionEmitter, base: str, number: str, k: int) -> str:
        """Where a block's result of a reduction is: 8 bytes each."""
        count = len(self.op.results)
        slot = e.let(f"mul nuw nsw i64 {number}, {count}") if count > 1 else number
        return e.let(f"getelementptr inbounds i64, ptr {base}, i64 {e.add(slot, str(k))}")

    # Outside ----------------------------------------------------------------------------------------------------------

    def lower(self) -> None:
        e, op = self.e, self.op
        lower, upper, step = e.scalars(op.operands[:3])
        trips = trip_count(e, lower, upper, step)
        least = block_iterations(e, op)
        # ceil(trips / most), in whole multiples of the least size.
        unit = least * (MAX_NESTS if op in e.facts.nesting else MAX_BLOCKS)
        size = e.multiply(e.let(f"udiv i64 {e.add(trips, str(unit - 1))}, {unit}"), str(least))
        e.module.declare("llvm.smax.i64", "declare i64 @llvm.smax.i64(i64, i64)")
        size = e.let(f"call i64 @llvm.smax.i64(i64 {size}, i64 {least})")
        blocks = e.let(f"udiv i64 {e.let(f'sub i64 {e.add(trips, size)}, 1')}, {size}")
        partials = e.stack(f"[{MAX_BLOCKS * len(op.results)} x i64]") if op.results else "null"
        outside = e.lines
        e.lines = []
        self.write_function()
        assert not e.lines, "captured values are defined outside"
        e.lines = outside
        struct = f"{{ {', '.join((*self._HEADER, *self.fields))} }}"
        e.prologue.append(f"  {self.data} = alloca {struct}, align 8{e.dbg}")
        values = ("0", "0", trips, blocks, size, partials, "0", *self.sources)
        for number, (kind, value) in enumerate(zip((*self._HEADER, *self.fields), values, strict=True)):
            address = e.let(f"getelementptr inbounds {struct}, ptr {self.data}, i32 0, i32 {number}")
            if kind == "i8":
                value = e.let(f"zext i1 {value} to i8")
            e.do(f"store {kind} {value}, ptr {address}")
        self.run(trips, blocks)
        if self.inside.can_fail:
            address = e.let(f"getelementptr inbounds {struct}, ptr {self.data}, i32 0, i32 1")
            status = e.let(f"load i32, ptr {address}")
            e.fail_if(e.let(f"icmp ne i32 {status}, 0"))
        self.combine_partials(partials, blocks)

    def run(self, trips: str, blocks: str) -> None:
        """Call the function, on threads if there is enough to do and this is not inside a parallel region already."""
        e, module = self.e, self.e.module
        module.declare("GOMP_parallel", "declare void @GOMP_parallel(ptr, ptr, i32, i32)")
        module.declare("omp_in_parallel", "declare i32 @omp_in_parallel() nounwind")
        module.declare("llvm.smin.i64", "declare i64 @llvm.smin.i64(i64, i64)")
        ask, nested, fork, serial, done = (e.new_label() for _ in range(5))
        count = e.let(f"uitofp i64 {trips} to double")
        total = e.let(f"fmul double {count}, {work(e, self.op)}")
        worth = e.let(f"fcmp ogt double {total}, {literal(THRESHOLD, FloatType(64))}")
        divisible = e.let(f"icmp ugt i64 {blocks}, 1")
        e.branch_if(e.let(f"and i1 {worth}, {divisible}"), ask, serial)
        e.begin(ask)
        threads = e.let(f"call i64 @llvm.smin.i64(i64 {_allowed(e)}, i64 {blocks})")
        e.branch_if(e.let(f"icmp sgt i64 {threads}, 1"), nested, serial)
        e.begin(nested)
        inside = e.let("call i32 @omp_in_parallel()")
        e.branch_if(e.let(f"icmp eq i32 {inside}, 0"), fork, serial)
        e.begin(fork)
        e.do(f"store i32 1, ptr {self.data}")
        number = e.let(f"trunc i64 {threads} to i32")
        e.do(f'call void @GOMP_parallel(ptr {self.name}, ptr {self.data}, i32 {number}, i32 0)')
        e.branch(done)
        e.begin(serial)
        e.do(f'call void {self.name}(ptr {self.data})')
        e.branch(done)
        e.begin(done)

    def combine_partials(self, partials: str, blocks: str) -> None:
        e, op = self.e, self.op
        if not op.results:
            return
        kinds = op.regions[0].terminator.attrs["kinds"]
        types = [r.type for r in op.results]

        def step(number: str, carried: list[Operand]) -> list[Operand]:
            results: list[Operand] = []
            for k, (kind, t, x) in enumerate(zip(kinds, types, carried, strict=True)):
                place = self.partial(e, partials, number, k)
                y = e.let(f"load {register_type(t)}, ptr {place}, align 8")
                results.append(combine(e, kind, t, str(x), y))
            return results

        results = range_loop(e, "0", blocks, "1", types, [e[v] for v in op.operands[3:]], step)
        e.env.update(zip(op.results, results, strict=True))


