"""``debug="nan"``: the first NaN or infinity is named by line and variable, and nothing else is reported."""

from __future__ import annotations

import linecache
import math
import os
import random
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad

PLANTS = {  # finite at the point where it is planted, with an infinite derivative
    "math.sqrt({0} - {0})": math.sqrt,
    "({0} - {0}) ** 0.5": math.sqrt,
    "math.cbrt({0} - {0})": math.sqrt,
    "math.asin({0} / {0})": math.asin,
    "math.acos({0} / {0})": math.acos,
}


def program(seed: int) -> tuple[Any, int]:
    """A function of 200 lines, and the line of it whose derivative is infinite."""
    rng = random.Random(seed)
    planted = rng.randrange(20, 180)
    lines = ["def long(x, u):", "    v = u.copy()", "    t2 = x"]
    for k in range(3, 199):
        a, b = f"t{k - 1}", f"t{rng.randrange(2, k)}"
        if k == planted:
            lines.append(f"    t{k} = {a} + {rng.choice(list(PLANTS)).format(a)}")
        elif k % 60 == 4:
            lines += [f"    v[1:] = 0.9 * v[1:] + 0.1 * v[:-1] * {a}; t{k} = {a}"]
        elif k % 60 == 7:
            lines.append(f"    t{k} = {a} + 0.01 * np.sum(np.sin(v))")
        else:
            forms = ["math.sin({0}) + {1}", "0.5 * {0} + 0.1 * {1} * {1}", "math.exp(-{0} * {0}) + 0.3 * {1}"]
            form = rng.choice(forms)
            lines.append(f"    t{k} = {form.format(a, b)}")
    lines.append("    return t198")
    text = "\n".join(lines) + "\n"
    name = f"<long program {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"math": math, "np": np}
    exec(compile(text, name, "exec"), names)
    return names["long"], 1 + next(k for k, line in enumerate(lines) if line.startswith(f"    t{planted} = "))


@pytest.mark.parametrize("seed", range(10))
def test_a_planted_nan_in_the_adjoint_of_200_lines_is_named_by_line(seed: int) -> None:
    fn, line = program(seed)
    debugged = jit_grad(debug="nan", _engine="interpreter")(fn)
    x, u = 0.7, np.array([0.1, 0.2, 0.3])
    assert math.isfinite(debugged(x, u))
    with pytest.raises(adc.errors.NotFiniteError, match="derivative") as caught:
        debugged.grad(x, u)
    assert caught.value.lineno == line


def test_machine_code_stops_as_well() -> None:
    @jit_grad(debug="nan")
    def decay(x: Any, k: Any) -> Any:
        u = x.copy()
        for _ in range(4):
            u[1:] = u[1:] - k
            w = np.log(u)
            u = w + 1.0
        return np.sum(u)

    x = np.array([1.0, 2.0, 3.0])
    assert math.isfinite(decay(x, 0.1))
    with pytest.raises(FloatingPointError, match="w is nan, made here by log") as caught:
        decay(x, 1.5)
    assert "w = np.log(u)" in str(caught.value)
    for call in (lambda: root.grad(0.0), lambda: root.pullback(0.0), lambda: root.jvp((0.0,), (1.0,))):
        with pytest.raises(adc.errors.NotFiniteError, match=r"the derivative of [xy] is inf, made here by a division"):
            found = call()
            found[1](1.0)
    assert root.grad(4.0) == 0.25


def test_an_array_that_is_never_there_has_its_name() -> None:
    @jit_grad(debug="nan")
    def ratio(a: Any, b: Any) -> Any:
        c = a / b
        return np.sum(c)

    with pytest.raises(FloatingPointError, match="c is inf, made here by a division"):
        ratio(np.ones(2), np.array([1.0, 0.0]))


@jit_grad(debug="nan")
def root(x: Any) -> Any:
    y = np.sqrt(x)
    return y


def test_what_nobody_sees_and_what_was_given_is_not_made() -> None:
    @jit_grad(debug="nan")
    def chosen(x: Any) -> Any:
        return np.sum(np.where(x > 0, np.sqrt(x), 0.0))

    assert chosen(np.array([-1.0, 0.0, 4.0])) == 2.0
    assert chosen.grad(np.array([-1.0, 0.0, 4.0])).tolist() == [0.0, 0.0, 0.25]

    @jit_grad(debug="nan")
    def least(x: Any) -> Any:
        best = math.inf
        for i in range(len(x)):
            if not np.isnan(x[i]):
                best = min(best, x[i] * 2.0)
        return best

    assert least(np.array([3.0, math.nan, 1.0])) == 2.0 and least.grad(np.array([3.0, math.nan, 1.0]))[2] == 2.0


def test_the_tape_is_not_named() -> None:
    @jit_grad(debug="nan")
    def roots(x, n):
        total = 0.0
        for _ in range(n):
            x = x - 0.5
            total += np.sum(np.sqrt(x))
        return total

    with pytest.raises(FloatingPointError, match=r"^(total|a value) is nan, made here by sqrt"):
        roots.grad(np.array([1.0, 2.0]), 4)


def test_the_environment_asks_for_it() -> None:
    code = "import adc; f = adc.grad(lambda x: x ** 0.5)\ntry: f(0.0)\nexcept FloatingPointError as e: print(e.kind)"
    run = [sys.executable, "-c", code]
    environment = {"ADC_DEBUG": "nan", "ADC_LEVEL": "0", "ADC_CACHE": "0"}
    done = subprocess.run(run, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert done.stdout == "not-finite\n", done.stderr
    with pytest.raises(adc.AdcError, match="debug must be 'nan'"):
        jit_grad(debug="infinity")(lambda x: x)


def of_a_square_root(a):
    s = np.sum(a * a)
    return math.sqrt(s)


def of_a_square_root_of_a_product(a):
    s = np.sum(a)
    t = s * 2.0
    return math.sqrt(t) * 3.0


def of_no_variable(a):
    return np.sqrt(np.sum(a * a))


def of_a_value(a):
    return np.linalg.norm(a * a) ** -1


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (of_a_square_root, "the derivative of s is inf"),
        (of_a_square_root_of_a_product, "the derivative of t is inf"),
        (of_no_variable, "a derivative is inf"),  # not that of a, which is NaN, and follows
        (of_a_value, "a value is inf"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_the_variable_is_the_one_whose_derivative_it_is_not_one_that_it_is_a_factor_of(function, told):
    with pytest.raises(adc.errors.NotFiniteError) as caught:
        jit_grad(function, debug="nan").grad(np.zeros(3))
    assert str(caught.value).startswith(told)
