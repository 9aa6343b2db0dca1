"""Phrases that the texts do not use: CONTRIBUTING.md asks for the field's words in normal word order."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import FENCE, ROOT

PHRASES = {
    r"as (Python|NumPy|C) has it": "as in Python",
    r"can (still )?have again": "can recompute",
    r"(can|could|cannot|may|might) (still )?be had|(is|are|was|were) (never )?had\b": "is available",
    r"(lists|says|shows|knows) what there is|what there is of\b": "lists the supported functions",
    r"(has|have|had) not got": "does not support",
    r"hangs? together|hangs? on\b": "depends on",
    r"(held|hold|holds) against": "compared with",
    r"(and|or) (its|their) kin\b|and kin\b": "and similar functions",
    r"(is|was|were|are|be) not known before\b(?! )": "is not known in advance",
    r"of (all|what) sorts\b": "all forms of",
    r"what would do\b": "how much would be enough",
    r"as one likes": "any number of times",
    r"(change|changes|changed) places": "are swapped",
    r"what of that\b|of which one\b": "which of these",
    r"(is|are) as large as can be|as (\w+) as can be\b": "as possible",
    r"(?<!there )is no (function|float|integer|number|matrix)\b": "is not a function",
    r"makes sense of": "interprets",
    r"for (who|whom)\b": "for those who",
    r"so much[;,.]": "that much",
    r"in the place of": "instead of",
}
TEXTS = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "gallery").iterdir()),
]


SOURCES = ("adc", "frontend", "ir", "passes", "backend")


def prose(path: Path) -> str:
    """A text in one line, without blocks of code and code in the line."""
    text = path.read_text()
    if path.suffix == ".md":
        text = re.sub(r"`[^`\n]*`", "`code`", FENCE.sub("", text))
    return " ".join(text.split())


def idioms(text: str) -> list[str]:
    return [
        f"...{text[max(0, match.start() - 40) : match.end() + 20]}...: say {instead!r}"
        for phrase, instead in PHRASES.items()
        for match in re.finditer(phrase, text)
    ]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_no_invented_idioms(path: Path) -> None:
    found = idioms(prose(path))
    assert not found, "\n".join(found)


def strings(path: Path) -> Iterator[str]:
    """What a module may show: its strings of several words, docstrings apart."""
    tree = ast.parse(path.read_text())
    silent = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            silent.update(map(id, node.values))
            yield "".join(part.value if isinstance(part, ast.Constant) else "it" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent:
            yield node.value


@pytest.mark.parametrize("folder", SOURCES)
def test_no_invented_idioms_in_what_is_shown(folder: str) -> None:
    """Errors, reports and the help of commands."""
    modules = sorted((ROOT / folder).rglob("*.py"))
    found = [f"{m.relative_to(ROOT)}: {idiom}" for m in modules for s in strings(m) if " " in s for idiom in idioms(s)]
    assert modules and not found, "\n".join(found)
