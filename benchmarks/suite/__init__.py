"""The benchmark suite: adc's values and gradients compared with those of its peers, in one run.

    python -m benchmarks.suite [--quick] [--only NAME] [--threads N] [--output FOLDER]

``problem.py`` says what a problem is, ``problems/`` holds them, one module each, with their hand-written C in ``c/``;
``peers.py`` makes functions from code for other libraries, ``native.py`` from C; ``checking.py`` compares results
before ``measuring.py`` times; ``machine.py`` measures the limits of the machine; ``bars.py``, ``report.py`` and
``plots.py`` present the results.
"""
