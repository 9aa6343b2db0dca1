"""version-bounds: what it proves, what it tests in advance, and that programs do the same as before."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adc.ir import ops
from adc.ir.core import Module
from adc.ir.diagnostics import AdcError
from adc.ir.interpret import interpreter
from adc.ir.text.parser import parse_module
from adc.ir.verifier import verify
from adc.passes.analysis.cold import walk_warm
from adc.passes.bounds.version_bounds import version_bounds

V = "memref<?xf64>"
M = "memref<?x?xf64>"
CONSTANTS = "".join(f"  %c{k} = arith.constant {k} : index\n" for k in (-3, -2, -1, 0, 1, 2, 3)).replace("%c-", "%m")


def program(params: str, body: str, results: str = "", returned: str = "") -> Module:
    arrow = f" -> {results}" if results else ""
    module = parse_module(f"func.func @f({params}){arrow} {{\n{CONSTANTS}{body}\n  func.return {returned}\n}}")
    verify(module)
    return module


def outcome(module: Module, args: list[Any]) -> tuple[Any, ...]:
    """What can be seen of a run: the error, the results, the arrays after it; and how many checks were executed."""
    args = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    statistics = interpreter.Statistics()
    error, results = "", []
    try:
        results = interpreter.run(module, "f", args, statistics=statistics)
    except (AdcError, ValueError) as raised:
        error = f"{type(raised).__name__}: {raised}"
    seen = [r.tolist() if isinstance(r, np.ndarray) else r for r in [*results, *args]]
    return (error, seen), statistics.executed[ops.bound] + statistics.executed[ops.assert_]


def checks(module: Module) -> int:
    return sum(o.opdef is ops.bound and o.attrs["check"] for o in walk_warm(module.funcs["f"].body))


def has_versions(module: Module) -> bool:
    return any(o.attrs.get("adc.cold") for o in module.funcs["f"].walk())


def array(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)


# What is proved -------------------------------------------------------------------------------------------------------

PROVED = {
    "own extent": ("%c0", "%n", "%c1", "%i"),
    "interior, left": ("%c1", "%n1", "%c1", "%l"),
    "interior, right": ("%c1", "%n1", "%c1", "%r"),
    "step two": ("%c1", "%n1", "%c2", "%r"),
    "from the end": ("%c0", "%n", "%c1", "%back"),
    "first of a loop that runs": ("%c0", "%n", "%c1", "%c0"),
    "last of a loop that runs": ("%c0", "%n", "%c1", "%m1"),
    "negative": ("%c0", "%n", "%c1", "%minus"),
    "neighbour around the end": ("%c0", "%n", "%c1", "%l"),
}


@pytest.mark.parametrize("name", PROVED)
def test_proved(name: str) -> None:
    lower, upper, step, subscript = PROVED[name]
    module = program(
        f"%a: {V}",
        f"""
  %n = memref.dim %a, 0 : {V}
  %n1 = arith.subi %n, %c1 : index
  scf.for %i = {lower} to {upper} step {step} {{
    %l = arith.subi %i, %c1 : index
    %r = arith.addi %i, %c1 : index
    %b = arith.subi %n, %i : index
    %back = arith.subi %b, %c1 : index
    %minus = arith.subi %m1, %i : index
    %k = adc.bound {subscript}, %n : index
    %x = memref.load %a[%k] : {V}
    %y = arith.addf %x, %x : f64
    memref.store %y, %a[%k] : {V}
  }}""",
    )
    before = [outcome(module, [array(n)])[0] for n in range(5)]
    version_bounds(module)
    verify(module)
    assert checks(module) == 0 and not has_versions(module)
    assert [outcome(module, [array(n)])[0] for n in range(5)] == before


def test_triangle_and_band_proved() -> None:
    module = program(
        f"%a: {V}, %w: index",
        f"""
  %n = memref.dim %a, 0 : {V}
  scf.for %i = %c0 to %n step %c1 {{
    %i1 = arith.addi %i, %c1 : index
    scf.for %j = %i1 to %n step %c1 {{
      %d = arith.subi %j, %i : index
      %d1 = arith.subi %d, %c1 : index
      %k = adc.bound %d1, %n : index
      %x = memref.load %a[%k] : {V}
      memref.store %x, %a[%j] : {V}
    }}
    %lo = arith.subi %i, %c2 : index
    %hi = arith.addi %i, %c3 : index
    %from = arith.maxsi %lo, %c0 : index
    %to = arith.minsi %hi, %n : index
    scf.for %j = %from to %to step %c1 {{
      %k = adc.bound %j, %n : index
      %x = memref.load %a[%k] : {V}
      memref.store %x, %a[%i] : {V}
    }}
  }}""",
    )
    before = [outcome(module, [array(n), 1])[0] for n in range(5)]
    version_bounds(module)
    assert checks(module) == 0 and not has_versions(module)
    assert [outcome(module, [array(n), 1])[0] for n in range(5)] == before


def test_not_proved_where_integers_wrap_around() -> None:
    """``a[i + 5]`` for i below a bound near the end of the integers: no test may be fooled by overflow."""
    module = program(
        f"%a: {V}, %lo: index, %hi: index",
        f"""
  %n = memref.dim %a, 0 : {V}
  %from = arith.addi %lo, %c1 : index
  %to = arith.addi %hi, %c3 : index
  scf.for %i = %from to %to step %c1 {{
    %r = arith.addi %i, %c3 : index
    %k = adc.bound %r, %n : index
    memref.store %c, %a[%k] : {V}
  }}""".replace("%c,", "%x,").replace("  %n = ", "  %x = arith.constant 7.0 : f64\n  %n = ", 1),
    )
    top = 2**63 - 1
    ranges = [(0, 3), (-1, 0), (top - 9, top - 5), (top - 5, top - 3), (-9, top - 1), (top, top - 2), (top, -5)]
    short = [r for r in ranges if r[1] - r[0] < 50]
    before = [outcome(module, [array(8), *r])[0] for r in short]
    version_bounds(module)
    verify(module)
    assert [outcome(module, [array(8), *r])[0] for r in short] == before
    assert outcome(module, [array(8), 0, 2])[1] == 0  # the fast copy


# What is tested beforehand --------------------------------------------------------------------------------------------


def heat(bound: str = "%n1") -> Module:
    """A time loop over swapped buffers, the interior of ``u`` averaged into ``v``."""
    return program(
        f"%u: {M}, %v: {M}, %nt: index, %n1: index",
        f"""
  %m = memref.dim %u, 1 : {M}
  %mm = arith.subi %m, %c1 : index
  %r, %s = scf.for %t = %c0 to %nt step %c1 iter_args(%a = %u, %b = %v) -> ({M}, {M}) {{
    scf.for %i = %c1 to {bound} step %c1 {{
      scf.for %j = %c1 to %mm step %c1 {{
        %an = memref.dim %a, 0 : {M}
        %am = memref.dim %a, 1 : {M}
        %bn = memref.dim %b, 0 : {M}
        %bm = memref.dim %b, 1 : {M}
        %up = arith.subi %i, %c1 : index
        %down = arith.addi %i, %c1 : index
        %left = arith.subi %j, %c1 : index
        %i0 = adc.bound %up, %an : index
        %j0 = adc.bound %left, %am : index
        %x = memref.load %a[%i0, %j0] : {M}
        %i2 = adc.bound %down, %an : index
        %y = memref.load %a[%i2, %j0] : {M}
        %z = arith.addf %x, %y : f64
        %i1 = adc.bound %i, %bn : index
        %j1 = adc.bound %j, %bm : index
        memref.store %z, %b[%i1, %j1] : {M}
      }}
    }}
    scf.yield %b, %a : {M}, {M}
  }}""",
        M,
        f"%r : {M}",
    )


def test_tested_once_outside_of_the_time_loop() -> None:
    module = heat()
    inputs: list[list[Any]] = [
        [array(5, 4), -array(5, 4), 3, 4],
        [array(5, 4), -array(5, 4), 0, 4],
        [array(5, 4), -array(5, 4), 3, 5],  # IndexError in the first step
        [array(6, 4), -array(5, 4), 3, 5],  # ... in the second
        [array(5, 4), -array(5, 2), 1, 4],
        [array(1, 1), -array(1, 1), 2, 0],
    ]
    before = [outcome(module, args) for args in inputs]
    assert [b[0][0].split(":")[0] for b in before] == ["", "", *["BoundsError"] * 3, ""]
    plan = version_bounds(module)
    verify(module)
    assert has_versions(module) and checks(module) == 0
    assert module.funcs["f"].body.ops[-2].opdef is ops.if_
    after = [outcome(module, args) for args in inputs]
    assert [a[0] for a in after] == [b[0] for b in before]
    assert after[0][1] == 0 and after[2][1] > 0
    assert "versioned" in str(plan)


def indirect(store: str) -> Module:
    return program(
        f"%a: {V}, %index: memref<?xi64>, %n: index",
        f"""
  %m = memref.dim %a, 0 : {V}
  scf.for %i = %c0 to %n step %c1 {{
    %e = memref.dim %index, 0 : memref<?xi64>
    %ib = adc.bound %i, %e : index
    %w = memref.load %index[%ib] : memref<?xi64>
    %k = arith.index_cast %w : i64 to index
    %kb = adc.bound %k, %m : index
    %x = memref.load %a[%kb] : {V}
    %jb = adc.bound %i, %m : index
    {store}
  }}""",
    )


INDIRECT: list[list[Any]] = [
    [array(4), np.array([3, 1, 0, 2]), 4],
    [array(4), np.array([3, 1, 0, 2, 9, -9]), 4],
    [array(4), np.array([3, -1, 0, -4]), 4],
    [array(4), np.array([3, 7, 0, -4]), 4],
    [array(4), np.array([3, 1, 0, -4]), 5],
    [array(0), np.array([], np.int64), 0],
]


def test_what_is_loaded_is_tested_by_its_extremes() -> None:
    module = indirect(f"memref.store %x, %a[%jb] : {V}")
    before = [outcome(module, args)[0] for args in INDIRECT]
    plan = version_bounds(module)
    assert checks(module) == 0 and has_versions(module)
    assert [d.outcome for d in plan.decisions["f"]] == ["versioned"] * 3
    assert [outcome(module, args)[0] for args in INDIRECT] == before


def test_what_changes_in_the_loop_stays_checked() -> None:
    module = indirect(f"memref.store %x, %a[%jb] : {V}\n    memref.store %w, %index[%ib] : memref<?xi64>")
    before = [outcome(module, args)[0] for args in INDIRECT]
    plan = version_bounds(module)
    assert checks(module) == 1 and has_versions(module)
    assert sorted(d.outcome for d in plan.decisions["f"]) == ["checked", "versioned", "versioned"]
    assert [outcome(module, args)[0] for args in INDIRECT] == before


def test_flat_subscript_of_a_matrix() -> None:
    """``a[i * w + j]`` with a width known only at run time."""
    module = program(
        f"%a: {V}, %h: index, %w: index",
        f"""
  %m = memref.dim %a, 0 : {V}
  %x = arith.constant 2.0 : f64
  scf.for %i = %c0 to %h step %c1 {{
    scf.for %j = %c0 to %w step %c1 {{
      %row = arith.muli %i, %w : index
      %k = arith.addi %row, %j : index
      %kb = adc.bound %k, %m : index
      memref.store %x, %a[%kb] : {V}
    }}
  }}""",
    )
    inputs = [[array(6), *hw] for hw in [(2, 3), (3, 2), (3, 3), (0, 9), (9, 0), (7, 1), (2, -3)]]
    before = [outcome(module, args)[0] for args in inputs]
    version_bounds(module)
    after = [outcome(module, args) for args in inputs]
    assert [a[0] for a in after] == before
    assert after[0][1] == 0 and after[1][1] == 0 and has_versions(module)


def test_induction_variable() -> None:
    """``a[k]; k += 2`` is linear in the counter."""
    module = program(
        f"%a: {V}, %n: index",
        f"""
  %m = memref.dim %a, 0 : {V}
  %x = arith.constant 2.0 : f64
  %end = scf.for %i = %c1 to %n step %c1 iter_args(%k = %c1) -> (index) {{
    %kb = adc.bound %k, %m : index
    memref.store %x, %a[%kb] : {V}
    %next = arith.addi %k, %c2 : index
    scf.yield %next : index
  }}""",
        "index",
        "%end : index",
    )
    before = [outcome(module, [array(6), n])[0] for n in range(6)]
    version_bounds(module)
    after = [outcome(module, [array(6), n]) for n in range(6)]
    assert [a[0] for a in after] == before and after[3][1] == 0 and after[5][1] > 0


def test_remainders_and_quotients() -> None:
    """``a[(i + k) % n]`` and ``a[i // 2]`` are in range."""
    module = program(
        f"%a: {V}, %k: index",
        f"""
  %n = memref.dim %a, 0 : {V}
  scf.for %i = %c0 to %n step %c1 {{
    %x = arith.addi %i, %k : index
    %r = arith.remsi %x, %n : index
    %p = arith.cmpi ne, %r, %c0 : index
    %s = arith.xori %r, %n : index
    %q = arith.cmpi slt, %s, %c0 : index
    %pq = arith.andi %p, %q : i1
    %t = arith.addi %r, %n : index
    %m = arith.select %pq, %t, %r : index
    %mb = adc.bound %m, %n : index
    %half = arith.floordivsi %i, %c2 : index
    %hb = adc.bound %half, %n : index
    %v = memref.load %a[%mb] : {V}
    memref.store %v, %a[%hb] : {V}
  }}""",
    )
    inputs = [[array(n), k] for n in (0, 1, 5) for k in (-7, 0, 3)]
    before = [outcome(module, args)[0] for args in inputs]
    version_bounds(module)
    assert checks(module) == 0 and not has_versions(module)
    assert [outcome(module, args)[0] for args in inputs] == before


def test_asserts_are_tested_beforehand() -> None:
    module = program(
        f"%a: {V}, %b: {V}",
        f"""
  %n = memref.dim %a, 0 : {V}
  scf.for %i = %c0 to %n step %c1 {{
    %m = memref.dim %b, 0 : {V}
    %same = arith.cmpi eq, %n, %m : index
    adc.assert %same {{error = "ValueError", message = "shapes differ"}} : i1
    %x = memref.load %b[%i] : {V}
    memref.store %x, %a[%i] : {V}
  }}""",
    )
    inputs = [[array(n), array(m)] for n in (0, 2, 3) for m in (2, 3)]
    before = [outcome(module, args)[0] for args in inputs]
    version_bounds(module)
    after = [outcome(module, args) for args in inputs]
    assert [a[0] for a in after] == before
    assert after[2][1] == 0 and "shapes differ" in after[3][0][0]


def test_code_does_not_explode() -> None:
    """Many nests: each is copied once, and not again by a second run."""
    nest = f"""
  scf.for %i = %c0 to %k step %c1 {{
    scf.for %j = %c0 to %i step %c1 {{
      %kb = adc.bound %j, %n : index
      memref.store %x, %a[%kb] : {V}
    }}
  }}"""
    top = f"  %n = memref.dim %a, 0 : {V}\n  %x = arith.constant 2.0 : f64"
    module = program(f"%a: {V}, %k: index", top + nest * 20)
    size = sum(1 for _ in module.funcs["f"].walk())
    version_bounds(module)
    assert checks(module) == 0
    assert sum(1 for _ in module.funcs["f"].walk()) < 4 * size
    again = sum(1 for _ in module.funcs["f"].walk())
    assert "versioned" not in str(version_bounds(module))
    assert sum(1 for _ in module.funcs["f"].walk()) == again


# Random nests ---------------------------------------------------------------------------------------------------------


def random_program(rng: random.Random) -> str:
    """Nests over ``a`` (1-D), ``b`` (2-D) with bounds and subscripts that are linear, triangular, flat, clipped."""
    lines: list[str] = []
    fresh = iter(range(10_000))

    def emit(text: str) -> str:
        name = f"%v{next(fresh)}"
        lines.append(f"{name} = {text}")
        return name

    def remainder(x: str, n: str) -> str:
        """Python's ``x % n``."""
        r = emit(f"arith.remsi {x}, {n} : index")
        nonzero = emit(f"arith.cmpi ne, {r}, %c0 : index")
        signs = emit(f"arith.xori {r}, {n} : index")
        differ = emit(f"arith.cmpi slt, {signs}, %c0 : index")
        both = emit(f"arith.andi {nonzero}, {differ} : i1")
        return emit(f"arith.select {both}, {emit(f'arith.addi {r}, {n} : index')}, {r} : index")

    def expression(atoms: list[str], size: int) -> str:
        total = rng.choice([*atoms, "%c0", "%c1", "%c2", "%m1"])
        for _ in range(rng.randrange(size)):
            kind = rng.choice(["addi", "subi", "subi", "addi", "muli", "maxsi", "minsi", "floordivsi", "%"])
            if kind == "%":
                total = remainder(total, rng.choice(["%c2", "%c3", "%many", "%many"]))
                continue
            if kind == "floordivsi":
                total = emit(f"arith.floordivsi {total}, {rng.choice(['%c2', '%c3'])} : index")
                continue
            total = emit(f"arith.{kind} {total}, {rng.choice([*atoms, '%c0', '%c1', '%c1', '%c2', '%m1'])} : index")
        return total

    def access(atoms: list[str]) -> None:
        x = emit("arith.constant 1.5 : f64")
        if rng.random() < 0.5:
            n = rng.choice(["%n", "%n", emit(f"memref.dim %a, 0 : {V}")])
            k = emit(f"adc.bound {expression(atoms, 3)}, {n} : index")
            value = emit(f"memref.load %a[{k}] : {V}")
            total = emit(f"arith.addf {x}, {value} : f64")
            lines.append(f"memref.store {total}, %a[{k}] : {V}")
        else:
            k = emit(f"adc.bound {expression(atoms, 3)}, %h : index")
            j = emit(f"adc.bound {expression(atoms, 3)}, %w : index")
            lines.append(f"memref.store {x}, %b[{k}, {j}] : {M}")

    def nest(counters: list[str], depth: int) -> None:
        atoms = [*counters, "%n", "%h", "%w", "%p", "%q"]
        lower = expression([*counters, "%c0", "%c1", "%p"], 2)
        upper = expression(atoms, 3)
        i = f"%i{next(fresh)}"
        kind = rng.random() < 0.8
        step = rng.choice(["%c1", "%c1", "%c2", "%c3"])
        lines.append(
            f"scf.for {i} = {lower} to {upper} step {step} {{"
            if kind
            else f"scf.parallel ({i}) = ({lower}) to ({upper}) step ({step}) {{"
        )
        for _ in range(rng.randrange(1, 3)):
            if depth > 1 and rng.random() < 0.6:
                nest([*counters, i], depth - 1)
            elif rng.random() < 0.2:
                c = emit(f"arith.cmpi slt, {i}, %q : index")
                lines.append(f"scf.if {c} {{")
                access([*counters, i])
                lines.append("}")
            else:
                access([*counters, i, "%p"])
        lines.append("}")

    lines += [f"%n = memref.dim %a, 0 : {V}", f"%h = memref.dim %b, 0 : {M}", f"%w = memref.dim %b, 1 : {M}"]
    lines += ["%w1 = arith.addi %w, %n : index", "%many = arith.maxsi %w1, %c1 : index"]
    for _ in range(rng.randrange(1, 3)):
        nest([], 3)
    return "\n".join(lines)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32 - 1))
def test_random_nests_do_the_same(seed: int) -> None:
    rng = random.Random(seed)
    module = program(f"%a: {V}, %b: {M}, %p: index, %q: index", random_program(rng))
    inputs = []
    for _ in range(6):
        shape = (rng.randrange(6), rng.randrange(6))
        inputs.append([array(rng.randrange(7)), array(*shape), rng.randrange(-2, 5), rng.randrange(-2, 7)])
    before = [outcome(module, args) for args in inputs]
    version_bounds(module)
    verify(module)
    after = [outcome(module, args) for args in inputs]
    assert [a[0] for a in after] == [b[0] for b in before]
    assert all(a[1] <= b[1] for a, b in zip(after, before))


def picked(least: str, subscript: str) -> Module:
    """The places of the last elements above and not above a half; then some access by them, in a loop."""
    return program(
        f"%a: {V}, %n: index",
        f"""
  %half = arith.constant 0.5 : f64
  %m = memref.dim %a, 0 : {V}
  scf.for %i = %c0 to %n step %c1 {{
    %p, %q = scf.for %j = {least} to %m step %c1 iter_args(%p0 = %c0, %q0 = %c0) -> (index, index) {{
      %x = memref.load %a[%j] : {V}
      %y = arith.cmpf ogt, %x, %half : f64
      %p1 = arith.select %y, %j, %p0 : index
      %q1 = scf.if %y -> (index) {{
        scf.yield %q0 : index
      }} else {{
        scf.yield %j : index
      }}
      scf.yield %p1, %q1 : index, index
    }}
    %l = arith.subi %p, %c1 : index
    %d = arith.subi %q, %p : index
    %k = adc.bound {subscript}, %m : index
    %x = memref.load %a[%k] : {V}
    memref.store %x, %a[%k] : {V}
  }}""",
    )


@pytest.mark.parametrize(("least", "subscript"), [("%c0", "%p"), ("%c1", "%q"), ("%c1", "%l"), ("%c1", "%d")])
def test_what_a_loop_picks_is_in_its_range(least: str, subscript: str) -> None:
    """Differences of two of them may be negative, wherever each of them is."""
    module = picked(least, subscript)
    inputs = [[np.array([0.0, 1.0, 0.0, 1.0, 0.0][:m]), n] for m in range(6) for n in (0, 2)]
    inputs.append([np.array([1.0, 0.0, 0.0, 1.0]), 2])
    before = [outcome(module, args)[0] for args in inputs]
    version_bounds(module)
    verify(module)
    assert checks(module) == 0
    assert [outcome(module, args)[0] for args in inputs] == before


GUARDED = """
  %n = memref.dim %x, 0 : memref<?xf64>
  %m = memref.dim %at, 0 : memref<?xi64>
  %none = arith.constant NUMBER : i64
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %m step %c1 iter_args(%r = %zero) -> (f64) {
    %k = memref.load %at[%i] : memref<?xi64>
    %absent = arith.cmpi PREDICATE, %k, %none : i64
    %q = scf.if %absent -> (f64) {
      scf.yield %r : f64
    } else {
      %j = arith.index_cast %k : i64 to index
      %b = adc.bound %j, %n : index
      %v = memref.load %x[%b] : memref<?xf64>
      %t = arith.addf %r, %v : f64
      scf.yield %t : f64
    }
    scf.yield %q : f64
  }
"""


@pytest.mark.parametrize(
    ("predicate", "number", "indices", "checked"),
    [
        ("eq", -1, [2, -1, 0, -1], False),  # no parent, no neighbour
        ("slt", 0, [2, -7, 0, -1], False),
        ("sge", 3, [2, 9, 0, 3], False),
        ("ne", 2, [2, 2, 50, -50], False),
        ("eq", -1, [2, -1, -2, 0], True),  # counts from the end, as Python
        ("eq", -1, [2, -1, 3, 0], True),  # out of range
        ("slt", 0, [-5, -1], False),  # nothing is read
        ("slt", 0, [], False),
    ],
)
def test_only_subscripts_that_are_used_are_tested(predicate, number, indices, checked):
    body = GUARDED.replace("PREDICATE", predicate).replace("NUMBER", str(number))
    args = [np.array([1.0, 2.0, 4.0]), np.array(indices, np.int64)]
    module = program(f"%x: {V}, %at: memref<?xi64>", body, "f64", "%s : f64")
    expected, _ = outcome(module, args)
    version_bounds(module)
    verify(module)
    found, executed = outcome(module, args)
    assert found == expected
    assert bool(executed) == checked
