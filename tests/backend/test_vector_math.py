"""Hot loops are SIMD: vector mathematics, no overlap checks, no scalar calls."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from adc.backend import target
from adc.backend.lowering import lower
from adc.backend.lowering.vectormath import variants
from adc.backend.optimize import optimize
from adc.ir.text.parser import parse_module
from tests.backend.lowering_harness import Native

HOST = target.host()
simd = pytest.mark.skipif(
    not HOST.vector_math or not (HOST.has("avx2") or HOST.has("avx512f")), reason="no vector mathematics here"
)

_STENCIL = """
func.func @main(%a: memref<?xTYPE>, %b: memref<?xTYPE>, %c: memref<?xTYPE>, %out: memref<?xTYPE>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant 2.0 : TYPE
  %three = arith.constant 3.0 : TYPE
  %four = arith.constant 4.0 : TYPE
  %n = memref.dim %a, 0 : memref<?xTYPE>
  LOOP {
    %x = memref.load %a[%i] : memref<?xTYPE>
    %y = memref.load %b[%i] : memref<?xTYPE>
    %z = memref.load %c[%i] : memref<?xTYPE>
    %x2 = arith.mulf %two, %x : TYPE
    %s = math.sin %x2 : TYPE
    %y3 = arith.mulf %three, %y : TYPE
    %t = math.cos %y3 : TYPE
    %st = arith.mulf %s, %t : TYPE
    %z4 = arith.mulf %four, %z : TYPE
    %r = arith.mulf %st, %z4 : TYPE
    memref.store %r, %out[%i] : memref<?xTYPE>
    END
  }
  func.return
}
"""
_FOR = ("scf.for %i = %c0 to %n step %c1", "scf.yield")
_PARALLEL = ("scf.parallel (%i) = (%c0) to (%n) step (%c1)", "scf.reduce()")


def stencil(loop: tuple[str, str], t: str = "f64") -> str:
    return _STENCIL.replace("TYPE", t).replace("LOOP", loop[0]).replace("END", loop[1])


def loops(assembly: str) -> list[str]:
    """The innermost loops: from a label to the jump back to it, with no other label between."""
    found, label, body = [], "", []
    for line in assembly.splitlines():
        if match := re.match(r"^(\.LBB\w+):", line):
            label, body = match[1], []
        else:
            body.append(line)
            if label and re.search(rf"\sj\w+\s+{re.escape(label)}\b", line):
                found.append("\n".join(body))
    return found


@simd
@pytest.mark.parametrize("loop", [_FOR, _PARALLEL], ids=["for", "parallel"])
@pytest.mark.parametrize("t", ["f64", "f32"])
def test_the_stencil_calls_vector_sine_and_cosine(loop: tuple[str, str], t: str) -> None:
    native = Native(parse_module(stencil(loop, t)))
    suffix = "" if t == "f64" else "f"
    hot = [body for body in loops(native.optimized.assembly()) if "_ZGV" in body]
    assert hot
    register = "%zmm" if HOST.vector_bits == 512 else "%ymm"
    for body in hot:
        calls = set(re.findall(r"callq?\s+(\w+)", body))
        assert all(c.startswith("_ZGV") and c.endswith((f"_sin{suffix}", f"_cos{suffix}")) for c in calls), calls
        assert len(calls) == 2
    assert any(register in body for body in hot)
    assert "vector.memcheck" not in native.optimized.llvm_ir()
    dtype = np.float64 if t == "f64" else np.float32
    a, b, c = (np.random.default_rng(k).random(1003).astype(dtype) for k in range(3))
    out = np.zeros_like(a)
    native("main", a, b, c, out)
    expected = np.sin(2 * a) * np.cos(3 * b) * 4 * c
    np.testing.assert_allclose(out, expected, rtol=1e-13 if t == "f64" else 2e-5)


def test_without_vector_mathematics_and_fused_multiply_adds_the_calls_are_scalar() -> None:
    if not HOST.is_x86:
        pytest.skip("all processors of this kind have fused multiply-adds")
    module = parse_module(stencil(_FOR))
    plain = replace(target.for_cpu("x86-64"), vector_math=False)
    lowered = lower.lower_module(module, plain)
    assert "_ZGV" not in str(lowered)
    assert re.search(r"callq?\s+sin", optimize(str(lowered), plain).assembly())


@pytest.mark.skipif(not HOST.is_x86, reason="x86's vector function ABI")
def test_code_for_other_processors() -> None:
    module = parse_module(stencil(_FOR))
    for cpu, register, absent in (("x86-64", "%xmm", "%ymm"), ("x86-64-v3", "%ymm", "%zmm"), ("x86-64-v4", "%zmm", "")):
        other = target.for_cpu(cpu)
        assembly = optimize(str(lower.lower_module(module, other)), other).assembly()
        assert register in assembly, cpu
        assert not absent or absent not in assembly, cpu


@pytest.mark.skipif(not HOST.is_x86, reason="x86's gathers")
def test_strided_loads_are_gathered_where_that_is_fast() -> None:
    module = parse_module("""
func.func @main(%a: memref<?x?xf64>, %out: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %out, 0 : memref<?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %x = memref.load %a[%i, %c1] : memref<?x?xf64>
    %y = arith.mulf %x, %x : f64
    memref.store %y, %out[%i] : memref<?xf64>
    scf.reduce()
  }
  func.return
}
""")
    for cpu, gathers in (("sapphirerapids", True), ("cascadelake", False), ("skylake", False)):
        other = target.for_cpu(cpu)
        assembly = optimize(str(lower.lower_module(module, other)), other).assembly()
        assert re.search(r"vmulpd\s+%[yz]mm", assembly), cpu
        assert ("gather" in assembly) == gathers, cpu


def test_only_what_the_library_exports_is_offered() -> None:
    for symbol, arity in (("sin", 1), ("pow", 2), ("hypot", 2), ("lgamma", 1), ("no_such_function", 1)):
        for name, lanes in variants(HOST, symbol, 64, arity):
            assert target.libmvec_exports(name)
            assert f"N{lanes}{'v' * arity}_{symbol}" in name
    assert variants(HOST, "no_such_function", 64, 1) == []
    assert variants(HOST, "lgamma", 64, 1) == []


_HEAT = """
func.func @main(%u: memref<?x?xf64>, %v: memref<?x?xf64>, %nt: index, %k: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %four = arith.constant 4.0 : f64
  %a, %b = scf.for %t = %c0 to %nt step %c1 iter_args(%p = %u, %q = %v) -> (memref<?x?xf64>, memref<?x?xf64>) {
    %n0 = memref.dim %p, 0 : memref<?x?xf64>
    %m0 = memref.dim %p, 1 : memref<?x?xf64>
    %n = arith.subi %n0, %c1 : index
    %m = arith.subi %m0, %c1 : index
    ROWS {
      %im = arith.subi %i, %c1 : index
      %ip = arith.addi %i, %c1 : index
      COLUMNS {
        %jm = arith.subi %j, %c1 : index
        %jp = arith.addi %j, %c1 : index
        %c = memref.load %p[%i, %j] : memref<?x?xf64>
        %x0 = memref.load %p[%im, %j] : memref<?x?xf64>
        %x1 = memref.load %p[%ip, %j] : memref<?x?xf64>
        %x2 = memref.load %p[%i, %jm] : memref<?x?xf64>
        %x3 = memref.load %p[%i, %jp] : memref<?x?xf64>
        %s0 = arith.addf %x0, %x1 : f64
        %s1 = arith.addf %x2, %x3 : f64
        %s2 = arith.addf %s0, %s1 : f64
        %c4 = arith.mulf %four, %c : f64
        %d = arith.subf %s2, %c4 : f64
        %kd = arith.mulf %k, %d : f64
        %new = arith.addf %c, %kd : f64
        memref.store %new, %q[%i, %j] : memref<?x?xf64>
        END
      }
      END
    } ATTRS
    scf.yield %q, %p : memref<?x?xf64>, memref<?x?xf64>
  }
  func.return
}
"""


def heat(parallel: bool) -> str:
    head = "scf.parallel (%I) = (%c1) to (%N) step (%c1)" if parallel else "scf.for %I = %c1 to %N step %c1"
    text = _HEAT.replace("END", "scf.reduce()" if parallel else "scf.yield")
    text = text.replace("ROWS", head.replace("I", "i").replace("N", "n"))
    text = text.replace("COLUMNS", head.replace("I", "j").replace("N", "m"))
    return text.replace("ATTRS", "{threads = true}" if parallel else "")


@pytest.mark.parametrize("parallel", [False, True])
def test_a_stencil_between_swapped_buffers_vectorises_without_checks(parallel: bool) -> None:
    native = Native(parse_module(heat(parallel)))
    text = native.optimized.llvm_ir()
    assert "vector.body" in text
    assert "vector.memcheck" not in text and "scevcheck" not in text
    if HOST.is_x86 and HOST.has("avx2"):
        packed = [b for b in loops(native.optimized.assembly()) if re.search(r"v\w+pd\s.*%[yz]mm", b)]
        assert packed
        assert not any(re.search(r"\bcall", b) for b in packed)
    u = np.random.default_rng(3).random((40, 53))
    p, q = u.copy(), u.copy()
    native("main", p, q, 6, 0.1, threads=2)
    a, b = u.copy(), u.copy()
    for _ in range(6):
        b[1:-1, 1:-1] = a[1:-1, 1:-1] + 0.1 * (
            a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] - 4 * a[1:-1, 1:-1]
        )
        a, b = b, a
    np.testing.assert_allclose(p, a, rtol=1e-13)
    np.testing.assert_allclose(q, b, rtol=1e-13)


@simd
def test_the_terms_of_a_sum_in_given_order_are_vectorised() -> None:
    native = Native(parse_module("""
func.func @main(%a: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f64
  %n = memref.dim %a, 0 : memref<?xf64>
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%p = %z) -> (f64) {
    %x = memref.load %a[%i] : memref<?xf64>
    %y = math.exp %x : f64
    %q = arith.addf %p, %y : f64
    scf.yield %q : f64
  }
  func.return %s : f64
}
"""))
    assert any("_ZGV" in body for body in loops(native.optimized.assembly()))
    # The order shows: from the left, each small term is lost beside the large one.
    a = np.full(1000, -38.0)
    a[0] = 0.0
    assert native("main", a) == [1.0]
    assert native("main", a[::-1].copy())[0] > 1.0


@simd
def test_functions_called_in_a_loop_are_vectorised_with_it() -> None:
    steps = "\n".join(
        f"  %s{k} = math.sin %x{k} : f64\n  %x{k + 1} = arith.addf %s{k}, %y : f64" for k in range(100)
    )
    native = Native(parse_module(f"""
func.func @wave(%x0: f64, %y: f64) -> (f64, f64) {{
{steps}
  %r = func.call @half(%x100) : (f64) -> f64
  func.return %x100, %r : f64, f64
}}
func.func @half(%x: f64) -> f64 {{
  %c = arith.constant 0.5 : f64
  %y = arith.mulf %x, %c : f64
  func.return %y : f64
}}
func.func @main(%a: memref<?xf64>, %b: memref<?xf64>) attributes {{adc.entry = true}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, 0 : memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {{
    %x = memref.load %a[%i] : memref<?xf64>
    %y, %z = func.call @wave(%x, %x) : (f64, f64) -> (f64, f64)
    %w = arith.addf %y, %z : f64
    memref.store %w, %b[%i] : memref<?xf64>
  }}
  func.return
}}
"""))
    assert any("_ZGV" in body for body in loops(native.optimized.assembly()))
    a, b = np.linspace(0, 1, 77), np.zeros(77)
    native("main", a, b)
    x = a
    for _ in range(100):
        x = np.sin(x) + a
    np.testing.assert_allclose(b, 1.5 * x, rtol=1e-12)


def test_the_lines_of_vectorised_loops_are_known() -> None:
    head = "func.func @main(%a: memref<?xf64>, %b: memref<?xf64>) {\n"
    head += "  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n"
    text = head + """
  %c2 = arith.constant 2.0 : f64
  %n = memref.dim %a, 0 : memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %a[%i] : memref<?xf64> loc("model.py":5:1)
    %y = arith.mulf %x, %c2 : f64 loc("model.py":5:1)
    memref.store %y, %b[%i] : memref<?xf64> loc("model.py":5:1)
  } loc("model.py":4:1)
  scf.for %i = %c1 to %n step %c1 {
    %j = arith.subi %i, %c1 : index loc("model.py":8:1)
    %x = memref.load %b[%j] : memref<?xf64> loc("model.py":8:1)
    %y = arith.divf %x, %c2 : f64 loc("model.py":8:1)
    memref.store %y, %b[%i] : memref<?xf64> loc("model.py":8:1)
  } loc("model.py":7:1)
  func.return
} loc("model.py":1:1)
"""
    text = text.replace("model.py", "a \\22model\\22.py")
    for debug in (False, True):
        native = Native(parse_module(text), debug=debug)
        found = {native.lowered.places[place] for place in native.optimized.vectorized()}
        assert found == {('a "model".py', 4)}
        assert debug or "model" not in str(native.lowered)


def interleaving(text: str, cpu: str = "") -> set[str]:
    lowered = str(lower.lower_module(parse_module(text), target.for_cpu(cpu) if cpu else HOST))
    return set(re.findall(r'"llvm.loop.interleave.count", i32 (\d+)', lowered))


@pytest.mark.skipif(not HOST.vector_math or not HOST.is_x86, reason="no vector mathematics here")
def test_sixteen_doubles_at_a_time() -> None:
    text = stencil(_PARALLEL)
    for cpu, count in (("x86-64", "8"), ("x86-64-v3", "4"), ("x86-64-v4", "4")):
        assert interleaving(text, cpu) == {count}
    # One function without a variant, and vectors are taken apart for it.
    assert interleaving(text.replace("math.cos", "adc.lgamma"), "x86-64-v3") == {"1"}
    assert interleaving(text.replace("scf.reduce()\n  }", "scf.reduce()\n  } {adc.lanes = true}"), "x86-64-v3") == {"1"}
    # Where LLVM may not find SIMD worth it, it would interleave scalars.
    for loop in (_FOR, ("scf.parallel (%i) = (%c0) to (%n) step (%two_)", "scf.reduce()")):
        program = stencil(loop).replace("%two =", "%two_ = arith.constant 2 : index\n  %two =")
        assert interleaving(program, "x86-64-v3") == {"1"}
    assert interleaving(text.replace("load %b[%i]", "load %b[%j]").replace(
        "%x =", "%j = arith.muli %i, %i : index\n    %x ="), "x86-64-v3") == {"1"}
    for shifted in ("arith.addi %i, %n", "arith.subi %i, %c1", "adc.bound %i, %n {check = false}"):
        assert interleaving(text.replace("load %b[%i]", "load %b[%j]").replace(
            "%x =", f"%j = {shifted} : index\n    %x ="), "x86-64-v3") == {"4"}
    assert interleaving(re.sub("math.(sin|cos) (%\\w+)", r"arith.addf \2, \2", text), "x86-64-v3") == set()


@simd
def test_every_length() -> None:
    """Whole vectors together, single ones, and what is left over."""
    native = Native(parse_module(stencil(_PARALLEL)))
    a, b, c = (np.random.default_rng(k).random(70) for k in range(3))
    for n in range(70):
        out = np.full(n + 1, 7.0)
        native("main", a[:n].copy(), b[:n].copy(), c[:n].copy(), out)
        np.testing.assert_allclose(out[:n], np.sin(2 * a[:n]) * np.cos(3 * b[:n]) * 4 * c[:n], rtol=1e-13)
        assert out[n] == 7.0
