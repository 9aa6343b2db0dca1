"""``with`` of contexts that change nothing in compiled code, as what stands in it: done on the syntax tree.

``with np.errstate(...)`` and ``with warnings.catch_warnings()`` say what becomes of warnings, of which compiled code
gives none. What is called for the context is looked at when the function is traced; a ``with`` that binds a variable,
or whose context is no call, stays as it is, to be refused then.
"""

from __future__ import annotations

import ast
from typing import Any


def enters(context: Any, *args: Any, **kwargs: Any) -> None:
    """What ``with context(*args, **kwargs)`` does in the beginning. The tracer has a rule for it."""
    raise NotImplementedError


def without_contexts(tree: ast.Module) -> ast.Module:
    """The tree with each ``with`` that can be so as a call of ``enters`` and its body."""
    result = _Translation().visit(tree)
    assert isinstance(result, ast.Module)
    return result


class _Translation(ast.NodeTransformer):
    def visit_With(self, node: ast.With) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        begun: list[ast.stmt] = []
        for item in node.items:
            context = item.context_expr
            if item.optional_vars is not None or not isinstance(context, ast.Call):
                return node
            function = ast.Constant(None)
            function.value = enters  # type: ignore[assignment]
            call = ast.Expr(ast.Call(function, [context.func, *context.args], context.keywords))
            begun.append(ast.fix_missing_locations(ast.copy_location(call, context)))
        return [*begun, *node.body]
