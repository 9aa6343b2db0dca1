"""Python functions from texts, with their source where tracing looks for it."""

from __future__ import annotations

import itertools
import linecache
import textwrap
from collections.abc import Callable
from typing import Any

_numbers = itertools.count()


def function_of(body: str, *names: str, head: str = "") -> Callable[..., Any]:
    """A Python function with the parameters ``names``; an expression alone is returned. ``head`` stands before it."""
    if "return" not in body and "\n" not in body.strip():
        body = f"return {body.strip()}"
    lines = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    text = f"import numpy as np\nimport adc\n{textwrap.dedent(head)}\n\ndef f({', '.join(names)}):\n{lines}\n"
    name = f"<numpy program {next(_numbers)}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    space: dict[str, Any] = {"__name__": "program"}
    exec(compile(text, name, "exec"), space)
    function: Callable[..., Any] = space["f"]
    return function
