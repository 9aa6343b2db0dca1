"""Ahead-of-time output: C programs link it, run, and get the bits that the JIT gives."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from adc.backend.ahead import cabi
from adc.backend.ahead.aot import Built, Part, build
from adc.backend.ahead.header import header
from adc.backend.target import for_cpu, host
from adc.ir.core import Module
from adc.ir.text.parser import parse_module
from adc.passes.differentiation import differentiate
from tests.backend.lowering_harness import Native

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

# u += c * v elementwise; returns the sum of sin(u * u), and u[k], and whether c is positive.
UPDATE = """
func.func @update(%u: memref<?xf64>, %v: memref<?x?xf64, strided<[?, 1], offset: ?>>, %c: f64, %k: index)
    -> (f64, f64, i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %v, 0 : memref<?x?xf64, strided<[?, 1], offset: ?>>
  %m = memref.dim %v, 1 : memref<?x?xf64, strided<[?, 1], offset: ?>>
  %total = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (f64) {
    %row = scf.for %j = %c0 to %m step %c1 iter_args(%t = %s) -> (f64) {
      %at = arith.muli %i, %m : index
      %p = arith.addi %at, %j : index
      %x = memref.load %u[%p] : memref<?xf64>
      %y = memref.load %v[%i, %j] : memref<?x?xf64, strided<[?, 1], offset: ?>>
      %cy = arith.mulf %c, %y : f64
      %z = arith.addf %x, %cy : f64
      memref.store %z, %u[%p] : memref<?xf64>
      %zz = arith.mulf %z, %z : f64
      %sin = math.sin %zz : f64
      %t1 = arith.addf %t, %sin : f64
      scf.yield %t1 : f64
    }
    scf.yield %row : f64
  }
  %extent = memref.dim %u, 0 : memref<?xf64>
  %place = adc.bound %k, %extent : index
  %uk = memref.load %u[%place] : memref<?xf64>
  %positive = arith.cmpf ogt, %c, %zero : f64
  func.return %total, %uk, %positive : f64, f64, i1
}
"""

WINDOW = "memref<?xf64, strided<[-2], offset: ?>>"
# A local array of the first n squares, and a window on it: every second element, backwards.
SQUARES = f"""
func.func @squares(%n: index) -> (memref<?xf64>, {WINDOW}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %a = memref.alloc(%n) : memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {{
    %x = arith.sitofp %i : index to f64
    %y = arith.mulf %x, %x : f64
    memref.store %y, %a[%i] : memref<?xf64>
  }}
  %last = arith.subi %n, %c1 : index
  %half = arith.floordivsi %n, %c2 : index
  %step = arith.constant -2 : index
  %w = memref.subview %a[%last][%half][%step] {{static_steps = [-2]}} : memref<?xf64> to {WINDOW}
  func.return %a, %w : memref<?xf64>, {WINDOW}
}}
"""


def build_primal(text: str, function: str, name: str | None = None) -> tuple[Built, Module]:
    module = parse_module(text)
    name = name or function
    built = build([Part(module, (cabi.primal(module, function, name),))], name)
    return built, module


def run_c(folder: Path, built: Built, main: str, *, shared: bool = False, compiler: str = "cc") -> str:
    """Compile ``main`` with the header, link it with what was built, run it; its output."""
    name = built.prefix
    (folder / f"{name}.h").write_text(header(built, f"{name}.py"))
    source = folder / ("main.cc" if compiler == "c++" else "main.c")
    source.write_text(main)
    library = folder / (f"lib{name}.so" if shared else f"{name}.o")
    if shared:
        built.shared(library)
    else:
        library.write_bytes(built.object_code)
    program = folder / "program"
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"]
    command = [compiler, *warnings, str(source), str(library), *built.libraries, "-o", str(program), "-pthread"]
    subprocess.run(command, check=True)
    return subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout


UPDATE_MAIN = """
#include <stdio.h>
#include <string.h>
#include "update.h"
int main(void) {
    double u[12], v[20], total, uk;
    bool positive;
    for (int i = 0; i < 12; i++) u[i] = 0.1 * i - 0.3;
    for (int i = 0; i < 20; i++) v[i] = 1.0 / (i + 1);
    /* v is the left part of a 4 by 5 array */
    int status = update(u, 12, v, 4, 3, 5, 0.7, -2, &total, &uk, &positive);
    if (status != ADC_OK) { printf("%s\\n", update_message()); return 1; }
    unsigned long long bits;
    memcpy(&bits, &total, 8); printf("%llx\\n", bits);
    memcpy(&bits, &uk, 8); printf("%llx\\n", bits);
    printf("%d\\n", positive);
    for (int i = 0; i < 12; i++) { memcpy(&bits, &u[i], 8); printf("%llx\\n", bits); }
    return 0;
}
"""


def bits(x: float) -> str:
    return f"{struct.unpack('<Q', struct.pack('<d', x))[0]:x}"


@needs_cc
@pytest.mark.parametrize("shared", [False, True])
def test_a_c_program_gets_the_bits_of_the_jit(tmp_path: Path, shared: bool) -> None:
    built, module = build_primal(UPDATE, "update")
    lines = run_c(tmp_path, built, UPDATE_MAIN, shared=shared).split()
    u = np.array([0.1 * i - 0.3 for i in range(12)])
    v = np.array([1.0 / (i + 1) for i in range(20)]).reshape(4, 5)[:, :3]
    total, uk, positive = Native(module)("update", u, v, 0.7, -2)
    assert lines == [bits(total), bits(uk), str(int(positive)), *(bits(x) for x in u)]


@needs_cc
def test_the_header_is_also_cplusplus(tmp_path: Path) -> None:
    if shutil.which("c++") is None:
        pytest.skip("no C++ compiler")
    built, _ = build_primal(UPDATE, "update")
    assert len(run_c(tmp_path, built, UPDATE_MAIN, compiler="c++").split()) == 15


FAILURES = """
#include <stdio.h>
#include "update.h"
int main(void) {
    double u[12] = {0}, v[12] = {0}, total = 5;
    int s = update(u, 12, v, 4, 3, 3, 0.7, 99, &total, 0, 0);
    printf("%d|%s|%s|%g\\n", s, update_strerror(s), update_message(), total);
    s = update(u, 12, u, 4, 3, 3, 0.7, 0, &total, 0, 0);
    printf("%d|%s|%s\\n", s, update_strerror(s), update_message());
    s = update(u, -1, v, 0, 0, 0, 0.7, 0, &total, 0, 0);
    printf("%d|%s|%s\\n", s, update_strerror(s), update_message());
    s = update(0, 3, v, 0, 0, 0, 0.7, 0, &total, 0, 0);
    printf("%d|%s|%s\\n", s, update_strerror(s), update_message());
    s = update(u, 12, v, 4, 3, 3, 0.7, 0, 0, 0, 0);
    printf("%d|%s|%s|%s\\n", s, update_strerror(s), update_strerror(-5), update_strerror(1000));
    update_release_memory();
    return 0;
}
"""


@needs_cc
def test_failures_have_a_status_and_a_message(tmp_path: Path) -> None:
    module = parse_module(UPDATE)
    built = build([Part(module, (cabi.primal(module, "update", "update"),))], "update")
    rows = [line.split("|") for line in run_c(tmp_path, built, FAILURES).splitlines()]
    assert rows[0][0] == "1" and "IndexError" in rows[0][2] and "99" in rows[0][2] and "12" in rows[0][2]
    assert rows[0][3] == "5"
    assert rows[1][0] == "6" and rows[1][2] == "update: u and v overlap"
    assert rows[2][0] == rows[3][0] == "5" and "update: u: an array has a negative extent" in rows[2][2]
    assert rows[4][:2] == ["0", "no error"] and rows[4][2] == rows[4][3] == rows[4][3] != ""


SQUARES_MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include "squares.h"
int main(void) {
    for (int round = 0; round < 3; round++) {
        double *a = 0, *w = 0;
        int64_t na[1], nw[1];
        if (squares(7, &a, na, &w, nw)) return 1;
        printf("%lld:", (long long)na[0]);
        for (int i = 0; i < na[0]; i++) printf(" %g", a[i]);
        printf(" %lld:", (long long)nw[0]);
        for (int i = 0; i < nw[0]; i++) printf(" %g", w[i]);
        printf("\\n");
        free(a);
        free(w);
    }
    double *only;
    if (squares(3, 0, 0, &only, 0)) return 1;
    printf("%g\\n", only[0]);
    free(only);
    squares_release_memory();
    return 0;
}
"""


@needs_cc
def test_array_results_are_new_memory(tmp_path: Path) -> None:
    built, _ = build_primal(SQUARES, "squares")
    lines = run_c(tmp_path, built, SQUARES_MAIN).splitlines()
    assert lines == ["7: 0 1 4 9 16 25 36 3: 36 16 4"] * 3 + ["4"]


THREADS = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "squares.h"
static void *work(void *start) {
    long bad = 0;
    for (int n = 1; n < 400; n++) {
        double *a;
        int64_t size;
        if (squares(n + (n % 7) * 100, &a, &size, 0, 0)) { bad++; continue; }
        for (int64_t i = 0; i < size; i++) bad += a[i] != (double)(i * i);
        free(a);
    }
    (void)start;
    return (void *)bad;
}
int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, 0);
    long bad = 0;
    for (int i = 0; i < 4; i++) { void *out; pthread_join(threads[i], &out); bad += (long)out; }
    printf("%ld\\n", bad);
    return 0;
}
"""


@needs_cc
def test_several_threads_may_call(tmp_path: Path) -> None:
    built, _ = build_primal(SQUARES, "squares")
    assert run_c(tmp_path, built, THREADS) == "0\n"


PARALLEL = """
func.func @waves(%a: memref<?xf64>, %b: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %a, 0 : memref<?xf64>
  %total = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%zero) -> (f64) {
    %x = memref.load %a[%i] : memref<?xf64>
    %y = math.sin %x : f64
    memref.store %y, %b[%i] : memref<?xf64>
    scf.reduce(%y : f64) {kinds = ["add"]}
  } {threads = true}
  func.return %total : f64
}
"""
PARALLEL_MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "waves.h"
int main(void) {
    int64_t n = 200000;
    double *a = malloc(n * 8), *b = malloc(n * 8), total;
    for (int64_t i = 0; i < n; i++) a[i] = 1e-3 * i;
    for (int threads = 1; threads <= 3; threads++) {
        unsigned long long bits, sum = 0;
        waves_set_threads(threads);
        if (waves(a, n, b, n, &total)) return 1;
        for (int64_t i = 0; i < n; i++) { memcpy(&bits, &b[i], 8); sum ^= bits * (i + 1); }
        memcpy(&bits, &total, 8);
        printf("%llx %llx\\n", bits, sum);
    }
    return 0;
}
"""


@needs_cc
@pytest.mark.skipif(not host().openmp, reason="no OpenMP runtime")
def test_parallel_loops_do_not_depend_on_the_thread_count(tmp_path: Path) -> None:
    built, module = build_primal(PARALLEL, "waves")
    assert "-fopenmp" in built.libraries
    lines = run_c(tmp_path, built, PARALLEL_MAIN).splitlines()
    assert len(lines) == 3 and len(set(lines)) == 1
    a = 1e-3 * np.arange(200_000)
    (total,) = Native(module)("waves", a, np.zeros_like(a), threads=2)
    assert lines[0].split()[0] == bits(total)


def symbols(path: Path) -> dict[str, str]:
    """Name to nm's letter: T defined and visible, U undefined."""
    rows = subprocess.run(["nm", "-g", str(path)], check=True, capture_output=True, text=True).stdout.splitlines()
    return {row.split()[-1]: row.split()[-2] for row in rows}


@needs_cc
def test_the_object_has_the_interface_and_no_python(tmp_path: Path) -> None:
    built, _ = build_primal(UPDATE, "update")
    path = tmp_path / "update.o"
    path.write_bytes(built.object_code)
    found = symbols(path)
    defined = {name for name, letter in found.items() if letter != "U"}
    shared = {f"update_{name}" for name in ("message", "strerror", "set_threads", "release_memory")}
    assert defined == {"update", *shared}
    assert not [name for name in found if name.startswith(("Py", "_Py", "adc_py", "adc_np", "adc."))]


def test_assembly_llvm_and_another_cpu() -> None:
    module = parse_module(UPDATE)
    parts = [Part(module, (cabi.primal(module, "update", "update"),))]
    built = build(parts, "update", for_cpu("x86-64"))
    assert "update:" in built.assembly() and "zmm" not in built.assembly()
    assert "define" in built.llvm_ir() and "@update(" in built.llvm_ir()


def test_names_are_valid_c() -> None:
    module = parse_module("func.func @f(%x: f64, %y: f64) -> f64 {\n func.return %x : f64\n}")
    module.funcs["f"].arg_attrs[0]["adc.name"] = "double"
    module.funcs["f"].arg_attrs[1]["adc.name"] = "p.0"
    function = cabi.primal(module, "f", "f")
    assert [p.name for p in function.params] == ["double_", "p_0"]
    assert [r.name for r in function.results] == ["result"]


def test_the_header_says_what_each_argument_is() -> None:
    built, _ = build_primal(UPDATE, "update")
    text = header(built, "update.py:3")
    assert "int update(double *u, int64_t u_shape0, double *v, int64_t v_shape0, int64_t v_shape1," in text
    assert "Compiled by adc from update.py:3." in text
    assert "cc main.c update.o -lm" in text
    for line in text.splitlines():
        assert len(line) <= 100 or line.startswith("int ")


# Gradient and pullback ------------------------------------------------------------------------------------------------

SCALAR = UPDATE.replace("-> (f64, f64, i1)", "-> f64").replace(
    "func.return %total, %uk, %positive : f64, f64, i1", "func.return %total : f64"
)


def update_module() -> Module:
    module = parse_module(SCALAR)
    module.funcs["update"].arg_attrs[1]["adc.readonly"] = True
    return module


def build_all() -> tuple[Built, Module, Module]:
    """Primal, gradient and pullback in one object; the modules of the last two."""
    first, second, third = update_module(), update_module(), update_module()
    names = cabi.argument_names(first.funcs["update"])
    differentiate.gradient(second, "update", (0, 1, 2), with_value=True)
    _, plan = differentiate.split(third, "update", (0, 1, 2))
    results = cabi.result_names(first.funcs["update"].result_types)
    parts = [
        Part(first, (cabi.primal(first, "update", "update"),)),
        Part(second, (cabi.gradient(second, "update.grad", "update_grad", names, (0, 1, 2), values=1),)),
        Part(
            third,
            (
                cabi.forward(third, plan.augmented, "update_aug", names, plan.shadows),
                cabi.reverse(
                    third,
                    plan.reverse,
                    "update_rev",
                    names,
                    plan.kept,
                    plan.shadows,
                    {k: results[k] for k in plan.cotangents_in},
                    plan.cotangents_out,
                ),
            ),
        ),
    ]
    return build(parts, "update"), second, third


GRADIENT_MAIN = """
#include <stdio.h>
#include <string.h>
#include "update.h"
static void show(double x) { unsigned long long b; memcpy(&b, &x, 8); printf("%llx\\n", b); }
int main(void) {
    double u[12], v[20], u_grad[12], v_grad[12], value, c_grad;
    for (int i = 0; i < 12; i++) { u[i] = 0.1 * i - 0.3; u_grad[i] = v_grad[i] = 77; }
    for (int i = 0; i < 20; i++) v[i] = 1.0 / (i + 1);
    if (update_grad(u, 12, v, 4, 3, 5, 0.7, -2, u_grad, v_grad, &value, &c_grad)) return 1;
    show(value); show(c_grad);
    for (int i = 0; i < 12; i++) show(u_grad[i]);
    for (int i = 0; i < 12; i++) show(v_grad[i]);
    if (u[3] != 0.1 * 3 - 0.3) return 2;
    /* the pullback, with the cotangent 2, twice */
    void *handle;
    double u_bar[12] = {0}, v_bar[20] = {0}, c_bar;
    if (update_aug(u, 12, v, 4, 3, 5, 0.7, -2, u_bar, v_bar, 5, &handle, &value)) return 3;
    for (int round = 0; round < 2; round++) {
        memset(u_bar, 0, sizeof u_bar);
        memset(v_bar, 0, sizeof v_bar);
        if (update_rev(v, 4, 3, 5, 0.7, u_bar, 12, v_bar, 5, 2.0, handle, &c_bar)) return 4;
        show(c_bar);
        for (int i = 0; i < 12; i++) show(u_bar[i]);
    }
    update_free(handle);
    update_free(0);
    update_release_memory();
    return 0;
}
"""


@needs_cc
def test_gradient_and_pullback_from_c(tmp_path: Path) -> None:
    built, joint, _ = build_all()
    lines = run_c(tmp_path, built, GRADIENT_MAIN).split()
    u = np.array([0.1 * i - 0.3 for i in range(12)])
    v = np.array([1.0 / (i + 1) for i in range(20)]).reshape(4, 5)[:, :3]
    u_grad, v_grad = np.zeros(12), np.zeros((4, 3))
    value, c_grad = Native(joint)("update.grad", u, v, 0.7, -2, u_grad, v_grad)
    expected = [bits(x) for x in (value, c_grad, *u_grad, *v_grad.ravel())]
    assert lines[: len(expected)] == expected
    rest = lines[len(expected) :]
    assert len(rest) == 26 and rest[:13] == rest[13:]  # the pullback may be called again
    doubled = [struct.unpack("<d", struct.pack("<Q", int(word, 16)))[0] for word in rest[:13]]
    np.testing.assert_allclose(doubled, [2 * c_grad, *(2 * u_grad)], rtol=1e-14)


@needs_cc
def test_all_functions_are_in_the_object_and_no_python(tmp_path: Path) -> None:
    built, _, _ = build_all()
    (tmp_path / "update.o").write_bytes(built.object_code)
    found = symbols(tmp_path / "update.o")
    names = ("", "_grad", "_aug", "_rev", "_free", "_message", "_strerror", "_set_threads", "_release_memory")
    assert {name for name, letter in found.items() if letter != "U"} == {f"update{name}" for name in names}
    assert not [name for name in found if "Py" in name or name.startswith("adc")]


@needs_cc
def test_the_header_of_everything_is_valid(tmp_path: Path) -> None:
    built, _, _ = build_all()
    text = header(built, "update.py")
    (tmp_path / "update.h").write_text(text)
    (tmp_path / "twice.c").write_text('#include "update.h"\n#include "update.h"\nint main(void) { return 0; }\n')
    command = ["cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", str(tmp_path / "twice.c")]
    subprocess.run(command, check=True)
    for words in ("overwritten with the derivative with respect to v", "void update_free(void *handle);", "handle"):
        assert words in text
