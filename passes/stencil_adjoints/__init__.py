"""Adjoints of stencils: terms that neighbouring iterations add to one element, summed without races."""
