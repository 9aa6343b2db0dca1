"""C functions with effects, and with arrays: called exactly as often as by Python, and in the same order."""

from __future__ import annotations

import ctypes
import pickle
import random
import re
import shutil
import subprocess
import sysconfig
from typing import Any

import numpy as np
import pytest

import adc
from adc import errors, jit_grad, prange
from adc.cli import main
from tests.fuzz.check import Subject, _direction, loaded
from tests.fuzz.generator import generate
from tests.fuzz.oracle import copies
from tests.fuzz.params import arguments, build

SOURCE = """
#include <stdint.h>
int64_t count;
double trail[10000];
void note(double x) { trail[count++ % 10000] = x; }
double tick(double x) { note(x); return 2 * x; }
int64_t ticks(void) { return count; }
double total(const double *a, int64_t n, int64_t s) {
  double t = 0;
  for (int64_t i = 0; i < n; i++) t += a[i * s];
  return t;
}
void scale(const double *a, int64_t n, int64_t m, double *b, int64_t bn, int64_t bm, int64_t s, int64_t t, double f) {
  for (int64_t i = 0; i < n; i++) for (int64_t j = 0; j < m; j++) b[i * s + j * t] = f * a[i * m + j];
}
int32_t grow(int32_t *a, int64_t n, float *b, int64_t m) {
  for (int64_t i = 0; i < n; i++) { a[i] += i; b[i] *= a[i]; }
  return a[0];
}
"""
CC = (sysconfig.get_config_var("CC") or "cc").split()[0]
note: Any = None  # the C functions, and where they count: of the library that is made below
tick: Any = None
total: Any = None
scale: Any = None
grow: Any = None
COUNT: Any = None
TRAIL: Any = None
pytestmark = pytest.mark.skipif(shutil.which(CC) is None, reason="no C compiler")


@pytest.fixture(scope="module", autouse=True)
def own(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The library; programs find its functions by their names."""
    folder = tmp_path_factory.mktemp("c")
    (folder / "own.c").write_text(SOURCE)
    made = str(folder / "libown.so")
    subprocess.run([CC, "-shared", "-fPIC", "-O1", "-o", made, str(folder / "own.c")], check=True)
    declared = {
        "note": ("void(f64)", "ordered"),
        "tick": ("f64(f64)", "ordered"),
        "total": ("f64(const f64[:])", "none"),
        "scale": ("void(const f64[:, ::1], f64[:, :], f64)", "none"),
        "grow": ("i32(i32[::1], f32[::1])", "none"),
    }
    for name, (signature, effects) in declared.items():
        globals()[name] = adc.extern(made, name, signature, effects=effects)  # type: ignore[arg-type]
    loaded_once = ctypes.CDLL(made)
    globals()["COUNT"] = ctypes.c_int64.in_dll(loaded_once, "count")
    globals()["TRAIL"] = (ctypes.c_double * 10000).in_dll(loaded_once, "trail")
    return made


def trail(f, *args) -> tuple[Any, list[float]]:
    """What a call gives, or that it raises an IndexError; and what it told the C functions."""
    COUNT.value = 0
    try:
        found = f(*args)
    except IndexError:
        found = "IndexError"
    return found, [TRAIL[k] for k in range(COUNT.value)]


# As often, and in order ----------------------------------------------------------------------------------------------


def unused(x):
    tick(x)
    return x


def invariant(x):
    for _ in range(4):
        tick(1.0)
    return x * x


def same_twice(x):
    return x * (tick(3.0) + tick(3.0))


def never(x):
    for _ in range(4):
        if x < 0.0:
            tick(1.0)
    return x


def either(x):
    return x * (tick(1.0) if x > 0.0 else tick(2.0))


def short_circuit(x):
    if (x > 0.0 and tick(1.0) > 0.0) or tick(3.0) > 0.0:
        return x
    return 2.0 * x


def branches(x):
    s = 0.0
    for i in range(5):
        if i % 2 == 0:
            note(1.0 * i)
        else:
            note(-1.0 * i)
        s += x
    return s


def leaves_early(x):
    s = 0.0
    for i in range(10):
        note(s)
        if s > 2.0:
            break
        s += x
    return s


def counts_on(x):
    y = x
    while y < 10.0:
        note(y)
        y *= 2.0
    return y + x


def calls(x):
    return noted(x) * noted(noted(x) + 1.0)


def noted(x):
    note(x)
    return x


def recursive(x):
    return descend(x, 3)


def descend(x, n):
    note(x)
    return x if n == 0 else descend(2.0 * x, n - 1)


def needed_in_reverse(x):
    s = 0.0
    for i in range(4):
        y = tick(1.0 * i)
        s += y * x * x
        x = np.sin(x * y)
    return s


def needed_of_a_callee(x):
    s = 0.0
    for i in range(4):
        s += part(x + 0.1 * s, i)
    return s


def part(x, k):
    return x * x * tick(1.0 * k)


def rows_and_columns(x):
    a = np.zeros((3, 2))
    for j in range(2):
        for i in range(3):
            note(10.0 * i + j)
            a[i, j] = x * i
    return np.sum(a)


def in_parallel(x):
    s = np.zeros(20)
    for i in prange(20):
        note(1.0 * i)
        s[i] = x
    return np.sum(s)


def mapped(x):
    return np.sum(adc.vmap(lambda y: noted(y))(x * np.arange(1, 4)))


def inside(x):
    return adc.grad(lambda y: noted(y) * y)(x)


def listed(x):
    found = []
    for k in range(3):
        found.append(x * tick(1.0 * k))
    return found[0] + found[2]


def raises(x):
    a = np.zeros(3)
    for i in range(5):
        note(1.0 * i)
        a[i] = x
    return a[0]


PROGRAMS = [
    unused, invariant, same_twice, never, either, short_circuit, branches, leaves_early, counts_on, calls, recursive,
    needed_in_reverse, needed_of_a_callee, rows_and_columns, in_parallel, mapped, inside, listed, raises,
]  # fmt: skip


@pytest.mark.parametrize("engine", ["native", "interpreter"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_calls_are_those_of_python(f, engine) -> None:
    compiled = jit_grad(f, _engine=engine)
    x = -0.7 if f in (either, short_circuit) else 0.7
    for number in (x, 1.3) if engine == "native" else (x,):
        value, told = trail(f, number)
        assert trail(compiled, number) == (pytest.approx(value) if isinstance(value, float) else value, told)
        for derivative in (
            compiled.grad,
            compiled.value_and_grad,
            lambda x: compiled.pullback(x)[1](1.0),
            lambda x: compiled.jvp((x,), (1.0,)),
            lambda x: adc.hvp(compiled, (x,), (1.0,)),
        ):
            assert trail(derivative, number)[1] == told


def test_calls_that_llvm_optimises(optimised: None) -> None:
    for f in PROGRAMS:
        compiled = jit_grad(f)
        told = trail(f, 1.3)[1]
        assert trail(compiled, 1.3)[1] == told and trail(compiled.grad, 1.3)[1] == told


def test_a_pullback_does_not_call_again() -> None:
    back = jit_grad(needed_in_reverse).pullback(0.7)[1]
    assert trail(lambda: (back(1.0), back(2.0)))[1] == []


@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed) -> None:
    """Statements of random programs are followed by calls: all that is run makes the calls that Python makes."""
    rng = random.Random(seed)
    program = generate(rng, 10, None)
    leaves = arguments(program.params, rng, overlap=False)
    with loaded(_with_notes(program.text, rng)) as names:

        def given() -> Any:
            return build(program.params, copies(leaves), names)

        subject, f = Subject(program, leaves, None), jit_grad(names["main"])
        tangents = subject._tangents(_direction(leaves, random.Random(1)))
        with np.errstate(all="ignore"):
            told = trail(names["main"], *given())[1]
        for run in (f, adc.grad(f, argnums=subject._wrt()), f.pullback, lambda *a: f.jvp(a, tangents)):
            assert trail(run, *given())[1] == told


def _with_notes(text: str, rng: random.Random) -> str:
    lines = [f"import {__name__} as notes", "note = notes.note"]
    for line in text.split("\n"):
        lines.append(line)
        statement = re.match(r"(\s+)[\w.\[\]:, ]+ [-+*/]?= .*[^\\(,\[{]$", line)
        if statement and rng.random() < 0.4 and all(line.count(a) == line.count(b) for a, b in ("()", "[]")):
            lines.append(f"{statement[1]}note({len(lines)}.0)")
    return "\n".join(lines)


# Derivatives ---------------------------------------------------------------------------------------------------------


def test_without_a_rule_there_is_no_derivative() -> None:
    f = jit_grad(lambda x: tick(x) * x)
    m = np.ones((2, 3))

    def writes(a):
        b = np.zeros((2, 3))
        scale(a, b, 2.0)
        return np.sum(b)

    def overwrites(a):
        scale(m, a, 2.0)
        return np.sum(a)

    for differentiate, name in (
        (lambda: f.grad(1.0), "tick"),
        (lambda: f.pullback(1.0), "tick"),
        (lambda: f.jvp((1.0,), (1.0,)), "tick"),
        (lambda: adc.grad(lambda a: total(a))(np.ones(3)), "total"),
        (lambda: adc.grad(writes)(m), "scale"),
        (lambda: adc.jvp(writes, (m,), (m,)), "scale"),
        (lambda: adc.grad(overwrites)(m.copy()), "scale"),
    ):
        with pytest.raises(errors.DifferentiationError, match=f"the C function {name} has no derivative rule"):
            differentiate()
    # What does not vary needs none.
    assert adc.grad(lambda x, a: x * total(a))(3.0, np.ones(4)) == 4.0


def test_rules(own) -> None:
    """The rule's function is called once for each call, the pullback once for each of them, in reversed order."""
    double = adc.extern(own, "tick", "f64(f64)", effects="ordered")

    @adc.rrule(double)
    def rule(x):
        return double(x), lambda g: (double(g),)

    def f(x, n):
        for _ in range(n):
            x = double(x) * 1.5
        return x

    compiled = jit_grad(f)
    assert trail(compiled, 1.0, 3) == trail(f, 1.0, 3) == (27.0, [1.0, 3.0, 9.0])
    assert trail(compiled.grad, 1.0, 3) == (27.0, [1.0, 3.0, 9.0, 1.5, 4.5, 13.5])
    # The pullback is not left out because its cotangent is zero.
    assert trail(jit_grad(lambda x: 0.0 * double(x)).grad, 2.0) == (0.0, [2.0, 0.0])


def test_a_rule_with_arrays() -> None:
    def scaled(a, f):
        b = np.empty_like(a)
        scale(a, b, f)
        return b

    @adc.rrule(scaled)
    def rule(a, f):
        return scaled(a, f), lambda g: (scaled(g, f), np.sum(g * a))

    a = np.arange(6.0).reshape(2, 3)
    by_a, by_f = adc.grad(lambda a, f: np.sum(scaled(a * a, f) * a), argnums=(0, 1))(a, 2.0)
    np.testing.assert_allclose(by_a, 6.0 * a * a, rtol=1e-15)
    assert by_f == np.sum(a * a * a)


def test_steps_are_not_run_again() -> None:
    def f(x, n):
        for i in range(n):
            note(1.0 * i)
            for _ in range(2):
                x = np.sin(x)
        return x

    def asked(x, n):
        for i in adc.steps(n, checkpoint=adc.revolve(3)):
            note(1.0 * i)
            x = np.sin(x)
        return x

    @adc.checkpoint
    def again(x):
        note(x)
        return np.sin(x) * x

    budgeted = jit_grad(f, memory=10**6)
    assert trail(budgeted.grad, 1.0, 10)[1] == [1.0 * i for i in range(10)]
    with pytest.raises(errors.DifferentiationError, match="effects are in order"):
        jit_grad(f, checkpoint=adc.revolve(3)).grad(1.0, 10)
    with pytest.raises(errors.DifferentiationError, match="cannot be run again: it prints, or calls a C function"):
        adc.grad(asked)(1.0, 10)
    gradient, told = trail(adc.grad(lambda x: again(again(x))), 1.0)
    assert told == [1.0, np.sin(1.0)]
    assert gradient == adc.grad(lambda x: np.sin(np.sin(x) * x) * (np.sin(x) * x))(1.0)


def test_the_report_says_why_a_loop_runs_in_order() -> None:
    f = jit_grad(in_parallel)
    f.grad(1.0)
    assert "in order: note has effects that are in order" in str(f.report())


# Arrays --------------------------------------------------------------------------------------------------------------


def stores_are_seen(m):
    b = np.empty((2, 3))
    b[0, 0] = 5.0
    scale(m, b, 2.0)
    x = b[0, 0]
    scale(m, b, 3.0)
    return x + 10.0 * b[0, 0]


def stores_are_made(m):
    v = np.zeros(3)
    v[1] = m[1, 1]
    first = total(v)
    v[1] = 7.0
    return 100.0 * first + total(v)


def in_a_loop(m):
    s = 0.0
    for i in range(3):
        m[1, i] += 1.0
        s += total(m[1])
    return s


def strides(m):
    b = np.zeros((3, 2))
    scale(m, b.T, 2.0)
    return total(b[:, 1]) + 10.0 * total(m[::-1, 2]) + 100.0 * total(m[0] * 2.0 + 1.0)


def one_memory(m):
    scale(m, m, 2.0)
    return np.sum(m)


@pytest.mark.parametrize("engine", ["native", "interpreter"])
@pytest.mark.parametrize("f", [stores_are_seen, stores_are_made, in_a_loop, strides, one_memory])
def test_arrays(f, engine) -> None:
    mine, theirs = (np.arange(1.0, 7.0).reshape(2, 3) for _ in range(2))
    assert jit_grad(f, _engine=engine)(mine) == f(theirs)
    np.testing.assert_array_equal(mine, theirs)


def test_dtypes_and_empty_arrays() -> None:
    def f(a, b):
        return grow(a, b) + 10

    given = [(np.arange(3, dtype=np.int32), np.ones(3, np.float32)) for _ in range(2)]
    assert jit_grad(f)(*given[0]) == f(*given[1])
    for mine, theirs in zip(*given, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert jit_grad(lambda a: total(a))(np.zeros(0)) == 0.0


CAPTURED = np.zeros((2, 3))
WRONG_CALLS = {
    "captured from outside": lambda m: scale(m, CAPTURED, 1.0),
    r"takes const f64\[:\] here, not a 2-D": lambda m: total(m),
    r"takes const f64\[:\] here, not float": lambda m: total(1.0),
    "may not be C-contiguous": lambda m: scale(m.T, m, 2.0),
    r"takes i32\[::1\] here, not a 1-D float64 array": lambda m: grow(m[0], m[1]),
    "note.. takes numbers": lambda m: note(m),
    "takes 3 arguments here, got 1": lambda m: scale(m),
}


@pytest.mark.parametrize("message", WRONG_CALLS)
def test_wrong_calls(message) -> None:
    f = WRONG_CALLS[message]
    with pytest.raises(errors.CompileError, match=message):
        jit_grad(lambda m: f(m))(np.ones((2, 3)))


def test_wrong_calls_by_python() -> None:
    m = np.ones((2, 3))
    protected = m.copy()
    protected.flags.writeable = False
    for call, message in (
        (lambda: total(3.0), "3.0 is no array"),
        (lambda: total(np.ones(3, np.float32)), "of float32 with 1 dimensions"),
        (lambda: total(m), "with 2 dimensions"),
        (lambda: scale(m.T, m, 1.0), "argument 1 .* not C-contiguous"),
        (lambda: scale(m, protected, 1.0), "argument 2 .* read-only"),
        (lambda: scale(m, m), "takes 3 arguments, got 2"),
    ):
        with pytest.raises(TypeError, match=message):
            call()


def test_wrong_declarations(own) -> None:
    wrong = ("void(f64)", "void(const f64[:])", "f64(f64[::1, :])", "f64(const f64)", "f64(f64[:]", "f64(bool[:])")
    for signature in wrong:
        with pytest.raises(errors.ArgumentValueError):
            adc.extern(own, "tick", signature)
    with pytest.raises(errors.ArgumentValueError, match="effects cannot be 'pure'"):
        adc.extern(own, "tick", "f64(f64)", effects="pure")  # type: ignore[arg-type]


def test_pickled(own) -> None:
    again = pickle.loads(pickle.dumps(note))
    assert trail(jit_grad(lambda x: (again(x), again(x))), 2.0)[1] == [2.0, 2.0] and again.ordered


def test_object_files(own, tmp_path, capsys) -> None:
    (tmp_path / "program.py").write_text(
        "import adc\nimport numpy as np\n"
        f"note = adc.extern({own!r}, 'note', 'void(f64)', effects='ordered')\n"
        f"scale = adc.extern({own!r}, 'scale', 'void(const f64[:, ::1], f64[:, :], f64)')\n"
        "def f(a: 'f64[:, ::1]', x: float):\n"
        "    for i in range(3):\n"
        "        note(1.0)\n"
        "    scale(a, a.T, 2.0)\n"
        "    return a[1, 0] * x * x\n"
    )
    source = str(tmp_path / "program.py")
    assert main(["compile", f"{source}:f", "-o", str(tmp_path / "f.o"), "--argnums", "1"]) == 0
    options = capsys.readouterr().out.split("f.o ")[-1].split()
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "f.h"\n'
        "extern int64_t ticks(void);\n"
        "int main(void) {\n"
        "  double a[4] = {1, 2, 3, 4}, value, dx;\n"
        "  if (f_grad(a, 2, 2, 3.0, &value, &dx)) return 1;\n"
        '  printf("%g %g %d %g ", value, dx, (int)ticks(), a[2]);\n'
        "  if (f(a, 2, 2, 3.0, &value)) return 1;\n"
        '  printf("%g %d %g", value, (int)ticks(), a[2]);\n'
        "}\n"
    )
    subprocess.run([CC, "main.c", "f.o", *options, "-o", "main"], check=True, cwd=tmp_path)
    told = subprocess.run([str(tmp_path / "main")], check=True, capture_output=True, text=True).stdout
    assert told.split() == ["36", "24", "3", "3", "36", "6", "4"]
