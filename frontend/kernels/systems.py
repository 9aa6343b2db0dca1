"""Many small matrices: systems of equations and determinants, several at a time by SIMD, without an allocation for
each.

By elimination with partial pivoting (Golub and Van Loan, Matrix Computations, 4th ed., 3.4), applied to the right-hand
sides too. The last index of work arrays counts the matrices. A row is interchanged with each row that has a larger
number in the column, one after the other, so that all matrices take the same steps. Derivatives: Giles, Collected
matrix derivative results for forward and reverse mode algorithmic differentiation (2008).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import forward_rule, reverse_rule, when_reached
from adc.frontend.kernels.elimination import cofactors_of_singular

LARGEST = 12  # unknowns; a larger system is worth calls of its own
AT_ONCE = 8  # matrices at a time


def each_solved(a: Any, b: Any, transposed: Any) -> Any:
    """The ``x`` with ``a[k] @ x[k] = b[k]``, or with the transpose of ``a[k]`` if ``transposed`` is 1, not 0; and
    whether one is singular."""
    count, n, columns = b.shape
    x = np.empty(b.shape, b.dtype)
    w = np.empty(n * n * AT_ONCE, a.dtype)
    y = np.empty(n * columns * AT_ONCE, a.dtype)
    signs = np.empty(AT_ONCE, a.dtype)
    singular = np.zeros(1, np.int64)
    for first in range(0, count, AT_ONCE):
        reduced(a, b, first, transposed, w, y, signs)
        substituted(w, y, first, x, singular)
    return x, singular[0] != 0


@when_reached("triangles", "sides", "signs")
def reduced(a: Any, b: Any, first: Any, transposed: Any, triangles: Any, sides: Any, signs: Any) -> None:
    """Put the triangles of matrices into an array, from the first on, what becomes of their right-hand sides, and the
    signs of the determinants; missing matrices are replaced by the last."""
    count, n, columns = b.shape
    w, y = triangles.reshape(n, n, AT_ONCE), sides.reshape(n, columns, AT_ONCE)
    taken(a, first, transposed, w)
    for i in range(n):
        for c in range(columns):
            for m in range(AT_ONCE):
                y[i, c, m] = b[min(first + m, count - 1), i, c]
    eliminated(w, y, signs)


@when_reached("sides", "x", "singular")
def substituted(triangles: Any, sides: Any, first: Any, x: Any, singular: Any) -> None:
    """Put the solutions for such triangles into ``x``, from the first on, and 1 into ``singular`` if one has none."""
    count, n, columns = x.shape
    w, y = triangles.reshape(n, n, AT_ONCE), sides.reshape(n, columns, AT_ONCE)
    for i in range(n):
        for m in range(AT_ONCE):
            if w[i, i, m] == 0.0:
                singular[0] = 1
    for s in range(n):
        p = n - 1 - s
        for c in range(columns):
            for j in range(p + 1, n):
                for m in range(AT_ONCE):
                    y[p, c, m] -= w[p, j, m] * y[j, c, m]
            for m in range(AT_ONCE):
                y[p, c, m] = y[p, c, m] / w[p, p, m]
    for m in range(min(AT_ONCE, count - first)):
        for i in range(n):
            for c in range(columns):
                x[first + m, i, c] = y[i, c, m]


def taken(a: Any, first: Any, transposed: Any, w: Any) -> None:
    """Put matrices into ``w``, from the first on; missing ones are replaced by the last."""
    count, n, _ = a.shape
    for i in range(n):
        for j in range(n):
            row, column = (j, i) if transposed == 1 else (i, j)
            if first + AT_ONCE <= count:
                for m in range(AT_ONCE):
                    w[i, j, m] = a[first + m, row, column]
            else:
                for m in range(AT_ONCE):
                    w[i, j, m] = a[min(first + m, count - 1), row, column]


def eliminated(w: Any, y: Any, signs: Any) -> None:
    """Reduce the matrices to triangles, and update the right-hand sides and the signs of the determinants."""
    n, columns = y.shape[:2]
    swaps = np.zeros(AT_ONCE, np.bool_)
    factors = np.zeros(AT_ONCE, w.dtype)
    for m in range(AT_ONCE):
        signs[m] = 1.0
    for p in range(n):
        for i in range(p + 1, n):
            for m in range(AT_ONCE):
                swaps[m] = abs(w[i, p, m]) > abs(w[p, p, m])
            for m in range(AT_ONCE):
                signs[m] = -signs[m] if swaps[m] else signs[m]
            for j in range(p, n):
                exchanged(w, swaps, p, i, j)
            for c in range(columns):
                exchanged(y, swaps, p, i, c)
        for i in range(p + 1, n):
            for m in range(AT_ONCE):  # below a pivot that is zero, everything is zero
                factors[m] = w[i, p, m] / w[p, p, m] if w[p, p, m] != 0.0 else w[i, p, m]
            for j in range(p + 1, n):
                for m in range(AT_ONCE):
                    w[i, j, m] -= factors[m] * w[p, j, m]
            for c in range(columns):
                for m in range(AT_ONCE):
                    y[i, c, m] -= factors[m] * y[p, c, m]


def exchanged(w: Any, swaps: Any, p: Any, i: Any, j: Any) -> None:
    """Interchange elements of two rows where ``swaps`` says so."""
    for m in range(AT_ONCE):
        one = w[p, j, m]
        other = w[i, j, m]
        w[p, j, m] = other if swaps[m] else one
        w[i, j, m] = one if swaps[m] else other


@reverse_rule(each_solved)
def _each_solved_reverse(a: Any, b: Any, transposed: Any) -> Any:
    x, singular = each_solved(a, b, transposed)

    def pullback(g: Any) -> Any:
        of_b, _ = each_solved(a, g[0], 1 - transposed)
        of_a = less_products(x, of_b) if transposed == 1 else less_products(of_b, x)
        return of_a, of_b, None

    return (x, singular), pullback


def less_products(x: Any, y: Any) -> Any:
    """The products ``-x[k] @ y[k].T``."""
    count, n, columns = x.shape
    z = np.zeros((count, n, n), x.dtype)
    for k in range(count):
        for c in range(columns):
            for i in range(n):
                for j in range(n):
                    z[k, i, j] -= x[k, i, c] * y[k, j, c]
    return z


@forward_rule(each_solved)
def _each_solved_forward(tangents: Any, a: Any, b: Any, transposed: Any) -> Any:
    x, singular = each_solved(a, b, transposed)
    change = tangents[0].transpose(0, 2, 1).copy() if transposed == 1 else tangents[0].copy()
    moved, _ = each_solved(a, tangents[1] - change @ x, transposed)
    return (x, singular), (moved, None)


def each_determinant(a: Any) -> Any:
    """The determinants of ``a[k]``."""
    return of_triangles(a, False)[0]


def each_log_determinant(a: Any) -> Any:
    """The signs of the determinants, or zeros, and the logarithms of their absolute values."""
    return of_triangles(a, True)


def of_triangles(a: Any, logarithms: Any) -> Any:
    """The determinants; or their signs, and the logarithms of their absolute values."""
    count, n, _ = a.shape
    products = np.zeros(count, a.dtype)
    sums = np.zeros(count, a.dtype)
    none = np.empty((count, n, 0), a.dtype)
    triangles, sides = np.empty(n * n * AT_ONCE, a.dtype), np.empty(0, a.dtype)
    product = np.empty(AT_ONCE, a.dtype)
    total = np.empty(AT_ONCE, a.dtype)
    w = triangles.reshape(n, n, AT_ONCE)
    for first in range(0, count, AT_ONCE):
        reduced(a, none, first, 0, triangles, sides, product)
        for m in range(AT_ONCE):
            total[m] = 0.0
        for i in range(n):
            if logarithms:
                for m in range(AT_ONCE):
                    product[m] = product[m] * np.sign(w[i, i, m])
                    total[m] += np.log(abs(w[i, i, m]))
            else:
                for m in range(AT_ONCE):
                    product[m] = product[m] * w[i, i, m]
        for m in range(min(AT_ONCE, count - first)):
            products[first + m] = product[m]
            sums[first + m] = total[m]
    return products, sums


def units(a: Any) -> Any:
    """As many unit matrices as ``a`` has matrices."""
    x = np.zeros(a.shape, a.dtype)
    for k in range(a.shape[0]):
        for i in range(a.shape[1]):
            x[k, i, i] = 1.0
    return x


def each_cofactors(a: Any) -> Any:
    """The derivatives of the determinants with respect to each element."""
    count, n, _ = a.shape
    if n == 2 or n == 3:
        x = np.zeros(a.shape, a.dtype)
        for k in range(count):
            minors(a[k], x[k])
        return x
    return of_inverses(a)


def minors(a: Any, x: Any) -> None:
    """The cofactors of a matrix of 2 or 3 rows, singular or not."""
    if len(a) == 2:
        x[0, 0], x[0, 1], x[1, 0], x[1, 1] = a[1, 1], -a[1, 0], -a[0, 1], a[0, 0]
    else:
        for i in range(3):
            up, down = (i + 1) % 3, (i + 2) % 3
            for j in range(3):
                left, right = (j + 1) % 3, (j + 2) % 3
                x[i, j] = a[up, left] * a[down, right] - a[up, right] * a[down, left]


def of_inverses(a: Any) -> Any:
    """The cofactors of matrices of any size: the determinant times the inverse where there is one."""
    x, _ = each_solved(a, units(a), 1)
    found = each_determinant(a)
    for k in range(len(found)):
        if found[k] == 0.0:
            x[k] = cofactors_of_singular(a[k])
        else:
            x[k] *= found[k]
    return x


@reverse_rule(each_determinant)
def _each_determinant_reverse(a: Any) -> Any:
    return each_determinant(a), lambda g: (g[:, None, None] * each_cofactors(a),)


@forward_rule(each_determinant)
def _each_determinant_forward(tangents: Any, a: Any) -> Any:
    return each_determinant(a), np.sum(each_cofactors(a) * tangents[0], axis=(1, 2))


@reverse_rule(each_log_determinant)
def _each_log_determinant_reverse(a: Any) -> Any:
    def pullback(g: Any) -> Any:
        return (g[1][:, None, None] * each_solved(a, units(a), 1)[0],)

    return each_log_determinant(a), pullback


@forward_rule(each_log_determinant)
def _each_log_determinant_forward(tangents: Any, a: Any) -> Any:
    signs, logarithms = each_log_determinant(a)
    change = np.sum(each_solved(a, units(a), 1)[0] * tangents[0], axis=(1, 2))
    return (signs, logarithms), (np.zeros(len(signs), a.dtype), change)
