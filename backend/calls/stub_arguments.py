"""Stubs, first half: the objects of the call are checked and taken apart into values for compiled code."""

from __future__ import annotations

from dataclasses import field, replace

from adc.backend.calls.abi import (
    ArrayParam,
    Fetched,
    RecordParam,
    ScalarParam,
    ShadowParam,
    Source,
    StaticParam,
    Structure,
    Unchanged,
    Unseen,
)
from adc.backend.calls.stub_writer import StubWriter
from adc.backend.library import numpy_abi, python_abi
from adc.backend.lowering.lower_types import register_type
from adc.backend.support import contexts
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import ComplexType, Type, f64, i1, i64, index, scalar_bytes


@dataclass
class ArrayValue:
    """An ndarray taken apart. All fields are LLVM values except the type of its elements.

    ``strides`` are in bytes, None if the layout is the identity; ``words`` are passed to compiled code; ``bounds`` the
    lowest address and the first one after the array.
    """

    object: str
    element: Type
    data: str
    extents: list[str]
    strides: list[str] | None
    words: list[str] = field(default_factory=list)
    bounds: tuple[str, str] | None = None

    @property
    def rank(self) -> int:
        return len(self.extents)


class Arguments:
    """Checks every parameter, in order; then makes the shadows. ``passed`` are typed LLVM values for the call."""

    def __init__(self, w: StubWriter) -> None:
        self.w = w
        self.arrays: dict[int, ArrayValue] = {}
        self.objects: dict[int, str] = {}  # the Python objects of parameters
        self.shadow_slots: dict[int, str] = {}
        self._objects: dict[tuple[int, ...], str] = {}
        self._values: dict[int, list[str]] = {}

    @property
    def passed(self) -> list[str]:
        return [value for position in sorted(self._values) for value in self._values[position]]

    def check_all(self) -> None:
        w, signature = self.w, self.w.signature
        for position, structure in enumerate(signature.arguments):
            self._open(structure, (position,))
        for position, param in enumerate(signature.params):
            if isinstance(param, ShadowParam):
                continue
            if isinstance(param, Unchanged):
                held = w.call("adc_unchanged", f"ptr {w.object()}", returns="i32")
                w.require(w.let(f"icmp ne i32 {held}, 0"), "miss")
                continue
            if isinstance(param, Unseen):
                axes = param.type.rank * (1 if param.type.strides is None else 2)
                self._values[position] = ["ptr null", *["i64 0"] * axes]
                continue
            value = self.objects[position] = self._fetch(param.source)
            if isinstance(param, ScalarParam):
                take = self._strong if param.strong else self._weak
                self._values[position] = [take(value, param.type)]
            elif isinstance(param, ArrayParam):
                self.arrays[position] = array = self._array(value, param)
                self._values[position] = array.words
            elif isinstance(param, RecordParam):
                self._values[position] = [self._record(value)]
            else:
                assert isinstance(param, StaticParam)
                w.require(w.let(f"icmp eq ptr {value}, {w.object()}"), "miss")
        for a, b in signature.disjoint:
            self._check_disjoint(a, b)
        for a, b in signature.alike:
            pairs = zip(self.arrays[a].extents, self.arrays[b].extents, strict=True)
            if same := [w.let(f"icmp eq i64 {x}, {y}") for x, y in pairs]:
                w.require(self._all(same), "miss")

    def make_shadows(self) -> None:
        for position, param in enumerate(self.w.signature.params):
            if isinstance(param, ShadowParam):
                like = self.w.signature.params[param.of]
                assert isinstance(like, ArrayParam)
                self.shadow_slots[position] = slot = self._shadow(self.arrays[param.of], like, param.zeroed)
                self.arrays[position] = shadow = self._read(
                    self.w.let(f"load ptr, ptr {slot}"), like if like.layout == "F" else replace(like, layout="C")
                )
                self._values[position] = shadow.words

    # Objects ----------------------------------------------------------------------------------------------------------

    def _open(self, structure: Structure, path: tuple[int, ...]) -> None:
        """Check that tuples are tuples of the right length, and note their items."""
        w = self.w
        if len(path) == 1:
            value = self._objects[path] = w.field("%args", 8 * path[0])
        else:
            value = self._objects[path] = w.field(self._objects[path[:-1]], python_abi.TUPLE_OFFSET + 8 * path[-1])
        if structure is None:
            return
        self._check_type(value, "adc_py_tuple")
        size = w.call("PyTuple_Size", f"ptr {value}", returns="i64")
        w.require(w.let(f"icmp eq i64 {size}, {len(structure)}"), "miss")
        for position, item in enumerate(structure):
            self._open(item, (*path, position))

    def _fetch(self, source: Source) -> str:
        """The object of a parameter. A fetched object is held until the call ends, because its variable may be rebound
        meanwhile."""
        if not isinstance(source, Fetched):
            return self._objects[source.path]
        w, fetch = self.w, source.fetch
        missing = "fail"
        if isinstance(getattr(fetch, "namespace", None), dict) and isinstance(getattr(fetch, "name", None), str):
            namespace, name = w.object(), w.object()
            value = w.call("PyDict_GetItemWithError", f"ptr {namespace}", f"ptr {name}")
            w.call_void("Py_IncRef", f"ptr {value}")
            missing = "miss"  # deleted, or found in builtins: ``miss`` finds out
        elif type(getattr(fetch, "cell", None)).__name__ == "cell":
            value = w.call("PyCell_Get", f"ptr {w.object()}")
            missing = "miss"
        else:
            value = w.call("PyObject_CallNoArgs", f"ptr {w.object()}")
        w.own(value)
        w.require(w.let(f"icmp ne ptr {value}, null"), missing)
        return value

    def _check_type(self, value: str, symbol: str) -> None:
        w = self.w
        kind = w.field(value, python_abi.TYPE_OFFSET)
        w.require(w.let(f"icmp eq ptr {kind}, {w.symbol(symbol)}"), "miss")

    # Scalars ----------------------------------------------------------------------------------------------------------

    def _weak(self, value: str, type: Type) -> str:
        w = self.w
        if type == f64:
            self._check_type(value, "adc_py_float")
            return f"double {w.field(value, python_abi.FLOAT_OFFSET, 'double')}"
        if type in (i64, index):
            self._check_type(value, "adc_py_int")
            overflow = w.stack("i32", 4)
            number = w.call("PyLong_AsLongLongAndOverflow", f"ptr {value}", f"ptr {overflow}", returns="i64")
            w.require(w.let(f"icmp eq i32 {w.let(f'load i32, ptr {overflow}')}, 0"), "miss")
            return f"i64 {number}"
        if type == i1:
            true = w.let(f"icmp eq ptr {value}, {w.symbol('adc_py_True')}")
            false = w.let(f"icmp eq ptr {value}, {w.symbol('adc_py_False')}")
            w.require(w.let(f"or i1 {true}, {false}"), "miss")
            return f"i1 {true}"
        raise TypeError(f"no Python number is a {type}")

    def _strong(self, value: str, type: Type) -> str:
        w = self.w
        register = register_type(type)
        kind = w.field(value, python_abi.TYPE_OFFSET)
        slot = w.stack(register)
        done = w.label("scalar")
        for number, memory in numpy_abi.SCALARS[type]:
            take, after = w.label("take"), w.label("other")
            w.branch_if(w.let(f"icmp eq ptr {kind}, {w.symbol(f'adc_np_scalar_{number}')}"), take, after)
            w.begin(take)
            raw = w.field(value, python_abi.FLOAT_OFFSET, memory)
            if memory != register:
                raw = w.let(f"icmp ne i8 {raw}, 0" if type == i1 else f"sext {memory} {raw} to {register}")
            w.do(f"store {register} {raw}, ptr {slot}")
            w.branch(done)
            w.begin(after)
        w.branch("miss")
        w.begin(done)
        return f"{register} {w.let(f'load {register}, ptr {slot}')}"

    def _record(self, value: str) -> str:
        w = self.w
        name = w.symbol("adc_rt_capsule")
        valid = w.call("PyCapsule_IsValid", f"ptr {value}", f"ptr {name}", returns="i32")
        w.require(w.let(f"icmp ne i32 {valid}, 0"), "miss")
        context = w.call("PyCapsule_GetPointer", f"ptr {value}", f"ptr {name}")
        return f"ptr {w.field(context, contexts.CONTEXT_RECORD)}"

    # Arrays -----------------------------------------------------------------------------------------------------------

    def _array(self, value: str, param: ArrayParam) -> ArrayValue:
        w = self.w
        numbers = numpy_abi.type_numbers(param.element)
        wanted = numpy_abi.ALIGNED | (numpy_abi.WRITEABLE if param.writable else 0)
        strided = param.type.strides is not None
        mask = wanted | numpy_abi.C_CONTIGUOUS
        if param.layout == "F":
            wanted |= numpy_abi.F_CONTIGUOUS
            mask |= numpy_abi.F_CONTIGUOUS
        elif not strided:
            wanted |= numpy_abi.C_CONTIGUOUS
        given = ", ".join(f"i32 {n}" for n in (param.rank, numbers[0], numbers[-1], mask, wanted))
        fits = w.call("adc_array_is", f"ptr {value}", given, returns="i32")
        w.require(w.let(f"icmp ne i32 {fits}, 0"), "miss")
        array = self._read(value, param)
        shape = [
            w.let(f"icmp {'eq' if one else 'ne'} i64 {extent}, 1")
            for extent, one in zip(array.extents, param.ones, strict=False)
            if one is not None and not param.extents
        ]
        shape += [
            w.let(f"icmp eq i64 {extent}, {wanted}")
            for extent, wanted in zip(array.extents, param.extents, strict=False)
            if wanted is not None
        ]
        if strided:
            shape += self._strides(array, param)
        if shape:
            w.require(self._all(shape), "miss")
        return array

    def _any(self, conditions: list[str]) -> str:
        result = conditions[0]
        for condition in conditions[1:]:
            result = self.w.let(f"or i1 {result}, {condition}")
        return result

    def _all(self, conditions: list[str]) -> str:
        result = conditions[0]
        for condition in conditions[1:]:
            result = self.w.let(f"and i1 {result}, {condition}")
        return result

    def _strides(self, array: ArrayValue, param: ArrayParam) -> list[str]:
        """Check the strides: exactly "inner" or exactly "any", in whole elements, and not zero in an array that is
        written."""
        w, size = self.w, scalar_bytes(param.element)
        assert array.strides is not None
        found = [w.let(f"icmp {'eq' if param.layout == 'inner' else 'ne'} i64 {array.strides[-1]}, {size}")]
        if size > 1:
            bits = array.strides[0]
            for stride in array.strides[1:]:
                bits = w.let(f"or i64 {bits}, {stride}")
            unit = scalar_bytes(param.type.element)
            found.append(w.let(f"icmp eq i64 {w.let(f'and i64 {bits}, {unit - 1}')}, 0"))
        if param.writable:
            for stride, extent in zip(array.strides, array.extents, strict=True):
                moves = w.let(f"icmp ne i64 {stride}, 0")
                found.append(w.let(f"or i1 {moves}, {w.let(f'icmp sle i64 {extent}, 1')}"))
        return found

    def _read(self, value: str, param: ArrayParam) -> ArrayValue:
        """The fields of an ndarray that was already checked against ``param``."""
        w, rank = self.w, param.rank
        data = w.field(value, numpy_abi.DATA)
        extents: list[str] = []
        strides: list[str] | None = None
        if rank:
            dimensions = w.field(value, numpy_abi.DIMENSIONS)
            extents = [w.field(dimensions, 8 * d, "i64") for d in range(rank)]
        complex_ = isinstance(param.element, ComplexType)
        passed = extents if param.layout != "F" else extents[::-1]
        words = [f"ptr {data}", *(f"i64 {extent}" for extent in passed), *(["i64 2"] if complex_ else [])]
        if param.type.strides is not None:
            steps = w.field(value, numpy_abi.STRIDES)
            strides = [w.field(steps, 8 * d, "i64") for d in range(rank)]
            shift = scalar_bytes(param.type.element).bit_length() - 1
            words += [f"i64 {w.let(f'ashr i64 {stride}, {shift}')}" for stride in strides]
            words += ["i64 1"] if complex_ else []
        return ArrayValue(value, param.element, data, extents, strides, words)

    def bounds(self, position: int) -> tuple[str, str]:
        """The lowest address of an array and the first one after it, both 0 if it is empty."""
        w, array = self.w, self.arrays[position]
        if array.bounds is None:
            size = scalar_bytes(array.element)
            low = w.let(f"ptrtoint ptr {array.data} to i64")
            empty = self._any([w.let(f"icmp eq i64 {extent}, 0") for extent in array.extents] or ["false"])
            if array.strides is None:
                total = str(size)
                for extent in array.extents:
                    total = w.let(f"mul i64 {total}, {extent}")
                high = w.let(f"add i64 {low}, {total}")
            else:
                high = w.let(f"add i64 {low}, {size}")
                for extent, stride in zip(array.extents, array.strides, strict=True):
                    reach = w.let(f"mul i64 {w.let(f'sub i64 {extent}, 1')}, {stride}")
                    back = w.let(f"icmp slt i64 {reach}, 0")
                    low = w.let(f"add i64 {low}, {w.let(f'select i1 {back}, i64 {reach}, i64 0')}")
                    high = w.let(f"add i64 {high}, {w.let(f'select i1 {back}, i64 0, i64 {reach}')}")
            array.bounds = (
                w.let(f"select i1 {empty}, i64 0, i64 {low}"),
                w.let(f"select i1 {empty}, i64 0, i64 {high}"),
            )
        return array.bounds

    def _check_disjoint(self, a: int, b: int) -> None:
        w = self.w
        (low_a, high_a), (low_b, high_b) = (self.bounds(k) for k in (a, b))
        below = w.let(f"icmp ule i64 {high_a}, {low_b}")
        above = w.let(f"icmp ule i64 {high_b}, {low_a}")
        w.require(w.let(f"or i1 {below}, {above}"), "miss")

    def _shadow(self, array: ArrayValue, param: ArrayParam, zeroed: bool) -> str:
        """A slot that holds a new array with the extents of ``array``. The callee fills it, unless it is ``zeroed``."""
        w = self.w
        dtype = w.symbol(numpy_abi.dtype_symbol(param.element))
        w.call_void("Py_IncRef", f"ptr {dtype}")  # the call takes a reference
        dimensions = w.field(array.object, numpy_abi.DIMENSIONS)
        size = str(numpy_abi.DTYPES[param.element].itemsize)
        for d in range(param.rank):
            size = w.let(f"mul i64 {size}, {w.field(dimensions, 8 * d, 'i64')}")
        given = f"i32 {param.rank}", f"ptr {dimensions}", f"ptr {dtype}", f"i64 {size}"
        new = w.call("adc_array_new", *given, f"i32 {int(param.layout == 'F')}")
        slot = w.own(new)
        w.require(w.let(f"icmp ne ptr {new}, null"), "fail")
        if zeroed:
            w.declarations["llvm.memset.p0.i64"] = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
            w.do(f"call void @llvm.memset.p0.i64(ptr {w.field(new, numpy_abi.DATA)}, i8 0, i64 {size}, i1 false)")
        return slot
