"""The variables in a syntax tree: those that nodes assign, and those that nested functions read."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator, Sequence
from types import UnionType

Names = frozenset[str]
Function = ast.FunctionDef | ast.Lambda


def argument_names(function: Function) -> list[str]:
    a = function.args
    extra = [x for x in (a.vararg, a.kwarg) if x is not None]
    return [x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs, *extra)]


def declared(body: Sequence[ast.AST], kind: type[ast.Nonlocal] | type[ast.Global]) -> Names:
    return frozenset(name for n in own_nodes(body) if isinstance(n, kind) for name in n.names)


def nonlocal_names(function: ast.FunctionDef) -> Names:
    """Variables of enclosing functions that ``function``, or functions inside it, assign."""
    own = declared(function.body, ast.Nonlocal)
    inside = [nonlocal_names(n) for n in own_nodes(function.body) if isinstance(n, ast.FunctionDef)]
    return own | (frozenset().union(*inside) - frozenset(argument_names(function)) - (stores_in(function.body) - own))


def free_names(function: Function) -> Names:
    """Names that a nested function reads without assigning them itself, and variables of others that it assigns."""
    body: Sequence[ast.AST] = function.body if isinstance(function, ast.FunctionDef) else [function.body]
    loads: set[str] = set()
    stores = set(argument_names(function))
    for node in own_nodes(body):
        if isinstance(node, ast.Name):
            (loads if isinstance(node.ctx, ast.Load) else stores).add(node.id)
        elif isinstance(node, ast.alias):
            stores.add(imported_as(node))
        elif isinstance(node, ast.ExceptHandler) and node.name:
            stores.add(node.name)
        elif isinstance(node, ast.FunctionDef):
            stores.add(node.name)
            loads |= free_names(node)
        elif isinstance(node, ast.Lambda):
            loads |= free_names(node)
    shared = declared(body, ast.Nonlocal)
    return frozenset(loads - (stores - shared)) | shared


def every_node(tree: ast.AST) -> list[ast.AST]:
    """All nodes of a tree except operators and contexts, outer ones first: as ``ast.walk``, which takes twice the
    time."""
    found = [tree]
    for node in found:
        for name in reversed(_parts(node._fields)):
            part = getattr(node, name, None)
            if isinstance(part, ast.AST):
                found.append(part)
            elif type(part) is list:
                found += [n for n in part if isinstance(n, ast.AST)]
    return found


def own_nodes(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a function's body without those inside nested functions (whose defaults are included)."""
    stack: list[ast.AST] = list(reversed(body))
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, ast.FunctionDef):
            stack += [*node.args.defaults, *filter(None, node.args.kw_defaults), *node.decorator_list]
        elif isinstance(node, ast.Lambda):
            stack += [*node.args.defaults, *filter(None, node.args.kw_defaults)]
        elif isinstance(node, ast.ListComp | ast.GeneratorExp | ast.DictComp | ast.SetComp):
            yield from _of_comprehension(node)
        else:
            for name in _parts(node._fields):  # as ast.iter_child_nodes, which is slow
                part = getattr(node, name, None)
                if type(part) is list:
                    stack += [n for n in reversed(part) if isinstance(n, ast.AST)]
                elif isinstance(part, ast.AST):
                    stack.append(part)


@functools.cache
def _parts(fields: tuple[str, ...]) -> tuple[str, ...]:
    """The fields of a node that may contain nodes, the last first; not operators and contexts, which are half of a
    tree's nodes and irrelevant here."""
    return tuple(name for name in reversed(fields) if name not in ("ctx", "op", "ops"))


def _of_comprehension(node: ast.ListComp | ast.GeneratorExp | ast.DictComp | ast.SetComp) -> Iterator[ast.AST]:
    """The nodes inside a comprehension, without the names of its own variables."""
    targets = [g.target for g in node.generators]
    own = {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    first = node.generators[0].iter
    inner: list[ast.AST] = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    inner += [part for g in node.generators for part in (g.iter, *g.ifs) if part is not first]
    yield from own_nodes([first])
    for n in own_nodes(inner):
        if not (isinstance(n, ast.Name) and n.id in own):
            yield n


def assigned_in(nodes: Sequence[ast.AST]) -> Names:
    """The variables that expressions assign by ``:=``."""
    return frozenset(n.target.id for n in own_nodes(nodes) if isinstance(n, ast.NamedExpr))


def stores_in(nodes: Iterable[ast.AST]) -> Names:
    found = set()
    for n in own_nodes(list(nodes)):
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store):
            found.add(n.id)
        elif isinstance(n, ast.alias):
            found.add(imported_as(n))
    return frozenset(found)


def imported_as(alias: ast.alias) -> str:
    """The variable that an import assigns."""
    return alias.asname or alias.name.split(".")[0]


def jumps(statement: ast.stmt, kind: type[ast.stmt] | UnionType) -> bool:
    """Whether a statement of this kind in it, ``break`` or ``continue``, belongs to an enclosing loop."""
    if isinstance(statement, kind):
        return True
    if isinstance(statement, ast.For | ast.While):
        return any(jumps(s, kind) for s in statement.orelse)
    return isinstance(statement, ast.If) and any(jumps(s, kind) for s in [*statement.body, *statement.orelse])
