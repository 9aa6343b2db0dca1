"""Notebooks and prompts: bars by IPython alone, and a message while something is compiled."""

from __future__ import annotations

import io
import itertools
import sys
import time
import types
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import adc
from adc import jit_grad
from adc.shots import bar
from adc.watch import compiling, watching


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "PATIENCE", 0.02)


def at_prompt(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """The standard error of an interactive session of Python on a terminal."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    monkeypatch.setattr(sys, "stderr", terminal)
    return terminal


def test_who_waits_is_told_what_is_compiled(monkeypatch: pytest.MonkeyPatch, patient: None) -> None:
    prompt = at_prompt(monkeypatch)
    with compiling.told("f (gradient)"), compiling.told("g"):
        time.sleep(0.3)
    first, second = prompt.getvalue().splitlines()
    assert first == "adc: compiling f (gradient) ..."
    assert second.startswith("adc: compiled f (gradient) in 0.") and second.endswith(" s")


def test_nothing_is_said_of_what_is_fast_or_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    prompt = at_prompt(monkeypatch)
    monkeypatch.setattr(compiling, "PATIENCE", 5.0)
    with compiling.told("f"):
        pass
    assert prompt.getvalue() == ""
    monkeypatch.setattr(compiling, "PATIENCE", 0.02)
    with pytest.raises(ValueError, match="no"), compiling.told("f"):
        time.sleep(0.3)
        raise ValueError("no")
    with compiling.told("g"):  # the one that failed is over
        time.sleep(0.3)
    assert [line.split(" in ")[0] for line in prompt.getvalue().splitlines()] == [
        "adc: compiling f ...",
        "adc: compiling g ...",
        "adc: compiled g",
    ]


def test_scripts_and_files_get_no_line(monkeypatch: pytest.MonkeyPatch, patient: None) -> None:
    for interactive, stream in ((False, Terminal()), (True, io.StringIO()), (True, None)):
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stderr", stream)
            if interactive:
                patched.setattr(sys, "ps1", ">>> ", raising=False)
            with compiling.told("f"):
                time.sleep(0.1)
        assert stream is None or stream.getvalue() == ""


def test_a_notebook_is_told(monkeypatch: pytest.MonkeyPatch, patient: None) -> None:
    """Its standard error is no terminal."""
    monkeypatch.setattr(sys, "ps1", "In : ", raising=False)
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with compiling.told("f"):
        time.sleep(0.3)
    assert stream.getvalue().startswith("adc: compiling f ...\n")


def test_calls_that_compile_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    names = []
    told = compiling.told

    def recorded(what: str) -> Any:
        names.append(what)
        return told(what)

    monkeypatch.setattr("adc.functions.dispatch.told", recorded)

    @jit_grad
    def square(x: Any) -> Any:
        return x * x

    assert (square(3.0), square.grad(3.0), square(4.0)) == (9.0, 6.0, 16.0)
    assert names == ["square", "square (gradient)"]


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """What the output of a cell was, one after the other. ``ipywidgets`` is not there."""
    outputs: list[dict[str, str]] = []

    def display(data: dict[str, str], *, raw: bool, display_id: bool) -> Any:
        assert raw and display_id
        return types.SimpleNamespace(update=lambda data, raw: outputs.append(data))

    package, module = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    module.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    return outputs


def decay(u0: Any, n: Any) -> Any:
    u = u0.copy()
    for _ in range(n):
        for i in range(1, u.shape[0]):
            u[i] = u[i] * 0.99 + 0.01 * np.sin(u[i - 1])
    return np.sum(u * u)


@pytest.mark.filterwarnings("error")
def test_bars_in_a_cell(monkeypatch: pytest.MonkeyPatch, cell: list[dict[str, str]]) -> None:
    monkeypatch.setattr(watching, "SOONEST", 0.0)
    f, u, end = jit_grad(decay), np.linspace(0.0, 1.0, 50), time.monotonic() + 60
    f.grad(u, 3)
    console = Console(file=io.StringIO(), force_jupyter=True)
    with adc.progress(console=console):
        while not cell and time.monotonic() < end:
            f.grad(u, 20_000)
    line = decay.__code__.co_firstlineno + 2
    assert f"decay, line {line}, " in cell[-1]["text/plain"] and "/20000" in cell[-1]["text/plain"]
    assert "\x1b" not in cell[-1]["text/plain"] and cell[-1]["text/html"].startswith("<pre")
    assert all(one != other for one, other in itertools.pairwise(cell))
    assert console.file.getvalue() == ""  # type: ignore[attr-defined]


@pytest.mark.filterwarnings("error")
def test_shots_in_a_cell(monkeypatch: pytest.MonkeyPatch, cell: list[dict[str, str]]) -> None:
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    with bar.shown(True, 3) as tell:
        for done in range(4):
            tell(done, 3)
    texts = [output["text/plain"] for output in cell]
    assert len(texts) == 4 and all(f"{done}/3" in text and "shots" in text for done, text in enumerate(texts))
