"""Writes MLIR in the generic form, which does not require the custom syntax of operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from adc.ir.lazy_dataclass import dataclass

DYNAMIC = -(1 << 63)
"""Stands for an extent or a stride that is known only at run time."""


@dataclass(frozen=True)
class Name:
    """A value: its name, and its type as MLIR writes it."""

    text: str
    type: str


class Text:
    """The lines of a module while they are written."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 1
        self._count = 0
        self._constants: list[dict[tuple[str, str], Name]] = [{}]

    def new(self, type: str) -> Name:
        self._count += 1
        return Name(f"%v{self._count}", type)

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def op(
        self, name: str, operands: Sequence[Name] = (), types: Sequence[str] = (), properties: str = ""
    ) -> list[Name]:
        """Write an operation without regions, and return its results."""
        results = [self.new(t) for t in types]
        self.line(_assigned(results) + _head(name, operands, properties) + _signature(operands, types))
        return results

    def one(self, name: str, operands: Sequence[Name], type: str, properties: str = "") -> Name:
        return self.op(name, operands, [type], properties)[0]

    def regions(
        self,
        name: str,
        operands: Sequence[Name],
        types: Sequence[str],
        bodies: Iterable[Body],
        properties: str = "",
        attributes: str = "",
    ) -> list[Name]:
        """Write an operation with regions, each written by a function of its arguments."""
        results = [self.new(t) for t in types]
        self.line(f"{_assigned(results)}{_head(name, operands, properties)} (" + "{")
        for k, body in enumerate(bodies):
            if k:
                self.line("}, {")
            with self._scope():
                if body.args:
                    self.lines.append("  " * (self.depth - 1) + f"^bb0({_listed(body.args)}):")
                body.write()
        self.line("})" + (f" {{{attributes}}}" if attributes else "") + _signature(operands, types))
        return results

    def constant(self, value: str, type: str) -> Name:
        """A constant, written only once in each region where it is visible."""
        for scope in self._constants:
            if (value, type) in scope:
                return scope[value, type]
        made = self.one("arith.constant", [], type, f"value = {value}" + ("" if type == "i1" else f" : {type}"))
        self._constants[-1][value, type] = made
        return made

    def index(self, value: int) -> Name:
        return self.constant(str(value), "index")

    @contextmanager
    def _scope(self) -> Iterator[None]:
        self.depth += 1
        self._constants.append({})
        yield
        self._constants.pop()
        self.depth -= 1


@dataclass(frozen=True)
class Body:
    """A region: its arguments, and the function that writes it."""

    args: Sequence[Name]
    write: Callable[[], None]


def _assigned(results: Sequence[Name]) -> str:
    return f"{', '.join(r.text for r in results)} = " if results else ""


def _head(name: str, operands: Sequence[Name], properties: str) -> str:
    return f'"{name}"({", ".join(v.text for v in operands)})' + (f" <{{{properties}}}>" if properties else "")


def _signature(operands: Sequence[Name], types: Sequence[str]) -> str:
    return f" : ({', '.join(v.type for v in operands)}) -> {results_text(types)}"


def results_text(types: Sequence[str]) -> str:
    return types[0] if len(types) == 1 else f"({', '.join(types)})"


def _listed(args: Sequence[Name]) -> str:
    return ", ".join(f"{a.text}: {a.type}" for a in args)


def numbers(values: Iterable[int], width: int = 64) -> str:
    """A list of integers as an attribute."""
    listed = ", ".join(map(str, values))
    return f"array<i{width}: {listed}>" if listed else f"array<i{width}>"
