"""Texts that grow in loops: the loop is unrolled where its length is known, else refused; compiling always ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adc import errors, jit_grad
from tests.language.as_in_python import NUMBERS, check


def test_choices_that_make_the_text_longer() -> None:
    """Each iteration doubles what the text may be."""

    def function(w: Any, n: int) -> Any:
        signs = ""
        for k in range(n):
            signs += "+" if w[k] > 0.3 else "-"
        return w[0] * signs.count("+")

    with pytest.raises(errors.CompileTypeError, match="may be one of too many values") as caught:
        jit_grad(function)(NUMBERS, 5)
    assert len(caught.value.message) < 400


def test_a_text_that_grows_by_one() -> None:
    def function(w: Any) -> Any:
        text = ""
        for v in w:
            text += "a"
        return w[0] * len(text)

    check(function)


def test_many_constants_are_none_too_many() -> None:
    names = tuple(f"element {k}" for k in range(118))

    def function(w: Any, k: int) -> Any:
        return w[0] * names[k].count("1") + (names[k] == "element 3")

    for k in (3, 111):
        assert jit_grad(function)(NUMBERS, k) == function(NUMBERS, k)
        assert np.array_equal(jit_grad(function).grad(NUMBERS, k), names[k].count("1") * np.eye(6)[0])
