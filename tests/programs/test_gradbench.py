"""GradBench's programs at small sizes: values as in plain Python, derivatives against complex steps, closed forms and
hand-written adjoints in C; and the messages of its protocol."""

from __future__ import annotations

import importlib
import io
import json
import math
import shutil
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks.gradbench import tool
from benchmarks.gradbench.program import flat
from benchmarks.gradbench.programs import NAMES, program

STEP = 1e-100


def module(name: str) -> Any:
    return importlib.import_module(f"benchmarks.gradbench.programs.{name}")


def inputs(name: str) -> Any:
    given = program(name)
    return given.given(np.random.default_rng(3), **given.small)


def close(found: Any, truth: Any) -> None:
    truth = np.asarray(truth, float).ravel()
    assert np.shape(found) == truth.shape and np.any(truth)
    np.testing.assert_allclose(found, truth, rtol=0, atol=1e-9 * np.max(np.abs(truth)))


@pytest.mark.parametrize("name", NAMES)
def test_program(name: str) -> None:
    if name == "ba":
        pytest.importorskip("scipy")
    given = program(name)
    data = inputs(name)
    ours = given.by_adc(data)
    value, derivative = (flat(ours[key]()) for key in (given.value, given.derivative))
    close(value, flat(plain(name, data)))
    close(derivative, flat(TRUTHS.get(name, by_complex_steps)(name, data)))
    if shutil.which("cc"):
        for function, call in given.by_c(data).items():
            close(derivative if function.split(",")[0] == given.derivative else value, flat(call()))


def plain(name: str, data: Any) -> Any:
    """The value by Python itself."""
    of = module(name)
    match name:
        case "particle":
            return 0.2071918746486116  # GradBench's own
        case "saddle":
            return [8.246324826140356e-06] * 4
        case "kmeans":
            return of.cost(data["points"], data["centroids"])
        case "det":
            return of.primal(data["A"], data["ell"])
        case "llsq" | "lse" | "ode":
            return of.primal(*data.values())
    return of.objective(*of.arguments(data))


def by_complex_steps(name: str, data: Any) -> Any:
    """The derivative by complex steps through the same text, with mathematics and arrays for complex numbers."""
    of = module(name)
    scalars = {key: getattr(np, key) for key in ("exp", "log", "tanh", "sqrt", "sin", "cos", "pi")}
    makers = {key: getattr(np, key) for key in ("empty", "zeros", "eye", "array")}
    arrays = {key: lambda *a, make=make: make(*a).astype(complex) for key, make in makers.items()}
    space = dict(vars(of))
    space |= {"math": types.SimpleNamespace(**scalars, lgamma=math.lgamma)}
    space |= {"np": types.SimpleNamespace(**scalars, **arrays, sum=np.sum), "max": larger}
    for key, item in vars(of).items():
        if isinstance(item, types.FunctionType) and item.__module__ == of.__name__:
            space[key] = types.FunctionType(item.__code__, space)
    args = [a.astype(complex) if np.result_type(a) is np.dtype(float) and np.ndim(a) else a for a in of.arguments(data)]
    columns = []
    for number in {"gmm": (0, 1, 2, 3), "lstm": (0, 1), "ba": (0, 1, 2), "ht": (1, 0)}[name]:
        for at in np.ndindex(args[number].shape):
            moved = args[number].copy()
            moved[at] += 1j * STEP
            found = space["objective"](*args[:number], moved, *args[number + 1 :])
            parts = found if isinstance(found, tuple) else (found,)
            columns.append(np.concatenate([np.imag(part).ravel() for part in parts]) / STEP)
    jacobian = np.array(columns).T
    match name:
        case "ba":  # where they are, and the entries
            rows, places = of.pattern(data["n"], data["m"], args[3])
            dense = np.zeros(jacobian.shape)
            dense[rows, places] = jacobian[rows, places]
            assert np.array_equal(dense, jacobian)
            order = np.lexsort((places, rows))
            return rows[order], places[order], jacobian[rows, places][order]
        case "ht":
            return jacobian[:, :2], jacobian[:, 2:]
    return jacobian


def larger(a: Any, b: Any) -> Any:
    return a if a.real >= b.real else b


def by_powers(name: str, data: Any) -> Any:
    n, x = data["n"], data["x"]
    t = np.linspace(-1.0, 1.0, n)
    powers = np.vander(t, len(x), increasing=True)
    return -powers.T @ (np.sign(t) - powers @ x)


def by_nearest(name: str, data: Any) -> Any:
    points, centroids = data["points"], data["centroids"]
    which = ((points[:, None] - centroids) ** 2).sum(2).argmin(1)
    return [centroids[j] - points[which == j].mean(0) for j in range(len(centroids))]


def by_exponents(name: str, data: Any) -> Any:
    return np.exp(data["x"]) / np.exp(data["x"]).sum()


def by_products(name: str, data: Any) -> Any:
    x, n = data["x"], len(data["x"])  # fewer than five components are polynomials that Runge-Kutta has exactly
    return np.prod(x) * 2.0**n / math.factorial(n) / x


def by_cofactors(name: str, data: Any) -> Any:
    a = data["A"].reshape(data["ell"], -1)
    return np.linalg.det(a) * np.linalg.inv(a).T


TRUTHS: dict[str, Callable[[str, Any], Any]] = {
    "llsq": by_powers, "kmeans": by_nearest, "lse": by_exponents, "ode": by_products, "det": by_cofactors,
    "particle": plain, "saddle": plain,
}  # fmt: skip


def test_saddle_of_mixed_modes() -> None:
    calls = module("saddle").by_adc({"start": [1.0, 1.0]})
    close(flat(calls["fr"]()), plain("saddle", None))


def test_messages() -> None:
    points = inputs("kmeans")
    said = [
        {"id": 0, "kind": "start", "eval": "kmeans"},
        {"id": 1, "kind": "define", "module": "kmeans"},
        {"id": 2, "kind": "define", "module": "unheard"},
        {"id": 3, "kind": "evaluate", "module": "hello", "function": "double", "input": 4.0},
        {
            "id": 4, "kind": "evaluate", "module": "kmeans", "function": "dir",
            "input": {**{name: a.tolist() for name, a in points.items()}, "min_runs": 3, "min_seconds": 0},
        },
        {"id": 5, "kind": "evaluate", "module": "hello", "function": "unheard", "input": 4.0},
        {"id": 6, "kind": "analysis", "of": 4, "valid": True},
    ]  # fmt: skip
    lines = io.StringIO("".join(json.dumps(message) + "\n" for message in said))
    told = [json.loads(line) for line in tool.answers(lines)]
    assert [answer["id"] for answer in told] == list(range(7))
    assert told[0] == {"id": 0, "tool": "adc"} and told[1] == {"id": 1, "success": True} and told[6] == {"id": 6}
    assert not told[2]["success"] and "unheard" in told[2]["error"]
    assert told[3]["success"] and told[3]["output"] == 8.0
    assert np.shape(told[4]["output"]) == points["centroids"].shape
    close(flat(told[4]["output"]), by_nearest("kmeans", points))
    assert [timing["name"] for timing in told[4]["timings"]] == ["prepare", "evaluate", "evaluate", "evaluate"]
    assert all(isinstance(timing["nanoseconds"], int) for timing in told[4]["timings"])
    assert not told[5]["success"] and "unheard" in told[5]["error"]


@pytest.mark.parametrize("name", ["gmm", "ba", "ht", "lstm"])
def test_answers(name: str) -> None:
    """What is sent has the evaluation's form."""
    if name == "ba":
        pytest.importorskip("scipy")
    given, data = program(name), inputs(name)
    sent = tool.evaluate(given, given.derivative, data)["output"]
    value = tool.evaluate(given, given.value, data)["output"]
    match name:
        case "gmm":
            assert {key: np.shape(item) for key, item in sent.items()} == {
                key: np.shape(data[key]) for key in ("alpha", "mu", "q", "l")
            }
            assert isinstance(value, float)
        case "lstm":
            assert np.shape(sent) == (data["main_params"].size + data["extra_params"].size,)
        case "ht":
            assert np.shape(sent) == (3 * len(data["us"]), 28) and np.shape(value) == (3 * len(data["us"]),)
        case "ba":
            assert {key: len(item) for key, item in sent.items()} == dict.fromkeys(("rows", "cols", "vals"), 31)
            assert sent["vals"][-1] == pytest.approx(-2.0 * data["w"]) and sent["rows"][-1] == 31 * data["p"]
            assert value["reproj_error"]["repeated"] == value["w_err"]["repeated"] == data["p"]
