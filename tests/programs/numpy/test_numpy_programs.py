"""Programs in NumPy as people write them: values and gradients compared with NumPy, forward mode and differences."""

from __future__ import annotations

import numpy as np
import pytest

from tests.numpy.checking import check_function
from tests.programs.numpy.collection import PROGRAMS


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_program(name: str) -> None:
    p = PROGRAMS[name]
    arguments = p.inputs(np.random.default_rng(0), p.small)
    check_function(p.function, arguments, by=p.by, differences=p.smooth)
