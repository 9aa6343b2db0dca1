"""The examples, small: they run, and find what they are to find."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from adc import plate

ROOT = Path(__file__).resolve().parent.parent


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", ROOT / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(*command: str, folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, env=environment, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_stencil(tmp_path: Path) -> None:
    printed = run(str(ROOT / "examples" / "stencil.py"), "--points", "5000", "--threads", "2", folder=tmp_path)
    assert "simple_stencil at 5,000 points" in printed and "complex_stencil at 5,000 points" in printed
    assert printed.count("agree bit for bit") == 2


def test_heat(tmp_path: Path) -> None:
    script = str(ROOT / "examples" / "heat.py")
    printed = run(script, "--size", "16", "--iterations", "15", "--output", "out", folder=tmp_path)
    assert "recovered" in printed and "L-BFGS" in printed
    if importlib.util.find_spec("matplotlib"):
        assert (tmp_path / "out" / "heat.png").stat().st_size > 10_000


def test_versions_of_the_solver_have_one_gradient() -> None:
    problem = plate.measured(14, frames=3, every=3)
    assert load("heat").compare_versions(problem) < 1e-12


@pytest.mark.parametrize("misfit", [plate.loops, plate.slices], ids=["loops", "slices"])
def test_plate_gradient(misfit: object) -> None:
    problem = plate.measured(9, frames=2, every=2)
    u0, r = problem.first_guess()
    value, (u0_bar, r_bar) = misfit.value_and_grad(*problem.misfit(u0, r))  # type: ignore[attr-defined]
    assert value == pytest.approx(plate.misfit_loops(*problem.misfit(u0, r)), rel=1e-12)
    rng = np.random.default_rng(5)
    for _ in range(3):
        u_step, r_step, h = rng.standard_normal(u0.shape), rng.standard_normal() * 0.01, 1e-4
        ahead = plate.misfit_slices(*problem.misfit(u0 + h * u_step, r + h * r_step))
        behind = plate.misfit_slices(*problem.misfit(u0 - h * u_step, r - h * r_step))
        assert np.sum(u0_bar * u_step) + r_bar * r_step == pytest.approx((ahead - behind) / (2 * h), rel=1e-6)


def test_plate_is_recovered() -> None:
    problem = plate.measured(32)
    recovered = plate.recover(problem)
    first = np.sqrt(np.mean((problem.data[0] - problem.truth) ** 2))
    error = np.sqrt(np.mean((recovered.u0 - problem.truth) ** 2))
    assert abs(recovered.r - problem.r) < 0.01
    assert error < 0.7 * first
    assert recovered.history[-1] < recovered.history[0]


def test_own_lbfgs_finds_the_minimum() -> None:
    """Rosenbrock's function in ten dimensions."""

    def rosenbrock(x: plate.Array) -> tuple[float, plate.Array]:
        a, b = x[1:] - x[:-1] ** 2, 1 - x[:-1]
        g = np.zeros_like(x)
        g[1:] += 200 * a
        g[:-1] -= 400 * a * x[:-1] + 2 * b
        return float(np.sum(100 * a * a + b * b)), g

    x = plate.lbfgs(rosenbrock, np.zeros(10), 500, lambda _: None)
    np.testing.assert_allclose(x, np.ones(10), atol=1e-3)
