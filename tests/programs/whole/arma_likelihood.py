"""The likelihood of an ARMA model, with past errors in a deque."""

from collections import deque

import numpy as np


def css(y, phi, theta, c):
    p, q = len(phi), len(theta)
    e = deque(maxlen=q)
    for _ in range(q):
        e.append(0.0)
    sse = 0.0
    for t in range(p, len(y)):
        pred = c
        for i in range(p):
            pred += phi[i] * y[t - 1 - i]
        for j, past in enumerate(reversed(e)):
            pred += theta[j] * past
        err = y[t] - pred
        sse += err**2
        e.append(err)
    return sse / (len(y) - p)

def f(theta_vec, y, order):
    p, q = order
    phi, theta, c = theta_vec[:p], theta_vec[p:p + q], theta_vec[-1]
    return 0.5 * len(y) * np.log(css(y, phi, theta, c))

ARGNUMS = (0,)

def args():
    y = np.sin(np.arange(40) * 0.5) + 0.2 * np.cos(np.arange(40) * 2.1)
    return (np.array([0.5, -0.2, 0.3, 0.1, 0.05]), y, (2, 2))
