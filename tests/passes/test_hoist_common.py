"""Operations common to both sides of a branch are hoisted before it, if nothing prevents it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import adc
from adc import jit_grad
from adc.ir.core import Module
from adc.ir.interpret.interpreter import run
from adc.ir.text.parser import parse_module
from adc.passes.base import Verify, run_pipeline
from adc.passes.branches.hoist_common import HoistCommon
from adc.passes.simplify.dce import DCE
from tests.passes.rewriting import check

_FUNC = """
func.func @f(%a: memref<?x2xf64>, %b: memref<?xf64>, %c: i1, %i: index) -> f64 {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %two = arith.constant 2.0 : f64
{}
  func.return %r : f64
}}
"""
_LOAD_0 = "%{} = memref.load %a[%i, %c0] : memref<?x2xf64>\n"
_LOAD_1 = "%{} = memref.load %a[%i, %c1] : memref<?x2xf64>\n"
_CLEAR_0 = "memref.store %zero, %a[%i, %c0] : memref<?x2xf64>\n"
_CLEAR_1 = "memref.store %zero, %a[%i, %c1] : memref<?x2xf64>\n"


def branch(then: str, other: str, before: str = "") -> str:
    text = f"{before}%r = scf.if %c -> (f64) {{\n{then}scf.yield %x : f64\n}} else {{\n"
    return _FUNC.format(f"{text}{other}scf.yield %y : f64\n}}")


def test_loads_that_are_cleared_behind() -> None:
    then = _LOAD_0.format("p") + _CLEAR_0 + _LOAD_1.format("q") + _CLEAR_1 + "%x = arith.addf %p, %q : f64\n"
    other = _LOAD_0.format("s") + _CLEAR_0 + _LOAD_1.format("t") + _CLEAR_1 + "%y = arith.subf %s, %t : f64\n"
    front = _LOAD_0.format("p") + _CLEAR_0 + _LOAD_1.format("q") + _CLEAR_1
    after = branch("%x = arith.addf %p, %q : f64\n", "%y = arith.subf %p, %q : f64\n", front)
    check((HoistCommon(),), branch(then, other), after)


def test_in_another_order_and_what_follows() -> None:
    then = _LOAD_0.format("p") + _LOAD_1.format("q") + "%m = arith.mulf %p, %two : f64\n%x = arith.addf %m, %q : f64\n"
    other = _LOAD_1.format("t") + _LOAD_0.format("s") + "%m = arith.mulf %s, %two : f64\n%y = arith.subf %m, %t : f64\n"
    front = _LOAD_0.format("p") + _LOAD_1.format("q") + "%m = arith.mulf %p, %two : f64\n"
    after = branch("%x = arith.addf %m, %q : f64\n", "%y = arith.subf %m, %q : f64\n", front)
    check((HoistCommon(),), branch(then, other), after)


_B = "%{} = memref.load %b[%i] : memref<?xf64>\n"
_STORE = "memref.store %two, %a[%c0, %c0] : memref<?x2xf64>\n"
_SET_0 = "memref.store %two, %a[%i, %c0] : memref<?x2xf64>\n"
_CHECKED = "%k = adc.bound %i, %c1 : index\n"


@pytest.mark.parametrize(
    "then, other",
    [
        # Another element of the same column may be the one that is stored to.
        (_STORE + _LOAD_0.format("x"), _LOAD_0.format("y")),
        (_LOAD_0.format("x"), _STORE + _LOAD_0.format("y")),
        ("linalg.fill ins(%two : f64) outs(%a : memref<?x2xf64>)\n" + _LOAD_0.format("x"), _LOAD_0.format("y")),
        # A store stays behind a load, and behind what may end the program; and in front of another load.
        (_B.format("x") + _CLEAR_0 + _LOAD_1.format("z"), "%y = arith.negf %two : f64\n" + _CHECKED + _CLEAR_0),
        # Other values are stored.
        ("%x = arith.negf %two : f64\n" + _CLEAR_0 + _LOAD_1.format("z"), "%y = math.sin %two : f64\n" + _SET_0),
    ],
)
def test_what_is_in_the_way(then: str, other: str) -> None:
    check((HoistCommon(),), branch(then, other), branch(then, other))


_PLACES = ["%c0, %c0", "%c0, %c1", "%i, %c0", "%i, %c1", "%j, %c0", "%k, %c1"]


@st.composite
def sides(draw: st.DrawFn) -> str:
    """A few loads, stores and checks out of so few that two sides share some, and the sum of what was loaded."""
    lines = ["%s0 = arith.constant 0.0 : f64"]
    kinds = draw(st.lists(st.sampled_from(["load", "clear", "set", "sum", "check"]), min_size=1, max_size=7))
    for n, kind in enumerate(kinds, 1):
        place = f"%a[{draw(st.sampled_from(_PLACES))}] : memref<?x2xf64>"
        step = f"%s{n} = arith.addf %s{n - 1}, "
        if kind == "load":
            lines += [f"%v{n} = memref.load {place}", f"{step}%v{n} : f64"]
        elif kind == "check":
            lines += [f"%b{n} = adc.bound %k, %c2 : index", f"{step}%two : f64"]
        else:
            value = {"clear": "%zero", "set": "%two", "sum": f"%s{n - 1}"}[kind]
            lines += [f"memref.store {value}, {place}", f"{step}%two : f64"]
    return "\n".join([*lines, f"scf.yield %s{len(kinds)} : f64"])


_ANY = """
func.func @f(%a: memref<?x2xf64>, %c: i1, %i: index, %j: index, %k: index) -> f64 {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f64
  %two = arith.constant 2.0 : f64
  %r = scf.if %c -> (f64) {{
    {}
  }} else {{
    {}
  }}
  func.return %r : f64
}}
"""


def outcomes(module: Module) -> list[object]:
    """What the function gives, and leaves in its array, for each way in which its subscripts may coincide."""
    found: list[object] = []
    for c, i, j, k in itertools.product((True, False), (0, 1), (0, 1), (0, 1, 2)):
        a = np.array([[3.0, 5.0], [7.0, 11.0], [13.0, 17.0]])
        try:
            found.append(run(module, "f", [a, c, i, j, k]))
        except IndexError as error:
            found.append(str(error))
        found.append(a.tobytes())
    return found


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(then=sides(), other=sides())
def test_random_sides(then: str, other: str) -> None:
    module = parse_module(_ANY.format(then, other))
    before = outcomes(module)
    assert outcomes(run_pipeline(module, (HoistCommon(),), verify=Verify.PASSES)) == before


def bounced(f, solid, omega):
    """Points at which two populations change places, and others where they relax to their mean."""
    g = np.zeros(f.shape)
    for i in range(len(solid)):
        if solid[i]:
            g[0, i] = f[1, i]
            g[1, i] = f[0, i]
        else:
            mean = 0.5 * (f[0, i] + f[1, i])
            g[0, i] = f[0, i] + omega * (mean / (1.0 + f[1, i]) - f[0, i])
            g[1, i] = f[1, i] + omega * (mean * f[0, i] - f[1, i])
    return np.sum(g * g)


def test_the_gradient_of_branches_that_store_to_the_same_elements() -> None:
    rng = np.random.default_rng(5)
    f, solid = rng.random((2, 21)), rng.random(21) < 0.4
    compiled = jit_grad(bounced)
    assert compiled(f, solid, 0.7) == pytest.approx(bounced(f, solid, 0.7), rel=1e-14)
    gradient, v, h = compiled.grad(f, solid, 0.7), rng.standard_normal(f.shape), 1e-6
    difference = (bounced(f + h * v, solid, 0.7) - bounced(f - h * v, solid, 0.7)) / (2 * h)
    assert np.sum(gradient * v) == pytest.approx(difference, rel=1e-8)


def test_stores_sink_past_what_is_computed_after_them() -> None:
    """Both regions end with stores to the same elements; past loads, and to other elements, they do not move."""
    text = """func.func @f(%a: memref<?xf64>, %p: i1, %x: f64, %i: index, %j: index) -> f64 {{
      %r = scf.if %p -> (f64) {{
        memref.store %x, %a[%i] : memref<?xf64>
        %s = math.sin %x : f64
        memref.store %s, %a[%j] : memref<?xf64>
        {}
        %t = math.exp %l : f64
        scf.yield %t : f64
      }} else {{
        %c = math.cos %x : f64
        memref.store %c, %a[%i] : memref<?xf64>
        memref.store %x, %a[{}] : memref<?xf64>
        %t = math.exp %c : f64
        scf.yield %t : f64
      }}
      func.return %r : f64
    }}"""
    sum_, load = "%l = arith.addf %s, %x : f64", "%l = memref.load %a[%i] : memref<?xf64>"
    check(
        (HoistCommon(), DCE()),
        text.format(sum_, "%j"),
        """func.func @f(%a: memref<?xf64>, %p: i1, %x: f64, %i: index, %j: index) -> f64 {
          %r, %v, %w = scf.if %p -> (f64, f64, f64) {
            %s = math.sin %x : f64
            %l = arith.addf %s, %x : f64
            %t = math.exp %l : f64
            scf.yield %t, %s, %x : f64, f64, f64
          } else {
            %c = math.cos %x : f64
            %t = math.exp %c : f64
            scf.yield %t, %x, %c : f64, f64, f64
          }
          memref.store %w, %a[%i] : memref<?xf64>
          memref.store %v, %a[%j] : memref<?xf64>
          func.return %r : f64
        }""",
    )
    for other in (text.format(load, "%j"), text.format(sum_, "%i")):
        check((HoistCommon(), DCE()), other, other)


def chosen_by_sign(cameras: Any, points: Any, seen: Any) -> float:
    moved = points.copy()
    total = 0.0
    for k in range(len(seen)):
        i, j = seen[k]
        if cameras[i, 0] > 0.0:
            moved[j, 0] = moved[j, 1] * cameras[i, 1]
            total += moved[j, 0] * moved[j, 2]
        else:
            moved[j, 2] = moved[j, 1] + cameras[i, 1]
            total += moved[j, 0] ** 2
    return total + float(np.sum(moved))


def test_loads_in_front_of_branches_that_store() -> None:
    rng = np.random.default_rng(6)
    cameras, points = rng.standard_normal((4, 2)), rng.standard_normal((5, 3))
    seen = np.stack([rng.integers(0, 4, 40), rng.integers(0, 5, 40)], axis=1)
    value, gradients = adc.value_and_grad(chosen_by_sign, argnums=(0, 1))(cameras, points, seen)
    assert value == chosen_by_sign(cameras, points, seen)
    along = rng.standard_normal((4, 2)), rng.standard_normal((5, 3))
    h = 1e-6
    ends = [chosen_by_sign(cameras + s * h * along[0], points + s * h * along[1], seen) for s in (1, -1)]
    slope = sum(float(np.sum(g * d)) for g, d in zip(gradients, along, strict=True))
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * h), rtol=1e-6)
