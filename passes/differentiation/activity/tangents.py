"""Which values of a function have a tangent in forward mode, and which of its arguments and results.

A float has one if it is active, an array of floats if its memory has a shadow (see ``adc.passes.differentiation
.activity``): the tangent of an array is another one of the same type. Records, and arrays that hold arrays or records,
always have one, made of the tangents of everything that they hold, so it need not be known who reads what was put into
them.
"""

from __future__ import annotations

from dataclasses import field

from adc.ir.core import Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import MemRefType
from adc.passes.differentiation.activity.activity import Activity, Interface
from adc.passes.differentiation.activity.held import is_container


@dataclass
class Tangible:
    """The values with tangents of one function."""

    activity: Activity

    def __contains__(self, value: Value) -> bool:
        if isinstance(value.type, MemRefType):
            return is_container(value.type) or (value.type.element.is_float and self.activity.has_shadow(value))
        return is_container(value.type) or self.activity.active(value)

    def concerns(self, call: Op) -> bool:
        """Whether a call takes or makes something with a tangent."""
        return any(v in self for v in (*call.operands, *call.results))

    def interface_of(self, call: Op) -> Interface:
        """What varies before a call, and what matters after it."""
        varied, useful = self.activity.varied, self.activity.useful
        before = frozenset(k for k, v in enumerate(call.operands) if (v in self if _memory(v) else v in varied))
        after = frozenset(
            k for k, v in enumerate(call.results) if (v in self if _memory(v) else v in varied and v in useful)
        )
        args = frozenset(
            k
            for k, v in enumerate(call.operands)
            if not v.type.is_float and v in self and not useful.isdisjoint(self.activity.reach(v))
        )
        return Interface(before, after, args)

    def is_passive(self, call: Op) -> bool:
        """Whether nothing in a call varies, so that the tangents of its results are zeros."""
        if any(v in self for v in call.operands) or any(is_container(r.type) for r in call.results):
            return False
        roots = self.activity.aliasing.roots
        return all(roots(r) == {r} for r in call.results if isinstance(r.type, MemRefType) and r in self)


@dataclass
class Tangent:
    """A function with tangents. It takes the arguments of the function that it was made from, then tangents of those at
    ``arguments``; it returns the results, then tangents of those at ``results``. ``text``: findings for the report."""

    name: str
    arguments: tuple[int, ...]
    results: tuple[int, ...]
    text: str = ""
    callees: list[Tangent] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join(tangent.text for tangent in self._all({}).values())

    def _all(self, found: dict[str, Tangent]) -> dict[str, Tangent]:
        if self.name not in found:
            found[self.name] = self
            for callee in self.callees:
                callee._all(found)
        return found


def _memory(value: Value) -> bool:
    return isinstance(value.type, MemRefType)
