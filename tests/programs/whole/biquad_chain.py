"""A chain of recursive filters, each with deques of past samples."""

import math
from collections import deque

import numpy as np


def lowpass(fc, q, fs):
    w = 2 * math.pi * fc / fs
    alpha = math.sin(w) / (2 * q)
    c = math.cos(w)
    a0 = 1 + alpha
    return [(1 - c) / 2 / a0, (1 - c) / a0, (1 - c) / 2 / a0], [-2 * c / a0, (1 - alpha) / a0]

def run(x, b, a):
    xs = deque([0.0, 0.0], maxlen=2)
    ys = deque([0.0, 0.0], maxlen=2)
    out = []
    for v in x:
        y = b[0] * v + b[1] * xs[-1] + b[2] * xs[-2] - a[0] * ys[-1] - a[1] * ys[-2]
        xs.append(v)
        ys.append(y)
        out.append(y)
    return np.array(out)

def f(cutoffs, x, fs):
    for fc in cutoffs:
        b, a = lowpass(fc, 0.7071, fs)
        x = run(x, b, a)
    return float(np.mean(x**2))

ARGNUMS = (0,)

def args():
    t = np.arange(64) / 100.0
    return ([12.0, 18.0], np.sin(2 * np.pi * 5 * t) + 0.5 * np.sin(2 * np.pi * 30 * t), 100.0)
