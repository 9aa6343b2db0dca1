"""Writing LLVM IR as text: the body of one function.

Text is faster than objects: LLVM parses some 10 MB/s, and Python formats a line in a microsecond.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from adc.backend.lowering.lower_types import Descriptor, carried_types, carried_values, literal, register_type
from adc.backend.lowering.module_emitter import FIRST_SITE, ModuleEmitter
from adc.backend.support import contexts
from adc.ir.core import Block, Func, Loc, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import MemRefType, Type

if TYPE_CHECKING:
    from adc.backend.lowering.lower_alias import Scopes
    from adc.backend.lowering.lower_effects import Facts
    from adc.backend.sites import Site

Operand = str | Descriptor

# Attributes of the support's functions: of the memory visible to compiled code, they access only that of their
# arguments.
SUPPORT = "nounwind willreturn memory(argmem: readwrite, inaccessiblemem: readwrite)"
# To compiled code, a signal handler is like another thread.
POLL = "nounwind cold memory(argmem: readwrite, inaccessiblemem: readwrite)"


@dataclass
class Calls:
    """Number of calls of elementary functions written so far: without a vector variant, with a variant for one
    register, and with a variant for two registers as well."""

    scalar: int = 0
    vector: int = 0
    twofold: int = 0

    def __bool__(self) -> bool:
        return self != Calls()

    def __sub__(self, earlier: Calls) -> Calls:
        return Calls(self.scalar - earlier.scalar, self.vector - earlier.vector, self.twofold - earlier.twofold)


class FunctionEmitter:
    """The body of one LLVM function while it is written.

    ``env`` maps IR values to LLVM values. ``groups`` are the enclosing parallel loops, each with its access group.
    ``fail`` is the instruction sequence that leaves the function after an error. ``capture``, if set, is called for
    values that are not in ``env``: live-in values of the body of an outlined loop. ``given`` maps name and type of an
    LLVM parameter (``FIRST_SITE``, ``FIRST_LOOP``) to its name here.
    """

    def __init__(self, module: ModuleEmitter, func: Func, scopes: Scopes, facts: Facts, scope: str = "") -> None:
        self.module = module
        self.func = func
        self.scopes = scopes
        self.facts = facts
        self.env: dict[Value, Operand] = {}
        self.lines: list[str] = []
        self.prologue: list[str] = []
        self.cold: list[str] = []
        self.groups: list[tuple[Op, str]] = []
        self.fail: list[str] = ["ret i32 1"]
        self.capture: Callable[[Value], Operand] | None = None
        self.given: Callable[[str, str], str] = lambda name, kind: name
        self.label = "entry"
        self.outlined = False
        self.repeats = False  # whether there are loops, except those over the blocks of a threaded loop
        self.stack_limit = ""  # the limit of the stack, if known here
        self.cold_depth = 0  # how many of the enclosing regions are cold
        self.together: dict[Op, str] = {}  # results already computed together with an earlier operation
        self.in_turn: set[Op] = set()  # allocations that iterations of enclosing loops reuse
        self.calls = Calls()
        self._count = 0
        self._fail_label = ""
        self.scope = scope  # debug scope of this LLVM function
        self.dbg = ""

    # Names, instructions, blocks --------------------------------------------------------------------------------------

    def name(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def let(self, text: str) -> str:
        """Append an instruction with a result."""
        self._count += 1
        name = f"%v{self._count}"
        self.lines.append(f"  {name} = {text}{self.dbg}")
        return name

    def do(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {text}{self.dbg}")

    def new_label(self) -> str:
        self._count += 1
        return f"b{self._count}"

    def begin(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.label = label

    def branch(self, label: str) -> None:
        self.do(f"br label %{label}")

    def branch_if(self, condition: str, then: str, other: str, metadata: str = "") -> None:
        self.do(f"br i1 {condition}, label %{then}, label %{other}{metadata}")

    def stack(self, type: str, align: int = 8) -> str:
        """Memory in this function's frame."""
        name = self.name()
        self.prologue.append(f"  {name} = alloca {type}, align {align}{self.dbg}")
        return name

    def at(self, loc: Loc) -> None:
        """Attach a place in the Python source to the instructions that follow."""
        if self.module.debug is not None:
            self.dbg = self.module.debug.location(self.module, loc, self.scope)

    # Values -----------------------------------------------------------------------------------------------------------

    def __getitem__(self, value: Value) -> Operand:
        found = self.env.get(value)
        if found is None:
            if self.capture is None:
                raise KeyError(f"{value!r} has no definition here")
            found = self.env[value] = self.capture(value)
        return found

    def scalar(self, value: Value) -> str:
        found = self[value]
        assert isinstance(found, str), f"{value!r} is not a scalar"
        return found

    def scalars(self, values: Sequence[Value]) -> list[str]:
        return [self.scalar(v) for v in values]

    def memref(self, value: Value) -> Descriptor:
        found = self[value]
        assert isinstance(found, Descriptor), f"{value!r} is not a memref"
        return found

    def rebuild(self, t: Type, values: Sequence[str]) -> Operand:
        """The inverse of ``carried_values``."""
        if not isinstance(t, MemRefType):
            return values[0]
        rest = iter(values[1:])
        extents = tuple(next(rest) if extent is None else str(extent) for extent in t.shape)
        if t.strides is None:
            return Descriptor(values[0], extents, self.contiguous(extents))
        return Descriptor(values[0], extents, tuple(next(rest) if s is None else str(s) for s in t.strides))

    def from_abi(self, t: Type, values: Sequence[str]) -> Operand:
        """The inverse of ``abi_values``; extents and strides that the type knows are preferred to those passed."""
        if not isinstance(t, MemRefType):
            return values[0]
        extents = tuple(v if e is None else str(e) for v, e in zip(values[1:], t.shape, strict=False))
        if t.strides is None:
            return Descriptor(values[0], extents, self.contiguous(extents))
        given = values[1 + t.rank :]
        strides = tuple(v if s is None else str(s) for v, s in zip(given, t.strides, strict=True))
        return Descriptor(values[0], extents, strides)

    def contiguous(self, extents: Sequence[str]) -> tuple[str, ...]:
        """The strides of a C-contiguous array."""
        strides = ["1"] * len(extents)
        for k in range(len(extents) - 2, -1, -1):
            strides[k] = self.multiply(strides[k + 1], extents[k + 1])
        return tuple(strides)

    def multiply(self, x: str, y: str, flags: str = "") -> str:
        """x * y in i64, folded if a factor is 0 or 1."""
        if x == "1":
            return y
        if y == "1":
            return x
        if x == "0" or y == "0":
            return "0"
        return self.let(f"mul {flags}i64 {x}, {y}")

    def add(self, x: str, y: str, flags: str = "") -> str:
        if x == "0":
            return y
        if y == "0":
            return x
        return self.let(f"add {flags}i64 {x}, {y}")

    def undefined(self, t: Type) -> Operand:
        """A value that is never read: zero, or a memref of extent zero."""
        if isinstance(t, MemRefType):
            extents = tuple("0" if e is None else str(e) for e in t.shape)
            return Descriptor("null", extents, ("1",) * t.rank)
        return "null" if register_type(t) == "ptr" else literal(0, t)

    # Phis -------------------------------------------------------------------------------------------------------------

    def open_phis(self, types: Sequence[Type]) -> Phis:
        """Phis at the head of a loop, to be completed when the incoming values are known."""
        self.repeats = True
        return Phis(self, types)

    def join(self, types: Sequence[Type], incoming: Sequence[tuple[str, Sequence[Operand]]]) -> list[Operand]:
        """Phis for values that arrive from several blocks: (label, values) for each."""
        phis = Phis(self, types)
        phis.close(incoming)
        return phis.rebuild()

    @property
    def can_fail(self) -> bool:
        """Whether the function has an error exit."""
        return bool(self._fail_label)

    # Errors -----------------------------------------------------------------------------------------------------------

    def fail_label(self) -> str:
        """The block that leaves the function after an error."""
        if not self._fail_label:
            self._fail_label = self.new_label()
            self.cold.append(f"{self._fail_label}:")
            self.cold.extend(f"  {line}{self.dbg}" for line in self.fail)
        return self._fail_label

    def likely(self, then: bool) -> str:
        """Metadata of a branch that is nearly always taken to its first target (``then``), or nearly never."""
        weights = "i32 1048575, i32 1" if then else "i32 1, i32 1048575"
        number = self.module.metadata(f'!{{!"branch_weights", {weights}}}')
        return f", !prof {number}"

    def trap_unless(self, condition: str, site: Site, operands: Sequence[str] = ()) -> None:
        """Record an error and leave the function unless ``condition`` (i1) holds; ``operands`` are i64."""
        if condition == "true":
            return
        module = self.module
        module.declare("adc_raise", f"declare void @adc_raise(ptr, i32, i64, i64) {SUPPORT} cold")
        good, bad, number = self.new_label(), self.new_label(), str(module.site(site))
        fail = self.fail_label()
        self.branch_if(condition, good, bad, self.likely(True))
        self.cold.append(f"{bad}:")
        if module.is_unit and not module.is_kernel:
            first, own, number = self.given(FIRST_SITE, "i32"), number, self.name()
            self.cold.append(f"  {number} = add i32 {first}, {own}{self.dbg}")
        if len(operands) <= 2:
            a, b = (*operands, "0", "0")[:2]
            self.cold.append(f"  call void @adc_raise(ptr %ctx, i32 {number}, i64 {a}, i64 {b}){self.dbg}")
        else:
            self._raise_values(number, operands)
        self.cold.append(f"  br label %{fail}{self.dbg}")
        self.begin(good)

    def _raise_values(self, site: str, operands: Sequence[str]) -> None:
        self.module.declare("adc_raise_values", contexts.DECLARATIONS["adc_raise_values"] + " nounwind cold")
        values = self.stack(f"[{len(operands)} x i64]", 8)
        for k, operand in enumerate(operands):
            slot = self.name()
            self.cold.append(f"  {slot} = getelementptr i64, ptr {values}, i64 {k}{self.dbg}")
            self.cold.append(f"  store i64 {operand}, ptr {slot}{self.dbg}")
        arguments = f"ptr %ctx, i32 {site}, ptr {values}, i64 {len(operands)}"
        self.cold.append(f"  call void @adc_raise_values({arguments}){self.dbg}")

    def fail_if(self, condition: str) -> None:
        """Leave the function after an error that is already recorded."""
        bad, good = self.fail_label(), self.new_label()
        self.branch_if(condition, bad, good, self.likely(False))
        self.begin(good)

    def poll(self, note: Callable[[], None] | None = None) -> None:
        """Leave the function if a signal ended the run; see ``adc.backend.library.interrupts``. ``note`` appends code
        that stores the progress if it is asked for."""
        if not self.module.effects.polls:
            return
        self.module.declare("adc_attention", "@adc_attention = external global i32")
        self.module.declare("adc_poll", f"declare i32 @adc_poll(ptr) {POLL}")
        quiet, look = self.new_label(), self.new_label()
        self._unless_attention("i8" if note is None else "i16", quiet, look)
        fail, status, go = self.fail_label(), self.name(), self.name()
        hot, self.lines = self.lines, []
        self.begin(look)
        if note is not None:
            note()
            signal = self.new_label()
            self._unless_attention("i8", quiet, signal)
            self.begin(signal)
        self.do(f"{status} = call i32 @adc_poll(ptr %ctx)")
        self.do(f"{go} = icmp eq i32 {status}, 0")
        self.do(f"br i1 {go}, label %{quiet}, label %{fail}")
        self.cold += self.lines
        self.lines = hot
        self.begin(quiet)

    def _unless_attention(self, kind: str, quiet: str, look: str) -> None:
        """Append a branch to ``quiet`` if there is nothing to do: no signal (``i8``), and no request for progress
        either (``i16``)."""
        flag = self.let(f"load atomic {kind}, ptr @adc_attention monotonic, align 4")
        self.branch_if(self.let(f"icmp eq {kind} {flag}, 0"), quiet, look, self.likely(True))

    # Operations -------------------------------------------------------------------------------------------------------

    def lower_ops(self, block: Block) -> Op:
        """Lower all operations of a block except its terminator, which is returned."""
        lowerings, debug = self.module.lowerings, self.module.debug is not None
        for op in block.ops[:-1]:
            if debug:
                self.at(op.loc)
            lowerings[op.opdef](self, op)
        if debug:
            self.at(block.ops[-1].loc)
        return block.ops[-1]

    def text(self) -> str:
        return "\n".join([*self.prologue, *self.lines, *self.cold])


class Phis:
    """A group of phis for values of the given types; a memref has one for each of its parts."""

    def __init__(self, emitter: FunctionEmitter, types: Sequence[Type]) -> None:
        self._emitter = emitter
        self._types = types
        self._llvm_types = [part for t in types for part in carried_types(t)]
        self._names = [emitter.name() for _ in self._llvm_types]
        self._start = len(emitter.lines)
        self._dbg = emitter.dbg
        emitter.lines.extend([""] * len(self._names))

    def rebuild(self) -> list[Operand]:
        """The operands; may append instructions, so all phis of the block must be open by then."""
        operands, position = [], 0
        for t in self._types:
            count = len(carried_types(t))
            operands.append(self._emitter.rebuild(t, self._names[position : position + count]))
            position += count
        return operands

    def close(self, incoming: Sequence[tuple[str, Sequence[Operand]]]) -> None:
        """Give each predecessor's values: (label, one operand per type)."""
        columns = [
            (label, [part for v, t in zip(values, self._types, strict=True) for part in carried_values(v, t)])
            for label, values in incoming
        ]
        for k, (name, kind) in enumerate(zip(self._names, self._llvm_types, strict=True)):
            pairs = ", ".join(f"[{parts[k]}, %{label}]" for label, parts in columns)
            self._emitter.lines[self._start + k] = f"  {name} = phi {kind} {pairs}{self._dbg}"
