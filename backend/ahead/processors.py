"""Check that LLVM knows the name of a processor."""

from __future__ import annotations

import difflib
import os
import re
import sys
import tempfile
import threading
from dataclasses import replace

from adc.backend.target import Target
from adc.ir import kinds

_NAME = re.compile(r"^\s+(\S+)\s+- Select the", re.MULTILINE)
_redirected = threading.Lock()
_listed: dict[str, list[str]] = {}


def check_processor(target: Target) -> None:
    """Refuse a processor that LLVM does not know: it would only warn, and generate code for a generic one."""
    if "not a recognized processor" not in _said(target):
        return
    architecture = target.triple.partition("-")[0]
    known = _known(architecture, target)
    near = difflib.get_close_matches(target.cpu.lower(), known, n=3)
    examples = ", ".join(_examples(architecture, known))
    raise kinds.INVALID_OPTION(
        f"{target.cpu!r} is not a processor of {architecture} that LLVM knows",
        help=f"did you mean {' or '.join(near)}?" if near else f"for instance {examples}",
    )


def _examples(architecture: str, known: list[str]) -> list[str]:
    levels = ["x86-64-v2", "x86-64-v3", "x86-64-v4"] if architecture == "x86_64" else []
    return [*levels, *sorted(known)[-1:]]


def _known(architecture: str, target: Target) -> list[str]:
    """The processors of an architecture. LLVM prints the list only once in a process, so it is cached."""
    if architecture not in _listed:
        _listed[architecture] = _NAME.findall(_said(replace(target, cpu="help")))
    return _listed[architecture]


def _said(target: Target) -> str:
    """What LLVM writes to standard error when a target machine is made. There is no other way to get the list."""
    with _redirected, tempfile.TemporaryFile() as file:
        sys.stderr.flush()
        before = os.dup(2)
        try:
            os.dup2(file.fileno(), 2)
            target.machine()
        finally:
            os.dup2(before, 2)
            os.close(before)
        file.seek(0)
        return file.read().decode(errors="replace")
