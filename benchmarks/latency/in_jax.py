"""The programs as users of JAX write them: whole arrays, ``scan``, loops of known length where reverse mode needs them.

Each replaces ``main`` of the program of the same name, and has the same parameters; integers are static, since they are
lengths. For programs that are not here, the same text is used with ``jax.numpy`` for ``numpy``.
"""

HEAD = """
import jax
import jax.scipy.signal
import jax.numpy as jnp
from jax import lax

jax.config.update("jax_enable_x64", True)
"""

PROGRAMS = {
    "ODE": """
def lotka(u, p):
    return jnp.array([p[0] * u[0] - p[1] * u[0] * u[1], p[2] * u[0] * u[1] - p[3] * u[1]])

def main(p, u0, data, h):
    def step(u, row):
        u = rk4(lotka, u, p, h)
        return u, jnp.sum((u - row) ** 2)

    return jnp.sum(lax.scan(step, u0, data)[1])
""",
    "Heston": """
def main(p, z, s0, strike, r, t):
    kappa, theta, xi, rho, v0 = p
    paths, steps = z.shape[:2]
    dt = t / steps

    def step(state, normal):
        s, v = state
        vp = jnp.maximum(v, 0.0)
        root = jnp.sqrt(vp * dt + 1e-12)
        w = rho * normal[:, 0] + jnp.sqrt(1.0 - rho * rho) * normal[:, 1]
        s = s + (r - 0.5 * vp) * dt + root * w
        v = v + kappa * (theta - vp) * dt + xi * root * normal[:, 0]
        return (s, v), None

    start = jnp.full(paths, jnp.log(s0)), jnp.full(paths, v0)
    (s, _), _ = lax.scan(step, start, jnp.swapaxes(z, 0, 1))
    return jnp.exp(-r * t) * jnp.mean(jnp.maximum(jnp.exp(s) - strike, 0.0))
""",
    "Kalman filter": """
def main(log_q, log_r, y):
    F = jnp.array([[1.0, 1.0], [0.0, 1.0]])
    H = jnp.array([[1.0, 0.0]])
    Q, R = jnp.exp(log_q) * jnp.eye(2), jnp.exp(log_r)

    def step(state, measured):
        x, P = state
        x = F @ x
        P = F @ P @ F.T + Q
        e = measured - (H @ x)[0]
        S = (H @ P @ H.T)[0, 0] + R
        K = (P @ H.T)[:, 0] / S
        return (x + K * e, P - jnp.outer(K, K) * S), 0.5 * (jnp.log(S) + e * e / S)

    return jnp.sum(lax.scan(step, (jnp.zeros(2), 10.0 * jnp.eye(2)), y)[1])
""",
    "springs": """
def forces(x, ends, rest, k):
    i, j = ends[:, 0], ends[:, 1]
    d = x[j] - x[i]
    length = jnp.sqrt(jnp.sum(d * d, axis=1))
    pull = (k * (length - rest) / length)[:, None] * d
    return jnp.zeros_like(x).at[i].add(pull).at[j].add(-pull)

def main(k, x0, ends, rest, target, dt, steps):
    def step(_, state):
        x, v = state
        v = v + dt * forces(x, ends, rest, k)
        return x + dt * v, v

    x, _ = lax.fori_loop(0, steps, step, (x0, jnp.zeros_like(x0)))
    return jnp.sum((x - target) ** 2)
""",
    "Gray-Scott": """
def laplacian(u):
    return jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1) - 4.0 * u

def main(feed, kill, u0, v0, target, steps):
    def step(_, state):
        u, v = state
        uvv = u * v * v
        return (
            u + 0.16 * laplacian(u) - uvv + feed * (1.0 - u),
            v + 0.08 * laplacian(v) + uvv - (feed + kill) * v,
        )

    _, v = lax.fori_loop(0, steps, step, (u0, v0))
    return jnp.sum((v - target) ** 2)
""",
    # Reverse mode needs a loop of known length: it has more steps than needed, and the last ones do nothing.
    "three bodies": """
def acceleration(x, m):
    d = x[None] - x[:, None]
    cubed = (jnp.sum(d * d, axis=2) + 1e-4) ** 1.5
    return jnp.sum(m[None, :, None] * d / cubed[:, :, None], axis=1)

def main(m, x0, v0, end, tolerance):
    def step(state):
        x, v, t, h = state
        h = jnp.minimum(h, end - t)
        a = acceleration(x, m)
        whole = x + h * v + 0.5 * h * h * a
        middle = x + 0.5 * h * v + 0.125 * h * h * a
        error = jnp.max(jnp.abs(whole - middle - 0.5 * h * v))
        b = acceleration(whole, m)
        taken = whole, v + 0.5 * h * (a + b), t + h, 1.5 * h
        good = (error < tolerance) | (h < 1e-5)
        return jax.tree.map(lambda new, old: jnp.where(good, new, old), taken, (x, v, t, 0.5 * h))

    def guarded(state, _):
        return lax.cond(state[2] < end, step, lambda state: state, state), None

    (x, _, _, _), _ = lax.scan(guarded, (x0, v0, 0.0, 0.01), None, length=128)
    return jnp.sum(x * x)
""",
    "heat": """
def main(c, u0, target, steps):
    def step(_, u):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        return u.at[1:-1, 1:-1].add(c[1:-1, 1:-1] * (around - 4.0 * u[1:-1, 1:-1]))

    return jnp.sum((lax.fori_loop(0, steps, step, u0) - target) ** 2)
""",
    "MLP": """
def main(w1, b1, w2, b2, w3, b3, x, y):
    h = jnp.tanh(x @ w1 + b1)
    h = jnp.tanh(h @ w2 + b2)
    logs = jax.nn.log_softmax(h @ w3 + b3)
    return -jnp.mean(logs[jnp.arange(len(y)), y])
""",
    "deblurring": """
def main(x, kernel, data, weight):
    r = kernel.shape[0] // 2
    blurred = jnp.pad(jax.scipy.signal.correlate2d(x, kernel, mode="valid"), r)
    dx, dy = x[1:, :-1] - x[:-1, :-1], x[:-1, 1:] - x[:-1, :-1]
    return jnp.sum((blurred - data) ** 2) + weight * jnp.sum(jnp.sqrt(dx * dx + dy * dy + 1e-6))
""",
    "README's heat": """
def main(u0, r, data, steps):
    def step(_, u):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        return u.at[1:-1, 1:-1].add(r * (around - 4.0 * u[1:-1, 1:-1]))

    return 0.5 * jnp.sum((lax.fori_loop(0, steps, step, u0) - data) ** 2)
""",
    "KdV, spectral": """
def rate(u, k):
    changed = jnp.fft.rfft(u)
    return -6.0 * u * jnp.fft.irfft(1j * k * changed, len(u)) - jnp.fft.irfft(-1j * k**3 * changed, len(u))

def main(u0, data, dt, steps):
    k = 2.0 * jnp.pi * jnp.fft.rfftfreq(len(u0), 0.4)

    def step(_, u):
        first = rate(u, k)
        return u + 0.5 * dt * (first + rate(u + dt * first, k))

    return 0.5 * jnp.sum((lax.fori_loop(0, steps, step, u0) - data) ** 2)
""",
}
