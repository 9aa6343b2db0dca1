"""Programs in NumPy as people write them: values and gradients held against NumPy, forward mode and differences."""

from __future__ import annotations

import numpy as np
import pytest

from tests.numpy.checking import check_function
from tests.programs.numpy import complex_numbers, data, dense, learning, physics, stencils
from tests.programs.numpy.programs import PROGRAMS

FILES = (complex_numbers, data, dense, learning, physics, stencils)


NOT_YET = set(
    """
angles_between burgers conjugate_gradients
contrastive_loss cross_spectrum deblurring
filters gated_cell gaussian_blur gaussian_process gray_scott_rolls
group_means image_smoothing image_warp interpolated_table
k_means kalman_likelihood lattice_boltzmann layered_reflection
lennard_jones mandelbrot many_small_solves
moving_averages n_body perturbed_orbit phasors
poisson_by_transform polynomial_surface predator_prey_grid principal_components radix_two
rainfall_runoff ray_sphere ridge_regression rigid_motion
shallow_water sparse_product spectral_filter spectral_heat
spline_energy split_step_quantum stable_fluid three_bodies
tomography weighted_histogram
""".split()
)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.xfail) if n in NOT_YET else n for n in sorted(PROGRAMS)]
)
def test_program(name: str) -> None:
    p = PROGRAMS[name]
    arguments = p.inputs(np.random.default_rng(0), p.small)
    check_function(p.function, arguments, by=p.by, differences=p.smooth)
