"""Code of an earlier process is found without tracing, only if everything that tracing looked at is unchanged."""

from __future__ import annotations

import enum
import functools
import linecache
import math
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adc
from adc import began, jit_grad
from adc.backend import object_cache, runtime
from adc.driver import compiler, makers
from adc.ir import notices, raising
from adc.persistent import records
from tests.frontend.test_looks import CASES

X = np.linspace(0.5, 1.5, 6)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    runtime.address("adc_default_threads")  # not kept here, whichever test comes first
    monkeypatch.setenv("ADC_CACHE", "1")
    monkeypatch.setenv("ADC_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(records, "enabled", True)
    yield tmp_path / "kept"


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions that were traced."""
    seen: list[str] = []
    original = compiler.trace

    def trace(fn: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append(fn.__name__)
        return original(fn, *args, **kwargs)

    monkeypatch.setattr(compiler, "trace", trace)
    return seen


# Modules that are in no other process: they were made by hand.
NOT_RECORDED = {"attribute_of_a_module", "hasattr_of_a_module", "getattr_with_a_default", "same_name_in_two_modules"}


@pytest.mark.parametrize("name", CASES)
def test_what_was_looked_at_is_looked_at_when_a_record_is_found(name: str, traces: list[str]) -> None:
    function, change, *undo = CASES[name]()
    assert jit_grad(function)(0.7) == pytest.approx(function(0.7), rel=1e-14)
    before = len(traces)
    again = jit_grad(function)
    assert again(0.7) == pytest.approx(function(0.7), rel=1e-14)
    assert (len(traces) == before) == (name not in NOT_RECORDED)
    change()
    try:
        then = function(0.7)
        assert jit_grad(function)(0.7) == pytest.approx(then, rel=1e-14)
        assert again(0.7) == pytest.approx(then, rel=1e-14)
    finally:
        for back in undo:
            back()


def scale(x: Any) -> Any:
    return 3.0 * x


def other(x: Any) -> Any:
    return x * x


@dataclass
class Pair:
    a: float
    b: np.ndarray


class Model:
    def __init__(self, k: float) -> None:
        self.k = k

    @property
    def twice(self) -> float:
        return 2 * self.k

    @staticmethod
    def square(x: Any) -> Any:
        return x * x

    def run(self, x: Any) -> Any:
        return self.twice * np.sum(self.square(x))


def along(x: Any, axis: int) -> Any:
    return np.sum(x * np.sum(np.outer(x, x), axis=axis))


def apply(f: Any, x: Any) -> Any:
    return f(x)


def stepped(x: Any, steps: int) -> Any:
    u = x.copy()
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            u[i] += 0.1 * (u[i - 1] - 2.0 * u[i] + u[i + 1])
    return np.sum(u * u)


def closure(k: Any, f: Any) -> Any:
    def inner(x: Any) -> Any:
        return k * np.sum(f(x))

    return inner


def partials(a: float, x: Any, *, b: float = 2.0) -> Any:
    return a * b * np.sum(x * x)


def fails(x: Any) -> Any:
    if x[0] > 0.0:
        raise ValueError("too large")
    return x[0]


def raised(f: Callable[[Any], Any], x: Any) -> str:
    with pytest.raises(ValueError, match="too large") as caught:
        f(x)
    return str(caught.value)


FORMS: dict[str, Callable[[], Any]] = {
    "value": lambda: jit_grad(stepped)(X, 3),
    "gradient": lambda: jit_grad(stepped).grad(X, 3),
    "value and gradient": lambda: jit_grad(stepped).value_and_grad(X, 3),
    "checkpointed": lambda: jit_grad(checkpoint=adc.revolve(snapshots=2))(stepped).grad(X, 7),
    "pullback": lambda: jit_grad(lambda x: (np.sin(x), x[0])).pullback(X)[1]((np.ones(6), 2.0)),
    "jvp": lambda: jit_grad(stepped).jvp((X, 3), (X, None)),
    "jvp by another": lambda: jit_grad(lambda x, y: x * np.sum(y)).jvp((2.0, X), (None, X)),
    "jacobian": lambda: adc.jacobian(lambda x: np.sin(x) * x[0])(X),
    "hessian": lambda: adc.hessian(lambda x: np.sum(np.sin(x) * x[0]))(X),
    "second derivative": lambda: adc.grad(adc.grad(lambda x: math.sin(x) * x))(0.3),
    "vmap": lambda: adc.vmap(other)(X),
    "integer that is a constant": lambda: (jit_grad(along)(X, 0), jit_grad(along)(X, 1), jit_grad(along).grad(X, 1)),
    "function as an argument": lambda: (jit_grad(apply)(scale, 2.0), jit_grad(apply)(other, 2.0)),
    "closures": lambda: [jit_grad(closure(*c)).grad(X) for c in ((2.0, scale), (3, other), (2.0, scale))],
    "method": lambda: jit_grad(Model.run)(Model(2.0), X),
    "containers": lambda: jit_grad(lambda p, d: p.a * np.sum(p.b) * d["k"]).grad(Pair(2.0, X), {"k": 3.0}),
    "containers in results": lambda: jit_grad(lambda x: {"pair": Pair(x[0], 2.0 * x), "list": [x[1], x]})(X),
    "partial": lambda: jit_grad(functools.partial(partials, 2.0, b=3.0)).grad(X),
    "defaults": lambda: jit_grad(partials)(2.0, X),
    "overlap": lambda: jit_grad(lambda x, y: np.sum(x * y)).grad(X[:-1], X[1:]),
    "list that grows": lambda: jit_grad(lambda x: [v * v for v in x])(X),
    "named tuple of NumPy": lambda: jit_grad(lambda a: np.linalg.slogdet(a).logabsdet)(np.eye(2)),
    "error": lambda: raised(jit_grad(fails), X),
}


@pytest.mark.parametrize("name", FORMS)
def test_each_form_is_found(name: str, traces: list[str]) -> None:
    run = FORMS[name]
    first = run()
    before = len(traces)
    assert before > 0
    second = run()
    assert repr(second) == repr(first)
    assert len(traces) == before


class TooLarge(ValueError):
    """A class of the program's own."""


def bounded(a: Any, limit: float) -> Any:
    if np.sum(a) > limit:
        raise TooLarge(f"more than {limit}")
    return np.sum(np.linalg.inv(a))


@pytest.mark.parametrize("taken", [False, True])
def test_exceptions_keep_their_classes(taken: bool, traces: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in a process where nothing was traced, or where another class has had the name."""

    def caught() -> list[tuple[type, str]]:
        seen: list[tuple[type, str]] = []
        f = jit_grad(bounded)
        for call in (f, f.grad, f.value_and_grad):
            for a, limit in ((2.0 * np.eye(2), 1.0), (np.zeros((2, 2)), 1.0)):
                with pytest.raises(Exception) as error:
                    call(a, limit)
                seen.append((type(error.value), str(error.value)))
        return seen

    first = caught()
    assert {cls for cls, _ in first} == {TooLarge, np.linalg.LinAlgError}
    before = len(traces)
    names = {f"{__name__}.TooLarge": type("TooLarge", (ValueError,), {})} if taken else {}
    monkeypatch.setattr(raising, "_classes", names)
    assert caught() == first
    assert (len(traces) > before) == taken


def test_functions_with_one_code_are_told_apart(traces: list[str]) -> None:
    """What is mapped, captured or passed decides, not the code of what calls it."""
    assert list(adc.vmap(scale)(X)) == list(3.0 * X)
    assert list(adc.vmap(other)(X)) == list(X * X)
    assert jit_grad(closure(2.0, scale))(X) == pytest.approx(6.0 * np.sum(X))
    assert jit_grad(closure(2.0, other))(X) == pytest.approx(2.0 * np.sum(X * X))


def classes(value: float, compare: bool, base: float) -> tuple[Any, ...]:
    """Classes of one name that differ in what no method says."""

    class Kind(enum.Enum):
        A = value
        B = 100.0

    class Base:
        factor = base

    @dataclass
    class Point(Base):
        x: float
        y: float = field(compare=compare, default=0.0)

    return Kind, Point


def test_classes_are_told_apart_by_what_they_define() -> None:
    def made(kind: Any, point: Any) -> Any:
        def f(x: float) -> float:
            p, q = point(x, 1.0), point(x, 2.0)
            return kind.A.value * (5.0 if p == q else 1.0) * p.factor

        return f

    for arguments in ((1.0, True, 1.0), (2.0, True, 1.0), (2.0, False, 1.0), (2.0, False, 3.0), (1.0, True, 1.0)):
        f = made(*classes(*arguments))
        assert jit_grad(f)(0.5) == f(0.5)


CELL = """
def f(x):
    if x > 1.0:
        raise ValueError("too large")
    return 2.0 * x
"""


def test_cells_of_a_notebook_are_found_in_the_next_kernel(traces: list[str]) -> None:
    """Whose files have other names, which errors show."""
    for kernel in (17, 2345):
        file = f"/tmp/ipykernel_{kernel}/98765.py"
        linecache.cache[file] = (len(CELL), None, CELL.splitlines(keepends=True), file)
        namespace: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(CELL, file, "exec"), namespace)
        f = jit_grad(namespace["f"])
        assert f(0.5) == 1.0
        with pytest.raises(ValueError, match="too large") as caught:
            f(2.0)
        assert f"ipykernel_{kernel}/98765.py" in "".join(traceback.format_exception(caught.value))
    assert traces == ["f"]


def test_rules_that_came_since_are_used(traces: list[str]) -> None:
    def inner(x: float) -> float:
        return x * x

    def outer(x: float) -> float:
        return inner(x) + 1.0

    assert adc.grad(outer)(3.0) == 6.0
    adc.rrule(inner)(lambda x: (x * x, lambda g: 100.0 * g))
    assert jit_grad(outer).grad(3.0) == 100.0


def test_a_warning_is_given_in_each_process(monkeypatch: pytest.MonkeyPatch, traces: list[str]) -> None:
    original = compiler.trace

    def trace(*args: Any, **kwargs: Any) -> Any:
        notices.said += 1
        return original(*args, **kwargs)

    monkeypatch.setattr(compiler, "trace", trace)
    for _ in range(2):
        jit_grad(stepped)(X, 3)
    assert traces == ["stepped", "stepped"]


def test_damaged_records_are_made_again(folder: Path, traces: list[str]) -> None:
    expected = jit_grad(stepped).grad(X, 3)
    for file in folder.glob(f"??/*{object_cache.SUFFIX}"):
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 255
        file.write_bytes(data)
    assert repr(jit_grad(stepped).grad(X, 3)) == repr(expected)
    assert traces == ["stepped", "stepped"]


def test_a_record_without_its_code_is_made_again(folder: Path, traces: list[str]) -> None:
    expected = jit_grad(stepped).grad(X, 3)
    for file in folder.glob(f"??/*{object_cache.SUFFIX}"):
        if b"ELF" in file.read_bytes()[:64]:
            file.unlink()
    assert repr(jit_grad(stepped).grad(X, 3)) == repr(expected)
    assert traces == ["stepped", "stepped"]


def test_no_cache_no_records(monkeypatch: pytest.MonkeyPatch, traces: list[str]) -> None:
    monkeypatch.setenv("ADC_CACHE", "0")
    for _ in range(2):
        jit_grad(stepped)(X, 3)
    assert traces == ["stepped", "stepped"]


def test_options_types_and_layouts_have_records_of_their_own(traces: list[str]) -> None:
    grid = np.ones((4, 6))

    def total(x: Any) -> Any:
        return np.sum(x * x)

    for _ in range(2):
        for x in (grid, grid.T, grid[:, ::2], grid[:, :1], grid.astype(np.float32), X):
            for threads in (None, 2):
                assert jit_grad(threads=threads)(total)(x) == pytest.approx(float(np.sum(np.multiply(x, x))))
        assert len(traces) == 12  # a layout each: C, Fortran, any strides, one column; another dtype, another rank


def test_modules_that_changed_since_they_may_have_been_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(began, "BEGAN", time.time_ns() + 10**9)
    assert makers.makers.__wrapped__() == makers.makers.__wrapped__()
    monkeypatch.setattr(began, "BEGAN", 0)  # all have
    assert makers.makers.__wrapped__() != makers.makers.__wrapped__()
