"""A loop over a generator, as the generator function's body with the loop's body in place of each ``yield``.

This is done on the syntax tree, so that liveness and control flow need not handle it. The function's variables are
renamed. ``return`` in it, and ``break`` in the loop, leave both: they set a flag and leave the enclosing loops one by
one. ``continue`` ends a loop over one item that is put around the loop's body.
"""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from adc.frontend.syntax.bindings import Function, free_names, jumps, own_nodes
from adc.ir.lazy_dataclass import dataclass

IN_WITH = "in_with"  # of the loop that stands for a ``with``: exceptions in its body are raised by the ``yield``
MOST_YIELDS = 8  # the loop's body replaces each of them


class Unsupported(Exception):
    """Something that a generator function must not contain."""

    def __init__(self, node: ast.AST, message: str, help: str) -> None:
        super().__init__(message)
        self.node, self.message, self.help = node, message, help


@functools.lru_cache(maxsize=1024)
def is_generator(function: Function) -> bool:
    """Whether calling the function makes a generator."""
    body = function.body if isinstance(function, ast.FunctionDef) else []
    return any(isinstance(n, ast.Yield | ast.YieldFrom) for n in own_nodes(body))


def arguments_of(node: ast.GeneratorExp, stream: bool) -> list[ast.expr]:
    """What is evaluated when a generator expression is."""
    first = node.generators[0].iter
    return first.args if stream and isinstance(first, ast.Call) else [first]


ITEM = "<item>"  # the variable of the expression that stands for a call of ``zip`` or ``map`` itself
EXPRESSION = "<genexpr>"  # the name of the generator function that a generator expression stands for, as in Python


def function_of(node: ast.GeneratorExp, stream: bool) -> ast.FunctionDef:
    """The generator function of an expression. It is called with what the first ``for`` goes through, evaluated; of a
    ``stream``, as ``zip`` and ``map`` give, with the arguments of that call."""
    given = arguments_of(node, stream)
    names = [f"<through {k}>" for k in range(len(given))]
    reads: list[ast.expr] = [ast.Name(name, ast.Load()) for name in names]
    first = node.generators[0].iter
    through = ast.Call(first.func, reads, []) if stream and isinstance(first, ast.Call) else reads[0]
    body: ast.stmt = ast.Expr(ast.Yield(node.elt))
    for part in reversed(node.generators):
        for test in reversed(part.ifs):
            body = ast.If(test, [body], [])
        body = ast.For(part.target, through if part is node.generators[0] else part.iter, [body], [])
    arguments = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
    alone = isinstance(node.elt, ast.Name) and node.elt.id == ITEM and isinstance(through, ast.Call)
    called = getattr(through.func, "attr", getattr(through.func, "id", "")) if alone else ""  # type: ignore[attr-defined]
    made: ast.stmt = ast.FunctionDef(called or EXPRESSION, arguments, [body], [])
    found = _at(made, node)
    assert isinstance(found, ast.FunctionDef)
    return found


def check(function: ast.FunctionDef) -> None:
    """Raise ``Unsupported`` if loops over the function's items cannot be written out."""
    plain = {n.value for n in own_nodes(function.body) if isinstance(n, ast.Expr)}
    yields = [n for n in own_nodes(function.body) if isinstance(n, ast.Yield | ast.YieldFrom)]
    for n in yields:
        if n not in plain:
            raise Unsupported(n, "what yield gives back is not supported", "let yield be a statement of its own")
    for r in own_nodes(function.body):
        raised = r.exc.func if isinstance(r, ast.Raise) and isinstance(r.exc, ast.Call) else getattr(r, "exc", None)
        if isinstance(r, ast.Raise) and isinstance(raised, ast.Name) and raised.id == "StopIteration":
            raise Unsupported(r, "StopIteration in a generator function is a RuntimeError in Python", "write return")
    if len(yields) > MOST_YIELDS:
        message = f"a generator with more than {MOST_YIELDS} yields is not supported"
        raise Unsupported(yields[MOST_YIELDS], message, "put them into a loop, or return a list")


@dataclass
class _Splice:
    loop: ast.For
    prefix: str
    breaks: bool
    continues: bool
    flagged: bool = False
    made: int = 0

    def fresh(self) -> str:
        self.made += 1
        return f"{self.prefix}{self.made}"

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for s in statements:
            found += self.statement(s)
        return found

    def statement(self, s: ast.stmt) -> list[ast.stmt]:
        if isinstance(s, ast.Expr) and isinstance(s.value, ast.Yield):
            nothing: ast.expr = _at(ast.Constant(None), s)
            return self.item(s.value.value or nothing, s)
        if isinstance(s, ast.Expr) and isinstance(s.value, ast.YieldFrom):
            name = self.fresh()
            each: ast.stmt = ast.Expr(ast.Yield(ast.Name(name, ast.Load())))
            every: ast.stmt = ast.For(ast.Name(name, ast.Store()), s.value.value, [each], [])
            return self.statement(_at(every, s))
        if isinstance(s, ast.Return):
            return self.leave(s, "over")
        if isinstance(s, ast.If):
            s.body, s.orelse = self.block(s.body), self.block(s.orelse)
            return [s]
        if isinstance(s, ast.Try) and getattr(self.loop, IN_WITH, False):
            s.body, s.orelse, s.finalbody = self.block(s.body), self.block(s.orelse), self.block(s.finalbody)
            for handler in s.handlers:
                handler.body = self.block(handler.body)
            return [s]
        if isinstance(s, ast.For | ast.While):
            before, self.flagged = self.flagged, False
            s.body = self.block(s.body)
            inside = self.flagged
            s.orelse = self.block(s.orelse)
            self.flagged |= before
            return [s, *([self.left(s)] if inside else [])]
        return [s]

    def item(self, value: ast.expr, place: ast.stmt) -> list[ast.stmt]:
        """The loop's body for an item."""
        first: ast.stmt = _at(ast.Assign([copy.deepcopy(self.loop.target)], value), place)
        body = [copy.deepcopy(s) for s in self.loop.body]
        if not self.breaks and not self.continues:
            return [first, *body]
        if self.breaks:
            body = [part for s in body for part in self.broken(s)]
        once = _once(self.fresh(), body, self.loop)
        return [first, once, *([self.left(place)] if self.breaks else [])]

    def broken(self, s: ast.stmt) -> list[ast.stmt]:
        """A statement of the loop's body, with each ``break`` replaced."""
        if isinstance(s, ast.Break):
            return self.leave(s, "broke")
        if isinstance(s, ast.If):
            s.body = [part for inner in s.body for part in self.broken(inner)]
            s.orelse = [part for inner in s.orelse for part in self.broken(inner)]
        elif isinstance(s, ast.For | ast.While):
            s.orelse = [part for inner in s.orelse for part in self.broken(inner)]
        return [s]

    def leave(self, place: ast.stmt, why: str) -> list[ast.stmt]:
        self.flagged = True
        names = ("left", "broke") if why == "broke" else ("left",)
        return [*_flags(names, self.prefix, True, place), _at(ast.Break(), place)]

    def left(self, place: ast.AST) -> ast.stmt:
        self.flagged = True
        leave: ast.stmt = ast.If(ast.Name(self.prefix + "left", ast.Load()), [ast.Break()], [])
        return _at(leave, place)


def spliced(
    loop: ast.For, function: ast.FunctionDef, prefix: str, names: Mapping[str, str], place: Place
) -> list[ast.stmt]:
    """The statements that are equivalent to ``for`` over the items of ``function``. ``names``: new names of its
    variables; ``place`` is called for copies of the function's nodes."""
    body = [copy.deepcopy(s) for s in function.body if not isinstance(s, ast.Nonlocal | ast.Global)]
    for old, new in zip(function_nodes(function), (n for s in body for n in ast.walk(s)), strict=True):
        place(old, new)
    for s in body:
        Renaming(names).visit(s)
    breaks, continues = (any(jumps(s, kind) for s in loop.body) for kind in (ast.Break, ast.Continue))
    work = _Splice(loop, prefix, breaks, continues)
    found = work.block(body)
    if work.flagged:
        found = [*_flags(("left", "broke"), prefix, False, loop), _once(work.fresh(), found, loop)]
    if loop.orelse and work.flagged:
        unbroken: ast.stmt = ast.If(ast.UnaryOp(ast.Not(), ast.Name(prefix + "broke", ast.Load())), loop.orelse, [])
        return [*found, _at(unbroken, loop)]
    return [*found, *loop.orelse]


Place = Callable[[ast.AST, ast.AST], None]


def function_nodes(function: ast.FunctionDef) -> list[ast.AST]:
    return [n for s in function.body if not isinstance(s, ast.Nonlocal | ast.Global) for n in ast.walk(s)]


class Renaming(ast.NodeVisitor):
    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            self.function(node)
            return
        if isinstance(node, ast.Name):
            node.id = self.names.get(node.id, node.id)
        elif isinstance(node, ast.ExceptHandler) and node.name is not None:
            node.name = self.names.get(node.name, node.name)
        elif isinstance(node, ast.alias):
            full = node.asname or node.name.split(".")[0]
            node.asname = self.names.get(full, full)
        elif isinstance(node, ast.Nonlocal):
            node.names = [self.names.get(n, n) for n in node.names]
        self.generic_visit(node)

    def function(self, node: ast.FunctionDef | ast.Lambda) -> None:
        """Rename in a nested function: its own variables, which keywords may name, keep their names."""
        free = free_names(node)
        outside: list[ast.expr] = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
        body: list[ast.stmt] | list[ast.expr] = [node.body] if isinstance(node, ast.Lambda) else node.body
        if isinstance(node, ast.FunctionDef):
            node.name = self.names.get(node.name, node.name)
            outside += node.decorator_list
        for part in outside:
            self.visit(part)
        inside = Renaming({n: new for n, new in self.names.items() if n in free})
        for s in body:
            inside.visit(s)


def _flags(names: Sequence[str], prefix: str, value: bool, place: ast.AST) -> list[ast.stmt]:
    stores: list[ast.stmt] = [ast.Assign([ast.Name(prefix + n, ast.Store())], ast.Constant(value)) for n in names]
    return [_at(s, place) for s in stores]


def _once(name: str, body: list[ast.stmt], place: ast.AST) -> ast.stmt:
    """A loop over one item."""
    one = ast.Tuple([ast.Constant(0)], ast.Load())
    made: ast.stmt = ast.For(ast.Name(name, ast.Store()), one, body, [])
    return _at(made, place)


Node = TypeVar("Node", ast.stmt, ast.expr)


def _at(node: Node, place: ast.AST) -> Node:
    for n in ast.walk(node):
        if "lineno" in n._attributes and not hasattr(n, "lineno"):
            ast.copy_location(n, place)
    return node
