"""Forward mode along several directions at once: the values are computed once, beside the tangents along all of them.

For some directions it is known where tangents of arrays are one and where zero (``Direction.units``): directions of the
elements of short rows, such as the coordinates of points. Then a direction needs code only for what depends on its own
element, as in derivatives that are written by hand.
"""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir import ops
from adc.ir.builder import contractible
from adc.ir.core import Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.rewrite import clone_func
from adc.ir.types import MemRefType
from adc.passes.differentiation.activity.activity import Interface, analyse
from adc.passes.differentiation.activity.held import is_container, may_have_tangent
from adc.passes.differentiation.activity.tangents import Tangible
from adc.passes.differentiation.forward.algebras import Derivatives
from adc.passes.differentiation.forward.along import Along
from adc.passes.differentiation.forward.forward_sweep import ForwardSweep
from adc.passes.differentiation.need.strong_zeros import StrongTangents
from adc.passes.differentiation.prepare.augment import check_rules

MOST = 4000  # operations, without constants


@dataclass(frozen=True)
class Direction:
    """``given``: the arguments whose tangents are given. ``units``: those whose tangents are known, with the last
    subscript at which they are one (None: everywhere, as for numbers); they are zero elsewhere."""

    given: frozenset[int] = frozenset()
    units: tuple[tuple[int, int | None], ...] = ()

    @property
    def varied(self) -> frozenset[int]:
        return self.given | {k for k, _ in self.units}


@dataclass(frozen=True)
class Tangents:
    """A function with tangents along directions: it takes the arguments of the one it was made from, then, for each
    direction, tangents of ``arguments``; it returns its results, then, for each direction, tangents of ``results``."""

    name: str
    arguments: tuple[tuple[int, ...], ...]
    results: tuple[tuple[int, ...], ...]


@contractible()
def jvps(module: Module, name: str, directions: Sequence[Direction]) -> Tangents | None:
    """Add ``name.jvps`` to ``module``. Returns None, and adds nothing, if directions have to be taken one by one: if
    there are calls with tangents, records, units of arrays that are not only read by element, or too much code."""
    algebra = Derivatives()
    func = clone_func(module.funcs[name], module.unique_name(f"{name}.jvps"))
    func.attrs.pop("adc.entry", None)
    algebra.expand(module, func)
    results = frozenset(k for k, t in enumerate(func.result_types) if may_have_tangent(t))
    every = frozenset[int]().union(*(direction.varied for direction in directions))
    algebra.serialise(module, func, Interface(every, results))
    if not _is_simple(func, directions):
        return None
    # Analyses are of the function as it was; they are not asked about what is added.
    along = [Tangible(analyse(module, func, Interface(d.varied, results))) for d in directions]
    if _crosses(func, along):
        return None
    for tangible in along:
        check_rules(module, func, tangible.activity)
    strong = StrongTangents(func)
    lanes, taken, ones = [], [], []
    for direction, tangible in zip(directions, along, strict=True):
        units = {func.args[k]: one for k, one in direction.units if isinstance(func.args[k].type, MemRefType)}
        lanes.append(Along(module, func, tangible, {}, algebra, strong, units))
        known = {k for k, _ in direction.units}
        taken.append(tuple(k for k, a in enumerate(func.args) if a in tangible and k not in known))
        ones.append([func.args[k] for k, _ in direction.units if func.args[k].type.is_float])
    returned = list(func.body.terminator.operands)
    given = tuple(tuple(k for k in sorted(results) if returned[k] in tangible) for tangible in along)
    ForwardSweep(func, lanes).function(taken, given, ones)
    if sum(op.opdef is not ops.constant for op in func.walk()) > MOST:
        return None
    module.add(func)
    return Tangents(func.name, tuple(taken), given)


def _is_simple(func: Func, directions: Sequence[Direction]) -> bool:
    """Whether arrays with units are only read by element, and nothing holds arrays."""
    values = [*func.args, *(r for op in func.walk() for r in op.results)]
    if any(is_container(v.type) for v in values):
        return False
    if any("adc.alias" in attrs for attrs in func.arg_attrs):
        return False
    known = {func.args[k] for direction in directions for k, _ in direction.units}
    return all(_is_read(v) for v in known if isinstance(v.type, MemRefType))


def _is_read(array: Value) -> bool:
    return all(op.opdef in (ops.load, ops.dim) for op, _ in array.uses)


def _crosses(func: Func, along: Sequence[Tangible]) -> bool:
    """Whether anything with tangents goes through a call, or through the rules of one."""

    def concerned(op: Op) -> bool:
        values = (*op.operands, *op.results)
        return any(v in tangible for tangible in along for v in values)

    return any(concerned(op) for op in func.walk() if op.opdef in (ops.call, ops.ruled) or "callee" in op.attrs)
