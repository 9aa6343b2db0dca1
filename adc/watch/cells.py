"""Changing output in a notebook's cell, with IPython alone: rich's bars need ``ipywidgets`` there."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console, RenderableType

_WIDTH = 100
_HTML = '<pre style="white-space: pre; line-height: normal; font-family: monospace">{code}</pre>'


class Cell:
    """A place in the output of the current cell, which any thread may change later."""

    def __init__(self) -> None:
        from IPython.display import display

        self._handle: Any = display({"text/plain": ""}, raw=True, display_id=True)
        self._shown: dict[str, str] = {}

    def show(self, what: RenderableType) -> None:
        console = Console(file=io.StringIO(), record=True, width=_WIDTH, force_terminal=True, force_jupyter=False)
        console.print(what)
        text = console.export_text(clear=False).rstrip()
        shown = {"text/plain": text, "text/html": console.export_html(inline_styles=True, code_format=_HTML)}
        if shown != self._shown and self._handle is not None:
            self._handle.update(shown, raw=True)
            self._shown = shown
