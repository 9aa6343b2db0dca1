"""``for`` over ``prange``: iterations that may run in any order, with reductions of numbers.

Variables assigned in the body are private to an iteration, except those that every assignment combines with themselves
in the same way (``s += x``, ``s = s * x``, ``s = max(s, x)``): such a number is a reduction variable, and such an array
is changed in place. A private variable that an iteration may read before it has set it has a flag, like any variable.
"""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Iterator, Mapping, Sequence
from types import BuiltinFunctionType, ModuleType

import numpy as np

from adc.frontend import abstract
from adc.frontend.arrays.reductions import MAX, MIN, PROD, SUM, Reduction
from adc.frontend.control.branches import branch
from adc.frontend.control.jumps import BREAK, RAISED, RETURN
from adc.frontend.control.loops import Counted, Trace, counted
from adc.frontend.data.described import describe, widen
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import GONE, AbstractValue, Array, Poison, Range, Scalar, Static, Unbound, is_numeric
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame, discard
from adc.frontend.libraries.memory_order import copy
from adc.frontend.numeric.convert import as_scalar, convert
from adc.frontend.objects import heap
from adc.frontend.objects.joining import narrow
from adc.frontend.objects.merge import Clash, join
from adc.ir import kinds, ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Block
from adc.ir.diagnostics import Note
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import i1, i64, index

_OPERATORS: dict[type[ast.operator], Reduction] = {ast.Add: SUM, ast.Sub: SUM, ast.Mult: PROD}
_FUNCTIONS: dict[object, Reduction] = {min: MIN, max: MAX, np.minimum: MIN, np.maximum: MAX}


@dataclass(frozen=True)
class _Update:
    """One statement that assigns the variable; ``reduction`` is None if it does not combine the variable with
    itself."""

    statement: ast.stmt
    reduction: Reduction | None
    reads: int  # reads of the variable that belong to the update
    in_order: bool = False  # by a function of NumPy's, which treats NaN and zeros in its own way


def runs_in_order(frame: Frame, stmt: ast.For) -> bool:
    """Whether iterations combine arrays by products, minima or maxima, as ``r *= x`` and ``r = np.maximum(r, x)`` do,
    or numbers by functions of NumPy's: there is no reduction for these, so they run one after the other."""
    if not isinstance(stmt.target, ast.Name):
        return False
    return any(
        any(u.in_order for u in updates) or (reduction is not SUM and isinstance(frame.env.get(n), Array))
        for n, (reduction, updates) in _combined(frame, stmt, stmt.target.id).items()
    )


def for_prange(frame: Frame, stmt: ast.For, r: Range, trace_body: Trace) -> None:
    """A ``for`` over ``prange`` as an ``scf.parallel``."""
    if not isinstance(stmt.target, ast.Name):
        raise refuse(
            frame.loc(stmt.target), "the variable of a parallel loop must be a name", kind=kinds.UNSUPPORTED_TARGET
        )
    name = stmt.target.id
    combined = _combined(frame, stmt, name)
    loop = counted(r)
    outset = dict(frame.env)
    summed = _in_place(frame, stmt, combined)
    reductions = {n: reduction for n, (reduction, _) in combined.items() if n not in summed}
    before = dict(frame.env)
    types = {n: _type_before(frame, n, stmt) for n in reductions}
    while True:
        body = Block([index], [name])
        frame.env = {n: v for n, v in before.items() if n in summed or n not in frame.liveness.assigns[stmt]}
        frame.parallel.append(stmt)
        with insert_at(body):
            for n, reduction in reductions.items():
                frame.env[n] = _identity(reduction, types[n])
            frame.env[name] = Scalar(loop.value(body.args[0]), i64)
            trace_body()
        frame.parallel.pop()
        _refuse_jumps(frame, stmt)
        _refuse_mutation(frame, stmt, before)
        wider = {n: _joined(frame, n, types[n], frame.env[n], before[n]) for n in reductions}
        if wider == types:
            break
        types = wider
        discard(body)
    with insert_at(body):
        values = [convert(as_scalar(frame.env[n]), types[n].type) for n in reductions]
        build(ops.reduce, values, {"kinds": tuple(k.kind for k in reductions.values())})
    inits = [convert(as_scalar(before[n]), types[n].type) for n in reductions]
    bounds = [loop.lower, loop.upper, loop.step, *inits]
    op = build(ops.parallel, bounds, {"prange": True}, [v.type for v in inits], [body])
    frame.env = before
    for n in sorted(frame.liveness.assigns[stmt]):
        if n not in combined:
            frame.env[n] = Poison(
                f"'{n}' is assigned in a parallel loop, where each iteration has its own",
                (Note("the parallel loop", frame.loc(stmt)),),
                "store what is needed later in an array",
                kind=kinds.PRIVATE_VARIABLE,
            )
    for (n, _), result in zip(reductions.items(), op.results, strict=True):
        result.hint = n
        frame.env[n] = Scalar(result, types[n].type, types[n].weak)
    for n in sorted(summed):
        if outset[n] is not frame.env[n]:
            _unless_empty(frame, loop, n, outset[n])


def _in_place(frame: Frame, stmt: ast.For, combined: Mapping[str, tuple[Reduction, list[_Update]]]) -> set[str]:
    """The arrays among the variables that iterations combine: they are changed in place. If ``r = r + x`` makes a new
    one, it starts as a copy."""
    found = set()
    for n, (_, updates) in combined.items():
        value = frame.env.get(n)
        if not isinstance(value, Array):
            continue
        if not all(isinstance(u.statement, ast.AugAssign | ast.Assign) for u in updates):
            raise _refuse_carried(frame, stmt, n, updates)
        found.add(n)
        if any(isinstance(u.statement, ast.Assign) for u in updates):
            frame.in_place.update(u.statement for u in updates)
            with frame.at(stmt):
                frame.env[n] = copy(frame, value)
    return found


def _unless_empty(frame: Frame, loop: Counted, name: str, outset: AbstractValue) -> None:
    """If there was no iteration, ``name`` is still the array from before the loop."""
    ran = loop.ran()
    if isinstance(ran, bool):
        frame.env[name] = frame.env[name] if ran else outset
        return

    def keep() -> None:
        frame.env[name] = outset

    branch(frame, ran, lambda: None, keep, [name])


def _refuse_jumps(frame: Frame, stmt: ast.For) -> None:
    """Iterations run in any order, so none can end the loop for the others."""
    for name, word in ((BREAK, "break"), (RETURN, "return"), (RAISED, "an exception that is handled")):
        if name in frame.env:
            raise refuse(
                frame.assigned_at.get(name, frame.loc(stmt)),
                f"{word} out of a parallel loop is not possible: its iterations run in any order",
                f"use range instead of prange, or note in an array where it would {word}",
                [Note("the parallel loop", frame.loc(stmt))],
                kind=kinds.UNSUPPORTED_STATEMENT,
            )


def _refuse_mutation(frame: Frame, stmt: ast.For, before: Mapping[str, AbstractValue]) -> None:
    """Refuse changes of objects that other iterations see (except arrays)."""
    for key in heap.changed(before, frame.env):
        raise refuse(
            frame.assigned_at.get(key, frame.loc(stmt)),
            f"{heap.shown(frame, key)} is changed in a parallel loop, whose iterations may run in any order",
            "use range instead of prange, or store into an array",
            [Note("the parallel loop", frame.loc(stmt))],
            kind=kinds.CARRIED_VARIABLE,
        )


def _identity(reduction: Reduction, of: abstract.Scalar) -> AbstractValue:
    """The initial value in an iteration: a literal if possible, which takes the type that it is combined with."""
    neutral = {"add": 0, "mul": 1}.get(reduction.kind)
    if of.weak and of.type.is_float:
        least = -math.inf if reduction.kind == "max" else math.inf
        return Static(least if neutral is None else float(neutral))
    if of.weak and neutral is not None:
        return Static(neutral)
    return Scalar(reduction.identity(of.type), of.type, of.weak)


def _type_before(frame: Frame, name: str, stmt: ast.For) -> abstract.Scalar:
    value = frame.env.get(name)
    if value is None or not is_numeric(value):
        what = "has no value" if value is None or isinstance(value, Unbound) else f"is {describe_type(value)}"
        raise refuse(
            frame.loc(stmt),
            f"'{name}' is combined over a parallel loop, but {what} before it",
            f"set '{name}' first",
            kind=kinds.CARRIED_VARIABLE,
        )
    s = as_scalar(value)
    return abstract.Scalar(i64 if s.dtype == i1 else s.dtype, s.weak)


def _joined(frame: Frame, name: str, now: abstract.Scalar, end: AbstractValue, start: AbstractValue) -> abstract.Scalar:
    try:
        result = join(join(describe(start), widen(describe(end))), now)
    except Clash:
        try:
            result = join(describe(start), widen(describe(end)))
        except Clash as clash:
            narrow(frame, name, describe(start), widen(describe(end)))
            raise refuse(
                frame.assigned_at[name],
                f"'{name}' changes its type in the loop: {describe_type(start)} before, {describe_type(end)} here",
                str(clash),
                kind=kinds.TYPE_CHANGE_IN_LOOP,
            ) from None
    assert isinstance(result, abstract.Scalar)
    return abstract.Scalar(i64, result.weak) if result.type == i1 else result


def _combined(frame: Frame, stmt: ast.For, counter: str) -> dict[str, tuple[Reduction, list[_Update]]]:
    """The variables that iterations combine, and the statements that do so. Any other loop-carried variable is refused.

    A variable without a value before the loop is private: an iteration must set it before it reads it.
    """
    found: dict[str, tuple[Reduction, list[_Update]]] = {}
    live = frame.liveness
    for name in sorted(live.body_assigns[stmt] - {counter}):
        carried = name in live.reads[stmt]
        if not carried:
            continue  # assigned before it is read in each iteration: private
        updates = list(_updates(frame, stmt.body, name))
        kinds = {u.reduction for u in updates}
        reads = sum(_reads(s, name) for s in stmt.body)
        only = next(iter(kinds), None)
        if len(kinds) == 1 and only is not None and reads == sum(u.reads for u in updates):
            found[name] = only, updates
        elif isinstance(frame.env.get(name), Array) and all(isinstance(u.statement, ast.AugAssign) for u in updates):
            found[name] = SUM, updates  # changed in place: its elements are checked for races
        elif not isinstance(frame.env.get(name, GONE), Poison):
            raise _refuse_carried(frame, stmt, name, updates)
    return found


def _refuse_carried(frame: Frame, stmt: ast.For, name: str, updates: list[_Update]) -> Exception:
    other = [u for u in updates if u.reduction is None or u.reduction is not updates[0].reduction]
    culprit = other[0] if other else updates[0]
    help = f"set '{name}' at the start of each iteration, or use range instead of prange"
    if any(u.reduction is not None for u in updates):
        help = f"combine '{name}' in one way only (s += x, s *= x, s = min(s, x)) and read it after the loop"
    return refuse(
        frame.loc(culprit.statement),
        f"'{name}' is carried from one iteration of a parallel loop to the next",
        help,
        [Note("the parallel loop", frame.loc(stmt))],
        kind=kinds.CARRIED_VARIABLE,
    )


def _updates(frame: Frame, statements: Sequence[ast.stmt], name: str) -> Iterator[_Update]:
    for s in statements:
        if isinstance(s, ast.If | ast.For | ast.While):
            if isinstance(s, ast.For) and any(_is(n, name) for n in ast.walk(s.target)):
                yield _Update(s, None, 0)
            yield from _updates(frame, [*s.body, *s.orelse], name)
        elif isinstance(s, ast.AugAssign) and _is(s.target, name):
            yield _Update(s, _OPERATORS.get(type(s.op)), 0)
        elif isinstance(s, ast.Assign) and len(s.targets) == 1 and _is(s.targets[0], name):
            yield _combination(frame, s, name)
        elif any(_is(n, name) and isinstance(n.ctx, ast.Store) for n in ast.walk(s) if isinstance(n, ast.Name)):
            yield _Update(s, None, 0)


def _combination(frame: Frame, s: ast.Assign, name: str) -> _Update:
    """``s = s + x``, ``s = x + s``, ``s = s - x``, ``s = s * x``, ``s = min(s, x)``, ``s = np.minimum(s, x)``."""
    value = s.value
    if isinstance(value, ast.BinOp):
        left, right = _is(value.left, name), _is(value.right, name)
        swappable = isinstance(value.op, ast.Add | ast.Mult)
        if left != right and (left or swappable):
            return _Update(s, _OPERATORS.get(type(value.op)), 1)
    if isinstance(value, ast.Call) and not value.keywords:
        function = _function(frame, value.func)
        if function in _FUNCTIONS and len(value.args) >= 2 and sum(_is(a, name) for a in value.args) == 1:
            return _Update(s, _FUNCTIONS[function], 1, function not in (min, max))
    return _Update(s, None, 0)


def _function(frame: Frame, node: ast.expr) -> object:
    """The present value of ``min``, ``np.minimum`` and the like; tracing the call notes it as a look. None for other
    expressions."""
    if isinstance(node, ast.Attribute):
        module = _function(frame, node.value)
        return getattr(module, node.attr, None) if isinstance(module, ModuleType) else None
    if not isinstance(node, ast.Name) or node.id in frame.liveness.local or node.id in frame.cells:
        return None
    found = frame.module_globals.get(node.id, getattr(builtins, node.id, None))
    return found if isinstance(found, ModuleType | np.ufunc | BuiltinFunctionType) else None


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _reads(s: ast.stmt, name: str) -> int:
    return sum(_is(n, name) and isinstance(n.ctx, ast.Load) for n in ast.walk(s) if isinstance(n, ast.Name))
