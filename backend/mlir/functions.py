"""Functions of adc's IR as MLIR of the dialects func, arith, math, scf, memref and cf.

adc's own operations are expanded: accumulation into memory becomes load, add and store; strong products become selects;
subscripts that count from the end become arithmetic; exceptions become ``cf.assert``. Parallel loops with results run
in order.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence

from adc.backend.mlir.memory import RULES as MEMORY
from adc.backend.mlir.memory import type_text
from adc.backend.mlir.writing import Body, Name, Text, results_text
from adc.ir import kinds, ops
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.opdef import OpDef
from adc.ir.text.printer import string_text, symbol_text
from adc.ir.types import PATTERNS, FloatType, IntType, Type

# Functions of C's library that the dialect math lacks; other names in math are the same in MLIR.
IN_C = {"adc.hypot": "hypot", "adc.lgamma": "lgamma", "adc.tgamma": "tgamma", "adc.remainder": "remainder"}
IN_C |= {"math.erfc": "erfc", "arith.remf": "fmod"}  # these two because tools that read MLIR lack them
PREDICATES = ("oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno")
ORDERS = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_WIDE = {"add": "arith.addi", "sub": "arith.subi", "mul": "arith.muli"}


def module_text(parts: Sequence[tuple[Module, str, str]]) -> str:
    """The text of one module with the functions of all parts. A part is a module, the name of its main function, and a
    new name for that function.

    The other functions of a part are private, and named after it.
    """
    text, declared = Text(), dict[str, str]()
    for module, entry, name in parts:
        names = {other: name if other == entry else f"{name}.{other}" for other in module.funcs}
        for func in module.funcs.values():
            Writer(text, func, declared, names).function(private=func.name != entry)
    lines = [
        f'  "func.func"() <{{sym_name = "{name}", function_type = {type}, '
        'sym_visibility = "private"}> ({}) : () -> ()'
        for name, type in declared.items()
    ]
    return "\n".join(['"builtin.module"() ({', *lines, *text.lines, "}) : () -> ()", ""])


class Writer:
    """Writes one function."""

    def __init__(self, text: Text, func: Func, declared: dict[str, str], symbols: Mapping[str, str]) -> None:
        self.text, self.func, self._declared, self.symbols = text, func, declared, symbols
        self.names: dict[Value, Name] = {}

    def __getitem__(self, value: Value) -> Name:
        return self.names[value]

    def function(self, *, private: bool) -> None:
        func = self.func
        results = [type_text(t) for t in func.result_types]
        type = f"({', '.join(type_text(a.type) for a in func.args)}) -> {results_text(results)}"
        properties = f"sym_name = {string_text(self.symbols[func.name])}, function_type = {type}"
        properties += ', sym_visibility = "private"' * private
        for k, arg in enumerate(func.args):
            self.names[arg] = Name(f"%{self._parameter(k)}", type_text(arg.type))
        body = Body([self.names[arg] for arg in func.args], lambda: self.block(func.body))
        self.text.regions("func.func", [], [], [body], properties, "" if private else "llvm.emit_c_interface")

    def _parameter(self, position: int) -> str:
        """The name of an argument: the one in Python, unless another value could have the same."""
        own = [str(self.func.arg_attrs[k].get("adc.name") or arg.hint) for k, arg in enumerate(self.func.args)]
        name = own[position]
        usable = re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) and not re.fullmatch(r"v\d+", name)
        return name if usable and own.count(name) == 1 else f"arg{position}.in"

    def named(self, values: Iterable[Value]) -> list[Name]:
        for value in values:
            self.names[value] = self.text.new(type_text(value.type))
        return [self.names[value] for value in values]

    def block(self, block: Block) -> None:
        for op in block.ops:
            self.op(op)

    def op(self, op: Op) -> None:
        rule = _RULES.get(op.opdef)
        if rule is not None:
            found = rule(self, op)
        elif op.opdef.name.split(".")[0] in ("arith", "math"):
            found = [self._plain(op)]
        elif op.opdef.name in IN_C:
            found = [self._called(op)]
        else:
            raise kinds.UNSUPPORTED_VALUE(
                f"{op.opdef.name} has no counterpart in the standard dialects of MLIR",
                op.loc,
                help="use --emit llvm, or a function without it",
            )
        self.names.update(zip(op.results, found, strict=True))

    def operands(self, op: Op) -> list[Name]:
        return [self.names[v] for v in op.operands]

    def _plain(self, op: Op) -> Name:
        """An operation that has the same name in MLIR."""
        if op.opdef.name in IN_C:
            return self._called(op)
        properties = ""
        if (flags := op.attrs.get("fastmath", "none")) != "none":
            properties = f"fastmath = #arith.fastmath<{flags}>"
        return self.text.one(op.opdef.name, self.operands(op), type_text(op.results[0].type), properties)

    def _called(self, op: Op) -> Name:
        """A call of a function of C's library."""
        t = type_text(op.results[0].type)
        name = IN_C[op.opdef.name] + ("f" if t == "f32" else "")
        self._declared[name] = f"({', '.join([t] * len(op.operands))}) -> {t}"
        return self.text.one("func.call", self.operands(op), t, f"callee = @{name}")

    def convert(self, value: Name, type: str) -> Name:
        """An integer converted to another type."""
        return value if value.type == type else self.text.one("arith.index_cast", [value], type)

    def regions(self, op: Op, name: str, operands: list[Name], bodies: list[Body], properties: str = "") -> list[Name]:
        return self.text.regions(name, operands, [type_text(r.type) for r in op.results], bodies, properties)


# Numbers --------------------------------------------------------------------------------------------------------------


def _constant(w: Writer, op: Op) -> list[Name]:
    return [w.text.constant(literal(op.attrs["value"], op.results[0].type), type_text(op.results[0].type))]


def literal(value: object, t: Type) -> str:
    if isinstance(t, FloatType):
        number = float(value)  # type: ignore[arg-type]
        if not math.isfinite(number):
            return f"0x{struct.pack(f'>{PATTERNS[t.width]}', number).hex().upper()}"
        text = repr(number)
        return text if "." in text or "e" not in text else text.replace("e", ".0e")
    if t == IntType(1):
        return "true" if value else "false"
    return str(int(value))  # type: ignore[call-overload]


def _cmp(w: Writer, op: Op) -> list[Name]:
    listed = PREDICATES if op.opdef is ops.cmpf else ORDERS
    # Predicate 0 of arith.cmpf is always false, so the others begin at 1.
    number = listed.index(op.attrs["predicate"]) + (op.opdef is ops.cmpf)
    return [w.text.one(op.opdef.name, w.operands(op), "i1", f"predicate = {number} : i64")]


def _strong(w: Writer, op: Op) -> list[Name]:
    """A strong product or quotient: zero where an operand is marked as zero."""
    x, y, *marks = w.operands(op)
    name = "arith.mulf" if op.opdef is ops.strong_mulf else "arith.divf"
    plain = w.text.one(name, [x, y], x.type)
    nothing = marks[0] if len(marks) == 1 else w.text.one("arith.ori", marks, "i1")
    return [w.text.one("arith.select", [nothing, w.text.constant("0.0", x.type), plain], x.type)]


def _first(w: Writer, op: Op) -> list[Name]:
    return [w[op.operands[0]]]


def _fits(w: Writer, op: Op) -> list[Name]:
    """Whether a result fits into 64 bits, computed with 128."""
    name = _WIDE.get(op.attrs["kind"])
    if name is None:
        kind = op.attrs["kind"]
        raise kinds.UNSUPPORTED_VALUE(f"whether an integer fits after {kind!r} is not written as MLIR", op.loc)
    wide = [w.text.one("arith.extsi", [w.convert(v, "i64")], "i128") for v in w.operands(op)]
    exact = w.text.one(name, wide, "i128")
    short = w.text.one("arith.extsi", [w.text.one("arith.trunci", [exact], "i64")], "i128")
    return [w.text.one("arith.cmpi", [exact, short], "i1", "predicate = 0 : i64")]


def _float_cast(w: Writer, op: Op) -> list[Name]:
    """A conversion between floats and integers; an index is converted through a 64-bit integer."""
    value, to = w[op.operands[0]], type_text(op.results[0].type)
    if op.opdef is ops.fptosi:
        return [w.convert(w.text.one("arith.fptosi", [value], "i64" if to == "index" else to), to)]
    return [w.text.one(op.opdef.name, [w.convert(value, "i64") if value.type == "index" else value], to)]


def _int_cast(w: Writer, op: Op) -> list[Name]:
    source, target = op.operands[0].type, op.results[0].type
    value, to = w[op.operands[0]], type_text(target)
    if value.type == to:
        return [value]
    unsigned = isinstance(source, IntType) and source.unsigned
    if "index" not in (value.type, to):
        assert isinstance(source, IntType) and isinstance(target, IntType)
        name = "arith.trunci" if target.width < source.width else "arith.extui" if unsigned else "arith.extsi"
        return [w.text.one(name, [value], to)]
    return [w.text.one("arith.index_castui" if unsigned else "arith.index_cast", [value], to)]


def _fpowi(w: Writer, op: Op) -> list[Name]:
    x, n = w.operands(op)
    return [w.text.one("math.fpowi", [x, w.convert(n, "i64")], x.type)]


def _ipowi(w: Writer, op: Op) -> list[Name]:
    x, n = (w.convert(v, "i64") for v in w.operands(op))
    return [w.convert(w.text.one("math.ipowi", [x, n], "i64"), type_text(op.results[0].type))]


def _bound(w: Writer, op: Op) -> list[Name]:
    i, extent = w.operands(op)
    negative = w.text.one("arith.cmpi", [i, w.text.index(0)], "i1", "predicate = 2 : i64")
    wrapped = w.text.one("arith.addi", [i, extent], "index")
    found = w.text.one("arith.select", [negative, wrapped, i], "index")
    if op.attrs.get("check", True):
        inside = w.text.one("arith.cmpi", [found, extent], "i1", "predicate = 6 : i64")  # unsigned: negative is large
        w.text.op("cf.assert", [inside], [], f'msg = "IndexError at line {op.loc.line}"')
    return [found]


def _assert(w: Writer, op: Op) -> list[Name]:
    message = string_text(f"{op.attrs['error']} at line {op.loc.line}: {op.attrs['message']}")
    w.text.op("cf.assert", [w[op.operands[0]]], [], f"msg = {message}")
    return []


def _threads(w: Writer, op: Op) -> list[Name]:
    return [w.text.index(1)]


# Control --------------------------------------------------------------------------------------------------------------


def _for(w: Writer, op: Op) -> list[Name]:
    (body,) = op.regions
    return w.regions(op, "scf.for", w.operands(op), [Body(w.named(body.args), lambda: w.block(body))])


def _parallel(w: Writer, op: Op) -> list[Name]:
    """A parallel loop if it has no results and does not accumulate into shared memory; else a sequential one."""
    (body,) = op.regions
    adds = any(inner.opdef is ops.accumulate for inner in _walk(body))
    if not op.results and not adds:
        limits = "operandSegmentSizes = array<i32: 1, 1, 1, 0>"
        return w.regions(op, "scf.parallel", w.operands(op), [Body(w.named(body.args), lambda: w.block(body))], limits)
    counter = w.named(body.args)
    carried = [w.text.new(type_text(r.type)) for r in op.results]

    def write() -> None:
        for inner in body.ops[:-1]:
            w.op(inner)
        found = []
        for old, new, kind in zip(carried, body.terminator.operands, body.terminator.attrs["kinds"], strict=True):
            combine = ops.COMBINE[kind][0 if new.type.is_float else 1]
            found.append(w.text.one(combine.name, [old, w[new]], old.type))
        w.text.op("scf.yield", found)

    return w.regions(op, "scf.for", w.operands(op), [Body([*counter, *carried], write)])


def _walk(block: Block) -> Iterable[Op]:
    for op in block.ops:
        yield op
        for region in op.regions:
            yield from _walk(region)


def _while(w: Writer, op: Op) -> list[Name]:
    before, after = op.regions
    bodies = [Body(w.named(before.args), lambda: w.block(before)), Body(w.named(after.args), lambda: w.block(after))]
    return w.regions(op, "scf.while", w.operands(op), bodies)


def _if(w: Writer, op: Op) -> list[Name]:
    then, other = op.regions
    return w.regions(op, "scf.if", w.operands(op), [Body([], lambda: w.block(then)), Body([], lambda: w.block(other))])


def _terminator(w: Writer, op: Op) -> list[Name]:
    w.text.op(op.opdef.name, w.operands(op))
    return []


def _call(w: Writer, op: Op) -> list[Name]:
    types = [type_text(r.type) for r in op.results]
    return w.text.op("func.call", w.operands(op), types, f"callee = {symbol_text(w.symbols[op.attrs['callee']])}")


_RULES: dict[OpDef, Callable[[Writer, Op], list[Name]]] = {
    **MEMORY,
    ops.constant: _constant,
    ops.cmpf: _cmp,
    ops.cmpi: _cmp,
    ops.strong_mulf: _strong,
    ops.strong_divf: _strong,
    ops.twin: _first,
    ops.stop_gradient: _first,
    ops.fits: _fits,
    ops.sitofp: _float_cast,
    ops.uitofp: _float_cast,
    ops.fptosi: _float_cast,
    ops.extsi: _int_cast,
    ops.extui: _int_cast,
    ops.trunci: _int_cast,
    ops.index_cast: _int_cast,
    ops.fpowi: _fpowi,
    ops.ipowi: _ipowi,
    ops.bound: _bound,
    ops.assert_: _assert,
    ops.threads: _threads,
    ops.for_: _for,
    ops.parallel: _parallel,
    ops.while_: _while,
    ops.if_: _if,
    ops.yield_: _terminator,
    ops.condition: _terminator,
    ops.reduce: _terminator,
    ops.return_: _terminator,
    ops.call: _call,
}
