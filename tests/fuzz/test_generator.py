"""The generator of random programs: its output is Python, depends only on the seed, and has the required features."""

from __future__ import annotations

import random

import pytest

from tests.fuzz import features
from tests.fuzz.generator import generate
from tests.fuzz.oracle import Oracle, lengthen
from tests.fuzz.params import arguments

SEEDS = range(12)


def test_depends_on_the_seed_alone():
    for seed in SEEDS:
        assert generate(random.Random(seed)) == generate(random.Random(seed))


@pytest.mark.parametrize("feature", sorted({*features.TABLE, *features.IDIOMS}))
def test_each_feature(feature):
    """It changes programs, and what Python says of them does not depend on how floats are represented."""
    only, changed = frozenset({feature}), 0
    for seed in SEEDS:
        rng = random.Random(seed)
        program = generate(rng, only=only)
        changed += program != generate(random.Random(seed), only=frozenset())
        leaves = arguments(program.params, rng, overlap=True)
        oracle = Oracle(program.text, program.params)
        plain, long = oracle.run_plain(leaves), oracle.run(lengthen(leaves))
        assert not isinstance(plain.error, SyntaxError | NameError) or isinstance(plain.error, UnboundLocalError)
        if 0 < long.trail.margin < 1e-3:
            continue  # a decision may go either way
        assert type(plain.error) is type(long.error)
        assert plain.error is not None or float(plain.result) == pytest.approx(float(long.result), rel=1e-3, abs=1e-3)
    assert changed
