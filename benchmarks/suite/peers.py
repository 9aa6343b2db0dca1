"""Makers of runners for adc, JAX and PyTorch, and the peers that are available on this machine."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import adc
from adc import jit_grad
from benchmarks.suite import native
from benchmarks.suite.problem import Args, Problem, Runner

CONTRACTED = "adc, contract"
"""adc with products fused with sums, as in C and in Numba's fast mathematics; it is compared with these."""

MODULES = {"Numba": "numba", "JAX": "jax", "PyTorch": "torch"}


def available(peer: str) -> bool:
    """Whether a peer can be run here. Names are those of ``Problem.peers``; "C, tangent" and similar names are C,
    too."""
    if peer == "C" or peer.startswith("C,"):
        return _c_compiler()
    module = MODULES.get(peer.split(",")[0])
    return module is None or importlib.util.find_spec(module) is not None


@functools.lru_cache(maxsize=1)
def _c_compiler() -> bool:
    """Whether there is a C compiler with OpenMP."""
    try:
        native.library("machine")
    except OSError:
        return False
    return True


def by_adc(problem: Problem, args: Args, threads: int | None, *, contract: bool = False) -> Runner:
    """adc's value and gradient. ``threads``: None for ``ADC_NUM_THREADS``, or all cores. ``contract``: products of the
    problem may be fused with sums, as in C."""
    function: Any = jit_grad(argnums=problem.argnums, threads=threads, contract=contract)(problem.function)
    if problem.cotangent is None or problem.weighted is None:
        return Runner(lambda: function(*args), lambda: function.value_and_grad(*args))
    seed = problem.cotangent(args)
    weighted = jit_grad(threads=threads, contract=contract)(problem.weighted)
    both = adc.value_and_grad(weighted, problem.argnums, has_aux=True)

    def pulled() -> tuple[Any, tuple[Any, ...]]:
        (_, values), cotangents = both(*args, seed)
        return values, cotangents

    return Runner(lambda: function(*args), pulled)


def by_jax(make: Callable[..., Callable[..., Any]], argnums: tuple[int, ...], args: Args, threads: int) -> Runner:
    """``make(jax)`` is a function of the problem's arguments. Integers are static, because they are loop bounds.

    XLA fixes its number of threads when it starts; ``threads`` has no influence.
    """
    import jax

    jax.config.update("jax_enable_x64", True)
    function = make(jax)
    static = tuple(k for k, a in enumerate(args) if isinstance(a, int))
    placed = tuple(jax.numpy.asarray(a) if isinstance(a, np.ndarray) else a for a in args)
    primal = jax.jit(function, static_argnums=static)
    both = jax.jit(jax.value_and_grad(function, argnums), static_argnums=static)
    return Runner(lambda: jax.block_until_ready(primal(*placed)), lambda: jax.block_until_ready(both(*placed)))


def by_jax_pullback(
    make: Callable[..., Callable[..., Any]],
    argnums: tuple[int, ...],
    cotangent: Callable[[Args], Any],
    args: Args,
    threads: int,
) -> Runner:
    """As ``by_jax``, for a function that returns an array; all arguments are arrays."""
    import jax

    jax.config.update("jax_enable_x64", True)
    function = make(jax)
    placed, seed = tuple(jax.numpy.asarray(a) for a in args), jax.numpy.asarray(cotangent(args))

    def pulled(seed: Any, *arguments: Any) -> tuple[Any, tuple[Any, ...]]:
        value, back = jax.vjp(function, *arguments)
        cotangents = back(seed)
        return value, tuple(cotangents[k] for k in argnums)

    primal, both = jax.jit(function), jax.jit(pulled)
    return Runner(lambda: jax.block_until_ready(primal(*placed)), lambda: jax.block_until_ready(both(seed, *placed)))


def by_torch(
    make: Callable[..., Callable[..., Any]],
    argnums: tuple[int, ...],
    args: Args,
    threads: int,
    cotangent: Callable[[Args], Any] | None = None,
) -> Runner:
    """``make(torch)`` is a function of the problem's arguments; differentiated floats are passed as tensors."""
    import torch

    torch.set_num_threads(threads)
    function = make(torch)
    placed = [torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in args]
    for k in argnums:
        leaf = placed[k] if isinstance(placed[k], torch.Tensor) else torch.tensor(placed[k], dtype=torch.float64)
        placed[k] = leaf.clone().requires_grad_()
    leaves = [placed[k] for k in argnums]
    seed = None if cotangent is None else torch.from_numpy(cotangent(args))

    def limited(run: Callable[[], Any]) -> Any:
        torch.set_num_threads(threads)
        return run()

    def primal() -> Any:
        with torch.no_grad():
            return function(*placed)

    def both() -> tuple[Any, tuple[Any, ...]]:
        value = function(*placed)
        gradients = torch.autograd.grad(value, leaves, seed)
        return value.detach(), tuple(gradients)

    return Runner(partial(limited, primal), partial(limited, both))


def numba_runner(
    primal: Callable[..., Any] | None, gradient: Callable[..., Any] | None, args: Args, threads: int
) -> Runner:
    """Functions compiled by Numba, run on ``threads`` of its threads. ``gradient`` returns (value, gradients)."""
    import numba

    def limited(function: Callable[..., Any]) -> Any:
        numba.set_num_threads(threads)
        return function(*args)

    return Runner(
        None if primal is None else partial(limited, primal), None if gradient is None else partial(limited, gradient)
    )
