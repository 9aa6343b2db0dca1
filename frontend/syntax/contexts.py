"""``with``, rewritten on the syntax tree, so that liveness and control flow need not handle it.

``with np.errstate(...)`` and ``with warnings.catch_warnings()`` control warnings, which compiled code does not give:
they are replaced by their bodies. If ``contextlib.contextmanager`` decorates a function, the body replaces its
``yield``, as in a loop over one item. Any other context is an object whose ``__exit__`` is called in a ``finally``.
Which of these applies is decided when the function is traced.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import Any

from adc.frontend.syntax.generators import IN_WITH
from adc.frontend.syntax.nodes import at, calling

_QUIET = ("errstate", "catch_warnings", "nullcontext")


def enters(context: Any, *args: Any, **kwargs: Any) -> None:
    """The beginning of ``with context(*args, **kwargs)``. The tracer has a rule for it, and for those below."""
    raise NotImplementedError


def is_manager(context: Any, jumps: bool) -> bool:
    """Whether the callable of a context is decorated by ``contextlib.contextmanager``. ``jumps``: the body may
    leave."""
    raise NotImplementedError


def generator(context: Any) -> Any:
    """The generator function that ``contextlib.contextmanager`` decorates."""
    raise NotImplementedError


def entered(context: Any) -> Any:
    """The result of ``context.__enter__()``."""
    raise NotImplementedError


def left(context: Any) -> None:
    """The effect of ``context.__exit__``, with or without an exception."""
    raise NotImplementedError


def is_suppress(context: Any) -> bool:
    """Whether what is called for a context is ``contextlib.suppress``."""
    raise NotImplementedError


def without_contexts(tree: ast.Module) -> ast.Module:
    """The tree with each ``with`` rewritten."""
    result = _Translation().visit(tree)
    assert isinstance(result, ast.Module)
    return result


class _Translation(ast.NodeTransformer):
    def visit_With(self, node: ast.With) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        body = node.body
        for item in reversed(node.items):
            body = _within(item, body)
        return body


def _within(item: ast.withitem, body: list[ast.stmt]) -> list[ast.stmt]:
    context, target = item.context_expr, item.optional_vars
    if isinstance(context, ast.Call) and target is None and _name(context.func) in _QUIET:
        return [at(ast.Expr(calling(enters, [context.func, *context.args], context.keywords)), context), *body]
    if isinstance(context, ast.Call) and target is None and _name(context.func) == "suppress":
        classes = ast.Tuple(list(context.args), ast.Load())
        handler = ast.ExceptHandler(classes, None, [ast.Pass()])
        guarded: list[ast.stmt] = [ast.Try(copy.deepcopy(body), [handler], [], [])]
        test = calling(is_suppress, [copy.deepcopy(context.func)])
        return [at(ast.If(test, guarded, _object(context, target, body)), context)]
    return _object(context, target, body)


def _object(context: ast.expr, target: ast.expr | None, body: list[ast.stmt]) -> list[ast.stmt]:
    held = f"__with_{context.lineno}_{context.col_offset}"
    begun: ast.expr = calling(entered, [ast.Name(held, ast.Load())])
    objects: list[ast.stmt] = [
        ast.Assign([ast.Name(held, ast.Store())], context),
        ast.Expr(begun) if target is None else ast.Assign([target], begun),
        ast.Try(body, [], [], [ast.Expr(calling(left, [ast.Name(held, ast.Load())]))]),
    ]
    if not isinstance(context, ast.Call):
        return [at(s, context) for s in objects]
    first: list[ast.stmt] = []
    if any(isinstance(n, ast.Call) for n in ast.walk(context.func)):  # it is used twice
        once, name = context.func, ast.Name(held + "_of", ast.Load())
        if isinstance(once, ast.Attribute):
            context.func, once = ast.Attribute(name, once.attr, ast.Load()), once.value
        else:
            context.func = name
        first = [ast.Assign([ast.Name(held + "_of", ast.Store())], once)]
    each = copy.deepcopy(target) or ast.Name(held, ast.Store())
    own = copy.deepcopy(context)
    every = ast.Call(calling(generator, [own.func]), own.args, own.keywords)
    loop = ast.For(each, every, copy.deepcopy(body), [])
    setattr(loop, IN_WITH, True)
    test = calling(is_manager, [copy.deepcopy(context.func), ast.Constant(_leaves(body))])
    return [at(s, context) for s in (*first, ast.If(test, [loop], objects))]


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _leaves(body: Sequence[ast.stmt], loops: bool = False) -> bool:
    """Whether statements may leave the enclosing code by ``return``, ``break`` or ``continue``."""
    return any(_one_leaves(s, loops) for s in body)


def _one_leaves(node: ast.AST, loops: bool) -> bool:
    if isinstance(node, ast.Return):
        return True
    if isinstance(node, ast.Break | ast.Continue):
        return not loops
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return False
    if isinstance(node, ast.For | ast.While):
        return _leaves(node.body, True) or _leaves(node.orelse, loops)
    return any(_one_leaves(child, loops) for child in ast.iter_child_nodes(node))
