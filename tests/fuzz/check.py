"""One random program against the truth: values, effects, gradients, pullbacks, and each pass by itself."""

from __future__ import annotations

import itertools
import linecache
import math
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import adc
from adc import jit_grad
from tests.fuzz.generator import Arr, Int, Program, generate
from tests.fuzz.oracle import LongOracle, Values, directional, lengthen, rejoin, run_python

_numbers = itertools.count()


@dataclass
class Verdict:
    """``checked`` counts derivatives that were compared; ``skipped`` says why none was."""

    checked: int = 0
    skipped: str = ""


@contextmanager
def loaded(text: str) -> Iterator[Callable[..., Any]]:
    """The function ``main`` of a program, with source lines that can be read back."""
    filename = f"<fuzz-{next(_numbers)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    namespace: dict[str, Any] = {"__name__": "fuzz"}
    try:
        exec(compile(text, filename, "exec"), namespace)
        yield namespace["main"]
    finally:
        linecache.cache.pop(filename, None)


def arguments(program: Program, rng: random.Random) -> Values:
    """Random arguments; now and then two arrays are windows on one."""
    values: Values = []
    for param in program.params:
        if isinstance(param, str):
            values.append(rng.uniform(-1.3, 1.3))
        elif isinstance(param, Int):
            values.append(rng.randint(param.low, param.high))
        elif param.ints:
            values.append(np.array([rng.randint(-3, 3) for _ in range(param.shape[0])], np.int64))
        else:
            values.append(_floats(param, rng))
    _overlap(program, values, rng)
    return values


def _floats(param: Arr, rng: random.Random) -> np.ndarray[Any, Any]:
    dtype = np.float32 if param.single else np.float64
    made = np.empty(param.shape, dtype, order="F" if rng.random() < 0.2 else "C")
    for at in np.ndindex(*param.shape):
        made[at] = rng.uniform(-1.3, 1.3)
    return made


def _overlap(program: Program, values: Values, rng: random.Random) -> None:
    pairs = [
        (i, j)
        for i, p in enumerate(program.params)
        for j, q in enumerate(program.params[:i])
        if isinstance(p, Arr) and isinstance(q, Arr) and len(p.shape) == len(q.shape) == 1
        and not (p.ints or q.ints) and p.single == q.single
    ]
    if not pairs or rng.random() > 0.15 or "prange" in program.text.split("def main", 1)[1]:
        return
    i, j = rng.choice(pairs)
    n, m = values[i].shape[0], values[j].shape[0]
    shift = rng.randint(0, 2)
    base = np.array([rng.uniform(-1.3, 1.3) for _ in range(max(n, m + shift))], values[i].dtype)
    values[i], values[j] = base[:n], base[shift : shift + m]


def check(seed: int, *, rng: random.Random | None = None, engine: Any = "native", size: int = 14) -> Verdict:
    """Generate a program and check it. Raises ``AssertionError`` (or what went wrong), with the program's text.

    One seed in four is compiled with all of LLVM's optimisations, the others with none, which is much faster.
    """
    rng = rng or random.Random(seed)
    program = generate(rng, size)
    args = arguments(program, rng)
    try:
        return _check(program, args, rng, jit_grad(_engine=engine, _level=3 if seed % 4 == 0 else 0))
    except Exception as error:
        error.add_note(f"seed {seed}\narguments {args!r}\n{program.text}")
        raise


def _check(program: Program, args: Values, rng: random.Random, jit: Any) -> Verdict:
    single = any(isinstance(p, Arr) and p.single for p in program.params)
    oracle = LongOracle(program.text)
    with np.errstate(all="ignore"):
        expected, after = run_python(program.text, args)
        trail = oracle.run(lengthen(args))[2]
    close = 1e-3 if single else 1e-9
    if not math.isfinite(expected) or 0.0 < trail.margin < close:
        return Verdict(skipped="a decision is too close")
    tolerance = 2e-4 if single else 1e-9
    with loaded(program.text) as main:
        function = jit(main)
        given = _fresh(args)
        value = function(*given)
        _close(value, expected, tolerance, "the value")
        for k, (mine, theirs) in enumerate(zip(given, after, strict=True)):
            if isinstance(mine, np.ndarray):
                _close(mine, theirs, tolerance, f"argument {k} after the call")
        if trail.margin == 0.0:
            return Verdict(skipped="a tie")
        return _check_derivatives(program, function, args, oracle, rng, tolerance * 50)


def _check_derivatives(
    program: Program, function: Any, args: Values, oracle: LongOracle, rng: random.Random, tolerance: float
) -> Verdict:
    wrt = tuple(k for k, a in enumerate(args) if isinstance(a, float) or _is_float_array(a))
    both = adc.value_and_grad(function, argnums=wrt)
    before = _fresh(args)
    gradients = both(*before)[1]
    for k, (mine, theirs) in enumerate(zip(before, args, strict=True)):
        if isinstance(mine, np.ndarray):
            assert np.array_equal(mine, theirs), f"the gradient changed argument {k}"
    back = function.pullback(*_fresh(args))[1]
    weights = [_weights(a, rng) for a in args]
    names = [p if isinstance(p, str) else p.name for p in program.params]
    final = {name: w for name, w in zip(names, weights, strict=True) if w is not None}
    seed = rng.uniform(0.5, 1.5)
    pulled = back(seed, final=final)
    again = back(seed, final=final)
    for k, (first, second) in enumerate(zip(pulled, again, strict=True)):
        if first is not None:
            assert np.array_equal(first, second, equal_nan=True), f"pulled back twice: argument {k} differs"
    verdict = Verdict()
    direction = _direction(args, rng)
    truth = directional(oracle, args, direction, lambda r, _: r)
    if truth is not None:
        got = _inner(args, dict(zip(wrt, gradients, strict=True)), direction)
        _close(got, truth, tolerance, "the gradient along a direction", scale=_size(gradients))
        verdict.checked += 1

    def weighted(r: Any, final_args: Values) -> Any:
        total = seed * r
        for w, a in zip(weights, final_args, strict=True):
            if w is not None:
                total = total + np.sum(w * a)
        return total

    truth = directional(oracle, args, direction, weighted)
    if truth is not None:
        cotangents = {k: c for k, c in enumerate(pulled) if c is not None}
        got = _inner(args, cotangents, direction)
        _close(got, truth, tolerance, "the pullback along a direction", scale=_size(cotangents.values()))
        verdict.checked += 1
    if not verdict.checked:
        verdict.skipped = "not smooth here"
    return verdict


def _is_float_array(a: Any) -> bool:
    return isinstance(a, np.ndarray) and a.dtype.kind == "f"


def _fresh(args: Values) -> Values:
    return rejoin(args, [a.copy(order="K") if isinstance(a, np.ndarray) else a for a in args])


def _weights(a: Any, rng: random.Random) -> Any:
    if not _is_float_array(a) or a.base is not None:
        return None
    return np.array([rng.uniform(-1, 1) for _ in range(a.size)], a.dtype).reshape(a.shape)


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


def _inner(args: Values, gradients: dict[int, Any], direction: Values) -> float:
    """The gradient along the direction. The gradients of windows on one base are windows on that of the base."""
    total = 0.0
    bases: dict[int, Any] = {}
    for k, gradient in gradients.items():
        a, step = args[k], direction[k]
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


def _size(gradients: Any) -> float:
    return max([1.0, *(float(np.max(np.abs(g), initial=0.0)) for g in gradients)])


def _close(got: Any, expected: Any, tolerance: float, what: str, scale: float = 1.0) -> None:
    got, expected = np.asarray(got, float), np.asarray(expected, float)
    assert got.shape == expected.shape, f"{what}: shape {got.shape}, not {expected.shape}"
    limit = tolerance * np.maximum(scale, np.abs(expected))
    assert np.all(np.abs(got - expected) <= limit), f"{what}: {got}, not {expected}"
