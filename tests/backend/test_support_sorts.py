"""The sort functions of the run-time support, with and without AVX-512, compared with NumPy bit by bit."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

from adc.backend.ahead import cabi
from adc.backend.ahead.aot import Part, build
from adc.backend.optimize import optimize_or_find
from adc.backend.support import sorts
from adc.backend.target import for_cpu, host
from adc.ir.externals import SPARE
from adc.ir.text.parser import parse_module

Numbers = np.ndarray[Any, Any]

DTYPES = {"f32": "f4", "f64": "f8", "i32": "i4", "i64": "i8", "ui64": "u8"}
LENGTHS = (0, 1, 2, 7, 8, 9, 16, 17, 31, 33, 64, 65, 127, 129, 255, 257, 500, 513, 1023, 1100, 2500)
_FLOATS = ("adc_sort_f64", "adc_sort_f32", "adc_order_f64")


@functools.cache
def _function(cpu: str, name: str) -> Any:
    target = for_cpu(cpu)
    text = f'target triple = "{target.triple}"\n{sorts.sorts_ir(target, [name])}'
    code = optimize_or_find(text, target, 1).object_code
    builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process().export_symbol(name)
    jit = llvm.create_lljit_compiler(host().machine(level=0))
    library = builder.link(jit, f"{cpu} {name}")
    arguments = [ctypes.c_void_p, ctypes.c_int64] * (4 if "order" in name else 2)
    return ctypes.CFUNCTYPE(None, *arguments)(library[name]), library, jit


def _vectors(dtype: str) -> Iterator[Numbers]:
    rng = np.random.default_rng(3)
    for n in LENGTHS:
        if dtype[0] == "f":
            x = rng.normal(size=n)
            yield x.astype(dtype)
            for value, share in ((np.nan, 0.1), (0.0, 0.2), (-0.0, 0.1), (np.inf, 0.05), (-np.inf, 0.05)):
                x[rng.random(n) < share] = value
            yield x.astype(dtype)
            yield np.exp(rng.integers(-80, 80, n)).astype(dtype)  # halves of ranges, not of what is in them
        else:
            limits = np.iinfo(dtype)
            yield rng.integers(limits.min, limits.max, n, dtype=dtype, endpoint=True)
        yield rng.integers(0, 4, n).astype(dtype)
        yield np.arange(n, 0, -1).astype(dtype)


def _unforeseen(dtype: str) -> Iterator[Numbers]:
    """Almost all are equal, or each is much larger than all before it: samples tell little."""
    x = np.zeros(3000, dtype)
    x[::500] = np.arange(1, 7)
    yield x
    yield np.concatenate([2.0 ** np.arange(100), np.zeros(2000), np.ones(900)]).astype(dtype)


@pytest.mark.parametrize("name", sorts.NAMES)
@pytest.mark.parametrize("cpu", ["native", "x86-64-v3", "x86-64"])
def test_in_order(cpu: str, name: str) -> None:
    if not host().is_x86 and cpu != "native":
        pytest.skip("made for x86-64")
    if (cpu, host().has("avx2")) == ("x86-64-v3", False) or (cpu == "x86-64" and name not in _FLOATS):
        pytest.skip("nothing else than on other machines")
    call, *_ = _function(cpu, name)
    dtype = DTYPES[name.rpartition("_")[2]]
    for x in (*_vectors(dtype), *(_unforeseen(dtype) if name.endswith("f64") else ())):
        order = np.argsort(x, stable=True)
        n, around = len(x), 7
        held = np.full(n + 2 * around, 5, x.dtype)
        keys = held[around : around + n]
        keys[...] = x
        arrays = [keys, np.empty(n + SPARE, x.dtype)]
        if "order" in name:
            places = np.empty(n, np.int64)
            arrays = [keys, places, arrays[1], np.empty(n + SPARE, np.int64)]
        call(*(part for a in arrays for part in (a.ctypes.data, len(a))))
        assert keys.tobytes() == x[order].tobytes(), n
        assert (held[:around] == 5).all() and (held[around + n :] == 5).all()
        if "order" in name:
            np.testing.assert_array_equal(places, order)


def test_object_files_have_what_they_call() -> None:
    text = """
func.func @f(%k: memref<?xf64>, %s: memref<?xf64>) attributes {adc.entry = true} {
  adc.foreign %k, %s {library = "run-time support", symbol = "adc_sort_f64", types = [], written = [0, 1]} : ARRAYS
  func.return
}
""".replace("ARRAYS", "memref<?xf64>, memref<?xf64>")
    module = parse_module(text)
    built = build([Part(module, (cabi.primal(module, "f", "f"),))], "f")
    assert built.libraries == ("-lm",)
    assert "declare void @adc_sort" not in built.llvm_ir()
    assert "adc_sort_f32" not in built.llvm_ir()
