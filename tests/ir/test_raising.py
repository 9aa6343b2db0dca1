"""Messages of exceptions: templates against Python's formatting."""

from __future__ import annotations

import numpy as np
import pytest

from adc.ir.core import Loc
from adc.ir.raising import escape, exception, places

CASES = [
    (("plain",), [], ValueError("plain")),
    ((escape("{} {x} }{"),), [], ValueError("{} {x} }{")),
    (("x = {float}",), [0.1], ValueError(f"x = {0.1}")),
    (("{float64!r} {float64}",), [0.5, 0.25], ValueError(f"{np.float64(0.5)!r} {np.float64(0.25)}")),
    (("{float32}",), [0.1], ValueError(f"{np.float32(0.1)}")),
    (("{int:05d}|{int!r:>4}|{bool}",), [7, 8, True], ValueError(f"{7:05d}|{8!r:>4}|{True}")),
    (("{float:{int}.{int}f}",), [2.5, 9, 3], ValueError(f"{2.5:{9}.{3}f}")),
    (("{float!%:+8.2e}{int!%:-5d}",), [2.5, 3], ValueError("+2.50e+003    ")),
    (("{int!v}", "{float64!v}", "{None!v}", "{bool!v}"), [3, 2.5, False], ValueError(3, np.float64(2.5), None, False)),
    ((), [], ValueError()),
    (("{float:d}",), [1.0], ValueError("Unknown format code 'd' for object of type 'float'")),
]


@pytest.mark.parametrize(("message", "values", "expected"), CASES, ids=[str(c[0]) for c in CASES])
def test_message(message: tuple[str, ...], values: list[object], expected: ValueError) -> None:
    made = exception("ValueError", message, values, Loc("heat.py", 3, 4))
    assert type(made) is ValueError and str(made) == str(expected) and repr(made.args) == repr(expected.args)
    assert "heat.py:3" in "".join(made.__notes__)
    assert places(message) == len(values)


def test_other_types_are_no_templates() -> None:
    with pytest.raises(ValueError, match="no type 'complex'"):
        places(("{complex}",))
