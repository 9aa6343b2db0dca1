"""Products of matrices that only one loop reads, which sums them up or finds their extremes: versions for few terms.

    squares = np.sum(x**2, axis=1)[:, None] - 2.0 * x @ y.T + np.sum(y**2, axis=1)
    np.sum(np.min(squares, axis=1))

If points have few coordinates, the loop that reads the products should compute them itself (``forward-elements``): then
there is no array, and several points are taken side by side. If they have many, the kernel is several times as fast
(``match-products``). One test of the number of terms chooses between the two; the version that no call takes is not
compiled (``outline-branches``). What only the product reads is made on each side.

Loops over steps stay as they are: a branch in each step would be between their loops.
"""

from __future__ import annotations

from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import enclosing, having, of_kinds, place_in, with_inner
from adc.ir.rewrite import Mapping, clone_op
from adc.passes.analysis.effects import Summaries
from adc.passes.analysis.kinds import LOOPS
from adc.passes.analysis.machine import machine
from adc.passes.memory.forward_elements import CHEAP_ONCE, forwardable, how_filled, stays
from adc.passes.rewrite import put_instead, replace_op
from adc.passes.sums.match_products import stored_product


@dataclass(frozen=True)
class VersionProducts:
    """Make two versions of products and the loops that read them, which have at most ``most`` operations."""

    most: int = 200
    name: ClassVar[str] = "version-products"
    needs = frozenset({ops.alloc})

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in having(module, self.needs):
            for alloc in of_kinds(func.body, {ops.alloc}):
                if not any(op.opdef in LOOPS for op in enclosing(alloc.parent)):
                    self._version(func, alloc, summaries)
        return module

    def _version(self, func: Func, alloc: Op, summaries: Summaries) -> None:
        found, block = forwardable(func, alloc, summaries), alloc.parent
        if found is None or block is None:
            return
        filled, (load, *_) = found
        reader, terms = place_in(block, load), stored_product(filled.nest)
        around = next(enclosing(load.parent))
        if reader is None or reader.opdef is not ops.parallel or terms is None:
            return
        if not around.results or not filled.alone:
            return
        moved = {alloc, filled.nest, reader}
        if not _is_read_in(moved, alloc):
            return
        _add_sources(func, block, moved, load, summaries)
        if sum(1 for op in moved for _ in with_inner(op)) <= self.most:
            _branch([op for op in block.ops if op in moved], reader, terms)


def _is_read_in(places: set[Op], alloc: Op) -> bool:
    """Whether all uses of an array are in operations of its block."""
    assert alloc.parent is not None
    return all(place_in(alloc.parent, user) in places for user, _ in alloc.result.uses)


def _add_sources(func: Func, block: Block, moved: set[Op], load: Op, summaries: Summaries) -> None:
    """Add to ``moved`` the arrays that only it reads, and the nests that fill them, as far as what these read is still
    unchanged at ``load``, and they can be fused with the loop around that."""
    around = place_in(block, load)
    assert around is not None
    for alloc in reversed(of_kinds(block, {ops.alloc})):
        stores = [op for op, _ in alloc.result.uses if op.opdef is ops.store and op.operands[1] is alloc.result]
        if alloc.parent is not block or alloc in moved or len(stores) != 1:
            continue
        filled = how_filled(alloc, stores[0], CHEAP_ONCE)
        if filled is None or not filled.alone or filled.nest.operands[:3] != around.operands[:3]:
            continue
        if _is_read_in({*moved, filled.nest}, alloc) and stays(func, alloc, filled, load, summaries):
            moved |= {alloc, filled.nest}


def _branch(moved: list[Op], reader: Op, terms: Value) -> None:
    """Move operations, up to ``reader``, to a version for few terms and one for many."""
    versions = Block(), Block()
    for version in versions:
        with insert_at(version, reader.loc):
            mapping: Mapping = {}
            for op in moved:
                clone_op(op, mapping)
            build(ops.yield_, [mapping[r] for r in reader.results])
    with insert_at(Block(), reader.loc) as chosen:
        few = ops.cmpi(terms, const_index(machine().few_terms), predicate="sle")
        branch = build(ops.if_, [few], {}, [r.type for r in reader.results], versions)
    put_instead(reader, list(chosen.ops))
    replace_op(reader, branch.results)
    for op in reversed(moved[:-1]):
        put_instead(op, [])
        op.drop()
