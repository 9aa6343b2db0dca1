"""The syntax tree of a Python function or lambda, and source ranges of its nodes."""

from __future__ import annotations

import ast
import sys
import sysconfig
import tokenize
import types
from collections.abc import Callable
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from adc.frontend.syntax.bindings import every_node
from adc.frontend.syntax.classes import without_local_classes
from adc.frontend.syntax.contexts import without_contexts
from adc.frontend.syntax.iterators import parameters_read_once, read_once, with_iterators, without_kept_generators
from adc.frontend.syntax.liveness import Liveness, analyse
from adc.frontend.syntax.matching import without_match
from adc.frontend.syntax.private import with_private_names
from adc.frontend.syntax.texts import NoSource, text_of
from adc.frontend.syntax.walrus import without_assigning_tests
from adc.ir import forks
from adc.ir.core import Loc
from adc.ir.lazy_dataclass import dataclass

Node = ast.FunctionDef | ast.Lambda


@dataclass(frozen=True, eq=False)
class SourceFile:
    """A parsed file. ``functions`` lists its function definitions and lambdas by the line and the name that CPython
    records."""

    name: str
    lines: tuple[str, ...]
    functions: dict[tuple[int, str], list[Node]]
    sources: dict[Node, FunctionSource] = field(default_factory=dict)

    def loc(self, node: ast.AST) -> Loc:
        """The range of ``node``; for a compound statement, that of its header.

        Columns count characters, where the syntax tree counts bytes.
        """
        last = _head(node)
        line, end_line = node.lineno, last.end_lineno  # type: ignore[attr-defined]
        column = self._column(line, node.col_offset)  # type: ignore[attr-defined]
        if last is node and isinstance(node, _NESTING):  # the first word, or the first line
            text = self.lines[line - 1] if line <= len(self.lines) else ""
            end = column + len("try") if isinstance(node, ast.Try | ast.TryStar) else _header_end(text)
            return Loc(self.name, line, column, line, max(end, column + 1))
        return Loc(
            self.name,
            line,
            column,
            end_line,
            self._column(end_line, last.end_col_offset),  # type: ignore[attr-defined]
        )

    def _column(self, line: int, offset: int) -> int:
        if not 0 < line <= len(self.lines):
            return offset
        text = self.lines[line - 1]
        return offset if text.isascii() else len(text.encode()[:offset].decode(errors="replace"))


_NESTING = ast.Try | ast.TryStar | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _head(node: ast.AST) -> ast.AST:
    """The last part of the header of a compound statement; ``node`` itself for others."""
    match node:
        case ast.For() | ast.AsyncFor():
            return node.iter
        case ast.If() | ast.While():
            return node.test
        case ast.With() | ast.AsyncWith():
            return node.items[-1].optional_vars or node.items[-1].context_expr
        case ast.Match():
            return node.subject
    return node


def _header_end(text: str) -> int:
    """The column at which the header of a block ends on the line ``text``: after the colon, or before a comment."""
    depth = end = 0
    try:
        for token in tokenize.generate_tokens(iter([text]).__next__):
            if token.type in (tokenize.COMMENT, tokenize.NEWLINE, tokenize.NL):
                break
            depth += (token.string in "([{") - (token.string in ")]}") if token.type == tokenize.OP else 0
            end = token.end[1]
            if token.string == ":" and depth == 0:
                break
    except tokenize.TokenError:
        pass  # the brackets close on another line
    return end


@dataclass(eq=False)
class FunctionSource:
    """A function's syntax tree within its file. Compared by identity; one object for each node and place."""

    file: SourceFile
    node: Node
    name: str
    placed: Loc | None = None
    locs: dict[ast.AST, Loc] = field(default_factory=dict)
    # The generator functions that generator expressions in it stand for, where these are passed to functions.
    expressions: dict[ast.GeneratorExp, ast.FunctionDef] = field(default_factory=dict)
    streams: dict[ast.expr, ast.GeneratorExp] = field(default_factory=dict)  # and those that calls of ``map`` stand for
    _elsewhere: dict[Loc, FunctionSource] = field(default_factory=dict)

    @cached_property
    def liveness(self) -> Liveness:
        return analyse(self.node)

    @cached_property
    def once(self) -> frozenset[str]:
        """The variables that may have what can be gone through once."""
        return read_once(self.node)

    @cached_property
    def parameters_once(self) -> frozenset[str]:
        """The parameters that may have what can be gone through once, where the function's body is written out."""
        return parameters_read_once(self.node)

    def placed_at(self, loc: Loc) -> FunctionSource:
        """The same function with the location ``loc`` for all of its code: that of the call, for a library's
        function."""
        found = self._elsewhere.get(loc)
        if found is None:
            found = self._elsewhere[loc] = replace(self, placed=loc, locs={}, _elsewhere={})
        return found

    def loc(self, node: ast.AST) -> Loc:
        if self.placed is not None:
            return self.placed
        found = self.locs.get(node)
        if found is None:
            found = self.locs[node] = self.file.loc(node)
        return found

    @property
    def body(self) -> list[ast.stmt]:
        """The statements; a lambda's expression counts as a return."""
        if isinstance(self.node, ast.Lambda):
            return [self._lambda_return]
        return self.node.body

    @cached_property
    def _lambda_return(self) -> ast.stmt:
        value = self.node.body
        assert isinstance(value, ast.expr)
        return ast.copy_location(ast.Return(value), value)

    def told(self, caller: str) -> str:
        """The name of the function, for an error in it, when it was called from the file ``caller``: with its package,
        if it belongs to Python or to an installed package that the call does not come from. Users may think that adc
        knows it."""
        package = _package(self.file.name)
        if package in ("", "adc", _package(caller)):
            return f"{self.name}()"
        return f"{self.name}() of {package}: adc does not know that function, and compiles its Python source"

    @property
    def header(self) -> Loc:
        """The range of the function's header line."""
        return self.loc(self.node)


def _package(file: str) -> str:
    """The installed package, or module of Python's, that a file belongs to; empty for a program's own."""
    for kind in ("purelib", "platlib", "stdlib"):
        path, root = Path(file), sysconfig.get_path(kind)
        if path.is_relative_to(root):
            return path.relative_to(root).parts[0].removesuffix(".py")
    return ""


_lock = forks.Lock()
_files: dict[str, tuple[tuple[str, ...], SourceFile]] = {}
_KEPT = 64

# Rewrites of the syntax tree of a file before its functions are traced, in this order, each if there is a node of its
# kind: most files have none, and visiting a whole tree costs more than parsing it.
_TRANSLATIONS: tuple[tuple[object, Callable[[ast.Module, str], ast.Module]], ...] = (
    (ast.ClassDef, lambda tree, text: with_private_names(tree)),
    ("__iter__", lambda tree, text: with_iterators(tree)),
    (ast.Match, lambda tree, text: without_match(tree)),
    (ast.With, lambda tree, text: without_contexts(tree)),
    (ast.NamedExpr, lambda tree, text: without_assigning_tests(tree)),
    ("a generator expression of its own", lambda tree, text: without_kept_generators(tree)),
    ("a class in something", without_local_classes),
)


# What is odd about some nodes; most nodes of a file are of other classes.
_ODD: dict[type[ast.AST], Callable[[Any], object]] = {
    ast.Assign: lambda node: "a generator expression of its own" if isinstance(node.value, ast.GeneratorExp) else None,
    ast.For: lambda node: "a generator expression of its own" if isinstance(node.iter, ast.GeneratorExp) else None,
    ast.comprehension: lambda n: "a generator expression of its own" if isinstance(n.iter, ast.GeneratorExp) else None,
    ast.FunctionDef: lambda node: node.name if node.name == "__iter__" else None,
    ast.ClassDef: lambda node: "a class in something" if node.col_offset else None,
}


def _load(filename: str, lines: tuple[str, ...]) -> SourceFile:
    with _lock:
        known = _files.get(filename)
        if known is not None and known[0] == lines:
            return known[1]
    text = "".join(lines)
    tree = ast.parse(text)
    functions: dict[tuple[int, str], list[Node]] = {}
    kinds: set[object] = set()
    for node in every_node(tree):
        kind = type(node)
        kinds.add(kind)
        if kind in _ODD:
            kinds.add(_ODD[kind](node))
        if isinstance(node, ast.Lambda):
            functions.setdefault((node.lineno, "<lambda>"), []).append(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
            functions.setdefault((first, node.name), []).append(node)  # type: ignore[arg-type]
    for wanted, translated in _TRANSLATIONS:
        if wanted in kinds:
            translated(tree, text)
    file = SourceFile(filename, lines, functions)
    with _lock:
        if len(_files) >= _KEPT:
            _files.pop(next(iter(_files)))
        _files[filename] = (lines, file)
    return file


def function_source(fn: types.FunctionType) -> FunctionSource:
    """The syntax tree of ``fn``. Raises ``NoSource`` if there is none, or if the file has changed since."""
    lines, code = text_of(fn.__code__, fn.__globals__)
    file = _load(fn.__code__.co_filename, lines)
    name = code.co_name
    candidates = file.functions.get((code.co_firstlineno, name), [])
    matching = [node for node in candidates if _arguments(node) == code.co_varnames[: len(_arguments(node))]]
    if not matching:
        raise NoSource(f"{file.name}:{code.co_firstlineno} no longer defines it; the file was changed after import")
    if len(matching) > 1:
        around = [node for node in matching if _spans(node, code)]
        # Of nested lambdas, the innermost: these come after those around them.
        inner = [node for node in around if not any(other is not node and _is_in(other, node) for other in around)]
        matching = inner or matching
    if len(matching) > 1 and len({ast.dump(node) for node in matching}) > 1:
        raise NoSource(
            f"several lambdas at {file.name}:{code.co_firstlineno} look alike, and Python keeps no columns",
            "put them on lines of their own, or leave out -X no_debug_ranges",
        )
    return file.sources.setdefault(matching[0], FunctionSource(file, matching[0], name))


def _is_in(inner: Node, outer: Node) -> bool:
    return any(node is inner for node in ast.walk(outer))


def _arguments(node: Node) -> tuple[str, ...]:
    a = node.args
    extra = [x for x in (a.vararg, a.kwarg) if x is not None]
    return tuple(x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs, *extra))


def _spans(node: Node, code: types.CodeType) -> bool:
    """Whether the instructions of ``code`` lie within ``node``, by the columns that CPython records."""
    start, end = (node.lineno, node.col_offset), (node.end_lineno or sys.maxsize, node.end_col_offset or sys.maxsize)
    body = node.body if isinstance(node, ast.Lambda) else node
    start = (body.lineno, body.col_offset)
    for line, end_line, column, end_column in code.co_positions():
        if line is None or end_line is None or column is None or end_column is None:
            continue
        if line == code.co_firstlineno and column == 0 == end_column:
            continue  # the RESUME instruction
        if (line, column) < start or (end_line, end_column) > end:
            return False
    return True
