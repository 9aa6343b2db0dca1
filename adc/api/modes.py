"""The function forms for whole Jacobians: ``jacobian``, ``hessian`` and their sparse forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adc.border.bound import of_bound
from adc.border.boundary import public
from adc.border.options import NONE, ArgNames, ArgNums, selection
from adc.functions.decorator import differentiable, grad
from adc.functions.gradient_function import GradientFunction
from adc.functions.jacobian_function import JacobianFunction
from adc.functions.jacobians import Mode
from adc.sparse.matrices import SparseFunction


@public
@of_bound
def jacobian(
    fn: Callable[..., Any], argnums: ArgNums = None, argnames: ArgNames = (), *, mode: Mode = "auto"
) -> JacobianFunction:
    """The Jacobian of a function, as a function of the same arguments.

    For a result of shape ``s`` and an argument of shape ``t`` it is an array of shape ``(*s, *t)``. For a result with
    containers there is such an array in place of each array or float. ``argnums`` and ``argnames`` choose arguments as
    in ``grad``, and the Jacobians are arranged like gradients. ``fn`` may be a gradient.

    ``mode`` is ``"forward"``, one run per number in the arguments, or ``"reverse"``, one reverse sweep per number in
    the result. ``"auto"`` chooses the one that needs fewer runs, and forward mode if the function changes its
    arguments.
    """
    function = differentiable(fn)
    chosen = selection(argnums, argnames)
    of = function._forward_of if isinstance(function, GradientFunction) else NONE
    return JacobianFunction(function._subject, chosen, of, mode)


@public
@of_bound
def hessian(fn: Callable[..., Any], argnums: ArgNums = None, argnames: ArgNames = ()) -> JacobianFunction:
    """The second derivatives of a function that returns one float, as a function of the same arguments.

    It is the Jacobian of the gradient: an array of shape ``(*t, *t)`` for an argument of shape ``t``, and one for each
    pair if there are several. It is computed forward over reverse, with one run per number in the arguments.
    """
    return jacobian(grad(fn, argnums, argnames), argnums, argnames)


@public
@of_bound
def sparse_jacobian(
    fn: Callable[..., Any],
    argnums: ArgNums = None,
    argnames: ArgNames = (),
    *,
    pattern: Any = None,
    mode: Mode = "auto",
) -> SparseFunction:
    """The Jacobian of a function as a SciPy CSR array; a function of the same arguments.

    Its rows are the floats that the function returns. Its columns are those of the arguments that ``argnums`` and
    ``argnames`` choose: arrays in C order, one after the other, and items of containers likewise.

    ``pattern`` says which entries may differ from zero: a SciPy sparse matrix, a boolean array, or a pair of arrays of
    row and column numbers. By default adc detects it. Pattern and colouring are kept for later calls;
    ``colouring(*args)`` shows them. A given pattern is checked along a random direction at each call; if it is too
    small, ``DifferentiationError`` is raised. A pattern is detected again if branches depend on floats and now go
    another way.

    ``mode`` is ``"forward"``, one run per group of columns that share no row, or ``"reverse"``, one reverse sweep per
    group of rows that share no column. ``"auto"`` chooses the one that needs fewer.
    """
    function = differentiable(fn)
    of = function._forward_of if isinstance(function, GradientFunction) else NONE
    return SparseFunction(function._subject, selection(argnums, argnames), of, mode, pattern)


@public
@of_bound
def sparse_hessian(
    fn: Callable[..., Any], argnums: ArgNums = None, argnames: ArgNames = (), *, pattern: Any = None
) -> SparseFunction:
    """The second derivatives of a function that returns one float, as a SciPy CSR array; a function of the same
    arguments.

    Rows and columns are the floats of the arguments that ``argnums`` and ``argnames`` choose, in the order of
    ``sparse_jacobian``. It is computed forward over reverse, with one run per colour of a star colouring of the
    pattern, which is given or detected as in ``sparse_jacobian``. An entry of the pattern on one side of the diagonal
    stands for both sides.
    """
    function = grad(fn, argnums, argnames)
    chosen = selection(argnums, argnames)
    return SparseFunction(function._subject, chosen, function._forward_of, "auto", pattern, symmetric=True)
