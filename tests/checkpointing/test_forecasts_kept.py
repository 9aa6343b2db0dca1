"""What forecasts and reports are made from is compiled once for arguments of the same types, and never out of date."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.driver.compiler import Staged

FACTOR = 1


def shrinking(x, n):
    return 0.9 * x


def growing(x, n):
    for _ in range(FACTOR):
        x = np.sin(x) + x * x
    return x


step = shrinking


def walk(x, n):
    u = x.copy()
    for _ in range(n):
        u = step(u, n) * u
    return np.sum(u)


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was compiled as far as the final IR."""
    seen: list[str] = []
    original = Staged.prepared
    monkeypatch.setattr(Staged, "prepared", lambda self, *more: seen.append(self.subject.name) or original(self, *more))
    return seen


def test_one_code_for_all_sizes_and_amounts(prepared: list[str]) -> None:
    x = np.linspace(0.1, 0.5, 40)
    compiled = jit_grad(walk)
    table = compiled.grad.forecast(x, 20)
    first = len(prepared)
    assert 0 < first <= 2  # without a schedule and with one
    found = [compiled.grad.forecast(x, 20, memory=other.memory) for other in table.others[:3]]
    longer, wider = compiled.grad.forecast(x, 40), compiled.grad.forecast(np.tile(x, 2), 20)
    assert compiled.grad.forecast(x, 20) == table and len(prepared) == first
    assert [f.peak for f in found] == [other.peak for other in table.others[:3]]
    assert table.whole < longer.whole < wider.whole + longer.whole and wider.least > table.least
    for n, data in ((20, x), (40, x), (20, np.tile(x, 2))):
        assert jit_grad(walk).grad.forecast(data, n) == compiled.grad.forecast(data, n)


def test_a_given_schedule_has_code_of_its_own(prepared: list[str]) -> None:
    x = np.linspace(0.1, 0.5, 40)
    compiled = jit_grad(walk)
    few, many = (compiled.grad.forecast(x, 20, checkpoint=adc.revolve(k)) for k in (2, 8))
    assert len(prepared) == 4 and few.peak < many.peak
    again = jit_grad(walk, checkpoint=adc.revolve(2))
    assert again.grad.forecast(x, 20) == few


def test_what_is_no_more_true_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.linspace(0.1, 0.5, 40)
    compiled = jit_grad(walk)
    before, told = compiled.grad.forecast(x, 20), str(compiled.report("f64[::1], i64"))
    monkeypatch.setitem(globals(), "step", growing)
    after, says = compiled.grad.forecast(x, 20), str(compiled.report("f64[::1], i64"))
    assert after == jit_grad(walk).grad.forecast(x, 20) and after != before
    assert "FACTOR" in says and "FACTOR" not in told


def test_a_report_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[Any] = []
    original = Staged.planned
    monkeypatch.setattr(Staged, "planned", lambda self, *more: planned.append(self) or original(self, *more))
    compiled = jit_grad(walk)
    first = compiled.report("f64[::1], i64")
    assert str(compiled.report("f64[::1], i64")) == str(first) and len(planned) == 1
    first.seconds.clear()  # each has its own
    assert compiled.report("f64[::1], i64").seconds
    compiled.report("f64[:], i64")
    assert len(planned) == 2
