"""How to make kernels again: what is kept with code that calls kernels late, for a process that has not traced them."""

from __future__ import annotations

import importlib
from types import FunctionType
from typing import TYPE_CHECKING

from adc.ir.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from adc.frontend.abstract import Abstract
    from adc.frontend.functions.declared import Library


@dataclass(frozen=True)
class Recipe:
    """A kernel's function, by its name in a module, the types of its arguments, and the library that compiles it."""

    library: Library
    module: str
    name: str
    signature: tuple[Abstract, ...]

    def function(self) -> FunctionType:
        found: FunctionType = getattr(importlib.import_module(self.module), self.name)
        return found


RECIPES: dict[str, Recipe] = {}
"""Those of the kernels that programs of this process have mentioned, by symbol."""
