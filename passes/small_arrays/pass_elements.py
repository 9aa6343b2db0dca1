"""Small arrays that functions take are passed element by element: see ``return_elements``."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.builder import insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.rewrite import clone_func
from adc.ir.states import kept
from adc.ir.types import MemRefType
from adc.passes.analysis.calls import function_of, own_calls
from adc.passes.rewrite import put_instead
from adc.passes.small_arrays.carrying import allocate, read
from adc.passes.small_arrays.numbers import Numbers
from adc.passes.small_arrays.sharing import may_be_copies
from adc.passes.small_arrays.unrolling import are_short, loops_of_uses
from adc.passes.small_arrays.views import Shape
from adc.passes.small_arrays.webs import find_shapes, find_webs, is_known, is_known_use, is_of_numbers


@dataclass(frozen=True)
class PassElements:
    """Pass the elements of arrays of at most ``most`` elements that are only read, if loops over them in the callee are
    at most ``code`` operations each when unrolled."""

    most: int = 16
    code: int = 512
    name: ClassVar[str] = "pass-elements"

    def run(self, module: Module) -> Module:
        calls = own_calls(module)
        if calls:
            _Arguments(module, calls, self.most, self.code).run()
        return module


class _Arguments:
    """Arguments that are only read, and have the same small shape in all calls, or in many."""

    def __init__(self, module: Module, calls: dict[str, list[Op]], most: int, code: int) -> None:
        self._module = module
        self._calls = calls
        self._own = set(calls)
        self._most = most
        self._code = code
        self._shapes: dict[str, dict[Value, Shape]] = {}

    def run(self) -> None:
        for name, calls in self._calls.items():
            func = self._module.funcs[name]
            groups: dict[tuple[Shape | None, ...], list[Op]] = {}
            for call in calls:
                groups.setdefault(self._shapes_of(call), []).append(call)
            found, chosen = max(groups.items(), key=lambda group: len(group[1]) if any(group[0]) else 0)
            shapes = {
                position: shape
                for position, shape in enumerate(found)
                if shape is not None and _is_replaced(self._module, self._own, func, position, shape, self._code)
            }
            if shapes and len(groups) > 1:
                func = self._version(func, chosen)
            if shapes:
                self._pass_elements(func, chosen, shapes)

    def _shapes_of(self, call: Op) -> tuple[Shape | None, ...]:
        """The shapes of those arguments that are known to be small."""
        known = self._known(call)
        return tuple(known.get(v) for v in call.operands)

    def _version(self, func: Func, calls: Sequence[Op]) -> Func:
        """A copy of a function for some of its calls, as less is known for the others."""
        copy = clone_func(func, self._module.unique_name(f"{func.name}.small"))
        self._module.add(copy)
        self._own.add(copy.name)
        for call in calls:
            call.set_attr("callee", copy.name)
        for op in copy.walk():  # what it calls may still be given elements
            if op.opdef is ops.call and op.attrs["callee"] in self._calls:
                self._calls[op.attrs["callee"]].append(op)
        return copy

    def _known(self, call: Op) -> dict[Value, Shape]:
        """The small shapes in the calling function."""
        func = function_of(call)
        if func.name not in self._shapes:
            webs = [web for web in find_webs(func) if all(map(is_known, web.members))]
            self._shapes[func.name] = find_shapes(webs, self._most)
        return self._shapes[func.name]

    def _pass_elements(self, func: Func, calls: Sequence[Op], shapes: dict[int, Shape]) -> None:
        start = Block()
        with insert_at(start, func.loc):
            for position, shape in shapes.items():
                arg = func.args[position]
                assert isinstance(arg.type, MemRefType)
                elements = [func.body.add_arg(arg.type.element, arg.hint) for _ in range(math.prod(shape))]
                func.arg_attrs += [{} for _ in elements]
                arg.replace_uses(allocate(arg.type, shape, elements, arg.hint))
        func.body.set_ops([*start.ops, *func.body.ops])
        kept = [k for k in range(len(func.args)) if k not in shapes]
        func.body.keep_args(kept)
        func.arg_attrs = [func.arg_attrs[k] for k in kept]
        for call in calls:
            _give_elements(call, shapes)
        self._shapes = {}


def is_passed(module: Module, own: Container[str], op: Op, position: int, shape: Shape, code: int) -> bool:
    """Whether an array of this shape is passed to a function that takes elements in its place. ``own``: the functions
    that only calls refer to."""
    if op.opdef is not ops.call or op.attrs["callee"] not in own:
        return False
    return _is_replaced(module, own, module.funcs[op.attrs["callee"]], position, shape, code)


def _is_replaced(module: Module, own: Container[str], func: Func, position: int, shape: Shape, code: int) -> bool:
    """Whether an argument is only read, and its elements are values in the function if it has this shape."""
    arg = func.args[position]
    if not is_of_numbers(arg) or not func.arg_attrs[position].get("adc.readonly"):
        return False
    if not isinstance(arg.type, MemRefType) or arg.type.rank != len(shape):
        return False
    web = next(web for web in kept(func, find_webs) if arg in web.members)
    if not all(v is arg or is_known(v) for v in web.members):
        return False
    if not all(_is_read(*use) or is_passed(module, own, *use, shape, code) for use in web.others):
        return False
    numbers = Numbers(dict.fromkeys(web.members, shape))
    loops = loops_of_uses(web.others, numbers)
    return loops is not None and may_be_copies(web) and are_short(loops, loops, numbers, code)


def _is_read(op: Op, position: int) -> bool:
    return is_known_use(op, position) and op.opdef is not ops.return_


def _give_elements(call: Op, shapes: dict[int, Shape]) -> None:
    made = Block()
    with insert_at(made, call.loc):
        kept = [v for k, v in enumerate(call.operands) if k not in shapes]
        elements = [v for k, shape in shapes.items() for v in read(call.operands[k], shape)]
    new = Op(ops.call, [*kept, *elements], [r.type for r in call.results], dict(call.attrs), loc=call.loc)
    for old, result in zip(call.results, new.results, strict=True):
        old.replace_uses(result)
        result.hint = old.hint
    put_instead(call, [*made.ops, new])
    call.drop()
