"""Choices between numbers have comparisons of their own: the same choices, without branches."""

from __future__ import annotations

import ctypes
import itertools
import math
import re
from typing import Any

import numpy as np
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


def straight(type_: str, count: int, calls: bool) -> str:
    """Choices by one condition among numbers that are computed one after the other, in two blocks."""
    lines = ["define void @straight(double %given, ptr %out) {", "entry:"]
    lines += [f"  %a = {'fptrunc double %given to float' if type_ == 'float' else 'fadd double %given, 0.0'}"]
    lines += [f"  %c = fcmp ogt {type_} %a, 0.0", f"  %x0 = fadd {type_} %a, 1.0", f"  %y0 = fadd {type_} %a, -0.0"]
    for k in range(count):
        if k == count // 2:
            lines += ["  br i1 %c, label %more, label %more", "more:"]
        lines += [f"  %s{k} = select i1 %c, {type_} {'0.0' if k % 2 else f'%y{k}'}, {type_} %x{k}"]
        lines += [f"  %t{k} = call {type_} @other({type_} %s{k})"] if calls else [f"  %t{k} = fmul {type_} %s{k}, 1.5"]
        lines += [f"  %x{k + 1} = fadd {type_} %t{k}, %y{k}", f"  %y{k + 1} = fmul {type_} %s{k}, %x{k}"]
    lines += [f"  %r = fadd {type_} %x{count}, %y{count}", f"  store {type_} %r, ptr %out", "  ret void", "}"]
    lines += [f"define internal {type_} @other({type_} %v) noinline {{", f"  %r = fmul {type_} %v, 1.5"]
    lines += [f"  ret {type_} %r", "}"]
    return "\n".join(lines) + "\n"


def computed(number: type[np.floating[Any]], count: int, given: float) -> Any:
    """What ``straight`` stores."""
    a = number(given)
    x, y = a + number(1.0), a
    for k in range(count):
        s = (number(0.0) if k % 2 else y) if a > 0.0 else x
        x, y = s * number(1.5) + y, s * x
    return x + y


@pytest.mark.parametrize("calls", [False, True])
@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_many_choices_by_one_condition(number: type[np.floating[Any]], calls: bool) -> None:
    """They are made by masks; with calls in between, the code generator would take minutes otherwise."""
    type_ = "double" if number is np.float64 else "float"
    many = straight(type_, 200, calls)
    assert scalar_selects.may_be_many(many) and not scalar_selects.may_be_many(straight(type_, 16, calls))
    new = scalar_selects.by_masks(many)
    assert " = select " not in new and new.count(" = sext i1 %c ") == 2
    library = engine().load(optimize(new, host(), 1).object_code, ["straight"])
    call = ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.c_void_p)(library.address("straight"))
    for given in (*NUMBERS, -0.9, 1e-3):
        out = np.zeros(1, number)
        call(given, out.ctypes.data)
        with np.errstate(all="ignore"):
            wanted = np.array([computed(number, 200, given)], number)
        np.testing.assert_array_equal(out, wanted)
        assert np.array_equal(np.signbit(out), np.signbit(wanted)) or np.isnan(wanted)
