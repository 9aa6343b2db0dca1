"""Choices between numbers have comparisons of their own: the same choices, without branches."""

from __future__ import annotations

import ctypes
import itertools
import math
import re

import pytest

from adc.backend import scalar_selects
from adc.backend.jit import engine
from adc.backend.optimize import optimize
from adc.backend.target import for_cpu, host

RELATIONS = "lt", "gt", "le", "ge", "eq", "ne"
PREDICATES = *("o" + r for r in RELATIONS), *("u" + r for r in RELATIONS), "ord", "uno"
NUMBERS = -math.inf, -1.5, -0.0, 0.0, 2.0, math.inf, math.nan

CHOICES = """
define void @choices(double %a, double %b, double %d, ptr %out) {{
entry:
  %c = fcmp {0}
  %x = select i1 %c, double %d, double 0.000000e+00
  %y = select i1 %c, double 0.000000e+00, double %d
  %z = select i1 %c, double %a, double %d
  %1 = getelementptr double, ptr %out, i64 1
  %2 = getelementptr double, ptr %out, i64 2
  %3 = getelementptr double, ptr %out, i64 3
  store double %x, ptr %out
  store double %y, ptr %1
  store double %z, ptr %2
  br i1 {1}, label %last, label %end
last:
  %w = select i1 %c, double %d, double 1.000000e+00
  store double %w, ptr %3
  br label %end
end:
  ret void
}}
"""


def written(text: str) -> list[str]:
    """The comparisons of a text, in order."""
    return re.findall(r"fcmp (.*)", text)


@pytest.mark.parametrize("operands", ["double %a, %b", "double %a, 0.000000e+00"])
@pytest.mark.parametrize("predicate", PREDICATES)
def test_the_same_choices(predicate: str, operands: str) -> None:
    text = CHOICES.format(f"{predicate} {operands}", "%c")
    new = scalar_selects.by_masks(text)
    assert (new != text) == (predicate[1:] in RELATIONS)
    found = []
    for each in (text, new):
        library = engine().load(optimize(each, host(), 1).object_code, ["choices"])
        call = ctypes.CFUNCTYPE(None, *[ctypes.c_double] * 3, ctypes.c_void_p)(library.address("choices"))
        for numbers in itertools.product(NUMBERS, repeat=3):
            out = (ctypes.c_double * 4)(7.0, 7.0, 7.0, 7.0)
            call(*numbers, out)
            found.append(bytes(out))
    assert found[: len(found) // 2] == found[len(found) // 2 :]


def test_each_choice_in_a_block_has_a_comparison_of_its_own() -> None:
    new = scalar_selects.by_masks(CHOICES.format("olt double %a, %b", "%c"))
    first, last = new.split("last:")
    assert written(first) == ["olt double %a, %b", "uge double %a, %b", "ogt double %b, %a", "ule double %b, %a"]
    assert written(last) == ["uge double %a, %b"]
    assert new.count("select i1 %c,") == 0


def test_the_last_choice_keeps_the_comparison() -> None:
    new = scalar_selects.by_masks(CHOICES.format("olt double %a, %b", "true"))
    assert written(new) == ["olt double %a, %b", "uge double %a, %b", "ogt double %b, %a", "ule double %b, %a"]
    assert new.count("select i1 %c,") == 1


def test_a_minimum_is_left_as_it_is() -> None:
    text = """
define double @f(double %a, double %b, double %d) {
  %c = fcmp olt double %a, %b
  %m = select i1 %c, double %a, double %b
  %x = select i1 %c, double %d, double 0.000000e+00
  %s = fadd double %m, %x
  ret double %s
}
"""
    assert "%m = select i1 %c, double %a, double %b" in (new := scalar_selects.by_masks(text))
    assert written(new) == ["olt double %a, %b", "uge double %a, %b"]


@pytest.mark.skipif(not host().is_x86, reason="another processor")
def test_no_branches_on_processors_with_avx2() -> None:
    text = """
define double @f(double %a, double %b, double %d, double %e) {
  %c = fcmp olt double %a, %b
  %x = select i1 %c, double %d, double 0.000000e+00
  %y = select i1 %c, double 0.000000e+00, double %d
  %p = fmul double %x, %e
  %s = fadd double %p, %y
  ret double %s
}
"""
    target = for_cpu("haswell")
    assert scalar_selects.are_branches(target)
    assert not scalar_selects.are_branches(for_cpu("skylake-avx512"))
    assert not re.search(r"\sj[a-z]+\s", optimize(text, target, 3).assembly())
