"""The loop nests of long functions are separate compilation units: compiled once, whichever function has them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adc import jit_grad
from adc.backend import object_cache, running, runtime
from adc.backend.lowering import lower_units as units_of
from adc.backend.lowering.lower_units import Units, lower_units
from adc.commands.loading import run_file
from adc.driver import cpu
from adc.ir import ops
from adc.ir.callgraph import called_in
from adc.ir.core import Module
from adc.ir.text.parser import parse_module
from adc.passes.calls.inline import Inline
from adc.passes.outlining.outline_nests import OutlineNests

X, Y = np.linspace(0.5, 1.5, 12), np.linspace(-1.0, 1.0, 12)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    runtime.address("adc_default_threads")
    monkeypatch.setenv("ADC_CACHE", "1")
    monkeypatch.setenv("ADC_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(OutlineNests, "most", property(lambda self: 3))  # functions of few loops are long
    yield tmp_path


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that LLVM was given: what was not in the cache."""
    texts: list[str] = []
    optimize_or_find_all = cpu.optimize_or_find_all

    def noted(levels: dict[str, int], target: Any) -> Any:
        keys = {text: object_cache.key(text, target, level) for text, level in levels.items()}
        texts.extend(text for text, key in keys.items() if object_cache.find(key) is None)
        return optimize_or_find_all(levels, target)

    monkeypatch.setattr(cpu, "optimize_or_find_all", noted)
    return texts


def program(folder: Path, body: list[str], tail: str = "return np.sum(x)", name: str = "f") -> Callable[..., Any]:
    """The function ``f(x, y, k)`` with ``body``, as a file of its own has it; it is not decorated."""
    lines = ["x = x.copy()", "z = x.copy()", "n = x.shape[0]", *body, tail]
    head = f"import math\nimport numpy as np\n\n\ndef {name}(x, y, k):\n"
    file = folder / f"{name}{len(list(folder.iterdir()))}.py"
    file.write_text(head + textwrap.indent("\n".join(lines), "    ") + "\n")
    return getattr(run_file(file), name)


def step(function: str, by: float = 1.5, at: str = "i + 1") -> str:
    return f"for i in range(n - 1):\n    z[i] = math.{function}(x[{at}] * {by}) + y[i]\nx, z = z, x"


FUNCTIONS = "sin", "cos", "tanh", "atan", "erf"


def long(changed: str = "", by: float = 1.5) -> list[str]:
    """Loops of different kinds, of which none is fused with another: each reads what lies beside it."""
    each = [step(function, by + k) for k, function in enumerate(FUNCTIONS)]
    return [*each[:2], changed, *each[3:]] if changed else each


def same(function: Callable[..., Any]) -> None:
    """Values as Python's, gradients as in forward mode."""
    made = jit_grad(argnums=0)(function)
    value, gradient = made.value_and_grad(X, Y, 1)
    assert value == pytest.approx(function(X, Y, 1), rel=1e-14)
    direction = np.cos(np.arange(12.0))
    _, tangent = made.jvp((X, Y, 1), (direction, None, None))
    assert np.dot(gradient, direction) == pytest.approx(tangent, rel=1e-11)


def test_a_changed_statement_is_all_that_is_compiled(folder: Path, compiled: list[str]) -> None:
    same(program(folder, long()))
    first = len(compiled)
    compiled.clear()
    same(program(folder, long(step("expm1", 0.25))))
    assert 0 < len(compiled) <= first // 2


def test_coefficients_and_names_do_not_make_another_unit(folder: Path, compiled: list[str]) -> None:
    made = jit_grad(program(folder, long()))
    made(X, Y, 1)
    assert sum("adc.unit." in text for text in compiled) >= len(FUNCTIONS)
    compiled.clear()
    other = program(folder, long(by=2.25), name="g")
    assert jit_grad(other)(X, Y, 1) == pytest.approx(other(X, Y, 1), rel=1e-14)
    assert not any('define i32 @"adc.unit.' in text for text in compiled)


@pytest.mark.parametrize("at", [0, 4])
@pytest.mark.parametrize("threads", [1, 2])
def test_errors_in_a_unit_name_their_line(folder: Path, at: int, threads: int) -> None:
    """The places of errors have other numbers in each unit than in what calls it."""
    body = long()
    body[at] = "for i in range(n - 1):\n    z[i] = x[i + k] + y[k]"
    function = program(folder, body)
    source = Path(function.__code__.co_filename).read_text().splitlines()
    line = next(n for n, text in enumerate(source, 1) if "x[i + k]" in text)
    for call in (made := jit_grad(threads=threads)(function)), made.grad:
        with pytest.raises(IndexError, match="index 12 is out of bounds") as error:
            call(X, Y, 2)
        assert error.value.lineno == line


def test_two_units_of_one_text_are_called_from_two_lines(folder: Path) -> None:
    body = long()
    body[1] = body[4] = "for i in range(n - 1):\n    z[i] = x[i + k] + y[k]"
    body[3] = "k += 1"
    function = program(folder, body)
    source = Path(function.__code__.co_filename).read_text().splitlines()
    lines = [n for n, text in enumerate(source, 1) if "x[i + k]" in text]
    made = jit_grad(function)
    for k, line in ((2, lines[0]), (1, lines[1])):
        with pytest.raises(IndexError) as error:
            made(X, Y, k)
        assert error.value.lineno == line


@pytest.mark.parametrize("threads", [1, 2])
def test_errors_of_units_that_units_and_threads_call(
    folder: Path, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies of rows with checks are functions, which nests call, in parallel loops too; each knows its place."""
    rows = """
for i in prange(n - 1):
    for j in range(k[i] * k[i] // 20, k[i]):
        z[i] = z[i] + math.FUNCTION(z[i]) * y[j]
"""
    body = ["from adc import prange", *(rows.replace("FUNCTION", function) for function in FUNCTIONS)]
    function = program(folder, body, tail="return np.sum(z)")
    source = Path(function.__code__.co_filename).read_text().splitlines()
    in_threads: set[str] = set()
    lower_all = lower_units

    def noted(module: Module, **options: Any) -> Units:
        made = lower_all(module, **options)
        called = called_in(module, (ops.parallel,))
        in_threads.update(name for name, unit in made.units.items() if name in called and unit.sites)
        return made

    monkeypatch.setattr(units_of, "lower_units", noted)
    compiled = jit_grad(argnums=1, threads=threads)(function)
    p = np.arange(12)
    value, gradient = compiled.value_and_grad(X, Y, p)
    assert value == pytest.approx(function(X, Y, p), rel=1e-13) and np.all(gradient[:10] != 0.0)
    assert in_threads
    p[-2] = 14
    for call in compiled, compiled.grad:
        with pytest.raises(IndexError, match="index 12 is out of bounds") as error:
            call(X, Y, p)
        assert "math.sin" in source[error.value.lineno - 1]


def test_loops_of_units_count_their_steps(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What they count for is known by other names in each unit than in what calls it."""
    kinds = [f"for i in range(1, n):\n    z[i] = math.{f}(z[i - 1]) + x[i] * z[i]" for f in FUNCTIONS]
    function = program(folder, [*kinds, "for i in range(2, n):\n    x[i] = x[i - 2] * z[i]"])
    source = Path(function.__code__.co_filename).read_text().splitlines()
    made: list[Units] = []
    lower_all = lower_units

    def noted(module: Module, **options: Any) -> Units:
        made.append(lower_all(module, **options))
        return made[-1]

    monkeypatch.setattr(units_of, "lower_units", noted)
    compiled = jit_grad(function)
    compiled.value_and_grad(X, Y, 1), compiled(X, Y, 1), compiled.grad(X, Y, 1)
    assert all(sum(len(unit.counted) for unit in each.units.values()) >= len(FUNCTIONS) for each in made)
    running.watch(True)
    try:
        running.read()
        compiled(X, Y, 1), compiled.grad(X, Y, 1)
        value, gradient = running.read()
    finally:
        running.watch(False)
    assert value.forward is not None and value.reverse is None and (value.forward.done, value.forward.total) == (10, 10)
    assert "x[i - 2]" in source[value.forward.loop.loc.line]
    # The cosines are computed ahead, in one block of steps.
    assert gradient.reverse is not None and (gradient.reverse.done, gradient.reverse.total) == (1, 1)
    assert "math.sin" in source[gradient.reverse.loop.loc.line]


NEST = """
func.func @NAME(%a: memref<?xf64>, %i: index) attributes {adc.unit = true, adc.noinline = true} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, 0 : memref<?xf64>
  scf.for %k = %c0 to %n step %c1 {
    %x = memref.load %a[%k] : memref<?xf64>
    memref.store %x, %a[%i] : memref<?xf64>
  }
  func.return
}
"""
CALLER = """
func.func @f(%a: memref<?xf64>, %i: index) {
  func.call @NAME(%a, %i) : (memref<?xf64>, index) -> ()
  func.return
}
"""


def symbols(text: str) -> list[str]:
    return list(lower_units(parse_module(text), threads=True, vectors=True).texts)


def test_a_text_does_not_tell_names() -> None:
    one, other = (symbols((NEST + CALLER).replace("NAME", name)) for name in ("one", "other.nest_2"))
    assert len(one) == 1 and one == other


HELPERS = "func.func @g() {\n  func.return\n}\nfunc.func @h() {\n  func.call @g() : () -> ()\n  func.return\n}\n"
CALL = "func.call @h() : () -> ()\n  "
IN_A_LOOP = """
func.func @steps() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  scf.for %k = %c0 to %c9 step %c1 {
    func.call @NAME() : () -> ()
  }
  func.return
}
"""


def test_functions_that_units_call_are_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """But not those for which other code has to know them: exported ones, and those to be inlined in loops."""
    text = (HELPERS + NEST.replace("  func.return", f"  {CALL}func.return") + CALLER).replace("NAME", "one")
    monkeypatch.setattr(units_of, "MOST_COPIED", 1)  # so that @g is copied, and @h is not

    def units(text: str, *exports: str) -> set[str]:
        return set(lower_units(parse_module(text), threads=True, vectors=True, exports=["f", *exports]).units)

    assert units(text) == {"one", "h"}
    assert units(text, "h") == set()
    assert units(text + IN_A_LOOP.replace("NAME", "h")) == set()
    allocated = "  %c999 = arith.constant 999 : index\n  %b = memref.alloc(%c999) : memref<?xf64>\n"
    making = text.replace("func.func @h() {\n", f"func.func @h() {{\n{allocated}")
    assert units(making + IN_A_LOOP.replace("NAME", "h")) == {"one", "h"}


def test_each_unit_has_copies_of_short_functions_that_it_calls() -> None:
    """Whatever these are called: a function may be called as units are."""
    calling = (HELPERS + NEST.replace("  func.return", f"  {CALL}func.return") + CALLER).replace("NAME", "one")
    made = lower_units(parse_module(calling), threads=True, vectors=True)
    assert list(made.units) == ["one"]
    assert all(text.count("define ") == 3 for text in made.texts.values())
    for first, second, unit in ("first", "second", "third"), ("unit", "unit.1", "one"), ("unit.2", "one", "unit"):
        text = calling.replace("@one", f"@{unit}").replace("@h", f"@{second}").replace("@g", f"@{first}")
        assert lower_units(parse_module(text), threads=True, vectors=True).texts == made.texts


HELPER = """
def helper(i):
    a = math.sin(z[i]) + math.cos(z[i]) * y[i] + math.exp(-z[i])
    b = math.log(2 + a * a) + math.atan(a) * x[i] + math.sqrt(1 + a * a)
    c = math.tanh(a + b) + math.sinh(a * 0.1) + math.hypot(a, b) + y[i + k]
    return a + b * c
"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", ["range", "prange"])
def test_errors_of_functions_that_units_have_copies_of(
    folder: Path, monkeypatch: pytest.MonkeyPatch, threads: int, kind: str
) -> None:
    """These number their errors, too, from where the unit's begin, which the unit is told."""
    nests = [f"for i in {kind}(n - {m}):\n    x[i] = x[i] + 0.1 * helper(i)" for m in (2, 3, 4, 5)]
    body = ["from adc import prange", f"helped = np.ones(n)\n{HELPER}", *nests]
    function = program(folder, body)
    source = Path(function.__code__.co_filename).read_text().splitlines()
    line = next(n for n, text in enumerate(source, 1) if "y[i + k]" in text)
    copies: list[int] = []
    lower_all = lower_units
    monkeypatch.setattr(Inline, "most", property(lambda self: 4))

    def noted(module: Module, **options: Any) -> Units:
        made = lower_all(module, **options)
        copies.extend(text.count('@"adc.unit.') for text in made.texts.values())
        return made

    monkeypatch.setattr(units_of, "lower_units", noted)
    made = jit_grad(argnums=1, threads=threads)(function)
    assert made(X, Y, 1) == pytest.approx(function(X, Y, 1), rel=1e-13)
    direction = np.cos(np.arange(12.0))
    _, tangent = made.jvp((X, Y, 1), (None, direction, None))
    assert np.dot(made.grad(X, Y, 1), direction) == pytest.approx(tangent, rel=1e-11)
    assert max(copies) > 1
    for call in made, made.grad:
        with pytest.raises(IndexError, match="index 12 is out of bounds") as error:
            call(X, Y, 3)
        assert error.value.lineno == line


STEPS = """
func.func @NAME(%a: memref<?xf64>, %i: index) attributes {adc.unit = true} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %i step %c1 {
    func.call @one(%a, %k) : (memref<?xf64>, index) -> ()
    BODY
  }
  func.return
}
"""
SUM = """%n = memref.dim %a, 0 : memref<?xf64>
    scf.for %j = %c0 to %n step %c1 {
      %x = memref.load %a[%j] : memref<?xf64>
      memref.store %x, %a[%c0] : memref<?xf64>
    }"""


@pytest.mark.parametrize("body", ["", SUM])
def test_loops_that_call_units_and_do_little_else_are_not_worth_optimising(body: str) -> None:
    text = NEST.replace("NAME", "one") + STEPS.replace("BODY", body).replace("NAME", "two")
    made = lower_units(parse_module(text + CALLER.replace("NAME", "two")), threads=True, vectors=True)
    one, two = (made.units[name].symbol for name in ("one", "two"))
    assert made.worth_it == ({one, two} if body else {one})


def test_what_nearly_always_ends_with_an_error_is_not_worth_optimising() -> None:
    plain = (NEST + CALLER).replace("NAME", "one")
    exceptional = plain.replace("{adc.unit = true", "{adc.exceptional = true, adc.unit = true")
    assert exceptional != plain
    ordinary, rare = (lower_units(parse_module(t), threads=True, vectors=True) for t in (plain, exceptional))
    assert ordinary.worth_it == set(ordinary.texts) and not rare.worth_it
    # Where another function has the same text, it is worth it.
    both = exceptional + NEST.replace("NAME", "two") + CALLER.replace("@f", "@g").replace("NAME", "two")
    assert lower_units(parse_module(both), threads=True, vectors=True).worth_it == ordinary.worth_it


PRODUCTS = """
func.func @NAME(%a: memref<?x?xf64>, %b: memref<?x?xf64>, %c: memref<?x?xf64>) attributes {adc.unit = true} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %n = memref.dim %a, 0 : memref<?x?xf64>
  scf.parallel (%k) = (%c0) to (%n) step (%c8) {
    BODY
    linalg.matmul ins(%a, %b : memref<?x?xf64>, memref<?x?xf64>) outs(%c : memref<?x?xf64>)
    scf.reduce()
  } {threads = true}
  func.return
}
"""
PRODUCTS_CALLER = """
func.func @f(%a: memref<?x?xf64>, %b: memref<?x?xf64>, %c: memref<?x?xf64>) {
  func.call @NAME(%a, %b, %c) : (memref<?x?xf64>, memref<?x?xf64>, memref<?x?xf64>) -> ()
  func.return
}
"""
STORED = """%x = memref.load %a[%k, %c0] : memref<?x?xf64>
    memref.store %x, %c[%k, %c0] : memref<?x?xf64>"""


@pytest.mark.parametrize("body", ["", "%m = arith.addi %k, %c8 : index", STORED])
def test_what_the_run_time_support_does_is_not_worth_optimising(body: str) -> None:
    text = (PRODUCTS.replace("BODY", body) + PRODUCTS_CALLER).replace("NAME", "one")
    made = lower_units(parse_module(text), threads=True, vectors=True)
    assert len(made.texts) == 1 and len(made.worth_it) == (body == STORED)
    assert all(("optnone" in text) == (body != STORED) for text in made.texts.values())
