"""Exceptions of ``math`` functions and operators in ``try``, for numbers of all kinds, as in Python."""

from __future__ import annotations

import itertools
import math

import pytest

from adc import jit_grad
from tests.fuzz.check import loaded

FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 1e308, -1e308, 172.0, -5.5, math.inf, -math.inf, math.nan]
INTEGERS = [0, 1, -2, 63, -64, 5000, 2**62]

OF_ONE = ["exp", "log", "sqrt", "asin", "acosh", "atanh", "gamma", "lgamma", "log1p", "sinh", "degrees", "ulp"]
OF_TWO = ["pow", "fmod", "remainder", "hypot", "atan2"]
EXPRESSIONS = {
    **{name: (f"math.{name}(x)", FLOATS, [1]) for name in OF_ONE},
    **{name: (f"math.{name}(x, y)", FLOATS, FLOATS) for name in OF_TWO},
    "ldexp": ("math.ldexp(x, y)", FLOATS, INTEGERS),
    "known power": ("math.pow(x, -1.0)", FLOATS, [1]),
    "of three": ("math.dist((x, 1.0, y), (2.0, y, 0.0))", FLOATS, FLOATS),
    "quotient": ("x / y", FLOATS, FLOATS),
    "power": ("abs(x) ** y", FLOATS, FLOATS),
    "complex": ("(1.0 / complex(x, y)).imag", FLOATS, FLOATS),
}
PROGRAM = """
import math

def f(x, y):
    try:
        r = {}
    except ZeroDivisionError:
        return 1.0
    except OverflowError:
        return 2.0
    except ValueError:
        return 3.0
    return r
"""


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_the_handler_that_python_takes(name: str) -> None:
    expression, first, second = EXPRESSIONS[name]
    with loaded(PROGRAM.format(expression)) as names:
        f = names["f"]
        compiled = jit_grad(f)
        for x, y in itertools.product(first, second):
            expected, found = f(x, y), compiled(x, y)
            close = math.isclose(found, expected, rel_tol=1e-14)
            assert close or (math.isnan(found) and math.isnan(expected)), (x, y, expected, found)


@pytest.mark.parametrize(
    ("expression", "x", "n"),
    [
        ("int(x)", 1e300, 1),
        ("round(x)", -1e19, 1),
        ("math.floor(x)", 9.3e18, 1),
        ("n ** -n", 1.0, 3),
        ("n * n", 1.0, 2**40),
    ],
)
def test_no_handler_takes_limits_of_the_compiler(expression: str, x: float, n: int) -> None:
    """Python computes these; so its handlers are not where the program may go on."""
    body = f"try:\n        return {expression} + 0.0\n    except Exception:\n        return 0.0\n"
    with loaded(f"import math\n\ndef f(x, n):\n    {body}") as names:
        assert names["f"](x, n) != 0.0
        with pytest.raises((OverflowError, ValueError), match=r"64 bits|too large to convert|would be a float"):
            jit_grad(names["f"])(x, n)


def test_what_python_says() -> None:
    with loaded("def f(x):\n    try:\n        return int(x)\n    except OverflowError:\n        return 7\n") as names:
        compiled = jit_grad(names["f"])
        assert compiled(math.inf) == compiled(-math.inf) == 7
        assert compiled(-2.5) == -2
        with pytest.raises(ValueError, match="cannot convert float NaN to integer"):
            compiled(math.nan)
