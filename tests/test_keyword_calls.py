"""Calls with keywords: arguments are put in order and passed to compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad

X = np.linspace(0.5, 1.5, 4)


def plain(x, y=2.0, n=3):
    return np.sum(x * y) * n


def keyword_only(x, *, y=2.0, n=3):
    return np.sum(x * y) * n


def positional_only(x, /, y=2.0, n=3):
    return np.sum(x * y) * n


def variadic(x, *args, y=2.0, **more):
    return np.sum(x * y) * (3 + len(args) + len(more))


CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((X,), {}),
    ((X,), {"y": 3.0}),
    ((X,), {"n": 4}),
    ((X,), {"n": 5, "y": 1.5}),
    ((X,), {"y": 1.5, "n": 5}),
    ((X[::2],), {"y": 1.5}),
    ((X.astype(np.float32),), {"y": 1.5, "n": 2}),
    ((X,), {"y": 2}),
]


@pytest.mark.parametrize("f", [plain, keyword_only, positional_only, variadic])
def test_as_in_python(f: Any) -> None:
    """Twice, as the second call of a kind goes straight to compiled code; and with calls by position in between."""
    g = jit_grad(f)
    calls = [(args, kwargs) for args, kwargs in CALLS if f is not variadic or "n" not in kwargs]
    if f in (plain, variadic):
        calls.append(((), {"x": X, "y": 4.0}))
    for args, kwargs in [call for call in calls for _ in range(2)] + calls[::-1]:
        assert g(*args, **kwargs) == pytest.approx(f(*args, **kwargs), rel=1e-6)
        value, gradient = g.value_and_grad(*args, **kwargs)
        assert value == g(*args, **kwargs) and gradient.shape == (args[0] if args else X).shape
        if f in (plain, positional_only):
            assert g(X, 2.5, 2) == pytest.approx(f(X, 2.5, 2))
            assert g(X, 2.5) == pytest.approx(f(X, 2.5))
        else:
            assert g(X) == pytest.approx(f(X))


def test_they_go_to_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    for f in (plain, keyword_only, positional_only):
        g = jit_grad(f)
        g(X, y=3.0)
        g.grad(X, n=4, y=3.0)
        with monkeypatch.context() as patched:
            patched.setattr(type(g), "_find", None)
            patched.setattr(type(g.grad), "_find", None)
            assert g(X, y=4.0) == pytest.approx(np.sum(4.0 * X) * 3)
            assert g.grad(X, y=4.0, n=2) == pytest.approx(8.0 * np.ones(4))
            assert g.grad(X, n=2) == pytest.approx(4.0 * np.ones(4))
        assert g(2.0, y=4) == 24.0


@pytest.mark.parametrize(
    ("f", "args", "kwargs"),
    [
        (plain, (X,), {"z": 1.0}),
        (plain, (X, 1.0), {"y": 1.0}),
        (plain, (), {"y": 1.0}),
        (plain, (X, 1.0, 2, 3), {}),
        (keyword_only, (X, 1.0), {}),
        (keyword_only, (X, 1.0), {"n": 2}),
        (positional_only, (), {"x": X}),
        (positional_only, (), {"x": X, "y": 2.0}),
    ],
)
def test_refused_as_in_python(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    g = jit_grad(f)
    g(X, y=3.0)
    for _ in range(2):
        with pytest.raises(adc.AdcError, match=f"{f.__name__}\\(\\) "):
            g(*args, **kwargs)
        with pytest.raises(TypeError):
            f(*args, **kwargs)
        assert g(X, y=3.0) == pytest.approx(f(X, y=3.0))


def test_parameters_with_the_names_of_options() -> None:
    @jit_grad
    def f(x, memory=2.0):
        return x * x * memory

    assert f.grad(3.0, memory=1.0) == 6.0 == f.grad(3.0, memory=1.0)
    g = jit_grad(plain)
    g.grad(X, y=1.0)
    with pytest.raises(adc.AdcError, match="has nothing to act on"):
        g.grad(X, y=1.0, checkpoint="sqrt")


def test_a_rule_that_is_given_meanwhile() -> None:
    def inner(x):
        return x * x

    f = jit_grad(lambda x, y: inner(x) * y)
    assert [f.grad(3.0, y=2.0) for _ in range(2)] == [12.0, 12.0]
    adc.rrule(inner)(lambda x: (inner(x), lambda g: g * 10.0))
    assert [f.grad(3.0, y=2.0) for _ in range(2)] == [20.0, 20.0]


def named_as_methods_are(self, x, f=1.0):  # type: ignore[no-untyped-def]
    return self * x * f


def test_parameters_of_any_name() -> None:
    f = jit_grad(named_as_methods_are)
    for _ in range(2):
        assert f(self=2.0, x=3.0, f=4.0) == 24.0
        assert f.grad(self=2.0, x=3.0) == 3.0
        assert f.pullback(self=2.0, x=3.0)[1](1.0) == (3.0, 2.0, 6.0)
        assert adc.pullback(named_as_methods_are, self=2.0, x=3.0, f=1.0)[0] == 6.0
    assert adc.jacobian(named_as_methods_are)(self=2.0, x=3.0) == 3.0
    assert "peak" in str(f.grad.forecast(self=2.0, x=3.0))
