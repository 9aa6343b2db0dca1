"""Times of the first value and the first gradient, compared with JAX and Numba: ``python -m benchmarks.latency``.

``programs.py`` and ``arrays.py`` have the programs, ``in_jax.py`` the same programs as users of JAX write them.
``processes.py`` runs each program in its own process; ``__main__.py`` compares.
"""
