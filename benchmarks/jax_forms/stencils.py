"""Grids in time loops: heat, waves, fluids."""

# mypy: ignore-errors
import jax.numpy as jnp
import numpy as np
from jax import lax


def heat_rod(u, alpha, steps):
    def step(_, u):
        return u.at[1:-1].add(alpha * (u[2:] - 2 * u[1:-1] + u[:-2]))

    return lax.fori_loop(0, steps, step, u)


def jacobi_sweeps(A, B, steps):
    def mean(A):
        return 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])

    def step(_, state):
        A, B = state
        B = B.at[1:-1, 1:-1].set(mean(A))
        return A.at[1:-1, 1:-1].set(mean(B)), B

    return lax.fori_loop(0, steps, step, (A, B))


def heat_block(A, steps):
    def step(_, A):
        return A.at[1:-1, 1:-1, 1:-1].set(
            0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[:-2, 1:-1, 1:-1])
            + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, :-2, 1:-1])
            + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, 1:-1, :-2])
            + A[1:-1, 1:-1, 1:-1]
        )

    return lax.fori_loop(0, steps, step, A)


def laplacian(u):
    return jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1) - 4 * u


def gray_scott_rolls(u, v, feed, kill, steps):
    def step(_, state):
        u, v = state
        uvv = u * v**2
        u = u + 0.16 * laplacian(u) - uvv + feed * (1 - u)
        v = v + 0.08 * laplacian(v) + uvv - (feed + kill) * v
        return u, v

    return lax.fori_loop(0, steps, step, (u, v))


def acoustic_wave(u, c, steps):
    n = u.shape[0]
    x = jnp.linspace(0, 1, n)
    d = jnp.minimum(jnp.minimum(x, 1 - x)[:, None], jnp.minimum(x, 1 - x)[None, :])
    damp = jnp.where(d < 0.2, 1 - 0.5 * (0.2 - d), 1.0)

    def step(_, state):
        before, now = state
        inner = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4 * now[1:-1, 1:-1]
        lap = jnp.pad(inner, 1)
        return now, damp * (2 * now - before + 0.2 * c**2 * lap)

    return lax.fori_loop(0, steps, step, (u, u))[1]


def cavity_flow(u, v, nu, steps):
    dx = 2.0 / (u.shape[0] - 1)
    dt = 0.001

    def step(_, state):
        u, v, p = state
        b = ((u[1:-1, 2:] - u[1:-1, :-2]) + (v[2:, 1:-1] - v[:-2, 1:-1])) / (2 * dx) / dt

        def pressure(_, p):
            inner = 0.25 * (p[1:-1, 2:] + p[1:-1, :-2] + p[2:, 1:-1] + p[:-2, 1:-1] - dx * dx * b)
            p = p.at[1:-1, 1:-1].set(inner)
            p = p.at[:, -1].set(p[:, -2])
            p = p.at[0, :].set(p[1, :])
            p = p.at[:, 0].set(p[:, 1])
            return p.at[-1, :].set(0)

        p = lax.fori_loop(0, 3, pressure, p)

        def moved(q, slope):
            inner = (
                q[1:-1, 1:-1]
                - u[1:-1, 1:-1] * dt / dx * (q[1:-1, 1:-1] - q[1:-1, :-2])
                - v[1:-1, 1:-1] * dt / dx * (q[1:-1, 1:-1] - q[:-2, 1:-1])
                - dt / (2 * dx) * slope
                + nu * dt / dx**2 * (q[1:-1, 2:] + q[1:-1, :-2] + q[2:, 1:-1] + q[:-2, 1:-1] - 4 * q[1:-1, 1:-1])
            )
            return jnp.pad(inner, 1)

        un = moved(u, p[1:-1, 2:] - p[1:-1, :-2]).at[-1, :].set(1)
        vn = moved(v, p[2:, 1:-1] - p[:-2, 1:-1])
        return un, vn, p

    return lax.fori_loop(0, steps, step, (u, v, jnp.zeros_like(u)))


def shallow_water(h, u, v, steps):
    def mean(q):
        return 0.25 * (jnp.roll(q, 1, 0) + jnp.roll(q, -1, 0) + jnp.roll(q, 1, 1) + jnp.roll(q, -1, 1))

    def dx(q):
        return 0.5 * (jnp.roll(q, -1, 0) - jnp.roll(q, 1, 0))

    def dy(q):
        return 0.5 * (jnp.roll(q, -1, 1) - jnp.roll(q, 1, 1))

    dt = 0.1

    def step(_, state):
        h, u, v = state
        hn = mean(h) - dt * (dx(h * u) + dy(h * v))
        un = mean(u) - dt * (u * dx(u) + v * dy(u) + dx(h))
        vn = mean(v) - dt * (u * dx(v) + v * dy(v) + dy(h))
        return hn, un, vn

    return lax.fori_loop(0, steps, step, (h, u, v))


def burgers(u, nu, steps):
    dx = 2 * jnp.pi / u.size
    dt = 0.05 * dx

    def step(_, u):
        flux = 0.5 * u**2
        slope = (jnp.roll(flux, -1) - jnp.roll(flux, 1)) / (2 * dx)
        return u - dt * slope + dt * nu * jnp.gradient(jnp.gradient(u))

    return lax.fori_loop(0, steps, step, u)


W = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
CX = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
CY = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])


def lattice_boltzmann(F, obstacle, steps):
    w, cx, cy = W[:, None, None], CX[:, None, None], CY[:, None, None]

    def step(_, F):
        F = jnp.stack([jnp.roll(F[k], (int(CX[k]), int(CY[k])), axis=(0, 1)) for k in range(9)])
        bounced = F[np.array([0, 3, 4, 1, 2, 7, 8, 5, 6])]
        rho = jnp.sum(F, axis=0)
        ux = jnp.sum(F * cx, axis=0) / rho
        uy = jnp.sum(F * cy, axis=0) / rho
        cu = cx * ux + cy * uy
        equilibrium = w * rho * (1 + 3 * cu + 4.5 * cu**2 - 1.5 * (ux**2 + uy**2))
        return jnp.where(obstacle, bounced, F - (F - equilibrium) / 0.8)

    return lax.fori_loop(0, steps, step, F)


def stable_fluid(density, u, v, steps):
    n = density.shape[0]
    i, j = jnp.meshgrid(jnp.arange(n), jnp.arange(n), indexing="ij")

    def step(_, density):
        x = jnp.clip(i - u * 5, 0.5, n - 1.5)
        y = jnp.clip(j - v * 5, 0.5, n - 1.5)
        i0 = jnp.floor(x).astype(int)
        j0 = jnp.floor(y).astype(int)
        s, t = x - i0, y - j0
        density = (
            (1 - s) * (1 - t) * density[i0, j0]
            + (1 - s) * t * density[i0, j0 + 1]
            + s * (1 - t) * density[i0 + 1, j0]
            + s * t * density[i0 + 1, j0 + 1]
        )
        p = jnp.pad(density, 1, mode="edge")
        return density + 0.1 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * density)

    return lax.fori_loop(0, steps, step, density)


def vertical_advection(a, b, d):
    a, b, d = (jnp.moveaxis(q, 2, 0) for q in (a, b, d))

    def down(state, given):
        c, x = state
        a, b, d = given
        m = 1.0 / (2 + b - a * c)
        state = 0.2 * m, (d - a * x) * m
        return state, state

    start = 0.2 / (2 + b[0]), d[0] / (2 + b[0])
    last, (c, x) = lax.scan(down, start, (a[1:], b[1:], d[1:]))
    c, x = jnp.concatenate([start[0][None], c]), jnp.concatenate([start[1][None], x])

    def up(after, given):
        c, x = given
        x = x - c * after
        return x, x

    _, rest = lax.scan(up, last[1], (c[:-1], x[:-1]), reverse=True)
    return jnp.moveaxis(jnp.concatenate([rest, last[1][None]]), 0, 2)


def fdtd_2d(ex, ey, hz, steps):
    def step(t, state):
        ex, ey, hz = state
        ey = ey.at[0, :].set(t)
        ey = ey.at[1:, :].add(-0.5 * (hz[1:, :] - hz[:-1, :]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        hz = hz.at[:-1, :-1].add(-0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]))
        return ex, ey, hz

    return lax.fori_loop(0, steps, step, (ex, ey, hz))


def seidel_rows(A, steps):
    n = A.shape[0]

    def sweep(_, A):
        def row(i, A):
            up, here, down = A[i - 1], A[i], A[i + 1]
            known = here[1:-1] + up[:-2] + up[1:-1] + up[2:] + here[2:] + down[:-2] + down[1:-1] + down[2:]

            def cell(left, v):
                v = (v + left) / 9.0
                return v, v

            _, cells = lax.scan(cell, here[0], known)
            return A.at[i, 1:-1].set(cells)

        return lax.fori_loop(1, n - 1, row, A)

    return lax.fori_loop(0, steps, sweep, A)


def image_smoothing(image, mask, steps):
    def step(_, u):
        gx = jnp.diff(u, axis=0, append=u[-1:, :])
        gy = jnp.diff(u, axis=1, append=u[:, -1:])
        c = jnp.exp(-(gx**2 + gy**2) * 4)
        fx, fy = c * gx, c * gy
        div = fx - jnp.roll(fx, 1, axis=0) + fy - jnp.roll(fy, 1, axis=1)
        return jnp.where(mask, u + 0.1 * div, u)

    return lax.fori_loop(0, steps, step, image)
