"""Gradient descent with a configuration in which keys may be missing, and an exception if it diverges."""

import numpy as np

DEFAULTS = {"lr": 0.1, "momentum": 0.9}

def get(cfg, name):
    try:
        return cfg[name]
    except KeyError:
        return DEFAULTS[name]

def descend(x, grad, cfg):
    lr, mu = get(cfg, "lr"), get(cfg, "momentum")
    v = np.zeros_like(x)
    for it in range(cfg.get("steps", 10)):
        g = grad(x)
        n = np.linalg.norm(g)
        if n > 5.0:
            g = g * (5.0 / n)
        v = mu * v - lr * g
        x = x + v
        if not np.all(np.isfinite(x)):
            raise FloatingPointError("diverged")
    return x

def f(A, x0, cfg):
    Q = A @ A.T + np.eye(len(A))
    try:
        x = descend(x0, lambda x: Q @ x - 1, cfg)
    except FloatingPointError:
        return 1e6
    return 0.5 * x @ Q @ x - x.sum()

ARGNUMS = (0, 1)
def args():
    return (np.random.default_rng(1).standard_normal((3, 3)), np.array([1.0, -2, 0.5]), {"lr": 0.05, "steps": 12})
