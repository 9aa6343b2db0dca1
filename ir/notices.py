"""Warnings about what changes no result, only how fast it is computed."""

from __future__ import annotations

import re
import sys
import warnings


class AdcWarning(UserWarning):
    """adc does without something: cached machine code, threads. A filter that names this class decides what happens."""


said = 0  # the number of warnings so far


def warn(text: str) -> None:
    """Warn of something that no result depends on.

    Users who turn all warnings into errors (``python -W error``, pytest's ``filterwarnings = error``) mean their
    program, which must not stop because a machine lacks something: then the text goes to stderr. Only a filter for this
    class, or for the text, raises the warning.
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
    """Whether the filter that applies to a warning is one for adc's warnings in particular."""
    for _, message, category, module, line in warnings.filters:
        by_text = message is not None and re.match(message, text) is not None
        if issubclass(AdcWarning, category) and (by_text or message is None):
            return by_text or category is AdcWarning or module is not None or line != 0
    return False
