"""C++ and Fortran programs that call ahead-of-time output get Python's bits: values, gradients, pullbacks, tangents."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adc.backend.target import host
from adc.cli import main
from adc.commands.loading import load_all

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "oscillator"
PROGRAM = """\
import numpy as np
from adc import jit_grad


@jit_grad(argnums=(0, 1), parallel=False)
def heat(u: "f64[:, ::1]", r: "f64", steps: "i64"):
    v = u.copy()
    for _ in range(steps):
        w = v.copy()
        w[1:-1, 1:-1] += r * (v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2] - 4.0 * v[1:-1, 1:-1])
        v = w
    return np.sum(v / (1.0 + v * v))


@jit_grad(parallel=False)
def smooth(x: "f64[:]", k: "f64"):
    y = x.copy()
    y[1:] += k * x[:-1] ** 2
    return y, np.sum(y)
"""
CPP = """\
#include <cstdio>
#include <vector>
#include "both.hpp"
using namespace both_cpp;

template <class Range> void show(const char *name, const Range &values) {
    std::printf("%s", name);
    for (auto value : values) std::printf(" %a", static_cast<double>(value));
    std::printf("\\n");
}

int main() {
    std::vector<double> u, v;
    std::vector<float> single;
    for (int k = 0; k < 20; k++)
        u.push_back(0.3 * k - 0.01 * k * k), v.push_back(1.0 / (k + 1)), single.push_back(u[k]);
    std::vector<double> u_grad(20), u_bar(20);
    adc::view<double, 2> grid(u.data(), 4, 5), gradient(u_grad.data(), 4, 5);
    show("value", std::vector{heat(grid, 0.2, 3)});
    auto g = heat_grad(grid, 0.2, 3, gradient);
    show("grad", u_grad);
    show("by_r", std::vector{g.result, g.r_grad});
    auto t = heat_jvp(grid, 0.2, 3, adc::view<double, 2>(v.data(), 4, 5), 0.5);
    show("jvp", std::vector{t.result, t.result_dot});
    auto forward = heat_aug(grid, 0.2, 3, adc::view<double, 2>(u_bar.data(), 4, 5));
    double r_bar = heat_rev(grid, 0.2, 3, adc::view<double, 2>(u_bar.data(), 4, 5), 1.5, forward.handle);
    u_bar.push_back(r_bar);
    show("pullback", u_bar);
    show("single", std::vector{heat(adc::view<float, 2>(single.data(), 4, 5), 0.2f, 3)});
    auto s = smooth(std::span<double>(u).subspan(0, 6), 0.5);
    show("array", s.result0.span());
    auto every = smooth(adc::view<double, 1>(u.data(), {10}, {2}), 0.5);
    show("strided", every.result0.span());
    std::vector<double> x_bar(6), y_bar(v.begin(), v.begin() + 6);
    adc::view<double, 1> part(u.data(), 6);
    auto kept = smooth_aug(part, 0.5, x_bar);
    x_bar.push_back(smooth_rev(part, 0.5, adc::view<double, 1>(x_bar.data(), 6), y_bar, 2.0, kept.handle));
    show("arrays", x_bar);
    std::vector<double> wrong(3);
    try {
        heat_grad(grid, 0.2, 3, adc::view<double, 2>(wrong.data(), 1, 3));
    } catch (const std::invalid_argument &e) {
        std::printf("refused %s\\n", e.what());
    }
    try {
        heat_jvp(grid, 0.2, 3, grid, 1.0), smooth_aug(part, 0.5, part);
    } catch (const adc::error &e) {
        std::printf("failed %d\\n", e.status == ADC_OVERLAP);
    }
}
"""
FORTRAN = """\
program main
    use, intrinsic :: iso_c_binding
    use both_module
    implicit none
    real(c_double) :: u(5, 4), v(5, 4), u_grad(5, 4), u_bar(5, 4), total, total_dot, r_grad, r_bar
    real(c_double), pointer :: y(:)
    type(c_ptr) :: handle, memory
    integer(c_int64_t) :: extents(1)
    integer :: i, j, k
    do j = 1, 4
        do i = 1, 5
            k = 5 * (j - 1) + i - 1
            u(i, j) = 0.3d0 * k - 0.01d0 * k * k
            v(i, j) = 1.0d0 / (k + 1)
        end do
    end do
    call check(heat(u, 4_c_int64_t, 5_c_int64_t, 0.2d0, 3_c_int64_t, total))
    call show('value', [total])
    call check(heat_grad(u, 4_c_int64_t, 5_c_int64_t, 0.2d0, 3_c_int64_t, u_grad, total, r_grad))
    call show('grad', reshape(u_grad, [20]))
    call show('by_r', [total, r_grad])
    call check(heat_grad(u, 4_c_int64_t, 5_c_int64_t, 0.2d0, 3_c_int64_t, u_grad))
    call check(heat_jvp(u, 4_c_int64_t, 5_c_int64_t, 0.2d0, 3_c_int64_t, v, 0.5d0, total, total_dot))
    call show('jvp', [total, total_dot])
    u_bar = 0
    call check(heat_aug(u, 4_c_int64_t, 5_c_int64_t, 0.2d0, 3_c_int64_t, u_bar, handle, total))
    call check(heat_rev(u, 4_c_int64_t, 5_c_int64_t, 0.2d0, 3_c_int64_t, u_bar, 1.5d0, handle, r_bar))
    call heat_free(handle)
    call show('pullback', [reshape(u_bar, [20]), r_bar])
    call check(smooth(u, 6_c_int64_t, 1_c_int64_t, 0.5d0, memory, extents, total))
    call c_f_pointer(memory, y, extents)
    call show('array', y)
    call adc_free(memory)
    if (heat_jvp(u, 4_c_int64_t, 5_c_int64_t, 0.2d0, -1_c_int64_t, u, 1.0d0) /= 0) stop 2
    if (heat_grad(u, -4_c_int64_t, 5_c_int64_t, 0.2d0, 3_c_int64_t, u_grad) == 0) stop 3
    print '(2a)', 'message ', adc_text(both_message())
contains
    subroutine check(status)
        integer(c_int), intent(in) :: status
        if (status /= 0) stop 1
    end subroutine check
    subroutine show(name, values)
        character(len=*), intent(in) :: name
        real(c_double), intent(in) :: values(:)
        print '(a, *(1x, z16.16))', name, values
    end subroutine show
end program main
"""
SIGNATURES = ("heat(f64[:, ::1], f64, i64)", "heat(f32[:, ::1], f32, i64) as heat_f32")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("languages")
    (folder / "program.py").write_text(PROGRAM)
    given = [x for text in SIGNATURES for x in ("--signature", text)]
    target = f"{folder / 'program.py'}:heat,smooth"
    command = ["compile", target, *given, "-o", str(folder / "both.o"), "--cpp", "--fortran", "--no-threads"]
    assert main(command) == 0
    return folder


@pytest.fixture(scope="module")
def expected(built: Path) -> dict[str, list[float]]:
    """What Python gets, of machine code that is as optimised as the object."""
    heat, smooth = load_all(f"{built / 'program.py'}:heat,smooth")
    k = np.arange(20.0)
    u, v = (0.3 * k - 0.01 * k * k).reshape(4, 5), (1.0 / (k + 1)).reshape(4, 5)
    value, (u_grad, r_grad) = heat.value_and_grad(u, 0.2, 3)
    _, back = heat.pullback(u, 0.2, 3)
    u_bar, r_bar, _ = back(1.5)
    x = u.ravel()[:6]
    _, pulled = smooth.pullback(x, 0.5)
    x_bar, k_bar = pulled((v.ravel()[:6], 2.0))
    found: dict[str, Any] = {
        "value": [heat(u, 0.2, 3)],
        "grad": u_grad.ravel(),
        "by_r": [value, r_grad],
        "jvp": heat.jvp((u, 0.2, 3), (v, 0.5, None)),
        "pullback": [*u_bar.ravel(), r_bar],
        "single": [heat(u.astype(np.float32), np.float32(0.2), 3)],
        "array": smooth(x, 0.5)[0],
        "strided": smooth(u.ravel()[::2], 0.5)[0],
        "arrays": [*x_bar, k_bar],
    }
    return {name: [float(value) for value in values] for name, values in found.items()}


def test_cplusplus(built: Path, expected: dict[str, list[float]]) -> None:
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    (built / "main.cpp").write_text(CPP)
    command = [compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "main.cpp", "both.o", "-lm", "-lmvec"]
    subprocess.run([*command, "-o", "cpp"], cwd=built, check=True)
    run = subprocess.run([built / "cpp"], capture_output=True, text=True, check=True)
    lines = {line.split()[0]: line.split()[1:] for line in run.stdout.splitlines()}
    assert " ".join(lines.pop("refused")) == "u_grad must have the shape of u"
    assert lines.pop("failed") == ["1"]
    assert {name: [float.fromhex(value) for value in values] for name, values in lines.items()} == expected


def test_fortran(built: Path, expected: dict[str, list[float]]) -> None:
    compiler = shutil.which("gfortran")
    if compiler is None:
        pytest.skip("no Fortran compiler")
    (built / "main.f90").write_text(FORTRAN)
    command = [compiler, "-std=f2018", "-Wall", "-Werror", "both.f90", "main.f90", "both.o"]
    subprocess.run([*command, "-lm", "-lmvec", "-o", "fortran"], cwd=built, check=True)
    run = subprocess.run([built / "fortran"], capture_output=True, text=True, check=True)
    lines = {line.split()[0]: line.split()[1:] for line in run.stdout.splitlines()}
    assert "negative" in " ".join(lines.pop("message"))
    found = {
        name: [float(np.array(int(value, 16), np.uint64).view(np.float64)) for value in values]
        for name, values in lines.items()
    }
    assert found == {name: expected[name] for name in found} and len(found) == 6


@pytest.mark.usefixtures("optimised")
def test_without_threads_nothing_but_the_c_library_is_needed(built: Path, tmp_path: Path) -> None:
    """Of an object as users have it, without the run-time support that nothing calls."""
    if shutil.which("nm") is None:
        pytest.skip("no nm")
    file = tmp_path / "smooth.o"
    assert main(["compile", f"{built / 'program.py'}:smooth", "-o", str(file), "--no-threads"]) == 0
    run = subprocess.run(["nm", "-u", file], capture_output=True, text=True, check=True)
    names = {line.split()[-1] for line in run.stdout.splitlines() if line.split()[:1] == ["U"]}
    known = "calloc close free getenv madvise malloc memcpy memmove memset mmap munmap open pthread_self realloc "
    known += "sched_yield snprintf strtol sysconf __tls_get_addr unlink ftruncate sin cos sincos sinf cosf sincosf"
    assert {name for name in names if not name.startswith("_ZGV")} <= set(known.split())
    run = subprocess.run(["nm", "-g", "--defined-only", built / "both.o"], capture_output=True, text=True, check=True)
    names = {line.split()[-1] for line in run.stdout.splitlines() if line}
    assert {name.split("_")[0] for name in names} == {"heat", "smooth", "both"}


def test_signatures_must_say_of_which_function(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = f"{built / 'program.py'}:heat,smooth"
    for given, message in (
        (["f64[:], f64"], "does not say of which function"),
        (["other(f64)"], "other is not compiled here"),
        (["smooth(f64[:], f64)", "smooth(f32[:], f32)"], "two functions would be called smooth in C"),
    ):
        options = [x for text in given for x in ("--signature", text)]
        assert main(["compile", target, *options, "-o", str(built / "no.o")]) == 1
        assert message in capsys.readouterr().err
    assert main(["compile", target, "--emit", "llvm", "--cpp"]) == 1
    assert "no interface" in capsys.readouterr().err


def command_adc(folder: Path) -> dict[str, str]:
    """Put a command ``adc`` into a folder; the environment that finds it."""
    adc = folder / "adc"
    adc.write_text(f'#!/bin/sh\nPYTHONPATH="{EXAMPLE.parents[1]}" exec "{sys.executable}" -m adc "$@"\n')
    adc.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


BUILDS = {
    "cmake": (["cmake", "-S", str(EXAMPLE), "-B", "build"], ["cmake", "--build", "build"], "make"),
    "meson": (["meson", "setup", "build", str(EXAMPLE)], ["meson", "compile", "-C", "build"], "ninja"),
}


@pytest.mark.parametrize("tool", BUILDS)
def test_the_example_builds(tool: str, tmp_path: Path) -> None:
    *commands, runner = BUILDS[tool]
    for needed in (tool, runner, "c++"):
        if shutil.which(needed) is None:
            pytest.skip(f"{needed} is not installed")
    environment = command_adc(tmp_path)
    for command in commands:
        subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True)
    run = subprocess.run([tmp_path / "build" / "oscillator"], capture_output=True, text=True, check=True)
    assert run.stdout == "stiffness 2.0000 damping 0.3000\n"


def test_the_header_serves_cffi(built: Path, expected: dict[str, list[float]], tmp_path: Path) -> None:
    cffi = pytest.importorskip("cffi")
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    given = [x for text in SIGNATURES for x in ("--signature", text)]
    target = f"{built / 'program.py'}:heat,smooth"
    assert main(["compile", target, *given, "--emit", "shared", "-o", str(tmp_path / "both.so"), "--no-threads"]) == 0
    ffi = cffi.FFI()
    with open(tmp_path / "both.h") as header:
        ffi.cdef("".join(line for line in header if not line.startswith(("#", "extern", "}\n"))))
    lib = ffi.dlopen(str(tmp_path / "both.so"))
    k = np.arange(20.0)
    u, gradient = 0.3 * k - 0.01 * k * k, np.zeros(20)
    pointer, value, by_r = ffi.from_buffer("double[]", u), ffi.new("double *"), ffi.new("double *")
    assert lib.heat_grad(pointer, 4, 5, 0.2, 3, ffi.from_buffer("double[]", gradient), value, by_r) == lib.ADC_OK
    assert gradient.tolist() == expected["grad"] and [value[0], by_r[0]] == expected["by_r"]
    assert lib.heat(pointer, -4, 5, 0.2, 3, value) == lib.ADC_BAD_ARGUMENT
    assert "negative" in ffi.string(lib.both_message()).decode()


@pytest.mark.usefixtures("optimised")
def test_one_object_with_code_for_three_levels_of_processors(built: Path, tmp_path: Path) -> None:
    """The processor takes the highest that it has: the same bits as of code for that level alone."""
    if shutil.which("cc") is None or platform.machine() != "x86_64":
        pytest.skip("no C compiler, or no x86-64")
    (tmp_path / "main.c").write_text(LEVELS)
    own = "v4" if host().has("avx512f") else "v3" if host().has("avx2") else "v2"
    printed = set()
    for cpu in (own, "v2,v3,v4"):
        command = ["compile", f"{built / 'program.py'}:heat", "--cpu", cpu, "--no-threads"]
        assert main([*command, "-o", str(tmp_path / "heat.o")]) == 0
        link = ["cc", "main.c", "heat.o", "-lm", "-lmvec", "-o", "main"]
        subprocess.run(link, cwd=tmp_path, check=True)
        run = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
        printed.add(run.stdout)
    assert len(printed) == 1 and "0x" in printed.pop()
    text = tmp_path / "heat.s"
    assert main([*command[:2], "--cpu", "v2,v3,v4", "--no-threads", "--emit", "asm", "-o", str(text)]) == 0
    assert "@gnu_indirect_function" in text.read_text() and "cpuid" in text.read_text()


def test_levels_are_of_x86(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", f"{built / 'program.py'}:heat", "--cpu", "v3,znver4", "-o", str(built / "no.o")]) == 1
    assert "levels of x86-64" in capsys.readouterr().err


LEVELS = """\
#include <stdio.h>
#include "heat.h"
int main(void) {
    double u[20], gradient[20] = {0}, bar[20] = {0}, value, by_r, r_bar;
    void *handle;
    for (int k = 0; k < 20; k++) u[k] = 0.3 * k - 0.01 * k * k;
    int failed = heat_grad(u, 4, 5, 0.2, 3, gradient, &value, &by_r);
    failed |= heat_aug(u, 4, 5, 0.2, 3, bar, &handle, &value);
    failed |= heat_rev(u, 4, 5, 0.2, 3, bar, 1.5, handle, &r_bar);
    heat_free(handle);
    printf("%d %a %a %a", failed, value, by_r, r_bar);
    for (int k = 0; k < 20; k++) printf(" %a %a", gradient[k], bar[k]);
    failed = heat_grad(u, -4, 5, 0.2, 3, gradient, &value, &by_r);
    printf(" %d %s %s\\n", failed, heat_strerror(failed), heat_message());
    return 0;
}
"""
