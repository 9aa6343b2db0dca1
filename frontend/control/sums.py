"""Variables that begin as a number and become arrays in a loop, as in ``total = 0`` and ``total = total + x[i]``.

Such a variable begins as an array of that number, if the loop cannot tell the difference: the first statement of the
body that mentions it makes the array, by elementwise arithmetic. A loop without iterations would leave the number, so
that is an error.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from adc.frontend.data.dims import brought_here
from adc.frontend.data.values import AbstractValue, Array, Scalar, is_static_number
from adc.frontend.elements import to_element
from adc.frontend.numeric import nests
from adc.frontend.numeric.convert import as_complex, as_scalar, convert, store_scalar
from adc.frontend.traps import trap_unless
from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import build

if TYPE_CHECKING:
    from adc.frontend.control.carry import Carry

_JUMPS = (ast.Continue, ast.Break, ast.Return)
_OF_ELEMENTS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)


def settled_number(carry: Carry, name: str, start: AbstractValue | None, end: AbstractValue) -> Array | None:
    """The initial value of the variable as an array. None if it cannot be one."""
    if start is None or not (isinstance(start, Scalar) or is_static_number(start)) or carry.appends.trips is None:
        return None
    if not isinstance(end, Array) or not _becomes_array(carry.stmt, name):
        return None
    if _is_read_by_functions(carry.frame.source.node, name):
        return None
    dims = [dim for d in end.dims if (dim := brought_here(d)) is not None]
    if len(dims) < end.rank:
        return None
    some = ops.cmpi(carry.appends.trips(), const_index(0), predicate="sgt")
    trap_unless(some, "ValueError", f"'{name}' is an array after this loop, and a number if it does not run at all")
    made = nests.allocate(carry.frame, dims, end.dtype, name)
    if made.is_complex:
        number = as_complex(start, end.dtype)
        nests.nest(made.dims, lambda i: store_scalar(number, made.memref, i, end.dtype))
    else:
        element = to_element(convert(as_scalar(start), end.dtype), end.dtype)
        build(ops.fill, [element, made.memref])
    return made


def _becomes_array(loop: ast.stmt, name: str) -> bool:
    """Whether the first thing that each iteration does with the variable is to make it an array."""
    if not isinstance(loop, ast.For) or _mentions(loop.iter, name) or _mentions(loop.target, name):
        return False
    first = next((stmt for stmt in loop.body if _mentions(stmt, name)), None)
    before = loop.body[: loop.body.index(first)] if first is not None else []
    if any(isinstance(node, _JUMPS) for stmt in before for node in ast.walk(stmt)):
        return False  # an iteration may leave it a number
    if isinstance(first, ast.For):
        return not first.orelse and _becomes_array(first, name)
    if isinstance(first, ast.AugAssign):
        target = isinstance(first.target, ast.Name) and first.target.id == name
        return target and isinstance(first.op, _OF_ELEMENTS) and not _mentions(first.value, name)
    if isinstance(first, ast.Assign) and len(first.targets) == 1 and isinstance(first.targets[0], ast.Name):
        return first.targets[0].id == name and _is_of_elements(first.value, name)
    return False


def _is_read_by_functions(function: ast.AST, name: str) -> bool:
    """Whether functions within this one mention the variable."""
    inner = (n for n in ast.walk(function) if n is not function and isinstance(n, ast.FunctionDef | ast.Lambda))
    return any(_mentions(n, name) for n in inner)


def _is_of_elements(node: ast.expr, name: str) -> bool:
    """Whether an expression contains the variable once, as an operand of arithmetic."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, _OF_ELEMENTS):
        return isinstance(node, ast.Name) and node.id == name
    left, right = _mentions(node.left, name), _mentions(node.right, name)
    return left != right and _is_of_elements(node.left if left else node.right, name)


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node))
