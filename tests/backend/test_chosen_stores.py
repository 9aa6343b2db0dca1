"""Choices between what is in memory and something new are stored as they are, without masked stores."""

from __future__ import annotations

import numpy as np
import pytest

from adc import jit_grad
from adc.backend import chosen_stores
from adc.backend.optimize import optimize
from adc.backend.target import for_cpu

BLOCK = """
define void @f(ptr noalias %p, ptr noalias %q, ptr noalias %r) {
entry:
  %old = load <4 x double>, ptr %p, align 8
  %new = load <4 x double>, ptr %q, align 8
  %c = fcmp olt <4 x double> %new, %old
  %x = select <4 x i1> %c, <4 x double> %new, <4 x double> %old
  %y = select nsz <4 x i1> %c, <4 x double> %old, <4 x double> %new
  store <4 x double> %value, ptr %place, align 8
  br label %next
next:
  store <4 x double> %y, ptr %r, align 8
  ret void
}
"""


@pytest.mark.parametrize(("value", "place", "masked"), [("%x", "p", True), ("%y", "p", True), ("%x", "r", False)])
def test_stores(value: str, place: str, masked: bool) -> None:
    store = f"store <4 x double> {value}, ptr %{place},"
    text = BLOCK.replace("store <4 x double> %value, ptr %place,", store)
    new = chosen_stores.unmasked(text)
    assert new == (text.replace(store, store.replace("store ", "store volatile ")) if masked else text)
    target = for_cpu("x86-64-v3")
    assert ("vmaskmovpd" in optimize(text, target, 1).assembly()) == masked
    assert not any("vmaskmovpd" in each.assembly() for each in (optimize(new, target, 1), optimize(text, target)))


def test_in_place() -> None:
    def clipped(x, y, high):
        for i in range(len(x)):
            x[i] = min(x[i], high)
            if y[i] < 0:
                y[i] = 0.5

    compiled = jit_grad(clipped)
    for n in (0, 1, 7, 70):
        x, y = np.random.default_rng(n).normal(size=(2, n))
        x[n // 2 :][:1] = np.nan
        wanted = x.copy(), y.copy()
        clipped(*wanted, 0.25)
        compiled(x, y, 0.25)
        assert np.array_equal(x, wanted[0], equal_nan=True) and np.array_equal(y, wanted[1])
