"""The dependences of compiled code are checked at each call, even where dictionaries have no known version.

Interpreters from 3.14 on have no versions of dictionaries; here that is forced, on the cases of ``test_looks``.
"""

from __future__ import annotations

import itertools
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from adc import jit_grad
from adc.backend.calls import looks
from adc.backend.library import python_abi
from adc.backend.library.unchanged import VARIABLE, VERSION
from adc.frontend.looks import Field, Variable, attribute_place
from tests.frontend import test_looks


@pytest.fixture
def no_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_abi, "version_offset", lambda: None)


@pytest.fixture
def kinds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What kinds of entries tables are made of."""
    found: list[int] = []
    original = looks.Table.__init__

    def made(self: Any, *args: Any) -> None:
        original(self, *args)
        found.extend(kind for kind, *_ in self._entries)

    monkeypatch.setattr(looks.Table, "__init__", made)
    return found


@pytest.mark.parametrize("name", list(test_looks.CASES))
def test_a_change_is_noticed(name: str, no_versions: None, kinds: list[int]) -> None:
    function, change, *undo = test_looks.CASES[name]()
    f = jit_grad(function)
    assert f(0.7) == f(0.7) == pytest.approx(function(0.7), rel=1e-14)
    change()
    try:
        assert f(0.7) == f(0.7) == pytest.approx(function(0.7), rel=1e-14)
    finally:
        for back in undo:
            back()
    assert VERSION not in kinds


def test_variables_are_looked_up(no_versions: None, kinds: list[int]) -> None:
    test_looks.test_a_change_is_noticed_at_each_call_until_it_is_undone()
    test_looks.test_a_module_whose_other_variables_change_all_the_time()
    assert VARIABLE in kinds and VERSION not in kinds


@pytest.mark.parametrize("numbers", [itertools.repeat(7), itertools.repeat(0), itertools.count(1)])
def test_a_layout_that_is_not_known_is_not_believed(numbers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A word that stays as it is when a dictionary changes, and one that changes by itself."""
    word = SimpleNamespace(from_address=lambda address: SimpleNamespace(value=next(numbers)))
    monkeypatch.setattr(python_abi, "ctypes", SimpleNamespace(c_uint64=word))
    assert python_abi.version_offset.__wrapped__() is None


@pytest.mark.parametrize("version", [(3, 10), (3, 14), (3, 15), (4, 0)])
def test_an_interpreter_that_is_not_known_has_no_versions(version: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (*version, 0, "final", 0))
    assert python_abi.version_offset.__wrapped__() is None


def test_dictionaries_of_instances_have_no_versions(kinds: list[int]) -> None:
    """3.13 may store to the attribute of an object and leave the version of its dictionary as it was."""
    owner = jit_grad(lambda x: x)
    owner.rate = 2.0
    place = attribute_place(owner, "rate")
    assert isinstance(place, Field) and isinstance(attribute_place(sys, "path"), Variable)
    table = looks.Table([SimpleNamespace(fetch=place, seen=owner.rate)], object())
    assert kinds == [VARIABLE] and table.holds()
    before = owner.rate
    owner.rate = 3.0
    assert not table.holds()
    owner.rate = before
    assert table.holds()
