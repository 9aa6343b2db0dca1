"""
Deblur an image
===============

A photograph is blurred by a known lens and has noise. It is restored by minimising the
distance to the photograph plus the total variation, which prefers flat areas with sharp
edges. There are as many unknowns as pixels. The convolution goes through FFTs, and its
derivative does as well.
"""

import numpy as np
from scipy.optimize import minimize

from adc import jit_grad

N, ITERATIONS = 64, 100

# %%
# The picture, the lens, and the photograph.

y, x = np.mgrid[0:N, 0:N] / N
image = 0.2 + 0.2 * (x > 0.5)
image[(x - 0.3) ** 2 + (y - 0.35) ** 2 < 0.03] = 0.9
image[(abs(x - 0.68) < 0.15) & (abs(y - 0.3) < 0.12)] = 0.65
image[(abs(x - 0.68) < 0.08) & (abs(y - 0.3) < 0.05)] = 0.1
image[(abs(y - 0.75) < 0.1) & ((np.floor(x * 24) % 2) == 0) & (abs(x - 0.5) < 0.4)] = 1.0
lens = np.exp(-((np.minimum(x, 1 - x)) ** 2 + (np.minimum(y, 1 - y)) ** 2) / (2 * 0.018**2))
kernel = np.fft.rfft2(lens / lens.sum())
noise = 0.02 * np.random.default_rng(5).standard_normal((N, N))
photo = np.fft.irfft2(np.fft.rfft2(image) * kernel, s=(N, N)) + noise


@jit_grad
def loss(u, kernel, photo, weight):
    blurred = np.fft.irfft2(np.fft.rfft2(u) * kernel, s=u.shape)
    dx, dy = u[1:, :-1] - u[:-1, :-1], u[:-1, 1:] - u[:-1, :-1]
    variation = np.sum(np.sqrt(dx**2 + dy**2 + 1e-6))
    return 0.5 * np.sum((blurred - photo) ** 2) + weight * variation


def objective(p):
    value, slope = loss.value_and_grad(p.reshape(N, N), kernel, photo, 1e-3)
    return value, slope.ravel()


options = {"maxiter": ITERATIONS}
result = minimize(objective, photo.ravel(), jac=True, method="L-BFGS-B", options=options)
restored = result.x.reshape(N, N)
first, last = np.std(photo - image), np.std(restored - image)
print(f"{N * N} unknowns, {result.nfev} gradients")
print(f"root mean square error {first:.4f} -> {last:.4f}")

import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 3, figsize=(9, 3.1), layout="constrained")
for axis, shown, title in zip(
    axes, [photo, restored, image], ["photograph", "restored", "truth"], strict=True
):
    axis.imshow(shown, cmap="gray", vmin=0.0, vmax=1.0)
    axis.set_title(title)
    axis.set_xticks([])
    axis.set_yticks([])
