"""Reads MLIR in the generic form, ``"dialect.op"(%a) <{properties}> ({ regions }) {attributes} : types``, as a tree.

Nothing is known here of what an operation means. Types and attributes stay text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from adc.ir import kinds
from adc.ir.core import Loc

T = TypeVar("T")
_SPACE = re.compile(r"(?:\s+|//[^\n]*)*")
_VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
_RESULT = re.compile(r"(%[\w$.-]+)(?::(\d+))?")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_KEY = re.compile(r'[\w$.]+|"(?:[^"\\]|\\.)*"')
_BLOCK = re.compile(r"\^\w+")
_OPENING, _CLOSING = "([{<", ")]}>"


@dataclass
class Region:
    """A region of one block: its arguments, by name and type, and what is in it."""

    args: list[tuple[str, str]]
    ops: list[Operation]


@dataclass
class Operation:
    """An operation as it stands in the text. ``attrs`` are its properties and attributes."""

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


def parse(text: str, file: str) -> list[Operation]:
    """The operations of the module in ``text``."""
    reader = _Reader(text, file)
    ops = reader.until_end()
    if len(ops) == 1 and ops[0].name == "builtin.module":
        (region,) = ops[0].regions
        return region.ops
    return ops


class _Reader:
    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self.at = 0
        self.skip()

    # Characters -------------------------------------------------------------------------------------------------------

    def skip(self) -> None:
        found = _SPACE.match(self.text, self.at)
        assert found is not None
        self.at = found.end()

    def loc(self) -> Loc:
        line = self.text.count("\n", 0, self.at) + 1
        return Loc(self.file, line, self.at - (self.text.rfind("\n", 0, self.at) + 1))

    def error(self, expected: str) -> Exception:
        form = "adc reads the generic form: mlir-opt --mlir-print-op-generic FILE"
        return kinds.INVALID_SOURCE(f"expected {expected}", self.loc(), help=form)

    def accept(self, token: str) -> bool:
        if not self.text.startswith(token, self.at):
            return False
        self.at += len(token)
        self.skip()
        return True

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise self.error(repr(token))

    def match(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise self.error(what)
        self.at = found.end()
        self.skip()
        return found

    def balanced(self, stops: str) -> str:
        """Text up to one of the characters ``stops`` outside of brackets and strings."""
        start, depth = self.at, 0
        while self.at < len(self.text):
            here = self.text[self.at]
            if here == '"':
                self.match(_STRING, "a string")
                continue
            if self.text.startswith("->", self.at):
                self.at += 2
                continue
            if depth == 0 and here in stops:
                return self.text[start : self.at].strip()
            depth += (here in _OPENING) - (here in _CLOSING)
            self.at += 1
        raise self.error(" or ".join(map(repr, stops)))

    # Operations -------------------------------------------------------------------------------------------------------

    def until_end(self) -> list[Operation]:
        found = []
        while self.at < len(self.text):
            found.append(self.operation())
        return found

    def operation(self) -> Operation:
        results: list[str] = []
        if self.text.startswith("%", self.at):
            results += self.result()
            while self.accept(","):
                results += self.result()
            self.expect("=")
        here = self.loc()
        name = self.match(_STRING, "an operation in quotes")[1]
        end = here.column + len(name) + 2
        op = Operation(name, Loc(self.file, here.line, here.column, here.line, end), results, [])
        self.expect("(")
        op.operands = self.listed(lambda: self.match(_VALUE, "a value")[0], ")")
        if self.text.startswith("[", self.at):
            raise op.rejected(f"{op.name} goes to another block: control flow is read as scf.for, scf.while and scf.if")
        if self.accept("<{"):
            self.dictionary(op.attrs, "}>")
        if self.accept("("):
            op.regions = self.listed(self.region, ")")
        if self.accept("{"):
            self.dictionary(op.attrs, "}")
        self.expect(":")
        self.expect("(")
        op.operand_types = self.listed(lambda: self.balanced(",)"), ")")
        self.expect("->")
        op.result_types = self.types()
        if self.text.startswith("loc(", self.at):
            self.at += 4
            self.balanced(")")
            self.expect(")")
        return op

    def result(self) -> list[str]:
        name, count = self.match(_RESULT, "a value").groups()
        return [name] if count is None else [f"{name}#{k}" for k in range(int(count))]

    def listed(self, item: Callable[[], T], end: str) -> list[T]:
        found: list[T] = []
        while not self.accept(end):
            if found:
                self.expect(",")
            found.append(item())
        return found

    def types(self) -> list[str]:
        if self.accept("("):
            return self.listed(lambda: self.balanced(",)"), ")")
        start = self.at
        self.match(re.compile(r"[\w!.]+"), "a type")
        if self.text.startswith("<", self.at):
            self.at += 1
            self.balanced(">")
            self.expect(">")
        return [self.text[start : self.at].strip()]

    def dictionary(self, into: dict[str, str], end: str) -> None:
        while not self.accept(end):
            if into and self.text.startswith(",", self.at):
                self.expect(",")
            name = self.match(_KEY, "the name of an attribute")[0].strip('"')
            into[name] = self.balanced(",}") if self.accept("=") else ""

    def region(self) -> Region:
        self.expect("{")
        args: list[tuple[str, str]] = []
        if self.text.startswith("^", self.at):
            self.match(_BLOCK, "a block")
            if self.accept("("):
                args = self.listed(self.argument, ")")
            self.expect(":")
        ops = []
        while not self.accept("}"):
            if self.text.startswith("^", self.at):
                raise kinds.UNSUPPORTED_VALUE(
                    "a region of several blocks: control flow is read as scf.for, scf.while and scf.if", self.loc()
                )
            ops.append(self.operation())
        return Region(args, ops)

    def argument(self) -> tuple[str, str]:
        name = self.match(_VALUE, "a value")[0]
        self.expect(":")
        return name, self.balanced(",)")
