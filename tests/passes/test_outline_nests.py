"""outline-nests: long functions are split at their loop nests, and do the same as before."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from adc import jit_grad
from adc.ir import ops
from adc.ir.core import Module
from adc.ir.interpret import interpreter
from adc.ir.text.parser import parse_module
from adc.ir.verifier import verify
from adc.passes import pipelines
from adc.passes.outlining.outline_nests import OutlineNests

V = "memref<?xf64>"
HEAD = "  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n  %half = arith.constant 0.5 : f64\n"


def scale(array: str, by: str = "%half") -> str:
    """A loop that multiplies the elements of an array by a number; its values have names of their own."""
    scale.count += 1  # type: ignore[attr-defined]
    k = scale.count  # type: ignore[attr-defined]
    return f"""  %n{k} = memref.dim {array}, 0 : {V}
  scf.for %i{k} = %c0 to %n{k} step %c1 {{
    %x{k} = memref.load {array}[%i{k}] : {V}
    %y{k} = arith.mulf %x{k}, {by} : f64
    memref.store %y{k}, {array}[%i{k}] : {V}
  }}
"""


scale.count = 0  # type: ignore[attr-defined]


def cut(text: str, most: int) -> Module:
    module = parse_module(text)
    verify(module)
    module = OutlineNests(most).run(module)
    verify(module)
    return module


def loops(module: Module, name: str) -> int:
    return sum(op.opdef in (ops.for_, ops.while_) for op in module.funcs[name].walk())


def calls(module: Module, name: str) -> list[str]:
    return [op.attrs["callee"] for op in module.funcs[name].walk() if op.opdef is ops.call]


def test_short_functions_stay_whole() -> None:
    module = cut(f"func.func @f(%a: {V}) {{\n{HEAD}{scale('%a')}{scale('%a')}  func.return\n}}", most=2)
    assert list(module.funcs) == ["f"]


def test_each_nest_becomes_a_function_with_its_constants() -> None:
    module = cut(f"func.func @f(%a: {V}) {{\n{HEAD}{''.join(scale('%a') for _ in range(4))}  func.return\n}}", most=3)
    assert loops(module, "f") == 0 and len(calls(module, "f")) == 4
    assert all(loops(module, name) == 1 and module.funcs[name].attrs["adc.noinline"] for name in calls(module, "f"))
    assert all(len(module.funcs[name].args) == 2 for name in calls(module, "f"))  # the array and its length
    a = np.array([16.0, -32.0])
    interpreter.run(module, "f", [a])
    assert np.array_equal(a, [1.0, -2.0])


def test_nests_inside_a_long_loop_are_cut_out_of_it() -> None:
    body = "".join(scale("%a") for _ in range(4))
    module = cut(
        f"""func.func @f(%a: {V}, %m: index) {{
{HEAD}  scf.for %t = %c0 to %m step %c1 {{
{body}  }}
  func.return
}}""",
        most=3,
    )
    (rest,) = calls(module, "f")  # of the loop, which calls what was in it
    assert loops(module, "f") == 0 and loops(module, rest) == 1 and len(calls(module, rest)) == 4
    a = np.array([256.0])
    interpreter.run(module, "f", [a, 2])
    assert a[0] == 1.0


def swapped(overlap: str) -> Module:
    """A time loop that swaps two buffers, with four loops in it that use both."""
    loop = """    scf.for %i{k} = %c0 to %n step %c1 {{
      %x{k} = memref.load %u[%i{k}] : V
      %y{k} = arith.mulf %x{k}, %half : f64
      memref.store %y{k}, %v[%i{k}] : V
    }}
"""
    body = "".join(loop.format(k=k) for k in range(4)).replace("V\n", f"{V}\n")
    return cut(
        f"""func.func @f(%a: {V}{overlap}, %b: {V}{overlap}, %n: index) {{
{HEAD}  %q, %r = scf.for %t = %c0 to %n step %c1 iter_args(%u = %a, %v = %b) -> ({V}, {V}) {{
{body}    scf.yield %v, %u : {V}, {V}
  }}
  func.return
}}""",
        most=3,
    )


def test_swapped_buffers_are_known_to_be_apart() -> None:
    """At any moment they are, although each is, at some, memory of either argument."""
    module = swapped("")
    (rest,) = calls(module, "f")
    made = [module.funcs[name] for name in (rest, *calls(module, rest))]
    assert len(made) == 5 and all("adc.alias" not in attrs for func in made for attrs in func.arg_attrs)


def test_arguments_that_may_overlap_still_may() -> None:
    module = swapped(" {adc.alias = 0}")
    (rest,) = calls(module, "f")
    for name in (rest, *calls(module, rest)):
        func = module.funcs[name]
        numbers = [
            attrs.get("adc.alias") for a, attrs in zip(func.args, func.arg_attrs, strict=True) if str(a.type) == V
        ]
        assert len(numbers) == 2 and len(set(numbers)) == 1 and numbers[0] is not None


def test_memrefs_that_come_out_of_a_nest_keep_their_memory() -> None:
    """What a nest returns is memory of the argument, so the next nest's arguments may overlap."""
    module = cut(
        f"""func.func @f(%a: {V}, %n: index) {{
{HEAD}{scale("%a")}  %q = scf.for %t = %c0 to %n step %c1 iter_args(%u = %a) -> ({V}) {{
    memref.store %half, %u[%t] : {V}
    scf.yield %u : {V}
  }}
  scf.for %i = %c0 to %n step %c1 {{
    %x = memref.load %q[%i] : {V}
    %y = arith.addf %x, %half : f64
    memref.store %y, %a[%i] : {V}
  }}
{scale("%q")}  func.return
}}""",
        most=3,
    )
    third = module.funcs[calls(module, "f")[2]]
    numbers = [attrs.get("adc.alias") for attrs in third.arg_attrs]
    assert len([n for n in numbers if n is not None]) == 2
    a = np.array([8.0, 8.0])
    interpreter.run(module, "f", [a, 2])
    assert np.array_equal(a, [0.5, 0.5])


def many(x, y, n):
    s = 0.5
    for t in range(n):
        if s > 0.1:
            for i in range(1, len(x) - 1):
                y[i] += 0.1 * (x[i + 1] - 2.0 * x[i] + x[i - 1]) * s
        for i in range(len(x)):
            s += 0.01 * math.sin(x[i]) * y[i]
        x, y = y, x
        for i in range(len(x)):
            if y[i] > 100.0:
                raise ValueError(f"too large in step {t}")
            x[i] = x[i] * s
    return s + np.sum(x * y)


@pytest.fixture
def cutting(monkeypatch: pytest.MonkeyPatch) -> None:
    lower = tuple(OutlineNests(3) if isinstance(p, OutlineNests) else p for p in pipelines.LOWER)
    monkeypatch.setattr(pipelines, "LOWER", lower)


@pytest.mark.usefixtures("cutting")
def test_values_gradients_and_exceptions_of_functions_that_are_cut() -> None:
    x, y = np.linspace(0.1, 0.9, 7), np.linspace(1.0, 0.5, 7)
    function = jit_grad(many)
    assert function(x.copy(), y.copy(), 3) == pytest.approx(many(x.copy(), y.copy(), 3), rel=1e-13)
    assert re.search(r"call .*@many\.nest", function.dump_ir("lowered", "f64[::1], f64[::1], i64"))
    gradient = function.grad(x, y, 3)
    step = 1e-6
    numeric = [(many(x + step * e, y.copy(), 3) - many(x - step * e, y.copy(), 3)) / (2 * step) for e in np.eye(len(x))]
    np.testing.assert_allclose(gradient, numeric, rtol=1e-7)
    for call in (many, function):
        with pytest.raises(ValueError, match="too large in step 1"):
            call(x.copy(), 1000.0 * y, 3)


def test_parallel_loops_stay_whole() -> None:
    """Where threads begin all that they do is in sight: how much it is decides whether they are worth waking."""
    text = f"""func.func @f(%a: {V}) {{
{HEAD}  %n = memref.dim %a, 0 : {V}
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {{
{scale("%a")}{scale("%a")}{scale("%a")}    scf.reduce()
  }} {{threads = true}}
{scale("%a")}  func.return
}}"""
    module = cut(text, most=3)
    assert len(calls(module, "f")) == 2
    parallel = [(func, op) for func in module.funcs.values() for op in func.walk() if op.opdef is ops.parallel]
    assert len(parallel) == 1 and not any(op.opdef is ops.call for op in parallel[0][1].regions[0].walk())


def test_nests_in_sequence_become_functions_where_they_are_many() -> None:
    """What is run once in a call costs no more in functions of its own; what is in a loop stays there."""
    inner = scale("%a") + scale("%a")
    long = f"  scf.for %t = %c0 to %c2 step %c1 {{\n{inner}  }}\n"
    body = f"{scale('%a')}{long}{scale('%a')}"
    text = f"func.func @f(%a: {V}) {{\n{HEAD}  %c2 = arith.constant 2 : index\n{body}  func.return\n}}"
    module = parse_module(text)
    verify(module)
    assert list(OutlineNests(in_sequence=3).run(module).funcs) == ["f"]
    module = OutlineNests(in_sequence=2).run(module)
    verify(module)
    assert loops(module, "f") == 0
    assert [loops(module, name) for name in calls(module, "f")] == [1, 3, 1]
    a = np.array([64.0])
    interpreter.run(module, "f", [a])
    assert a[0] == 1.0


def rows(points, turn, steps):
    """Rows of three, whose number is known to the nests that are cut out of the loop over steps."""
    moved = np.zeros((len(points), 3))
    for _ in range(steps):
        other = moved.copy()
        for i in range(len(points)):
            for j in range(3):
                moved[i, j] = points[i, j] + turn * other[i, (j + 1) % 3]
        for i in range(len(points)):
            for j in range(3):
                moved[i, j] = np.sin(moved[i, j]) * moved[i, 0]
        for i in range(len(points)):
            moved[i, 0] += moved[i, 1] * moved[i, 2]
    return np.sum(moved * points)


@pytest.mark.usefixtures("cutting")
@pytest.mark.parametrize("count", [0, 1, 5])
def test_nests_know_the_extents_of_their_arrays(count: int) -> None:
    points = np.random.default_rng(3).uniform(0.2, 1.0, (count, 3))
    function = jit_grad(rows)
    assert function(points, 0.5, 2) == pytest.approx(rows(points, 0.5, 2), rel=1e-13)
    text = function.dump_ir("lowered", "f64[:, ::1], f64, i64")
    assert re.search(r"func\.func @rows\.nest\w*\([^)]*memref<\?x3xf64>", text)
    gradient = function.grad(points, 0.5, 2)
    for i, j in np.ndindex(points.shape):
        step = np.zeros_like(points)
        step[i, j] = 1e-6
        slope = (rows(points + step, 0.5, 2) - rows(points - step, 0.5, 2)) / 2e-6
        assert gradient[i, j] == pytest.approx(slope, rel=1e-6, abs=1e-9)
    _, along = function.jvp((points, 0.5, 2), (np.ones_like(points), None, None))
    assert along == pytest.approx(np.sum(gradient), rel=1e-12, abs=1e-15)
