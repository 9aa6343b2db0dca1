"""Each module is a problem: its docstring names it, ``arguments()`` makes the data, ``ACTIVE`` are the positions of the
differentiated arguments, and every other function of ``SPELLINGS`` is one way to write it."""
