"""A derivative needs the rules of the functions that it differentiates, for its mode, and of what their rules call
those that the derivatives after it need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import adc
from adc.border.options import Derivative, Selection
from adc.driver.compiler import Staged
from adc.frontend.abstract import abstract_of
from adc.frontend.entrance import trace
from adc.ir.attached import FORWARD, REVERSE, Modes, attached
from adc.ir.core import Module
from adc.passes.differentiation.needed_rules import keep_needed, without_rules

A = np.array([[4.0, 1.0], [1.0, 3.0]])


def f(a: Any) -> Any:
    return np.sum(np.linalg.cholesky(a))


def ruled(functions: Sequence[Any]) -> set[str]:
    return {func.name.split(".")[0] for func in functions if attached(func) is not None}


def of_first(modes: Modes) -> Module:
    """The module of ``f`` for these derivatives."""
    traced = trace(f, [abstract_of(A)])
    assert ruled(list(traced.module.funcs.values())) >= {"cholesky_factor", "upper_solved", "lower_solved"}
    keep_needed(traced.module, traced.entry, modes)
    return traced.module


def rules_in(module: Module) -> dict[str, tuple[bool, bool]]:
    """The functions with rules: whether they have one for reverse mode, and one for forward mode."""
    found = {func.name: attached(func) for func in module.funcs.values()}
    return {
        name.split(".")[0]: (rules.pullback is not None, rules.frule is not None)
        for name, rules in found.items()
        if rules is not None and rules.functions
    }


def test_rules_of_rules_are_dropped() -> None:
    for mode, kinds in ((REVERSE, (True, False)), (FORWARD, (False, True))):
        module = of_first((mode,))
        assert rules_in(module) == {"cholesky_factor": kinds}
        assert "lower_solved.ruled" in module.funcs or mode == REVERSE  # the rule calls it
        assert "upper_solved.ruled" in module.funcs or mode == FORWARD


def test_a_gradient_that_is_differentiated_needs_forward_rules_of_what_rules_call() -> None:
    found = rules_in(of_first((REVERSE, FORWARD)))
    assert found.pop("cholesky_factor") == (True, True)
    assert "upper_solved" in found and set(found.values()) == {(False, True)}
    twice = rules_in(of_first((REVERSE, REVERSE)))
    assert twice["cholesky_factor"] == (True, False) and twice["upper_solved"][0]


def test_code_that_is_lowered_has_no_rules() -> None:
    traced = trace(f, [abstract_of(A)])
    names = {name for name in traced.module.funcs if "pullback" in name or "frule" in name}
    part = without_rules(traced.module, [traced.entry])
    assert names and names.isdisjoint(part.funcs) and traced.entry in part.funcs


def test_the_next_derivative_brings_rules_again() -> None:
    """Forward mode of a gradient: of the kernels that are left, and not of those that the first derivative needed."""
    call = adc.jit_grad(f)
    call(A)
    staged = Staged(call._subject, (abstract_of(A),))
    first = staged.traced(reverse=True)
    module = staged.simplified(first, (REVERSE, FORWARD))
    assert rules_in(module) == {"cholesky_factor": (True, False)}
    gradient = Staged(call._subject, (abstract_of(A),)).function(Derivative((Selection((0,)),)))
    assert rules_in(gradient.module) == {}
    found = rules_in(staged.simplified(gradient, (FORWARD,)))
    assert found.keys() >= {"cholesky_factor", "upper_solved"} and set(found.values()) == {(False, True)}


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[int, int]]] = {
    "eigh": (lambda a: np.sum(np.log(np.linalg.eigvalsh(a.T @ a))) + np.linalg.eigh(a.T @ a)[1][0, 0] ** 2, (4, 2)),
    "fft": (lambda a: np.sum(np.abs(np.fft.rfft(a[:, 0])) ** 3) + np.sum(np.sort(a[:, 1]) ** 2 * a[:, 1]), (4, 2)),
    "slogdet": (lambda a: np.linalg.slogdet(a.T @ a)[1] * np.linalg.svd(a, compute_uv=False)[0], (4, 2)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_second_derivatives_and_tangents_are_those_of_differences(name: str) -> None:
    function, shape = PROGRAMS[name]
    draw = np.random.default_rng(3)
    a, v = draw.standard_normal(shape), draw.standard_normal(shape)
    gradient, h = adc.grad(function), 1e-5
    _, tangent = adc.jvp(function, (a,), (v,))
    assert tangent == pytest.approx(np.sum(gradient(a) * v), rel=1e-11)
    got = adc.hvp(function, (a,), (v,))
    wanted = (gradient(a + h * v) - gradient(a - h * v)) / (2 * h)
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6 * np.max(np.abs(wanted)))


def test_derivatives_of_higher_order_have_them() -> None:
    """The Hessian by forward over reverse mode, against differences of gradients."""
    v = np.array([[0.3, 0.1], [0.1, -0.2]])
    gradient = adc.grad(f)
    first = gradient(A)
    got = adc.hvp(f, (A,), (v,))
    h = 1e-5
    np.testing.assert_allclose(got, (gradient(A + h * v) - gradient(A - h * v)) / (2 * h), rtol=1e-7)
    np.testing.assert_array_equal(gradient(A), first)
