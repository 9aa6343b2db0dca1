"""The places where a run of compiled code can end with an error."""

from __future__ import annotations

from adc.ir.core import Loc
from adc.ir.lazy_dataclass import dataclass
from adc.ir.raising import Message
from adc.ir.types import Type

NO_MEMORY = -3  # the site of this error in all kernels, whose lines would tell a user nothing


@dataclass(frozen=True)
class Site:
    """The error that is raised at one place, and the operands of its message (see ``adc.ir.raising``)."""

    error: str
    message: Message
    loc: Loc
    operand_types: tuple[Type, ...] = ()
