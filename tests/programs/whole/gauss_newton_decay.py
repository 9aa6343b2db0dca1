"""A decay fitted by the Levenberg-Marquardt method, with more damping where the equations are singular."""

import numpy as np


def model(p, t):
    A, k, c = p
    return A * np.exp(-k * t) + c

def jacobian(p, t):
    A, k, c = p
    e = np.exp(-k * t)
    J = np.empty((len(t), 3))
    J[:, 0] = e
    J[:, 1] = -A * t * e
    J[:, 2] = 1.0
    return J

def fit(t, y, p0, max_iter=20, tol=1e-12):
    p = np.array(p0)
    lam = 1e-3
    cost = np.sum((y - model(p, t)) ** 2)
    for it in range(max_iter):
        r = y - model(p, t)
        J = jacobian(p, t)
        H = J.T @ J
        try:
            step = np.linalg.solve(H + lam * np.diag(np.diag(H)), J.T @ r)
        except np.linalg.LinAlgError:
            lam *= 10
            continue
        new = p + step
        new_cost = np.sum((y - model(new, t)) ** 2)
        if new_cost < cost:
            improvement = cost - new_cost
            p, cost = new, new_cost
            lam = max(lam / 10, 1e-10)
            if improvement < tol:
                break
        else:
            lam *= 10
    return p, cost

def f(y, t):
    p, cost = fit(t, y, [1.0, 0.5, 0.0])
    return p[1] + 0.1 * p[0]

ARGNUMS = (0,)

def args():
    t = np.linspace(0, 4, 15)
    return (2.5 * np.exp(-1.3 * t) + 0.3 + 0.01 * np.sin(9 * t), t)
