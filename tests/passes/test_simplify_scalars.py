"""Canonicalize on arithmetic: what folds, and what must not."""

from __future__ import annotations

import pytest

from adc.passes.analysis.integers import Integers
from adc.passes.analysis.linear import Linear
from adc.passes.canonicalize.canonicalize import Canonicalize
from adc.passes.simplify.cse import CSE
from adc.passes.simplify.dce import DCE
from tests.passes.rewriting import check, run_text

PASSES = (Canonicalize(), CSE(), Canonicalize(), DCE())
INDEX = "func.func @f(%i: index, %j: index, %p: i1, %m: memref<?x?xf64>) -> {} {{\n{}\n}}"
FLOAT = "func.func @f(%x: f64, %y: f64, %i: i64) -> f64 {{\n{}\n}}"
CONSTANTS = "\n".join(f"%c{k} = arith.constant {k} : index" for k in range(5)) + "\n%cm1 = arith.constant -1 : index\n"

INTEGERS = {
    "(i + 1) - 1": ("%a = arith.addi %i, %c1 : index\n%r = arith.subi %a, %c1 : index", "%i"),
    "(i + j) - i": ("%a = arith.addi %i, %j : index\n%r = arith.subi %a, %i : index", "%j"),
    "i - i": ("%r = arith.subi %i, %i : index", 0),
    "i * 0": ("%r = arith.muli %i, %c0 : index", 0),
    "i * 1": ("%r = arith.muli %c1, %i : index", "%i"),
    "i // 1": ("%r = arith.floordivsi %i, %c1 : index", "%i"),
    "(4 i) // 2 - 2 i, if 4 i does not overflow": (
        (
            "%d = memref.dim %m, 0 : memref<?x?xf64>\n%e = arith.minsi %d, %c4 : index\n"
            "%a = arith.muli %e, %c4 : index\n%b = arith.floordivsi %a, %c2 : index\n"
            "%c = arith.muli %e, %c2 : index\n%r = arith.subi %b, %c : index"
        ),
        0,
    ),
    "i % 1": ("%r = arith.remsi %i, %c1 : index", 0),
    "max(i, i + 0)": ("%a = arith.addi %i, %c0 : index\n%r = arith.maxsi %i, %a : index", "%i"),
    "max(0, dim) - dim": (
        "%d = memref.dim %m, 0 : memref<?x?xf64>\n%a = arith.maxsi %c0, %d : index\n%r = arith.subi %a, %d : index",
        0,
    ),
    "max(i, j) >= i": (
        (
            "%a = arith.maxsi %i, %j : index\n%b = arith.cmpi sge, %a, %i : index\n"
            "%r = arith.index_castui %b : i1 to index"
        ),
        1,
    ),
    "max(j, 3) >= min(i, j)": (
        (
            "%a = arith.maxsi %j, %c3 : index\n%e = arith.minsi %i, %j : index\n"
            "%b = arith.cmpi sge, %a, %e : index\n%r = arith.index_castui %b : i1 to index"
        ),
        1,
    ),
    "min(max(i, 4), 9) >= 4": (
        (
            "%c9 = arith.constant 9 : index\n%a = arith.maxsi %i, %c4 : index\n%d = arith.minsi %a, %c9 : index\n"
            "%b = arith.cmpi sge, %d, %c4 : index\n%r = arith.index_castui %b : i1 to index"
        ),
        1,
    ),
    "min(dim, -1)": ("%d = memref.dim %m, 0 : memref<?x?xf64>\n%r = arith.minsi %d, %cm1 : index", -1),
    "select(p, i, i)": ("%r = arith.select %p, %i, %i : index", "%i"),
    "select(p, 3, 4) > 2": (
        (
            "%a = arith.select %p, %c3, %c4 : index\n%b = arith.cmpi sgt, %a, %c2 : index\n"
            "%r = arith.index_castui %b : i1 to index"
        ),
        1,
    ),
    "index of i64 of index": ("%a = arith.index_cast %i : index to i64\n%r = arith.index_cast %a : i64 to index", "%i"),
    "constants": ("%a = arith.muli %c3, %c4 : index\n%r = arith.addi %a, %cm1 : index", 11),
    "not not p": (
        (
            "%t = arith.constant true : i1\n%a = arith.xori %p, %t : i1\n%b = arith.xori %a, %t : i1\n"
            "%c = arith.select %b, %c1, %c2 : index\n%d = arith.select %p, %c1, %c2 : index\n"
            "%r = arith.subi %c, %d : index"
        ),
        0,
    ),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_fold(name: str) -> None:
    body, result = INTEGERS[name]
    before = INDEX.format("index", f"{CONSTANTS}{body}\nfunc.return %r : index")
    if isinstance(result, int):
        after = INDEX.format("index", f"%r = arith.constant {result} : index\nfunc.return %r : index")
    else:
        after = INDEX.format("index", f"func.return {result} : index")
    check(PASSES, before, after)


def test_affine_forms_have_one_spelling() -> None:
    """``(i + 1) - 3`` and ``(i + -1) - 1`` are ``i + -2``, ``2 i + i`` is ``3 i``."""
    before = INDEX.format(
        "(index, index, index)",
        f"""{CONSTANTS}
        %a = arith.addi %i, %c1 : index
        %b = arith.subi %a, %c3 : index
        %c = arith.addi %i, %cm1 : index
        %d = arith.subi %c, %c1 : index
        %e = arith.subi %b, %d : index
        %f = arith.muli %i, %c2 : index
        %g = arith.addi %f, %i : index
        func.return %b, %e, %g : index, index, index""",
    )
    after = INDEX.format(
        "(index, index, index)",
        """%c0 = arith.constant 0 : index
        %c3 = arith.constant 3 : index
        %cm2 = arith.constant -2 : index
        %b = arith.addi %i, %cm2 : index
        %g = arith.muli %i, %c3 : index
        func.return %b, %c0, %g : index, index, index""",
    )
    check(PASSES, before, after)


def test_division_by_zero_is_left_alone() -> None:
    text = INDEX.format("index", f"{CONSTANTS}%r = arith.floordivsi %c4, %c0 : index\nfunc.return %r : index")
    assert "arith.floordivsi" in run_text(PASSES, text)


def test_spans_are_spelled_by_their_difference_where_it_does_not_wrap() -> None:
    """``max(x, y) - y`` is ``max(x - y, 0)`` for extents of arrays, not for any two integers."""
    text = INDEX.format(
        "(index, index, index)",
        f"""{CONSTANTS}
        %d = memref.dim %m, 0 : memref<?x?xf64>
        %a = arith.maxsi %d, %c4 : index
        %b = arith.subi %a, %c4 : index
        %e = arith.subi %d, %c2 : index
        %f = arith.maxsi %c4, %e : index
        %g = arith.subi %f, %e : index
        %h = arith.maxsi %i, %d : index
        %k = arith.subi %h, %d : index
        func.return %b, %g, %k : index, index, index""",
    )
    result = run_text(PASSES, text)
    assert result.count("arith.maxsi") == 3 and result.count(", %c0 : index") == 2
    assert "arith.maxsi %arg0, " in result


def test_overflow_is_not_reasoned_away() -> None:
    """``i + 1 > i`` is false for the largest integer, and ``(2 i) // 2`` is not ``i`` for large ones."""
    text = INDEX.format(
        "(i1, index)",
        f"""{CONSTANTS}
        %a = arith.addi %i, %c1 : index
        %b = arith.cmpi sgt, %a, %i : index
        %c = arith.muli %i, %c2 : index
        %d = arith.floordivsi %c, %c2 : index
        func.return %b, %d : i1, index""",
    )
    result = run_text(PASSES, text)
    assert "arith.cmpi sgt" in result and "arith.floordivsi" in result


FLOATS = {
    "x * 1": ("%r = arith.mulf %one, %x : f64", "%x"),
    "x / 1": ("%r = arith.divf %x, %one : f64", "%x"),
    "x + -0.0": ("%r = arith.addf %x, %minus : f64", "%x"),
    "x - 0.0": ("%r = arith.subf %x, %zero : f64", "%x"),
    "-(-x)": ("%a = arith.negf %x : f64\n%r = arith.negf %a : f64", "%x"),
    "(i as float) + 0.0": ("%a = arith.sitofp %i : i64 to f64\n%r = arith.addf %a, %zero : f64", "sitofp"),
    "x + -y": ("%a = arith.negf %y : f64\n%r = arith.addf %x, %a : f64", "arith.subf %arg0, %arg1"),
    "-(-x * y)": (
        "%a = arith.negf %x : f64\n%b = arith.mulf %a, %y : f64\n%r = arith.negf %b : f64",
        "arith.mulf %arg0, %arg1",
    ),
    "x * -1": ("%r = arith.mulf %x, %mone : f64", "negf"),
    "x ** 2": ("%r = math.powf %x, %two : f64", "arith.mulf %arg0, %arg0"),
    "x ** 1": ("%r = math.powf %x, %one : f64", "%x"),
}
FLOAT_CONSTANTS = """%zero = arith.constant 0.0 : f64
%minus = arith.constant -0.0 : f64
%one = arith.constant 1.0 : f64
%mone = arith.constant -1.0 : f64
%two = arith.constant 2.0 : f64
"""


@pytest.mark.parametrize("name", FLOATS)
def test_floats_fold(name: str) -> None:
    body, expected = FLOATS[name]
    result = run_text(PASSES, FLOAT.format(f"{FLOAT_CONSTANTS}{body}\nfunc.return %r : f64"))
    lines = [line for line in result.splitlines() if " = " in line]
    if expected == "%x":
        assert not lines and "func.return %arg0" in result
    else:
        assert len(lines) == 1 and expected in lines[0]


@pytest.mark.parametrize(
    "body",
    [
        "%r = arith.mulf %x, %zero : f64",  # NaN and the sign
        "%r = arith.addf %x, %zero : f64",  # -0.0 + 0.0 is 0.0
        "%r = arith.subf %x, %minus : f64",
        "%r = arith.subf %x, %x : f64",  # inf - inf
        "%r = arith.divf %x, %x : f64",
        "%a = arith.subf %x, %y : f64\n%r = arith.negf %a : f64",  # -(x - x) is -0.0
    ],
)
def test_floats_that_ieee_keeps(body: str) -> None:
    text = FLOAT.format(f"{FLOAT_CONSTANTS}{body}\nfunc.return %r : f64")
    result = run_text(PASSES, text)
    assert result.count(" = arith.") == body.count(" = ") + any(c in body for c in ("%zero", "%minus"))


def test_signed_zeros_are_two_constants() -> None:
    result = run_text(PASSES, FLOAT.format("%a = arith.constant 0.0 : f64\n%b = arith.constant -0.0 : f64\n"
                                           "%r = math.copysign %x, %b : f64\n%s = arith.maximumf %r, %a : f64\n"
                                           "func.return %s : f64"))  # fmt: skip
    assert result.count("arith.constant") == 2


@pytest.mark.parametrize("pairs", [8, 16])
def test_what_is_known_of_other_integers_is_not_searched(pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check of two subscripts by their least and greatest makes two proofs more, however many came before."""
    asked: list[Linear] = []
    least = Integers.least
    monkeypatch.setattr(Integers, "least", lambda self, form, *more: asked.append(form) or least(self, form, *more))
    lines = [f"{CONSTANTS}%n = memref.dim %m, 0 : memref<?x?xf64>"]
    for k in range(pairs):
        lines.append(
            f"""%lo{k} = arith.minsi %i{k}, %j{k} : index
            %hi{k} = arith.maxsi %i{k}, %j{k} : index
            %below{k} = arith.cmpi slt, %hi{k}, %n : index
            adc.assert %below{k} {{error = "IndexError", message = "above"}} : i1
            %above{k} = arith.cmpi sge, %lo{k}, %c0 : index
            adc.assert %above{k} {{error = "IndexError", message = "below"}} : i1"""
        )
    arguments = ", ".join(f"%i{k}: index, %j{k}: index" for k in range(pairs))
    body = "\n".join(lines)
    text = f"func.func @f({arguments}, %m: memref<?x?xf64>) -> index {{\n{body}\nfunc.return %n : index\n}}"
    assert run_text([Canonicalize()], text).count("adc.assert") == 2 * pairs
    assert len(asked) < 30 * pairs
