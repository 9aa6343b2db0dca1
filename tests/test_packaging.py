"""Two places say where the packages are (pyproject and the links inside adc/), and they agree."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUPTOOLS = PROJECT["tool"]["setuptools"]


def test_links_are_the_mapping() -> None:
    """Of what lies at the top level; the rooms of adc itself are inside it."""
    outside = {name: folder for name, folder in SETUPTOOLS["package-dir"].items() if not folder.startswith("adc")}
    mapping = {name: folder for name, folder in outside.items() if name.count(".") == 1}
    links = {f"adc.{p.name}": os.readlink(p) for p in (ROOT / "adc").iterdir() if p.is_symlink()}
    assert links == {name: f"../{folder}" for name, folder in mapping.items()}
    assert sorted(SETUPTOOLS["packages"]) == sorted(SETUPTOOLS["package-dir"])


def test_every_folder_of_modules_is_packaged() -> None:
    named = dict(SETUPTOOLS["package-dir"])
    for name, folder in named.items():
        place = folder.replace("/", ".")
        assert name == (place if folder.split("/")[0] == "adc" else f"adc.{place}")
    top = [p.parent for p in ROOT.glob("*/__init__.py")]
    nested = [p.parent for folder in top for p in folder.rglob("*/__init__.py") if p.resolve() == p]  # no links
    assert {str(folder.relative_to(ROOT)) for folder in [*top, *nested]} == set(named.values())


def test_run_time_dependencies() -> None:
    names = {d.split(">")[0].split("=")[0] for d in PROJECT["project"]["dependencies"]}
    assert names == {"llvmlite", "numpy", "rich"}
    assert PROJECT["project"]["name"] == "adc-compiler"
    assert PROJECT["project"]["requires-python"] == ">=3.11"


def test_import_is_light() -> None:
    """`import adc` loads NumPy and llvmlite, and nothing else that is heavy."""
    heavy = ["rich", "scipy", "matplotlib", "numba", "hypothesis", "pytest"]
    code = f"import adc, sys; print([name for name in {heavy!r} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert run.stdout.strip() == "[]"
