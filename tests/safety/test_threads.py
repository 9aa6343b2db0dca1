"""Many Python threads call and compile at once: the same function, different ones, one pullback."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from adc import jit_grad, prange
from adc.backend.runtime import on_threads

WORKERS = 8


def energy(u, r):
    v = u.copy()
    for _ in range(5):
        for i in range(1, u.shape[0] - 1):
            v[i] = u[i] + r * np.sin(u[i - 1]) * u[i + 1]
        u, v = v, u
    total = 0.0
    for i in prange(u.shape[0]):
        total += u[i] * u[i]
    return total


def update(u, n):
    for i in range(n):
        u[i] = u[i] * 2.0 + 1.0
    return u[0]


def at_once(jobs: list[Callable[[], Any]]) -> list[Any]:
    """The results of the jobs, which start together."""
    gate = threading.Barrier(len(jobs))

    def run(job: Callable[[], Any]) -> Any:
        gate.wait()
        return job()

    with ThreadPoolExecutor(len(jobs)) as pool:
        return [f.result() for f in [pool.submit(run, job) for job in jobs]]


def test_one_function_of_many_types() -> None:
    """Each thread's first call compiles, for types that others compile at the same time."""
    f = jit_grad(energy)
    kinds = [np.float64, np.float32]
    arguments = [
        (np.linspace(0.0, 1.0, 40 + k).astype(kinds[k % 2])[:: 1 + k % 3], 0.1 if k % 4 < 2 else np.float32(0.1))
        for k in range(WORKERS)
    ]
    expected = [energy(u.copy(), r) for u, r in arguments]
    for _ in range(3):
        results = at_once([lambda u=u, r=r: (f(u.copy(), r), f.grad(u, r)) for u, r in arguments])
        for (value, gradient), truth, (u, r) in zip(results, expected, arguments, strict=True):
            assert np.isclose(value, truth, rtol=1e-4 if u.dtype == np.float32 else 1e-11)
            assert gradient.shape == u.shape and np.array_equal(gradient, f.grad(u, r))


def test_functions_that_compile_at_once() -> None:
    def made(k: int) -> Callable[..., Any]:
        def f(u):
            s = 0.0
            for i in range(u.shape[0]):
                s += u[i] ** 2 * k
            return s

        return f

    u = np.linspace(0.0, 1.0, 50)
    functions = [jit_grad(made(k)) for k in range(WORKERS)]
    results = at_once([lambda f=f: (f(u), f.grad(u), f.pullback(u)[1](2.0)[0]) for f in functions])
    for k, (value, gradient, pulled) in enumerate(results):
        assert np.isclose(value, k * np.sum(u * u)) and np.allclose(gradient, 2 * k * u)
        assert np.allclose(pulled, 4 * k * u)


def test_one_function_in_a_free_run() -> None:
    f = jit_grad(energy)
    with on_threads(2):
        for size in (30, 3000):
            u = np.linspace(0.0, 1.0, size)
            value, gradient = f.value_and_grad(u, 0.1)

            def work(u: Any = u, value: Any = value, gradient: Any = gradient) -> int:
                wrong = 0
                for k in range(60):
                    if k % 3 == 0:
                        wrong += f(u.copy(), 0.1) != value
                    elif k % 3 == 1:
                        found = f.value_and_grad(u, 0.1)
                        wrong += found[0] != value or not np.array_equal(found[1], gradient)
                    else:
                        wrong += not np.array_equal(f.pullback(u.copy(), 0.1)[1](1.0)[0], gradient)
                return wrong

            assert at_once([work] * WORKERS) == [0] * WORKERS


def test_one_pullback_by_many() -> None:
    u = np.linspace(0.0, 1.0, 200)
    _, back = jit_grad(energy).pullback(u.copy(), 0.1)
    right = {float(k): back(float(k)) for k in range(1, 5)}

    def work() -> bool:
        return all(
            np.array_equal(back(w)[0], right[w][0]) and back(w)[1] == right[w][1] for _ in range(20) for w in right
        )

    assert at_once([work] * WORKERS) == [True] * WORKERS


def test_errors_belong_to_the_call_that_made_them() -> None:
    f = jit_grad(update)
    f(np.ones(3), 3)

    def work(k: int) -> int:
        seen = 0
        for round_ in range(100):
            u = np.ones(10)
            try:
                f(u, 10 + (k + round_) % 2 * (k + 1))
            except IndexError as error:
                seen += "index 10 is out of bounds for axis with size 10" in str(error)
            else:
                seen += (k + round_) % 2 == 0
            seen -= not np.array_equal(u, np.full(10, 3.0))
        return seen

    assert at_once([lambda k=k: work(k) for k in range(WORKERS)]) == [100] * WORKERS
