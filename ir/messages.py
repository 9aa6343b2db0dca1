"""Messages of compiled code to other ranks, by functions that this process provides.

Each is an ``adc.foreign`` with ordered effects. Code names it by its symbol and types alone; the communicator, MPI's or
a simulated one, is looked up when it is called, for the calling thread. So code is the same on all ranks, and holds no
address and no handle.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from adc.ir import kinds, ops
from adc.ir.core import Loc, Op
from adc.ir.externals import Named, Provided, provide_all
from adc.ir.lazy_dataclass import dataclass
from adc.ir.raising import kept
from adc.ir.types import MemRefType, Type, f32, f64, i1, i32, i64, index

LIBRARY = "adc.mpi"
NOBODY = -1
"""The rank of nobody: what is sent to it is lost, and nothing comes from it."""

COLLECTIVE, CROSSING = "adc.collective", "adc.crossing"
"""Attributes of functions with derivative rules. The first: all ranks call the function together, and it returns the
same on all of them. The second: its result comes from other ranks."""

TAGS = 32000
"""Tags from here on are for operations of all ranks together. MPI guarantees tags up to 32767."""

SENT: dict[Type, Any] = {f64: np.float64, f32: np.float32, i64: np.int64, i32: np.int32}
"""Element types that programs may send."""
DTYPES = SENT | {i1: np.bool_, index: np.int64}


class Communicator(Protocol):
    """A group of ranks, as one of them sees it. Arrays are C-contiguous, with one axis, and of one dtype in a call.

    Operations of all ranks together must agree: ``role`` says what is sent (``role_text``), ``place`` where in the
    source. If these differ, all raise.
    """

    @property
    def rank(self) -> int: ...

    @property
    def size(self) -> int: ...

    def exchange(self, sent: Any, received: Any, dest: int, source: int, tag: int) -> None:
        """Send one array and receive another; to and from ``NOBODY`` nothing is sent."""

    def shift(self, sent: Any, received: Any, dest: int, source: int, tag: int) -> None:
        """The same, done by all ranks together."""

    def allreduce(self, given: Any, total: Any, role: int = 0, place: int = 0) -> None:
        """The sum over the ranks, with the same bits on all of them."""

    def allgather(self, given: Any, all: Any, role: int = 0, place: int = 0) -> None:
        """The arrays of all ranks, in their order."""

    def bcast(self, given: Any, found: Any, root: int, role: int = 0, place: int = 0) -> None:
        """The array of the rank ``root``."""

    def reduce(self, given: Any, total: Any, root: int, role: int = 0, place: int = 0) -> None:
        """The sum over the ranks on the rank ``root``; zeros on others."""

    def gather(self, given: Any, all: Any, root: int, role: int = 0, place: int = 0) -> None:
        """The arrays of all ranks, in their order, on the rank ``root``; others need no room for them."""

    def scatter(self, given: Any, found: Any, root: int, role: int = 0, place: int = 0) -> None:
        """A part for each rank, in their order, of the array of the rank ``root``; those of others do not matter."""

    def agree(self, given: Any, left: int, place: int = 0) -> None:
        """Raise if an array is not the same on all ranks; ``left`` is the position of its description in ``AGREED``."""


def check_agreed(parts: Sequence[Any], what: str) -> None:
    """Raise if numbers that must be the same on all ranks are not. Small differences between kinds of machines are
    allowed."""
    for rank, part in enumerate(parts):
        if not np.allclose(part, parts[0], rtol=1e-9, atol=0.0, equal_nan=True):
            k = int(np.argmin(np.isclose(part, parts[0], rtol=1e-9, atol=0.0, equal_nan=True)))
            raise kinds.RANK_FAILED(
                f"{what} is not the same on all ranks: {part[k]} on rank {rank}, {parts[0][k]} on the first"
            )


def sample(x: Any) -> Any:
    """The numbers of an array that are compared: all of them, or two sums."""
    numbers = x.astype(np.float64)
    if len(x) <= 64:
        return numbers
    return np.array([np.sum(numbers), np.dot(numbers, np.cos(np.arange(len(x))))])


class Single:
    """One rank by itself."""

    rank, size = 0, 1

    def exchange(self, sent: Any, received: Any, dest: int, source: int, tag: int) -> None:
        check_ranks(1, dest, source)
        if (dest == 0) != (source == 0):
            raise RuntimeError("a single rank sends to itself and does not receive at once, or the other way round")
        if dest == 0:
            check_lengths(0, len(sent), len(received), tag)
            received[:] = sent

    shift = exchange

    def allreduce(self, given: Any, total: Any, role: int = 0, place: int = 0) -> None:
        total[:] = given

    def allgather(self, given: Any, all: Any, role: int = 0, place: int = 0) -> None:
        all[:] = given

    def bcast(self, given: Any, found: Any, root: int, role: int = 0, place: int = 0) -> None:
        check_root(1, root)
        found[:] = given

    def reduce(self, given: Any, total: Any, root: int, role: int = 0, place: int = 0) -> None:
        check_root(1, root)
        total[:] = given

    def gather(self, given: Any, all: Any, root: int, role: int = 0, place: int = 0) -> None:
        check_root(1, root)
        all[:] = given

    def scatter(self, given: Any, found: Any, root: int, role: int = 0, place: int = 0) -> None:
        check_root(1, root)
        check_parts(1, given, found)
        found[:] = given

    def agree(self, given: Any, left: int, place: int = 0) -> None:
        return


def role_text(role: int) -> str:
    """The name of a role: 0 is for values, 2 r + 1 for cotangents and 2 r + 2 for tangents of what role r is for."""
    found = []
    while role > 0:
        found.append("cotangents" if role % 2 else "tangents")
        role = (role - 1) // 2
    return " of ".join(found)


def place(loc: Loc) -> int:
    """A line and a column as one number."""
    return loc.line * _COLUMNS + min(loc.column, _COLUMNS - 1)


_COLUMNS = 4096


def described(what: str, given: Any, role: int, place: int) -> str:
    """A description of what a rank does, to be compared with that of others."""
    line, column = divmod(place, _COLUMNS)
    sent, where = (f", {role_text(role)}," if role else ""), (f" in line {line}:{column + 1}" if line else "")
    return f"{what} of {len(given)} {given.dtype}{sent}{where}"


def check_ranks(size: int, *ranks: int) -> None:
    """Raise unless all are ranks; ``NOBODY`` counts as one."""
    for rank in ranks:
        if not NOBODY <= rank < size:
            raise ValueError(f"there is no rank {rank}: there are {size}")


def check_root(size: int, root: int) -> None:
    """Raise unless ``root`` is a rank other than ``NOBODY``."""
    check_ranks(size, root)
    if root == NOBODY:
        raise ValueError("the root is a rank: 0 or more")


def check_parts(size: int, given: Any, found: Any) -> None:
    """Raise, on the root, if an array does not have a part for each rank."""
    if len(given) != size * len(found):
        rows = len(given) // max(1, len(found))
        raise ValueError(f"scatter() has one row for each rank: there are {size} ranks, and {rows} rows")


def check_lengths(source: int, sent: int, received: int, tag: int) -> None:
    """Raise if a message does not fit where it is received."""
    if sent != received:
        raise ValueError(
            f"the message from rank {source} with tag {tag} has {sent} numbers, and {received} are received"
        )


_here = threading.local()


class Whole:
    """One rank that has all elements of all arrays; see ``adc.ir.partitions.Partition``."""

    def first(self, axis: int, extent: int) -> int:
        return 0

    def last(self, axis: int, extent: int) -> int:
        return extent

    def distinct(self, a: Any, b: Any) -> bool:
        return True  # with one rank, no loop reads elements of another

    def fetch(self, array: Any, region: Any, site: int = 0) -> None:
        return

    def wrote(self, array: Any) -> None:
        return

    def returned(self, array: Any, axes: Any) -> None:
        return

    def changed(self, array: Any) -> None:
        return


def partition() -> Any:
    """How the calling thread distributes arrays: an ``adc.ir.partitions.Partition``, or ``Whole`` if it does not."""
    known = getattr(_here, "partition", None)
    return known if known is not None else Whole()


def share_by(partition: Any) -> Any:
    """Set how the calling thread distributes arrays. Returns the previous partition, or None."""
    before = getattr(_here, "partition", None)
    _here.partition = partition
    return before


_found: list[Callable[[], Communicator]] = [Single]


def communicator() -> Communicator:
    """The communicator of the calling thread."""
    known = getattr(_here, "communicator", None)
    return known if known is not None else _found[0]()


def speak_to(group: Communicator | None) -> None:
    """Give the calling thread a communicator of its own; None: that of the process."""
    _here.communicator = group


def found_by(finder: Callable[[], Communicator]) -> None:
    """Set the function that finds the communicator of the process."""
    _found[0] = finder


@dataclass(frozen=True)
class _Call:
    """A function that compiled code calls: an array is passed as a pointer and its extents. Returns zero, or the number
    of an exception."""

    symbol: str
    types: tuple[Type, ...]

    def __call__(self, *raw: Any) -> int:
        try:
            return answer(self.symbol, self._values(raw))
        except BaseException as error:  # an interrupt, too: ctypes would print it and go on
            return kept(error) if self.symbol not in NUMBERS else -1

    def _values(self, raw: Sequence[Any]) -> list[Any]:
        rest, values = iter(raw), []
        for t in self.types:
            if isinstance(t, MemRefType):
                data, shape = next(rest), tuple(next(rest) for _ in range(t.rank))
                values.append(_array(data, shape, np.dtype(DTYPES[t.element])))
            else:
                values.append(next(rest))
        return values


def _array(data: int | None, shape: tuple[int, ...], dtype: Any) -> Any:
    count = math.prod(shape)
    if data is None or count == 0:
        return np.empty(shape, dtype)
    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(data)
    return np.frombuffer(memory, dtype).reshape(shape)


AGREED = ("what is annotated mpi.Same", "the value, or its cotangent,")

NUMBERS = ("rank", "size", "first", "last", "distinct")
OF_DISTRIBUTED = frozenset({"fetch", "wrote", "returned", "changed", "first", "last", "distinct"})
"""Functions about arrays that are distributed: see ``adc.ir.partitions``."""

PAIRED = frozenset({"exchange"})
"""Operations of two ranks, wherever these are; all others are done by all ranks together, or by one alone."""


def is_message(op: Op) -> bool:
    """Whether an operation communicates with other ranks."""
    return op.opdef is ops.foreign and op.attrs["library"] == LIBRARY and op.attrs["symbol"] not in NUMBERS


def is_together(op: Op) -> bool:
    """Whether all ranks call a foreign function together, so that they may do so again, or it only tells which rank
    this is."""
    return op.attrs["library"] == LIBRARY and op.attrs["symbol"] not in PAIRED


def answer(symbol: str, values: Sequence[Any]) -> int:
    """Do what compiled code, or Python, asks for."""
    group = communicator()
    if symbol in PAIRED and not 0 <= values[-1] < TAGS:
        raise ValueError(f"the tag {values[-1]} is not one of 0 to {TAGS - 1}")
    found = getattr(partition() if symbol in OF_DISTRIBUTED else group, symbol)
    if symbol in NUMBERS:
        return int(found(*values) if values else found)
    found(*values)
    return 0


_callbacks: dict[Named, Any] = {}  # they live as long as code that may call them


def _provided(named: Named) -> Provided | None:
    types = [c for t in named.operands for c in _c_types(t)]
    function = _callbacks[named] = ctypes.CFUNCTYPE(ctypes.c_int64, *types)(_Call(named.symbol, named.operands))
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None

    def call(*values: Any) -> int:
        try:
            return answer(named.symbol, values)
        except BaseException as error:
            return kept(error)

    return Provided(address, call, linked=False, shown=f"mpi.{named.symbol}(), which is Python's")


def _c_types(t: Type) -> list[Any]:
    return [ctypes.c_void_p, *[ctypes.c_int64] * t.rank] if isinstance(t, MemRefType) else [ctypes.c_int64]


provide_all(LIBRARY, _provided)
