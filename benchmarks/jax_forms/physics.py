"""Bodies, orbits, rays, chemistry, catchments."""

# mypy: ignore-errors
import jax
import jax.numpy as jnp
from jax import lax


def n_body(pos, vel, mass, steps):
    def acceleration(pos):
        x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
        dx, dy, dz = x.T - x, y.T - y, z.T - z
        inv3 = (dx**2 + dy**2 + dz**2 + 0.01) ** -1.5
        return jnp.hstack((dx * inv3 @ mass, dy * inv3 @ mass, dz * inv3 @ mass))

    def step(_, state):
        pos, vel, acc = state
        vel = vel + acc * 0.005
        pos = pos + vel * 0.01
        acc = acceleration(pos)
        return pos, vel + acc * 0.005, acc

    pos, vel, _ = lax.fori_loop(0, steps, step, (pos, vel, acceleration(pos)))
    return pos, vel, 0.5 * jnp.sum(mass * vel**2)


def three_bodies(y, steps):
    def f(y):
        r = y[:9].reshape(3, 3)
        d = r[None] - r[:, None]
        far = jnp.sqrt(jnp.sum(d**2, axis=2) + 0.01)
        return jnp.concatenate([y[9:], jnp.sum(d / far[:, :, None] ** 3, axis=1).ravel()])

    h = 0.01

    def step(_, state):
        y, error = state
        k1 = f(y)
        k2 = f(y + h * k1 / 4)
        k3 = f(y + h * (3 / 32 * k1 + 9 / 32 * k2))
        k4 = f(y + h * (1932 * k1 - 7200 * k2 + 7296 * k3) / 2197)
        k5 = f(y + h * (439 / 216 * k1 - 8 * k2 + 3680 / 513 * k3 - 845 / 4104 * k4))
        k6 = f(y + h * (-8 / 27 * k1 + 2 * k2 - 3544 / 2565 * k3 + 1859 / 4104 * k4 - 11 / 40 * k5))
        here = k1 / 360 - 128 / 4275 * k3 - 2197 / 75240 * k4 + k5 / 50 + 2 / 55 * k6
        y = y + h * (25 / 216 * k1 + 1408 / 2565 * k3 + 2197 / 4104 * k4 - k5 / 5)
        return y, error + h * jnp.linalg.norm(here)

    return lax.fori_loop(0, steps, step, (y, 0.0))


def perturbed_orbit(r, v, j2, steps):
    def step(_, state):
        r, v = state
        d = jnp.sqrt(jnp.sum(r**2))
        z2 = 5 * r[2] ** 2 / d**2
        a = -r / d**3 + j2 * 1.5 / d**5 * r * jnp.array([z2 - 1, z2 - 1, z2 - 3])
        v = v + 0.01 * a
        return r + 0.01 * v, v

    r, v = lax.fori_loop(0, steps, step, (r, v))
    h = jnp.cross(r, v)
    e = jnp.cross(v, h) - r / jnp.linalg.norm(r)
    node = jnp.cross(jnp.array([0.0, 0.0, 1.0]), h)
    return jnp.arccos(h[2] / jnp.linalg.norm(h)), jnp.linalg.norm(e), jnp.arctan2(node[1], node[0])


def rainfall_runoff(rain, evaporation, p):
    def day(state, given):
        soil, ground = state
        rain, evaporation = given
        net = jnp.maximum(rain - evaporation, 0.0)
        loss = jnp.maximum(evaporation - rain, 0.0) * soil / p[0]
        into = net * (1 - (soil / p[0]) ** 2)
        soil = soil + into - loss
        excess = jnp.maximum(soil - p[0], 0.0)
        soil -= excess
        drain = p[1] * 0.1 * soil
        soil -= drain
        ground += drain
        base = ground**2 / (ground + p[2])
        return (soil, ground - base), base + net - into + excess

    _, flow = lax.scan(day, (0.5 * p[0], 0.3 * p[2]), (rain, evaporation))
    return jnp.convolve(flow, jnp.array([0.5, 0.3, 0.2]))[: len(flow)]


def tomography(image, angles):
    n = image.shape[0]
    c = (n - 1) / 2
    s = jnp.arange(n) - c
    X, Y = jnp.meshgrid(s, s)

    def project(a):
        x = jnp.cos(a) * X - jnp.sin(a) * Y + c
        y = jnp.sin(a) * X + jnp.cos(a) * Y + c
        inside = (x >= 0) & (x <= n - 1.001) & (y >= 0) & (y <= n - 1.001)
        x = jnp.where(inside, x, 0.0)
        y = jnp.where(inside, y, 0.0)
        i, j = x.astype(int), y.astype(int)
        fx, fy = x - i, y - j
        v = (1 - fx) * (1 - fy) * image[j, i] + fx * (1 - fy) * image[j, i + 1]
        v += (1 - fx) * fy * image[j + 1, i] + fx * fy * image[j + 1, i + 1]
        return jnp.sum(v * inside, axis=0)

    return jax.vmap(project)(angles)


def particles_on_grid(x, q, length, cells):
    h = length / cells
    s = x / h
    left = jnp.floor(s).astype(int)
    w = s - left
    rho = jnp.zeros(cells).at[left % cells].add(q * (1 - w)).at[(left + 1) % cells].add(q * w)
    field = jnp.cumsum(rho - rho.mean()) * h
    field -= field.mean()
    return field[left % cells] * (1 - w) + field[(left + 1) % cells] * w


def hodgkin_huxley(state, current, dt):
    def step(state, given):
        V, m, h, n = state
        am = 0.1 * (V + 40) / (1 - jnp.exp(-(V + 40) / 10))
        bm = 4 * jnp.exp(-(V + 65) / 18)
        ah = 0.07 * jnp.exp(-(V + 65) / 20)
        bh = 1 / (1 + jnp.exp(-(V + 35) / 10))
        an = 0.01 * (V + 55) / (1 - jnp.exp(-(V + 55) / 10))
        bn = 0.125 * jnp.exp(-(V + 65) / 80)
        currents = 120 * m**3 * h * (V - 50) + 36 * n**4 * (V + 77) + 0.3 * (V + 54.4)
        V = V + dt * (given - currents)
        m += dt * (am * (1 - m) - bm * m)
        h += dt * (ah * (1 - h) - bh * h)
        n += dt * (an * (1 - n) - bn * n)
        return (V, m, h, n), V

    return lax.scan(step, tuple(state), current)[1]


def predator_prey_grid(prey, predators, dt, steps):
    def f(y):
        x, p = y
        return jnp.stack([1.1 * x - 0.4 * x * p, 0.1 * x * p - 0.4 * p])

    def step(_, y):
        k1 = f(y)
        k2 = f(y + 0.5 * dt * k1)
        k3 = f(y + 0.5 * dt * k2)
        k4 = f(y + dt * k3)
        return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    return lax.fori_loop(0, steps, step, jnp.stack([prey, predators]))


def option_greeks(spot, strike):
    target = 0.4 * spot

    def step(_, sigma):
        d = (jnp.log(spot / (strike + 0.5)) + 0.5 * sigma**2) / sigma
        pdf = jnp.exp(-0.5 * d**2) / jnp.sqrt(2 * jnp.pi)
        cdf = 1 / (1 + jnp.exp(-1.702 * d))
        price = spot * cdf - 0.3 * strike
        sigma -= jnp.clip((price - target) / (spot * pdf + 0.5), -0.2, 0.2)
        return jnp.maximum(sigma, 0.05)

    return lax.fori_loop(0, 6, step, jnp.full(spot.shape, 0.8))


def mass_springs(x, edges, rest, steps):
    i, j = edges[:, 0], edges[:, 1]

    def step(_, state):
        x, v = state
        d = x[j] - x[i]
        length = jnp.sqrt((d**2).sum(axis=1))
        f = (20 * (length - rest) / length)[:, None] * d
        force = jnp.zeros_like(x).at[i].add(f).at[j].add(-f)
        v = 0.99 * v + 0.01 * force
        return x + 0.01 * v, v

    return lax.fori_loop(0, steps, step, (x, jnp.zeros_like(x)))[0]
