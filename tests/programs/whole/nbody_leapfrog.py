"""Bodies as dataclasses, advanced by the leapfrog method; next() finds one by its name."""

from dataclasses import dataclass

import numpy as np


@dataclass
class Body:
    name: str
    mass: float
    pos: np.ndarray
    vel: np.ndarray

def acceleration(bodies, i, eps=1e-3):
    a = np.zeros(3)
    for j, other in enumerate(bodies):
        if j == i:
            continue
        r = other.pos - bodies[i].pos
        a += other.mass * r / (r @ r + eps**2) ** 1.5
    return a

def leapfrog(bodies, dt):
    acc = [acceleration(bodies, i) for i in range(len(bodies))]
    for b, a in zip(bodies, acc):
        b.vel = b.vel + 0.5 * dt * a
        b.pos = b.pos + dt * b.vel
    acc = [acceleration(bodies, i) for i in range(len(bodies))]
    for b, a in zip(bodies, acc):
        b.vel += 0.5 * dt * a

def energy(bodies):
    kin = sum(0.5 * b.mass * np.dot(b.vel, b.vel) for b in bodies)
    pot = 0.0
    for i in range(len(bodies)):
        for j in range(i):
            pot -= bodies[i].mass * bodies[j].mass / np.linalg.norm(bodies[i].pos - bodies[j].pos)
    return kin + pot

def f(bodies, steps):
    e0 = energy(bodies)
    for _ in range(steps):
        leapfrog(bodies, 0.01)
    sun = next(b for b in bodies if b.name == "sun")
    far = max(np.linalg.norm(b.pos - sun.pos) for b in bodies if b is not sun)
    return far + 10 * abs(energy(bodies) - e0)

ARGNUMS = (0,)

def args():
    sun = Body("sun", 1.0, np.zeros(3), np.zeros(3))
    earth = Body("earth", 0.01, np.array([1.0, 0, 0]), np.array([0, 1.0, 0.1]))
    mars = Body("mars", 0.005, np.array([-1.5, 0.2, 0]), np.array([0, -0.8, 0]))
    return ([sun, earth, mars], 40)
