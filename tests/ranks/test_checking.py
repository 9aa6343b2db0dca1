"""adc.check_grads on several ranks: right derivatives pass, wrong ones are found on all ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc import errors, jit_grad, mpi
from tests.ranks.programs import SIZES, on_ranks
from tests.ranks.test_same import loss, pair


@pytest.mark.parametrize("n", SIZES)
def test_right_derivatives(n: int) -> None:
    xs = np.random.default_rng(0).normal(size=(n, 3))
    on_ranks(lambda x: adc.check_grads(loss, (x, 0.7, np.ones(3)), order=2), list(xs))
    on_ranks(lambda x: adc.test_rule(loss, x, 0.7, np.ones(3)), list(xs))


@jit_grad
def uneven(x: Any) -> Any:
    """Arrays of other lengths on each rank, and one that is written to."""
    x[0] = mpi.allsum(x * x) * x[-1]
    return mpi.allreduce(np.sum(np.sin(x)))


def test_lengths_that_differ() -> None:
    on_ranks(lambda x: adc.check_grads(uneven, (x,), order=2), [np.ones(2), np.arange(5.0), np.ones(3)])


def doubled(x: Any, factor: Any) -> Any:
    return mpi.allreduce(x * x) * factor


@adc.rrule(doubled)
def doubled_reverse(x: Any, factor: Any) -> Any:
    """It forgets to add up the cotangents of the ranks."""
    return doubled(x, factor), lambda g: (2.0 * x * g * factor, None)


@adc.frule(doubled)
def doubled_forward(tangents: Any, x: Any, factor: Any) -> Any:
    """And this one the sum."""
    return doubled(x, factor), 2.0 * x * tangents[0] * factor


@jit_grad
def wrong(x: Any) -> Any:
    return mpi.allreduce(np.sum(doubled(x, 2.0) * x))


def test_wrong_rules_are_found() -> None:
    xs = [np.arange(3.0) + 1.0, np.arange(3.0) - 2.0]
    for modes, said in (("reverse", "reverse mode gives"), ("forward", "forward mode")):
        with pytest.raises(errors.DifferentiationError, match=said):
            on_ranks(lambda x, modes=modes: adc.check_grads(wrong, (x,), modes=modes), xs)
        on_ranks(lambda x, modes=modes: adc.check_grads(wrong, (x,), modes=modes), xs[:1])  # on one rank they are right


def local(x: Any) -> Any:
    return np.sum(x**3)


def test_functions_without_messages_are_checked_by_one_rank() -> None:
    def on_the_first(x: Any) -> None:
        if mpi.rank() == 0:
            adc.check_grads(local, (x,), order=2)
            assert adc.find_culprit(local, x) is None

    on_ranks(on_the_first, [np.ones(3), np.ones(3)])


def test_refusals() -> None:
    x = np.ones(2)
    with pytest.raises(TypeError, match="may differ between ranks"):
        on_ranks(lambda x: adc.check_grads(lambda x: np.sum(mpi.allreduce(x) * x), (x,)), [x, x])
    with pytest.raises(TypeError, match="the search for what is wrong in derivatives of functions that several ranks"):
        on_ranks(lambda x: adc.find_culprit(wrong, x), [x, x])
    with pytest.raises(TypeError, match="over several ranks derivatives of one number are checked; pair returns"):
        on_ranks(lambda x: adc.check_grads(pair, (x,)), [x, x])
