"""Calls of adc's own functions with unsuitable arguments, and functions that cannot have a gradient."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.errors import AdcError

X = np.array([1.0, 2.0])


def square(x):  # type: ignore[no-untyped-def]
    return x * x


class Model:
    rate = 2.0

    @jit_grad
    def without_self(x):  # type: ignore[no-untyped-def]
        return x * x

    @jit_grad
    def of_class(self, x):  # type: ignore[no-untyped-def]
        return x * rate  # type: ignore[name-defined] # noqa: F821


def forgotten(x):  # type: ignore[no-untyped-def]
    x * x


def items(x):  # type: ignore[no-untyped-def]
    yield x


CASES: dict[str, tuple[Callable[[], Any], str, str]] = {
    "argnum": (lambda: jit_grad(argnum=0), "jit_grad() got an unexpected keyword argument 'argnum'", "'argnums'?"),
    "wrt": (lambda: adc.value_and_grad(square, wrt=0), "value_and_grad() got an unexpected", "'argnums'?"),
    "in_axis": (lambda: adc.vmap(square, in_axis=0), "vmap() got an unexpected", "'in_axes'?"),
    "orders": (lambda: adc.check_grads(square, (2.0,), orders=2), "check_grads() got an unexpected", "'order'?"),
    "snapshot": (lambda: adc.revolve(snapshot=3), "revolve() got an unexpected", "'snapshots'?"),
    "nothing like it": (lambda: adc.revolve(zzz=3), "revolve() got an unexpected", "the parameters are (snapshots"),
    "too few": (lambda: adc.hvp(square), "hvp() missing a required argument", "the parameters are (f"),
    "a method": (lambda: jit_grad(square).dump_ir(stge="llvm"), "dump_ir() got an unexpected", "'stage'?"),
    "in the call": (lambda: jit_grad(square).grad(2.0, argnums=0), "argument 'argnums'", "jit_grad(f, argnums="),
    "position": (lambda: jit_grad(0), "not 0", "jit_grad(argnums=0)"),
    "called": (lambda: adc.grad(square(2.0)), "not 4.0", "give the function"),
    "at once": (lambda: adc.grad(square, 2.0), "argnums must be an int or ints, not 2.0", "grad(f)(x)"),
    "a class": (lambda: jit_grad(Model), "Model", "decorate its methods"),
    "a ufunc": (lambda: adc.grad(np.sin), "<ufunc 'sin'>", "lambda x: np.sin(x)"),
    "no self": (lambda: Model().without_self.grad(2.0), "no argument number 0", "def without_self(self, x)"),
    "self.": (lambda: Model().of_class.grad(2.0), "the name 'rate' is not defined", "'self.rate'?"),
    "no return": (lambda: adc.grad(forgotten)(2.0), "forgotten returns None", "with a return statement"),
    "array": (lambda: adc.grad(square)(X), "returns an array", "adc.jacobian"),
    "pair": (lambda: adc.grad(lambda x: (x, x))(2.0), "returns a tuple", "has_aux=True"),
    "complex": (lambda: adc.grad(lambda x: np.exp(1j * x))(2.0), "returns a complex number", "abs(z) ** 2"),
    "yield": (lambda: adc.grad(items)(2.0), "a generator function is compiled only where a loop", "return a list"),
    "integers": (lambda: adc.grad(square)(np.arange(3)), "a 1-D int64 array", "x.astype(float)"),
    "stage": (lambda: jit_grad(square).dump_ir("adjont", "f64"), "no stage 'adjont'", "'adjoint'?"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_said(name: str) -> None:
    call, message, help = CASES[name]
    with pytest.raises(AdcError) as caught:
        call()
    assert message in caught.value.message
    assert help in caught.value.help
    assert caught.value.loc.file == __file__




# What programs call: compiled it is refused with its line, and uncompiled these are plain functions.
IN_PROGRAMS = {"fixed_point", "root", "prange", "stop_gradient"}


@pytest.mark.parametrize("name", [n for n in adc.__all__ if inspect.isfunction(getattr(adc, n))])
def test_unknown_keywords_of_all_functions(name: str) -> None:
    function = getattr(adc, name)
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        pytest.skip("takes any keyword")
    required = [p for p in parameters if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
    positional = [square for p in required if p.kind is not p.KEYWORD_ONLY]
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'qqq'") as caught:
        function(*positional, qqq=1)
    assert isinstance(caught.value, AdcError) or name in IN_PROGRAMS
