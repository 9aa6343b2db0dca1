"""The page of ``adc explore``: its data, and its behaviour in a browser."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from adc import plate
from adc.cli import main
from adc.commands.explore_page import PAGE
from adc.ir.types import MemRefType, f32, f64
from adc.passes.differentiation.storage.kept import ITS_ELEMENTS, Kept
from adc.reports.summary import stored

PROGRAM = """\
import math


def decay(x: float, k: float, n: int):
    total = 0.0
    for _ in range(n):
        x = x * math.exp(-k * x)
        total += x * x
    return total


def pair(x: float):
    return x, x * x
"""
SMALL = """\
import numpy as np


def turn(w: float, steps: int):
    q = np.array([1.0, 0.2 * w, 0.5])
    for _ in range(steps):
        q = q + w * np.array([q[1] * q[2], q[0] * q[2], q[0] * q[1]])
    return q[0]
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explore")
    (folder / "program.py").write_text(PROGRAM)
    assert main(["explore", f"{folder / 'program.py'}:decay", "-o", str(folder / "page.html")]) == 0
    return folder / "page.html"


def data_of(page: Path) -> Any:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_each_stage_is_linked_to_its_line(written: Path) -> None:
    data = data_of(written)
    panes = {pane["id"]: pane["lines"] for pane in data["panes"]}
    assert list(panes) == ["python", "primal", "adjoint", "llvm", "asm"]
    assert panes["python"][0] == ["def decay(x: float, k: float, n: int):", 4]
    for name, text in (("primal", "math.exp"), ("adjoint", "math.exp"), ("llvm", "exp"), ("asm", "exp")):
        assert any(n == 7 and text in line for line, n in panes[name]), name
    assert not any(" loc(" in line or "!dbg" in line for lines in panes.values() for line, _ in lines)
    assert {n for _, n in panes["adjoint"]} <= {0, *range(4, 10)}
    assert "stored" in data["badges"]["6"]
    assert not re.search(r'(src|href)="', written.read_text())  # it loads nothing
    assert "gradient of decay by x" in written.read_text()


def test_what_the_tape_is_made_of(tmp_path: Path, written: Path) -> None:
    tape = data_of(written)["tape"]
    trips = "iterations of the loop in line 6"
    assert {"line": 6, "name": "x", "bytes": 8, "factors": [trips]} in tape["values"]
    assert all(value["factors"] == [trips] for value in tape["values"]) and not tape["schedule"]
    page = tmp_path / "pair.html"
    assert main(["explore", f"{written.parent / 'program.py'}:pair", "-o", str(page)]) == 0
    assert data_of(page)["tape"] == {"values": [], "schedule": False}


def test_factors_of_what_is_stored() -> None:
    trips, view = "trips of the loop at line 3", MemRefType((None,), f64, (None,))
    values = [
        Kept(5, "u before the loop", "", f64, (ITS_ELEMENTS, trips)),
        Kept(6, "v", "", view, (12, trips)),
        Kept(7, "w", "", f32, ()),
        Kept(8, "x", "", f64, (trips, "trips of the loop at line 4")),
        Kept(9, "y", "", f64, (trips,), checked=True),
    ]
    found = {value.line: value for value in stored(values)}
    assert list(found) == [5, 6, 8, 7]  # what is likely to take most comes first
    trips = "iterations of the loop in line 3"
    assert found[5].factors == ("elements of u", trips)
    assert found[6].factors == (12, trips) and found[6].type == "array of float64 with 1 axis" and found[6].refers
    assert found[7].factors == () and not found[5].refers and not found[7].refers


def test_values_alike_count_together(tmp_path: Path) -> None:
    """Four elements of a small array are four values; what is computed where subscripts are checked is no more."""
    (tmp_path / "program.py").write_text(SMALL)
    assert main(["explore", f"{tmp_path / 'program.py'}:turn", "-o", str(tmp_path / "page.html")]) == 0
    values = data_of(tmp_path / "page.html")["tape"]["values"]
    assert [(value["line"], value["name"], value["bytes"]) for value in values] == [(6, "q", 24)]


def test_a_pullback_and_the_size_of_the_heat_example(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    page = tmp_path / "pair.html"
    assert main(["explore", f"{tmp_path / 'program.py'}:pair", "-o", str(page)]) == 0
    assert any("pair" in line for line, _ in data_of(page)["panes"][2]["lines"])
    heat = f"{plate.__file__}:misfit_loops"  # what examples/heat.py is about
    types = "f64[:, ::1], f64, f64[:, :, ::1], i64, f64, f64"
    assert main(["explore", heat, "--signature", types, "-o", str(page)]) == 0
    assert page.stat().st_size < 2_000_000


ACTIONS = """
<script>
const seen = {}, line = (pane, n) => document.querySelector(`#${pane} .l[data-n="${n}"]`);
const press = key => document.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
line("adjoint", 7).dispatchEvent(new MouseEvent("mouseover", {bubbles: true}));
seen.hovered = [...document.querySelectorAll(".mark")].every(l => l.dataset.n === "7");
line("asm", 8).click();
seen.pinned = line("python", 8).classList.contains("pin") && line("llvm", 8).classList.contains("pin");
seen.selected = document.getElementById("python").getAttribute("aria-activedescendant");
press("k");
seen.up = line("python", 7).classList.contains("pin") && !line("python", 8).classList.contains("pin");
press("/");
seen.focused = document.activeElement.id;
document.activeElement.value = "total += x";
document.activeElement.dispatchEvent(new Event("input"));
seen.found = document.getElementById("count").textContent;
document.getElementById("python").focus();
press("5");
seen.hidden = document.getElementById("asm").parentElement.hidden;
press("Escape");
seen.unpinned = document.querySelectorAll(".pin").length;
const tape = document.getElementById("tape"), trips = tape.querySelector("input");
tape.parentElement.open = true;
seen.bars = [...tape.querySelectorAll("li")].map(item => item.textContent);
trips.focus();
trips.value = 1000000;
trips.dispatchEvent(new Event("input"));
press("1");
seen.typed = tape.querySelector("svg").getAttribute("aria-label");
seen.kept = !document.getElementById("python").parentElement.hidden;
tape.querySelector("button").click();
seen.line = document.getElementById("python").getAttribute("aria-activedescendant");
document.title = JSON.stringify(seen);
</script>
</body>
"""


def test_in_a_browser(written: Path, tmp_path: Path) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("Chromium is not installed")
    page = tmp_path / "acted.html"
    page.write_text(written.read_text().replace("</body>", ACTIONS))
    command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom", f"file://{page}"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    title = re.search(r"<title>(.*?)</title>", run.stdout)
    assert title is not None
    assert json.loads(title[1]) == {
        "hovered": True,
        "pinned": True,
        "selected": "py-8",
        "up": True,
        "focused": "search",
        "found": "1 of 1 lines",
        "hidden": True,
        "unpinned": 0,
        "bars": ["line 6: x8 kB (100 %)"],
        "typed": "bar of line 6: 8 MB (100 %)",
        "kept": True,
        "line": "py-6",
    }


AXE = """
<script>
addEventListener("load", async () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
  document.querySelector('#asm .l[data-n="8"]').click();
  const found = await axe.run(document);
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const wrong = found.violations.map(v => [v.id, v.help, v.nodes.slice(0, 3).map(n => n.html)]);
  const title = JSON.stringify({dark, passed: found.passes.length, wrong});
  document.body.textContent = "";
  document.title = title;
});
</script>
</body>
"""


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_wrong(written: Path, tmp_path: Path, dark: bool) -> None:
    """With all that can be opened open, and a line marked; axe-core is that of ``npm install --global axe-core``."""
    browser, npm = shutil.which("chromium"), shutil.which("npm")
    if browser is None or npm is None:
        pytest.skip("Chromium or npm is not installed")
    folder = subprocess.run([npm, "root", "--global"], capture_output=True, text=True, check=True).stdout.strip()
    script = Path(os.environ.get("AXE_CORE") or folder) / "axe-core" / "axe.min.js"
    if not script.exists():
        pytest.skip("axe-core is not installed")
    axe = script.read_text().replace("</script", "<\\/script")
    page = tmp_path / "examined.html"
    page.write_text(written.read_text().replace("</body>", f"<script>{axe}</script>{AXE}"))
    command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=60000"]
    command += [f"--blink-settings=preferredColorScheme={0 if dark else 1}", "--dump-dom", f"file://{page}"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    title = re.search(r"<title>(\{.*?)</title>", run.stdout)
    assert title is not None
    found = json.loads(html.unescape(title[1]))
    assert found["dark"] == dark and found["passed"] > 20
    assert found["wrong"] == []


def test_colours_are_told_apart() -> None:
    """All text on all backgrounds, those of marked lines too, by the contrast that WCAG asks for."""

    def light(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        red, green, blue = (x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05

    schemes = re.findall(r":root \{(.*?)\}", PAGE, re.DOTALL)
    assert len(schemes) == 2
    for scheme in schemes:
        colours = dict(re.findall(r"--(\w+): (#\w{6})", scheme))
        for text in ("fg", "badge", "dim"):
            for ground in ("bg", "head", "mark", "pin", "find"):
                pair = sorted((light(colours[text]), light(colours[ground])))
                assert pair[1] / pair[0] >= 4.5, (scheme, text, ground)
