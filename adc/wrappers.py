"""Python functions that adc writes, so that what it makes of a function can be traced like one of the user's."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping
from typing import Any


def written(name: str, parameters: Mapping[str, str], called: Callable[..., Any], **names: Any) -> Callable[..., Any]:
    """A function that hands its ``parameters`` to ``called``; each has what is written after it, a default say.

    ``names`` are what the defaults refer to. The source can be had, as for the function to be traced.
    """
    taken = ", ".join(parameter + default for parameter, default in parameters.items())
    source = f"def {name}({taken}):\n    return adc_called({', '.join(parameters)})\n"
    file = f"<adc.{name}({taken})>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"adc_called": called, "__name__": __name__, **names}
    exec(compile(source, file, "exec"), namespace)
    made: Callable[..., Any] = namespace[name]
    return made
