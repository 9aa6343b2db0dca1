"""Warnings: of what does not change any result, only how fast it is there."""

from __future__ import annotations

import re
import sys
import warnings


class AdcWarning(UserWarning):
    """What adc goes without: kept machine code, threads. A filter that names this class decides what becomes of it."""


said = 0  # how often something was


def warn(text: str) -> None:
    """Say something that no result depends on.

    Whoever makes all warnings errors (``python -W error``, pytest's ``filterwarnings = error``) asks about the program,
    which is not to stop for what another machine lacks: then the text goes to stderr. Where a filter means this class,
    or the text, the warning is raised.
    """
    global said
    said += 1
    try:
        warnings.warn(text, AdcWarning, stacklevel=3)
    except AdcWarning:
        if _is_meant(text):
            raise
        print(f"AdcWarning: {text}", file=sys.stderr)


def _is_meant(text: str) -> bool:
    """Whether the filter that holds for a warning is one for warnings of adc, not for any."""
    for _, message, category, module, line in warnings.filters:
        by_text = message is not None and re.match(message, text) is not None
        if issubclass(AdcWarning, category) and (by_text or message is None):
            return by_text or category is AdcWarning or module is not None or line != 0
    return False
