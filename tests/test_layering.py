"""Imports follow one direction, `adc -> frontend, passes, backend -> ir`, without cycles between files or folders:
every import is read."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LAYERS = {"adc": "adc", "frontend": "adc.frontend", "ir": "adc.ir", "passes": "adc.passes", "backend": "adc.backend"}
ALLOWED = {
    "adc": {"adc", "frontend", "passes", "backend", "ir"},
    "frontend": {"frontend", "ir"},
    "passes": {"passes", "ir"},
    "backend": {"backend", "ir"},
    "ir": {"ir"},
}

def modules() -> dict[str, Path]:
    """Every module of the project by dotted name."""
    found = {}
    for folder, package in LAYERS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            inside = path.relative_to(ROOT / folder)
            if folder == "adc" and inside.parts[0] in LAYERS:
                continue  # a link to another layer
            parts = inside.with_suffix("").parts
            found[".".join([package, *(parts[:-1] if parts[-1] == "__init__" else parts)])] = path
    return found


MODULES = modules()


def layer_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in LAYERS else "adc"


def under_type_checking(tree: ast.Module) -> set[ast.AST]:
    """The imports that only a type checker sees: they make no cycle at run time."""
    inside: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            for statement in node.body:
                inside.update(ast.walk(statement))
    return inside


@functools.cache
def syntax(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), filename=str(path))


@functools.cache
def imports(path: Path) -> list[tuple[str, int, bool]]:
    """`(module of adc, line, seen at run time)` for each import, those inside functions included."""
    tree = syntax(path)
    typing_only = under_type_checking(tree)
    found = []
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                names.append(full if full in MODULES else str(node.module))
        for name in names:
            if name == "adc" or name.startswith("adc."):
                found.append((name, node.lineno, node not in typing_only))
    return found


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_down(module: str) -> None:
    layer = layer_of(module)
    for target, line, _ in imports(MODULES[module]):
        where = f"{MODULES[module]}:{line}"
        assert layer_of(target) in ALLOWED[layer], f"{where}: {layer} must not import {target}"
        assert target in MODULES, f"{where}: {target} is not a module of the project"


@pytest.mark.parametrize("module", MODULES)
def test_no_bare_layer_names(module: str) -> None:
    for node in ast.walk(syntax(MODULES[module])):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [str(node.module)]
        for name in names:
            assert name.split(".")[0] not in {"ir", "frontend", "passes", "backend"}, f"{MODULES[module]}: {name}"


def find_cycle(graph: Mapping[str, Iterable[str]]) -> list[str]:
    """A cycle of the graph, or nothing."""
    done: set[str] = set()
    trail: list[str] = []

    def visit(node: str) -> list[str]:
        if node in trail:
            return [*trail[trail.index(node) :], node]
        if node in done:
            return []
        trail.append(node)
        for target in sorted(graph[node]):
            if cycle := visit(target):
                return cycle
        done.add(trail.pop())
        return []

    return next((cycle for node in graph if (cycle := visit(node))), [])


def test_no_cycles() -> None:
    graph = {
        module: {target for target, _, at_run_time in imports(path) if at_run_time and target in MODULES} - {module}
        for module, path in MODULES.items()
    }
    assert not (cycle := find_cycle(graph)), "import cycle: " + " -> ".join(cycle)


def folder_of(module: str) -> str:
    """The sub-package that a module is in, at any depth; one that has sub-packages beside it stands for itself."""
    path = MODULES[module]
    if path.name == "__init__.py" or any((folder / "__init__.py").exists() for folder in path.parent.iterdir()):
        return module
    return module.rpartition(".")[0]


def folders() -> dict[str, set[str]]:
    """What each folder imports of its own layer. Between two modules beside the folders, types alone do not count."""
    graph: dict[str, set[str]] = {folder_of(module): set() for module in MODULES}
    for module, path in MODULES.items():
        for target, _, at_run_time in imports(path):
            if target in MODULES and layer_of(target) == layer_of(module):
                source, folder = folder_of(module), folder_of(target)
                if source != folder and (at_run_time or (source, folder) != (module, target)):
                    graph[source].add(folder)
    return graph


def test_no_cycles_between_folders() -> None:
    assert not (cycle := find_cycle(folders())), "folders import each other: " + " -> ".join(cycle)


def test_a_pass_is_in_the_file_of_its_name() -> None:
    for module, path in MODULES.items():
        if layer_of(module) == "passes":
            for name in pass_names(syntax(path)):
                assert path.stem == name.replace("-", "_"), f"{path}: the pass {name}"


def pass_names(tree: ast.Module) -> list[str]:
    """`name: ClassVar[str] = "..."` of each class."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return [
        statement.value.value
        for statement in (statement for found in classes for statement in found.body)
        if isinstance(statement, ast.AnnAssign) and ast.unparse(statement.target) == "name"
        if isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, str)
    ]
