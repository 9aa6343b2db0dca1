"""Each module is a problem: its docstring names it, ``arguments()`` makes the data, ``ACTIVE`` are the positions that
gradients are taken by, and every other function of ``SPELLINGS`` is one way to write it."""
