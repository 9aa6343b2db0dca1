"""Pipes, buildings, sounds, queues, galaxies: with classes, closures and containers."""

# mypy: ignore-errors
import heapq
import math
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass

import numpy as np

from tests.programs.numpy.programs import program


class Pipe:
    def __init__(self, L, D, f, n):
        self.n, self.dx = n, L / n
        self.area, self.D, self.f = math.pi * D**2 / 4, D, f


@program(lambda r, n: (np.array([600.0, 0.5, 0.02]), 1000.0, n), 20, 2000, by=(0, 1))
def water_hammer(geom, wave, steps):
    """A valve that closes, by the method of characteristics."""
    L, D, f = geom
    pipe = Pipe(L, D, f, 10)
    g = 9.81
    B = wave / (g * pipe.area)
    Rf = pipe.f * pipe.dx / (2 * g * pipe.D * pipe.area**2)
    Q = np.full(pipe.n + 1, 0.3)
    H = 100.0 - Rf * Q**2 * np.arange(pipe.n + 1)
    Q0, H0 = Q[-1], H[-1]
    dt = pipe.dx / wave
    close = 0.8
    peak = -np.inf
    trace = []
    for k in range(1, steps + 1):
        CP = H[:-1] + B * Q[:-1] - Rf * Q[:-1] * abs(Q[:-1])
        CM = H[1:] - B * Q[1:] + Rf * Q[1:] * abs(Q[1:])
        Hn, Qn = np.empty_like(H), np.empty_like(Q)
        Hn[1:-1] = (CP[:-1] + CM[1:]) / 2
        Qn[1:-1] = (Hn[1:-1] - CM[1:]) / B
        Hn[0] = 100.0
        Qn[0] = (Hn[0] - CM[0]) / B
        tau = max(0.0, 1 - k * dt / close) ** 1.5
        if tau > 0:
            Cv = (Q0 * tau) ** 2 / (2 * H0)
            Qn[-1] = -B * Cv + np.sqrt((B * Cv) ** 2 + 2 * Cv * CP[-1])
        else:
            Qn[-1] = 0.0
        Hn[-1] = CP[-1] - B * Qn[-1]
        H, Q = Hn, Qn
        peak = max(peak, H.max())
        trace.append(H[-1])
    return peak, np.array(trace)[::10]


class Material(ABC):
    @abstractmethod
    def force(self, u): ...
    def commit(self):  # noqa: B027
        pass


class Elastic(Material):
    def __init__(self, k):
        self.k = k

    def force(self, u):
        return self.k * u, self.k


class ElastoPlastic(Material):
    def __init__(self, k, fy, hardening=0.02):
        self.k, self.fy, self.H = k, fy, hardening * k
        self.up = self.trial_up = 0.0
        self.alpha = self.trial_alpha = 0.0

    def force(self, u):
        f = self.k * (u - self.up)
        yield_f = abs(f) - (self.fy + self.H * self.alpha)
        if yield_f <= 0:
            self.trial_up, self.trial_alpha = self.up, self.alpha
            return f, self.k
        dg = yield_f / (self.k + self.H)
        s = 1.0 if f > 0 else -1.0
        self.trial_up, self.trial_alpha = self.up + dg * s, self.alpha + dg
        return f - self.k * dg * s, self.k * self.H / (self.k + self.H)

    def commit(self):
        self.up, self.alpha = self.trial_up, self.trial_alpha


def newmark(material, m, c, ag, dt, beta=0.25, gamma=0.5):
    u = v = 0.0
    f, _ = material.force(u)
    a = (-m * ag[0] - c * v - f) / m
    hist = np.zeros(len(ag))
    for i in range(1, len(ag)):
        un = u
        for _ in range(20):
            an = (un - u - dt * v) / (beta * dt**2) - (0.5 / beta - 1) * a
            vn = v + dt * ((1 - gamma) * a + gamma * an)
            f, kt = material.force(un)
            res = -m * ag[i] - m * an - c * vn - f
            if abs(res) < 1e-11:
                break
            un += res / (kt + m / (beta * dt**2) + c * gamma / (beta * dt))
        material.commit()
        u, v, a = un, vn, an
        hist[i] = u
    return hist


@program(
    lambda r, n: (2 * np.sin(np.arange(n) * 0.3) * np.exp(-np.arange(n) / 40.0), np.array([0.3, 0.6, 1.0]), 0.8),
    40,
    2000,
    by=(0, 1, 2),
)
def response_spectrum(ag, periods, fy):
    """Elastic and plastic oscillators in an earthquake, by Newmark's method."""
    out = {"elastic": [], "plastic": []}
    for T in periods:
        k = (2 * np.pi / T) ** 2
        c = 2 * 0.05 * np.sqrt(k)
        for name, mat in (("elastic", Elastic(k)), ("plastic", ElastoPlastic(k, fy=fy))):
            out[name].append(np.abs(newmark(mat, 1.0, c, ag, 0.02)).max())
    e, p = (np.array(v) for v in out.values())
    return e, p, (p / e).mean()


@dataclass
class ADSR:
    attack: float
    decay: float
    sustain: float
    release: float

    def __call__(self, t, gate):
        env = np.piecewise(
            t,
            [t < self.attack, (t >= self.attack) & (t < self.attack + self.decay), t >= self.attack + self.decay],
            [
                lambda s: s / self.attack,
                lambda s: 1 - (1 - self.sustain) * (s - self.attack) / self.decay,
                self.sustain,
            ],
        )
        return np.where(t > gate, env * np.exp(-(t - gate) / self.release), env)


class Biquad:
    def __init__(self, kind, f0, q, sr):
        w = 2 * math.pi * f0 / sr
        alpha = math.sin(w) / (2 * q)
        c = math.cos(w)
        if kind == "lowpass":
            b = [(1 - c) / 2, 1 - c, (1 - c) / 2]
        elif kind == "highpass":
            b = [(1 + c) / 2, -(1 + c), (1 + c) / 2]
        else:
            raise ValueError(kind)
        a = [1 + alpha, -2 * c, 1 - alpha]
        self.b = [x / a[0] for x in b]
        self.a = [x / a[0] for x in a]
        self.z1 = self.z2 = 0.0

    def process(self, x):
        y = np.empty_like(x)
        for n, v in enumerate(x):
            out = self.b[0] * v + self.z1
            self.z1 = self.b[1] * v - self.a[1] * out + self.z2
            self.z2 = self.b[2] * v - self.a[2] * out
            y[n] = out
        return y


def voice(freq, t, index, ratio, env):
    return env(t, 0.02) * np.sin(2 * np.pi * freq * t + index * np.sin(2 * np.pi * ratio * freq * t))


@program(lambda r, n: (np.array([220.0, 277.2, 329.6]), 1.5, 800.0, 0.4, n), 100, 20000, by=(0, 1, 2, 3))
def fm_synth(freqs, index, cutoff, feedback, n):
    """Voices, filters and an echo."""
    sr = 8000
    t = np.arange(n) / sr
    env = ADSR(0.005, 0.01, 0.6, 0.01)
    mix = sum(voice(f, t, index, 2.0, env) for f in freqs) / len(freqs)
    chain = [Biquad("lowpass", cutoff, 0.7, sr), Biquad("highpass", 60.0, 0.7, sr)]
    for stage in chain:
        mix = stage.process(mix)
    buf = deque([0.0] * 50, maxlen=50)
    wet = np.zeros_like(mix)
    for i in range(n):
        old = buf[0]
        buf.append(mix[i] + feedback * old)
        wet[i] = mix[i] + 0.5 * old
    wet /= np.abs(wet).max()
    rms = np.sqrt(np.mean(wet**2))
    zc = np.count_nonzero(np.diff(np.signbit(wet)))
    return rms, zc, wet[::20]


@program(lambda r, n: (r.exponential(1.0, n), r.exponential(1.7, n), 2), 20, 5000, by=(0, 1))
def event_queue(interarrival, service, servers):
    """Customers and several servers, by a heap."""
    arrivals = np.cumsum(interarrival)
    free = [0.0] * servers
    heapq.heapify(free)
    waits, finish = [], []
    for a, s in zip(arrivals, service):
        earliest = heapq.heappop(free)
        start = max(a, earliest)
        waits.append(start - a)
        done = start + s
        heapq.heappush(free, done)
        finish.append(done)
    waits = np.array(waits)
    makespan = max(finish)
    late = waits[waits > 1.0]
    return waits.mean(), makespan, late.sum() if late.size else 0.0, service.sum() / (servers * makespan)


@dataclass(frozen=True)
class FlatwCDM:
    H0: float
    Om0: float
    w: float = -1.0
    c = 299792.458

    def E(self, z):
        return np.sqrt(self.Om0 * (1 + z) ** 3 + (1 - self.Om0) * (1 + z) ** (3 * (1 + self.w)))

    def comoving(self, z, n=64):
        x, w = np.polynomial.legendre.leggauss(16)
        z = np.atleast_1d(z)
        nodes = 0.5 * z[:, None] * (x + 1)
        return self.c / self.H0 * np.sum(0.5 * z[:, None] * w / self.E(nodes), axis=-1)

    def distmod(self, z):
        return 5 * np.log10((1 + z) * self.comoving(z)) + 25

    def growth(self, steps=100):
        lna = np.linspace(np.log(1e-2), 0.0, steps)
        h = lna[1] - lna[0]

        def rhs(x, y):
            z = np.exp(-x) - 1
            e2 = self.E(z) ** 2
            om = self.Om0 * (1 + z) ** 3 / e2
            q = 2 - 1.5 * om
            return np.array([y[1], 1.5 * om * y[0] - q * y[1]])

        y = np.array([1e-2, 1e-2])
        out = [y]
        for x in lna[:-1]:
            k1 = rhs(x, y)
            k2 = rhs(x + h / 2, y + h / 2 * k1)
            k3 = rhs(x + h / 2, y + h / 2 * k2)
            k4 = rhs(x + h, y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            out.append(y)
        D = np.array(out)
        return D[:, 0] / D[-1, 0], D[-1, 1] / D[-1, 0]


@program(lambda r, n: (np.array([70.0, 0.3, -0.9]), np.sort(r.random(n)) + 0.01, 0.1 * r.normal(size=n)), 20, 20000)
def supernovae(theta, z, noise):
    """Distances in an expanding universe, and how its structure grows."""
    cosmo, truth = FlatwCDM(*theta), FlatwCDM(69.0, 0.28)
    resid = truth.distmod(z) + noise - cosmo.distmod(z)
    ivar = np.full_like(z, 1 / 0.15**2)
    B = np.sum(resid * ivar)
    chi2 = np.sum(resid**2 * ivar) - B**2 / ivar.sum()
    D, f = cosmo.growth()
    return chi2, f, D[::20]
