"""The determinant by expansion in minors, recursively. The remaining rows and columns form linked lists of numbers."""

from __future__ import annotations

import numpy as np

import adc
from benchmarks.gradbench import native
from benchmarks.gradbench.program import Call, Input, Program


def minor(a, n, m, rows, columns):
    row = rows[n]
    column = columns[n]
    if m == 1:
        return a[row * n + column]
    total = 0.0
    sign = 1
    rows[n] = rows[row]
    before = n
    for _ in range(m):
        entry = a[row * n + column]
        columns[before] = columns[column]
        smaller = minor(a, n, m - 1, rows, columns)
        columns[before] = column
        if sign > 0:
            total += entry * smaller
        else:
            total -= entry * smaller
        before = column
        column = columns[column]
        sign = -sign
    rows[n] = row
    return total


def primal(a, n):
    rows = np.empty(n + 1, dtype=np.int64)
    columns = np.empty(n + 1, dtype=np.int64)
    for i in range(n):
        rows[i] = i + 1
        columns[i] = i + 1
    rows[n] = 0
    columns[n] = 0
    return minor(a, n, n, rows, columns)


compiled = adc.jit_grad(threads=1)(primal)


def given(rng: np.random.Generator, ell: int) -> Input:
    return {"A": rng.random(ell * ell), "ell": ell}


def by_adc(given: Input) -> dict[str, Call]:
    a, n = np.asarray(given["A"], float), int(given["ell"])
    return {"primal": lambda: compiled(a, n), "gradient": lambda: compiled.grad(a, n)}


def by_c(given: Input) -> dict[str, Call]:
    a, n = np.asarray(given["A"], float), int(given["ell"])
    bar = np.empty_like(a)
    gradient, adjoint = (native.bound("det", name, a, bar, n) for name in ("gradient", "adjoint"))
    return {
        "primal": native.bound("det", "value", a, n),
        "gradient": lambda: (gradient(), bar)[1],
        "gradient, adjoint of the recursion": lambda: (adjoint(), bar)[1],
    }


PROGRAM = Program(
    "det", "gradient", "primal", given, {"ell": 8}, {"ell": 4}, by_adc, by_c, None,
    "C: the determinant of each cofactor, as GradBench's",
)  # fmt: skip
