"""The examples, with small sizes: they run, and give the expected results."""

from __future__ import annotations

import functools
import importlib.util
import itertools
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy import special

import adc
from adc import jit_grad, plate

ROOT = Path(__file__).resolve().parent.parent


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", ROOT / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look
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


def test_ranks(tmp_path: Path) -> None:
    script = str(ROOT / "examples" / "ranks.py")
    told = [run(script, "--iterations", "4", *more, folder=tmp_path) for more in ((), ("--simulate", "3"))]
    one, three = (text.splitlines()[-1].split(": ")[1] for text in told)
    assert one == three and "3 ranks: " in told[1]


def test_bratu() -> None:
    """A steady state, found with quadratic convergence; the least hot one of L = 1 is known to be 0.0781 at most."""
    module, n = load("bratu"), 31
    changes: list[float] = []
    u = module.newton(np.zeros((n, n)), 1.0, lambda step, size, change: changes.append(change))
    around = np.pad(u, 1)
    laplace = around[2:, 1:-1] + around[:-2, 1:-1] + around[1:-1, 2:] + around[1:-1, :-2] - 4 * u
    np.testing.assert_allclose(laplace, -np.exp(u) / (n + 1) ** 2, rtol=1e-9)
    assert np.max(u) == pytest.approx(0.0781, abs=2e-4)
    assert len(changes) <= 4 and all(b < a * a for a, b in itertools.pairwise(changes))
    assert module.JACOBIAN.colouring(u, 1.0).sweeps == 5
    with pytest.raises(ArithmeticError, match="too strong"):
        module.newton(np.zeros((n, n)), 8.0, lambda *_: None)


def test_bratu_prints(tmp_path: Path) -> None:
    printed = run(str(ROOT / "examples" / "bratu.py"), "--size", "12", folder=tmp_path)
    assert "144 x 144" in printed and "5 forward sweeps" in printed and "hottest: 0.7" in printed


def test_rule() -> None:
    """Lambert's W against SciPy's; a fit that finds what the curve was made with."""
    module = load("rule")
    for x in (1e-9, 0.3, 1.0, 7.5, 4e6):
        w = float(special.lambertw(x).real)
        assert module.lambert_w(x) == pytest.approx(w, rel=1e-13)
        assert adc.grad(module.lambert_w)(x) == pytest.approx(w / (x * (1.0 + w)), rel=1e-12)
    adc.test_rule(module.lambert_w, 2.5)
    voltages = np.linspace(0.3, 0.9, 9)
    measured = np.array([module.current(v, 12.0, 1e-11) for v in voltages])
    p = module.fitted(voltages, measured, np.log(np.array([20.0, 5e-11])))
    np.testing.assert_allclose(np.exp(p), [12.0, 1e-11], rtol=1e-6)


def test_steady() -> None:
    module, n = load("steady"), 8
    q = 20.0 + np.linspace(-4.0, 9.0, n)
    u = module.steady(q)
    around = np.pad(u, 1)
    laplace = (around[2:] + around[:-2] - 2.0 * u) * (n + 1) ** 2
    np.testing.assert_allclose(laplace - module.RADIATION * u**4 + q, 0.0, atol=1e-8)
    np.testing.assert_allclose(module.recovered(u), q, rtol=1e-3)


def test_laplace() -> None:
    """Near the posterior, which sums over a grid know; the Hessian is that of the closed form."""
    module = load("laplace")
    x, y = module.observed(400)
    near = module.laplace(x, y)
    p = 1.0 / (1.0 + np.exp(-(x @ near.mean)))
    hessian = (x * (p * (1.0 - p))[:, None]).T @ x + np.eye(2) / module.PRIOR**2
    np.testing.assert_allclose(near.covariance, np.linalg.inv(hessian), rtol=1e-10)
    true = module.on_a_grid(x, y, near, points=61)
    np.testing.assert_allclose(near.mean, true.mean, atol=0.05)
    np.testing.assert_allclose(near.covariance, true.covariance, rtol=0.05)
    assert abs(near.log_evidence - true.log_evidence) < 0.02


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


@pytest.fixture(scope="module")
def wave() -> tuple[ModuleType, Any]:
    module = load("wave")
    return module, module.survey(quick=True)


@pytest.fixture(scope="module")
def frugal(wave: tuple[ModuleType, Any]) -> Any:
    return jit_grad(memory="1500kB")(wave[0].shot_misfit)


def test_wave_misfit_is_that_of_the_traces(wave: tuple[ModuleType, Any], frugal: Any) -> None:
    """Of the true model nothing, of the start what plain NumPy says."""
    _, survey = wave
    residual = survey.traces(survey.start, 1) - survey.recorded[1]
    assert frugal(*survey.arguments(survey.start, 1)) == pytest.approx(0.5 * np.sum(residual**2), rel=1e-10)
    assert frugal(*survey.arguments(survey.truth, 1)) < 1e-20


def test_wave_gradient(wave: tuple[ModuleType, Any], frugal: Any) -> None:
    """Within its memory, with steps run again: against differences of plain NumPy."""
    _, survey = wave
    arguments = survey.arguments(survey.start, 0)
    forecast = frugal.grad.forecast(*arguments)
    (loop,) = forecast.loops
    assert forecast.peak <= 1_500_000 < loop.steps * loop.tape / 5
    assert loop.repeated > loop.steps
    gradient = frugal.grad(*arguments)
    assert np.array_equal(frugal.grad(*arguments, checkpoint="store-all"), gradient)
    rng = np.random.default_rng(3)
    for _ in range(2):
        step, h = rng.standard_normal(survey.start.shape), 1e-5
        ahead, behind = (
            0.5 * np.sum((survey.traces(survey.start + s * h * step, 0) - survey.recorded[0]) ** 2) for s in (1, -1)
        )
        assert np.sum(gradient * step) == pytest.approx((ahead - behind) / (2 * h), rel=1e-5)


def test_waves_leave(wave: tuple[ModuleType, Any]) -> None:
    """In uniform ground, the layers at the sides send back little: as if they were further away."""
    module, survey = wave
    (n, m), more = survey.start.shape, 80
    ratio, fastest = survey.interval / survey.spacing, 2.0
    made = []
    for extra in (0, more):
        shape = n + 2 * extra, m + 2 * extra
        damping = module.damping_layers(shape, survey.border, survey.spacing, survey.interval, fastest)
        place = survey.row + extra, m // 2 + extra
        at = range(survey.receivers.start + extra, survey.receivers.stop + extra, survey.receivers.step)
        made.append(module.traces(np.full(shape, fastest), damping, ratio, survey.wavelet, *place, at))
    assert np.max(np.abs(made[0] - made[1])) < 0.05 * np.max(np.abs(made[1]))


@pytest.mark.parametrize("scipy", [True, False])
def test_wave_model_is_recovered(wave: tuple[ModuleType, Any], frugal: Any, scipy: bool) -> None:
    module, survey = wave
    inversion = module.Inversion(survey, frugal)
    found, _ = inversion.run(6 if scipy else 12, scipy=scipy)
    assert inversion.history[-1] < inversion.history[0] / (15 if scipy else 5)
    assert survey.error(found) < (0.75 if scipy else 0.85) * survey.error(survey.start)
    outside = np.ones(found.shape, bool)
    outside[survey.inside] = False
    assert np.array_equal(found[outside], survey.start[outside])
    # The change is smoothed: its gradient too, against differences.
    rng = np.random.default_rng(4)
    x = 0.1 * rng.standard_normal(survey.start[survey.inside].size)
    step, h = rng.standard_normal(x.size), 1e-5
    slope = float(inversion.objective(x)[1] @ step)
    ahead, behind = (inversion.objective(x + s * h * step)[0] for s in (1, -1))
    assert slope == pytest.approx((ahead - behind) / (2 * h), rel=1e-5)


def test_wave_on_an_executor(wave: tuple[ModuleType, Any], frugal: Any) -> None:
    module, survey = wave
    with ThreadPoolExecutor(2) as pool:
        found = [module.Inversion(survey, frugal, executor).by_velocity(survey.start) for executor in (None, pool)]
    assert found[0][0] == found[1][0] and found[0][1].tobytes() == found[1][1].tobytes()
    terms = [frugal.value_and_grad(*survey.arguments(survey.start, shot)) for shot in range(len(survey.sources))]
    assert found[0][1].tobytes() == functools.reduce(np.add, (by for _, by in terms)).tobytes()


def test_wave(tmp_path: Path) -> None:
    script = str(ROOT / "examples" / "wave.py")
    printed = run(script, "--quick", "--iterations", "2", "--output", "out", folder=tmp_path)
    assert "at most 1.5 MB" in printed and "steps run again" in printed and "iteration   2" in printed
    if importlib.util.find_spec("matplotlib"):
        assert (tmp_path / "out" / "wave-models.png").stat().st_size > 5_000
        assert b"<svg" in (tmp_path / "out" / "wave-misfit.svg").read_bytes()
