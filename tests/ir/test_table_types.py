"""Type rules of the table: the operand and result types of each operation, against an independent statement here."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import pytest

from adc.ir import ops
from adc.ir.evaluate.samples import TYPES, typings
from adc.ir.opdef import OpDef, Trait
from adc.ir.types import MemRefType, Type, f32, f64, i1, i32, i64, index, memref, record

FLOATS, INTEGERS = (f32, f64), (i1, i32, i64, index)
WIDTH = {i1: 1, i32: 32, i64: 64, f32: 32, f64: 64}


def equal_floats(*types: Type) -> Type | None:
    return types[0] if types[0] in FLOATS and len(set(types)) == 1 else None


def equal_integers(*types: Type) -> Type | None:
    return types[0] if types[0] in INTEGERS and len(set(types)) == 1 else None


def to_i1(rule: Callable[..., Type | None]) -> Callable[..., Type | None]:
    return lambda *types: i1 if rule(*types) else None


def cast(sources: Sequence[Type], targets: Sequence[Type], change: int = 0) -> Callable[[Type, Type], Type | None]:
    """From ``sources`` to ``targets``, to more bits (``change`` 1), to fewer (-1), or to any (0)."""

    def rule(source: Type, target: Type) -> Type | None:
        if source not in sources or target not in targets:
            return None
        if change and (WIDTH[target] - WIDTH[source]) * change <= 0:
            return None
        return target

    return rule


SIZED = (i1, i32, i64)
CASTS = {
    ops.extf: cast(FLOATS, FLOATS, 1),
    ops.truncf: cast(FLOATS, FLOATS, -1),
    ops.sitofp: cast(INTEGERS, FLOATS),
    ops.uitofp: cast(SIZED, FLOATS),
    ops.fptosi: cast(FLOATS, INTEGERS),
    ops.extsi: cast(SIZED, SIZED, 1),
    ops.extui: cast(SIZED, SIZED, 1),
    ops.trunci: cast(SIZED, SIZED, -1),
    ops.index_cast: cast(INTEGERS, INTEGERS),
    ops.index_castui: cast(SIZED, (index,)),
    ops.bitcast: lambda a, b: b if (a in FLOATS) != (b in FLOATS) and WIDTH.get(a, 64) == WIDTH.get(b, 64) else None,
}
OTHERS: dict[OpDef, Callable[..., Type | None]] = {
    ops.cmpf: to_i1(equal_floats),
    ops.cmpi: to_i1(equal_integers),
    ops.fits: lambda x, y: i1 if x == y and x in (i64, index) else None,
    ops.select: lambda c, x, y: x if c == i1 and x == y else None,
    ops.strong_mulf: lambda x, y, *marks: x if x == y and x in FLOATS and marks == (i1, i1) else None,
    ops.strong_divf: lambda x, y, mark: x if x == y and x in FLOATS and mark == i1 else None,
    ops.fpowi: lambda x, n: x if x in FLOATS and n in INTEGERS else None,
    ops.absi: equal_integers,
    ops.ipowi: equal_integers,
}
SCALARS = [d for d in ops.TABLE.values() if d.evaluate is not None and d is not ops.constant]


def expected(definition: OpDef) -> Callable[..., Type | None]:
    if definition in OTHERS:
        return OTHERS[definition]
    integral = definition.dialect == "arith" and definition.name.endswith("i")
    return equal_integers if integral else equal_floats


@pytest.mark.parametrize("definition", [d for d in SCALARS if d not in CASTS], ids=lambda d: d.name)
def test_scalar_rule(definition: OpDef) -> None:
    assert definition.infer is not None
    count = len(definition.samples[0])
    attrs = {"predicate": "oeq", "order": 0}
    for types in itertools.product(TYPES, repeat=count):
        want = expected(definition)(*types)
        if want is None:
            with pytest.raises(TypeError):
                definition.infer(types, attrs)
        else:
            assert list(definition.infer(types, attrs)) == [want]
    for wrong in (count - 1, count + 1):
        with pytest.raises((TypeError, IndexError)):
            definition.infer([i1, f64, f64, f64][:wrong] if definition is ops.select else [f64] * wrong, attrs)


@pytest.mark.parametrize("definition", CASTS, ids=lambda d: d.name)
def test_cast_rule(definition: OpDef) -> None:
    assert definition.infer is not None
    for source, target in itertools.product(TYPES, TYPES):
        want = CASTS[definition](source, target)
        if want is None:
            with pytest.raises(TypeError):
                definition.infer([source], {"type": target})
        else:
            assert list(definition.infer([source], {"type": target})) == [want]
    with pytest.raises(TypeError):
        definition.infer([], {"type": f64})


@pytest.mark.parametrize("definition", SCALARS, ids=lambda d: d.name)
def test_scalar_operations_are_complete(definition: OpDef) -> None:
    assert definition.pure
    assert definition.samples
    assert any(True for _ in typings(definition))
    if Trait.COMMUTATIVE in definition.traits:
        assert len(definition.samples[0]) == 2


A = memref(f64, 2)
S = memref(f64, 1, (None,))
T = memref(f64, 2, (None, None))
SUBVIEW = {"static_steps": (1, 2), "dropped": ()}

ACCEPTED: list[tuple[OpDef, list[Type], dict[str, object], list[Type]]] = [
    (ops.constant, [], {"value": 1.0, "type": f64}, [f64]),
    (ops.threads, [], {}, [index]),
    (ops.undef, [], {"type": S}, [S]),
    (ops.alloc, [index, index], {"type": A}, [A]),
    (ops.alloc, [index], {"type": MemRefType((None, 3), f64)}, [MemRefType((None, 3), f64)]),
    (ops.dealloc, [A], {}, []),
    (ops.dim, [A], {"dim": 1}, [index]),
    (ops.load, [A, index, index], {}, [f64]),
    (ops.load, [memref(f64, 0)], {}, [f64]),
    (ops.store, [f64, A, index, index], {}, []),
    (ops.accumulate, [f64, S, index], {}, []),
    (ops.subview, [A, *[index] * 6], SUBVIEW, [memref(f64, 2, (None, 2))]),
    (ops.subview, [A, *[index] * 6], {**SUBVIEW, "dropped": (1,)}, [memref(f64, 1, (None,))]),
    (ops.subview, [A, *[index] * 6], {"static_steps": (-1, None), "dropped": (0, 1)}, [memref(f64, 0, ())]),
    (ops.transpose, [A], {"permutation": (1, 0)}, [memref(f64, 2, (1, None))]),
    (ops.reshape, [A, index], {"groups": ((2, 1),)}, [memref(f64, 1)]),
    (ops.reshape, [T, *[index] * 4], {"groups": ((1, 2), (0, 1), (1, 1))}, [memref(f64, 4, (None, None, 1, None))]),
    (ops.reshape, [T, index], {"groups": ((1, 0), (1, 1))}, [memref(f64, 1, (None,))]),
    (ops.reinterpret_cast, [A, *[index] * 3], {"static_strides": (2,)}, [memref(f64, 1, (2,))]),
    (ops.reinterpret_cast, [A, index], {"static_strides": ()}, [memref(f64, 0, ())]),
    (ops.cast, [memref(f64, 1)], {"type": S}, [S]),
    (ops.cast, [S], {"type": memref(f64, 1, (1,))}, [memref(f64, 1, (1,))]),
    (ops.copy, [A, memref(f64, 2, (1, None))], {}, []),
    (ops.matmul, [A, A, memref(f64, 2, (1, None))], {}, []),
    (ops.fill, [f64, A], {}, []),
    (ops.bound, [index, index], {}, [index]),
    (ops.assert_, [i1, f64, index], {}, []),
    (ops.grow, [memref(f64, 1), index], {}, [memref(f64, 1)]),
    (ops.external, [f64, i32], {"library": "", "symbol": "scalb", "type": f32}, [f32]),
    (ops.foreign, [A, i32], {"library": "", "symbol": "f", "types": (f64,), "written": (0,), "ordered": True}, [f64]),
    (ops.foreign, [A], {"library": "", "symbol": "f", "types": (), "written": ()}, []),
    (ops.page_out, [memref(f64, 2), index], {}, []),
    (ops.pack, [f64, A, record], {}, [record]),
    (ops.release, [record], {}, []),
    (ops.unpack, [record], {"types": (f64, A)}, [f64, A]),
    (ops.call, [f64], {"callee": "f", "types": (f64, index)}, [f64, index]),
    (ops.gradient, [f64], {"callee": "f", "types": (f64, f64), "wrt": (0,)}, [f64, f64]),
    (ops.ruled, [f64, index, f32, f64], {"callee": "f", "types": (f64, index)}, [f64, index]),
]

REFUSED: list[tuple[OpDef, list[Type], dict[str, object]]] = [
    (ops.constant, [f64], {"value": 1.0, "type": f64}),
    (ops.alloc, [index], {"type": A}),
    (ops.alloc, [index, f64], {"type": A}),
    (ops.alloc, [index], {"type": S}),
    (ops.alloc, [], {"type": f64}),
    (ops.dealloc, [f64], {}),
    (ops.dim, [A], {"dim": 2}),
    (ops.dim, [A], {"dim": -1}),
    (ops.load, [A, index], {}),
    (ops.load, [A, index, i64], {}),
    (ops.load, [f64, index], {}),
    (ops.store, [f32, A, index, index], {}),
    (ops.store, [f64, A, index], {}),
    (ops.accumulate, [index, memref(index, 1), index], {}),
    (ops.subview, [A, *[index] * 5], SUBVIEW),
    (ops.subview, [A, *[index] * 6], {"static_steps": (1,), "dropped": ()}),
    (ops.transpose, [A], {"permutation": (0, 0)}),
    (ops.reshape, [A, index], {"groups": ((1, 1),)}),
    (ops.reshape, [A, index], {"groups": ((2, 2),)}),
    (ops.reshape, [T, index], {"groups": ((2, 1),)}),
    (ops.reinterpret_cast, [A, *[index] * 2], {"static_strides": (2,)}),
    (ops.reinterpret_cast, [T, *[index] * 3], {"static_strides": (2,)}),
    (ops.transpose, [f64], {"permutation": ()}),
    (ops.cast, [S], {"type": memref(f64, 1)}),
    (ops.cast, [A], {"type": memref(f64, 1)}),
    (ops.copy, [A, S], {}),
    (ops.matmul, [A, A], {}),
    (ops.matmul, [A, A, S], {}),
    (ops.matmul, [A, memref(f32, 2), A], {}),
    (ops.copy, [memref(f32, 2), A], {}),
    (ops.fill, [f32, A], {}),
    (ops.bound, [index, i64], {}),
    (ops.assert_, [f64], {}),
    (ops.assert_, [], {}),
    (ops.grow, [A, index], {}),
    (ops.external, [f64, i32], {"library": "", "symbol": "scalb", "type": A}),
    (ops.external, [A, i32], {"library": "", "symbol": "scalb", "type": f64}),
    (ops.foreign, [A], {"library": "", "symbol": "f", "types": (A,), "written": ()}),
    (ops.foreign, [f64], {"library": "", "symbol": "f", "types": (), "written": (0,)}),
    (ops.foreign, [A], {"library": "", "symbol": "f", "types": (), "written": (1,)}),
    (ops.page_out, [memref(f64, 1), f64], {}),
    (ops.page_out, [memref(f64, 0), index], {}),
    (ops.release, [A], {}),
    (ops.unpack, [f64], {"types": (f64,)}),
    (ops.ruled, [f32, f64], {"callee": "f", "types": (f64,)}),
    (ops.ruled, [f64, memref(f64, 1)], {"callee": "f", "types": (f64,)}),
]


@pytest.mark.parametrize(("definition", "operands", "attrs", "results"), ACCEPTED)
def test_accepted(definition: OpDef, operands: list[Type], attrs: dict[str, object], results: list[Type]) -> None:
    assert definition.infer is not None
    assert list(definition.infer(operands, attrs)) == results


@pytest.mark.parametrize(("definition", "operands", "attrs"), REFUSED)
def test_refused(definition: OpDef, operands: list[Type], attrs: dict[str, object]) -> None:
    assert definition.infer is not None
    with pytest.raises(TypeError):
        definition.infer(operands, attrs)


def test_every_rule_is_tried() -> None:
    regions = {d for d in ops.TABLE.values() if d.infer is None}
    assert regions == {ops.for_, ops.while_, ops.if_, ops.parallel}
    terminators = {d for d in ops.TABLE.values() if Trait.TERMINATOR in d.traits}
    assert set(SCALARS) | {row[0] for row in ACCEPTED} | regions | terminators == set(ops.TABLE.values())
