"""Compares gradients with forward mode, one element of one argument at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest


def check_gradients(
    compiled: Any, arguments: Sequence[Any], gradients: Mapping[int, Any], rel: float = 1e-12, abs: float = 1e-14
) -> None:
    """``gradients`` are those by some of the arguments, which are arrays, by their positions."""
    for k, gradient in gradients.items():
        for at in np.ndindex(*arguments[k].shape):
            along = [None] * len(arguments)
            along[k] = np.zeros_like(arguments[k])
            along[k][at] = 1.0
            tangent = compiled.jvp(tuple(arguments), tuple(along))[1]
            assert gradient[at] == pytest.approx(tangent, rel=rel, abs=abs), (k, at)
