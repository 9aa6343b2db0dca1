"""All that is known of an operation is on its card, and only there."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from adc.backend.lowering.scalar_lowerings import SCALARS
from adc.ir import ops
from adc.ir.evaluate.samples import special_values
from adc.ir.opdef import OpDef, Trait
from adc.ir.types import f64
from adc.passes.differentiation.rules import CONSTANT, RULES

ROOT = Path(__file__).resolve().parents[2]
CARDS = [kind for kind in ops.TABLE.values() if kind.evaluate is not None]
FACTS = ("cost", "defined", "singular", "called", "c_name")
PYTHON_NAMES = {name: kind for name, kind in vars(ops).items() if isinstance(kind, OpDef)}


@pytest.mark.parametrize("fact", FACTS)
def test_a_fact_that_is_missing_is_an_error(fact: str) -> None:
    stated: dict[str, Any] = {"cost": 1.0, "defined": True, "singular": False, "called": False, "c_name": ""}
    OpDef("math.new", ops.sin.infer, ops.PURE, evaluate=ops.sin.evaluate, **stated)
    del stated[fact]
    with pytest.raises(TypeError, match=rf"the card of math\.new does not state: {fact}$"):
        OpDef("math.new", ops.sin.infer, ops.PURE, evaluate=ops.sin.evaluate, **stated)


def test_every_operation_states_its_cost() -> None:
    with pytest.raises(TypeError, match=r"the card of adc\.new does not state: cost$"):
        OpDef("adc.new")
    with pytest.raises(TypeError, match=r"the card of adc\.new does not state: cost$"):
        OpDef("adc.new", regions=1)
    assert all(kind.cost is not None for kind in ops.TABLE.values())


@pytest.mark.parametrize("kind", CARDS, ids=lambda kind: kind.name)
def test_each_scalar_operation_is_lowered_and_has_a_derivative_or_none(kind: OpDef) -> None:
    assert kind in SCALARS
    integer = kind in (ops.fits,)
    assert (kind in RULES) != (kind in CONSTANT or integer)


@pytest.mark.parametrize("kind", [k for k in CARDS if Trait.POSITIVE_ZERO in k.traits], ids=lambda kind: kind.name)
def test_what_has_a_positive_zero_is_never_negative_zero(kind: OpDef) -> None:
    assert kind.evaluate is not None
    count = len(kind.samples[0])
    given = [0, 1] if kind is ops.uitofp else [0, 1, -1] if kind is ops.sitofp else special_values(f64)
    for x in given:
        result = kind.evaluate({"type": f64}, f64, *[x] * count)
        assert result != 0.0 or math.copysign(1.0, result) > 0.0, (x, result)


@pytest.mark.parametrize("kind", [k for k in CARDS if Trait.LINEAR in k.traits], ids=lambda kind: kind.name)
def test_what_is_linear_has_no_operand_among_its_partials(kind: OpDef) -> None:
    """Twice the floats give twice the result, and zeros give zero."""
    assert kind.evaluate is not None
    for sample in kind.samples:
        twice, none = ([x if isinstance(x, bool) else x * by for x in sample] for by in (2.0, 0.0))
        assert kind.evaluate({"type": f64}, f64, *twice) == 2.0 * kind.evaluate({"type": f64}, f64, *sample)
        assert kind.evaluate({"type": f64}, f64, *none) == 0.0


@pytest.mark.parametrize("kind", [k for k in CARDS if k.singular is False and k in RULES], ids=lambda kind: kind.name)
def test_what_is_not_singular_is_finite_where_its_operands_are(kind: OpDef) -> None:
    assert kind.evaluate is not None
    for x in (0.0, -0.0, 1.0, -1.0, 5e-324, 0.5, -2.5, 30.0):
        for y in (0.0, -0.0, 1.0, -3.5):
            given = [x, y, -x][: len(kind.samples[0])]
            if kind is ops.select:
                given = [True, x, y]
            if kind is ops.strong_mulf:
                given = [x, y, False, False]
            assert math.isfinite(kind.evaluate({"type": f64}, f64, *given)), given


def test_at_most_four_files_name_a_function_of_one_float() -> None:
    """Its card, its derivative, its lowering if C's library does not have it, its line in the libraries. Where it is
    emitted, as in another one's derivative, it is used and not named: whoever adds an operation need not go there."""
    functions = {name for name, kind in PYTHON_NAMES.items() if kind.c_name and len(kind.samples[0]) == 1}
    assert len(functions) > 30
    found: dict[str, set[str]] = defaultdict(set)
    for package in ("adc", "frontend", "ir", "passes", "backend"):
        for file in (ROOT / package).rglob("*.py"):
            if not any(path.is_symlink() for path in (file, *file.parents)):
                text = file.read_text(encoding="utf-8")
                named = set(re.findall(r"\bops\.(\w+)\b(?!\()", text))
                if package != "frontend":  # to which "math.log" is Python's
                    named |= {n for n in functions if f'"{PYTHON_NAMES[n].name}"' in text}
                for name in named & functions:
                    found[name].add(str(file.relative_to(ROOT)))
    many = {name: sorted(files) for name, files in found.items() if len(files) > 4}
    assert not many
    three = {"ir/ops.py", "passes/differentiation/rules.py", "frontend/libraries/elementary.py"}
    assert found["expm1"] == three
    assert found["erfc"] == {*three, "backend/mlir/functions.py"}  # tools that read MLIR lack it
