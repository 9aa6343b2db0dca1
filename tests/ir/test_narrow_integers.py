"""Integers of 8 and 16 bits, and unsigned ones: elements converted to and from an index."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adc.ir import ops
from adc.ir.text.parser import parse_module
from adc.ir.text.printer import print_module
from adc.ir.types import IntType, Type, i8, i16, i32, i64, index, ui8, ui16, ui32, ui64

NUMPY: dict[Type, Any] = {index: np.int64} | {
    t: np.dtype(f"{'u' if t.unsigned else ''}int{t.width}").type for t in (i8, i16, i32, i64, ui8, ui16, ui32, ui64)
}
VALUES = (0, 1, -1, 127, 128, 255, 256, -128, -129, 65535, 2**31, -(2**31) - 1, 2**63 - 1, -(2**63))


@pytest.mark.parametrize("t", [t for t in NUMPY if t != index], ids=str)
def test_casts_wrap_around(t: IntType) -> None:
    assert ops.index_cast.evaluate is not None
    for value in VALUES:
        narrow = ops.index_cast.evaluate({}, t, value)
        expected = np.int64(value).astype(NUMPY[t])
        assert narrow == int(expected)
        assert ops.index_cast.evaluate({}, index, narrow) == int(expected.astype(np.int64))


@pytest.mark.parametrize("t", [t for t in NUMPY if t != index], ids=str)
def test_types_are_read_back(t: IntType) -> None:
    text = f"""func.func @f(%a: memref<?x{t}>) -> index {{
  %c0 = arith.constant 0 : index
  %0 = memref.load %a[%c0] : memref<?x{t}>
  %1 = arith.index_cast %0 : {t} to index
  func.return %1 : index
}}"""
    module = parse_module(text)
    assert print_module(parse_module(print_module(module))) == print_module(module)
    assert f"memref<?x{t}>" in print_module(module)
