"""Pullbacks that compiled code makes and calls agree with the way through Python, and use it where necessary."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.errors import DifferentiationError

N = 5
X, Y = np.linspace(0.2, 0.9, N), np.linspace(-1.0, 1.0, N)
OUTER = np.linspace(1.0, 2.0, N)
STATE = {"scale": 3.0}


def product(x, y):
    return x * x * y


def energy(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i]
    return s


def sines(x, a):
    return np.sin(x) * a


def scaled_in_place(x, a):
    x[:] = x * a
    return np.sum(x * x)


def steps(x, n):
    y = x.copy()
    for _ in range(n):
        y = np.sin(y) * x
    return y


def several(x, pair, n):
    a, b = pair
    return x * a, (np.sum(b * x), n), a


def captured(x):
    return x * OUTER * STATE["scale"]


def with_default(x, a=2.0):
    return np.exp(a * x)


def same_twice(x):
    y = 2.0 * x
    return y, y


def itself(x):
    x *= 3.0
    return x


def of_shape(x, like):
    return x * len(like)


def nothing_of_y(x, y):
    return np.cos(x)


def rows(a):
    return a[:, 1:] - a[:, :-1] ** 2


def constant(x):
    return x.sum(), 2.0, "text"


def integers(x, k):
    return x[k] * 2.0, k


ONES = np.ones(N)
CASES: dict[str, tuple[Any, tuple[Any, ...], Any]] = {
    "numbers": (product, (1.5, 2.0), 0.5),
    "numbers of NumPy's": (product, (np.float64(1.5), np.float64(2.0)), np.float64(0.5)),
    "short numbers": (product, (np.float32(1.5), np.float32(2.0)), np.float32(0.5)),
    "loop": (energy, (X,), 1.0),
    "loop over every other": (energy, (np.linspace(0, 1, 2 * N)[::2],), 1.0),
    "loop backwards": (energy, (X[::-1],), 1.0),
    "array": (sines, (X, 2.0), Y),
    "short floats": (sines, (X.astype(np.float32), np.float32(2.0)), Y.astype(np.float32)),
    "empty": (sines, (X[:0], 2.0), Y[:0]),
    "one": (sines, (X[:1], 2.0), Y[:1]),
    "in place": (scaled_in_place, (X, 1.5), 1.0),
    "record": (steps, (X, 3), Y),
    "containers": (several, (X, (Y, OUTER), 3), (Y, (0.5, None), X)),
    "captured": (captured, (X,), Y),
    "default": (with_default, (X,), Y),
    "default given": (with_default, (X, 0.5), Y),
    "same twice": (same_twice, (X,), (X, Y)),
    "argument returned": (itself, (X,), Y),
    "shape alone": (of_shape, (X, Y), ONES),
    "argument without use": (nothing_of_y, (X, Y), ONES),
    "two axes": (rows, (np.arange(12.0).reshape(3, 4),), np.ones((3, 3))),
    "columns first": (rows, (np.asfortranarray(np.arange(12.0).reshape(3, 4)),), np.ones((3, 3))),
    "constants": (constant, (X,), (2.0, None, None)),
    "integers": (integers, (X, 2), (1.0, None)),
    "list of results": (lambda x: [x * 2.0, x * x], (X,), [X, Y]),
    "dict": (lambda d: d["a"] * d["b"], ({"a": X, "b": 2.0},), Y),
}


def equal(a: Any, b: Any) -> bool:
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, np.ndarray):
        return type(b) is np.ndarray and a.dtype == b.dtype and np.array_equal(a, b)
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("name", CASES)
def test_as_through_python(name: str) -> None:
    """The first call of a pullback comes from Python, the next from compiled code; neither, nor a second cotangent,
    nor a call through Python, gives anything else."""
    f, args, cotangent = CASES[name]
    g = jit_grad(f)
    slowly, back = g.pullback(*copy.deepcopy(args))
    quickly, again = g.pullback(*copy.deepcopy(args))
    found = [back(cotangent), again(cotangent), again(cotangent)]
    found.append(again._slowly(cotangent, None))
    assert equal(quickly, slowly)
    assert all(equal(found[0], other) for other in found)
    assert len({id(a) for given in found for a in given if isinstance(a, np.ndarray)}) == sum(
        isinstance(a, np.ndarray) for given in found for a in given
    )


def test_most_calls_need_no_python() -> None:
    ways = {name: jit_grad(f).pullback(*copy.deepcopy(args))[1]._code for name, (f, args, _) in CASES.items()}
    without = {name for name, code in ways.items() if code.at_once is None}
    other_shadows = {"argument returned", "containers", "columns first", "argument without use"}
    assert without == other_shadows | {"list of results", "dict"}


def test_derivatives() -> None:
    _, back = jit_grad(sines).pullback(X, 2.0)
    dx, da = back(Y)
    assert np.allclose(dx, 2.0 * np.cos(X) * Y, rtol=1e-14) and np.isclose(da, np.sum(np.sin(X) * Y), rtol=1e-14)
    _, back = jit_grad(scaled_in_place).pullback(X.copy(), 1.5)
    assert np.allclose(back(1.0)[0], 2.0 * 1.5**2 * X, rtol=1e-14)


@pytest.mark.parametrize("cotangent", [1, 1.0, np.float64(1.0), np.float32(1.0), np.array(1.0), True])
def test_numbers_as_cotangents(cotangent: Any) -> None:
    assert jit_grad(product).pullback(1.5, 2.0)[1](cotangent) == (6.0, 2.25)


@pytest.mark.parametrize(
    "cotangent",
    [ONES[::-1], np.ones(2 * N)[::2], [1.0] * N, np.ones(N, np.float32), np.ones(N, int), np.ones(N, ">f8")],
)
def test_arrays_as_cotangents(cotangent: Any) -> None:
    assert np.allclose(jit_grad(sines).pullback(X, 2.0)[1](cotangent)[0], 2.0 * np.cos(X), rtol=1e-14)


@pytest.mark.parametrize("cotangent", [np.ones(N + 1), np.ones((N, 1)), 1.0, np.float64(1.0), "no", (ONES, ONES)])
def test_wrong_cotangents(cotangent: Any) -> None:
    _, back = jit_grad(sines).pullback(X, 2.0)
    with pytest.raises(adc.AdcError, match="cotangent"):
        back(cotangent)
    assert np.allclose(back(ONES)[0], 2.0 * np.cos(X), rtol=1e-14)


def test_wrong_arguments() -> None:
    back = jit_grad(energy).pullback(X)[1]
    with pytest.raises(TypeError, match=r"^pullback\(\) got an unexpected keyword argument 'last'"):
        back(1.0, last={"x": Y})


def test_no_cotangent_is_zero() -> None:
    dx, da = jit_grad(sines).pullback(X, 2.0)[1](None)
    assert not dx.any() and da == 0.0


def test_final_state() -> None:
    x = X.copy()
    _, back = jit_grad(scaled_in_place).pullback(x, 1.5)
    first = back(0.0, final={"x": Y})
    assert np.allclose(first[0], 1.5 * Y, rtol=1e-14) and np.isclose(first[1], np.sum(X * Y), rtol=1e-14)
    assert np.allclose(back(1.0)[0], 4.5 * X, rtol=1e-14)


def test_arrays_that_changed() -> None:
    x = X.copy()
    _, back = jit_grad(sines).pullback(x, 2.0)
    x[2] += 1.0
    with pytest.raises(DifferentiationError, match="x was changed after the forward sweep"):
        back(ONES)
    x[2] = X[2]
    assert np.allclose(back(ONES)[0], 2.0 * np.cos(X), rtol=1e-14)


def test_shapes_that_changed() -> None:
    a = np.arange(12.0).reshape(3, 4)
    for f, ones in ((rows, np.ones((3, 3))), (lambda a: 2.0 * a, np.ones((3, 4)))):
        _, back = jit_grad(f).pullback(a)
        a.shape = (4, 3)
        with pytest.raises(DifferentiationError, match="a was changed after the forward sweep"):
            back(ones)
        a.shape = (3, 4)
        assert back(ones)[0].shape == (3, 4)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_layouts_that_changed() -> None:
    """The bytes of the array are what they were."""
    for attribute, value in (("dtype", np.int64), ("strides", (0,))):
        x = np.ones(N)
        _, back = jit_grad(sines).pullback(x, 2.0)
        setattr(x, attribute, value)
        with pytest.raises(DifferentiationError, match="x has got another dtype or other strides after the forward"):
            back(ONES)


def test_what_is_read_by_name_is_looked_at_again() -> None:
    f = jit_grad(captured)
    for _ in range(2):
        assert np.allclose(f.pullback(X)[1](ONES)[0], 3.0 * OUTER, rtol=1e-14)
    STATE["scale"] = 5.0
    try:
        assert np.allclose(f.pullback(X)[1](ONES)[0], 5.0 * OUTER, rtol=1e-14)
    finally:
        STATE["scale"] = 3.0


def test_other_arguments() -> None:
    """Compiled code gives calls back that it was not made for."""
    f = jit_grad(sines)
    for args in ((X, 2.0), (X.astype(np.float32), 2.0), (X[::2], 2.0), (2.0, 3.0), (X, 2.0)):
        y, back = f.pullback(*args)
        assert np.allclose(y, np.sin(args[0]) * args[1], rtol=1e-6)
        assert np.allclose(back(np.ones_like(y) if np.shape(y) else 1.0)[0], np.cos(args[0]) * args[1], rtol=1e-6)


def test_methods_leave_out_the_object() -> None:
    class Model:
        def __init__(self) -> None:
            self.a = 2.0

        @jit_grad
        def value(self, x):
            return self.a * np.sin(x)

    _, back = Model().value.pullback(X)
    (dx,) = back(ONES)
    assert np.allclose(dx, 2.0 * np.cos(X), rtol=1e-14)


def test_names_and_copies() -> None:
    f = jit_grad(sines)
    assert f.pullback.__name__ == "pullback_sines" and copy.copy(f.pullback) is f.pullback
    again = pickle.loads(pickle.dumps(jit_grad(np_free).pullback))
    assert again(2.0)[1](1.0) == (4.0,)
    y, back = f.pullback(x=X, a=2.0)
    assert np.allclose(back(ONES)[0], 2.0 * np.cos(X), rtol=1e-14) and np.array_equal(y, f(X, 2.0))


def np_free(x):
    return x * x


def test_what_is_not_needed_is_not_kept() -> None:
    big = np.ones(1000)
    kept = weakref.ref(big)
    _, back = jit_grad(nothing_of_y).pullback(X, big)
    del big
    gc.collect()
    assert kept() is None
    assert back(ONES)[1].shape == (1000,)
