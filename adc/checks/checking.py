"""Checks of users' functions: values, derivatives in both modes, and arguments that must not change.

The reference is the plain Python function: its central differences along random directions, with Richardson
extrapolation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from adc.border.boundary import public
from adc.checks.over_ranks import check_of
from adc.checks.verdict import Disagreement
from adc.ir import kinds

MODES = ("forward", "reverse")


@public
def test_rule(fn: Callable[..., Any], /, *args: Any, rtol: float = 1e-6, seed: int = 0) -> None:
    """Check the values and derivatives of ``fn`` at ``args``.

    Compiled code must return what Python returns, and leave the same in the arguments. Both modes are compared with
    differences and with each other (``<w, J v> = <J' w, v>``), and the shapes and dtypes of cotangents are checked.
    Arrays may share memory. ``rtol`` is relative to the largest derivative; ``seed`` determines the random directions.
    Raises ``DifferentiationError``, which says what is wrong.
    """
    check = check_of(fn, args, rtol, seed)
    with _raising():
        check.value()
        forward, _ = check.forward()
        check.reverse(forward)


test_rule.__test__ = False  # type: ignore[attr-defined]  # for pytest, whose tests begin so


@public
def check_grads(
    fn: Callable[..., Any],
    args: Sequence[Any],
    order: int = 1,
    modes: Iterable[str] = MODES,
    *,
    rtol: float = 1e-6,
    seed: int = 0,
) -> None:
    """Compare the derivatives of ``fn`` at ``args`` with differences, up to ``order`` (1 or 2), in the given ``modes``.

    Second derivatives, for functions that return one float, are computed forward over reverse. A point that looks like
    a kink is an error too, even if the derivative is the mean of the slopes on both sides. See ``test_rule``.

    A function that several ranks run together (``adc.mpi``) is checked on all ranks at once, along one direction in the
    arguments of all ranks. Its value must be one number that is the same on all ranks.
    """
    chosen = (modes,) if isinstance(modes, str) else tuple(modes)
    if not chosen or not set(chosen) <= set(MODES):
        raise kinds.INVALID_OPTION(f"modes are some of {', '.join(map(repr, MODES))}, not {modes!r}")
    if order not in (1, 2):
        raise kinds.INVALID_OPTION(f"order is 1 or 2, not {order!r}")
    check = check_of(fn, args, rtol, seed)
    with _raising():
        if "forward" in chosen:
            check.forward()
        if "reverse" in chosen:
            check.reverse(None)
        if order == 2:
            check.second()


@contextmanager
def _raising() -> Iterator[None]:
    try:
        yield
    except Disagreement as wrong:
        if wrong.kink:
            raise kinds.WRONG_DERIVATIVE(
                f"{wrong.message}; the point looks like a kink",
                help="docs/derivatives.md says which derivative is taken at a kink; check at a point beside it",
            ) from None
        if wrong.sides is not None:
            raise kinds.WRONG_DERIVATIVE(
                f"{wrong.message}; but the slopes to both sides are {wrong.sides[0]:.6g} and {wrong.sides[1]:.6g}: the "
                "point looks like a kink, or several",
                help="check at a point beside it; of several kinks the derivative may take any side of each",
            ) from None
        raise kinds.WRONG_DERIVATIVE(
            wrong.message, help="adc.find_culprit(f, *args) looks for the operation that is wrong"
        ) from None
