"""The stiffness of a truss, with the fixed degrees of freedom in a set."""

import numpy as np


def element_stiffness(p, q, EA):
    d = q - p
    L = np.hypot(*d)
    c, s = d / L
    k = np.outer([-c, -s, c, s], [-c, -s, c, s])
    return EA / L * k, L

def assemble(nodes, bars, EA):
    n = 2 * len(nodes)
    K = np.zeros((n, n))
    volume = 0.0
    for (a, b), ea in zip(bars, EA):
        k, L = element_stiffness(nodes[a], nodes[b], ea)
        dofs = [2 * a, 2 * a + 1, 2 * b, 2 * b + 1]
        K[np.ix_(dofs, dofs)] += k
        volume += ea * L
    return K, volume

def f(nodes, EA, bars, load):
    K, vol = assemble(nodes, bars, EA)
    fixed = {0, 1, 2, 3}
    free = [i for i in range(2 * len(nodes)) if i not in fixed]
    F = np.zeros(2 * len(nodes))
    F[-1] = load
    u = np.zeros_like(F)
    u[free] = np.linalg.solve(K[np.ix_(free, free)], F[free])
    compliance = F @ u
    return compliance + 0.01 * vol

ARGNUMS = (0, 1)
def args():
    nodes = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1.1], [2, 0.5]])
    bars = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4), (0, 3)]
    return (nodes, np.array([10.0, 12, 9, 11, 8, 10, 7, 9]), bars, -1.0)
