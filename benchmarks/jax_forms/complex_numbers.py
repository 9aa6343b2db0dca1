"""Spectra and waves in complex numbers."""

# mypy: ignore-errors
import jax.numpy as jnp
from jax import lax


def layered_reflection(impedance, frequencies):
    local = (impedance[1:] - impedance[:-1]) / (impedance[1:] + impedance[:-1])
    phase = jnp.exp(-2j * frequencies * 0.3)

    def layer(r, here):
        return (here + r * phase) / (1 + here * r * phase), None

    r, _ = lax.scan(layer, jnp.zeros(len(frequencies), dtype=complex), local, reverse=True)
    return jnp.abs(r) ** 2


def split_step_quantum(psi0, potential, steps):
    n = len(psi0)
    psi = psi0 * jnp.exp(1j * jnp.arange(n) * 0.1)
    k = 2 * jnp.pi * jnp.fft.fftfreq(n, 6 / n)

    def step(_, psi):
        psi = psi * jnp.exp(-0.5j * 0.01 * potential)
        psi = jnp.fft.ifft(jnp.exp(-0.5j * k**2 * 0.01) * jnp.fft.fft(psi))
        return psi * jnp.exp(-0.5j * 0.01 * potential)

    return jnp.abs(lax.fori_loop(0, steps, step, psi)) ** 2
