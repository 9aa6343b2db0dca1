"""The time from the start of a process to the first gradient of the stencil, import included, compared with Numba
compiling the function; and the same in a later process, with cached machine code.

    python -m benchmarks.first_gradient [--repeats N]

Each runs in its own process, and they alternate; the minimum counts. Both include the start of Python.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.timing import ratio, times

STENCIL = """
import math
import numpy as np
{imports}
{decorator}
def stencil(a, b, c):
    total = 0.0
    for i in range(len(a)):
        total += math.sin(2 * a[i]) * math.cos(3 * b[i]) * 4 * c[i]
    return total
a = np.linspace(0.0, 1.0, 1000)
{call}
"""
GRADIENT = STENCIL.format(
    imports="from adc import jit_grad",
    decorator="@jit_grad(argnums=(0, 1, 2))",
    call="stencil.grad(a, a + 1.0, a + 2.0)",
)
LATER = "adc: import, find, gradient"
PROGRAMS = {
    "adc: import, compile, gradient": GRADIENT,
    LATER: GRADIENT,
    "Numba: import, compile, function": STENCIL.format(
        imports="from numba import njit", decorator="@njit", call="stencil(a, a + 1.0, a + 2.0)"
    ),
    "NumPy: import": "import math\nimport numpy as np\na = np.linspace(0.0, 1.0, 1000)\n",
}


def run(program: str, folder: Path, kept: bool) -> float:
    """The seconds that the program takes as a file run by a new Python; ``kept``: with the cache of an earlier one."""
    file = folder / "first_gradient_program.py"
    file.write_text(program)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
    environment |= {"ADC_CACHE": str(int(kept)), "ADC_CACHE_DIR": str(folder / "kept")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # as after pip, bytecode is available
    start = time.perf_counter()
    subprocess.run([sys.executable, str(file)], check=True, env=environment, cwd=folder)
    return time.perf_counter() - start


def main() -> int:
    import tempfile

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    best = dict.fromkeys(PROGRAMS, float("inf"))
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.repeats):
            for name, program in PROGRAMS.items():
                best[name] = min(best[name], run(program, Path(folder), name == LATER))
    adc, later, numba, _ = best.values()
    ratio("adc's first gradient in a later process / in the first one", later / adc, 0.8)
    good = ratio("adc's first gradient / Numba's first call", adc / numba, 1.0)
    times(best)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
