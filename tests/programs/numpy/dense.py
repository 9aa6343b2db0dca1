"""Dense algebra: solvers from slices, decompositions, filters, Gaussian processes."""

# mypy: ignore-errors
import numpy as np

from tests.programs.numpy.programs import program


def positive(r, n):
    a = r.random((n, n))
    return a @ a.T + n * np.eye(n)


@program(lambda r, n: (positive(r, n),), 6, 120)
def cholesky_by_slices(A):
    L = np.zeros_like(A)
    n = A.shape[0]
    for j in range(n):
        L[j, j] = np.sqrt(A[j, j] - L[j, :j] @ L[j, :j])
        L[j + 1 :, j] = (A[j + 1 :, j] - L[j + 1 :, :j] @ L[j, :j]) / L[j, j]
    return L


@program(lambda r, n: (positive(r, n), r.random(n)), 6, 120, by=(0, 1))
def gaussian_elimination(A, b):
    A, b = A.copy(), b.copy()
    n = len(b)
    for k in range(n - 1):
        factors = A[k + 1 :, k] / A[k, k]
        A[k + 1 :, k:] -= np.outer(factors, A[k, k:])
        b[k + 1 :] -= factors * b[k]
    x = np.zeros(n)
    for k in reversed(range(n)):
        x[k] = (b[k] - A[k, k + 1 :] @ x[k + 1 :]) / A[k, k]
    return x


@program(lambda r, n: (positive(r, n), r.random(n), n // 2 if n < 30 else 15), 8, 400, by=(0, 1))
def conjugate_gradients(A, b, steps):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r
    rr = r @ r
    for _ in range(steps):
        Ap = A @ p
        alpha = rr / (p @ Ap)
        x = x + alpha * p
        r = r - alpha * Ap
        new = r @ r
        p = r + new / rr * p
        rr = new
        if np.sqrt(rr) < 1e-10:
            break
    return x


@program(lambda r, n: (r.random((n + 3, n)),), 4, 80)
def gram_schmidt(A):
    m, n = A.shape
    Q = np.zeros((m, n))
    R = np.zeros((n, n))
    for k in range(n):
        v = A[:, k].copy()
        for j in range(k):
            R[j, k] = np.dot(Q[:, j], v)
            v -= R[j, k] * Q[:, j]
        R[k, k] = np.linalg.norm(v)
        Q[:, k] = v / R[k, k]
    return Q, R


@program(lambda r, n: (r.random((n, n)), r.random(n), 20), 6, 400)
def power_iteration(A, v, steps):
    for _ in range(steps):
        w = A @ v
        v = w / np.linalg.norm(w)
    return v @ A @ v, v


@program(lambda r, n: (r.normal(size=(n, 2)), np.eye(4) * 0.1, np.eye(2) * 0.5, np.zeros(4)), 6, 300, by=(0, 1, 2, 3))
def kalman_likelihood(observations, Q, R, m):
    """The log-likelihood of a track, with positions observed."""
    dt = 0.1
    F = np.array([[1, 0, dt, 0], [0, 1, 0, dt], [0, 0, 1, 0], [0, 0, 0, 1]])
    H = np.array([[1.0, 0, 0, 0], [0, 1.0, 0, 0]])
    P = np.eye(4)
    total = 0.0
    for y in observations:
        m = F @ m
        P = F @ P @ F.T + Q
        S = H @ P @ H.T + R
        e = y - H @ m
        K = np.linalg.solve(S, H @ P).T
        m = m + K @ e
        P = P - K @ S @ K.T
        total += -0.5 * (e @ np.linalg.solve(S, e) + np.linalg.slogdet(S)[1] + 2 * np.log(2 * np.pi))
    return total


@program(lambda r, n: (r.random((n, 2)), r.normal(size=n), 0.7, 0.1), 8, 120, by=(0, 1, 2, 3))
def gaussian_process(X, y, length, noise):
    """The log marginal likelihood by Cholesky."""
    d2 = np.sum((X[:, None, :] - X[None, :, :]) ** 2, axis=-1)
    K = np.exp(-0.5 * d2 / length**2) + noise * np.eye(len(y))
    L = np.linalg.cholesky(K)
    alpha = np.linalg.solve(L.T, np.linalg.solve(L, y))
    return -0.5 * y @ alpha - np.log(np.diag(L)).sum() - 0.5 * len(y) * np.log(2 * np.pi)


@program(lambda r, n: (r.random((n, 4)), r.random(n)), 9, 20000, by=(0, 1))
def ridge_regression(X, y):
    X = np.column_stack([np.ones(len(X)), X])
    w = np.linalg.solve(X.T @ X + 0.1 * np.eye(X.shape[1]), X.T @ y)
    residual = y - X @ w
    return w, np.mean(residual**2), 1 - residual.var() / y.var()


@program(lambda r, n: (r.random((n, n)), r.random((n, n)), r.random((n, n))), 5, 200, by=(0, 1, 2))
def three_products(A, B, C):
    return (1.5 * A @ B + 1.2 * C) @ A.T


@program(lambda r, n: (r.random((n, n)), r.random(n), r.random(n)), 6, 600, by=(0, 1, 2))
def rank_one_updates(A, u, v):
    B = A + np.outer(u, v) + np.outer(v, u)
    x = 1.2 * B.T @ u + v
    return 1.5 * B @ x


@program(lambda r, n: (r.random((n, n)),), 5, 300)
def correlation_matrix(data):
    """Columns brought to mean zero and deviation one, then the products of all pairs."""
    z = (data - data.mean(axis=0)) / (np.std(data, axis=0, ddof=1) + 0.1)
    return z.T @ z / (len(data) - 1), np.cov(data, rowvar=False)


@program(lambda r, n: (np.eye(3) + 0.1 * r.random((3, 3)), r.random((n, 3)), r.random(3)), 7, 30000, by=(0, 1, 2))
def rigid_motion(R, points, t):
    """Points moved, their centre and their tensor of inertia."""
    q = points @ R.T + t
    c = q.mean(0)
    d = q - c
    inertia = np.einsum("ij,ij->", d, d) * np.eye(3) - np.einsum("ij,ik->jk", d, d)
    return c, inertia, np.linalg.det(inertia)


@program(lambda r, n: (r.random((n, 3, 3)) + 3 * np.eye(3), r.random((n, 3))), 4, 5000, by=(0, 1))
def many_small_solves(A, b):
    x = np.linalg.solve(A, b[..., None])[..., 0]
    return x, np.linalg.det(A), np.trace(A, axis1=1, axis2=2)


@program(lambda r, n: (positive(r, n), r.random(n)), 5, 60, by=(0, 1))
def spectral_filter(A, x):
    """A function of a symmetric matrix by its eigenvalues."""
    w, V = np.linalg.eigh(A)
    return V @ (np.exp(-w / w[-1]) * (V.T @ x))


@program(lambda r, n: (r.random((n, 6)),), 8, 200)
def principal_components(X):
    Xc = X - X.mean(axis=0, keepdims=True)
    s = np.linalg.svd(Xc, compute_uv=False)
    return s**2 / np.sum(s**2)
