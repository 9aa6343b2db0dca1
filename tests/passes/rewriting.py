"""Passes on IR written by hand: text in, text out, with value names that do not matter."""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir.core import Block, Module
from adc.ir.text.parser import parse_module
from adc.ir.text.printer import print_module
from adc.ir.verifier import verify
from adc.passes.base import Pass, Verify, run_pipeline


def run_text(passes: Sequence[Pass], before: str) -> str:
    module = parse_module(before)
    verify(module)
    return plain(run_pipeline(module, passes, verify=Verify.PASSES))


def plain(module: Module) -> str:
    """The text of ``module`` with numbers for names."""
    for func in module.funcs.values():
        _anonymous(func.body)
    return print_module(module)


def _anonymous(block: Block) -> None:
    for arg in block.args:
        arg.hint = ""
    for op in block.ops:
        for result in op.results:
            result.hint = ""
        for region in op.regions:
            _anonymous(region)


def check(passes: Sequence[Pass], before: str, after: str) -> None:
    """``passes`` turn the module ``before`` into ``after``."""
    expected = parse_module(after)
    verify(expected)
    got, wanted = run_text(passes, before), plain(expected)
    assert got == wanted, f"\n{got}\nis not\n{wanted}"
