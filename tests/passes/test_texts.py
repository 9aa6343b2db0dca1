"""Each pass on small texts: `tests/passes/<pass>/*.mlir` contain IR before and after, and the command.

The first line is the command, the next lines say what the text shows. `--update-golden` writes the part after `//
becomes`.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adc.cli import main
from adc.ir import ops
from adc.ir.core import Func, Module
from adc.ir.diagnostics import AdcError
from adc.ir.interpret import interpreter
from adc.ir.text.parser import parse_module
from adc.ir.types import MemRefType, RecordType, Type, i1
from adc.passes import named

HERE = Path(__file__).resolve().parent
TEXTS = sorted(HERE.glob("*/*.mlir"))
BECOMES = "// becomes\n"
COMMAND = re.compile(r"// (adc opt .*)\n")


def optimised(command: str, before: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("sys.stdin", io.StringIO(before))
    with contextlib.redirect_stdout(io.StringIO()) as after:
        assert main(shlex.split(command)[1:]) == 0
    return after.getvalue()


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_text_becomes_what_is_written_below(
    path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    text = path.read_text()
    command = COMMAND.match(text)
    assert command is not None
    before, _, expected = text.partition(BECOMES)
    after = optimised(command[1], before, monkeypatch)
    assert path.parent.name in command[1]
    assert after != optimised("adc opt", before, monkeypatch), "the pass leaves this as it is"
    if request.config.getoption("update_golden"):
        path.write_text(f"{before.rstrip()}\n\n{BECOMES}{after}")
    else:
        assert after == expected, f"\n{after}"


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_both_texts_compute_the_same(path: Path) -> None:
    before, _, after = path.read_text().partition(BECOMES)
    first, second = parse_module(before), parse_module(after)
    for func in first.funcs.values():
        other = second.funcs.get(func.name)
        asks = any(op.opdef is ops.gradient for op in func.walk())
        called = any(isinstance(arg.type, RecordType) for arg in func.args)  # with what its caller has packed
        if other is not None and signature(other) == signature(func) and not asks and not called:
            expected, found = arguments(func), arguments(func)
            results, again = outcome(first, func.name, expected), outcome(second, func.name, found)
            for a, b in zip([*results, *expected], [*again, *found], strict=True):
                np.testing.assert_allclose(b, a, rtol=1e-13)


def signature(func: Func) -> tuple[Any, ...]:
    return [arg.type for arg in func.args], func.result_types


def outcome(module: Module, name: str, args: list[Any]) -> list[Any]:
    """The results, or the error that the program raises."""
    try:
        return list(interpreter.run(module, name, args))
    except AdcError as error:
        assert "three numbers" in error.message
        return []


def arguments(func: Func) -> list[Any]:
    """Arrays of twenty elements along each axis, unless their types have others, which integers are subscripts of; %i
    and %k are small ones."""
    rng = np.random.default_rng(0)

    def value(type_: Type, name: str, shape: tuple[int, ...] = ()) -> Any:
        if isinstance(type_, MemRefType):
            return value(type_.element, name, tuple(20 if n is None else n for n in type_.shape))
        if type_.is_float:
            return rng.uniform(0.5, 1.5, shape) if shape else float(rng.uniform(0.5, 1.5))
        if type_ == i1:
            return True
        return rng.integers(0, 5, shape) if shape else 3 if name in ("i", "k") else 19

    return [value(arg.type, arg.hint) for arg in func.args]


def test_each_pass_has_a_test_of_its_name() -> None:
    """A text, or a module of tests."""
    known = {path.parent.name for path in TEXTS} | {path.stem.removeprefix("test_") for path in HERE.glob("test_*.py")}
    assert not [name for name in named.PASSES if name not in known and name.replace("-", "_") not in known]
    assert not {path.parent.name for path in TEXTS} - set(named.PASSES), "a folder of texts has the name of a pass"
