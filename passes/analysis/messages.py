"""Which functions of a module communicate with other ranks (``adc.ir.messages``)."""

from __future__ import annotations

from collections.abc import Callable

from adc.ir.callgraph import callees
from adc.ir.core import Func, Module, Op
from adc.ir.known import of_module
from adc.ir.messages import PAIRED, is_message
from adc.ir.types import MemRefType


class Messages:
    """``speaking``: the functions that send or receive, or call such functions. ``crossing``: those that may carry
    floats to another place of the program, on another rank. There these may depend on what they do not depend on here,
    and matter where they do not matter here. So crossing functions have derivatives wherever anything has some."""

    def __init__(self, module: Module) -> None:
        self.speaking = _closed(module, is_message)
        self.crossing = _closed(module, _crosses)

    @classmethod
    def asked(cls, module: Module) -> Messages:
        """The messages of a module as it is now, found if they are not known."""
        if not any(_has(func, is_message) for func in module.funcs.values()):
            return _SILENT
        return of_module(cls, module, lambda: cls(module))


def _has(func: Func, chosen: Callable[[Op], bool]) -> bool:
    return bool(func.body.ops) and chosen(func.body.ops[0])  # it is the only operation of such a function


def _crosses(op: Op) -> bool:
    if not is_message(op) or op.attrs["symbol"] not in PAIRED:
        return False
    return any(isinstance(v.type, MemRefType) and v.type.element.is_float for v in op.operands)


def _closed(module: Module, chosen: Callable[[Op], bool]) -> frozenset[str]:
    """The functions that contain such an operation, and those that call them."""
    found = {name for name, func in module.funcs.items() if _has(func, chosen)}
    work = True
    while work:
        more = {n for n, f in module.funcs.items() if n not in found and not found.isdisjoint(callees(f))}
        found |= more
        work = bool(more)
    return frozenset(found)


_SILENT = Messages(Module({}))
