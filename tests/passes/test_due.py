"""What passes pass over: functions that they left as they are, and functions without what they need."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from adc import jit_grad
from adc.driver import compiler
from adc.ir import ops
from adc.ir.core import Module
from adc.ir.nesting import of_kinds
from adc.ir.rewrite import clone_module
from adc.ir.text.parser import parse_module
from adc.ir.text.printer import print_module
from adc.passes import base
from adc.passes.base import Pass, run_pipeline
from adc.passes.canonicalize.canonicalize import Canonicalize
from adc.passes.due import due
from adc.passes.memory.dead_stores import DeadStores
from adc.passes.pipelines import SIMPLIFY
from adc.passes.simplify.cse import CSE
from tests.passes import random_ir
from tests.passes.test_changes import PROGRAMS

TEXT = """
func.func @f(%x: f64, %a: memref<?xf64>, %k: index) -> f64 {
  %y = func.call @g(%a, %k) : (memref<?xf64>, index) -> f64
  %z = arith.mulf %x, %y : f64
  func.return %z : f64
}
func.func @g(%a: memref<?xf64>, %k: index) -> f64 {
  %y = memref.load %a[%k] : memref<?xf64>
  func.return %y : f64
}
"""


def _visited(step: Pass, module: Module) -> list[str]:
    facts = None if isinstance(step, Canonicalize) else lambda _: None
    return [func.name for func in due(step, module, facts)]


def test_a_function_is_due_until_the_pass_leaves_it_as_it_is() -> None:
    module = parse_module(TEXT)
    f, g = module.funcs.values()
    assert _visited(Canonicalize(), module) == ["f", "g"]
    assert _visited(Canonicalize(), module) == []
    assert _visited(CSE(), module) == _visited(CSE(memory=False), module) == ["f", "g"]
    f.body.terminator.set_operand(0, f.args[0])
    assert _visited(Canonicalize(), module) == ["f"]
    for func in due(Canonicalize(), module):
        raise AssertionError(func)
    (load,) = of_kinds(g.body, {ops.load})
    load.set_attr("mark", 1)
    for func in due(Canonicalize(), module):
        func.attrs["changed"] = True
    assert _visited(Canonicalize(), module) == ["g"]
    assert _visited(DeadStores(), module) == []  # there is no store


def test_a_function_is_due_when_the_facts_are_others() -> None:
    module = parse_module(TEXT)
    facts = [object(), object()]
    for expected, fact in ((2, facts[0]), (0, facts[0]), (2, facts[1]), (0, facts[1])):
        assert len(list(due(CSE(), module, lambda _, fact=fact: fact))) == expected  # type: ignore[misc]


def _watch(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """From now on each pass runs on a copy as well, of which nothing is known. The passes that ran, and idled."""
    ran: list[str] = []
    run = base._Run._pass

    def watched(self: Any, step: Pass) -> bool:
        settled = step in self._settled
        copy = clone_module(self.module)
        changed = run(self, step)
        if not settled:
            copy = step.run(copy)
            ran.append(f"{step.name}{'' if changed else ' idle'}")
            assert print_module(copy) == print_module(self.module), step.name
        return changed

    monkeypatch.setattr(base._Run, "_pass", watched)
    return ran


@pytest.mark.parametrize("seed", range(12))
def test_random_code_becomes_what_it_becomes_without_memory(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = _watch(monkeypatch)
    run_pipeline(random_ir.generate(random.Random(seed), fresh=False), SIMPLIFY * 2)
    assert any(one.endswith("idle") for one in ran)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_become_what_they_become_without_memory(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = _watch(monkeypatch)

    def watched(module: Module, passes: Sequence[Any], **_: Any) -> Module:
        return run_pipeline(module, passes)

    monkeypatch.setattr(compiler, "run_pipeline", watched)
    function, signature = PROGRAMS[name]
    jit_grad(function).dump_ir("lowered", signature)
    assert len(ran) > 50
