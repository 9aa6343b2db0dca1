"""Equal functions are merged, and only these."""

from __future__ import annotations

import traceback

import numpy as np
import pytest

from adc import jit_grad
from adc.ir import ops
from adc.ir.core import Loc, Module
from adc.ir.interpret import interpreter
from adc.ir.text.parser import parse_module
from adc.ir.verifier import verify
from adc.passes.outlining.equal_functions import merge_equal
from tests.fuzz.check import loaded

V = "memref<?xf64>"


def scaling(name: str, *, by: str = "0.5", kind: str = "arith.mulf", names: str = "", head: str = "") -> str:
    """A function that multiplies the elements of an array."""
    return f"""func.func @{name}(%a{names}: {V}{head}) {{
  %c0{names} = arith.constant 0 : index
  %c1{names} = arith.constant 1 : index
  %by{names} = arith.constant {by} : f64
  %n{names} = memref.dim %a{names}, 0 : {V}
  scf.for %i{names} = %c0{names} to %n{names} step %c1{names} {{
    %x{names} = memref.load %a{names}[%i{names}] : {V}
    %y{names} = {kind} %x{names}, %by{names} : f64
    memref.store %y{names}, %a{names}[%i{names}] : {V}
  }}
  func.return
}}
"""


def merged(first: str, second: str) -> Module:
    text = f"""{first}{second}func.func @main(%a: {V}) {{
  func.call @first(%a) : ({V}) -> ()
  func.call @second(%a) : ({V}) -> ()
  func.return
}}
"""
    module = parse_module(text)
    verify(module)
    merge_equal(module, [module.funcs["first"], module.funcs["second"]])
    verify(module)
    return module


def test_names_do_not_count() -> None:
    module = merged(scaling("first"), scaling("second", names="_other"))
    assert list(module.funcs) == ["first", "main"]
    assert [op.attrs["callee"] for op in module.funcs["main"].walk() if op.opdef is ops.call] == ["first", "first"]
    a = np.array([16.0, -32.0])
    interpreter.run(module, "main", [a])
    assert np.array_equal(a, [4.0, -8.0])


OTHERS = {
    "number": scaling("second", by="0.25"),
    "operation": scaling("second", kind="arith.addf"),
    "attribute": scaling("second").replace("%x, %by : f64", '%x, %by {fastmath = "contract"} : f64'),
    "operands": scaling("second").replace("%x, %by", "%by, %x"),
    "argument": scaling("second", head=' {adc.name = "a"}'),
    "function": scaling("second").replace("{\n", "attributes {adc.cold = true} {\n", 1),
}


@pytest.mark.parametrize("other", OTHERS)
def test_whatever_differs_keeps_them_apart(other) -> None:
    assert list(merged(scaling("first"), OTHERS[other]).funcs) == ["first", "second", "main"]


def test_zeros_of_two_signs() -> None:
    assert "second" in merged(scaling("first", by="0.0"), scaling("second", by="-0.0")).funcs


def test_the_place_counts_where_it_is_told() -> None:
    def module(kind: str) -> Module:
        made = parse_module(scaling("first") + scaling("second") + f"func.func @main(%a: {V}) {{\n  func.return\n}}\n")
        for op in made.funcs["second"].walk():
            if op.opdef.name == kind:
                op.loc = Loc("other.py", 3)
        merge_equal(made, [made.funcs["first"], made.funcs["second"]])
        return made

    assert "second" not in module("arith.mulf").funcs
    assert "second" not in module("scf.for").funcs
    assert "second" not in module("memref.load").funcs
    for func in (checked := parse_module(_checked("first") + _checked("second"))).funcs.values():
        for op in func.walk():
            op.loc = Loc("here.py", 1 if func.name == "first" else 2)
    merge_equal(checked, list(checked.funcs.values()))
    assert list(checked.funcs) == ["first", "second"]


def _checked(name: str) -> str:
    return f"""func.func @{name}(%i: index, %n: index) -> index {{
  %k = adc.bound %i, %n {{axis = 0, check = true}} : index
  func.return %k : index
}}
"""


COUNT = 30


def test_each_error_has_its_own_line() -> None:
    """Nests that are alike, in which subscripts are checked: of the twentieth only are they wrong."""
    text = "def main(a, b, k):\n" + "".join(
        f"    for i in range(len(k[{n}])):\n        a[k[{n}][i]] += b[k[{n}][i]]\n" for n in range(COUNT)
    )
    k = tuple(np.array([0, 1 if n != 20 else 7, 0]) for n in range(COUNT))
    with loaded(text) as names:
        function = jit_grad(names["main"])
        with pytest.raises(IndexError) as error:
            function(np.ones(3), np.ones(3), k)
        assert "b[k[20][i]]" in "".join(traceback.format_exception(error.value))


def test_statements_that_are_alike_are_compiled_once() -> None:
    def layers(u, w):
        u = np.tanh(w @ u)
        u = np.tanh(w @ u)
        u = np.tanh(w @ u)
        u = np.tanh(w @ u)
        u = np.tanh(w @ u)
        u = np.tanh(w @ u)
        u = np.tanh(w @ u)
        u = np.tanh(w @ u)
        return np.sum(u)

    function = jit_grad(layers, argnums=(0, 1))
    rng = np.random.default_rng(0)
    u, w = rng.random(5), rng.random((5, 5)) - 0.5
    direction = rng.random(5), rng.random((5, 5))
    by_u, by_w = function.grad(u, w)
    ahead = function.jvp((u, w), direction)[1]
    assert by_u @ direction[0] + np.sum(by_w * direction[1]) == pytest.approx(ahead, rel=1e-12)
    shown = parse_module(function.dump_ir("lowered", "f64[::1], f64[:, ::1]")).funcs["layers.grad"]
    called = [op.attrs["callee"] for op in shown.walk() if op.opdef is ops.call]
    assert len(set(called)) < len(called) / 2


def _buffered(name: str, extent: str, arguments: str = "") -> str:
    return f"""func.func @{name}(%i: index) -> f64 {{
  %b = memref.alloc({arguments}) : memref<{extent}xf64>
  %c0 = arith.constant 0 : index
  %x = arith.sitofp %i : index to f64
  memref.store %x, %b[%c0] : memref<{extent}xf64>
  %y = memref.load %b[%c0] : memref<{extent}xf64>
  memref.dealloc %b : memref<{extent}xf64>
  func.return %y : f64
}}
"""


@pytest.mark.parametrize(("extent", "arguments", "left"), [("48", "", 1), ("4096", "", 2), ("?", "%i", 2)])
def test_buffers_in_the_frame_tell_no_place(extent: str, arguments: str, left: int) -> None:
    """For others there may be no memory, which is said with their line."""
    module = parse_module(_buffered("first", extent, arguments) + _buffered("second", extent, arguments))
    for func in module.funcs.values():
        for op in func.walk():
            op.loc = Loc("here.py", 1 if func.name == "first" else 2)
    merge_equal(module, list(module.funcs.values()))
    assert len(module.funcs) == left
