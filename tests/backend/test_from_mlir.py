"""Reading MLIR: what adc wrote has the same bits and gradients; other MLIR is read, or refused with its line."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adc import jit_grad
from adc.backend.mlir import reading
from adc.cli import main
from adc.commands.mlir_source import load_mlir, subject_of
from adc.errors import AdcError
from adc.ir.interpret.interpreter import run
from adc.ir.verifier import verify
from tests.backend.test_mlir import PROGRAMS, arguments, written  # noqa: F401  (a fixture)


def copies(values: list[Any]) -> list[Any]:
    return [v.copy() if isinstance(v, np.ndarray) else v for v in values]


def test_what_was_written_is_read_back_to_the_same_bits_and_differentiated(written: Path) -> None:  # noqa: F811
    """Forty programs, and the gradients that were written with them."""
    module = reading.read_module(written)
    verify(module)
    for name, fn in PROGRAMS.items():
        values = arguments(fn)
        value, gradient = jit_grad(_engine="interpreter")(fn).value_and_grad(*values)
        assert run(module, name, copies(values)) == [value], name
        if isinstance(gradient, np.ndarray):
            shadow = np.zeros_like(values[0])
            assert run(module, f"{name}_grad", [*copies(values), shadow]) == [value], name
            assert np.array_equal(shadow, gradient), name
        else:
            assert run(module, f"{name}_grad", copies(values)) == [value, gradient], name
        subject, _ = subject_of(module, name)
        subject.options = replace(subject.options, engine="interpreter")
        found = subject.owner.value_and_grad(*values)
        assert found[0] == value, name
        np.testing.assert_allclose(found[1], gradient, rtol=1e-15 if name != "single" else 1e-7, err_msg=name)


# By hand, in the form that LLVM's tools print: properties or attributes, results in packs, places, several dimensions.
NORMS = """
// the sum of the squares of the rows' sines, and the largest element
"builtin.module"() ({
  "func.func"() <{function_type = (memref<?x?xf64, strided<[?, 1], offset: ?>>, f64) -> (f64, f64),
                  sym_name = "norms"}> ({
  ^bb0(%x: memref<?x?xf64, strided<[?, 1], offset: ?>>, %scale: f64):
    %c0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %c1 = "arith.constant"() {value = 1 : index} : () -> index
    %zero = "arith.constant"() <{value = 0.000000e+00 : f64}> : () -> f64
    %m = "memref.dim"(%x, %c0) : (memref<?x?xf64, strided<[?, 1], offset: ?>>, index) -> index
    %n = "memref.dim"(%x, %c1) : (memref<?x?xf64, strided<[?, 1], offset: ?>>, index) -> index
    %y = "memref.alloc"(%m, %n) <{operandSegmentSizes = array<i32: 2, 0>}> : (index, index) -> memref<?x?xf64>
    "scf.parallel"(%c0, %c0, %m, %n, %c1, %c1) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
    ^bb0(%i: index, %j: index):
      %v = "memref.load"(%x, %i, %j) : (memref<?x?xf64, strided<[?, 1], offset: ?>>, index, index) -> f64
      %sv = "arith.mulf"(%v, %scale) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %s = "math.sin"(%sv) : (f64) -> f64
      "memref.store"(%s, %y, %i, %j) : (f64, memref<?x?xf64>, index, index) -> ()
      "scf.reduce"() : () -> ()
    }) : (index, index, index, index, index, index) -> ()
    %r:2 = "scf.for"(%c0, %m, %c1, %zero, %zero) ({
    ^bb0(%i: index, %t: f64, %most: f64):
      %q:2 = "scf.for"(%c0, %n, %c1, %t, %most) ({
      ^bb0(%j: index, %u: f64, %w: f64):
        %v = "memref.load"(%y, %i, %j) : (memref<?x?xf64>, index, index) -> f64
        %vv = "arith.mulf"(%v, %v) : (f64, f64) -> f64
        %sum = "arith.addf"(%u, %vv) : (f64, f64) -> f64
        %larger = "arith.cmpf"(%v, %w) <{predicate = 2 : i64}> : (f64, f64) -> i1
        %next = "arith.select"(%larger, %v, %w) : (i1, f64, f64) -> f64
        "scf.yield"(%sum, %next) : (f64, f64) -> ()
      }) : (index, index, index, f64, f64) -> (f64, f64)
      "scf.yield"(%q#0, %q#1) : (f64, f64) -> ()
    }) : (index, index, index, f64, f64) -> (f64, f64) loc("norms":3:1)
    "memref.dealloc"(%y) : (memref<?x?xf64>) -> ()
    "func.return"(%r#0, %r#1) : (f64, f64) -> ()
  }) : () -> ()
}) : () -> ()
"""


def test_what_others_write_is_read(tmp_path: Path) -> None:
    path = tmp_path / "norms.mlir"
    path.write_text(NORMS)
    ((subject, _),) = load_mlir(str(path))
    assert subject.parameters.names == ("x", "scale")
    x = np.random.default_rng(2).random((4, 12))[:, 1:6]
    values, back = subject.owner.pullback(x, 0.7)
    sines = np.sin(0.7 * x)
    np.testing.assert_allclose(values, [np.sum(sines**2), sines.max()], rtol=1e-14)
    by_x, by_scale = back((1.0, 0.0))
    slope = 2 * sines * np.cos(0.7 * x)
    np.testing.assert_allclose(by_x, 0.7 * slope, rtol=1e-13)
    np.testing.assert_allclose(by_scale, np.sum(slope * x), rtol=1e-13)
    _, by_scale = back((0.0, 1.0))
    largest = np.unravel_index(sines.argmax(), x.shape)
    np.testing.assert_allclose(by_scale, np.cos(0.7 * x[largest]) * x[largest], rtol=1e-13)


def test_an_object_is_made_of_it(written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    out = tmp_path / "square.o"
    assert main(["compile", f"{written}:square", "--from", "mlir", "-o", str(out)]) == 0
    told = capsys.readouterr().out
    assert "square, square_grad" in told and out.stat().st_size > 0
    assert "square(double x, double *result)" in re.sub(r"\s+", " ", out.with_suffix(".h").read_text())


BODY = """
"func.func"() <{function_type = (TYPE) -> f64, sym_name = "f"}> ({
^bb0(%x: TYPE):
  %c = "arith.constant"() <{value = 1 : index}> : () -> index
  %z = "arith.constant"() <{value = 1.0 : f64}> : () -> f64
  LINE
  "func.return"(%z) : (f64) -> ()
}) : () -> ()
"""
REFUSED = [
    ('"vector.print"(%z) : (f64) -> ()', "vector.print is not supported"),
    ('%a = "arith.addf"(%z, %w) : (f64, f64) -> f64', "%w is not a value"),
    ('%a = "arith.addf"(%z, %c) : (f64, index) -> f64', "arith.addf"),
    ('%a = "arith.constant"() <{value = 1.0 : bf16}> : () -> bf16', "the type bf16"),
    ('"cf.br"()[^bb1] : () -> ()', "goes to another block"),
    ('"func.call"() <{callee = @other}> : () -> ()', "there is no function other"),
    ('%a = "arith.addf"(%z, %z) : f64', "expected '('"),
    ("%a = 'arith.addf' %z, %z : f64", "expected an operation"),
    (
        """%a:4 = "memref.extract_strided_metadata"(%x) : (memref<?xf64>) -> (memref<f64>, index, index, index)
  %b = "arith.subi"(%a#1, %c) : (index, index) -> index""",
        "arith.subi of an offset",
    ),
]


@pytest.mark.parametrize(("line", "message"), REFUSED)
def test_what_is_not_understood_is_refused_with_its_line(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "f.mlir"
    text = BODY.replace("TYPE", "memref<?xf64>").replace("LINE", line)
    path.write_text(text)
    with pytest.raises(AdcError) as caught:
        load_mlir(str(path))
    last = line.splitlines()[-1].strip()
    number = next(k for k, row in enumerate(text.splitlines(), 1) if last in row)
    assert message in str(caught.value) and f"f.mlir:{number}:" in str(caught.value)


def test_arguments_of_fixed_extents_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "f.mlir"
    path.write_text(BODY.replace("TYPE", "memref<4xf64>").replace("LINE", ""))
    with pytest.raises(AdcError, match=re.escape("memref<?xf64>")):
        load_mlir(str(path))


CALLS = """
"func.func"() <{function_type = (memref<?xf64>, memref<?xf64>) -> (), sym_name = "g", sym_visibility = "private"}> ({
^bb0(%a: memref<?xf64>, %b: memref<?xf64>):
  %c = "arith.constant"() <{value = 0 : index}> : () -> index
  %v = "memref.load"(%b, %c) : (memref<?xf64>, index) -> f64
  "memref.store"(%v, %a, %c) : (f64, memref<?xf64>, index) -> ()
  "func.return"() : () -> ()
}) : () -> ()
"func.func"() <{function_type = (memref<?xf64>, memref<?xf64>) -> (), sym_name = "f"}> ({
^bb0(%x: memref<?xf64>, %y: memref<?xf64>):
  "func.call"(%x, OTHER) <{callee = @g}> : (memref<?xf64>, memref<?xf64>) -> ()
  "func.return"() : () -> ()
}) : () -> ()
"""


def test_overlapping_arguments_of_calls_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "f.mlir"
    path.write_text(CALLS.replace("OTHER", "%y"))
    ((subject, _),) = load_mlir(str(path))
    x, y = np.zeros(2), np.full(2, 3.0)
    _, back = subject.owner.pullback(x, y)
    assert x[0] == 3.0
    by_x, by_y = back(final={"x": np.array([1.0, 1.0])})
    assert np.array_equal(by_x, [0.0, 1.0]) and np.array_equal(by_y, [1.0, 0.0])
    path.write_text(CALLS.replace("OTHER", "%x"))
    with pytest.raises(AdcError, match="writes to an argument that another one overlaps") as caught:
        load_mlir(str(path))
    assert "f.mlir:11:" in str(caught.value)
