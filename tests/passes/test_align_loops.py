"""Loops that start at a cache line: the same elements in the same way, and only where it pays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adc import jit_grad
from adc.ir import ops
from adc.ir.core import Module, Op
from adc.ir.interpret import interpreter
from adc.ir.loop_attrs import PEELED
from adc.ir.text.parser import parse_module
from adc.passes.base import Verify, run_pipeline
from adc.passes.simd.align_loops import LEAST, AlignLoops

STEP = """
func.func @f(%u: memref<?x?x{t}>, %v: memref<?x?x{t}>, %lo: index, %hi: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cm = arith.constant -1 : index
  %n = memref.dim %u, 0 : memref<?x?x{t}>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {{
    scf.parallel (%j) = ({lower}) to (%hi) step (%c1) {{
      %r = arith.addi %j, %c1 : index
      %l = arith.addi %j, %cm : index
      %a = memref.load %u[%i, %l] : memref<?x?x{t}>
      %b = memref.load %u[%i, %j] : memref<?x?x{t}>
      %c = memref.load %u[%i, %r] : memref<?x?x{t}>
      %d = memref.load %v[%i, %j] : memref<?x?x{t}>
      %e = memref.load %u[%c0, %j] : memref<?x?x{t}>
      %s = arith.addf %b, %e : {t}
      %x = arith.addf %a, %s : {t}
      %y = arith.addf %c, %d : {t}
      %z = {op} %y : {t}
      %w = arith.addf %x, %z : {t}
      memref.store %w, %v[%i, %j] : memref<?x?x{t}>
      scf.reduce()
    }}
    scf.reduce()
  }} {{threads = true}}
  func.return
}}
"""


def step(t: str = "f64", lower: str = "%lo", op: str = "math.absf") -> Module:
    return parse_module(STEP.format(t=t, lower=lower, op=op))


def loops(module: Module) -> list[Op]:
    return [op for op in module.funcs["f"].walk() if op.opdef is ops.parallel and not op.attrs.get("threads")]


def run(module: Module, *args: Any) -> np.ndarray:
    """What ``v`` is afterwards."""
    u, v, lower, upper = args
    v = v.copy()
    interpreter.run(module, "f", [u.copy(), v, lower, upper])
    return v


@pytest.mark.parametrize("t", ["f64", "f32"])
@pytest.mark.parametrize("lower", [1, 2, 7, 8, 15, 16])
@pytest.mark.parametrize("columns", [304, 305, 40])
def test_iterations_come_first_up_to_a_line(t: str, lower: int, columns: int) -> None:
    dtype, lanes = (np.float64, 8) if t == "f64" else (np.float32, 16)
    rng = np.random.default_rng(lower)
    args = (*(rng.integers(1, 9, (3, columns)).astype(dtype) for _ in range(2)), lower, columns - 1)
    module = run_pipeline(step(t), (AlignLoops(),), verify=Verify.PASSES)
    np.testing.assert_array_equal(run(module, *args), run(step(t), *args))
    few, rest = loops(module)
    assert few.attrs[PEELED]
    assert PEELED not in rest.attrs
    # Where the second loop starts is the same for all rows, and computed in front of them.
    start = rest.operands[0]
    assert few.operands[1] is start
    assert start.op is not None
    assert start.op.parent is module.funcs["f"].body
    rest.set_operand(1, start)  # which has no iterations then
    changed = (run(module, *args) != args[1]).sum(axis=1)
    aligned = -(-lower // lanes) * lanes
    peels = columns % lanes == 0 and columns - 1 - lower >= LEAST
    assert set(changed) == {aligned - lower if peels else 0}


@pytest.mark.parametrize(("lower", "op"), [("%c0", "math.absf"), ("%lo", "math.sin"), ("%lo", "adc.lgamma")])
def test_others_are_left_alone(lower: str, op: str) -> None:
    """Loops that start at a line already, and those of elementary functions."""
    assert len(loops(run_pipeline(step(lower=lower, op=op), (AlignLoops(),), verify=Verify.PASSES))) == 1


def heat(u, steps):
    u = u.copy()
    v = u.copy()
    n, m = u.shape
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                v[i, j] = u[i, j] + 0.1 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j])
        u, v = v, u
    return np.sum(u * u * u)


@pytest.mark.parametrize("columns", [320, 321, 12])
def test_where_an_array_is_in_memory_does_not_matter(columns: int) -> None:
    """The same bits, whatever line an array starts in; and right along a direction."""
    rng = np.random.default_rng(columns)
    function = jit_grad(heat)
    values = rng.random((5, columns))
    room = np.empty(values.nbytes + 128, np.uint8)
    found = []
    for byte in (0, 8, 16, 40, 64):
        u = room[byte : byte + values.nbytes].view(np.float64).reshape(values.shape)
        u[...] = values
        found.append(function.value_and_grad(u, 7))
    for value, gradient in found[1:]:
        assert value == found[0][0]
        np.testing.assert_array_equal(gradient, found[0][1])
    direction = rng.random(values.shape)
    h = 1e-5
    difference = (heat(values + h * direction, 7) - heat(values - h * direction, 7)) / (2 * h)
    np.testing.assert_allclose(np.vdot(found[0][1], direction), difference, rtol=1e-7)
