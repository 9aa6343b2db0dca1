"""Functions of several ranks: messages in compiled code, with gradients.

All ranks run the same functions, each on arrays of its own. ``mpirun -n 4 python program.py`` starts four of them, with
the package ``mpi4py``; without either there is one rank, number 0. ``simulate(n, f)`` runs n ranks in threads.

Arrays and numbers may be floats and integers of 32 and 64 bits. Whatever is sent keeps its dtype, and has to have the
dtype and the number of elements that the other side receives.

The derivative is that of one function of what all ranks hold together, so ranks must call the same derivatives of the
same functions at once. ``Same`` is the annotation of a parameter that has one value on all ranks.
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
    from typing import Any as Same  # so that parameters may be used as what they are
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
    """How many ranks there are."""
    return int(_messages.size())


def allreduce(x: Any, op: str = "sum") -> Any:
    """The sum of ``x`` over all ranks, element by element, or ``op="max"``, ``op="min"``: the same bits on all ranks.

    ``x`` is a number or an array, which has the same shape on all ranks. All ranks have to call it at once.
    """
    return _messages.allreduce(x, op)


def allsum(x: Any) -> Any:
    """The sum of all elements of ``x`` on all ranks, one number, with the same bits however they are shared out.

    ``x`` is a number or an array, which may have another shape on each rank. The result is the exact sum, within one
    unit in its last place, and 2**-95 of the largest element for each; infinities and NaN are summed as usual. There
    may be 2**38 elements. All ranks have to call it at once.
    """
    return _exact_sums.allsum(x)


def allgather(x: Any) -> Any:
    """The ``x`` of all ranks in an array with one more axis in front, of length ``size()``.

    ``x`` is a number or an array, which has the same shape on all ranks. All ranks have to call it at once.
    """
    return _messages.allgather(x)


def bcast(x: Any, root: int = 0) -> Any:
    """The ``x`` that the rank ``root`` has.

    ``x`` is a number or an array, which has the same shape on all ranks. All ranks have to call it at once.
    """
    return _messages.bcast(x, root)


def reduce(x: Any, op: str = "sum", root: int = 0) -> Any:
    """The sum of ``x`` over all ranks, or ``op="max"``, ``op="min"``, on the rank ``root``; zero on others.

    ``x`` is a number or an array, which has the same shape on all ranks. All ranks have to call it at once.
    """
    return _rooted.reduce(x, op, root)


def gather(x: Any, root: int = 0) -> Any:
    """The ``x`` of all ranks on the rank ``root``, in an array with one more axis in front; on others it has no rows.

    ``x`` is a number or an array, which has the same shape on all ranks. All ranks have to call it at once.
    """
    return _rooted.gather(x, root)


def scatter(x: Any, root: int = 0) -> Any:
    """This rank's row of the array that the rank ``root`` has, with one row for each rank: ``x[rank()]``.

    On other ranks ``x`` has rows of the same shape and dtype, of which there may be none, as ``gather`` gives them:
    ``np.empty((0, 5))``. All ranks have to call it at once.
    """
    return _rooted.scatter(x, root)


def sendrecv(x: Any, dest: int, source: int, tag: int = 0) -> Any:
    """Send ``x`` to the rank ``dest``, and return what the rank ``source`` sends, which has the same shape.

    Either may be ``NOBODY``: nothing is sent then, and what comes from nobody is zero. Tags are less than 32000.
    """
    return _messages.sendrecv(x, dest, source, tag)


def send(x: Any, dest: int, tag: int = 0) -> None:
    """Send ``x`` to the rank ``dest``, which receives it meanwhile; ``NOBODY``: do nothing."""
    _messages.send(x, dest, tag)


def recv(like: Any, source: int, tag: int = 0) -> Any:
    """What the rank ``source`` sends: of the shape and dtype of ``like``, whose value does not matter. Zero if the rank
    is ``NOBODY``."""
    return _messages.recv(like, source, tag)


def exchange(u: Any, grid: Grid, width: int = 1) -> None:
    """Set the outer ``width`` rows of ``u`` along each axis of the grid to those of the neighbours' inside.

    The array of each rank is its block with ``width`` rows more on both sides of the leading axes, as many as the grid
    has. Rows where there is no neighbour stay as they are. Corners come from the neighbours across. All ranks have to
    call it at once.
    """
    _messages.exchange(u, grid, width)
