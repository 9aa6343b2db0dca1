"""Programs with parts that change between processes: the next one behaves like Python, and traces only if necessary."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
_times = itertools.count(1_000_000_000)

HELPERS = """
import numpy as np

RATE = 2.0
TABLE = (1, 2, 3)
SETTINGS = {"k": 3.0}


def inner(x):
    return RATE * x * x


class Base:
    def weight(self):
        return 1.0


class Model(Base):
    def __init__(self, k):
        self.k = k

    def run(self, x):
        return self.weight() * self.k * np.sum(x)


MODEL = Model(0.5)
"""

PROGRAM = """
import json
import sys

import numpy as np

import adc
import helpers
from adc import jit_grad
from adc.driver import compiler
from helpers import MODEL, SETTINGS, TABLE, inner

traced = []
original = compiler.trace
compiler.trace = lambda fn, *args, **kwargs: traced.append(fn.__name__) or original(fn, *args, **kwargs)


@jit_grad
def total(x, scale=1.5):
    s = 0.0
    for k in TABLE:
        s += k * np.sum(inner(x)) * SETTINGS["k"]
    return scale * s + MODEL.run(x) + helpers.RATE


@jit_grad
def fails(x):
    if x[0] > 0.0:
        raise ValueError("too large")
    return x[0]


x = np.linspace(0.5, 1.5, 4)
try:
    fails(x)
except ValueError as error:
    line = str(error)
found = [total(x), total.grad(x).tolist(), total.pullback(x)[1](1.0)[0].tolist(), total.jvp((x,), (x,))[1]]
found += [adc.hessian(total)(x).tolist(), adc.vmap(inner)(x).tolist(), line]
plain = total.__wrapped__(x)
print(json.dumps({"found": found, "plain": plain, "traced": traced}))
"""


def run(folder: Path) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ADC_CACHE": "1", "ADC_CACHE_DIR": str(folder / "kept")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    os.utime(folder / "helpers.py", (next(_times),) * 2)  # a file that changes twice in a second is read again
    command = [sys.executable, str(folder / "program.py")]
    made = subprocess.run(command, check=True, env=environment, cwd=folder, stdout=subprocess.PIPE, text=True)
    told: dict[str, Any] = json.loads(made.stdout)
    assert told["found"][0] == pytest.approx(told["plain"], rel=1e-14)
    return told


def edit(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))

    return change


# What changes, and whether something must be traced again. There is room for four records of a function and types, so
# what changes no record comes first.
CHANGES: dict[str, tuple[Callable[[Path], None], bool]] = {
    "a number that is read": (edit("helpers.py", "RATE = 2.0", "RATE = 2.5"), False),
    "an item": (edit("helpers.py", '"k": 3.0', '"k": 4.0'), False),
    "an attribute": (edit("helpers.py", "Model(0.5)", "Model(0.75)"), False),
    "a number becomes an integer": (edit("helpers.py", "RATE = 2.0", "RATE = 2"), True),
    "an item more": (edit("helpers.py", '"k": 3.0', '"j": 1.0, "k": 4.0'), True),
    "a table": (edit("helpers.py", "(1, 2, 3)", "(1, 2, 4)"), True),
    "a called function": (edit("helpers.py", "RATE * x * x", "RATE * x + x"), True),
    "a method": (edit("helpers.py", "self.k * np.sum(x)", "self.k * np.max(x)"), True),
    "an inherited method": (edit("helpers.py", "return 1.0", "return 3.0"), True),
    "a method that hides another": (
        edit("helpers.py", "    def run(self", "    def weight(self):\n        return 7.0\n\n    def run(self"),
        True,
    ),
    "a default": (edit("program.py", "scale=1.5", "scale=2.5"), True),
    "a name hides a builtin": (edit("program.py", "x = np.linsp", "ValueError = ValueError\nx = np.linsp"), True),
}


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """What a first process found."""
    folder = tmp_path_factory.mktemp("first")
    (folder / "helpers.py").write_text(HELPERS)
    (folder / "program.py").write_text(PROGRAM)
    return folder, run(folder)


def test_nothing_is_traced_by_a_second_process(first: tuple[Path, dict[str, Any]]) -> None:
    folder, told = first
    again = run(folder)
    assert {"total", "fails", "vmap"} <= set(told["traced"])
    assert again["found"] == told["found"]
    assert again["traced"] == []


@pytest.mark.parametrize("name", CHANGES)
def test_what_has_changed_is_noticed(name: str, first: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = first
    change, traced = CHANGES[name]
    kept = {file: (folder / file).read_text() for file in ("helpers.py", "program.py")}
    change(folder)
    try:
        assert bool(run(folder)["traced"]) == traced
    finally:
        for file, text in kept.items():
            (folder / file).write_text(text)


def test_what_is_as_it_was_is_found_again(first: tuple[Path, dict[str, Any]]) -> None:
    """After each of the changes and its end."""
    folder, told = first
    again = run(folder)
    assert again["found"] == told["found"]
