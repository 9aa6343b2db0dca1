"""The command line: what it prints, writes and returns."""

from __future__ import annotations

import contextlib
import ctypes
import io
import math
import os
import pty
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from adc import jit_grad
from adc.backend import optimize
from adc.backend.target import host
from adc.cli import main
from adc.ir.interpret import interpreter
from adc.ir.text.parser import parse_module

ROOT = Path(__file__).resolve().parent.parent

PROGRAM = """\
import math
import numpy as np
from adc import jit_grad


@jit_grad
def energy(u: "f64[:, ::1]", k: "f64"):
    total = 0.0
    for i in range(u.shape[0]):
        for j in range(u.shape[1]):
            total += math.sin(k * u[i, j])
    return total


@jit_grad
def untyped(x, n):
    return x ** n


def plain(x: "f64") -> "f64":
    return x * x


@jit_grad
def refused(x: "f64"):
    with open("file"):
        x += 1.0
    return x


@jit_grad
def scaled(v: "f64[::1]", x: "f64"):
    for i in range(len(v)):
        v[i] *= x


TABLE = np.ones(3)


@jit_grad
def reads_global(x: "f64"):
    return x * TABLE[1]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "one.py").write_text("def only(x: 'f64'):\n    return x * x\n")
    (tmp_path / "broken.py").write_text("def f(x):\n    return x +\n")
    (tmp_path / "raises.py").write_text("a = 1\nb = a / 0\n")
    return tmp_path


def adc(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The command, run in this process, which takes a fraction of the time of one of its own."""
    told, errors = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        mock.patch.dict(os.environ, variables),
        contextlib.redirect_stdout(told),
        contextlib.redirect_stderr(errors),
    ):
        try:
            code = main(arguments)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    return subprocess.CompletedProcess(arguments, code, told.getvalue(), errors.getvalue())


def process(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, as users have it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    command = [sys.executable, "-m", "adc", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, check=False)


def test_object_and_header(folder: Path) -> None:
    run = process(folder, "compile", "program.py:energy", "-o", "energy.o")
    assert run.returncode == 0, run.stderr
    functions = "energy, energy_grad, energy_grad_in, energy_grad_workspace_bytes, energy_jvp, energy_aug, energy_rev"
    written = f"wrote energy.o and energy.h: {functions}\n"
    assert run.stdout.startswith(written)
    assert "link with: cc main.c energy.o -lm" in run.stdout
    assert (folder / "energy.o").read_bytes()[:4] == b"\x7fELF"
    header = (folder / "energy.h").read_text()
    for word in ("energy(", "energy_grad(", "u_shape0", "double *u_grad", "double k"):
        assert word in header, word
    symbols = (folder / "energy.o").read_bytes()
    assert b"Py_" not in symbols and b"PyObject" not in symbols


LINEAR = """
import numpy as np

def solved(a, b):
    return np.sum(np.linalg.solve(a, b) ** 2)
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_library_functions_are_in_the_object(folder: Path) -> None:
    """What is compiled by itself for Python, and LAPACK, which only a process with SciPy has."""
    (folder / "linear.py").write_text(LINEAR)
    types = ["--signature", "f64[:, ::1], f64[::1]"]
    made = adc(folder, "compile", "linear.py:solved", *types, "--emit", "shared", "-o", "linear.so")
    assert made.returncode == 0, made.stderr
    library = ctypes.CDLL(str(folder / "linear.so"))
    a, b, result = np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([1.0, 4.0]), ctypes.c_double()
    address, n = ctypes.c_void_p, ctypes.c_int64
    given = address(a.ctypes.data), n(2), n(2), address(b.ctypes.data), n(2)
    assert library.solved(*given, ctypes.byref(result)) == 0
    assert result.value == pytest.approx(float(np.sum(np.linalg.solve(a, b) ** 2)))


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_object_code_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADC_CACHE_DIR", str(folder / "cache"))
    levels: list[int] = []

    def counted(text: str, target: Any, level: int) -> Any:
        levels.append(level)
        return run(text, target, level)

    run = optimize._run_pipeline
    monkeypatch.setattr(optimize, "_run_pipeline", counted)
    first = adc(folder, "compile", "program.py:energy", "-o", "a.o")
    again = adc(folder, "compile", "program.py:energy", "-o", "b.o")
    assert len(levels) == 1 and first.returncode == again.returncode == 0
    assert (folder / "a.o").read_bytes() == (folder / "b.o").read_bytes()
    assert again.stdout == first.stdout.replace("a.o", "b.o").replace("a.h", "b.h") and "-lm" in again.stdout
    assert adc(folder, "compile", "program.py:energy", "--emit", "llvm").returncode == 0 and len(levels) == 2
    assert adc(folder, "compile", "program.py:energy", "-o", "c.o", "--cpu", "v2").returncode == 0
    assert adc(folder, "compile", "program.py:energy", "-o", "d.o", ADC_CACHE="0").returncode == 0
    assert len(levels) == 4
    assert (folder / "c.o").read_bytes() != (folder / "a.o").read_bytes() == (folder / "d.o").read_bytes()


def test_lines_of_python_for_debuggers(folder: Path) -> None:
    assert adc(folder, "compile", "program.py:energy", "--emit", "llvm").returncode == 0
    assert "!DILocation" not in (folder / "energy.ll").read_text()
    assert adc(folder, "compile", "program.py:energy", "--emit", "llvm", "-g").returncode == 0
    text = (folder / "energy.ll").read_text()
    scopes = re.findall(r'^(!\d+) = distinct !DISubprogram\(name: "energy.grad', text, re.MULTILINE)
    lines = re.findall(r"DILocation\(line: (\d+), column: \d+, scope: (!\d+)", text)
    assert {("11", scope) for scope in scopes} & {*lines}  # total += ... of the adjoint
    assert "emissionKind: FullDebug" in text  # gdb finds one place of a line for each function that is described


def test_linked_program(folder: Path) -> None:
    adc(folder, "compile", "one.py", "-o", "only.o")
    (folder / "main.c").write_text(
        '#include <stdio.h>\n#include "only.h"\n'
        "int main(void) { double y, g; if (only(3.0, &y) || only_grad(4.0, NULL, &g)) return 1;"
        ' printf("%g %g\\n", y, g); return 0; }\n'
    )
    subprocess.run(["cc", "-Wall", "-Werror", "main.c", "only.o", "-lm", "-o", "main"], cwd=folder, check=True)
    assert subprocess.run(["./main"], cwd=folder, capture_output=True, text=True).stdout == "9 8\n"


NAMES = """
    v1 b1 s0 lost0 entry failed code u_shape0 u_stride0 u_grad w_shape0 result int64_t NULL new main sin handle context
    bytes status lambda_ u_dot u_bar
""".split()


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_names_of_parameters(folder: Path) -> None:
    """Any name will do, whatever adc, LLVM IR, C and C++ call by it."""
    (folder / "named.py").write_text(
        "import numpy as np\n"
        f"def named({', '.join(f'{n}: float' for n in NAMES)}, u: 'f64[:]', w: 'f64[:, ::1]'):\n"
        f"    return np.sum(u * w[0]) * ({' + '.join(f'{k} * {n}' for k, n in enumerate(NAMES, 1))})\n"
    )
    run = adc(folder, "compile", "named.py", "-o", "named.o", "--argnums", f"0,{len(NAMES)},{len(NAMES) + 1}")
    assert run.returncode == 0, run.stderr
    for language in ("c", "c++"):
        subprocess.run(["cc", "-Wall", "-Werror", "-fsyntax-only", f"-x{language}", "named.h"], cwd=folder, check=True)
    (folder / "main.c").write_text(
        '#include <stdio.h>\n#include "named.h"\n'
        "int main(void) { double u[] = {1, 0, 2}, w[] = {3, 4}, du[2], dw[2], y, g;"
        f" if (named_grad({', '.join('1.0' for _ in NAMES)}, u, 2, 2, w, 1, 2, du, dw, &y, &g)) return 1;"
        ' printf("%g %g %g %g\\n", y, g, du[1], dw[1]); return 0; }\n'
    )
    libraries = re.findall(r" (-[lf]\w+)", run.stdout)
    subprocess.run(["cc", "-Wall", "-Werror", "main.c", "named.o", *libraries, "-o", "main"], cwd=folder, check=True)
    total = len(NAMES) * (len(NAMES) + 1) // 2
    told = subprocess.run(["./main"], cwd=folder, capture_output=True, text=True).stdout
    assert told.split() == [str(v) for v in (11 * total, 11, 4 * total, 2 * total)]


@pytest.mark.parametrize("name", ["exp", "log", "j0", "sqrtf", "malloc", "memcpy", "main", "sched_yield"])
def test_names_of_the_c_library(folder: Path, name: str) -> None:
    """A program whose other code calls these must not find a function of adc's."""
    (folder / "own.py").write_text(f"import math\ndef {name}(x: float):\n    return 2.0 * math.exp(x)\n")
    run = adc(folder, "compile", "own.py")
    assert run.returncode == 1 and f"cannot define {name}, since that is a function of the C library" in run.stderr
    assert "own.py:2:1" in run.stderr and "help: give the Python function another name" in run.stderr
    assert not list(folder.glob(f"{name}.*"))


def test_a_defect_is_told_as_one(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def broken(*args: Any, **options: Any) -> None:
        raise KeyError("something")

    monkeypatch.setattr("adc.backend.ahead.aot.build", broken)
    monkeypatch.delenv("ADC_FULL_TRACEBACK", raising=False)
    assert main(["compile", str(folder / "one.py"), "-o", str(folder / "one.o")]) == 1
    told = capsys.readouterr().err
    assert "adc failed to compile only: KeyError: 'something'" in told and "report it" in told
    monkeypatch.setenv("ADC_FULL_TRACEBACK", "1")
    with pytest.raises(KeyError):
        main(["compile", str(folder / "one.py"), "-o", str(folder / "one.o")])


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("options", [{}, {"checkpoint": "revolve:5"}, {"memory": "150kB"}])
def test_what_a_gradient_takes(folder: Path, options: dict[str, str]) -> None:
    """The number that is there in C is what the gradient's final code takes when it runs."""
    (folder / "walk.py").write_text(
        "import numpy as np\n"
        'def walk(u0: "f64[:, ::1]", c: "f64", n: "i64"):\n'
        "    u = u0.copy()\n"
        "    for _ in range(n):\n"
        "        w = u.copy()\n"
        "        for i in range(1, u.shape[0] - 1):\n"
        "            for j in range(u.shape[1]):\n"
        "                u[i, j] = w[i, j] + c * np.sin(w[i - 1, j] - 2 * w[i, j] + w[i + 1, j])\n"
        "    return np.sum(u * u)\n"
    )
    flags = [part for name, value in options.items() for part in (f"--{name}", value)]
    run = adc(folder, "compile", "walk.py", "-o", "walk.o", "--no-parallel", *flags)
    assert run.returncode == 0 and " walk_grad_workspace_bytes," in run.stdout, run.stdout + run.stderr
    libraries = re.findall(r" (-[lf]\w+)", run.stdout)
    (folder / "main.c").write_text(
        '#include <stdio.h>\n#include "walk.h"\n'
        "int main(void) { int64_t bytes; if (walk_grad_workspace_bytes(30, 10, 0.1, 40, &bytes)) return 1;"
        ' printf("%lld\\n", (long long)bytes); return 0; }\n'
    )
    subprocess.run(["cc", "-Wall", "-Werror", "main.c", "walk.o", *libraries, "-o", "main"], cwd=folder, check=True)
    found = int(subprocess.run(["./main"], cwd=folder, capture_output=True, text=True).stdout)

    walk: Any = runpy.run_path(str(folder / "walk.py"))["walk"]
    final = jit_grad(walk, **options).grad.dump_ir("lowered", "f64[:, ::1], f64, i64")
    u0, statistics = np.random.default_rng(0).random((30, 10)), interpreter.Statistics()
    interpreter.run(parse_module(final), "walk.grad", [u0, 0.1, 40, np.zeros((30, 10))], statistics=statistics)
    taken = statistics.peak_bytes + u0.nbytes
    assert taken <= found <= 1.03 * taken + 8192


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_forward_mode_from_c(folder: Path) -> None:
    """An array that is changed, and one that is only written: their tangents change with them."""
    (folder / "march.py").write_text(
        "import math\n"
        'def march(u: "f64[::1]", k: "f64", out: "f64[:]"):\n'
        "    for i in range(u.shape[0]):\n"
        "        u[i] = k * math.sin(u[i])\n"
        "        out[i] = u[i] * u[i]\n"
        "    return u[0], k * k\n"
    )
    run = adc(folder, "compile", "march.py", "--argnums", "0,1", "-o", "march.o")
    assert run.returncode == 0 and "march_jvp" in run.stdout, run.stdout + run.stderr
    flags = re.findall(r" (-[lf]\w+)", run.stdout)
    assert "the tangent of u" in (folder / "march.h").read_text()
    (folder / "main.c").write_text(
        '#include <stdio.h>\n#include "march.h"\n'
        "int main(void) {\n"
        "    double u[2] = {0.3, 0.5}, v[2] = {1, 2}, out[4] = {9, 9, 9, 9}, w[2] = {9, 9}, y[4];\n"
        "    if (march_jvp(u, 2, 2.0, out, 2, 2, v, 10.0, w, 1, &y[0], &y[1], &y[2], &y[3])) return 1;\n"
        '    printf("%.15g %.15g %.15g %.15g %.15g %.15g\\n", y[0], y[1], y[2], y[3], v[1], w[1]);\n'
        "    return 0;\n}\n"
    )
    subprocess.run(["cc", "-Wall", "-Werror", "main.c", "march.o", *flags, "-o", "main"], cwd=folder, check=True)
    shown = subprocess.run(["./main"], cwd=folder, capture_output=True, text=True).stdout
    dots = [10.0 * math.sin(x) + 2.0 * math.cos(x) * d for x, d in ((0.3, 1.0), (0.5, 2.0))]
    expected = [2.0 * math.sin(0.3), 4.0, dots[0], 40.0, dots[1], 2.0 * 2.0 * math.sin(0.5) * dots[1]]
    assert [float(x) for x in shown.split()] == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(("emit", "suffix", "sign"), [("asm", ".s", ".text"), ("llvm", ".ll", "@only(double")])
def test_text_output(folder: Path, emit: str, suffix: str, sign: str) -> None:
    run = adc(folder, "compile", "one.py", "--emit", emit)
    assert run.returncode == 0, run.stderr
    assert sign in (folder / f"only{suffix}").read_text().replace('@"only"', "@only")
    assert not (folder / "only.h").exists()


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_shared_library(folder: Path) -> None:
    import ctypes

    assert adc(folder, "compile", "one.py", "--emit", "shared").returncode == 0
    library = ctypes.CDLL(str(folder / "only.so"))
    y = ctypes.c_double()
    assert library.only(ctypes.c_double(5.0), ctypes.byref(y)) == 0 and y.value == 25.0


@pytest.mark.parametrize(("arguments", "variables"), [([], {}), (["--contract"], {}), ([], {"ADC_CONTRACT": "1"})])
def test_what_rounds_in_a_library(folder: Path, arguments: list[str], variables: dict[str, str]) -> None:
    import ctypes

    text = "def rest(x: 'f64', y: 'f64'):\n    z = x * y\n    return x * y - z + (z - y * x)\n"
    (folder / "rest.py").write_text(text)
    assert adc(folder, "compile", "rest.py", "--emit", "shared", *arguments, **variables).returncode == 0
    library = ctypes.CDLL(str(folder / "rest.so"))
    value = ctypes.c_double()
    assert library.rest(ctypes.c_double(0.1), ctypes.c_double(0.3), ctypes.byref(value)) == 0
    fused = host().fused and (arguments or variables)
    assert (value.value != 0.0) is bool(fused)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_checkpointed_object(folder: Path) -> None:
    """The gradient by snapshots, and the two halves of the pullback, the second one run twice."""
    import ctypes

    import numpy as np

    (folder / "steps.py").write_text(
        "import math\n"
        'def walk(u: "f64[::1]", n: "i64"):\n'
        "    for t in range(n):\n"
        "        for i in range(1, u.shape[0]):\n"
        "            u[i] += 0.1 * math.sin(u[i - 1])\n"
        "    return u[-1]\n"
    )
    expected = None
    for spec in ("store-all", "revolve:3", "every:4", "sqrt"):
        run = adc(folder, "compile", "steps.py", "--emit", "shared", "--checkpoint", spec, "-o", f"{spec[:4]}.so")
        assert run.returncode == 0, run.stderr
        library = ctypes.CDLL(str(folder / f"{spec[:4]}.so"))
        double, size, steps = ctypes.POINTER(ctypes.c_double), ctypes.c_int64(5), ctypes.c_int64(23)
        u, grad, bar, y = np.linspace(0.1, 0.9, 5), np.zeros(5), np.zeros(5), ctypes.c_double()
        at = [a.ctypes.data_as(double) for a in (u, grad, bar)]
        assert library.walk_grad(at[0], size, steps, at[1], ctypes.byref(y)) == 0
        expected = grad.copy() if expected is None else expected
        assert grad.tobytes() == expected.tobytes()
        handle = ctypes.c_void_p()
        assert library.walk_aug(at[0], size, steps, at[2], ctypes.byref(handle), ctypes.byref(y)) == 0
        for _ in range(2):
            bar[:] = 0.0
            assert library.walk_rev(at[0], size, at[2], ctypes.c_double(1.0), handle) == 0
            np.testing.assert_allclose(bar, expected, rtol=1e-13)
        library.walk_free(handle)
    assert adc(folder, "compile", "steps.py", "--checkpoint", "often").returncode == 1


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_several_steps_at_a_time(folder: Path) -> None:
    """The same bits from an object that runs four steps in one sweep over memory."""
    import ctypes

    import numpy as np

    (folder / "steps.py").write_text(
        "import numpy as np\n"
        'def spread(u0: "f64[::1]", n: "i64"):\n'
        "    u, v = u0.copy(), u0.copy()\n"
        "    for t in range(n):\n"
        "        for i in range(1, u.shape[0] - 1):\n"
        "            v[i] = u[i] + 0.1 * (u[i - 1] - 2.0 * u[i] + u[i + 1])\n"
        "        u, v = v, u\n"
        "    return np.sum(u * u)\n"
    )
    found = set()
    for name, options in (("plain", ()), ("four", ("--time-block", "4")), ("auto", ("--time-block", "auto"))):
        run = adc(folder, "compile", "steps.py", "--emit", "shared", *options, "-o", f"{name}.so")
        assert run.returncode == 0, run.stderr
        library = ctypes.CDLL(str(folder / f"{name}.so"))
        u, grad, y = np.linspace(0.1, 0.9, 300) ** 2, np.zeros(300), ctypes.c_double()
        at = [a.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for a in (u, grad)]
        size, steps = ctypes.c_int64(300), ctypes.c_int64(23)
        assert library.spread_grad(at[0], size, steps, at[1], ctypes.byref(y)) == 0
        found.add((grad.tobytes(), y.value))
    assert len(found) == 1
    assert "time_block must be" in adc(folder, "compile", "steps.py", "--time-block", "often").stderr


def test_signature(folder: Path) -> None:
    run = adc(folder, "compile", "program.py:untyped", "--signature", "f32, i64", "-o", "u.o")
    assert run.returncode == 0, run.stderr
    assert "float x" in (folder / "u.h").read_text()
    missing = adc(folder, "compile", "program.py:untyped")
    assert missing.returncode == 1 and "argument types of untyped are not known" in missing.stderr
    assert "-->" not in missing.stderr  # not the line of the console script that was started


def test_argnums_and_names(folder: Path) -> None:
    for option in (["--argnums", "0,1"], ["--argnames", "u,k"]):
        assert adc(folder, "compile", "program.py:energy", "-o", "e.o", *option).returncode == 0
        header = (folder / "e.h").read_text()
        assert "u_grad" in header and "k_grad" in header
    wrong = adc(folder, "compile", "program.py:energy", "--argnums", "x")
    assert wrong.returncode == 1 and "--argnums takes positions" in wrong.stderr


def test_function_without_a_float_result_has_a_pullback(folder: Path) -> None:
    run = adc(folder, "compile", "program.py:scaled", "-o", "s.o")
    assert run.returncode == 0, run.stderr
    assert "wrote s.o and s.h: scaled, scaled_jvp, scaled_aug, scaled_rev" in run.stdout
    assert "note: scaled returns None" in run.stderr


def test_tile(folder: Path) -> None:
    (folder / "step.py").write_text(
        "def step(u: 'f64[:, ::1]', v: 'f64[:, ::1]'):\n"
        "    for i in range(1, u.shape[0]):\n"
        "        for j in range(u.shape[1]):\n"
        "            v[i, j] = u[i, j] + u[i - 1, j]\n"
        "    return v[1, 0]\n"
    )

    def shown(tile: str) -> str:
        run = adc(folder, "compile", "step.py", "--dump-ir=lowered", "--tile", tile)
        assert run.returncode == 0, run.stderr
        return run.stdout

    assert "adc.tiles" in shown("auto") and "6291456" in shown("auto")
    assert "adc.tiles" in shown("64") and "6291456" not in shown("64")
    assert "adc.tiles" not in shown("off")
    for tile in ("wide", "0", ""):
        run = adc(folder, "compile", "step.py", "--tile", tile)
        assert run.returncode == 1 and "tile" in run.stderr


def test_cpu(folder: Path) -> None:
    assert adc(folder, "compile", "one.py", "--cpu", "x86-64-v3", "--emit", "asm").returncode == 0
    assert "zmm" not in (folder / "only.s").read_text()
    run = adc(folder, "compile", "one.py", "--cpu", "znver44")
    assert run.returncode == 1 and "did you mean znver4" in run.stderr
    assert "'znver44' is not a processor of x86_64 that LLVM knows" in run.stderr
    run = adc(folder, "compile", "one.py", "--target", "aarch64-linux-gnu", "--cpu", "znver4")
    assert run.returncode == 1 and "not a processor of aarch64 that LLVM knows" in run.stderr


@pytest.mark.parametrize("stage", ["traced", "simplified", "plan", "adjoint", "tangent", "lowered", "llvm", "asm"])
def test_dump_ir_is_plain_in_a_pipe(folder: Path, stage: str) -> None:
    run = (process if stage == "plan" else adc)(folder, "compile", "program.py:energy", f"--dump-ir={stage}")
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith(f"// energy: {stage}\n")
    assert "\x1b[" not in run.stdout
    assert not (folder / "energy.o").exists(), "only prints, unless an output is named"


def test_dump_all_stages(folder: Path) -> None:
    run = adc(folder, "compile", "one.py", "--dump-ir", "-o", "only.o")
    titles = re.findall(r"^// only: (\w+)$", run.stdout, re.MULTILINE)
    assert titles == ["traced", "simplified", "plan", "adjoint", "tangent", "lowered", "llvm", "asm"]
    assert (folder / "only.o").exists()


def test_dump_ir_in_colours_on_a_terminal(folder: Path) -> None:
    reader, writer = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "adc", "compile", "one.py", "--dump-ir=traced"]
    with subprocess.Popen(command, cwd=folder, stdout=writer, stderr=subprocess.PIPE, env=environment) as process:
        os.close(writer)
        text = b""
        while True:
            try:
                part = os.read(reader, 4096)
            except OSError:
                break
            if not part:
                break
            text += part
    os.close(reader)
    assert process.returncode == 0
    assert b"\x1b[" in text and b"func.func" in re.sub(rb"\x1b\[[0-9;]*m", b"", text)


def test_dump_ir_variable(folder: Path) -> None:
    run = adc(folder, "compile", "one.py", ADC_DUMP_IR="simplified")
    assert run.stdout.startswith("// only: simplified\n")
    code = "import one, adc; f = adc.jit_grad(one.only); print(f.grad(3.0))"
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{folder}", "ADC_DUMP_IR": "traced,adjoint"}
    python = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)
    assert python.stdout == "6.0\n"
    assert re.findall(r"^// (.*)$", python.stderr, re.MULTILINE) == ["only: traced", "only: adjoint"]


ERRORS = {
    "no such file": (["nowhere.py"], "no such file: nowhere.py"),
    "no such function": (["program.py:nothing"], "program.py has no function 'nothing'"),
    "which function": (["program.py"], "which function of program.py is meant?"),
    "refused source": (["program.py:refused"], "program.py:26:10"),
    "broken source": (["broken.py:f"], "broken.py:2:"),
    "a file that raises": (["raises.py:f"], "ZeroDivisionError"),
    "reads a global": (["program.py:reads_global"], "reads_global reads the variable 'TABLE'"),
    "unknown stage": (["one.py", "--dump-ir=nonsense"], "there is no stage 'nonsense'"),
    "bad signature": (["one.py", "--signature", "f65"], "error["),
    "short signature": (["one.py", "--signature", "f64, f64"], "only takes 1 arguments"),
    "no such directory": (["one.py", "-o", "no/where/x.o"], "there is no folder no/where for x.o"),
    "a folder as output": (["one.py", "-o", "."], "error: .: Is a directory"),
    "unknown processor": (["one.py", "--cpu", "v9"], "for instance x86-64-v2"),
    "no such argument": (["one.py", "--argnums", "3"], "only has no argument number 3"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(folder: Path, name: str) -> None:
    arguments, message = ERRORS[name]
    run = (process if name == "a file that raises" else adc)(folder, "compile", *arguments)
    assert run.returncode == 1
    assert message in run.stderr
    assert run.stderr.startswith("error") and "Traceback" not in run.stderr
    assert run.stdout == ""


def test_refused_source_is_shown(folder: Path) -> None:
    run = adc(folder, "compile", "program.py:refused")
    assert '26 |     with open("file"):' in run.stderr and "^^^^" in run.stderr


def test_help_and_version(folder: Path) -> None:
    assert "compile" in adc(folder, "--help").stdout and process(folder).returncode == 2
    assert "--signature" in adc(folder, "compile", "--help").stdout
    assert adc(folder, "--version").stdout.startswith("adc ")
    assert process(folder, "nonsense").returncode == 2


def test_unknown_options_are_refused_with_the_usage_of_the_command(folder: Path) -> None:
    run = adc(folder, "explain", "one.py", "--sumary")
    assert run.returncode == 2 and "unrecognized arguments: --sumary" in run.stderr
    assert run.stderr.startswith("usage: adc explain ") and "[--summary]" in run.stderr


def test_a_closed_pipe_is_no_error(folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "adc", "opt", "--list-passes"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout is not None and run.stderr is not None
        run.stdout.close()
        assert run.stderr.read() == b""
    assert run.returncode == 1


def test_rules(folder: Path) -> None:
    (folder / "own.py").write_text(
        "import adc\n\ndef area(w, h):\n    return w * h\n\n"
        "adc.scalar_rule(area, lambda w, h: h, lambda w, h: w)\n\n"
        "@adc.rrule(area)\ndef rule(w: float, h: 'f64[:]', *rest):\n    return w, lambda g: (g, None)\n"
    )
    done = process(folder, "rules", "own.py")  # where no other rules were made
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0] == ["OPERATION", "SIGNATURE", "RULE", "LINE"]
    (sine,) = (line for line in lines if line[0] == "math.sin")
    assert sine[1] == "(x)" and sine[-1].rpartition(":")[0].endswith("rules.py")
    file, _, number = sine[-1].rpartition(":")
    assert "ops.sin:" in Path(folder, file).read_text().splitlines()[int(number) - 1]
    assert ["area", "(float,", "float)", "scalar", "own.py:6"] in lines
    assert ["area", "(float,", "f64[:],", "*object)", "rrule", "own.py:8"] in lines
    assert adc(folder, "rules", "gone.py").returncode == 1


def test_demo(folder: Path) -> None:
    run = adc(folder, "demo", "--size", "20", "--output", "out")
    assert run.returncode == 0, run.stderr
    for text in ("func.func @misfit_loops.grad", "by central differences", "bit for bit", "recovered", "Times"):
        assert text in run.stdout, text
    assert {"misfit.o", "misfit.h"} <= {p.name for p in (folder / "out").iterdir()}
