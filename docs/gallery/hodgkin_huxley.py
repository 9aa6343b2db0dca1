"""
Conductances of a neuron
========================

Hodgkin and Huxley's equations of 1952 describe how a nerve fires. From a recorded voltage, the
conductances of the sodium, potassium and leak channels are found. Spikes make the
misfit of the voltages difficult, so the distance is taken in steps: first of a smoothed
trace, then of the trace itself.
"""

import numpy as np
from scipy.optimize import minimize

from adc import jit_grad

STEPS, EVERY, H = 4000, 10, 0.01


def exprel(x):
    """x / (1 - exp(-x)), which is 1 at 0."""
    return 1.0 + 0.5 * x if abs(x) < 1e-6 else x / (1.0 - np.exp(-x))


def simulate(g, current, out):
    """Voltage in mV. ``g``: conductances in mS/cm2; ``out`` gets each tenth step."""
    v, m, h, n = -65.0, 0.053, 0.596, 0.318
    for t in range(len(out) * EVERY):
        am, bm = exprel((v + 40.0) / 10.0), 4.0 * np.exp(-(v + 65.0) / 18.0)
        ah, bh = 0.07 * np.exp(-(v + 65.0) / 20.0), 1.0 / (1.0 + np.exp(-(v + 35.0) / 10.0))
        an, bn = 0.1 * exprel((v + 55.0) / 10.0), 0.125 * np.exp(-(v + 65.0) / 80.0)
        sodium = g[0] * m**3 * h * (v - 50.0)
        potassium = g[1] * n**4 * (v + 77.0)
        leak = g[2] * (v + 54.4)
        v += H * (current[t] - sodium - potassium - leak)
        m += H * (am * (1.0 - m) - bm * m)
        h += H * (ah * (1.0 - h) - bh * h)
        n += H * (an * (1.0 - n) - bn * n)
        if t % EVERY == EVERY - 1:
            out[t // EVERY] = v


@jit_grad
def misfit(logs, current, data, width):
    """Mean square distance of the traces, each smoothed over ``width`` samples."""
    out = np.zeros_like(data)
    simulate(np.exp(logs), current, out)
    running, total = 0.0, 0.0
    for t in range(len(data)):
        running += (out[t] - data[t] - running) / width
        total += running**2
    return total / len(data)


# %%
# The recording: two current pulses, noise of half a millivolt.

truth = np.array([120.0, 36.0, 0.3])
time = np.arange(STEPS) * H
current = 9.0 * ((time > 3) & (time < 20)) + 14.0 * ((time > 27) & (time < 36))
data = np.zeros(STEPS // EVERY)
run = jit_grad(simulate)
run(truth, current, data)
data += 0.5 * np.random.default_rng(6).standard_normal(len(data))

start = np.array([90.0, 30.0, 0.5])
p = np.log(start)
bounds = [(np.log(0.3 * g), np.log(3.0 * g)) for g in start]
for width in (40.0, 10.0, 3.0, 1.0):
    p = minimize(
        lambda q: misfit.value_and_grad(q, current, data, width),
        p, jac=True, method="L-BFGS-B", bounds=bounds,
    ).x
    print(f"smoothed over {width:4.0f} samples: conductances", np.round(np.exp(p), 3))
found = np.exp(p)
print("truth:", truth)

import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(8, 3.2), layout="constrained")
sampled = time[EVERY - 1 :: EVERY]
axis.plot(sampled, data, ".", color="0.6", markersize=3, label="recorded")
for g, label in [(start, "start"), (found, "found")]:
    trace = np.zeros_like(data)
    run(g, current, trace)
    axis.plot(sampled, trace, label=label, linewidth=1.2)
axis.set_xlabel("ms")
axis.set_ylabel("mV")
axis.legend()
