"""The programs whose first gradients are timed, as texts, since each runs in its own process.

Each defines ``main`` and ``arguments``; the gradient is with respect to ``argnums``, by default 0.
"""

HEAD = """import math

import numpy as np

rng = np.random.default_rng(0)
argnums = 0
"""

PROGRAMS = {
    "ODE": """
def lotka(u, p):
    return np.array([p[0] * u[0] - p[1] * u[0] * u[1], p[2] * u[0] * u[1] - p[3] * u[1]])

def rk4(f, u, p, h):
    k1 = f(u, p)
    k2 = f(u + 0.5 * h * k1, p)
    k3 = f(u + 0.5 * h * k2, p)
    k4 = f(u + h * k3, p)
    return u + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)

def main(p, u0, data, h):
    u, loss = u0, 0.0
    for k in range(len(data)):
        u = rk4(lotka, u, p, h)
        loss += np.sum((u - data[k]) ** 2)
    return loss

arguments = np.array([1.1, 0.4, 0.1, 0.4]), np.array([10.0, 5.0]), rng.random((50, 2)), 0.05
""",
    "Heston": """
def main(p, z, s0, strike, r, t):
    kappa, theta, xi, rho, v0 = p
    paths, steps = z.shape[0], z.shape[1]
    dt = t / steps
    total = 0.0
    for i in range(paths):
        s, v = math.log(s0), v0
        for k in range(steps):
            vp = max(v, 0.0)
            root = math.sqrt(vp * dt + 1e-12)
            w = rho * z[i, k, 0] + math.sqrt(1.0 - rho * rho) * z[i, k, 1]
            s += (r - 0.5 * vp) * dt + root * w
            v += kappa * (theta - vp) * dt + xi * root * z[i, k, 0]
        total += max(math.exp(s) - strike, 0.0)
    return math.exp(-r * t) * total / paths

arguments = np.array([1.5, 0.04, 0.3, -0.7, 0.04]), rng.standard_normal((200, 20, 2)), 100.0, 100.0, 0.02, 1.0
""",
    "Kalman filter": """
def main(log_q, log_r, y):
    F = np.array([[1.0, 1.0], [0.0, 1.0]])
    H = np.array([[1.0, 0.0]])
    one = np.array([[1.0, 0.0], [0.0, 1.0]])
    Q, R = np.exp(log_q) * one, np.exp(log_r)
    x, P = np.zeros(2), 10.0 * one
    loss = 0.0
    for k in range(len(y)):
        x = F @ x
        P = F @ P @ F.T + Q
        e = y[k] - (H @ x)[0]
        S = (H @ P @ H.T)[0, 0] + R
        K = (P @ H.T)[:, 0] / S
        x = x + K * e
        P = P - np.outer(K, K) * S
        loss += 0.5 * (math.log(S) + e * e / S)
    return loss

arguments = -2.0, -1.0, np.cumsum(rng.standard_normal(60))
""",
    "springs": """
def forces(x, ends, rest, k):
    f = np.zeros_like(x)
    for e in range(len(ends)):
        i, j = ends[e, 0], ends[e, 1]
        dx, dy = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1]
        length = math.sqrt(dx * dx + dy * dy)
        pull = k[e] * (length - rest[e]) / length
        f[i, 0] += pull * dx
        f[i, 1] += pull * dy
        f[j, 0] -= pull * dx
        f[j, 1] -= pull * dy
    return f

def main(k, x0, ends, rest, target, dt, steps):
    x, v = x0.copy(), np.zeros_like(x0)
    for _ in range(steps):
        v += dt * forces(x, ends, rest, k)
        x += dt * v
    return np.sum((x - target) ** 2)

ends = np.array([(i, i + 1) for i in range(19)] + [(i, i + 2) for i in range(18)])
arguments = np.full(37, 5.0), rng.random((20, 2)), ends, np.full(37, 0.3), rng.random((20, 2)), 0.01, 40
""",
    "Gray-Scott": """
def laplacian(u):
    n, m = u.shape
    out = np.empty_like(u)
    for i in range(n):
        for j in range(m):
            around = u[(i - 1) % n, j] + u[(i + 1) % n, j] + u[i, (j - 1) % m] + u[i, (j + 1) % m]
            out[i, j] = around - 4.0 * u[i, j]
    return out

def main(feed, kill, u0, v0, target, steps):
    u, v = u0.copy(), v0.copy()
    for _ in range(steps):
        uvv = u * v * v
        u, v = (
            u + 0.16 * laplacian(u) - uvv + feed * (1.0 - u),
            v + 0.08 * laplacian(v) + uvv - (feed + kill) * v,
        )
    return np.sum((v - target) ** 2)

arguments = 0.035, 0.065, rng.random((24, 20)), 0.3 * rng.random((24, 20)), rng.random((24, 20)), 20
""",
    "three bodies": """
def acceleration(x, m):
    a = np.zeros((3, 2))
    for i in range(3):
        for j in range(3):
            if i != j:
                dx, dy = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1]
                d = (dx * dx + dy * dy + 1e-4) ** 1.5
                a[i, 0] += m[j] * dx / d
                a[i, 1] += m[j] * dy / d
    return a

def main(m, x0, v0, end, tolerance):
    x, v = x0.copy(), v0.copy()
    t, h = 0.0, 0.01
    while t < end:
        h = min(h, end - t)
        a = acceleration(x, m)
        whole = x + h * v + 0.5 * h * h * a
        middle = x + 0.5 * h * v + 0.125 * h * h * a
        error = np.max(np.abs(whole - middle - 0.5 * h * v))
        if error < tolerance or h < 1e-5:
            b = acceleration(whole, m)
            v = v + 0.5 * h * (a + b)
            x = whole
            t += h
            h *= 1.5
        else:
            h *= 0.5
    return np.sum(x * x)

arguments = np.array([1.0, 0.8, 1.2]), rng.random((3, 2)), 0.3 * rng.standard_normal((3, 2)), 0.4, 1e-3
""",
    "heat": """
def main(c, u0, target, steps):
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                v[i, j] = u[i, j] + c[i, j] * (around - 4.0 * u[i, j])
        u, v = v, u
    return np.sum((u - target) ** 2)

arguments = 0.2 * rng.random((40, 30)), rng.random((40, 30)), rng.random((40, 30)), 30
""",
    "MLP": """
def main(w1, b1, w2, b2, w3, b3, x, y):
    h = np.tanh(x @ w1 + b1)
    h = np.tanh(h @ w2 + b2)
    out = h @ w3 + b3
    out = out - np.max(out, axis=1)[:, None]
    logs = out - np.log(np.sum(np.exp(out), axis=1))[:, None]
    loss = 0.0
    for i in range(len(y)):
        loss -= logs[i, y[i]]
    return loss / len(y)

arguments = (
    rng.standard_normal((8, 16)), np.zeros(16), rng.standard_normal((16, 16)), np.zeros(16),
    rng.standard_normal((16, 4)), np.zeros(4), rng.standard_normal((40, 8)), rng.integers(0, 4, 40),
)
argnums = 0, 1, 2, 3, 4, 5
""",
    "deblurring": """
def blur(x, kernel):
    n, m = x.shape
    r = kernel.shape[0] // 2
    out = np.zeros((n, m))
    for i in range(r, n - r):
        for j in range(r, m - r):
            s = 0.0
            for a in range(-r, r + 1):
                for b in range(-r, r + 1):
                    s += kernel[a + r, b + r] * x[i + a, j + b]
            out[i, j] = s
    return out

def main(x, kernel, data, weight):
    misfit = np.sum((blur(x, kernel) - data) ** 2)
    dx, dy = x[1:, :-1] - x[:-1, :-1], x[:-1, 1:] - x[:-1, :-1]
    return misfit + weight * np.sum(np.sqrt(dx * dx + dy * dy + 1e-6))

arguments = rng.random((30, 26)), np.full((5, 5), 0.04), rng.random((30, 26)), 0.1
""",
    "logistic": """
def main(w, x, y, weight):
    z = x @ w
    return np.sum(np.log1p(np.exp(-y * z))) + 0.5 * weight * np.sum(w * w)

arguments = rng.standard_normal(12), rng.standard_normal((200, 12)), np.sign(rng.standard_normal(200)), 0.1
""",
}
