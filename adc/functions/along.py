"""The function forms of forward mode along one direction: ``jvp`` and ``hvp``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adc.border.bound import Bound, unbind
from adc.border.boundary import public
from adc.border.options import ArgNames, ArgNums
from adc.functions.decorator import differentiable, grad, known
from adc.functions.gradient_function import GradientFunction
from adc.ir import kinds


@public
def jvp(
    fn: Callable[..., Any], args: Sequence[Any], tangents: Sequence[Any], *, final: str | Sequence[str] = ()
) -> tuple[Any, ...]:
    """The value of a function and its derivative along tangents of its arguments: ``(value, tangent)``.

    ``tangents`` has an entry for each of ``args``, with the shape and containers of the argument. None, for an argument
    or a part of one, is zero; parts that are not floats have None. The tangent of the result has its shape and
    containers. ``fn`` may be a gradient: ``jvp(grad(f), ...)`` is forward over reverse.

    The caller's arrays are not changed. ``final`` names parameters whose contents after the call are wanted; then the
    result is ``(value, tangent, {name: (contents, their tangent)})``.
    """
    function = known(fn)
    if function is not None and not final:
        return function._jvps(args, tangents)  # type: ignore[no-any-return]
    if (part := unbind(fn)) is not None:
        bound = Bound(differentiable(part.func), *part.args, **part.keywords)
        return jvp(bound.func, *bound.spread(args, tangents), final=final)
    function = differentiable(fn)
    if isinstance(function, GradientFunction):
        if final:
            raise kinds.INVALID_OPTION("a gradient leaves its arguments as they were: it takes no final=")
        return function.jvp(args, tangents)
    return function.jvp(args, tangents, final=final)


@public
def hvp(
    fn: Callable[..., Any],
    args: Sequence[Any],
    tangents: Sequence[Any],
    argnums: ArgNums = None,
    argnames: ArgNames = (),
) -> Any:
    """The second derivative of a function that returns one float, times tangents of its arguments.

    It is the derivative of the gradient (``argnums`` and ``argnames`` choose the arguments, as in ``grad``) along
    ``tangents``, which are given as in ``jvp``. It is computed forward over reverse, at a few times the cost of a
    gradient.
    """
    function = known(fn)
    known_by = type(argnums) in (int, type(None)) and not argnames
    if function is not None and known_by and (along := function._hvps.get(argnums)) is not None:
        return along(args, tangents)
    gradient = grad(fn, argnums, argnames)
    if isinstance(gradient, Bound):
        return gradient.func._along(*gradient.spread(args, tangents))
    if function is not None and known_by:
        function._hvps[argnums] = gradient._along
    return gradient._along(args, tangents)
