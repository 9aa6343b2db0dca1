"""lower-accumulate: sums into shadows are right for any order of parallel iterations, and as parallel as possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adc.ir import ops
from adc.ir.core import Module
from adc.ir.interpret import interpreter
from adc.ir.text.parser import parse_module
from adc.ir.verifier import verify
from adc.passes.base import Verify, run_pipeline
from adc.passes.pipelines import SIMPLIFY
from adc.passes.scatter.lower_accumulate import LowerAccumulate
from adc.passes.scatter.settle_accumulates import SettleAccumulates
from adc.passes.stencil_adjoints import blocks, tiles

V = "memref<?xf64>"
M = "memref<?x?xf64>"
C = "memref<?x?x?xf64>"
S = "memref<f64>"
SHAPES = {1: V, 2: M, 3: C}
NUMBERS = range(-6, 25)
CONSTANTS = "".join(f"  %c{k} = arith.constant {k} : index\n" for k in NUMBERS).replace("%c-", "%m")


def number(k: int) -> str:
    return f"%m{-k}" if k < 0 else f"%c{k}"


def program(params: str, body: str) -> Module:
    module = parse_module(f"func.func @f({params}) {{\n{CONSTANTS}{body}\n  func.return\n}}")
    verify(module)
    return module


def arrays(seed: int, *shapes: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    """Of small integers, so that sums are exact in any order."""
    rng = np.random.default_rng(seed)
    return [rng.integers(-8, 9, shape).astype(float) for shape in shapes]


def run(module: Module, args: Sequence[Any], order: interpreter.Order = interpreter.forward) -> list[Any]:
    args = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    interpreter.run(module, "f", args, order=order)
    return [a.tolist() if isinstance(a, np.ndarray) else a for a in args]


def check(module: Module, inputs: Sequence[Sequence[Any]], kind: str = "auto") -> list[str]:
    """Lower, and compare in several orders with what was computed before; the kinds of the plan."""
    before = [run(module, args) for args in inputs]
    plan = LowerAccumulate(kind).plan(module)
    verify(module)
    for passes in ((), (SettleAccumulates(),), SIMPLIFY):
        module = run_pipeline(module, passes, verify=Verify.PASSES)
        for args, expected in zip(inputs, before, strict=True):
            for order in (interpreter.forward, interpreter.backward, interpreter.shuffled(7)):
                assert run(module, args, order) == expected
    left = [op for op in module.funcs["f"].walk() if op.opdef is ops.accumulate]
    assert all(op.attrs["atomic"] and kind == "atomic" for op in left)
    return [p.kind for p in plan.shadows["f"]]


def nest(body: str, lower: Sequence[str], upper: Sequence[str], steps: Sequence[str] = ("%c1",) * 3) -> str:
    """Parallel loops ``%i0``, ``%i1``, ... around ``body``."""
    lines = [
        f"scf.parallel (%i{d}) = ({low}) to ({high}) step ({step}) {{"
        for d, (low, high, step) in enumerate(zip(lower, upper, steps))
    ]
    return "\n".join([*lines, body, *("}" for _ in lines[:-1]), "} {threads = true}"])


def shifted(counters: Sequence[str], offset: Sequence[int], tag: str) -> tuple[str, str]:
    """Code and names of the subscripts ``counters + offset``."""
    names, lines = [], []
    for d, (i, o) in enumerate(zip(counters, offset, strict=True)):
        names.append(f"%{tag}_{d}")
        lines.append(f"%{tag}_{d} = arith.addi {i}, {number(o)} : index")
    return "\n".join(lines), ", ".join(names)


def stencil(
    offsets: Sequence[Sequence[int]],
    lower: Sequence[str],
    upper: Sequence[str],
    steps: Sequence[str],
    target: Sequence[int] = (0, 0, 0),
    left: str = "%zero",
    before: str = "",
) -> str:
    """The adjoint of ``v[i + target] = sum(c_k * w[i + target] * u[i + o_k])``, plus ``v[i + target]`` times a factor.

    ``left``: what that leaves of the cotangent. ``before``: what comes in front of the loops.
    """
    rank = len(lower)
    t, i = SHAPES[rank], [f"%i{d}" for d in range(rank)]
    code, own = shifted(i, target[:rank], "own")
    lines = [
        code,
        f"%g = memref.load %vbar[{own}] : {t}",
        "%negative = arith.negf %g : f64",
        "%damped = arith.mulf %g, %damping : f64",
        f"memref.store {left}, %vbar[{own}] : {t}",
        f"%w = memref.load %u[{own}] : {t}",
    ]
    for k, offset in enumerate(offsets):
        code, at = shifted(i, offset, f"s{k}")
        lines += [
            code,
            f"%x{k} = arith.constant {float(k + 1)} : f64",
            f"%y{k} = arith.mulf %g, %x{k} : f64",
            f"%z{k} = arith.mulf %y{k}, %w : f64" if k % 2 else f"%z{k} = arith.addf %y{k}, %g : f64",
            f"adc.accumulate %z{k}, %ubar[{at}] : {t}",
        ]
    constants = "%zero = arith.constant 0.0 : f64\n%damping = arith.constant 0.75 : f64\n"
    return constants + before + nest("\n".join(lines), lower, upper, steps)


def zeros(array: str, t: str) -> str:
    return f"linalg.fill ins(%zero : f64) outs({array} : {t})\n"


# One kind after the other ---------------------------------------------------------------------------------------------


def test_plain() -> None:
    body = nest(
        f"""%g = memref.load %vbar[%i0] : {V}
  %zero = arith.constant 0.0 : f64
  memref.store %zero, %vbar[%i0] : {V}
  adc.accumulate %g, %ubar[%i0] : {V}
  adc.accumulate %g, %ubar[%i0] : {V}""",
        ["%c0"],
        ["%n"],
    )
    module = program(f"%ubar: {V}, %vbar: {V}, %n: index", body)
    assert check(module, [[*arrays(n, (9,), (9,)), n] for n in (0, 1, 9)]) == ["plain"]


def test_scalars_are_reduced() -> None:
    body = nest(
        f"""%g = memref.load %vbar[%i0, %i1] : {M}
  adc.accumulate %g, %c[] : {S}
  %p = arith.cmpi slt, %i0, %i1 : index
  scf.if %p {{
    adc.accumulate %g, %w[%k] : {V}
  }}""",
        ["%c0", "%c0"],
        ["%n", "%n"],
    )
    module = program(f"%c: {S}, %w: {V}, %vbar: {M}, %n: index, %k: index", body)
    inputs = [[*arrays(n, (), (3,), (6, 6)), n, k] for n, k in ((0, 7), (1, 2), (6, 0), (6, 2))]
    assert check(module, inputs) == ["reduction", "reduction"]
    assert any(op.opdef is ops.parallel and op.attrs.get("threads") for op in module.funcs["f"].walk())


def test_indirect_goes_to_private_copies() -> None:
    body = nest(
        f"""%g = memref.load %vbar[%i0] : {V}
  %zero = arith.constant 0.0 : f64
  memref.store %zero, %vbar[%i0] : {V}
  adc.accumulate %g, %wbar[%i0] : {V}
  %k = memref.load %index[%i0] : memref<?xindex>
  adc.accumulate %g, %ubar[%k] : {V}""",
        ["%c0"],
        ["%n"],
    )
    module = program(f"%ubar: {V}, %vbar: {V}, %wbar: {V}, %index: memref<?xindex>, %n: index", body)
    index = np.array([3, 3, 0, 1, 3])
    assert check(module, [[*arrays(n, (4,), (5,), (5,)), index, n] for n in (0, 3, 5)]) == ["private", "plain"]


# Stencils -------------------------------------------------------------------------------------------------------------


def stencil_module(offsets: Sequence[Sequence[int]], steps: Sequence[str], before: str = "") -> Module:
    rank = len(steps)
    bounds = [f"%n{d}" for d in range(rank)]
    params = ", ".join(
        [f"{a}: {SHAPES[rank]}" for a in ("%ubar", "%vbar", "%u")]
        + [f"%lo{d}: index, %n{d}: index" for d in range(rank)]
    )
    return program(params, stencil(offsets, [f"%lo{d}" for d in range(rank)], bounds, steps, before=before))


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles and blocks of a few elements."""
    monkeypatch.setattr(tiles, "TILE", {1: 3, 2: 3})
    monkeypatch.setattr(tiles, "SMALL_TILE", 2)
    monkeypatch.setattr(blocks, "LENGTH", {1: 3, 2: 3})
    monkeypatch.setattr(blocks, "SHORT", 2)
    monkeypatch.setattr(blocks, "LEAST", {1: 2})
    monkeypatch.setattr(blocks, "FEW", 2)


STENCIL_KINDS = st.sampled_from(["gather", "rows", "blocks", "private", "serial", "atomic"])


def meet(offsets: Sequence[int], step: int) -> bool:
    """Whether two iterations of a loop add to one place."""
    return any((a - b) % step == 0 for k, a in enumerate(offsets) for b in offsets[:k])


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), kind=STENCIL_KINDS)
def test_random_stencils(data: st.DataObject, kind: str) -> None:
    """Gaps, one-sided ones, one point, steps, domains shorter than the stencil down to nothing; onto zeros, too."""
    rank = data.draw(st.integers(1, 3))
    radius = data.draw(st.sampled_from([1, 1, 2, 3] if rank < 3 else [1]))
    point = st.tuples(*[st.integers(-radius, radius)] * rank)
    offsets = data.draw(st.lists(point, min_size=1, max_size=5 if rank < 3 else 4))
    step, *inner = [data.draw(st.sampled_from([1, 1, 1, 2, 3])) for _ in range(rank)]
    fresh = data.draw(st.booleans())
    module = stencil_module(offsets, [f"%c{s}" for s in (step, *inner)], zeros("%ubar", SHAPES[rank]) if fresh else "")
    inputs = []
    for seed in range(5):
        sizes = data.draw(st.tuples(*[st.integers(0, 8 if rank < 3 else 4)] * rank))
        odd = data.draw(st.sampled_from([(radius, radius), (99, -99), (2**62, radius), (radius, -(2**62))]))
        bounds = [b for n in sizes for b in ((radius, radius + n) if n else odd)]
        shape = tuple(n + 2 * radius for n in sizes)
        inputs.append([*arrays(seed, shape, shape, shape), *bounds])
    found = set(check(module, inputs, kind))
    if kind != "private":
        assert found <= {kind, "plain"}
    elif meet(sorted({offset[0] for offset in offsets}), step):  # otherwise only inner loops add: they have no threads
        assert "private" in found or found <= {"plain"}


def time_loop(body: str, t: str) -> str:
    return f"""
  %r, %s = scf.for %step = %c0 to %nt step %c1 iter_args(%ubar = %a, %vbar = %b) -> ({t}, {t}) {{
    {body}
    scf.yield %vbar, %ubar : {t}, {t}
  }}"""


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), kind=STENCIL_KINDS)
def test_swapped_shadows(data: st.DataObject, kind: str) -> None:
    """Zeroing, or multiplying, that is left to the next step, for zero steps and more, where the domains differ too."""
    rank = data.draw(st.integers(1, 2))
    point = st.tuples(*[st.integers(-2, 2)] * rank)
    offsets = data.draw(st.lists(point, min_size=1, max_size=4))
    target = data.draw(point)
    steps = [f"%c{data.draw(st.sampled_from([1, 1, 1, 2]))}" for _ in range(rank)]
    t = SHAPES[rank]
    lower, upper = [f"%lo{d}" for d in range(rank)], [f"%n{d}" for d in range(rank)]
    params = ", ".join(
        [f"{a}: {t}" for a in ("%a", "%b", "%u")] + [f"%lo{d}: index, %n{d}: index" for d in range(rank)]
    )
    left = data.draw(st.sampled_from(["%zero", "%negative", "%damped"]))
    module = program(f"{params}, %nt: index", time_loop(stencil(offsets, lower, upper, steps, target, left), t))
    inputs = []
    for seed in range(6):
        sizes = data.draw(st.tuples(*[st.integers(0, 8)] * rank))
        bounds = [b for n in sizes for b in (2, 2 + n)]
        shape = tuple(n + 4 for n in sizes)
        inputs.append([*arrays(seed, shape, shape, shape), *bounds, seed % 4])
    check(module, inputs, kind)


@pytest.mark.parametrize(("left", "postponed"), [("%negative", True), ("%scaled", True), ("%moved", False)])
def test_multiplying_is_left_to_the_next_step(left: str, postponed: bool) -> None:
    """A step of second order in time leaves the negative of a cotangent, or a parameter times it."""
    body = stencil([(-1,), (0,), (1,)], ["%c1"], ["%n"], ["%c1"], left=left)
    more = "%scaled = arith.mulf %factor, %g : f64\n%moved = arith.addf %g, %damping : f64\n"
    body = body.replace("%negative =", f"{more}%negative =")
    module = program(f"%a: {V}, %b: {V}, %u: {V}, %factor: f64, %n: index, %nt: index", time_loop(body, V))
    inputs = [[*arrays(n, *[(n + 2,)] * 3), -0.5, n + 1, nt] for n in (0, 1, 2, 9) for nt in (0, 1, 2, 5)]
    assert check(module, inputs, "gather") == ["gather"]
    (loop,) = (op for op in module.funcs["f"].walk() if op.opdef is ops.for_)
    stores = [op for op in loop.regions[0].walk() if op.opdef is ops.store and op.operands[1].hint == "vbar"]
    assert bool(stores) is not postponed


def test_multiplying_stays_where_it_is_seen() -> None:
    """The nest reads what it has multiplied."""
    body = stencil([(-1,), (1,)], ["%c1"], ["%n"], ["%c1"], left="%negative")
    body = body.replace("%w = ", f"%peek = memref.load %vbar[%own_0] : {V}\nmemref.store %peek, %out[%i0] : {V}\n%w = ")
    module = program(f"%a: {V}, %b: {V}, %u: {V}, %out: {V}, %n: index, %nt: index", time_loop(body, V))
    inputs = [[*arrays(n, *[(n + 2,)] * 4), n + 1, nt] for n in (0, 1, 2, 9) for nt in (0, 1, 2, 5)]
    check(module, inputs, "gather")
    assert any(op.opdef is ops.store and op.operands[1].hint == "vbar" for op in module.funcs["f"].walk())


def test_three_buffers() -> None:
    """The wave equation: the oldest buffer is overwritten; its shadow gets one term, onto what was zeroed before."""
    body = nest(
        f"""%g = memref.load %nbar[%i0] : {V}
    memref.store %zero, %nbar[%i0] : {V}
    %l = arith.subi %i0, %c1 : index
    %r = arith.addi %i0, %c1 : index
    adc.accumulate %g, %ubar[%l] : {V}
    adc.accumulate %g, %ubar[%r] : {V}
    adc.accumulate %g, %pbar[%i0] : {V}""",
        ["%c1"],
        ["%n"],
    )
    module = program(
        f"%a: {V}, %b: {V}, %c: {V}, %n: index, %nt: index",
        f"""%zero = arith.constant 0.0 : f64
  %x, %y, %z = scf.for %t = %c0 to %nt step %c1 iter_args(%pbar = %a, %ubar = %b, %nbar = %c) -> ({V}, {V}, {V}) {{
    {body}
    scf.yield %nbar, %pbar, %ubar : {V}, {V}, {V}
  }}""",
    )
    inputs = [[*arrays(n, (n + 2,), (n + 2,), (n + 2,)), n + 1, nt] for n in (0, 1, 2, 7) for nt in (0, 1, 2, 5)]
    assert sorted(check(module, inputs, "gather")) == ["gather", "plain"]
    stores = [op for op in module.funcs["f"].walk() if op.opdef is ops.store and op.operands[1].hint == "nbar"]
    assert not stores


def test_zeroing_stays_where_something_else_reads_it() -> None:
    offsets = [(-1,), (1,)]
    body = stencil(offsets, ["%c1"], ["%n"], ["%c1"]) + f"\n%peek = memref.load %vbar[%c1] : {V}\n"
    body += f"memref.store %peek, %out[%step] : {V}"
    module = program(f"%a: {V}, %b: {V}, %u: {V}, %out: {V}, %n: index, %nt: index", time_loop(body, V))
    inputs = [[*arrays(n, *[(n + 2,)] * 3, (9,)), n + 1, nt] for n in (1, 2, 7) for nt in (0, 1, 5)]
    assert check(module, inputs) == ["gather"]
    assert any(op.opdef is ops.store and op.operands[1].hint == "vbar" for op in module.funcs["f"].walk())


def test_heat_step_is_a_gather_and_a_zeroing() -> None:
    cross = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)]
    module = stencil_module(cross, ["%c1", "%c1"])
    inputs = [
        [*arrays(n, *[(n + 2, m + 2)] * 3), 1, n + 1, 1, m + 1] for n, m in ((4, 5), (1, 1), (0, 3), (3, 0), (2, 9))
    ]
    assert check(module, inputs) == ["gather"]
    assert sum(bool(op.attrs.get("threads")) for op in module.funcs["f"].walk()) == 2
    assert not any(op.opdef is ops.for_ for op in module.funcs["f"].walk())


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_windows(data: st.DataObject) -> None:
    """Offsets that are counters of inner loops, up and down; windows wider than the domain, and empty ones."""
    rank = data.draw(st.integers(1, 2))
    kinds = [data.draw(st.sampled_from(["addi", "subi"])) for _ in range(rank)]
    t, w = SHAPES[rank], "%w"
    at = ", ".join(f"%at{d}" for d in range(rank))
    inner = "\n".join(f"%at{d} = arith.{kinds[d]} %i{d}, %k{d} : index" for d in range(rank))
    own = ", ".join(f"%i{d}" for d in range(rank))
    sequential = data.draw(st.booleans())
    heads = [
        f"scf.for %k{d} = %klo to %khi step %c1 {{"
        if sequential
        else f"scf.parallel (%k{d}) = (%klo) to (%khi) step (%c1) {{"
        for d in range(rank)
    ]
    taps = " ".join(f"%s{d} = arith.addi %k{d}, %c4 : index\n" for d in range(rank))
    last = ", ".join(f"%s{d}" for d in range(rank))
    body = nest(
        f"%g = memref.load %vbar[{own}] : {t}\nmemref.store %zero, %vbar[{own}] : {t}\n"
        + "\n".join(heads)
        + f"""
    {inner}
    {taps}
    %c = memref.load {w}[{last}] : {t}
    %y = arith.mulf %g, %c : f64
    adc.accumulate %y, %ubar[{at}] : {t}
    """
        + "}\n" * rank,
        [f"%lo{d}" for d in range(rank)],
        [f"%n{d}" for d in range(rank)],
    )
    params = ", ".join(
        [f"{a}: {t}" for a in ("%ubar", "%vbar", w)] + [f"%lo{d}: index, %n{d}: index" for d in range(rank)]
    )
    module = program(f"{params}, %klo: index, %khi: index", "%zero = arith.constant 0.0 : f64\n" + body)
    inputs = []
    for seed in range(5):
        sizes = data.draw(st.tuples(*[st.integers(0, 7)] * rank))
        low = data.draw(st.integers(-3, 3))
        high = data.draw(st.integers(low - 1, 3))
        bounds = [b for n in sizes for b in (4, 4 + n)]
        shape = tuple(n + 8 for n in sizes)
        inputs.append([*arrays(seed, shape, shape, (9,) * rank), *bounds, low, high])
    assert check(module, inputs) == ["gather"]


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_shifted_images(data: st.DataObject) -> None:
    """The loops over iterations, over a window and over layers are nested in any order, in sequence or in parallel."""
    rank = data.draw(st.integers(1, 2))
    kinds = [data.draw(st.sampled_from(["addi", "subi"])) for _ in range(rank)]
    names = [f"{name}{d}" for d in range(rank) for name in ("i", "k")] + ["f"] * data.draw(st.integers(0, 1))
    order = data.draw(st.permutations(names))
    known = data.draw(st.booleans())  # how many iterations the windows have
    extents = data.draw(st.booleans())  # whether those of the other loops follow from the array's extents
    t = SHAPES[rank]
    limits = {f"k{d}": "%c3" if known else f"%width{d}" for d in range(rank)}
    limits |= {f"i{d}": f"%e{d}" if extents else f"%n{d}" for d in range(rank)} | {"f": "%n0"}
    heads = [
        f"scf.for %{name} = %c0 to {limits[name]} step %c1 {{"
        if place and data.draw(st.booleans())
        else f"scf.parallel (%{name}) = (%c0) to ({limits[name]}) step (%c1) {{"
        for place, name in enumerate(order)
    ]
    at = [f"%at{d} = arith.{kinds[d]} %i{d}, %k{d} : index" for d in range(rank)]
    at += [f"%s{d} = arith.addi %at{d}, %c6 : index" for d in range(rank)]
    own, taps, to = (", ".join(f"%{name}{d}" for d in range(rank)) for name in ("i", "k", "s"))
    layer = "%q = memref.load %p[%f]" if "f" in order else "%q = memref.load %p[%c0]"
    body = "\n".join(
        [
            *(f"%d{d} = memref.dim %ubar, {d} : {t}\n%e{d} = arith.subi %d{d}, %c12 : index" for d in range(rank)),
            *heads,
            *at,
            f"%g = memref.load %vbar[{own}] : {t}\n%c = memref.load %w[{taps}] : {t}",
            f"{layer} : {V}\n%y = arith.mulf %g, %c : f64\n%z = arith.mulf %y, %q : f64",
            f"adc.accumulate %z, %ubar[{to}] : {t}",
            "}\n" * (len(order) - 1) + "} {threads = true}",
        ]
    )
    numbers = ", ".join(f"%{name}{d}: index" for d in range(rank) for name in ("n", "width"))
    module = program(f"%ubar: {t}, %vbar: {t}, %w: {t}, %p: {V}, {numbers}", body)
    inputs = []
    for seed in range(5):
        lengths = data.draw(st.tuples(*[st.integers(0, 6)] * rank))
        windows = data.draw(st.tuples(*[st.integers(0, 6)] * rank))
        shapes = tuple(n + 12 for n in lengths), lengths, (6,) * rank, (7,)
        inputs.append([*arrays(seed, *shapes), *(b for pair in zip(lengths, windows) for b in pair)])
    kinds = check(module, inputs)
    assert order[-1] == "f" or kinds == ["gather"]  # else a loop within each iteration sums first


@pytest.mark.parametrize("order", [("i", "k"), ("k", "i")])
def test_loops_that_grow_with_the_array_are_no_windows(order: tuple[str, str]) -> None:
    """Nothing is chosen at run time: one body for elements with all terms, and one for those near both ends."""
    limits = {"i": "%e", "k": "%width"}
    outer, inner = (f"(%{name}) = (%c0) to ({limits[name]}) step (%c1)" for name in order)
    body = f"""
    %d = memref.dim %ubar, 0 : {V}
    %e = arith.subi %d, %width : index
    scf.parallel {outer} {{
    scf.parallel {inner} {{
    %s = arith.addi %i, %k : index
    %g = memref.load %vbar[%i] : {V}
    %c = memref.load %w[%k] : {V}
    %y = arith.mulf %g, %c : f64
    adc.accumulate %y, %ubar[%s] : {V}
    }}
    }} {{threads = true}}
    """
    module = program(f"%ubar: {V}, %vbar: {V}, %w: {V}, %width: index", body)
    sizes = [(n, width) for n in (0, 1, 2, 5, 9) for width in (0, 1, 3, 7)]
    inputs = [[*arrays(n, (n + width,), (n,), (width,)), width] for n, width in sizes]
    assert check(module, inputs) == ["gather"]
    assert sum(op.opdef is ops.mulf for op in module.funcs["f"].walk()) == 2


@pytest.mark.parametrize("other", ["%i0, %p", "%next, %p", None])
def test_views_in_another_shape(other: str | None) -> None:
    """Rows of a reshaped array are apart, wherever in them iterations add; but not from the rows of neighbours."""
    view = "memref<?x?xf64>"
    second = "" if other is None else f"adc.accumulate %b, %rows[{other}] : {view}"
    body = nest(
        f"""%p = memref.load %places[%i0] : memref<?xindex>
    %next = arith.addi %i0, %c1 : index
    %a = memref.load %v[%i0] : {V}
    adc.accumulate %a, %rows[%i0, %p] : {view}
    %b = arith.addf %a, %a : f64
    {second}""",
        ["%c0"],
        ["%n"],
    )
    reshape = f"%rows = adc.reshape %xbar[%m, %c2] {{groups = [[1, 2]]}} : {V} to {view}"
    body = f"%m = arith.addi %n, %c1 : index\n{reshape}\n{body}"
    module = program(f"%xbar: {V}, %v: {V}, %places: memref<?xindex>, %n: index", body)
    places = np.array([1, 0, 1, 1, 0, 0])
    inputs = [[*arrays(n, (2 * n + 2,), (n,)), places[:n], n] for n in (6, 1, 0)]
    kinds = check(module, inputs)
    assert (kinds == ["plain"]) == (other != "%next, %p")


@pytest.mark.parametrize("subscripts", ["%i2, %i1", "%i0, %i2", "%i1, %i2", "%i2, %i0"])
def test_interchange(subscripts: str) -> None:
    """The adjoint of a product of matrices, and of its transposes."""
    body = nest(
        f"""%g = memref.load %cbar[%i0, %i1] : {M}
    scf.for %i2 = %c0 to %n2 step %c1 {{
      %y = memref.load %a[%i0, %i2] : {M}
      %z = arith.mulf %g, %y : f64
      adc.accumulate %z, %bbar[{subscripts}] : {M}
    }}
    memref.store %zero, %cbar[%i0, %i1] : {M}""",
        ["%c0", "%c0"],
        ["%n0", "%n1"],
    )
    params = f"%bbar: {M}, %cbar: {M}, %a: {M}, %n0: index, %n1: index, %n2: index"
    module = program(params, "%zero = arith.constant 0.0 : f64\n" + body)
    inputs = [
        [*arrays(n, (5, 5), (5, 5), (5, 5)), *sizes]
        for n, sizes in enumerate([(4, 3, 5), (0, 3, 5), (4, 0, 5), (4, 3, 0)])
    ]
    assert check(module, inputs) == ["interchange"]


def test_interchange_of_a_vector() -> None:
    """Weights of a convolution; ``k`` may reach beyond the array where the outer loop runs no iteration."""
    body = nest(
        f"""%g = memref.load %vbar[%i0] : {V}
    scf.for %k = %c0 to %m step %c1 {{
      %at = arith.addi %i0, %k : index
      %y = memref.load %u[%at] : {V}
      %z = arith.mulf %g, %y : f64
      adc.accumulate %z, %wbar[%k] : {V}
    }}""",
        ["%c0"],
        ["%n"],
    )
    module = program(f"%wbar: {V}, %vbar: {V}, %u: {V}, %n: index, %m: index", body)
    inputs = [[*arrays(n, (3,), (6,), (9,)), n, m] for n, m in ((6, 3), (1, 2), (0, 7), (4, 0))]
    assert check(module, inputs) == ["interchange"]


def test_sums_that_would_be_computed_again() -> None:
    """What is added depends on a sum over a row, as in the gradient of ``np.sum((a @ x) ** 2)``: with the loop over
    elements outside, there would be one for each row and element."""
    body = nest(
        f"""%s = scf.parallel (%k) = (%c0) to (%m) step (%c1) init (%zero) -> f64 {{
      %w = memref.load %a[%i0, %k] : {M}
      scf.reduce(%w : f64) {{kinds = ["add"]}}
    }}
    scf.for %j = %c0 to %m step %c1 {{
      %y = memref.load %a[%i0, %j] : {M}
      %z = arith.mulf %s, %y : f64
      adc.accumulate %z, %xbar[%j] : {V}
    }}""",
        ["%c0"],
        ["%n"],
    )
    module = program(f"%xbar: {V}, %a: {M}, %n: index, %m: index", "%zero = arith.constant 0.0 : f64\n" + body)
    inputs = [[*arrays(n, (4,), (5, 4)), n, m] for n, m in ((5, 4), (1, 3), (0, 4), (5, 0))]
    assert "interchange" not in check(module, inputs)
