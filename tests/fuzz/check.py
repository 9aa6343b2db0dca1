"""Checks one random program against the reference: values, effects, gradients, pullbacks, and each pass alone."""

from __future__ import annotations

import functools
import itertools
import linecache
import math
import os
import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import adc
from adc import jit_grad
from adc.errors import CompileError, DifferentiationError, ShapeError
from adc.functions.dispatch import sharing
from tests.fuzz import features
from tests.fuzz.expressions import Arr
from tests.fuzz.generator import Program, generate
from tests.fuzz.long import generate_long
from tests.fuzz.oracle import SHORT_STEP, STEP, Oracle, Run, copies, difference, lengthen, samples, second_difference
from tests.fuzz.params import Group, Spec, Values, arguments, build, flat, name_of, read

_numbers = itertools.count()


@dataclass
class Verdict:
    """``checked`` counts derivatives that were compared; ``skipped`` says why none was."""

    checked: int = 0
    skipped: str = ""


def level_of(seed: int) -> int:
    """LLVM's optimisation level for a program: that of ``ADC_LEVEL``; where that says nothing, one in four is compiled
    as for users, the others with none, which is much faster."""
    return int(os.environ.get("ADC_LEVEL") or (3 if seed % 4 == 0 else 0))


@contextmanager
def loaded(text: str) -> Iterator[dict[str, Any]]:
    """The names of a program, ``main`` among them, with source lines that can be read back."""
    filename = f"<fuzz-{next(_numbers)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    namespace: dict[str, Any] = {"__name__": "fuzz"}
    try:
        exec(compile(text, filename, "exec", dont_inherit=True), namespace)
        yield namespace
    finally:
        linecache.cache.pop(filename, None)


def check(
    seed: int,
    *,
    rng: random.Random | None = None,
    engine: Any = "native",
    size: int = 14,
    only: frozenset[str] | None = None,
    level: int | None = None,
    twice: bool | None = None,
    turn: int | None = None,
    idioms: bool = False,
) -> Verdict:
    """Generate a program and check it. Raises ``AssertionError`` (or what went wrong), with the program's text.

    One in eight has arrays that are long enough for vectors. ``idioms``: it is made of what numerical programs are made
    of. ``level``: LLVM's, by default ``level_of``. ``twice``:
    whether second derivatives are checked, too; by default of one in five. ``turn``: reverse over reverse, which takes
    most of the time, is by one parameter only, whose turn it is.
    """
    rng = rng or random.Random(seed)
    long = seed % 8 == 4
    only = features.idioms(rng) if idioms else only
    program = (generate_long if long else generate)(rng, size, only)
    leaves = arguments(program.params, rng, overlap="prange" not in program.text.split("def main", 1)[1])
    try:
        subject = Subject(program, leaves, jit_grad(_engine=engine, _level=level_of(seed) if level is None else level))
        subject.step = SHORT_STEP if long else STEP
        subject.twice = seed % 5 == 0 if twice is None else twice
        subject.turn = turn
        return subject.check(rng)
    except Exception as error:
        error.add_note(f"seed {seed}\narguments {leaves!r}\n{program.text}")
        raise


class Subject:
    """A program, its arguments leaf by leaf, and how to compile it. ``step`` is that of differences; ``twice``: second
    derivatives are checked, too; ``turn``: reverse over reverse by one parameter, the number modulo theirs."""

    step = STEP
    twice = False
    turn: int | None = None

    def __init__(self, program: Program, leaves: Values, jit: Any) -> None:
        self.params = program.params
        self.text = program.text
        self.leaves = self.free = leaves  # ``free``: without overlap that derivatives do not see
        self.jit = jit
        self.oracle = Oracle(program.text, program.params)
        single = any(isinstance(p, Arr) and p.single for p in flat(program.params))
        self.close = 1e-3 if single else 1e-9
        self.tolerance = 2e-4 if single else 1e-9

    def check(self, rng: random.Random) -> Verdict:
        expected = self.oracle.run_plain(self.leaves)
        exact = self.oracle.run(lengthen(self.leaves))
        trail = exact.trail
        if 0.0 < trail.margin < self.close or (expected.error is None and not math.isfinite(expected.result)):
            return Verdict(skipped="a decision is too close")
        if expected.error is exact.error is None and not self._is_stable(expected.result, exact.result):
            return Verdict(skipped="chaotic")
        with loaded(self._with_gradients() if self.twice else self.text) as names:
            function = self.jit(names["main"])
            if expected.error is not None:
                self._fails(function, names, expected)
                return Verdict(skipped="raises")
            given = self._given(names)
            _close(function(*given), expected.result, self.tolerance, "the value")
            self._same_leaves(given, expected.after, "after the call", self.tolerance)
            if trail.margin == 0.0:
                return Verdict(skipped="a tie")
            return self._derivatives(function, names, exact, rng)

    def _is_stable(self, value: Any, exact: Any) -> bool:
        """Whether plain Python itself is sure of the value: rounding errors may grow without bound in a program."""
        return bool(abs(value - exact) <= 0.1 * self.tolerance * max(1.0, abs(exact)))

    def _given(self, names: dict[str, Any]) -> Values:
        """Fresh arguments, of the classes of the module with these names."""
        return build(self.params, copies(self.leaves), names)

    def _same_leaves(self, given: Values, expected: Values, when: str, tolerance: float) -> None:
        found = read(self.params, given, given)
        for leaf, mine, theirs in zip(flat(self.params), found, expected, strict=True):
            if mine is None or theirs is None:
                assert mine is theirs, f"{name_of(leaf)} {when}: {mine}, not {theirs}"
            else:
                _close(mine, theirs, tolerance, f"{name_of(leaf)} {when}")

    def _fails(self, function: Any, names: dict[str, Any], expected: Run) -> None:
        """The same exception as in Python, arrays left as Python left them; by the gradient, as they were.

        Objects keep the fields that they had: what a call makes of them it hands over at its end.
        """
        given = self._given(names)
        _same_error(expected.error, lambda: function(*given))
        before = read(self.params, self._given(names), given)
        pairs = zip(expected.after, before, strict=True)
        after = [mine if isinstance(mine, np.ndarray) else theirs for mine, theirs in pairs]
        self._same_leaves(given, after, "after the exception", self.tolerance)
        wrt = self._wrt()
        given = self._given(names)
        _same_error(expected.error, lambda: adc.value_and_grad(function, argnums=wrt)(*given))
        self._same_leaves(given, before, "after the gradient's exception", 0.0)

    def _wrt(self) -> tuple[int, ...]:
        """The parameters that have something to differentiate in them."""
        return tuple(k for k, (_, part) in enumerate(self._parts()) if any(map(_has_gradient, part)))

    def _derivatives(self, function: Any, names: dict[str, Any], exact: Run, rng: random.Random) -> Verdict:
        wrt = self._wrt()
        given = self._given(names)
        found = adc.value_and_grad(function, argnums=wrt)(*given)[1]
        self._same_leaves(given, read(self.params, self._given(names), given), "after the gradient", 0.0)
        gradients = self._gradient_leaves(dict(zip(wrt, found, strict=True)), given)
        back = function.pullback(*self._given(names))[1]
        weights = self._weights(rng)
        seed = rng.uniform(0.5, 1.5)
        final = self._final(weights)
        pulled, again = (self._gradient_leaves(dict(enumerate(back(seed, final=final))), given) for _ in range(2))
        for k, (first, second) in enumerate(zip(pulled, again, strict=True)):
            if first is not None:
                assert np.array_equal(first, second, equal_nan=True), f"pulled back twice: leaf {k} differs"
        self.free = self._freed(function, given)
        direction = _direction(self.free, rng)
        along = self._forward(function, names, direction, weights, seed)
        _close(along, _inner(self.free, pulled, direction), 1e-3 if self.tolerance > 1e-6 else 1e-8,
               "forward against reverse mode", scale=_size(pulled))
        runs = samples(self.oracle, self.free, direction, exact.trail, self.step)
        if runs is None:
            return Verdict(skipped="not smooth here")

        def weighted(result: Any, after: Values) -> Any:
            total = seed * result
            for w, a in zip(weights, after, strict=True):
                if w is not None:
                    total = total + np.sum(w * a)
            return total

        tolerance = self.tolerance * 50
        for what, value, cotangents in (
            ("the gradient along a direction", lambda result, _: result, gradients),
            ("the pullback along a direction", weighted, pulled),
        ):
            truth = difference(runs, value, self.step)
            _close(_inner(self.free, cotangents, direction), truth, tolerance, what, scale=_size(cotangents))
        _close(along, truth, tolerance, "forward mode", scale=_size(pulled))
        # Of arguments that share a shadow adc forms none.
        twice = self.twice and not self._overlap()
        if twice:
            self._second(function, names, direction, second_difference(runs, exact, self.step))
        return Verdict(checked=3 + twice)

    def _second(self, function: Any, names: dict[str, Any], direction: Values, truth: float) -> None:
        """The second derivative along a direction, forward over reverse."""
        given, wrt = self._given(names), self._wrt()
        found = adc.hvp(function, given, self._tangents(direction), argnums=wrt)
        self._same_leaves(given, read(self.params, self._given(names), given), "after second derivatives", 0.0)
        gradients = self._gradient_leaves(dict(zip(wrt, found, strict=True)), given)
        tolerance = max(self.tolerance * 500, 1e-6 if self.step == STEP else 1e-4)
        second = _inner(self.free, gradients, direction)
        _close(second, truth, tolerance, "the second derivative along a direction", scale=_size(gradients))
        places = [n for n, k in enumerate(wrt) if isinstance(self.params[k], str | Arr)]
        if self.turn is not None and places:
            places = [places[self.turn % len(places)]]
        for n in places:
            self._reverse_twice(function, names, n, direction, scheduled=n == places[0])

    def _reverse_twice(
        self, function: Any, names: dict[str, Any], n: int, direction: Values, *, scheduled: bool
    ) -> None:
        """The second derivative by one argument, the ``n``th of those that have one, reverse over reverse, against
        forward over reverse. ``scheduled``: by a schedule, too."""
        along, wrt = self._tangents(direction), self._wrt()
        k = wrt[n]
        twice = adc.grad(self.jit(names[f"along_{k}"]), argnums=1 + k)
        try:
            found = twice(along[k], *self._given(names))
        except DifferentiationError as error:
            assert "changes what is outside of it" in str(error)
            return
        # The others stand still, which is no other code: it is compiled once for all of them.
        owners = [owner for owner, (_, part) in enumerate(self._parts()) for _ in part]
        moves = zip(owners, direction, strict=True)
        alone = [step if step is None or owner == k else 0.0 * step for owner, step in moves]
        expected = adc.hvp(function, self._given(names), self._tangents(alone), argnums=wrt)[n]
        scale = _size([expected])
        tolerance = 1e-3 if self.tolerance > 1e-6 else 1e-7
        _close(found, expected, tolerance, "reverse over reverse", scale=scale)
        if scheduled:
            try:
                again = twice(along[k], *self._given(names), checkpoint=adc.revolve(2))
            except DifferentiationError as error:
                assert "checkpoint= has nothing to act on" in str(error)
                return
            _close(again, expected, tolerance, "reverse over reverse, by a schedule", scale=scale)

    def _with_gradients(self) -> str:
        """The program with a function for each number and array: the gradient by it, along a direction."""
        text = self.text + "\n\nimport adc\n"
        names = ", ".join(self._names())
        # A gradient taken inside may not change what is outside.
        given = ", ".join(f"{p.name}.copy()" if isinstance(p, Arr) else name_of(p) for p in self.params)
        for k, param in enumerate(self.params):
            if isinstance(param, str | Arr):
                text += f"\n\ndef along_{k}(direction, {names}):\n"
                along = f"direction * adc.grad(main, argnums={k})({given})"
                text += f"    return np.sum({along})\n" if isinstance(param, Arr) else f"    return {along}\n"
        return text

    def _freed(self, function: Any, given: Values) -> Values:
        """The leaves; windows on one array are copied if the function only reads them: derivatives are by each."""
        if any(len(group) > 1 for group in sharing(function, tuple(given))):
            return self.leaves
        return [a.copy() if isinstance(a, np.ndarray) and a.base is not None else a for a in self.leaves]

    def _overlap(self) -> bool:
        """Whether arguments are windows on one array that the program writes to."""
        bases = [id(a if a.base is None else a.base) for a in self.free if _is_float_array(a)]
        return len(set(bases)) < len(bases)

    def _tangents(self, direction: Values) -> list[Any]:
        """A direction as forward mode takes it."""
        rest = iter(_window(a, step) for a, step in zip(self.free, direction, strict=True))
        return [_contained(param, rest) for param in self.params]

    def _forward(
        self, function: Any, names: dict[str, Any], direction: Values, weights: Values, seed: float
    ) -> float:
        """The derivative along a direction by forward mode, of the weighted result and final state."""
        given = self._given(names)
        final = self._final(weights)
        tangent, states = function.jvp(given, self._tangents(direction), final=tuple(final) or self._names()[:1])[1:]
        self._same_leaves(given, read(self.params, self._given(names), given), "after forward mode", 0.0)
        return seed * tangent + sum(_paired(w, states[name][1]) for name, w in final.items())

    def _names(self) -> list[str]:
        return [name_of(param) for param in self.params]

    def _gradient_leaves(self, gradients: dict[int, Any], given: Values) -> Values:
        """Leaf by leaf, None for what has none; of parameters that are not among them too."""
        found: Values = []
        for k, param in enumerate(self.params):
            if gradients.get(k) is None:
                found += [None for _ in flat([param])]
            else:
                found += read([param], [gradients[k]], [given[k]])
        for leaf, value, gradient in zip(flat(self.params), self.leaves, found, strict=True):
            assert gradient is None or _has_gradient(value), f"{name_of(leaf)} has the gradient {gradient}"
        return found

    def _weights(self, rng: random.Random) -> Values:
        """Leaf by leaf, weights of what arrays and fields of objects are afterwards; None for what has none."""
        return [w for param, part in self._parts() for w in _weights(param, iter(part), rng, inside=False)]

    def _parts(self) -> list[tuple[Spec, Values]]:
        """The parameters with their leaves."""
        rest = iter(self.leaves)
        return [(param, [next(rest) for _ in flat([param])]) for param in self.params]

    def _final(self, weights: Values) -> dict[str, Any]:
        """The weights as the pullback takes them: objects as dicts of fields."""
        rest = iter(weights)
        found = {name_of(param): _contained(param, rest) for param in self.params}
        return {name: w for name, w in found.items() if w is not None}


def _weights(spec: Spec, rest: Iterator[Any], rng: random.Random, *, inside: bool) -> Values:
    """``inside``: of an object whose fields may have changed."""
    if isinstance(spec, Group):
        changes = spec.kind in ("class", "list", "dict") and not spec.constant
        return [w for _, item in spec.items for w in _weights(item, rest, rng, inside=changes)]
    a = next(rest)
    if isinstance(spec, str) and inside:
        return [rng.uniform(-1, 1)]
    if not _is_float_array(a) or a.base is not None:
        return [None]
    return [np.array([rng.uniform(-1, 1) for _ in range(a.size)], a.dtype).reshape(a.shape)]


def _contained(spec: Spec, rest: Iterator[Any]) -> Any:
    if not isinstance(spec, Group):
        return next(rest)
    items = {label: _contained(item, rest) for label, item in spec.items}
    if all(w is None for w in items.values()):
        return None
    if spec.kind in ("tuple", "list"):
        return tuple(items.values()) if spec.kind == "tuple" else list(items.values())
    return {label: w for label, w in items.items() if w is not None}


_NUMBER = re.compile(r"[-+]?\d+\.\d*(?:[eE][-+]?\d+)?")


def _same_error(expected: Exception | None, call: Callable[[], Any]) -> None:
    """The class that Python raised; its message too, where the program raised it, up to rounding of floats."""
    assert expected is not None
    try:
        result = call()
    except Exception as error:
        if not isinstance(error, type(expected)) or isinstance(error, CompileError):
            raise
        if isinstance(error, adc.AdcError):
            # adc says where it was, in its own form.
            known = isinstance(expected, IndexError | UnboundLocalError | ZeroDivisionError)
            assert known or isinstance(error, ShapeError), f"{error!r}, not {expected!r}"
            return
        assert type(error) is type(expected), f"{error!r}, not {expected!r}"
        mine, theirs = str(error).split("\n")[0], str(expected)
        assert _NUMBER.sub("#", mine) == _NUMBER.sub("#", theirs), f"the message {mine!r}, not {theirs!r}"
        for m, t in zip(_NUMBER.findall(mine), _NUMBER.findall(theirs), strict=True):
            assert abs(float(m) - float(t)) <= 0.02 * max(1.0, abs(float(t))), f"the message {mine!r}, not {theirs!r}"
        return
    raise AssertionError(f"{result}, but Python raises {expected!r}")


def _has_gradient(a: Any) -> bool:
    return isinstance(a, float) or _is_float_array(a)


def _is_float_array(a: Any) -> bool:
    return isinstance(a, np.ndarray) and a.dtype.kind == "f"


def _direction(args: Values, rng: random.Random) -> Values:
    """A random direction; for windows on one base that of the base, the same at each of them."""
    bases: dict[int, Any] = {}
    found: Values = []
    for a in args:
        if isinstance(a, float):
            found.append(rng.uniform(-1, 1))
        elif _is_float_array(a):
            base = a if a.base is None else a.base
            if id(base) not in bases:
                bases[id(base)] = np.array([rng.uniform(-1, 1) for _ in range(base.size)]).reshape(base.shape)
            found.append(bases[id(base)])
        else:
            found.append(None)
    return found


def _inner(leaves: Values, gradients: Values, direction: Values) -> float:
    """The gradient along the direction. The gradients of windows on one base are windows on that of the base."""
    total = 0.0
    bases: dict[int, Any] = {}
    for a, gradient, step in zip(leaves, gradients, direction, strict=True):
        if gradient is None:
            continue
        if isinstance(a, float):
            total += float(gradient) * step
        elif a.base is None:
            assert gradient.shape == a.shape and gradient.dtype == a.dtype
            total += float(np.sum(np.asarray(gradient, float) * step))
        else:
            whole = bases.setdefault(id(a.base), (np.zeros(a.base.shape), step))[0]
            offset = (a.__array_interface__["data"][0] - a.base.__array_interface__["data"][0]) // a.itemsize
            whole[offset : offset + a.size] = gradient
    return total + sum(float(np.sum(whole * step)) for whole, step in bases.values())


def _window(a: Any, step: Any) -> Any:
    """The part of a direction that belongs to an array: of that of its base, if it is a window."""
    if not _is_float_array(a) or a.base is None:
        return step
    offset = (a.__array_interface__["data"][0] - a.base.__array_interface__["data"][0]) // a.itemsize
    return step[offset : offset + a.size]


def _paired(weight: Any, tangent: Any) -> float:
    """The inner product of weights, in dicts, lists and tuples, and a tangent in the containers of its argument."""
    if weight is None:
        return 0.0
    if isinstance(weight, dict):
        part = tangent.__getitem__ if isinstance(tangent, dict) else functools.partial(getattr, tangent)
        return sum(_paired(w, part(label)) for label, w in weight.items())
    if isinstance(weight, tuple | list):
        return sum(_paired(w, t) for w, t in zip(weight, tangent, strict=True))
    return float(np.sum(weight * tangent))


def _size(gradients: Any) -> float:
    return max([1.0, *(float(np.max(np.abs(g), initial=0.0)) for g in gradients if g is not None)])


def _close(got: Any, expected: Any, tolerance: float, what: str, scale: float = 1.0) -> None:
    got, expected = np.asarray(got, float), np.asarray(expected, float)
    assert got.shape == expected.shape, f"{what}: shape {got.shape}, not {expected.shape}"
    limit = tolerance * np.maximum(scale, np.abs(expected))
    assert np.all(np.abs(got - expected) <= limit), f"{what}: {got}, not {expected}"
