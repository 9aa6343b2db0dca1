"""Liveness: which variables statements assign, and which are read afterwards.

A loop must carry, and a branch must merge, the variables that its statements assign *and* that are read later. Both are
found from the syntax tree alone, in one pass up (what a statement reads and definitely assigns) and one pass down (what
is live after it).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace

from adc.frontend.syntax.bindings import (
    Function,
    Names,
    argument_names,
    assigned_in,
    declared,
    free_names,
    nonlocal_names,
    own_nodes,
    stores_in,
)
from adc.frontend.syntax.walrus import named_first, surely_named
from adc.ir.lazy_dataclass import dataclass

EMPTY: Names = frozenset()


@dataclass(frozen=True)
class Effect:
    """``reads``: variables read before the statement definitely assigns them; ``sets``: definitely assigned at its end,
    or None if control never gets there; ``assigns``: assigned on some path; ``jumps``: definitely assigned wherever a
    break or continue leaves it for the enclosing loop, None if none does."""

    reads: Names = EMPTY
    sets: Names | None = EMPTY
    assigns: Names = EMPTY
    jumps: Names | None = None

    def then(self, other: Effect) -> Effect:
        if self.sets is None:
            return self
        sets = None if other.sets is None else self.sets | other.sets
        later = None if other.jumps is None else self.sets | other.jumps
        reads = self.reads | (other.reads - self.sets)
        return Effect(reads, sets, self.assigns | other.assigns, common(self.jumps, later))

    def otherwise(self, other: Effect) -> Effect:
        """The effect if one of the two happens."""
        return Effect(
            self.reads | other.reads,
            common(self.sets, other.sets),
            self.assigns | other.assigns,
            common(self.jumps, other.jumps),
        )


def common(a: Names | None, b: Names | None) -> Names | None:
    """The variables that are definitely assigned where two paths meet; None stands for a path that is never taken."""
    if a is None or b is None:
        return b if a is None else a
    return a & b


@dataclass(frozen=True)
class Liveness:
    """``after[statement]``: variables live after a compound statement, or one that is an expression. ``assigns``,
    ``reads``: of a loop's body (with its target), of a branch's two, or of what may follow the body of a ``try``;
    ``body_assigns``: of a for loop without its target; ``settles``: what an iteration definitely assigns, however it
    ends. If a break or continue may leave an ``if``, the variables live at its destination count as live after it.

    A nested function reads what it captures when it is called: by its name, or as a lambda in an argument. ``captured``
    are the variables of functions that escape in other ways: they count as live everywhere.
    """

    local: Names
    captured: Names
    shared: Names = EMPTY  # those of ``local`` that functions inside assign by ``nonlocal``
    after: dict[ast.stmt, Names] = field(default_factory=dict)
    assigns: dict[ast.stmt, Names] = field(default_factory=dict)
    reads: dict[ast.stmt, Names] = field(default_factory=dict)
    body_assigns: dict[ast.stmt, Names] = field(default_factory=dict)
    settles: dict[ast.stmt, Names] = field(default_factory=dict)
    generators: dict[ast.comprehension, ast.For] = field(default_factory=dict)  # the loops that comprehensions become


def analyse(function: Function) -> Liveness:
    """Liveness for one function; nested functions count as uses of what they capture."""
    parameters = frozenset(argument_names(function))
    body = function.body if isinstance(function, ast.FunctionDef) else [ast.Return(function.body)]
    named, captured = _closures(body)
    analysis = _Analysis(Liveness(EMPTY, captured), named)
    effect = analysis.block(body)
    elsewhere = declared(body, ast.Nonlocal)
    local = (parameters | effect.assigns) - elsewhere
    inside = frozenset().union(*(nonlocal_names(n) for n in own_nodes(body) if isinstance(n, ast.FunctionDef)))
    result = analysis.result = replace(analysis.result, local=local, shared=inside & local)
    analysis.down(body, EMPTY)
    return result


def analyse_block(
    around: Liveness, statements: Sequence[ast.stmt], body: Sequence[ast.stmt], live: Names, new: Names
) -> Liveness:
    """``around``, for the function with this ``body``, extended by ``statements`` that are inserted, after which
    ``live`` are read. ``new``: variables that only they have."""
    named, _ = _closures([*body, *statements])
    own = replace(
        around,
        local=around.local | new,
        after=dict(around.after),
        assigns=dict(around.assigns),
        reads=dict(around.reads),
        body_assigns=dict(around.body_assigns),
        settles=dict(around.settles),
        generators=dict(around.generators),
    )
    analysis = _Analysis(own, named)
    analysis.block(statements)
    analysis.down(statements, live)
    return analysis.result


def _closures(body: Sequence[ast.AST]) -> tuple[dict[str, Names], Names]:
    """For each variable, what calls of the functions that it may hold read; and what is read by functions that escape.

    Functions stay with the variables that they are assigned to, alone or in tuples and lists, or that a loop binds to
    them; where they are called or passed to a call they go no further.
    """
    named: dict[str, Names] = {}
    flows: dict[str, set[str]] = {}  # variables whose functions a variable may hold
    nodes = list(own_nodes(body))
    staying: set[ast.AST] = set()

    def flow(targets: Sequence[ast.expr], value: ast.expr) -> None:
        for holder in _holders(value):
            staying.add(holder)
            for target in targets:
                assert isinstance(target, ast.Name)
                if isinstance(holder, ast.Lambda):
                    named[target.id] = named.get(target.id, EMPTY) | free_names(holder)
                else:
                    flows.setdefault(target.id, set()).add(holder.id)

    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            named[node.name] = named.get(node.name, EMPTY) | free_names(node)
        elif isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) for t in node.targets):
            flow(node.targets, node.value)
        elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            flow([node.target], node.iter)
        elif isinstance(node, ast.Call):
            for part in (node.func, *node.args, *(k.value for k in node.keywords)):
                staying.update(_holders(part))
    changed = True
    while changed:  # what a nested function calls in turn, and what a variable gets from others
        changed = False
        for name in {*named, *flows}:
            free = named.get(name, EMPTY)
            more = free.union(*(named.get(n, EMPTY) for n in (*free, *flows.get(name, ()))))
            changed |= more != free
            named[name] = more
    escaped: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Lambda) and node not in staying:
            escaped |= free_names(node)
        elif isinstance(node, ast.Name) and named.get(node.id) and isinstance(node.ctx, ast.Load):
            escaped |= named[node.id] if node not in staying else EMPTY
    return named, frozenset(escaped)


def _holders(value: ast.expr) -> Iterator[ast.Lambda | ast.Name]:
    """The lambdas, and the variables that may hold functions, that are the value or its items."""
    if isinstance(value, ast.Lambda | ast.Name):
        yield value
    elif isinstance(value, ast.Tuple | ast.List):
        for item in value.elts:
            yield from _holders(item)
    elif isinstance(value, ast.Subscript):
        yield from _holders(value.value)
    elif isinstance(value, ast.IfExp):
        yield from _holders(value.body)
        yield from _holders(value.orelse)


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""


class _Analysis:
    def __init__(self, result: Liveness, named: dict[str, Names]) -> None:
        self.result = result
        self._named = named
        self._effects: dict[ast.stmt, Effect] = {}
        self._handlers: Names = EMPTY  # what is read wherever an exception goes
        self._raised: dict[ast.Try, Names] = {}  # what is read where an exception leaves the body

    def block(self, statements: Sequence[ast.stmt]) -> Effect:
        reads: set[str] = set()
        sets: set[str] = set()
        assigns: set[str] = set()
        jumps: Names | None = None
        for statement in statements:
            effect = self.statement(statement)
            reads |= effect.reads - sets
            assigns |= effect.assigns
            jumps = common(jumps, None if effect.jumps is None else effect.jumps | sets)
            if effect.sets is None:
                return Effect(frozenset(reads), None, frozenset(assigns), jumps)
            sets |= effect.sets
        return Effect(frozenset(reads), frozenset(sets), frozenset(assigns), jumps)

    def statement(self, s: ast.stmt) -> Effect:
        known = self._effects.get(s)
        if known is None:
            known = self._effects[s] = self._statement(s)
        return known

    def _statement(self, s: ast.stmt) -> Effect:
        if isinstance(s, ast.If):
            test = self._expressions([s.test])
            both = self.block(s.body).otherwise(self.block(s.orelse))
            self.result.assigns[s] = both.assigns
            return test.then(both)
        if isinstance(s, ast.For):
            targets = stores_in([s.target])
            inner = self.block(s.body)
            self.result.body_assigns[s] = inner.assigns
            body = Effect(reads=self._read_later(s.iter)).then(Effect(sets=targets, assigns=targets)).then(inner)
            return self._loop(s, self._expressions([s.iter]), body)
        if isinstance(s, ast.While):
            body = self._expressions([s.test]).then(self.block(s.body))
            return self._loop(s, Effect(), body)
        if isinstance(s, ast.Try):
            return self._try(s)
        if isinstance(s, ast.Break | ast.Continue):
            return Effect(sets=None, jumps=EMPTY)
        if isinstance(s, ast.Return | ast.Raise):
            return replace(self._expressions([s]), sets=None)
        if isinstance(s, ast.Delete):
            own = frozenset(target.id for target in s.targets if isinstance(target, ast.Name))
            return Effect(self._loads([s]) | own, EMPTY, own)
        if isinstance(s, ast.AugAssign):
            own = stores_in([s.target])
            read = Effect(reads=own | self._loads([s.target, s.value]))
            return read.then(Effect(sets=own, assigns=own))
        if isinstance(s, ast.FunctionDef):
            defaults = [*s.args.defaults, *filter(None, s.args.kw_defaults), *s.decorator_list]
            return self._expressions(defaults).then(Effect(sets=frozenset({s.name}), assigns=frozenset({s.name})))
        return self._expressions([s])

    def _try(self, s: ast.Try) -> Effect:
        """A handler may run after any part of the body, so its reads count wherever the body may be left."""
        rest = self.block(s.orelse)
        both = self.block(s.body).then(rest)
        handlers = EMPTY
        for handler in s.handlers:
            name = frozenset({handler.name}) if handler.name else EMPTY
            types = self._expressions([handler.type] if handler.type is not None else [])
            one = types.then(Effect(sets=name, assigns=name)).then(self.block(handler.body))
            handlers |= one.reads
            both = both.otherwise(one)
        last = self.block(s.finalbody)
        reads = self._raised[s] = handlers | last.reads
        self.result.reads[s] = reads | rest.reads
        jumps = None if both.jumps is None else EMPTY
        return replace(both, reads=both.reads | reads, jumps=jumps).then(last)

    def _loop(self, s: ast.For | ast.While, before: Effect, body: Effect) -> Effect:
        self.result.assigns[s] = body.assigns
        self.result.reads[s] = body.reads
        self.result.settles[s] = common(body.sets, body.jumps) or EMPTY
        total = before.then(Effect(body.reads, EMPTY, body.assigns))
        rest = self.block(s.orelse)
        return total.then(rest if body.jumps is None else rest.otherwise(Effect()))

    def _expressions(self, nodes: Sequence[ast.AST]) -> Effect:
        stores = stores_in(nodes)
        named = assigned_in(nodes)
        if not named:
            return Effect(self._loads(nodes), stores, stores)
        sure = frozenset().union(*map(surely_named, nodes))
        # If the value of := comes first of all, its name is not read before.
        first = frozenset().union(*(named_first(n) for n in nodes)) if len(nodes) == 1 else EMPTY
        return Effect(self._loads(nodes) - first, (stores - named) | sure, stores)

    def _read_later(self, source: ast.expr) -> Names:
        """Variables read by functions in a loop's iterable, which ``map`` calls in each iteration."""
        functions = [n for n in own_nodes([source]) if isinstance(n, ast.Lambda) or self._named.get(_name(n))]
        return self._loads(functions)

    def _loads(self, nodes: Iterable[ast.AST]) -> Names:
        """Variables read, including those captured by called functions."""
        found: set[str] = set()
        for n in own_nodes(list(nodes)):
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load):
                found.add(n.id)
                found |= self._named.get(n.id, EMPTY)
            elif isinstance(n, ast.Lambda):
                free = free_names(n)
                found |= free.union(*(self._named.get(name, EMPTY) for name in free))
        return frozenset(found)

    def down(self, statements: Sequence[ast.stmt], live: Names, target: Names = EMPTY) -> None:
        """Record what is live after each compound statement, given what is live after the last; ``target``: what is
        live at the destination of a break or continue."""
        now = set(live) | self._handlers
        for s in reversed(statements):
            effect = self.statement(s)
            if effect.jumps is not None:
                now |= target
            if isinstance(s, ast.Try):
                after = self.result.after[s] = frozenset(now)
                around, last = self._handlers, self.block(s.finalbody).reads
                self.down(s.finalbody, after, target)
                self._handlers = around | self._raised[s]
                beside = frozenset(now) | last
                self.down(s.body, beside | self.block(s.orelse).reads, target)
                self._handlers = around | last
                for block in (s.orelse, *(handler.body for handler in s.handlers)):
                    self.down(block, beside, target)
                self._handlers = around
            if isinstance(s, ast.If):
                after = self.result.after[s] = frozenset(now)
                self.down(s.body, after, target)
                self.down(s.orelse, after, target)
            elif isinstance(s, ast.Expr):
                self.result.after[s] = frozenset(now)
            elif isinstance(s, ast.For | ast.While):
                self.down(s.orelse, frozenset(now), target)
                after = frozenset(now) | (self.block(s.orelse).reads if s.orelse else EMPTY)
                self.result.after[s] = after
                test = self._loads([s.test]) if isinstance(s, ast.While) else EMPTY
                inside = after | self.result.reads[s] | test
                self.down(s.body, inside, inside)
            if effect.sets is not None:
                now -= effect.sets
            else:
                now = set(target) if effect.jumps is not None else set()
            now |= effect.reads | self._handlers
            if effect.jumps is not None:
                now |= target
