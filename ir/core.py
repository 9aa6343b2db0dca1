"""The objects of the IR: values, operations, blocks, functions, modules, and where in the Python source they come from.

There is one class of operation. What distinguishes ``arith.addf`` from ``scf.for`` is the ``OpDef`` that it points at
(see ``adc.ir.ops``). Regions have one block each; control flow is structured, and block arguments take the place of phi
nodes. Passes build new code and drop the old rather than edit in place.

Changes are counted, not declared. Everything that can change is read-only to type checkers; the methods that change it
count this in the function that holds it (``adc.ir.states``). Code that is in no function yet counts when it is put into
one. Names (``hint``) and source locations do not count: no decision depends on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain, count
from typing import TYPE_CHECKING, Any, ClassVar

from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import FunctionType, Type

if TYPE_CHECKING:
    from adc.ir.opdef import OpDef

Attr = Any  # int, float, bool, str, None, Type, or a tuple of these


@dataclass(frozen=True)
class Loc:
    """A range of Python source: 1-based lines, 0-based columns, ``end`` exclusive."""

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column + 1}"


UNKNOWN = Loc("<unknown>", 0)


class Value:
    """One SSA value: the result of an operation or the argument of a block.

    ``owner`` is the ``Op`` or the ``Block``, ``index`` the position in its results or arguments. ``op`` is the owner if
    that is an operation, None for a block argument. ``uses`` maps ``(op, operand position)`` to None, in order of
    creation. ``hint`` is the Python name that it was bound to, if any. ``pin`` is of ``adc.frontend.data.pins``.
    """

    __slots__ = ("_type", "hint", "index", "op", "owner", "pin", "uses")
    if TYPE_CHECKING:

        @property
        def type(self) -> Type: ...

    def __init__(self, type: Type, owner: Op | Block, index: int, hint: str = "") -> None:
        self._type = type
        self.owner = owner
        self.op = owner if isinstance(owner, Op) else None
        self.index = index
        self.hint = hint
        self.pin: Callable[[], int] | None = None
        self.uses: dict[tuple[Op, int], None] = {}

    @property
    def block(self) -> Block | None:
        """The block in which this value is defined; None while its operation is not in one."""
        return self.owner if self.op is None else self.op.parent  # type: ignore[return-value]

    def set_type(self, type: Type) -> None:
        self._type = type
        _touch(self.owner)

    def replace_uses(self, other: Value) -> None:
        """Make every user of this value use ``other``."""
        uses, self.uses = self.uses, {}
        counted = other is self  # if not, count once: all users are in one function
        for op, position in uses:
            op._operands = (*op._operands[:position], other, *op._operands[position + 1 :])
            counted = counted or _touch(op)
        other.uses.update(uses)

    def __repr__(self) -> str:
        return f"<{self.hint or 'value'}: {self.type}>"

    # Arithmetic appends operations at the insertion point; ``adc.ir.arith`` fills this table in.
    operators: ClassVar[dict[str, Callable[[Any, Any], Value]]] = {}

    def __add__(self, other: Value | float) -> Value:
        return self.operators["+"](self, other)

    def __radd__(self, other: float) -> Value:
        return self.operators["+"](other, self)

    def __sub__(self, other: Value | float) -> Value:
        return self.operators["-"](self, other)

    def __rsub__(self, other: float) -> Value:
        return self.operators["-"](other, self)

    def __mul__(self, other: Value | float) -> Value:
        return self.operators["*"](self, other)

    def __rmul__(self, other: float) -> Value:
        return self.operators["*"](other, self)

    def __truediv__(self, other: Value | float) -> Value:
        return self.operators["/"](self, other)

    def __rtruediv__(self, other: float) -> Value:
        return self.operators["/"](other, self)

    def __neg__(self) -> Value:
        return self.operators["-"](-0.0 if self.type.is_float else 0, self)


class Op:
    """An operation: operands, attributes and regions in, results out; ``opdef`` says what it means."""

    __slots__ = ("_attrs", "_opdef", "_operands", "_regions", "_results", "loc", "parent")
    if TYPE_CHECKING:

        @property
        def attrs(self) -> Mapping[str, Attr]: ...
        @property
        def opdef(self) -> OpDef: ...
        @property
        def operands(self) -> tuple[Value, ...]: ...
        @property
        def regions(self) -> tuple[Block, ...]: ...
        @property
        def results(self) -> tuple[Value, ...]: ...

    def __init__(
        self,
        opdef: OpDef,
        operands: Sequence[Value],
        result_types: Sequence[Type],
        attrs: dict[str, Attr] | None = None,
        regions: Sequence[Block] = (),
        loc: Loc = UNKNOWN,
    ) -> None:
        self._opdef = opdef
        self._attrs: dict[str, Attr] = attrs or {}
        self.loc = loc
        self.parent: Block | None = None
        self._operands: tuple[Value, ...] = tuple(operands)
        for position, operand in enumerate(self._operands):
            operand.uses[(self, position)] = None
        self._results = tuple([Value(t, self, k) for k, t in enumerate(result_types)]) if result_types else ()
        self._regions = tuple(regions)
        for region in regions:
            region.parent = self

    @property
    def result(self) -> Value:
        """The only result."""
        (value,) = self.results
        return value

    def set_operand(self, position: int, value: Value) -> None:
        old = self._operands[position]
        del old.uses[(self, position)]
        self._operands = (*self._operands[:position], value, *self._operands[position + 1 :])
        value.uses[(self, position)] = None
        if old is not value:
            _touch(self)

    def add_operand(self, value: Value) -> None:
        """Append an operand (an extra value carried by a loop, say)."""
        value.uses[(self, len(self._operands))] = None
        self._operands = (*self._operands, value)
        _touch(self)

    def add_result(self, type: Type, hint: str = "") -> Value:
        value = Value(type, self, len(self._results), hint)
        self._results = (*self._results, value)
        _touch(self)
        return value

    def set_attr(self, name: str, value: Attr) -> None:
        self._attrs[name] = value
        _touch(self)

    def drop_attr(self, name: str) -> None:
        """Remove an attribute, if it is there."""
        if name in self._attrs:
            del self._attrs[name]
            _touch(self)

    def set_opdef(self, opdef: OpDef) -> None:
        self._opdef = opdef
        _touch(self)

    def set_regions(self, regions: Sequence[Block]) -> None:
        """Replace the regions: by the same ones in another order, or by none if they move to another operation."""
        self._regions = tuple(regions)
        for region in self._regions:
            region.parent = self
        _touch(self)

    def drop(self) -> None:
        """Remove this operation, and those in its regions, from the use lists of their operands."""
        _touch(self)
        self._forget()

    def _forget(self) -> None:
        for region in self._regions:
            for op in region.ops:
                op._forget()
        for position, operand in enumerate(self._operands):
            operand.uses.pop((self, position), None)

    def __repr__(self) -> str:
        return f"<{self.opdef.name} at {self.loc}>"


class Block:
    """A list of operations with arguments: the single block of a region or of a function."""

    __slots__ = ("_args", "_ops", "_place", "parent")
    if TYPE_CHECKING:

        @property
        def args(self) -> tuple[Value, ...]: ...
        @property
        def ops(self) -> Sequence[Op]: ...

    def __init__(self, arg_types: Sequence[Type] = (), hints: Sequence[str] = ()) -> None:
        self.parent: Op | Func | None = None
        self._ops: list[Op] = []
        self._place: Block | None = None  # the block whose operations are here temporarily
        named = [*hints, *[""] * (len(arg_types) - len(hints))]
        self._args = tuple(Value(t, self, k, named[k]) for k, t in enumerate(arg_types))

    def append(self, op: Op) -> Op:
        before, op.parent = op.parent, self
        self._ops.append(op)
        if before is None:  # it is a new operation
            if self.parent is not None:
                _touch(self)
        elif before is not self._place:
            _touch(self)
            _touch(before)
        elif len(self._ops) == 1:  # counts once for all operations that will be moved
            _touch(self, moved=True)
        return op

    def insert(self, position: int, op: Op) -> Op:
        """Insert an operation. This takes time linear in the length of the block."""
        self.set_ops([*self._ops[:position], op, *self._ops[position:]])
        return op

    def pop(self) -> Op:
        """Remove and return the last operation: the terminator."""
        _touch(self)
        return self._ops.pop()

    def add_arg(self, type: Type, hint: str = "") -> Value:
        value = Value(type, self, len(self._args), hint)
        self._args = (*self._args, value)
        _touch(self)
        return value

    def keep_args(self, keep: Sequence[int]) -> None:
        """Leave only the arguments at positions ``keep``; the others have no users."""
        self._args = tuple(self._args[k] for k in keep)
        for position, arg in enumerate(self._args):
            arg.index = position
        _touch(self)

    @property
    def terminator(self) -> Op:
        return self._ops[-1]

    def set_ops(self, ops: Sequence[Op]) -> None:
        """Replace the list of operations; those left out must have been dropped by the caller."""
        if (new := list(ops)) != self._ops:
            self._ops = new
            _touch(self)
        known: Block | None = self
        for op in new:
            before = op.parent
            op.parent = self
            if before is not known and before is not None:
                _touch(before, moved=before._place is self)
                known = before

    def in_place_of(self) -> Block:
        """An empty block with the same parent, to which operations of this block can be moved and then moved back.

        Neither counts as a change, if the same operations come back.
        """
        block = Block()
        block.parent = self.parent
        block._place = self
        return block

    def walk(self) -> Iterator[Op]:
        """Every operation, outer before inner, in order. A single generator: nested ones would pass on each operation
        per level."""
        stack: list[Iterator[Op]] = [iter(self._ops)]
        while stack:
            for op in stack[-1]:
                yield op
                if op.regions:
                    stack.append(chain.from_iterable(region.ops for region in op.regions))
                    break
            else:
                stack.pop()

    @property
    def parent_op(self) -> Op | None:
        return self.parent if type(self.parent) is Op else None


class Func:
    """A function: a symbol name, a body that ends in ``func.return``, attributes for each argument and for itself.

    Attributes in use: on an argument ``adc.name`` (Python's), ``adc.alias`` (an int: arguments with the same number may
    overlap, those without or with different ones never do), ``adc.shadow`` (position of the argument whose shadow this
    one is), ``adc.tangent`` (of the one whose tangent it is), ``adc.readonly`` (never stored to); on the function
    ``adc.entry`` (callable from outside), ``adc.cold`` (rare), ``adc.noinline``, ``adc.symbol`` (``adc.ir.externals``).
    """

    __slots__ = ("arg_attrs", "attrs", "body", "changes", "known", "loc", "moves", "name", "result_types")

    def __init__(
        self,
        name: str,
        arg_types: Sequence[Type],
        result_types: Sequence[Type] = (),
        hints: Sequence[str] = (),
        loc: Loc = UNKNOWN,
    ) -> None:
        self.name = name
        self.body = Block(arg_types, hints)
        self.body.parent = self
        self.result_types: tuple[Type, ...] = tuple(result_types)
        self.arg_attrs: list[dict[str, Attr]] = [{} for _ in arg_types]
        self.attrs: dict[str, Attr] = {}
        self.loc = loc
        self.changes = 0  # of the body
        self.moves = 0  # of operations to temporary blocks
        self.known: dict[object, tuple[Any, ...]] = {}  # by analysis: see adc.ir.known

    @property
    def args(self) -> tuple[Value, ...]:
        return self.body.args

    @property
    def type(self) -> FunctionType:
        return FunctionType(tuple(a.type for a in self.args), self.result_types)

    def walk(self) -> Iterator[Op]:
        return self.body.walk()

    def __repr__(self) -> str:
        return f"<func @{self.name}>"


def _touch(where: Op | Block | Func | None, *, moved: bool = False) -> bool:
    """Count a change of the function that contains ``where`` (a mere move if ``moved``). Whether there is one."""
    while where is not None and type(where) is not Func:
        where = where.parent  # type: ignore[union-attr]
    if where is not None:
        where.moves += moved
        where.changes += not moved
    return where is not None


# What is read-only to type checkers is a plain slot, which costs no call.
for _class in (Value, Op, Block):
    for _slot in _class.__slots__:
        if _slot.startswith("_") and _slot != "_place":
            setattr(_class, _slot[1:], getattr(_class, _slot))


@dataclass
class Module:
    """Functions by symbol name, in order of definition."""

    funcs: dict[str, Func] = field(default_factory=dict)
    known: dict[object, object] = field(default_factory=dict, repr=False, compare=False)  # see adc.ir.known

    def add(self, func: Func) -> Func:
        if func.name in self.funcs:
            raise ValueError(f"function @{func.name} is already defined")
        self.funcs[func.name] = func
        return func

    def unique_name(self, base: str) -> str:
        """``base``, or ``base_1``, ``base_2``, ... if that is taken."""
        return next(n for n in chain([base], (f"{base}_{k}" for k in count(1))) if n not in self.funcs)
