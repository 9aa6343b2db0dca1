"""Reads MLIR as its tools print it, ``%y = arith.addf %x, %x : f64``, into the same tree as the generic form.

Each dialect has a syntax for its operations; here are those of func, arith, math, scf, memref and cf. Operations in
generic form may appear anywhere among them.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from adc.backend.mlir.functions import ORDERS, PREDICATES
from adc.backend.mlir.generic import DYNAMIC, VALUE, GenericReader, Operation, Region

_NAME = re.compile(r"[a-z_]\w*(?:\.\w+)*")
_SYMBOL = re.compile(r'@(?:[\w$.-]+|"(?:[^"\\]|\\.)*")')
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"[-+]?\w[\w.]*(?:(?<=[eE])[-+]\d+)?")
_ALIAS = re.compile(r"#[^\n]*")
_SHORT = {"module": "builtin.module", "return": "func.return", "call": "func.call", "constant": "arith.constant"}
_ENDS = {"scf.yield", "scf.condition", "scf.reduce"}


def parse(text: str, file: str) -> list[Operation]:
    """The operations of the module in ``text``."""
    reader = PrettyReader(text, file)
    found: list[Operation] = []
    while not reader.done:
        if reader.read(_ALIAS) is None:
            found.append(reader.operation())
    if len(found) == 1 and found[0].name == "builtin.module":
        (region,) = found[0].regions
        return region.ops
    return found


class PrettyReader(GenericReader):
    help = "where adc does not know the syntax, it reads the generic form: mlir-opt --mlir-print-op-generic FILE"

    def operation(self) -> Operation:
        results = self.results()
        if self.at('"'):
            return self.generic(results)
        found = self.need(_NAME, "an operation")
        name = _SHORT.get(found[0], found[0])
        op = Operation(name, self.place(*found.span()), results, [])
        form = _FORMS.get(name)
        if form is None and name.partition(".")[0] not in ("arith", "math"):
            raise op.rejected(f"{name} is not supported")
        (form or PrettyReader.elementwise)(self, op)
        self.location()
        return op

    # Parts ------------------------------------------------------------------------------------------------------------

    def value(self) -> str:
        return self.need(VALUE, "a value")[0]

    def values(self) -> list[str]:
        """Optional ``%a, %b``."""
        found = [self.value()] if self.at("%") else []
        while found and self.accept(","):
            found.append(self.value())
        return found

    def type_list(self) -> list[str]:
        """``T``, ``T, U`` or ``(T, U)``."""
        if self.accept("("):
            return self.items(self.type, ")")
        found = [self.type()]
        while self.accept(","):
            found.append(self.type())
        return found

    def attributes(self, op: Operation) -> None:
        if self.accept("{"):
            self.dictionary(op.attrs, "}")

    def subscripts(self) -> list[str]:
        self.expect("[")
        return self.items(self.value, "]")

    def numbers(self, op: Operation, name: str) -> None:
        """``[%a, 1]``: operands, and an attribute that says which of them are constants."""
        self.expect("[")
        found = self.items(lambda: self.value() if self.at("%") else self.need(_NUMBER, "a number")[0], "]")
        op.operands += [n for n in found if n.startswith("%")]
        op.attrs[name] = f"array<i64: {', '.join(DYNAMIC if n.startswith('%') else n for n in found)}>"

    def body(self, args: list[tuple[str, str]], end: str) -> Region:
        """A region; its arguments precede it, and its last operation may be omitted if it is ``end``."""
        start = self.position
        region = self.region()
        region.args = args or region.args
        if end and (not region.ops or region.ops[-1].name not in _ENDS):
            region.ops.append(Operation(end, self.place(start, start + 1), [], []))
        return region

    def assigned(self) -> tuple[str, str]:
        """``%a = %b``."""
        name = self.value()
        self.expect("=")
        return name, self.value()

    # Numbers ----------------------------------------------------------------------------------------------------------

    def elementwise(self, op: Operation) -> None:
        if op.name in ("arith.cmpf", "arith.cmpi"):
            listed = ("false", *PREDICATES, "true") if op.name == "arith.cmpf" else ORDERS
            predicate = self.need(_WORD, "a predicate")[0]
            if predicate not in listed:
                raise self.error(f"expected one of {', '.join(listed)}, before")
            op.attrs["predicate"] = str(listed.index(predicate))
            self.expect(",")
        op.operands = self.values()
        for flags in ("fastmath", "overflow"):
            if self.accept(flags):
                self.expect("<")
                op.attrs[flags] = f"#arith.{flags}<{self.balanced('>')}>"
                self.expect(">")
        self.attributes(op)
        self.expect(":")
        types = self.type_list()
        op.operand_types = types if len(types) == len(op.operands) else types[-1:] * len(op.operands)
        result = types[-1] if op.name == "arith.select" else types[0]
        result = "i1" if "predicate" in op.attrs else self.type() if self.accept("to") else result
        op.result_types = [result]

    def constant(self, op: Operation) -> None:
        self.attributes(op)
        op.attrs["value"] = self.need(_NUMBER, "a number")[0]
        op.result_types = [self.type() if self.accept(":") else "i1"]

    # Memory -----------------------------------------------------------------------------------------------------------

    def load(self, op: Operation) -> None:
        op.operands = [self.value(), *self.subscripts()]
        self.attributes(op)
        self.expect(":")
        self.type()

    def store(self, op: Operation) -> None:
        op.operands = [self.value()]
        self.expect(",")
        op.operands += [self.value(), *self.subscripts()]
        self.attributes(op)
        self.expect(":")
        self.type()

    def alloc(self, op: Operation) -> None:
        self.expect("(")
        op.operands = self.items(self.value, ")")
        self.attributes(op)
        self.expect(":")
        op.result_types = [self.type()]

    def conversion(self, op: Operation) -> None:
        """``%a, %b : T`` or ``: T to U``. Only the type after ``to`` is used: that of an extent is known."""
        op.operands = self.values()
        self.attributes(op)
        self.expect(":")
        op.operand_types = self.type_list()
        op.result_types = [self.type()] if self.accept("to") else []

    def metadata(self, op: Operation) -> None:
        op.operands = [self.value()]
        self.expect(":")
        op.operand_types = [self.type()]
        self.expect("->")
        op.result_types = self.type_list()

    def subview(self, op: Operation) -> None:
        op.operands = [self.value()]
        for name in ("static_offsets", "static_sizes", "static_strides"):
            self.numbers(op, name)
        self.viewed(op)

    def reinterpret_cast(self, op: Operation) -> None:
        op.operands = [self.value()]
        self.expect("to")
        for word in ("offset", "sizes", "strides"):
            if word != "offset":
                self.expect(",")
            self.expect(word)
            self.expect(":")
            self.numbers(op, f"static_{word.removesuffix('s')}s")
        self.viewed(op)

    def viewed(self, op: Operation) -> None:
        self.attributes(op)
        self.expect(":")
        op.operand_types = [self.type()]
        self.expect("to")
        op.result_types = [self.type()]

    def asserted(self, op: Operation) -> None:
        op.operands = [self.value()]
        self.expect(",")
        op.attrs["msg"] = self.string()

    # Control ----------------------------------------------------------------------------------------------------------

    def module(self, op: Operation) -> None:
        self.read(_SYMBOL)
        self.named_attributes()
        op.regions = [self.region()]

    def func(self, op: Operation) -> None:
        for visibility in ("public", "private", "nested"):
            if self.accept(visibility):
                op.attrs["sym_visibility"] = f'"{visibility}"'
        op.attrs["sym_name"] = self.need(_SYMBOL, "a symbol (@name)")[0]
        self.expect("(")
        args = self.items(self.parameter, ")")
        results = self.result_list() if self.accept("->") else []
        op.attrs["function_type"] = f"({', '.join(t for _, t in args)}) -> ({', '.join(results)})"
        self.named_attributes()
        op.regions = [self.body(args, "") if self.at("{") else Region([], [])]

    def parameter(self) -> tuple[str, str]:
        name = ""
        if self.at("%"):
            name = self.value()
            self.expect(":")
        return name, self.annotated()

    def annotated(self) -> str:
        """A type; attributes and a location after it are ignored."""
        found = self.type()
        if self.accept("{"):
            self.dictionary({}, "}")
        self.location()
        return found

    def result_list(self) -> list[str]:
        return self.items(self.annotated, ")") if self.accept("(") else [self.type()]

    def named_attributes(self) -> None:
        """Optional ``attributes {...}``, which are ignored."""
        if self.accept("attributes"):
            self.expect("{")
            self.dictionary({}, "}")

    def called(self, op: Operation) -> None:
        op.attrs["callee"] = self.need(_SYMBOL, "a symbol (@name)")[0]
        self.expect("(")
        op.operands = self.items(self.value, ")")
        self.attributes(op)
        self.expect(":")
        self.expect("(")
        op.operand_types = self.items(self.type, ")")
        self.expect("->")
        op.result_types = self.result_list()

    def ended(self, op: Operation) -> None:
        """The operands of a terminator: ``%a, %b : T, U``, perhaps preceded by a condition."""
        if self.accept("("):
            op.operands = self.items(self.value, ")")
        op.operands += self.values()
        self.attributes(op)
        if self.accept(":"):
            op.operand_types = self.type_list()

    def reduced(self, op: Operation) -> None:
        if self.accept("("):
            raise op.rejected("scf.reduce of values is not supported", "use scf.for with iter_args")

    def counted(self, op: Operation) -> None:
        counter, start = self.assigned()
        self.expect("to")
        end = self.value()
        self.expect("step")
        op.operands = [start, end, self.value()]
        inits: list[tuple[str, str]] = []
        if self.accept("iter_args"):
            self.expect("(")
            inits = self.items(self.assigned, ")")
            self.expect("->")
            op.result_types = self.result_list()
        counts = self.type() if self.accept(":") else "index"
        op.operands += [value for _, value in inits]
        args = [(counter, counts), *((name, t) for (name, _), t in zip(inits, op.result_types, strict=True))]
        op.regions = [self.body(args, "scf.yield")]
        self.attributes(op)

    def parallel(self, op: Operation) -> None:
        self.expect("(")
        counters = self.items(self.value, ")")
        for word in ("=", "to", "step"):
            self.expect(word)
            self.expect("(")
            op.operands += self.items(self.value, ")")
        if self.at("init"):
            raise op.rejected("scf.parallel with results is not supported", "use scf.for with iter_args")
        op.regions = [self.body([(counter, "index") for counter in counters], "scf.reduce")]
        self.attributes(op)

    def branch(self, op: Operation) -> None:
        op.operands = [self.value()]
        op.result_types = self.result_list() if self.accept("->") else []
        op.regions = [self.body([], "scf.yield")]
        op.regions.append(self.body([], "scf.yield") if self.accept("else") else Region([], []))
        self.attributes(op)

    def repeated(self, op: Operation) -> None:
        inits: list[tuple[str, str]] = []
        if self.accept("("):
            inits = self.items(self.assigned, ")")
        self.expect(":")
        types = self.type_list()
        self.expect("->")
        op.operands, op.result_types = [value for _, value in inits], self.result_list()
        before = self.body([(name, t) for (name, _), t in zip(inits, types, strict=True)], "scf.condition")
        self.expect("do")
        op.regions = [before, self.body([], "scf.yield")]
        if self.accept("attributes"):
            self.attributes(op)


_FORMS: dict[str, Callable[[PrettyReader, Operation], None]] = {
    "builtin.module": PrettyReader.module,
    "func.func": PrettyReader.func,
    "func.call": PrettyReader.called,
    "func.return": PrettyReader.ended,
    "arith.constant": PrettyReader.constant,
    "scf.for": PrettyReader.counted,
    "scf.parallel": PrettyReader.parallel,
    "scf.if": PrettyReader.branch,
    "scf.while": PrettyReader.repeated,
    "scf.yield": PrettyReader.ended,
    "scf.condition": PrettyReader.ended,
    "scf.reduce": PrettyReader.reduced,
    "memref.load": PrettyReader.load,
    "memref.store": PrettyReader.store,
    "memref.alloc": PrettyReader.alloc,
    "memref.alloca": PrettyReader.alloc,
    "memref.dealloc": PrettyReader.conversion,
    "memref.dim": PrettyReader.conversion,
    "memref.copy": PrettyReader.conversion,
    "memref.cast": PrettyReader.conversion,
    "memref.subview": PrettyReader.subview,
    "memref.reinterpret_cast": PrettyReader.reinterpret_cast,
    "memref.extract_strided_metadata": PrettyReader.metadata,
    "cf.assert": PrettyReader.asserted,
}
