"""Compares a compiled program with plain Python: values, effects on arrays, gradients, pullbacks; one and two threads.

The reference for derivatives are Richardson-extrapolated central differences of the plain Python function along random
directions of the memory behind the arguments, so that arguments may share memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import adc
from adc.backend.runtime import on_threads
from adc.functions.dispatch import sharing
from tests.bits import is_exact_function

Args = Sequence[Any]
# Every program in every layout of its arrays, and its pullback even where it should equal the gradient: takes minutes.
THOROUGH = bool(os.environ.get("ADC_THOROUGH"))
STEPS = (8e-3, 4e-3, 2e-3, 1e-3)


def check(
    fn: Callable[..., Any],
    *cases: Args,
    tol: float = 1e-7,
    layouts: bool = THOROUGH,
    single: bool = False,
    pullback: bool = THOROUGH,
    smooth: bool = True,
    step: float = 1.0,
    rtol: float = 1e-11,
) -> Any:
    """``fn`` is right for each tuple of arguments.

    ``tol`` is that of derivatives, relative to the largest; ``rtol`` that of values, which are equal where ``fn`` is
    arithmetic alone. ``layouts``: also with arrays that
    are not contiguous; ``single``: also with float32 arrays; ``pullback``: also that, where nothing is mutated and
    it should equal the gradient. Where it is not ``smooth`` values alone are compared. ``step`` scales the steps of
    differences. Returns the compiled function.
    """
    compiled = adc.jit_grad(fn)
    rtol = 0.0 if is_exact_function(fn) else rtol
    for number, case in enumerate(cases):
        try:
            _check_case(fn, compiled, case, tol, smooth, step, rtol, pullback)
            if layouts:
                # Layouts differ in how they are compiled, not for which numbers: the first case stands for all.
                for lay_out in _LAYOUTS if number == 0 else ():
                    _check_layout(fn, compiled, case, lay_out, smooth, rtol)
            if single and number == 0:
                _check_single(fn, compiled, case, smooth)
        except BaseException as error:
            error.add_note(f"case {number} of {fn.__name__}: {case!r}"[:2000])
            raise
    return compiled


def _check_case(
    fn: Callable[..., Any],
    compiled: Any,
    case: Args,
    tol: float,
    smooth: bool,
    step: float,
    rtol: float,
    pullback: bool,
) -> None:
    expected, after = plain(fn, case)
    first = _call(compiled, case, expected, after, rtol)
    for threads in (2, 1):
        with on_threads(threads):
            _same(_call(compiled, case, expected, after, rtol), first, f"value on {threads} threads")
    wrt = [k for k, a in enumerate(case) if is_float(a)]
    if not smooth or not wrt:
        return
    rng = np.random.default_rng(7)
    together = frozenset(id(a) for group in sharing(compiled, tuple(case)) for a in group)
    if isinstance(expected, float | np.floating):
        gradients = _gradients(compiled, case, wrt, expected, rtol)
        truth = Truth(fn, case, 1.0, {}, step, together)
        truth.compare(dict(zip(wrt, gradients, strict=True)), tol, "gradient", rng)
        if not pullback and not _changed(case, after):
            _forward(compiled, truth, dict(zip(wrt, gradients, strict=True)), expected, rtol, tol, rng)
            return
    seed = _weights(expected, rng)
    final = {k: rng.uniform(-1, 1, a.shape).astype(a.dtype) for k, a in enumerate(case) if _float_array(a)}
    found = _pulled(compiled, case, seed, final, expected, after, rtol)
    truth = Truth(fn, case, seed, final, step, together)
    truth.compare({k: found[k] for k in wrt}, tol, "pullback", rng)
    _forward(compiled, truth, {k: found[k] for k in wrt}, expected, rtol, tol, rng)


def _forward(
    compiled: Any,
    truth: Truth,
    cotangents: dict[int, Any],
    expected: Any,
    rtol: float,
    tol: float,
    rng: np.random.Generator,
) -> None:
    """Forward mode along a random direction: right, consistent with reverse mode, with arguments left as they were."""
    direction = truth.direction(rng)
    tangents = truth.tangents(direction)
    names = list(compiled._subject.parameters.names)
    final = [names[k] for k in truth.final]
    found: Any = None
    for threads in (2, 1):
        with on_threads(threads):
            given = copies(truth.case)
            again = compiled.jvp(given, tangents, final=final)
            _same(given, truth.case, "arguments after forward mode")
            close(again[0], expected, rtol, "value of forward mode")
            _same(again[1], found[1] if found else again[1], "tangents on two threads")
            found = again
    mine = _dot(truth.seed, found[1])
    mine += sum(float(np.sum(w * found[2][names[k]][1])) for k, w in truth.final.items())
    truth.close(mine, direction, tol, "forward mode")
    reverse = truth.inner(cotangents, direction)
    scale = max([1.0, abs(mine), *(float(np.max(np.abs(g), initial=0.0)) for g in cotangents.values())])
    single = any(isinstance(a, np.float32) or (_float_array(a) and a.itemsize == 4) for a in truth.case)
    limit = (1e-3 if single else 1e-9) * scale
    assert abs(mine - reverse) <= limit, f"forward mode gives {mine}, reverse mode {reverse}"


def _changed(case: Args, after: Args) -> bool:
    return any(isinstance(a, np.ndarray) and not np.array_equal(a, b) for a, b in zip(case, after, strict=True))


def _call(compiled: Any, case: Args, expected: Any, after: Args, rtol: float) -> list[Any]:
    given = copies(case)
    result = compiled(*given)
    close(result, expected, rtol, "value")
    for k, (mine, theirs) in enumerate(zip(given, after, strict=True)):
        if isinstance(mine, np.ndarray):
            close(mine, theirs, rtol, f"argument {k} after the call")
    return [result, *given]


def _gradients(compiled: Any, case: Args, wrt: list[int], expected: Any, rtol: float) -> Any:
    """The gradient on one thread and on two, which leaves the arguments alone."""
    both = adc.value_and_grad(compiled, argnums=tuple(wrt))
    found: list[Any] = []
    for threads in (1, 2, 2):
        with on_threads(threads):
            given = copies(case)
            value, gradients = both(*given)
            close(value, expected, rtol, "value of value_and_grad")
            _same(given, case, "arguments after the gradient")
            found.append(gradients)
    for other in found[1:]:
        _same(other, found[0], "gradient on two threads")
    for k, g in zip(wrt, found[0], strict=True):
        a = case[k]
        if isinstance(a, np.ndarray):
            assert isinstance(g, np.ndarray) and g.shape == a.shape and g.dtype == a.dtype, f"gradient {k}: {g!r}"
        else:
            assert isinstance(g, float | np.floating), f"gradient {k}: {g!r}"
    return found[0]


def _pulled(
    compiled: Any, case: Args, seed: Any, final: dict[int, Any], expected: Any, after: Args, rtol: float
) -> Any:
    names = list(compiled._subject.parameters.names)
    by_name = {names[k]: w for k, w in final.items()}
    first = None
    for threads in (1, 2):
        with on_threads(threads):
            given = copies(case)
            result, back = compiled.pullback(*given)
            close(result, expected, rtol, "value of the pullback")
            for k, (mine, theirs) in enumerate(zip(given, after, strict=True)):
                if isinstance(mine, np.ndarray):
                    close(mine, theirs, rtol, f"argument {k} after the pullback")
            found = back(seed, final=by_name)
            _same(back(seed, final=by_name), found, "pulled back twice")
            if first is not None:
                _same(found, first, "pullback on two threads")
            first = found
    return first


def _check_layout(
    fn: Callable[..., Any], compiled: Any, case: Args, lay_out: Callable[[Any], Any], smooth: bool, rtol: float
) -> None:
    """With arrays laid out otherwise the numbers are the same, up to rounding."""
    if not any(isinstance(a, np.ndarray) and a.size > 1 for a in case) or shared(case):
        return
    other = [lay_out(a) if isinstance(a, np.ndarray) else a for a in case]
    expected, after = plain(fn, case)
    _call(compiled, other, expected, after, rtol)
    wrt = tuple(k for k, a in enumerate(case) if is_float(a))
    if smooth and wrt and isinstance(expected, float | np.floating):
        straight = adc.value_and_grad(compiled, argnums=wrt)(*copies(case))[1]
        for k, mine, theirs in zip(wrt, _gradients(compiled, other, list(wrt), expected, rtol), straight, strict=True):
            close(mine, theirs, max(rtol, 1e-9), f"gradient {k} in another layout")


def _check_single(fn: Callable[..., Any], compiled: Any, case: Args, smooth: bool) -> None:
    """float32 arrays: NumPy's dtypes, and the derivatives of float64 to the accuracy of float32."""
    short = [a.astype(np.float32) if _float_array(a) else a for a in case]
    expected, after = plain(fn, short)
    result = _call(compiled, short, expected, after, 2e-4)[0]
    assert type(result) is type(expected), f"{type(result)}, not {type(expected)}"
    wrt = tuple(k for k, a in enumerate(case) if is_float(a))
    if smooth and wrt and isinstance(expected, float | np.floating):
        exact = adc.value_and_grad(compiled, argnums=wrt)(*copies(case))[1]
        for k, mine, theirs in zip(wrt, _gradients(compiled, short, list(wrt), expected, 2e-4), exact, strict=True):
            close(mine, np.asarray(theirs, np.asarray(mine).dtype), 2e-3, f"gradient {k} in float32")


def plain(fn: Callable[..., Any], case: Args) -> tuple[Any, list[Any]]:
    """The result of plain Python, and the arguments afterwards."""
    given = copies(case)
    with np.errstate(all="ignore"):
        return fn(*given), given


@dataclass
class Truth:
    """Directional derivatives of ``<seed, result> + <final, arguments afterwards>``."""

    fn: Callable[..., Any]
    case: Args
    seed: Any
    final: dict[int, Any]
    step: float
    shared: frozenset[int]  # the arrays, by id, that share a shadow with others; derivatives by any other are its own

    def key(self, k: int) -> int:
        """What stands for the memory of an array argument, or for a float."""
        a = self.case[k]
        return id(root(a)) if id(a) in self.shared else k

    def compare(self, found: dict[int, Any], tol: float, what: str, rng: np.random.Generator) -> None:
        for _ in range(3):
            direction = self.direction(rng)
            size = max([1.0, *(float(np.max(np.abs(g), initial=0.0)) for g in found.values())])
            self.close(self.inner(found, direction), direction, tol, what, size)

    def close(self, mine: float, direction: dict[int, Any], tol: float, what: str, size: float = 1.0) -> None:
        truth, error = self._difference(direction)
        scale = max(size, abs(truth))
        assert error <= 30 * tol * scale, f"the differences are not accurate: {truth} +- {error} ({what}: {mine})"
        assert abs(mine - truth) <= tol * scale + error, f"{what}: {mine}, not {truth} +- {error}"

    def tangents(self, direction: dict[int, Any]) -> list[Any]:
        """The direction, for each argument."""
        return [
            view_like(a, direction[self.key(k)]).astype(a.dtype)
            if _float_array(a)
            else direction[k]
            if is_float(a)
            else None
            for k, a in enumerate(self.case)
        ]

    def direction(self, rng: np.random.Generator) -> dict[int, Any]:
        """By ``key``: a step for each float there."""
        found: dict[int, Any] = {}
        for k, a in enumerate(self.case):
            if _float_array(a):
                found.setdefault(self.key(k), rng.uniform(-1, 1, root(a).size))
            elif is_float(a):
                found[k] = float(rng.uniform(-1, 1))
        return found

    def _value(self, direction: dict[int, Any], h: float) -> float:
        moved: dict[int, Any] = {}
        for k, a in enumerate(self.case):
            if isinstance(a, np.ndarray) and self.key(k) not in moved:
                flat = root(a).ravel(order="K").copy()
                moved[self.key(k)] = flat + h * direction[self.key(k)] if _float_array(a) else flat
        given = [
            view_like(a, moved[self.key(k)])
            if isinstance(a, np.ndarray)
            else a + h * direction[k]
            if is_float(a)
            else a
            for k, a in enumerate(self.case)
        ]
        with np.errstate(all="ignore"):
            result = self.fn(*given)
        total = _dot(self.seed, result)
        return total + sum(float(np.sum(w * given[k])) for k, w in self.final.items())

    def _difference(self, direction: dict[int, Any]) -> tuple[float, float]:
        """The derivative, and an estimate of its error, by Richardson extrapolation over halved steps."""
        steps = [h * self.step for h in STEPS]
        row = [(self._value(direction, h) - self._value(direction, -h)) / (2 * h) for h in steps]
        best, error = row[-1], abs(row[-1] - row[-2])
        for order in range(1, len(steps)):
            factor = 4.0**order
            row = [(factor * row[i + 1] - row[i]) / (factor - 1) for i in range(len(row) - 1)]
            change = abs(row[-1] - best)
            if change <= error:
                best, error = row[-1], change
        return best, error

    def inner(self, found: dict[int, Any], direction: dict[int, Any]) -> float:
        """Gradients of arguments that share a shadow are windows on the one gradient of this memory."""
        whole = {self.key(k): np.zeros(root(a).size) for k, a in enumerate(self.case) if _float_array(a)}
        total = 0.0
        for k, gradient in found.items():
            a = self.case[k]
            if _float_array(a):
                view_like(a, whole[self.key(k)])[...] = gradient
            else:
                total += float(gradient) * direction[k]
        return total + sum(float(np.dot(g, direction[key])) for key, g in whole.items())


def root(a: Any) -> Any:
    """The array that owns the memory."""
    while isinstance(a.base, np.ndarray):
        a = a.base
    return a


def view_like(a: Any, memory: Any) -> Any:
    """What ``a`` is of its root's memory, of ``memory`` (flat, of any dtype)."""
    owner = root(a)
    offset = (a.__array_interface__["data"][0] - owner.__array_interface__["data"][0]) // a.itemsize * memory.itemsize
    strides = tuple(s // a.itemsize * memory.itemsize for s in a.strides)
    return np.ndarray(a.shape, memory.dtype, memory, offset, strides)


def copies(case: Args) -> list[Any]:
    """The arguments anew: arrays laid out as they were, sharing memory as they did."""
    memory: dict[int, Any] = {}
    for a in case:
        if isinstance(a, np.ndarray) and id(root(a)) not in memory:
            memory[id(root(a))] = root(a).ravel(order="K").copy()
    return [view_like(a, memory[id(root(a))]) if isinstance(a, np.ndarray) else a for a in case]


def shared(case: Args) -> bool:
    roots = [id(root(a)) for a in case if isinstance(a, np.ndarray)]
    return len(set(roots)) < len(roots)


def _strided(a: Any) -> Any:
    memory = np.full(tuple(2 * n + 1 for n in a.shape), 1, a.dtype)
    view = memory[tuple(slice(1, 2 * n + 1, 2) for n in a.shape)]
    view[...] = a
    return view


def _reversed(a: Any) -> Any:
    backwards = (slice(None, None, -1),) * a.ndim
    return a[backwards].copy()[backwards]


_LAYOUTS: list[Callable[[Any], Any]] = [_reversed, np.asfortranarray, _strided]


def is_float(a: Any) -> bool:
    return isinstance(a, float | np.floating) or _float_array(a)


def _float_array(a: Any) -> bool:
    return isinstance(a, np.ndarray) and a.dtype.kind == "f"


def _weights(result: Any, rng: np.random.Generator) -> Any:
    if isinstance(result, tuple):
        return tuple(_weights(r, rng) for r in result)
    if _float_array(result):
        return rng.uniform(-1, 1, result.shape).astype(result.dtype)
    return float(rng.uniform(0.5, 1.5)) if is_float(result) else None


def _dot(seed: Any, result: Any) -> float:
    if seed is None:
        return 0.0
    if isinstance(seed, tuple):
        return sum(_dot(s, r) for s, r in zip(seed, result, strict=True))
    return float(np.sum(seed * result))


def close(mine: Any, theirs: Any, rtol: float, what: str) -> None:
    if theirs is None or isinstance(theirs, tuple):
        assert type(mine) is type(theirs), f"{what}: {mine!r}, not {theirs!r}"
        for k, (m, t) in enumerate(zip(mine or (), theirs or (), strict=True)):
            close(m, t, rtol, f"{what}[{k}]")
        return
    m, t = np.asarray(mine), np.asarray(theirs)
    assert m.shape == t.shape and m.dtype == t.dtype, f"{what}: {m.dtype}{m.shape}, not {t.dtype}{t.shape}"
    size = np.max(np.abs(t[np.isfinite(t)]), initial=0.0)
    assert np.allclose(m, t, rtol=rtol, atol=rtol * max(size, 1e-3), equal_nan=True), f"{what}: {mine}, not {theirs}"


def _same(mine: Any, theirs: Any, what: str) -> None:
    """Bit for bit."""
    if isinstance(mine, tuple | list):
        for m, t in zip(mine, theirs, strict=True):
            _same(m, t, what)
    elif mine is not None:
        assert np.asarray(mine).tobytes() == np.asarray(theirs).tobytes(), f"{what}: {mine}, not {theirs}"
