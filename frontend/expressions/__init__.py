"""Expressions: from a node of the syntax tree to an abstract value, with the code for it at the insertion point.

One rule per kind of syntax, in the table below; ``evaluation.evaluate`` looks it up there.
"""

from __future__ import annotations

import ast

from adc.frontend.expressions import access, atoms, calls, comparisons, comprehensions, conditions, dicts, operators
from adc.frontend.expressions.evaluation import RULES

RULES.update(
    {
        ast.Constant: atoms.constant,
        ast.Name: atoms.name,
        ast.Tuple: atoms.tuple_display,
        ast.List: atoms.list_display,
        ast.Set: atoms.set_display,
        ast.SetComp: comprehensions.set_of,
        ast.Dict: dicts.dict_display,
        ast.JoinedStr: atoms.formatted_string,
        ast.NamedExpr: atoms.assignment,
        ast.Lambda: atoms.lambda_expression,
        ast.ListComp: comprehensions.list_of,
        ast.GeneratorExp: comprehensions.generator,
        ast.DictComp: dicts.dict_of,
        ast.BinOp: operators.binary,
        ast.UnaryOp: operators.unary,
        ast.Compare: comparisons.comparison,
        ast.BoolOp: conditions.boolean_operation,
        ast.IfExp: conditions.conditional,
        ast.Attribute: access.attribute_reference,
        ast.Subscript: access.subscription,
        ast.Call: calls.call_expression,
    }
)
