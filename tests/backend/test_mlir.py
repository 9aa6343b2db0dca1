"""MLIR of the standard dialects: xdsl accepts it; LLVM's own tools accept it and run it, with Python's numbers."""

from __future__ import annotations

import ctypes
import inspect
import re
import shutil
import subprocess
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adc import jit_grad
from adc.cli import main
from tests.backend import mlir_programs

PROGRAMS = {
    name: fn
    for name, fn in vars(mlir_programs).items()
    if isinstance(fn, types.FunctionType) and fn.__module__ == mlir_programs.__name__
}
PIPELINE = """
    --expand-strided-metadata --lower-affine --convert-scf-to-cf --convert-math-to-funcs
    --convert-math-to-llvm --convert-math-to-libm --arith-expand --convert-arith-to-llvm --finalize-memref-to-llvm
    --convert-cf-to-llvm --convert-func-to-llvm --convert-index-to-llvm --reconcile-unrealized-casts
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mlir") / "programs.mlir"
    assert main(["compile", f"{mlir_programs.__file__}:{','.join(PROGRAMS)}", "--emit", "mlir", "-o", str(path)]) == 0
    return path


def tool(name: str) -> str:
    """One of LLVM's programs, under its own name or where Debian puts it, of a version that knows the operations."""
    for path in [shutil.which(name), *sorted(map(str, Path("/usr/lib").glob(f"llvm-*/bin/{name}")), reverse=True)]:
        if path is not None:
            told = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
            version = re.search(r"LLVM version (\d+)", told)
            if version is not None and int(version[1]) >= 18:
                return path
    pytest.skip(f"{name} of LLVM 18 or later is not installed")


def test_there_are_forty_programs_and_their_derivatives_of_standard_dialects(written: Path) -> None:
    text = written.read_text()
    assert len(PROGRAMS) == 40
    assert set(re.findall(r'"(\w+)\.[\w.]+"\(', text)) == {"builtin", "func", "arith", "math", "scf", "memref", "cf"}
    for name in PROGRAMS:
        assert f'"{name}"' in text and f'"{name}_grad"' in text and f'"{name}_jvp"' in text


def test_xdsl_accepts_it(written: Path) -> None:
    pytest.importorskip("xdsl", reason="xdsl is not installed (the extra mlir)")
    from xdsl.context import Context
    from xdsl.dialects import get_all_dialects
    from xdsl.parser import Parser

    context = Context()
    for name, dialect in get_all_dialects().items():
        context.register_dialect(name, dialect)
    Parser(context, written.read_text()).parse_module().verify()


def test_mlir_opt_accepts_it(written: Path) -> None:
    subprocess.run([tool("mlir-opt"), written, "-o", "/dev/null"], check=True)


@pytest.fixture(scope="module")
def native(written: Path) -> Any:
    """The machine code of the module, made by LLVM's programs and llvmlite."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    lowered = subprocess.run([tool("mlir-opt"), written, *PIPELINE.split()], capture_output=True, check=True).stdout
    translate = [tool("mlir-translate"), "--mlir-to-llvmir"]
    text = subprocess.run(translate, input=lowered, capture_output=True, check=True).stdout.decode()
    llvm.load_library_permanently("libm.so.6")
    machine = llvm.Target.from_default_triple().create_target_machine(opt=0)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine)
    engine.finalize_object()
    yield engine
    engine.close()


def arguments(fn: Any) -> list[Any]:
    """Some for each parameter."""
    found: list[Any] = []
    for k, p in enumerate(inspect.signature(fn).parameters.values()):
        text = p.annotation if isinstance(p.annotation, str) else p.annotation.__name__
        rng = np.random.default_rng(k)
        if text.startswith("i64"):
            found.append(np.array([2, 0, 1, -1, 2]))
        elif "," in text:
            found.append(rng.random((4, 4)) + 0.1)
        elif "[" in text:
            found.append(np.asarray(rng.random(6) + 0.1, np.float32 if "f32" in text else float))
        else:
            found.append(5 if "int" in text else 0.3 + 0.4 * (k == 0) + 0.1 * k)
    if fn is mlir_programs.layers:
        found[1] = found[1][:4]
    return found


class Memref:
    """A descriptor as MLIR's C interface takes it."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        words = [array.ctypes.data] * 2 + [0, *array.shape, *(s // array.itemsize for s in array.strides)]
        self.words = (ctypes.c_int64 * len(words))(*words)


def run(engine: Any, name: str, values: list[Any], results: list[Any]) -> list[float]:
    """Call a function; ``results`` are the C types of what it returns."""
    passed: list[Any] = []
    for value in values:
        if isinstance(value, np.ndarray):
            passed.append(ctypes.byref(Memref(value).words))
        else:
            passed.append(ctypes.c_int64(value) if isinstance(value, int) else ctypes.c_double(value))
    address = engine.get_function_address(f"_mlir_ciface_{name}")
    if len(results) == 1:
        return [float(ctypes.CFUNCTYPE(results[0])(address)(*passed))]
    out = (results[0] * len(results))()
    ctypes.CFUNCTYPE(None)(address)(ctypes.byref(out), *passed)
    return [float(x) for x in out]


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_runs_to_the_same_numbers(native: Any, name: str) -> None:
    fn = PROGRAMS[name]
    values = arguments(fn)
    kind = ctypes.c_float if name == "single" else ctypes.c_double
    value, gradient = jit_grad(_engine="interpreter")(fn).value_and_grad(*values)
    exact = 1e-6 if name == "single" else 1e-13

    def copies() -> list[Any]:
        return [v.copy() if isinstance(v, np.ndarray) else v for v in values]

    assert run(native, name, copies(), [kind]) == pytest.approx([value], rel=exact)
    if isinstance(gradient, np.ndarray):
        shadow = np.zeros_like(values[0])
        found = run(native, f"{name}_grad", [*copies(), shadow], [kind])
        assert found == pytest.approx([value], rel=exact) and np.allclose(shadow, gradient, rtol=exact)
    else:
        assert run(native, f"{name}_grad", copies(), [kind, kind]) == pytest.approx([value, gradient], rel=exact)


def test_what_it_has_not_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sorts.py").write_text("import numpy as np\ndef f(x: 'f64[::1]'):\n    return np.sum(np.sort(x) * x)\n")
    assert main(["compile", str(tmp_path / "sorts.py"), "--emit", "mlir", "-o", str(tmp_path / "out.mlir")]) == 1
    assert "standard dialects of MLIR" in capsys.readouterr().err
