"""Messages between all ranks and one of them, the root: ``adc.mpi.reduce``, ``gather`` and ``scatter``.

As in ``messages``, each has its transpose as its derivative. A result that only the root receives is zero, or has no
rows, on other ranks, so their cotangents of it do not matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import messages, with_rules
from adc.frontend.prelude import constant, stands_for, unsupported
from adc.frontend.prelude.messages import as_given, handed_out, has_derivatives, laid_out


def summed_to(x: Any, root: Any, role: Any) -> Any:
    """The sum over all ranks on ``root``, zeros elsewhere."""
    return _summed_to(x, root, role)


def _summed_to(x: Any, root: Any, role: Any) -> Any:
    y = np.empty(len(x), x.dtype)
    messages.reduce(x, y, root, role)
    return y


def _summed_to_reverse(x: Any, root: Any, role: Any) -> Any:
    return summed_to(x, root, role), lambda g: (handed_out(g, root, 2 * role + 1), None, None)


def _summed_to_forward(tangents: Any, x: Any, root: Any, role: Any) -> Any:
    y = summed_to(x, root, role)
    return y, summed_to(tangents[0], root, 2 * role + 2)


def brought(x: Any, root: Any, role: Any) -> Any:
    """The arrays of all ranks, which have the same length, concatenated on ``root``; nothing elsewhere."""
    return _brought(x, root, role)


def _brought(x: Any, root: Any, role: Any) -> Any:
    y = np.empty(messages.size() * len(x) if messages.rank() == root else 0, x.dtype)
    messages.gather(x, y, root, role)
    return y


def _brought_reverse(x: Any, root: Any, role: Any) -> Any:
    n = len(x)
    return brought(x, root, role), lambda g: (dealt(g, n, root, 2 * role + 1), None, None)


def _brought_forward(tangents: Any, x: Any, root: Any, role: Any) -> Any:
    y = brought(x, root, role)
    return y, brought(tangents[0], root, 2 * role + 2)


def dealt(x: Any, n: Any, root: Any, role: Any) -> Any:
    """The ``n`` numbers for this rank among those that ``root`` has for all; the arrays of other ranks do not
    matter."""
    return _dealt(x, n, root, role)


def _dealt(x: Any, n: Any, root: Any, role: Any) -> Any:
    y = np.empty(n, x.dtype)
    messages.scatter(x, y, root, role)
    return y


def _dealt_reverse(x: Any, n: Any, root: Any, role: Any) -> Any:
    length = len(x)

    def pullback(g: Any) -> Any:
        back = np.zeros(length, g.dtype)
        found = brought(g, root, 2 * role + 1)
        back[: len(found)] = found  # all of it on the root, nothing elsewhere
        return back, None, None, None

    return dealt(x, n, root, role), pullback


def _dealt_forward(tangents: Any, x: Any, n: Any, root: Any, role: Any) -> Any:
    y = dealt(x, n, root, role)
    return y, dealt(tangents[0], n, root, 2 * role + 2)


with_rules(summed_to, _summed_to_reverse, _summed_to_forward)
with_rules(brought, _brought_reverse, _brought_forward)
with_rules(dealt, _dealt_reverse, _dealt_forward)


@stands_for("adc.mpi.reduce")
def reduce(x: Any, op: Any = "sum", root: Any = 0) -> Any:
    op = constant(op)
    given = laid_out(x)
    if op == "sum":
        return as_given(summed_to(given, root, 0) if has_derivatives(given) else _summed_to(given, root, 0), x)
    if op != "max" and op != "min":
        unsupported(f"mpi.reduce() has no op={op!r}", "the operations are 'sum', 'max' and 'min'")
    all = rows_at(given, root)
    y = np.zeros(len(given), given.dtype)
    if messages.rank() == root:
        if op == "max":
            y[:] = np.max(all, axis=0)
        else:
            y[:] = np.min(all, axis=0)
    return as_given(y, x)


def rows_at(given: Any, root: Any) -> Any:
    """The arrays of all ranks as rows on the root; elsewhere no rows."""
    all = brought(given, root, 0) if has_derivatives(given) else _brought(given, root, 0)
    return all.reshape((messages.size() if messages.rank() == root else 0, len(given)))


@stands_for("adc.mpi.gather")
def gather(x: Any, root: Any = 0) -> Any:
    all = rows_at(laid_out(x), root)
    return all.reshape((len(all), *np.shape(x)))


@stands_for("adc.mpi.scatter")
def scatter(x: Any, root: Any = 0) -> Any:
    if np.ndim(x) == 0:
        raise ValueError("scatter() takes an array with one row for each rank")
    given, n = laid_out(x), 1
    for extent in np.shape(x)[1:]:
        n *= extent
    y = dealt(given, n, root, 0) if has_derivatives(given) else _dealt(given, n, root, 0)
    if np.ndim(x) == 1:
        return y[0]
    return y.reshape(np.shape(x)[1:])
