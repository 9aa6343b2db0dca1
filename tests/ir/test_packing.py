"""Modules that are kept as plain data come back as they were."""

from __future__ import annotations

import pickle
import random
from typing import Any

import numpy as np
import pytest

from adc.frontend.abstract import abstract_of
from adc.frontend.entrance import trace
from adc.ir.copies import is_copy
from adc.ir.core import Module
from adc.ir.packing import packed, unpacked
from adc.ir.rewrite import clone_module
from adc.ir.text.printer import print_module
from tests.passes import random_ir


def steps(x: Any, n: int) -> Any:
    total, k = 0.0, 0
    while total < 3.0 and k < n:
        for i in range(len(x)):
            total += np.sin(x[i]) if x[i] > 0.5 else -0.0
        k += 1
    return total, np.linalg.solve(np.outer(x, x) + np.eye(len(x)), x)


def _comes_back(module: Module) -> None:
    text = print_module(module, locs=True)
    data = packed(module)
    assert print_module(unpacked(pickle.loads(pickle.dumps(data))), locs=True) == text
    assert is_copy(unpacked(packed(module)), clone_module(module))


@pytest.mark.parametrize("seed", range(12))
def test_random_code(seed: int) -> None:
    _comes_back(random_ir.generate(random.Random(seed), fresh=False))


def test_a_program() -> None:
    _comes_back(trace(steps, [abstract_of(np.ones(3)), abstract_of(4)]).module)
