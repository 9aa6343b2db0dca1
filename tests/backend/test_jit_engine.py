"""Optimiser and JIT: their outputs, several threads at once, debug information, compile time."""

from __future__ import annotations

import concurrent.futures
import itertools
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from adc.backend.jit import engine
from adc.backend.lowering import lower
from adc.backend.optimize import optimize
from adc.backend.target import host, kept_machine, short_code_generation
from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Func, Loc
from adc.ir.text.parser import parse_module
from adc.ir.types import f64
from tests.backend import far_memory, lowering_programs
from tests.backend.lowering_harness import Native, module_of

_SQUARE = """
func.func @f(%x: f64) -> f64 {
  %y = arith.mulf %x, %x : f64
  func.return %y : f64
}
func.func @"g.grad-1"(%x: f64) -> f64 attributes {adc.entry = true} {
  %y = func.call @f(%x) : (f64) -> f64
  func.return %y : f64
}
"""


def test_products_can_be_asked_for_in_any_order() -> None:
    lowered = lower.lower_module(parse_module(_SQUARE))
    first, second = optimize(str(lowered), lowered.target), optimize(str(lowered), lowered.target)
    assert first.object_code == second.object_code
    assert first.llvm_ir() == second.llvm_ir() == first.llvm_ir()
    assert first.assembly() == second.assembly()
    assert first.object_code[:4] == b"\x7fELF" or not lowered.target.triple.endswith("linux-gnu")


def test_only_exported_functions_are_visible() -> None:
    lowered = lower.lower_module(parse_module(_SQUARE))
    assert lowered.exports == ("adc.g.grad-1",)
    text = optimize(str(lowered), lowered.target).llvm_ir()
    assert re.findall(r"^define .*@\"?([\w.$-]+)", text, re.MULTILINE) == ["adc.g.grad-1"]
    every = lower.lower_module(parse_module(_SQUARE), exports=["f", "g.grad-1"])
    assert Native(every_module := parse_module(_SQUARE), debug=True)("g.grad-1", 3.0) == [9.0]
    assert every.exports == ("adc.f", "adc.g.grad-1") and every_module


def test_invalid_text_and_missing_symbols_are_errors() -> None:
    lowered = lower.lower_module(parse_module(_SQUARE))
    with pytest.raises(RuntimeError, match="parsing"):
        optimize("define nonsense", lowered.target)
    missing = "declare void @adc_no_such_function()\ndefine void @f() { call void @adc_no_such_function() ret void }"
    with pytest.raises(RuntimeError, match="materialize"):
        engine().load(optimize(missing, lowered.target).object_code, ["f"])


def test_several_threads_compile_at_once() -> None:
    def compile_one(k: int) -> float:
        native = Native(parse_module(_SQUARE.replace("mulf %x, %x", "addf %x, %x" if k % 2 else "mulf %x, %x")))
        return float(native("g.grad-1", float(k))[0])

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = list(pool.map(compile_one, range(16)))
    assert found == [2.0 * k if k % 2 else float(k * k) for k in range(16)]


_STRIDES = """
define void @f(ptr noalias %a, ptr noalias %b, i64 %s, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %k = mul i64 %i, %s
  %from = getelementptr double, ptr %b, i64 %k
  %x = load double, ptr %from
  %to = getelementptr double, ptr %a, i64 %i
  store double %x, ptr %to
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %out
out:
  ret void
}
"""


def test_other_users_of_llvm_have_their_own_code_generation() -> None:
    """Loop strength reduction is left out in what is generated here, and nowhere else."""

    def plain() -> str:
        return str(host().machine().emit_assembly(llvm.parse_assembly(_STRIDES, llvm.create_context())))

    before = plain()
    with short_code_generation():
        assert plain() != before
    optimize(_STRIDES, host(), 0).object_code  # noqa: B018
    assert plain() == before
    with pytest.raises(KeyError), short_code_generation():
        raise KeyError
    assert plain() == before


@pytest.mark.parametrize("level", [0, 3])
def test_code_does_not_depend_on_what_was_generated_before(level: int) -> None:
    """The target machine is kept; one that is new generates the same bytes."""
    first, *_, last = (program.text for program in lowering_programs.ALL.values())
    texts = [*(str(lower.lower_module(parse_module(text))) for text in (_SQUARE, first, last)), _STRIDES]

    def by(machine: llvm.TargetMachine, text: str) -> bytes:
        made = optimize(text, host(), level)
        with short_code_generation():
            return bytes(machine.emit_object(made._take()))

    new = [by(host().machine(level), text) for text in texts]
    for k in (3, 0, 1, 1, 2, 0, 3, 2):
        with kept_machine(host(), level) as machine:
            again = by(machine, texts[k])
        assert again == optimize(texts[k], host(), level).object_code == new[k]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda k: optimize(texts[k], host(), level).object_code, [0, 1, 2, 3] * 4)) == new * 4


def test_machine_code_is_mapped_to_lines_of_the_source() -> None:
    func = Func("f", [f64], [f64], loc=Loc("/somewhere/model.py", 11))
    with insert_at(func.body, Loc("/somewhere/model.py", 12, 4)):
        y = ops.sin(func.args[0])
    with insert_at(func.body, Loc("/somewhere/model.py", 13, 8)):
        build(ops.return_, [ops.cos(y)])
    native = Native(module_of(func), debug=True)
    assembly = native.optimized.assembly()
    assert "model.py" in assembly
    assert {int(n) for n in re.findall(r"\.loc\s+\d+\s+(\d+)", assembly)} >= {12, 13}
    assert ".loc" not in Native(module_of(func)).optimized.assembly()


def test_lowering_takes_linear_time() -> None:
    """Counted in calls of Python's functions, which do not depend on what else the machine does."""

    def calls(count: int) -> int:
        func = Func("f", [f64], [f64])
        with insert_at(func.body):
            value = func.args[0]
            for k in range(count):
                value = ops.addf(ops.mulf(value, func.args[0]), ops.constant(value=float(k), type=f64))
            build(ops.return_, [value])
        module = module_of(func)
        made = itertools.count()
        sys.setprofile(lambda frame, event, arg: next(made) if event in ("call", "c_call") else None)
        try:
            lower.lower_module(module)
        finally:
            sys.setprofile(None)
        return next(made)

    assert calls(20_000) < 11 * calls(2000)


def test_names_in_other_alphabets() -> None:
    func = Func('λ "quoted"', [f64], [f64])
    with insert_at(func.body):
        build(ops.return_, [ops.sqrt(func.args[0])])
    native = Native(module_of(func), debug=True)
    assert native.lowered.exports == ('adc.λ "quoted"',)
    assert native('λ "quoted"', 16.0) == [4.0]


def test_perf_is_told_the_names_of_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    module = parse_module("""
func.func @main(%a: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, 0 : memref<?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %x = memref.load %a[%i] : memref<?xf64>
    %y = math.sin %x : f64
    memref.store %y, %a[%i] : memref<?xf64>
    scf.reduce()
  } {threads = true}
  func.return
}
""")
    path = Path(f"/tmp/perf-{os.getpid()}.map")
    if not Path("/tmp").is_dir() or path.exists():
        pytest.skip("no place for the file")
    monkeypatch.setenv("ADC_PERF_MAP", "1")
    try:
        native = Native(module)
        if native.optimized.object_code[:4] != b"\x7fELF":
            pytest.skip("not an ELF system")
        lines = [line.split() for line in path.read_text().splitlines()]
    finally:
        path.unlink(missing_ok=True)
    names = {name: (int(start, 16), int(size, 16)) for start, size, name in lines}
    assert names["adc.main"][0] == native.library.address("adc.main")
    assert all(size > 0 for _, size in names.values())
    assert any("$loop" in name for name in names)


@pytest.mark.skipif(platform.system() != "Linux" or platform.machine() != "x86_64", reason="reserves memory by address")
def test_code_and_constants_are_together_where_free_memory_is_not() -> None:
    """Beside large libraries there may be no two free places that are near each other."""
    expected = 1e-30
    for k in range(far_memory.TERMS):
        expected = expected * float(f"1.{k:03}") + 1e-30
    command = [sys.executable, "-m", "tests.backend.far_memory"]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(expected, rel=1e-12)
