"""Kernels are compiled separately, once: other programs, derivatives, threads and processes reuse them."""

from __future__ import annotations

import ast
import functools
import inspect
import pickle
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import pytest

import adc
from adc.backend import object_cache, runtime
from adc.border.options import Options
from adc.driver import cpu, kernels, late_units, objects
from adc.frontend.kernels import COMPILED_ONCE, compiled_once
from adc.frontend.tracer import Tracer
from adc.ir.externals import SYMBOL
from adc.persistent import records

A = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
B = np.array([1.0, -2.0, 0.5])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of its own, in which nothing is."""
    runtime.address("adc_default_threads")
    monkeypatch.setenv("ADC_CACHE", "1")
    monkeypatch.setenv("ADC_CACHE_DIR", str(tmp_path / "kept"))
    forget(monkeypatch)
    yield tmp_path / "kept"


@pytest.fixture
def compiled(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels that were compiled, without what tells their types."""
    made: list[str] = []
    original = kernels.KernelLibrary._compiled

    def compile(self: kernels.KernelLibrary, symbol: str, *given: Any) -> Any:
        made.append(symbol.rpartition(".")[0])
        return original(self, symbol, *given)

    monkeypatch.setattr(kernels.KernelLibrary, "_compiled", compile)
    return made


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """What another process does not know."""
    for name in ("_DECLARED", "_RULES", "_FIRST_RULES", "_PENDING", "_LOADED", "RECIPES"):
        monkeypatch.setattr(kernels, name, {})
    monkeypatch.setattr(objects, "RECIPES", kernels.RECIPES)
    monkeypatch.setattr(late_units, "_UNITS", WeakValueDictionary())
    monkeypatch.setattr(late_units, "_KERNELS", {})


def test_another_program_and_a_gradient_find_it(compiled: list[str]) -> None:
    def first(a: Any) -> Any:
        return np.sum(np.linalg.cholesky(a))

    def second(a: Any) -> Any:
        return np.sum(np.linalg.cholesky(a.T * 2.0) ** 2)

    assert adc.jit_grad(first)(A) == pytest.approx(first(A))
    assert compiled == ["adc.kernel.cholesky_factor"]
    assert adc.jit_grad(second)(A) == pytest.approx(second(A))
    assert compiled == ["adc.kernel.cholesky_factor"]
    adc.grad(second)(A)
    assert compiled.count("adc.kernel.cholesky_factor") == 1


def test_the_next_process_finds_it(compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def first(x: Any) -> Any:
        return np.sum(np.fft.fft(x * 1j).real ** 2)

    def second(x: Any) -> Any:
        return np.sum(np.fft.fft(x * x * 1j).real ** 2)

    adc.grad(first)(B)
    assert compiled.count("adc.kernel.transformed") == 1
    count = len(compiled)
    forget(monkeypatch)
    assert adc.jit_grad(second)(B) == pytest.approx(second(B))
    adc.grad(second)(B)
    assert len(compiled) == count


def test_the_next_process_finds_the_rules_simplified(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def first(a: Any, b: Any) -> Any:
        return np.sum(np.linalg.solve(a, b) ** 2)

    def second(a: Any, b: Any) -> Any:
        return np.sum(np.sin(np.linalg.solve(a * 2.0, b)))

    traced: list[str] = []
    original = Tracer.root_traced

    def root_traced(self: Tracer, callee: Any, names: list[str]) -> Any:
        traced.append(callee.source.name)
        return original(self, callee, names)

    monkeypatch.setattr(Tracer, "root_traced", root_traced)
    adc.grad(first)(A, B)
    assert "solved" in traced
    traced.clear()
    forget(monkeypatch)
    steps = 1e-6 * np.eye(9).reshape(9, 3, 3)
    expected = np.array([(second(A + step, B) - second(A - step, B)) / 2e-6 for step in steps]).reshape(3, 3)
    np.testing.assert_allclose(adc.grad(second)(A, B), expected, rtol=1e-6, atol=1e-8)
    assert not traced
    # Derivatives of derivatives need more rules.
    found = adc.hvp(second, (A, B), (A, np.zeros(3)))
    ahead, behind = (adc.grad(second)(A + step * A, B) for step in (1e-6, -1e-6))
    np.testing.assert_allclose(found, (ahead - behind) / 2e-6, rtol=1e-6, atol=1e-8)
    assert traced


def test_a_kernel_that_only_rules_call_is_made_by_what_is_kept_with_them(
    compiled: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def f(a: Any) -> Any:
        return np.sum(np.linalg.cholesky(a @ a.T + 4.0 * np.eye(3)) ** 3)

    def g(a: Any) -> Any:
        return np.sum(np.linalg.cholesky(a @ a.T + 4.0 * np.eye(3)) ** 3) * 2.0

    expected = adc.grad(f)(A)
    kept = kernels.object_cache.find

    def find(name: str) -> Any:  # object code was deleted, descriptions were not
        data = kept(name)
        return None if data is not None and isinstance(_loaded(data), kernels.Code) else data

    forget(monkeypatch)
    monkeypatch.setattr(kernels.object_cache, "find", find)
    count = len(compiled)
    np.testing.assert_array_equal(adc.grad(g)(A), 2.0 * expected)
    assert compiled[count:] == compiled[:count]


def _loaded(data: bytes) -> Any:
    try:
        return pickle.loads(data)
    except Exception:
        return None


def test_parts_of_kernels_are_compiled_when_a_call_reaches_them(
    compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def f(x: Any, n: int) -> Any:
        return np.sum(np.fft.fft(x * 1j, n).imag ** 2)

    def passes() -> set[str]:
        return {name for name in compiled if name.startswith("adc.kernel.by_")}

    x = np.linspace(-1.0, 1.0, 5)
    gradient = adc.grad(adc.jit_grad(f))
    np.testing.assert_allclose(gradient(x, 8), _by_differences(f, x, 8), rtol=1e-6, atol=1e-6)
    assert passes() == {"adc.kernel.by_two", "adc.kernel.by_four"}
    # In another process the kernel is found, and its other parts are made by what is kept with it.
    forget(monkeypatch)
    count = compiled.count("adc.kernel.transformed")
    for n in (15, 7, 53):
        np.testing.assert_allclose(adc.grad(adc.jit_grad(f))(x, n), _by_differences(f, x, n), rtol=1e-6, atol=1e-6)
    assert compiled.count("adc.kernel.transformed") == count
    assert passes() == {f"adc.kernel.by_{name}" for name in ("two", "three", "four", "five", "prime")}
    assert "adc.kernel._by_convolution" in compiled


def _by_differences(f: Callable[..., Any], x: Any, *more: Any) -> Any:
    steps = 1e-6 * np.eye(len(x))
    return np.array([(f(x + step, *more) - f(x - step, *more)) / 2e-6 for step in steps])


def test_a_record_finds_the_kernels_that_it_calls(
    compiled: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def f(a: Any, b: Any) -> Any:
        return np.sum(np.linalg.solve(a, b) ** 2)

    monkeypatch.setattr(records, "enabled", True)
    expected = adc.grad(adc.jit_grad(f))(A, B)
    count = len(compiled)
    forget(monkeypatch)
    np.testing.assert_array_equal(adc.grad(adc.jit_grad(f))(A, B), expected)
    assert len(compiled) == count
    # One that is not there any more takes the record with it.
    forget(monkeypatch)
    described = [p for p in folder.rglob(f"*{object_cache.SUFFIX}") if b"adc.driver.kernels" in p.read_bytes()[:400]]
    assert described
    for path in described:
        path.unlink()
    np.testing.assert_array_equal(adc.grad(adc.jit_grad(f))(A, B), expected)
    assert len(compiled) > count


def test_rules_are_traced_when_a_derivative_asks_for_them(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def watched(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda library, name: asked.append(name.split()[0]) or original(library, name)

    for method in ("rules", "first_rules"):
        monkeypatch.setattr(kernels.KernelLibrary, method, watched(getattr(kernels.KernelLibrary, method)))

    def f(x: Any) -> Any:
        return np.sum(np.convolve(x, x * x) ** 2)

    compiled = adc.jit_grad(f)
    assert compiled(B) == pytest.approx(f(B))
    assert not asked
    gradient = compiled.grad(B)
    assert asked == ["convolution"]
    step = 1e-30j  # of the function in plain Python
    expected = [f(B.astype(complex) + step * (np.arange(3) == k)).imag / 1e-30 for k in range(3)]
    np.testing.assert_allclose(gradient, expected, rtol=1e-13)
    along = np.array([0.3, -1.0, 0.7])
    second = adc.hvp(f, (B,), (along,))
    assert set(asked) == {"convolution", "correlation"}
    differences = (compiled.grad(B + 1e-5 * along) - compiled.grad(B - 1e-5 * along)) / 2e-5
    np.testing.assert_allclose(second, differences, rtol=1e-7)


def test_threads_compile_it_once(compiled: list[str]) -> None:
    def made(k: int) -> Callable[[Any], Any]:
        def f(a: Any) -> Any:
            return np.sum(np.linalg.cholesky(a)) + k

        return f

    functions = [adc.jit_grad(made(k)) for k in range(4)]
    results: list[float] = []
    threads = [threading.Thread(target=lambda f=f: results.append(f(A))) for f in functions]  # type: ignore[misc]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    plain = float(np.sum(np.linalg.cholesky(A)))
    assert sorted(results) == pytest.approx([plain, plain + 1, plain + 2, plain + 3])
    assert compiled == ["adc.kernel.cholesky_factor"]


LENGTHS = np.array([1, 2, 7, 32, 90, 212])  # that and their halves: one, prime, a power of two, with a large factor
COLUMNS = np.array([1, 3, 18])


def spectra(x: Any) -> Any:
    total = 0.0
    for n in LENGTHS:
        for columns in COLUMNS:
            total += np.sum(np.fft.rfft(np.resize(x, (9, n, columns)), axis=1).imag ** 2)
    return total


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "solve": (lambda a, b: np.sum(np.linalg.solve(a, b) ** 2) + np.linalg.slogdet(a)[1] + np.linalg.det(a), (A, B)),
    "cholesky": (lambda a: np.sum(np.linalg.cholesky(a) ** 2), (A,)),
    "eigh": (lambda a: np.sum(np.linalg.eigh(a)[0] ** 3), (A,)),
    "svd": (lambda a: np.sum(np.linalg.pinv(a[:, :2])) + np.linalg.svd(a)[1][0], (A,)),
    "qr": (lambda a: np.sum(np.linalg.qr(a[:, :2])[1] ** 3), (A,)),
    "fft": (spectra, (B,)),
    "quantiles": (lambda a: np.sum(np.quantile(a, [0.2, 0.7], 0) ** 2) + np.median(a) + np.percentile(a, 30), (A,)),
    "sets": (lambda a, b: np.sum(np.setxor1d(a[0], b) ** 2) + np.sum(np.union1d(a, b) ** 3), (A, B)),
    "bins": (lambda a: np.sum(np.histogram(a, 4, weights=a * a)[0] ** 2) + np.sum(np.sort(a, 0)[1] ** 2), (A,)),
    "windows": (lambda a, b: np.sum(np.convolve(a[:, 1], b[:2], "same") ** 2) + np.sum(np.i0(a) ** 2), (A, B)),
    "in a parallel loop": (lambda a: np.sum(np.linalg.solve(np.stack([a, a * 2.0, a + 1.0]), a[0]) ** 2), (A,)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_what_it_is_as_a_part_of_the_program(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit, and with subscripts that are checked."""
    f, given = PROGRAMS[name]
    apart = adc.value_and_grad(f)(*given)
    monkeypatch.setattr(cpu, "library_for", lambda options: None)
    whole = adc.value_and_grad(adc.jit_grad(f))(*given)
    np.testing.assert_array_equal(apart[0], whole[0])
    np.testing.assert_array_equal(apart[1], whole[1])


def test_a_program_has_a_declaration_of_it() -> None:
    def f(a: Any) -> Any:
        return np.sum(np.linalg.cholesky(a))

    text = adc.jit_grad(f).dump_ir("traced", "f64[:, ::1]")
    assert SYMBOL in text and "adc.kernel.cholesky_factor" in text


def test_kernels_of_the_interpreter_are_a_part_of_the_program(compiled: list[str]) -> None:
    def f(a: Any) -> Any:
        return np.sum(np.linalg.cholesky(a))

    assert adc.jit_grad(f, _engine="interpreter")(A) == pytest.approx(f(A))
    assert not compiled


def test_what_has_rules_is_compiled_by_itself() -> None:
    assert {"transformed", "solved", "cholesky_factor", "spectrum"} <= {f.__name__ for f in COMPILED_ONCE}


def test_kernels_raise_nothing() -> None:
    for module in {inspect.getmodule(f) for f in COMPILED_ONCE - {signs}}:
        assert module is not None
        tree = ast.parse(inspect.getsource(module))
        assert not [node for node in ast.walk(tree) if isinstance(node, ast.Raise | ast.Assert)], module


@compiled_once
def signs(a: Any) -> Any:
    s = np.zeros(a.shape[0], np.int64)
    for k in range(a.shape[0]):
        s[k] = 1 if a[k] > 0.0 else -1
    return s


def test_integers_that_a_kernel_returns_are_constants() -> None:
    def f(x: Any) -> Any:
        return np.sum(x * x * signs(x))

    compiled = adc.jit_grad(f)
    np.testing.assert_allclose(compiled.grad(B), 2 * np.abs(B))
    assert compiled.jvp((B,), (B,))[1] == pytest.approx(2 * f(B))
    np.testing.assert_allclose(adc.hvp(f, (B,), (B,)), 2 * np.abs(B))


@pytest.mark.parametrize("has_lapack", [True, False])
def test_short_loops_beside_lapack_are_not_shared_out(
    has_lapack: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: list[str] = []
    at_once, later = kernels.optimize_or_find_all, late_units.optimize_or_find
    def noted(levels: dict[str, int], target: Any) -> Any:
        texts.extend(levels)
        return at_once(levels, target)

    monkeypatch.setattr(kernels, "optimize_or_find_all", noted)
    monkeypatch.setattr(late_units, "optimize_or_find", lambda text, *given: texts.append(text) or later(text, *given))
    monkeypatch.setenv("ADC_LAPACK", str(int(has_lapack)))
    a = np.array([[2.0, 0.5, 0.1], [0.5, 3.0, 0.2], [0.1, 0.2, 4.0]])

    def solved(a: Any, b: Any) -> Any:
        return np.sum(np.linalg.solve(a, b))

    compiled = adc.jit_grad(solved)
    assert np.allclose(compiled.grad(a, a), -np.linalg.inv(a).T @ np.ones((3, 3)), atol=1e-14)
    assert texts and ("adc_parallel" in "".join(texts)) == (not Options().lapack)


def test_parts_that_the_cache_has_lost_are_made_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Transforms call kernels of which a program that finds the transform knows nothing."""

    def f(x: Any) -> Any:
        return np.sum(np.abs(np.fft.fft(x)) ** 2)

    assert_gradient = functools.partial(np.testing.assert_allclose, 2 * len(B) * B)
    assert_gradient(adc.grad(f)(B))
    kept = [kernels._kept(symbol) for symbol in kernels._LOADED]
    called = {symbol for each in kept if each is not None for symbol in each[0].objects.elsewhere}
    assert called
    for symbol in called:
        next(folder.rglob(object_cache._file(kernels._place(symbol)))).unlink()
    forget(monkeypatch)
    again = types.FunctionType(f.__code__, {"np": np}, "again")
    assert_gradient(adc.grad(again)(B))
