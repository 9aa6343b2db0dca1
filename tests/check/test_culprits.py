"""`adc check` on programs of some 200 lines: right ones pass; for wrong ones the line of the rule is named."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import adc
from adc.cli import main
from tests.check.programs import CASES, Case, marked, program


@pytest.fixture
def as_users_run_it(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Without the verifier between passes; and without the rules of libraries afterwards."""
    monkeypatch.delenv("ADC_VERIFY", raising=False)
    yield
    adc.no_rule(math.erf)


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.name for case in CASES])
def test_the_wrong_rule_is_found(number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = CASES[number]
    check(case, program(number, case, wrong=False), tmp_path, capsys, wrong=False)
    check(case, program(number, case, wrong=True), tmp_path, capsys, wrong=True)


def check(case: Case, source: str, folder: Path, capsys: pytest.CaptureFixture[str], *, wrong: bool) -> None:
    file = folder / f"program_{'wrong' if wrong else 'right'}.py"
    file.write_text(source)
    assert 190 <= source.count("\n") <= 260
    code = main(["check", f"{file}:main", "--draws", "1", "--seed", "1", *(() if wrong else ("--no-native",))])
    shown = capsys.readouterr()
    if not wrong:
        assert code == 0, shown.err
        assert "1 right (values, rules, operations and functions" in shown.out
        return
    assert code == 1, shown.out
    places = [int(n) for n in re.findall(rf"--> {re.escape(str(file))}:(\d+):", shown.err)]
    assert places[0] in marked(source, "CALL"), shown.err
    assert places[1] in marked(source, "RULE"), shown.err
    assert "note: the rule is here" in shown.err
    if case.mode:
        assert f"{case.mode} mode gives" in shown.err
