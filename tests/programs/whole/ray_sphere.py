"""Rays that spheres reflect; a hit is None or a named tuple."""

from collections import namedtuple

import numpy as np

Hit = namedtuple("Hit", "t point normal color")
Sphere = namedtuple("Sphere", "center radius color")

def intersect(origin, direction, sphere):
    oc = origin - sphere.center
    b = oc @ direction
    c = oc @ oc - sphere.radius**2
    disc = b * b - c
    if disc < 0:
        return None
    t = -b - np.sqrt(disc)
    if t < 1e-4:
        return None
    p = origin + t * direction
    return Hit(t, p, (p - sphere.center) / sphere.radius, sphere.color)

def trace(origin, direction, spheres, light, depth=0):
    best = None
    for s in spheres:
        h = intersect(origin, direction, s)
        if h is not None and (best is None or h.t < best.t):
            best = h
    if best is None:
        return 0.1
    L = light - best.point
    L = L / np.linalg.norm(L)
    shade = best.color * max(0.0, best.normal @ L)
    if depth < 1:
        r = direction - 2 * (direction @ best.normal) * best.normal
        shade = shade + 0.3 * trace(best.point, r, spheres, light, depth + 1)
    return shade

def f(radii, light):
    spheres = [Sphere(np.array([0.0, 0.0, 5.0]), radii[0], 0.8), Sphere(np.array([1.5, 0.3, 4.0]), radii[1], 0.6)]
    total = 0.0
    for i in range(4):
        for j in range(4):
            d = np.array([(i - 1.6) / 4, (j - 1.4) / 4, 1.0])
            d /= np.sqrt((d**2).sum())
            total += trace(np.zeros(3), d, spheres, light)
    return total / 16

ARGNUMS = (0, 1)
def args():
    return (np.array([1.0, 0.6]), np.array([3.0, 4.0, -2.0]))
