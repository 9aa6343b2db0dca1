"""Norms of vectors and matrices, and the condition of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.prelude import constant, stands_for, unsupported
from adc.frontend.prelude.decompositions import svdvals
from adc.frontend.prelude.linalg import inv


def euclidean(x: Any) -> Any:
    """The Euclidean norm of all elements, as one sum: the compiler has a rule for it."""
    return np.sqrt(np.sum(np.abs(x) ** 2))


@stands_for("numpy.linalg.norm", "scipy.linalg.norm")
def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    x = np.asarray(a)
    if x.dtype.kind != "f" and x.dtype.kind != "c":
        x = x.astype(np.float64)
    along = constant(axis)
    kind = constant(ord)
    if along is None and not keepdims and (kind is None or (x.ndim == 1 and kind == 2)):
        return euclidean(x)
    if along is None and kind is None:
        return _root(np.sum(np.abs(x) ** 2, keepdims=True))
    if along is None and x.ndim == 1:
        return _vector(x, kind, 0, keepdims)
    if along is None and x.ndim == 2:
        return _matrix(x, kind, 0, 1, keepdims)
    if along is None:
        raise ValueError("Improper number of dimensions to norm.")
    if isinstance(along, int):
        return _vector(x, kind, along, keepdims)
    if len(along) == 1:
        return _vector(x, kind, along[0], keepdims)
    if len(along) == 2:
        return _matrix(x, kind, along[0] % x.ndim, along[1] % x.ndim, keepdims)
    raise ValueError("Improper number of dimensions to norm.")


def _root(s: Any) -> Any:
    """The square root of sums of squares, with derivative zero where they are zero."""
    return np.where(s == 0.0, 0.0, np.sqrt(np.where(s == 0.0, 1.0, s)))


def _vector(x: Any, order: Any, axis: Any, keepdims: Any) -> Any:
    kind = constant(order)
    if kind is None or kind == 2:
        found = _root(np.sum(np.abs(x) ** 2, axis=axis, keepdims=keepdims))
    elif isinstance(kind, str):
        raise ValueError(f"Invalid norm order '{kind}' for vectors")
    elif kind == np.inf:
        found = np.max(np.abs(x), axis=axis, keepdims=keepdims)
    elif kind == -np.inf:
        found = np.min(np.abs(x), axis=axis, keepdims=keepdims)
    elif kind == 0:
        found = np.sum((x != 0).astype(x.dtype), axis=axis, keepdims=keepdims)
    elif kind == 1:
        found = np.sum(np.abs(x), axis=axis, keepdims=keepdims)
    else:
        found = np.sum(np.abs(x) ** kind, axis=axis, keepdims=keepdims) ** (1.0 / kind)
    return found


def _matrix(x: Any, order: Any, rows: Any, columns: Any, keepdims: Any) -> Any:
    kind = constant(order)
    if rows == columns:
        raise ValueError("Duplicate axes given.")
    if kind is None or kind == "fro":
        return _root(np.sum(np.abs(x) ** 2, axis=(rows, columns), keepdims=keepdims))
    if kind == 1 or kind == -1:
        return _of_sums(x, kind, rows, columns, keepdims)
    if kind == np.inf or kind == -np.inf:
        return _of_sums(x, kind, columns, rows, keepdims)
    if kind not in (2, -2, "nuc"):
        raise ValueError("Invalid norm order for matrices.")
    if keepdims:
        unsupported("np.linalg.norm() by singular values does not keep axes", "leave out keepdims=True, and reshape")
    s = svdvals(np.moveaxis(x, (rows, columns), (-2, -1)))
    return np.sum(s, axis=-1) if kind == "nuc" else np.max(s, axis=-1) if kind == 2 else np.min(s, axis=-1)


def _of_sums(x: Any, kind: Any, inner: Any, outer: Any, keepdims: Any) -> Any:
    """The greatest, or the least, of the sums along an axis."""
    if keepdims:
        sums = np.sum(np.abs(x), axis=constant(inner), keepdims=True)
        return _extreme(sums, constant(outer), kind, True)
    moved = np.moveaxis(x, (constant(inner), constant(outer)), (-2, -1))
    return _extreme(np.sum(np.abs(moved), axis=-2), -1, kind, False)


def _extreme(sums: Any, axis: Any, kind: Any, keepdims: Any) -> Any:
    if kind > 0:
        return np.max(sums, axis=axis, keepdims=keepdims)
    return np.min(sums, axis=axis, keepdims=keepdims)


@stands_for("numpy.linalg.vector_norm")
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: Any = False, ord: Any = 2) -> Any:
    if axis is None:
        if keepdims:
            unsupported("np.linalg.vector_norm() of all elements does not keep axes", "leave out keepdims=True")
        return norm(np.asarray(x).copy().reshape(-1), ord)
    return norm(x, ord, axis, keepdims)


@stands_for("numpy.linalg.matrix_norm")
def matrix_norm(x: Any, /, *, keepdims: Any = False, ord: Any = "fro") -> Any:
    return norm(x, ord, (-2, -1), keepdims)


@stands_for("numpy.linalg.cond")
def cond(x: Any, p: Any = None) -> Any:
    kind = constant(p)
    if kind is None or kind == 2 or kind == -2:
        s = svdvals(x)
        return s[..., 0] / s[..., -1] if kind != -2 else s[..., -1] / s[..., 0]
    return norm(x, kind, (-2, -1)) * norm(inv(x), kind, (-2, -1))
