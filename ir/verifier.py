"""Checks that a module is valid IR. Passes take valid IR and leave valid IR; tests verify between them.

Invariants. Of a module:
 1. functions are held under their names.
Of a function:
 2. it has one dictionary of attributes per argument;
 3. ``adc.alias`` is an integer, on a memref; ``adc.shadow`` is the position of another argument, and both are memrefs
    of one rank and element;
 4. its body ends in ``func.return`` of the function's result types, and nothing else does.
Of a block:
 5. its parent is the operation or function that holds it;
 6. its arguments know it as their owner, and their position;
 7. it is not empty, its last operation is a terminator, and no other is.
Of an operation:
 8. its parent is the block that holds it, and it is held once;
 9. its kind is that of the table, and it has as many regions as its kind says;
10. its results know it as their owner, and their position;
11. each operand is defined before it, in its block or in one around it, in the same function;
12. the use lists agree with the operands: every operand lists this use, and every use listed is an operand of an
    operation of this function;
13. required attributes are there, and every attribute is an int, float, bool, str, None, Type or a tuple of these;
14. the result types are those that its type rule infers again;
15. what ``OpDef.verify`` checks: attributes within their range; for loops, branches and reductions, that initial
    values, region arguments, what the regions' terminators give, and results agree in number and type, that regions
    end in the right terminator, that counters and bounds are ``index`` and conditions ``i1``;
16. a call names a function of the module, and passes and takes the types of its signature;
17. so does ``adc.ruled``, whose operands are the results, the residuals and the arguments of a function with rules;
18. so does ``adc.gradient``, whose callee returns one float, with a shadow for each memref that it is taken by;
19. the rules that a function carries are functions of the module that fit it; see ``adc.ir.attached``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from adc.ir import ops
from adc.ir.attached import attached
from adc.ir.attached import check as attached_check
from adc.ir.core import Attr, Block, Func, Module, Op, Value
from adc.ir.opdef import Trait
from adc.ir.states import Version, version
from adc.ir.text.printer import print_op
from adc.ir.types import MemRefType, Type, memref


class VerificationError(AssertionError):
    """A module that is not valid IR; the message names the function, the operation and the invariant broken."""


def verify(module: Module) -> None:
    """Raise ``VerificationError`` unless ``module`` has every invariant of this file's docstring."""
    for name, func in module.funcs.items():
        if name != func.name:
            raise VerificationError(f"function @{func.name} is held under the name {name!r}")
    for func in module.funcs.values():
        _Verifier(module, func).run()


def verify_func(func: Func, module: Module | None = None) -> None:
    """Verify one function; calls are checked if ``module`` is given."""
    _Verifier(module, func).run()


class Changes:
    """Verifies a module again after each pass, but only the functions that have changed since the last time.

    Two passes in three change nothing. The state of a function is recorded by identity, which takes a fraction of the
    time of verifying it. If a signature or a rule changed, which others rely on, everything is verified. This also
    shows whether changes were counted: a changed function must have another version.
    """

    def __init__(self) -> None:
        self._interfaces: list[tuple[object, ...]] = []
        self._states: dict[str, list[object]] = {}
        self._versions: dict[str, tuple[Func, Version]] = {}

    def verify(self, module: Module) -> None:
        """``verify``, for the module of the last time."""
        interfaces = [_interface(name, func) for name, func in module.funcs.items()]
        states = {name: _state(func) for name, func in module.funcs.items()}
        versions = {name: (func, version(func)) for name, func in module.funcs.items()}
        before, counted = self._states, self._versions
        known = before if interfaces == self._interfaces else {}
        self._interfaces, self._states, self._versions = [], {}, {}  # nothing is known if verification fails
        if not known:
            verify(module)
        for name, state in states.items():
            if known and known.get(name) != state:
                verify_func(module.funcs[name], module)
            if counted.get(name) == versions[name] and before[name] != state:
                raise VerificationError(f"@{name} is not what it was, and no change was counted")
        self._interfaces, self._states, self._versions = interfaces, states, versions


def _interface(name: str, func: Func) -> tuple[object, ...]:
    """The parts of a function that other functions are checked against."""
    return name, func, func.name, func.type, tuple(func.attrs.items())


def _state(func: Func) -> list[object]:
    """All that the verifier looks at in a function, and what it is held by."""
    state: list[object] = [tuple(attrs.items()) for attrs in func.arg_attrs]
    work: list[Block] = [func.body]
    while work:
        block = work.pop()
        state += (block, block.parent, block.args, *[(v.type, v.owner, v.index, len(v.uses)) for v in block.args])
        for op in block.ops:
            state += (op, op.parent, op.opdef, op.operands, op.results, op.regions, tuple(op.attrs.items()))
            state += [(v.type, v.owner, v.index, len(v.uses)) for v in op.results]
            work += op.regions
    return state


class _Verifier:
    def __init__(self, module: Module | None, func: Func) -> None:
        self.module = module
        self.func = func
        self.visible: set[Value] = set()
        self.seen: set[Op] = set()
        self.values: list[Value] = []

    def fail(self, message: str, op: Op | None = None) -> NoReturn:
        if op is None:
            raise VerificationError(f"@{self.func.name}: {message}")
        try:
            text = print_op(op).splitlines()[0]
        except Exception:  # broken IR may not print
            text = repr(op)
        raise VerificationError(f"@{self.func.name}: {op.opdef.name} at {op.loc}: {message}\n  {text}")

    def run(self) -> None:
        self.signature()
        self.block(self.func.body, self.func)
        for value in self.values:
            for user, position in value.uses:
                if user not in self.seen:
                    self.fail(f"{value!r} lists a use by an operation that is not in the function", user)
                operands = user.operands
                if position >= len(operands) or operands[position] is not value:
                    self.fail(f"{value!r} lists a use as operand {position} that is not one", user)

    def signature(self) -> None:
        func = self.func
        if len(func.arg_attrs) != len(func.args):
            self.fail(f"{len(func.arg_attrs)} dictionaries of attributes for {len(func.args)} arguments")
        for position, (arg, attrs) in enumerate(zip(func.args, func.arg_attrs, strict=True)):
            alias, shadow = attrs.get("adc.alias"), attrs.get("adc.shadow")
            if alias is not None and not (isinstance(alias, int) and isinstance(arg.type, MemRefType)):
                self.fail(f"argument {position}: adc.alias must be an integer, on a memref")
            if shadow is None:
                continue
            if not (isinstance(shadow, int) and 0 <= shadow < len(func.args) and shadow != position):
                self.fail(f"argument {position}: adc.shadow must be the position of another argument")
            primal = func.args[shadow].type
            if not (
                isinstance(arg.type, MemRefType)
                and isinstance(primal, MemRefType)
                and (arg.type.rank, arg.type.element) == (primal.rank, primal.element)
            ):
                self.fail(f"argument {position}: of type {arg.type}, shadow of one of type {primal}")
        wrong = attached_check(func, self.module) if self.module is not None else None
        if wrong is not None:
            self.fail(f"rules: {wrong}")
        for attrs in (func.attrs, *func.arg_attrs):
            for key, value in attrs.items():
                if not _is_attr(value):
                    self.fail(f"attribute {key} is not of a kind that attributes are: {value!r}")

    def block(self, block: Block, parent: Op | Func) -> None:
        where = parent if isinstance(parent, Op) else None
        if block.parent is not parent:
            self.fail("a region's block has another parent", where)
        if not block.ops:
            self.fail("a block without operations", where)
        defined: list[Value] = []
        self.define(block.args, block, defined, where)
        last = block.ops[-1]
        if Trait.TERMINATOR not in last.opdef.traits:
            self.fail("the last operation of a block must be a terminator", last)
        for op in block.ops:
            if op in self.seen:
                self.fail("the operation is held twice", op)
            self.seen.add(op)
            if op.parent is not block:
                self.fail("the operation has another parent than the block that holds it", op)
            if op is not last and Trait.TERMINATOR in op.opdef.traits:
                self.fail("a terminator before the end of its block", op)
            self.op(op)
            self.define(op.results, op, defined, op)
        self.visible.difference_update(defined)
        self.values += defined

    def define(self, values: Sequence[Value], owner: Op | Block, defined: list[Value], where: Op | None) -> None:
        for position, value in enumerate(values):
            if value.owner is not owner or value.index != position:
                self.fail(f"value {position} ({value!r}) has another owner or position", where)
        self.visible.update(values)
        defined += values

    def op(self, op: Op) -> None:
        opdef, regions = op.opdef, op.regions
        if ops.TABLE.get(opdef.name) is not opdef:
            self.fail("the operation is not in the table", op)
        if len(regions) != opdef.regions:
            self.fail(f"needs {opdef.regions} regions, has {len(regions)}", op)
        for position, operand in enumerate(op.operands):
            if operand not in self.visible:
                self.fail(f"operand {position} ({operand!r}) is not defined before its use", op)
            if (op, position) not in operand.uses:
                self.fail(f"operand {position} ({operand!r}) does not list this use", op)
        if opdef.attrs or op.attrs:
            self.attributes(op)
        for region in regions:
            self.block(region, op)
        self.types(op)
        if opdef is ops.return_:
            self.returned(op)
        elif op is self.func.body.ops[-1]:
            self.fail("a function must end in func.return", op)
        elif opdef in _OF_FUNCTIONS:
            _OF_FUNCTIONS[opdef](self, op)

    def attributes(self, op: Op) -> None:
        attrs = op.attrs
        for key, default in op.opdef.attrs.items():
            if default is ... and key not in attrs:
                self.fail(f"needs the attribute {key}", op)
        for key, value in attrs.items():
            if not isinstance(value, _ATTRS) and not _is_attr(value):
                self.fail(f"attribute {key} is not of a kind that attributes are: {value!r}", op)

    def types(self, op: Op) -> None:
        opdef = op.opdef
        results = [r.type for r in op.results]
        try:
            if opdef.infer is not None:
                inferred = list(opdef.infer([v.type for v in op.operands], op.attrs))
                if inferred != results:
                    self.fail(f"has results of types {_shown(results)}, where {_shown(inferred)} follow", op)
            if opdef.verify is not None:
                opdef.verify(op)
        except VerificationError:
            raise
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            self.fail(str(error), op)

    def call(self, op: Op) -> None:
        if self.module is None:
            return
        callee = self.module.funcs.get(op.attrs["callee"])
        if callee is None:
            self.fail(f"there is no function @{op.attrs['callee']}", op)
        passed, taken = [v.type for v in op.operands], [a.type for a in callee.args]
        if passed != taken:
            self.fail(f"passes {_shown(passed)}, but @{callee.name} takes {_shown(taken)}", op)
        if tuple(op.attrs["types"]) != callee.result_types:
            self.fail(f"@{callee.name} returns {_shown(callee.result_types)}", op)

    def ruled(self, op: Op) -> None:
        if self.module is None:
            return
        callee = self.module.funcs.get(op.attrs["callee"])
        rules = attached(callee) if callee is not None else None
        if callee is None or rules is None or rules.rrule is None:
            self.fail(f"there is no function @{op.attrs['callee']} with an rrule", op)
        given = (*self.module.funcs[rules.rrule].result_types, *(a.type for a in callee.args))
        passed = tuple(v.type for v in op.operands)
        if passed != given or tuple(r.type for r in op.results) != callee.result_types:
            self.fail(f"has {_shown(passed)}, where @{callee.name} and its rule give {_shown(given)}", op)

    def gradient(self, op: Op) -> None:
        if self.module is None:
            return
        callee = self.module.funcs.get(op.attrs["callee"])
        if callee is None or len(callee.result_types) != 1 or not callee.result_types[0].is_float:
            self.fail(f"there is no function @{op.attrs['callee']} that returns one float", op)
        args = [a.type for a in callee.args]
        by = [args[k] for k in op.attrs["wrt"]]
        shadows = [memref(t.element, t.rank) for t in by if isinstance(t, MemRefType)]
        passed = [v.type for v in op.operands]
        if passed != [*args, *shadows]:
            self.fail(f"passes {_shown(passed)}, but @{callee.name} takes {_shown([*args, *shadows])}", op)
        given = (callee.result_types[0], *(t for t in by if t.is_float))
        if tuple(r.type for r in op.results) != given:
            self.fail(f"returns {_shown([r.type for r in op.results])}, where {_shown(given)} follow", op)

    def returned(self, op: Op) -> None:
        if op.parent is not self.func.body:
            self.fail("func.return inside a region", op)
        types = tuple(v.type for v in op.operands)
        if types != self.func.result_types:
            self.fail(f"returns {_shown(types)}, where the function declares {_shown(self.func.result_types)}", op)


def _shown(types: Sequence[Type]) -> str:
    return f"({', '.join(map(str, types))})"


# A tuple, not a union: isinstance takes a third of the time with it, and this is asked of every attribute.
_ATTRS = (int, float, str, Type)


def _is_attr(value: Attr) -> bool:
    return value is None or isinstance(value, _ATTRS) or (isinstance(value, tuple) and all(map(_is_attr, value)))


_OF_FUNCTIONS = {ops.call: _Verifier.call, ops.ruled: _Verifier.ruled, ops.gradient: _Verifier.gradient}
