"""Programs given as text, compared with NumPy: results, final contents of arguments, and derivatives.

``check("np.roll(a, 2, axis=0)", a=...)`` compiles a function of the named inputs that returns the expression. Its
results must be NumPy's, in shape, dtype and value. The gradient of its float results, with random weights, is compared
with forward mode and with differences of plain Python along a random direction.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import adc
from tests.numpy.functions import function_of as function_of

STEP = 1e-6


def check(
    body: str,
    *,
    exact: bool = True,
    rtol: float = 1e-12,
    derivatives: bool = True,
    by: tuple[str, ...] | None = None,
    vmap: bool = False,
    head: str = "",
    **inputs: Any,
) -> Any:
    """Hold a program against NumPy. ``exact``: to the bit, else to ``rtol``. ``by``: the inputs that derivatives are
    taken of, those of floats if it is not given. ``vmap``: the mapped function too. Returns the compiled function."""
    return check_function(
        _program(body, *inputs, head=head),
        tuple(inputs.values()),
        by=tuple(k for k, (n, v) in enumerate(inputs.items()) if (n in by if by is not None else _is_float(v))),
        exact=exact,
        rtol=rtol,
        derivatives=derivatives,
        vmap=vmap,
    )


# A test that tries a program on other arguments next compiles it for their types alone.
_program = functools.lru_cache(maxsize=16)(function_of)


@functools.lru_cache(maxsize=16)
def _compiled_under(settings: tuple[tuple[str, str], ...], function: Callable[..., Any]) -> Any:
    return adc.jit_grad(function)


def _compiled(function: Callable[..., Any]) -> Any:
    """What is decorated anew where the environment asks for something else than before."""
    return _compiled_under(tuple(sorted(e for e in os.environ.items() if e[0].startswith("ADC_"))), function)


def check_function(
    plain: Callable[..., Any],
    arguments: tuple[Any, ...],
    *,
    by: tuple[int, ...],
    exact: bool = False,
    rtol: float = 1e-10,
    derivatives: bool = True,
    differences: bool = True,
    vmap: bool = False,
) -> Any:
    """The same of a function. ``by``: positions. ``differences``: whether it is smooth at these arguments."""
    compiled = _compiled(plain)
    theirs, ours = _copies(arguments), _copies(arguments)
    with np.errstate(all="ignore"):
        expected = plain(*theirs)
    got = compiled(*ours)
    compare(got, expected, exact, rtol)
    compare(ours, theirs, exact, rtol)
    if vmap:
        _check_vmap(plain, arguments, exact, rtol)
    if derivatives and by and any(_is_float(r) for r in flat(expected)):
        _check_derivatives(plain, arguments, by, expected, differences)
    return compiled


def flat(value: Any) -> list[Any]:
    """The arrays and numbers in nested tuples and lists."""
    if isinstance(value, tuple | list):
        return [leaf for item in value for leaf in flat(item)]
    return [] if value is None else [value]


def compare(got: Any, expected: Any, exact: bool, rtol: float) -> None:
    mine, theirs = flat(got), flat(expected)
    assert len(mine) == len(theirs), (got, expected)
    for a, b in zip(mine, theirs, strict=True):
        assert np.shape(a) == np.shape(b), (a, b)
        if isinstance(b, np.ndarray) and b.ndim:
            assert a.dtype == b.dtype, (a.dtype, b.dtype)
        else:
            assert np.asarray(a).dtype.kind == np.asarray(b).dtype.kind, (a, b)
        if exact:
            np.testing.assert_array_equal(a, b)
        else:
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


def _is_float(value: Any) -> bool:
    """Whether it has derivatives: it is made of floats, or of complex numbers."""
    return isinstance(value, float | complex) or (
        isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "fc"
    )


def _is_complex(value: Any) -> bool:
    return np.asarray(value).dtype.kind == "c"


def _random(rng: np.random.Generator, low: float, high: float, like: Any) -> Any:
    """Numbers in the shape of ``like``, complex ones where it has them."""
    made = np.asarray(rng.uniform(low, high, np.shape(like)))
    if not _is_complex(like):
        return made
    return np.asarray(made + 1j * rng.uniform(low, high, np.shape(like)))


def _copies(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Arrays laid out as they are, so that strides are tried too; views of one memory are not kept together."""
    return tuple(_copy(v) if isinstance(v, np.ndarray) else v for v in arguments)


def _copy(a: Any) -> Any:
    base = np.zeros(a.nbytes + sum(abs(s) * (n - 1) for s, n in zip(a.strides, a.shape, strict=True) if n), np.uint8)
    first = sum(-s * (n - 1) for s, n in zip(a.strides, a.shape, strict=True) if s < 0 and n)
    if 0 in a.strides:
        return a.copy()
    copy = np.ndarray(a.shape, a.dtype, base.data, first, a.strides) if a.size else a.copy()
    copy[...] = a
    return copy


def _weighted(results: list[Any]) -> str:
    """The scalar that is differentiated: each float result with its weights."""
    terms = []
    for k, r in enumerate(results):
        if _is_float(r):
            product = f"(w{k} * r{k}).real" if _is_complex(r) else f"w{k} * r{k}"
            terms.append(f"np.sum({product})" if np.ndim(r) else product)
    return " + ".join(terms)


@functools.lru_cache(maxsize=16)
def _scalar(plain: Callable[..., Any], body: str, *names: str) -> Callable[..., Any]:
    """A function that calls ``plain`` by the name g."""
    made = function_of(body, *names)
    made.__globals__["g"] = plain
    return made


def _check_derivatives(
    plain: Callable[..., Any], given: tuple[Any, ...], by: tuple[int, ...], expected: Any, differences: bool
) -> None:
    results = flat(expected)
    rng = np.random.default_rng(7)
    weights = {f"w{k}": _random(rng, 0.5, 1.5, r) for k, r in enumerate(results) if _is_float(r)}
    parameters = [f"x{k}" for k in range(len(given))]
    body = f"{_unpacking(expected, itertools.count())} = g({', '.join(parameters)})\nreturn {_weighted(results)}"
    scalar = _scalar(plain, body, *parameters, *weights)
    given = (*given, *(w if w.ndim else w.item() for w in weights.values()))

    def moved(steps: dict[int, Any]) -> tuple[Any, ...]:
        return _copies([v + steps[k] if k in steps else v for k, v in enumerate(given)])

    compiled = _compiled(scalar)
    value, gradients = adc.value_and_grad(compiled, argnums=by)(*moved({}))
    with np.errstate(all="ignore"):
        assert value == pytest.approx(scalar(*moved({})), rel=1e-5, abs=1e-9, nan_ok=True)
    along = {k: _random(rng, -1, 1, given[k]).astype(np.asarray(given[k]).dtype) for k in by}
    along = {k: a if a.ndim else a.item() for k, a in along.items()}
    single = any(np.asarray(given[k]).dtype in (np.float32, np.complex64) for k in by)
    reverse = sum(float(np.sum(np.asarray(g) * along[k]).real) for g, k in zip(gradients, by, strict=True))
    tangents = tuple(along.get(k) for k in range(len(given)))
    forward = compiled.jvp(moved({}), tangents)[1]
    assert reverse == pytest.approx(forward, rel=1e-4 if single else 1e-9, abs=1e-5 if single else 1e-9)
    if single or not differences:
        return
    with np.errstate(all="ignore"):
        up, down = (scalar(*moved({k: step * a for k, a in along.items()})) for step in (STEP, -STEP))
    assert reverse == pytest.approx((up - down) / (2 * STEP), rel=2e-5, abs=2e-6)


def _unpacking(value: Any, numbers: Iterator[int]) -> str:
    """The names that take a result apart, nested as it is."""
    if isinstance(value, tuple | list):
        return "(" + "".join(f"{_unpacking(item, numbers)}, " for item in value) + ")"
    return "_" if value is None else f"r{next(numbers)}"


def _check_vmap(plain: Callable[..., Any], given: tuple[Any, ...], exact: bool, rtol: float) -> None:
    """The mapped function, of three times the inputs, each a little different."""
    axes = tuple(0 if isinstance(v, np.ndarray) else None for v in given)
    stacked = [v if axis is None else np.stack([v, v[::-1], v]) for v, axis in zip(given, axes, strict=True)]
    got = adc.jit_grad(adc.vmap(plain, axes))(*_copies(stacked))
    for k in range(3):
        one = plain(*(v if axis is None else v[k].copy() for v, axis in zip(stacked, axes, strict=True)))
        compare([r[k] for r in flat(got)], [np.asarray(r)[()] for r in flat(one)], exact, rtol)
