"""Fit the initial temperature and the diffusivity of a rod, distributed over processes, to a measurement.

    mpirun -n 2 python examples/ranks.py [--points N] [--steps N] [--iterations N]
    python examples/ranks.py --simulate 3

The first command needs MPI and mpi4py; the second one runs three ranks in threads. Without options there is one rank.
Each rank has a block of the rod. Gradients are propagated through the messages between neighbours; the printed numbers
are the same on any number of ranks, except for the last digits.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from adc import jit_grad, mpi


@jit_grad(argnums=(0, 1))
def misfit(u0: Any, r: mpi.Same, data: Any, steps: mpi.Same) -> Any:
    """The misfit between the temperature after ``steps`` steps and ``data``, summed over all ranks."""
    rank, size = mpi.rank(), mpi.size()
    left = rank - 1  # -1 is mpi.NOBODY
    right = rank + 1 if rank + 1 < size else mpi.NOBODY
    u = np.zeros(len(u0) + 2)
    u[1:-1] = u0
    for _ in range(steps):
        u[:1] = mpi.sendrecv(u[-2:-1], right, left)
        u[-1:] = mpi.sendrecv(u[1:2], left, right)
        u[1:-1] += r * (u[:-2] - 2.0 * u[1:-1] + u[2:])
    return mpi.allreduce(0.5 * np.sum((u[1:-1] - data) ** 2))


def block(whole: Any) -> Any:
    """This rank's block of an array."""
    return np.array_split(whole, mpi.size())[mpi.rank()]


def evolved(u: Any, r: float, steps: int) -> Any:
    """The measurement, computed by one process."""
    u = np.pad(u, 1)
    for _ in range(steps):
        u[1:-1] += r * (u[:-2] - 2.0 * u[1:-1] + u[2:])
    return u[1:-1]


def recover(points: int, steps: int, iterations: int) -> tuple[float, float]:
    """Recover both by gradient descent; returns the last misfit and the diffusivity, which are the same on all
    ranks."""
    x = np.linspace(0.0, np.pi, points)
    data = block(evolved(np.sin(x) + 0.3 * np.sin(3.0 * x), 0.24, steps))
    u, r, value = block(np.sin(x)).copy(), 0.2, 0.0
    for iteration in range(iterations):
        value, (u_bar, r_bar) = misfit.value_and_grad(u, r, data, steps)
        if mpi.rank() == 0 and iteration % 10 == 0:
            print(f"iteration {iteration:3d}  misfit {value:.6f}  diffusivity {r:.4f}", flush=True)
        u -= 0.5 * u_bar
        r -= 1e-3 * r_bar
    if mpi.rank() == 0:
        print(f"{mpi.size()} ranks: misfit {value:.6f}, diffusivity {r:.4f}", flush=True)
    return value, r


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=60)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--iterations", type=int, default=40)
    parser.add_argument("--simulate", type=int, default=0, metavar="RANKS")
    options = parser.parse_args()
    given = options.points, options.steps, options.iterations
    if options.simulate:
        mpi.simulate(options.simulate, recover, *given)
    else:
        recover(*given)


if __name__ == "__main__":
    main()
