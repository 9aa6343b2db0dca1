"""Reads MLIR of the dialects func, arith, math, scf, memref and cf into functions of adc's IR, which compile like
others.

The expansions of adc's own operations by ``functions`` and ``memory`` are recognised: subscripts that count from the
end, overflow checks in 128 bits, views by ``memref.reinterpret_cast`` (``views``). ``memref.dealloc`` is dropped, since
adc inserts deallocations itself, after differentiation. Anything else is refused, with its line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from adc.backend.mlir.functions import IN_C, ORDERS, PREDICATES
from adc.backend.mlir.generic import Operation, Region
from adc.backend.mlir.pretty import parse
from adc.backend.mlir.types import Types, number
from adc.backend.mlir.views import Views
from adc.backend.mlir.wide_integers import WideIntegers
from adc.ir import ops
from adc.ir.builder import build, current_block, insert_at
from adc.ir.core import Attr, Block, Func, Module, Value
from adc.ir.diagnostics import AdcError, own_class
from adc.ir.raising import class_of
from adc.ir.types import IntType, Type, f32, i1, index

_FASTMATH = re.compile(r"#arith\.fastmath<([\w,]+)>")
_RAISED = re.compile(r"(\w+) at line \d+(?:: (.*))?", re.DOTALL)
_C_NAMES = {c: name for name, c in IN_C.items()}


def read_module(path: Path) -> Module:
    """The functions of a file."""
    return parse_text(path.read_text(), str(path))


def parse_text(text: str, file: str) -> Module:
    module = Module()
    declared: set[str] = set()
    read: list[tuple[Operation, Func]] = []
    for op in parse(text, file):
        if op.name != "func.func":
            raise op.rejected(f"{op.name} outside a function is not supported")
        name = _symbol(op.attrs["sym_name"])
        (body,) = op.regions
        if not body.ops:
            declared.add(name)
            continue
        result_types = Types(op).results(op.attrs["function_type"])
        func = Func(name, [Types(op).of(t) for _, t in body.args], result_types, loc=op.loc)
        if _symbol(op.attrs.get("sym_visibility", "public")) != "private":
            func.attrs["adc.entry"] = True
        module.add(func)
        read.append((op, func))
    for op, func in read:
        reader = Reader(module, declared)
        names = [name for name, _ in op.regions[0].args]
        for name, arg in zip(names, func.args, strict=True):
            reader.values[name] = arg
            arg.hint = name.removeprefix("%")
        with insert_at(func.body, op.loc):
            reader.block(op.regions[0])
    return module


def _symbol(text: str) -> str:
    return text.strip().removeprefix("@").strip('"')


class Reader:
    """Builds the operations of one function."""

    def __init__(self, module: Module, declared: set[str]) -> None:
        self.module, self.declared = module, declared
        self.values: dict[str, Value] = {}
        self.wide = WideIntegers(self)
        self.unsigned: dict[Value, tuple[str, list[Value]]] = {}  # comparisons
        self.views = Views(self)

    def __getitem__(self, name: str) -> Value:
        return self.values[name]

    def as_index(self, value: Value) -> Value:
        """An integer as an index: the index that it was converted from, if there is one."""
        if value.type == index:
            return value
        if value.op is not None and value.op.opdef is ops.index_cast and value.op.operands[0].type == index:
            return value.op.operands[0]
        return build(ops.index_cast, [value], {"type": index}).results[0]

    def constant(self, value: int) -> Value:
        return build(ops.constant, [], {"value": value, "type": index}).results[0]

    def block(self, region: Region) -> None:
        for op in region.ops:
            with insert_at(current_block(), op.loc):
                self.op(op)

    def forget(self, names: Sequence[str]) -> None:
        """Forget what is known of names that are defined now: sibling regions may use a name for different values."""
        for name in names:
            self.views.parts.pop(name, None)
            self.wide.known.pop(name, None)

    def define(self, names: Sequence[str], values: Sequence[Value]) -> None:
        self.forget(names)
        self.values.update(zip(names, values, strict=True))

    def op(self, op: Operation) -> None:
        self.forget(op.results)
        try:
            found = self._read(op)
        except AdcError:
            raise
        except KeyError as missing:
            if str(missing.args[0]).startswith("%"):
                raise op.rejected(f"{missing.args[0]} is not a value that can be used here") from None
            raise op.rejected(f"{op.name} needs the attribute {missing}") from None
        except (TypeError, IndexError, ValueError) as error:
            raise op.rejected(f"{op.name}: {error}") from None
        if len(found) != len(op.results):
            raise op.rejected(f"{op.name} gives {len(found)} values, not {len(op.results)}")
        self.values.update(zip(op.results, found, strict=True))

    def _read(self, op: Operation) -> Sequence[Value]:
        if self.views.take(op):
            op.results = []
            return []
        if "i128" in (*op.operand_types, *op.result_types):
            return self.wide.read(op)
        rule = _RULES.get(op.name)
        if rule is not None:
            return rule(self, op)
        opdef = ops.TABLE.get(op.name)
        if opdef is None or op.name.split(".")[0] not in ("arith", "math") or op.regions:
            raise op.rejected(f"{op.name} is not supported")
        attrs: dict[str, Attr] = {}
        if "type" in opdef.attrs:
            attrs["type"] = Types(op).of(op.result_types[0])
        if (flags := _FASTMATH.fullmatch(op.attrs.get("fastmath", ""))) is not None and "fastmath" in opdef.attrs:
            attrs["fastmath"] = flags[1]
        return build(opdef, self.operands(op), attrs).results

    def operands(self, op: Operation) -> list[Value]:
        return [self.values[name] for name in op.operands]


# Numbers --------------------------------------------------------------------------------------------------------------

Rule = Callable[[Reader, Operation], Sequence[Value]]


def _constant(r: Reader, op: Operation) -> Sequence[Value]:
    t = Types(op).of(op.result_types[0])
    return build(ops.constant, [], {"value": number(op.attrs["value"], t), "type": t}).results


def _cmp(r: Reader, op: Operation) -> Sequence[Value]:
    number = int(op.attrs["predicate"].split()[0])
    opdef, listed = (ops.cmpf, PREDICATES) if op.name == "arith.cmpf" else (ops.cmpi, ORDERS)
    number -= opdef is ops.cmpf
    if not 0 <= number < len(listed):
        raise op.rejected("a comparison that is always true or false is not supported")
    predicate, operands = listed[number], r.operands(op)
    if opdef is ops.cmpf or predicate[0] != "u":
        return build(opdef, operands, {"predicate": predicate}).results
    # Unsigned integers compare like signed ones with the highest bit of both flipped.
    t = operands[0].type
    highest = True if t == i1 else -(1 << ((t.width if isinstance(t, IntType) else 64) - 1))
    bit = build(ops.constant, [], {"value": highest, "type": t}).results[0]
    turned = [build(ops.xori, [x, bit]).results[0] for x in operands]
    made = build(opdef, turned, {"predicate": f"s{predicate[1:]}"}).results
    r.unsigned[made[0]] = predicate, operands
    return made


def _converted(value: Value, t: Type) -> Value:
    return value if value.type == t else build(ops.index_cast, [value], {"type": t}).results[0]


def _powers(r: Reader, op: Operation) -> Sequence[Value]:
    """Powers: an exponent, or an integer base, is an index if it was a Python integer."""
    x, n = r.operands(op)
    if op.name == "math.fpowi":
        return build(ops.fpowi, [x, r.as_index(n)]).results
    power = build(ops.ipowi, [r.as_index(x), r.as_index(n)]).results[0]
    return [_converted(power, Types(op).of(op.result_types[0]))]


# Memory ---------------------------------------------------------------------------------------------------------------


def _alloc(r: Reader, op: Operation) -> Sequence[Value]:
    t = Types(op).of(op.result_types[0])
    return build(ops.alloc, r.operands(op), {"type": t}).results


def _dim(r: Reader, op: Operation) -> Sequence[Value]:
    memref, place = r.operands(op)
    if place.op is None or place.op.opdef is not ops.constant:
        raise op.rejected("memref.dim of a dimension that is not a constant is not supported")
    return build(ops.dim, [memref], {"dim": place.op.attrs["value"]}).results


def _plain_memory(r: Reader, op: Operation) -> Sequence[Value]:
    opdef = {"memref.load": ops.load, "memref.store": ops.store, "memref.copy": ops.copy}[op.name]
    return build(opdef, r.operands(op)).results


def _cast(r: Reader, op: Operation) -> Sequence[Value]:
    return build(ops.cast, r.operands(op), {"type": Types(op).of(op.result_types[0])}).results


def _nothing(r: Reader, op: Operation) -> Sequence[Value]:
    return []


# Control --------------------------------------------------------------------------------------------------------------


def _assert(r: Reader, op: Operation) -> Sequence[Value]:
    (condition,) = r.operands(op)
    text = op.attrs["msg"].strip('"').replace('\\"', '"')
    found = _RAISED.fullmatch(text)
    bound = _bound(r, condition) if found is not None and found[1] == "IndexError" else None
    if bound is not None:
        return []
    error, message = (found[1], found[2] or "") if found is not None else ("AssertionError", text)
    if class_of(error) is None and own_class(error) is None:
        error, message = "AssertionError", text
    build(ops.assert_, [condition], {"error": error, "message": re.sub(r"\{[^}]*\}|[{}]", "...", message)})
    return []


def _bound(r: Reader, inside: Value) -> Value | None:
    """The checked subscript, which may count from the end; None if this is another kind of check.

    The pattern is ``select(i < 0, i + extent, i)``, compared with the extent as an unsigned number.
    """
    predicate, operands = r.unsigned.get(inside, ("", []))
    if predicate != "ult":
        return None
    found, extent = operands
    choice = found.op
    if choice is None or choice.opdef is not ops.select:
        return None
    negative, wrapped, i = choice.operands
    sign, total = negative.op, wrapped.op
    if sign is None or total is None or sign.opdef is not ops.cmpi or total.opdef is not ops.addi:
        return None
    zero = sign.operands[1].op
    is_zero = zero is not None and zero.opdef is ops.constant and zero.attrs["value"] == 0
    if sign.attrs["predicate"] != "slt" or not is_zero or sign.operands[0] is not i:
        return None
    if tuple(total.operands) not in ((i, extent), (extent, i)) or i.type != index:
        return None
    bound = build(ops.bound, [i, extent]).results[0]
    for name, value in r.values.items():
        if value is found:
            r.values[name] = bound
    return bound


def _body(r: Reader, region: Region, types: Sequence[Type]) -> Block:
    block = Block(types)
    r.define([name for name, _ in region.args], block.args)
    with insert_at(block):
        r.block(region)
    return block


def _types(op: Operation, texts: Sequence[str]) -> list[Type]:
    return [Types(op).of(text) for text in texts]


def _for(r: Reader, op: Operation) -> Sequence[Value]:
    operands = r.operands(op)
    types = _types(op, op.result_types)
    body = _body(r, op.regions[0], [operands[0].type, *types])
    if operands[0].type != index:
        raise op.rejected("loops count by an index; this one has another type")
    return build(ops.for_, operands, {}, types, [body]).results


def _parallel(r: Reader, op: Operation) -> Sequence[Value]:
    """A parallel loop over several dimensions becomes a loop nest whose outermost loop is parallel."""
    if op.result_types:
        raise op.rejected("scf.parallel with results is not supported", "use scf.for with iter_args")
    operands = r.operands(op)
    count = len(operands) // 3
    lower, upper, step = (operands[k * count : (k + 1) * count] for k in range(3))
    blocks = [Block([index]) for _ in range(count)]
    names = [name for name, _ in op.regions[0].args]
    r.define(names, [b.args[0] for b in blocks])
    with insert_at(blocks[-1]):
        r.block(op.regions[0])
    if count > 1:
        blocks[-1].pop().drop()
        with insert_at(blocks[-1]):
            build(ops.yield_, [])
    for k in reversed(range(1, count)):
        with insert_at(blocks[k - 1]):
            build(ops.for_, [lower[k], upper[k], step[k]], {}, [], [blocks[k]])
            build(ops.reduce if k == 1 else ops.yield_, [])
    build(ops.parallel, [lower[0], upper[0], step[0]], {}, [], [blocks[0]])
    return []


def _while(r: Reader, op: Operation) -> Sequence[Value]:
    before, after = op.regions
    blocks = [_body(r, region, _types(op, [t for _, t in region.args])) for region in (before, after)]
    return build(ops.while_, r.operands(op), {}, _types(op, op.result_types), blocks).results


def _if(r: Reader, op: Operation) -> Sequence[Value]:
    blocks = [_body(r, region, []) for region in op.regions]
    for block in blocks:
        if not block.ops:
            with insert_at(block):
                build(ops.yield_, [])
    return build(ops.if_, r.operands(op), {}, _types(op, op.result_types), blocks).results


def _end(r: Reader, op: Operation) -> Sequence[Value]:
    if op.regions:
        raise op.rejected(f"{op.name} with a region is not supported")
    opdef = {"scf.yield": ops.yield_, "scf.condition": ops.condition, "scf.reduce": ops.reduce}
    build({**opdef, "func.return": ops.return_}[op.name], r.operands(op))
    return []


def _call(r: Reader, op: Operation) -> Sequence[Value]:
    callee = _symbol(op.attrs["callee"])
    types = _types(op, op.result_types)
    if callee not in r.declared:
        if callee not in r.module.funcs:
            raise op.rejected(f"there is no function {callee}")
        return build(ops.call, r.operands(op), {"callee": callee, "types": tuple(types)}).results
    single = callee.endswith("f") and types == [f32]
    name = _C_NAMES.get(callee.removesuffix("f") if single else callee)
    if name is None:
        raise op.rejected(f"the file has no function {callee}", f"of C's library there are {', '.join(_C_NAMES)}")
    return build(ops.TABLE[name], r.operands(op)).results


_RULES: dict[str, Rule] = {
    "arith.constant": _constant,
    "arith.cmpf": _cmp,
    "arith.cmpi": _cmp,
    "math.fpowi": _powers,
    "math.ipowi": _powers,
    "memref.alloc": _alloc,
    "memref.alloca": _alloc,
    "memref.dealloc": _nothing,
    "memref.dim": _dim,
    "memref.load": _plain_memory,
    "memref.store": _plain_memory,
    "memref.copy": _plain_memory,
    "memref.cast": _cast,
    "cf.assert": _assert,
    "scf.for": _for,
    "scf.parallel": _parallel,
    "scf.while": _while,
    "scf.if": _if,
    "scf.yield": _end,
    "scf.condition": _end,
    "scf.reduce": _end,
    "func.return": _end,
    "func.call": _call,
}
