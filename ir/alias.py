"""Which memory may a memref belong to, and can two memrefs overlap?

Memory is named by its *roots*: a function argument (one for all arguments that share an ``adc.alias`` number), an
allocation, or a fresh object that a call returns. The analysis is a fixed point over the whole function, so that
loop-carried memrefs have the roots that they may have in any iteration. ``may_overlap`` asks about one moment: see
``adc.ir.moments``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy

from adc.ir import ops
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.fixpoint import Fixpoint
from adc.ir.known import of_function, of_module
from adc.ir.memref_flow import MemrefFlow
from adc.ir.moments import Moments, strip_views
from adc.ir.types import MemRefType, Type, innermost

Roots = frozenset[Value]
NONE: Roots = frozenset()
APART = "adc.apart"  # of a call: pairs of results that do not overlap, although they share roots

# For each result of a function: positions of the arguments whose memory it may be; and, for each other object that it
# may be, the positions of all results that may be that object.
Found = tuple[tuple[frozenset[int], frozenset[tuple[int, ...]]], ...]
Returned = Fixpoint[str, Found]


def returned_memory(module: Module) -> Returned:
    """The memory that the functions of ``module`` return, in their present state."""

    def make() -> Returned:
        found: Returned = Fixpoint(
            lambda name: Aliasing.asked(module.funcs[name], module, found).returned(),
            lambda name: ((frozenset(), frozenset()),) * len(module.funcs[name].result_types),
        )
        return found

    return of_module(returned_memory, module, make)


class Aliasing:
    """The roots of every memref of one function. ``module`` resolves calls; without it a call's results are fresh.

    ``carriers`` are the operations that memrefs flow through, in order; ``callees`` are the called functions.
    """

    def __init__(
        self, func: Func, module: Module | None = None, returned: Returned | None = None, flow: MemrefFlow | None = None
    ) -> None:
        self.func = func
        self._memrefs = flow = flow or MemrefFlow(func)
        self.carriers = list(dict.fromkeys(flow.followed))
        self.callees = list(dict.fromkeys(op.attrs["callee"] for op in flow.calls))
        self._module = module
        self._returned = returned
        self._used: dict[str, Found | None] = {}  # of called functions; None for those that are not there
        self._roots: dict[Value, Roots] = {}
        self._contents: dict[Value, Roots] = {}
        self._declared: set[Value] = set()  # roots whose contents at unpacking are declared
        self._said_apart: set[tuple[Value, Value]] = set()
        self._families: dict[Block | Op, list[int]] = {}
        self._changed = False
        self._moments: Moments | None = None  # None until the roots are found
        leaders: dict[int, Value] = {}
        for arg, attrs in zip(func.args, func.arg_attrs, strict=True):
            if isinstance(arg.type, MemRefType):
                number = attrs.get("adc.alias")
                self._roots[arg] = frozenset({arg if number is None else leaders.setdefault(number, arg)})
        self._solve(flow.followed)
        self._moments = Moments(func)
        self._moments.declare_apart(self._said_apart)

    @classmethod
    def asked(cls, func: Func, module: Module, returned: Returned | None = None) -> Aliasing:
        """The analysis of ``func`` as it is now: the cached one if it is still valid, else a new one. ``returned``: of
        the functions that it calls, while that is being found."""

        def holds(known: Aliasing) -> bool:
            if not known._used:
                return True
            now = returned or returned_memory(module)
            return all(then == (now(name) if name in module.funcs else None) for name, then in known._used.items())

        def make() -> Aliasing:
            flow, before = MemrefFlow(func), func.known.get(cls)
            known: Aliasing | None = before[1][0] if before is not None else None
            if known is not None and known._memrefs == flow and holds(known):
                return known._anew(module, returned)
            return cls(func, module, returned, flow)

        return of_function(cls, func, module, make, holds, settled=returned is None)

    def _anew(self, module: Module, returned: Returned | None) -> Aliasing:
        """The same analysis without the answers that are kept: some may have been given while the function changed."""
        new = copy(self)
        assert self._moments is not None
        new._module, new._returned, new._families, new._moments = module, returned, {}, self._moments.anew()
        return new

    def roots(self, memref: Value) -> Roots:
        """The roots that ``memref`` may have at any time; none for an undefined memref."""
        if (found := self._roots.get(memref)) is None:  # most memrefs are not views
            found = self._roots.get(memref := strip_views(memref))
        return found if found is not None else self._made_since(memref)

    def sources(self, memref: Value) -> tuple[Value, ...]:
        """The memrefs that a branch, a loop or a slot hands on as ``memref``; none for others, such as views."""
        return self._moments.sources(memref) if self._moments is not None else ()

    def in_order(self, roots: Iterable[Value]) -> list[Value]:
        """Roots in program order, for naming and numbering: the order of a set differs between processes."""
        assert self._moments is not None
        return sorted(roots, key=self._moments.place)

    def knows(self, memref: Value) -> bool:
        """Whether ``memref``, or the memref that it is a view of, existed when the function was analysed."""
        return self._moments is not None and strip_views(memref) in self._moments

    def _made_since(self, memref: Value) -> Roots:
        """The roots of a memref that a pass has built after the analysis: all of them, unless it is new memory."""
        if self._moments is None or memref in self._moments or not isinstance(memref.type, MemRefType):
            return NONE
        kind = memref.op.opdef if memref.op is not None else None
        if kind is ops.alloc or kind is ops.undef:
            return frozenset({memref}) if kind is ops.alloc else NONE
        return frozenset({memref}).union(*self._roots.values())

    def contents(self, memref: Value) -> Roots:
        """The roots of the memrefs that a memref of memrefs may hold."""
        return frozenset().union(*(self._contents.get(root, NONE) for root in self.roots(memref)))

    def is_held(self, root: Value) -> bool:
        """Whether a memref of memrefs may hold it."""
        return any(root in found for found in self._contents.values())

    def reach(self, memref: Value) -> set[Value]:
        """The roots of ``memref``, of the memrefs it may hold, and so on."""
        found, new = set[Value](), set(self.roots(memref))
        while new:
            found |= new
            new = {inner for root in new for inner in self._contents.get(root, NONE)} - found
        return found

    def apart_pairs(self, values: Sequence[Value]) -> tuple[tuple[int, int], ...]:
        """Positions of pairs of memrefs among ``values`` that never overlap, although they have roots in common."""
        memrefs = [(k, v) for k, v in enumerate(values) if isinstance(v.type, MemRefType)]
        return tuple(
            (m, n)
            for at, (n, v) in enumerate(memrefs)
            for m, u in memrefs[:at]
            if self.roots(u) & self.roots(v) and not self.may_overlap(u, v)
        )

    def may_overlap(self, a: Value, b: Value) -> bool:
        """Whether the two can share memory at a moment when both are in scope."""
        assert self._moments is not None
        return self._moments.may_overlap(a, b, self._meet)

    def _meet(self, a: Value, b: Value) -> bool:
        return not self.roots(a).isdisjoint(self.roots(b))

    def returned(self) -> tuple[tuple[frozenset[int], frozenset[tuple[int, ...]]], ...]:
        """The memory that the function returns; see ``Returned``."""
        values = self.func.body.terminator.operands
        roots = [self.roots(v) if isinstance(v.type, MemRefType) else NONE for v in values]
        places: dict[Value, tuple[int, ...]] = {}
        for root in frozenset().union(*roots):
            places[root] = tuple(k for k, found in enumerate(roots) if root in found)
        own = self.func.body
        return tuple(
            (
                frozenset(
                    position
                    for position, arg in enumerate(self.func.args)
                    for root in found
                    if root.owner is own and self._roots.get(arg) == frozenset({root})
                ),
                frozenset(places[root] for root in found if root.owner is not own),
            )
            for found in roots
        )

    def family(self, owner: Block | Op) -> list[int]:
        """Positions of loop-carried memrefs that never overlap each other at one moment, although their roots meet:
        among the body's arguments, or the loop's results."""
        found = self._families.get(owner)
        if found is None:
            found = self._families[owner] = self._find_family(owner)
        return found

    def place_in_family(self, memref: Value) -> tuple[Block | Op, int] | None:
        """The owner of the family that ``memref`` belongs to and its position there; None if it belongs to none."""
        memref = self._resolve(memref)
        owner = memref.owner
        loop = owner.parent_op if isinstance(owner, Block) else owner
        if loop is None or loop.opdef not in (ops.for_, ops.while_):
            return None
        position = memref.index - 1 if isinstance(owner, Block) and loop.opdef is ops.for_ else memref.index
        return (owner, position) if position in self.family(owner) else None

    def _find_family(self, owner: Block | Op) -> list[int]:
        loop = owner.parent_op if isinstance(owner, Block) else owner
        assert loop is not None
        first = 1 if isinstance(owner, Block) and loop.opdef is ops.for_ else 0
        values = owner.args[first:] if isinstance(owner, Block) else owner.results
        memrefs = [(k, v) for k, v in enumerate(values) if isinstance(v.type, MemRefType) and self._resolve(v) is v]
        found: list[tuple[int, Value]] = []
        for k, v in memrefs:
            if not any(self.may_overlap(v, other) for _, other in found):
                found.append((k, v))
        return [k for k, v in found if any(not self.roots(v).isdisjoint(self.roots(w)) for _, w in found if w is not v)]

    # The fixed point -------------------------------------------------------------------------------------------------

    def _solve(self, followed: Sequence[Op]) -> None:
        concerned = [(rule, op) for op in followed if (rule := _RULES.get(op.opdef)) is not None]
        self._changed = True
        while self._changed:
            self._changed = False
            for rule, op in concerned:
                rule(self, op)
            if _FORWARD.issuperset(op.opdef for _, op in concerned):
                break

    def _add(self, value: Value, roots: Roots) -> None:
        if type(value.type) is MemRefType:
            old = self._roots.get(value)
            if old is None:
                if roots:
                    self._roots[value] = roots
                    self._changed = True
            elif old is not roots and not roots <= old:
                self._roots[value] = old | roots
                self._changed = True

    def _flow(self, sources: Sequence[Value], targets: Sequence[Value]) -> None:
        for source, target in zip(sources, targets, strict=True):
            if type(target.type) is MemRefType and (roots := self.roots(source)) is not self._roots.get(target):
                self._add(target, roots)

    def _fresh(self, op: Op) -> None:
        self._add(op.result, frozenset({op.result}))

    def _load(self, op: Op) -> None:
        if isinstance(op.result.type, MemRefType):
            container = op.operands[0]
            self._add(op.result, self.contents(container) | self._held_outside(container, op.result.type))

    def _held_outside(self, container: Value, t: MemRefType) -> Roots:
        """What a container that came from outside (an argument, a record) may have held already.

        That is anything from outside with elements of the same kind; the roots of containers stand for memory that has
        no other name.
        """
        if not any(_is_foreign(root) and root not in self._declared for root in self.roots(container)):
            return NONE
        foreign = {root for roots in self._roots.values() for root in roots if _is_foreign(root)}
        return frozenset(root for root in foreign if innermost(root.type) == innermost(t))

    def _store(self, op: Op) -> None:
        value, target = op.operands[:2]
        if isinstance(value.type, MemRefType):
            self._hold(self.roots(target), self.roots(value))

    def _copy(self, op: Op) -> None:
        source, target = op.operands
        if isinstance(source.type, MemRefType) and isinstance(source.type.element, MemRefType):
            self._hold(self.roots(target), self.contents(source))

    def _hold(self, containers: Iterable[Value], roots: Roots) -> None:
        for root in containers:
            old = self._contents.get(root, NONE)
            if not roots <= old:
                self._contents[root] = old | roots
                self._changed = True

    def _grow(self, op: Op) -> None:
        self._add(op.result, self.roots(op.operands[0]) | {op.result})

    def _select(self, op: Op) -> None:
        for source in op.operands[1:]:
            self._flow([source], op.results)

    def _for(self, op: Op) -> None:
        (body,) = op.regions
        inits, yields = op.operands[3:], body.terminator.operands
        self._flow(inits, body.args[1:])
        self._flow(inits, op.results)
        self._flow(yields, body.args[1:])
        self._flow(yields, op.results)

    def _while(self, op: Op) -> None:
        before, after = op.regions
        self._flow(op.operands, before.args)
        self._flow(before.terminator.operands[1:], after.args)
        self._flow(before.terminator.operands[1:], op.results)
        self._flow(after.terminator.operands, before.args)

    def _if(self, op: Op) -> None:
        for region in op.regions:
            self._flow(region.terminator.operands, op.results)

    def _call(self, op: Op) -> None:
        memrefs = [r for r in op.results if isinstance(r.type, MemRefType)]
        if not memrefs:
            return
        self._said_apart.update((op.results[m], op.results[n]) for m, n in op.attrs.get(APART, ()))
        callee = self._module.funcs.get(op.attrs["callee"]) if self._module else None
        if callee is None:
            self._used[op.attrs["callee"]] = None
            # Unknown: fresh memory or that of any argument.
            everything = frozenset({memrefs[0]}).union(*(self.roots(v) for v in op.operands))
            for result in memrefs:
                self._add(result, everything)
            return
        if self._returned is None:
            assert self._module is not None
            self._returned = returned_memory(self._module)
        found = self._used[op.attrs["callee"]] = self._returned(callee.name)
        for result, (passed, fresh) in zip(op.results, found, strict=True):
            for position in passed:
                self._add(result, self.roots(op.operands[position]))
            self._add(result, frozenset(op.results[group[0]] for group in fresh))

    def _unpack(self, op: Op) -> None:
        """``roots`` of each unpacked memref: positions of function arguments, or negative numbers for other objects.

        ``contents``, likewise, of each memref of memrefs: all that can be reached through it. ``apart``: pairs of
        results that do not overlap, although they share roots.

        These describe a record that is an argument. One that the function makes or loads itself is unpacked here since
        code was inlined; what it holds may have other names here, which the numbers cannot express.
        """
        leader: dict[int, Value] = {}
        inlined = op.operands[0].op is not None

        def named(numbers: Sequence[int], result: Value) -> Roots:
            return NONE.union(
                *(self._roots[self.func.args[n]] if n >= 0 else {leader.setdefault(n, result)} for n in numbers)
            )

        for m, n in op.attrs.get("apart", ()):
            self._said_apart.add((op.results[m], op.results[n]))
        given = op.attrs.get("roots") or ((-1,),) * len(op.results)
        for result, numbers in zip(op.results, given, strict=True):
            self._add(result, named(numbers, result))
            if inlined and isinstance(result.type, MemRefType):
                self._add(result, self._recorded(op, result.type))
        for result, numbers in zip(op.results, op.attrs.get("contents") or ((),) * len(op.results), strict=True):
            if numbers:
                inside = named(numbers, result) | (self._recorded(op, result.type) if inlined else NONE)
                self._declared |= inside | self._roots[result]
                self._hold(inside | self._roots[result], inside)

    def _recorded(self, unpack: Op, t: Type) -> Roots:
        """What a record other than an argument may hold: memory that this function packs, or gets from calls and other
        records. Memory of arguments is named by numbers."""
        inside = [v for op in self.carriers if op.opdef is ops.pack for v in op.operands if type(v.type) is MemRefType]
        packed = {root for v in inside for root in self.reach(v)}
        known = {root for roots in self._roots.values() for root in roots}
        others = {root for root in known if root.op is not None and root.op is not unpack}
        return frozenset(r for r in others if innermost(r.type) == innermost(t) and (_is_foreign(r) or r in packed))

    def _resolve(self, memref: Value) -> Value:
        """Strip views, and loop arguments that never change."""
        while True:
            memref = strip_views(memref)
            loop = memref.owner.parent_op if isinstance(memref.owner, Block) else memref.op
            if loop is None or loop.opdef is not ops.for_:
                return memref
            position = memref.index - 1 if isinstance(memref.owner, Block) else memref.index
            body = loop.regions[0]
            if position < 0 or strip_views(body.terminator.operands[position]) is not body.args[position + 1]:
                return memref
            memref = loop.operands[3 + position]


def _is_foreign(root: Value) -> bool:
    return root.op is None or root.op.opdef not in (ops.alloc, ops.grow)


_RULES = {
    ops.alloc: Aliasing._fresh,
    ops.load: Aliasing._load,
    ops.store: Aliasing._store,
    ops.fill: Aliasing._store,
    ops.copy: Aliasing._copy,
    ops.grow: Aliasing._grow,
    ops.select: Aliasing._select,
    ops.for_: Aliasing._for,
    ops.while_: Aliasing._while,
    ops.if_: Aliasing._if,
    ops.call: Aliasing._call,
    ops.unpack: Aliasing._unpack,
}
_FORWARD = frozenset({ops.alloc, ops.grow, ops.select, ops.if_, ops.call})  # their sources come first
