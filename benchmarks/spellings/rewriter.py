"""Rewrites Python programs without changing their meaning, to get spellings that nobody has written.

Each rewriting is a transformer of syntax trees. The results of a program stay the same up to rounding. Only programs of
this benchmark are rewritten: expressions in them have no effects.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.spellings.measure import Problem

Draw = Callable[[], bool]
_GLOBAL = "np", "math", "len", "sum", "range", "max", "min"


class _Rewriting(ast.NodeTransformer):
    """A rewriting; ``draw`` decides for each place whether it is rewritten."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self._count = 0

    def fresh(self, hint: str) -> str:
        self._count += 1
        return f"{hint}_{type(self).__name__.lower()}{self._count}"


class InOrder(_Rewriting):
    """``prange`` becomes ``range``."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "prange":
            node.func.id = "range"
        return node


class Commuted(_Rewriting):
    """``a + b`` becomes ``b + a``, and ``a * b`` becomes ``b * a``: no bit changes."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Add | ast.Mult) and not _has_list(node) and self.draw():
            node.left, node.right = node.right, node.left
        return node


class Spelt(_Rewriting):
    """``u[i] += b`` becomes ``u[i] = u[i] + b``, for elements and slices."""

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.target, ast.Subscript) and self.draw():
            read = ast.Subscript(node.target.value, node.target.slice, ast.Load())
            return ast.Assign([node.target], ast.BinOp(read, node.op, node.value))
        return node


class Whiles(_Rewriting):
    """``for i in range(..)`` becomes a ``while`` loop with a counter."""

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        simple = isinstance(node.target, ast.Name) and node.target.id != "_"
        if not simple or not _is_range(node.iter) or _jumps(node) or not self.draw():
            return node
        assert isinstance(node.iter, ast.Call) and isinstance(node.target, ast.Name)
        first, last, by = _bounds(node.iter)
        if by is not None:
            return node
        counter, limit = node.target.id, self.fresh("limit")
        return [
            ast.Assign([ast.Name(limit, ast.Store())], last),
            ast.Assign([ast.Name(counter, ast.Store())], first),
            ast.While(
                ast.Compare(ast.Name(counter, ast.Load()), [ast.Lt()], [ast.Name(limit, ast.Load())]),
                [*node.body, ast.AugAssign(ast.Name(counter, ast.Store()), ast.Add(), ast.Constant(1))],
                [],
            ),
        ]


class Backwards(_Rewriting):
    """Loops over ``prange``, which are independent, count down."""

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.iter, ast.Call) and _called(node.iter) == "prange" and self.draw():
            first, last, by = _bounds(node.iter)
            if by is None:
                before = ast.BinOp(first, ast.Sub(), ast.Constant(1))
                end = ast.BinOp(last, ast.Sub(), ast.Constant(1))
                node.iter = ast.Call(ast.Name("range", ast.Load()), [end, before, ast.Constant(-1)], [])
        return node


class Collapsed(_Rewriting):
    """Two nested ``prange`` loops become one; the subscripts are computed from its counter by division."""

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        inner = node.body[0]
        if len(node.body) != 1 or not isinstance(inner, ast.For) or not self.draw():
            return node
        if not all(isinstance(n.iter, ast.Call) and _called(n.iter) == "prange" for n in (node, inner)):
            return node
        assert isinstance(node.iter, ast.Call) and isinstance(inner.iter, ast.Call)
        (a, b, by), (c, d, step) = _bounds(node.iter), _bounds(inner.iter)
        if by is not None or step is not None:
            return node
        width, both = self.fresh("width"), self.fresh("both")
        loaded = ast.Name(both, ast.Load()), ast.Name(width, ast.Load())
        over = ast.BinOp(ast.BinOp(b, ast.Sub(), a), ast.Mult(), loaded[1])
        row = ast.BinOp(a, ast.Add(), ast.BinOp(loaded[0], ast.FloorDiv(), loaded[1]))
        column = ast.BinOp(c, ast.Add(), ast.BinOp(loaded[0], ast.Mod(), loaded[1]))
        body = [ast.Assign([node.target], row), ast.Assign([inner.target], column), *inner.body]
        loop = ast.For(ast.Name(both, ast.Store()), ast.Call(ast.Name("range", ast.Load()), [over], []), body, [])
        return [ast.Assign([ast.Name(width, ast.Store())], ast.BinOp(d, ast.Sub(), c)), loop]


class Named(_Rewriting):
    """Operands of an assigned expression get names, so that each line has one operation."""

    def visit_Assign(self, node: ast.Assign) -> Any:
        if not isinstance(node.value, ast.BinOp) or _has_list(node.value) or not self.draw():
            return node
        before: list[ast.stmt] = []
        for side in ("left", "right"):
            part = getattr(node.value, side)
            if isinstance(part, ast.BinOp):
                name = self.fresh("part")
                before.append(ast.Assign([ast.Name(name, ast.Store())], part))
                setattr(node.value, side, ast.Name(name, ast.Load()))
        return [*before, node]


class Outlined(_Rewriting):
    """The value assigned to an element is computed by a separate function."""

    def __init__(self, draw: Draw) -> None:
        super().__init__(draw)
        self.functions: list[str] = []
        self.made: list[ast.FunctionDef] = []

    def visit_Assign(self, node: ast.Assign) -> Any:
        target = node.targets[0]
        if not isinstance(target, ast.Subscript) or not isinstance(node.value, ast.BinOp) or not self.draw():
            return node
        loads = dict.fromkeys(n.id for n in ast.walk(node.value) if isinstance(n, ast.Name))
        names = [name for name in loads if name not in (*_GLOBAL, *self.functions)]
        if any(isinstance(n, ast.Lambda | ast.comprehension) for n in ast.walk(node.value)):
            return node
        name = self.fresh("computed")
        arguments = ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, [])
        self.made.append(ast.FunctionDef(name, arguments, [ast.Return(node.value)], []))
        node.value = ast.Call(ast.Name(name, ast.Load()), [ast.Name(n, ast.Load()) for n in names], [])
        return node

    def visit_Module(self, node: ast.Module) -> ast.AST:
        self.functions = [n.name for n in node.body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
        self.generic_visit(node)
        at = next(k for k, n in enumerate(node.body) if isinstance(n, ast.FunctionDef))
        node.body[at:at] = self.made
        return node


class Chained(_Rewriting):
    """``u[i, j]`` of integers becomes ``u[i][j]`` where it is read."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        index = node.slice
        if not isinstance(node.ctx, ast.Load) or not isinstance(index, ast.Tuple) or len(index.elts) != 2:
            return node
        if any(isinstance(n, ast.Slice | ast.Constant) for n in index.elts) or not self.draw():
            return node
        return ast.Subscript(ast.Subscript(node.value, index.elts[0], ast.Load()), index.elts[1], ast.Load())


REWRITINGS = InOrder, Commuted, Spelt, Whiles, Backwards, Collapsed, Named, Outlined, Chained


def drawn(given: Problem, count: int, chance: random.Random, folder: Path) -> list[tuple[str, Callable[..., Any]]]:
    """``count`` programs, each a spelling of a problem with up to four rewritings, and their names."""
    module = importlib.import_module(f"benchmarks.spellings.problems.{given.name}")
    text = inspect.getsource(module)
    found: list[tuple[str, Callable[..., Any]]] = []
    seen = {ast.unparse(ast.parse(text))}
    while len(found) < count:
        function = chance.choice(given.spellings).__name__
        wanted = chance.sample(REWRITINGS, chance.randint(1, 4))
        tree = _reduced(ast.parse(text), function)
        for rewriting in wanted:
            tree = rewriting(lambda: chance.random() < 0.7).visit(tree)
        written = ast.unparse(ast.fix_missing_locations(tree))
        if written in seen:
            continue
        seen.add(written)
        name = "+".join([function, *(r.__name__.lower() for r in wanted)])
        file = folder / f"{given.name}_{len(found)}.py"
        file.write_text(written)
        found.append((name, getattr(_imported(file), function)))
    return found


def _reduced(tree: ast.Module, function: str) -> ast.Module:
    """A module with only one function and what it needs."""
    defined = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    needed, work = set(), [function]
    while work:
        name = work.pop()
        if name in defined and name not in needed:
            needed.add(name)
            work += [n.id for n in ast.walk(defined[name]) if isinstance(n, ast.Name)]
    kept = (ast.Import, ast.ImportFrom)
    tree.body = [n for n in tree.body if isinstance(n, kept) or getattr(n, "name", None) in needed]
    return tree


def _imported(file: Path) -> Any:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = sys.modules[file.stem] = importlib.util.module_from_spec(spec)  # where dataclasses look it up
    spec.loader.exec_module(module)
    return module


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _is_range(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _called(node) == "range"


def _bounds(node: ast.Call) -> tuple[ast.expr, ast.expr, ast.expr | None]:
    first, *rest = node.args
    if not rest:
        return ast.Constant(0), first, None
    return first, rest[0], rest[1] if len(rest) > 1 else None


def _jumps(node: ast.For) -> bool:
    return any(isinstance(n, ast.Continue | ast.Break | ast.Return) for n in ast.walk(node))


def _has_list(node: ast.BinOp) -> bool:
    """Whether lists or tuples may be added."""
    return any(isinstance(side, ast.List | ast.Tuple) for side in (node.left, node.right))
