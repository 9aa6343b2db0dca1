"""Run by `make wheel` with the Python of an environment that contains only the wheel, outside the checkout.

`python -P`: the folder of this script is not searched for modules.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np


def power(x, n):
    r = 1.0
    for _ in range(n):
        r = r * x
    return r


def total(v):
    s = 0.0
    for i in range(len(v)):
        s += v[i] * v[i]
    return s


def main() -> None:
    import adc
    import adc.backend
    import adc.frontend
    import adc.ir
    import adc.passes

    for module in (adc, adc.backend, adc.frontend, adc.ir, adc.passes):
        place = Path(str(module.__file__)).resolve()
        assert "site-packages" in place.parts, f"{module.__name__} came from {place}, not from the wheel"
    assert adc.grad(power)(2.0, 3) == 12.0
    v = np.array([1.0, 2.0])
    np.testing.assert_array_equal(adc.jit_grad(total).grad(v), [2.0, 4.0])
    command = [sys.executable, "-m", "adc", "compile", f"{__file__}:power"]
    command += ["--signature", "f64, i64", "--dump-ir=adjoint"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "func.func @power.grad" in shown
    for name in ("ir", "frontend", "passes", "backend"):
        try:
            __import__(name)
        except ModuleNotFoundError:
            continue
        raise AssertionError(f"the wheel installs a top-level module {name}")
    print(f"wheel: adc imports from {Path(str(adc.__file__)).parent}")


if __name__ == "__main__":
    main()
