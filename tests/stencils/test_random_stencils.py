"""Random stencil programs: bits on 1, 2, 3, 4 and 8 threads, plain Python, the interpreter, differences.

``python -m tests.stencils.run`` checks 500 others, most of them larger.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.check import level_of
from tests.fuzz.oracle import Oracle, lengthen
from tests.stencils.check import check
from tests.stencils.generator import generate

PROGRAMS, SHRINKABLE = 36, 8


@pytest.mark.parametrize("seed", range(100_000, 100_000 + PROGRAMS))
def test_right_and_the_same_on_any_number_of_threads(seed: int) -> None:
    """One in nine by LLVM's optimiser."""
    check(seed, small=True, level=3 if seed % 9 == 0 else level_of(seed))


@settings(max_examples=SHRINKABLE, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_shrinkable(rng: random.Random) -> None:
    """The same by hypothesis: a failure comes with a small program."""
    check(0, rng=rng, small=True, level=0)


def test_depends_on_the_seed_alone() -> None:
    for seed in range(20):
        one, other = (generate(random.Random(seed)) for _ in range(2))
        assert one.text == other.text and one.params == other.params


def test_has_what_stencils_have() -> None:
    """Programs are Python that runs, most without an error; together they have all that is to be tried."""
    texts, raised = [], 0
    for seed in range(150):
        program = generate(random.Random(seed), small=True)
        oracle = Oracle(program.text, program.params)
        plain, long = oracle.run_plain(program.leaves), oracle.run(lengthen(program.leaves))
        assert not isinstance(plain.error, SyntaxError | NameError), program.text
        assert type(plain.error) is type(long.error), program.text
        if plain.error is None and not 0 < long.trail.margin < 1e-3:
            assert float(plain.result) == pytest.approx(float(long.result), rel=1e-3, abs=1e-3)
        raised += plain.error is not None
        texts.append(program.text)
    assert raised < 15
    everything = "\n".join(texts)
    for feature in (
        "prange(", "reversed(", ", -1)", "% n", "min(i + 1, n - 1)", "abs(i - ", "east0", "mask", "continue",
        "minmod(", "np.where", "np.maximum", "max(r", "for t in range(steps)", "color", "// 2", "np.zeros_like",
        "np.float32", "m, p, q =", "1:-1", "** 2", "for e in range", "for w",
    ):  # fmt: skip
        assert feature in everything, feature
