"""A first derivative needs the rules of the functions that it differentiates, but not those of the rules' own code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import adc
from adc.frontend.abstract import abstract_of
from adc.frontend.entrance import trace
from adc.ir.attached import attached
from adc.passes.differentiation.needed_rules import drop_rules_of_rules

A = np.array([[4.0, 1.0], [1.0, 3.0]])


def f(a: Any) -> Any:
    return np.sum(np.linalg.cholesky(a))


def ruled(functions: Sequence[Any]) -> set[str]:
    return {func.name.split(".")[0] for func in functions if attached(func) is not None}


def test_rules_of_rules_are_dropped() -> None:
    traced = trace(f, [abstract_of(A)])
    assert ruled(list(traced.module.funcs.values())) >= {"cholesky_factor", "upper_solved", "lower_solved"}
    drop_rules_of_rules(traced.module, traced.entry)
    assert ruled(list(traced.module.funcs.values())) == {"cholesky_factor"}
    assert "upper_solved.ruled" in traced.module.funcs  # the pullback calls it


def test_derivatives_of_higher_order_have_them() -> None:
    """The Hessian by forward over reverse mode, against differences of gradients."""
    v = np.array([[0.3, 0.1], [0.1, -0.2]])
    gradient = adc.grad(f)
    first = gradient(A)
    got = adc.hvp(f, (A,), (v,))
    h = 1e-5
    np.testing.assert_allclose(got, (gradient(A + h * v) - gradient(A - h * v)) / (2 * h), rtol=1e-7)
    np.testing.assert_array_equal(gradient(A), first)
