"""Arithmetic, bit operations and ``not``."""

from __future__ import annotations

import ast

from adc.frontend.arrays import arrays
from adc.frontend.data.values import AbstractValue, Scalar, Static
from adc.frontend.expressions.conditions import condition
from adc.frontend.expressions.evaluation import before_calls, evaluate
from adc.frontend.frame import Frame
from adc.frontend.numeric import bits
from adc.ir.types import i1

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.MatMult: "@",
}
_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}


def binary(frame: Frame, node: ast.BinOp) -> AbstractValue:
    """``a + b + c + ...`` nests to the left, perhaps deeply: walked without recursion."""
    spine = [node]
    while isinstance(spine[-1].left, ast.BinOp):
        spine.append(spine[-1].left)
    value = evaluate(frame, spine[-1].left)
    for part in reversed(spine):
        value = before_calls(frame, value, part.right)
        right = evaluate(frame, part.right)
        with frame.at(part):
            value = arrays.operate(frame, BINARY[type(part.op)], value, right)
    return value


def unary(frame: Frame, node: ast.UnaryOp) -> AbstractValue:
    """``-a``, ``+a``, ``~a``, ``not a``."""
    if isinstance(node.op, ast.Not):
        known = condition(frame, node.operand)
        return Static(not known) if isinstance(known, bool) else Scalar(bits.logical_not(known), i1)
    return arrays.operate_unary(frame, _UNARY[type(node.op)], evaluate(frame, node.operand))
