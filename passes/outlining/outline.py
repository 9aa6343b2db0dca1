"""Moving operations to a function of their own, and calling that in their place."""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir import ops
from adc.ir.alias import APART, Aliasing
from adc.ir.builder import build, insert_at
from adc.ir.core import Func, Module, Op, Value
from adc.ir.escape import escapes
from adc.ir.lazy_dataclass import dataclass
from adc.ir.moments import strip_views
from adc.ir.rewrite import Mapping, clone_op, used_from_outside
from adc.ir.types import MemRefType, Type
from adc.passes.analysis.attributes import attr_key
from adc.passes.analysis.extents import Extents


@dataclass(frozen=True)
class Piece:
    """Operations of a block, and those of their results that others use.

    They can all run where the last one is: operations between them can run before or after them, and do not use their
    results. Copies of views that are in no block may be among them.
    """

    moved: Sequence[Op]
    results: Sequence[Value]


def outline(
    module: Module, pieces: Sequence[Piece], name: str, aliasing: Aliasing, extents: Extents | None = None
) -> list[Func]:
    """Move each piece to a function of its own, with a name like ``name``. Afterwards ``aliasing`` is outdated.
    ``extents``: to pass arrays with those that are known numbers, so that the distance between rows is known.

    Coefficients become arguments, so that pieces that differ only in these are one function.
    """
    for piece in pieces:
        _take_out_coefficients(piece)
    calls = [_copy_out(module, piece, name, aliasing, extents) for piece in pieces]
    instead: dict[Op, Op | None] = {}
    for piece, call in zip(pieces, calls, strict=True):
        for old, result in zip(piece.results, call.results, strict=True):
            result.hint = old.hint
            old.replace_uses(result)
        for op in reversed(piece.moved):
            op.drop()
        instead.update(dict.fromkeys(piece.moved))
        instead[piece.moved[-1]] = call
    for block in dict.fromkeys(piece.moved[-1].parent for piece in pieces):
        assert block is not None
        block.set_ops([new for op in block.ops if (new := instead.get(op, op)) is not None])
    return [module.funcs[call.attrs["callee"]] for call in calls]


_ARITHMETIC = frozenset({ops.addf, ops.subf, ops.mulf, ops.fma, ops.call})
_PLAIN = frozenset({0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5})


def _inside(piece: Piece) -> set[Op]:
    return {op for each in piece.moved for op in (each, *(o for region in each.regions for o in region.walk()))}


def _is_coefficient(op: Op, inside: set[Op]) -> bool:
    """Whether ``op`` is a float constant that the operations ``inside`` may as well have in a register, as LLVM would
    not make use of its value."""
    if op.opdef is not ops.constant or not op.result.type.is_float or op.attrs["value"] in _PLAIN:
        return False
    return all(user.opdef in _ARITHMETIC for user, _ in op.result.uses if user in inside)


def _take_out_coefficients(piece: Piece) -> None:
    """Move the coefficients in the regions of ``piece`` before it, equal ones as one."""
    inside = _inside(piece)
    nested = [op for each in piece.moved for region in each.regions for op in region.walk()]
    found = [op for op in nested if _is_coefficient(op, inside)]
    if not found:
        return
    first = piece.moved[0]
    block = first.parent
    assert block is not None
    taken: dict[tuple[Type, object], Op] = {}
    for op in found:
        key = op.result.type, attr_key({"value": op.attrs["value"]})
        if key not in taken:
            taken[key] = Op(ops.constant, (), (op.result.type,), dict(op.attrs), (), op.loc)
            block.insert(block.ops.index(first), taken[key])
        op.result.replace_uses(taken[key].result)
    gone = set(found)
    for inner in {op.parent for op in found}:
        assert inner is not None
        inner.set_ops([op for op in inner.ops if op not in gone])


def _copy_out(module: Module, piece: Piece, name: str, aliasing: Aliasing, extents: Extents | None) -> Op:
    """Make a function that does the same as ``piece``. Returns a call of it that is in no block yet."""
    used = used_from_outside(piece.moved)
    inside = _inside(piece)
    constants = [v.op for v in used if v.op is not None and v.op.opdef is ops.constant]
    constants = [op for op in constants if not _is_coefficient(op, inside)]
    copied = set(constants)
    captured = [v for v in used if v.op not in copied]
    given = captured if extents is None else [_with_extents(v, extents, piece.moved[-1]) for v in captured]
    types, hints = [v.type for v in given], [v.hint for v in captured]
    loc = piece.moved[0].loc
    made = module.add(Func(module.unique_name(name), types, [r.type for r in piece.results], hints, loc))
    for k, number in _alias_numbers(captured, aliasing).items():
        made.arg_attrs[k]["adc.alias"] = number
    mapping: Mapping = {}
    with insert_at(made.body, loc):
        for old, new in zip(captured, made.args, strict=True):
            mapping[old] = new if new.type == old.type else ops.cast(new, type=old.type)
        for op in (*constants, *piece.moved):
            clone_op(op, mapping)
        build(ops.return_, [mapping[r] for r in piece.results])
    apart = aliasing.apart_pairs(piece.results)
    attrs = {"callee": made.name, "types": made.result_types, **({APART: apart} if apart else {})}
    return Op(ops.call, given, made.result_types, attrs, (), loc)


def _with_extents(v: Value, extents: Extents, user: Op) -> Value:
    """A contiguous array with those of its extents that are known numbers, made before ``user``; else ``v``."""
    t = v.type
    if not isinstance(t, MemRefType) or t.strides is not None or t.rank < 2:
        return v
    shape = tuple(e if isinstance(e, int) else None for e in extents.shape(v))
    if shape == t.shape or all(e is None for e in shape[1:]):
        return v
    known = MemRefType(shape, t.element)
    block = user.parent
    assert block is not None
    view = Op(ops.cast, [v], [known], {"type": known}, (), user.loc)
    block.insert(block.ops.index(user), view)
    return view.result


def shows_frame(moved: Sequence[Op]) -> bool:
    """Whether ``moved`` use a buffer of fixed size from outside that nothing else can see: it is in the frame, or in
    registers."""
    return any(isinstance(v.type, MemRefType) and _fixed(v) for v in used_from_outside(moved))


def _fixed(memref: Value) -> bool:
    base = strip_views(memref)
    assert isinstance(base.type, MemRefType)
    allocated = base.op is not None and base.op.opdef is ops.alloc
    return allocated and all(extent is not None for extent in base.type.shape) and not escapes(base)


def _alias_numbers(captured: list[Value], aliasing: Aliasing) -> dict[int, int]:
    """A number for each memref that may share memory with others, by position; those that may share have the same
    number."""
    groups: list[list[int]] = []
    for k, value in enumerate(captured):
        if isinstance(value.type, MemRefType):
            touching = [g for g in groups if any(_may_share(value, captured[n], aliasing) for n in g)]
            groups = [g for g in groups if g not in touching]
            groups.append([k, *(n for g in touching for n in g)])
    return {k: number for number, members in enumerate(groups) if len(members) > 1 for k in members}


def _may_share(a: Value, b: Value, aliasing: Aliasing) -> bool:
    if any(isinstance(t, MemRefType) and isinstance(t.element, MemRefType) for t in (a.type, b.type)):
        reached, others = aliasing.reach(a), aliasing.reach(b)
        return not reached or not others or not reached.isdisjoint(others)
    return aliasing.may_overlap(a, b)
