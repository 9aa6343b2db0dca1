"""docs/errors.md: each kind has an entry; its wrong program gives this error, its right program Python's result.

With ``--update-golden`` the texts in the page are updated.
"""

from __future__ import annotations

import linecache
import re
import shlex
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adc
import adc.functions.jacobian_function
import adc.sparse.matrices  # here, since what is imported while a program exchanges modules is forgotten again
from adc import cli, jit_grad, prange
from adc.errors import AdcError, InternalError
from adc.functions.decorator import JitFunction
from adc.ir.kinds import KINDS
from adc.ir.ways_out import WAYS_OUT
from tests.errors.test_kinds import IR_WORDS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "errors.md"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WITHOUT_PROGRAM = {"internal-error"}


@dataclass(frozen=True)
class Entry:
    head: str
    wrong: str
    text: str
    right: str
    shell: bool


def entries() -> dict[str, Entry]:
    found = {}
    for part in re.split(r"^###? ", PAGE.read_text(), flags=re.MULTILINE)[1:]:
        name, _, body = part.partition("\n")
        blocks = FENCE.findall(body)
        if len(blocks) == 3:
            (language, wrong), (_, text), (_, right) = blocks
            found[name] = Entry(body, wrong, text, right, language == "sh")
        elif name in WITHOUT_PROGRAM:
            found[name] = Entry(body, "", "", "", False)
    return found


ENTRIES = entries()
PROGRAMS = {name: entry for name, entry in ENTRIES.items() if name not in WITHOUT_PROGRAM}


def test_every_kind_has_an_entry() -> None:
    assert list(ENTRIES) == list(KINDS), "docs/errors.md has one entry for each kind, in the order of ir/kinds.py"


@pytest.mark.parametrize("name", ENTRIES)
def test_the_head_is_true(name: str) -> None:
    kind = KINDS[name]
    builtin = next(cls.__name__ for cls in kind.error.__mro__ if cls.__module__ == "builtins")
    article = "an" if builtin[0] in "AEIOU" else "a"
    assert ENTRIES[name].head.lstrip().startswith(f"`{kind.error.__name__}`, {article} `{builtin}`: {kind.meaning}.")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("ADC_FULL_TRACEBACK", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "broken.py").write_text("def f(x) return x\n")
    (tmp_path / "square.py").write_text("def square(x):\n    return x * x\n")
    for name in ("broken.py", "square.py"):  # files of other tests may have had the same names
        linecache.cache.pop(name, None)
    return tmp_path


def run(name: str, source: str, **replaced: Any) -> dict[str, Any]:
    Path(name).write_text(source)
    linecache.cache.pop(name, None)
    space = {"math": __import__("math"), "np": np, "adc": adc, "jit_grad": jit_grad, "prange": prange, "__name__": name}
    space |= replaced
    exec(compile(source, name, "exec"), space)
    return space


def shell(line: str, monkeypatch: pytest.MonkeyPatch) -> int:
    words = shlex.split(line)
    while "=" in words[0]:
        monkeypatch.setenv(*words.pop(0).split("=", 1))
    assert words.pop(0) == "adc"
    return cli.main(words)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_wrong_program(
    name: str,
    folder: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    entry = PROGRAMS[name]
    if entry.shell:
        assert shell(entry.wrong, monkeypatch) == 1
        text = capsys.readouterr().err
        assert text.startswith(f"error[{name}]: ")
    else:
        with pytest.raises(AdcError) as caught:
            run("wrong.py", entry.wrong)
        error = caught.value
        assert error.kind == name, error.render()
        assert type(error) is KINDS[name].error
        text = re.split(r"^note: (?:compiled for|in) this call", error.render(), flags=re.MULTILINE)[0].rstrip() + "\n"
    spoken = text.partition("\n")[0]
    other = name in ("internal-error", "rank-failed")  # which speaks of other ranks
    assert "f64[" in spoken or other or not IR_WORDS.search(spoken), spoken
    assert name not in WAYS_OUT or "= help: " in text
    if request.config.getoption("--update-golden"):
        page = PAGE.read_text()
        start = page.index("```text\n", page.index(f"### {name}\n")) + len("```text\n")
        PAGE.write_text(page[:start] + text + page[page.index("```", start) :])
    else:
        assert text == entry.text


def plain(*args: Any, **options: Any) -> Any:
    """In place of ``jit_grad``: the function as it is."""
    return args[0] if args else lambda f: f


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_right_program(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = PROGRAMS[name]
    if entry.shell:
        assert shell(entry.right, monkeypatch) == 0
        return
    compiled = run("right.py", entry.right)
    functions = [f for f in compiled.values() if isinstance(f, JitFunction)]
    assert functions or "adc.grad(" in entry.right
    if "expected" in compiled:
        np.testing.assert_allclose(compiled["answer"], compiled["expected"], rtol=1e-12)
        return
    answer = run("plain.py", entry.right, jit_grad=plain, prange=range)["answer"]
    np.testing.assert_equal(compiled["answer"], answer)


def test_a_defect_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ADC_FULL_TRACEBACK", raising=False)
    monkeypatch.setattr("adc.frontend.tracer.execute_function", broken)

    @jit_grad
    def f(x):
        return x

    with pytest.raises(InternalError, match="adc failed to compile f: KeyError: 'lost'") as caught:
        f(1.0)
    assert caught.value.kind == "internal-error" and "ADC_FULL_TRACEBACK=1" in caught.value.help
    assert caught.value.__cause__ is None


class Late(Exception):
    """What a handler of signals raises."""


def test_what_a_handler_raises_during_compilation_is_no_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*args: object) -> None:
        raise Late("time is up")

    def interrupted(*args: object) -> None:
        signal.raise_signal(signal.SIGTERM)

    @jit_grad
    def f(x):
        return x

    before = signal.signal(signal.SIGTERM, late)
    try:
        with monkeypatch.context() as context:
            context.setattr("adc.frontend.tracer.execute_function", interrupted)
            for call in (f, f.grad):
                with pytest.raises(Late, match="time is up"):
                    call(1.0)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert f(1.0) == 1.0


def broken(*args: object) -> Callable[..., Any]:
    raise KeyError("lost")
