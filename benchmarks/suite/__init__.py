"""The benchmark suite: adc's values and gradients beside those of its peers, in one run.

    python -m benchmarks.suite [--quick] [--only NAME] [--threads N] [--output FOLDER]

``problem.py`` says what a problem is, ``problems/`` holds them, one module each, with their hand-written C in ``c/``;
``peers.py`` makes functions of other libraries' code, ``native.py`` of C; ``checking.py`` compares before
``measuring.py`` times; ``machine.py`` measures what the machine could do; ``bars.py``, ``report.py`` and ``plots.py``
say what came of it.
"""
