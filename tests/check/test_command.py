"""`adc check`: what it draws, passes and refuses, and its exit status."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adc
from adc.checks import differences
from adc.checks.verdict import Check, Disagreement
from adc.cli import main
from adc.ir import ops
from adc.passes.differentiation import rules

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """`check(text, *options)` checks `main` of a file; the exit code, and what was written to stdout and stderr."""

    def run(text: str, *options: str) -> tuple[int, str, str]:
        file = tmp_path / "program.py"
        file.write_text("import math\nfrom dataclasses import dataclass\nimport numpy as np\nimport adc\n" + text)
        code = main(["check", f"{file}:main", *options])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def test_all_ways_to_draw_arrays(check: Run) -> None:
    code, out, err = check(
        'def main(u: "f64[:, :]", v: "f64[:, :]"):\n    v[1:] += u[:-1] * v[1:]\n    return u[:, :1] * 2.0\n',
        "--draws",
        "9",
    )
    assert code == 0, err
    for style in ("contiguous", "reversed", "every other", "Fortran", "one", "zero", "large", "twice", "overlapping"):
        assert re.search(rf"^ *\d  {style}|{style}.*: right$", out, re.MULTILINE), (style, out)
    last = out.splitlines()[-1]
    assert last.startswith("9 right (values, arguments, forward mode, reverse mode, <w, J v> = <J' w, v>, Taylor")
    assert last.endswith("1 and 2 threads)")


def test_extents_that_hang_together_are_found(check: Run) -> None:
    code, out, _ = check(
        'def main(a: "f64[:, ::1]", v: "f64[::1]"):\n    return a @ v\n', "--draws", "6", "--no-native"
    )
    assert code == 0 and out.endswith("6 right (values, rules, operations and functions in the interpreter)\n")
    shapes = re.findall(r"a \((\d+), (\d+)\), v \((\d+),\)", out)
    assert len(shapes) == 6 and all(n == k for _, n, k in shapes) and any(m != n for m, n, _ in shapes)


def test_types_of_parameters(check: Run) -> None:
    text = (
        "@dataclass\nclass Part:\n    weights: 'f32[:]'\n    bias: float\n    flag: bool\n"
        "def main(part: Part, pair: (float, int), x=2.0):\n"
        "    return part.weights * np.float32(2.0), part.bias * pair[0] * x\n"
    )
    assert check(text.replace("(float, int)", "'(f64, i64)'"), "--draws", "2", "--no-native")[0] == 0
    code, _, err = check("def main(x, y: float):\n    return x * y\n")
    assert code == 1 and "error[unknown-types]" in err and "the parameter 'x' of main" in err and "--signature" in err
    assert check("def main(x, y):\n    return x * y\n", "--signature", "f64, f64", "--draws", "2")[0] == 0


@pytest.mark.parametrize("option", [("--draws", "0"), ("--rtol", "0"), ("--seed", "-1")])
def test_options(check: Run, option: tuple[str, str]) -> None:
    code, _, err = check("def main(x: float):\n    return x * x\n", *option)
    assert code == 1 and "error[invalid-option]" in err and option[0] in err
    with pytest.raises(SystemExit) as ended:
        main(["check", "--draws", "few", "program.py"])
    assert ended.value.code == 2


def test_what_cannot_run_is_said(check: Run) -> None:
    code, _, err = check("def main(x: float):\n    raise ValueError('never')\n", "--draws", "2")
    assert code == 1 and "plain Python raises ValueError: never" in err
    code, _, err = check("def main(x: float):\n    with open('x'):\n        pass\n    return x\n", "--draws", "2")
    assert code == 1
    code, out, err = check("def main(x: float):\n    return math.sqrt(x) * math.log(x)\n", "--draws", "3")
    assert code == 0 and "3 right" in out, err  # numbers of which plain Python has no root are drawn again


def test_a_rule_that_computes_another_value(check: Run) -> None:
    text = (
        "def f(x):\n    return x * x\n\n@adc.rrule(f)\ndef rule(x):\n    return x * x + 1e-3, lambda g: 2.0 * g * x\n"
        "def main(x: float):\n    return f(x) * 0.5\n"
    )
    code, _, err = check(text)
    assert code == 1 and "the value that the rrule f(_) computes: reverse mode gives" in err


def test_a_rule_that_hardly_matters(check: Run) -> None:
    text = (
        "def f(x):\n    return x * x\n\nadc.scalar_rule(f, lambda x: 2.002 * x)\n"
        "def main(x: float):\n    return f(x) * 1e-9 + x\n"
    )
    code, _, err = check(text)
    assert code == 1 and "the scalar rule f(float): " in err and "return f(x) * 1e-9 + x" in err


def test_single_precision(check: Run) -> None:
    text = (
        "def f(x):\n    return x * x\n\nadc.scalar_rule(f, lambda x: 2.0 * x)\n"
        "def main(u: 'f32[:]', x: float):\n    s = np.float32(0.0)\n    for i in range(len(u)):\n        s += f(u[i])\n"
        "    return s * x\n"
    )
    assert check(text, "--draws", "2")[0] == 0
    code, _, err = check(text.replace("2.0 * x)", "2.1 * x)"))
    assert code == 1 and "s += f(u[i])" in err


def test_a_mode_that_rules_do_not_give_is_left_out(check: Run) -> None:
    text = (
        "def f(v):\n    return v * v\n\n@adc.rrule(f)\ndef rule(v):\n    return v * v, lambda g: 2.0 * g * v\n"
        "def main(v: 'f64[:]'):\n    return np.sum(f(v))\n"
    )
    code, out, err = check(text, "--draws", "1")
    assert code == 0 and "arguments, reverse mode," in out and "note: no forward mode: rrule f(_) has no forward" in err


def test_what_is_wrong_in_adc_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product that is differentiated wrongly where it stands, not by itself: the line in the callee is named."""
    right = rules.RULES[ops.mulf]

    def wrong(g: Any, y: Any, a: Any, b: Any) -> Any:
        first, second = right(g, y, a, b)
        inside = y.block is not None and y.block.parent_op is not None  # of a loop, in forward mode
        return (first * 2.0 if inside else first), second

    def scale(u, x):
        total = 0.0
        for i in range(len(u)):
            total += u[i] * x  # here
        return total

    def f(x, u):
        y = math_free(x)
        if y > 0.0:
            y = scale(u, y)
        return {"y": y * 3.0}, u * y

    def math_free(x):
        return x * x + 1.0

    given = 0.7, np.array([0.3, 0.5])
    assert adc.find_culprit(f, *given) is None
    monkeypatch.setitem(rules.RULES, ops.mulf, wrong)
    found = adc.find_culprit(f, *given)
    assert found is not None and found.what == "arith.mulf" and "total += u[i] * x  # here" in str(found)
    assert "y = scale(u, y)" in str(found) and found.mode == "forward mode" and not found.rule


def test_differences() -> None:
    assert abs(differences.derivative(lambda h: np.exp(2.0 * h)).value - 2.0) < 1e-10
    near = differences.derivative(lambda h: abs(h + 1e-5) * 3.0)
    assert abs(near.value - 3.0) < 1e-7 and near.error < 1e-6
    assert differences.kinked(abs, 0.3) and not differences.kinked(abs, 1.3)
    assert not differences.kinked(lambda h: h * h, 0.0)
    assert 1.95 < (differences.taylor_slope(np.exp, 1.0, 1.0) or 0.0) < 2.05
    assert 0.9 < (differences.taylor_slope(np.exp, 1.01, 1.0) or 0.0) < 1.1
    assert differences.taylor_slope(lambda h: 3.0 * h + 1.0, 3.0, 1.0) is None  # linear: at rounding


def test_rounding_is_not_taken_for_a_wrong_derivative() -> None:
    """The derivatives of a cosine next to zero are as small as what rounding makes of its differences."""
    for x in (1.1e-6, 3.3e-6, 1e-5, -2.7e-6, 0.4):
        assert adc.find_culprit(lambda x: math.cos(x) * 0.3, x) is None


def test_a_kink_is_told_from_a_wrong_derivative() -> None:
    with pytest.raises(Disagreement) as caught:
        Check(lambda x: max(x, 2.0 * x), (0.0,), 1e-6, 0).forward()
    assert caught.value.kink
    with pytest.raises(Disagreement) as caught:
        Check(lambda x: adc.stop_gradient(x) * x, (1.0,), 1e-6, 0).forward()
    assert not caught.value.kink
