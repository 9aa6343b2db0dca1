"""Functions whose source is not in a file of the tests."""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable
from typing import Any

import numpy as np


def elsewhere(text: str, name: str, filename: str) -> Callable[..., Any]:
    """A function of another module, whose source can be read."""
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    namespace: dict[str, Any] = {"__name__": "elsewhere", "np": np, "math": math}
    exec(compile(text, filename, "exec"), namespace)
    return namespace[name]
