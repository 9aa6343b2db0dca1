"""Programs that spend their time in transforms and linear algebra: a spectral flow, a Gaussian process, a model of low
rank."""

PROGRAMS = {
    # The Korteweg-de Vries equation by Heun's method, with derivatives in space by transforms.
    "KdV, spectral": """
def rate(u, k):
    changed = np.fft.rfft(u)
    return -6.0 * u * np.fft.irfft(1j * k * changed, len(u)) - np.fft.irfft(-1j * k**3 * changed, len(u))

def main(u0, data, dt, steps):
    k = 2.0 * np.pi * np.fft.rfftfreq(len(u0), 0.4)
    u = u0
    for _ in range(steps):
        first = rate(u, k)
        u = u + 0.5 * dt * (first + rate(u + dt * first, k))
    return 0.5 * np.sum((u - data) ** 2)

arguments = np.exp(-(np.linspace(-6.0, 6.0, 64) ** 2)), rng.random(64), 1e-3, 5
argnums = 0
""",
    "Gaussian process": """
def main(theta, x, y):
    d = x[:, None] - x[None, :]
    k = np.exp(theta[0] - 0.5 * d * d * np.exp(-2.0 * theta[1])) + np.exp(theta[2]) * np.eye(len(x))
    low = np.linalg.cholesky(k)
    weights = np.linalg.solve(low.T, np.linalg.solve(low, y))
    return 0.5 * np.dot(y, weights) + np.sum(np.log(np.diag(low)))

arguments = np.array([0.1, 0.2, -1.0]), rng.random(30), rng.random(30)
argnums = 0
""",
    "low rank": """
def main(a):
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    rest = a - (u[:, :2] * s[:2]) @ vt[:2]
    return np.sum(rest * rest) + np.sum(np.sqrt(s))

arguments = (rng.random((12, 8)),)
argnums = 0
""",
}
