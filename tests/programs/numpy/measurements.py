"""Estimates from measurements: changes, hidden states, roads; with records of what was found."""

# mypy: ignore-errors
import math

import numpy as np

from tests.programs.numpy.programs import program

gammaln = np.vectorize(math.lgamma)


class StudentT:
    """The beliefs about a mean and a variance, for each run length."""

    def __init__(self, alpha, beta, kappa, mu):
        self.alpha0 = self.alpha = np.array([alpha])
        self.beta0 = self.beta = np.array([beta])
        self.kappa0 = self.kappa = np.array([kappa])
        self.mu0 = self.mu = np.array([mu])

    def pdf(self, x):
        df = 2 * self.alpha
        scale = np.sqrt(self.beta * (self.kappa + 1) / (self.alpha * self.kappa))
        z = (x - self.mu) / scale
        logs = gammaln((df + 1) / 2) - gammaln(df / 2) - 0.5 * np.log(df * np.pi) - np.log(scale)
        return np.exp(logs - (df + 1) / 2 * np.log1p(z**2 / df))

    def update(self, x):
        mu = np.append(self.mu0, (self.kappa * self.mu + x) / (self.kappa + 1))
        beta = np.append(self.beta0, self.beta + self.kappa * (x - self.mu) ** 2 / (2 * (self.kappa + 1)))
        self.mu, self.beta = mu, beta
        self.kappa = np.append(self.kappa0, self.kappa + 1.0)
        self.alpha = np.append(self.alpha0, self.alpha + 0.5)


@program(
    lambda r, n: (np.concatenate([r.normal(size=n), 3 + r.normal(size=n)]), 20.0, 0.1), 8, 300, by=(0, 1, 2)
)
def change_points(data, expected, beta):
    """Where a series changes, step by step: the probability of each run length."""
    steps = len(data)
    R = np.zeros((steps + 1, steps + 1))
    R[0, 0] = 1
    beliefs = StudentT(0.5, beta, 1.0, 0.0)
    evidence = 0.0
    for t, x in enumerate(data):
        predicted = beliefs.pdf(x)
        hazard = np.full(t + 1, 1 / expected)
        R[1 : t + 2, t + 1] = R[: t + 1, t] * predicted * (1 - hazard)
        R[0, t + 1] = np.sum(R[: t + 1, t] * predicted * hazard)
        z = R[:, t + 1].sum()
        evidence += np.log(z)
        R[:, t + 1] /= z
        beliefs.update(x)
    means = (np.arange(steps + 1)[:, None] * R).sum(0)
    return evidence, R.argmax(axis=0)[-1], means[-1], means[::5]


class ParticleFilter:
    """Particles whose positions and velocities are columns of one state."""

    def __init__(self, n, spread, noise):
        self.state = np.zeros((n, 2))
        self.pos = self.state[:, 0]
        self.vel = self.state[:, 1]
        self.pos += spread * noise
        self.weights = np.ones(n) / n
        self.history = []

    @property
    def effective(self):
        return 1.0 / np.sum(self.weights**2)

    def predict(self, dt, draws):
        self.vel += 0.1 * draws
        self.pos += dt * self.vel

    def update(self, z, sigma):
        self.weights *= np.exp(-0.5 * ((z - self.pos) / sigma) ** 2)
        self.weights /= self.weights.sum()

    def resample(self, u):
        c = np.cumsum(self.weights)
        c[-1] = 1.0
        n = len(c)
        self.state[:] = self.state[np.searchsorted(c, (np.arange(n) + u) / n)]
        self.weights.fill(1.0 / n)

    def note(self):
        mean = np.average(self.pos, weights=self.weights)
        var = np.average((self.pos - mean) ** 2, weights=self.weights)
        self.history.append({"mean": mean, "var": var, "left": self.effective})


@program(
    lambda r, n: (np.cumsum(r.normal(size=n)) / 4, r.normal(size=(n + 1, 12)), 0.4), 6, 2000, by=(0, 1, 2)
)
def particle_filter(observed, draws, sigma):
    """Tracking with resampling where few particles are left."""
    particles = ParticleFilter(draws.shape[1], 0.5, draws[0])
    likelihood, resampled = 0.0, 0
    for z, d in zip(observed, draws[1:]):
        particles.predict(0.5, d)
        particles.update(z, sigma)
        likelihood += np.log(particles.effective)
        particles.note()
        if particles.effective < 3:
            particles.resample(0.5)
            resampled += 1
    means = np.array([h["mean"] for h in particles.history])
    worst = min(particles.history, key=lambda h: h["left"])
    return likelihood, means, worst["var"], resampled


class Roads:
    def __init__(self, places):
        self.near = [[] for _ in range(places)]
        self.lengths = [[] for _ in range(places)]

    def add(self, a, b, length):
        for p, q in ((a, b), (b, a)):
            self.near[p].append(q)
            self.lengths[p].append(length)

    def distances(self, start):
        far = [np.inf] * len(self.near)
        far[start] = 0.0
        todo = set(range(len(self.near)))
        while todo:
            d, here = min((far[p], p) for p in sorted(todo))
            todo.remove(here)
            for q, length in zip(self.near[here], self.lengths[here]):
                far[q] = min(far[q], d + length)
        return np.array(far)


@program(lambda r, n: (r.random((n, 2)), np.linspace(0.5, 2.0, n)), 7, 200, by=(0, 1))
def road_network(points, slowness):
    """The travel times between towns along roads to their neighbours."""
    n = len(points)
    roads = Roads(n)
    for i in range(n):
        for step in (1, 3):
            j = (i + step) % n
            roads.add(i, j, np.hypot(*(points[i] - points[j])) * (slowness[i] + slowness[j]) / 2)
    times = roads.distances(0)
    return times, max((t, k) for k, t in enumerate(times))[0], sum(len(near) for near in roads.near)
