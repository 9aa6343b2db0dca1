"""The documentation shows what really happens: IR, values, tables. `--update-golden` writes the generated parts."""

from __future__ import annotations

import linecache
import math
import re
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad, prange
from adc.api.externs import External
from adc.frontend.libraries import library_scipy
from adc.frontend.libraries.table import LIBRARY
from adc.reports.dump import STAGES

assert adc.vmap in LIBRARY  # as soon as it is used
ROOT = Path(__file__).resolve().parent.parent
JOURNEY = ROOT / "docs" / "journey.md"
LANGUAGE = ROOT / "docs" / "language.md"
DIFFERENTIATION = ROOT / "docs" / "differentiation.md"
STENCILS = ROOT / "docs" / "stencils.md"


def shown_function(page: Path, name: str) -> Any:
    """The first function of a page, from a file of its name."""
    found = re.search(r"```python\n.*?(@jit_grad.*?)(\n\n|```)", page.read_text(), re.DOTALL)
    assert found is not None
    source, file = found.group(1), f"{name}.py"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names: dict[str, Any] = {"jit_grad": jit_grad, "prange": prange}
    exec(compile(source, file, "exec"), names)
    return names[name]


def fill(path: Path, mark: str, block: str, update: bool) -> None:
    """Check, or write, the fenced block or paragraph that follows a mark."""
    text = path.read_text()
    found = re.search(rf"<!-- {re.escape(mark)} -->\n(```.*?\n```\n|[^\n#][^#]*?\n\n)?", text, re.DOTALL)
    assert found is not None, f"{path} has no mark {mark}"
    wanted = f"<!-- {mark} -->\n{block}"
    if update:
        path.write_text(text[: found.start()] + wanted + text[found.end() :])
    else:
        assert found.group(0) == wanted, f"{path.name}: run pytest {__file__} --update-golden"


def test_journey(pytestconfig: pytest.Config) -> None:
    """The stages of the page about one small function."""
    logistic = shown_function(JOURNEY, "logistic")
    update = bool(pytestconfig.getoption("--update-golden"))
    for stage in ("traced", "simplified", "plan", "adjoint"):
        printed = logistic.dump_ir(stage, "f64, f64, i64").rstrip()
        fill(JOURNEY, f"ir: {stage}", f"```{'text' if stage == 'plan' else 'mlir'}\n{printed}\n```\n", update)
    printed = logistic.dump_ir("tangent", "f64, f64, i64").rstrip()
    fill(DIFFERENTIATION, "ir: tangent", f"```mlir\n{printed}\n```\n", update)


def test_library_list(pytestconfig: pytest.Config) -> None:
    """docs/language.md names every library function that is supported, but NumPy's, and no other."""
    groups: dict[str, list[str]] = {}
    special = library_scipy.table()
    for entry in special:
        groups.setdefault("scipy.special", []).append(entry.__name__)
    for entry in (entry for entry in LIBRARY if entry not in special and not isinstance(entry, External)):
        name, module = getattr(entry, "__name__", ""), getattr(entry, "__module__", None) or "numpy"
        if entry in (object.__init__, object.__setattr__):
            name, module = f"object.{name}", "builtins"
        known = {"builtins": "Python", "numpy.linalg": "numpy"}
        module = "adc" if module.startswith("adc.") else known.get(module, module.removeprefix("_"))
        # NumPy's have a page of their own; what only the prelude calls is nobody else's.
        if module != "numpy" and not str(getattr(entry, "__module__", "")).startswith("adc.frontend."):
            groups.setdefault(module, []).append(name)
    listed = {module: ", ".join(f"`{name}`" for name in sorted(set(names))) for module, names in groups.items()}
    wrapped = "\n".join(wrap(f"- {module}: {names}") for module, names in sorted(listed.items()))
    fill(LANGUAGE, "library", f"{wrapped}\n\n", bool(pytestconfig.getoption("--update-golden")))


def wrap(line: str) -> str:
    return textwrap.fill(line, 118, subsequent_indent="  ", break_on_hyphens=False)


def test_stages_are_documented() -> None:
    table = (ROOT / "docs" / "cli.md").read_text()
    assert all(f"`{stage}`" in table for stage in STAGES)


KINKS: dict[str, tuple[Any, tuple[Any, ...], Any]] = {
    "abs": (lambda x: abs(x), (0.0,), (0.0,)),
    "fabs": (lambda x: math.fabs(x), (0.0,), (0.0,)),
    "max": (lambda x, y: max(x, y), (1.0, 1.0), (1.0, 0.0)),
    "min": (lambda x, y: min(x, y), (1.0, 1.0), (1.0, 0.0)),
    "np.maximum": (lambda x, y: np.maximum(x, y), (1.0, 1.0), (0.5, 0.5)),
    "np.minimum": (lambda x, y: np.minimum(x, y), (1.0, 1.0), (0.5, 0.5)),
    "np.clip": (lambda x: np.clip(x, 0.0, 1.0), (0.0,), (0.5,)),
    "hypot": (lambda x, y: math.hypot(x, y), (0.0, 0.0), (0.0, 0.0)),
    "power, exponent 0": (lambda x, y: x**y, (0.0, 0.0), (0.0, 0.0)),
    "power, base 0": (lambda x, y: x**y, (0.0, 2.0), (0.0, 0.0)),
    "sqrt": (lambda x: math.sqrt(x), (0.0,), (math.inf,)),
    "asin": (lambda x: math.asin(x), (1.0,), (math.inf,)),
    "floor": (lambda x: np.floor(x), (1.0,), (0.0,)),
    "int": (lambda x: int(x) * 1.0, (1.2,), (0.0,)),
    "sign": (lambda x: np.sign(x), (2.0,), (0.0,)),
    "heaviside": (lambda x: np.heaviside(x, 0.5), (0.0,), (0.0,)),
    "remainder": (lambda x, y: x % y, (7.5, 2.0), (1.0, -3.0)),
    "floor division": (lambda x, y: x // y, (7.5, 2.0), (0.0, 0.0)),
    "copysign": (lambda x, y: math.copysign(x, y), (2.0, -1.0), (-1.0, 0.0)),
    "branch not taken": (lambda x: math.sqrt(x) if x > 0 else 0.0, (0.0,), (0.0,)),
}


@pytest.mark.parametrize("name", KINKS)
def test_kinks(name: str) -> None:
    """The table of docs/derivatives.md."""
    function, arguments, expected = KINKS[name]
    assert adc.grad(function, tuple(range(len(arguments))))(*arguments) == expected


def test_kinks_of_array_extrema() -> None:
    for sign, function in ((1.0, lambda v: np.max(v)), (-1.0, lambda v: np.min(-v))):
        gradient = adc.grad(function)(np.array([1.0, 3.0, 2.0, 3.0, 3.0]))
        assert gradient.tolist() == [0.0, sign, 0.0, 0.0, 0.0]


def test_the_side_that_where_does_not_choose_contributes_nothing() -> None:
    assert adc.grad(lambda x: np.where(x > 0, np.sqrt(x), 0.0))(0.0) == 0.0
    misfit = adc.grad(lambda u, d: np.sum(np.where(np.isnan(d), 0.0, (u - d) ** 2)))
    assert misfit(np.array([1.0, 2.0]), np.array([math.nan, 0.5])).tolist() == [0.0, 3.0]


@pytest.fixture(scope="module")
def bending() -> Any:
    """The function of the page about stencils."""
    return shown_function(STENCILS, "bending")


def test_stencil_page(bending: Any, pytestconfig: pytest.Config) -> None:
    update = bool(pytestconfig.getoption("--update-golden"))
    for stage in ("simplified", "adjoint", "plan", "lowered"):
        printed = bending.dump_ir(stage, "f64[::1], f64[::1]").rstrip()
        if stage == "plan":
            printed = printed[printed.index("loops of @bending.grad") :]
        else:
            name = "bending" if stage == "simplified" else "bending.grad"
            function = re.search(rf"^func.func @{re.escape(name)}\(.*?^}}", printed, re.DOTALL | re.MULTILINE)
            assert function is not None
            printed = without_cold(function.group(0))
        fill(STENCILS, f"stencil: {stage}", f"```{'text' if stage == 'plan' else 'mlir'}\n{printed}\n```\n", update)


def without_cold(text: str) -> str:
    """IR without what is in the branches that are marked cold."""
    lines: list[str] = []
    for line in text.splitlines():
        if re.fullmatch(r' *\} \{adc\.cold = "else"\}', line):
            start = line.index("}") * " " + "} else {"
            at = max(k for k, before in enumerate(lines) if before == start)
            lines[at + 1 :] = [f"{(line.index('}') + 2) * ' '}..."]
        lines.append(line)
    return "\n".join(lines)


def test_the_stencil_page_is_right_about_its_gradient(bending: Any) -> None:
    rng = np.random.default_rng(0)
    for n in (0, 1, 2, 3, 4, 5, 20):
        u, w = rng.random(n), rng.random(n)
        expected = np.zeros(n)
        for i in range(1, n - 1):
            expected[i - 1 : i + 2] += w[i] * np.array([1.0, -2.0, 1.0])
        np.testing.assert_allclose(bending.grad(u, w), expected, rtol=1e-13, atol=1e-15)
