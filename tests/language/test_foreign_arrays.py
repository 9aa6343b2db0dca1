"""Arrays of other libraries and lists where an array is expected: refused, with advice. Stand-ins replace the classes
of the libraries, which need not be installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.errors import AdcError, ArgumentError, CompileError


def stand_in(name: str, module: str, *bases: type, **members: Any) -> type:
    return type(name, bases or (object,), {"__module__": module, "values": None, **members})


def odd(self, name):
    raise AttributeError(name)


Tensor = stand_in("Tensor", "torch", __array__=lambda self: np.ones(3))
JaxArray = stand_in("Array", "jax")
CLASSES = {
    "pandas": (stand_in("Series", "pandas.core.series", __getattr__=odd), "a Series of pandas", "x.to_numpy()"),
    "frame": (stand_in("DataFrame", "pandas.core.frame", __getattr__=odd), "a DataFrame of pandas", "x.to_numpy()"),
    "xarray": (stand_in("DataArray", "xarray.core.dataarray"), "a DataArray of xarray", "x.to_numpy()"),
    "torch": (Tensor, "a Tensor of PyTorch", "x.numpy(), or x.detach().cpu().numpy()"),
    "parameter": (stand_in("Parameter", "torch.nn.parameter", Tensor), "a Parameter of PyTorch", "x.numpy()"),
    "jax": (stand_in("ArrayImpl", "jaxlib._jax", JaxArray), "an ArrayImpl of JAX", "np.asarray(x)"),
    "cupy": (stand_in("ndarray", "cupy", __cuda_array_interface__={}), "a ndarray of CuPy", "x.get()"),
    "other": (stand_in("Grid", "somebodys", __array__=lambda self: np.ones(3)), "a Grid, which is no", "np.asarray(x)"),
}


@pytest.mark.parametrize("name", CLASSES)
def test_arguments(name: str) -> None:
    cls, said, way_out = CLASSES[name]
    value = cls()

    def f(x, y):
        return np.sum(x) * y

    compiled = jit_grad(f)
    for call in (lambda: compiled(value, 1.0), lambda: compiled.grad(value, 1.0), lambda: adc.grad(f, 1)(value, 1.0)):
        with pytest.raises(ArgumentError, match="argument x: ") as caught:
            call()
        assert said in caught.value.message and way_out in caught.value.help
    with pytest.raises(ArgumentError, match=r"argument x\[1\]: ") as caught:
        compiled((1.0, value), 1.0)
    assert way_out in caught.value.help


@pytest.mark.parametrize("name", CLASSES)
def test_captured(name: str) -> None:
    cls, said, way_out = CLASSES[name]
    captured = cls()

    def f(x):
        return x * captured

    with pytest.raises(CompileError, match="'captured' cannot be used here") as caught:
        jit_grad(f)(1.0)
    assert said in caught.value.message and way_out in caught.value.help


def times(x):
    return x * 2.0


def plus(x):
    return 1.0 + x


def negative(x):
    return -x


def compared(x):
    return x > 1.0


def product(x):
    return x @ x


def dot(x):
    return np.dot(x, x)


def shape(x):
    return x.shape[0]


def method(x):
    return x.sum()


def two_subscripts(x):
    return x[0, 1]


MEANT = [times, plus, negative, compared, product, shape, method, two_subscripts]


@pytest.mark.parametrize("fn", MEANT, ids=lambda f: f.__name__)
@pytest.mark.parametrize("x", [[[1.0, 2.0], [3.0, 4.0]], ((1.0, 2.0), (3.0, 4.0))], ids=["list", "tuple"])
def test_lists_where_an_array_is_meant(fn: Any, x: Any) -> None:
    with pytest.raises(AdcError) as caught:
        jit_grad(fn)(x)
    assert "np.asarray(x)" in caught.value.help
    assert jit_grad(fn)(np.asarray(x)) is not None


@pytest.mark.parametrize("x", [[[1.0, 2.0], [3.0, 4.0]], ((1.0, 2.0), (3.0, 4.0))], ids=["list", "tuple"])
def test_products_take_lists(x: Any) -> None:
    np.testing.assert_array_equal(jit_grad(dot)(x), dot(x))
