"""outline-cold: what moves to a separate function, what stays, and that programs do the same as before."""

from __future__ import annotations

import numpy as np
import pytest

from adc import jit_grad
from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.core import Module
from adc.ir.diagnostics import AdcError
from adc.ir.interpret import interpreter
from adc.ir.text.parser import parse_module
from adc.ir.verifier import verify
from adc.passes.bounds.version_bounds import version_bounds
from adc.passes.outlining.outline_cold import OutlineCold

V = "memref<?xf64>"
HEAD = "  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n  %c2 = arith.constant 2 : index\n"


def shifted(params: str = f"%a: {V}, %b: {V}", before: str = "", extra: str = "") -> Module:
    """``for i in range(n): b[i] = 2 * a[i + 1]; extra``, in two versions."""
    module = parse_module(f"""func.func @f({params}, %n: index) {{
{HEAD}{before}
  %e = memref.dim %a, 0 : {V}
  %eb = memref.dim %b, 0 : {V}
  %two = arith.constant 2.0 : f64
  scf.for %i = %c0 to %n step %c1 {{
    %j = arith.addi %i, %c1 : index
    %k = adc.bound %j, %e : index
    %x = memref.load %a[%k] : {V}
    %y = arith.mulf %x, %two : f64
    %l = adc.bound %i, %eb : index
    memref.store %y, %b[%l] : {V}
    {extra}
  }}
  func.return
}}""")
    version_bounds(module)
    verify(module)
    return module


def outlined(module: Module) -> Module:
    module = OutlineCold().run(module)
    verify(module)
    return module


@pytest.mark.parametrize("n", [0, 2, 3, 4])
def test_same_effects_and_errors(n: int) -> None:
    def outcome(module: Module) -> tuple[str, list[float]]:
        a, b, error = np.arange(1.0, 5.0), np.zeros(4), ""
        try:
            interpreter.run(module, "f", [a, b, n])
        except AdcError as raised:
            error = str(raised)
        return error, [*a, *b]

    plain = shifted()
    expected = outcome(plain)
    assert bool(expected[0]) == (n == 4)
    assert outcome(outlined(plain)) == expected


def test_loop_moves_and_constants_move_along() -> None:
    module = outlined(shifted())
    main, cold = module.funcs["f"], module.funcs["f.cold"]
    assert sum(op.opdef is ops.for_ for op in main.walk()) == sum(op.opdef is ops.for_ for op in cold.walk()) == 1
    (call,) = [op for op in main.walk() if op.opdef is ops.call]
    assert call.attrs["callee"] == "f.cold" and cold.attrs["adc.cold"]
    assert not any(v.op is not None and v.op.opdef is ops.constant for v in call.operands)
    assert all("adc.alias" not in attrs for attrs in cold.arg_attrs)


def test_arguments_that_may_overlap_still_may() -> None:
    module = outlined(shifted(f"%a: {V} {{adc.alias = 3}}, %b: {V} {{adc.alias = 3}}"))
    cold = module.funcs["f.cold"]
    numbers = [attrs["adc.alias"] for attrs in cold.arg_attrs if "adc.alias" in attrs]
    assert len(numbers) == 2 and len(set(numbers)) == 1
    whole = np.arange(1.0, 6.0)
    expected = whole.copy()
    for i in range(4):
        expected[i] = 2 * expected[i + 1]
    interpreter.run(module, "f", [whole, whole[:4], 4])
    assert np.array_equal(whole, expected)


def test_buffers_of_the_frame_are_shown_to_nobody() -> None:
    before = "  %s = memref.alloc() : memref<2xf64>"
    module = outlined(shifted(before=before, extra="memref.store %y, %s[%c0] : memref<2xf64>"))
    assert list(module.funcs) == ["f"]


def test_wrapped_subscripts_have_gradients() -> None:
    """Subscripts that count from the end run the rare copy."""

    def circle(x):  # type: ignore[no-untyped-def]
        total = 0.0
        for i in range(len(x)):
            total += x[i] * x[i - 1] * x[i - 2]
        return total

    x = np.array([0.5, -1.0, 2.0, 0.25])
    assert jit_grad(circle)(x) == pytest.approx(circle(x), rel=1e-14)
    step = 1e-6
    numeric = [(circle(x + step * e) - circle(x - step * e)) / (2 * step) for e in np.eye(4)]
    np.testing.assert_allclose(jit_grad(circle).grad(x), numeric, rtol=1e-8)


def test_swapped_buffers_stay_apart_after_the_call() -> None:
    module = parse_module(f"""func.func @f(%a: {V}, %b: {V}, %p: i1, %n: index) -> ({V}, {V}) {{
{HEAD}
  %q, %r = scf.if %p -> ({V}, {V}) {{
    scf.yield %a, %b : {V}, {V}
  }} else {{
    %s, %t = scf.for %i = %c0 to %n step %c1 iter_args(%u = %a, %v = %b) -> ({V}, {V}) {{
      scf.yield %v, %u : {V}, {V}
    }}
    scf.yield %s, %t : {V}, {V}
  }} {{adc.cold = "else"}}
  func.return %q, %r : {V}, {V}
}}""")
    func = outlined(module).funcs["f"]
    (branch,) = (op for op in func.body.ops if op.opdef is ops.if_)
    assert branch.regions[1].ops[0].opdef is ops.call
    q, r = branch.results
    aliasing = Aliasing(func, module)
    assert aliasing.roots(q) == aliasing.roots(r) and not aliasing.may_overlap(q, r)
