"""A damped oscillator, compiled for the C++ program in this folder."""

from adc import jit_grad


@jit_grad(argnums=(1, 2))
def misfit(data, stiffness: float, damping: float):  # type: ignore[no-untyped-def]
    """Half the sum of squared differences between the oscillator's path and the measurements."""
    x, v, h = 1.0, 0.0, 0.05
    total = 0.0
    for k in range(len(data)):
        v -= h * (stiffness * x + damping * v)
        x += h * v
        total += 0.5 * (x - data[k]) ** 2
    return total
