"""What ``adc compile`` compiles, functions for one signature each, and what it has written."""

from __future__ import annotations

from dataclasses import field, replace
from pathlib import Path

from adc.backend.ahead.c_names import identifier
from adc.border.options import Selection
from adc.driver.compiler import Staged
from adc.driver.subject import Subject
from adc.frontend.abstract import Abstract
from adc.ir.lazy_dataclass import dataclass


@dataclass
class Output:
    """What was written, and remarks on what was left out and why."""

    files: list[Path] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    libraries: tuple[str, ...] = ()
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Unit:
    """A function for one signature. ``name``: the base name of its C functions; if empty, that of the Python
    function."""

    subject: Subject
    abstracts: tuple[Abstract, ...]
    chosen: Selection
    name: str = ""

    @property
    def c_name(self) -> str:
        return identifier(self.name or self.subject.name)

    def staged(self, *, serial: bool = False) -> Staged:
        """The stages of compilation, with all callees included, and without LAPACK, whose address other processes do
        not know."""
        options = replace(self.subject.options, lapack=False)
        if serial:
            options = replace(options, parallel=False, tile=False)
        subject = Subject(self.subject.fn, options, owner=self.subject.owner, read=self.subject.read)
        return Staged(subject, self.abstracts, whole=True)
