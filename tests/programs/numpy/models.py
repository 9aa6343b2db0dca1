"""Curves, controllers, catchments, food webs and tapes: objects with states, dictionaries of parameters, closures."""

# mypy: ignore-errors
import math
from dataclasses import dataclass

import numpy as np

from tests.programs.numpy.programs import program


class NelsonSiegel:
    def __init__(self, level, slope, curve, tau):
        self.level, self.slope, self.curve, self.tau = level, slope, curve, tau

    def factors(self, T):
        if isinstance(T, (int, float)) and T <= 0:
            return 1, 0
        decay = np.exp(-T / self.tau)
        first = (1 - decay) / (T / self.tau)
        return first, first - decay

    def zero(self, T):
        first, second = self.factors(T)
        return self.level + self.slope * first + self.curve * second

    __call__ = zero

    @classmethod
    def fitted(cls, tau, t, y):
        if tau <= 0:
            raise ValueError("tau must be positive")
        first, second = cls(0, 0, 0, tau).factors(t)
        X = np.stack([np.ones(t.size), first, second]).transpose()
        beta = np.linalg.solve(X.T @ X, X.T @ y)
        return cls(*beta, tau)


def yields(r, n):
    t = np.linspace(0.5, 30.0, n)
    return 0.04 - 0.02 * np.exp(-t / 3) + 0.001 * r.normal(size=n), t


@program(yields, 8, 400)
def yield_curve(y, t):
    """The best of several decay times; there is no best curve before the first."""
    best, least = None, np.inf
    for tau in np.linspace(0.5, 4.0, 6):
        curve = NelsonSiegel.fitted(tau, t, y)
        error = np.sum((curve(t) - y) ** 2)
        if error < least:
            best, least = curve, error
    coupons = np.arange(0.5, 10.25, 0.5)
    discount = np.exp(-best(coupons) * coupons)
    price = 2.0 * discount.sum() + 100 * discount[-1]
    return price, least * 1e4, best.zero(5.0), best.tau


class PID:
    def __init__(self, Kp=1.0, Ki=0.0, Kd=0.0, setpoint=0, limits=(None, None)):
        self.Kp, self.Ki, self.Kd = Kp, Ki, Kd
        self.setpoint = setpoint
        self._limits = limits
        self.reset()

    def __call__(self, measured, dt):
        error = self.setpoint - measured
        change = measured - (self._last if self._last is not None else measured)
        self._integral = clamped(self._integral + self.Ki * error * dt, self._limits)
        self._last = measured
        return clamped(self.Kp * error + self._integral - self.Kd * change / dt, self._limits)

    @property
    def limits(self):
        return self._limits

    @limits.setter
    def limits(self, limits):
        low, high = limits
        if None not in limits and high < low:
            raise ValueError("the lower limit must be less than the upper one")
        self._limits = low, high
        self._integral = clamped(self._integral, limits)

    def reset(self):
        self._integral = clamped(0.0, self._limits)
        self._last = None


def clamped(value, limits):
    low, high = limits
    if high is not None and value > high:
        return high
    if low is not None and value < low:
        return low
    return value


@program(lambda r, n: (np.array([5.0, 0.5, 0.1]), 24.0, n), 40, 5000, by=(0, 1))
def boiler_control(gains, target, steps):
    pid = PID(*gains, setpoint=target)
    pid.limits = (0.0, 100.0)
    temperature, cost, log = 20.0, 0.0, []
    for k in range(steps):
        if k == steps // 2:
            pid.setpoint = target + 2
        power = pid(temperature, 0.1)
        if power > 0:
            temperature += power * 0.1
        temperature -= 0.002 * (temperature - 18.0)
        cost += (temperature - pid.setpoint) ** 2 + 1e-3 * power**2
        log.append(temperature)
    return cost, np.array(log)


@dataclass
class Catchment:
    FC: float = 150.0
    BETA: float = 2.0
    K0: float = 0.2
    K1: float = 0.1
    K2: float = 0.02
    UZL: float = 10.0
    CFMAX: float = 3.0

    def __post_init__(self):
        self.snow, self.soil, self.upper, self.lower = 0.0, 0.5 * self.FC, 2.0, 10.0

    def step(self, P, T, PET):
        if T < 0.0:
            self.snow += P
            rain = 0.0
        else:
            melt = min(self.CFMAX * T, self.snow)
            self.snow -= melt
            rain = P + melt
        recharge = rain * (self.soil / self.FC) ** self.BETA
        self.soil += rain - recharge
        if self.soil > self.FC:
            recharge += self.soil - self.FC
            self.soil = self.FC
        self.soil = max(self.soil - PET * min(self.soil / (0.7 * self.FC), 1.0), 0.0)
        self.upper += recharge
        percolates = min(1.0, self.upper)
        self.upper -= percolates
        self.lower += percolates
        fast = self.K0 * max(self.upper - self.UZL, 0.0) + self.K1 * self.upper
        slow = self.K2 * self.lower
        self.upper -= fast
        self.lower -= slow
        return fast + slow


def delayed(longest):
    def passed(t):
        t = min(max(t, 0.0), longest)
        return 2 * (t / longest) ** 2 if t < longest / 2 else 1 - 2 * (1 - t / longest) ** 2

    return np.array([passed(i + 1) - passed(i) for i in range(int(np.ceil(longest)))])


def weather(r, n):
    return np.array([150.0, 2.0, 0.2, 0.1, 0.02]), r.gamma(0.5, 8.0, n), 5 * np.sin(np.arange(n) / 9.0) + 1, r.random(n)


@program(weather, 50, 5000, by=(0, 1, 2))
def snow_and_runoff(p, rain, temperature, evaporation):
    model = Catchment(*p)
    q = np.array([model.step(P, T, E) for P, T, E in zip(rain, temperature, evaporation, strict=True)])
    q = np.convolve(q, delayed(2.5))[: len(rain)]
    seen = 2 + np.sin(np.arange(len(rain)) / 5)
    efficiency = 1 - np.sum((q - seen) ** 2) / np.sum((seen - seen.mean()) ** 2)
    r = np.corrcoef(q, seen)[0, 1]
    return efficiency, 1 - np.sqrt((r - 1) ** 2 + (q.std() / seen.std() - 1) ** 2), q


def growth(N, params):
    r, K, a, h, e, m = (params[k] for k in ("r", "K", "a", "h", "e", "m"))
    R, C, P = N
    eaten = a[0] * R / (1 + a[0] * h[0] * R)
    caught = a[1] * C / (1 + a[1] * h[1] * C)
    return np.array([r * R * (1 - R / K) - eaten * C, e * eaten * C - m[0] * C - caught * P, e * caught * P - m[1] * P])


RATES = {"r": 1.0, "K": 2.0, "a": (2.5, 1.0), "h": (0.4, 0.5), "e": 0.6, "m": (0.3, 0.1)}


@program(lambda r, n: (np.array([2.5, 1.0]), np.array([1.0, 0.5, 0.2]), n), 30, 5000, by=(0, 1))
def food_chain(attack, start, steps):
    params = {**RATES, "a": attack}
    h, course = 0.2, np.zeros((steps + 1, len(start)))
    course[0] = start
    for i in range(steps):
        y = course[i]
        k1 = growth(y, params)
        k2 = growth(y + h / 2 * k1, params)
        k3 = growth(y + h / 2 * k2, params)
        k4 = growth(y + h * k3, params)
        course[i + 1] = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    tail = course[len(course) // 2 :]
    return course[-1], tail.std(axis=0) / tail.mean(axis=0), np.argmax(tail[:, 0])


@program(lambda r, n: (1.0 + 0.5 * r.random((n, n - 2)), 0.1), 12, 300)
def first_arrivals(slowness, h):
    """The eikonal equation by sweeps in four directions."""
    nx, nz = slowness.shape
    T = np.full((nx + 2, nz + 2), 1e10)
    T[3, 4] = 0.0
    down, up = range(1, nx + 1), range(nx, 0, -1)
    right, left = range(1, nz + 1), range(nz, 0, -1)
    for xs, zs in ((down, right), (up, right), (up, left), (down, left)):
        for i in xs:
            for j in zs:
                if i == 3 and j == 4:
                    continue
                a, b = min(T[i - 1, j], T[i + 1, j]), min(T[i, j - 1], T[i, j + 1])
                s = slowness[i - 1, j - 1] * h
                t = min(a, b) + s if abs(a - b) >= s else 0.5 * (a + b + math.sqrt(2 * s * s - (a - b) ** 2))
                T[i, j] = min(T[i, j], t)
    return T[1:-1, 1], T[1:-1, 1:-1].max()


class Value:
    """A number that remembers what it was computed from (after micrograd)."""

    def __init__(self, data, parents=()):
        self.data = data
        self.grad = 0.0
        self.parents = parents
        self._backward = lambda: None

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data + other.data, (self, other))

        def backward():
            self.grad += out.grad
            other.grad += out.grad

        out._backward = backward
        return out

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data * other.data, (self, other))

        def backward():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out._backward = backward
        return out

    def tanh(self):
        out = Value(math.tanh(self.data), (self,))

        def backward():
            self.grad += (1 - out.data**2) * out.grad

        out._backward = backward
        return out

    def backward(self):
        order, visited = [], []

        def visit(v):
            if v not in visited:
                visited.append(v)
                for parent in v.parents:
                    visit(parent)
                order.append(v)

        visit(self)
        self.grad = 1.0
        for v in reversed(order):
            v._backward()

    def __radd__(self, other):
        return self + other

    def __sub__(self, other):
        return self + other * -1 if isinstance(other, Value) else self + -other

    def __rmul__(self, other):
        return self * other


@program(lambda r, n: (r.normal(size=4), 0.7), 4, 4, by=(0, 1))
def scalar_tape(w, x):
    """Gradients by objects that refer to each other, and the gradient of these."""
    ws = [Value(v) for v in w]
    point = Value(x)
    hidden = (ws[0] * point + ws[1]).tanh()
    out = hidden * ws[2] + ws[3] * hidden - 2 * point
    loss = (out - 0.3) * (out - 0.3)
    loss.backward()
    return loss.data, np.array([v.grad for v in ws]), point.grad
