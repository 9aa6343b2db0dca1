"""Variables that a loop's body reads before the loop has set them: the type to assume at first.

``if i == 0: k = n - 1`` and then ``a[k]``: ``k`` has no value at the head of the first iteration, and its type is known
only when the body has been traced. It is guessed from the syntax. If the guess leads to a refusal, the body is traced
with the variable unset, which finds the type if it is set above the place where it is read; then with an integer.
"""

from __future__ import annotations

import ast
from dataclasses import field
from typing import Protocol

from adc.frontend import abstract
from adc.frontend.data.described import Maybe
from adc.ir.diagnostics import CompileError
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import Type, f64, i64


class Carrying(Protocol):
    """The assumptions about a loop's variables: ``guessed`` are those of ``specs`` whose type is a guess, ``unknown``
    have no type."""

    stmt: ast.For | ast.While
    specs: dict[str, abstract.Abstract]
    guessed: set[str]
    unknown: set[str]
    attempts: int


@dataclass
class Guesses:
    """The guesses of one loop that were wrong, and the refusal that the first one led to."""

    names: frozenset[str] = frozenset()
    refused: CompileError | None = None
    tries: int = field(default=0)

    def another(self, carry: Carrying, refusal: CompileError) -> bool:
        """Whether the body should be traced again, under another guess. Raises the first refusal if there is no other
        guess."""
        if carry.attempts > 0 or not (carry.guessed or self.names):
            return False
        self.tries += 1
        if self.tries == 1:
            self.names, self.refused = frozenset(carry.guessed), refusal
            for name in self.names:
                del carry.specs[name]
            carry.guessed.clear()
            carry.unknown |= self.names
            return True
        if self.tries == 2 and any(guess(carry.stmt, name) != i64 for name in self.names):
            carry.unknown -= self.names
            carry.guessed |= self.names
            carry.specs |= {name: Maybe(abstract.Scalar(i64)) for name in sorted(self.names)}
            return True
        assert self.refused is not None
        raise self.refused


def guess(loop: ast.stmt, name: str) -> Type:
    """The type of a variable that is read before the loop has set it: an integer if it is only set to integers."""
    for node in ast.walk(loop):
        if isinstance(node, ast.For) and _is(node.target, name):
            known = isinstance(node.iter, ast.Call) and _is(node.iter.func, "range")
        elif isinstance(node, ast.Assign):
            known = not any(_sets(target, name) for target in node.targets) or _is_integer(node.value)
        elif isinstance(node, ast.AugAssign):
            known = not _is(node.target, name) or _is_integer(node.value)
        else:
            continue
        if not known:
            return f64
    return i64


def _sets(target: ast.expr, name: str) -> bool:
    """Whether a target is the variable, or contains it as a target: a name in a subscript is only read."""
    return any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in ast.walk(target))


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_integer(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(node.value, bool)
