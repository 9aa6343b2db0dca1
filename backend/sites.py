"""The places where a run of compiled code can end with an error."""

from __future__ import annotations

from dataclasses import dataclass

from adc.ir.core import Loc
from adc.ir.raising import Message
from adc.ir.types import Type

NO_MEMORY = -3  # the number of every such place in a kernel, which has no lines that would tell a user anything


@dataclass(frozen=True)
class Site:
    """What is raised at one place, and about what operands (see ``adc.ir.raising``)."""

    error: str
    message: Message
    loc: Loc
    operand_types: tuple[Type, ...] = ()
