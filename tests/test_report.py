"""The report's summary, its data, its HTML, and ``adc explain``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adc import jit_grad
from adc.cli import main


@jit_grad
def logistic(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = 3.1 * x * (1.0 - x)
    return x


@jit_grad
def smooth(x: Any, k: Any) -> Any:
    return x + k * x


LINE = logistic._subject.fn.__code__.co_firstlineno + 2


def test_the_report_begins_with_a_summary() -> None:
    report = logistic.report("f64, i64")
    lines = report.summary().splitlines()
    assert len(lines) <= 10 and str(report).startswith(report.summary())
    assert lines[0] == "gradient of logistic by x"
    assert f"tape: 1 value stored: x of line {LINE} (8 bytes in each iteration of line {LINE})" in report.summary()
    assert f"threads: no loop runs on threads; in order: line {LINE}" in report.summary()
    assert f"advice: line {LINE} runs on one thread, since it carries x" in report.summary()
    assert "report(call=(...)) measures a run" in lines[1]
    assert "SIMD" not in report.summary()


def test_a_run_is_measured() -> None:
    report = logistic.report(call=(0.3, 1000))
    assert report.measured is not None
    assert 0.0 < report.measured.value_seconds < 0.1 and 0.0 < report.measured.gradient_seconds < 0.1
    peak = logistic.grad.forecast(0.3, 1000).peak
    assert report.measured.peak_bytes == peak and 8000 <= peak < 10000
    assert "memory: the gradient allocates at most 8" in report.summary()
    x = np.ones(5)
    both = smooth.report(call=(x, 2.0))
    assert both.what == "pullback" and both.measured is not None and both.summary().startswith("pullback of smooth")


def test_llvm_says_which_loops_are_simd() -> None:
    @jit_grad(parallel=False)
    def energy(x: Any) -> Any:
        return np.sum(x * x)

    line = energy._subject.fn.__code__.co_firstlineno + 2
    assert energy.report("f64[::1]", simd=True).simd == (line,)
    assert logistic.report("f64, i64", simd=True).simd == ()


def test_the_report_as_data_and_as_html() -> None:
    data = json.loads(json.dumps(logistic.report("f64, i64").as_dict()))
    assert data["function"] == "logistic" and data["with_respect_to"] == ["x"] and data["measured"] is None
    assert data["stored"] == [
        {"line": LINE, "name": "x", "type": "f64", "bytes": 8, "times": f"trips of the loop at line {LINE}"}
    ]
    assert data["loops"]["logistic.grad"][0]["kind"] == "sequential" and data["summary"][0].startswith("gradient of")
    html = smooth.report("f64[::1], f64")._repr_html_()
    assert html.startswith("<pre>pullback of smooth") and "<details>" in html and "memref&lt;" in html


def test_explain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = "def f(x: float, n: int):\n    for _ in range(n):\n        x *= x\n    return x\n"
    (tmp_path / "program.py").write_text(program)
    target = f"{tmp_path / 'program.py'}:f"
    assert main(["explain", target, "--summary", "--no-simd"]) == 0
    assert capsys.readouterr().out.startswith("gradient of f by x\n")
    assert main(["explain", target]) == 0
    out = capsys.readouterr().out
    assert "SIMD: LLVM made no loop SIMD" in out and "activity of @f.grad" in out
    assert main(["explain", target, "--json", "--no-simd"]) == 0
    assert json.loads(capsys.readouterr().out)["stored"][0]["line"] == 2
