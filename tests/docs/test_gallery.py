"""The programs of the gallery, with small sizes: they run, and give the expected results.

Each begins with its sizes, in capitals; the test uses smaller ones. Pictures are drawn when the site is built.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from tests.docs.blocks import ROOT
from tests.fuzz.check import loaded

GALLERY = ROOT / "docs" / "gallery"
Names = dict[str, Any]


@dataclass(frozen=True)
class Small:
    """Sizes of a test, and what its program must have found."""

    found: Callable[[Names], bool]
    sizes: dict[str, float] = field(default_factory=dict)


def near(found: Any, truth: Any, rtol: float) -> bool:
    return bool(np.allclose(found, truth, rtol=rtol))


PROGRAMS = {
    "catchment": Small(lambda p: near(p["found"], p["truth"], 0.35), {"DAYS": 500}),
    "deblurring": Small(lambda p: p["last"] < 0.9 * p["first"], {"N": 24, "ITERATIONS": 15}),
    "heat": Small(lambda p: p["last"] < 0.6 * p["first"], {"N": 10, "STEPS": 100, "ITERATIONS": 30}),
    "heston": Small(lambda p: near(p["found"].x, p["truth"], 0.5), {"STRIKES": 5, "TIMES": 3, "NODES": 60}),
    "hodgkin_huxley": Small(lambda p: near(p["found"], p["truth"], 0.1), {"STEPS": 2000}),
    "kalman": Small(lambda p: p["after"] < 0.8 * p["before"], {"SECONDS": 80}),
    "lattice_boltzmann": Small(
        lambda p: p["result"].fun < 0.97 * p["drag"](p["start"], *p["arguments"]),
        {"NX": 24, "NY": 12, "STEPS": 30, "RADIUS": 2.5, "ITERATIONS": 2},
    ),
    "lens": Small(lambda p: p["last"] < 0.5 * p["first"], {"RAYS": 7, "ITERATIONS": 15}),
    "meta_gradients": Small(lambda p: p["after"] < 0.8 * p["before"], {"STEPS": 6, "TASKS": 6, "ROUNDS": 40}),
    "network": Small(lambda p: p["losses"][-1] < 0.9 * p["losses"][0], {"POINTS": 60, "WIDTH": 8, "EPOCHS": 40}),
    "ode_fit": Small(lambda p: near(p["found"].x, p["truth"], 0.15), {"EVERY": 25, "H": 0.04}),
    "optimisers": Small(
        lambda p: all(curve[-1] < 0.05 * curve[0] for curve in p["curves"].values()),
        {"HOURS": 30, "STEPS": 100},
    ),
    "pendulum": Small(lambda p: abs(np.cos(p["angle"]) + 1.0) < 0.1, {"TIMES": 80, "H": 0.015}),
    "three_bodies": Small(lambda p: p["result"].fun < 1e-8, {"STEPS": 120, "ITERATIONS": 40}),
    "topology": Small(lambda p: p["mean_temperature"](p["density"], 3.0) < 0.5 * p["first"], {"N": 12, "ROUNDS": 8}),
    "waveform": Small(
        lambda p: p["result"].fun < 0.5 * p["history"][0], {"N": 24, "STEPS": 60, "SHOTS": 2, "ITERATIONS": 6}
    ),
}


def test_all_programs_are_tested() -> None:
    assert sorted(PROGRAMS) == sorted(path.stem for path in GALLERY.glob("*.py"))


def shrunk(source: str, sizes: dict[str, float]) -> str:
    """With other values in the line of sizes."""
    for name, size in sizes.items():
        line = re.search(rf"^[A-Z, ]*\b{name}\b[A-Z, ]* = .*$", source, re.MULTILINE)
        assert line is not None, name
        names, _, values = line[0].partition(" = ")
        at = names.split(", ").index(name)
        new = values.split(", ")
        new[at] = repr(size)
        source = source.replace(line[0], f"{names} = {', '.join(new)}", 1)
    return source


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    small = PROGRAMS[name]
    source = shrunk((GALLERY / f"{name}.py").read_text(), small.sizes).split("import matplotlib")[0]
    printed = io.StringIO()
    with loaded(source) as names, contextlib.redirect_stdout(printed):
        assert small.found(names), printed.getvalue()


@pytest.mark.parametrize("name", PROGRAMS)
def test_text_is_a_page(name: str) -> None:
    """A title, a few sentences, code that fits beside the menu, and a picture."""
    source = (GALLERY / f"{name}.py").read_text()
    assert re.match(r'"""\n[A-Z].{5,60}\n=+\n\n[A-Z]', source)
    assert 40 <= len([line for line in source.splitlines() if line.strip()]) <= 120
    assert [line for line in source.splitlines() if len(line) > 106] == []
    assert source.index("import matplotlib.pyplot") > source.index("import adc" if "import adc\n" in source else "adc")
