"""Shows how many shots are done while they run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

Tell = Callable[[int, int | None], object]
_LINE = 30.0  # seconds between two lines


@contextmanager
def shown(progress: bool | Tell, count: int | None) -> Iterator[Tell]:
    """A function to be called with the number of shots that are done and the number of all shots."""
    if not progress:
        yield lambda done, count: None
    elif callable(progress):
        yield progress
    else:
        with _bar(count) as tell:
            yield tell


@contextmanager
def _bar(count: int | None) -> Iterator[Tell]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        yield _Lines(console).tell
        return
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    if console.is_jupyter:
        yield _in_cell(Progress(*columns, console=console, auto_refresh=False), count)
        return
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("shots", total=count)
        yield lambda done, count: bar.update(task, completed=done)


def _in_cell(bar: Progress, count: int | None) -> Tell:
    """A bar in the output of a notebook's cell."""
    from adc.watch.cells import Cell

    cell, task = Cell(), bar.add_task("shots", total=count)

    def tell(done: int, count: int | None) -> None:
        bar.update(task, completed=done)
        cell.show(bar.get_renderable())

    return tell


class _Lines:
    """A line from time to time, and one at the end."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._next = time.monotonic() + _LINE

    def tell(self, done: int, count: int | None) -> None:
        if time.monotonic() >= self._next or done == count:
            self._next = time.monotonic() + _LINE
            total = "" if count is None else f" of {count}"
            self._console.print(f"shots: {done}{total}", highlight=False, markup=False)
