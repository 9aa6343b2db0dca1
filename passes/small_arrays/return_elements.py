"""Small arrays that functions return are returned element by element.

The result of a function that is too long to be inlined, such as the right-hand side of a Runge-Kutta method, would
otherwise be in memory, and with it everything computed from it.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.alias import APART
from adc.ir.builder import insert_at
from adc.ir.callgraph import components
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.moments import strip_views
from adc.passes.analysis.calls import own_calls
from adc.passes.rewrite import put_instead
from adc.passes.small_arrays.carrying import allocate, read
from adc.passes.small_arrays.pass_elements import is_passed
from adc.passes.small_arrays.views import Shape
from adc.passes.small_arrays.webs import find_shapes, find_webs, is_known, is_known_use, is_of_numbers


@dataclass(frozen=True)
class ReturnElements:
    """Return the elements of arrays of at most ``most`` elements that are new in each call, if the arrays that they are
    made from are passed by elements, too; see ``pass_elements`` for ``code``."""

    most: int = 16
    code: int = 512
    name: ClassVar[str] = "return-elements"

    def run(self, module: Module) -> Module:
        calls = own_calls(module)
        for name in [name for component in components(module) for name in component if name in calls]:
            self._return(module, module.funcs[name], calls)
        return module

    def _return(self, module: Module, func: Func, own: Mapping[str, Sequence[Op]]) -> None:
        shapes = _new_arrays(func, self.most) if any(map(is_of_numbers, func.body.terminator.operands)) else {}
        calls = own[func.name]
        shapes = {k: v for k, v in shapes.items() if all(self._gains(module, own, call, v) for call in calls)}
        if shapes:
            _return_elements(func, calls, shapes)

    def _gains(self, module: Module, own: Container[str], call: Op, shape: Shape) -> bool:
        """Whether no array that is passed has to stay in memory, if it has the shape of the returned one: like the
        state of a differential equation, whose derivative is returned."""
        return all(
            is_passed(module, own, call, position, shape, self.code)
            for position, operand in enumerate(call.operands)
            if is_of_numbers(operand) and not _is_argument(operand)
        )


def _is_argument(memref: Value) -> bool:
    memref = strip_views(memref)
    return memref.op is None and isinstance(memref.owner, Block) and isinstance(memref.owner.parent, Func)


def _new_arrays(func: Func, most: int) -> dict[int, Shape]:
    """The positions and shapes of results that are small arrays made in the function and share no other memory."""
    end = func.body.terminator
    webs = [web for web in find_webs(func) if all(map(is_known, web.members))]
    find_shapes(webs, most)
    shapes: dict[int, Shape] = {}
    for web in webs:
        returned = [position for op, position in web.others if op is end]
        if web.shape and len(returned) == 1 and all(is_known_use(*use) for use in web.others):
            shapes[returned[0]] = web.shape
    return shapes


def _return_elements(func: Func, calls: Sequence[Op], shapes: dict[int, Shape]) -> None:
    end = func.body.terminator
    loads = Block()
    with insert_at(loads, end.loc):
        given = [read(v, shapes[k]) if k in shapes else [v] for k, v in enumerate(end.operands)]
    flat = [v for values in given for v in values]
    func.body.pop()
    end.drop()
    func.body.set_ops([*func.body.ops, *loads.ops, Op(end.opdef, flat, (), loc=end.loc)])
    func.result_types = tuple(v.type for v in flat)
    at = {k: sum(len(values) for values in given[:k]) for k in range(len(given)) if k not in shapes}
    for call in calls:
        _take_elements(call, func, shapes, at)


def _take_elements(call: Op, func: Func, shapes: dict[int, Shape], at: dict[int, int]) -> None:
    attrs = {**call.attrs, "types": func.result_types}
    if APART in attrs:
        attrs[APART] = tuple((at[m], at[n]) for m, n in attrs[APART] if m in at and n in at)
    new = Op(ops.call, call.operands, func.result_types, attrs, loc=call.loc)
    results = iter(new.results)
    made = Block()
    with insert_at(made, call.loc):
        for k, old in enumerate(call.results):
            if k in shapes:
                elements = [next(results) for _ in range(math.prod(shapes[k]))]
                old.replace_uses(allocate(old.type, shapes[k], elements, old.hint))
            else:
                value = next(results)
                old.replace_uses(value)
                value.hint = old.hint
    put_instead(call, [new, *made.ops])
    call.drop()
