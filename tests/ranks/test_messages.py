"""Messages between ranks and their transposes: each against plain Python, forward mode and differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad, mpi, prange
from tests.ranks.conversations import check
from tests.ranks.programs import SIZES, check_transposed, on_ranks


@jit_grad
def ring(x: Any) -> Any:
    n, k = mpi.size(), mpi.rank()
    y = mpi.sendrecv(np.sin(x), (k + 1) % n, (k - 1) % n)
    return np.sum(y * x**2)


@jit_grad
def line(x: Any) -> Any:
    """To the right, where there is somebody."""
    n, k = mpi.size(), mpi.rank()
    right = k + 1 if k + 1 < n else mpi.NOBODY
    y = mpi.sendrecv(x[1:], right, k - 1)
    return np.sum(y * x[:-1])


@jit_grad
def pipeline(x: Any) -> Any:
    """Each adds to what comes and hands it on: receives before it sends, under conditions."""
    n, k = mpi.size(), mpi.rank()
    total = np.zeros(len(x))
    if k > 0:
        total = mpi.recv(total, k - 1, tag=3)
    total = total * 1.5 + x * x
    if k < n - 1:
        mpi.send(total, k + 1, 3)
        return 0.0
    return np.sum(total)


@jit_grad
def crossing(x: Any) -> Any:
    """What is sent here does not depend on anything for some ranks; what is received there matters for others."""
    n, k = mpi.size(), mpi.rank()
    total = 0.0
    for step in range(3):
        if k % 2 == 0:
            if k + 1 < n:
                if step == 1:
                    mpi.send(x[0] * x, k + 1, step)
                else:
                    mpi.send(np.full(len(x), 2.0), k + 1, step)
        else:
            y = mpi.recv(np.ones(len(x)), k - 1, step)
            if step > 0:
                total += np.sum(y * x)
    return total


@jit_grad
def elsewhere(x: Any) -> Any:
    """The first rank has no result of its own, and the last no other input."""
    n, k = mpi.size(), mpi.rank()
    if n > 1 and k == 0:
        mpi.send(x**3, n - 1)
    if n > 1 and k == n - 1:
        return np.sum(mpi.recv(np.empty(len(x)), 0))
    return 0.0


@jit_grad
def there_and_back(x: Any) -> Any:
    """In a helper that returns nothing, in a loop."""
    n, k = mpi.size(), mpi.rank()
    u = x.copy()
    for _ in range(3):
        pass_on(u, (k + 1) % n, (k - 1) % n)
        u *= x
    return np.sum(u)


def pass_on(u: Any, right: Any, left: Any) -> None:
    first = mpi.sendrecv(u[:1], right, left)
    u[-1] = first[0] * np.cos(u[-1])


@jit_grad
def reduced(x: Any) -> Any:
    total = mpi.allreduce(x * x)
    return np.sum(np.sin(total) * x) * mpi.allreduce(x[0])


@jit_grad
def largest(x: Any) -> Any:
    return mpi.allreduce(np.max(x), "max") * np.sum(x) + np.sum(mpi.allreduce(x, op="min") ** 2)


@jit_grad
def everything(x: Any) -> Any:
    all = mpi.allgather(x)
    y = 0.0
    for k in range(mpi.size()):
        y += (k + 1.0) * np.sum(np.sin(all[k]) * x)
    return y + np.sum(mpi.allgather(x[1]) ** 2) * x[0]


@jit_grad
def handed_out(x: Any) -> Any:
    last = mpi.size() - 1
    return np.sum(mpi.bcast(x * x, last) * x) + mpi.bcast(x[0]) ** 2 * x[1]


@jit_grad
def scalars(x: Any) -> Any:
    n, k = mpi.size(), mpi.rank()
    a = mpi.sendrecv(x[0] * x[1], (k + 1) % n, (k - 1) % n)
    count = mpi.allreduce(len(x) + k)
    return a * a * count + mpi.sendrecv(k, (k + 1) % n, (k - 1) % n) * x[2]


@jit_grad
def matrices(x: Any) -> Any:
    a = np.outer(x, x)
    n, k = mpi.size(), mpi.rank()
    b = mpi.sendrecv(a.T, (k + 1) % n, (k - 1) % n)
    return np.sum(mpi.allreduce(b @ a[:, ::2]))


@jit_grad
def windows(x: Any) -> Any:
    n, k = mpi.size(), mpi.rank()
    right, left = (k + 1) % n, (k - 1) % n
    back, odd = mpi.sendrecv(x[::-1], right, left), mpi.sendrecv(np.outer(x, np.sin(x)).T[1:, ::2], left, right)
    return np.sum(back * x) + np.sum(odd * x[1:, np.newaxis]) + np.sum(mpi.sendrecv(x[:0], right, left))


@jit_grad(threads=2)
def in_parallel_loops(x: Any) -> Any:
    n, k = mpi.size(), mpi.rank()
    u = x.copy()
    for i in prange(len(x)):
        u[i] = mpi.sendrecv(u[i] * x[i], (k + 1) % n, (k - 1) % n)
    return np.sum(adc.vmap(lambda a: mpi.sendrecv(a * a, (k + 1) % n, (k - 1) % n) * a)(u))


@adc.checkpoint
def stage(u: Any) -> Any:
    n, k = mpi.size(), mpi.rank()
    return mpi.sendrecv(np.sin(u) * u, (k + 1) % n, (k - 1) % n)


@jit_grad
def run_again(x: Any) -> Any:
    u = x.copy()
    for _ in range(3):
        u = stage(u)
    return down(u, 3)


def down(x: Any, count: Any) -> Any:
    if count == 0:
        return np.sum(x)
    return down(mpi.sendrecv(x * x[0], mpi.rank(), mpi.rank()), count - 1) * 0.5


@jit_grad
def jumps(x: Any) -> Any:
    n, k = mpi.size(), mpi.rank()
    s = 0.0
    for i in range(10):
        if i > k + 2:
            break
        if (i + k) % 2:
            continue
        if k + 1 < n and i == 0 and k % 2 == 0:
            mpi.send(x * x[0], k + 1, 9)
        s += x[i % 3] ** 2
    if k % 2 == 1:
        s += np.sum(mpi.recv(x, k - 1, 9) * x)
        if s > 0.3:
            return s * 2.0
    return s


@jit_grad
def singles(x: Any) -> Any:
    y = mpi.allreduce(x.astype(np.float32) * np.float32(2.0))
    return np.sum(y.astype(np.float64) * x)


PROGRAMS = (
    *(ring, line, pipeline, crossing, elsewhere, there_and_back),
    *(reduced, largest, everything, handed_out, scalars, matrices),
    *(windows, in_parallel_loops, run_again, jumps),
)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_derivatives_are_transposes(f: Any, n: int) -> None:
    check_transposed(f, n)


@jit_grad
def empty_parts(x: Any) -> Any:
    y = x[: mpi.rank()]  # the first rank has none
    return mpi.allreduce(np.sum(y * y)) * mpi.allreduce(np.max(x), "min")


@dataclass
class Model:
    a: float
    w: Any

    def loss(self, x: Any) -> Any:
        self.w += mpi.sendrecv(x * self.a, (mpi.rank() + 1) % mpi.size(), (mpi.rank() - 1) % mpi.size())
        return mpi.allreduce(np.sum(self.w**2))


@jit_grad
def of_an_object(x: Any) -> Any:
    model = Model(2.0, x.copy())
    return model.loss(x) + model.loss(x * x)


def squared(x: Any) -> Any:
    return mpi.sendrecv(x * x, (mpi.rank() + 1) % mpi.size(), (mpi.rank() - 1) % mpi.size())


@adc.rrule(squared)
def squared_reverse(x: Any) -> Any:
    left, right = (mpi.rank() - 1) % mpi.size(), (mpi.rank() + 1) % mpi.size()
    return squared(x), lambda g: 2.0 * x * mpi.sendrecv(g, left, right)


@adc.frule(squared)
def squared_forward(tangents: Any, x: Any) -> Any:
    left, right = (mpi.rank() - 1) % mpi.size(), (mpi.rank() + 1) % mpi.size()
    return squared(x), mpi.sendrecv(2.0 * x * tangents[0], right, left)


@jit_grad
def by_a_rule(x: Any) -> Any:
    return mpi.allreduce(np.sum(squared(np.sin(x)) * x))


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("f", [empty_parts, of_an_object, by_a_rule], ids=lambda f: f.__name__)
def test_values_that_are_the_same(f: Any, n: int) -> None:
    check_transposed(f, n, same=True)


def test_single_precision_is_kept() -> None:
    xs = [np.arange(3.0), np.arange(3.0) + 0.1]
    assert on_ranks(singles, xs) == on_ranks(singles.__wrapped__, xs)


@jit_grad(_engine="interpreter")
def interpreted(x: Any) -> Any:
    n, k = mpi.size(), mpi.rank()
    y = mpi.sendrecv(np.sin(x), (k + 1) % n, (k - 1) % n)
    return np.sum(y * mpi.allreduce(x))


def test_interpreter_speaks_too() -> None:
    check_transposed(interpreted, 2, length=2, second=False)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n", [2, 3])
def test_random_programs(seed: int, n: int) -> None:
    check(seed, n)
