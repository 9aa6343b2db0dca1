"""Analysis results are returned as long as the IR that they depend on is unchanged, and no longer."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from adc import jit_grad
from adc.driver import compiler
from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.callgraph import callees
from adc.ir.core import Func, Module, Op
from adc.ir.known import forget
from adc.ir.states import version
from adc.ir.text.parser import parse_module
from adc.ir.types import MemRefType, f64
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.base import Verify, run_pipeline
from adc.passes.pipelines import SIMPLIFY
from tests.passes import random_ir
from tests.passes.test_changes import PROGRAMS

TEXT = """
func.func @f(%a: memref<?xf64>, %x: f64, %k: index) -> f64 {
  %b = func.call @g(%a) : (memref<?xf64>) -> memref<?xf64>
  %y = math.sin %x : f64
  memref.store %y, %b[%k] : memref<?xf64>
  func.return %y : f64
}
func.func @g(%a: memref<?xf64>) -> memref<?xf64> {
  %b = func.call @h(%a) : (memref<?xf64>) -> memref<?xf64>
  func.return %b : memref<?xf64>
}
func.func @h(%a: memref<?xf64>) -> memref<?xf64> {
  func.return %a : memref<?xf64>
}
func.func @alone(%a: memref<?xf64>, %k: index) -> f64 {
  %y = memref.load %a[%k] : memref<?xf64>
  func.return %y : f64
}
"""
ASK: dict[str, Callable[[Module, str], Any]] = {
    "aliasing": lambda module, name: Aliasing.asked(module.funcs[name], module),
    "memory": lambda module, name: Memory.asked(module.funcs[name], Summaries.asked(module)),
}


def _add(func: Func) -> None:
    """One more operation."""
    func.body.insert(0, Op(ops.constant, (), (f64,), {"value": 1.0, "type": f64}))


@pytest.mark.parametrize("kind", ASK)
def test_it_is_one_as_long_as_nothing_changes(kind: str) -> None:
    module = parse_module(TEXT)
    found = {name: ASK[kind](module, name) for name in module.funcs}
    assert all(ASK[kind](module, name) is known for name, known in found.items())
    assert Summaries.asked(module) is Summaries.asked(module)


@pytest.mark.parametrize("kind", ASK)
@pytest.mark.parametrize("changed", ["f", "g", "h", "alone"])
def test_a_function_that_changed_is_looked_at_anew_and_not_its_callers_if_they_see_no_change(
    kind: str, changed: str
) -> None:
    module = parse_module(TEXT)
    found = {name: ASK[kind](module, name) for name in module.funcs}
    summaries = Summaries.asked(module)
    _add(module.funcs[changed])
    assert {name for name, known in found.items() if ASK[kind](module, name) is not known} == {changed}
    assert Summaries.asked(module) is not summaries


def test_callees_are_those_of_now() -> None:
    module = parse_module(TEXT)
    func = module.funcs["f"]
    assert callees(func) == callees(func) == ["g"]
    callees(func).append("what is done to the list is nobody else's business")
    func.body.ops[0].set_attr("callee", "h")
    assert callees(func) == ["h"]
    new = func.body.in_place_of()
    for op in func.body.ops[1:]:
        new.append(op)
    assert callees(func) == ["h"]
    func.body.set_ops(new.ops)
    assert callees(func) == []


NEW = """
func.func @h(%a: memref<?xf64>) -> memref<?xf64> {
  %n = arith.constant 3 : index
  %b = memref.alloc(%n) : memref<?xf64>
  func.return %b : memref<?xf64>
}
"""
WRITING = """
func.func @h(%a: memref<?xf64>) -> memref<?xf64> {
  %k = arith.constant 0 : index
  %x = arith.constant 1.0 : f64
  memref.store %x, %a[%k] : memref<?xf64>
  func.return %a : memref<?xf64>
}
"""
CHANGES: dict[str, tuple[Callable[[Module], object], set[str]]] = {
    "a function that is called returns other memory": (
        lambda m: m.funcs.update(h=parse_module(NEW).funcs["h"]),
        {"aliasing", "memory"},
    ),
    "it writes to its argument": (lambda m: m.funcs.update(h=parse_module(WRITING).funcs["h"]), {"memory"}),
    "it is gone": (lambda m: m.funcs.pop("h"), {"aliasing", "memory"}),
    "it calls itself": (lambda m: m.funcs["g"].body.ops[0].set_attr("callee", "g"), {"aliasing", "memory"}),
    "another one is the same": (lambda m: m.funcs.update(h=parse_module(TEXT).funcs["h"]), set()),
    "an argument has a mark": (lambda m: m.funcs["h"].arg_attrs[0].update({"adc.alias": 1}), set()),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_callers_see_of_a_function_counts(change: str) -> None:
    module = parse_module(TEXT)
    found = {name: ask(module, "f") for name, ask in ASK.items()}
    for op in module.funcs["f"].walk():  # effects are found when they are asked for
        found["memory"].effects(op)
    make, anew = CHANGES[change]
    make(module)
    assert {name for name, known in found.items() if ASK[name](module, "f") is not known} == anew
    _same_as_anew(module)


CIRCLE = """
func.func @f(%a: memref<?xf64>, %b: memref<?xf64>, %go: i1) -> memref<?xf64> {
  %r = scf.if %go -> (memref<?xf64>) {
    %s = func.call @g(%b, %a, %go) : (memref<?xf64>, memref<?xf64>, i1) -> memref<?xf64>
    scf.yield %s : memref<?xf64>
  } else {
    scf.yield %a : memref<?xf64>
  }
  func.return %r : memref<?xf64>
}
func.func @g(%a: memref<?xf64>, %b: memref<?xf64>, %go: i1) -> memref<?xf64> {
  %k = arith.constant 0 : index
  %x = arith.constant 1.0 : f64
  memref.store %x, %b[%k] : memref<?xf64>
  %r = func.call @f(%a, %b, %go) : (memref<?xf64>, memref<?xf64>, i1) -> memref<?xf64>
  func.return %r : memref<?xf64>
}
"""


@pytest.mark.parametrize("first", ["f", "g"])
def test_functions_that_call_each_other(first: str) -> None:
    module = parse_module(CIRCLE)
    for changed in ("f", "g"):
        for name in (first, "f", "g"):
            for ask in ASK.values():
                ask(module, name)
        _same_as_anew(module)
        _add(module.funcs[changed])
    func = module.funcs["f"]
    assert Aliasing.asked(func, module).roots(func.body.terminator.operands[0]) == set(func.args[:2])
    module.funcs["g"].body.terminator.set_operand(0, module.funcs["g"].args[1])
    assert Aliasing.asked(func, module).roots(func.body.terminator.operands[0]) == {func.args[0]}
    _same_as_anew(module)


def test_another_module_with_the_same_functions_is_looked_at_by_itself() -> None:
    """Functions that another module has under the same names may be others."""
    module = parse_module(TEXT)
    other = Module(dict(module.funcs))
    for ask in ASK.values():
        calling = ask(module, "f")
        other.funcs["h"] = parse_module(NEW).funcs["h"]
        assert ask(other, "f") is not calling
        _same_as_anew(module)
        _same_as_anew(other)


def test_what_was_asked_while_operations_were_elsewhere_is_not_kept() -> None:
    module = parse_module(TEXT)
    func = module.funcs["alone"]
    then = version(func)
    before = Aliasing.asked(func, module)
    new = func.body.in_place_of()
    for op in func.body.ops:
        new.append(op)
        meanwhile = Aliasing.asked(func, module)
        assert meanwhile is not before
    func.body.set_ops(new.ops)
    assert version(func) == then  # nothing has changed
    assert Aliasing.asked(func, module) not in (before, meanwhile)


def test_nothing_is_kept_when_nobody_asks_any_more() -> None:
    module = parse_module(TEXT)
    for ask in ASK.values():
        ask(module, "f")
    forget(module)
    assert not module.known and not any(func.known for func in module.funcs.values())


def _same_as_anew(module: Module) -> int:
    """What is asked for says what is found anew. How many analyses were known before."""
    kept = 0
    for func in module.funcs.values():
        kept += Memory in func.known
        asked = Memory.asked(func, Summaries.asked(module))
        new, anew = Memory(func, Summaries(module)), Aliasing(func, module)
        values = [*func.args, *(v for op in func.walk() for v in op.results)]
        memrefs = [v for v in values if isinstance(v.type, MemRefType)]
        for memref in memrefs:
            assert asked.roots(memref) == anew.roots(memref) == new.roots(memref)
            assert asked.alias.contents(memref) == anew.contents(memref)
        for a, b in itertools.islice(itertools.combinations(memrefs, 2), 60):
            assert asked.may_overlap(a, b) == anew.may_overlap(a, b)
        for op in func.walk():
            assert asked.effects(op) == new.effects(op)
    return kept


@pytest.mark.parametrize("seed", range(12))
def test_of_random_code_it_says_what_is_found_anew(seed: int) -> None:
    module = random_ir.generate(random.Random(seed), fresh=False)
    known: list[int] = []
    run_pipeline(module, SIMPLIFY, verify=Verify.PASSES, after=lambda _, __, m, ___: known.append(_same_as_anew(m)))
    assert sum(known)


@pytest.mark.parametrize("name", PROGRAMS)
def test_of_programs_it_says_what_is_found_anew(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known: list[int] = []

    def watched(module: Module, passes: Sequence[Any], **_: Any) -> Module:
        return run_pipeline(module, passes, after=lambda _, __, m, ___: known.append(_same_as_anew(m)))

    monkeypatch.setattr(compiler, "run_pipeline", watched)
    function, signature = PROGRAMS[name]
    jit_grad(function).dump_ir("lowered", signature)
    assert sum(known) > 50
