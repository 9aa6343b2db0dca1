"""Grids in time loops: heat, waves, fluids."""

# mypy: ignore-errors
import numpy as np

from tests.programs.numpy.programs import program


@program(lambda r, n: (r.random(n), 0.1, 20), 12, 4000)
def heat_rod(u, alpha, steps):
    """Explicit Euler on a rod, new arrays by slices."""
    u = u.copy()
    for _ in range(steps):
        u[1:-1] = u[1:-1] + alpha * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


@program(lambda r, n: (r.random((n, n)), r.random((n, n)), 10), 8, 400, by=(0, 1))
def jacobi_sweeps(A, B, steps):
    for _ in range(steps):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])
    return A, B


@program(lambda r, n: (r.random((n, n, n)), 4), 6, 60)
def heat_block(A, steps):
    """Heat in three dimensions."""
    B = A.copy()
    for _ in range(steps):
        B[1:-1, 1:-1, 1:-1] = (
            0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[:-2, 1:-1, 1:-1])
            + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, :-2, 1:-1])
            + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, 1:-1, :-2])
            + A[1:-1, 1:-1, 1:-1]
        )
        A, B = B, A
    return A


def laplacian(u):
    return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u


@program(lambda r, n: (r.random((n, n)), r.random((n, n)), 0.04, 0.06, 10), 8, 300, by=(0, 1, 2, 3))
def gray_scott_rolls(u, v, feed, kill, steps):
    """Reaction and diffusion on a torus."""
    for _ in range(steps):
        uvv = u * v**2
        u = u + 0.16 * laplacian(u) - uvv + feed * (1 - u)
        v = v + 0.08 * laplacian(v) + uvv - (feed + kill) * v
    return u, v


@program(lambda r, n: (r.random((n, n)), r.random((n, n)) * 0.5 + 0.5, 10), 10, 400, by=(0, 1))
def acoustic_wave(u, c, steps):
    """Second order in time, with a sponge at the borders."""
    n = u.shape[0]
    x = np.linspace(0, 1, n)
    d = np.minimum(np.minimum(x, 1 - x)[:, None], np.minimum(x, 1 - x)[None, :])
    damp = np.where(d < 0.2, 1 - 0.5 * (0.2 - d), 1.0)
    before = u.copy()
    now = u.copy()
    for _ in range(steps):
        lap = np.zeros_like(now)
        lap[1:-1, 1:-1] = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4 * now[1:-1, 1:-1]
        after = damp * (2 * now - before + 0.2 * c**2 * lap)
        before, now = now, after
    return now


@program(lambda r, n: (r.random((n, n)), r.random((n, n)), 0.01, 8), 9, 250, by=(0, 1))
def cavity_flow(u, v, nu, steps):
    """Driven cavity: momentum with upwind differences and a few pressure iterations."""
    u, v = u.copy(), v.copy()
    p = np.zeros_like(u)
    dx = 2.0 / (u.shape[0] - 1)
    dt = 0.001
    for _ in range(steps):
        b = np.zeros_like(p)
        b[1:-1, 1:-1] = ((u[1:-1, 2:] - u[1:-1, :-2]) + (v[2:, 1:-1] - v[:-2, 1:-1])) / (2 * dx) / dt
        for _ in range(3):
            pn = p.copy()
            p[1:-1, 1:-1] = 0.25 * (
                pn[1:-1, 2:] + pn[1:-1, :-2] + pn[2:, 1:-1] + pn[:-2, 1:-1] - dx * dx * b[1:-1, 1:-1]
            )
            p[:, -1] = p[:, -2]
            p[0, :] = p[1, :]
            p[:, 0] = p[:, 1]
            p[-1, :] = 0
        un, vn = u.copy(), v.copy()
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[:-2, 1:-1])
            - dt / (2 * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
            + nu * dt / dx**2 * (un[1:-1, 2:] + un[1:-1, :-2] + un[2:, 1:-1] + un[:-2, 1:-1] - 4 * un[1:-1, 1:-1])
        )
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[:-2, 1:-1])
            - dt / (2 * dx) * (p[2:, 1:-1] - p[:-2, 1:-1])
            + nu * dt / dx**2 * (vn[1:-1, 2:] + vn[1:-1, :-2] + vn[2:, 1:-1] + vn[:-2, 1:-1] - 4 * vn[1:-1, 1:-1])
        )
        u[0, :] = 0
        u[:, 0] = 0
        u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = 0
        v[-1, :] = 0
        v[:, 0] = 0
        v[:, -1] = 0
    return u, v, p


@program(
    lambda r, n: (1 + 0.1 * r.random((n, n)), r.random((n, n)) * 0.1, r.random((n, n)) * 0.1, 6), 8, 250, by=(0, 1, 2)
)
def shallow_water(h, u, v, steps):
    """Lax-Friedrichs on a torus by rolls."""

    def mean(q):
        return 0.25 * (np.roll(q, 1, 0) + np.roll(q, -1, 0) + np.roll(q, 1, 1) + np.roll(q, -1, 1))

    def dx(q):
        return 0.5 * (np.roll(q, -1, 0) - np.roll(q, 1, 0))

    def dy(q):
        return 0.5 * (np.roll(q, -1, 1) - np.roll(q, 1, 1))

    dt = 0.1
    for _ in range(steps):
        hn = mean(h) - dt * (dx(h * u) + dy(h * v))
        un = mean(u) - dt * (u * dx(u) + v * dy(u) + dx(h))
        vn = mean(v) - dt * (u * dx(v) + v * dy(v) + dy(h))
        h, u, v = hn, un, vn
    return h, u, v


@program(lambda r, n: (np.sin(np.linspace(0, 6.3, n)) + 0.1 * r.random(n), 0.05, 20), 12, 5000, by=(0, 1))
def burgers(u, nu, steps):
    dx = 2 * np.pi / u.size
    dt = 0.05 * dx
    for _ in range(steps):
        flux = 0.5 * u**2
        u = u - dt * (np.roll(flux, -1) - np.roll(flux, 1)) / (2 * dx) + dt * nu * np.gradient(np.gradient(u))
    return u


W = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
CX = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
CY = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])


@program(lambda r, n: (W[:, None, None] * (1 + 0.05 * r.random((9, n, n))), r.random((n, n)) < 0.1, 5), 8, 120)
def lattice_boltzmann(F, obstacle, steps):
    """D2Q9 with bounce-back: rolls and a mask."""
    for _ in range(steps):
        for k, cx, cy in zip(range(9), (0, 1, 0, -1, 0, 1, -1, -1, 1), (0, 0, 1, 0, -1, 1, 1, -1, -1)):
            F[k] = np.roll(np.roll(F[k], cx, axis=0), cy, axis=1)
        bounced = F[:, obstacle][np.array([0, 3, 4, 1, 2, 7, 8, 5, 6])]
        rho = np.sum(F, axis=0)
        ux = np.sum(F * CX[:, None, None], axis=0) / rho
        uy = np.sum(F * CY[:, None, None], axis=0) / rho
        equilibrium = np.zeros_like(F)
        for k in range(9):
            cu = CX[k] * ux + CY[k] * uy
            equilibrium[k] = W[k] * rho * (1 + 3 * cu + 4.5 * cu**2 - 1.5 * (ux**2 + uy**2))
        F = F - (F - equilibrium) / 0.8
        F[:, obstacle] = bounced
    return F


@program(lambda r, n: (r.random((n, n)), 0.2 * r.random((n, n)), 0.2 * r.random((n, n)), 3), 8, 100, smooth=False)
def stable_fluid(density, u, v, steps):
    """Semi-Lagrangian advection with bilinear interpolation, then diffusion by Jacobi with padding."""
    n = density.shape[0]
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    for _ in range(steps):
        x = np.clip(i - u * 5, 0.5, n - 1.5)
        y = np.clip(j - v * 5, 0.5, n - 1.5)
        i0 = np.floor(x).astype(int)
        j0 = np.floor(y).astype(int)
        s, t = x - i0, y - j0
        density = (
            (1 - s) * (1 - t) * density[i0, j0]
            + (1 - s) * t * density[i0, j0 + 1]
            + s * (1 - t) * density[i0 + 1, j0]
            + s * t * density[i0 + 1, j0 + 1]
        )
        p = np.pad(density, 1, mode="edge")
        density = density + 0.1 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * density)
    return density


@program(lambda r, n: (r.random((n, n, n)), r.random((n, n, n))), 6, 60, by=(0, 1))
def horizontal_diffusion(field, coeff):
    """A limiter from weather models: laplacian, fluxes that are cut off, and their divergence."""
    lap = 4.0 * field[1:-1, 1:-1] - (field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2])
    step = lap[1:, 1:-1] - lap[:-1, 1:-1]
    fx = np.where(step * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0, 0, step)
    step = lap[1:-1, 1:] - lap[1:-1, :-1]
    fy = np.where(step * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0, 0, step)
    return field[2:-2, 2:-2] - coeff[2:-2, 2:-2] * (fx[1:] - fx[:-1] + fy[:, 1:] - fy[:, :-1])


@program(lambda r, n: (r.random((n, n, n)), r.random((n, n, n)), r.random((n, n, n))), 5, 50, by=(0, 1, 2))
def vertical_advection(a, b, d):
    """Tridiagonal systems in every column of a grid, by Thomas' algorithm on planes."""
    K = a.shape[2]
    c = np.zeros_like(a)
    x = np.zeros_like(a)
    c[:, :, 0] = 0.2 / (2 + b[:, :, 0])
    x[:, :, 0] = d[:, :, 0] / (2 + b[:, :, 0])
    for k in range(1, K):
        m = 1.0 / (2 + b[:, :, k] - a[:, :, k] * c[:, :, k - 1])
        c[:, :, k] = 0.2 * m
        x[:, :, k] = (d[:, :, k] - a[:, :, k] * x[:, :, k - 1]) * m
    for k in range(K - 2, -1, -1):
        x[:, :, k] -= c[:, :, k] * x[:, :, k + 1]
    return x


@program(lambda r, n: (r.random((n, n)), r.random((n, n)), r.random((n, n)), 5), 8, 300, by=(0, 1, 2))
def fdtd_2d(ex, ey, hz, steps):
    for t in range(steps):
        ey[0, :] = t
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


@program(lambda r, n: (r.random((n, n)), 3), 8, 150)
def seidel_rows(A, steps):
    """Gauss-Seidel: rows by slices where they can be, the recurrence by elements."""
    n = A.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            A[i, 1:-1] += (
                A[i - 1, :-2] + A[i - 1, 1:-1] + A[i - 1, 2:] + A[i, 2:] + A[i + 1, :-2] + A[i + 1, 1:-1] + A[i + 1, 2:]
            )
            for j in range(1, n - 1):
                A[i, j] = (A[i, j] + A[i, j - 1]) / 9.0
    return A


@program(lambda r, n: (r.random((n, n)), r.random((n, n)) < 0.5, 4), 8, 200, smooth=False)
def image_smoothing(image, mask, steps):
    """Anisotropic diffusion that stays inside a mask."""
    u = image.copy()
    for _ in range(steps):
        gx = np.diff(u, axis=0, append=u[-1:, :])
        gy = np.diff(u, axis=1, append=u[:, -1:])
        c = np.exp(-(gx**2 + gy**2) * 4)
        fx, fy = c * gx, c * gy
        div = fx - np.roll(fx, 1, axis=0) + fy - np.roll(fy, 1, axis=1)
        u[mask] += 0.1 * div[mask]
    return u
