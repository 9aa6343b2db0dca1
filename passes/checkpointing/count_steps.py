"""Which loops count their steps while they run: see ``adc.backend.running``.

These are the outermost sequential loops. If a schedule runs the steps of a loop, the steps of the functions that it
calls are counted, which are told their place in the whole; the loops of the schedule itself are not counted. What is
called in a loop that is counted is part of one of its steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.callgraph import called_inside, reachable, recursive
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import REVERSE, TILES
from adc.ir.steps import CONTINUES, COUNTED
from adc.passes.checkpointing.conventions import BLOCKS, PLANS, SPANS

_SPAN = (0, 1, 3)
_OPEN = (0,)
Ends = tuple[Value | None, Value | None]
"""In functions that run a part of the steps: the first step and the one after the last."""


@dataclass(frozen=True)
class CountSteps:
    """Mark the loops that are counted when one of the functions ``roots`` is called."""

    name: ClassVar[str] = "count-steps"

    roots: Sequence[str]

    def run(self, module: Module) -> Module:
        search = _Search(module)
        for name in self.roots:
            search.function(name)
        several = reachable(module, search.inside) | recursive(module)
        for name, func in module.funcs.items():
            func.attrs.pop(COUNTED, None)
            if name in search.found and name not in several and _is_of_steps(func):
                func.attrs[COUNTED] = _SPAN if SPANS in func.attrs else _OPEN
            counted = {} if name in several else search.found.get(name, {})
            for op in func.walk():
                op.drop_attr(COUNTED)
                if op in counted:
                    op.set_attr(COUNTED, counted[op])
        return module


class _Search:
    """``found``: for each function, the loops that count if it is called outside such loops, and how; ``inside``: the
    functions that are called in loops."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.found: dict[str, dict[Op, tuple[str, bool]]] = {}
        self.inside: set[str] = set()

    def function(self, name: str, ends: Ends | None = None) -> None:
        func = self.module.funcs.get(name)
        if func is None or name in self.found or PLANS in func.attrs:
            return
        self.found[name] = {}
        if _is_of_steps(func):
            ends = (func.args[0], func.args[1])
        self._block(func, func.body, ends)

    def _block(self, func: Func, block: Block, ends: Ends | None) -> None:
        for op in block.ops:
            if op.opdef is ops.call:
                self._call(op, ends)
            elif op.opdef is ops.parallel or TILES in op.attrs:
                self.inside.update(called_inside(op))
            elif op.opdef is ops.for_ or op.opdef is ops.while_:
                if BLOCKS not in op.attrs:
                    self._loop(func, op, ends)
            else:
                for region in op.regions:
                    self._block(func, region, ends)

    def _call(self, call: Op, ends: Ends | None) -> None:
        func = self.module.funcs.get(call.attrs["callee"])
        if func is None:
            return
        if ends is not None:  # part of the function that runs the steps, which was outlined
            passed: dict[Value | None, Value] = dict(zip(call.operands, func.args, strict=True))
            ends = passed.get(ends[0]), passed.get(ends[1])
        self.function(func.name, ends)

    def _loop(self, func: Func, loop: Op, ends: Ends | None) -> None:
        if loop.opdef is ops.while_ and ends is None:
            steps = [name for name in called_inside(loop) if _is_of_steps(self.module.funcs[name])]
            if steps:
                for name in steps:
                    self.function(name)
                return
        self.inside.update(called_inside(loop))
        reverse = bool(loop.attrs.get(REVERSE))
        # For other loops in such a function it is not known which part of the whole they are.
        if ends is None or reverse or loop.opdef is ops.while_ or any(v in ends for v in loop.operands[:2]):
            self.found[func.name][loop] = ("reverse" if reverse else "forward", ends is not None)


def _is_of_steps(func: Func) -> bool:
    return SPANS in func.attrs or CONTINUES in func.attrs
