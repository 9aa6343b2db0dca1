"""The programs of all files in this folder."""

from __future__ import annotations

from tests.programs.numpy import (
    complex_numbers,
    data,
    dense,
    engineering,
    learning,
    measurements,
    models,
    objects,
    optics,
    physics,
    stencils,
    systems,
)
from tests.programs.numpy.programs import PROGRAMS

__all__ = ["FILES", "PROGRAMS"]

FILES = (
    *(complex_numbers, data, dense, engineering, learning, measurements, models, objects, optics, physics, stencils),
    systems,
)
