"""Exceptions that a program raises, in object files: the status, and the message in C."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = '''
class TooMany(ValueError):
    pass


def update(a: "f64[::1]", t: "f32", n: "i64") -> "f64":
    s = 0.0
    for i in range(n):
        if i == 2:
            raise KeyError(f"at {i:03d}: {a[i]:.3f} {t} of {n!r}, {a[0]:>8}, 100%")
        if i == 3:
            raise NotImplementedError
        assert a[i] < 5.0, "too large"
        a[i] += 1.0
        s += a[i]
    if n < 0:
        raise TooMany(f"{n} of 3")
    if n == 0:
        raise OverflowError(n, "args")
    return s
'''


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder: Path = tmp_path_factory.mktemp("raise")
    (folder / "update.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "adc", "compile", "update.py:update", "-o", "update.so", "--emit", "shared"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    loaded = ctypes.CDLL(str(folder / "update.so"))
    loaded.update_message.restype = ctypes.c_char_p
    return loaded


CASES = [
    (1, [1.0, 2.0, 0.25], 0, ""),
    (3, [1.0, 2.0, 0.25], 10, "KeyError: at 002: 0.250 0.5 of 3, 2, 100%"),
    (2, [1.0, 6.0, 0.25], 8, "AssertionError: too large"),
    (0, [1.0, 6.0, 0.25], 9, "OverflowError: 0, args"),
    (-1, [1.0, 6.0, 0.25], 2, "TooMany: -1 of 3"),
]


@pytest.mark.parametrize(("n", "values", "status", "message"), CASES)
def test_statuses(library: ctypes.CDLL, n: int, values: list[float], status: int, message: str) -> None:
    a = (ctypes.c_double * 3)(*values)
    result = ctypes.c_double()
    got = library.update(a, ctypes.c_int64(3), ctypes.c_float(0.5), ctypes.c_int64(n), ctypes.byref(result))
    assert got == status
    if status:
        text = library.update_message().decode()
        assert text.endswith(message) and "update.py:" in text, text
