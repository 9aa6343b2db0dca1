"""First calls by adc, JAX and Numba, each in its own process."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.latency import arrays, in_jax, libraries, numpy_programs, programs

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = programs.PROGRAMS | arrays.PROGRAMS | libraries.PROGRAMS
NUMPY = numpy_programs.PROGRAMS

# The run-time library is compiled once per machine, not per program.
ADC = """
import adc.driver.cpu
from adc import jit_grad
from adc.backend import optimize, runtime, runtime_units

for name, unit in runtime_units.UNITS.items():
    if name not in runtime_units.sorts.NAMES:
        runtime.address(unit.exports[0])
made = []
run = optimize._run_pipeline
optimize._run_pipeline = lambda *given: made.append(1) or run(*given)
function = jit_grad(main, argnums=argnums)
"""
JAX = """
static = tuple(k for k, a in enumerate(arguments) if isinstance(a, int))
placed = jax.tree.map(lambda a: jnp.asarray(a) if isinstance(a, np.ndarray) else a, arguments)
function = jax.jit(jax.value_and_grad(main, argnums), static_argnums=static)
"""
CALLS = {
    "adc, gradient": "function.value_and_grad(*arguments)",
    "adc, value": "function(*arguments)",
    "JAX, gradient": "jax.block_until_ready(function(*placed))",
    "Numba, value": "main(*arguments)",
}
# Modules that the call would import are imported before: this is not compilation, and not in JAX's time either.
TAIL = """
import contextlib
import importlib
import pickle
import sys
import time

for name in {modules}:
    with contextlib.suppress(ImportError):
        importlib.import_module(name)


def plain(found):
    return tuple(map(plain, found)) if isinstance(found, (tuple, list)) else np.asarray(found)


loaded = set(sys.modules)
begin = time.process_time()
try:
    found = {call}
except {refusal} as error:
    found = None
seconds = time.process_time() - begin
told = dict(seconds=seconds, runs=len(made), modules=sorted(set(sys.modules) - loaded))
told["found"] = None if found is None else plain(found)
with open("told", "wb") as file:
    pickle.dump(told, file)
"""


@dataclass(frozen=True)
class First:
    """A first call: CPU seconds of all threads, how often adc ran LLVM, and the result; None if it was refused."""

    seconds: float
    runs: int
    found: Any


def text_of(what: str, name: str, modules: list[str]) -> str:
    """The text of a program that calls ``main`` of the program ``name`` once, as ``what`` of ``CALLS`` says."""
    text, refusal, made = programs.HEAD + {**PROGRAMS, **NUMPY}[name], "()", "made = []\n"
    if what.startswith("adc"):
        text += ADC
    elif what.startswith("JAX") and name in NUMPY:
        text, refusal = text + numpy_programs.JAX + made, "Exception"
    elif what.startswith("JAX"):
        # Programs not written for JAX are the same, with JAX's arrays.
        main = in_jax.PROGRAMS.get(name) or PROGRAMS[name].split("\n\n")[0].replace("np.", "jnp.")
        text += in_jax.HEAD + main + JAX + made
    else:
        text = "import numba\n" + re.sub(r"^def ", "@numba.njit\ndef ", text, flags=re.MULTILINE) + made
        refusal = "numba.core.errors.NumbaError"
    return text + TAIL.format(modules=modules, call=CALLS[what], refusal=refusal)


class Processes:
    """Runs first calls. Modules that a call imported are imported before the next call is timed."""

    def __init__(self) -> None:
        self.modules: dict[str, list[str]] = {what: [] for what in CALLS}

    def first(self, what: str, name: str, folder: Path) -> First:
        """A call in its own process. ``folder`` is adc's cache of machine code."""
        file = folder / "program.py"
        file.write_text(text_of(what, name, self.modules[what]))
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "ADC_CACHE": "1", "ADC_CACHE_DIR": str(folder / "kept")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        subprocess.run([sys.executable, str(file)], check=True, env=environment, cwd=folder)
        told = pickle.loads((folder / "told").read_bytes())
        self.modules[what] += told["modules"]
        return First(told["seconds"], told["runs"], told["found"])
