"""Reads MLIR in the generic form, ``"dialect.op"(%a) <{properties}> ({ regions }) {attributes} : types``, as a tree.

This module does not know what operations mean. Types and attributes remain text.
"""

from __future__ import annotations

import re
from dataclasses import field

from adc.ir import kinds
from adc.ir.core import Loc
from adc.ir.lazy_dataclass import dataclass
from adc.ir.text.cursor import Cursor

VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
_RESULT = re.compile(r"(%[\w$.-]+)(?::(\d+))?")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_KEY = re.compile(r'[\w$.]+|"(?:[^"\\]|\\.)*"')
_BLOCK = re.compile(r"\^\w+")
_TYPE = re.compile(r"[\w!.]+")
DYNAMIC = "-9223372036854775808"  # in a list of numbers: the number is an operand
_OPENING, _CLOSING = "([{<", ")]}>"


@dataclass
class Region:
    """A region of one block: its arguments, by name and type, and its operations."""

    args: list[tuple[str, str]]
    ops: list[Operation]


@dataclass
class Operation:
    """An operation as written in the text. ``attrs`` are its properties and attributes."""

    name: str
    loc: Loc
    results: list[str]
    operands: list[str]
    attrs: dict[str, str] = field(default_factory=dict)
    regions: list[Region] = field(default_factory=list)
    operand_types: list[str] = field(default_factory=list)
    result_types: list[str] = field(default_factory=list)

    def rejected(self, message: str, help: str = "") -> Exception:
        return kinds.UNSUPPORTED_VALUE(message, self.loc, help=help)


class GenericReader(Cursor):
    def balanced(self, stops: str) -> str:
        """The text up to the first of the characters ``stops`` outside of brackets and strings."""
        start, depth = self.position, 0
        while self.position < len(self.text):
            here = self.text[self.position]
            if here == '"':
                self.need(_STRING, "a string")
                continue
            if self.text.startswith("->", self.position):
                self.position += 2
                continue
            if depth == 0 and here in stops:
                return self.text[start : self.position].strip()
            depth += (here in _OPENING) - (here in _CLOSING)
            self.position += 1
        raise self.error(f"expected {' or '.join(map(repr, stops))}")

    def operation(self) -> Operation:
        return self.generic(self.results())

    def results(self) -> list[str]:
        """Optional ``%a, %b:2 =``."""
        results: list[str] = []
        if self.at("%"):
            results += self.result()
            while self.accept(","):
                results += self.result()
            self.expect("=")
        return results

    def generic(self, results: list[str]) -> Operation:
        found = self.need(_STRING, "an operation in quotes")
        op = Operation(found[1], self.place(*found.span()), results, [])
        self.expect("(")
        op.operands = self.items(lambda: self.need(VALUE, "a value")[0], ")")
        if self.at("["):
            raise op.rejected(f"{op.name} goes to another block: control flow is read as scf.for, scf.while and scf.if")
        if self.accept("<{"):
            self.dictionary(op.attrs, "}>")
        if self.accept("("):
            op.regions = self.items(self.region, ")")
        if self.accept("{"):
            self.dictionary(op.attrs, "}")
        self.expect(":")
        self.expect("(")
        op.operand_types = self.items(lambda: self.balanced(",)"), ")")
        self.expect("->")
        op.result_types = self.types()
        self.location()
        return op

    def location(self) -> None:
        """Optional ``loc(...)``, which is ignored."""
        if self.accept("loc("):
            self.balanced(")")
            self.expect(")")

    def string(self) -> str:
        """A string, with its quotes."""
        return self.need(_STRING, "a string")[0]

    def result(self) -> list[str]:
        name, count = self.need(_RESULT, "a value").groups()
        return [name] if count is None else [f"{name}#{k}" for k in range(int(count))]

    def types(self) -> list[str]:
        if self.accept("("):
            return self.items(lambda: self.balanced(",)"), ")")
        return [self.type()]

    def type(self) -> str:
        start = self.position
        end = self.need(_TYPE, "a type").end()
        if self.accept("<"):
            self.balanced(">")
            end = self.position + 1
            self.expect(">")
        return self.text[start:end]

    def dictionary(self, into: dict[str, str], end: str) -> None:
        while not self.accept(end):
            if into:
                self.accept(",")
            name = self.need(_KEY, "the name of an attribute")[0].strip('"')
            into[name] = self.balanced(",}") if self.accept("=") else ""

    def region(self) -> Region:
        self.expect("{")
        args: list[tuple[str, str]] = []
        if self.read(_BLOCK) is not None:
            if self.accept("("):
                args = self.items(self.argument, ")")
            self.expect(":")
        ops = []
        while not self.accept("}"):
            if (block := self.read(_BLOCK)) is not None:
                raise kinds.UNSUPPORTED_VALUE(
                    "a region of several blocks: control flow is read as scf.for, scf.while and scf.if",
                    self.place(*block.span()),
                )
            ops.append(self.operation())
        return Region(args, ops)

    def argument(self) -> tuple[str, str]:
        name = self.need(VALUE, "a value")[0]
        self.expect(":")
        return name, self.balanced(",)")
