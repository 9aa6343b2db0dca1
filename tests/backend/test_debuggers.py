"""Debuggers find the Python lines of code that was compiled at run time (``ADC_DEBUG=gdb``)."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from adc import jit_grad
from adc.backend import debuggers, elf
from adc.errors import AdcError
from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Func
from adc.ir.notices import AdcWarning
from adc.ir.types import f64
from tests.backend.lowering_harness import Native, module_of
from tests.docs.blocks import ROOT, debugs

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64" or shutil.which("cc") is None,
    reason="needs Linux on x86-64 and a C compiler",
)


def _objects() -> dict[int, bytes]:
    """What a debugger finds: by address, the object files in memory."""
    library = debuggers._library()
    assert library is not None
    found, entry = {}, debuggers._List.in_dll(library, debuggers._LIST).first
    while entry:
        start, size = entry.contents.start, entry.contents.size
        found[start] = ctypes.string_at(start, size)
        entry = entry.contents.next
    return found


def _addresses(objects: dict[int, bytes], name: str) -> list[int]:
    return [
        elf.sections(code)[symbol.section].address + symbol.offset
        for code in objects.values()
        for symbol in elf.functions(code)
        if symbol.name == name
    ]


def _squares(name: str) -> Native:
    func = Func(name, [f64], [f64])
    with insert_at(func.body):
        build(ops.return_, [ops.mulf(func.args[0], func.args[0])])
    return Native(module_of(func), debug=True)


def test_objects_are_listed_while_they_are_loaded() -> None:
    made = _squares("squared")
    assert made("squared", 3.0) == [9.0]
    objects = _objects()
    assert _addresses(objects, "adc.squared") == [made.library.address("adc.squared")]
    (code,) = (code for code in objects.values() if b"adc.squared" in code)
    assert debuggers.has_lines(code)
    del made
    other = _squares("another")  # what is gone is taken from the list when the next is added
    assert _addresses(_objects(), "adc.another") == [other.library.address("adc.another")]
    assert not _addresses(_objects(), "adc.squared")


def test_same_numbers_and_no_lines_without(recwarn: pytest.WarningsRecorder) -> None:
    def total(u, n):
        for _ in range(n):
            u[1:-1] += 0.1 * (u[:-2] - 2.0 * u[1:-1] + u[2:])
        return np.sum(np.sin(u))

    u = np.linspace(0.0, 1.0, 50) ** 2
    plain, shown = jit_grad(total), jit_grad(total, debug="gdb")
    expected = plain.grad(u, 5)
    assert not _addresses(_objects(), name := "adc.total.grad")
    assert shown.grad(u, 5).tobytes() == expected.tobytes()
    assert len(_addresses(_objects(), name)) == 1
    assert [str(w.message) for w in recwarn if issubclass(w.category, AdcWarning)] == []
    with pytest.raises(AdcError, match="debug must be 'nan', 'gdb' or None, not 'lldb'"):
        jit_grad(total, debug="lldb")


def test_without_a_compiler_there_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    made = debuggers._library.__wrapped__
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.warns(UserWarning, match="debuggers are not told .* cannot run the linker 'no-such-compiler'"):
        assert made() is None


def test_the_file_stays_when_a_child_ends(tmp_path: Path) -> None:
    (tmp_path / "debug").mkdir()
    debuggers._clear(str(tmp_path / "debug"), os.getpid() + 1)
    assert (tmp_path / "debug").exists()
    debuggers._clear(str(tmp_path / "debug"), os.getpid())
    assert not (tmp_path / "debug").exists()


PROGRAM = """
import numpy as np
from adc import jit_grad, prange

def slope(a, b):
    return (b - a) ** 2

@jit_grad(threads=2)
def roughness(u):
    out = np.zeros(u.size - 1)
    for i in prange(u.size - 1):
        out[i] = slope(u[i], u[i + 1])
    return np.sum(out)

u = np.linspace(0.0, 1.0, 20_000) ** 2
print(roughness(u) > 0.0)
print(roughness.grad(u).shape)
"""
SESSION = """
set debuginfod enabled off
set breakpoint pending on
break rough.py:6
commands
silent
backtrace 1
disable 1
continue
end
break adc.roughness.grad
commands
silent
enable 1
continue
end
run
"""


@pytest.mark.skipif(not debugs(), reason="gdb is not installed, or may not run programs")
def test_gdb_stops_in_parallel_loops_of_function_and_gradient(tmp_path: Path) -> None:
    (tmp_path / "rough.py").write_text(PROGRAM)
    (tmp_path / "session.gdb").write_text(SESSION)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ADC_DEBUG": "gdb", "ADC_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "rough.py"]
    run = {"capture_output": True, "text": True, "cwd": tmp_path, "env": environment, "check": False}
    subprocess.run(command, **run)  # so that what gdb sees comes from the cache
    done = subprocess.run(["gdb", "-q", "-batch", "-x", "session.gdb", "--args", *command], **run)
    said = done.stdout + done.stderr
    assert "(20000,)" in done.stdout, said
    stops = [line for line in done.stdout.splitlines() if line.startswith("#0")]
    assert any(".grad" not in line and "roughness" in line and "rough.py:6" in line for line in stops), said
    assert any("roughness.grad" in line and "rough.py:6" in line for line in stops), said
