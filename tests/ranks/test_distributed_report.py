"""``report()`` of distributed functions: what it says of messages is what is sent."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad, mpi

pytestmark = pytest.mark.usefixtures("stages")

N, M, STEPS = 13, 8, 10
RNG = np.random.default_rng(1)
U0, DATA, SOURCE = RNG.random((N, M)), RNG.random((N, M)), RNG.random(STEPS)


def cooling(u0: Any, r: Any, data: Any, source: Any, steps: Any) -> Any:
    u = u0.copy()
    for t in range(steps):
        u[1:-1, 1:-1] += r * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1])
        u[3, 4] += source[t]
    return 0.5 * np.sum((u - data) ** 2)


FIRST = cooling.__code__.co_firstlineno
ARGS = U0, 0.1, DATA, SOURCE, STEPS


def reported(ranks: tuple[int, ...], checkpoint: Any = None) -> list[tuple[Any, tuple[int, int]]]:
    """The report of each rank, and what it sent in a call of the gradient."""
    plain = jit_grad(argnums=(0, 1), checkpoint=checkpoint)(cooling)  # one for all ranks: compiled once

    def run() -> Any:
        grid = adc.Grid((N, M), ranks)
        f = adc.distribute(plain, grid)
        f.value_and_grad(*ARGS)
        return f.report(*ARGS), grid.sent

    return mpi.simulate(int(np.prod(ranks)), run)


@pytest.mark.parametrize("ranks, checkpoint", [((3, 1), None), ((2, 2), adc.revolve(2))])
def test_what_is_said_of_messages_is_what_was_sent(ranks: Any, checkpoint: Any) -> None:
    for rank, (report, sent) in enumerate(reported(ranks, checkpoint)):
        assert checkpoint or (2 * report.messages, 2 * report.bytes) == sent  # it has run twice
        assert sum(each.messages for each in report.sent) == report.messages
        assert sum(each.bytes for each in report.sent) == report.bytes
        assert report.rank == rank and report.ranks == ranks and report.shape == (N, M)
        assert report.whole == {"source": (STEPS,)}
        assert all(block == report.blocks["u0"] for block in report.blocks.values())
        assert (report.repeated > 0) == (checkpoint is not None)


def test_the_halo_of_each_step_is_told_with_its_line() -> None:
    (first, _), (middle, _), (last, _) = reported((3, 1))
    assert [each.blocks["u0"][1] for each in (first, middle, last)] == [(5, M), (4, M), (4, M)]
    assert middle.replicated == () and middle.repeated == 0
    halos = [each for each in middle.sent if each.loop == FIRST + 2 and each.messages]
    assert {each.line for each in halos} == {FIRST + 3}
    assert {each.sweep for each in halos} == {"forward", "reverse"}
    for each in halos:
        ((rows, width),) = each.halos
        assert rows == 1 and M - 2 <= width <= M and each.messages == 2 * each.fetches == 2 * STEPS
        assert each.bytes == each.messages * width * 8
    assert sum(each.messages for each in middle.sent if each.terms) > 0
    assert middle.peak is not None and middle.part == round(middle.peak * 4 / N)
    told = str(middle)
    assert f"line {FIRST + 3}, forward: u, in the loop of line {FIRST + 2}: 20 messages in 10 exchanges, of 1 x" in told
    assert "whole on all ranks: source (10,)" in told
    assert json.loads(json.dumps(middle.as_dict()))["messages"] == middle.messages


def test_steps_run_again_send_their_messages_again() -> None:
    report = reported((2, 1), adc.revolve(2))[0][0]
    forward = [each for each in report.sent if each.sweep == "forward" and each.loop and each.messages]
    assert sum(each.messages for each in forward) == STEPS + report.repeated
    assert STEPS <= report.repeated <= 3 * STEPS


def recurrence(u0: Any, steps: Any) -> Any:
    u = u0.copy()
    for _ in range(steps):
        for i in range(1, u.shape[0]):
            for j in range(u.shape[1]):
                u[i, j] += 0.5 * u[i - 1, j]
    return np.sum(u * u)


def test_what_all_ranks_run_is_told_and_why() -> None:
    def run() -> Any:
        return adc.distribute(recurrence, adc.Grid((N, M)), replicate=True).report(U0, 2)

    report = mpi.simulate(2, run)[1]
    line = recurrence.__code__.co_firstlineno + 5
    assert [(each.line, each.refused) for each in report.replicated] == [(line, False)]
    assert f"line {line}: all ranks run this on whole arrays: this reads elements" in str(report)
    assert (6, M) in {halo for each in report.sent for halo in each.halos}  # rank 1 sends its block


def test_one_rank_sends_nothing() -> None:
    f = adc.distribute(jit_grad(cooling), adc.Grid((N, M)))
    report = f.report(*ARGS)
    assert (report.messages, report.bytes, report.repeated) == (0, 0, 0) and not any(x.messages for x in report.sent)
    assert "sends no messages" in str(report) and "gradient of cooling by u0" in report.gradient.summary()
    assert report.part == report.peak
