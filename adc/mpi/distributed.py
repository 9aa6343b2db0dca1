"""Functions for one process, run on several ranks: ``adc.Grid`` and ``adc.distribute``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from copy import copy
from dataclasses import field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from adc.border.bound import unwrapped
from adc.border.boundary import public
from adc.functions.decorator import JitFunction, jit_grad
from adc.ir import kinds
from adc.ir.lazy_dataclass import dataclass
from adc.ir.partitions import NONE, place
from adc.mpi.agreements import ARGUMENT, agree, version
from adc.mpi.fields import Field, Grid
from adc.passes.ranks.layouts import Shared

if TYPE_CHECKING:
    from adc.reports.distributed_report import DistributedReport


_made: WeakKeyDictionary[JitFunction[Any, Any], dict[Shared, JitFunction[Any, Any]]] = WeakKeyDictionary()


class Distributed:
    """The result of ``distribute``: a function of the same arguments, with ``grad`` and ``value_and_grad``."""

    def __init__(self, f: JitFunction[Any, Any], grid: Grid, replicate: bool = False) -> None:
        self._f = f
        self.grid = grid
        self._replicate = replicate
        functools.update_wrapper(self, unwrapped(f), updated=())

    @public
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        f, given = self._prepared(args, kwargs)
        self._agree(given, "the value")
        with self.grid._used() as partition:
            result = self._results(f(*given.values))
            for whole, made in given.scattered:
                if place(made.array) in partition.changes:
                    whole[...] = self.grid.gather(made)
            return result

    @public
    def grad(self, /, *args: Any, **kwargs: Any) -> Any:
        """The gradient; with respect to a distributed argument it is a ``Field``."""
        f, given = self._prepared(args, kwargs)
        self._agree(given, "the gradient")
        with self.grid._used():
            return self._gradients(given, f.grad(*given.values))

    @public
    def value_and_grad(self, /, *args: Any, **kwargs: Any) -> Any:
        """``(value, gradient)``."""
        f, given = self._prepared(args, kwargs)
        self._agree(given, "the value and the gradient")
        with self.grid._used():
            value, gradient = f.value_and_grad(*given.values)
            return value, self._gradients(given, gradient)

    @public
    def report(self, /, *args: Any, **kwargs: Any) -> DistributedReport:
        """What value and gradient with these arguments take on this rank: blocks, memory, messages and bytes by lines,
        those of steps that a schedule runs again, and what all ranks run, and why. It prints, and its fields are
        numbers. The gradient is run once, so all ranks must call it at once.
        """
        f, given = self._prepared(args, kwargs)
        self._agree(given, "the report")
        from adc.mpi.counted import report

        return report(self._f, f, self.grid, given.arguments)

    def _prepared(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[JitFunction[Any, Any], _Given]:
        parameters = self._f._subject.parameters
        given, found = _Given({}), []
        for name, value in zip(parameters.names, parameters.bind(args, kwargs), strict=True):
            if isinstance(value, np.ndarray) and self.grid._partition.axes(value.shape) is not None:
                value = given.scatter(self.grid, value)
            if isinstance(value, Field):
                if value.grid is not self.grid:
                    raise kinds.UNSUPPORTED_ARGUMENT(f"{name} is distributed over another grid than the function")
                found.append((name, value))
            given.arguments[name] = value
        shared = []
        for name, each in found:
            pairs = zip(each.axes, each.shape, strict=True)
            shared.append((name, tuple((k, 0 if k == NONE else n - self.grid.shape[k]) for k, n in pairs)))
        cut = tuple(k for k, count in enumerate(self.grid.ranks) if count > 1)
        return self._compiled(Shared(tuple(shared), cut, len(self.grid.ranks), self._replicate)), given

    def _agree(self, given: _Given, what: str) -> None:
        """Raise on all ranks if they do not call the same function with equal arguments, apart from their own
        blocks."""
        group = self.grid._partition.group
        if group.size == 1:
            return
        subject = self._f._subject
        chosen = subject.options
        parts: dict[str, Any] = {
            "the grid": (self.grid.shape, self.grid.ranks),
            "replicate=": self._replicate,
            "its code": version(subject.fn),
            "how it is differentiated": (self._f._chosen, chosen.checkpoint, chosen.contract, chosen.debug),
        }
        whole = {id(made): x for x, made in given.scattered}
        for name, value in given.arguments.items():
            is_field = isinstance(value, Field)
            told = (value.shape, str(value.array.dtype), value.axes) if is_field else value
            parts[f"{ARGUMENT} {name}"] = told, whole.get(id(value))
        agree(group, f"{what} of {subject.name}", parts)

    def _compiled(self, shared: Shared) -> JitFunction[Any, Any]:
        """The function for a given distribution of arguments. All grids with this distribution use the same
        function."""
        known = _made.setdefault(self._f, {})
        if shared not in known:
            # On one rank the code is the same, without messages, so the bits are the same.
            options = replace(self._f._subject.options, shared=shared, accumulate="gather")
            known.setdefault(shared, JitFunction(self._f._subject.fn, self._f._chosen, options))
        return known[shared]

    def _results(self, found: Any) -> Any:
        """Results, with fields for distributed arrays."""
        if isinstance(found, np.ndarray):
            axes = self.grid._partition.axes(found.shape)
            return found if axes is None else Field(self.grid, found, axes)
        if isinstance(found, dict):
            return type(found)((key, self._results(item)) for key, item in found.items())
        if isinstance(found, tuple | list):
            items = [self._results(item) for item in found]
            return type(found)(*items) if hasattr(found, "_fields") else type(found)(items)
        if not is_dataclass(found):
            return found
        made = copy(found)
        for each in fields(found):
            object.__setattr__(made, each.name, self._results(getattr(found, each.name)))
        return made

    def _gradients(self, given: _Given, found: Any) -> Any:
        """Gradients, distributed like the arguments."""
        chosen = self._f._chosen
        values = list(given.arguments.values())
        by_number = [values[k] for k in chosen.numbers]
        if chosen.names:
            numbered, named = found if chosen.numbers else ((), found)
            named = {name: _like(given.arguments.get(name), x) for name, x in named.items()}
            if not chosen.numbers:
                return named
            return self._numbered(by_number, numbered), named
        return self._numbered(by_number, found)

    def _numbered(self, arguments: list[Any], found: Any) -> Any:
        if self._f._chosen.single:
            return _like(arguments[0], found)
        return tuple(map(_like, arguments, found))


@dataclass
class _Given:
    """Arguments by name, with fields for distributed ones; ``scattered``: those that were passed as whole arrays."""

    arguments: dict[str, Any]
    scattered: list[tuple[Any, Field]] = field(default_factory=list)

    @property
    def values(self) -> list[Any]:
        return [value.array if isinstance(value, Field) else value for value in self.arguments.values()]

    def scatter(self, grid: Grid, whole: Any) -> Field:
        """An array as a field; the same array always gives the same field."""
        for other, made in self.scattered:
            if other is whole:
                return made
            if np.shares_memory(other, whole):
                raise kinds.UNSUPPORTED_ARGUMENT(
                    "two arguments that are distributed have elements in common", help="pass a copy of one of them"
                )
        made = grid.scatter(whole)
        self.scattered.append((whole, made))
        return made


def _like(argument: Any, gradient: Any) -> Any:
    return Field(argument.grid, gradient, argument.axes) if isinstance(argument, Field) else gradient


@public
def distribute(f: Callable[..., Any], grid: Grid, *, replicate: bool = False) -> Distributed:
    """Run ``f``, a function written for one process, and its gradient on the ranks of a grid.

    Arrays that have the extents of the grid are distributed, both arguments and local arrays. Each rank computes its
    own elements, and receives the elements of other ranks that it reads. Values and gradients have the same bits as in
    one process.

    Code for which that is not possible is refused: a recurrence along an axis that has several ranks, for example. With
    ``replicate`` each rank receives whole arrays before such code and runs all of it, in the time of one process.
    """
    made = f if isinstance(f, JitFunction) else jit_grad(f)
    schedule = made._subject.options.checkpoint
    if schedule is not None and schedule.memory:
        raise kinds.INVALID_OPTION(
            f"{made._subject.name} has a budget of memory=, which cannot be kept to on several ranks yet",
            help="give a schedule: checkpoint=adc.revolve(snapshots), adc.every(steps) or 'sqrt'",
        )
    return Distributed(made, grid, replicate)
