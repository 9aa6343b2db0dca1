"""Random loop nests over Python integers: results beyond 64 bits raise OverflowError, all others are Python's.

Loop-carried values may be large although the values computed in an iteration are small.
"""

from __future__ import annotations

import ast
import random
from typing import Any

import numpy as np
import pytest

from adc import jit_grad
from tests.fuzz.check import loaded

KEYS = (
    [1, 2, 3, 4],
    [2**62, 1, 1, 1],
    [1, 2**62, 0, 1],
    [2**40, 2**33, -(2**50), 5],
    [3, -(2**62), 1, 2],
    [2**31, 7, 2**61, 1],
)


class Checked(ast.NodeTransformer):
    """Every operation of integers raises where it leaves 64 bits."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return ast.copy_location(ast.Call(ast.Name("fits", ast.Load()), [node], []), node)


def fits(value: Any) -> Any:
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise OverflowError
    return value


def program(rng: random.Random) -> str:
    def expr(names: list[str], depth: int = 0) -> str:
        if depth > 2 or rng.random() < 0.3:
            return rng.choice([*names, "1", "3", "-1"])
        return f"({expr(names, depth + 1)} {rng.choice('+-**')} {expr(names, depth + 1)})"

    lines = ["def f(a, keys, n, m):", "    p, q, s = 0, 1, 0", f"    for i in range({rng.choice(['n', 'm', '3'])}):"]
    lines.append(f"        {rng.choice(['k = int(keys[i])', 'k = i', 'k = int(keys[i]) % 7'])}")
    lines.append(f"        for j in range({rng.choice(['n', 'm', '4', 'i'])}):")
    lines.append(f"            s = (s + {expr(['p', 'q', 'i', 'j', 'k', 'n'])}) % 1000003")
    if rng.random() < 0.4:
        lines.append(f"            {rng.choice('pq')} = {expr(['p', 'q', 'j', 'k'], 1)} % {rng.choice([5, 100])}")
    carried = ["p = q", "q = k", "q = p + k", "p = p + i", "q = int(keys[(i + 1) % 4])", "p = q + 1", "q = q + k"]
    lines += [f"        {text}" for text in rng.sample(carried, 3)]
    return "\n".join([*lines, "    return a * s"]) + "\n"


def outcome(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except OverflowError:
        return "OverflowError"


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_as_in_python(first: int) -> None:
    for seed in range(first, first + 10):
        text = program(random.Random(seed))
        truth: dict[str, Any] = {"fits": fits}
        exec(compile(ast.fix_missing_locations(Checked().visit(ast.parse(text))), "<truth>", "exec"), truth)
        with loaded(text) as names:
            compiled = jit_grad(names["f"])
            for keys in KEYS:
                for n, m in ((3, 4), (4, 2)):
                    found = outcome(compiled, 1.0, np.array(keys), n, m)
                    assert found == outcome(truth["f"], 1.0, keys, n, m), f"seed {seed}, {keys}, {n}, {m}\n{text}"


def test_a_carried_number_is_not_as_small_as_the_next_one() -> None:
    def f(keys, n):
        q = 1
        s = 0
        for i in range(n):
            k = int(keys[i])
            for j in range(n):
                s = s + (q * j) % 1000
            q = k
        return s

    assert jit_grad(f)(np.array([5, 1, 1]), 3) == f([5, 1, 1], 3)
    with pytest.raises(OverflowError):
        jit_grad(f)(np.array([2**62, 1, 1]), 3)
