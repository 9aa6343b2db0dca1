"""fuse-loops: which neighbouring loops are fused, which must not be, and that programs do the same as before."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adc
from adc import jit_grad, prange
from adc.ir import ops
from adc.ir.core import Module
from adc.ir.interpret import interpreter
from adc.ir.text.parser import parse_module
from adc.ir.verifier import verify
from adc.passes.fusion import fuse_loops
from adc.passes.fusion.fuse_loops import FuseLoops
from benchmarks.generated import load
from tests.forward_mode import check_gradients

V = "memref<?xf64>"
HEAD = "  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n  %c2 = arith.constant 2 : index\n"


def loop(k: int, target: str, source: str, shift: int = 0, at: int = 0, step: str = "%c1") -> str:
    """``for i in range(1, n): target[i + at] = 2 * source[i + shift]``."""
    return f"""  scf.parallel (%i{k}) = (%c1) to (%n) step ({step}) {{
    %s{k} = arith.constant {shift} : index
    %j{k} = arith.addi %i{k}, %s{k} : index
    %x{k} = memref.load {source}[%j{k}] : {V}
    %y{k} = arith.addf %x{k}, %x{k} : f64
    %t{k} = arith.constant {at} : index
    %m{k} = arith.addi %i{k}, %t{k} : index
    memref.store %y{k}, {target}[%m{k}] : {V}
    scf.reduce()
  }}
"""


def module_of(body: str, attrs: str = "") -> Module:
    params = ", ".join(f"%{name}: {V}{attrs}" for name in "abc")
    module = parse_module(f"func.func @f({params}, %n: index) {{\n{HEAD}{body}  func.return\n}}")
    verify(module)
    return module


def count(module: Module) -> int:
    return sum(op.opdef is ops.parallel for op in module.funcs["f"].walk())


def outcome(module: Module, n: int = 5) -> list[float]:
    arrays = [np.random.default_rng(k).random(8) for k in range(3)]
    interpreter.run(module, "f", [*arrays, n])
    return [float(x) for a in arrays for x in a]


def fused(module: Module) -> Module:
    before = outcome(module)
    module = FuseLoops().run(module)
    verify(module)
    assert outcome(module) == before
    return module


@pytest.mark.parametrize(
    ("body", "left"),
    [
        (loop(0, "%b", "%a") + loop(1, "%c", "%a"), 1),  # both read a
        (loop(0, "%b", "%a") + loop(1, "%c", "%b"), 1),  # the second reads what this iteration wrote
        (loop(0, "%b", "%a", 1) + loop(1, "%c", "%a", -1), 1),
        (loop(0, "%b", "%a") + loop(1, "%c", "%b", 1), 2),  # what a later iteration writes
        (loop(0, "%b", "%a") + loop(1, "%c", "%b", -1), 2),  # the iterations would no longer be independent
        (loop(0, "%b", "%a", 1) + loop(1, "%a", "%c"), 2),  # overwrites what another iteration reads
        (loop(0, "%b", "%a") + loop(1, "%a", "%c"), 1),
        (loop(0, "%b", "%a") + loop(1, "%b", "%c", at=1), 2),  # which one is last?
        (loop(0, "%b", "%a") + loop(1, "%c", "%c"), 2),  # nothing in common
        (loop(0, "%b", "%a") + loop(1, "%c", "%a", step="%c2"), 2),  # not the same range
        (loop(0, "%b", "%a") + loop(1, "%c", "%a") + loop(2, "%b", "%c"), 1),
        (loop(0, "%b", "%a") + loop(1, "%c", "%b", -1) + loop(2, "%a", "%c"), 2),
        # What keeps the third apart is in what was the second, not in the first.
        (loop(0, "%b", "%a") + loop(1, "%c", "%b") + loop(2, "%a", "%c", 1), 2),
        (loop(0, "%b", "%a") + loop(1, "%c", "%a") + loop(2, "%a", "%b", at=1), 2),
    ],
)
def test_what_is_fused(body: str, left: int) -> None:
    assert count(fused(module_of(body))) == left


def test_arrays_that_may_overlap() -> None:
    body = loop(0, "%b", "%a") + loop(1, "%c", "%a")
    assert count(fused(module_of(body, " {adc.alias = 0}"))) == 2


FILL = f"  %z = arith.constant 0.5 : f64\n  linalg.fill ins(%z : f64) outs(ARRAY : {V})\n"


@pytest.mark.parametrize(
    ("between", "left"),
    [
        (FILL.replace("ARRAY", "%c"), 1),  # the second loop writes it: goes in front
        (FILL.replace("ARRAY", "%b"), 2),  # the first loop writes it, the second reads it
        (f"  %z = memref.load %b[%c1] : {V}\n  memref.store %z, %c[%c0] : {V}\n", 2),
    ],
)
def test_what_stands_between(between: str, left: int) -> None:
    module = module_of(loop(0, "%b", "%a") + between + loop(1, "%c", "%b"))
    assert count(fused(module)) == left


def test_what_needs_the_first_loop_stays_behind() -> None:
    body = loop(0, "%b", "%a") + f"  %z = memref.load %b[%c1] : {V}\n  memref.store %z, %b[%c0] : {V}\n"
    assert count(fused(module_of(body + loop(1, "%c", "%a")))) == 1


def test_branches_on_one_condition_are_joined() -> None:
    def branch(inside: str) -> str:
        return f"  scf.if %p {{\n{inside}    scf.yield\n  }} else {{\n    scf.yield\n  }}\n"

    head = "  %p = arith.cmpi sle, %c1, %n : index\n"
    module = fused(module_of(head + branch(loop(0, "%b", "%a")) + branch(loop(1, "%c", "%b"))))
    assert count(module) == 1
    assert sum(op.opdef is ops.if_ for op in module.funcs["f"].walk()) == 1


def test_reductions_are_kept_in_order() -> None:
    text = f"""func.func @f(%a: {V}, %n: index) -> (f64, f64) {{
{HEAD}  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %s = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {{
    %x = memref.load %a[%i] : {V}
    scf.reduce(%x : f64) {{kinds = ["add"]}}
  }}
  %p = scf.parallel (%k) = (%c0) to (%n) step (%c1) init (%one) -> f64 {{
    %y = memref.load %a[%k] : {V}
    scf.reduce(%y : f64) {{kinds = ["mul"]}}
  }}
  func.return %s, %p : f64, f64
}}"""
    module = FuseLoops().run(parse_module(text))
    verify(module)
    assert count(module) == 1
    assert interpreter.run(module, "f", [np.array([2.0, 3.0, 4.0]), 3]) == [9.0, 24.0]


def test_a_loop_that_needs_the_sum_of_the_first_is_not_fused() -> None:
    def scaled(x, out):  # type: ignore[no-untyped-def]
        s = 0.0
        for i in prange(len(x)):
            s += x[i] * x[i]
        for i in prange(len(x)):
            out[i] = x[i] / s
        return s

    x, out = np.linspace(1.0, 2.0, 9), np.zeros(9)
    s = jit_grad(scaled)(x, out)
    np.testing.assert_allclose(out, x / s, rtol=1e-15)


def pointwise(a, b, out):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in prange(len(a)):
        v = math.sin(2 * a[i]) * math.cos(3 * b[i])
        out[i] = v
        total += v * v
    return total


def test_forward_and_reverse_sweep_of_independent_iterations_are_one_loop() -> None:
    function = jit_grad(pointwise, argnums=(0, 1))
    text = function.dump_ir("lowered", "f64[::1], f64[::1], f64[::1]")
    text = text[text.index("func.func @pointwise.grad") :].split("\nfunc.func")[0]
    assert text.count("scf.parallel") == 1 and text.count("math.sin") == 2 and text.count("math.cos") == 2
    rng = np.random.default_rng(0)
    a, b = rng.random(50), rng.random(50)
    value, (da, db) = function.value_and_grad(a, b, np.zeros(50))
    v = np.sin(2 * a) * np.cos(3 * b)
    assert value == pytest.approx(np.sum(v * v), rel=1e-13)
    np.testing.assert_allclose(da, 2 * v * 2 * np.cos(2 * a) * np.cos(3 * b), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(db, -2 * v * 3 * np.sin(2 * a) * np.sin(3 * b), rtol=1e-13, atol=1e-15)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_random_sequences_of_loops(seed: int) -> None:
    """Loops with shifted subscripts on three arrays: the interpreter runs iterations in any order."""
    rng = random.Random(seed)
    body = ""
    for k in range(rng.randint(2, 5)):
        target, source = rng.sample(["%a", "%b", "%c"], 2)
        body += loop(k, target, source, rng.randint(-1, 1), rng.choice([0, 0, 1]))
        if rng.random() < 0.3:
            body += f"  %w{k} = memref.load {rng.choice(['%a', '%b'])}[%c1] : {V}\n"
            body += f"  memref.store %w{k}, %c[%c{rng.randint(0, 2)}] : {V}\n"
    fused(module_of(body))


M = "memref<?x?xf64>"


def nest(k: int, target: str, source: str, shifts: tuple[int, int, int], upper: str) -> str:
    """``for i in range(1, n): for j in range(upper): target[i, j] += source[i + di, j + dj + 1] + the counter``, with
    ``j + at`` for the subscript that is written. ``upper`` may be the outer counter."""
    di, dj, at = shifts
    fixed = (("di", di), ("dj", dj + 1), ("at", at))
    numbers = "".join(f"    %{name}{k} = arith.constant {value} : index\n" for name, value in fixed)
    return f"""  scf.parallel (%i{k}) = (%c1) to (%n) step (%c1) {{
{numbers}    %row{k} = arith.addi %i{k}, %di{k} : index
    scf.parallel (%j{k}) = (%c0) to ({upper}) step (%c1) {{
      %col{k} = arith.addi %j{k}, %dj{k} : index
      %to{k} = arith.addi %j{k}, %at{k} : index
      %x{k} = memref.load {source}[%row{k}, %col{k}] : {M}
      %h{k} = memref.load {target}[%i{k}, %to{k}] : {M}
      %f{k} = arith.sitofp %i{k} : index to f64
      %s{k} = arith.addf %x{k}, %f{k} : f64
      %y{k} = arith.addf %s{k}, %h{k} : f64
      memref.store %y{k}, {target}[%i{k}, %to{k}] : {M}
      scf.reduce()
    }}
    scf.reduce()
  }}
"""


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_random_sequences_of_nests(seed: int, many: bool) -> None:
    """The loops inside have one range or others, up to the counter around them too. ``many``: as in large functions."""
    rng = random.Random(seed)
    body = "".join(
        nest(
            k,
            *rng.sample(["%a", "%b", "%c"], 2),
            (rng.choice([0, 0, 0, -1, 1]), rng.choice([0, 0, -1, 1]), rng.choice([0, 0, 1])),
            rng.choice(["%n", "%n", "%c2", f"%i{k}"]),
        )
        for k in range(rng.randint(2, 7))
    )
    module = parse_module(f"func.func @f(%a: {M}, %b: {M}, %c: {M}, %n: index) {{\n{HEAD}{body}  func.return\n}}")
    verify(module)

    def outcome() -> list[float]:
        arrays = [np.random.default_rng(k).integers(0, 9, (8, 9)).astype(float) for k in range(3)]
        interpreter.run(module, "f", [*arrays, 5])
        return [float(x) for a in arrays for x in a.ravel()]

    before = outcome()
    with pytest.MonkeyPatch.context() as patch:
        if many:
            patch.setattr(fuse_loops, "MOST_LOOPS", 0)
        module = FuseLoops().run(module)
    verify(module)
    assert outcome() == before


def test_many_loops_become_one_and_the_function_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    made = fuse_loops.Memory.__init__
    monkeypatch.setattr(fuse_loops.Memory, "__init__", lambda self, *given: looked.append(1) or made(self, *given))
    arrays = ["%a", "%b", "%c"]
    body = "".join(loop(k, arrays[k % 3], arrays[(k + 1) % 3]) for k in range(100))
    assert count(fused(module_of(body))) <= 1 + 100 * 8 // fuse_loops.MAX_OPERATIONS
    assert len(looked) <= 2


def test_in_a_large_function_nests_that_stay_apart_inside_are_not_joined() -> None:
    """They may be alike, and compiled once: the layers of a network."""
    together = nest(0, "%b", "%a", (0, -1, 0), "%n") + nest(1, "%c", "%a", (0, -1, 0), "%n")
    apart = nest(2, "%b", "%a", (0, -1, 0), "%n") + nest(3, "%c", "%a", (0, -1, 0), "%c2")
    for body, few, many in ((together, 2, 2), (apart, 3, 4)):
        for most, left in ((64, few), (0, many)):
            text = f"func.func @f(%a: {M}, %b: {M}, %c: {M}, %n: index) {{\n{HEAD}{body}  func.return\n}}"
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(fuse_loops, "MOST_LOOPS", most)
                assert count(FuseLoops().run(parse_module(text))) == left


def test_many_statements_on_whole_arrays() -> None:
    """More loops than were once looked at; each statement reads what those before it wrote."""
    lines = ["t = a * b", *(f"t = {0.5 + 0.01 * k} * t + a * np.sin(t) / (1.0 + b * b)" for k in range(40))]
    text = "\n    ".join(["import numpy as np\ndef main(a, b):", *lines, "return np.sum(t * t)\n"])
    main = load(text, "<many-statements>", "main")
    a, b = np.random.default_rng(0).random((2, 3, 4))
    function = jit_grad(main, argnums=(0, 1))
    value, gradients = function.value_and_grad(a, b)
    assert value == pytest.approx(main(a, b), rel=1e-12)
    check_gradients(function, (a, b), dict(enumerate(gradients)), rel=1e-10)


def test_statements_on_whole_arrays() -> None:
    def step(u, v, n):  # type: ignore[no-untyped-def]
        for _ in range(n):
            u[1:-1] += 0.1 * v[1:-1]
            v[1:-1] -= 0.1 * u[1:-1] + 0.01 * v[1:-1]
        return np.sum(u * v)

    u, v = np.linspace(0.0, 1.0, 12), np.linspace(1.0, -1.0, 12)
    uu, vv = u.copy(), v.copy()
    expected = step(uu, vv, 4)
    mine, others = u.copy(), v.copy()
    assert jit_grad(step)(mine, others, 4) == pytest.approx(expected, rel=1e-14)
    np.testing.assert_allclose(mine, uu, rtol=1e-14)
    np.testing.assert_allclose(others, vv, rtol=1e-14)
    gradient = adc.grad(step)(u, v, 4)
    h = 1e-6
    for k in range(12):
        e = h * np.eye(12)[k]
        numeric = (step(u + e, v.copy(), 4) - step(u - e, v.copy(), 4)) / (2 * h)
        assert gradient[k] == pytest.approx(numeric, rel=1e-7, abs=1e-9)


def two_fields(u, v, c, steps):  # type: ignore[no-untyped-def]
    """Two fields that advect each other, each with two buffers that swap."""
    u, v, un, vn = u.copy(), v.copy(), u.copy(), v.copy()
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            for j in range(1, u.shape[1] - 1):
                un[i, j] = u[i, j] - c * (u[i, j] * (u[i, j] - u[i - 1, j]) + v[i, j] * (u[i, j] - u[i, j - 1]))
                vn[i, j] = v[i, j] - c * (u[i, j] * (v[i, j] - v[i - 1, j]) + v[i, j] * (v[i, j] - v[i, j - 1]))
        u, un = un, u
        v, vn = vn, v
    return np.sum(u * v)


def test_shadows_of_two_fields_are_gathered_in_one_loop() -> None:
    """The loops inside, and the branches around these, are joined too, though buffers that swap are of one origin."""
    function = jit_grad(two_fields, argnums=(0, 1))
    text = function.dump_ir("lowered", "f64[:,::1], f64[:,::1], f64, i64")
    warm = [func for func in text.split("func.func @") if ".cold" not in func.partition("(")[0]]
    (backwards,) = (func.split("{adc.reverse = true}")[0] for func in warm if "{adc.reverse = true}" in func)
    steps = backwards[backwards.rindex("iter_args") :]  # the body of the loop
    assert steps.count("func.call") + steps.count("threads = true") == 1
    rng = np.random.default_rng(0)
    for rows, columns in ((9, 14), (3, 3), (2, 6), (4, 3), (5, 40)):
        u, v = rng.random((rows, columns)), rng.random((rows, columns))
        found = function.grad(u, v, 0.1, 4)
        for k, by in enumerate(found):
            direction = rng.standard_normal(by.shape)

            def moved(h: complex, k: int = k, direction: np.ndarray = direction, u=u, v=v) -> float:  # type: ignore[no-untyped-def]
                args = [a + h * direction if j == k else a + 0j for j, a in enumerate((u, v))]
                return complex(two_fields(*args, 0.1, 4)).imag

            assert np.sum(by * direction) == pytest.approx(moved(1e-30j) / 1e-30, rel=1e-12, abs=1e-12)


def over_two_axes(k: int, target: str, source: str, first: str) -> str:
    """``for i in range(1, n): for j in range(first, n): target[i, j] = 2 * source[i, j]``."""
    return f"""  scf.parallel (%i{k}) = (%c1) to (%n) step (%c1) {{
    scf.parallel (%j{k}) = ({first}) to (%n) step (%c1) {{
      %x{k} = memref.load {source}[%i{k}, %j{k}] : memref<?x?xf64>
      %y{k} = arith.addf %x{k}, %x{k} : f64
      memref.store %y{k}, {target}[%i{k}, %j{k}] : memref<?x?xf64>
      scf.reduce()
    }}
    scf.reduce()
  }}
"""


@pytest.mark.parametrize(("first", "left"), [("%c1", 1), ("%c2", 2)])
def test_throughout_only_nests_that_become_one_are_joined(first: str, left: int) -> None:
    body = over_two_axes(0, "%b", "%a", "%c1") + over_two_axes(1, "%c", "%b", first)

    def outer(one: FuseLoops) -> int:
        params = ", ".join(f"%{name}: memref<?x?xf64>" for name in "abc")
        module = parse_module(f"func.func @f({params}, %n: index) {{\n{HEAD}{body}  func.return\n}}")
        one.run(module)
        verify(module)
        return sum(op.opdef is ops.parallel for op in module.funcs["f"].body.ops)

    assert (outer(FuseLoops()), outer(FuseLoops(throughout=True))) == (1, left)
