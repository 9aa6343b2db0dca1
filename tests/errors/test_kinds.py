"""Every refusal in the sources has a kind of the table, and every kind of the table is used."""

from __future__ import annotations

import ast
import builtins
import functools
import re
from pathlib import Path

import pytest

import adc.errors
from adc.ir.kinds import KINDS
from adc.ir.ways_out import WAYS_OUT

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "ir" / "kinds.py"
SOURCES = sorted(
    path
    for layer in ("adc", "frontend", "passes", "backend", "ir")
    for path in (ROOT / layer).rglob("*.py")
    if path.relative_to(ROOT).parts[1] not in ("frontend", "passes", "backend", "ir") and path != TABLE
)
CLASSES = {name for name in adc.errors.__all__ if name.endswith("Error")}
NAMES = {
    target.id
    for node in ast.parse(TABLE.read_text()).body
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
    for target in node.targets
    if isinstance(target, ast.Name)
}


@functools.cache
def nodes() -> list[tuple[str, ast.Call | ast.Raise | ast.Attribute]]:
    """Refusals, what is raised, and what is taken from ``kinds``: the sources are read once for all tests."""
    return [
        (f"{path}:{node.lineno}", node)
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Call) and (_name(node.func) == "refuse" or _refuses(node)))
        or isinstance(node, ast.Raise)
        or (isinstance(node, ast.Attribute) and _name(node.value) == "kinds")
    ]


def _name(node: ast.expr) -> str:
    """The last part of a dotted name."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def test_the_table_is_read() -> None:
    assert len(NAMES) == len(KINDS)
    assert {name.lower().replace("_", "-") for name in NAMES} == set(KINDS)


def test_every_refusal_says_its_kind() -> None:
    found = 0
    for where, node in nodes():
        if isinstance(node, ast.Call) and _name(node.func) == "refuse":
            (kind,) = [k.value for k in node.keywords if k.arg == "kind"]
            if isinstance(kind, ast.Attribute):
                assert kind.attr == "kind" or kind.attr in NAMES, where
            else:
                assert ast.unparse(kind) == "kind", where
            found += 1
    assert found > 100


def test_errors_are_made_by_their_kind() -> None:
    """No code makes an error by its class: it would have no kind."""
    for where, node in nodes():
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
            assert node.exc.func.id not in CLASSES, where


@functools.cache
def used() -> set[str]:
    """The kinds that the sources name."""
    return {node.attr for _, node in nodes() if isinstance(node, ast.Attribute)}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_kind_is_used(name: str) -> None:
    assert name in used() or kind_of(name).error.default_kind == kind_of(name).name


RUNNING = KINDS.keys() & {
    *("index-out-of-bounds", "division-by-zero", "computed-value", "unset-variable", "out-of-memory", "no-file"),
    "shape-mismatch",
    "not-finite",
    "rank-failed",
}  # what goes wrong with these is a value


def test_every_refusal_names_a_way_out() -> None:
    assert WAYS_OUT.keys() == KINDS.keys() - RUNNING
    for kind in KINDS.values():
        assert kind("what is wrong").help == WAYS_OUT.get(kind.name, "")
        assert kind("what is wrong", help="the way out").help == "the way out"


IR_WORDS = re.compile(r"\b(memref|f64|f32|i64|i32|i1|scf|arith|index_cast|rank \d|of rank|no rule and no source)\b")


def test_refusals_do_not_speak_of_the_ir() -> None:
    """Types are those of Python and NumPy; ``f64[:, :]`` is how signatures are written down, and only said of these.
    What is wrong with a file of MLIR is said in the words of MLIR."""
    for where, node in nodes():
        if isinstance(node, ast.Call) and _refuses(node) and "mlir" not in where:
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str) and "f64[" not in part.value:
                    assert not IR_WORDS.search(part.value), where


def _refuses(call: ast.Call) -> bool:
    f = call.func
    return (isinstance(f, ast.Name) and f.id == "refuse") or (
        isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name) and f.value.id == "kinds"
    )


def kind_of(name: str):
    return KINDS[name.lower().replace("_", "-")]


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_a_kind_is_a_built_in_too(kind) -> None:
    bases = [cls for cls in kind.error.__mro__ if cls.__module__ == "builtins" and hasattr(builtins, cls.__name__)]
    assert bases[0] not in (Exception, BaseException, object), f"{kind.error} is only an Exception"
