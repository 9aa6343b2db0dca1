"""Peak memory of a gradient compared with JAX: Burgers' equation on 512 x 512 points, 400 steps, with respect to the
initial state.

    python -m benchmarks.peer_memory

Each case runs in its own process, where a first call compiles. The output is the peak growth of the resident memory in
a second call, and the time of a third. JAX programs are as its users write them: a scan over all steps, and a scan over
20 segments of 20 steps, each under ``jax.checkpoint``.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

POINTS, STEPS = 512, 400
CASES = ("adc, all stored", "adc, memory=200MB", "adc, memory=64MB", "JAX, scan", "JAX, scan of checkpointed segments")


def advance(u, steps):  # type: ignore[no-untyped-def]
    u, v = u.copy(), u.copy()
    for _ in range(steps):
        c = u[1:-1, 1:-1]
        v[1:-1, 1:-1] = c + 0.1 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * c - c * (c - u[:-2, 1:-1])
        )
        u, v = v, u
    return np.sum(u * u)


def with_adc(case: str) -> Callable[[Any, int], Any]:
    from adc import jit_grad

    gradient: Any = jit_grad(advance).grad
    if "memory=" not in case:
        return gradient  # type: ignore[no-any-return]
    return lambda u, steps: gradient(u, steps, memory=case.split("=")[1])


def with_jax(case: str) -> Callable[[Any, int], Any]:
    import jax
    import jax.numpy as jnp
    from jax import lax

    jax.config.update("jax_enable_x64", True)

    def step(u: Any, _: None) -> tuple[Any, None]:
        c = u[1:-1, 1:-1]
        new = c + 0.1 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * c - c * (c - u[:-2, 1:-1])
        )
        return u.at[1:-1, 1:-1].set(new), None

    def segment(u: Any, _: None) -> Any:
        return lax.scan(step, u, None, length=20)

    def loss(u: Any, steps: int) -> Any:
        body, length = (jax.checkpoint(segment), steps // 20) if "checkpointed" in case else (step, steps)
        last, _ = lax.scan(body, u, None, length=length)
        return jnp.sum(last * last)

    gradient = jax.jit(jax.grad(loss), static_argnums=1)
    return lambda u, steps: gradient(u, steps).block_until_ready()


def resident(field: str) -> int:
    """``VmRSS`` or its peak ``VmHWM``, in kB."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0])


def measure(case: str) -> None:
    gradient = (with_jax if case.startswith("JAX") else with_adc)(case)
    u = np.random.default_rng(0).random((POINTS, POINTS))
    gradient(u, STEPS)
    if not case.startswith("JAX"):
        from adc.backend import runtime

        runtime.release_memory()
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = resident("VmRSS")
    gradient(u, STEPS)
    added = resident("VmHWM") - before
    start = time.perf_counter()
    gradient(u, STEPS)
    print(f"{case:36} {added / 1024:8.0f} MiB {time.perf_counter() - start:8.2f} s")


def main() -> None:
    if len(sys.argv) > 1:
        measure(sys.argv[1])
        return
    for case in CASES:
        subprocess.run([sys.executable, "-m", "benchmarks.peer_memory", case], check=False)


if __name__ == "__main__":
    main()
