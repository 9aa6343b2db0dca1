"""Reference interpreter: runs any stage of the IR in plain Python, as the oracle for every pass and the backend.

Values: a memref is a NumPy array (views for subviews; dtype object for memrefs of memrefs), f64 a float, f32 a
``numpy.float32``, i1 a bool, index and the other integers ints within their width, a record a tuple.

Each operation is rounded, so the user's arithmetic has the same bits as in native code. Sums whose order is adc's own
are added in the order of iterations here, and no product is fused with one. In those sums, and in derivatives, native
code may differ in the last bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adc.ir import ops
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.diagnostics import runtime_error
from adc.ir.evaluate.evaluate import Undefined, normal
from adc.ir.externals import Named, provided
from adc.ir.interpret.memory import UNDEF, InterpreterError, Memory, check, defined, reshape, subview, window
from adc.ir.interpret.orders import Order, backward, forward, shuffled
from adc.ir.interpret.statistics import Executed, Statistics
from adc.ir.opdef import OpDef
from adc.ir.raising import exception
from adc.ir.types import MemRefType, f64

__all__ = ["InterpreterError", "Statistics", "backward", "forward", "run", "shuffled"]

Observer = Callable[[Op, list[Any]], None]
Environment = dict[Value, Any]


def run(
    module: Module,
    name: str,
    args: Sequence[Any],
    *,
    order: Order = forward,
    statistics: Statistics | None = None,
    limit: int | None = None,
    observe: Observer | None = None,
) -> list[Any]:
    """Call function ``name`` on ``args`` and return its results; arrays are changed in place.

    ``order`` is that in which ``scf.parallel`` runs its iterations; reductions combine in the order of iterations all
    the same. ``statistics`` is filled in. More than ``limit`` operations raise ``InterpreterError``, as does anything
    that a correct compiler never emits; traps raise what ``runtime_error`` says. ``observe`` is called with each
    operation and its operands before it runs.
    """
    interpreter = _Interpreter(module, order, limit, observe)
    try:
        results = interpreter.call(module.funcs[name], args)
    finally:
        if statistics is not None:
            statistics.executed.update(interpreter.executed.counted())
            statistics.peak_bytes = interpreter.memory.peak_bytes
            statistics.live_bytes = interpreter.memory.live_bytes
            statistics.allocations = interpreter.memory.allocations
    if any(r is UNDEF for r in results):
        raise InterpreterError(f"@{name} returns an undefined value")
    return results


class _Interpreter:
    def __init__(self, module: Module, order: Order, limit: int | None, observe: Observer | None) -> None:
        self.module, self.order, self.limit, self.observe = module, order, limit, observe
        self.told = limit is not None or observe is not None  # whether to call ``tell`` before each operation
        self.memory = Memory()
        self.steps = 0
        self.ready: dict[Block, list[_Ready]] = {}
        self.executed = Executed()

    def call(self, func: Func, args: Sequence[Any]) -> list[Any]:
        if len(args) != len(func.args):
            raise InterpreterError(f"@{func.name} takes {len(func.args)} arguments, got {len(args)}")
        env: Environment = {}
        for position, (arg, value) in enumerate(zip(func.args, args, strict=True)):
            env[arg] = check(value, arg.type, f"argument {position} ({arg.hint}) of @{func.name}")
        results = self.block(func.body, env)
        return [
            check(value, t, f"result {position} of @{func.name}")
            for position, (value, t) in enumerate(zip(results, func.result_types, strict=True))
        ]

    def block(self, block: Block, env: Environment) -> list[Any]:
        """Run the operations of ``block``, whose arguments are set; return the values of its terminator's operands."""
        ready = self.ready.get(block)
        if ready is None:
            ready = self.ready[block] = [_ready(op) for op in block.ops[:-1]]
        told, op, operands = self.told, block.terminator, []
        try:
            for op, rule, compute, evaluate, kind, needed, results in ready:
                operands = [env[v] for v in needed]
                if told:
                    self.tell(op, operands)
                if rule is None:
                    for operand in operands:
                        if operand is UNDEF:
                            defined(operands)
                    env[results] = evaluate(op.attrs, kind, *operands) if compute is None else compute(*operands)
                elif isinstance(results, Value):
                    (env[results],) = rule(self, op, operands, env)
                else:
                    env.update(zip(results, rule(self, op, operands, env), strict=True))
        except BaseException as error:
            self.executed.ends_at(block, op)
            if isinstance(error, InterpreterError) and not getattr(error, "placed", False):
                error.placed = True  # type: ignore[attr-defined]
                error.args = (f"{op.opdef.name} at {op.loc}: {error}",)
            if isinstance(error, Undefined):
                raise InterpreterError(f"{op.opdef.name} at {op.loc}: {error}: {operands}") from None
            raise
        runs = self.executed.runs
        runs[block] = runs.get(block, 0) + 1
        return [env[v] for v in block.terminator.operands]

    def step(self) -> None:
        self.steps += 1
        if self.limit is not None and self.steps > self.limit:
            raise InterpreterError(f"more than {self.limit} operations")

    def tell(self, op: Op, operands: list[Any]) -> None:
        """Count an operation that is about to run, and pass it to the observer."""
        self.step()
        if self.observe is not None:
            self.observe(op, operands)

    # arith ------------------------------------------------------------------------------------------------------------

    def _select(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        if operands[0] is UNDEF:
            raise InterpreterError("chooses by an undefined value")
        assert ops.select.evaluate is not None
        return [ops.select.evaluate(op.attrs, op.result.type, *operands)]

    # memref -----------------------------------------------------------------------------------------------------------

    def _alloc(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        defined(operands)
        t = op.attrs["type"]
        extents = iter(operands)
        return [self.memory.alloc([next(extents) if n is None else n for n in t.shape], t.element)]

    def _dealloc(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        self.memory.free(operands[0])
        return ()

    def _page_out(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        defined(operands)
        return ()

    def _dim(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        defined(operands)
        return [operands[0].shape[op.attrs["dim"]]]

    def _load(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        defined(operands)
        value = self.memory.load(operands[0], tuple(operands[1:]), op.results[0].type)
        if value is UNDEF:
            raise InterpreterError("loads what was never stored")
        return [value]

    def _store(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        defined(operands[1:])
        self.memory.store(operands[0], operands[1], tuple(operands[2:]), op.operands[0].type)
        return ()

    def _accumulate(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        defined(operands)
        value, array, at, t = operands[0], operands[1], tuple(operands[2:]), op.operands[0].type
        assert ops.addf.evaluate is not None
        self.memory.store(ops.addf.evaluate({}, t, self.memory.load(array, at, t), value), array, at, t)
        return ()

    def _subview(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        defined(operands)
        array, rest = operands[0], operands[1:]
        rank = array.ndim
        steps = rest[2 * rank :]
        if any(static not in (None, step) for static, step in zip(op.attrs["static_steps"], steps, strict=True)):
            raise InterpreterError(f"static_steps {op.attrs['static_steps']} are not the steps {steps}")
        return [subview(array, rest[:rank], rest[rank : 2 * rank], steps, op.attrs["dropped"])]

    def _transpose(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        defined(operands)
        return [operands[0].transpose(op.attrs["permutation"])]

    def _reshape(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        defined(operands)
        return [reshape(operands[0], operands[1:], op.attrs["groups"])]

    def _reinterpret_cast(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        defined(operands)
        rank = len(op.attrs["static_strides"])
        array, offset, extents, strides = operands[0], operands[1], operands[2 : 2 + rank], operands[2 + rank :]
        if any(static not in (None, s) for static, s in zip(op.attrs["static_strides"], strides, strict=True)):
            raise InterpreterError(f"static_strides {op.attrs['static_strides']} are not the strides {strides}")
        return [window(array, offset, extents, strides)]

    def _memref_cast(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        return [check(operands[0], op.attrs["type"], "operand")]

    def _copy(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        self.memory.copy(operands[0], operands[1])
        return ()

    def _matmul(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        left, right, target = operands
        self.memory.add_product(left, right, target, op.attrs["strong"])
        return ()

    def _fill(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        self.memory.fill(operands[0], operands[1], op.operands[0].type)
        return ()

    # scf, func --------------------------------------------------------------------------------------------------------

    def _counters(self, operands: list[Any]) -> range:
        defined(operands[:3])
        lower, upper, step = operands[:3]
        if step <= 0:
            raise InterpreterError(f"loop with step {step}")
        return range(lower, upper, step)

    def _for(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        (body,) = op.regions
        carried = operands[3:]
        counter, *rest = body.args
        for i in self._counters(operands):
            env[counter] = i
            if rest or carried:
                env.update(zip(rest, carried, strict=True))
            carried = self.block(body, env)
        return carried

    def _parallel(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        (body,) = op.regions
        counters = self._counters(operands)
        partial: dict[int, list[Any]] = {}
        for i in self.order(counters):
            env[body.args[0]] = i
            partial[i] = self.block(body, env)
        results = operands[3:]
        for i in counters:
            for k, kind in enumerate(body.terminator.attrs["kinds"]):
                defined([results[k], partial[i][k]])
                t = op.results[k].type
                combine = ops.COMBINE[kind][0 if t.is_float else 1].evaluate
                assert combine is not None
                results[k] = combine({}, t, results[k], partial[i][k])
        return results

    def _while(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        before, after = op.regions
        carried = operands
        while True:
            env.update(zip(before.args, carried, strict=True))
            go_on, *passed = self.block(before, env)
            defined([go_on])
            if not go_on:
                return passed
            env.update(zip(after.args, passed, strict=True))
            carried = self.block(after, env)
            self.step()  # a loop of terminators alone runs into the limit too

    def _if(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        defined(operands)
        return self.block(op.regions[0 if operands[0] else 1], env)

    def _ruled(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        return operands[: len(op.results)]

    def _call(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        callee = self.module.funcs.get(op.attrs["callee"])
        if callee is None:
            raise InterpreterError(f"no function @{op.attrs['callee']}")
        return self.call(callee, operands)

    # adc --------------------------------------------------------------------------------------------------------------

    def _bound(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        defined(operands)
        i, extent = operands
        if -extent <= i < extent:
            return [i + extent if i < 0 else i]
        if not op.attrs.get("check", True):
            raise InterpreterError(f"subscript {i} is out of range of {extent}, and yet not checked")
        raise runtime_error("IndexError", f"index {i} is out of bounds for axis with size {extent}", op.loc)

    def _assert(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        defined(operands)
        if not operands[0]:
            raise exception(op.attrs["error"], op.attrs["message"], operands[1:], op.loc)
        return ()

    def _threads(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        return [2]  # any number is valid

    def _undef(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        t = op.result.type
        return [self.memory.undefined(t) if isinstance(t, MemRefType) else UNDEF]

    def _grow(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        defined(operands)
        t = op.result.type
        assert isinstance(t, MemRefType)
        return [self.memory.grow(operands[0], operands[1], t.element)]

    def _external(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        defined(operands)
        function = provided(Named.by(op))
        if function is None:
            raise InterpreterError(f"the C function {op.attrs['symbol']} was not provided")
        found = function.call(*map(_number, operands))
        return [normal(found, r.type) for r in op.results]

    def _pack(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        return [self.memory.pack(operands)]

    def _release(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        defined(operands)
        self.memory.release(operands[0])
        return ()

    def _unpack(self, op: Op, operands: list[Any], env: Environment) -> Sequence[Any]:
        defined(operands)
        if len(operands[0]) != len(op.results):
            raise InterpreterError(f"unpacks {len(op.results)} values of a record of {len(operands[0])}")
        return [
            value if value is UNDEF else check(value, r.type, "packed value")
            for value, r in zip(operands[0], op.results, strict=True)
        ]


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


_Rule = Callable[[_Interpreter, Op, list[Any], Environment], Sequence[Any]]
# A prepared operation: itself; its rule, or its evaluation with the type of its one result, or the function that this
# is for doubles; operands; its one result, or its results.
_Ready = tuple[Op, Any, Any, Any, Any, Sequence[Value], Any]
_RULES: dict[OpDef, _Rule] = {
    ops.select: _Interpreter._select,
    ops.alloc: _Interpreter._alloc,
    ops.dealloc: _Interpreter._dealloc,
    ops.external: _Interpreter._external,
    ops.foreign: _Interpreter._external,
    ops.page_out: _Interpreter._page_out,
    ops.dim: _Interpreter._dim,
    ops.load: _Interpreter._load,
    ops.store: _Interpreter._store,
    ops.accumulate: _Interpreter._accumulate,
    ops.subview: _Interpreter._subview,
    ops.transpose: _Interpreter._transpose,
    ops.reinterpret_cast: _Interpreter._reinterpret_cast,
    ops.reshape: _Interpreter._reshape,
    ops.cast: _Interpreter._memref_cast,
    ops.copy: _Interpreter._copy,
    ops.fill: _Interpreter._fill,
    ops.matmul: _Interpreter._matmul,
    ops.for_: _Interpreter._for,
    ops.parallel: _Interpreter._parallel,
    ops.while_: _Interpreter._while,
    ops.if_: _Interpreter._if,
    ops.call: _Interpreter._call,
    ops.ruled: _Interpreter._ruled,
    ops.bound: _Interpreter._bound,
    ops.assert_: _Interpreter._assert,
    ops.threads: _Interpreter._threads,
    ops.undef: _Interpreter._undef,
    ops.grow: _Interpreter._grow,
    ops.pack: _Interpreter._pack,
    ops.release: _Interpreter._release,
    ops.unpack: _Interpreter._unpack,
}


def _ready(op: Op) -> _Ready:
    rule, evaluate = _RULES.get(op.opdef), op.opdef.evaluate
    if rule is None and evaluate is None:
        raise InterpreterError(f"{op.opdef.name} at {op.loc}: does not know this operation")
    results = op.results[0] if len(op.results) == 1 else op.results
    kind = op.results[0].type if op.results else None
    doubles = kind == f64 and all(v.type == f64 for v in op.operands)
    compute = getattr(evaluate, "compute", None) if doubles else None
    return op, rule, compute, evaluate, kind, op.operands, results
