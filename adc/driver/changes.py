"""What each pass changes, as text: option ``--print-changed`` of ``adc opt`` and ``adc compile``,
``ADC_PRINT_CHANGED``."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from adc.ir import kinds
from adc.ir.core import Module
from adc.ir.text.printer import print_func
from adc.passes.base import Changed, Hook, Pass

FORMS = ("diff", "whole")


class PrintChanges:
    """Prints, after each pass, its name, and the functions that it changed: as a diff, or whole."""

    def __init__(self, module: Module, out: TextIO, form: str = "diff", title: str = "") -> None:
        self._out = out
        self._form = form
        self._title = f"{title}: " if title else ""
        self._texts = {name: print_func(func) for name, func in module.funcs.items()}

    def after(self, step: Pass, changed: Changed, module: Module, seconds: float) -> None:
        texts = {name: print_func(module.funcs[name]) for name in module.funcs if name in changed}
        shown = [self._shown(name, texts.get(name, "")) for name in {**self._texts, **texts} if name in changed]
        for name in changed:
            self._texts.pop(name, None)
        self._texts.update(texts)
        told = "".join(shown)
        title = f"// {self._title}{step.name}"
        self._out.write(f"{title}\n{told}\n" if told else f"{title} (unchanged)\n")

    def _shown(self, name: str, now: str) -> str:
        before = self._texts.get(name, "")
        if before == now:
            return ""
        if not now:
            return f"// @{name} is gone\n"
        if self._form == "whole" or not before:
            return now
        import difflib  # here, because it is rarely needed

        lines = difflib.unified_diff(before.splitlines(), now.splitlines(), f"@{name}", f"@{name}", lineterm="")
        return "".join(f"{line}\n" for line in lines)


def form_of(text: str) -> str:
    """The form in which changes are shown; an empty text, or 1, means the short form."""
    form = FORMS[0] if text in ("", "1") else text
    if form not in FORMS:
        raise kinds.INVALID_OPTION(
            f"there is no way {text!r} to print what passes change", help=f"it can be {' or '.join(FORMS)}"
        )
    return form


def requested(module: Module, title: str) -> Hook | None:
    """A hook that prints changes to stderr after each pass, if ``ADC_PRINT_CHANGED`` is set; else None."""
    if not are_asked_for():
        return None
    return PrintChanges(module, sys.stderr, form_of(os.environ[_VARIABLE]), title).after


_VARIABLE = "ADC_PRINT_CHANGED"


def are_asked_for() -> bool:
    """Whether changes are printed: then passes must run, and cached code is not used."""
    return os.environ.get(_VARIABLE, "0") not in ("", "0")
