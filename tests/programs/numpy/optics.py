"""Optics and quantum mechanics by classes with operators, recurrences of complex numbers, and circuits of gates."""

# mypy: ignore-errors
import functools
import math

import numpy as np

from tests.programs.numpy.programs import program


def interface(polarization, n1, n2, th1, th2):
    """The amplitudes that an interface reflects and transmits."""
    a, b = n1 * np.cos(th1), n2 * np.cos(th2)
    if polarization == "s":
        return (a - b) / (a + b), 2 * a / (a + b)
    if polarization == "p":
        c, d = n2 * np.cos(th1), n1 * np.cos(th2)
        return (c - d) / (c + d), 2 * a / (c + d)
    raise ValueError("the polarization is 's' or 'p'")


def stack(polarization, indices, thickness, angle, wavelength):
    """The transfer matrix of thin films, by the angles of Snell's law, which are complex where light is absorbed."""
    angles = np.arcsin(indices[0] * np.sin(angle) / indices)
    delta = 2 * np.pi * indices * np.cos(angles) / wavelength * thickness
    r, t = interface(polarization, indices[0], indices[1], angles[0], angles[1])
    total = np.array([[1, r], [r, 1]], dtype=complex) / t
    for k in range(1, indices.size - 1):
        r, t = interface(polarization, indices[k], indices[k + 1], angles[k], angles[k + 1])
        phases = np.diag([np.exp(-1j * delta[k]), np.exp(1j * delta[k])])
        total = total @ phases @ np.array([[1, r], [r, 1]]) / t
    return {"R": abs(total[1, 0] / total[0, 0]) ** 2, "t": 1 / total[0, 0]}


@program(lambda r, n: (np.array([0.0, 100.0, 300.0, 80.0, 0.0]), n), 3, 300)
def thin_films(thickness, count):
    indices = np.array([1.0, 2.2 + 0.01j, 1.5, 2.0 + 0.1j, 1.5])
    reflected = []
    for wavelength in np.linspace(400, 700, count):
        both = [stack(p, indices, thickness, np.pi / 6, wavelength)["R"] for p in "sp"]
        reflected.append(0.5 * sum(both))
    spectrum = np.array(reflected)
    return spectrum.mean(), spectrum


@program(lambda r, n: (float(n), 1.5, 0.02), 2, 60, by=(0, 1, 2))
def mie_scattering(x, real, imag):
    """Efficiencies of a sphere: logarithmic derivatives downwards, Bessel functions upwards."""
    m = real + 1j * imag
    y = x * m
    stop = int(x + 4.05 * x ** (1 / 3) + 2.0)
    D = np.zeros(int(max(stop, abs(y)) + 15) + 1, dtype=complex)
    for n in range(len(D) - 1, 0, -1):
        D[n - 1] = n / y - 1.0 / (D[n] + n / y)
    psi0, psi1 = np.cos(x), np.sin(x)
    chi0, chi1 = -np.sin(x), np.cos(x)
    xi1 = complex(psi1, -chi1)
    scattered = extinct = 0.0
    for n in range(1, stop + 1):
        psi = (2.0 * n - 1.0) * psi1 / x - psi0
        chi = (2.0 * n - 1.0) * chi1 / x - chi0
        xi = complex(psi, -chi)
        a = ((D[n] / m + n / x) * psi - psi1) / ((D[n] / m + n / x) * xi - xi1)
        b = ((m * D[n] + n / x) * psi - psi1) / ((m * D[n] + n / x) * xi - xi1)
        scattered += (2 * n + 1) * (abs(a) ** 2 + abs(b) ** 2)
        extinct += (2 * n + 1) * (a + b).real
        psi0, psi1, chi0, chi1 = psi1, psi, chi1, chi
        xi1 = complex(psi1, -chi1)
    return 2 / x**2 * scattered, 2 / x**2 * extinct


class Ray:
    """A matrix that acts on rays and on beams."""

    def __init__(self, A, B, C, D, length=0.0):
        self.A, self.B, self.C, self.D = A, B, C, D
        self.length = length

    def __mul__(self, right):
        if isinstance(right, Beam):
            return Beam((self.A * right.q + self.B) / (self.C * right.q + self.D), right.wavelength)
        A, B = self.A * right.A + self.B * right.C, self.A * right.B + self.B * right.D
        C, D = self.C * right.A + self.D * right.C, self.C * right.B + self.D * right.D
        return Ray(A, B, C, D, self.length + right.length)

    @property
    def determinant(self):
        return self.A * self.D - self.B * self.C


class Space(Ray):
    def __init__(self, d):
        super().__init__(1.0, d, 0.0, 1.0, length=d)


class Lens(Ray):
    def __init__(self, f):
        super().__init__(A=1.0, B=0.0, C=-1 / f, D=1.0)


class Beam:
    def __init__(self, q=None, wavelength=1e-3, w=None):
        if q is None and w is None:
            raise ValueError("a beam has a q or a waist")
        self.q = 1 / (0.0 - 1j * wavelength / (math.pi * w * w)) if q is None else q
        self.wavelength = wavelength

    @property
    def w(self):
        return math.sqrt(-self.wavelength / (math.pi * (1 / self.q).imag))


@program(lambda r, n: (20.0 + 30 * r.random(n), 40.0 + 100 * r.random(n)), 3, 100, by=(0, 1))
def gaussian_beam(focal, distances):
    elements = []
    for f, d in zip(focal[:3], distances, strict=False):
        elements.append(Space(d))
        elements.append(Lens(f))
    system = functools.reduce(lambda m, e: e * m, elements)
    beam = Beam(w=0.4)
    trace = [beam]
    for e in elements:
        trace.append(e * trace[-1])
    assert abs(system.determinant - 1) < 1e-8
    return (system * beam).w, max(b.w for b in trace), sum(b.w for b in trace), system.length


PAULI = {"X": np.array([[0, 1], [1, 0]], dtype=complex), "Z": np.diag([1.0 + 0j, -1])}


class Circuit:
    def __init__(self, n):
        self.n = n
        self.state = np.zeros((2,) * n, dtype=complex)
        self.state[(0,) * n] = 1

    def apply(self, U, q):
        self.state = np.moveaxis(np.tensordot(U, self.state, axes=(1, q)), 0, q)
        return self

    def ry(self, theta, q):
        c, s = np.cos(theta / 2), np.sin(theta / 2)
        return self.apply(np.array([[c, -s], [s, c]], dtype=complex), q)

    def rz(self, theta, q):
        return self.apply(np.array([[np.exp(-0.5j * theta), 0], [0, np.exp(0.5j * theta)]]), q)

    def cnot(self, control, target):
        index = [slice(None)] * self.n
        index[control] = 1
        state = self.state.copy()
        state[tuple(index)] = np.flip(self.state[tuple(index)], axis=target if target < control else target - 1)
        self.state = state

    def expect(self, paulis):
        psi = self.state.copy()
        for q, name in enumerate(paulis):
            if name != "I":
                psi = np.moveaxis(np.tensordot(PAULI[name], psi, axes=([1], [q])), 0, q)
        return np.vdot(self.state, psi).real


@program(lambda r, n: (r.normal(size=(n, 2, 2)), -0.5), 1, 3, by=(0, 1))
def variational_circuit(angles, field):
    """The axes of the state that gates act on are counted by loops over an array of angles."""
    hamiltonian = {"ZZ": -1.0, "XI": field, "IX": field}
    circuit = Circuit(2)
    for layer in angles:
        for q, (a, b) in enumerate(layer):
            circuit.ry(a, q).rz(b, q)
        circuit.cnot(0, 1)
    return sum(c * circuit.expect(p) for p, c in hamiltonian.items())


def numerov(E, V, h):
    k2 = 2 * (E - V)
    psi = np.zeros(len(V))
    psi[1] = 1e-4
    c, nodes = h * h / 12, 0
    for i in range(1, len(V) - 1):
        psi[i + 1] = 2 * (1 - 5 * c * k2[i]) * psi[i] - (1 + c * k2[i - 1]) * psi[i - 1]
        psi[i + 1] /= 1 + c * k2[i + 1]
        if psi[i + 1] * psi[i] < 0:
            nodes += 1
    return psi, nodes


@program(lambda r, n: (1.0, 0.05, n), 101, 2001, by=(0, 1))
def shooting_method(stiffness, anharmonic, count):
    """The lowest energy of an oscillator by secants, and the width of its state."""
    x, h = np.linspace(-5, 5, count, retstep=True)
    V = 0.5 * stiffness * x**2 + anharmonic * x**4
    E0, E1 = 0.4, 0.7
    f0, f1 = (numerov(E, V, h)[0][-1] for E in (E0, E1))
    rounds = 0
    while abs(E1 - E0) > 1e-10 and rounds < 30:
        E0, E1, f0 = E1, E1 - f1 * (E1 - E0) / (f1 - f0), f1
        f1 = numerov(E1, V, h)[0][-1]
        rounds += 1
    psi, nodes = numerov(E1, V, h)
    psi /= np.sqrt(np.trapezoid(psi**2, x))
    return E1, np.trapezoid(psi * x**2 * psi, x)
