"""Reads the text that ``adc.ir.text.printer`` writes, and IR written by hand.

Text written by hand may omit ``else`` regions and terminators without operands. Names are visible from their definition
to the end of the block, as in MLIR; sibling blocks may use one name twice. The parser checks types where it reads them;
the verifier checks the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from adc.ir import ops
from adc.ir.core import Attr, Block, Func, Module, Op, Value
from adc.ir.opdef import OpDef, Trait
from adc.ir.text.assembly import pieces
from adc.ir.text.scanner import Scanner
from adc.ir.types import FloatType, IntType, MemRefType, Type, index

_OP_NAME = re.compile(r"[a-z_]+\.[\w.]+", re.ASCII)
_TOKENS = re.compile(r"\w+|\S")

T = TypeVar("T")
Name = tuple[str, int]  # with its position in the text


def parse_module(text: str, file: str = "<ir>") -> Module:
    """The module that ``text`` describes; raises ``CompileError`` with line and column, under the name ``file``."""
    scanner = Scanner(text, file)
    module = Module()
    while not scanner.done:
        start = scanner.position
        func = _Reader(scanner).func()
        if func.name in module.funcs:
            raise scanner.error(f"function @{func.name} is already defined", start)
        module.add(func)
    return module


class _Reader:
    """Reads one function."""

    def __init__(self, scanner: Scanner) -> None:
        self.scanner = scanner
        self.values: dict[str, Value] = {}
        self.visible: list[str] = []  # the keys of ``values`` in order of definition

    # Names ------------------------------------------------------------------------------------------------------------

    def name(self) -> Name:
        start = self.scanner.position
        return self.scanner.value_name(), start

    def define(self, name: Name, value: Value) -> None:
        text, start = name
        if text in self.values:
            raise self.scanner.error(f"%{text} is already defined", start)
        value.hint = "" if text.isdigit() else text
        self.values[text] = value
        self.visible.append(text)

    def use(self) -> Value:
        text, start = self.name()
        value = self.values.get(text)
        if value is None:
            raise self.scanner.error(f"%{text} is not defined here", start)
        return value

    def uses(self) -> list[Value]:
        """Operands separated by commas; none if there is no name here."""
        return self.commas(self.use) if self.scanner.at("%") else []

    def commas(self, item: Callable[[], T]) -> list[T]:
        out = [item()]
        while self.scanner.accept(","):
            out.append(item())
        return out

    # Functions and blocks ---------------------------------------------------------------------------------------------

    def func(self) -> Func:
        s = self.scanner
        s.expect("func.func")
        symbol = s.symbol()
        s.expect("(")
        params = s.items(self.param, ")")
        results = s.type_list() if s.accept("->") else ()
        attrs = s.dictionary() if s.accept("attributes") else {}
        func = Func(symbol, [t for _, t, _ in params], results)
        func.attrs = attrs
        func.arg_attrs = [own for _, _, own in params]
        s.expect("{")
        self.block(func.body, [name for name, _, _ in params], None)
        func.loc = s.loc()
        return func

    def param(self) -> tuple[Name, Type, dict[str, Attr]]:
        name = self.name()
        self.scanner.expect(":")
        return name, self.scanner.type(), self.scanner.dictionary()

    def block(self, block: Block, names: Sequence[Name], terminator: OpDef | None) -> Block:
        """Operations up to ``}``, into ``block``, whose arguments are ``names``; what is defined inside goes out of
        scope.

        ``terminator``, without operands, is put at the end if none is there.
        """
        mark = len(self.visible)
        for name, arg in zip(names, block.args, strict=True):
            self.define(name, arg)
        while not self.scanner.accept("}"):
            if self.scanner.done:
                raise self.scanner.error("expected '}'")
            block.append(self.op())
        if terminator is not None and not (block.ops and Trait.TERMINATOR in block.ops[-1].opdef.traits):
            block.append(Op(terminator, (), (), dict(terminator.attrs)))
        for text in self.visible[mark:]:
            del self.values[text]
        del self.visible[mark:]
        return block

    def region(self, names: Sequence[Name], types: Sequence[Type], terminator: OpDef | None) -> Block:
        self.scanner.expect("{")
        return self.block(Block(types), names, terminator)

    # Operations -------------------------------------------------------------------------------------------------------

    def op(self) -> Op:
        s = self.scanner
        names: list[Name] = []
        if s.at("%"):
            names = self.commas(self.name)
            s.expect("=")
        start = s.position
        opname = s.need(_OP_NAME, "an operation").group()
        opdef = ops.TABLE.get(opname)
        if opdef is None:
            raise s.error(f"there is no operation {opname}", start)
        rule = _REGION_OPS.get(opdef)
        if rule is not None:
            op = rule(self)
            for key, attr in s.dictionary().items():
                op.set_attr(key, attr)
        else:
            op = _Plain(self, opdef, start).read()
        op.loc = s.loc()
        if len(op.results) != len(names):
            raise s.error(f"{opname} has {len(op.results)} results, {len(names)} are named", start)
        for name, result in zip(names, op.results, strict=True):
            self.define(name, result)
        return op

    def bracketed(self) -> Value:
        self.scanner.expect("(")
        value = self.use()
        self.scanner.expect(")")
        return value

    def assignments(self) -> tuple[list[Name], list[Value]]:
        """``(%a = %b, ...)``"""

        def pair() -> tuple[Name, Value]:
            name = self.name()
            self.scanner.expect("=")
            return name, self.use()

        self.scanner.expect("(")
        pairs = self.scanner.items(pair, ")")
        return [name for name, _ in pairs], [value for _, value in pairs]

    def result_types(self) -> tuple[Type, ...]:
        return self.scanner.type_list() if self.scanner.accept("->") else ()

    def _for(self) -> Op:
        s = self.scanner
        counter = self.name()
        s.expect("=")
        operands = [self.use()]
        s.expect("to")
        operands.append(self.use())
        s.expect("step")
        operands.append(self.use())
        names: list[Name] = []
        start = s.position
        if s.accept("iter_args"):
            names, inits = self.assignments()
            operands += inits
        types = self.result_types()
        if len(types) != len(names):
            raise s.error(f"{len(names)} values are carried, but {len(types)} results are declared", start)
        body = self.region([counter, *names], [index, *types], ops.yield_)
        return Op(ops.for_, operands, types, regions=[body])

    def _parallel(self) -> Op:
        s = self.scanner
        s.expect("(")
        counter = self.name()
        s.expect(")")
        s.expect("=")
        operands = [self.bracketed()]
        s.expect("to")
        operands.append(self.bracketed())
        s.expect("step")
        operands.append(self.bracketed())
        if s.accept("init"):
            s.expect("(")
            operands += s.items(self.use, ")")
        types = self.result_types()
        body = self.region([counter], [index], ops.reduce)
        return Op(ops.parallel, operands, types, regions=[body])

    def _while(self) -> Op:
        s = self.scanner
        names, operands = self.assignments()
        s.expect(":")
        start = s.position
        inputs, results = s.function_type()
        if len(inputs) != len(names):
            raise s.error(f"{len(names)} values are carried, but {len(inputs)} types are given", start)
        before = self.region(names, inputs, None)
        s.expect("do")
        s.expect("{")
        params: list[tuple[Name, Type]] = []
        if s.accept("^bb0"):
            s.expect("(")
            params = s.items(self.block_param, ")")
            s.expect(":")
        after = self.block(Block([t for _, t in params]), [name for name, _ in params], ops.yield_)
        return Op(ops.while_, operands, results, regions=[before, after])

    def block_param(self) -> tuple[Name, Type]:
        name = self.name()
        self.scanner.expect(":")
        return name, self.scanner.type()

    def _if(self) -> Op:
        condition = self.use()
        types = self.result_types()
        then = self.region((), (), ops.yield_)
        if self.scanner.accept("else"):
            otherwise = self.region((), (), ops.yield_)
        else:
            otherwise = Block()
            otherwise.append(Op(ops.yield_, (), ()))
        return Op(ops.if_, [condition], types, regions=[then, otherwise])


_REGION_OPS: dict[OpDef, Callable[[_Reader], Op]] = {
    ops.for_: _Reader._for,
    ops.parallel: _Reader._parallel,
    ops.while_: _Reader._while,
    ops.if_: _Reader._if,
}


class _Plain:
    """Reads an operation without regions, by its format in ``adc.ir.text.assembly``."""

    def __init__(self, reader: _Reader, opdef: OpDef, start: int) -> None:
        self.reader = reader
        self.scanner = reader.scanner
        self.opdef = opdef
        self.start = start
        self.operands: list[Value] = []
        self.attrs: dict[str, Attr] = {}
        self.stated: Type | None = None  # the result type in the text
        self.value: float | int | None = None
        self.value_width: int | None = None  # of a constant given by its bits

    def read(self) -> Op:
        for literal, hole in pieces(self.opdef):
            for token in _TOKENS.findall(literal):
                self.scanner.expect(token)
            if hole:
                self.hole(hole)
        if self.opdef is ops.constant:
            self.attrs["value"] = self.constant()
        attrs = dict(self.opdef.attrs)
        attrs.update(self.attrs)
        missing = [name for name, value in attrs.items() if value is ...]
        if missing:
            raise self.error(f"{self.opdef.name} needs the attribute {missing[0]}")
        assert self.opdef.infer is not None
        try:
            types = self.opdef.infer([v.type for v in self.operands], attrs)
        except (TypeError, IndexError, AttributeError) as error:
            raise self.error(f"{self.opdef.name}: {error}") from None
        if self.stated is not None and [self.stated] != list(types):
            raise self.error(f"{self.opdef.name} gives {', '.join(map(str, types))}, not {self.stated}")
        return Op(self.opdef, self.operands, types, attrs)

    def error(self, message: str) -> Exception:
        return self.scanner.error(message, self.start)

    def hole(self, hole: str) -> None:
        """Read what stands for one placeholder."""
        s = self.scanner
        if hole.isdigit():
            self.operands.append(self.reader.use())
        elif hole in ("*", "rank"):
            self.operands += self.reader.uses()
        elif hole == "attrs":
            self.attrs.update(s.dictionary())
        elif hole.startswith("="):
            self.attrs[hole[1:]] = s.attr()
        elif hole == "fastmath":
            if s.accept("fastmath"):
                s.expect("<")
                flags = [s.word("a fastmath flag")]
                while s.accept(","):
                    flags.append(s.word("a fastmath flag"))
                self.attrs["fastmath"] = ",".join(flags)
                s.expect(">")
        elif hole == "predicate":
            self.attrs["predicate"] = s.word("a predicate")
        elif hole == "callee":
            self.attrs["callee"] = s.symbol()
        elif hole == "value":
            self.number()
        elif hole == "types":
            self.attrs["types"] = tuple(s.types())
        elif hole == "fn":
            start = s.position
            inputs, results = s.function_type()
            self.agree(inputs, self.operands, start)
            self.attrs["types"] = results
        elif hole == "result":
            self.stated = s.type()
        elif hole.startswith("t"):
            start = s.position
            self.agree([s.type()], self.operands[int(hole[1:]) : int(hole[1:]) + 1], start)
        else:
            self.operand_types(hole)

    def operand_types(self, hole: str) -> None:
        operands = self.operands[1:] if hole == ": 1*" else self.operands
        if not operands:
            return
        self.scanner.expect(":")
        start = self.scanner.position
        types = self.scanner.types()
        if hole == ": same" and len(types) == 1:
            types *= len(operands)
        self.agree(types, operands, start)

    def agree(self, types: Sequence[Type], operands: Sequence[Value], start: int) -> None:
        """Refuse types that are not those of the operands."""
        actual = [v.type for v in operands]
        if list(types) != actual:
            said, are = (", ".join(map(str, ts)) or "none" for ts in (types, actual))
            raise self.scanner.error(f"the operands have the types {are}, not {said}", start)

    def number(self) -> None:
        s = self.scanner
        if (given := s.float_bits()) is not None:
            self.value, self.value_width = given
        elif s.accept("true"):
            self.value = True
        elif s.accept("false"):
            self.value = False
        else:
            self.value = s.number()
            if self.value is None:
                raise s.error("expected a number, true or false")

    def constant(self) -> float | int:
        """The number of a constant, which must be one of its type."""
        value, t = self.value, self.attrs["type"]
        assert value is not None
        fits = (
            isinstance(value, float) and self.value_width in (None, t.width)
            if isinstance(t, FloatType)
            else isinstance(value, bool)
            if isinstance(t, IntType) and t.width == 1
            else isinstance(value, int) and not isinstance(value, bool) and not isinstance(t, MemRefType)
        )
        if not fits:
            raise self.error(f"the number is not a constant of type {t}")
        return value
