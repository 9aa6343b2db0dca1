"""Random valid IR functions for comparing a pass with the interpreter before and after.

``generate(rng)`` returns a module with an entry ``f(a: f64[?], b: f64[?, ?], n: index, x: f64, y: f64)``. Loops are
short, integers small; subscripts are checked unless they are in range by construction.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from adc.ir import ops
from adc.ir.arith import const
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Value
from adc.ir.diagnostics import AdcError
from adc.ir.interpret import interpreter
from adc.ir.types import MemRefType, Type, f64, i1, index, memref

STRIDED = memref(f64, 1, (None,))
MATRIX = memref(f64, 2)
VECTOR = memref(f64, 1)
BUFFERS = memref(VECTOR, 1)


class Generator:
    def __init__(self, rng: random.Random, size: int, fresh: bool = False) -> None:
        self.rng = rng
        self.budget = size
        self.fresh = fresh  # loops may carry arrays made in their bodies
        self.module = Module()
        self.scope: list[list[Value]] = []

    def module_of_f(self) -> Module:
        self._callee()
        func = Func("f", [STRIDED, MATRIX, index, f64, f64], [f64, index, VECTOR], ["a", "b", "n", "x", "y"])
        self.module.add(func)
        self.scope = [list(func.args)]
        with insert_at(func.body):
            self.statements(2)
            kept = self.pick(VECTOR)
            results = [self.pick(f64), self.pick(index), kept if kept.op else self.new_vector()]
            build(ops.return_, results)
        return self.module

    def _callee(self) -> None:
        callee = Func("g", [VECTOR, f64], [f64], ["v", "z"])
        v, z = callee.args
        with insert_at(callee.body):
            zero, one = const(0, index), const(1, index)
            body = Block([index], ["i"])
            with insert_at(body):
                ops_store(ops.mulf(ops.load(v, body.args[0]), z), v, body.args[0])
                build(ops.yield_, ())
            build(ops.for_, [zero, ops.dim(v, dim=0), one], result_types=[], regions=[body])
            build(ops.return_, [ops.addf(z, const(1.0, f64))])
        self.module.add(callee)
        callee = Func("h", [BUFFERS, f64], [], ["m", "z"])
        m, z = callee.args
        with insert_at(callee.body):
            zero, one = const(0, index), const(1, index)
            first, second = ops.load(m, zero), ops.load(m, one)
            build(ops.fill, [const(3.0, f64), first])
            build(ops.fill, [z, second])
            fresh = ops.alloc(ops.dim(first, dim=0), type=VECTOR)
            build(ops.copy, [first, fresh])
            build(ops.fill, [const(4.0, f64), first])
            build(ops.store, [fresh, m, one])
            build(ops.return_, ())
        self.module.add(callee)

    # Values -----------------------------------------------------------------------------------------------------------

    def all(self, t: Type) -> list[Value]:
        return [v for level in self.scope for v in level if v.type == t]

    def add(self, value: Value) -> Value:
        self.scope[-1].append(value)
        return value

    def pick(self, t: Type) -> Value:
        known = self.all(t)
        if known and self.rng.random() < 0.9:
            return self.rng.choice(known[-6:] if self.rng.random() < 0.5 else known)
        if t == f64:
            return const(self.rng.choice([0.0, -0.0, 1.0, -1.0, 2.0, 0.5]), f64)
        if t == index:
            return const(self.rng.choice([0, 1, 2, 3, -1, 5]), index)
        if t == i1:
            return const(self.rng.choice([True, False]), i1)
        if t == VECTOR:
            return self.new_vector()
        return self.rng.choice(known)

    def memrefs(self) -> list[Value]:
        return [v for level in self.scope for v in level if isinstance(v.type, MemRefType) and v.type.element == f64]

    def new_vector(self) -> Value:
        extent = self.rng.choice([const(self.rng.choice([0, 1, 2, 3, 3]), index), ops.dim(self.scope[0][0], dim=0)])
        vector = ops.alloc(extent, type=VECTOR)
        if self.rng.random() < 0.85:
            build(ops.fill, [self.pick(f64), vector])
        return self.add(vector)

    def subscript(self, extent: Value) -> Value:
        """An index in range or checked."""
        choice = self.rng.random()
        i = self.pick(index)
        if choice < 0.93:
            one = const(1, index)
            in_range = ops.remsi(ops.absi(ops.remsi(i, const(64, index))), ops.maxsi(extent, one))
            return ops.bound(in_range, extent)
        return ops.bound(i, extent)

    def element(self) -> tuple[Value, list[Value]]:
        m = self.rng.choice(self.memrefs())
        assert isinstance(m.type, MemRefType)
        return m, [self.subscript(ops.dim(m, dim=d)) for d in range(m.type.rank)]

    # Statements -------------------------------------------------------------------------------------------------------

    def statements(self, depth: int) -> None:
        for _ in range(self.rng.randrange(3, 10)):
            if self.budget <= 0:
                return
            self.budget -= 1
            kinds = [self.scalar] * 6 + [self.load] * 3 + [self.store] * 3 + [self.view, self.vector, self.misc]
            if depth:
                kinds += [lambda: self.if_(depth), lambda: self.for_(depth), lambda: self.for_(depth)]
                kinds += [lambda: self.while_(depth), lambda: self.parallel(depth), lambda: self.elementwise(depth)]
            self.rng.choice(kinds)()

    def scalar(self) -> None:
        rng = self.rng
        t = rng.choice([f64, f64, index, index, i1])
        if t == f64:
            kind = rng.choice([ops.addf, ops.subf, ops.mulf, ops.divf, ops.maximumf, ops.negf, ops.absf, ops.sin, "s"])
            if kind == "s":
                self.add(ops.select(self.pick(i1), self.pick(f64), self.pick(f64)))
            elif kind in (ops.negf, ops.absf, ops.sin):
                self.add(kind(self.pick(f64)))
            else:
                self.add(kind(self.pick(f64), self.pick(f64)))
        elif t == index:
            kind = rng.choice([ops.addi, ops.subi, ops.maxsi, ops.minsi, ops.addi, ops.muli, ops.floordivsi, "s"])
            if kind == "s":
                self.add(ops.select(self.pick(i1), self.pick(index), self.pick(index)))
            elif kind in (ops.muli, ops.floordivsi):
                self.add(kind(self.pick(index), const(rng.choice([1, 2, 3]), index)))
            else:
                self.add(kind(self.pick(index), self.pick(index)))
        else:
            kind = rng.choice(["i", "i", "f", "not", "and"])
            if kind == "i":
                predicate = rng.choice(["eq", "ne", "slt", "sle", "sgt", "sge"])
                self.add(ops.cmpi(self.pick(index), self.pick(index), predicate=predicate))
            elif kind == "f":
                self.add(ops.cmpf(self.pick(f64), self.pick(f64), predicate=rng.choice(["oeq", "olt", "une", "oge"])))
            elif kind == "not":
                self.add(ops.xori(self.pick(i1), const(True, i1)))
            else:
                self.add(ops.andi(self.pick(i1), self.pick(i1)))

    def load(self) -> None:
        m, at = self.element()
        self.add(ops.load(m, *at))

    def store(self) -> None:
        m, at = self.element()
        build(self.rng.choice([ops.store, ops.store, ops.accumulate]), [self.pick(f64), m, *at])

    def vector(self) -> None:
        self.new_vector()

    def view(self) -> None:
        rng = self.rng
        m = rng.choice(self.memrefs())
        rank = m.type.rank  # type: ignore[attr-defined]
        if rng.random() < 0.2:
            self.add(ops.transpose(m, permutation=tuple(reversed(range(rank)))))
            return
        offsets, sizes, steps, static = [], [], [], []
        dropped: tuple[int, ...] = ()
        zero = const(0, index)
        for d in range(rank):
            extent = ops.dim(m, dim=d)
            kind = rng.choice(["all", "tail", "reverse", "second", "drop"])
            if kind == "drop" and rank == 2 and not dropped:
                dropped = (d,)
                part = (self.subscript(extent), const(1, index), 1)
            elif kind == "tail":
                offset = ops.minsi(const(1, index), extent)
                part = (offset, ops.subi(extent, offset), 1)
            elif kind == "reverse":
                one = const(1, index)
                part = (ops.maxsi(ops.subi(extent, one), zero), extent, -1)
            elif kind == "second":
                part = (zero, ops.floordivsi(ops.addi(extent, const(1, index)), const(2, index)), 2)
            else:
                part = (zero, extent, 1)
            offsets.append(part[0])
            sizes.append(part[1])
            steps.append(const(part[2], index))
            static.append(part[2])
        self.add(ops.subview(m, *offsets, *sizes, *steps, static_steps=tuple(static), dropped=dropped))

    def misc(self) -> None:
        rng = self.rng
        kind = rng.choice(["call", "fill", "copy", "assert", "buffers", "pack", "same"])
        if kind == "call":
            self.add(build(ops.call, [self.pick(VECTOR), self.pick(f64)], {"callee": "g", "types": (f64,)}).result)
        elif kind == "fill":
            build(ops.fill, [self.pick(f64), rng.choice(self.memrefs())])
        elif kind == "copy":
            source = rng.choice(self.memrefs())
            rank = source.type.rank  # type: ignore[attr-defined]
            target = ops.alloc(*(ops.dim(source, dim=d) for d in range(rank)), type=memref(f64, rank))
            build(ops.copy, [source, target])
            self.add(target)
        elif kind == "assert":
            holds = ops.cmpi(self.pick(index), const(rng.choice([-3, -8]), index), predicate="sgt")
            build(ops.assert_, [holds, self.pick(index)], {"error": "ValueError", "message": "got {}"})
        elif kind == "buffers":
            buffers = ops.alloc(const(2, index), type=BUFFERS)
            zero, one = const(0, index), const(1, index)
            build(ops.store, [self.pick(VECTOR), buffers, zero])
            build(ops.store, [self.pick(VECTOR), buffers, one])
            if rng.random() < 0.5:
                build(ops.call, [buffers, self.pick(f64)], {"callee": "h", "types": ()})
            self.add(ops.load(buffers, rng.choice([zero, one])))
        elif kind == "pack":
            values = [self.pick(f64), self.pick(index)]
            unpacked = build(ops.unpack, [ops.pack(*values)], {"types": (f64, index)})
            for result in unpacked.results:
                self.add(result)
        else:
            # A check that often holds only because of what it says: x == y or not.
            x, y = self.pick(index), self.pick(index)
            same = ops.cmpi(x, y, predicate="eq")
            body = Block()
            with insert_at(body):
                build(ops.assert_, [same, x], {"error": "ValueError", "message": "differs: {}"})
                self.scope.append([])
                for _ in range(3):
                    self.scalar()
                build(ops.yield_, [self.pick(index)])
                self.scope.pop()
            other = Block()
            with insert_at(other):
                build(ops.yield_, [x])
            self.add(build(ops.if_, [same], result_types=[index], regions=[body, other]).result)

    # Control ----------------------------------------------------------------------------------------------------------

    def nested(self, block: Block, depth: int) -> None:
        self.scope.append(list(block.args))
        self.statements(depth - 1)

    def if_(self, depth: int) -> None:
        types = [self.rng.choice([f64, index, i1, VECTOR]) for _ in range(self.rng.randrange(3))]
        condition = self.pick(i1)
        self.pick_all(types)
        regions = []
        for _ in range(2):
            block = Block()
            with insert_at(block):
                self.nested(block, depth)
                build(ops.yield_, self.pick_all(types))
            self.scope.pop()
            regions.append(block)
        for result in build(ops.if_, [condition], result_types=types, regions=regions).results:
            self.add(result)

    def pick_all(self, types: Sequence[Type]) -> list[Value]:
        return [self.pick(t) for t in types]

    def bounds(self) -> list[Value]:
        rng = self.rng
        m = rng.choice(self.memrefs())
        upper = rng.choice([ops.dim(m, dim=0), ops.minsi(self.pick(index), const(3, index)), const(2, index)])
        return [const(rng.choice([0, 0, 1]), index), upper, const(rng.choice([1, 1, 2]), index)]

    def for_(self, depth: int) -> None:
        rng = self.rng
        types: list[Type] = [rng.choice([f64, f64, index, i1, VECTOR, VECTOR]) for _ in range(rng.randrange(4))]
        inits = self.pick_all(types)
        bounds = self.bounds()
        block = Block([index, *types], ["i"])
        with insert_at(block):
            self.nested(block, depth)
            yields = []
            for k, t in enumerate(types):
                slots = [arg for arg in block.args[1:] if arg.type == t]
                if t == VECTOR and not self.fresh:
                    yields.append(rng.choice(slots))
                elif rng.random() < 0.2:
                    yields.append(inits[k])
                elif rng.random() < 0.3:
                    yields.append(rng.choice(slots))
                elif t == index:
                    yields.append(ops.addi(block.args[1 + k], const(rng.randrange(3), index)))
                else:
                    yields.append(self.pick(t))
            build(ops.yield_, yields)
        self.scope.pop()
        for result in build(ops.for_, [*bounds, *inits], result_types=types, regions=[block]).results:
            self.add(result)

    def while_(self, depth: int) -> None:
        rng = self.rng
        types: list[Type] = [index, *(rng.choice([f64, index, VECTOR]) for _ in range(rng.randrange(3)))]
        inits = [const(0, index), *self.pick_all(types[1:])]
        before, after = Block(types), Block(types)
        with insert_at(before):
            go_on = ops.cmpi(before.args[0], const(rng.randrange(4), index), predicate="slt")
            self.scope.append(list(before.args))
            if rng.random() < 0.5:
                self.scalar()
            passed = [before.args[0], *(rng.choice([arg, self.pick(arg.type)]) for arg in before.args[1:])]
            self.scope.pop()
            build(ops.condition, [go_on, *passed])
        with insert_at(after):
            self.nested(after, depth)
            yields = [ops.addi(after.args[0], const(1, index))]
            for k in range(1, len(types)):
                keep = rng.random() < 0.3 or (types[k] == VECTOR and not self.fresh)
                yields.append(after.args[k] if keep else self.pick(types[k]))
            build(ops.yield_, yields)
        self.scope.pop()
        for result in build(ops.while_, inits, result_types=types, regions=[before, after]).results:
            self.add(result)

    def elementwise(self, depth: int) -> None:
        """Loops that go through the elements of an array that was just filled, or nearly so."""
        rng = self.rng
        vector = self.new_vector()
        one, extent = const(1, index), ops.dim(vector, dim=0)
        for _ in range(rng.randrange(1, 3)):
            lower = const(rng.choice([0, 0, 0, 0, 1]), index)
            upper = rng.choice([extent, extent, extent, ops.maxsi(ops.subi(extent, one), const(0, index))])
            step = const(rng.choice([1, 1, 1, 1, 2]), index)
            block = Block([index], ["e"])
            with insert_at(block):
                self.scope.append([block.args[0]])
                at = block.args[0]
                if rng.random() < 0.3:
                    at = ops.subi(ops.subi(extent, one), at)
                for _ in range(rng.randrange(1, 4)):
                    self.access(vector, at, depth)
                build(ops.yield_, ())
                self.scope.pop()
            build(ops.for_, [lower, upper, step], result_types=[], regions=[block])

    def access(self, vector: Value, at: Value, depth: int) -> None:
        """Read or write an element, now and then in a branch or an inner loop."""
        rng = self.rng
        kind = rng.choice(["load", "store", "accumulate", "zero", "other", "nested"])
        if kind == "load":
            self.add(ops.load(vector, at))
        elif kind == "other":
            self.scalar()
        elif kind == "nested" and depth:
            inner = Block([index]) if rng.random() < 0.5 else Block()
            with insert_at(inner):
                self.scope.append(list(inner.args))
                self.access(vector, at, depth - 1)
                self.scope.pop()
                build(ops.yield_, ())
            if inner.args:
                bounds = [const(0, index), const(rng.randrange(3), index), const(1, index)]
                build(ops.for_, bounds, result_types=[], regions=[inner])
            else:
                other = Block()
                with insert_at(other):
                    build(ops.yield_, ())
                build(ops.if_, [self.pick(i1)], result_types=[], regions=[inner, other])
        else:
            value = const(0.0, f64) if kind == "zero" else self.pick(f64)
            build(ops.accumulate if kind == "accumulate" else ops.store, [value, vector, at])

    def parallel(self, depth: int) -> None:
        """Each iteration writes its own element of a new array, and adds to a sum."""
        rng = self.rng
        source = rng.choice(self.memrefs())
        extent = ops.dim(source, dim=0)
        target = ops.alloc(extent, type=VECTOR)
        block = Block([index], ["p"])
        reduced = rng.random() < 0.5
        init = self.pick(f64)
        with insert_at(block):
            self.scope.append([block.args[0]])
            for _ in range(rng.randrange(4)):
                rng.choice([self.scalar, self.load])()
            build(ops.store, [self.pick(f64), target, block.args[0]])
            values = [self.pick(f64)] if reduced else []
            build(ops.reduce, values, {"kinds": ("add",) * len(values)})
            self.scope.pop()
        bounds = [const(0, index), extent, const(1, index)]
        loop = build(ops.parallel, [*bounds, init][: 3 + reduced], result_types=[f64] * reduced, regions=[block])
        self.add(target)
        for result in loop.results:
            self.add(result)


def ops_store(*operands: Value) -> None:
    build(ops.store, operands)


def generate(rng: random.Random, size: int = 60, fresh: bool = False) -> Module:
    return Generator(rng, size, fresh).module_of_f()


def arguments(rng: random.Random) -> list[Any]:
    n = rng.choice([0, 1, 2, 3, 4, 4])
    base = np.array([rng.uniform(-2, 2) for _ in range(2 * n)])
    b = np.array([[rng.uniform(-2, 2) for _ in range(3)] for _ in range(rng.choice([0, 1, 2, 3, 3]))]).reshape(-1, 3)
    return [base[::2], b, rng.randrange(-1, 5), rng.uniform(-2, 2), rng.choice([0.0, -0.0, 1.5])]


class Outcome:
    """What a run can be seen to do: results or error, and the arguments afterwards."""

    def __init__(self, module: Module, args: Sequence[Any], limit: int = 20_000) -> None:
        args = [copy.deepcopy(arg) for arg in args]
        self.statistics = interpreter.Statistics()
        self.results: list[Any] = []
        self.error = ""
        try:
            self.results = interpreter.run(module, "f", args, statistics=self.statistics, limit=limit)
        except (AdcError, ArithmeticError, ValueError, IndexError) as error:
            self.error = f"{type(error).__name__}: {error}"
        self.args = args

    def seen(self, *, signs: bool = True) -> tuple[str, ...]:
        """``signs``: zeros with their signs, which ``adc.accumulate`` does not promise: onto zero it may store."""
        values = [*self.results, *self.args]
        if not signs:
            values = [v + 0.0 if isinstance(v, float) or getattr(v, "dtype", None) == np.float64 else v for v in values]
        shown = [r.tolist() if isinstance(r, np.ndarray) else r for r in values]
        return (self.error, *(repr(value) for value in shown))
