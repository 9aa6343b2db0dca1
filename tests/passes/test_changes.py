"""Changes by passes are counted where the IR is changed: against the text, and for each way to change it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from adc import jit_grad
from adc.driver import compiler
from adc.ir import ops
from adc.ir.core import Block, Func, Module, Op
from adc.ir.text.parser import parse_module
from adc.ir.text.printer import print_func
from adc.ir.types import f32, f64, index
from adc.passes.base import (
    Changed,
    IfChanged,
    OnPart,
    Pass,
    PassError,
    Repeat,
    Step,
    Verify,
    differing,
    passes_of,
    run_pipeline,
    versions,
)
from adc.passes.canonicalize.canonicalize import Canonicalize
from adc.passes.simplify.cse import CSE
from adc.passes.simplify.dce import DCE

TEXT = """
func.func @f(%x: f64, %c: i1) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = math.sin %x : f64
  %z = scf.for %i = %c0 to %c1 step %c1 iter_args(%a = %x) -> (f64) {
    %b = scf.if %c -> (f64) {
      %p = arith.mulf %a, %x : f64
      scf.yield %p : f64
    } else {
      scf.yield %y : f64
    }
    scf.yield %b : f64
  }
  func.return %z : f64
}
func.func @g(%x: f64) -> f64 {
  func.return %x : f64
}
"""


def _the(func: Func, opdef: Any) -> Op:
    return next(op for op in func.walk() if op.opdef is opdef)


def _block(op: Op) -> Block:
    assert op.parent is not None
    return op.parent


def _new() -> Op:
    return Op(ops.constant, (), (f64,), {"value": 1.0, "type": f64})


WAYS: dict[str, Callable[[Func, Op], object]] = {
    "set_operand": lambda f, product: product.set_operand(1, f.args[1]),
    "add_operand": lambda f, product: product.add_operand(f.args[0]),
    "add_result": lambda f, product: product.add_result(f64),
    "replace_uses": lambda f, product: product.result.replace_uses(f.args[0]),
    "set_attr": lambda f, product: product.set_attr("fastmath", "contract"),
    "drop_attr": lambda f, product: product.drop_attr("fastmath"),
    "set_opdef": lambda f, product: product.set_opdef(ops.addf),
    "set_regions": lambda f, product: _block(product).parent_op.set_regions(()),  # type: ignore[union-attr]
    "drop": lambda f, product: product.drop(),
    "set_type": lambda f, product: product.result.set_type(f32),
    "append": lambda f, product: _block(product).append(_new()),
    "insert": lambda f, product: _block(product).insert(0, _new()),
    "pop": lambda f, product: _block(product).pop(),
    "set_ops": lambda f, product: _block(product).set_ops([_new(), *_block(product).ops]),
    "add_arg": lambda f, product: _block(product).add_arg(index),
    "keep_args": lambda f, product: _the(f, ops.for_).regions[0].keep_args([0]),
    "move away": lambda f, product: Block().append(product),
    "move away with others": lambda f, product: Block().set_ops([product]),
    "name": lambda f, product: setattr(f, "name", "h"),
    "result types": lambda f, product: setattr(f, "result_types", ()),
    "attribute of the function": lambda f, product: f.attrs.update({"adc.cold": True}),
    "attribute of an argument": lambda f, product: f.arg_attrs[0].update({"adc.readonly": True}),
}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_to_change_a_function_counts_in_that_function(way: str) -> None:
    module = parse_module(TEXT)
    before = versions(module)
    func = module.funcs["f"]
    WAYS[way](func, _the(func, ops.mulf))
    assert differing(before, versions(module)) == {"f"}


def test_what_can_change_operations_and_blocks_is_tried_here() -> None:
    methods = {name for kind in (Op, Block) for name, value in vars(kind).items() if callable(value)}
    asked = {"__init__", "__repr__", "walk", "in_place_of", "_forget"}
    assert methods - asked <= set(WAYS)


def test_what_comes_back_as_it_was_does_not_count() -> None:
    module = parse_module(TEXT)
    before = versions(module)
    for op in [*module.funcs["f"].walk()]:
        block = _block(op)
        scratch = block.in_place_of()
        for moved in block.ops:
            scratch.append(moved)
        block.set_ops(scratch.ops)
        for position, operand in enumerate(op.operands):
            op.set_operand(position, operand)
        op.drop_attr("nothing")
    assert not differing(before, versions(module))
    body = module.funcs["f"].body
    scratch = body.in_place_of()
    scratch.append(_new())
    assert differing(before, versions(module)) == {"f"}


def test_functions_that_come_and_go_are_changes() -> None:
    module = parse_module(TEXT)
    before = versions(module)
    gone = module.funcs.pop("g")
    module.add(Func("h", [f64]))
    assert differing(before, versions(module)) == {"g", "h"}
    module.funcs.pop("h")
    module.add(Func("g", [f64], gone.result_types))
    assert differing(before, versions(module)) == {"g"}


@dataclass(frozen=True)
class Silent:
    """Changes a list of operations behind the back of the counts."""

    name: ClassVar[str] = "silent"

    def run(self, module: Module) -> Module:
        for func in module.funcs.values():
            func.body._ops.insert(0, _new())
            func.body.ops[0].parent = func.body
        return module


def test_a_change_that_is_not_counted_is_an_error_where_passes_are_verified() -> None:
    with pytest.raises(PassError, match="pass silent: @f is not what it was, and no change was counted"):
        run_pipeline(parse_module(TEXT), (Silent(),), verify=Verify.PASSES)


def test_a_pass_that_changed_nothing_runs_again_only_after_a_change() -> None:
    runs: list[str] = []

    @dataclass(frozen=True)
    class Looks:
        number: int
        name: ClassVar[str] = "looks"

        def run(self, module: Module) -> Module:
            runs.append(f"{self.number}")
            return module

    one, two = Looks(1), Looks(2)
    seen: list[tuple[str, Changed]] = []
    run_pipeline(
        parse_module(TEXT),
        (one, two, one, CSE(), DCE(), one, two, Canonicalize(), one, one),
        after=lambda step, changed, module, seconds: seen.append((step.name, changed)),
    )
    assert runs == ["1", "2", "1"]  # once more after the loop of one iteration is gone
    assert [name for name, changed in seen if changed] == ["canonicalize"]
    assert len(seen) == 10


@dataclass(frozen=True)
class Peels:
    """Takes one operation off the function ``of``, if more than two are left."""

    runs: list[str]
    of: str = "f"
    name: ClassVar[str] = "peels"

    def run(self, module: Module) -> Module:
        self.runs.append(" ".join(module.funcs))
        func = module.funcs[self.of]
        unused = [op for op in func.body.ops[:-1] if not any(r.uses for r in op.results)]
        if unused:
            unused[-1].drop()
            func.body.set_ops([op for op in func.body.ops if op is not unused[-1]])
        return module


CHAIN = """
func.func @h(%x: f64) -> f64 {
  %a = math.sin %x : f64
  %b = math.cos %a : f64
  %c = math.exp %b : f64
  func.return %x : f64
}
func.func @f(%x: f64) -> f64 {
  %y = func.call @g(%x) : (f64) -> f64
  func.return %y : f64
}
func.func @g(%x: f64) -> f64 {
  %a = math.sin %x : f64
  func.return %x : f64
}
"""


def test_what_follows_a_pass_is_a_value_of_the_pipeline() -> None:
    runs: list[str] = []
    seen: list[str] = []

    def ran(*steps: Step) -> list[str]:
        seen.clear()
        module = parse_module(CHAIN)
        run_pipeline(module, steps, verify=Verify.PASSES, after=lambda step, changed, *_: seen.append(step.name))
        assert [step.name for step in passes_of(steps)] and set(seen) <= {step.name for step in passes_of(steps)}
        return [name for name, func in module.funcs.items() if len(func.body.ops) == 1]

    on_f, on_h = Peels(runs, "f"), Peels(runs, "h")
    assert ran(IfChanged(on_f, (DCE(),))) == [] and seen == ["peels"]
    assert ran(IfChanged(on_h, (CSE(),))) == [] and seen == ["peels", "cse"]
    assert ran(Repeat((IfChanged(on_h, (CSE(),)),))) == ["h"] and seen == ["peels", "cse"] * 3 + ["peels"]
    assert set(runs) == {"h f g"}


def test_a_part_of_a_module_is_what_its_roots_mention() -> None:
    runs: list[str] = []
    module = parse_module(CHAIN)
    seen: list[Changed] = []
    part = OnPart(lambda module: ["f"], (Peels(runs, "g"),))
    steps = (Peels(runs, "f"), part, part, Peels(runs, "f"), OnPart(lambda module: [], (Peels(runs, "h"),)))
    run_pipeline(module, steps, verify=Verify.PASSES, after=lambda _, changed, *__: seen.append(changed))
    assert [names.split() for names in runs] == [["h", "f", "g"], ["f", "g"], ["f", "g"], ["h", "f", "g"]]
    assert seen == [frozenset(), {"g"}, frozenset(), frozenset()]
    assert list(module.funcs) == ["h", "f", "g"]


def heat(c: Any, u0: Any, target: Any, steps: int) -> Any:
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = u[i, j] + c[i, j] * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j])
        u, v = v, u
    return np.sum((u - target) ** 2)


def growth(w: Any, x: Any, y: Any) -> Any:
    total = 0.0
    for k in range(len(y)):
        z = np.tanh(x[k] @ w)
        if z > 0.0:
            total += np.log1p(np.exp(-y[k] * z))
        else:
            total -= z * y[k]
        while z > 1.0:
            z = z / 2.0
        total += z
    return total


def springs(k: Any, ends: Any, x: Any) -> Any:
    f = np.zeros_like(x)
    for e in range(len(ends)):
        i, j = ends[e, 0], ends[e, 1]
        pull = k[e] * (x[j] - x[i])
        f[i] += pull
        f[j] -= pull
    return np.sum(f * f)


PROGRAMS: dict[str, tuple[Callable[..., Any], str]] = {
    "heat": (heat, "f64[:, ::1], f64[:, ::1], f64[:, ::1], i64"),
    "growth": (growth, "f64[::1], f64[:, ::1], f64[::1]"),
    "springs": (springs, "f64[::1], i64[:, ::1], f64[::1]"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_counts_as_changed_is_what_prints_otherwise(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[str, bool]] = []

    def watched(module: Module, passes: Sequence[Pass], **_: Any) -> Module:
        texts = {name: print_func(func) for name, func in module.funcs.items()}

        def after(step: Pass, changed: Changed, module: Module, seconds: float) -> None:
            nonlocal texts
            before, texts = texts, {name: print_func(func) for name, func in module.funcs.items()}
            differ = {name for name in {**before, **texts} if before.get(name) != texts.get(name)}
            assert differ <= changed, f"{step.name} changed {differ - changed} and told nobody"
            ran.append((step.name, bool(differ) == bool(changed)))

        return run_pipeline(module, passes, verify=Verify.PASSES, after=after)

    monkeypatch.setattr(compiler, "run_pipeline", watched)
    function, signature = PROGRAMS[name]
    jit_grad(function).dump_ir("lowered", signature)
    assert len(ran) >= 55
    assert sum(exact for _, exact in ran) >= 0.95 * len(ran)  # hardly ever is something made anew as it was
