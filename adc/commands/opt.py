"""``adc opt``: runs passes on IR in a file, which shows what each of them does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TextIO

from adc.commands.loading import check_folder
from adc.driver.changes import PrintChanges, form_of
from adc.ir import kinds
from adc.ir.core import Module
from adc.ir.text.parser import parse_module
from adc.ir.text.printer import print_module
from adc.ir.verifier import VerificationError, verify
from adc.passes.base import Pipeline, Verify, run_pipeline
from adc.passes.named import listing, parse_pipeline


def optimise(file: str, passes: str, changed: str | None, output: Path | None) -> None:
    """Run ``passes`` on the module in ``file`` ("-": standard input), verify it after each, and write the result.

    ``changed``: also write what each pass changed to stderr, in one of ``adc.driver.changes.FORMS``.
    """
    steps = _steps(passes)
    if output is not None:
        check_folder(output)
    module = _read(file)
    after = None if changed is None else PrintChanges(module, sys.stderr, form_of(changed)).after
    module = run_pipeline(module, steps, verify=Verify.PASSES, after=after)
    if output is None:
        sys.stdout.write(print_module(module))
    else:
        output.write_text(print_module(module))


def list_passes(out: TextIO) -> None:
    out.write(listing())


def _steps(passes: str) -> Pipeline:
    try:
        return parse_pipeline(passes)
    except ValueError as error:
        raise kinds.INVALID_OPTION(f"--passes: {error}", help="adc opt --list-passes lists them") from None


def _read(file: str) -> Module:
    if file != "-" and not Path(file).is_file():
        raise kinds.NO_SUCH_FUNCTION(f"no such file: {file}", help="the form is FILE.mlir, or - for standard input")
    text = sys.stdin.read() if file == "-" else Path(file).read_text()
    name = "<stdin>" if file == "-" else file
    module = parse_module(text, name)
    try:
        verify(module)
    except VerificationError as error:
        raise kinds.INVALID_SOURCE(f"{name} is not valid IR: {error}", help="docs/passes.md has examples") from None
    return module
