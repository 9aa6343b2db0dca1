"""The programs of ``tests/programs/numpy``, as texts that define what ``programs.PROGRAMS`` do."""

from __future__ import annotations

from tests.programs.numpy.collection import PROGRAMS as ALL

_TEXT = """
import warnings

from tests.programs.numpy import {file}
from tests.programs.numpy.programs import PROGRAMS, objective

warnings.simplefilter("ignore")
program = PROGRAMS["{name}"]
arguments = program.inputs(rng, program.small)
argnums = program.by
copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
main = objective(program, program.function(*copies))
"""

JAX = """
import jax

from benchmarks.jax_forms import gradient_in_jax

function, placed = gradient_in_jax(program, main, arguments), arguments
"""

PROGRAMS = {
    name: _TEXT.format(name=name, file=program.function.__module__.rpartition(".")[2])
    for name, program in sorted(ALL.items())
    if program.by
}
