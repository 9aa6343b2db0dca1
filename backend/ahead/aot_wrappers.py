"""C wrappers in LLVM IR: check the arguments, run the compiled function in a context, hand out results or a status."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adc.backend.ahead.aot_status import FAIL, SAY, Status
from adc.backend.ahead.cabi import CFunction, CParam, CResult, dynamic_strides
from adc.backend.calls.abi import result_words
from adc.backend.llvm_text import Fragment, Writer, c_string
from adc.backend.lowering.lower_types import register_type
from adc.backend.support import contexts
from adc.ir.types import MemRefType, RecordType, Type, i1, scalar_bytes


class WrapperWriter(Writer):
    """A wrapper while it is written."""

    def __init__(self, function: CFunction) -> None:
        super().__init__()
        self.function = function
        self.prologue: list[str] = []
        self.parameters: list[str] = []
        self.tail: list[str] = []
        self._texts: list[str] = []

    def parameter(self, type: str, name: str) -> str:
        self.parameters.append(f"{type} %arg.{name}")  # no other value has this name
        return f"%arg.{name}"

    def stack(self, words: int) -> str:
        name = f"%s{len(self.prologue)}"
        self.prologue.append(f"  {name} = alloca [{words} x i64], align 8")
        return name

    def refuse_unless(self, condition: str, status: Status, message: str) -> None:
        """Return ``status`` with a message unless the condition holds."""
        number = len(self._texts)
        self._texts.append(f"{self.function.name}: {message}")
        label = self.label("refuse")
        self.require(condition, label)
        say = f"  call void @adc_aot_say(ptr {self._text_name(number)})"
        self.tail += [f"{label}:", say, f"  ret i32 {status.value}"]

    def _text_name(self, number: int) -> str:
        return f'@"{self.function.name}.text{number}"'

    def each(self, extents: Sequence[str], body: Callable[[list[str]], None]) -> None:
        """Loops over all subscripts of an array; the last subscript varies fastest."""

        def level(subscripts: list[str]) -> None:
            if len(subscripts) == len(extents):
                body(subscripts)
                return
            slot = self.stack(1)
            head, inside, after = self.label("head"), self.label("inside"), self.label("after")
            self.do(f"store i64 0, ptr {slot}")
            self.branch(head)
            self.begin(head)
            counter = self.let(f"load i64, ptr {slot}")
            self.branch_if(self.let(f"icmp slt i64 {counter}, {extents[len(subscripts)]}"), inside, after)
            self.begin(inside)
            level([*subscripts, counter])
            self.do(f"store i64 {self.let(f'add i64 {counter}, 1')}, ptr {slot}")
            self.branch(head)
            self.begin(after)

        level([])

    def fragment(self) -> Fragment:
        body = "\n".join(["entry:", *self.prologue, *self.lines, *self.tail])
        text = f'define i32 @"{self.function.name}"({", ".join(self.parameters)}) nounwind {{\n{body}\n}}\n'
        text += "".join(c_string(self._text_name(k), t) for k, t in enumerate(self._texts))
        return Fragment(text, {**self.declarations, **SAY, **FAIL})


def wrapper_ir(function: CFunction) -> Fragment:
    """The C function around a compiled function of the module that this becomes part of."""
    w = WrapperWriter(function)
    arrays: dict[int, _Array] = {}
    passed: list[str] = []
    memory = [w.parameter(t, n) for t, n in zip(("ptr", "i64"), function.workspace, strict=True) if function.inside]
    for position, param in enumerate(function.params):
        passed += _take(w, position, param, arrays)
    handle = w.parameter("ptr", "handle") if function.kind != "call" else ""
    outs = [_out_pointers(w, result) for result in function.results if not isinstance(result.type, RecordType)]
    for array in arrays.values():
        array.check(w)
    for a, b in function.disjoint():
        _check_apart(w, function, arrays[a], arrays[b], (a, b))
    for position, param in enumerate(function.params):
        if param.role == "gradient":
            arrays[position].fill_zero(w)
    if memory:
        context = w.call("adc_context_in", f"ptr {memory[0]}, i64 {memory[1]}")
    else:
        context = w.call("adc_context_take")
    w.refuse_unless(w.let(f"icmp ne ptr {context}, null"), Status.NO_MEMORY, "no memory for a context")
    if function.kind == "reverse" and any(isinstance(p.type, RecordType) for p in function.params):
        passed.append(f"ptr {w.field(handle, contexts.CONTEXT_RECORD)}")
    slots = [w.stack(result_words(result.type)) for result in function.results]
    arguments = ", ".join([f"ptr {context}", *passed, *(f"ptr {slot}" for slot in slots)])
    status = w.let(f'call i32 @"adc.{function.function}"({arguments})')
    w.require(w.let(f"icmp eq i32 {status}, 0"), "failed")
    _hand_out(w, function, context, handle, slots, outs)
    w.do("ret i32 0")
    w.tail += ["failed:", f"  %code = call i32 @adc_aot_fail(ptr {context})", "  ret i32 %code"]
    return w.fragment()


class _Array:
    """An array argument: LLVM values."""

    def __init__(self, param: CParam, data: str, extents: list[str], strides: list[str] | None) -> None:
        assert isinstance(param.type, MemRefType)
        self.param, self.data, self.extents, self.strides = param, data, extents, strides
        self.size = scalar_bytes(param.type.element)
        self.element = param.type.element
        self._bounds: tuple[str, str] | None = None

    def check(self, w: WrapperWriter) -> None:
        """Check that extents are not negative, and that there is memory if there are elements."""
        good = "true"
        empty = "false"
        for extent in self.extents:
            good = w.let(f"and i1 {good}, {w.let(f'icmp sge i64 {extent}, 0')}")
            empty = w.let(f"or i1 {empty}, {w.let(f'icmp eq i64 {extent}, 0')}")
        there = w.let(f"icmp ne ptr {self.data}, null")
        good = w.let(f"and i1 {good}, {w.let(f'or i1 {there}, {empty}')}")
        w.refuse_unless(good, Status.BAD_ARGUMENT, f"{self.param.name}: {Status.BAD_ARGUMENT.text}")

    def count(self, w: WrapperWriter) -> str:
        total = "1"
        for extent in self.extents:
            total = w.let(f"mul i64 {total}, {extent}")
        return total

    def bounds(self, w: WrapperWriter) -> tuple[str, str]:
        """The lowest address and the first one after the array, both 0 if it is empty."""
        if self._bounds is None:
            low = w.let(f"ptrtoint ptr {self.data} to i64")
            count = self.count(w)
            if self.strides is None:
                high = w.let(f"add i64 {low}, {w.let(f'mul i64 {count}, {self.size}')}")
            else:
                high = w.let(f"add i64 {low}, {self.size}")
                for extent, stride in zip(self.extents, self.strides, strict=True):
                    steps = w.let(f"mul i64 {w.let(f'sub i64 {extent}, 1')}, {stride}")
                    reach = w.let(f"mul i64 {steps}, {self.size}")
                    back = w.let(f"icmp slt i64 {reach}, 0")
                    low = w.let(f"add i64 {low}, {w.let(f'select i1 {back}, i64 {reach}, i64 0')}")
                    high = w.let(f"add i64 {high}, {w.let(f'select i1 {back}, i64 0, i64 {reach}')}")
            empty = w.let(f"icmp eq i64 {count}, 0")
            self._bounds = (
                w.let(f"select i1 {empty}, i64 0, i64 {low}"),
                w.let(f"select i1 {empty}, i64 0, i64 {high}"),
            )
        return self._bounds

    def fill_zero(self, w: WrapperWriter) -> None:
        if self.strides is None:
            w.declarations["llvm.memset.p0.i64"] = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
            total = w.let(f"mul i64 {self.count(w)}, {self.size}")
            w.do(f"call void @llvm.memset.p0.i64(ptr {self.data}, i8 0, i64 {total}, i1 false)")
            return
        kind = _memory_type(self.element)
        zero = "0.0" if self.element.is_float else "0"
        w.each(self.extents, lambda at: w.do(f"store {kind} {zero}, ptr {self.address(w, at)}"))

    def address(self, w: WrapperWriter, subscripts: Sequence[str]) -> str:
        assert self.strides is not None
        return element_address(w, self.data, self.strides, subscripts, self.size)


def element_address(w: Writer, data: str, strides: Sequence[str], subscripts: Sequence[str], size: int) -> str:
    """The address of an element, given strides in elements."""
    offset = "0"
    for subscript, stride in zip(subscripts, strides, strict=True):
        offset = w.let(f"add i64 {offset}, {w.let(f'mul i64 {subscript}, {stride}')}")
    return w.let(f"getelementptr i8, ptr {data}, i64 {w.let(f'mul i64 {offset}, {size}')}")


def _memory_type(t: Type) -> str:
    return "i8" if t == i1 else register_type(t)


def _take(w: WrapperWriter, position: int, param: CParam, arrays: dict[int, _Array]) -> list[str]:
    """Declare the C parameters of an argument, and return the typed values for the compiled function."""
    t = param.type
    if isinstance(t, RecordType):
        return []
    if not isinstance(t, MemRefType):
        if t == i1:
            byte = w.parameter("i8", param.name)
            return [f"i1 {w.let(f'icmp ne i8 {byte}, 0')}"]
        return [f"{register_type(t)} {w.parameter(register_type(t), param.name)}"]
    data = w.parameter("ptr", param.name)
    if param.like is not None:
        extents = arrays[param.like].extents
    else:
        extents = [w.parameter("i64", f"{param.name}_shape{d}") for d in range(t.rank)]
    strides: list[str] | None = None
    if t.strides is not None:
        given = dynamic_strides(t)
        strides = [
            w.parameter("i64", f"{param.name}_stride{d}") if d in given else str(t.strides[d]) for d in range(t.rank)
        ]
    arrays[position] = _Array(param, data, extents, strides)
    return [f"ptr {data}", *(f"i64 {v}" for v in (*extents, *(strides or ())))]


def _check_apart(w: WrapperWriter, f: CFunction, a: _Array, b: _Array, at: tuple[int, int]) -> None:
    (low_a, high_a), (low_b, high_b) = a.bounds(w), b.bounds(w)
    below = w.let(f"icmp ule i64 {high_a}, {low_b}")
    above = w.let(f"icmp ule i64 {high_b}, {low_a}")
    names = " and ".join(f.params[k].name for k in at)
    w.refuse_unless(w.let(f"or i1 {below}, {above}"), Status.OVERLAP, f"{names} overlap")


def _out_pointers(w: WrapperWriter, result: CResult) -> list[str]:
    pointers = [w.parameter("ptr", result.name)]
    if isinstance(result.type, MemRefType) and result.type.rank:
        pointers.append(w.parameter("ptr", f"{result.name}_shape"))
    return pointers


# Results --------------------------------------------------------------------------------------------------------------


def _hand_out(
    w: WrapperWriter, f: CFunction, context: str, handle: str, slots: Sequence[str], outs: Sequence[list[str]]
) -> None:
    record = next((s for s, r in zip(slots, f.results, strict=True) if isinstance(r.type, RecordType)), None)
    given = [(s, r) for s, r in zip(slots, f.results, strict=True) if not isinstance(r.type, RecordType)]
    new = [(w.stack(1), slot, result, pointers) for (slot, result), pointers in zip(given, outs, strict=True)]
    arrays = [item for item in new if isinstance(item[2].type, MemRefType)]
    for copy, *_ in arrays:
        w.do(f"store ptr null, ptr {copy}")
    for copy, slot, result, pointers in arrays:
        _copy_array(w, copy, slot, result, pointers[0])
    for copy, slot, result, pointers in new:
        _store_result(w, copy, slot, result, pointers)
    if f.kind == "forward":
        if record is not None:
            w.put(f"ptr {w.let(f'load ptr, ptr {record}')}", context, contexts.CONTEXT_RECORD)
        w.do(f"store ptr {context}, ptr {handle}")
    else:
        w.call_void("adc_context_give", f"ptr {context}")
    if arrays:
        w.declarations["free"] = "declare void @free(ptr)"
        w.tail.append("no_memory:")
        for number, (copy, *_) in enumerate(arrays):
            w.tail += [f"  %lost{number} = load ptr, ptr {copy}", f"  call void @free(ptr %lost{number})"]
        w.tail += [f"  %gone = call i32 @adc_aot_fail(ptr {context})", "  ret i32 %gone"]


def _copy_array(w: WrapperWriter, copy: str, slot: str, result: CResult, pointer: str) -> None:
    """Copy an array result into memory from ``malloc``, unless the caller does not want it."""
    t = result.type
    assert isinstance(t, MemRefType)
    make, done = w.label("make"), w.label("made")
    w.branch_if(w.let(f"icmp eq ptr {pointer}, null"), done, make)
    w.begin(make)
    size, kind = scalar_bytes(t.element), _memory_type(t.element)
    data = w.let(f"load ptr, ptr {slot}")
    extents = [w.field(slot, 8 * (1 + d), "i64") for d in range(t.rank)]
    strides = [w.field(slot, 8 * (1 + t.rank + d), "i64") for d in range(t.rank)]
    total = str(size)
    for extent in extents:
        total = w.let(f"mul i64 {total}, {extent}")
    w.declarations["malloc"] = "declare noalias ptr @malloc(i64)"
    fresh = w.let(f"call ptr @malloc(i64 {w.let(f'add i64 {total}, 1')})")
    w.require(w.let(f"icmp ne ptr {fresh}, null"), "no_memory")
    w.do(f"store ptr {fresh}, ptr {copy}")
    if t.strides is None:
        w.declarations["llvm.memcpy.p0.p0.i64"] = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
        w.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {fresh}, ptr {data}, i64 {total}, i1 false)")
    else:
        dense = ["1"] * t.rank
        for d in reversed(range(t.rank - 1)):
            dense[d] = w.let(f"mul i64 {dense[d + 1]}, {extents[d + 1]}")

        def copy_one(at: list[str]) -> None:
            value = w.let(f"load {kind}, ptr {element_address(w, data, strides, at, size)}")
            w.do(f"store {kind} {value}, ptr {element_address(w, fresh, dense, at, size)}")

        w.each(extents, copy_one)
    w.branch(done)
    w.begin(done)


def _store_result(w: WrapperWriter, copy: str, slot: str, result: CResult, pointers: Sequence[str]) -> None:
    """Store a result, and the extents of an array, through the pointers that are not null."""
    t = result.type
    for number, pointer in enumerate(pointers):
        put, done = w.label("put"), w.label("next")
        w.branch_if(w.let(f"icmp eq ptr {pointer}, null"), done, put)
        w.begin(put)
        if number:
            assert isinstance(t, MemRefType)
            for d in range(t.rank):
                w.put(f"i64 {w.field(slot, 8 * (1 + d), 'i64')}", pointer, 8 * d)
        else:
            source, kind = (copy, "ptr") if isinstance(t, MemRefType) else (slot, _memory_type(t))
            w.do(f"store {kind} {w.let(f'load {kind}, ptr {source}')}, ptr {pointer}")
        w.branch(done)
        w.begin(done)
