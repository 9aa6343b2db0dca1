"""Fractals, spectra and waves in complex numbers."""

# mypy: ignore-errors
import numpy as np

from tests.programs.numpy.programs import program


@program(lambda r, n: (-2.0, 0.5, -1.2, 1.2, n, 20), 8, 200, by=(), smooth=False)
def mandelbrot(xmin, xmax, ymin, ymax, n, steps):
    X = np.linspace(xmin, xmax, n)
    Y = np.linspace(ymin, ymax, n)
    C = X + Y[:, None] * 1j
    N = np.zeros(C.shape, dtype=np.int64)
    Z = np.zeros(C.shape, dtype=np.complex128)
    for k in range(steps):
        inside = np.abs(Z) < 2.0
        N[inside] = k
        Z[inside] = Z[inside] ** 2 + C[inside]
    return N


@program(lambda r, n: (r.random(2**n),), 3, 14)
def radix_two(x):
    """The transform by halves, on complex arrays."""
    n = x.size
    z = x.astype(np.complex128)
    half = n // 2
    stride = 1
    while half >= 1:
        w = np.exp(-1j * np.pi * np.arange(half) / half)
        a = z.reshape(2, half, stride)
        s = a[0] + a[1]
        d = (a[0] - a[1]) * w[:, None]
        z = np.stack([s, d], axis=1).reshape(n)
        half //= 2
        stride *= 2
    return np.abs(z) ** 2


@program(lambda r, n: (r.random(n), 0.1), 16, 4096, by=(0, 1))
def spectral_heat(u, t):
    """Heat on a ring by transforms."""
    k = np.fft.fftfreq(u.size, 1 / u.size)
    return np.fft.ifft(np.fft.fft(u) * np.exp(-(k**2) * t * 0.01)).real


@program(lambda r, n: (r.random(n), r.random(n)), 16, 4096, by=(0, 1))
def cross_spectrum(x, y):
    X, Y = np.fft.rfft(x * np.hanning(len(x))), np.fft.rfft(y - y.mean())
    S = X * np.conj(Y)
    return np.abs(S), np.angle(S[1:3])


@program(lambda r, n: (r.random(n) + 0.5, np.linspace(0.5, 2.0, 5)), 6, 2000, by=(0, 1))
def layered_reflection(impedance, frequencies):
    """Waves through layers: reflection by a recursion on complex numbers."""
    r = np.zeros(len(frequencies), dtype=complex)
    for k in range(len(impedance) - 2, -1, -1):
        local = (impedance[k + 1] - impedance[k]) / (impedance[k + 1] + impedance[k])
        phase = np.exp(-2j * frequencies * 0.3)
        r = (local + r * phase) / (1 + local * r * phase)
    return np.abs(r) ** 2


@program(lambda r, n: (r.random((n, n)), 0.2), 8, 128, by=(0, 1))
def poisson_by_transform(f, eps):
    k = 2 * np.pi * np.fft.fftfreq(f.shape[0])
    k2 = k[:, None] ** 2 + k[None, :] ** 2 + eps
    return np.real(np.fft.ifft2(np.fft.fft2(f) / k2))


@program(lambda r, n: (np.exp(-(np.linspace(-3, 3, n) ** 2)), 0.5 * np.linspace(-3, 3, n) ** 2, 5), 16, 1024, by=(0, 1))
def split_step_quantum(psi0, potential, steps):
    n = len(psi0)
    psi = psi0 * np.exp(1j * np.arange(n) * 0.1)
    k = 2 * np.pi * np.fft.fftfreq(n, 6 / n)
    for _ in range(steps):
        psi = psi * np.exp(-0.5j * 0.01 * potential)
        psi = np.fft.ifft(np.exp(-0.5j * k**2 * 0.01) * np.fft.fft(psi))
        psi = psi * np.exp(-0.5j * 0.01 * potential)
    return np.abs(psi) ** 2


@program(lambda r, n: (r.random(n), r.random(n)), 8, 100000, by=(0, 1))
def phasors(magnitude, phase):
    """Power of voltages against currents in a network of impedances."""
    v = magnitude * np.exp(1j * phase)
    z = 0.5 + 1j * magnitude
    i = v / z
    s = v * i.conj()
    return s.real.sum(), s.imag.sum(), np.abs(i).max()
