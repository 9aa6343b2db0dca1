"""C functions in compiled code: differentiated by a rule in all modes, called by Python alike, linked by name."""

from __future__ import annotations

import math
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from scipy import special

import adc
from adc import errors, jit_grad
from adc.cli import main

SOURCE = """
#include <stdint.h>
double mixed(double x, int32_t n, float y, int64_t m) { return x * n + y * m; }
float single(float x) { return x * x; }
int64_t whole(int64_t n) { return n * n; }
double erf(double x) { return 3 * x; }
double twice(double x) { return 2 * x; }
"""
CC = (sysconfig.get_config_var("CC") or "cc").split()[0]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("c")
    (folder / "own.c").write_text(SOURCE)
    made = folder / "libown.so"
    subprocess.run(
        [CC, "-fno-builtin", "-shared", "-fPIC", "-O1", "-o", str(made), str(folder / "own.c")], check=True
    )
    return str(made)


j0 = adc.extern("libm.so.6", "j0", "f64(f64)")
j1 = adc.extern("libm.so.6", "j1", "f64(f64)")
jn = adc.extern("libm.so.6", "jn", "f64(i32, f64)")
adc.scalar_rule(j0, lambda x: -j1(x))
adc.scalar_rule(j1, lambda x: 0.5 * (j0(x) - jn(2, x)))
adc.scalar_rule(jn, None, lambda n, x: 0.5 * (jn(n - 1, x) - jn(n + 1, x)))


def wave(x, n):
    s = 0.0
    for k in range(n):
        s += j0(x + k) * j1(x * k) + jn(3, x) * x
    return s


@pytest.mark.parametrize("engine", ["native", "interpreter"])
def test_values_and_derivatives(engine):
    f = jit_grad(wave, _engine=engine)
    x, h = 0.7, 1e-5
    assert f(x, 4) == pytest.approx(wave(x, 4), rel=1e-14)
    first = sum(
        -special.j1(x + k) * special.j1(x * k)
        + special.j0(x + k) * k * special.jvp(1, x * k)
        + special.jvp(3, x) * x
        + special.jn(3, x)
        for k in range(4)
    )
    assert f.grad(x, 4) == pytest.approx(first, rel=1e-13)
    assert f.jvp((x, 4), (1.0, None))[1] == pytest.approx(first, rel=1e-13)
    second = (f.grad(x + h, 4) - f.grad(x - h, 4)) / (2 * h)
    assert adc.hvp(f, (x, 4), (1.0, None)) == pytest.approx(second, rel=1e-8)
    assert adc.grad(adc.grad(f))(x, 4) == pytest.approx(second, rel=1e-8)


def test_types(library):
    mixed = adc.extern(library, "mixed", "f64(f64, i32, f32, i64)")
    single = adc.extern(Path(library), "single", "f32( f32 )")
    whole = adc.extern(library, "whole", "i64(i64)")

    def f(x, n):
        return mixed(x, n, 0.5, whole(n)) + mixed(1, 2, single(np.float32(3.0)), 1)

    assert f(1.5, 3) == 1.5 * 3 + 0.5 * 9 + 2 + 9
    for engine in ("native", "interpreter"):
        assert jit_grad(f, _engine=engine)(1.5, 3) == f(1.5, 3)
    a = np.arange(5)
    assert jit_grad(lambda a: whole(a[3]))(a) == 9
    assert jit_grad(lambda x: single(x))(np.float32(1.5)).dtype == np.float32


def test_its_name_means_nothing(library):
    own = adc.extern(library, "erf", "f64(f64)")
    adc.scalar_rule(own, 3.0)

    def f(x):
        return own(x) + math.erf(x)

    assert jit_grad(f)(0.5) == 1.5 + math.erf(0.5)
    assert jit_grad(f).grad(0.5) == pytest.approx(3.0 + 2 / math.sqrt(math.pi) * math.exp(-0.25))
    assert jit_grad(lambda: own(2.0))() == 6.0


def test_in_threads_and_arrays():
    def f(a):
        s = np.zeros(len(a))
        for i in adc.prange(len(a)):
            s[i] = j0(a[i])
        return np.sum(s)

    a = np.linspace(0.1, 9.0, 1000)
    assert jit_grad(f)(a) == pytest.approx(np.sum(special.j0(a)), rel=1e-12)
    np.testing.assert_allclose(jit_grad(f).grad(a), -special.j1(a), rtol=1e-11, atol=1e-14)


def test_a_partial_derivative_that_is_not_given(library):
    """None is no zero: where the argument varies it is refused."""
    own = adc.extern("libm.so.6", "hypot", "f64(f64, f64)")
    adc.scalar_rule(own, None, lambda x, y: y / own(x, y))
    f = jit_grad(lambda x, y: own(x, y))
    assert adc.grad(f, argnums=1)(3.0, 4.0) == pytest.approx(0.8)
    for differentiate in (lambda: f.grad(3.0, 4.0), lambda: f.jvp((3.0, 4.0), (1.0, None))):
        with pytest.raises(errors.DifferentiationError, match="gives no derivative by 'x0', which varies here"):
            differentiate()
    zero = adc.extern("libm.so.6", "fdim", "f64(f64, f64)")
    adc.scalar_rule(zero, 0.0, lambda x, y: -1.0)
    assert adc.grad(lambda x, y: zero(x, y))(3.0, 2.0) == 0.0


def test_of_other_types():
    """One symbol, declared twice."""
    narrow = adc.extern("libm.so.6", "ldexp", "f64(f64, i32)")
    wide = adc.extern("libm.so.6", "ldexp", "f64(f64, i64)")

    def f(x, n):
        return narrow(x, n) + 2.0 * wide(x, n)

    assert f(1.5, 3) == 36.0
    for engine in ("native", "interpreter"):
        assert jit_grad(f, _engine=engine)(1.5, 3) == 36.0


def test_without_a_rule_it_has_no_derivative(library):
    bare = adc.extern("libm.so.6", "y0", "f64(f64)")
    f = jit_grad(lambda x: bare(x) * x)
    assert f(1.0) == pytest.approx(special.y0(1.0))
    for differentiate in (lambda: f.grad(1.0), lambda: f.jvp((1.0,), (1.0,))):
        with pytest.raises(errors.DifferentiationError, match="the C function y0 has no derivative rule"):
            differentiate()
    assert jit_grad(lambda x: bare(2.0) * x).grad(1.0) == pytest.approx(special.y0(2.0))


def test_its_value_has_the_rule_in_second_derivatives_too():
    """Where the reverse sweep wants the value of a call with a rule, it is not computed again."""

    def rounded(x):
        return round(x) * 1.0

    adc.scalar_rule(rounded, 1.0)

    def f(x, n):
        s = 0.0
        for k in range(n):
            s += rounded(x + k) * x
        return s

    compiled = jit_grad(f)
    assert compiled.grad(0.7, 3) == pytest.approx(8.1)
    assert adc.hvp(compiled, (0.7, 3), (1.0, None)) == 6.0
    assert adc.grad(adc.grad(compiled))(0.7, 3) == 6.0


def test_bad_input(library):
    with pytest.raises(errors.ArgumentError, match="cannot be loaded"):
        adc.extern("no_such_library.so", "f", "f64(f64)")
    with pytest.raises(errors.ArgumentError, match="no symbol 'nothing'"):
        adc.extern(library, "nothing", "f64(f64)")
    with pytest.raises(errors.ArgumentError, match="this process has no symbol"):
        adc.extern(None, "no_such_symbol_anywhere", "f64(f64)")
    for signature in ("double(double)", "f64", "f64(f64*)", "void(f64)", 3):
        with pytest.raises(errors.ArgumentValueError, match="signature"):
            adc.extern(library, "single", signature)
    with pytest.raises(errors.CompileError, match="takes 1 argument"):
        jit_grad(lambda x: j0(x, x))(1.0)
    with pytest.raises(errors.CompileError, match="takes numbers"):
        jit_grad(lambda a: j0(a))(np.ones(2))
    with pytest.raises(errors.CompileError, match="an integer here"):
        jit_grad(lambda x: jn(x, x))(1.0)
    with pytest.raises(TypeError):
        j0("1")
    with pytest.raises(TypeError):
        jn(1)
    for number in (1 << 31, -(1 << 31) - 1, 1 << 70):
        with pytest.raises(OverflowError, match="does not fit into 32 bits"):
            jn(number, 1.0)
    with pytest.raises(OverflowError):
        jit_grad(lambda n, x: jn(n, x))(1 << 40, 1.0)


def test_object_files_refer_to_it_by_name(tmp_path, library, capsys):
    (tmp_path / "program.py").write_text(
        "import adc\n"
        f"whole = adc.extern({library!r}, 'whole', 'i64(i64)')\n"
        f"mixed = adc.extern({library!r}, 'mixed', 'f64(f64, i32, f32, i64)')\n"
        "adc.scalar_rule(mixed, lambda x, n, y, m: 1.0 * n, None, None, None)\n"
        "def f(x: float, n: int):\n"
        "    return mixed(x * x, n, 1.0, whole(n))\n"
    )
    source = str(tmp_path / "program.py")
    assert main(["compile", f"{source}:f", "-o", str(tmp_path / "f.o")]) == 0
    options = capsys.readouterr().out.split("f.o ")[-1].split()
    assert library in options
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "f.h"\n'
        "int main(void) {\n"
        "  double value, dx;\n"
        "  if (f_grad(1.5, 3, &value, &dx)) return 1;\n"
        '  printf("%g %g", value, dx);\n'
        "  return 0;\n"
        "}\n"
    )
    subprocess.run([CC, "main.c", "f.o", *options, "-o", "main"], check=True, cwd=tmp_path)
    told = subprocess.run([str(tmp_path / "main")], check=True, capture_output=True, text=True).stdout
    assert told.split() == ["15.75", "9"]  # 3 x**2 + 9, 6 x


REFUSED = {
    "functions called erf of two libraries": "other = adc.extern('libm.so.6', 'erf', 'f64(f64)')\n"
    "def f(x: float):\n    return other(x) + own(x)\n",
    "needs another function of that name": "def f(x: float):\n    return own(x) + math.erf(x)\n",
    "it has one of that name itself": "def mixed(x: float):\n    return mixed_c(x, 1, 1.0, 1)\n",
}


@pytest.mark.parametrize("message", REFUSED)
def test_names_that_object_files_cannot_tell_apart(message, tmp_path, library, capsys):
    program = tmp_path / "program.py"
    text = REFUSED[message]
    program.write_text(
        f"import math\nimport adc\nown = adc.extern({library!r}, 'erf', 'f64(f64)')\n"
        f"mixed_c = adc.extern({library!r}, 'mixed', 'f64(f64, i32, f32, i64)')\n{text}"
    )
    name = "mixed" if "def mixed" in text else "f"
    assert main(["compile", f"{program}:{name}", "-o", str(tmp_path / "f.o")]) == 1
    told = capsys.readouterr().err
    assert message in told
    assert f"{program}:" in told
    assert "help:" in told


@pytest.mark.parametrize("ruled", [False, True])
@pytest.mark.parametrize("symbol", ["calloc", "getenv", "close", "adc_alloc"])
def test_names_that_every_object_file_has(symbol, ruled, tmp_path, capsys):
    """What is written in a C library under such a name would be called where memory is needed, or the other way."""
    (tmp_path / "own.c").write_text(f"double {symbol}(double x) {{ return x; }}")
    subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", "libown.so", "own.c"], cwd=tmp_path, check=True)
    rule = "adc.scalar_rule(own, 1.0)\n" * ruled
    program = tmp_path / "program.py"
    program.write_text(
        f"import adc\nown = adc.extern({str(tmp_path / 'libown.so')!r}, {symbol!r}, 'f64(f64)')\n{rule}"
        "def f(x: float):\n    return own(x)\n"
    )
    assert main(["compile", f"{program}:f", "-o", str(tmp_path / "f.o")]) == 1
    told = capsys.readouterr().err
    assert "needs another function of that name" in told and f"{program}:" in told


ADJOINT_OF_ITSELF = {
    "an element": lambda c, a: c(a[0]) * a[1],
    "twice": lambda c, a: c(a[0]) + c(a[0] * 2) * a[1],
    "a sum": lambda c, a: c(np.sum(a * a)),
    "two kinds of float": lambda c, a: c(float(a[0])) + c(a[0]),
    "nested": lambda c, a: c(c(a[0]) * a[1]),
    "single precision": lambda c, a: c(np.float32(a[0])),
}


@pytest.mark.parametrize("kind", ADJOINT_OF_ITSELF)
def test_a_rule_whose_pullback_calls_its_function(kind, library):
    """The cotangent is a Python float where the argument is NumPy's: two signatures that need each other."""
    f, a = ADJOINT_OF_ITSELF[kind], np.array([0.75, 1.5])
    double = adc.extern(library, "twice", "f64(f64)")

    @adc.rrule(double)
    def rule(x):
        return double(x), lambda g: (double(g),)

    compiled = jit_grad(lambda a: f(double, a))
    truth = jit_grad(lambda a: f(lambda x: 2.0 * x, a))
    assert compiled(a) == truth(a)
    np.testing.assert_array_equal(compiled.grad(a), truth.grad(a))
    np.testing.assert_array_equal(adc.grad(lambda a: np.sum(adc.grad(compiled)(a)))(a), adc.hessian(truth)(a).sum(0))
