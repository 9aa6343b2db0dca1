"""A wheel of compiled functions: it installs, does not need adc, and computes the same as adc's functions."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from adc import value_and_grad
from adc.cli import main

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

PROGRAM = """
import numpy as np

def smooth(u: "f64[:]", k: float, steps: int) -> float:
    for t in range(steps):
        v = u.copy()
        for i in range(1, u.shape[0] - 1):
            u[i] = v[i] + k * (v[i - 1] - 2.0 * v[i] + v[i + 1])
    return np.sum(u * u)

def scaled(x: "f64[::1]", y: "f32[:, :]"):
    if x[0] < 0.0:
        raise ValueError("negative")
    return x * np.sum(y), y.T * 2, len(x) > 2
"""

USER = """
import sys
import numpy as np
import smoothing
from smoothing import scaled, smooth

u = np.linspace(0.0, 1.0, 7) ** 2
value, (by_u, by_k) = smooth.value_and_grad(list(u), k=0.1, steps=3)
print(value.hex(), by_u.tobytes().hex(), by_k.hex())
left = np.zeros(14)
left[::2] = u
assert smooth(left[::2], 0.1, 3) == value and left[2] != u[1] and not left[1::2].any()
grid = np.arange(6.0, dtype="f4").reshape(3, 2).T
first, second, third = scaled(u[::2], grid)
assert np.array_equal(first, u[::2] * 15.0) and np.array_equal(second, grid.T * 2) and third is True
assert second.dtype == np.float32
for call, error in (
    (lambda: scaled(-np.ones(2), grid), ValueError),
    (lambda: scaled(u, u), ValueError),
    (lambda: smooth([1.0, 2.0], 0.1, 3), TypeError),
    (lambda: smooth(u, 0.1), TypeError),
    (lambda: scaled.grad(u, grid), TypeError),
):
    try:
        call()
    except error as found:
        print(found)
    else:
        raise AssertionError(error)
assert smoothing.__all__ == ["smooth", "scaled"]
assert not any(name == "adc" or name.startswith(("adc.", "llvmlite")) for name in sys.modules)
"""


def test_a_wheel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    target = f"{file}:smooth,scaled"
    options = ["--emit", "wheel", "--argnums", "0,1", "-o", str(tmp_path / "smoothing")]
    assert main(["compile", target, *options]) == 0
    (wheel,) = tmp_path.glob("smoothing-*.whl")
    assert f"wrote {wheel}: smooth, smooth_grad" in capsys.readouterr().out
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-compile"]
    subprocess.run([*pip, "--target", tmp_path / "site", wheel], check=True, capture_output=True)
    assert (tmp_path / "site" / "smoothing" / "smoothing.h").read_text().startswith("/*")
    user = tmp_path / "site" / "user.py"
    user.write_text(USER)
    run = subprocess.run([sys.executable, user], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    numbers, *errors = run.stdout.splitlines()
    namespace: dict[str, object] = {}
    exec(compile(PROGRAM, str(file), "exec"), namespace)
    u = np.linspace(0.0, 1.0, 7) ** 2
    value, (by_u, by_k) = value_and_grad(namespace["smooth"], argnums=(0, 1))(u, 0.1, 3)  # type: ignore[arg-type]
    assert numbers.split() == [value.hex(), by_u.tobytes().hex(), by_k.hex()]
    assert "negative" in errors[0] and "program.py:13" in errors[0]
    assert "2 axes, not 1" in errors[1]
    assert "pass a writable array of float64" in errors[2]
    assert "takes u, k, steps" in errors[3]
    assert "without a gradient" in errors[4]
