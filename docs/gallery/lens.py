"""
Grind a lens
============

A lens with spherical faces does not focus well. Both faces get five coefficients each, rays are
traced through them by Snell's law, and the spread of the rays in the focal plane is
minimised for three directions of light. Where a ray meets a face is found by Newton's method, whose
derivative follows from the implicit function theorem (``adc.root``).
"""

import numpy as np
from scipy.optimize import minimize

import adc
from adc import jit_grad

RAYS, FOCUS, INDEX, ITERATIONS = 31, 4.0, 1.5, 300
ANGLES = np.radians([0.0, 3.0, 6.0])


def height(face, y):
    """x of a face at the height y: an even polynomial."""
    s, total = y * y, 0.0
    for k in range(5, 0, -1):
        total = (total + face[k]) * s
    return face[0] + total


def tilt(face, y):
    s, total = y * y, 0.0
    for k in range(5, 0, -1):
        total = total * s + 2.0 * k * face[k]
    return total * y


def gap(t, x, y, dx, dy, face):
    """How far the ray is from the face after the length t."""
    return x + t * dx - height(face, y + t * dy)


def refracted(dx, dy, slope, ratio):
    """Snell's law in the plane; the normal is (-1, slope)."""
    norm = np.sqrt(1.0 + slope * slope)
    nx, ny = -1.0 / norm, slope / norm
    c = -(dx * nx + dy * ny)
    q = ratio * c - np.sqrt(1.0 - ratio * ratio * (1.0 - c * c))
    return ratio * dx + q * nx, ratio * dy + q * ny


def trace(faces, y, angle, points):
    """Where a ray arrives in the focal plane; its corners are written to ``points``."""
    x, dx, dy = -1.0, np.cos(angle), np.sin(angle)
    y -= np.tan(angle)
    for k in range(2):
        points[k, 0], points[k, 1] = x, y
        t = adc.root(gap, 1.0, x, y, dx, dy, faces[k])
        x, y = x + t * dx, y + t * dy
        dx, dy = refracted(dx, dy, tilt(faces[k], y), 1.0 / INDEX if k == 0 else INDEX)
    points[2, 0], points[2, 1] = x, y
    arrives = y + (FOCUS - x) / dx * dy
    points[3, 0], points[3, 1] = FOCUS, arrives
    return arrives


@jit_grad
def spread(faces, angles, heights):
    total, room = 0.0, np.zeros((4, 2))
    for a in range(len(angles)):
        places = np.zeros(len(heights))
        for k in range(len(heights)):
            places[k] = trace(faces, heights[k], angles[a], room)
        total += np.mean((places - FOCUS * np.tan(angles[a])) ** 2)
    return total / len(angles)


# %%
# The start has spherical faces of about the right focal length. The thickness stays.

R = 4.0
spherical = [1 / (2 * R), 1 / (8 * R**3), 1 / (16 * R**5), 5 / (128 * R**7), 7 / (256 * R**9)]
start = np.array([[-0.3, *spherical], [0.3, *(-c for c in spherical)]])
heights = np.linspace(-1.0, 1.0, RAYS)


def faces_of(p):
    return np.column_stack([start[:, 0], p.reshape(2, 5)])


def objective(p):
    try:
        value, slope = spread.value_and_grad(faces_of(p), ANGLES, heights)
    except ArithmeticError:  # a ray misses a face: the step was too long
        return 1e9, np.zeros(10)
    return 1e4 * value, 1e4 * slope[:, 1:].ravel()


options = {"maxiter": ITERATIONS}
result = minimize(objective, start[:, 1:].ravel(), jac=True, method="BFGS", options=options)
found = faces_of(result.x)
first, last = np.sqrt(spread(start, ANGLES, heights)), np.sqrt(spread(found, ANGLES, heights))
print(f"10 unknowns, {result.nfev} gradients; spread {1e3 * first:.1f} -> {1e3 * last:.2f} thousandths")

import matplotlib.pyplot as plt

run = jit_grad(trace)
figure, axes = plt.subplots(2, 1, figsize=(8, 5), layout="constrained", sharex=True)
for axis, faces, title in zip(axes, [start, found], ["spherical", "found"], strict=True):
    y = np.linspace(-1.1, 1.1, 100)
    for k in range(2):
        axis.plot([height(faces[k], h) for h in y], y, color="black")
    for a in range(3):
        for h in heights[::2]:
            points = np.zeros((4, 2))
            run(faces, h, ANGLES[a], points)
            axis.plot(points[:, 0], points[:, 1], color=f"C{a}", linewidth=0.5)
    axis.set_title(title)
    axis.set_ylim(-1.3, 1.3)
