"""SciPy's solvers with derivatives by adc: ``minimize``, ``least_squares`` and ``root``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import adc
from adc.border.boundary import public
from adc.interop.packages import package
from adc.ir import kinds

NDArray = np.ndarray[Any, np.dtype[Any]]

_WITH_HESSIAN = ("newton-cg", "trust-ncg", "trust-krylov", "trust-constr")  # take products with the Hessian
_WITH_MATRIX = ("dogleg", "trust-exact")  # take the Hessian itself
_WITHOUT = ("nelder-mead", "powell", "cobyla", "cobyqa")
_ROOT_WITH_JACOBIAN = ("hybr", "lm")


@public
def minimize(
    fun: Callable[..., Any], x0: Any, args: tuple[Any, ...] = (), *, method: Any = None, **options: Any
) -> Any:
    """``scipy.optimize.minimize`` of ``fun(x, *args)``, with the gradient and, for methods that use it, the Hessian.

    ``x`` has the shape of ``x0``, which need not be flat, and so has ``x`` of the result. Value and gradient are
    computed in one run. ``Newton-CG``, ``trust-ncg``, ``trust-krylov`` and ``trust-constr`` get products of the Hessian
    with vectors, ``dogleg`` and ``trust-exact`` the Hessian. All other arguments are SciPy's.
    """
    optimize = package("scipy.optimize", "interop.minimize")
    _refuse(options, ("jac", "hess", "hessp"))
    start, shaped = _flat(x0)
    name = method.lower() if isinstance(method, str) else ""
    if name in _WITHOUT:
        function = _compiled(fun)
        found = optimize.minimize(lambda z: function(shaped(z), *args), start, method=method, **options)
        return _reshaped(found, shaped)
    both = adc.value_and_grad(fun)
    if name in _WITH_HESSIAN:
        rest = (None,) * len(args)
        options["hessp"] = lambda z, p: np.ravel(adc.hvp(fun, (shaped(z), *args), (shaped(p), *rest), argnums=0))
    elif name in _WITH_MATRIX:
        hessian = adc.hessian(fun)
        options["hess"] = lambda z: np.reshape(hessian(shaped(z), *args), (z.size, z.size))

    def value_and_gradient(z: NDArray) -> tuple[float, NDArray]:
        value, gradient = both(shaped(z), *args)
        return value, np.ravel(gradient)

    return _reshaped(optimize.minimize(value_and_gradient, start, jac=True, method=method, **options), shaped)


@public
def least_squares(
    fun: Callable[..., Any], x0: Any, args: tuple[Any, ...] = (), *, sparse: bool = False, **options: Any
) -> Any:
    """``scipy.optimize.least_squares`` of the residuals ``fun(x, *args)``, an array, with their Jacobian.

    ``x`` has the shape of ``x0``, and the residuals any shape. ``sparse``: the Jacobian is a sparse matrix whose
    pattern adc detects, for ``method="trf"`` or ``"dogbox"``. All other arguments are SciPy's.
    """
    optimize = package("scipy.optimize", "interop.least_squares")
    _refuse(options, ("jac", "jac_sparsity"))
    start, shaped = _flat(x0)
    function = _compiled(fun)
    found = optimize.least_squares(
        lambda z: np.ravel(function(shaped(z), *args)), start, jac=_jacobian(fun, shaped, args, sparse), **options
    )
    return _reshaped(found, shaped)


@public
def root(fun: Callable[..., Any], x0: Any, args: tuple[Any, ...] = (), *, method: str = "hybr", **options: Any) -> Any:
    """``scipy.optimize.root`` of ``fun(x, *args)``, with the Jacobian for the methods ``hybr`` and ``lm``.

    ``x`` has the shape of ``x0``, and the result of ``fun`` has as many elements. For ``krylov`` no Jacobian is used.
    (``adc.root`` is a function with derivatives, for use inside differentiated functions; this one returns SciPy's
    result.)
    """
    optimize = package("scipy.optimize", "interop.root")
    _refuse(options, ("jac",))
    start, shaped = _flat(x0)
    function = _compiled(fun)
    if method in _ROOT_WITH_JACOBIAN:
        options["jac"] = _jacobian(fun, shaped, args, sparse=False)
    found = optimize.root(lambda z: np.ravel(function(shaped(z), *args)), start, method=method, **options)
    return _reshaped(found, shaped)


def _compiled(fun: Callable[..., Any]) -> Any:
    return fun if hasattr(fun, "pullback") else adc.jit_grad(fun)


def _jacobian(fun: Callable[..., Any], shaped: Any, args: tuple[Any, ...], sparse: bool) -> Callable[[NDArray], Any]:
    if sparse:
        pattern = adc.sparse_jacobian(fun)
        return lambda z: pattern(shaped(z), *args)
    jacobian = adc.jacobian(fun)
    return lambda z: np.reshape(jacobian(shaped(z), *args), (-1, z.size))


def _flat(x0: Any) -> tuple[NDArray, Callable[[NDArray], Any]]:
    """The first guess as a flat array of float64, and a function that restores its shape; a number stays a number."""
    given = np.asarray(x0, np.float64)
    shape = given.shape

    def shaped(z: NDArray) -> Any:
        return np.array(z, np.float64).reshape(shape) if shape else float(z[0])

    return given.ravel().copy(), shaped


def _reshaped(found: Any, shaped: Callable[[NDArray], Any]) -> Any:
    found.x = shaped(found.x)
    return found


def _refuse(options: dict[str, Any], names: tuple[str, ...]) -> None:
    for name in names:
        if name in options:
            raise kinds.INVALID_OPTION(
                f"{name} is what adc provides; it cannot be given too", help="call SciPy's own function to give it"
            )
