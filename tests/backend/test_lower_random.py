"""Random programs of the IR: native code against the reference interpreter, errors included."""

from __future__ import annotations

import copy
import random

import numpy as np
import pytest

from adc.ir.diagnostics import format_message
from adc.ir.interpret.interpreter import InterpreterError, run
from tests.backend.lowering_harness import Native, Trapped
from tests.passes.random_ir import arguments, generate


@pytest.mark.parametrize("seed", range(60))
def test_native_equals_interpreted(seed: int) -> None:
    rng = random.Random(f"lowering {seed}")
    module = generate(rng, 60, fresh=seed % 2 == 0)
    native = Native(module, debug=seed % 3 == 0, level=(3, 1, 0)[seed % 3])
    for _ in range(3):
        ours = arguments(rng)
        theirs = copy.deepcopy(ours)
        try:
            expected = run(module, "f", theirs, limit=100_000)
        except InterpreterError:
            continue  # computes with what was never stored
        except (ArithmeticError, ValueError, IndexError) as error:
            with pytest.raises(Trapped) as trapped:
                native("f", *ours)
            assert format_message(trapped.value.site.message, trapped.value.operands) in str(error)
            continue
        found = native("f", *ours)
        for x, y in zip([*found, *ours], [*expected, *theirs], strict=True):
            known = ~np.isnan(np.asarray(y, float))  # the interpreter marks memory that was never stored to by NaN
            np.testing.assert_allclose(np.asarray(x, float)[known], np.asarray(y, float)[known], rtol=1e-9, atol=1e-12)
