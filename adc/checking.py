"""Checks that users make of their functions: values, derivatives in both modes, and what must stay as it was.

The truth are central differences of the plain Python function, extrapolated (Richardson), along random directions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from adc import aliasing
from adc.boundary import public
from adc.decorator import JitFunction, function_of, grad
from adc.frontend.data.forms import Form, build, form_of, items_of
from adc.ir import kinds

NDArray = np.ndarray[Any, Any]
MODES = ("forward", "reverse")
Rebuild = Callable[[Sequence[Any]], Any]


@public
def test_rule(fn: Callable[..., Any], /, *args: Any, rtol: float = 1e-6, seed: int = 0) -> None:
    """Check ``fn`` at ``args``: that compiled code gives what Python gives, arguments included; both modes against
    differences; ``<w, J v> = <J' w, v>``; the shapes and dtypes of cotangents; that arguments stay as they were.

    Arrays may share memory. ``rtol`` is relative to the largest derivative; ``seed`` is of the random directions.
    Raises ``DifferentiationError`` that says what is wrong, returns None if all is right.
    """
    check = _Check(fn, args, rtol, seed)
    check.value()
    forward = check.forward()
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
    """Check the derivatives of ``fn`` at ``args`` against differences, up to ``order`` (1 or 2), in some ``modes``.

    Second derivatives, of functions that return one float, are formed forward over reverse. See ``test_rule``.
    """
    chosen = (modes,) if isinstance(modes, str) else tuple(modes)
    if not chosen or not set(chosen) <= set(MODES):
        raise kinds.INVALID_OPTION(f"modes are some of {', '.join(map(repr, MODES))}, not {modes!r}")
    if order not in (1, 2):
        raise kinds.INVALID_OPTION(f"order is 1 or 2, not {order!r}")
    check = _Check(fn, args, rtol, seed)
    if "forward" in chosen:
        check.forward()
    if "reverse" in chosen:
        check.reverse(None)
    if order == 2:
        check.second()


class _Check:
    def __init__(self, fn: Callable[..., Any], args: Sequence[Any], rtol: float, seed: int) -> None:
        self.compiled: JitFunction[..., Any] = function_of(fn)
        subject = self.compiled._subject
        self.name = subject.name
        self.python = subject.fn
        self.rtol = rtol
        self.rng = np.random.default_rng(seed)
        self.args = tuple(args)
        self.leaves, self.rebuild = _flat(self.args)
        names = subject.parameters.names
        # Parameters that are arrays of floats: what they hold after the call has derivatives too.
        self.finals = {name: k for k, (name, a) in enumerate(zip(names, self.args, strict=False)) if _is_array(a)}
        self.direction = self._random_like(self.leaves)
        self.expected, self.after = self._plain(self.leaves)
        self.weight = _map(self.expected, self._random)
        self.final_weights = {name: self._random(self.args[k]) for name, k in self.finals.items()}

    # What is checked -------------------------------------------------------------------------------------------------

    def value(self) -> None:
        given = self._given()
        found = self.compiled(*given)
        self._same(found, self.expected, "the value", 1e-9)
        self._same(given, self.after, "what the arguments hold after the call", 1e-9)

    def forward(self) -> float:
        """The derivative along the direction, weighted."""
        given = self._given()
        tangents = self.rebuild([d if _is_float(a) else None for a, d in zip(self.leaves, self.direction, strict=True)])
        found = self.compiled.jvp(given, tangents, final=tuple(self.finals))
        self._same(given, self.args, "what the arguments hold after forward mode", 0.0)
        self._same(found[0], self.expected, "the value in forward mode", 1e-9)
        mine = _inner(self.weight, found[1])
        if self.finals:
            mine += sum(_inner(w, found[2][name][1]) for name, w in self.final_weights.items())
        self._close(mine, self._difference(self._weighted), "forward mode", 1.0)
        return mine

    def reverse(self, forward: float | None) -> None:
        _, back = self.compiled.pullback(*self._given())
        cotangents, _ = _flat(back(_none_if_empty(self.weight), final=self.final_weights), self.args)
        size = 1.0
        for a, c in zip(self.leaves, cotangents, strict=True):
            if not _is_float(a):
                continue
            found, wanted = np.asarray(c), np.asarray(a)
            if found.shape != wanted.shape or found.dtype != wanted.dtype:
                self._wrong(
                    f"a cotangent has shape {found.shape} and dtype {found.dtype}, its argument {wanted.shape} and "
                    f"{wanted.dtype}"
                )
            size = max(size, float(np.max(np.abs(found), initial=0.0)))
        mine = self._along(cotangents)
        self._close(mine, self._difference(self._weighted), "reverse mode", size)
        if forward is not None:
            self._close(mine, forward, "reverse mode against forward mode", size)
        if isinstance(self.expected, float | np.floating) and self._numbers:
            given = self._given()
            grad(self.compiled, argnums=self._numbers)(*given)
            self._same(given, self.args, "what the arguments hold after a gradient", 0.0)

    def second(self) -> None:
        """The gradient along the direction, against differences of gradients."""
        first = grad(self.compiled, argnums=self._numbers)
        given = self._given()
        tangents = self.rebuild([d if _is_float(a) else None for a, d in zip(self.leaves, self.direction, strict=True)])
        found = first.jvp(given, tangents)[1]
        self._same(given, self.args, "what the arguments hold after second derivatives", 0.0)
        weights = _map(found, self._random)
        truth = self._difference(lambda args: _inner(weights, first(*args)))
        self._close(_inner(weights, found), truth, "second derivatives", 1.0)

    # Directions and differences --------------------------------------------------------------------------------------

    @property
    def _numbers(self) -> tuple[int, ...]:
        return tuple(k for k, a in enumerate(self.args) if any(map(_is_float, _flat(a)[0])))

    def _given(self) -> tuple[Any, ...]:
        made: tuple[Any, ...] = self.rebuild(_moved(self.leaves, self.direction, 0.0))
        return made

    def _plain(self, leaves: Sequence[Any]) -> tuple[Any, Any]:
        given = self.rebuild(_moved(leaves, self.direction, 0.0))
        with np.errstate(all="ignore"):
            return self.python(*given), given

    def _weighted(self, args: tuple[Any, ...]) -> float:
        with np.errstate(all="ignore"):
            result = self.python(*args)
        total = _inner(self.weight, result)
        return total + sum(_inner(w, args[self.finals[name]]) for name, w in self.final_weights.items())

    def _difference(self, f: Callable[[tuple[Any, ...]], float]) -> float:
        single = any(np.asarray(a).dtype == np.float32 for a in self.leaves if _is_float(a))
        steps = [(4e-2 if single else 2e-3) / 2**k for k in range(4)]

        def central(h: float) -> float:
            ends = [f(self.rebuild(_moved(self.leaves, self.direction, s * h))) for s in (1.0, -1.0)]
            return (ends[0] - ends[1]) / (2.0 * h)

        row = [central(h) for h in steps]
        for order in range(1, 2 if single else len(steps)):
            factor = 4.0**order
            row = [(factor * b - a) / (factor - 1.0) for a, b in pairwise(row)]
        return row[0] if single else row[-1]

    def _random(self, leaf: Any) -> Any:
        """A weight for a float or an array of floats; None for anything else."""
        if _is_array(leaf):
            return self.rng.uniform(-1.0, 1.0, leaf.shape).astype(leaf.dtype)
        return float(self.rng.uniform(0.5, 1.5)) if _is_float(leaf) else None

    def _random_like(self, leaves: Sequence[Any]) -> list[Any]:
        """A direction: for arrays that share memory, windows on one."""
        found = [self._random(a) for a in leaves]
        for members in _groups(leaves):
            arrays = {k: leaves[k] for k in members}
            shared = aliasing.laid_out_alike(arrays, copy=False, names={k: f"number {k}" for k in members})
            for k, window in shared.items():
                window[...] = found[k]
            found = [shared.get(k, d) for k, d in enumerate(found)]
        return found

    def _along(self, cotangents: Sequence[Any]) -> float:
        """The inner product of cotangents and the direction. What shares memory counts once."""
        total = 0.0
        grouped: set[int] = set()
        for members in _groups(self.leaves):
            grouped |= set(members)
            arrays = {k: self.leaves[k] for k in members}
            names = {k: f"number {k}" for k in members}
            whole, along = (aliasing.laid_out_alike(arrays, copy=False, names=names) for _ in range(2))
            for k in members:
                whole[k][...], along[k][...] = cotangents[k], self.direction[k]
            dtype = arrays[members[0]].dtype
            memory: list[Any] = [next(iter(views.values())).base for views in (whole, along)]
            total += float(np.dot(*(np.frombuffer(m, dtype).astype(float) for m in memory)))
        for k, (c, d) in enumerate(zip(cotangents, self.direction, strict=True)):
            if d is not None and k not in grouped:
                total += float(np.sum(np.asarray(c, float) * d))
        return total

    # Verdicts --------------------------------------------------------------------------------------------------------

    def _close(self, mine: float, truth: float, what: str, size: float) -> None:
        single = any(np.asarray(a).dtype == np.float32 for a in self.leaves if _is_float(a))
        scale = max(size, abs(truth), abs(mine) if np.isfinite(mine) else 0.0)
        if not abs(mine - truth) <= max(self.rtol, 2e-3 if single else 0.0) * scale:
            self._wrong(f"{what} gives {mine:.9g} along a direction, where it should be {truth:.9g}")

    def _same(self, mine: Any, theirs: Any, what: str, rtol: float) -> None:
        found, wanted = _flat(mine)[0], _flat(theirs)[0]
        alike = len(found) == len(wanted) and all(_equal(a, b, rtol) for a, b in zip(found, wanted, strict=True))
        if not alike:
            self._wrong(f"{what}: {mine!r}, not {theirs!r}"[:500])

    def _wrong(self, message: str) -> None:
        raise kinds.WRONG_DERIVATIVE(
            f"{self.name}: {message}", help="adc.find_culprit(f, *args) looks for the operation that is wrong"
        )


@dataclass(frozen=True)
class _Node:
    form: Form
    parts: tuple[Any, ...]


def _flat(value: Any, like: Any = None) -> tuple[list[Any], Rebuild]:
    """The leaves of containers, and what builds them of others. ``like``: of something made of the same containers,
    with None in place of some."""
    leaves: list[Any] = []

    def visit(value: Any, like: Any) -> Any:
        form = form_of(value if like is None else like)
        if form is None:
            leaves.append(value)
            return len(leaves) - 1
        models = items_of(like, form) if like is not None else [None] * len(items_of(value, form))
        parts = [None] * len(models) if value is None else items_of(value, form)
        return _Node(form, tuple(visit(part, model) for part, model in zip(parts, models, strict=True)))

    tree = visit(value, like)

    def rebuild(leaves: Sequence[Any]) -> Any:
        def made(node: Any) -> Any:
            return build(node.form, [made(part) for part in node.parts]) if isinstance(node, _Node) else leaves[node]

        return made(tree)

    return leaves, rebuild


def _map(value: Any, change: Callable[[Any], Any]) -> Any:
    leaves, rebuild = _flat(value)
    return rebuild([change(leaf) for leaf in leaves])


def _moved(leaves: Sequence[Any], direction: Sequence[Any], h: float) -> list[Any]:
    """The leaves, copied, a step along the direction; arrays share memory as they did."""
    made: dict[int, Any] = {}
    for members in _groups(leaves):
        names = {k: f"number {k}" for k in members}
        made.update(aliasing.laid_out_alike({k: leaves[k] for k in members}, copy=True, names=names))
    found = []
    for k, (a, d) in enumerate(zip(leaves, direction, strict=True)):
        if isinstance(a, np.ndarray):
            copy = made.get(k)
            copy = a.copy(order="K") if copy is None else copy
            if d is not None and h:
                copy[...] = a + h * d
            found.append(copy)
        else:
            found.append(type(a)(a + h * d) if d is not None and h else a)
    return found


def _groups(leaves: Sequence[Any]) -> list[list[int]]:
    """The positions of arrays that share memory."""
    numbers: Mapping[int, int] = aliasing.groups({k: a for k, a in enumerate(leaves) if isinstance(a, np.ndarray)})
    found: dict[int, list[int]] = {}
    for k, number in numbers.items():
        found.setdefault(number, []).append(k)
    return list(found.values())


def _none_if_empty(weight: Any) -> Any:
    return None if all(w is None for w in _flat(weight)[0]) else weight


def _inner(weight: Any, value: Any) -> float:
    """The inner product of weights and something in the same containers, or None."""
    weights = _flat(weight)[0]
    values = _flat(value, weight)[0]
    pairs = zip(weights, values, strict=True)
    return sum(float(np.sum(np.asarray(w, float) * v)) for w, v in pairs if w is not None and v is not None)


def _is_array(a: Any) -> bool:
    return isinstance(a, np.ndarray) and a.dtype.kind == "f"


def _is_float(a: Any) -> bool:
    return isinstance(a, float | np.floating) or _is_array(a)


def _equal(a: Any, b: Any, rtol: float) -> bool:
    numeric = int | float | np.generic | np.ndarray
    if not isinstance(a, numeric) or not isinstance(b, numeric):
        return a is b or bool(a == b)
    x, y = np.asarray(a), np.asarray(b)
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    if rtol == 0.0 or x.dtype.kind != "f":
        return bool(np.array_equal(x, y, equal_nan=x.dtype.kind == "f"))
    tolerance = 1e-4 if x.dtype == np.float32 else rtol
    size = float(np.max(np.abs(y[np.isfinite(y)]), initial=0.0))
    return bool(np.allclose(x, y, rtol=tolerance, atol=tolerance * max(size, 1e-3), equal_nan=True))
