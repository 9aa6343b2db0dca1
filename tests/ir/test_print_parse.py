"""The IR as text: every operation of the table prints and parses back, alone and in whole programs."""

from __future__ import annotations

import math
import struct
import threading
from typing import Any

import pytest

from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.core import UNKNOWN, Attr, Block, Func, Loc, Module, Op
from adc.ir.diagnostics import CompileError
from adc.ir.evaluate.samples import Typing, typings
from adc.ir.opdef import OpDef
from adc.ir.text.parser import parse_module
from adc.ir.text.printer import print_func, print_module, print_op
from adc.ir.types import FunctionType, MemRefType, f32, f64, i1, i32, i64, index, memref, record
from adc.ir.verifier import verify

SCALARS = [d for d in ops.TABLE.values() if d.evaluate is not None and d is not ops.constant]


def round_trip(module: Module) -> Module:
    """Parse what is printed, with and without locations; both must print the same again."""
    back = None
    for locs in (True, False):
        text = print_module(module, locs=locs)
        parsed = parse_module(text)
        assert print_module(parsed, locs=locs) == text
        back = back or parsed
    assert back is not None
    same_module(module, back)
    return back


def same_attr(a: Attr, b: Attr) -> bool:
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(same_attr, a, b))
    if isinstance(a, float):
        return isinstance(b, float) and struct.pack("d", a) == struct.pack("d", b)
    return type(a) is type(b) and a == b


def same_attrs(a: dict[str, Attr], b: dict[str, Attr]) -> bool:
    return a.keys() == b.keys() and all(same_attr(a[k], b[k]) for k in a)


def same_module(a: Module, b: Module) -> None:
    """Equal in structure, types, attributes and locations."""
    assert list(a.funcs) == list(b.funcs)
    for x, y in zip(a.funcs.values(), b.funcs.values(), strict=True):
        assert (x.type, x.loc) == (y.type, y.loc)
        assert same_attrs(x.attrs, y.attrs)
        assert all(map(same_attrs, x.arg_attrs, y.arg_attrs))
        names: dict[Any, Any] = {}
        same_block(x.body, y.body, names)


def same_block(a: Block, b: Block, names: dict[Any, Any]) -> None:
    assert [v.type for v in a.args] == [v.type for v in b.args]
    names.update(zip(a.args, b.args, strict=True))
    for x, y in zip(a.ops, b.ops, strict=True):
        assert x.opdef is y.opdef
        assert x.loc == y.loc
        assert same_attrs(x.attrs, y.attrs), (x.attrs, y.attrs)
        assert [names[v] for v in x.operands] == list(y.operands)
        assert [v.type for v in x.results] == [v.type for v in y.results]
        for region, other in zip(x.regions, y.regions, strict=True):
            same_block(region, other, names)
        names.update(zip(x.results, y.results, strict=True))


def one_op(definition: OpDef, operands: tuple[Any, ...], attrs: dict[str, Attr]) -> Module:
    """A module with one function, of which ``definition`` is the only operation beside the return."""
    module = Module()
    func = module.add(Func("f", operands, loc=Loc("a b.py", 3)))
    with insert_at(func.body, Loc("a b.py", 4, 2, 4, 17)):
        op = build(definition, func.args, attrs)
        build(ops.return_, op.results)
    func.result_types = tuple(r.type for r in op.results)
    verify(module)
    return module


@pytest.mark.parametrize("typing", [t for d in SCALARS for t in typings(d)], ids=str)
def test_scalar_operations(typing: Typing) -> None:
    round_trip(one_op(typing.opdef, typing.operands, typing.attrs))


A = memref(f64, 2)
S = memref(f64, 1, (None,))
MEMORY: list[tuple[OpDef, tuple[Any, ...], dict[str, Attr]]] = [
    (ops.threads, (), {}),
    (ops.undef, (), {"type": S}),
    (ops.alloc, (index, index), {"type": A}),
    (ops.alloc, (index,), {"type": MemRefType((None, 3), f64)}),
    (ops.alloc, (), {"type": MemRefType((), f32)}),
    (ops.dealloc, (A,), {}),
    (ops.dim, (A,), {"dim": 1}),
    (ops.load, (A, index, index), {}),
    (ops.load, (memref(f64, 0),), {}),
    (ops.store, (f64, A, index, index), {}),
    (ops.store, (S, memref(S, 1), index), {}),
    (ops.accumulate, (f64, S, index), {}),
    (ops.subview, (A, *[index] * 6), {"static_steps": (-1, None)}),
    (ops.subview, (A, *[index] * 6), {"static_steps": (1, 2), "dropped": (1,)}),
    (ops.subview, (memref(f64, 0),), {"static_steps": ()}),
    (ops.transpose, (A,), {"permutation": (1, 0)}),
    (ops.reshape, (A, index), {"groups": ((2, 1),)}),
    (ops.reinterpret_cast, (A, *[index] * 3), {"static_strides": (None,)}),
    (ops.cast, (memref(f64, 1),), {"type": S}),
    (ops.copy, (A, memref(f64, 2, (1, None))), {}),
    (ops.fill, (f64, A), {}),
    (ops.bound, (index, index), {}),
    (ops.bound, (index, index), {"check": False}),
    (ops.assert_, (i1,), {"error": "ValueError", "message": 'say "no"\n\\ \t\x00 é ∂'}),
    (ops.assert_, (i1, f64, index), {"error": "IndexError", "message": "{} and {}"}),
    (ops.grow, (memref(f64, 1), index), {}),
    (ops.external, (f64, i32), {"library": "libm.so.6", "symbol": "ldexp", "type": f64}),
    (ops.foreign, (A, i32), {"library": "a.so", "symbol": "f", "types": (f64,), "written": (0,), "ordered": True}),
    (ops.page_out, (memref(f64, 2), index), {}),
    (ops.pack, (f64, A, record), {}),
    (ops.pack, (), {}),
    (ops.release, (record,), {}),
    (ops.unpack, (record,), {"types": (f64, A), "roots": ((), (0, -1))}),
]


@pytest.mark.parametrize(("definition", "operands", "attrs"), MEMORY)
def test_memory_operations(definition: OpDef, operands: tuple[Any, ...], attrs: dict[str, Attr]) -> None:
    round_trip(one_op(definition, operands, attrs))


CONSTANTS = [
    *[(v, f64) for v in (0.0, -0.0, 1.0, 0.1, 1e300, -1e-300, 5e-324, 1e22, math.inf, -math.inf, math.nan, -math.nan)],
    *[(v, f32) for v in (0.5, 0.1, math.inf, -math.inf, math.nan)],
    (struct.unpack("d", struct.pack("Q", 0x7FF8000000000123))[0], f64),
    *[(v, index) for v in (0, 7, -3, (1 << 63) - 1, -(1 << 63))],
    *[(v, i64) for v in (5, -5)],
    *[(v, i32) for v in (5, -(1 << 31))],
    *[(v, i1) for v in (True, False)],
]


@pytest.mark.parametrize(("value", "t"), CONSTANTS)
def test_constants(value: Any, t: Any) -> None:
    round_trip(one_op(ops.constant, (), {"value": value, "type": t}))


def test_text_of_constants() -> None:
    def text(value: Any, t: Any) -> str:
        module = one_op(ops.constant, (), {"value": value, "type": t})
        return print_op(next(module.funcs["f"].walk()))

    assert text(2.0, f64) == "%cst = arith.constant 2.0 : f64"
    assert text(1e300, f64) == "%cst = arith.constant 1.0e+300 : f64"
    assert text(math.inf, f32) == "%cst = arith.constant 0x7F800000 : f32"
    assert text(-1, index) == "%c-1 = arith.constant -1 : index"
    assert text(3, i64) == "%c3_i64 = arith.constant 3 : i64"
    assert text(1, i1) == "%true = arith.constant true : i1"


PROGRAM = """\
func.func @helper(%x: f64) -> f64 {
  %0 = math.sin %x : f64
  func.return %0 : f64
}

func.func @square(%x: f64) -> f64 attributes {adc.constant = [], adc.cotangents = [0], \
adc.pullback = "square.pullback", adc.rrule = "square.rrule", adc.rule = "rrule square(_)"} {
  %0 = arith.mulf %x, %x : f64
  func.return %0 : f64
}

func.func @square.rrule(%x: f64) -> (f64, f64) {
  %0 = arith.mulf %x, %x : f64
  func.return %0, %x : f64, f64
}

func.func @square.pullback(%x: f64, %result_bar: f64) -> f64 {
  %0 = arith.addf %x, %x : f64
  %1 = arith.mulf %result_bar, %0 : f64
  func.return %1 : f64
}

func.func @cube(%x: f64) -> f64 {
  %0, %1 = func.call @square.rrule(%x) : (f64) -> (f64, f64)
  %2 = adc.ruled @square(%0, %1, %x) : (f64, f64, f64) -> f64
  %3 = arith.mulf %2, %x : f64
  %4, %5 = adc.gradient @helper(%3) {wrt = [0]} : (f64) -> (f64, f64)
  func.return %5 : f64
}

func.func @"<lambda>"(%u: memref<?x?xf64> {adc.alias = 1, adc.name = "u"}, %n: index, %v: memref<?xf64, strided<[?], \
offset: ?>>) -> (f64, index) attributes {adc.entry = true, list = [1, 2.5, none, [true, "s"], f64], note = "a\\\\b"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cst = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %cst) -> (f64) {
    %0 = memref.load %u[%i, %c0] : memref<?x?xf64>
    %1 = func.call @helper(%0) : (f64) -> f64
    %2 = arith.addf %acc, %1 fastmath<reassoc,contract> : f64
    scf.yield %2 : f64
  } {hint = "rows"}
  scf.for %j = %c0 to %n step %c1 {
    scf.yield
  }
  %total, %most = scf.parallel (%k) = (%c0) to (%n) step (%c1) init (%cst, %cst) -> (f64, f64) {
    %3 = memref.load %v[%k] : memref<?xf64, strided<[?], offset: ?>>
    adc.accumulate %3, %u[%k, %k] : memref<?x?xf64>
    scf.reduce(%3, %3 : f64, f64) {kinds = ["add", "max"]}
  }
  scf.parallel (%k_0) = (%c0) to (%n) step (%c1) {
    scf.reduce()
  }
  %a, %b = scf.while (%p = %n, %q = %total) : (index, f64) -> (f64, index) {
    %4 = arith.cmpi sgt, %p, %c0 : index
    scf.condition(%4) %q, %p : f64, index
  } do {
  ^bb0(%r: f64, %t: index):
    %5 = arith.subi %t, %c1 : index
    scf.yield %5, %r : index, f64
  }
  scf.while () : () -> () {
    %false = arith.constant false : i1
    scf.condition(%false)
  } do {
    scf.yield
  }
  %6 = arith.cmpf olt, %a, %most : f64
  %7, %8 = scf.if %6 -> (f64, index) {
    scf.yield %a, %c0 : f64, index
  } else {
    scf.yield %s, %c1 : f64, index
  }
  scf.if %6 {
    linalg.fill ins(%a : f64) outs(%u : memref<?x?xf64>)
    linalg.matmul ins(%u, %u : memref<?x?xf64>, memref<?x?xf64>) outs(%u : memref<?x?xf64>)
    scf.yield
  }
  scf.if %6 {
    scf.yield
  } else {
    memref.copy %u, %u : memref<?x?xf64> to memref<?x?xf64>
    scf.yield
  }
  func.return %7, %8 : f64, index
}
"""


def test_program_prints_as_written() -> None:
    module = parse_module(PROGRAM)
    verify(module)
    assert print_module(module) == PROGRAM
    round_trip(module)


def test_structure_of_the_parsed_program() -> None:
    module = parse_module(PROGRAM)
    func = module.funcs["<lambda>"]
    assert func.type == FunctionType((A, index, S), (f64, index))
    assert func.arg_attrs[0] == {"adc.alias": 1, "adc.name": "u"}
    assert func.attrs["list"] == (1, 2.5, None, (True, "s"), f64)
    assert func.attrs["note"] == "a\\b"
    loops = [op for op in func.walk() if op.opdef is ops.for_]
    assert loops[0].attrs == {"hint": "rows"}
    assert [a.hint for a in loops[0].regions[0].args] == ["i", "acc"]
    assert func.args[0].hint == "u"
    call = next(op for op in func.walk() if op.opdef is ops.call)
    assert (call.attrs["callee"], call.attrs["types"]) == ("helper", (f64,))


def test_locations() -> None:
    module = parse_module(PROGRAM)
    for n, op in enumerate(module.funcs["<lambda>"].walk()):
        op.loc = [Loc('d:\\x "y".py', n + 1, n, n + 2, 0), Loc("f.py", n), Loc("f.py", n, 3, 0, 5), UNKNOWN][n % 4]
    round_trip(module)
    lines = print_module(module, locs=True).splitlines()
    line = lines[next(n for n, text in enumerate(lines) if "<lambda>" in text) + 1]
    assert line.endswith('loc("d:\\\\x \\"y\\".py":1:1 to 2:1)'), line


def test_attribute_kinds() -> None:
    values: list[Attr] = [0, -4, 10**12, 1.0, -0.0, math.nan, -math.inf, True, None, "", 'q"\x7f\u2028', (), ((),)]
    values += [f64, index, record, A, S, memref(memref(f32, 1, (None,)), 1), FunctionType((f64,), ()), (f64, (1, "x"))]
    module = one_op(ops.undef, (), {"type": f64})
    func = module.funcs["f"]
    func.attrs = {f"a.{n}": value for n, value in enumerate(values)}
    func.attrs["odd key"] = 1
    func.body.ops[0].attrs["all"] = tuple(values)
    round_trip(module)


def test_types() -> None:
    types = [
        *(f32, f64, i1, i32, i64, index, record),
        MemRefType((), f64),
        MemRefType((3, None, 12), i32),
        MemRefType((None, 2), f64, (None, -1)),
        MemRefType((), f64, ()),
        MemRefType((None,), MemRefType((None, 4), i1, (4, 1)), (1,)),
        memref(record, 1),
    ]
    module = Module()
    func = module.add(Func("g", types, types))
    with insert_at(func.body):
        build(ops.return_, func.args)
    round_trip(module)


# Names ----------------------------------------------------------------------------------------------------------------


def test_names_are_unique_and_readable() -> None:
    module = Module()
    func = module.add(Func("f", [f64] * 6, [f64], ["x", "x", "", "naïve α", "1st", "x_0"]))
    with insert_at(func.body):
        total = func.args[0]
        for arg in func.args[1:]:
            total = ops.addf(total, arg)
        total.hint = "c1"
        named = ops.constant(value=1.0, type=f64)
        named.hint = "c1"
        build(ops.return_, [ops.addf(total, named)])
    text = print_module(module)
    assert "@f(%x: f64, %x_0: f64, %arg0: f64, %na_ve__: f64, %_1st: f64, %x_0_0: f64)" in text
    assert "%c1 = arith.addf" in text
    assert "%c1_0 = arith.constant" in text
    round_trip(module)


def test_many_equal_hints_take_linear_time() -> None:
    module = Module()
    func = module.add(Func("f", [f64] * 20000, [], ["x"] * 20000))
    with insert_at(func.body):
        build(ops.return_, [])
    assert "%x_19998: f64" in print_func(func)


def test_sibling_blocks_may_reuse_names() -> None:
    text = """
    func.func @f(%c: i1) {
      scf.if %c { %x = arith.constant 1.0 : f64 } else { %x = arith.constant 2.0 : f64 }
    %x = arith.constant 3.0 : f64
    func.return }"""
    round_trip(parse_module(text))


def test_notes_are_comments() -> None:
    module = parse_module(PROGRAM)
    notes = {ops.for_: "a loop", ops.parallel: "two\nlines"}
    text = print_module(module, note=lambda op: notes.get(op.opdef))
    assert "iter_args(%acc = %cst) -> (f64) {  // a loop\n" in text
    assert "  // two\n  // lines\n  %total, %most = scf.parallel" in text
    assert print_module(parse_module(text)) == print_module(module)


def test_print_op_shows_operands_by_hint() -> None:
    module = parse_module(PROGRAM)
    load = next(op for op in module.funcs["<lambda>"].walk() if op.opdef is ops.load)
    assert print_op(load) == "%0 = memref.load %<u>[%<i>, %<c0>] : memref<?x?xf64>"


def test_threads_print_and_parse_at_once() -> None:
    seen: list[bool] = []
    wanted = print_module(parse_module(PROGRAM))

    def work() -> None:
        seen.append(all(print_module(parse_module(PROGRAM)) == wanted for _ in range(20)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [True] * 4


# Errors: the comment names the message, the caret's column is that of the first character of the marked text ----------

ERRORS = [
    ("%0 = arith.addf %y, %x : f64", "%y", "%y is not defined here"),
    ("%0 = arith.addf %x, %x : f32", "f32", "the operands have the types f64, f64, not f32, f32"),
    ("%0 = arith.addf %x, %n : f64, index", "arith.addf", "operands differ in type"),
    ("%0 = arith.addx %x, %x : f64", "arith.addx", "there is no operation arith.addx"),
    ("%0, %1 = arith.addf %x, %x : f64", "arith.addf", "has 1 results, 2 are named"),
    ("arith.addf %x, %x : f64", "arith.addf", "has 1 results, 0 are named"),
    ("%x = arith.addf %x, %x : f64", "%x =", "%x is already defined"),
    ("%0 = arith.constant 1 : f64", "arith.constant", "not a constant of type f64"),
    ("%0 = arith.constant 1.0 : index", "arith.constant", "not a constant of type index"),
    ("%0 = arith.constant 0x7F800000 : f64", "arith.constant", "not a constant of type f64"),
    ("%0 = arith.constant true : index", "arith.constant", "not a constant of type index"),
    ("%0 = arith.constant fast : f64", "fast", "expected a number"),
    ("%0 = adc.polygamma %x : f64", "adc.polygamma", "needs the attribute order"),
    ('adc.assert %b {error = "E", message = "\\q"} : i1', "\\q", "unknown escape"),
    ("%0 = memref.transpose %u {permutation = [0]} : memref<?xf64> to memref<?xf64>", "memref.tr", "not memref<?xf64>"),
    ("%0 = memref.load %u[%n : memref<?xf64>", ":", "expected ']'"),
    ("%0 = memref.load %u[] : memref<?xf64>", "memref.load", "needs 1 subscripts"),
    ("%0 = arith.extf %x : f64 to f128", "f128", "expected an attribute"),
    ("scf.if %b { %q = arith.negf %x : f64 }\n  %0 = arith.negf %q : f64", "%q : f64\n}", "%q is not defined here"),
    ("%0 = scf.for %i = %n to %n step %n iter_args(%a = %x) { }", "iter_args", "1 values are carried, but 0"),
    ("%0 = scf.while (%a = %x) : () -> () { } do { }", "() ->", "1 values are carried, but 0"),
    ("%0 = adc.undef : memref<?xf64, strided<[1, 1], offset: ?>>", "strided", "needs 1 strides, got 2"),
    ("func.call @(%x) : (f64) -> ()", "(%x)", "expected a symbol"),
    ("!", "!", "expected an operation"),
]


@pytest.mark.parametrize(("line", "marked", "message"), ERRORS)
def test_errors(line: str, marked: str, message: str) -> None:
    text = f"func.func @f(%x: f64, %n: index, %b: i1, %u: memref<?xf64>) {{\n  {line}\n}}\n"
    with pytest.raises(CompileError) as caught:
        parse_module(text, "test.mlir")
    error = caught.value
    place = text.index(marked, text.index("{\n"))
    assert message in error.message
    assert (error.loc.file, error.loc.line) == ("test.mlir", text.count("\n", 0, place) + 1)
    assert error.loc.column == place - (text.rfind("\n", 0, place) + 1)
    rows = error.render().splitlines()
    caret = next(row for row in rows if set(row) <= set(" |^") and "^" in row)
    assert rows[rows.index(caret) - 1][caret.index("^") :].startswith(marked.split("\n")[0])


def test_unfinished_text() -> None:
    for text in ("func.func @f() {", "func.func @f(", "func", 'func.func @f() attributes {a = "x} {}'):
        with pytest.raises(CompileError):
            parse_module(text)
    with pytest.raises(CompileError, match="already defined"):
        parse_module("func.func @f() { func.return }\nfunc.func @f() { func.return }")


def test_attributes_of_other_kinds_do_not_print() -> None:
    module = one_op(ops.undef, (), {"type": f64})
    module.funcs["f"].attrs["x"] = object()
    with pytest.raises(TypeError):
        print_module(module)


def test_every_operation_is_printed_here() -> None:
    seen: set[OpDef] = {*SCALARS, ops.constant, *(row[0] for row in MEMORY)}
    seen |= {op.opdef for func in parse_module(PROGRAM).funcs.values() for op in func.walk()}
    assert seen == set(ops.TABLE.values())


def test_op_is_generic() -> None:
    """An operation new to the table prints and parses without a format of its own."""
    module = one_op(ops.hypot, (f64, f64), {"tag": 3})
    assert "adc.hypot %arg0, %arg1 {tag = 3} : f64" in print_module(module)
    op = next(module.funcs["f"].walk())
    assert isinstance(op, Op)
    round_trip(module)
