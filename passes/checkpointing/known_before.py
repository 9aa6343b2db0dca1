"""Which numbers of a function are known before it runs, from its arguments: as code that computes them.

Extents, integers and other numbers are followed through calls, records and selects. What depends on memory, or on a
loop of unknown length, is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field

from adc.ir import ops
from adc.ir.arith import const, const_index, span
from adc.ir.callgraph import recursive
from adc.ir.core import Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.rewrite import clone_op, used_from_outside
from adc.ir.types import MemRefType, RecordType
from adc.passes.analysis.extents import Extents
from adc.passes.analysis.kinds import DIVISIONS, REGIONS, TERMINATORS
from adc.passes.checkpointing.conventions import BOUNDS, SPANS

Path = tuple[int, ...]
Key = tuple[object, ...]
Given = Mapping[str, Sequence[Value]]


@dataclass(eq=False)
class Frame:
    """A call that is followed, with its arguments as values in the frame of the caller."""

    func: Func
    args: Sequence[tuple[Frame, Value]] = ()
    extents: Extents = field(default_factory=Extents)
    calls: dict[Op, Frame] = field(default_factory=dict)


class KnownBefore:
    """Appends, at the insertion point, the numbers of functions of ``module`` that it is asked for.

    ``results``: values that replace the results of calls of some functions, by name; ``threads``: the number of
    threads, if it is not to be asked at run time.
    """

    def __init__(self, module: Module, results: Given, threads: int | None = None) -> None:
        self._module = module
        self._given = results
        self._threads = threads
        self._recursive = recursive(module)
        self._scopes: list[dict[Key, Value]] = [{}]
        self._unknown: set[Key] = set()

    @contextmanager
    def _scope(self) -> Iterator[None]:
        """A scope: what is appended inside cannot be used outside."""
        self._scopes.append({})
        unknown, self._unknown = self._unknown, set()
        try:
            yield
        finally:
            self._scopes.pop()
            self._unknown = unknown

    def _once(self, key: Key, make: Callable[[], Value]) -> Value:
        """A value that was appended before, if it can be used here; otherwise append it now."""
        for scope in reversed(self._scopes):
            if key in scope:
                return scope[key]
        self._scopes[-1][key] = found = make()
        return found

    def _constant(self, number: int) -> Value:
        return self._once(("number", number), lambda: const_index(number))

    def _thread_count(self) -> Value:
        return self._once(("threads",), ops.threads) if self._threads is None else self._constant(self._threads)

    def _range(self, frame: Frame, lower: Value, upper: Value) -> Frame | None:
        """The call of a function of steps whose range lies between the two values, if there is one."""
        (called, first), (other, last) = self._origin(frame, lower), self._origin(frame, upper)
        if called is not other or not called.func.attrs.get(SPANS):
            return None
        return called if (first, last) == called.func.args[:2] else None

    def _origin(self, frame: Frame, value: Value) -> tuple[Frame, Value]:
        """The origin of a value that was handed on unchanged, followed outwards as far as functions of steps."""
        while value.op is None and value.owner is frame.func.body and frame.args and not frame.func.attrs.get(SPANS):
            frame, value = frame.args[value.index]
        return frame, value

    def _value(self, frame: Frame, value: Value) -> Value | None:
        """A number; None if it is not known beforehand."""
        return self._component(frame, value, ())

    def _component(self, frame: Frame, value: Value, path: Path) -> Value | None:
        """A number, an extent of an array, or such a part of what a record holds. The extents of an array of arrays are
        followed by those of its elements, which are alike."""
        key = (frame, value, path)
        for scope in reversed(self._scopes):
            if key in scope:
                return scope[key]
        if key in self._unknown:
            return None
        found = self._find(frame, value, path)
        if found is None:
            self._unknown.add(key)
            return None
        self._scopes[-1][key] = found
        return found

    def _find(self, frame: Frame, value: Value, path: Path) -> Value | None:
        op = value.op
        if isinstance(value.type, MemRefType) and path[0] < value.type.rank:
            extent = frame.extents.shape(value)[path[0]]
            if isinstance(extent, int):
                return self._constant(extent)
            if isinstance(extent, Value):
                return self._value(frame, extent)
            root, d = extent
            if (root, d) != (value, path[0]):
                return self._component(frame, root, (d,))
        if op is None:
            if value.owner is frame.func.body and frame.args:
                return self._component(*frame.args[value.index], path)
            return self._carried(frame, value, path) if path else None
        if op.opdef is ops.call:
            return self._result(frame, op, value.index, path)
        if op.opdef is ops.unpack:
            return self._component(frame, op.operands[0], (value.index, *path))
        if op.opdef is ops.pack:
            return self._component(frame, op.operands[path[0]], path[1:])
        if op.opdef in (ops.if_, ops.select):
            return self._either(frame, op, value.index, path)
        if op.opdef is ops.for_ and path:
            return self._carried(frame, op.regions[0].args[1 + value.index], path)
        if op.opdef is ops.dim:
            return self._component(frame, op.operands[0], (op.attrs["dim"],))
        if op.opdef is ops.alloc and isinstance(value.type, MemRefType):
            stored = [use.operands[0] for use, k in value.uses if use.opdef is ops.store and k == 1]
            return self._component(frame, stored[0], (path[0] - value.type.rank,)) if stored else None
        if op.opdef is ops.threads:
            return self._thread_count()
        if (bounds := span(value)) is not None and (called := self._range(frame, *bounds)) is not None:
            return self._value(called, called.func.args[BOUNDS - 2])
        return self._computed(frame, op, value.index) if not path else None

    def _carried(self, frame: Frame, arg: Value, path: Path) -> Value | None:
        """An extent of a carried array, if all arrays that the loop swaps it with have the same one."""
        loop = arg.block.parent_op if arg.block is not None else None
        if loop is None or loop.opdef is not ops.for_:
            return None
        body = loop.regions[0]
        slots = [arg]
        for slot in slots:
            following = body.terminator.operands[slot.index - 1]
            if following not in body.args:
                return None
            if following not in slots:
                slots.append(following)
        first, *others = (self._component(frame, loop.operands[2 + slot.index], path) for slot in slots)
        return first if all(other is first for other in others) else None

    def _result(self, frame: Frame, call: Op, position: int, path: Path) -> Value | None:
        name = call.attrs["callee"]
        if name in self._given:
            return self._given[name][position]
        if name in self._recursive:
            return None
        called = self._called(frame, call)
        return self._component(called, called.func.body.terminator.operands[position], path)

    def _called(self, frame: Frame, call: Op) -> Frame:
        if call not in frame.calls:
            func = self._module.funcs[call.attrs["callee"]]
            frame.calls[call] = Frame(func, [(frame, v) for v in call.operands])
        return frame.calls[call]

    def _either(self, frame: Frame, op: Op, position: int, path: Path) -> Value | None:
        if op.opdef is ops.if_:
            sides = [region.terminator.operands[position] for region in op.regions]
        else:
            sides = list(op.operands[1:])
        defined = [v for v in sides if not self._undefined(frame, v)]
        found = [part for v in defined if (part := self._component(frame, v, path)) is not None]
        if len(found) < len(defined) or not found:
            return None
        condition = self._value(frame, op.operands[0])
        if len(found) == 1 or found[0] is found[1]:
            return found[0]
        return ops.select(condition, *found) if condition is not None else None

    def _undefined(self, frame: Frame, value: Value) -> bool:
        """Whether nobody reads the value."""
        op = value.op
        if op is None:
            return value.owner is frame.func.body and bool(frame.args) and self._undefined(*frame.args[value.index])
        if op.opdef is ops.call and op.attrs["callee"] not in self._given and op.attrs["callee"] not in self._recursive:
            called = self._called(frame, op)
            return self._undefined(called, called.func.body.terminator.operands[value.index])
        if op.opdef is ops.if_:
            return all(self._undefined(frame, region.terminator.operands[value.index]) for region in op.regions)
        return op.opdef is ops.undef

    def _computed(self, frame: Frame, op: Op, position: int) -> Value | None:
        """A result of an operation without effects, or of a loop of such operations."""
        if op.opdef is ops.bound:
            return self._subscript(frame, op)
        if not _is_pure(op):
            return None
        used = list(dict.fromkeys(used_from_outside([op])))
        known = [self._value(frame, v) for v in used]
        if any(isinstance(v.type, MemRefType | RecordType) for v in used) or any(v is None for v in known):
            return None
        mapping = {old: new for old, new in zip(used, known, strict=True) if new is not None}
        if op.opdef in DIVISIONS:
            # It is computed even if the program would not compute it.
            divisor = mapping[op.operands[1]]
            zero = ops.cmpi(divisor, const(0, divisor.type), predicate="eq")
            mapping[op.operands[1]] = ops.select(zero, const(1, divisor.type), divisor)
        copy = clone_op(op, dict(mapping))
        for result, new in zip(op.results, copy.results, strict=True):
            self._scopes[-1][frame, result, ()] = new
        return copy.results[position]

    def _subscript(self, frame: Frame, op: Op) -> Value | None:
        """A subscript that is in range: others end the program."""
        subscript, extent = (self._value(frame, v) for v in op.operands)
        if subscript is None or extent is None:
            return None
        negative = ops.cmpi(subscript, const(0, subscript.type), predicate="slt")
        return ops.select(negative, ops.addi(subscript, extent), subscript)


def _is_pure(op: Op) -> bool:
    if op.opdef in REGIONS:
        return all(_is_pure(inner) or inner.opdef in TERMINATORS for region in op.regions for inner in region.ops)
    return op.opdef.pure and op.opdef not in (ops.unpack, ops.ipowi) and not op.regions
