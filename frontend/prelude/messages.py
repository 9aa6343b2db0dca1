"""Messages between ranks: ``adc.mpi``.

A few functions of arrays with one axis have derivative rules, and all others are built on them. What is differentiated
is one function of the data of all ranks together. So the cotangent of a value that several ranks have a copy of is the
sum of parts on these ranks, and the derivative of each function is its transpose. Nothing need be known about the ranks
except that all run the same code.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import COLLECTIVE, CROSSING, messages, with_rules
from adc.frontend.prelude import constant, stands_for, unsupported
from adc.ir.messages import NOBODY, TAGS

AXES, ROLES = 64, 11  # tags for directions along axes, and for roles: MPI has at least 32767


def exchanged(x: Any, count: Any, dest: Any, source: Any, tag: Any) -> Any:
    """Send ``x``, and receive ``count`` numbers; zeros if they come from nobody. ``x`` is an array that the caller has
    made for this: it counts as depending on the inputs of the derivative (``adc.passes.analysis.messages``)."""
    return _exchanged(x, count, dest, source, tag)


def _exchanged(x: Any, count: Any, dest: Any, source: Any, tag: Any) -> Any:
    y = np.zeros(count, x.dtype)
    messages.exchange(x, y, dest, source, tag)
    return y


def _exchanged_reverse(x: Any, count: Any, dest: Any, source: Any, tag: Any) -> Any:
    length = len(x)

    def pullback(g: Any) -> Any:
        return exchanged(g, length, source, dest, tag), None, None, None, None

    return exchanged(x, count, dest, source, tag), pullback


def _exchanged_forward(tangents: Any, x: Any, count: Any, dest: Any, source: Any, tag: Any) -> Any:
    y = exchanged(x, count, dest, source, tag)
    return y, exchanged(tangents[0], count, dest, source, tag)


# The role says what is sent: values, cotangents or tangents of such (``adc.ir.messages.role_text``). It distinguishes
# ranks that take different derivatives.


def shifted(x: Any, dest: Any, source: Any, tag: Any, role: Any) -> Any:
    """The array of ``source``, which is as long as ``x``: all ranks do this together."""
    return _shifted(x, dest, source, tag, role)


def _shifted(x: Any, dest: Any, source: Any, tag: Any, role: Any) -> Any:
    y = np.zeros(len(x), x.dtype)
    messages.shift(x, y, dest, source, TAGS + tag + AXES * (role % ROLES))
    return y


def _shifted_reverse(x: Any, dest: Any, source: Any, tag: Any, role: Any) -> Any:
    def pullback(g: Any) -> Any:
        return shifted(g, source, dest, tag, 2 * role + 1), None, None, None, None

    return shifted(x, dest, source, tag, role), pullback


def _shifted_forward(tangents: Any, x: Any, dest: Any, source: Any, tag: Any, role: Any) -> Any:
    y = shifted(x, dest, source, tag, role)
    return y, shifted(tangents[0], dest, source, tag, 2 * role + 2)


def summed(x: Any, role: Any) -> Any:
    """The sum over all ranks."""
    return _summed(x, role)


def _summed(x: Any, role: Any) -> Any:
    y = np.empty(len(x), x.dtype)
    messages.allreduce(x, y, role)
    return y


def _summed_reverse(x: Any, role: Any) -> Any:
    return summed(x, role), lambda g: (summed(g, 2 * role + 1), None)


def _summed_forward(tangents: Any, x: Any, role: Any) -> Any:
    y = summed(x, role)
    return y, summed(tangents[0], 2 * role + 2)


def gathered(x: Any, role: Any) -> Any:
    """The arrays of all ranks, concatenated; they have the same length."""
    return _gathered(x, role)


def _gathered(x: Any, role: Any) -> Any:
    y = np.empty(messages.size() * len(x), x.dtype)
    messages.allgather(x, y, role)
    return y


def _gathered_reverse(x: Any, role: Any) -> Any:
    n = len(x)

    def pullback(g: Any) -> Any:
        first = messages.rank() * n
        return summed(g, 2 * role + 1)[first : first + n].copy(), None

    return gathered(x, role), pullback


def _gathered_forward(tangents: Any, x: Any, role: Any) -> Any:
    y = gathered(x, role)
    return y, gathered(tangents[0], 2 * role + 2)


def handed_out(x: Any, root: Any, role: Any) -> Any:
    """The array of the rank ``root``; all ranks have one of its length."""
    return _handed_out(x, root, role)


def _handed_out(x: Any, root: Any, role: Any) -> Any:
    y = np.empty(len(x), x.dtype)
    messages.bcast(x, y, root, role)
    return y


def _handed_out_reverse(x: Any, root: Any, role: Any) -> Any:
    def pullback(g: Any) -> Any:
        total = summed(g, 2 * role + 1)
        if messages.rank() != root:
            total[:] = 0.0
        return total, None, None

    return handed_out(x, root, role), pullback


def _handed_out_forward(tangents: Any, x: Any, root: Any, role: Any) -> Any:
    y = handed_out(x, root, role)
    return y, handed_out(tangents[0], root, 2 * role + 2)


def spread(x: Any) -> Any:
    """``x``, which is the same on all ranks, as one copy on each rank."""
    return x.copy()


def _spread_reverse(x: Any) -> Any:
    messages.agree(x, 0)
    return x.copy(), lambda g: summed(g, 1)


def _spread_forward(tangents: Any, x: Any) -> Any:
    return x.copy(), tangents[0].copy()


def picked(x: Any, same: Any) -> Any:
    """``x`` as a value of the first rank, if it is the ``same`` on all: its cotangent is that of all ranks together."""
    return x.copy()


def _picked_reverse(x: Any, same: Any) -> Any:
    def pullback(g: Any) -> Any:
        found = g.copy()
        if same:
            n = len(x)
            both = np.empty(2 * n, x.dtype)
            both[:n] = x
            both[n:] = g
            messages.agree(both, 1)
            if messages.rank() != 0:
                found[:] = 0.0
        return found, None

    return x.copy(), pullback


def _picked_forward(tangents: Any, x: Any, same: Any) -> Any:
    return x.copy(), tangents[0].copy()


def given_to_all(x: Any) -> Any:
    """A number or an array that is the same on all ranks, as an input."""
    return as_given(spread(laid_out(x)), x)


def left_by_all(x: Any, same: Any) -> Any:
    """A number that is returned."""
    return picked(laid_out(x), same)[0]


CROSSING.add(with_rules(exchanged, _exchanged_reverse, _exchanged_forward))
with_rules(shifted, _shifted_reverse, _shifted_forward)
COLLECTIVE.add(with_rules(summed, _summed_reverse, _summed_forward))
COLLECTIVE.add(with_rules(gathered, _gathered_reverse, _gathered_forward))
COLLECTIVE.add(with_rules(handed_out, _handed_out_reverse, _handed_out_forward))
with_rules(spread, _spread_reverse, _spread_forward)
with_rules(picked, _picked_reverse, _picked_forward)


def laid_out(x: Any) -> Any:
    """The elements of an array, or a number, as an array with one axis."""
    return np.ascontiguousarray(np.asarray(x)).reshape(-1)


def as_given(y: Any, x: Any) -> Any:
    """An array with one axis in the shape of ``x``; a number if that is one."""
    if np.ndim(x) == 0:
        return y[0]
    return y.reshape(np.shape(x))


def has_derivatives(x: Any) -> bool:
    """Whether an array is of floats; integers are sent without rules."""
    return bool(x.dtype == np.float64 or x.dtype == np.float32)


@stands_for("adc.mpi.rank")
def rank() -> Any:
    return messages.rank()


@stands_for("adc.mpi.size")
def size() -> Any:
    return messages.size()


@stands_for("adc.mpi.allreduce")
def allreduce(x: Any, op: Any = "sum") -> Any:
    op = constant(op)
    given = laid_out(x)
    if op == "sum":
        return as_given(summed(given, 0) if has_derivatives(given) else _summed(given, 0), x)
    if op != "max" and op != "min":
        unsupported(f"mpi.allreduce() has no op={op!r}", "the operations are 'sum', 'max' and 'min'")
    all = in_rows(given)
    if op == "max":
        return as_given(np.max(all, axis=0), x)
    return as_given(np.min(all, axis=0), x)


def in_rows(given: Any) -> Any:
    """The arrays of all ranks as the rows of one array."""
    all = gathered(given, 0) if has_derivatives(given) else _gathered(given, 0)
    return all.reshape((messages.size(), len(given)))


@stands_for("adc.mpi.allgather")
def allgather(x: Any) -> Any:
    return in_rows(laid_out(x)).reshape((messages.size(), *np.shape(x)))


@stands_for("adc.mpi.bcast")
def bcast(x: Any, root: Any = 0) -> Any:
    given = laid_out(x)
    return as_given(handed_out(given, root, 0) if has_derivatives(given) else _handed_out(given, root, 0), x)


@stands_for("adc.mpi.sendrecv")
def sendrecv(x: Any, dest: Any, source: Any, tag: Any = 0) -> Any:
    given = laid_out(x).copy()
    return as_given(moved(given, len(given), dest, source, tag), x)


@stands_for("adc.mpi.send")
def send(x: Any, dest: Any, tag: Any = 0) -> None:
    moved(laid_out(x).copy(), 0, dest, NOBODY, tag)


@stands_for("adc.mpi.recv")
def recv(like: Any, source: Any, tag: Any = 0) -> Any:
    nothing = np.empty(0, np.asarray(like).dtype)
    return as_given(moved(nothing, np.size(like), NOBODY, source, tag), like)


def moved(given: Any, count: Any, dest: Any, source: Any, tag: Any) -> Any:
    """The array received from one rank, while another is sent to a rank."""
    if has_derivatives(given):
        return exchanged(given, count, dest, source, tag)
    return _exchanged(given, count, dest, source, tag)


@stands_for("adc.mpi.exchange")
def exchange(u: Any, grid: Any, width: Any = 1) -> None:
    for axis, (lower, upper) in enumerate(grid.sides):
        v = np.moveaxis(u, axis, 0)
        from_lower = along(v[-2 * width : -width], upper, lower, 2 * axis)
        from_upper = along(v[width : 2 * width], lower, upper, 2 * axis + 1)
        if lower != NOBODY:
            v[:width] = from_lower
        if upper != NOBODY:
            v[-width:] = from_upper


def along(x: Any, dest: Any, source: Any, tag: Any) -> Any:
    """The array received from the neighbour, when all ranks send along an axis of their grid."""
    given = laid_out(x)
    if has_derivatives(given):
        return as_given(shifted(given, dest, source, tag, 0), x)
    return as_given(_shifted(given, dest, source, tag, 0), x)
