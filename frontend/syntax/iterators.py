"""What can be gone through once, under a name: ``g = (f(x) for x in xs)`` and then ``sum(g)``.

A generator expression evaluates what it goes through where it stands, and its items where they are asked for. So one
whose name is read once, later on the same path, takes the place of the name, and what it goes through has a name of its
own. Done on the syntax tree, so that liveness and control flow know nothing of it. ``for v in (f(x) for x in xs)`` is
the loop over ``xs``.

``read_once`` also says which names may have an iterator of another kind, which is a value.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Sequence
from dataclasses import field

from adc.frontend.syntax.bindings import Function, argument_names, own_nodes
from adc.frontend.syntax.generators import Renaming
from adc.frontend.syntax.nodes import at
from adc.ir.lazy_dataclass import dataclass

Place = tuple[int, int]  # a list of statements, and the number of one of them
_LOOP: Place = (-1, 0)  # in a path: what is inside is run again, or elsewhere
_APART = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Nonlocal, ast.Global)


@dataclass
class _Uses:
    """Where names are stored, each as the single target of an assignment, and where they are read: the statements
    around, from the outermost one."""

    stores: dict[str, list[Place | None]] = field(default_factory=dict)
    loads: dict[str, list[tuple[Place, ...]]] = field(default_factory=dict)

    def block(self, statements: Sequence[ast.stmt], path: tuple[Place, ...]) -> None:
        for k, s in enumerate(statements):
            here = (*path, (id(statements), k))
            if isinstance(s, ast.Assign) and len(s.targets) == 1 and isinstance(s.targets[0], ast.Name):
                self.stores.setdefault(s.targets[0].id, []).append(here[-1])
                self.within(s.value, here)
            else:
                self.within(s, here)

    def within(self, node: ast.AST, path: tuple[Place, ...]) -> None:
        again = (*path, _LOOP)
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                self.loads.setdefault(node.id, []).append(path)
            else:
                self.stores.setdefault(node.id, []).append(None)
        elif isinstance(node, ast.For | ast.AsyncFor):
            self.within(node.iter, path)
            self.within(node.target, again)
            self.block(node.body, again)
            self.block(node.orelse, again)
        elif isinstance(node, ast.While):
            self.within(node.test, again)
            self.block(node.body, again)
            self.block(node.orelse, again)
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            self.within(node.generators[0].iter, path)
            for child in ast.iter_child_nodes(node):
                inside = [child] if child is not node.generators[0] else [child.target, *child.ifs]
                for part in inside:
                    self.within(part, again)
        elif isinstance(node, _APART):
            for name in _mentioned(node):
                self.stores.setdefault(name, []).append(None)
        else:
            for _, value in ast.iter_fields(node):
                if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                    self.block(value, path)
                elif isinstance(value, list):
                    for part in value:
                        if isinstance(part, ast.AST):
                            self.within(part, path)
                elif isinstance(value, ast.AST):
                    self.within(value, path)


def _mentioned(node: ast.AST) -> set[str]:
    found = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    for n in ast.walk(node):
        if isinstance(n, ast.Nonlocal | ast.Global):
            found |= set(n.names)
        elif isinstance(n, ast.FunctionDef | ast.ClassDef):
            found.add(n.name)
    return found


def read_once(function: Function) -> frozenset[str]:
    """The variables that are assigned once and read once, in a later statement that is run as often."""
    if isinstance(function, ast.Lambda):
        return frozenset()
    uses = _Uses()
    uses.block(function.body, ())
    names = set()
    for name, places in uses.stores.items():
        loads = uses.loads.get(name, [])
        if len(places) == 1 and places[0] is not None and len(loads) == 1 and name not in argument_names(function):
            path, (block, k) = loads[0], places[0]
            at_ = next((n for n, (b, j) in enumerate(path) if b == block and j > k), None)
            if at_ is not None and _LOOP not in path[at_:]:
                names.add(name)
    return frozenset(names)


def parameters_read_once(function: Function) -> frozenset[str]:
    """The parameters that are not assigned, and are read once, outside of loops."""
    uses = _Uses()
    if isinstance(function, ast.Lambda):
        uses.within(function.body, ())
    else:
        uses.block(function.body, ())
    loads = {name: uses.loads.get(name, []) for name in argument_names(function) if name not in uses.stores}
    return frozenset(name for name, paths in loads.items() if len(paths) == 1 and _LOOP not in paths[0])


def with_iterators(tree: ast.Module) -> ast.Module:
    """The tree with ``yield from xs`` where an ``__iter__`` ends with ``return iter(xs)``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "__iter__" and isinstance(node.body[-1], ast.Return):
            last = node.body[-1]
            given = last.value.args if isinstance(last.value, ast.Call) else []
            named = isinstance(last.value, ast.Call) and isinstance(last.value.func, ast.Name)
            if named and last.value.func.id == "iter" and len(given) == 1:  # type: ignore[union-attr]
                node.body[-1] = at(ast.Expr(ast.YieldFrom(given[0])), last)
    return tree


def without_kept_generators(tree: ast.Module) -> ast.Module:
    """The tree with generator expressions where their names are read, and without loops over them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            _bring_home(node)
    result = _Loops().visit(tree)
    assert isinstance(result, ast.Module)
    return result


def _bring_home(function: ast.FunctionDef) -> None:
    for number in itertools.count():
        names = read_once(function)
        kept = next((s for s in own_nodes(function.body) if _keeps_generator(s, names)), None)
        if kept is None:
            return
        made, target = kept.value, kept.targets[0]  # type: ignore[attr-defined]
        through = f"__through_{number}_{made.lineno}_{made.col_offset}"
        first = made.generators[0]
        kept.targets = [at(ast.Name(through, ast.Store()), first.iter)]  # type: ignore[attr-defined]
        kept.value = first.iter  # type: ignore[attr-defined]
        first.iter = at(ast.Name(through, ast.Load()), first.iter)
        _Put(target.id, made).visit(function)


def _keeps_generator(s: ast.AST, names: frozenset[str]) -> bool:
    """Whether this is the assignment of a generator expression to one of the variables."""
    if not isinstance(s, ast.Assign) or not isinstance(s.value, ast.GeneratorExp) or len(s.targets) > 1:
        return False
    return isinstance(s.targets[0], ast.Name) and s.targets[0].id in names


class _Put(ast.NodeTransformer):
    """An expression in the place of a name."""

    def __init__(self, name: str, value: ast.expr) -> None:
        self.name, self.value = name, value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.value if node.id == self.name and isinstance(node.ctx, ast.Load) else node


class _Loops(ast.NodeTransformer):
    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        while isinstance(node.iter, ast.GeneratorExp) and len(node.iter.generators) == 1:
            target, through, tests, item = _taken_apart(node.iter)
            ahead: list[ast.stmt] = [
                at(ast.If(ast.UnaryOp(ast.Not(), test), [ast.Continue()], []), test) for test in tests
            ]
            ahead.append(at(ast.Assign([node.target], item), item))
            node.target, node.iter, node.body = target, through, [*ahead, *node.body]
        return node

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.GeneratorExp:
        self._flatten(node)
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.ListComp:
        self._flatten(node)
        return node

    def _flatten(self, node: ast.GeneratorExp | ast.ListComp) -> None:
        """``(g(v) for v in (f(x) for x in xs))`` goes through ``xs``."""
        self.generic_visit(node)
        first = node.generators[0]
        while isinstance(first.iter, ast.GeneratorExp) and len(first.iter.generators) == 1:
            target, through, tests, item = _taken_apart(first.iter)
            first.iter = at(ast.Tuple([item], ast.Load()), item)
            first = ast.comprehension(target, through, tests, 0)
            node.generators.insert(0, first)


def _taken_apart(given: ast.GeneratorExp) -> tuple[ast.expr, ast.expr, list[ast.expr], ast.expr]:
    """The target of a generator expression of one clause, what it goes through, its conditions and its item. Its
    variables have other names."""
    (part,) = given.generators
    own = {n.id for n in ast.walk(part.target) if isinstance(n, ast.Name)}
    renamed = Renaming({name: f"__{name}_{given.lineno}_{given.col_offset}" for name in own})
    target, tests, item = copy.deepcopy(part.target), copy.deepcopy(part.ifs), copy.deepcopy(given.elt)
    for x in (target, item, *tests):
        renamed.visit(x)
    return target, part.iter, tests, item
