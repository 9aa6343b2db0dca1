"""Many random message-passing programs on two to five simulated ranks: ``python -m tests.ranks.conversations``.

Values are compared with those of plain Python, gradients with forward mode and differences. Prints failures with their
seeds.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import adc
from adc import jit_grad, mpi
from tests import many
from tests.fuzz.check import Verdict
from tests.ranks.programs import on_ranks


@jit_grad
def scheduled(x: Any, kinds: mpi.Same, shifts: mpi.Same) -> Any:
    """Messages as a table says: random programs without compiling each."""
    n, k = mpi.size(), mpi.rank()
    u, s = x.copy(), 0.0
    for step in range(len(kinds)):
        kind, shift = kinds[step], shifts[step]
        if kind == 0:
            v = mpi.sendrecv(u, (k + shift) % n, (k - shift) % n, step)
            u = 0.5 * u + np.sin(v)
        elif kind == 1:
            u = u * np.cos(mpi.allreduce(u[shift % len(u)]))
        elif kind == 2:
            u[shift % len(u)] = mpi.bcast(u, shift % n)[0] * s + 0.1
        elif kind == 3:
            if k == shift % n:
                mpi.send(u * u, (shift + 1) % n, step)
            if k == (shift + 1) % n and n > 1:
                s += np.sum(mpi.recv(u, shift % n, step))
        elif kind == 4:
            s += mpi.allgather(u[0])[shift % n] * 0.5
        else:
            u *= 1.0 + 0.1 * mpi.allreduce(s, "max")
    return np.sum(u) * (1.0 + s)


def check(seed: int, n: int = 0) -> Verdict:
    """Raises ``AssertionError`` where something is wrong. ``n``: how many ranks there are, or 0: then the seed says."""
    n = n or 2 + seed % 4
    rng = np.random.default_rng(seed)
    kinds, shifts = rng.integers(0, 6, 8), rng.integers(1, 5, 8)
    # A single rank of the pair must not send to itself before it receives.
    xs, dots = ([0.3 * rng.normal(size=4) for _ in range(n)] for _ in "ab")
    same = kinds, shifts
    values = on_ranks(scheduled, xs, same=same)
    np.testing.assert_allclose(values, on_ranks(scheduled.__wrapped__, xs, same=same), rtol=1e-14)
    tangents = on_ranks(lambda x, dot: adc.jvp(scheduled, (x, *same), (dot, None, None))[1], xs, dots)

    def pulled(x: Any) -> Any:
        _, back = scheduled.pullback(x, *same)
        return back(1.0)[0]

    bars = on_ranks(pulled, xs)
    along = sum(float(np.dot(bar, dot)) for bar, dot in zip(bars, dots, strict=True))
    np.testing.assert_allclose(sum(tangents), along, rtol=1e-12, atol=1e-13)
    h = 1e-6
    later, before = (
        sum(on_ranks(scheduled, [x + s * dot for x, dot in zip(xs, dots, strict=True)], same=same)) for s in (h, -h)
    )
    np.testing.assert_allclose(along, (later - before) / (2 * h), rtol=1e-5, atol=1e-6)
    return Verdict(checked=1)


if __name__ == "__main__":
    sys.exit(many.run(check, many.parser(__doc__, 1000).parse_args(), report=200))
