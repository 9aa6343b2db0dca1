"""How long the first value and the first gradient take, beside JAX and Numba: ``python -m benchmarks.latency``.

``programs.py`` and ``arrays.py`` have the programs, ``in_jax.py`` the same as users of JAX write them, ``processes.py``
runs one of them in a process of its own, ``__main__.py`` compares.
"""
