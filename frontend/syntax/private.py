"""Private names: within a class ``C`` Python reads ``__name`` as ``_C__name``, wherever a name can stand."""

from __future__ import annotations

import ast
from typing import Any

# The fields of nodes that have names. Keywords in calls are left as they are written.
_FIELDS = ("id", "attr", "arg", "name", "rest")
_AS_WRITTEN = ast.alias | ast.keyword


def with_private_names(tree: ast.Module) -> ast.Module:
    """Rewrite the names of a module in place."""
    _Privacy().visit(tree)
    return tree


class _Privacy(ast.NodeVisitor):
    def __init__(self) -> None:
        self.cls = ""  # the innermost class without leading underscores

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        inside, node.name = node.name.lstrip("_"), self._mangled(node.name)
        for outside in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(outside)
        around, self.cls = self.cls, inside
        for statement in node.body:
            self.visit(statement)
        self.cls = around

    def generic_visit(self, node: ast.AST) -> Any:
        if self.cls and not isinstance(node, _AS_WRITTEN):
            for field in _FIELDS:
                if isinstance(name := getattr(node, field, None), str):
                    setattr(node, field, self._mangled(name))
            if isinstance(node, ast.Global | ast.Nonlocal):
                node.names = [self._mangled(name) for name in node.names]
        super().generic_visit(node)

    def _mangled(self, name: str) -> str:
        private = self.cls and name.startswith("__") and not name.endswith("__") and "." not in name
        return f"_{self.cls}{name}" if private else name
