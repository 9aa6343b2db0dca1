"""Loads after stores: the result agrees with a scan operation by operation, in linear time."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from adc import jit_grad
from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.core import Block, Func, Value
from adc.ir.text.parser import parse_module
from adc.passes.differentiation.need.rereading import Rereading
from benchmarks.generated import load


class OneByOne(Rereading):
    def _scan(self, block: Block, start: int, memref: Value, place: tuple) -> set[Value] | None:  # type: ignore[type-arg]
        found: set[Value] = set()
        for op in list(block.ops)[start:]:
            if self._writes(op, memref):
                return found or None
            found.update(self._loaded(op, memref, place, ()))
        return found


def function_of(lines: list[str], number: int) -> Func:
    body = "".join(f"    {line}\n" for line in [*lines, "return np.sum(a * b)"])
    text = f"import numpy as np\ndef main(a, b, c, n):\n{body}"
    compiled = jit_grad(load(text, f"<rereading-{number}>", "main"))
    text = compiled.dump_ir("simplified", "f64[::1], f64[::1], f64[::1], i64")
    return parse_module(text).funcs["main"]


def statements(rng: random.Random, count: int, depth: int = 2) -> list[str]:
    lines = []
    for _ in range(count):
        x, y, z = (rng.choice("abc") for _ in range(3))
        kind = rng.randrange(7 if depth else 5)
        if kind < 5:
            lines.append([f"{x} = {y} * {z}", f"{x}[:] = {y} + 1.0", f"{x}[1:] = {y}[:-1]", f"{x}[0] = {y}[0]",
                          f"{x}[0] = {x}[0] * {y}[1]"][kind])  # fmt: skip
        else:
            head = f"for _ in range({rng.choice(['n', '3'])}):" if kind == 5 else f"if {x}[0] > 0.5:"
            lines += [head, *(f"    {line}" for line in statements(rng, 3, depth - 1))]
    return lines


@pytest.mark.parametrize("seed", range(8))
def test_it_is_what_looking_at_one_operation_after_the_other_finds(seed: int) -> None:
    copies = ["a, b, c = a.copy(), b.copy(), c.copy()"]
    func = function_of(copies + statements(random.Random(seed), 9), seed)
    aliasing = Aliasing(func)
    quick, slow = Rereading(aliasing), OneByOne(aliasing)
    stores = [op for op in func.walk() if op.opdef is ops.store]
    assert stores and [quick.loads(op) for op in stores] == [slow.loads(op) for op in stores]
    assert any(map(any, map(slow.loads, stores)))


def test_it_takes_time_in_proportion_to_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    writes = Rereading._writes
    monkeypatch.setattr(Rereading, "_writes", lambda self, *given: asked.append(1) or writes(self, *given))
    counts = []
    for count in (20, 40):
        func = function_of([f"a = a * b + {k}.0 * c" for k in range(count)], 100 + count)
        rereading = Rereading(Aliasing(func))
        asked.clear()
        for op in func.walk():
            if op.opdef is ops.store:
                rereading.loads(op)
        counts.append(len(asked))
    assert counts[1] <= 2.2 * counts[0]


TEXT = """func.func @f(%x: f64, %n: index) -> f64 {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %m1 = arith.constant -1 : index
  %m2 = arith.constant -2 : index
  %zero = arith.constant 0.0 : f64
  %n0 = arith.addi %n, %c0 : index
  %n1 = arith.addi %n, %m1 : index
  %n2 = arith.addi %n, %m2 : index
  %a = memref.alloc(%n) : memref<?xf64>
  scf.parallel (%i) = (%c{low}) to ({up}) step (%c1) {{
    %k = arith.addi %i, {offset} : index
    memref.store %x, %a[%k] : memref<?xf64>
    scf.reduce()
  }}
  %s = scf.parallel (%j) = (%c{low2}) to ({up2}) step (%c1) init (%zero) -> f64 {{
    %l = arith.addi %j, {offset2} : index
    %v = memref.load %a[%l] : memref<?xf64>
    scf.reduce(%v : f64) {{kinds = ["add"]}}
  }}
  func.return %s : f64
}}"""
UPPER = {"%n": 0, "%n1": 1, "%n2": 2}
OFFSET = {"%m2": -2, "%m1": -1, "%c0": 0, "%c1": 1, "%c2": 2}
IN_RANGE = [
    (low, up, offset)
    for low, up, offset in itertools.product((0, 1, 2), UPPER, OFFSET)
    if low + OFFSET[offset] >= 0 and OFFSET[offset] <= UPPER[up]
]


def test_ranges_that_are_loaded_hold_those_that_are_stored() -> None:
    """Whatever the counters and the constants that are added to them."""
    found = 0
    for (low, up, offset), (low2, up2, offset2) in itertools.product(IN_RANGE, repeat=2):
        given = {"low": low, "up": up, "offset": offset, "low2": low2, "up2": up2, "offset2": offset2}
        func = parse_module(TEXT.format(**given)).funcs["f"]
        (store,) = (op for op in func.walk() if op.opdef is ops.store)
        (loads,) = Rereading(Aliasing(func)).loads(store)
        starts = low + OFFSET[offset], low2 + OFFSET[offset2]
        ends = OFFSET[offset] - UPPER[up], OFFSET[offset2] - UPPER[up2]
        holds = starts[1] <= starts[0] and ends[1] >= ends[0]
        assert holds or not loads, given
        found += bool(loads)
        if up == up2:
            assert bool(loads) == holds, given
    assert found > 100


def test_views_of_another_shape() -> None:
    """The extents of an allocation are not those of a view of it."""

    def f(x: np.ndarray) -> float:
        c = np.arange(16.0).reshape(4, 4)
        for _ in range(2):
            c[:3, :3] += x[:, 1:].T @ x[:, 1:]
        return np.sum(np.sin(np.arange(c.size).reshape(c.shape) + 1.0) * c)

    x, d = np.random.default_rng(0).normal(size=(2, 6, 4))
    along = (f(x + 1e-6 * d) - f(x - 1e-6 * d)) / 2e-6
    assert np.sum(jit_grad(f).grad(x) * d) == pytest.approx(along, rel=1e-7)
