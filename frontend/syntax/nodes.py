"""Nodes of syntax trees that replace other source code."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, TypeVar

Node = TypeVar("Node", bound=ast.AST)


def at(node: Node, place: ast.AST) -> Node:
    """The node, with the location of ``place``."""
    return ast.fix_missing_locations(ast.copy_location(node, place))


def calling(function: Any, args: list[ast.expr], keywords: Sequence[ast.keyword] = ()) -> ast.Call:
    """A call of a function that is not named: the object itself."""
    held = ast.Constant(None)
    held.value = function
    return ast.Call(held, args, list(keywords))
