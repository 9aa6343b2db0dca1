"""Copying IR under a mapping of values."""

from __future__ import annotations

import pytest

from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.copies import is_copy
from adc.ir.core import Func, Loc, Module
from adc.ir.rewrite import clone_block, clone_func, clone_module, clone_op, erase_if, inline_block
from adc.ir.states import version
from adc.ir.text.parser import parse_module
from adc.ir.text.printer import print_func, print_module
from adc.ir.types import f32, f64
from adc.ir.verifier import verify

TEXT = """\
func.func @f(%u: memref<?xf64> {adc.name = "u"}, %n: index, %x: f64) -> f64 attributes {adc.entry = true} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (f64) {
    %v = memref.load %u[%i] : memref<?xf64>
    %p = arith.cmpf olt, %v, %a : f64
    %b = scf.if %p -> (f64) {
      %q = arith.mulf %a, %x : f64
      scf.yield %q : f64
    } else {
      scf.yield %v : f64
    }
    scf.yield %b : f64
  }
  func.return %s : f64
}
"""


def test_clone_func() -> None:
    module = parse_module(TEXT)
    func = module.funcs["f"]
    copy = module.add(clone_func(func, "g"))
    verify(module)
    assert print_func(copy) == TEXT.replace("@f", "@g")
    copy.attrs["x"] = copy.arg_attrs[0]["x"] = 1
    for op in copy.walk():
        op.attrs["touched"] = True
    assert print_func(func) == TEXT
    assert not {id(op) for op in func.walk()} & {id(op) for op in copy.walk()}


def test_clone_op_extends_the_mapping() -> None:
    module = parse_module(TEXT)
    func = module.funcs["f"]
    loop = next(op for op in func.walk() if op.opdef is ops.for_)
    end = func.body.ops.pop()
    end.drop()
    with insert_at(func.body):
        double = ops.addf(func.args[2], func.args[2])
        mapping = {func.args[2]: double}
        copy = clone_op(loop, mapping)
        build(ops.return_, [copy.result])
    verify(module)
    assert mapping[loop.result] is copy.result
    assert copy.operands[3] is double
    assert loop.operands[3] is func.args[2]
    product = next(op for op in copy.regions[0].walk() if op.opdef is ops.mulf)
    assert product.operands == (copy.regions[0].args[1], double)


def test_inline_and_clone_block() -> None:
    module = parse_module(TEXT)
    func = module.funcs["f"]
    body = next(op for op in func.walk() if op.opdef is ops.for_).regions[0]
    separate = clone_block(body, {})
    assert separate.parent is None
    assert [v.type for v in separate.args] == [v.type for v in body.args]
    separate_ops = list(separate.walk())
    for op in separate_ops:
        op.drop()
    func.body.ops.pop().drop()
    c0 = func.body.ops[0].result
    with insert_at(func.body):
        (value,) = inline_block(body, [c0, func.args[2]])
        build(ops.return_, [value])
    verify(module)
    assert func.body.ops[-2].opdef is ops.if_


def test_erase_takes_chains_at_once() -> None:
    module = Module()
    func = module.add(Func("f", [f64], [f64]))
    with insert_at(func.body):
        ops.negf(ops.sin(ops.cos(func.args[0])))
        build(ops.return_, [ops.exp(func.args[0])])

    def unused(op: object) -> bool:
        return getattr(op, "opdef").pure and not any(r.uses for r in getattr(op, "results"))  # noqa: B009

    assert erase_if(func.body, unused)
    verify(module)
    assert "sin" not in print_module(module)
    assert [op.opdef for op in func.walk()] == [ops.exp, ops.return_]
    assert not erase_if(func.body, unused)


def _constant(func: Func, value: object) -> None:
    next(op for op in func.walk() if op.opdef is ops.constant).attrs["value"] = value


CHANGES = {
    "operand": lambda f: (mul := next(op for op in f.walk() if op.opdef is ops.mulf)).set_operand(0, mul.operands[1]),
    "operation": lambda f: setattr(next(op for op in f.walk() if op.opdef is ops.mulf), "opdef", ops.addf),
    "attribute": lambda f: _constant(f, False),
    "more attributes": lambda f: f.body.ops[0].attrs.update(extra=1),
    "order": lambda f: f.body.set_ops([f.body.ops[1], f.body.ops[0], *f.body.ops[2:]]),
    "place": lambda f: setattr(f.body.ops[0], "loc", Loc("other.py", 3)),
    "hint": lambda f: setattr(f.body.ops[0].result, "hint", "other"),
    "type": lambda f: setattr(f.body.args[2], "type", f32),
    "result types": lambda f: setattr(f, "result_types", (f32,)),
    "function attribute": lambda f: f.attrs.update(extra=1),
    "argument attribute": lambda f: f.arg_attrs[0].update(extra=1),
    "argument": lambda f: f.body.add_arg(f64),
    "less": lambda f: f.body.set_ops(f.body.ops[:-1]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_copies_of_modules(change) -> None:
    """A module is a copy until anything in it is changed, which changes nothing in the original."""
    module = parse_module(TEXT)
    copy = clone_module(module)
    verify(copy)
    assert is_copy(copy, module) and is_copy(clone_module(copy), module)
    CHANGES[change](copy.funcs["f"])
    assert not is_copy(copy, module)
    assert print_module(module) == TEXT


def test_copies_have_all_functions() -> None:
    module = parse_module(TEXT)
    copy = clone_module(module)
    module.add(clone_func(module.funcs["f"], "g"))
    assert not is_copy(copy, module)


def test_users_of_a_replaced_value_are_those_of_the_other_one() -> None:
    func = parse_module(TEXT).funcs["f"]
    load, product = (next(op for op in func.walk() if op.opdef is kind) for kind in (ops.load, ops.mulf))
    old, new = func.args[2], load.result
    users, others = list(old.uses), list(new.uses)
    before = version(func)
    old.replace_uses(old)
    assert list(old.uses) == users and version(func) == before
    old.replace_uses(new)
    assert not old.uses and list(new.uses) == others + users and version(func) != before
    assert product.operands[1] is new and all(op.operands[k] is new for op, k in new.uses)
