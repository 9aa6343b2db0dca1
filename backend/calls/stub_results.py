"""Stubs, second half: the status, and Python objects made from the results of compiled code."""

from __future__ import annotations

from collections import Counter

from adc.backend.calls.abi import (
    CallOut,
    ObjectOut,
    Out,
    Output,
    ShadowOut,
    StaticOut,
    TupleOut,
    result_words,
)
from adc.backend.calls.stub_arguments import Arguments
from adc.backend.calls.stub_writer import StubWriter
from adc.backend.library import numpy_abi
from adc.backend.lowering.lower_types import register_type
from adc.backend.support import contexts
from adc.ir.types import ComplexType, FloatType, MemRefType, RecordType, Type, f64, i1, scalar_bytes


class Results:
    """``pointers`` are the typed out pointers for the call."""

    def __init__(self, w: StubWriter, arguments: Arguments) -> None:
        self.w = w
        self.arguments = arguments
        self.pointers: list[str] = []
        self._slots: list[str] = []
        self._shadow_uses: Counter[int] = Counter()
        self._keeps_context = False

    def prepare(self) -> None:
        """Before the call: shadows, a context, room for results."""
        self.arguments.make_shadows()
        self.w.take_context()
        for t in self.w.signature.results:
            self._slots.append(self.w.stack(f"[{result_words(t)} x i64]"))
        self.pointers = [f"ptr {slot}" for slot in self._slots]

    def finish(self, status: str) -> None:
        """After the call: raise, or build and return the result."""
        w, signature = self.w, self.w.signature
        good, bad = w.label("good"), w.label("bad")
        if signature.context:
            w.branch_if(w.let(f"icmp eq i32 {status}, 0"), good, bad)
            w.begin(bad)
            self._raise()
            w.begin(good)
        self._count_shadows(signature.output)
        result = self._build(signature.output)
        if not self._keeps_context:
            w.give_context()
        moved = frozenset(self.arguments.shadow_slots[k] for k in self._shadow_uses)
        w.release_owned(moved)
        w.do(f"ret ptr {result}")

    def _raise(self) -> None:
        w = self.w
        error = w.field(w.context, contexts.CONTEXT_ERROR, "i32")
        site = w.field(w.context, contexts.CONTEXT_SITE, "i32")
        recorded = w.let(f"icmp ne i32 {error}, 0")
        site = w.let(f"select i1 {recorded}, i32 {site}, i32 -1")
        a = w.field(w.context, contexts.CONTEXT_A, "i64")
        b = w.field(w.context, contexts.CONTEXT_B, "i64")
        more = w.let(f"ptrtoint ptr {w.offset(w.context, contexts.CONTEXT_MORE)} to i64")
        # A signal handler may have raised an exception: then that is the error.
        told, tell = w.label("told"), w.label("tell")
        w.branch_if(w.let(f"icmp eq ptr {w.call('PyErr_Occurred')}, null"), tell, told)
        w.begin(tell)
        answer = w.call_method("error", "iLLL", f"i32 {site}", f"i64 {a}", f"i64 {b}", f"i64 {more}")
        w.call_void("Py_DecRef", f"ptr {answer}")
        w.branch(told)
        w.begin(told)
        w.call_void("adc_context_give", f"ptr {w.context}")
        w.branch("fail")

    def _count_shadows(self, output: Output) -> None:
        if isinstance(output, ShadowOut):
            self._shadow_uses[output.param] += 1
        elif isinstance(output, TupleOut | CallOut):
            for item in output.items:
                self._count_shadows(item)

    # Python objects ---------------------------------------------------------------------------------------------------

    def _build(self, output: Output) -> str:
        """A new reference, or null with an exception set."""
        w = self.w
        if isinstance(output, TupleOut):
            return self._tuple(output)
        if isinstance(output, CallOut):
            return self._call(output)
        if isinstance(output, Out):
            t = w.signature.results[output.position]
            slot = self._slots[output.position]
            if isinstance(t, MemRefType):
                return self._array(slot, t, pairs=output.pairs)
            if isinstance(t, RecordType):
                return self._record(slot)
            return self._scalar(slot, t, output.strong)
        if isinstance(output, ShadowOut):
            value = self.arguments.arrays[output.param].object
            self._shadow_uses[output.param] -= 1
            if self._shadow_uses[output.param] == 0:
                return value  # the last use takes the reference that the stub holds
        elif isinstance(output, ObjectOut):
            value = self.arguments.objects[output.param]
        else:
            assert isinstance(output, StaticOut)
            value = w.symbol("adc_py_None") if output.value is None else w.object()
        w.call_void("Py_IncRef", f"ptr {value}")
        return value

    def _tuple(self, output: TupleOut) -> str:
        w = self.w
        items = [self._build(item) for item in output.items]
        new = w.call("PyTuple_New", f"i64 {len(items)}")
        fill, drop, done = w.label("fill"), w.label("drop"), w.label("tuple")
        slot = w.stack("ptr")
        w.do(f"store ptr null, ptr {slot}")
        whole = w.let(f"icmp ne ptr {new}, null")
        for item in items:
            whole = w.let(f"and i1 {whole}, {w.let(f'icmp ne ptr {item}, null')}")
        w.branch_if(whole, fill, drop)
        w.begin(fill)
        for position, item in enumerate(items):
            w.call("PyTuple_SetItem", f"ptr {new}", f"i64 {position}", f"ptr {item}", returns="i32")
        w.do(f"store ptr {new}, ptr {slot}")
        w.branch(done)
        w.begin(drop)
        for item in (new, *items):
            w.call_void("Py_DecRef", f"ptr {item}")
        w.branch(done)
        w.begin(done)
        return w.let(f"load ptr, ptr {slot}")

    def _call(self, output: CallOut) -> str:
        w = self.w
        items = [self._build(item) for item in output.items]
        values = w.stack(f"[{len(items)} x ptr]")
        slot, ready, done = w.stack("ptr"), w.label("ready"), w.label("made")
        w.do(f"store ptr null, ptr {slot}")
        whole = "true"
        for position, item in enumerate(items):
            w.put(f"ptr {item}", values, 8 * position)
            whole = w.let(f"and i1 {whole}, {w.let(f'icmp ne ptr {item}, null')}")
        function = w.object()
        w.branch_if(whole, ready, done)
        w.begin(ready)
        made = w.call("PyObject_Vectorcall", f"ptr {function}", f"ptr {values}", f"i64 {len(items)}", "ptr null")
        w.do(f"store ptr {made}, ptr {slot}")
        w.branch(done)
        w.begin(done)
        for item in items:
            w.call_void("Py_DecRef", f"ptr {item}")
        return w.let(f"load ptr, ptr {slot}")

    def _scalar(self, slot: str, t: Type, strong: bool) -> str:
        w = self.w
        if strong:
            return w.call("PyArray_Scalar", f"ptr {slot}", f"ptr {w.symbol(numpy_abi.dtype_symbol(t))}", "ptr null")
        if t == i1:
            value = w.let(f"zext i8 {w.let(f'load i8, ptr {slot}')} to i64")
            return w.call("PyBool_FromLong", f"i64 {value}")
        register = register_type(t)
        value = w.let(f"load {register}, ptr {slot}")
        if t.is_float:
            if t != f64:
                value = w.let(f"fpext {register} {value} to double")
            return w.call("PyFloat_FromDouble", f"double {value}")
        if register != "i64":
            value = w.let(f"sext {register} {value} to i64")
        return w.call("PyLong_FromLongLong", f"i64 {value}")

    def _record(self, slot: str) -> str:
        w = self.w
        self._keeps_context = True
        w.put(f"ptr {w.let(f'load ptr, ptr {slot}')}", w.context, contexts.CONTEXT_RECORD)
        name, destroy = w.symbol("adc_rt_capsule"), w.symbol("adc_capsule_destroy")
        capsule = w.call("PyCapsule_New", f"ptr {w.context}", f"ptr {name}", f"ptr {destroy}")
        lost, done = w.label("lost"), w.label("capsule")
        w.branch_if(w.let(f"icmp eq ptr {capsule}, null"), lost, done)
        w.begin(lost)
        w.give_context()
        w.branch(done)
        w.begin(done)
        return capsule

    def _array(self, slot: str, t: MemRefType, *, pairs: bool) -> str:
        """An array result: a view if its memory belongs to an array of the call or to a shadow. ``pairs``: of complex
        numbers, with real and imaginary parts next to each other."""
        w, rank = self.w, t.rank - pairs
        element = ComplexType(2 * t.element.width) if pairs and isinstance(t.element, FloatType) else t.element
        size, unit = scalar_bytes(element), scalar_bytes(t.element)
        data = w.let(f"load ptr, ptr {slot}")
        extents = w.offset(slot, 8)
        shapes = [w.field(extents, 8 * d, "i64") for d in range(rank)]
        steps: list[str] = []
        if t.strides is None:
            total = str(size)
            for extent in reversed(shapes):
                steps.insert(0, total)
                total = w.let(f"mul i64 {total}, {extent}")
        else:
            steps = [w.let(f"mul i64 {w.field(extents, 8 * (t.rank + d), 'i64')}, {unit}") for d in range(rank)]
            total = ""
        strides = w.stack(f"[{max(rank, 1)} x i64]")
        for d, step in enumerate(steps):
            w.put(f"i64 {step}", strides, 8 * d)
        result, done = w.stack("ptr"), w.label("array")
        where = w.let(f"ptrtoint ptr {data} to i64")
        memory = f"i32 {rank}", f"ptr {extents}", f"ptr {strides}", f"ptr {data}"
        arrays = self.arguments.arrays
        bounds = {k: self.arguments.bounds(k) for k in arrays}  # before any branch, as other results use them, too
        for position in [k for k, of in arrays.items() if of.element == element and of.rank == rank]:
            itself, other = w.label("itself"), w.label("next")
            same = w.call("adc_array_same", f"ptr {arrays[position].object}", *memory, returns="i32")
            w.branch_if(w.let(f"icmp ne i32 {same}, 0"), itself, other)
            w.begin(itself)
            w.call_void("Py_IncRef", f"ptr {arrays[position].object}")
            w.do(f"store ptr {arrays[position].object}, ptr {result}")
            w.branch(done)
            w.begin(other)
        for position, (low, high) in bounds.items():
            inside, outside = w.label("view"), w.label("next")
            above = w.let(f"icmp uge i64 {where}, {low}")
            within = w.let(f"and i1 {above}, {w.let(f'icmp ult i64 {where}, {high}')}")
            w.branch_if(within, inside, outside)
            w.begin(inside)
            dtype = f"ptr {w.symbol(numpy_abi.dtype_symbol(element))}"
            view = w.call("adc_array_view", f"ptr {arrays[position].object}", dtype, *memory)
            w.do(f"store ptr {view}, ptr {result}")
            w.branch(done)
            w.begin(outside)
        own = self._own(element, rank, data, extents, strides if t.strides is not None else "", total)
        w.do(f"store ptr {own}, ptr {result}")
        w.branch(done)
        w.begin(done)
        return w.let(f"load ptr, ptr {result}")

    def _own(self, element: Type, axes: int, data: str, extents: str, strides: str, total: str) -> str:
        """An array that takes over the run's block of memory if it fills a block that nothing else uses; else a
        copy."""
        w = self.w
        kind, number = f"ptr {w.symbol('PyArray_Type')}", f"i32 {numpy_abi.DTYPES[element].num}"
        rank, shape = f"i32 {axes}", f"ptr {extents}"
        if strides:
            memory = (f"ptr {strides}", f"ptr {data}", "i32 0", "i32 0", "ptr null")
            old = w.call("PyArray_New", kind, rank, shape, number, *memory)
            slot = w.stack("ptr")
            w.do(f"store ptr null, ptr {slot}")
            copy, done = w.label("copy"), w.label("copied")
            w.branch_if(w.let(f"icmp eq ptr {old}, null"), done, copy)
            w.begin(copy)
            w.do(f"store ptr {w.call('PyArray_NewCopy', f'ptr {old}', f'i32 {numpy_abi.KEEP_ORDER}')}, ptr {slot}")
            w.call_void("Py_DecRef", f"ptr {old}")
            w.branch(done)
            w.begin(done)
            return w.let(f"load ptr, ptr {slot}")
        dtype = w.symbol(numpy_abi.dtype_symbol(element))
        w.call_void("Py_IncRef", f"ptr {dtype}")  # the call takes a reference
        new = w.call("adc_array_new", rank, shape, f"ptr {dtype}", f"i64 {total}", "i32 0")
        fill, done = w.label("fill"), w.label("filled")
        w.branch_if(w.let(f"icmp eq ptr {new}, null"), done, fill)
        w.begin(fill)
        if w.signature.context and not any(isinstance(r, RecordType) for r in w.signature.results):
            copy = w.label("copy")
            words = f"ptr {new}", f"ptr {w.context}", f"ptr {data}", f"i64 {total}"
            w.branch_if(w.call("adc_array_adopt", *words, returns="i1"), done, copy)
            w.begin(copy)
        w.declarations["llvm.memcpy.p0.p0.i64"] = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
        w.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {w.field(new, numpy_abi.DATA)}, ptr {data}, i64 {total}, i1 false)")
        w.branch(done)
        w.begin(done)
        return new
