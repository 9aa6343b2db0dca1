"""Functions that are defined by an equation: fixed points and roots, with derivatives by the implicit function theorem.

They are Python functions with rules, like those of users: plain Python runs them, adc compiles them, and the reverse
sweep needs only the solution and the arguments, nothing of the iteration that found it.

Reference: Griewank and Walther, Evaluating Derivatives, 2nd ed., chapter 15; Krantz and Parks, The Implicit Function
Theorem, Birkhauser 2002.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adc.api.rules import rrule
from adc.functions.decorator import grad


def fixed_point(f: Callable[..., Any], x0: Any, *args: Any, tolerance: float = 1e-12, steps: int = 10000) -> Any:
    """The ``x`` with ``x = f(x, *args)``, by iteration from ``x0``: a float, or an array of floats.

    The iteration ends when no element changes by more than ``tolerance`` times its size (or times one, if that is
    larger). It raises ``ArithmeticError`` after ``steps`` steps. The derivative with respect to ``args`` is that of the
    solution, and does not depend on the iteration: ``w = g + w df/dx`` is solved by iteration too, which converges as
    fast. ``x0`` has no derivative. What ``f`` captures must not vary; pass it in ``args``.
    """
    return _iterated(lambda x: f(x, *args), x0, tolerance, steps, "the fixed point")


@rrule(fixed_point)
def _fixed_point_rule(f, x0, *args, tolerance=1e-12, steps=10000):  # type: ignore[no-untyped-def]
    x = fixed_point(f, x0, *args, tolerance=tolerance, steps=steps)

    def pullback(g):  # type: ignore[no-untyped-def]
        def step(w):  # type: ignore[no-untyped-def]
            return g + grad(lambda y, *rest: _dot(w, f(y, *rest)))(x, *args)

        w = _iterated(step, g, tolerance, steps, "the derivative of the fixed point")
        return None, None, *_by_arguments(f, x, args, w)

    return x, pullback


def root(f: Callable[..., Any], x0: Any, *args: Any, tolerance: float = 1e-12, steps: int = 100) -> Any:
    """The ``x`` with ``f(x, *args) = 0``, by Newton's method from ``x0``: a float, or an array of one dimension, for
    which ``f`` returns as many values.

    The iteration ends when a step changes no element by more than ``tolerance`` times its size (or times one, if that
    is larger). It raises ``ArithmeticError`` after ``steps`` steps, or if the Jacobian is singular. Each step takes as
    many gradients as there are values, and a dense elimination. Derivatives are as for ``fixed_point``, by one more
    elimination.
    """
    return _iterated(lambda x: x - _solved(f, x, args, f(x, *args), False), x0, tolerance, steps, "the root")


@rrule(root)
def _root_rule(f, x0, *args, tolerance=1e-12, steps=100):  # type: ignore[no-untyped-def]
    x = root(f, x0, *args, tolerance=tolerance, steps=steps)

    def pullback(g):  # type: ignore[no-untyped-def]
        return None, None, *_by_arguments(f, x, args, -_solved(f, x, args, g, True))

    return x, pullback


# Shared helpers -------------------------------------------------------------------------------------------------------


def _iterated(step: Any, start: Any, tolerance: float, steps: int, wanted: str) -> Any:
    """Iterate ``step`` until it changes no element by more than ``tolerance``, and return the result."""
    x = start.copy() if isinstance(start, np.ndarray) else start * 1.0
    change = 1.0 + tolerance
    n = 0
    while change > tolerance:
        if n == steps:
            raise ArithmeticError(f"{wanted} was not reached: more steps than allowed")
        y = step(x)
        change = _distance(y, x)
        x = y
        n += 1
    return x


def _dot(a: Any, b: Any) -> Any:
    return np.sum(a * b) if isinstance(a, np.ndarray) else a * b


def _by_arguments(f: Any, x: Any, args: Any, w: Any) -> Any:
    """The derivatives of ``w`` times the function with respect to those ``args`` that have floats; None for the
    others."""
    return grad(lambda *rest: _dot(w, f(x, *rest)), "floats")(*args)  # type: ignore[arg-type]


def _distance(a: Any, b: Any) -> Any:
    """The largest change of an element, relative to one plus its size. It is infinite for NaN."""
    if isinstance(a, np.ndarray):
        change = np.abs(a - b) / (1.0 + np.abs(b))
        far = np.max(change)
    else:
        far = abs(a - b) / (1.0 + abs(b))
    return far if far == far else np.inf


def _solved(f: Any, x: Any, args: Any, right: Any, transposed: Any) -> Any:
    """The solution of the linear system of the Jacobian of ``f`` at ``x``, or of its transpose."""
    if isinstance(x, np.ndarray):
        n = len(x)
        matrix = np.zeros((n, n))
        for i in range(n):
            unit = np.zeros(n)
            unit[i] = 1.0
            row = grad(lambda y, e: _dot(e, f(y, *args)))(x, unit)
            for j in range(n):
                if transposed:
                    matrix[j, i] = row[j]
                else:
                    matrix[i, j] = row[j]
        return _eliminated(matrix, right)
    slope = grad(lambda y: f(y, *args))(x)
    if slope == 0.0:
        raise ArithmeticError("the derivative of the function whose root is sought is zero")
    return right / slope


def _eliminated(matrix: Any, right: Any) -> Any:
    """The solution of a dense linear system, by Gaussian elimination with partial pivoting. Changes ``matrix``."""
    n = len(right)
    x = right.copy()
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(matrix[i, k]) > abs(matrix[p, k]):
                p = i
        if matrix[p, k] == 0.0:
            raise ArithmeticError("the Jacobian of the function whose root is sought is singular")
        for j in range(n):
            held = matrix[k, j]
            matrix[k, j] = matrix[p, j]
            matrix[p, j] = held
        top = x[k]
        x[k] = x[p]
        x[p] = top
        for i in range(k + 1, n):
            factor = matrix[i, k] / matrix[k, k]
            for j in range(k, n):
                matrix[i, j] -= factor * matrix[k, j]
            x[i] -= factor * x[k]
    for m in range(n):
        k = n - 1 - m
        for j in range(k + 1, n):
            x[k] -= matrix[k, j] * x[j]
        x[k] = x[k] / matrix[k, k]
    return x
