"""A flood routed through a network of rivers, which a recursive function with a set sorts."""

import numpy as np


def topological(upstream):
    order, seen = [], set()

    def visit(n):
        if n in seen:
            return
        seen.add(n)
        for u in upstream.get(n, []):
            visit(u)
        order.append(n)

    for n in upstream:
        visit(n)
    return order

NETWORK = {"outlet": ["mid", "east"], "mid": ["north", "west"], "east": [], "north": [], "west": []}

def muskingum(inflow, K, x, dt=1.0):
    denom = 2 * K * (1 - x) + dt
    c0 = (dt - 2 * K * x) / denom
    c1 = (dt + 2 * K * x) / denom
    c2 = (2 * K * (1 - x) - dt) / denom
    out = np.empty_like(inflow)
    out[0] = inflow[0]
    for t in range(1, len(inflow)):
        out[t] = c0 * inflow[t] + c1 * inflow[t - 1] + c2 * out[t - 1]
    return out

def f(K, x, rain):
    flow = {}
    for node in topological(NETWORK):
        local = 0.6 * rain * (1.2 if node in ("north", "west") else 1.0)
        total = local.copy()
        for u in NETWORK[node]:
            total += flow[u]
        flow[node] = muskingum(total, K[node], x)
    q = flow["outlet"]
    peak = q.max()
    return peak + 0.1 * np.sum(np.abs(np.diff(q)))

ARGNUMS = (0, 1)
def args():
    rain = np.array([0, 2, 5, 9, 4, 3, 1, 0, 0, 0.5, 0, 0.0])
    return ({"outlet": 1.5, "mid": 1.2, "east": 0.9, "north": 1.1, "west": 1.4}, 0.2, rain)
