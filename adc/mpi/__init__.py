"""Functions of several ranks: messages in compiled code, with gradients.

All ranks run the same functions, each on arrays of its own. ``mpirun -n 4 python program.py`` starts four ranks, if the
package ``mpi4py`` is installed; otherwise there is one rank, number 0. ``simulate(n, f)`` runs n ranks in threads.

Arrays and numbers may be floats and integers of 32 and 64 bits. Messages keep their dtype; sender and receiver must
agree on the dtype and the number of elements.

All ranks together compute one function of the data on all ranks, and its derivative. So all ranks must call the same
derivatives of the same functions at once. ``Same`` is the annotation of a parameter with the same value on all ranks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adc.errors import RankError
from adc.frontend.prelude import exact_sums as _exact_sums
from adc.frontend.prelude import messages as _messages
from adc.frontend.prelude import rooted_messages as _rooted
from adc.ir.messages import NOBODY
from adc.mpi import processes as _processes
from adc.mpi.grids import Grid, grid
from adc.mpi.simulated import simulate

if TYPE_CHECKING:
    from typing import Any as Same  # so that parameters keep their types for type checkers
else:
    from adc.frontend.marker import Same

__all__ = [
    "NOBODY",
    "Grid",
    "RankError",
    "Same",
    "allgather",
    "allreduce",
    "allsum",
    "bcast",
    "exchange",
    "gather",
    "grid",
    "rank",
    "recv",
    "reduce",
    "scatter",
    "send",
    "sendrecv",
    "simulate",
    "size",
]

_processes.find()


def rank() -> int:
    """The number of this rank, from 0 to ``size() - 1``."""
    return int(_messages.rank())


def size() -> int:
    """The number of ranks."""
    return int(_messages.size())


def allreduce(x: Any, op: str = "sum") -> Any:
    """The sum of ``x`` over all ranks, element by element, or ``op="max"``, ``op="min"``: the same bits on all ranks.

    ``x`` is a number or an array, which has the same shape on all ranks. All ranks have to call it at once.
    """
    return _messages.allreduce(x, op)


def allsum(x: Any) -> Any:
    """The sum of all elements of ``x`` on all ranks, one number, with the same bits however the elements are
    distributed.

    ``x`` is a number or an array, whose shape may differ between ranks. The error of the sum is at most one unit in its
    last place, plus 2**-95 of the largest element for each element; infinities and NaN are summed as usual. There may
    be up to 2**38 elements. All ranks have to call it at once.
    """
    return _exact_sums.allsum(x)


def allgather(x: Any) -> Any:
    """The ``x`` of all ranks in an array with one more axis in front, of length ``size()``.

    ``x`` is a number or an array, which has the same shape on all ranks. All ranks have to call it at once.
    """
    return _messages.allgather(x)


def bcast(x: Any, root: int = 0) -> Any:
    """The ``x`` of the rank ``root``, on all ranks.

    ``x`` is a number or an array, which has the same shape on all ranks. All ranks have to call it at once.
    """
    return _messages.bcast(x, root)


def reduce(x: Any, op: str = "sum", root: int = 0) -> Any:
    """The sum of ``x`` over all ranks, or ``op="max"``, ``op="min"``, on the rank ``root``; zero on others.

    ``x`` is a number or an array, which has the same shape on all ranks. All ranks have to call it at once.
    """
    return _rooted.reduce(x, op, root)


def gather(x: Any, root: int = 0) -> Any:
    """The ``x`` of all ranks, on the rank ``root``, in an array with one more axis in front; on other ranks the array
    has no rows.

    ``x`` is a number or an array, which has the same shape on all ranks. All ranks have to call it at once.
    """
    return _rooted.gather(x, root)


def scatter(x: Any, root: int = 0) -> Any:
    """This rank's row, ``x[rank()]``, of the array of the rank ``root``, which has one row for each rank.

    On other ranks ``x`` must have rows of the same shape and dtype, but may have no rows, like the result of
    ``gather``: ``np.empty((0, 5))``. All ranks have to call it at once.
    """
    return _rooted.scatter(x, root)


def sendrecv(x: Any, dest: int, source: int, tag: int = 0) -> Any:
    """Send ``x`` to the rank ``dest``, and return what the rank ``source`` sends, which must have the same shape.

    Either may be ``NOBODY``: then nothing is sent, or the result is zero. Tags are less than 32000.
    """
    return _messages.sendrecv(x, dest, source, tag)


def send(x: Any, dest: int, tag: int = 0) -> None:
    """Send ``x`` to the rank ``dest``, which must receive it at the same time; ``NOBODY``: do nothing."""
    _messages.send(x, dest, tag)


def recv(like: Any, source: int, tag: int = 0) -> Any:
    """Receive what the rank ``source`` sends; it has the shape and dtype of ``like``, whose contents are not used. Zero
    if ``source`` is ``NOBODY``."""
    return _messages.recv(like, source, tag)


def exchange(u: Any, grid: Grid, width: int = 1) -> None:
    """Halo exchange: set the outer ``width`` rows of ``u`` along each axis of the grid to the neighbours' inner rows.

    The array of each rank is its block, extended by a halo of ``width`` rows on both sides along each axis of the grid,
    which are the leading axes of the array. Rows without a neighbour are not changed. Corners come from the diagonal
    neighbours. All ranks have to call it at once.
    """
    _messages.exchange(u, grid, width)
