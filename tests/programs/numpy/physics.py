"""Bodies, orbits, rays, chemistry, catchments."""

# mypy: ignore-errors
import numpy as np

from tests.programs.numpy.programs import program


@program(lambda r, n: (r.random((n, 3)), r.normal(size=(n, 3)) * 0.1, r.random((n, 1)) + 0.5, 5), 5, 150, by=(0, 1, 2))
def n_body(pos, vel, mass, steps):
    """All pairs by broadcasting, leapfrog."""

    def acceleration(pos):
        x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
        dx, dy, dz = x.T - x, y.T - y, z.T - z
        inv3 = (dx**2 + dy**2 + dz**2 + 0.01) ** -1.5
        return np.hstack((dx * inv3 @ mass, dy * inv3 @ mass, dz * inv3 @ mass))

    acc = acceleration(pos)
    for _ in range(steps):
        vel = vel + acc * 0.005
        pos = pos + vel * 0.01
        acc = acceleration(pos)
        vel = vel + acc * 0.005
    kinetic = 0.5 * np.sum(mass * vel**2)
    return pos, vel, kinetic


@program(
    lambda r, n: (np.array([1.0, 0, 0, -0.5, 0.8, 0, -0.5, -0.8, 0, 0, 0.5, 0, -0.4, -0.2, 0, 0.4, -0.2, 0]), n),
    5,
    2000,
    by=(0,),
)
def three_bodies(y, steps):
    """Fehlberg's steps of fixed length, with their error."""

    def f(y):
        r = y[:9].reshape(3, 3)
        a = np.zeros((3, 3))
        for i in range(3):
            for j in range(3):
                if i != j:
                    d = r[j] - r[i]
                    a[i] += d / np.sqrt(d @ d + 0.01) ** 3
        return np.concatenate([y[9:], a.ravel()])

    h = 0.01
    error = 0.0
    for _ in range(steps):
        k1 = f(y)
        k2 = f(y + h * k1 / 4)
        k3 = f(y + h * (3 / 32 * k1 + 9 / 32 * k2))
        k4 = f(y + h * (1932 * k1 - 7200 * k2 + 7296 * k3) / 2197)
        k5 = f(y + h * (439 / 216 * k1 - 8 * k2 + 3680 / 513 * k3 - 845 / 4104 * k4))
        k6 = f(y + h * (-8 / 27 * k1 + 2 * k2 - 3544 / 2565 * k3 + 1859 / 4104 * k4 - 11 / 40 * k5))
        error += h * np.linalg.norm(k1 / 360 - 128 / 4275 * k3 - 2197 / 75240 * k4 + k5 / 50 + 2 / 55 * k6)
        y = y + h * (25 / 216 * k1 + 1408 / 2565 * k3 + 2197 / 4104 * k4 - k5 / 5)
    return y, error


@program(lambda r, n: (np.array([1.0, 0.0, 0.1]), np.array([0.1, 1.0, 0.2]), 0.01, n), 6, 5000, by=(0, 1, 2))
def perturbed_orbit(r, v, j2, steps):
    """A satellite around an oblate body; its elements by cross products."""
    for _ in range(steps):
        d = np.sqrt(np.sum(r**2))
        z2 = 5 * r[2] ** 2 / d**2
        a = -r / d**3 + j2 * 1.5 / d**5 * r * np.array([z2 - 1, z2 - 1, z2 - 3])
        v = v + 0.01 * a
        r = r + 0.01 * v
    h = np.cross(r, v)
    e = np.cross(v, h) - r / np.linalg.norm(r)
    node = np.cross(np.array([0.0, 0.0, 1.0]), h)
    return np.arccos(h[2] / np.linalg.norm(h)), np.linalg.norm(e), np.arctan2(node[1], node[0])


@program(lambda r, n: (r.normal(size=(3, n)), 0.04, 1.5, 0.04, 0.3, -0.7), 10, 20000, by=(1, 2, 3, 4, 5))
def heston_price(draws, v0, kappa, theta, xi, rho):
    """A call by Monte Carlo on given draws, variance cut off at zero, 3 steps."""
    dt = 0.25
    s = np.full(draws.shape[1], 100.0)
    v = np.full_like(s, v0)
    for t in range(draws.shape[0]):
        z1 = draws[t]
        z2 = rho * z1 + np.sqrt(1 - rho**2) * draws[::-1][t]
        vp = np.maximum(v, 1e-3)
        s *= np.exp(-0.5 * vp * dt + np.sqrt(vp * dt) * z1)
        v += kappa * (theta - vp) * dt + xi * np.sqrt(vp * dt) * z2
    return np.exp(-0.02) * np.maximum(s - 95, 0).mean()


@program(
    lambda r, n: (r.random(n) * 20 * (r.random(n) < 0.4), r.random(n) * 3, np.array([150.0, 0.3, 40.0, 0.5])),
    20,
    3650,
    by=(2,),
    smooth=False,
)
def rainfall_runoff(rain, evaporation, p):
    """A catchment with two stores and a unit hydrograph."""
    soil, ground = 0.5 * p[0], 0.3 * p[2]
    flow = np.zeros_like(rain)
    for t in range(len(rain)):
        net = max(rain[t] - evaporation[t], 0.0)
        loss = max(evaporation[t] - rain[t], 0.0) * soil / p[0]
        into = net * (1 - (soil / p[0]) ** 2)
        soil = soil + into - loss
        excess = max(soil - p[0], 0.0)
        soil -= excess
        drain = p[1] * 0.1 * soil
        soil -= drain
        ground += drain
        base = ground**2 / (ground + p[2])
        ground -= base
        flow[t] = base + net - into + excess
    return np.convolve(flow, np.array([0.5, 0.3, 0.2]))[: len(flow)]


@program(lambda r, n: (r.random((n, n)), np.linspace(0, np.pi, 6, endpoint=False)), 8, 100, smooth=False)
def tomography(image, angles):
    """Line integrals through an image, by bilinear interpolation along rotated rays."""
    n = image.shape[0]
    c = (n - 1) / 2
    s = np.arange(n) - c
    sinogram = np.zeros((len(angles), n))
    X, Y = np.meshgrid(s, s)
    for k, a in enumerate(angles):
        x = np.cos(a) * X - np.sin(a) * Y + c
        y = np.sin(a) * X + np.cos(a) * Y + c
        inside = (x >= 0) & (x <= n - 1.001) & (y >= 0) & (y <= n - 1.001)
        x = np.where(inside, x, 0.0)
        y = np.where(inside, y, 0.0)
        i, j = x.astype(np.int64), y.astype(np.int64)
        fx, fy = x - i, y - j
        v = (1 - fx) * (1 - fy) * image[j, i] + fx * (1 - fy) * image[j, i + 1]
        v += (1 - fx) * fy * image[j + 1, i] + fx * fy * image[j + 1, i + 1]
        sinogram[k] = np.sum(v * inside, axis=0)
    return sinogram


@program(
    lambda r, n: (r.random((n, 3)), r.normal(size=(n, 3)), np.array([0.1, 0.2, 0.3]), 0.9),
    9,
    20000,
    by=(0, 1, 2, 3),
    smooth=False,
)
def ray_sphere(origins, directions, centre, radius):
    """Rays that meet a sphere: distances, normals and shading; NaN where they miss."""
    d = directions / np.linalg.norm(directions, axis=1)[:, None]
    oc = origins - centre
    b = np.sum(oc * d, axis=1)
    disc = b**2 - (np.sum(oc**2, axis=1) - radius**2)
    hit = disc > 0
    t = -b - np.sqrt(np.where(hit, disc, 1.0))
    normal = (origins + t[:, np.newaxis] * d - centre) / radius
    light = np.array([1.0, 1.0, 1.0]) / np.sqrt(3)
    return np.where(hit, np.clip(normal @ light, 0, None), 0.0)


@program(lambda r, n: (r.random(n) * 10, r.random(n), 10.0, 16), 10, 20000, by=(0, 1), smooth=False)
def particles_on_grid(x, q, length, cells):
    """Charge to a grid by clouds, the field by sums, back to the particles."""
    h = length / cells
    s = x / h
    left = np.floor(s).astype(int)
    w = s - left
    rho = np.zeros(cells)
    np.add.at(rho, left % cells, q * (1 - w))
    np.add.at(rho, (left + 1) % cells, q * w)
    field = np.cumsum(rho - rho.mean()) * h
    field -= field.mean()
    return field[left % cells] * (1 - w) + field[(left + 1) % cells] * w


@program(lambda r, n: (r.random((n, 2)) * 3, 1.0), 8, 300, by=(0,))
def lennard_jones(positions, sigma):
    """Energy and forces in a periodic box."""
    box = 3.0
    d = positions[:, None, :] - positions[None, :, :]
    d = d - box * np.round(d / box)
    i, j = np.triu_indices(len(positions), k=1)
    r2 = (d[i, j] ** 2).sum(axis=-1) + 0.2
    s6 = (sigma**2 / r2) ** 3
    return np.sum(4 * (s6**2 - s6)), np.maximum(r2, 1.0).min()


@program(lambda r, n: (np.array([-65.0, 0.05, 0.6, 0.32]), 10.0 + r.random(n), 0.01), 10, 20000, by=(0, 1))
def hodgkin_huxley(state, current, dt):
    V, m, h, n = state
    trace = np.empty(len(current))
    for t, I in enumerate(current):
        am = 0.1 * (V + 40) / (1 - np.exp(-(V + 40) / 10))
        bm = 4 * np.exp(-(V + 65) / 18)
        ah = 0.07 * np.exp(-(V + 65) / 20)
        bh = 1 / (1 + np.exp(-(V + 35) / 10))
        an = 0.01 * (V + 55) / (1 - np.exp(-(V + 55) / 10))
        bn = 0.125 * np.exp(-(V + 65) / 80)
        currents = 120 * m**3 * h * (V - 50) + 36 * n**4 * (V + 77) + 0.3 * (V + 54.4)
        V = V + dt * (I - currents)
        m += dt * (am * (1 - m) - bm * m)
        h += dt * (ah * (1 - h) - bh * h)
        n += dt * (an * (1 - n) - bn * n)
        trace[t] = V
    return trace


@program(lambda r, n: (r.random(n) + 0.5, r.random(n), 0.01, 8), 6, 2000, by=(0, 1))
def predator_prey_grid(prey, predators, dt, steps):
    """Lotka and Volterra for many starts at once, Runge-Kutta of order 4, stacked."""

    def f(y):
        x, p = y
        return np.array([1.1 * x - 0.4 * x * p, 0.1 * x * p - 0.4 * p])

    y = np.stack([prey, predators])
    for _ in range(steps):
        k1 = f(y)
        k2 = f(y + 0.5 * dt * k1)
        k3 = f(y + 0.5 * dt * k2)
        k4 = f(y + dt * k3)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


@program(lambda r, n: (r.random(n) + 1, r.random(n)), 7, 20000, by=(0, 1))
def option_greeks(spot, strike):
    """Implied volatility by Newton's steps of a whole array at once."""
    target = 0.4 * spot
    sigma = np.full(spot.shape, 0.8)
    for _ in range(6):
        d = (np.log(spot / (strike + 0.5)) + 0.5 * sigma**2) / sigma
        pdf = np.exp(-0.5 * d**2) / np.sqrt(2 * np.pi)
        cdf = 1 / (1 + np.exp(-1.702 * d))
        price = spot * cdf - 0.3 * strike
        sigma -= np.clip((price - target) / (spot * pdf + 0.5), -0.2, 0.2)
        sigma = np.maximum(sigma, 0.05)
    return sigma


@program(
    lambda r, n: (r.random((n, 3)), np.stack([np.arange(n), (np.arange(n) + 1) % n], 1), r.random(n) * 0.1 + 0.2, 4),
    6,
    2000,
    by=(0, 2),
)
def mass_springs(x, edges, rest, steps):
    """Springs between nodes, their forces added up at both ends."""
    v = np.zeros_like(x)
    for _ in range(steps):
        d = x[edges[:, 1]] - x[edges[:, 0]]
        length = np.sqrt((d**2).sum(axis=1))
        f = (20 * (length - rest) / length)[:, None] * d
        force = np.zeros_like(x)
        np.add.at(force, edges[:, 0], f)
        np.subtract.at(force, edges[:, 1], f)
        v = 0.99 * v + 0.01 * force
        x = x + 0.01 * v
    return x
