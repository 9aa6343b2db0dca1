"""Python functions that adc generates, so that its own constructions can be traced like functions of the user."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping
from typing import Any


def written(name: str, parameters: Mapping[str, str], called: Callable[..., Any], **names: Any) -> Callable[..., Any]:
    """A function that passes its ``parameters`` to ``called``; ``parameters`` maps each name to the text after it, such
    as a default.

    ``names`` are the objects that the defaults refer to. The source is registered, so that the function can be traced.
    """
    taken = ", ".join(parameter + default for parameter, default in parameters.items())
    source = f"def {name}({taken}):\n    return adc_called({', '.join(parameters)})\n"
    file = f"<adc.{name}({taken})>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"adc_called": called, "__name__": __name__, **names}
    exec(compile(source, file, "exec"), namespace)
    made: Callable[..., Any] = namespace[name]
    return made
