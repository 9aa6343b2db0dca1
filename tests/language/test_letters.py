"""Characters of known texts at places that the run computes, and what is looked up by them: as in Python, derivatives
against differences."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from adc import jit_grad
from tests.language.as_in_python import check

ACIDS = "ACDEFGHIKLMNPQRSTVWY" * 7 + "äöü"
SCORES = {("A", "C"): 3.0, ("A", "G"): 2.0}


def aligned(w):
    s, t = "GATTACAGG", "GCATGCUAG"
    n, m = len(s), len(t)
    table = np.zeros((n + 1, m + 1))
    table[:, 0] = -w[1] * np.arange(n + 1)
    table[0, :] = -w[1] * np.arange(m + 1)
    way = {}
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            same = w[0] if s[i - 1] == t[j - 1] else -w[2]
            found = [(table[i - 1, j - 1] + same, "d"), (table[i - 1, j] - w[1], "u"), (table[i, j - 1] - w[1], "l")]
            table[i, j], way[i, j] = max(found)
    i, j, alike = n, m, 0
    while i > 0 and j > 0:
        step = way[i, j]
        if step == "d":
            alike += s[i - 1] == t[j - 1]
            i, j = i - 1, j - 1
        elif step == "u":
            i -= 1
        else:
            j -= 1
    return table[n, m] + alike


def substituted(w):
    s = "ACGTGC"
    weights = {"A": w[0], "C": w[1], "G": w[2] * w[2], "T": w[3]}
    total = 0.0
    for i in range(12):
        a, b = s[i % 6], s[(i * i) % 5 - 5]
        total += weights[a] * w[4]
        total += SCORES.get((a, b), 0.5) * w[5]
        if (a, b) in SCORES:
            total += 10.0 * w[1]
        if a in "AG" or b in ("C", "T"):
            total *= w[2]
        if a != "C" and b.lower() == "g":
            total += "ACGT".index(a)
    return total


def taken_by_turns(w):
    total = 0.0
    for kind, x in zip(itertools.cycle(["buy", "sell", "fee"]), w):
        total += {"buy": x, "sell": -2.0 * x, "fee": 0.1}[kind]
    for f, x in zip(itertools.cycle((np.sin, np.cos)), w):
        total += f(x)
    return total


@pytest.mark.parametrize("function", [aligned, substituted, taken_by_turns])
def test_programs(function):
    check(function)


def test_a_long_text():
    @jit_grad
    def hashed(n):
        found = 0
        for i in range(n):
            found = (found * 31 + ord(ACIDS[i])) % 1000003
        return found

    assert hashed(143) == hashed.__wrapped__(143)
    with pytest.raises(IndexError, match="string index out of range"):
        hashed(144)


@pytest.mark.parametrize("text", ["aba", "a", "aaa"])
def test_either_end(text):
    @jit_grad
    def letter(k):
        return text[k]

    n = len(text)
    assert [letter(k) for k in range(-n, n)] == [text[k] for k in range(-n, n)]
    for k in (-n - 1, n):
        with pytest.raises(IndexError, match="string index out of range"):
            letter(k)


def test_the_key_that_is_missing_is_named():
    @jit_grad
    def scores(n):
        s, pairs, single = "ACGT", {("A", "C"): 3.0, ("C", "G"): 2.0}, {"A": 1.0, "C": 2.0}
        total = 0.0
        for i in range(n):
            total += single[s[i]] if n < 4 else pairs[s[i], s[i + 1]]
        return total

    assert scores(2) == 3.0
    for n, key in ((3, "'G'"), (4, r"\('G', 'T'\)")):
        with pytest.raises(KeyError, match=key):
            scores(n)


def test_numbers_of_characters() -> None:
    """A character that stands for no number is a ValueError, if it is reached."""

    @jit_grad
    def f(x: float, i: int) -> float:
        return x * int("1{x"[i]) + float("1.5"[0])

    assert f(2.0, 0) == 3.0
    for i, text in ((1, "{"), (2, "x")):
        with pytest.raises(ValueError, match=rf"invalid literal for int\(\) with base 10: '{re.escape(text)}'"):
            f(2.0, i)
