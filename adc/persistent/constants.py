"""The arguments on whose values, or sizes, the code of a function depends. Tracing finds them; later processes read
them from a record."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.border.signature import leaves
from adc.driver.compiler import Staged
from adc.driver.specialise import Specialisation
from adc.driver.subject import Subject
from adc.frontend.abstract import Abstract, Scalar, walk_abstract
from adc.frontend.attempts import further
from adc.ir.diagnostics import CompileError
from adc.persistent import records

Path = tuple[int, ...]


class Constants:
    """The constant arguments of a call with arguments of given types."""

    def __init__(self, subject: Subject, types: tuple[Abstract, ...]) -> None:
        self._subject = subject
        self._types = types
        self._found = False
        self._refused: CompileError | None = None
        if types not in subject.constants:
            found = (leaf for a in types for leaf in walk_abstract(a))
            integers = any(isinstance(leaf, Scalar) and leaf.type.is_integer for leaf in found)
            subject.constants[types] = set(self._earlier() if integers else ())

    @property
    def paths(self) -> set[Path]:
        return self._subject.constants[self._types]

    def add(self, path: Path) -> None:
        """Add an argument that tracing needs as a constant."""
        self.paths.add(path)
        self._found = True

    def add_sizes(self, values: tuple[Any, ...], error: CompileError) -> None:
        """Add the sizes of all arrays, if ``error`` says that these may help. Otherwise it is raised, or the one before
        it, and nothing is said of sizes."""
        self._refused = error if self._refused is None else further(self._refused, error)
        sizes = {path for path, leaf in leaves(values) if isinstance(leaf, np.ndarray) and leaf.ndim > 0}
        if sizes <= self.paths or not error.sizes_may_help:
            self.paths.difference_update(sizes)
            raise self._refused from None
        self.paths.update(sizes)
        self._found = True

    def keep(self, spec: Specialisation) -> None:
        """Record what was found for later processes; it is valid as long as everything traced for ``spec`` is
        unchanged."""
        if self._found:
            name = records.name_of(("constants",), self._staged())
            if name is not None:
                records.keep_constants(name, spec, tuple(sorted(self.paths)))

    def _earlier(self) -> tuple[Path, ...]:
        staged = self._staged()
        name = records.name_of(("constants",), staged)
        return () if name is None else records.find_constants(name, staged)

    def _staged(self) -> Staged:
        return Staged(self._subject, self._types)
