"""The cache of machine code: never stale, never damaged, never in the way."""

from __future__ import annotations

import ast
import math
import os
import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adc import jit_grad
from adc.backend import object_cache, optimize, runtime
from adc.backend.target import host
from adc.border.options import default_level
from adc.cli import main
from adc.errors import AdcWarning

ROOT = Path(__file__).resolve().parent.parent.parent
TEXT = f'target triple = "{host().triple}"\ndefine double @f(double %x) {{ ret double %x }}\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    runtime.address("adc_default_threads")  # not kept here, whichever test comes first
    monkeypatch.setenv("ADC_CACHE", "1")
    monkeypatch.setenv("ADC_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(object_cache, "_written", math.inf)
    yield tmp_path / "kept"


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that LLVM was run on."""
    seen: list[str] = []
    original = optimize._run_pipeline

    def run(text: str, *rest: object) -> object:
        seen.append(text)
        return original(text, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(optimize, "_run_pipeline", run)
    return seen


def imported(path: Path, seen: set[Path]) -> set[Path]:
    """A module's file and those of adc's that it imports, and so on."""
    if path not in seen:
        seen.add(path)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("adc."):
                folder = ROOT.joinpath(*str(node.module).split(".")[1:])
                for found in (folder.with_suffix(".py"), *(folder / f"{name.name}.py" for name in node.names)):
                    if found.exists():
                        imported(found, seen)
    return seen


def test_all_that_makes_code_is_in_its_name() -> None:
    files = {path.name for path in imported(Path(optimize.__file__), set())}
    no_code = "object_cache.py", "cache_locks.py", "forks.py", "granted.py", "lazy_dataclass.py", "notices.py"
    assert files == {*object_cache._MAKERS, *no_code}


def square(a, k):
    total = 0.0
    for i in range(len(a)):
        total += k * a[i] * a[i]
    return total


def test_the_second_time_llvm_is_not_run(runs: list[str]) -> None:
    a = np.linspace(0.0, 1.0, 17)
    first = jit_grad(square)
    value, gradient = first(a, 3.0), first.grad(a, 3.0)
    made = len(runs)
    assert len(programs(runs)) == 2
    again = jit_grad(square)
    assert again(a, 3.0) == value
    np.testing.assert_array_equal(again.grad(a, 3.0), gradient)
    assert len(runs) == made
    jit_grad(square, _level=1)(a, 3.0)
    assert len(programs(runs)) == 3
    assert "fmul" in again.dump_ir("llvm")


def programs(texts: list[str]) -> list[str]:
    """Those that are of one program alone."""
    return [text for text in texts if "@adc.entry0 = alias" in text or '@"adc.entry0" = alias' in text]


def test_programs_of_the_same_types_share_their_stubs(runs: list[str]) -> None:
    def cube(a: Any, k: float) -> Any:
        return np.sum(a * a * a) * k

    a = np.linspace(0.0, 1.0, 17)
    assert jit_grad(square)(a, 3.0) == pytest.approx(square(a, 3.0))
    before = len(runs)
    assert jit_grad(cube)(a, 3.0) == pytest.approx(cube(a, 3.0))
    assert not [text for text in runs[before:] if "PyArray_Type" in text]
    assert len(programs(runs)) == 2


PROGRAM = """
import sys
import adc
CONSTANT = {constant}
def helper(x):
    return {helper}
adc.scalar_rule(helper, {rule})
def f(x):
    return helper(x) * CONSTANT
from adc.backend import optimize, runtime
runtime.threads(), adc.jit_grad  # the library of the process is made in the same way
runs = []
original = optimize._run_pipeline
optimize._run_pipeline = lambda *a: runs.append(1) or original(*a)
print(adc.grad(f)(2.0), len(runs))
"""


def test_what_changed_is_made_again(tmp_path: Path) -> None:
    """In another process: a constant, a function, a rule."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def run(**parts: str) -> list[float]:
        source = tmp_path / "program.py"
        source.write_text(PROGRAM.format(**parts))
        told = subprocess.run([sys.executable, str(source)], env=environment, capture_output=True, text=True)
        assert told.returncode == 0, told.stderr
        return [float(part) for part in told.stdout.split()]

    base = {"constant": "3.0", "helper": "x * x", "rule": "lambda x: 2.0 * x"}
    assert run(**base) == [12.0, 2.0]  # with the stub, which serves all of them
    assert run(**base) == [12.0, 0.0]
    assert run(**{**base, "constant": "5.0"})[0] == 20.0
    assert run(**{**base, "rule": "lambda x: x"}) == [6.0, 1.0]
    assert run(**{**base, "rule": "lambda x: helper(x)", "helper": "x * x * x"}) == [24.0, 1.0]
    assert run(**base) == [12.0, 0.0]


def only(folder: Path) -> Path:
    (found,) = folder.glob("??/*")
    return found


DAMAGES = [lambda d: b"", lambda d: d[:-1], lambda d: d[:40], lambda d: d[:-9] + b"x" + d[-8:]]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_not_used(damage, folder: Path, runs: list[str]) -> None:
    target = host()
    made = optimize.optimize_or_find(TEXT, target).object_code
    only(folder).write_bytes(damage(only(folder).read_bytes()))
    assert optimize.optimize_or_find(TEXT, target).object_code == made
    assert len(runs) == 2
    assert optimize.optimize_or_find(TEXT, target).object_code == made  # whole again
    assert len(runs) == 2


def test_code_of_another_name_is_not_used(folder: Path, runs: list[str]) -> None:
    target = host()
    made = optimize.optimize_or_find(TEXT, target).object_code
    other = TEXT.replace("ret double %x", "ret double 4.0")
    name = object_cache.key(other, target, 3)
    planted = folder / name[:2] / object_cache._file(name)
    planted.parent.mkdir(mode=0o700, exist_ok=True)
    only(folder).rename(planted)
    assert optimize.optimize_or_find(other, target).object_code != made
    assert len(runs) == 2


def replaced_by_a_link(path: Path, folder: Path) -> None:
    path.rename(folder / "elsewhere")
    path.symlink_to(folder / "elsewhere")


def replaced_by_a_pipe(path: Path, folder: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def replaced_by_a_directory(path: Path, folder: Path) -> None:
    path.unlink()
    path.mkdir()


def in_a_linked_directory(path: Path, folder: Path) -> None:
    path.parent.rename(folder / "elsewhere")
    path.parent.symlink_to(folder / "elsewhere")


PLANTED = {
    "others may write to the file": lambda path, folder: path.chmod(0o602),
    "a group may": lambda path, folder: path.chmod(0o620),
    "others may write to the directory": lambda path, folder: folder.chmod(0o703),
    "a group may write to the one inside": lambda path, folder: path.parent.chmod(0o720),
    "a link": replaced_by_a_link,
    "a pipe": replaced_by_a_pipe,
    "a directory": replaced_by_a_directory,
    "a link to a directory": in_a_linked_directory,
}


@pytest.mark.parametrize("plant", PLANTED.values(), ids=PLANTED)
@pytest.mark.filterwarnings("ignore:machine code that is kept")
def test_what_somebody_else_may_have_planted_does_not_run(plant, folder: Path, runs: list[str]) -> None:
    """Code that is whole, under its name, in the place of what would be found: it is another function's."""
    assert jit_grad(square)(np.ones(3), 2.0) == 6.0
    (text,) = programs(runs)
    name = object_cache.key(text, host(), default_level())
    path = folder / name[:2] / object_cache._file(name)
    code = optimize.optimize(text.replace("fmul", "fadd"), host(), 0).object_code
    path.write_bytes(object_cache._seal(path.parent.name + path.name[: -len(object_cache.SUFFIX)], code) + code)
    assert jit_grad(square)(np.ones(3), 2.0) != 6.0  # such code would run
    plant(path, folder)
    assert jit_grad(square)(np.ones(3), 2.0) == 6.0


def test_what_is_not_used_is_said_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    optimize.optimize_or_find(TEXT, host())
    monkeypatch.setattr(os, "geteuid", lambda user=os.geteuid(): user + 1)
    with pytest.warns(UserWarning, match="kept in .* is not used: a directory of it belongs to another user") as said:
        for _ in range(3):
            optimize.optimize_or_find(TEXT, host())
    assert len(said) == 1


FOREIGN = "machine code that is kept in .* is not used: a directory of it belongs to another user"


@pytest.mark.parametrize(
    ("meant", "filters"),
    [
        (False, [{"action": "error"}]),
        (False, [{"action": "error", "category": Warning}]),
        (False, [{"action": "error", "category": UserWarning}]),
        (False, [{"action": "error", "category": AdcWarning}, {"action": "error"}]),
        (True, [{"action": "error"}, {"action": "error", "category": AdcWarning}]),
        (True, [{"action": "error", "message": "machine code that is kept"}]),
    ],
)
def test_where_all_warnings_are_errors(
    meant: bool, filters: list[dict[str, Any]], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    """A filter for any warning does not stop a program for want of kept code; one that means this warning does."""
    optimize.optimize_or_find(TEXT, host())
    monkeypatch.setattr(os, "geteuid", lambda user=os.geteuid(): user + 1)
    with warnings.catch_warnings():
        warnings.resetwarnings()
        for given in filters:
            warnings.filterwarnings(**given)
        for _ in range(2):
            if meant:
                with pytest.raises(AdcWarning, match=FOREIGN):
                    jit_grad(square)(np.ones(3), 2.0)
            else:
                assert jit_grad(square)(np.ones(3), 2.0) == 6.0
                assert jit_grad(square).grad(np.ones(3), 2.0).tolist() == [4.0] * 3
    said = capsys.readouterr().err
    assert len(re.findall(f"^AdcWarning: {FOREIGN}", said, re.MULTILINE)) == (not meant)


def test_where_nothing_can_be_written(folder: Path, runs: list[str]) -> None:
    folder.write_text("a file where the directory should be")
    assert jit_grad(square)(np.ones(3), 2.0) == 6.0
    assert jit_grad(square)(np.ones(3), 2.0) == 6.0
    assert len(programs(runs)) == 2
    assert folder.read_text().startswith("a file")


def test_it_can_be_switched_off(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setenv("ADC_CACHE", "0")
    assert jit_grad(square)(np.ones(3), 2.0) == 6.0
    assert not folder.exists()
    assert main(["cache"]) == 0
    assert "no machine code is kept" in capsys.readouterr().out


def test_names_tell_apart_what_makes_other_code() -> None:
    target = host()
    other = type(target)(target.triple, "x86-64", "", target.vector_math, target.openmp)
    names = {object_cache.key(t, m, k) for t in (TEXT, TEXT + "\n") for m in (target, other) for k in (0, 3)}
    assert len(names) == 8


def test_what_was_not_used_for_longest_goes_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [object_cache.key(str(k), host(), 3) for k in range(10)]
    for k, name in enumerate(names):
        object_cache.keep(name, bytes(968))  # 1000 with the checksum
        os.utime(folder / name[:2] / object_cache._file(name), (1e9 + k, 1e9 + k))
    foreign = folder / names[0][:2] / "notes.txt"
    foreign.write_text("not adc's")
    assert object_cache.usage() == (10, 10_000)
    assert object_cache.find(names[0]) is not None  # used now
    monkeypatch.setenv("ADC_CACHE_BYTES", "8e3")
    monkeypatch.setattr(object_cache, "_written", 7e3 / 4)
    object_cache.keep(object_cache.key("new", host(), 3), bytes(968))
    left = [k for k, name in enumerate(names) if object_cache.find(name) is not None]
    assert left == [0, 6, 7, 8, 9]
    assert foreign.exists()
    object_cache.keep(object_cache.key("large", host(), 3), bytes(2001))  # would push out too much
    assert object_cache.usage()[0] == 6


@pytest.mark.parametrize(("allowed", "looks"), [("1e9", False), ("2e5", True)])
def test_not_all_files_are_looked_at_where_there_is_room(
    allowed: str, looks: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that keeps its first file does not know how many others there are."""
    monkeypatch.setenv("ADC_CACHE_BYTES", "1e9")
    name = object_cache.key("first", host(), 3)
    object_cache.keep(name, bytes(968))
    for k in range(60):
        folder.joinpath(f"{k:02x}").mkdir(exist_ok=True, mode=0o700)
        folder.joinpath(f"{k:02x}", f"{k}{object_cache.SUFFIX}").write_bytes(bytes(1000))
    monkeypatch.setenv("ADC_CACHE_BYTES", allowed)
    monkeypatch.setattr(object_cache, "_written", math.inf)
    looked: list[Path] = []
    monkeypatch.setattr(object_cache, "make_room", looked.append)
    object_cache.keep(name, bytes(968))
    assert looked == [folder] * looks


@pytest.mark.parametrize("text", ["inf", "nan", "much", "-1"])
def test_limits_that_make_no_sense(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADC_CACHE_BYTES", text)
    assert jit_grad(square)(np.ones(3), 2.0) == 6.0
    assert main(["cache"]) == 0


def test_several_at_once(folder: Path) -> None:
    name, code = object_cache.key("several", host(), 3), os.urandom(200_000)
    seen: list[bytes | None] = []

    def work() -> None:
        for _ in range(30):
            object_cache.keep(name, code)
            seen.append(object_cache.find(name))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found == code for found in seen)
    assert [path.name for path in folder.glob("??/*")] == [name[2:] + object_cache.SUFFIX]


def test_an_interrupted_write_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        object_cache.keep(object_cache.key("x", host(), 3), b"code")
    assert not list(folder.glob("??/*"))


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jit_grad(square)(np.ones(3), 2.0)
    assert main(["cache"]) == 0
    assert f"{folder}: 2 files" in capsys.readouterr().out
    assert main(["cache", "clear"]) == 0
    assert "deleted 2 files" in capsys.readouterr().out
    assert object_cache.usage() == (0, 0)


def test_where_files_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ADC_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    monkeypatch.setattr(sys, "platform", "linux")
    assert object_cache.directory() == Path("/somewhere/adc")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/one")
    assert object_cache.directory() == Path("/home/one/.cache/adc")
    monkeypatch.setenv("ADC_CACHE_DIR", "~nobody-of-that-name/files")
    assert object_cache.directory() is None
