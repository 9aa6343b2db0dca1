"""Compares a compiled function with plain Python at some arguments: values, derivatives in both modes, unchanged data.

The reference for derivatives are finite differences of the plain Python function along a random direction. The function
is reduced to one number: a sum, with random weights, of its results and of the final contents of arrays.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adc.border.bound import unbind
from adc.checks import differences
from adc.checks.leaves import (
    along,
    copied,
    direction_of,
    equal,
    flat,
    freed,
    inner,
    is_array,
    is_float,
    is_single,
    mapped,
    moved,
)
from adc.functions.decorator import compiled, grad
from adc.functions.dispatch import sharing

VALUE = 1e-9  # tolerance of values, relative to the largest
TWO_MODES = 1e-8  # tolerance between the two modes, which differ by rounding only
LEAST_SLOPE = 1.8


class Disagreement(Exception):
    """The result of compiled code differs from the reference. ``kink``: it lies between the one-sided differences.

    ``sides``: it does not, but these are the slopes on both sides, however small the step. Where several kinks meet and
    the derivative takes one side at each, it may lie outside of the slopes, and may be right or wrong.
    """

    def __init__(self, message: str, kink: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.kink = kink
        self.sides: tuple[float, float] | None = None


def _with_defaults(fn: Callable[..., Any], args: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments, followed by the defaults of omitted ones, as far as these can be passed by position."""
    try:
        bound = inspect.signature(fn).bind(*args)
    except TypeError:  # the call will raise it
        return tuple(args)
    bound.apply_defaults()
    return bound.args


class Check:
    """Arguments, a direction, and weights for the results, with one method for each thing to check.

    The methods raise ``Disagreement``; errors of adc, where it cannot differentiate, are passed on.
    """

    has_finals = True  # the final contents of arrays have derivatives, too

    def __init__(self, fn: Callable[..., Any], args: Sequence[Any], rtol: float, seed: int) -> None:
        self.compiled = compiled(fn)
        part: functools.partial[Any] = unbind(self.compiled) or functools.partial(self.compiled)
        function: Any = part.func
        subject = function._subject
        self.name = subject.name
        self.python = functools.partial(subject.fn, *part.args, **part.keywords)
        self.rtol = rtol
        self.args = _with_defaults(self.compiled, args)
        self.leaves, self.rebuild = flat(self.args)
        self.names = subject.parameters.names[len(part.args) :]
        named = enumerate(zip(self.names, self.args, strict=False))
        self.finals = {name: k for k, (name, a) in named if self.has_finals and is_array(a)}
        shared = sharing(function, (*part.args, *self.args), part.keywords)
        groups = [[k for k, a in enumerate(self.leaves) if any(a is b for b in group)] for group in shared]
        self.free = freed(self.leaves, groups)  # without overlap that does not matter for derivatives
        self.direction = self._directions(seed)
        self.expected, self.after = self._plain(self.leaves)
        self.single = is_single([*self.leaves, *flat(self.expected)[0]])
        self.weight = mapped(self.expected, self._random)
        self.final_weights = {name: self._random(self.args[k]) for name, k in self.finals.items()}
        self._truth: differences.Difference | None = None
        self._smooth = False  # known not to be at a kink

    # What is checked -------------------------------------------------------------------------------------------------

    def value(self) -> list[Any]:
        """Check the value, and the contents of the arguments after the call. Returns the leaves of both, like the other
        methods."""
        given = self._given()
        found = self.compiled(*given)
        self._same(found, self.expected, "the value", VALUE)
        self._same(given, self.after, "what the arguments hold after the call", VALUE)
        return [*flat(found)[0], *flat(given)[0]]

    def forward(self, *, truth: bool = True) -> tuple[float, list[Any]]:
        """The weighted derivative along the direction by forward mode; ``truth``: compare it with differences."""
        given = self._given()
        found = self.compiled.jvp(given, self._tangents(), final=tuple(self.finals))
        self._same(given, self.args, "what the arguments hold after forward mode", 0.0)
        self._same(found[0], self.expected, "the value in forward mode", VALUE)
        mine = inner(self.weight, found[1])
        if self.finals:
            mine += sum(inner(w, found[2][name][1]) for name, w in self.final_weights.items())
        if truth:
            self._right(mine, "forward mode", 1.0)
        return mine, flat(found)[0]

    def reverse(self, forward: float | None, *, truth: bool = True) -> tuple[float, list[Any]]:
        """The same by the pullback: ``<J' w, v>`` must equal ``<w, J v>`` of forward mode."""
        given = self._given()
        value, back = self.compiled.pullback(*given)
        self._same(value, self.expected, "the value in reverse mode", VALUE)
        self._same(given, self.after, "what the arguments hold after reverse mode", VALUE)
        cotangents, _ = flat(back(_none_if_empty(self.weight), final=self.final_weights), self.args)
        size = 1.0
        for a, c in zip(self.leaves, cotangents, strict=True):
            if not is_float(a):
                continue
            found, wanted = np.asarray(c), np.asarray(a)
            if found.shape != wanted.shape or found.dtype != wanted.dtype:
                raise self._wrong(
                    f"a cotangent has shape {found.shape} and dtype {found.dtype}, its argument {wanted.shape} and "
                    f"{wanted.dtype}"
                )
            size = max(size, float(np.max(np.abs(found), initial=0.0)))
        mine = self._over_all(along(self.free, cotangents, self._counted()))
        size = self._over_all(size)
        if truth:
            self._right(mine, "reverse mode", size)
        if forward is not None:
            self._close(mine, forward, "reverse mode against forward mode", size, min(self.rtol, TWO_MODES))
        if isinstance(self.expected, float | np.floating) and self._numbers:
            given = self._given()
            grad(self.compiled, argnums=self._numbers)(*given)
            self._same(given, self.args, "what the arguments hold after a gradient", 0.0)
        return mine, cotangents

    def slope(self, mine: float) -> float | None:
        """The order of the Taylor remainder. Raises unless it falls with the square of the step, or is at rounding
        level."""
        if self.single:
            return None
        size = inner(self.weight, self.expected, absolute=True)
        size += sum(inner(w, self.after[self.finals[name]], absolute=True) for name, w in self.final_weights.items())
        slope = differences.taylor_slope(self._along, mine, size)
        if slope is not None and slope < LEAST_SLOPE:
            raise self._wrong(
                f"the Taylor remainder f(x + hv) - f(x) - h J v falls as h^{slope:.2f} instead of h^2",
                differences.kinked(self._along, mine),
            )
        return slope

    def second(self) -> None:
        """Compare the derivative of the gradient along the direction with differences of gradients."""
        first = grad(self.compiled, argnums=self._numbers)
        given = self._given()
        found = first.jvp(given, self._tangents())[1]
        self._same(given, self.args, "what the arguments hold after second derivatives", 0.0)
        weights = self._counted_weights(found)

        def weighted(h: float) -> float:
            return self._over_all(inner(weights, first(*self.rebuild(moved(self.free, self.direction, h)))))

        def beside(h: float) -> float:
            args = self.rebuild(moved(self.leaves, self.direction, h))
            return self._over_all(inner(weights, first.jvp(args, self._tangents())[1]))

        truth = differences.derivative(weighted, single=self.single)
        mine = self._over_all(inner(weights, found))
        try:
            self._close(mine, truth.value, "second derivatives", 1.0)
        except Disagreement as wrong:
            wrong.kink = differences.jumps(weighted) or differences.kinked(weighted, mine, single=self.single)
            wrong.kink = wrong.kink or differences.isolated(beside, truth.value, single=self.single)
            raise

    # Directions and differences --------------------------------------------------------------------------------------

    def _directions(self, seed: int) -> list[Any]:
        """A random direction, leaf by leaf. Later random numbers are determined by the seed, too."""
        self.rng = np.random.default_rng(seed)
        return direction_of(self.free, self._random)

    def _counted(self) -> list[Any]:
        """The direction, zero where another rank counts it: in the sum over all ranks each part counts once."""
        return self.direction

    def _over_all(self, x: float) -> float:
        """The sum over all ranks that run the function."""
        return x

    def _counted_weights(self, found: Sequence[Any]) -> Any:
        """Random weights of a gradient, zero where another rank counts it."""
        return mapped(found, self._random)

    @property
    def _numbers(self) -> tuple[int, ...]:
        return tuple(k for k, a in enumerate(self.args) if any(map(is_float, flat(a)[0])))

    def _given(self) -> tuple[Any, ...]:
        made: tuple[Any, ...] = self.rebuild(copied(self.leaves))
        return made

    def _tangents(self) -> Any:
        return self.rebuild([d if is_float(a) else None for a, d in zip(self.leaves, self.direction, strict=True)])

    def _plain(self, leaves: Sequence[Any]) -> tuple[Any, Any]:
        given = self.rebuild(copied(leaves))
        with np.errstate(all="ignore"):
            return self.python(*given), given

    def _along(self, h: float) -> float:
        """The weighted sum of all results after a step ``h`` along the direction."""
        args = self.rebuild(moved(self.free, self.direction, h))
        with np.errstate(all="ignore"):
            result = self.python(*args)
        total = inner(self.weight, result)
        return total + sum(inner(w, args[self.finals[name]]) for name, w in self.final_weights.items())

    def _random(self, leaf: Any) -> Any:
        """A weight for a float or an array of floats; None for anything else."""
        if is_array(leaf):
            return self.rng.uniform(-1.0, 1.0, leaf.shape).astype(leaf.dtype)
        return float(self.rng.uniform(0.5, 1.5)) if is_float(leaf) else None

    # Verdicts --------------------------------------------------------------------------------------------------------

    def _right(self, mine: float, what: str, size: float) -> None:
        """Raise unless central and one-sided differences agree with ``mine``: a kink is reported whatever the
        derivative is there."""
        if self._truth is None:
            self._truth = differences.derivative(self._along, single=self.single)
        try:
            self._close(mine, self._truth.value, what, size)
        except Disagreement as wrong:
            wrong.kink = differences.kinked(self._along, mine, single=self.single)
            if not wrong.kink:
                wrong.sides = differences.kink(self._along, single=self.single)
            raise
        if self._smooth:
            return
        sides = differences.kink(self._along, single=self.single)
        if sides is not None:
            between = f"where the slopes to both sides are {sides[0]:.6g} and {sides[1]:.6g}"
            raise self._wrong(f"{what} gives {mine:.9g} along a direction, {between}", kink=True)
        self._smooth = True

    def _close(self, mine: float, truth: float, what: str, size: float, rtol: float | None = None) -> None:
        scale = max(size, abs(truth), abs(mine) if np.isfinite(mine) else 0.0)
        tolerance = max(self.rtol if rtol is None else rtol, 2e-3 if self.single else 0.0)
        if not abs(mine - truth) <= tolerance * scale:
            raise self._wrong(f"{what} gives {mine:.9g} along a direction, where it should be {truth:.9g}")

    def _same(self, mine: Any, theirs: Any, what: str, rtol: float) -> None:
        found, wanted = flat(mine)[0], flat(theirs)[0]
        alike = len(found) == len(wanted) and all(equal(a, b, rtol) for a, b in zip(found, wanted, strict=True))
        if not alike:
            raise self._wrong(f"{what}: {mine!r}, not {theirs!r}"[:500])

    def _wrong(self, message: str, kink: bool = False) -> Disagreement:
        return Disagreement(f"{self.name}: {message}", kink)


def _none_if_empty(weight: Any) -> Any:
    return None if all(w is None for w in flat(weight)[0]) else weight
