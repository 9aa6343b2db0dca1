"""Reports of distributed functions: one call of the gradient, with its messages counted."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np

from adc.errors import AdcError
from adc.functions.decorator import JitFunction
from adc.ir.partitions import Counts
from adc.mpi.fields import Grid
from adc.reports.distributed_report import DistributedReport, replicated_of, sent_of


def report(
    plain: JitFunction[Any, Any], f: JitFunction[Any, Any], grid: Grid, arguments: Mapping[str, Any]
) -> DistributedReport:
    """The report of ``f``, which is ``plain`` for distributed arguments, on this rank."""
    fields = {name: x for name, x in arguments.items() if hasattr(x, "own")}
    values = [x.array if name in fields else x for name, x in arguments.items()]
    before = grid.sent
    counts = _counted(grid, f.value_and_grad, values)
    messages, sent = (n - b for n, b in zip(grid.sent, before, strict=True))
    once: Mapping[int, Counts] | None = None
    if plain._subject.options.checkpoint is not None:  # the function may write to its arguments
        copies = [_copy(grid, x) if name in fields else copy.deepcopy(x) for name, x in arguments.items()]
        once = _counted(grid, f, copies)
    try:
        peak = plain.value_and_grad.forecast(*values).peak
    except AdcError:  # not known in advance
        peak = None
    found = f.report()
    plans, axes = found.parallel.ranks, range(len(grid.shape))
    own = grid._partition.own(axes, grid.shape)
    part = float(np.prod([(last - first) / n for n, (first, last) in zip(grid.shape, own, strict=True)]))
    return DistributedReport(
        plain._subject.name,
        grid.shape,
        grid.ranks,
        grid._partition.group.rank,
        {name: (x.shape, tuple(x.own.shape)) for name, x in fields.items()},
        {name: x.shape for name, x in arguments.items() if isinstance(x, np.ndarray)},
        messages,
        sent,
        sent_of(plans, counts, once, found.file),
        replicated_of(plans, found.file),
        peak,
        None if peak is None else round(peak * part),
        found,
    )


def _counted(grid: Grid, f: Any, values: list[Any]) -> dict[int, Counts]:
    with grid._used() as partition:
        f(*values)
        return dict(partition.counts_of)


def _copy(grid: Grid, field: Any) -> Any:
    """Memory for a whole array, with this rank's block of it."""
    found = type(field)(grid, np.zeros(field.shape, field.array.dtype), field.axes)
    found.own[...] = field.own
    return found.array
