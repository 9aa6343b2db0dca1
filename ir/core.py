"""The objects of the IR: values, operations, blocks, functions, modules, and where in the Python source they come from.

There is one class of operation. What distinguishes ``arith.addf`` from ``scf.for`` is the ``OpDef`` that it points at
(see ``adc.ir.ops``). Regions have one block each; control flow is structured, and block arguments take the place of
phi nodes. Passes build new code and drop the old rather than edit in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

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
    creation. ``hint`` is the Python name that it was bound to, if any.
    """

    __slots__ = ("hint", "index", "op", "owner", "type", "uses")

    def __init__(self, type: Type, owner: Op | Block, index: int, hint: str = "") -> None:
        self.type = type
        self.owner = owner
        self.op = owner if isinstance(owner, Op) else None
        self.index = index
        self.hint = hint
        self.uses: dict[tuple[Op, int], None] = {}

    @property
    def block(self) -> Block | None:
        """The block in which this value is defined; None while its operation is not in one."""
        return self.owner if isinstance(self.owner, Block) else self.owner.parent

    def replace_uses(self, other: Value) -> None:
        """Make every user of this value use ``other``."""
        for op, position in list(self.uses):
            op.set_operand(position, other)

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

    __slots__ = ("attrs", "loc", "opdef", "operands", "parent", "regions", "results")

    def __init__(
        self,
        opdef: OpDef,
        operands: Sequence[Value],
        result_types: Sequence[Type],
        attrs: dict[str, Attr] | None = None,
        regions: Sequence[Block] = (),
        loc: Loc = UNKNOWN,
    ) -> None:
        self.opdef = opdef
        self.attrs: dict[str, Attr] = attrs or {}
        self.loc = loc
        self.parent: Block | None = None
        self.operands: tuple[Value, ...] = tuple(operands)  # changed by the methods only, which keep the uses
        for position, operand in enumerate(self.operands):
            operand.uses[(self, position)] = None
        self.results = tuple([Value(t, self, k) for k, t in enumerate(result_types)])
        self.regions = tuple(regions)
        for region in self.regions:
            region.parent = self

    @property
    def result(self) -> Value:
        """The only result."""
        (value,) = self.results
        return value

    def set_operand(self, position: int, value: Value) -> None:
        del self.operands[position].uses[(self, position)]
        self.operands = (*self.operands[:position], value, *self.operands[position + 1 :])
        value.uses[(self, position)] = None

    def add_operand(self, value: Value) -> None:
        """Append an operand (an extra value carried by a loop, say)."""
        value.uses[(self, len(self.operands))] = None
        self.operands = (*self.operands, value)

    def add_result(self, type: Type, hint: str = "") -> Value:
        value = Value(type, self, len(self.results), hint)
        self.results = (*self.results, value)
        return value

    def drop(self) -> None:
        """Forget this operation's uses of its operands, those inside its regions included."""
        for region in self.regions:
            for op in region.ops:
                op.drop()
        for position, operand in enumerate(self.operands):
            operand.uses.pop((self, position), None)

    def __repr__(self) -> str:
        return f"<{self.opdef.name} at {self.loc}>"


class Block:
    """A list of operations with arguments: the single block of a region or of a function."""

    __slots__ = ("args", "ops", "parent")

    def __init__(self, arg_types: Sequence[Type] = (), hints: Sequence[str] = ()) -> None:
        self.parent: Op | Func | None = None
        self.ops: list[Op] = []
        self.args: tuple[Value, ...] = tuple(
            Value(t, self, k, hints[k] if k < len(hints) else "") for k, t in enumerate(arg_types)
        )

    def append(self, op: Op) -> Op:
        op.parent = self
        self.ops.append(op)
        return op

    def add_arg(self, type: Type, hint: str = "") -> Value:
        value = Value(type, self, len(self.args), hint)
        self.args = (*self.args, value)
        return value

    @property
    def terminator(self) -> Op:
        return self.ops[-1]

    def set_ops(self, ops: Sequence[Op]) -> None:
        """Replace the list of operations; those left out must have been dropped by the caller."""
        self.ops = list(ops)
        for op in self.ops:
            op.parent = self

    def in_place_of(self) -> Block:
        """An empty block for operations to be moved to and then set back: what encloses it is the same meanwhile."""
        block = Block()
        block.parent = self.parent
        return block

    def walk(self) -> Iterator[Op]:
        """Every operation, outer before inner, in order."""
        # Without a generator in each region: what is deep inside would be handed on by all those around it.
        stack: list[Iterator[Op]] = [iter(self.ops)]
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
        return self.parent if isinstance(self.parent, Op) else None


class Func:
    """A function: a symbol name, a body that ends in ``func.return``, attributes for each argument and for itself.

    Attributes in use: on an argument ``adc.name`` (Python's name), ``adc.alias`` (an int: arguments with the same
    number may overlap, those without or with different ones never do), ``adc.shadow`` (position of the argument whose
    shadow this one is), ``adc.tangent`` (of the one whose tangent it is), ``adc.readonly`` (never stored to); on the
    function ``adc.entry`` (callable from outside), ``adc.cold`` (for the rare case; need not be fast),
    ``adc.noinline`` (stays a function of its own).
    """

    __slots__ = ("arg_attrs", "attrs", "body", "loc", "name", "result_types")

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


@dataclass
class Module:
    """Functions by symbol name, in order of definition."""

    funcs: dict[str, Func] = field(default_factory=dict)

    def add(self, func: Func) -> Func:
        if func.name in self.funcs:
            raise ValueError(f"function @{func.name} is already defined")
        self.funcs[func.name] = func
        return func

    def unique_name(self, base: str) -> str:
        """``base``, or ``base_1``, ``base_2``, ... if that is taken."""
        name, count = base, 0
        while name in self.funcs:
            count += 1
            name = f"{base}_{count}"
        return name
