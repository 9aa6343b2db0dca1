"""
A catchment model
=================

Rain falls, some of it evaporates, the soil fills, and water reaches the river by a fast and a
slow way. Models of this kind have thresholds everywhere, and are mostly fitted by
search. Their gradient exists almost everywhere, and it makes the fit a matter of
some dozens of runs.
"""

import numpy as np
from scipy.optimize import minimize

from adc import jit_grad

DAYS, WARM = 730, 60
NAMES = ["soil capacity (mm)", "infiltration exponent", "fast rate", "slow rate", "share fast"]


def river(p, rain, demand, out):
    """Daily discharge in mm. ``p``: the five parameters, in the order of ``NAMES``."""
    capacity, exponent, fast_rate, slow_rate, share = p
    soil, fast, slow = 0.5 * capacity, 0.0, 10.0
    for day in range(len(rain)):
        wet = min(soil / capacity, 1.0)
        runoff = rain[day] * wet**exponent
        soil += rain[day] - runoff
        spill = max(soil - capacity, 0.0)
        soil -= spill
        soil -= min(demand[day] * wet, soil)
        fast += share * (runoff + spill)
        slow += (1.0 - share) * (runoff + spill)
        out[day] = fast_rate * fast + slow_rate * slow
        fast *= 1.0 - fast_rate
        slow *= 1.0 - slow_rate


def parameters(z):
    """From unbounded unknowns to parameters in their ranges."""
    s = 1.0 / (1.0 + np.exp(-z))
    return np.array(
        [50.0 + 450.0 * s[0], 0.5 + 4.5 * s[1], 0.1 + 0.8 * s[2], 0.002 + 0.1 * s[3], s[4]]
    )


@jit_grad
def misfit(z, rain, demand, observed, warm):
    out = np.zeros_like(observed)
    river(parameters(z), rain, demand, out)
    return np.mean((np.sqrt(out[warm:]) - np.sqrt(observed[warm:])) ** 2)


# %%
# Two years of weather, and what the gauge at the river shows, with errors of ten percent.

rng = np.random.default_rng(7)
season = np.cos(2 * np.pi * np.arange(DAYS) / 365)
rain = np.where(rng.random(DAYS) < 0.35 + 0.1 * season, rng.gamma(0.8, 9.0, DAYS), 0.0)
demand = np.maximum(0.2, 2.2 - 1.8 * season)
truth = np.array([210.0, 2.2, 0.55, 0.025, 0.6])
observed = np.zeros(DAYS)
run = jit_grad(river)
run(truth, rain, demand, observed)
observed *= np.exp(0.1 * rng.standard_normal(DAYS))

start = np.zeros(5)
result = minimize(
    lambda z: misfit.value_and_grad(z, rain, demand, observed, WARM), start, jac=True, method="BFGS"
)
found = parameters(result.x)
for name, t, s, x in zip(NAMES, truth, parameters(start), found, strict=True):
    print(f"{name:22} true {t:8.3f}   start {s:8.3f}   found {x:8.3f}")
first = misfit(start, rain, demand, observed, WARM)
print(f"{result.nfev} runs with gradient; misfit {first:.4f} -> {result.fun:.4f}")

import matplotlib.pyplot as plt

days = slice(365, 565)
figure, axis = plt.subplots(figsize=(8, 3.3), layout="constrained")
axis.plot(observed[days], "k.", markersize=3, label="observed")
for p, label in [(parameters(start), "start"), (found, "found")]:
    out = np.zeros(DAYS)
    run(p, rain, demand, out)
    axis.plot(out[days], label=label, linewidth=1.2)
axis.set_xlabel("day")
axis.set_ylabel("discharge (mm per day)")
axis.legend(loc="center right")
above = axis.twinx()
above.bar(np.arange(200), rain[days], color="tab:blue", alpha=0.35)
above.set_ylim(120, 0)
above.set_ylabel("rain (mm)")
