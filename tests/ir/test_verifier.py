"""The verifier detects a violation of each invariant in its docstring: one test for each, by number."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from adc.ir import ops, verifier
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.opdef import OpDef
from adc.ir.text.parser import parse_module
from adc.ir.types import f32, f64, i1, i64, index, memref
from adc.ir.verifier import Changes, VerificationError, verify, verify_func

TEXT = """\
func.func @callee(%x: f64) -> f64 {
  func.return %x : f64
}
func.func @ruled(%x: f64) -> f64 attributes {adc.cotangents = [0], adc.pullback = "ruled.pullback", \
adc.rrule = "ruled.rrule", adc.rule = "rrule"} {
  func.return %x : f64
}
func.func @ruled.rrule(%x: f64) -> (f64, f64) {
  func.return %x, %x : f64, f64
}
func.func @ruled.pullback(%x: f64, %g: f64) -> f64 {
  func.return %g : f64
}
func.func @f(%u: memref<?xf64> {adc.alias = 0}, %d: memref<?xf64> {adc.shadow = 0}, %n: index, %x: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = arith.cmpi slt, %c0, %n : index
  %y = arith.mulf %x, %x : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (f64) {
    %v = memref.load %u[%i] : memref<?xf64>
    %w = arith.addf %acc, %v : f64
    scf.yield %w : f64
  }
  %p = scf.parallel (%k) = (%c0) to (%n) step (%c1) init (%x) -> f64 {
    %q = memref.load %u[%k] : memref<?xf64>
    scf.reduce(%q : f64) {kinds = ["add"]}
  }
  %m, %r = scf.while (%a = %n, %t = %x) : (index, f64) -> (f64, index) {
    %go = arith.cmpi sgt, %a, %c0 : index
    scf.condition(%go) %t, %a : f64, index
  } do {
  ^bb0(%t2: f64, %a2: index):
    %less = arith.subi %a2, %c1 : index
    scf.yield %less, %t2 : index, f64
  }
  %z = scf.if %b -> (f64) {
    scf.yield %s : f64
  } else {
    scf.yield %p : f64
  }
  %called = func.call @callee(%z) : (f64) -> f64
  %by_rule = adc.ruled @ruled(%called, %x, %x) : (f64, f64, f64) -> f64
  %value, %derivative = adc.gradient @callee(%by_rule) {wrt = [0]} : (f64) -> (f64, f64)
  func.return %derivative : f64
}
"""


class Fixture:
    """A valid module, its function ``f``, and its operations and values by kind and name."""

    def __init__(self) -> None:
        self.module = parse_module(TEXT)
        self.func = self.module.funcs["f"]
        self.values: dict[str, Value] = {}
        for value in [*self.func.args, *self.inner_values()]:
            self.values[value.hint] = value

    def inner_values(self) -> list[Value]:
        out: list[Value] = []
        for op in self.func.walk():
            out += op.results
            for region in op.regions:
                out += region.args
        return out

    def op(self, definition: OpDef) -> Op:
        return next(op for op in self.func.walk() if op.opdef is definition)

    def __getitem__(self, name: str) -> Value:
        return self.values[name]


Break = Callable[[Fixture], None]
BREAKS: list[tuple[int, str, Break]] = []


def breaks(number: int, message: str) -> Callable[[Break], Break]:
    def register(function: Break) -> Break:
        BREAKS.append((number, message, function))
        return function

    return register


def test_the_fixture_is_valid() -> None:
    fixture = Fixture()
    verify(fixture.module)
    verify_func(fixture.func)


@breaks(1, "held under the name")
def wrong_key(m: Fixture) -> None:
    m.module.funcs["g"] = m.module.funcs.pop("callee")


@breaks(2, "dictionaries of attributes")
def too_few_arg_attrs(m: Fixture) -> None:
    m.func.arg_attrs.pop()


@breaks(3, "adc.alias must be an integer")
def alias_on_a_scalar(m: Fixture) -> None:
    m.func.arg_attrs[3]["adc.alias"] = 1


@breaks(3, "position of another argument")
def shadow_of_itself(m: Fixture) -> None:
    m.func.arg_attrs[1]["adc.shadow"] = 1


@breaks(3, "shadow of one of type")
def shadow_of_a_scalar(m: Fixture) -> None:
    m.func.arg_attrs[1]["adc.shadow"] = 3


@breaks(4, "must end in func.return")
def ends_in_yield(m: Fixture) -> None:
    replace_last(m.func.body, Op(ops.yield_, [m["called"]], ()))


@breaks(4, "where the function declares")
def wrong_result_type(m: Fixture) -> None:
    m.func.result_types = (f32,)


@breaks(4, "inside a region")
def return_in_a_region(m: Fixture) -> None:
    replace_last(m.op(ops.for_).regions[0], Op(ops.return_, [m["w"]], ()))


@breaks(5, "another parent")
def region_parent(m: Fixture) -> None:
    m.op(ops.for_).regions[0].parent = None


@breaks(5, "another parent")
def body_parent(m: Fixture) -> None:
    m.func.body.parent = m.module.funcs["callee"]


@breaks(6, "another owner or position")
def block_argument_index(m: Fixture) -> None:
    m["acc"].index = 0


@breaks(6, "another owner or position")
def block_argument_owner(m: Fixture) -> None:
    m["i"].owner = m.func.body


@breaks(7, "without operations")
def empty_block(m: Fixture) -> None:
    m.op(ops.if_).regions[0].set_ops([])


@breaks(7, "must be a terminator")
def no_terminator(m: Fixture) -> None:
    body = m.op(ops.for_).regions[0]
    body.ops.pop().drop()


@breaks(7, "before the end")
def early_terminator(m: Fixture) -> None:
    body = m.op(ops.for_).regions[0]
    body.set_ops([Op(ops.yield_, [m["acc"]], ()), *body.ops])


@breaks(8, "another parent")
def operation_parent(m: Fixture) -> None:
    m.op(ops.mulf).parent = m.op(ops.for_).regions[0]


@breaks(8, "held twice")
def operation_twice(m: Fixture) -> None:
    m.func.body.ops.insert(4, m.op(ops.mulf))


@breaks(9, "not in the table")
def foreign_kind(m: Fixture) -> None:
    m.op(ops.mulf).opdef = OpDef("arith.mulf", ops.mulf.infer, cost=1.0)


@breaks(9, "needs 1 regions, has 0")
def missing_region(m: Fixture) -> None:
    m.op(ops.for_).regions = ()


@breaks(9, "needs 0 regions, has 1")
def superfluous_region(m: Fixture) -> None:
    m.op(ops.mulf).regions = (Block(),)


@breaks(10, "another owner or position")
def result_owner(m: Fixture) -> None:
    m["y"].owner = m.op(ops.cmpi)


@breaks(10, "another owner or position")
def result_index(m: Fixture) -> None:
    m["r"].index = 0


@breaks(11, "not defined before its use")
def used_before_definition(m: Fixture) -> None:
    m.op(ops.mulf).set_operand(0, m["s"])


@breaks(11, "not defined before its use")
def used_outside_its_block(m: Fixture) -> None:
    m.op(ops.call).set_operand(0, m["w"])


@breaks(11, "not defined before its use")
def used_in_the_other_region(m: Fixture) -> None:
    m.op(ops.while_).regions[1].terminator.set_operand(1, m["t"])


@breaks(11, "not defined before its use")
def result_used_inside_its_own_region(m: Fixture) -> None:
    m.op(ops.addf).set_operand(1, m["s"])


@breaks(11, "not defined before its use")
def value_of_another_function(m: Fixture) -> None:
    m.module.funcs["callee"].body.terminator.set_operand(0, m["x"])


@breaks(12, "does not list this use")
def use_not_listed(m: Fixture) -> None:
    m["x"].uses.pop((m.op(ops.mulf), 1))


@breaks(12, "not in the function")
def use_by_an_operation_that_is_gone(m: Fixture) -> None:
    Op(ops.negf, [m["x"]], [f64])


@breaks(12, "that is not one")
def use_at_a_wrong_position(m: Fixture) -> None:
    m["x"].uses[(m.op(ops.mulf), 5)] = None


@breaks(12, "that is not one")
def use_of_another_value(m: Fixture) -> None:
    m["n"].uses[(m.op(ops.mulf), 0)] = None


@breaks(13, "needs the attribute predicate")
def missing_attribute(m: Fixture) -> None:
    del m.op(ops.cmpi).attrs["predicate"]


@breaks(13, "not of a kind that attributes are")
def attribute_of_another_kind(m: Fixture) -> None:
    m.op(ops.mulf).attrs["x"] = (1, [2])


@breaks(13, "not of a kind that attributes are")
def function_attribute_of_another_kind(m: Fixture) -> None:
    m.func.attrs["x"] = object()


@breaks(14, "where (f64) follow")
def wrong_result(m: Fixture) -> None:
    m["y"].type = f32


@breaks(14, "operands differ in type")
def rule_refuses(m: Fixture) -> None:
    m.op(ops.mulf).set_operand(0, m["n"])


@breaks(14, "takes 2 operands, got 3")
def too_many_operands(m: Fixture) -> None:
    m.op(ops.mulf).add_operand(m["x"])


@breaks(15, "predicate must be one of")
def unknown_predicate(m: Fixture) -> None:
    m.op(ops.cmpi).attrs["predicate"] = "olt"


@breaks(15, "fastmath must be one of")
def unknown_fastmath(m: Fixture) -> None:
    m.op(ops.mulf).attrs["fastmath"] = "fast"


@breaks(15, "is no constant of type index")
def constant_of_another_type(m: Fixture) -> None:
    m.op(ops.constant).attrs["value"] = 1.5


@breaks(15, "is no constant of type index")
def constant_too_large(m: Fixture) -> None:
    m.op(ops.constant).attrs["value"] = 1 << 63


@breaks(15, "results must have the types of the initial values")
def carried_count(m: Fixture) -> None:
    m.op(ops.for_).add_operand(m["x"])


@breaks(15, "what is carried must have the types")
def carried_type(m: Fixture) -> None:
    loop = m.op(ops.for_)
    loop.set_operand(3, m["n"])
    m["s"].type = index


@breaks(15, "upper bound and step must be of type index")
def bound_type(m: Fixture) -> None:
    m.op(ops.for_).set_operand(1, m["x"])


@breaks(15, "what is yielded must have the types of the initial")
def yielded_type(m: Fixture) -> None:
    m.op(ops.for_).regions[0].terminator.set_operand(0, m["i"])


@breaks(15, "must end in scf.yield, not scf.reduce")
def wrong_terminator(m: Fixture) -> None:
    replace_last(m.op(ops.for_).regions[0], Op(ops.reduce, [m["w"]], (), {"kinds": ("add",)}))


@breaks(15, "the counter must be of type index")
def counter_type(m: Fixture) -> None:
    m.op(ops.load).set_operand(1, m["c0"])
    m["i"].type = i64


@breaks(15, "the region takes the counter alone")
def parallel_arguments(m: Fixture) -> None:
    m.op(ops.parallel).regions[0].add_arg(f64)


@breaks(15, "1 kinds for 2 values")
def reduce_kinds(m: Fixture) -> None:
    m.op(ops.reduce).add_operand(m["q"])


@breaks(15, "kinds must be among")
def reduce_unknown_kind(m: Fixture) -> None:
    m.op(ops.reduce).attrs["kinds"] = ("xor",)


@breaks(15, "reduces numbers only")
def reduce_memref(m: Fixture) -> None:
    m.op(ops.reduce).set_operand(0, m["u"])


@breaks(15, "what is reduced must have the types")
def reduce_count(m: Fixture) -> None:
    m.op(ops.reduce).add_operand(m["q"])
    m.op(ops.reduce).attrs["kinds"] = ("add", "add")


@breaks(15, "the condition must be of type i1")
def while_condition(m: Fixture) -> None:
    m.op(ops.condition).set_operand(0, m["a"])


@breaks(15, "results must have the types that are passed on")
def while_results(m: Fixture) -> None:
    m["r"].type = f64


@breaks(15, "the second region must take the types")
def while_after(m: Fixture) -> None:
    m.op(ops.while_).regions[1].add_arg(f64)


@breaks(15, "what is yielded must have the types of the initial")
def while_yield(m: Fixture) -> None:
    m.op(ops.while_).regions[1].terminator.add_operand(m["t2"])


@breaks(15, "takes one condition of type i1")
def if_condition(m: Fixture) -> None:
    m.op(ops.if_).set_operand(0, m["n"])


@breaks(15, "what is yielded must have the types of the results")
def if_yield(m: Fixture) -> None:
    m.op(ops.if_).regions[1].terminator.set_operand(0, m["n"])


@breaks(15, "the regions take no arguments")
def if_arguments(m: Fixture) -> None:
    m.op(ops.if_).regions[0].add_arg(f64)


@breaks(16, "no function @gone")
def unknown_callee(m: Fixture) -> None:
    m.op(ops.call).attrs["callee"] = "gone"


@breaks(16, "but @callee takes (f64)")
def call_operands(m: Fixture) -> None:
    m.op(ops.call).set_operand(0, m["n"])


@breaks(16, "@callee returns (f64)")
def call_results(m: Fixture) -> None:
    m.op(ops.call).attrs["types"] = (f32,)
    m["called"].type = f32


@breaks(17, "no function @callee with an rrule")
def ruled_by_nothing(m: Fixture) -> None:
    m.op(ops.ruled).attrs["callee"] = "callee"


@breaks(17, "where @ruled and its rule give")
def ruled_operands(m: Fixture) -> None:
    m.op(ops.ruled).set_operand(2, m["n"])


@breaks(18, "no function @scf that returns one float")
def gradient_of_nothing(m: Fixture) -> None:
    m.op(ops.gradient).attrs["callee"] = "scf"


@breaks(18, "but @callee takes")
def gradient_operands(m: Fixture) -> None:
    m.op(ops.gradient).set_operand(0, m["n"])


@breaks(18, "where (f64, f64) follow")
def gradient_results(m: Fixture) -> None:
    m["derivative"].type = f32


@breaks(19, "no function @gone")
def rule_that_is_not_there(m: Fixture) -> None:
    m.module.funcs["ruled"].attrs["adc.rrule"] = "gone"


@breaks(19, "names a position that is not a float argument")
def rule_position(m: Fixture) -> None:
    m.module.funcs["ruled"].attrs["adc.cotangents"] = (1,)


@breaks(19, "does not return the cotangents")
def rule_without_cotangent(m: Fixture) -> None:
    m.module.funcs["ruled"].attrs["adc.cotangents"] = ()


@breaks(19, "does not take the residuals")
def rule_of_another_function(m: Fixture) -> None:
    m.module.funcs["ruled"].attrs["adc.pullback"] = "callee"


@breaks(19, "does not take and return what the function does")
def rule_with_other_results(m: Fixture) -> None:
    m.module.funcs["ruled"].attrs["adc.rrule"] = "ruled.pullback"


@breaks(19, "goes with a pullback")
def rule_without_pullback(m: Fixture) -> None:
    del m.module.funcs["ruled"].attrs["adc.pullback"]


def replace_last(block: Block, op: Op) -> None:
    block.ops.pop().drop()
    block.append(op)


@pytest.mark.parametrize(("number", "message", "change"), BREAKS, ids=[f"{n}-{f.__name__}" for n, _, f in BREAKS])
def test_broken(number: int, message: str, change: Break) -> None:
    fixture = Fixture()
    changes = Changes()
    changes.verify(fixture.module)
    changes.verify(fixture.module)
    change(fixture)
    for check in (verify, changes.verify, changes.verify):
        with pytest.raises(VerificationError) as caught:
            check(fixture.module)
        assert message in str(caught.value)


def test_every_invariant_is_broken_once() -> None:
    assert verifier.__doc__ is not None
    listed = {int(number) for number in re.findall(r"(?m)^ ?(\d+)\. ", verifier.__doc__)}
    assert {number for number, _, _ in BREAKS} == listed == set(range(1, 20))


def single(definition: OpDef, operands: list[Value], func: Func, **attrs: object) -> Func:
    with insert_at(func.body):
        build(definition, operands, dict(attrs))
        build(ops.return_, [])
    return func


def test_messages_of_assertions() -> None:
    def func(**attrs: object) -> Func:
        f = Func("g", [i1, f64, memref(f64, 1)])
        return single(ops.assert_, [f.args[0], f.args[1]], f, **attrs)

    verify_func(func(error="ValueError", message="got {}"))
    for attrs, message in [
        ({"error": "NoError", "message": "{}"}, "no such exception"),
        ({"error": "int", "message": "{}"}, "no such exception"),
        ({"error": "ValueError", "message": "two {} {}"}, "2 places for 1 values"),
    ]:
        with pytest.raises(VerificationError, match=message):
            verify_func(func(**attrs))
    f = Func("g", [i1, memref(f64, 1)])
    with pytest.raises(VerificationError, match="integers and floats only"):
        verify_func(single(ops.assert_, list(f.args), f, error="ValueError", message="{}"))


def test_static_steps_of_subviews() -> None:
    def func(step: int, static: int | None, dropped: tuple[int, ...] = ()) -> Func:
        f = Func("g", [memref(f64, 1), index])
        with insert_at(f.body):
            value = ops.constant(value=step, type=index)
        return single(ops.subview, [f.args[0], f.args[1], f.args[1], value], f, static_steps=(static,), dropped=dropped)

    verify_func(func(2, 2))
    verify_func(func(2, None))
    with pytest.raises(VerificationError, match="static step 1, but the step is 2"):
        verify_func(func(2, 1))
    with pytest.raises(VerificationError, match="not there"):
        verify_func(func(1, 1, dropped=(1,)))


def test_order_of_polygamma() -> None:
    f = Func("g", [f64])
    with pytest.raises(VerificationError, match="must not be negative"):
        verify_func(single(ops.polygamma, [f.args[0]], f, order=-1))


def test_constants_of_memref_type() -> None:
    f = Func("g", [])
    with pytest.raises(VerificationError, match="no constants of type"):
        verify_func(single(ops.constant, [], f, value=0, type=memref(f64, 1)))


def test_the_message_names_function_operation_and_place() -> None:
    fixture = Fixture()
    fixture.op(ops.mulf).attrs["fastmath"] = "fast"
    with pytest.raises(VerificationError, match=r"^@f: arith.mulf at <unknown>:0:1: fastmath[^\n]*\n  %y = arith"):
        verify(fixture.module)


def test_verification_takes_linear_time() -> None:
    module = Module()
    func = module.add(Func("f", [f64], [f64]))
    with insert_at(func.body):
        x = func.args[0]
        for _ in range(20000):
            x = ops.addf(x, func.args[0])
        build(ops.return_, [x])
    verify(module)
