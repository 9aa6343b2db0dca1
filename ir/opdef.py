"""What an operation is: name, type rule, evaluation, traits. The table of them is ``adc.ir.ops``."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any

from adc.ir.builder import build
from adc.ir.core import Attr, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import Type

Evaluate = Callable[..., Any]
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
    LINEAR = "linear in each float operand, with coefficients that are constants or depend on conditions alone"
    POSITIVE_ZERO = "a float result is never -0.0"
    DIVISION = "divides integers: undefined where the second operand is zero"
    LOOP = "runs its regions any number of times"
    COUNTED = "runs its region once for each number of a range"

    # Traits are looked up for every operation by nearly everything, and Enum's own hash is a Python function.
    __hash__ = object.__hash__


@dataclass(frozen=True, eq=False)
class OpDef:
    """A kind of operation. Compared by identity: refer to ``ops.addf``, never to the string ``"arith.addf"``.

    ``infer(operand types, attributes)`` gives the result types or raises ``TypeError``; the verifier infers again and
    compares. Operations with regions have none: their result types are given when they are built, and ``verify`` checks
    them. ``evaluate(attributes, result type, *values)`` is folder, interpreter and test oracle of a scalar operation.
    ``samples`` are operand tuples at which tests try it. ``attrs`` names the attributes it takes, with their defaults
    (``...`` for required).

    The facts. A scalar operation must state all of the first group, the others their ``cost``: to leave one out is an
    error when the card is made. A trait says what holds besides; to leave it out is safe.

    - ``cost`` of one execution, without what is in its regions, in units of about one vectorised addition of floats
      (of functions: measured, an element of vector code over arrays in the first cache). Rough on purpose: plans weigh
      alternatives that differ by factors, and must not depend on the machine.
    - ``defined``: whether there is a result for all operands. If that depends on the second operand: a
      function of its value, for constants.
    - ``singular``: at finite arguments the result or a partial derivative may be infinite or NaN. (Overflow of sums and
      products does not count.)
    - ``called``: it is computed by calling a function, of C's library or adc's own, and not by some instructions.
    - ``c_name``: the name in C of the function for doubles that it is; empty if C's library has none.

    - ``element``: which operand is the array of which it reads or changes one element; subscripts follow it.
    - ``target``: which operand is the array that it writes to.
    - ``plain``: the operation that it is equal to where no operand is marked as a strong zero.
    """

    name: str
    infer: TypeRule | None = None
    traits: frozenset[Trait] = frozenset()
    attrs: dict[str, Any] = field(default_factory=dict)
    regions: int = 0
    evaluate: Evaluate | None = None
    samples: tuple[tuple[Any, ...], ...] = ()
    verify: Callable[[Op], None] | None = None
    cost: float | None = None
    defined: bool | Callable[[Any], bool] | None = None
    singular: bool | None = None
    called: bool | None = None
    c_name: str | None = None
    element: int | None = None
    target: int | None = None
    plain: OpDef | None = None

    def __post_init__(self) -> None:
        missing = ["cost"] if self.cost is None else []
        if self.evaluate is not None:
            missing += [fact for fact in ("defined", "singular", "called", "c_name") if getattr(self, fact) is None]
        if missing:
            raise TypeError(f"the card of {self.name} does not state: {', '.join(missing)}")

    @cached_property
    def defaults(self) -> tuple[tuple[str, Any], ...]:
        """The optional attributes, with their defaults."""
        return tuple((name, default) for name, default in self.attrs.items() if default is not ...)

    @property
    def dialect(self) -> str:
        return self.name.split(".")[0]

    @property
    def pure(self) -> bool:
        return Trait.PURE in self.traits

    @property
    def slow(self) -> bool:
        """Whether it is an instruction that takes long: a division, a root."""
        return self.evaluate is not None and not self.called and self.cost is not None and self.cost > 1.0

    def __call__(self, *operands: Value, **attrs: Attr) -> Value:
        """Append this operation at the current insertion point and return its only result."""
        return build(self, operands, attrs).result

    def __repr__(self) -> str:
        return f"<OpDef {self.name}>"
