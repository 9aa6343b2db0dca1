"""Pipelines that have run already are not run again: for tests that compile one program in several ways.

What a pipeline makes of a module depends on the module alone, on its passes and on the machine that code is made for.
A test that compiles the same program as another of its file (by another engine, with another schedule, on other
threads) gets a copy of what the other's pipelines made and verified. Files ask for it by
``pytest.mark.usefixtures("stages")``. Tests that exchange something by ``monkeypatch`` run all pipelines, as does `make
test-all`; those that exchange the same parts many times say which by ``share``.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Hashable, Sequence
from typing import Any

import pytest

from adc.driver import compiler
from adc.ir.core import Block, Module, Value
from adc.ir.known import forget
from adc.ir.rewrite import clone_module
from adc.passes.analysis.machine import machine
from adc.passes.base import Step, run_pipeline

_lock = threading.RLock()
_MOST = 150_000  # operations and values of the modules that are kept, some 200 MB
_made: dict[Hashable, tuple[Module, int]] = {}  # modules and their sizes, in the order of their use


def _run(exchanged: Hashable, module: Module, steps: Sequence[Step], **options: Any) -> Module:
    if options.get("after") is not None:
        return run_pipeline(module, steps, **options)
    with _lock:  # ranks that are threads compile the same at once
        return _kept(exchanged, module, steps, **options)


def _kept(exchanged: Hashable, module: Module, steps: Sequence[Step], **options: Any) -> Module:
    content = _content(module)
    key = exchanged, machine(), options.get("verify"), tuple(steps), content
    known = _made.pop(key, None)
    if known is None:
        module = run_pipeline(module, steps, **options)
        known = clone_module(module), 2 * len(content)
    else:
        forget(module)
        module.funcs.clear()
        module.funcs.update(clone_module(known[0]).funcs)
    _made[key] = known
    while sum(size for _, size in _made.values()) > _MOST:
        del _made[next(iter(_made))]
    return module


def _content(module: Module) -> tuple[Hashable, ...]:
    """All that there is to know of a module. Attributes are texts: as numbers, zero would equal minus zero."""
    numbers: dict[Value, int] = {}
    found: list[Hashable] = []

    def define(values: Sequence[Value]) -> None:
        for value in values:
            numbers[value] = len(numbers)
            found.append((value.type, value.hint))

    def visit(block: Block) -> None:
        define(block.args)
        for op in block.ops:
            attrs = repr(op.attrs) if op.attrs else ""
            found.append((op.opdef.name, op.loc, attrs, *[numbers[v] for v in op.operands], len(op.results)))
            for region in op.regions:
                visit(region)
            define(op.results)
        found.append(len(block.ops))

    for func in module.funcs.values():
        found.append((func.name, func.loc, func.result_types, repr(func.attrs), repr(func.arg_attrs)))
        visit(func.body)
    return tuple(found)


def share(patch: pytest.MonkeyPatch, *exchanged: Hashable) -> None:
    """Use what pipelines made in tests of the same file that exchanged the same, as long as ``patch`` is in force."""
    if os.environ.get("ADC_THOROUGH"):
        return
    file = os.environ["PYTEST_CURRENT_TEST"].partition("::")[0]
    patch.setattr(compiler, "run_pipeline", lambda *given, **options: _run((file, exchanged), *given, **options))
