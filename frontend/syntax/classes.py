"""A class that a function defines is made when the function is compiled, as its statements say nothing of the run.

On the syntax tree the statement becomes an assignment of what ``made`` gives, for which the tracer has a rule. The
class is made of the file's own text, in a function that has the variables around as its parameters.
"""

from __future__ import annotations
import __future__

import ast
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from adc.frontend.syntax.bindings import argument_names, free_names, own_nodes, stores_in
from adc.frontend.syntax.nodes import at, calling
from adc.ir.lazy_dataclass import dataclass

_WRAPPERS = (
    "property", "staticmethod", "classmethod", "setter", "getter", "abstractmethod", "cached_property", "override",
)  # fmt: skip
_BUILT_IN = ("list", "dict", "set", "tuple", "float", "int", "bool")
_DECORATORS = ("dataclass", "total_ordering", "final", "unique", "runtime_checkable")


def made(definition: Definition, *around: Any) -> type:
    """The class of a definition, with these values of the variables around that it reads, and of names in its head."""
    raise NotImplementedError


@dataclass(eq=False)
class Definition:
    """A class statement in a function. ``names``: the variables of functions around that it reads; ``odd``: a part of
    it that may depend on the run."""

    text: str
    line: int
    name: str
    qualified: str  # the full name
    names: tuple[str, ...]
    odd: ast.AST | None
    known: dict[tuple[int, ...], tuple[Sequence[Any], type]] = field(default_factory=dict)

    def __deepcopy__(self, memo: object) -> Definition:
        return self

    def make(self, filename: str, values: Sequence[Any], module: Mapping[str, Any]) -> type:
        """The class; the same one for the same values."""
        key = tuple(map(id, values))
        if key not in self.known:
            tree = ast.parse(self.text)
            future = any(isinstance(s, ast.ImportFrom) and s.module == "__future__" for s in tree.body)
            found = next(n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.lineno == self.line)
            maker = ast.parse(f"def make({', '.join(self.names)}): return {self.name}").body[0]
            assert isinstance(maker, ast.FunctionDef)
            maker.body.insert(0, found)
            flags = __future__.annotations.compiler_flag if future else 0
            whole = ast.Module([ast.fix_missing_locations(maker)], [])
            code = compile(whole, filename, "exec", flags, dont_inherit=True)
            space: dict[str, Any] = {}
            exec(code, module, space)  # type: ignore[arg-type]
            made = space["make"](*values)
            made.__qualname__ = self.qualified
            self.known[key] = values, made
        return self.known[key][1]


def without_local_classes(tree: ast.Module, text: str) -> ast.Module:
    """The tree with assignments in the place of classes in functions."""
    result = _Translation(text).visit(tree)
    assert isinstance(result, ast.Module)
    return result


class _Translation(ast.NodeTransformer):
    def __init__(self, text: str) -> None:
        self.text = text
        self.functions: list[ast.FunctionDef] = []  # those around
        self.around: list[frozenset[str]] = []  # their variables
        self.path: list[str] = []  # the names of what is around

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        own = own_nodes(node.body)
        named = {n.name for n in own if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        self.around.append(frozenset(argument_names(node)) | stores_in(node.body) | named)
        self.functions.append(node)
        self.path += [node.name, "<locals>"]
        self.generic_visit(node)
        del self.path[-2:]
        self.around.pop()
        self.functions.pop()
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        if not self.around:
            self.path.append(node.name)
            self.generic_visit(node)
            self.path.pop()
            return node
        around = frozenset[str]().union(*self.around) - {node.name}
        read = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        inside = {name for n in ast.walk(node) if isinstance(n, ast.FunctionDef) for name in free_names(n)}
        own = {n.id for s in node.body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        own |= {s.name for s in node.body if isinstance(s, ast.FunctionDef | ast.ClassDef)}
        outside = {n.id for s in (*node.decorator_list, *node.bases) for n in ast.walk(s) if isinstance(n, ast.Name)}
        direct = {n.id for s in node.body for n in own_nodes([s]) if isinstance(n, ast.Name)} - own
        names = tuple(sorted((inside | outside | (direct & read)) & around))
        odd = _odd(node) or (node if any(self._may_change(name, node) for name in names) else None)
        definition = Definition(self.text, node.lineno, node.name, ".".join([*self.path, node.name]), names, odd)
        held = ast.Constant(None)
        held.value = definition  # type: ignore[assignment]
        seen = sorted(outside - set(names))  # the code depends on what these are
        value = calling(made, [held, *(ast.Name(name, ast.Load()) for name in (*names, *seen))])
        return at(ast.Assign([ast.Name(node.name, ast.Store())], value), node)


    def _may_change(self, name: str, node: ast.ClassDef) -> bool:
        """Whether a variable may be another one when a method reads it than when the class is made."""
        stores = 0
        for function in self.functions:
            stores += name in argument_names(function)
            for n in ast.walk(function):
                stored = isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load)
                stores += stored or (isinstance(n, ast.FunctionDef | ast.ClassDef) and n.name == name)
                if isinstance(n, ast.For | ast.While) and any(inner is node for inner in ast.walk(n)):
                    return True
        return stores != 1


def _last(node: ast.expr) -> str:
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _odd(node: ast.ClassDef) -> ast.AST | None:
    """A part of a class that may depend on the run, or does more than define it."""
    found: ast.AST | None
    for decorator in node.decorator_list:
        if _last(decorator) not in _DECORATORS:
            return decorator
    if node.keywords:
        return node.keywords[0].value
    for s in node.body:
        if isinstance(s, ast.FunctionDef):
            bad = [d for d in s.decorator_list if _last(d) not in _WRAPPERS]
            values = [*s.args.defaults, *(d for d in s.args.kw_defaults if d is not None)]
            found = next(iter([*bad, *(v for v in values if not _is_plain(v))]), None)
        elif isinstance(s, ast.Assign | ast.AnnAssign):
            found = None if s.value is None or _is_plain(s.value) else s.value
        elif isinstance(s, ast.Pass) or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)):
            found = None
        else:
            found = s
        if found is not None:
            return found
    return None


def _is_plain(v: ast.expr) -> bool:
    """Whether a value is the same whenever it is evaluated."""
    if isinstance(v, ast.Call):
        return _last(v) == "field" and not v.args and all(_is_plain(k.value) for k in v.keywords)
    if isinstance(v, ast.Tuple):
        return all(map(_is_plain, v.elts))
    if isinstance(v, ast.UnaryOp):
        return _is_plain(v.operand)
    return isinstance(v, ast.Constant | ast.Lambda) or (isinstance(v, ast.Name) and v.id in _BUILT_IN)
