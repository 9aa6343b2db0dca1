"""The table that ``adc rules`` prints: the rules of operations, and those that a program has declared."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from adc.frontend.rules.registry import RULES, Rule
from adc.frontend.rules.registry import name_of as subject_name
from adc.ir.opdef import OpDef
from adc.passes.differentiation import rules

Row = tuple[str, str, str, str]  # function or operation, signature, kind of rule, place


def rows() -> list[Row]:
    """Rules of operations in the order of their file, then users' rules in the order of declaration."""
    return [*_operations(), *map(_given, RULES.all())]


def _operations() -> Iterator[Row]:
    for operation, rule in rules.RULES.items():
        code = rule.__code__
        yield (
            operation.name,
            _operands(operation, code.co_varnames[2 : code.co_argcount]),
            "both modes",
            _place(code.co_filename, code.co_firstlineno),
        )


def _operands(operation: OpDef, names: Sequence[str]) -> str:
    attributes = [f"{name}=" for name in operation.attrs if name not in ("fastmath", "type")]
    return f"({', '.join([*names, *attributes])})"


def _given(rule: Rule) -> Row:
    shown = [t if isinstance(t, str) else getattr(t, "__name__", str(t)) for t in rule.types]
    if rule.rest is not None:
        shown.append("*" + getattr(rule.rest, "__name__", str(rule.rest)))
    return subject_name(rule.function), f"({', '.join(shown)})", rule.kind, _place(rule.file, rule.line)


def _place(file: str, line: int) -> str:
    shown = os.path.relpath(file)
    return f"{file if shown.startswith('..') else shown}:{line}"


def listing() -> str:
    """The table as text, one line for each rule."""
    table: list[Row] = [("OPERATION", "SIGNATURE", "RULE", "LINE"), *rows()]
    widths = [max(len(row[k]) for row in table) for k in range(3)]
    lines = ["  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[3]]) for row in table]
    return "\n".join(lines) + "\n"
