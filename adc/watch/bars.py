"""Bars, or lines of text, that show the progress of calls: ``adc.progress`` draws them with rich."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import timedelta
from typing import TextIO

from rich.console import Console
from rich.errors import LiveError
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from adc.ir import kinds
from adc.watch.cells import Cell
from adc.watch.sweeps import Call, Sweep

LINE = 30.0  # seconds between two lines


def display(console: Console | None) -> Lines:
    """Bars on a terminal and in a notebook, else lines. Raises ``AdcError`` if the console already shows other bars."""
    console = console or Console(stderr=True)
    if console.is_jupyter:
        return Cells(console)
    return Bars(console) if console.is_terminal else Lines(console)


class Lines:
    """A line of text from time to time. ``tasks`` are rich's tasks, by place and sweep, with the numbers of their
    calls."""

    def __init__(self, console: Console) -> None:
        self.console = console
        columns = (TextColumn("{task.description}"), BarColumn(), _Steps(), _Rate(), TimeRemainingColumn())
        # Output printed meanwhile goes above the bars if it is for a terminal; otherwise it is not redirected.
        self.progress = Progress(
            *columns,
            console=console,
            auto_refresh=False,
            redirect_stdout=_on_terminal(sys.stdout),
            redirect_stderr=_on_terminal(sys.stderr),
        )
        self.tasks: dict[tuple[int, object], tuple[int, TaskID]] = {}
        self._next: float | None = None

    def update(self, calls: Iterable[Call], now: float) -> None:
        """Show the state of calls at time ``now`` (seconds). A call that has ended stays until another call takes its
        place."""
        for call in calls:
            if not call.sweeps:
                continue
            for at, (number, task) in list(self.tasks.items()):
                if at[0] == call.place and number != call.number:
                    self.progress.remove_task(task)
                    del self.tasks[at]
            for key, sweep in call.sweeps.items():
                self._set((call.place, key), call.number, sweep)
            self.changed(call, list(call.sweeps)[-1], now)

    def _set(self, at: tuple[int, object], number: int, sweep: Sweep) -> None:
        if at not in self.tasks:
            other = f" #{at[0] + 1}" if at[0] else ""  # several calls at a time
            name = f"{sweep.loop.function}{other}, line {sweep.loop.loc.line}, {sweep.loop.sweep}"
            self.tasks[at] = number, self.progress.add_task(name, total=sweep.total, completed=sweep.done)
        self.progress.update(self.tasks[at][1], completed=sweep.done, total=sweep.total)

    def changed(self, call: Call, last: object, now: float) -> None:
        """A call has made progress; ``last`` is the sweep that began last."""
        if self._next is None:
            self._next = now + LINE
        elif now >= self._next and call.goes_on:
            self._next = now + LINE
            wanted = self.tasks[call.place, last][1]
            task = next(t for t in self.progress.tasks if t.id == wanted)
            left = "" if task.time_remaining is None else f", {timedelta(seconds=int(task.time_remaining))} left"
            text = f"{task.description}: {_Steps().render(task)} steps, {_Rate().render(task)}{left}"
            self.console.print(text, highlight=False, markup=False)

    def close(self) -> None:
        """Stop showing progress."""


class Bars(Lines):
    """Bars, whose final state stays visible."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        try:
            self.progress.start()
        except LiveError:
            raise kinds.INVALID_OPTION(
                "another display of rich is active on this console",
                help="end it before, or give adc.progress another console",
            ) from None

    def update(self, calls: Iterable[Call], now: float) -> None:
        super().update(calls, now)
        if self.tasks:
            self.progress.refresh()

    def changed(self, call: Call, last: object, now: float) -> None:
        """``refresh`` shows it."""

    def close(self) -> None:
        self.progress.stop()


class Cells(Lines):
    """Bars in the output of a notebook's cell, whose final state stays visible."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._cell = Cell()

    def update(self, calls: Iterable[Call], now: float) -> None:
        super().update(calls, now)
        if self.tasks:
            self._cell.show(self.progress.get_renderable())

    def changed(self, call: Call, last: object, now: float) -> None:
        """``update`` shows it."""


def _on_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


class _Steps(ProgressColumn):
    def render(self, task: Task) -> Text:
        total = "" if task.total is None else f"/{int(task.total)}"
        return Text(f"{int(task.completed)}{total}")


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        if not speed:
            return Text("")
        return Text(f"{speed:.3g} steps/s" if speed >= 1.0 else f"{1.0 / speed:.3g} s/step")
