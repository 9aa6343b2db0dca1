"""What an operation is: name, type rule, evaluation, traits. The table of them is ``adc.ir.ops``."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adc.ir.builder import build
from adc.ir.core import Attr, Op, Value
from adc.ir.types import Type

TypeRule = Callable[[Sequence[Type], Mapping[str, Attr]], Sequence[Type]]


class Trait(enum.Enum):
    PURE = "no effect, and the result depends on operands and attributes alone"
    COMMUTATIVE = "the two operands may be exchanged"
    TERMINATOR = "ends a block"
    READS = "reads memory through its memref operands"
    WRITES = "writes memory through its memref operands"
    ALLOCATES = "returns memory that nothing else refers to"
    VIEW = "returns a window on the memory of its first operand"
    TRAPS = "may end the program's run with an error"

    # Traits are looked up for every operation by nearly everything, and Enum's own hash is a Python function.
    __hash__ = object.__hash__


@dataclass(frozen=True, eq=False)
class OpDef:
    """A kind of operation. Compared by identity: refer to ``ops.sin``, never to the string ``"math.sin"``.

    ``infer(operand types, attributes)`` gives the result types or raises ``TypeError``; the verifier infers again and
    compares. Operations with regions have none: their result types are given when they are built, and ``verify``
    checks them. ``evaluate(attributes, result type, *values)`` is folder, interpreter and test oracle of a scalar
    operation. ``samples`` are operand tuples at which tests try it. ``attrs`` names the attributes it takes, with
    their defaults (``...`` for required).
    """

    name: str
    infer: TypeRule | None = None
    traits: frozenset[Trait] = frozenset()
    attrs: dict[str, Any] = field(default_factory=dict)
    regions: int = 0
    evaluate: Callable[..., Any] | None = None
    samples: tuple[tuple[Any, ...], ...] = ()
    verify: Callable[[Op], None] | None = None

    @property
    def dialect(self) -> str:
        return self.name.split(".")[0]

    @property
    def pure(self) -> bool:
        return Trait.PURE in self.traits

    def __call__(self, *operands: Value, **attrs: Attr) -> Value:
        """Append this operation at the current insertion point and return its only result."""
        return build(self, operands, attrs).result

    def __repr__(self) -> str:
        return f"<OpDef {self.name}>"
