"""Laplace's approximation of a posterior, with the Hessian: how certain is a logistic regression?

    python examples/laplace.py [--points N]

The weights of a logistic regression have a normal prior. Newton's method finds the mode of their posterior. The inverse
of the Hessian there is the covariance of the approximating normal distribution, and its determinant gives the evidence
of the model. For two weights both can be compared with sums over a grid.

Reference: MacKay, Information Theory, Inference, and Learning Algorithms, Cambridge 2003, chapters 27 and 41.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np

import adc
from adc import jit_grad

Array = np.ndarray[Any, Any]
PRIOR = 2.0  # standard deviation of each weight


@jit_grad
def minus_log_posterior(w, x, y):  # type: ignore[no-untyped-def]
    """Minus the logarithm of the posterior, up to the evidence. ``x``: a row for each observation; ``y``: 1 or -1."""
    n, d = x.shape
    total = 0.5 * d * np.log(2.0 * np.pi * PRIOR * PRIOR)
    for j in range(d):
        total += 0.5 * (w[j] / PRIOR) ** 2
    for k in range(n):
        margin = 0.0
        for j in range(d):
            margin += x[k, j] * w[j]
        margin *= y[k]
        # log(1 + exp(-m)) without overflow. The branch is smooth at w = 0, where abs(m) would have a kink.
        if margin > 0.0:
            total += np.log1p(np.exp(-margin))
        else:
            total += np.log1p(np.exp(margin)) - margin
    return total


@dataclass(frozen=True)
class Approximation:
    """The approximating normal distribution, and the logarithm of the evidence."""

    mean: Array
    covariance: Array
    log_evidence: float


def laplace(x: Array, y: Array) -> Approximation:
    gradient, hessian = adc.grad(minus_log_posterior), adc.hessian(minus_log_posterior)
    w = np.zeros(x.shape[1])
    for _ in range(50):
        step = np.linalg.solve(hessian(w, x, y), gradient(w, x, y))
        w = w - step
        if np.max(np.abs(step)) < 1e-10:
            break
    h = hessian(w, x, y)
    evidence = -minus_log_posterior(w, x, y) + 0.5 * (len(w) * np.log(2.0 * np.pi) - np.linalg.slogdet(h)[1])
    return Approximation(w, np.linalg.inv(h), float(evidence))


def on_a_grid(x: Array, y: Array, around: Approximation, points: int = 121) -> Approximation:
    """The same by sums over a grid of the two weights, which extends six standard deviations in each direction."""
    reach = 6.0 * np.sqrt(np.diag(around.covariance))
    axes = [np.linspace(m - r, m + r, points) for m, r in zip(around.mean, reach, strict=True)]
    places = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 2)
    # All grid points at once: a parallel loop.
    logs = -adc.vmap(minus_log_posterior, in_axes=(0, None, None))(places, x, y)
    cell = float(np.prod([a[1] - a[0] for a in axes]))
    weights = np.exp(logs - np.max(logs))
    mean = weights @ places / np.sum(weights)
    away = places - mean
    covariance = (weights[:, None] * away).T @ away / np.sum(weights)
    return Approximation(mean, covariance, float(np.max(logs) + np.log(np.sum(weights) * cell)))


def observed(points: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(3)
    x = np.stack([np.ones(points), rng.normal(size=points)], 1)
    y = np.where(rng.random(points) < 1.0 / (1.0 + np.exp(-(x @ np.array([0.5, 1.5])))), 1.0, -1.0)
    return x, y


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--points", type=int, default=200, metavar="N", help="observations (200)")
    x, y = observed(parser.parse_args().points)
    near = laplace(x, y)
    print("               offset   slope   deviations        log evidence")
    for name, a in (("Laplace", near), ("grid", on_a_grid(x, y, near))):
        deviations = np.sqrt(np.diag(a.covariance))
        print(
            f"{name:12} {a.mean[0]:8.4f}{a.mean[1]:8.4f}   {deviations[0]:.4f}  {deviations[1]:.4f}    "
            f"{a.log_evidence:10.4f}"
        )


if __name__ == "__main__":
    main()
