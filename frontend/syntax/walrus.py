"""``:=`` in the condition of a ``while``, moved into the body: done on the syntax tree, as ``match`` is.

``while test: body`` becomes ``while True: if not test: break; body``, in which what the test assigns is assigned in the
body. An ``else`` stands before that ``break``.
"""

from __future__ import annotations

import ast


def without_assigning_tests(tree: ast.Module) -> ast.Module:
    """The tree with no ``:=`` in the condition of a ``while``, except where an ``else`` leaves a loop around."""
    result = _Translation().visit(tree)
    assert isinstance(result, ast.Module)
    return result


def assigns(node: ast.AST) -> bool:
    """Whether there is a ``:=`` in it."""
    return any(isinstance(n, ast.NamedExpr) for n in ast.walk(node))


class _Translation(ast.NodeTransformer):
    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        if not assigns(node.test) or any(map(_jumps, node.orelse)):
            return node
        ended = [*node.orelse, ast.copy_location(ast.Break(), node.test)]
        test = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
        leave = ast.copy_location(ast.If(test, ended, []), node.test)
        always = ast.copy_location(ast.Constant(True), node.test)
        return ast.copy_location(ast.While(always, [leave, *node.body], []), node)


def _jumps(statement: ast.stmt) -> bool:
    """Whether a break or continue in it goes to a loop around it."""
    if isinstance(statement, ast.Break | ast.Continue):
        return True
    if isinstance(statement, ast.For | ast.While):
        return any(map(_jumps, statement.orelse))
    return isinstance(statement, ast.If) and any(map(_jumps, [*statement.body, *statement.orelse]))
