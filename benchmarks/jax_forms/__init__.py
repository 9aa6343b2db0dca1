"""The programs of ``tests/programs/numpy`` as users of JAX write them: whole arrays, ``scan``, ``fori_loop``, ``at``.

Each function of the modules replaces the program of the same name and has the same parameters; integers are static,
since they are lengths. For programs that are not here, the same text is used with ``jax.numpy`` for ``numpy``.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from tests.programs.numpy.programs import Program

MODULES = ("complex_numbers", "data", "dense", "learning", "physics", "stencils")
CLOSE = 1e-8  # relative to the largest: sums in different orders, loops of thousands of steps


# Near convergence the derivative with respect to the matrix suffers from cancellation; forward mode has the same error.
ILL_CONDITIONED = {"conjugate_gradients": 0.2}


class Differs(Exception):
    """JAX and adc do not agree on a value or a gradient."""


def gradient_in_jax(p: Program, scalar: Callable[..., Any], given: tuple[Any, ...]) -> Callable[..., Any]:
    """``jit(value_and_grad)`` of ``scalar``, which calls the program as ``g``, ready to be timed."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_cpu_enable_async_dispatch", False)  # on the thread whose time is taken
    form = _written(p.name) or _translated(p, jnp)
    called = types.FunctionType(scalar.__code__, {**scalar.__globals__, "np": jnp, "g": form})
    static = tuple(k for k, v in enumerate(given) if isinstance(v, int))
    f = jax.jit(jax.value_and_grad(called, argnums=p.by), static_argnums=static)
    return lambda *arguments: jax.block_until_ready(f(*arguments))


def compare(name: str, ours: tuple[Any, Any], theirs: tuple[Any, Any]) -> None:
    """Compare two values of a program, and their gradients."""
    close = ILL_CONDITIONED.get(name, CLOSE)
    pairs = list(zip([ours[0], *ours[1]], [theirs[0], *theirs[1]], strict=True))
    # A gradient that consists of rounding errors, as for a phase that cancels, is small compared with the largest.
    nothing = 1e-14 * max(float(np.max(np.abs(b), initial=0.0)) for _, b in pairs)
    for k, (a, b) in enumerate(pairs):
        a, b = np.asarray(a), np.asarray(b)
        scale = float(np.max(np.abs(b), initial=0.0))
        if a.shape != b.shape or not np.allclose(a, b, rtol=0.0, atol=close * scale + nothing, equal_nan=True):
            raise Differs(f"gradient {k - 1}" if k else "value")


def _written(name: str) -> Callable[..., Any] | None:
    for module in MODULES:
        full = f"{__name__}.{module}"
        found: Callable[..., Any] | None = getattr(import_module(full), name, None)
        if found is not None and found.__module__ == full:
            return found
    return None


def _translated(p: Program, jnp: Any) -> Callable[..., Any]:
    inner = p.function.__globals__
    space = {n: jnp if v is np else v for n, v in inner.items()}
    for n, v in inner.items():
        if isinstance(v, types.FunctionType) and v.__module__ == p.function.__module__:
            space[n] = types.FunctionType(v.__code__, space, v.__name__, v.__defaults__)
    return types.FunctionType(p.function.__code__, space)
