"""Tiled nests: the same bits as untiled, and tiled only where that may pay."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest

from adc import jit_grad, prange
from adc.backend.runtime import on_threads
from adc.errors import AdcError
from adc.ir import ops
from adc.ir.core import Module, Op
from adc.ir.interpret import interpreter
from adc.ir.loop_attrs import TILES
from adc.ir.steps import COUNTED
from adc.ir.text.parser import parse_module
from adc.passes import pipelines
from adc.passes.analysis import machine
from adc.passes.base import Verify, passes_of, run_pipeline
from adc.passes.cache import tile_loops
from adc.passes.cache.tile_loops import TileLoops
from adc.passes.checkpointing.count_steps import CountSteps
from adc.passes.outlining.outline_nests import OutlineNests
from tests.fuzz.check import loaded
from tests.stages import share
from tests.stencils.check import bits, threads_at_once
from tests.stencils.generator import generate

SIZES = ((2,), (3, 2), (2, 5), (1, 1))


@pytest.fixture
def any_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of innermost loops are as long as one says."""
    monkeypatch.setattr(tile_loops, "GRAIN", 1)
    share(monkeypatch, "GRAIN")


# What is cut ----------------------------------------------------------------------------------------------------------


def heat(u, v):
    n, m, l = u.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            for k in range(1, l - 1):
                v[i, j, k] = u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k] + u[i, j + 1, k] + u[i, j, k - 1]


def slices(u, v):
    v[2:-2, 1:-1] = u[:-4, 1:-1] - 3.0 * u[1:-3, 2:] + u[4:, :-2] * u[2:-2, 1:-1]


def beside(u, v):
    """Statements beside the inner loop, which use each other's results."""
    n, m = u.shape
    for i in prange(1, n):
        v[i, 0] = u[i, 0] + u[i - 1, 0]
        v[i, 0] = 2.0 * v[i, 0]
        for j in range(1, m):
            v[i, j] = u[i - 1, j] - u[i, j - 1] + u[i, 0]
        v[i, m - 1] = v[i, m - 1] * v[i, 0]


def in_order(u, v):
    """The inner loop is a recurrence along a row."""
    n, m = u.shape
    for i in prange(1, n):
        for j in range(1, m):
            v[i, j] = 0.5 * v[i, j - 1] + u[i - 1, j] * u[i, j]


def sides(u, v):
    """Branches with other loops, or other ranges, or none."""
    n, m = u.shape
    for i in prange(1, n - 1):
        if i % 3 == 0:
            for j in range(m):
                v[i, j] = u[i - 1, j] + u[i + 1, j]
        elif i % 3 == 1:
            for j in range(2, m - 1):
                v[i, j] = u[i - 1, j - 1] * u[i + 1, j + 1]
        else:
            v[i, 0] += u[i, 0]
            v[i, m - 1] *= 3.0


def deep(u, v):
    """Four dimensions, and what is beside the loops."""
    n, m, l, q = u.shape
    for a in prange(1, n - 1):
        v[a, 0, 0, 0] = 1.0
        for b in range(m):
            v[a, b, 0, 0] += u[a, b, 0, 0]
            for c in range(l):
                for d in range(q):
                    v[a, b, c, d] += u[a - 1, b, c, d] + u[a + 1, b, c, d]


def triangle(u, v):
    n, m = u.shape
    for i in prange(1, min(n, m)):
        for j in range(i):
            v[i, j] = u[i, j] + u[i - 1, j]


def coarse(u, v):
    """Of every other point."""
    n, m = u.shape
    for i in prange(1, n // 2):
        for j in range(m // 2):
            v[i, j] = u[2 * i, 2 * j] - u[2 * i - 2, 2 * j]


def wide(u, v):
    """Its adjoint has short loops at the ends of rows."""
    n, m = u.shape
    for i in prange(4, n - 4):
        for j in range(4, m - 4):
            v[i, j] = u[i - 4, j] + u[i + 4, j] - u[i, j - 4] * 0.5 + u[i, j + 4] + u[i, j]


def batch(u, v):
    """The loop that reads neighbours is inside of one that does not."""
    n, m, l = u.shape
    for b in prange(n):
        for i in range(1, m - 1):
            for j in range(l):
                v[b, i, j] = u[b, i - 1, j] * u[b, i + 1, j]


TWO = (slices, beside, in_order, sides, triangle, coarse, wide)
THREE = (heat, batch)
SHAPES = {
    2: [(0, 0), (1, 5), (5, 1), (2, 2), (3, 3), (5, 4), (7, 11), (13, 70), (20, 23)],
    3: [(0, 3, 4), (1, 1, 1), (2, 3, 2), (3, 3, 3), (5, 4, 6), (4, 9, 70)],
    4: [(2, 1, 1, 1), (3, 1, 1, 1), (4, 3, 5, 4), (5, 7, 6, 3)],
}


ALL = (*TWO, *THREE, deep)


def rank_of(f: Callable[..., Any]) -> int:
    return 2 if f in TWO else 3 if f in THREE else 4


def signature(f: Callable[..., Any]) -> str:
    dims = ", ".join(":" * rank_of(f))
    return f"f64[{dims}], f64[{dims}]"


def name_of(f: Callable[..., Any]) -> str:
    return f.__name__


@functools.cache
def in_one_piece(f: Callable[..., Any], shape: tuple[int, ...]) -> Any:
    return outcome(jit_grad(tile=False)(f), shape)


def given(shape: tuple[int, ...]) -> list[np.ndarray]:
    """Two arrays, weights of what is left in the second, and a direction for each."""
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape) for _ in range(5)]


def outcome(function: Any, shape: tuple[int, ...]) -> list[Any]:
    """What a call leaves in its argument, and the pullback."""
    u, v, weights, *_ = given(shape)
    _, back = function.pullback(u, v)
    return [v, *back(final={"v": weights})]


@pytest.mark.parametrize("f", ALL, ids=name_of)
def test_the_same_bits_in_blocks(f: Callable[..., Any], any_length: None) -> None:
    with threads_at_once(1):
        cut = jit_grad(tile=(3, 2))(f)
        for shape in SHAPES[rank_of(f)]:
            expected = bits(in_one_piece(f, shape))
            for threads in (1, 2, 3, 4, 8):
                with on_threads(threads):
                    found = outcome(cut, shape)
                assert bits(found) == expected, (shape, threads)
            # By complex steps.
            u, v, weights, du, dv = given(shape)
            moved = v + 1e-30j * dv
            f(u + 1e-30j * du, moved)
            np.testing.assert_allclose(found[0], moved.real, rtol=1e-13, atol=1e-13)
            change = np.sum(weights * moved.imag) / 1e-30
            assert np.sum(found[1] * du) + np.sum(found[2] * dv) == pytest.approx(change, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("f", ALL, ids=name_of)
def test_as_python_does_it(f: Callable[..., Any], any_length: None) -> None:
    """The blocks that were asked for, in the interpreter."""
    cut = jit_grad(tile=(2, 3), _engine="interpreter")(f)
    rng = np.random.default_rng(1)
    for shape in SHAPES[rank_of(f)][:-1]:
        u, v = rng.standard_normal(shape), rng.standard_normal(shape)
        expected = v.copy()
        f(u, expected)
        cut(u, v)
        np.testing.assert_allclose(v, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("seed", range(500_000, 500_010))
def test_random_stencils_have_the_same_bits(seed: int, any_length: None) -> None:
    rng = random.Random(seed)
    program = generate(rng, small=True)
    wrt = tuple(k for k, leaf in enumerate(program.leaves) if isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f")
    sizes = rng.choice(SIZES)
    found = []
    with loaded(program.text) as names, threads_at_once(1), np.errstate(all="ignore"):
        for tile in (False, sizes):
            function = jit_grad(argnums=wrt, tile=tile)(names["main"])
            for threads in (1, 3):
                with on_threads(threads):
                    given = [leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in program.leaves]
                    try:
                        value = function(*given)
                        found.append(bits([value, *given, function.value_and_grad(*program.leaves)]))
                    except (IndexError, ValueError, ZeroDivisionError, OverflowError) as error:
                        found.append(type(error))
    assert all(one == found[0] for one in found), program.text


# Which nests are cut --------------------------------------------------------------------------------------------------


def plans(f: Callable[..., Any], rank: int, **options: Any) -> list[str]:
    dims = ", ".join(":" * rank)
    text = str(jit_grad(**options)(f).dump_ir("plan", f"f64[{dims}], f64[{dims}]"))
    return [line.split(" for ", 1)[1] for line in text.splitlines() if ": blocks of" in line or ": whole" in line]


def sums(u, v):
    n, m = u.shape
    total = 0.0
    for i in prange(1, n):
        row = 0.0
        for j in range(m):
            row += u[i, j] * u[i - 1, j]
        v[i, 0] = row
    return total


def two_loops(u, v):
    n, m = u.shape
    for i in prange(1, n):
        for j in range(1, m):
            v[i, j] = v[i, j - 1] + u[i - 1, j]
        for j in range(1, m):
            v[i, j] = v[i, j - 1] * u[i, j]


def changed(u, v):
    """What the loop uses is changed beside it."""
    n, m = u.shape
    for i in prange(1, n):
        v[i, 0] = u[i, 0] * u[i - 1, 0]
        scale = v[i, m // 2]
        for j in range(1, m):
            v[i, j] = scale * u[i - 1, j] * u[i, j]


def rows(u, v):
    n, m = u.shape
    for i in prange(n):
        for j in range(1, m):
            v[i, j] = u[i, j] + u[i, j - 1]


def components(u, v):
    n, m, _ = u.shape
    for i in prange(1, n):
        for j in range(m):
            for c in range(3):
                v[i, j, c] = u[i, j, c] - u[i - 1, j, c]


@pytest.mark.parametrize(
    ("f", "rank", "expected"),
    [
        (heat, 3, "blocks of j: if 32 bytes a point exceed 6 MB; reads 3 times u"),
        (in_order, 2, "blocks of j: if 24 bytes a point exceed 6 MB; reads 2 times u"),
        (beside, 2, "blocks of j: if 24 bytes a point exceed 6 MB; reads 2 times u"),
        (batch, 3, "blocks of j: if 32 bytes a point exceed 6 MB; reads 3 times u"),
        (sums, 2, "whole: a loop inside sums"),
        (two_loops, 2, "whole: several loops or branches in an iteration"),
        (changed, 2, "whole: the loop inside uses what is changed in the nest"),
        (triangle, 2, "whole: rows differ in length"),
        (rows, 2, None),
        (components, 3, "blocks of j: if 24 bytes a point exceed 6 MB; reads 2 times u"),
        (deep, 4, "blocks of b: if 32 bytes a point exceed 6 MB; reads 3 times u"),
    ],
    ids=lambda v: v.__name__ if callable(v) else "",
)
def test_the_plan_says_what_is_cut_and_why_not(f: Callable[..., Any], rank: int, expected: str | None) -> None:
    found = plans(f, rank)
    assert found == [] if expected is None else any(line.endswith(expected) for line in found), found
    assert plans(f, rank, tile=False) == []


# How long blocks are --------------------------------------------------------------------------------------------------

NEST = """
func.func @f(%u: memref<?x?x?xf64>, %v: memref<?x?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c-1 = arith.constant -1 : index
  %n = memref.dim %u, 0 : memref<?x?x?xf64>
  %m = memref.dim %u, 1 : memref<?x?x?xf64>
  %l = memref.dim %u, 2 : memref<?x?x?xf64>
  scf.parallel (%i) = (%c1) to (%n) step (%c1) {
    %p = arith.addi %i, %c-1 : index
    scf.parallel (%j) = (%c0) to (%m) step (%c1) {
      scf.parallel (%k) = (%c0) to (%l) step (%c1) {
        %a = memref.load %u[%i, %j, %k] : memref<?x?x?xf64>
        %b = memref.load %u[%p, %j, %k] : memref<?x?x?xf64>
        %c = arith.addf %a, %b : f64
        memref.store %c, %v[%i, %j, %k] : memref<?x?x?xf64>
        scf.reduce()
      }
      scf.reduce()
    }
    scf.reduce()
  } {threads = true}
  func.return
}
"""


def blocks_of(module: Module) -> list[Op]:
    return [op for op in module.funcs["f"].walk() if TILES in op.attrs]


def counted(module: Module, shape: tuple[int, ...]) -> list[int]:
    """How many blocks there are of each loop, for arrays of a shape (which need not be there)."""
    sizes = []
    func = module.funcs["f"]
    known: dict[Any, Any] = {}
    for op in func.body.ops:
        if op.opdef is ops.dim:
            known[op.result] = shape[op.attrs["dim"]]
        elif op.opdef.pure and op.results:
            known[op.result] = op.opdef.evaluate(op.attrs, op.result.type, *(known[v] for v in op.operands))
    for op in blocks_of(module):
        lower, upper, step = (known[v] for v in op.operands[:3])
        sizes.append(len(range(lower, upper, step)))
    return sizes


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((128, 128, 128), [1]),
        ((400, 400, 400), [1]),
        ((40, 1000, 1000), [24]),
        ((4, 1000, 1000), [1]),
        ((40, 10, 1_000_000), [3]),
        ((40, 1, 100_000), [1]),
        ((0, 1000, 1000), [1]),
        ((40, 0, 1000), [1]),
        ((40, 1000, 0), [1]),
    ],
)
def test_blocks_are_as_long_as_fits(shape: tuple[int, ...], expected: list[int]) -> None:
    module = run_pipeline(parse_module(NEST), (TileLoops(),), verify=Verify.PASSES)
    assert counted(module, shape) == expected


@pytest.mark.parametrize("sizes", [True, (1,), (3,), (2, 3), (5, 1)])
@pytest.mark.parametrize("shape", [(6, 7, 8), (2, 1, 1), (1, 4, 4), (5, 0, 3), (5, 3, 0), (0, 0, 0)])
def test_the_pass_by_itself(sizes: Any, shape: tuple[int, ...], any_length: None) -> None:
    rng = np.random.default_rng(0)
    u, v = rng.standard_normal(shape), rng.standard_normal(shape)
    expected = v.copy()
    expected[1:] = u[1:] + u[:-1]
    small = replace(machine.CPU, cache_bytes=64, block_bytes=48)
    with mock.patch.multiple(tile_loops, LEAST_ROWS=2, LEAST_POINTS=3), machine.made_for(small):
        module = run_pipeline(parse_module(NEST), (TileLoops(sizes),), verify=Verify.PASSES)
    assert len(blocks_of(module)) == (1 if sizes is True else len(sizes))
    interpreter.run(module, "f", [u, v])
    np.testing.assert_array_equal(v, expected)


def test_loops_over_blocks_are_no_steps() -> None:
    """Who watches counts time steps, of which a block is a part; nor are they taken apart when long functions are."""
    module = run_pipeline(parse_module(NEST), (TileLoops((4, 64)), CountSteps(["f"])), verify=Verify.PASSES)
    assert not any(COUNTED in op.attrs for op in module.funcs["f"].walk())
    (nest,) = [f for f in OutlineNests(2).run(module).funcs.values() if f.name != "f"] or [module.funcs["f"]]
    assert sum(TILES in op.attrs for op in nest.walk()) == 2


@pytest.mark.usefixtures("optimised")
def test_vectors_are_as_in_one_piece() -> None:
    """Blocks of innermost loops are whole vectors, so that elementary functions are computed as before."""

    def f(u, v):
        n, m = u.shape
        for i in prange(1, n):
            for j in range(1, m):
                v[i, j] = np.sin(u[i, j]) + np.exp(u[i - 1, j])

    rng = np.random.default_rng(0)
    u = rng.standard_normal((5, 1000))
    found = []
    for tile in (False, 1, 100, (300,)):
        v = np.zeros_like(u)
        jit_grad(tile=tile)(f)(u, v)
        found.append(v.tobytes())
    assert len(set(found)) == 1


@pytest.mark.parametrize("tile", [0, (), (4, 0), -3, "wide", (1.5,)])
def test_wrong_lengths_are_refused(tile: Any) -> None:
    with pytest.raises(AdcError, match="tile must be"):
        jit_grad(tile=tile)(heat)


def test_it_is_the_pass_of_the_pipeline() -> None:
    names = [step.name for step in passes_of(pipelines.LOWER)]
    assert names.index("settle-accumulates") < names.index("tile-loops") < names.index("align-loops")


# What must not change -------------------------------------------------------------------------------------------------


def products(u, v, lo, hi):
    """Sums beside the loop that are one operation with products that the loop uses, or that come before it."""
    n, m = u.shape
    for i in prange(1, n):
        p = u[i, 0] * u[i - 1, 1]
        v[i, 1] = p + u[i - 1, 2]
        for j in range(3, m):
            v[i, j] = u[i, j] + u[i - 1, j]
        v[i, 0] = p + u[i - 1, 0]


def starts(u, v, lo, hi):
    """Elements are in vectors with others, by where a loop starts."""
    n, m = u.shape
    for i in prange(1, n):
        if i % 2 == 0:
            for j in range(m):
                v[i, j] = u[i, j] + u[i - 1, j]
        else:
            for j in range(3, m):
                v[i, j] = np.sin(u[i, j]) + u[i - 1, j]


def guarded(u, v, lo, hi):
    """Bounds so large that their difference is no integer of 64 bits; what is beside the loop runs all the same."""
    n, m = u.shape
    for i in prange(1, n):
        v[i, 0] = u[i, 1]
        for j in range(lo, hi):
            if 0 < j < m:
                v[i, j] = u[i, j] + u[i - 1, j]
        v[i, 0] = 2.0 * v[i, 0]


EXTREMES = [(0, 0), (1, 4), (2**63 - 1, -10), (2**63 - 1, 2**63 - 1), (3 << 61, -(3 << 61)), (2**62, -(2**62) - 5)]


@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize("f", [products, starts, guarded])
def test_what_blocks_could_change(f: Callable[..., Any]) -> None:
    """At lengths at which blocks are made without asking, and with blocks that are asked for."""
    rng = np.random.default_rng(0)
    u = rng.random((8, 400_000 if f is not guarded else 50))
    for lo, hi in EXTREMES if f is guarded else [(0, 0)]:
        found = set()
        for tile in (False, True, 64, 2**62):
            v = np.zeros_like(u)
            jit_grad(f, tile=tile)(u, v, lo, hi)
            found.add(v.tobytes())
        assert len(found) == 1


def unrolled(u, v):
    n, m, l = u.shape
    for i in range(1, n):
        for j in range(1, m - 1):
            for k in range(33):
                v[i, j, k] = np.sin(u[i, j, k]) + u[i - 1, j + 1, k]


@pytest.mark.usefixtures("optimised")
def test_loops_of_known_length_may_be_unrolled() -> None:
    u = np.random.default_rng(0).random((4, 20_003, 33))
    found = set()
    for tile in (False, True, 70):
        v = np.zeros_like(u)
        jit_grad(unrolled, tile=tile)(u, v)
        found.add(v.tobytes())
    assert len(found) == 1
