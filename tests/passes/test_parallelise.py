"""parallelise: which loops become parallel, which do not and why, refused races; any order gives the same result."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adc.ir.core import Loc, Module
from adc.ir.diagnostics import CompileError
from adc.ir.interpret import interpreter
from adc.ir.text.parser import parse_module
from adc.ir.verifier import verify
from adc.passes.threads.parallelise import parallelise

V = "memref<?xf64>"
M = "memref<?x?xf64>"
I = "memref<?xi64>"
CONSTANTS = "".join(f"  %c{k} = arith.constant {k} : index\n" for k in (-3, -2, -1, 0, 1, 2, 3, 24)).replace(
    "%c-", "%m"
)


def program(params: str, body: str, results: str = "", returned: str = "") -> Module:
    arrow = f" -> {results}" if results else ""
    module = parse_module(f"func.func @f({params}){arrow} {{\n{CONSTANTS}{body}\n  func.return {returned}\n}}")
    verify(module)
    return module


def kinds(module: Module) -> list[str]:
    plan = parallelise(module)
    verify(module)
    return [loop.kind for loop in plan.loops["f"]]


def loop(body: str, lower: str = "%c0", upper: str = "%n", step: str = "%c1", params: str = "") -> Module:
    return program(
        f"%a: {V}, %b: {M}, %s: {V}, %index: {I}, %n: index, %w: index{params}",
        f"""
  %x = arith.constant 1.0 : f64
  %last = arith.subi %n, %c1 : index
  scf.for %i = {lower} to {upper} step {step} {{
    %i1 = arith.addi %i, %c1 : index
    %i2 = arith.addi %i, %i : index
    %i21 = arith.addi %i2, %c1 : index
    %back = arith.subi %last, %i : index
    %far = arith.addi %i, %n : index
    {body}
  }}""",
    )


def at(*subscripts: str, of: str = "%a") -> str:
    """Read one element, write another."""
    t = V if of == "%a" else M
    half = len(subscripts) // 2
    read, write = ", ".join(subscripts[:half]), ", ".join(subscripts[half:])
    return f"%y = memref.load {of}[{read}] : {t}\n memref.store %y, {of}[{write}] : {t}"


INDEPENDENT = {
    "own element": loop(at("%i", "%i")),
    "from the end": loop(at("%back", "%back")),
    "odd and even": loop(at("%i2", "%i21")),
    "step two, neighbours": loop(at("%i", "%i1"), step="%c2"),
    "two halves": loop(at("%far", "%i")),
    "own row": loop(at("%i", "%c1", "%i", "%c0", of="%b")),
    "read only elsewhere": loop(f"%y = memref.load %s[%i1] : {V}\n memref.store %y, %a[%i] : {V}"),
    "private array": loop(
        f"%t = memref.alloc(%n) : {V}\n memref.store %x, %t[%c0] : {V}\n %y = memref.load %t[%c0] : {V}\n"
        f" memref.store %y, %a[%i] : {V}\n memref.dealloc %t : {V}"
    ),
}

DEPENDENT = {
    "neighbour": (loop(at("%i1", "%i")), "is read"),
    "carried back": (loop(at("%i", "%i1")), "is read"),
    "one element": (loop(f"memref.store %x, %a[%c0] : {V}"), "write the same"),
    "mirrored": (loop(at("%back", "%i")), "is read"),
    "indirect": (
        loop(
            f"%k = memref.load %index[%i] : {I}\n %j = arith.index_cast %k : i64 to index\n"
            f" memref.store %x, %a[%j] : {V}"
        ),
        "write the same",
    ),
    "check": (loop(f"%k = adc.bound %i, %w : index\n memref.store %x, %a[%k] : {V}"), "may raise IndexError"),
    "whole array": (loop(f"linalg.fill ins(%x : f64) outs(%a : {V})"), "write the same"),
    "diagonal": (loop(at("%i", "%i", "%i1", "%i1", of="%b")), "is read"),
}


@pytest.mark.parametrize("name", INDEPENDENT)
def test_independent(name: str) -> None:
    assert kinds(INDEPENDENT[name]) == ["threads"]


@pytest.mark.parametrize("name", DEPENDENT)
def test_dependent(name: str) -> None:
    module, reason = DEPENDENT[name]
    (plan,) = parallelise(module).loops["f"]
    assert plan.kind == "sequential" and reason in plan.reason


def test_nest_of_a_flat_array() -> None:
    """Rows of ``a[i * w + j]`` do not overlap."""
    body = f"""scf.for %j = %c0 to %w step %c1 {{
      %r = arith.muli %i, %w : index
      %k = arith.addi %r, %j : index
      memref.store %x, %a[%k] : {V}
    }}"""
    assert kinds(loop(body)) == ["threads", "parallel"]


def test_interior_of_a_flat_array() -> None:
    """That rows do not overlap follows from the test before the loop, which says that the width does not overflow."""
    module = program(
        f"%a: {V}, %n: index, %w: index",
        f"""
  %x = arith.constant 1.0 : f64
  %limit = arith.constant 1000000 : index
  %small = arith.cmpi sle, %w, %limit : index
  %some = arith.cmpi sge, %w, %c0 : index
  %ok = arith.andi %small, %some : i1
  %end = arith.subi %w, %c1 : index
  scf.if %ok {{
    scf.for %i = %c1 to %n step %c1 {{
      scf.for %j = %c1 to %end step %c1 {{
        %r = arith.muli %i, %w : index
        %k = arith.addi %r, %j : index
        memref.store %x, %a[%k] : {V}
      }}
    }}
  }}
  scf.for %i = %c1 to %n step %c1 {{
    scf.for %j = %c1 to %end step %c1 {{
      %r = arith.muli %i, %w : index
      %k = arith.addi %r, %j : index
      memref.store %x, %a[%k] : {V}
    }}
  }}""",
    )
    assert kinds(module) == ["threads", "parallel", "sequential", "threads"]


def test_triangle() -> None:
    body = f"""scf.for %j = %c0 to %i step %c1 {{
      %y = memref.load %b[%j, %i] : {M}
      memref.store %y, %b[%i, %j] : {M}
    }}"""
    assert kinds(loop(body)) == ["threads", "parallel"]
    assert kinds(loop(body.replace("to %i ", "to %i1 "))) == ["threads", "parallel"]
    assert kinds(loop(body.replace("to %i ", "to %n "))) == ["sequential", "threads"]


def test_time_loop_stays_and_its_nest_is_parallel() -> None:
    module = program(
        f"%u: {M}, %v: {M}, %nt: index, %n: index",
        f"""
  %r, %s = scf.for %t = %c0 to %nt step %c1 iter_args(%a = %u, %b = %v) -> ({M}, {M}) {{
    scf.for %i = %c1 to %n step %c1 {{
      scf.for %j = %c1 to %n step %c1 {{
        %up = arith.subi %i, %c1 : index
        %x = memref.load %a[%up, %j] : {M}
        memref.store %x, %b[%i, %j] : {M}
      }}
    }}
    scf.yield %b, %a : {M}, {M}
  }}""",
        M,
        f"%r : {M}",
    )
    plan = parallelise(module)
    assert [p.kind for p in plan.loops["f"]] == ["sequential", "threads", "parallel"]
    assert "carries a" in str(plan)


def test_arguments_that_may_overlap_are_not_told_apart() -> None:
    module = program(
        f"%u: {V}, %v: {V}, %n: index",
        f"""
  scf.for %i = %c0 to %n step %c1 {{
    %i1 = arith.addi %i, %c1 : index
    %x = memref.load %u[%i1] : {V}
    memref.store %x, %v[%i] : {V}
  }}""",
    )
    for attrs in module.funcs["f"].arg_attrs[:2]:
        attrs["adc.alias"] = 0
    assert kinds(module) == ["sequential"]


def test_views_are_seen_through() -> None:
    row = "memref<?xf64, strided<[1], offset: ?>>"
    rows = "memref<?x?xf64, strided<[?, 1], offset: ?>>"
    one = f"[%c1, %w][%c1, %c1] {{dropped = [0], static_steps = [1, 1]}} : {M} to {row}"
    two = f"[%c2, %w][%c1, %c1] {{static_steps = [1, 1]}} : {M} to {rows}"
    for window, t, expected in ((one, row, "threads"), (two, rows, "sequential")):
        body = f"%v = memref.subview %b[%i, %c0]{window}\n linalg.fill ins(%x : f64) outs(%v : {t})"
        assert kinds(loop(body)) == [expected]


def test_integers_reduce_and_floats_do_not() -> None:
    text = f"""
  %total, %least = scf.for %i = %c0 to %n step %c1 iter_args(%k = %c3, %m = %c24) -> (index, index) {{
    %v = memref.load %index[%i] : {I}
    %w = arith.index_cast %v : i64 to index
    %k1 = arith.addi %k, %w : index
    %k2 = arith.addi %i, %k1 : index
    %least1 = arith.minsi %m, %w : index
    scf.yield %k2, %least1 : index, index
  }}"""
    module = program(f"%index: {I}, %n: index", text, "(index, index)", "%total, %least : index, index")
    data = np.array([5, -3, 7, 2])
    before = interpreter.run(module, "f", [data, 4])
    assert kinds(module) == ["threads"]
    assert interpreter.run(module, "f", [data, 4], order=interpreter.shuffled(1)) == before == [20, -3]
    floats = program(
        f"%a: {V}, %n: index, %z: f64",
        f"""
  %total = scf.for %i = %c0 to %n step %c1 iter_args(%k = %z) -> (f64) {{
    %v = memref.load %a[%i] : {V}
    %k1 = arith.addf %k, %v : f64
    scf.yield %k1 : f64
  }}""",
        "f64",
        "%total : f64",
    )
    assert kinds(floats) == ["sequential"]


def test_few_iterations_around_many() -> None:
    body = f"""scf.for %i = %c0 to %c3 step %c1 {{
    scf.for %j = %c0 to %n step %c1 {{
      memref.store %x, %b[%i, %j] : {M}
    }}
  }}"""
    module = program(f"%b: {M}, %n: index, %x: f64", body)
    assert kinds(module) == ["parallel", "threads"]


# Races ----------------------------------------------------------------------------------------------------------------

RACES = {
    "one element": f"memref.store %x, %a[%c0] : {V}",
    "neighbour": f"%y = memref.load %a[%i1] : {V}\n memref.store %y, %a[%i] : {V}",
    "inner loop": f"scf.for %j = %c0 to %n step %c1 {{\n memref.store %x, %a[%j] : {V}\n }}",
}
NO_RACES = {
    "own element": f"%y = memref.load %a[%i] : {V}\n memref.store %y, %a[%i] : {V}",
    "guarded": f"%c = arith.cmpi eq, %i, %c0 : index\n scf.if %c {{\n memref.store %x, %a[%c0] : {V}\n }}",
    "triangle": f"scf.for %j = %i to %i1 step %c1 {{\n memref.store %x, %a[%j] : {V}\n }}",
    "undecided": f"%k = arith.remsi %i, %n : index\n memref.store %x, %a[%k] : {V}",
    "odd and even": f"%y = memref.load %a[%even] : {V}\n memref.store %y, %a[%odd] : {V}",
}


def prange(body: str) -> Module:
    module = program(
        f"%a: {V}, %n: index, %x: f64",
        f"""
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {{
    %i1 = arith.addi %i, %c1 : index
    %even = arith.addi %i, %i : index
    %odd = arith.addi %even, %c1 : index
    {body}
  }} {{prange = true}}""",
    )
    for line, op in enumerate(module.funcs["f"].walk(), 1):
        op.loc = Loc("race.py", line)
    return module


@pytest.mark.parametrize("name", RACES)
def test_races_are_refused(name: str) -> None:
    with pytest.raises(CompileError, match="parallel loop") as caught:
        parallelise(prange(RACES[name]))
    assert caught.value.loc.line > 0 and len(caught.value.notes) == 2


@pytest.mark.parametrize("name", NO_RACES)
def test_no_race_is_not_refused(name: str) -> None:
    assert kinds(prange(NO_RACES[name]))[0] == "threads"


# Random nests ---------------------------------------------------------------------------------------------------------


def random_program(rng: random.Random) -> str:
    """Nests of up to three loops that read and write ``a`` and ``b`` by linear subscripts in range."""
    lines: list[str] = ["%x = arith.constant 1.0 : f64"]
    fresh = iter(range(10_000))

    def emit(text: str) -> str:
        name = f"%v{next(fresh)}"
        lines.append(f"{name} = {text}")
        return name

    def subscript(counters: list[str]) -> str:
        total = "%c24"
        for c in counters:
            for _ in range(rng.choice([0, 0, 1, 1, 1, 2])):
                total = emit(f"arith.{rng.choice(['addi', 'addi', 'subi'])} {total}, {c} : index")
        return emit(f"arith.addi {total}, {rng.choice(['%c0', '%c0', '%c1', '%c2', '%m1'])} : index")

    def access(counters: list[str]) -> None:
        value = "%x"
        for _ in range(rng.randrange(3)):
            if rng.random() < 0.5:
                y = emit(f"memref.load %a[{subscript(counters)}] : {V}")
            else:
                y = emit(f"memref.load %b[{subscript(counters)}, {subscript(counters)}] : {M}")
            value = emit(f"arith.addf {value}, {y} : f64")
        if rng.random() < 0.5:
            lines.append(f"memref.store {value}, %a[{subscript(counters)}] : {V}")
        else:
            lines.append(f"memref.store {value}, %b[{subscript(counters)}, {subscript(counters)}] : {M}")

    def nest(counters: list[str], depth: int) -> None:
        i = f"%i{next(fresh)}"
        upper = rng.choice(["%c3", "%n", "%n", *counters])
        lower = rng.choice(["%c0", "%c0", "%c1", *counters])
        lines.append(f"scf.for {i} = {lower} to {upper} step {rng.choice(['%c1', '%c1', '%c2'])} {{")
        if depth > 1 and rng.random() < 0.7:
            nest([*counters, i], depth - 1)
        else:
            access([*counters, i])
        if rng.random() < 0.3:
            access([*counters, i])
        lines.append("}")

    nest([], 3)
    return "\n".join(lines)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32 - 1))
def test_any_order_does_the_same(seed: int) -> None:
    rng = random.Random(seed)
    module = program(f"%a: {V}, %b: {M}, %n: index", random_program(rng))
    arrays = [np.array(rng.choices(range(9), k=64), float), np.arange(64.0 * 64).reshape(64, 64) % 7]
    before = []
    for n in (2, 4):
        before.append([a.copy() for a in arrays])
        interpreter.run(module, "f", [*before[-1], n])
    parallelise(module)
    verify(module)
    for n, expected in zip((2, 4), before, strict=True):
        for order in (interpreter.backward, interpreter.shuffled(seed)):
            seen = [a.copy() for a in arrays]
            interpreter.run(module, "f", [*seen, n], order=order)
            assert all(np.array_equal(a, b) for a, b in zip(seen, expected, strict=True))


def test_only_loops_that_the_user_wrote_are_checked_for_races() -> None:
    """What a pass made parallel was proved by what it knew then; code may have been simplified since."""
    module = prange(RACES["one element"])
    for op in module.funcs["f"].walk():
        op.attrs.pop("prange", None)
    assert kinds(module) == ["threads"]
