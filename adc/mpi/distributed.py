"""One-process functions on several ranks: ``adc.Grid`` and ``adc.distribute``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from adc.bound import unwrapped
from adc.boundary import public
from adc.decorator import JitFunction, jit_grad
from adc.ir import kinds
from adc.ir.messages import communicator, share_by
from adc.ir.partitions import NONE, Partition
from adc.mpi.grids import filled
from adc.passes.ranks.layouts import NEAR, Shared


class Grid:
    """Ranks that share out arrays of about one shape.

    ``shape`` are the extents of the arrays. ``ranks`` is how many ranks there are along each axis; where it is 0, adc
    chooses the number. Without it all ranks are along the first axis. All ranks make it at once.
    """

    def __init__(self, shape: Sequence[int], ranks: Sequence[int] | None = None) -> None:
        self.shape = tuple(int(n) for n in shape)
        group = communicator()
        self.ranks = filled((0, *[1] * (len(self.shape) - 1)) if ranks is None else tuple(ranks), group.size)
        if len(self.ranks) != len(self.shape) or not self.shape or min(self.shape) < 1:
            raise kinds.INVALID_OPTION(f"a grid of shape {self.shape} has no {self.ranks} ranks along its axes")
        self._partition = Partition(self.shape, self.ranks, group)

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return self._partition.group.size

    @public
    def scatter(self, x: Any) -> Field:
        """This rank's block of an array that all ranks have."""
        whole = np.asarray(x)
        axes = self._axes(whole.shape)
        if axes is None:
            raise kinds.UNSUPPORTED_ARGUMENT(
                f"an array of shape {whole.shape} has not the extents of a grid of {self.shape}",
                help="pass it to the function as it is: all ranks have all of it",
            )
        found = Field(self, np.zeros(whole.shape, whole.dtype), axes)
        found.own[...] = whole[self._slices(axes, whole.shape)]
        return found

    @public
    def gather(self, x: Field) -> Any:
        """The whole array, on all ranks; all ranks call it at once."""
        array = x.array.copy()
        axes = [k if k == NONE or self.ranks[k] > 1 else NONE for k in x.axes]
        numbers = [*axes, 1, 0]  # one box without guards: along each axis, all
        for n in array.shape:
            numbers += [NONE, n, 1, 0, 0, n, 1, 0]
        parts = replace(self._partition)  # with counts of its own
        parts.fetch(array, np.array(numbers, np.int64))
        return array

    @property
    def sent(self) -> tuple[int, int]:
        """How many messages this rank has sent, and how many bytes, in calls of distributed functions."""
        return self._partition.messages, self._partition.sent

    def _axes(self, shape: Sequence[int]) -> tuple[int, ...] | None:
        """How an array of a shape is shared out: by consecutive axes with the grid's extents; None if it is not."""
        rank = len(self.shape)
        for near in (0, NEAR // 4):
            for first in reversed(range(len(shape) - rank + 1)):
                part = shape[first : first + rank]
                if all(abs(n - m) <= near for n, m in zip(part, self.shape, strict=True)):
                    return (*[NONE] * first, *range(rank), *[NONE] * (len(shape) - first - rank))
        return None

    def _slices(self, axes: Sequence[int], shape: Sequence[int]) -> tuple[slice, ...]:
        return tuple(slice(a, b) for a, b in self._partition.own(axes, shape))

    @contextmanager
    def _used(self) -> Iterator[None]:
        self._partition.begin()
        before = share_by(self._partition)
        try:
            yield
        finally:
            share_by(before)


@dataclass(eq=False)
class Field:
    """An array that is distributed: ``array`` has the shape of the whole, and only ``own`` belongs to this rank."""

    grid: Grid
    array: Any
    axes: tuple[int, ...]

    @property
    def own(self) -> Any:
        """This rank's block: a view."""
        return self.array[self.grid._slices(self.axes, self.array.shape)]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("a rank has its own block of this array alone: .own is that, grid.gather(x) the whole array")

    def __repr__(self) -> str:
        return f"<block of an array of shape {self.shape} on rank {self.grid._partition.group.rank}>"


class Distributed:
    """What ``distribute`` returns: a function of the same arguments, with ``grad`` and ``value_and_grad``."""

    def __init__(self, f: JitFunction[Any, Any], grid: Grid) -> None:
        self._f = f
        self.grid = grid
        self._made: dict[Any, JitFunction[Any, Any]] = {}
        functools.update_wrapper(self, unwrapped(f), updated=())

    @public
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        f, values = self._prepared(args, kwargs)
        with self.grid._used():
            return self._results(f(*values))

    @public
    def grad(self, *args: Any, **kwargs: Any) -> Any:
        """The gradient: of arguments that are shared out it is, too."""
        f, values = self._prepared(args, kwargs)
        with self.grid._used():
            return self._results(f.grad(*values))

    @public
    def value_and_grad(self, *args: Any, **kwargs: Any) -> Any:
        """The value, and the gradient."""
        f, values = self._prepared(args, kwargs)
        with self.grid._used():
            return self._results(f.value_and_grad(*values))

    def _prepared(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[JitFunction[Any, Any], list[Any]]:
        parameters = self._f._subject.parameters
        values, shared = [], []
        for name, value in zip(parameters.names, parameters.bind(args, kwargs), strict=True):
            if isinstance(value, np.ndarray) and self.grid._axes(value.shape) is not None:
                value = self.grid.scatter(value)
            if isinstance(value, Field):
                if value.grid is not self.grid:
                    raise kinds.UNSUPPORTED_ARGUMENT(f"{name} is shared out by another grid than the function")
                pairs = zip(value.axes, value.shape, strict=True)
                longer = tuple((k, 0 if k == NONE else n - self.grid.shape[k]) for k, n in pairs)
                shared.append((name, longer))
                value = value.array
            values.append(value)
        key = tuple(shared)
        if key not in self._made:
            cuts = self.grid.ranks
            cut = tuple(k for k, count in enumerate(cuts) if count > 1)
            # On one rank it is the same code, without messages: so bits are the same.
            options = replace(self._f._subject.options, shared=Shared(key, cut, len(cuts)), accumulate="gather")
            self._made[key] = JitFunction(self._f._subject.fn, self._f._chosen, options)
        return self._made[key], values

    def _results(self, found: Any) -> Any:
        if isinstance(found, tuple):
            return tuple(map(self._results, found))
        if isinstance(found, np.ndarray) and (axes := self.grid._axes(found.shape)) is not None:
            return Field(self.grid, found, axes)
        return found


@public
def distribute(f: Callable[..., Any], grid: Grid) -> Distributed:
    """The function ``f`` of one process, and its gradient, on the ranks of a grid.

    Arrays that have the extents of the grid are shared out, among the arguments and inside. Each rank computes its
    own elements, and gets what it reads of others. Values and gradients have the bits of one process.
    """
    made = f if isinstance(f, JitFunction) else jit_grad(f)
    if made._subject.options.checkpoint is not None:
        raise kinds.INVALID_OPTION(
            f"{made._subject.name} has a schedule: steps cannot be run again on several ranks yet",
            help="leave checkpoint= and memory= out",
        )
    return Distributed(made, grid)
