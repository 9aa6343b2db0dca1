"""Which variables statements assign, and which are still read afterwards.

A loop or branch has to hand on the variables that its statements assign *and* that somebody reads later. Both are
found from the syntax tree alone, in one pass up (what a statement reads and surely assigns) and one pass down (what is
live after it).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

Names = frozenset[str]
EMPTY: Names = frozenset()
Function = ast.FunctionDef | ast.Lambda


@dataclass(frozen=True)
class Effect:
    """``reads``: variables read before the statement surely assigns them; ``sets``: surely assigned at its end;
    ``assigns``: assigned on some path."""

    reads: Names = EMPTY
    sets: Names = EMPTY
    assigns: Names = EMPTY

    def then(self, other: Effect) -> Effect:
        return Effect(self.reads | (other.reads - self.sets), self.sets | other.sets, self.assigns | other.assigns)


@dataclass(frozen=True)
class Liveness:
    """``after[statement]``: variables live after a compound statement. ``assigns``, ``reads``: of a loop's body or of
    a branch's two. ``captured``: read by nested functions, at any time."""

    local: Names
    captured: Names
    after: dict[ast.stmt, Names] = field(default_factory=dict)
    assigns: dict[ast.stmt, Names] = field(default_factory=dict)
    reads: dict[ast.stmt, Names] = field(default_factory=dict)
    body_assigns: dict[ast.stmt, Names] = field(default_factory=dict)


def analyse(function: Function) -> Liveness:
    """Liveness for one function; nested functions count as uses of what they capture."""
    parameters = frozenset(argument_names(function))
    body = function.body if isinstance(function, ast.FunctionDef) else [ast.Return(function.body)]
    nested = [node for node in _own_nodes(body) if isinstance(node, ast.FunctionDef | ast.Lambda)]
    captured = frozenset().union(*(free_names(node) for node in nested)) if nested else EMPTY
    analysis = _Analysis(Liveness(EMPTY, captured))
    effect = analysis.block(body)
    result = analysis.result = replace(analysis.result, local=parameters | effect.assigns)
    analysis.down(body, EMPTY)
    return result


def argument_names(function: Function) -> list[str]:
    a = function.args
    extra = [x for x in (a.vararg, a.kwarg) if x is not None]
    return [x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs, *extra)]


def free_names(function: Function) -> Names:
    """Names that a nested function reads and does not assign itself."""
    body: Sequence[ast.AST] = function.body if isinstance(function, ast.FunctionDef) else [function.body]
    loads: set[str] = set()
    stores = set(argument_names(function))
    for node in _own_nodes(body):
        if isinstance(node, ast.Name):
            (loads if isinstance(node.ctx, ast.Load) else stores).add(node.id)
        elif isinstance(node, ast.FunctionDef):
            stores.add(node.name)
            loads |= free_names(node)
        elif isinstance(node, ast.Lambda):
            loads |= free_names(node)
    return frozenset(loads - stores)


def _own_nodes(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a function's body without those inside nested functions (whose defaults do count)."""
    stack: list[ast.AST] = list(reversed(body))
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, ast.FunctionDef):
            stack += [*node.args.defaults, *filter(None, node.args.kw_defaults), *node.decorator_list]
        elif isinstance(node, ast.Lambda):
            stack += [*node.args.defaults, *filter(None, node.args.kw_defaults)]
        else:
            stack += reversed(list(ast.iter_child_nodes(node)))


def _names(nodes: Iterable[ast.AST], context: type[ast.expr_context]) -> Names:
    return frozenset(n.id for n in _own_nodes(list(nodes)) if isinstance(n, ast.Name) and isinstance(n.ctx, context))


class _Analysis:
    def __init__(self, result: Liveness) -> None:
        self.result = result
        self._effects: dict[ast.stmt, Effect] = {}

    def block(self, statements: Sequence[ast.stmt]) -> Effect:
        reads: set[str] = set()
        sets: set[str] = set()
        assigns: set[str] = set()
        for statement in statements:
            effect = self.statement(statement)
            reads |= effect.reads - sets
            sets |= effect.sets
            assigns |= effect.assigns
        return Effect(frozenset(reads), frozenset(sets), frozenset(assigns))

    def statement(self, s: ast.stmt) -> Effect:
        known = self._effects.get(s)
        if known is None:
            known = self._effects[s] = self._statement(s)
        return known

    def _statement(self, s: ast.stmt) -> Effect:
        if isinstance(s, ast.If):
            test = self._expressions([s.test])
            body, other = self.block(s.body), self.block(s.orelse)
            both = Effect(body.reads | other.reads, body.sets & other.sets, body.assigns | other.assigns)
            self.result.assigns[s] = both.assigns
            return test.then(both)
        if isinstance(s, ast.For):
            targets = _names([s.target], ast.Store)
            inner = self.block(s.body)
            self.result.body_assigns[s] = inner.assigns
            body = Effect(sets=targets, assigns=targets).then(inner)
            return self._loop(s, self._expressions([s.iter]), body)
        if isinstance(s, ast.While):
            body = self._expressions([s.test]).then(self.block(s.body))
            return self._loop(s, Effect(), body)
        if isinstance(s, ast.AugAssign):
            own = _names([s.target], ast.Store)
            read = Effect(reads=own | _names([s.target, s.value], ast.Load))
            return read.then(Effect(sets=own, assigns=own))
        if isinstance(s, ast.FunctionDef):
            defaults = [*s.args.defaults, *filter(None, s.args.kw_defaults), *s.decorator_list]
            return self._expressions(defaults).then(Effect(sets=frozenset({s.name}), assigns=frozenset({s.name})))
        return self._expressions([s])

    def _loop(self, s: ast.For | ast.While, before: Effect, body: Effect) -> Effect:
        self.result.assigns[s] = body.assigns
        self.result.reads[s] = body.reads
        total = before.then(Effect(body.reads, EMPTY, body.assigns))
        rest = self.block(s.orelse)
        return total.then(rest)

    def _expressions(self, nodes: Sequence[ast.AST]) -> Effect:
        stores = _names(nodes, ast.Store)
        return Effect(_names(nodes, ast.Load), stores, stores)

    def down(self, statements: Sequence[ast.stmt], live: Names) -> None:
        """Record what is live after each compound statement, given what is live after the last."""
        now = set(live)
        for s in reversed(statements):
            effect = self.statement(s)
            if isinstance(s, ast.If):
                after = self.result.after[s] = frozenset(now)
                self.down(s.body, after)
                self.down(s.orelse, after)
            elif isinstance(s, ast.For | ast.While):
                self.down(s.orelse, frozenset(now))
                after = frozenset(now) | (self.block(s.orelse).reads if s.orelse else EMPTY)
                self.result.after[s] = after
                test = _names([s.test], ast.Load) if isinstance(s, ast.While) else EMPTY
                self.down(s.body, after | self.result.reads[s] | test)
            now -= effect.sets
            now |= effect.reads
