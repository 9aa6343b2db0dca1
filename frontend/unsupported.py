"""Syntax that is not supported: the message and the way out, for each kind."""

from __future__ import annotations

import ast

from adc.frontend.errors import refuse
from adc.ir import kinds
from adc.ir.core import Loc

_EXPRESSIONS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Starred: ("* unpacking is not supported", "write the items out"),
    ast.NamedExpr: (":= is not supported here", "assign in a statement of its own"),
    ast.Await: ("await is not supported", "compile the numerical part as a plain function"),
    ast.Yield: ("a generator function is compiled only where a loop goes through it", "return a list or an array"),
    ast.YieldFrom: ("what yield from gives back is not supported", "let it be a statement of its own"),
    ast.Constant: ("bytes are not supported", "use an array of integers"),
    ast.Slice: ("a slice stands in brackets only", ""),
}
_STATEMENTS: dict[type[ast.AST], tuple[str, str]] = {
    ast.TryStar: ("except* is not supported", "write except: groups of exceptions are not raised in compiled code"),
    ast.With: ("with is not supported", "open resources outside the compiled function"),
    ast.AsyncWith: ("with is not supported", "open resources outside the compiled function"),
    ast.AsyncFor: ("async for is not supported", "compile the numerical part as a plain function"),
    ast.AsyncFunctionDef: ("async functions are not supported", "compile the numerical part as a plain function"),
    ast.ClassDef: ("classes cannot be defined here", "define the class at module level"),
    ast.Delete: ("del is not supported", "leave it out: memory is freed by itself"),
}


def refuse_expression(loc: Loc, node: ast.AST) -> Exception:
    """The refusal of an expression."""
    message, help = _EXPRESSIONS.get(type(node), (f"{type(node).__name__} expressions are not supported", ""))
    return refuse(loc, message, help, kind=kinds.UNSUPPORTED_EXPRESSION)


def refuse_statement(loc: Loc, node: ast.AST) -> Exception:
    """The refusal of a statement."""
    if isinstance(node, ast.Match):
        return refuse(
            loc,
            "this match has a pattern that is not supported",
            "match takes constants, names, tuples, dicts and classes of these, guards, and alternatives without names",
            kind=kinds.UNSUPPORTED_STATEMENT,
        )
    if isinstance(node, ast.Delete) and not all(isinstance(target, ast.Name) for target in node.targets):
        item = isinstance(node.targets[0], ast.Subscript)
        help = "use pop: d.pop(key), xs.pop(k)" if item else "objects keep their fields: set it to None"
        return refuse(loc, "del is not supported", help, kind=kinds.UNSUPPORTED_STATEMENT)
    message, help = _STATEMENTS.get(type(node), (f"{type(node).__name__} statements are not supported", ""))
    return refuse(loc, message, help, kind=kinds.UNSUPPORTED_STATEMENT)
