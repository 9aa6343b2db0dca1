"""The state of tracing one Python function into one IR function."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from functools import partial
from typing import Any, Protocol

from adc.frontend import abstract
from adc.frontend.attempts import Attempt
from adc.frontend.data import dims, pins
from adc.frontend.data.callables import Closure, Scope
from adc.frontend.data.compounds import Contents
from adc.frontend.data.roots import Root, Roots
from adc.frontend.data.values import AbstractValue, Array, Compound, Ref, Scalar, array
from adc.frontend.elements import from_element
from adc.frontend.looks import Looks
from adc.frontend.sites import ListPools, Pools
from adc.frontend.syntax.liveness import Liveness
from adc.frontend.syntax.source import FunctionSource
from adc.ir import ops
from adc.ir.builder import at_loc, insert_at
from adc.ir.core import Block, Func, Loc, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import ComplexType, Type


@dataclass(frozen=True, eq=False)
class Capture:
    """A number or array read through a global or closure variable: an extra argument, fetched at each call.

    ``key`` distinguishes variables of the same name.
    """

    key: tuple[Any, ...]
    name: str
    fetch: Callable[[], Any]
    abstract: abstract.Abstract


COLUMNS = "adc.columns"
"""Marks arguments of the IR that are the transposed arrays of the caller."""


@dataclass(eq=False)
class Heap:
    """The mutable objects of a frame. Their contents are in ``Frame.env``; this class has what does not depend on the
    path.

    ``given`` are the caller's objects with what they held at first. ``kin``: objects that may be the same one.
    """

    made: int = 0
    given: list[tuple[Ref, Contents]] = field(default_factory=list)
    kin: dict[str, set[str]] = field(default_factory=dict)
    refs: dict[str, Ref] = field(default_factory=dict)
    # captured objects by id: where they were found first, and how they are read
    outer: dict[int, tuple[Ref, tuple[Any, ...], Callable[[], Any]]] = field(default_factory=dict)
    sites: dict[str, Loc] = field(default_factory=dict)  # where objects were made
    parts: dict[str, str] = field(default_factory=dict)  # of which attribute, where a call makes several
    # lists in pools that items were asked of: number, list, length and contents when somebody began to go through it
    gone_through: list[tuple[int, Any, Value, Contents]] = field(default_factory=list)
    begun: int = 0  # how often somebody began
    pools: dict[type, Ref] = field(default_factory=dict)  # for the objects of each class; see ``objects.pools``


Part = tuple[type, str, int]
"""An array attribute of pooled objects of a class: the class, the attribute, and the number of the array in it."""


@dataclass(frozen=True)
class Held:
    """``array``, which ``op`` copied into a list, or a call that did; ``moved``: within that list, or from its previous
    buffer. ``loc``: where the program says so."""

    op: Op
    moved: bool
    loc: Loc
    array: Value


@dataclass(eq=False)
class ArraysOfObjects:
    """What a frame does with arrays that belong to objects in pools; see ``objects.owned``."""

    given: list[tuple[Held, Part, Array | None]] = field(default_factory=list)  # None: certainly not such an array
    read: list[tuple[Op, Part, Array]] = field(default_factory=list)  # with the copy that was read
    changed: list[tuple[Op, Part, Loc]] = field(default_factory=list)  # in place; ``op``: the last of the change


@dataclass(eq=False)
class ArraysOfPrograms:
    """The same for all functions that have been traced: where arrays are changed in place, where an array may have
    another name, and which function changes which arrays."""

    changed: dict[Part, Loc] = field(default_factory=dict)
    shared: dict[Part, Loc] = field(default_factory=dict)
    by_function: dict[str, set[Part]] = field(default_factory=dict)
    circular: Loc | None = None  # where functions call each other in a cycle


@dataclass(frozen=True)
class Stand:
    """``copy``, of what ``source`` held when ``op`` ran, stands for ``view`` of it."""

    op: Op
    source: Value
    copy: Value
    view: str


class NeedsPool(Exception):
    """The function of ``frame`` must be traced again, with more of its objects in pools. ``given``: the number of the
    object among those that the function was given, if it is one of these."""

    def __init__(self, frame: Frame, given: int | None = None) -> None:
        super().__init__()
        self.frame = frame
        self.given = given

    def change(self, pools: Pools) -> bool:
        """Whether these pools are the ones; they have been changed."""
        return self.frame.pools is pools and self.given is None


class Undetermined(Exception):
    """The path that is being traced depends on a result about which nothing is known yet."""


class NeedsConstant(Exception):
    """Tracing a callee found that the parameter ``name``, so far passed at run time, must be known. ``keyed``: if it is
    the key of a dict, the number of that among the objects that the callee was given."""

    def __init__(self, frame: Frame, name: str) -> None:
        super().__init__(name)
        self.frame = frame
        self.name = name
        self.keyed: int | None = None


class Tracer(Protocol):
    """What a frame needs from the whole trace."""

    module: Module
    looks: Looks  # the things outside that compiled code depends on
    called: tuple[Op, Roots] | None  # the last call of a function, and the caller's memory that it writes to
    lapack: bool  # whether code may call LAPACK in this process
    owned: ArraysOfPrograms
    elsewhere: ListPools  # of lists that others change than those who make them
    deterministic: bool  # whether libraries must use one thread
    attempt: Attempt
    quiet: bool
    warns: bool

    def call(
        self, frame: Frame, callee: AbstractValue, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]
    ) -> AbstractValue:
        """Call ``callee`` at the insertion point."""

    def captured(self, closure: Closure) -> Closure:
        """``closure`` with the present values of its free variables."""

    def collected(self, frame: Frame, v: AbstractValue, node: ast.expr) -> AbstractValue:
        """The list of the items of the generator ``v``, or of the comprehension ``node`` over it."""

    def folded(
        self,
        frame: Frame,
        callee: AbstractValue,
        args: Sequence[AbstractValue],
        kwargs: Mapping[str, AbstractValue],
        at: int,
        node: ast.expr,
    ) -> AbstractValue | None:
        """``callee`` of the generator ``args[at]``, if it calls a function for each item before it asks for more."""

    def first(self, frame: Frame, source: ast.GeneratorExp, default: AbstractValue | None) -> AbstractValue:
        """``next(source, default)``, as a loop."""

    def comprehended(self, frame: Frame, node: ast.ListComp | ast.GeneratorExp) -> AbstractValue:
        """The list of a comprehension over a generator."""

    def consult(self, function: object) -> None:
        """Make the compiled code depend on which rules ``function`` has."""

    def read_outer(self, key: tuple[Any, ...], name: str, fetch: Callable[[], Any]) -> None:
        """Note that a mutable object from outside is read."""

    def yielded_from(self, frame: Frame, found: Any) -> AbstractValue | None: ...  # if a generator does nothing else

    def capture_alias(self, name: str) -> int | None:
        """The alias group of a captured array."""


class PathEnds(Exception):
    """The statement that is being traced certainly raises: the rest of this path is not reached."""


@dataclass(eq=False)
class Frame(Scope):
    """``env`` maps local variables to what they hold at the insertion point. ``prologue`` goes before the body."""

    tracer: Tracer
    func: Func
    source: FunctionSource
    liveness: Liveness
    module_globals: dict[str, Any]
    cells: dict[str, Any]
    entry: bool
    env: dict[str, AbstractValue] = field(default_factory=dict)
    prologue: Block = field(default_factory=Block)
    captures: dict[tuple[Any, ...], tuple[Capture, AbstractValue]] = field(default_factory=dict)
    assigned_at: dict[str, Loc] = field(default_factory=dict)
    order: int = 0
    parallel: list[ast.For] = field(default_factory=list)
    in_place: set[ast.stmt] = field(default_factory=set)  # ``r = r + x`` that is in place, like ``r += x``
    hints: dict[ast.stmt, Any] = field(default_factory=dict)
    nested: dict[ast.AST, FunctionSource] = field(default_factory=dict)
    lent: set[ast.AST] = field(default_factory=set)  # functions of this frame that were passed to calls
    around: set[str] = field(default_factory=set)  # variables read by functions that came back from calls
    groups: dict[int, Root] = field(default_factory=dict)
    written: set[Root] = field(default_factory=set)
    snapshots: list[tuple[Value, Roots, str]] = field(default_factory=list)  # copies for views: ``numeric.snapshots``
    held: list[Held] = field(default_factory=list)  # arrays that were copied into lists; see ``objects.held``
    owned: ArraysOfObjects = field(default_factory=ArraysOfObjects)
    stands: list[Stand] = field(default_factory=list)  # copies that may stand for views; see there
    call_writes: dict[Op, list[Value]] = field(default_factory=dict)  # the operands of each call that it writes to
    argument_roots: dict[int, Root] = field(default_factory=dict)
    heap: Heap = field(default_factory=Heap)
    pools: Pools = field(default_factory=Pools)
    pins: bool = True  # whether parameters that must be known raise ``NeedsConstant``
    abandoned: bool = False  # whether some code was built that will be in no function
    unrollable: set[ast.stmt] = field(default_factory=set)  # loops that may be unrolled if necessary
    generators: int = 0  # how many loops over generators have been written out
    statement_block: Block | None = None  # the block in which the present statement began
    parting: str = ""  # a variable that the present statement appends to a list, and that is not read afterwards
    loops: list[Any] = field(default_factory=list)  # the ``Carry`` of each loop whose body is being traced
    catching: tuple[type[Exception], ...] = ()  # exceptions that handlers here or in callers take
    states: dict[Op, dict[str, AbstractValue]] = field(default_factory=dict)  # ``env`` where these may be raised
    joins: Loc | None = None  # the ``if`` whose branches are merged
    thrown: dict[Op, AbstractValue] = field(default_factory=dict)  # what calls return of them; see ``control.thrown``

    @property
    def captured(self) -> frozenset[str]:
        """The variables read by functions that may be called anywhere: they are live everywhere."""
        return self.liveness.captured | self.around

    def loc(self, node: ast.AST) -> Loc:
        return self.source.loc(node)

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        """Mark what is built inside with the range of ``node``."""
        with at_loc(self.source.loc(node)):
            yield

    def add_argument(self, a: abstract.Abstract, name: str, protected: str = "") -> AbstractValue:
        """A new argument of the IR function for a scalar or array, and its value (computed in the prologue)."""
        assert isinstance(a, abstract.Scalar | abstract.Array)
        attrs: dict[str, Any] = {"adc.name": name}
        if isinstance(a, abstract.Array):
            type_: Type = abstract.memref_type(a)
            if a.layout == "F":
                attrs[COLUMNS] = True
            if a.alias is not None:
                attrs["adc.alias"] = a.alias
            if False in a.ones:
                ones = a.ones if COLUMNS not in attrs else a.ones[::-1]
                attrs[dims.NOT_ONE] = tuple(k for k, one in enumerate(ones) if one is False)
        else:
            type_ = a.type if self.entry else abstract.value_type(a.type)
        arg = self.func.body.add_arg(type_, name)
        self.func.arg_attrs.append(attrs)
        with insert_at(self.prologue, self.func.loc):
            if isinstance(a, abstract.Scalar):
                pin = partial(self._pin, name) if self.pins and not (self.entry and a.type.is_float) else None
                return Scalar(pins.marked(_named(from_element(arg), name), pin, a), a.type, a.weak)
            root = self.argument_roots[arg.index] = self._root(a, name)
            if not a.writable and not protected:
                protected = f"'{name}' is read-only"
            # Another argument may be the same memory and be written to: only this access to it is protected.
            roots = {root, self.new_root(name, protected)} if protected else {root}
            pairs = isinstance(a.element, ComplexType)
            known = a.extents or [1 if one else None for one in a.ones]
            if a.layout != "F":
                return array(arg, frozenset(roots), known, pairs=pairs)
            rows = array(arg, frozenset(roots), known[::-1])
            turned = ops.transpose(rows.memref, permutation=tuple(range(a.rank))[::-1])
            return Array(_named(turned, name), rows.dims[::-1], rows.roots)

    @contextmanager
    def in_body(self) -> Iterator[None]:
        """Append what is built inside to the body, after the prologue, whose values are visible."""
        with insert_at(self.prologue, self.func.loc), insert_at(self.func.body):
            yield

    def want_pool(self, ref: Ref) -> None:
        """Keep an object, and all that it may be, in pools from their creation on; for lists see ``want_list``."""
        if ref.kind == "object":
            self._want(self.pools.sites, {(self.heap.sites[r.key], r.cls) for r in self._made_here(ref)})

    def want_list(self, ref: Ref) -> None:
        """The same for a list."""
        if ref.kind == "list" and self.pools.want_lists({self.heap.sites[r.key] for r in self._made_here(ref)}):
            raise NeedsPool(self)

    def want_lists_in(self, *values: AbstractValue | None) -> None:
        """Keep the lists that are items of these in pools."""
        found = [r for v in values for r in self._refs(v) if r.kind == "list"]
        if self.pools.want_lists({self.heap.sites[r.key] for ref in found for r in self._made_here(ref)}):
            raise NeedsPool(self)

    def _refs(self, v: AbstractValue | None) -> Iterator[Ref]:
        if isinstance(v, Ref):
            yield v
        for item in v.items if isinstance(v, Compound) else ():
            yield from self._refs(item)

    def note_copied(self, ref: Ref) -> None:  # a list of run-time length has a copy of this list for an item
        self.pools.by_value |= {self.heap.sites[r.key] for r in self._either(ref) if r.key in self.heap.sites}

    def want_keyed(self, ref: Ref) -> None:
        """Have a dict be one with keys that the run computes from where it is made on, if that is in the program."""
        self._want(self.pools.keyed, {self.heap.sites[r.key] for r in self._made_here(ref)})

    def want_keyed_at(self, loc: Loc) -> None:
        """Have the dict that the expression there makes be one with keys that the run computes."""
        self._want(self.pools.keyed, {loc})

    def _want(self, known: set[Any], sites: set[Any]) -> None:
        """Trace the function again if ``sites`` are not all known."""
        if not sites <= known:
            known |= sites
            raise NeedsPool(self)

    def _made_here(self, ref: Ref) -> list[Ref]:
        """Those of the objects that ``ref`` may be whose creation is known; none if it may be the caller's or must not
        be changed. If the function was given it, its caller has to say."""
        either = self._either(ref)
        if any(r.protected or (r.caller and self.entry) for r in either):
            return []
        number = self.given_number(ref)
        if number is not None:
            raise NeedsPool(self, number)
        return [r for r in either if r.key in self.heap.sites]

    def given_number(self, ref: Ref) -> int | None:
        """The number of an object among those that the function was given; None if it made it."""
        either = self._either(ref)
        return next((n for n, (given, _) in enumerate(self.heap.given) if given in either), None)

    def _either(self, ref: Ref) -> list[Ref]:
        """All objects that ``ref`` may be."""
        return [self.heap.refs[key] for key in (ref.key, *self.heap.kin.get(ref.key, ()))]

    def _pin(self, name: str) -> Any:
        raise NeedsConstant(self, name)

    def _root(self, a: abstract.Array, name: str) -> Root:
        root = self.new_root(name)
        return root if a.alias is None else self.groups.setdefault(a.alias, root)

    def new_root(self, name: str, protected: str = "") -> Root:
        return Root(name, self.next_order(), protected)

    def next_order(self) -> int:
        self.order += 1
        return self.order

    def capture(self, c: Capture) -> AbstractValue:
        """The value of a captured variable: an argument that is added at the first use."""
        if (known := self.captures.get(c.key)) is None:
            a = c.abstract
            protected = ""
            if isinstance(a, abstract.Array):
                self.tracer.attempt.captures_arrays = True
                if self.tracer.attempt.sized:
                    a = replace(a, extents=c.fetch().shape)
                    c = replace(c, abstract=a)
                a = replace(a, alias=self.tracer.capture_alias(c.name))
                protected = f"'{c.name}' is captured from outside the function"
            known = self.captures[c.key] = (c, self.add_argument(a, c.name, protected))
        return known[1]


def _named(value: Value, name: str) -> Value:
    if not value.hint:
        value.hint = name
    return value


def discard(*blocks: Block) -> None:
    """Drop code that was built into ``blocks`` and will not be used."""
    for block in blocks:
        for op in block.ops:
            op.drop()
        block.set_ops([])
