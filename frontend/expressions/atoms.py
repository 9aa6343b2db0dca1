"""Constants, names, displays of tuples, lists and dicts, f-strings, ``:=`` and lambdas."""

from __future__ import annotations

import ast

from adc.frontend import iteration
from adc.frontend.closures import make_closure
from adc.frontend.containers import making, sequences
from adc.frontend.containers.texts import joined
from adc.frontend.control import options
from adc.frontend.data.compounds import OneOf
from adc.frontend.data.values import AbstractValue, LargeLiteral, Static, Tuple
from adc.frontend.expressions import starred
from adc.frontend.expressions.evaluation import evaluate, evaluate_kept
from adc.frontend.frame import Frame
from adc.frontend.libraries.container_methods import extend
from adc.frontend.names import lookup
from adc.frontend.objects import cells, growing
from adc.frontend.syntax.walrus import assigns
from adc.frontend.unsupported import refuse_expression


def constant(frame: Frame, node: ast.Constant) -> AbstractValue:
    """A literal."""
    if isinstance(node.value, bytes):
        raise refuse_expression(frame.loc(node), node)
    if isinstance(node.value, int) and node.value >= 2**63:
        return LargeLiteral(node.value, frame.loc(node))
    return Static(node.value)


def name(frame: Frame, node: ast.Name) -> AbstractValue:
    """The value of a name."""
    return lookup(frame, node.id)


def tuple_display(frame: Frame, node: ast.Tuple) -> AbstractValue:
    """``(a, b)``."""
    return Tuple(tuple(displayed(frame, node.elts)))


def list_display(frame: Frame, node: ast.List) -> AbstractValue:
    """``[a, *b]``: a new list."""
    if not any(isinstance(item, ast.Starred) for item in node.elts):
        return sequences.new_list(frame, displayed(frame, node.elts))
    made = sequences.new_list(frame, [])
    for item in node.elts:
        if isinstance(item, ast.Starred):
            given = starred.given(frame, item)
            with frame.at(item):
                extend(frame, made, given)
        else:
            value = evaluate_kept(frame, item)
            with frame.at(item):
                growing.append(frame, made, value)
    return made


def set_display(frame: Frame, node: ast.Set) -> AbstractValue:
    """``{a, *b}``: a new set."""
    made = list_display(frame, ast.copy_location(ast.List(node.elts, ast.Load()), node))
    return making.construct(frame, set, [made], {})


def displayed(frame: Frame, nodes: list[ast.expr]) -> list[AbstractValue]:
    """The items of a tuple or list in the source."""
    found: list[AbstractValue] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            given = starred.given(frame, node)
            with frame.at(node):
                items = iteration.all_of(frame, given)
            if items is None:
                raise sequences.not_known(given, frame.loc(node), "make a list: [*x]")
            found += items
        else:
            found.append(evaluate_kept(frame, node))
    return found


def formatted_string(frame: Frame, node: ast.JoinedStr) -> AbstractValue:
    """An f-string, for each of the constants that its names may be if they are chosen at run time."""
    names = dict.fromkeys(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
    chosen = {n: v for n in names if isinstance(v := frame.env.get(n), OneOf)}
    if chosen and assigns(node):
        named = next(n for n in ast.walk(node) if isinstance(n, ast.NamedExpr))
        raise refuse_expression(frame.loc(named), named)

    def text(each: list[AbstractValue]) -> AbstractValue:
        frame.env.update(zip(chosen, each, strict=True))
        return joined(frame, node, lambda part: evaluate(frame, part))

    return options.split_all(frame, list(chosen.values()), text)


def assignment(frame: Frame, node: ast.NamedExpr) -> AbstractValue:
    """``name := value``."""
    value = evaluate_kept(frame, node.value)
    cells.bind(frame, node.target, value)
    return value


def lambda_expression(frame: Frame, node: ast.Lambda) -> AbstractValue:
    """A lambda: a nested function, with its defaults."""
    return make_closure(frame, node, evaluate_kept)
