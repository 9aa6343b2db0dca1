"""Recursive functions check that the stack has room for them.

A function in a cycle of calls compares the address of its frame with a limit that its caller passes on; a caller
outside the cycle asks for the limit of the current thread. Other functions check nothing: the stack that they use below
a checking function is part of the room that this function checks for.
"""

from __future__ import annotations

from functools import cached_property

from adc.backend.lowering.lower_effects import STACK_BYTES, on_stack
from adc.backend.lowering.lower_emitter import FunctionEmitter
from adc.backend.sites import Site
from adc.ir import ops
from adc.ir.callgraph import components, recursive
from adc.ir.core import Func, Module
from adc.ir.types import MemRefType

FRAME = 512  # stack of any function: saved registers, arguments of calls, alignment
SPILLED = 16  # per operation: more than optimised code ever spills


class Depth:
    """Which functions of a module are in a cycle of calls, and how much stack each may need."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self.recursive = recursive(module)

    @cached_property
    def _rooms(self) -> dict[str, int]:
        rooms: dict[str, int] = {}
        for component in components(self._module):
            for name in component:
                below = [
                    rooms[op.attrs["callee"]]
                    for op in self._module.funcs[name].walk()
                    if op.opdef is ops.call and op.attrs["callee"] in rooms
                ]
                rooms[name] = _frame(self._module.funcs[name]) + max(below, default=0)
        return rooms

    def room(self, name: str) -> int:
        """Bytes of stack that a function may use before the next check."""
        return self._rooms[name]


def _frame(func: Func) -> int:
    total = FRAME
    for op in func.walk():
        total += SPILLED
        if op.opdef is ops.alloc and on_stack(op):
            t = op.result.type
            assert isinstance(t, MemRefType)
            total += STACK_BYTES
    return total


def limit(e: FunctionEmitter) -> str:
    """The limit of the stack that the code being written will run on."""
    if not e.stack_limit:
        e.module.declare("adc_stack_limit", "declare ptr @adc_stack_limit() nounwind willreturn")
        return e.let("call ptr @adc_stack_limit()")
    return e.stack_limit


def check(e: FunctionEmitter, room: int) -> None:
    """At the entry of a function in a cycle of calls: raise an error unless ``room`` bytes of stack are left."""
    e.stack_limit = limit(e)
    e.module.declare("llvm.frameaddress.p0", "declare ptr @llvm.frameaddress.p0(i32)")
    frame = e.let("call ptr @llvm.frameaddress.p0(i32 0)")
    lowest = e.let(f"getelementptr i8, ptr {e.stack_limit}, i64 {room}")
    site = Site("RecursionError", "maximum recursion depth exceeded: the stack is full", e.func.loc)
    e.trap_unless(e.let(f"icmp ugt ptr {frame}, {lowest}"), site)
