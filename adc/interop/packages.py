"""Loads optional packages when they are needed, with a clear error if they are not installed."""

from __future__ import annotations

import importlib
from typing import Any

from adc.ir import kinds

_INSTALLED_AS = {"torch": "pip install torch", "jax": "pip install jax", "scipy": "pip install scipy"}


def package(module: str, wanted_by: str) -> Any:
    """A module of another package. Raises ``ArgumentError`` if the package is not installed."""
    name = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if error.name is not None and error.name.partition(".")[0] != name:
            raise  # the package is installed, but something that it needs is not
        raise kinds.MISSING_PACKAGE(
            f"{wanted_by} needs {name}, which is not installed", help=_INSTALLED_AS[name]
        ) from None
