"""Solvers by slices, filters. Slices of changing length are whole rows and columns under a mask."""

# mypy: ignore-errors
import jax.numpy as jnp
from jax import lax


def cholesky_by_slices(A):
    n = A.shape[0]
    at = jnp.arange(n)

    def column(j, L):
        row = L[j]  # zero from column j on
        diagonal = jnp.sqrt(A[j, j] - row @ row)
        below = (A[:, j] - L @ row) / diagonal
        return L.at[:, j].set(jnp.where(at > j, below, jnp.where(at == j, diagonal, 0.0)))

    return lax.fori_loop(0, n, column, jnp.zeros_like(A))


def gaussian_elimination(A, b):
    n = len(b)
    at = jnp.arange(n)

    def eliminate(k, state):
        A, b = state
        factors = jnp.where(at > k, A[:, k] / A[k, k], 0.0)
        return A - jnp.outer(factors, A[k]), b - factors * b[k]

    A, b = lax.fori_loop(0, n - 1, eliminate, (A, b))

    def substitute(i, x):
        k = n - 1 - i
        return x.at[k].set((b[k] - jnp.where(at > k, A[k], 0.0) @ x) / A[k, k])

    return lax.fori_loop(0, n, substitute, jnp.zeros(n))


def conjugate_gradients(A, b, steps):
    def step(_, state):
        def go(state):
            x, r, p, rr, _ = state
            Ap = A @ p
            alpha = rr / (p @ Ap)
            x = x + alpha * p
            r = r - alpha * Ap
            new = r @ r
            return x, r, r + new / rr * p, new, jnp.sqrt(new) < 1e-10

        return lax.cond(state[4], lambda s: s, go, state)

    state = jnp.zeros_like(b), b, b, b @ b, jnp.asarray(False)
    return lax.fori_loop(0, steps, step, state)[0]


def gram_schmidt(A):
    n = A.shape[1]

    def column(k, state):
        Q, R = state

        def project(j, both):
            v, r = both
            here = jnp.where(j < k, Q[:, j] @ v, 0.0)
            return v - here * Q[:, j], r.at[j].set(here)

        v, r = lax.fori_loop(0, n, project, (A[:, k], jnp.zeros(n)))
        norm = jnp.linalg.norm(v)
        return Q.at[:, k].set(v / norm), R.at[:, k].set(r.at[k].set(norm))

    return lax.fori_loop(0, n, column, (jnp.zeros_like(A), jnp.zeros((n, n))))


def power_iteration(A, v, steps):
    def step(_, v):
        w = A @ v
        return w / jnp.linalg.norm(w)

    v = lax.fori_loop(0, steps, step, v)
    return v @ A @ v, v


def kalman_likelihood(observations, Q, R, m):
    dt = 0.1
    F = jnp.array([[1, 0, dt, 0], [0, 1, 0, dt], [0, 0, 1, 0], [0, 0, 0, 1]])
    H = jnp.array([[1.0, 0, 0, 0], [0, 1.0, 0, 0]])

    def step(state, y):
        m, P = state
        m = F @ m
        P = F @ P @ F.T + Q
        S = H @ P @ H.T + R
        e = y - H @ m
        K = jnp.linalg.solve(S, H @ P).T
        here = -0.5 * (e @ jnp.linalg.solve(S, e) + jnp.linalg.slogdet(S)[1] + 2 * jnp.log(2 * jnp.pi))
        return (m + K @ e, P - K @ S @ K.T), here

    return jnp.sum(lax.scan(step, (m, jnp.eye(4)), observations)[1])


def spectral_filter(A, x):
    # JAX reads both triangles, and spreads the derivative over them; NumPy reads the lower one.
    w, V = jnp.linalg.eigh(jnp.tril(A) + jnp.tril(A, -1).T)
    return V @ (jnp.exp(-w / w[-1]) * (V.T @ x))
