"""The other parts of the benchmark suite: comparisons, ratios, bars, and one quick run of the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.suite import __main__ as suite
from benchmarks.suite import peers
from benchmarks.suite.bars import bars, mean
from benchmarks.suite.checking import Result, differences
from benchmarks.suite.machine import Limit
from benchmarks.suite.measuring import Measured, least
from benchmarks.suite.problem import Runner
from benchmarks.suite.problems import PROBLEMS

HEAT = next(p for p in PROBLEMS if p.name == "heat2d")


def result(value: float, gradient: Any) -> Result:
    return Result(np.float64(value), np.float64(value), (np.asarray(gradient, dtype=float),))


def test_names_are_unique() -> None:
    assert len({p.name for p in PROBLEMS}) == len(PROBLEMS)


@pytest.mark.parametrize(
    ("theirs", "what"),
    [
        (result(2.0, [1.0, 3.0 + 1e-6]), "gradient by argument 0"),
        (result(2.0 + 1e-6, [1.0, 3.0]), "value"),
        (result(2.0, [1.0, np.nan]), "not finite"),
        (result(2.0, [1.0]), "shape"),
        (Result(np.float64(2.0), np.float64(2.0), ()), "0 gradients, not 1"),
    ],
)
def test_differences_are_found(theirs: Result, what: str) -> None:
    ours = result(2.0, [1.0, 3.0])
    assert not list(differences(HEAT, ours, result(2.0, [1.0, 3.0 + 1e-11])))
    assert any(what in text for text in differences(HEAT, ours, theirs))


def test_results_are_copies() -> None:
    buffer = np.zeros(3)
    kept = Result.of(Runner(None, lambda: (1.0, (buffer,))))
    buffer[:] = 1.0
    assert kept.gradients is not None and not kept.gradients[0].any()


def test_least() -> None:
    calls: list[str] = []
    keys = [("adc", "primal", 1), ("C", "primal", 1)]
    best = least({k: lambda k=k: calls.append(k[0]) for k in keys}, budget=1e-4, rounds=3)
    assert set(best) == set(keys) and all(0.0 < s < 1.0 for s in best.values())
    assert set(calls[: len(calls) // 3]) == {"adc", "C"}, "they take turns"


def test_bars() -> None:
    m = Measured(HEAT, HEAT.quick, working_set=1 << 20)
    m.seconds = {
        ("adc", "primal", 1): 1.0,
        ("adc", "gradient", 1): 3.0,
        ("adc", "primal", 2): 0.5,
        ("adc", "gradient", 2): 2.0,
        ("C", "gradient", 1): 2.0,
        ("C", "gradient", 2): 2.0,
        ("Numba", "primal", 1): 2.0,
        ("JAX", "gradient", 2): 20.0,
    }
    m.limits = {("gradient", 2): Limit("arithmetic", 1.4)}
    found = {bar.text: bar for bar in bars([m], (1, 2))}

    def check(start: str, value: float, ok: bool) -> None:
        (bar,) = [bar for text, bar in found.items() if text.startswith(start)]
        assert bar.value == pytest.approx(value) and bar.ok is ok and str(bar).startswith("ok" if ok else "over")

    check("heat2d: gradient / primal", 3.0, False)
    check("adc's gradient / hand-written C's, geometric mean", mean([1.5, 1.0]), False)
    check("adc's gradient / hand-written C's, the worst (heat2d, 1 threads)", 1.5, False)
    check("the same with each operation rounded", mean([1.5, 1.0]), True)
    check("adc's gradient / JAX's, geometric mean", 0.1, True)
    check("adc's primal / Numba's", 0.5, True)
    check("heat2d: primal, 2 threads over one", 2.0, True)
    check("heat2d: gradient, 2 threads over one", 1.5, False)
    check("heat2d: speedup of the gradient / of the primal", 0.75, False)
    check("heat2d: gradient, share of the limit (arithmetic)", 0.7, True)


def test_beside_c_products_are_fused() -> None:
    m = Measured(HEAT, HEAT.quick)
    m.seconds = {("adc", "gradient", 1): 3.0, (peers.CONTRACTED, "gradient", 1): 2.0, ("C", "gradient", 1): 2.0}
    found = {bar.text: bar.value for bar in bars([m], (1,))}
    assert found["adc's gradient / hand-written C's, geometric mean"] == pytest.approx(1.0)
    assert found["the same with each operation rounded, which C's are not"] == pytest.approx(1.5)
    assert m.cost_of_exactness("gradient", 1) == pytest.approx(1.5) and m.cost_of_exactness("primal", 1) is None


def test_thread_counts() -> None:
    assert suite.thread_counts(1, every=True) == (1,) and suite.thread_counts(6, every=False) == (1, 6)
    assert suite.thread_counts(6, every=True) == (1, 2, 4, 6) and suite.thread_counts(8, every=True) == (1, 2, 4, 8)


def test_a_quick_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--quick", "--only", "pointwise", "--peer", "C", "--peer", "NumPy", "--threads", "2"]
    assert suite.main([*arguments, "--output", str(tmp_path)]) == 0
    written = json.loads((tmp_path / "results.json").read_text())
    timed = {(s["peer"], s["what"], s["threads"]) for s in written["problems"][0]["seconds"]}
    ours = ("adc", peers.CONTRACTED)
    wanted = {(peer, what, n) for peer in ours for what in ("primal", "gradient") for n in (1, 2)}
    assert wanted <= timed and ("NumPy", "gradient", 1) in timed
    assert (("C", "gradient", 2) in timed) is peers.available("C")
    assert "pointwise" in capsys.readouterr().out
    assert suite.main(["--only", "nothing"]) == 2
