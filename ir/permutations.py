"""Operations that merely permute memrefs: time loops that swap their buffers, and branches and loops around such.

An *orbit* of an operation is a set of its results which are, in every run, some values from outside in some order. If a
loop's body passes what it carries through orbits of the operations in it and yields all of it again, the loop has an
orbit itself: what it carries now is what it carried at first, in another order. So an operation's results can be traced
back to its inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import field

from adc.ir import ops
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import MemRefType


@dataclass(frozen=True)
class Orbit:
    """``op.results`` at ``positions`` are ``inputs`` in some order. For a loop ``inputs`` are the initial values."""

    op: Op
    positions: tuple[int, ...]
    inputs: tuple[Value, ...]

    @property
    def results(self) -> tuple[Value, ...]:
        return tuple(self.op.results[k] for k in self.positions)


@dataclass
class Permutation:
    """The orbits of one operation, and the values in its regions that they pass through.

    ``ends`` maps a value that a region yields to its orbit. ``inner`` maps a region and a value in it (which may come
    from outside, and be used in other regions too) to the orbit of the operation of that region that uses the value; no
    other use matters.
    """

    orbits: list[Orbit] = field(default_factory=list)
    ends: dict[Value, Orbit] = field(default_factory=dict)
    inner: dict[tuple[Block, Value], Orbit] = field(default_factory=dict)

    def orbit_at(self, position: int) -> Orbit | None:
        return next((orbit for orbit in self.orbits if position in orbit.positions), None)


@dataclass(eq=False)
class _Group:
    """Yielded positions, and the values that they have been traced back to."""

    positions: set[int]
    values: dict[Value, None]  # an ordered set
    inner: dict[tuple[Block, Value], Orbit] = field(default_factory=dict)
    broken: bool = False


class Permutations:
    """Finds orbits, and remembers them. Afterwards, operations may only be extended."""

    def __init__(self) -> None:
        self._known: dict[Op, Permutation] = {}

    def of(self, op: Op) -> Permutation:
        found = self._known.get(op)
        if found is None:
            found = self._known[op] = self._find(op)
        return found

    def carried(self, loop: Op) -> tuple[Block, tuple[Value, ...], tuple[Value, ...]]:
        """The body of a loop, the values carried there, and their initial values."""
        if loop.opdef is ops.for_:
            return loop.regions[0], loop.regions[0].args[1:], loop.operands[3:]
        return loop.regions[1], loop.regions[1].args, loop.operands

    def _find(self, op: Op) -> Permutation:
        if not any(isinstance(r.type, MemRefType) for r in op.results):
            return Permutation()
        if op.opdef in (ops.for_, ops.while_):
            return self._of_loop(op)
        return self._of_branch(op) if op.opdef is ops.if_ else Permutation()

    def _of_loop(self, loop: Op) -> Permutation:
        body, args, inits = self.carried(loop)
        place = {a: k for k, a in enumerate(args) if isinstance(a.type, MemRefType)}
        if loop.opdef is ops.while_:
            # Only values that the condition passes on unchanged.
            before = loop.regions[0]
            passed = before.terminator.operands[1:]
            place = {a: k for a, k in place.items() if passed[k] is before.args[k]}
        groups = self._traced(body, {k: body.terminator.operands[k] for k in place.values()})
        for group in groups:
            group.broken |= not group.values.keys() <= place.keys()
        found = Permutation()
        yields = body.terminator.operands
        for component in _components((g.positions | {place[v] for v in g.values if v in place}, g) for g in groups):
            taken = [place.get(v, -1) for g in component for v in g.values]
            given = {k for g in component for k in g.positions}
            if any(g.broken for g in component) or set(taken) != given or len(taken) != len(given):
                continue
            positions = tuple(sorted(given))
            self._note(found, Orbit(loop, positions, tuple(inits[k] for k in positions)), [yields], component)
        return found

    def _of_branch(self, branch: Op) -> Permutation:
        sides = [region.terminator.operands for region in branch.regions]
        memrefs = [k for k, r in enumerate(branch.results) if isinstance(r.type, MemRefType)]
        traced = [
            self._traced(region, {k: side[k] for k in memrefs})
            for region, side in zip(branch.regions, sides, strict=True)
        ]
        found = Permutation()
        for component in _components(({*g.positions, *g.values}, g) for groups in traced for g in groups):
            values = [dict.fromkeys(v for g in groups if g in component for v in g.values) for groups in traced]
            inside = any(v.block in branch.regions for v in values[0])
            given = {k for g in component for k in g.positions}
            if inside or any(g.broken for g in component) or values[0].keys() != values[1].keys():
                continue
            if len(values[0]) == len(given):
                self._note(found, Orbit(branch, tuple(sorted(given)), tuple(values[0])), sides, component)
        return found

    @staticmethod
    def _note(found: Permutation, orbit: Orbit, ends: Iterable[tuple[Value, ...]], component: Iterable[_Group]) -> None:
        found.orbits.append(orbit)
        found.ends.update((values[k], orbit) for values in ends for k in orbit.positions)
        for group in component:
            found.inner.update(group.inner)

    def _traced(self, block: Block, yields: dict[int, Value]) -> list[_Group]:
        """The groups of ``yields``, traced back to the start of ``block``."""
        groups: dict[Value, _Group] = {}
        for k, value in yields.items():
            if value in groups:
                groups[value].positions.add(k)
                groups[value].broken = True
            else:
                groups[value] = _Group({k}, {value: None})
        for op in reversed(block.ops):
            if op.regions and any(r in groups for r in op.results):
                for orbit in self.of(op).orbits:
                    if any(r in groups for r in orbit.results):
                        _go_through(orbit, groups)
        return list(dict.fromkeys(groups.values()))


def _go_through(orbit: Orbit, groups: dict[Value, _Group]) -> None:
    """Replace the results of ``orbit`` by its inputs."""
    met = dict.fromkeys(groups[v] for v in (*orbit.results, *orbit.inputs) if v in groups)
    merged = _Group(set(), {})
    for group in met:
        merged.positions |= group.positions
        merged.values.update(group.values)
        merged.inner.update(group.inner)
        merged.broken |= group.broken
    merged.broken |= any(r not in groups for r in orbit.results)
    for r in orbit.results:
        groups.pop(r, None)
        merged.values.pop(r, None)
    block = orbit.op.parent
    assert block is not None
    for value in orbit.inputs:
        # A value that is used twice cannot be traced back uniquely.
        merged.broken |= value in merged.values
        merged.values[value] = None
        merged.inner[block, value] = orbit
    groups.update((v, merged) for v in merged.values)


def _components(items: Iterable[tuple[Set[int | Value], _Group]]) -> list[list[_Group]]:
    """Groups that share a key, directly or through others, joined into components."""
    found: list[tuple[set[int | Value], list[_Group]]] = []
    for keys, group in items:
        touched = [c for c in found if c[0] & keys]
        merged = (set(keys).union(*(c[0] for c in touched)), [group, *(g for c in touched for g in c[1])])
        found = [c for c in found if c not in touched] + [merged]
    return [groups for _, groups in found]
