"""
One gradient, several optimisers
================================

Something leaks into a river. Two stations downstream measure the concentration; how much
leaked in each hour? The value and the gradient by all rates come from adc; the steps come
from SciPy, from PyTorch and from optax. The last two take part if they are installed.
"""

import importlib.util

import numpy as np

from adc import interop, jit_grad

HOURS, FINE, CELLS, STEPS = 36, 20, 80, 300
STATIONS = (30, 55)
SPEED, MIXING = 0.3, 0.25  # in cells a step, and in cells squared a step


def concentrations(amounts):
    """What the stations measure each hour, for amounts that leak into cell 5."""
    seen = np.zeros((HOURS * 2, 2))
    c = np.zeros(CELLS)
    for hour in range(HOURS * 2):
        for _ in range(FINE):
            old = c.copy()
            c[1:-1] -= SPEED * (old[1:-1] - old[:-2])  # upwind
            c[1:-1] += MIXING * (old[2:] - 2.0 * old[1:-1] + old[:-2])
            c[-1] = c[-2]
            if hour < HOURS:
                c[5] += amounts[hour] / FINE
        for k in range(2):
            seen[hour, k] = c[STATIONS[k]]
    return seen


def misfit(p, measured):
    """Amounts are exponentials, so that they are positive; the last term prefers smooth ones."""
    errors = concentrations(np.exp(p)) - measured
    return np.sum(errors**2) + 1e-4 * np.sum(np.diff(p) ** 2)


# %%
# The measurements: two spills, and an error of one percent of the largest value.

time = np.arange(HOURS)
truth = 0.05 + 2.0 * np.exp(-(((time - 9) / 2.5) ** 2)) + 1.2 * np.exp(-(((time - 22) / 4.0) ** 2))
measured = jit_grad(concentrations)(truth)
measured += 0.01 * measured.max() * np.random.default_rng(2).standard_normal(measured.shape)
start = np.full(HOURS, -1.0)

# %%
# SciPy's solvers call the function and its gradient. ``interop.minimize`` compiles both.

curves, found = {}, {}
value = jit_grad(misfit)
curves["SciPy: L-BFGS-B"] = curve = [value(start, measured)]
found["SciPy: L-BFGS-B"] = interop.minimize(
    misfit, start, (measured,), method="L-BFGS-B", options={"maxiter": STEPS},
    callback=lambda p: curve.append(value(p, measured)),
).x

# %%
# In PyTorch the compiled function is a differentiable function of tensors, so ``backward``
# fills ``p.grad``, whatever else the loss is made of.

if importlib.util.find_spec("torch"):
    import torch

    loss_of = interop.to_torch(misfit)
    p = torch.from_numpy(start.copy()).requires_grad_()
    optimiser = torch.optim.Adam([p], lr=0.1)
    curves["PyTorch: Adam"] = curve = []
    for _ in range(STEPS):
        optimiser.zero_grad()
        loss = loss_of(p, torch.from_numpy(measured))
        loss.backward()
        optimiser.step()
        curve.append(loss.item())
    found["PyTorch: Adam"] = p.detach().numpy()

# %%
# optax takes gradients as arrays, from anywhere. Without ``jax.jit`` around the loop, they may come
# from adc directly.

if importlib.util.find_spec("optax"):
    import jax
    import optax

    jax.config.update("jax_enable_x64", True)
    optimiser = optax.adabelief(0.1)
    p = start.copy()
    state = optimiser.init(p)
    curves["optax: AdaBelief"] = curve = []
    for _ in range(STEPS):
        loss, slope = value.value_and_grad(p, measured)
        updates, state = optimiser.update(slope, state, p)
        p = p + np.asarray(updates)
        curve.append(loss)
    found["optax: AdaBelief"] = p

for name, curve in curves.items():
    error = np.sqrt(np.mean((np.exp(found[name]) - truth) ** 2))
    print(f"{name:17} {len(curve):4} steps, misfit {curve[0]:.2f} -> {curve[-1]:.4f}, error {error:.3f}")

# %%
# The pictures: the misfit at each step, and the amounts that were found.

import matplotlib.pyplot as plt

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for name, curve in curves.items():
    left.semilogy(curve, label=name)
    right.plot(time, np.exp(found[name]), label=name)
right.plot(time, truth, "k--", linewidth=1, label="truth")
left.set_xlabel("step")
left.set_ylabel("misfit")
left.legend()
right.set_xlabel("hour")
right.set_ylabel("amount")
right.legend()
