"""Programs of the IR: native code against the reference interpreter."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from adc.ir.interpret.interpreter import run
from adc.ir.text.parser import parse_module
from adc.ir.verifier import verify
from tests.backend.lowering_harness import Native
from tests.backend.lowering_programs import ALL
from tests.stencils.check import threads_at_once


@functools.cache
def native(name: str) -> Native:
    module = parse_module(ALL[name].text)
    verify(module)
    return Native(module)


def same(found: Any, expected: Any, close: bool) -> None:
    if close:
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ALL)
def test_native_equals_interpreted(name: str) -> None:
    program = ALL[name]
    code = native(name)
    for args in program.cases():
        # Arguments that are one array stay one array.
        ours, theirs = shared_copies(args), shared_copies(args)
        expected = run(code.module, "main", theirs)
        found = code("main", *ours)
        for x, y in zip(found, expected, strict=True):
            same(x, y, program.close)
        for x, y in zip(ours, theirs, strict=True):
            same(x, y, program.close)


@pytest.mark.parametrize("name", [n for n, p in ALL.items() if "threads" in p.text])
def test_bits_do_not_depend_on_the_number_of_threads(name: str) -> None:
    with threads_at_once(0):
        code = Native(native(name).module)
    for args in ALL[name].cases():
        reference = shared_copies(args)
        results = code("main", *reference, threads=1)
        for threads in (2, 3, 5):
            again = shared_copies(args)
            found = code("main", *again, threads=threads)
            for x, y in zip([*found, *again], [*results, *reference], strict=True):
                np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("name", ALL)
def test_other_levels(name: str, level: int) -> None:
    """Without the optimiser, and with debug information: still the same."""
    program = ALL[name]
    code = Native(native(name).module, level=level, debug=True, threads=level == 1)
    for args in program.cases():
        ours, theirs = shared_copies(args), shared_copies(args)
        expected = run(code.module, "main", theirs)
        found = code("main", *ours, threads=2)
        for x, y in zip([*found, *ours], [*expected, *theirs], strict=True):
            same(x, y, program.close)


def shared_copies(args: list[Any]) -> list[Any]:
    kept: dict[int, Any] = {}
    out = []
    for a in args:
        if isinstance(a, np.ndarray):
            if id(a) not in kept:
                kept[id(a)] = _layout_copy(a)
            a = kept[id(a)]
        out.append(a)
    return out


def _layout_copy(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy with the same strides, also negative ones."""
    if a.flags.c_contiguous:
        return a.copy()
    flip = tuple(slice(None, None, -1 if s < 0 else 1) for s in a.strides)
    plain = a[flip]
    last = sum(s * (n - 1) for s, n in zip(plain.strides, plain.shape, strict=True))
    base = np.zeros(last // a.itemsize + 1, a.dtype)
    view = np.lib.stride_tricks.as_strided(base, plain.shape, plain.strides)
    view[...] = plain
    return view[flip]


