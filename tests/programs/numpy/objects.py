"""Objects with a state of their own: an order book, spiking cells, a robot's arm, a heart's rhythm."""

# mypy: ignore-errors
import math
import statistics
from collections import deque
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import pairwise

import numpy as np

from tests.programs.numpy.programs import program


class Side(Enum):
    BUY = auto()
    SELL = auto()


@dataclass
class Order:
    side: Side
    price: float
    amount: float


class Book:
    def __init__(self):
        self.bids, self.asks = [], []
        self.trades = []

    def submit(self, order):
        buys = order.side is Side.BUY
        book, other = (self.asks, self.bids) if buys else (self.bids, self.asks)
        sign = 1 if buys else -1
        while order.amount > 1e-12 and book and sign * (order.price - book[0].price) >= 0:
            best = book[0]
            amount = min(order.amount, best.amount)
            self.trades.append((best.price, amount))
            order.amount -= amount
            best.amount -= amount
            if best.amount <= 1e-12:
                book.pop(0)
        if order.amount > 1e-12:
            k = 0
            while k < len(other) and sign * (other[k].price - order.price) >= 0:
                k += 1
            other.insert(k, order)

    def mid(self):
        if self.bids and self.asks:
            return 0.5 * (self.bids[0].price + self.asks[0].price)
        return None


@program(lambda r, n: (10 + 0.3 * r.normal(size=n), r.uniform(1.0, 8.0, n)), 8, 400, by=(0, 1))
def order_book(prices, amounts):
    """The trades of orders that come one after the other."""
    sides = [Side.BUY, Side.SELL, Side.BUY, Side.BUY, Side.SELL, Side.SELL, Side.BUY, Side.SELL]
    book, mids = Book(), []
    book.submit(Order(Side.SELL, 12.0, 100.0))
    book.submit(Order(Side.BUY, 8.0, 100.0))
    for k in range(len(prices)):
        book.submit(Order(sides[k % 8], prices[k], amounts[k]))
        mid = book.mid()
        if mid is not None:
            mids.append(mid)
    volume = sum(amount for _, amount in book.trades)
    paid = sum(price * amount for price, amount in book.trades)
    return paid / (1e-3 + volume), volume, sum(mids), len(book.bids), sum(order.amount for order in book.asks)


@dataclass
class Neuron:
    tau: float
    threshold: float
    v: float = 0.0
    spikes: list = field(default_factory=list)

    def step(self, current, t, dt):
        self.v += dt * (current - self.v / self.tau)
        if self.v > self.threshold:
            self.spikes.append(t)
            self.v -= self.threshold
            return True
        return False


class Network:
    def __init__(self, weights):
        self.cells = [Neuron(10.0 + k, 1.0) for k in range(len(weights))]
        self.weights = weights.copy()
        self.log = []

    def run(self, drive, dt=0.5):
        for k in range(len(drive)):
            t = k * dt
            fired = [cell.step(current, t, dt) for cell, current in zip(self.cells, drive[k])]
            for j, fires in enumerate(fired):
                if not fires:
                    continue
                for i, cell in enumerate(self.cells):
                    if i != j:
                        cell.v += self.weights[j, i]
                        if cell.spikes and t - cell.spikes[-1] < 3.0:
                            self.weights[j, i] *= 1.05
                self.log.append((t, j))
        return self


@program(
    lambda r, n: (r.uniform(0.1, 0.9, (n, 3)), r.uniform(0.05, 0.2, (3, 3))), 16, 3000, by=(0, 1), smooth=False
)
def spiking_cells(drive, weights):
    """Cells that fire at a threshold, and the weights between them, which change as they do."""
    net = Network(weights).run(drive)
    rates = [len(cell.spikes) / len(drive) for cell in net.cells]
    return net.weights, np.array([cell.v for cell in net.cells]), sum(rates), sum(t * (j + 1) for t, j in net.log)


class Vector:
    __slots__ = ("x", "y", "z")

    def __init__(self, x, y, z):
        self.x, self.y, self.z = x, y, z

    def __iter__(self):
        yield self.x
        yield self.y
        yield self.z

    def __add__(self, other):
        return Vector(*(a + b for a, b in zip(self, other)))

    def __sub__(self, other):
        return Vector(*(a - b for a, b in zip(self, other)))

    def __mul__(self, factor):
        return Vector(*[a * factor for a in self])

    __rmul__ = __mul__

    def __matmul__(self, other):
        return sum(a * b for a, b in zip(self, other))

    def __abs__(self):
        return math.sqrt(self @ self)

    def unit(self):
        return self * (1 / abs(self))


@program(lambda r, n: (r.uniform(0.5, 1.2, 3), r.uniform(0.6, 1.1, n)), 3, 40, by=(0, 1))
def reaching(target, lengths):
    """A chain of joints reaches for a point, forwards and backwards."""
    joints = [Vector(0.0, 0.0, 0.0)]
    for length in lengths:
        joints.append(joints[-1] + Vector(length, 0.05 * length, 0.1))
    aim = Vector(*target)
    parts = [abs(b - a) for a, b in pairwise(joints)]
    for _ in range(6):
        if abs(joints[-1] - aim) < 1e-6:
            break
        joints[-1] = aim
        for i in reversed(range(len(parts))):
            joints[i] = joints[i + 1] + (joints[i] - joints[i + 1]).unit() * parts[i]
        joints[0] = Vector(0.0, 0.0, 0.0)
        for i, part in enumerate(parts):
            joints[i + 1] = joints[i] + part * (joints[i + 1] - joints[i]).unit()
    angles = [math.acos((b - a).unit() @ (c - b).unit()) for a, b, c in zip(joints, joints[1:], joints[2:])]
    return np.array([c for joint in joints for c in joint]), abs(joints[-1] - aim), sum(angles)


@program(lambda r, n: (0.3 + 0.8 * np.arange(n) + 0.05 * r.normal(size=n), 0.06), 5, 300, by=(0, 1))
def heart_rate(beats, width):
    """The intervals between the peaks of a signal, and their statistics."""
    t = np.linspace(0, 0.8 * len(beats), 40 * len(beats) + 1)
    y = sum((1.0 + 0.1 * (k % 3)) * np.exp(-0.5 * ((t - c) / width) ** 2) for k, c in enumerate(beats))
    energy = np.convolve(np.gradient(y, t[1] - t[0]) ** 2, np.ones(5) / 5, mode="same")
    peaks, last, window = [], -100, deque(maxlen=3)
    for i, (a, b, c) in enumerate(zip(y, y[1:], y[2:]), start=1):
        if a < b >= c and b > 0.3 and energy[max(i - 4, 0) : i + 5].max() > 0.3 * energy.max() and i - last > 10:
            peaks.append(t[i] + 0.5 * (a - c) / (a - 2 * b + c) * (t[1] - t[0]))
            last = i
            window.append(b)
    gaps = np.diff(peaks)
    found = {"mean": statistics.mean(gaps), "spread": statistics.stdev(gaps), "median": statistics.median(gaps)}
    jumps = math.sqrt(statistics.fmean(np.diff(gaps) ** 2))
    return found["mean"], found["spread"], found["median"] + jumps, sum(window) / len(window)
