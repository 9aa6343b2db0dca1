"""Calls from Python: for each specialisation a ``METH_FASTCALL`` function in LLVM IR around the compiled function.

A stub checks that the arguments are exactly what the code was compiled for, takes them apart (arrays by reading the
ndarray object), runs the code with a context from the pool and, unless told otherwise, without the interpreter lock,
and makes the Python result. If the arguments do not fit, it returns the result of ``miss(*args)``.

    fragment = stub_ir(signature, "adc.stub.f", "adc.f")
    module = llvm_text.alone(triple, [fragment])           # text, to be linked with the code of the kernel
    f = bind(signature, "adc.stub.f", library.address, library, miss=..., error=...)

``miss`` must not call the same stub with the same objects again. ``canonical`` turns equivalent objects (a subclass of
float, a subclass of ndarray, an equal but not identical static object) into what the stub takes.
"""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adc.backend import runtime
from adc.backend.calls.abi import (
    ArrayParam,
    CallOut,
    Fetched,
    Output,
    Param,
    ScalarParam,
    Signature,
    StaticOut,
    StaticParam,
    Structure,
    TupleOut,
    Unchanged,
)
from adc.backend.calls.looks import Table
from adc.backend.calls.stub_arguments import Arguments
from adc.backend.calls.stub_results import Results
from adc.backend.calls.stub_writer import StubWriter
from adc.backend.library import numpy_abi, python_abi
from adc.backend.llvm_text import Fragment
from adc.backend.lowering.lower_effects import Effects
from adc.backend.sites import NO_MEMORY
from adc.backend.support import contexts
from adc.ir.core import Module
from adc.ir.diagnostics import runtime_error
from adc.ir.raising import exception
from adc.ir.types import PATTERNS, FloatType, Type, f64, i1

if TYPE_CHECKING:
    from adc.backend.sites import Site

_NAME = re.compile(r"@([\w.]+)")

ErrorCallback = Callable[[int, int, int, int], BaseException]


def stub_ir(signature: Signature, symbol: str, entry: str = "") -> Fragment:
    """The stub as LLVM IR: a function ``symbol`` and, if it needs Python objects, a table ``symbol.objects`` of them.

    ``entry`` is the symbol of the compiled function, by default ``adc.`` and its name.
    """
    w = StubWriter(signature, symbol)
    w.entry = entry or f"adc.{signature.function}"
    w.require(w.let(f"icmp eq i64 %count, {len(signature.arguments)}"), "miss")
    arguments = Arguments(w)
    arguments.check_all()
    results = Results(w, arguments)
    results.prepare()
    status = _run(w, arguments.passed + results.pointers)
    results.finish(status)
    w.exits()
    return w.fragment()


def _run(w: StubWriter, values: Sequence[str]) -> str:
    """Call the compiled function, and return its status."""
    signature = w.signature
    if signature.threads:
        w.do(f"store i32 {signature.threads}, ptr {w.context}")
    seen = signature.release_gil and signature.context
    if seen:
        w.call_void("adc_run_begin", f"ptr {w.context}")
    saved = w.call("PyEval_SaveThread") if signature.release_gil else ""
    if saved:
        w.call_void("adc_enter", f"ptr {saved}")
    arguments = ", ".join([f"ptr {w.context}", *values])
    types = ", ".join(["ptr", *(value.rpartition(" ")[0] for value in values)])
    w.declarations[w.entry] = f'declare i32 @"{w.entry}"({types})'
    if signature.context:
        w.put("i64 1", w.context, contexts.CONTEXT_ALONE)
    status = w.let(f'call i32 @"{w.entry}"({arguments})')
    if signature.context:
        w.put("i64 0", w.context, contexts.CONTEXT_ALONE)
    if saved:
        w.call_void("adc_leave")
        w.call_void("PyEval_RestoreThread", f"ptr {saved}")
    if seen:
        w.call_void("adc_run_end", f"ptr {w.context}")
    return status


def needs(module: Module, function: str) -> tuple[bool, bool]:
    """A signature's ``context`` and ``release_gil``: may the function fail or run threads, and may it run for long?"""
    effects = Effects.of(module)
    loops = function in effects.looping
    return loops or function in effects.fallible, loops


def objects_of(signature: Signature) -> list[object]:
    """The Python objects that the stub's code refers to by number, in order."""
    found: list[object] = []
    for param in signature.params:
        source = getattr(param, "source", None)
        if isinstance(source, Fetched):
            found.extend(_fetched_objects(source))
        if isinstance(param, StaticParam):
            found.append(param.value)
        if isinstance(param, Unchanged):
            found.append(param.table)

    def walk(output: Output) -> None:
        if isinstance(output, StaticOut) and output.value is not None:
            found.append(output.value)
        elif isinstance(output, TupleOut | CallOut):
            for item in output.items:
                walk(item)
            if isinstance(output, CallOut):
                found.append(output.function)

    walk(signature.output)
    return found


def _fetched_objects(source: Fetched) -> list[object]:
    fetch = source.fetch
    if isinstance(getattr(fetch, "namespace", None), dict) and isinstance(getattr(fetch, "name", None), str):
        return [fetch.namespace, fetch.name]  # type: ignore[attr-defined]
    if type(getattr(fetch, "cell", None)).__name__ == "cell":
        return [fetch.cell]  # type: ignore[attr-defined]
    return [fetch]


def errors_of(sites: Sequence[Site]) -> ErrorCallback:
    """The callback that makes the exceptions for a lowered module's error sites."""

    def make(site: int, a: int, b: int, more: int = 0) -> BaseException:
        if site == NO_MEMORY:
            return runtime_error("MemoryError", f"cannot allocate an array of {a} bytes")
        if site < 0:
            return runtime_error("MemoryError", "compiled code could not get memory")
        what = sites[site]
        count = max(0, len(what.operand_types) - 2)
        bits = [a, b, *(ctypes.c_int64 * count).from_address(more)] if count else [a, b]
        values = [_operand(pattern, t) for pattern, t in zip(bits, what.operand_types, strict=False)]
        return exception(what.error, what.message, values, what.loc)

    return make


def _operand(bits: int, t: Type) -> object:
    """A 64-bit pattern as a value of type ``t``."""
    if isinstance(t, FloatType):
        raw = struct.pack("<q", bits)
        return struct.unpack(f"<{PATTERNS[t.width]}", raw[: t.width // 8])[0]
    return bool(bits & 1) if t == i1 else bits


class State:
    """The data of one stub in this process: the ``self`` of the built-in function. The stub's cold code calls its
    methods."""

    __slots__ = ("_error", "keep", "miss")

    def __init__(self, miss: Callable[..., Any], error: ErrorCallback, keep: object) -> None:
        self.miss = miss
        self._error = error
        self.keep = keep

    def error(self, site: int, a: int, b: int, more: int) -> None:
        """Raise the error of the error record; ``site`` is -1 if nothing was recorded. ``more`` is the address of
        further operands."""
        raise self._error(site, a, b, more)


def bind(
    signature: Signature,
    symbol: str,
    address: Callable[[str], int],
    library: object,
    *,
    miss: Callable[..., Any],
    error: ErrorCallback,
    name: str = "",
    doc: str | None = None,
) -> Callable[..., Any]:
    """A built-in function that runs a loaded stub.

    ``address(symbol)`` finds the stub (and ``symbol.objects``) in ``library``, which is kept alive by the function.
    ``error(site, a, b)`` makes the exception for an error record; a and b are the operands of its message as 64-bit
    patterns (see ``errors_of``).
    """
    objects = objects_of(signature)
    if objects:
        table = (ctypes.c_void_p * len(objects)).from_address(address(f"{symbol}.objects"))
        table[:] = [item.address if isinstance(item, Table) else id(item) for item in objects]
    called = (name or signature.function).encode()
    method = python_abi.MethodDef(called, address(symbol), python_abi.METH_FASTCALL, _utf8(doc))
    state = State(miss, error, (library, method, objects))
    return python_abi.builtin(method, state)


def set_miss(function: Callable[..., Any], miss: Callable[..., Any]) -> None:
    """Replace what a bound stub calls when arguments do not fit: for instance another stub, to be tried next."""
    state = function.__self__  # type: ignore[attr-defined]
    assert isinstance(state, State)
    state.miss = miss


def _utf8(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def imports(text: str) -> list[str]:
    """The symbols that a module with stubs declares and this process provides (``runtime.address``)."""
    names = (*python_abi.DECLARATIONS, *python_abi.OBJECTS, *numpy_abi.DECLARATIONS, *numpy_abi.OBJECTS)
    mentioned = set(_NAME.findall(text))
    known = (*names, "PyArray_Type", *runtime.EXPORTS)
    return [name for name in dict.fromkeys(known) if name in mentioned]


def canonical(signature: Signature, args: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments in the form that the stub takes, where they differ from it only in how Python represents them.

    Arrays that are not aligned, or whose strides are not multiples of the element's size, are copied unless they are
    written to. What cannot be converted is left as it is.
    """
    by_path: dict[tuple[int, ...], Param] = {}
    for param in signature.params:
        source = getattr(param, "source", None)
        if source is not None and not isinstance(source, Fetched):
            by_path[source.path] = param

    def convert(value: Any, structure: Structure, path: tuple[int, ...]) -> Any:
        if structure is not None:
            return tuple(convert(v, s, (*path, k)) for k, (v, s) in enumerate(zip(value, structure, strict=True)))
        return _convert_leaf(value, by_path.get(path))

    return tuple(convert(v, s, (k,)) for k, (v, s) in enumerate(zip(args, signature.arguments, strict=True)))


def _convert_leaf(value: Any, param: Param | None) -> Any:
    if isinstance(param, StaticParam):
        return param.value if param.value is value or param.value == value else value
    if isinstance(param, ScalarParam):
        if param.strong:
            return numpy_abi.DTYPES[param.type].type(value)
        return float(value) if param.type == f64 else bool(value) if param.type == i1 else int(value)
    if isinstance(param, ArrayParam) and isinstance(value, np.ndarray):
        array = value.view(np.ndarray) if type(value) is not np.ndarray else value
        whole = all(stride % array.itemsize == 0 for stride in array.strides)
        return array if param.writable or (array.flags.aligned and whole) else array.copy("K")
    return value
