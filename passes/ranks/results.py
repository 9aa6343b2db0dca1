"""What is reported at the end of a function: how results are distributed, and which arguments were written to."""

from __future__ import annotations

from adc.ir.core import Func, Module, Value
from adc.ir.types import MemRefType
from adc.passes.ranks.exchanges import returned
from adc.passes.ranks.layouts import AXES, Layouts, is_same, underneath
from adc.passes.ranks.regions import Box, whole_axis


class Results:
    """Arrays that a function returns. ``views`` are those that all ranks get all of: views of arrays that are shared
    out, whose own extents do not say how."""

    def __init__(self, func: Func, layouts: Layouts) -> None:
        self.views: dict[Value, list[Box]] = {}
        self._fields: dict[Value, tuple[int, ...]] = {}
        for value in func.body.terminator.operands:
            if not isinstance(value.type, MemRefType) or not layouts.shares(value):
                continue
            array, views = underneath(value)
            if all(map(is_same, views)):
                self._fields[array] = layouts.of(array)
            else:
                extents = [layouts.extent(array, d) for d in range(len(layouts.of(array)))]
                self.views[array] = [Box((), tuple(whole_axis(extent) for extent in extents))]

    def say(self, module: Module) -> None:
        """Append calls that say how they are distributed."""
        for array, axes in self._fields.items():
            returned(module, array, axes)


def arguments_written(func: Func, layouts: Layouts) -> list[Value]:
    """The arguments that are distributed and written to, except shadows."""
    written = layouts.written(func.body)
    marked = zip(func.args, func.arg_attrs, strict=True)
    return [arg for arg, attrs in marked if AXES in attrs and "adc.shadow" not in attrs and arg in written]
