"""Compiles programs of many kinds and writes the text of each stage, for ``test_one_text``, in its own process.

    python -m tests.backend.one_text FOLDER SEED

Sets of objects are ordered by addresses. Here the order also depends on ``SEED``, so that two processes differ even if
their addresses are alike.
"""

from __future__ import annotations

import json
import random
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import adc
from adc import jit_grad
from adc.backend import optimize
from adc.errors import AdcError
from adc.frontend.data.roots import Root
from adc.ir.core import Block, Func, Op, Value
from adc.passes.analysis.affine import Symbol
from adc.persistent import records
from benchmarks.latency.programs import HEAD, PROGRAMS
from tests.fuzz.check import Subject, loaded
from tests.fuzz.generator import generate
from tests.fuzz.long import generate_long
from tests.fuzz.params import arguments
from tests.stencils import generator as stencils

STAGES = ("traced", "plan", "adjoint", "tangent", "lowered")
MORE = {
    "records in a list": '''
from dataclasses import dataclass

@dataclass
class Cell:
    value: float
    flux: float

def main(x, k):
    cells = [Cell(x * i, 0.0) for i in range(3)]
    table = {"a": x, "b": k, "c": x * k}
    for step in range(20):
        for i in range(3):
            cells[i].flux = k * (cells[(i + 1) % 3].value - cells[i].value) * table["c"]
        for c in cells:
            c.value += 0.1 * math.sin(c.flux)
        for name in ("a", "b", "c"):
            table[name] = 0.5 * (table[name] + cells[0].value)
    return sum(c.value for c in cells) + sum(table.values())

arguments = 0.7, 0.3
argnums = 0, 1
''',
    "buffers that change places": '''
def main(u0, c, n):
    u, v, w, kept = u0.copy(), u0.copy(), u0.copy(), np.zeros(len(u0))
    t = 0
    while t < n and u[0] < 5.0:
        for i in range(1, len(u) - 1):
            w[i] = 2.0 * u[i] - v[i] + c[i] * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        if t % 3 == 0:
            kept += w * w
        u, v, w = w, u, v
        t += 1
    return np.sum(u * kept)

arguments = rng.random(30), 0.2 * rng.random(30), 12
argnums = 0, 1
''',
    "a tree of calls": '''
def tree(x, depth):
    if depth == 0:
        return x * x
    left, right = tree(0.5 * x, depth - 1), tree(x - 0.3, depth - 1)
    return math.sin(left) + left * right

def main(x, a):
    total = 0.0
    for i in range(len(a)):
        total += tree(x * a[i], 3)
    return total

arguments = 0.4, rng.random(5)
argnums = 0, 1
''',
    "a sparse product": '''
def main(values, x, columns, first):
    out = np.empty(len(first) - 1)
    for i in range(len(out)):
        s = 0.0
        for e in range(first[i], first[i + 1]):
            s += values[e] * x[columns[e]]
        out[i] = math.tanh(s)
    return np.sum(out * out)

arguments = rng.random(40), rng.random(9), rng.integers(0, 9, 40), np.arange(0, 41, 4)
argnums = 0, 1
''',
    "early ends": '''
def main(x, limit):
    total, best = 0.0, -1.0
    for i in range(len(x)):
        if x[i] < 0.0:
            continue
        s = 0.0
        for j in range(i, len(x)):
            s += x[i] * x[j]
            if s > limit:
                break
        best = max(best, s)
        total += s * best
    return total

arguments = rng.standard_normal(25), 1.5
argnums = 0, 1
''',
}  # fmt: skip


def scramble(seed: int) -> None:
    """Let sets of what is told apart by its address be in an order of this process's own."""
    for cls in (Value, Op, Block, Func, Symbol, Root):
        assert cls.__hash__ is object.__hash__, cls
        cls.__hash__ = lambda self: hash((id(self), seed))  # type: ignore[assignment]


def programs() -> Iterator[tuple[str, Callable[..., Any], Callable[[], tuple[Any, ...]], tuple[int, ...]]]:
    """Name, function, what makes its arguments, what it is differentiated by."""
    for name, text in {**PROGRAMS, **MORE}.items():
        with loaded(HEAD + text) as names:
            wrt = names["argnums"]
            given = names["arguments"]
            yield name, names["main"], lambda given=given: given, wrt if isinstance(wrt, tuple) else (wrt,)
    for seed in range(14):
        rng = random.Random(seed)
        program = (generate_long if seed % 4 == 3 else generate)(rng, 14, None)
        leaves = arguments(program.params, rng, overlap="prange" not in program.text)
        yield from _random(f"random {seed}", program, leaves)
    for seed in range(14):
        program = stencils.generate(random.Random(seed), small=True)
        yield from _random(f"stencil {seed}", program, program.leaves)


def _random(name: str, program: Any, leaves: Any) -> Iterator[Any]:
    subject = Subject(program, leaves, jit_grad)
    if subject._wrt():
        with loaded(program.text) as names:
            yield name, names["main"], lambda: subject._given(names), subject._wrt()


def main(folder: Path, seed: int) -> None:
    scramble(seed)
    records.name_of = lambda kind, staged: None  # the second process traces, too, and finds objects by their texts
    runs: list[str] = []
    run = optimize._run_pipeline
    optimize._run_pipeline = lambda text, *more: runs.append(name) or run(text, *more)  # type: ignore[func-returns-value]
    key = optimize.object_cache.key
    texts: list[str] = []
    optimize.object_cache.key = lambda text, *more: texts.append(text) or key(text, *more)  # type: ignore[func-returns-value]
    told: dict[str, str] = {}
    for number, (name, function, arguments_of, wrt) in enumerate(programs()):
        texts.clear()
        parts: dict[str, str] = {}
        compiled = jit_grad(argnums=wrt)(function)
        try:
            adc.value_and_grad(compiled, argnums=wrt)(*arguments_of())
        except AdcError as error:
            parts["refused"] = str(error)
        except (ArithmeticError, LookupError, ValueError) as error:
            parts["raised"] = repr(error)
        if number % 6 == 1 and not parts:  # what LLVM gets follows from the other stages
            parts |= {stage: compiled.dump_ir(stage) for stage in STAGES}
        parts |= {f"LLVM IR {n}": text for n, text in enumerate(dict.fromkeys(texts))}
        for stage, text in parts.items():
            told[f"{name}: {stage}"] = text
    (folder / f"{seed}.json").write_text(json.dumps({"texts": told, "runs": runs}))


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), int(sys.argv[2]))
    except BaseException:
        traceback.print_exc()
        sys.exit(1)
