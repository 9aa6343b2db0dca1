"""``:=`` in the condition of a ``while``, moved into the body on the syntax tree, like ``match``.

``while test: body`` becomes ``while True: if not test: break; body``, so that the test's assignments are in the body.
An ``else`` is put before that ``break``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from adc.frontend.syntax.bindings import jumps


def without_assigning_tests(tree: ast.Module) -> ast.Module:
    """The tree without ``:=`` in conditions of ``while``, except if an ``else`` leaves an enclosing loop."""
    result = _Translation().visit(tree)
    assert isinstance(result, ast.Module)
    return result


def assigns(node: ast.AST) -> bool:
    """Whether there is a ``:=`` in it."""
    return any(isinstance(n, ast.NamedExpr) for n in ast.walk(node))


class _Translation(ast.NodeTransformer):
    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        return (tested_inside(node) if assigns(node.test) else None) or node


def tested_inside(node: ast.While) -> ast.While | None:
    """The loop with its condition in the body; None if its ``else`` leaves an enclosing loop."""
    if any(jumps(s, ast.Break | ast.Continue) for s in node.orelse):
        return None
    ended = [*node.orelse, ast.copy_location(ast.Break(), node.test)]
    test = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
    leave = ast.copy_location(ast.If(test, ended, []), node.test)
    always = ast.copy_location(ast.Constant(True), node.test)
    return ast.copy_location(ast.While(always, [leave, *node.body], []), node)


def surely_named(node: ast.AST) -> frozenset[str]:
    """The variables that an expression definitely assigns by ``:=``, whatever its conditions are."""
    if isinstance(node, ast.NamedExpr):
        return surely_named(node.value) | {node.target.id}
    parts: Iterable[ast.AST] = ast.iter_child_nodes(node)
    if isinstance(node, ast.BoolOp):
        parts = node.values[:1]
    elif isinstance(node, ast.IfExp):
        parts = [node.test]
    elif isinstance(node, ast.Compare):
        parts = [node.left, node.comparators[0]]
    elif isinstance(node, ast.ListComp | ast.GeneratorExp | ast.DictComp | ast.SetComp):
        parts = [node.generators[0].iter]
    elif isinstance(node, ast.Lambda):
        parts = []
    return frozenset().union(*map(surely_named, parts))


def named_first(node: ast.AST) -> frozenset[str]:
    """The variable that the first ``:=`` of an expression assigns, if it is not read before."""
    while True:
        if isinstance(node, ast.NamedExpr):
            own = {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}
            return frozenset({node.target.id} - own)
        if isinstance(node, ast.BoolOp):
            node = node.values[0]
        elif isinstance(node, ast.Compare | ast.BinOp):
            node = node.left
        elif isinstance(node, ast.UnaryOp):
            node = node.operand
        elif isinstance(node, ast.IfExp):
            node = node.test
        elif isinstance(node, ast.Assign | ast.Return | ast.Expr) and node.value is not None:
            node = node.value
        else:
            return frozenset()
