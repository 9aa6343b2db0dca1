"""Stubs leak neither objects nor memory: reference counts and traced memory over many calls of every kind."""

from __future__ import annotations

import gc
import resource
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adc.backend.calls.abi import (
    Argument,
    ArrayParam,
    Fetched,
    Out,
    ScalarParam,
    ShadowOut,
    ShadowParam,
    Signature,
    StaticOut,
    StaticParam,
    TupleOut,
)
from adc.ir.types import f64, i64, memref, record
from tests.backend.kernels import SUPPORT_DECLARATIONS, stub_for

CALLS = 100_000

KERNEL = """
define i32 @adc.everything(ptr %ctx, double %x, i64 %n, ptr %a, i64 %m, double %g, ptr %s, i64 %sm,
                           ptr %value, ptr %local, ptr %part, ptr %record) {
  %bad = icmp slt i64 %n, 0
  %p = call ptr @adc_alloc(ptr %ctx, i64 800)
  br i1 %bad, label %fail, label %good
fail:
  call void @adc_raise(ptr %ctx, i32 0, i64 %n, i64 0)
  ret i32 1
good:
  store double %x, ptr %p
  store double %g, ptr %s
  store double %x, ptr %value
  store ptr %p, ptr %local
  store ptr %a, ptr %part
  %l1 = getelementptr i64, ptr %local, i64 1
  store i64 100, ptr %l1
  %l2 = getelementptr i64, ptr %local, i64 2
  store i64 1, ptr %l2
  %p1 = getelementptr i64, ptr %part, i64 1
  store i64 1, ptr %p1
  %p2 = getelementptr i64, ptr %part, i64 2
  store i64 1, ptr %p2
  %q = call ptr @adc_alloc(ptr %ctx, i64 80)
  store ptr %q, ptr %record
  ret i32 0
}
""" + SUPPORT_DECLARATIONS


class Variable:
    def __init__(self, namespace: dict[str, object], name: str) -> None:
        self.namespace, self.name = namespace, name

    def __call__(self) -> object:
        return self.namespace[self.name]


MARKER = "marker"
NAMESPACE: dict[str, object] = {"g": 4000.5, "helper": len}


@pytest.fixture(scope="module")
def everything() -> Callable[..., Any]:
    params = (
        StaticParam(Fetched(Variable(NAMESPACE, "helper")), len),
        ScalarParam(Argument((0, 0))),
        ScalarParam(Argument((0, 1)), i64),
        StaticParam(Argument((1,)), MARKER),
        ArrayParam(Argument((2,))),
        ScalarParam(Fetched(Variable(NAMESPACE, "g"))),
        ShadowParam(4),
    )
    output = TupleOut((Out(0), TupleOut((ShadowOut(6), StaticOut(MARKER), ShadowOut(6))), Out(1), Out(2), Out(3)))
    signature = Signature(
        "everything", ((None, None), None, None), params, (f64, memref(f64, 1), memref(f64, 1), record), output
    )
    return stub_for(KERNEL, signature, miss=lambda *args: None)


CASES: dict[str, tuple[Any, ...]] = {
    "good": ((1.5, 70000), MARKER, np.arange(10.0)),
    "error": ((1.5, -70000), MARKER, np.arange(10.0)),
    "missing last": ((1.5, 70000), MARKER, np.arange(10)),
    "missing static": ((1.5, 70000), None, np.arange(10.0)),
    "missing tuple": ((1.5,), MARKER, np.arange(10.0)),
    "too few": ((1.5, 70000),),
}


def call(f: Callable[..., Any], args: tuple[Any, ...], times: int) -> None:
    for _ in range(times):
        try:
            f(*args)
        except ArithmeticError:
            pass


def counts(args: tuple[Any, ...]) -> list[int]:
    objects = [*args, *(item for a in args if isinstance(a, tuple) for item in a)]
    objects += [MARKER, NAMESPACE, *NAMESPACE.values(), None, True, np.ndarray, np.dtype(np.float64), float, int]
    return [sys.getrefcount(item) for item in objects]


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_kept(everything: Callable[..., Any], case: str) -> None:
    args = CASES[case]
    call(everything, args, 2000)
    gc.collect()
    tracemalloc.start()
    call(everything, args, 100)
    before, references = tracemalloc.get_traced_memory()[0], counts(args)
    call(everything, args, 5000)
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 20_000  # free lists fill up; an object lost per call would be 80,000 bytes or more
    assert all(abs(x - y) < 20 for x, y in zip(references, counts(args), strict=True))
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    call(everything, args, CALLS)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - resident < 3000  # KiB
    assert all(abs(x - y) < 20 for x, y in zip(references, counts(args), strict=True))


def test_a_returned_view_keeps_its_array(everything: Callable[..., Any]) -> None:
    a = np.arange(10.0)
    view = everything((1.0, 1), MARKER, a)[3]
    held = sys.getrefcount(a)
    assert view.tolist() == [0.0] and np.shares_memory(view, a)
    del view
    assert sys.getrefcount(a) == held - 1
