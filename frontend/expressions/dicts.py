"""Displays and comprehensions of dicts, whose keys are known or computed by the run."""

from __future__ import annotations

import ast

from adc.frontend.containers import keys, sequences
from adc.frontend.data.values import AbstractValue, Static
from adc.frontend.expressions.comprehensions import Walk, generator, item_of, list_of
from adc.frontend.expressions.evaluation import evaluate_kept
from adc.frontend.expressions.generators import over_generator
from adc.frontend.frame import Frame
from adc.frontend.libraries.container_methods import pairs
from adc.ir import kinds
from adc.ir.diagnostics import AdcError


def dict_display(frame: Frame, node: ast.Dict) -> AbstractValue:
    """``{k: v, **d}``: a new dict."""
    found: list[tuple[ast.expr, AbstractValue, AbstractValue]] = []
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            more = pairs(frame, evaluate_kept(frame, value))
            found += [(value, sequences.as_value(name), v) for name, v in more.items()]
        else:
            found.append((key, evaluate_kept(frame, key), evaluate_kept(frame, value)))
    if any(sequences.is_computed(key) for _, key, _ in found):
        return keys.new(frame, [(key, value) for _, key, value in found])
    items: dict[object, AbstractValue] = {}
    for at, key_value, value_ in found:
        with frame.at(at):
            items[sequences.constant_key(key_value)] = value_
    return sequences.new_dict(frame, items)


def dict_of(frame: Frame, node: ast.DictComp) -> AbstractValue:
    """The dict of a comprehension. If it has keys that the run computes, they are found one by one in a loop; so are
    all keys over a generator function."""
    if frame.pools.has_keyed(frame.loc(node)) or over_generator(frame, node):
        pair = ast.copy_location(ast.Tuple([node.key, node.value], ast.Load()), node)
        made = list_of(frame, ast.copy_location(ast.ListComp(pair, node.generators), node))
        return frame.tracer.call(frame, Static(dict), [made], {})
    found: dict[object, AbstractValue] = {}

    def emit() -> None:
        with frame.at(node.key):
            name = evaluate_kept(frame, node.key)
            if sequences.is_computed(name):
                frame.want_keyed_at(frame.loc(node))
            key = sequences.constant_key(name)
        found[key] = item_of(frame, node, node.value)

    try:
        Walk(frame, node, emit).run()
    except AdcError as error:
        if error.kind == kinds.NOT_CONSTANT.name:
            frame.want_keyed_at(frame.loc(node))
        raise
    return sequences.new_dict(frame, found)


def pairs_of(frame: Frame, node: ast.GeneratorExp) -> AbstractValue:
    """What ``dict`` is made of: items that are known one by one, or a list."""
    env = dict(frame.env)
    try:
        return generator(frame, node)
    except AdcError as error:
        if error.kind != kinds.NOT_CONSTANT.name:
            raise
    frame.env, frame.abandoned = env, True
    return list_of(frame, node)
