"""The features of random programs, beyond assignment, branches, loops, calls and slices: a table of switches.

A feature that the compiler does not support yet is off; ``python -m tests.fuzz.run --features a,b`` makes programs with
only these features.
"""

from __future__ import annotations

import random

# name: (whether the compiler has it, how many programs in a hundred may use it)
TABLE: dict[str, tuple[bool, int]] = {
    # control flow
    "jumps": (True, 45),  # break, continue and return in loops, else after loops
    "while_true": (True, 15),
    "loop_variable": (True, 20),  # the counter after the loop
    "iteration": (True, 30),  # over arrays, rows, tuples, enumerate, zip, reversed, ranges held in variables
    "match": (True, 15),
    # exceptions
    "raise": (True, 12),
    "assert": (True, 12),
    "zero_division": (True, 8),
    "out_of_bounds": (True, 8),
    "unset": (True, 6),  # variables that some paths do not set
    # scalars
    "integers": (True, 30),
    "mixed_numbers": (True, 20),  # ints and floats in one operation, // and % of floats, int()
    "int_then_float": (True, 15),
    # containers
    "tuples": (True, 20),
    "named": (True, 18),
    "frozen": (True, 18),
    "mutable": (True, 20),
    "lists": (True, 20),
    "comprehensions": (True, 12),
    "growing_lists": (True, 12),  # of a length that is known at run time
    "dicts": (True, 15),
    "container_arguments": (True, 25),
    "options": (True, 15),  # None, str, bool and enum arguments
    # functions
    "recursion": (True, 20),
    "higher_order": (True, 20),
    "partial": (True, 10),
    "makers": (True, 10),  # functions that return functions
    "closures": (True, 20),  # nested functions that write to captured arrays, nonlocal
    "variadic": (True, 15),  # *args, **kwargs, keyword-only parameters
    "function_tuples": (True, 10),
}
# What numerical programs are made of (``idioms.py``): programs that have some of these are asked for.
IDIOMS = frozenset({
    "wrapped",  # subscripts that count from the end for some values of a loop's counter
    "buffers",
    "states",  # a time loop's, in an array or in a list that grows
    *("counting", "structured", "small_arrays", "products", "index_arrays", "masks", "counts", "shapes", "zero_rank"),
    *("complex", "returned_containers"),
})  # fmt: skip
LANDED = frozenset(name for name, (landed, _) in TABLE.items() if landed)


def choose(rng: random.Random, only: frozenset[str] | None = None) -> frozenset[str]:
    """The features of one program; all of ``only`` if it is given."""
    if only is not None:
        return only
    return frozenset(name for name, (landed, share) in TABLE.items() if rng.random() * 100 < share and landed)


def idioms(rng: random.Random) -> frozenset[str]:
    """The features of a program of four idioms, and of three features besides."""
    return frozenset(rng.sample(sorted(IDIOMS), 4) + rng.sample(sorted(LANDED), 3))
