"""Two paths through the code, one of which is taken by a run-time condition."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from adc.frontend import abstract
from adc.frontend.control.jumps import JUMPS, NEVER, RETURN, gone, hint
from adc.frontend.control.lengths import Env, meet, way_out
from adc.frontend.data.described import Maybe, describe
from adc.frontend.data.roots import NOWHERE, Phase, Phases, Roots, overlap
from adc.frontend.data.values import GONE, AbstractValue, Poison, Static
from adc.frontend.frame import Frame, Undetermined
from adc.frontend.numeric.bits import logical_not
from adc.frontend.objects import heap
from adc.frontend.objects.joining import identical, join_values, narrow, narrow_values, same_objects
from adc.frontend.objects.merge import Clash, arrays, clash_message, coerce, flatten, rebuild, types, unset
from adc.ir import kinds, ops
from adc.ir.arith import constant_of
from adc.ir.builder import build, current_block, insert_at
from adc.ir.core import Block, Value
from adc.ir.diagnostics import Note
from adc.ir.lazy_dataclass import dataclass

Path = Callable[[], AbstractValue | None]
Pairs = dict[str, tuple[AbstractValue | None, AbstractValue | None]]
RESULT = "<result>"
_SHOWN = {RESULT: "the value", RETURN: "the result"}


@dataclass(frozen=True, eq=False)
class Traced:
    """Code of one path, in a block of its own: its result, and the variables at its end."""

    block: Block
    result: AbstractValue | None
    env: dict[str, AbstractValue]
    mutates: bool = False  # whether it changes the contents of objects that existed before
    undetermined: bool = False  # it depends on a call whose result is not known yet; then it has no end

    @property
    def never(self) -> bool:
        """Whether this path has no end, as after a raise."""
        return NEVER in self.env

    @property
    def pure(self) -> bool:
        """Whether running this code is harmless where it is not needed."""
        return not self.mutates and all(op.opdef.pure for op in self.block.ops)

    def splice(self) -> None:
        """Move the code to the insertion point."""
        block = current_block()
        for op in self.block.ops:
            block.append(op)


def trace(frame: Frame, path: Path) -> Traced:
    """Trace ``path`` into a block that is in no region yet; the frame's variables stay as they are."""
    before = frame.env
    block = Block()
    frame.env = dict(before)
    try:
        with insert_at(block):
            result = path()
        return Traced(block, result, frame.env, heap.changed(before, frame.env) != [])
    except Undetermined:
        return Traced(block, None, frame.env, undetermined=True)
    finally:
        frame.env = before


def branch(frame: Frame, condition: Value, then: Path, other: Path, names: Iterable[str] = ()) -> AbstractValue | None:
    """Trace both paths into a ``scf.if``. Returns their merged results, and merges the variables ``names`` too."""
    return merge(frame, condition, trace(frame, then), trace(frame, other), names)


def merge(
    frame: Frame, condition: Value, then: Traced, other: Traced, names: Iterable[str] = ()
) -> AbstractValue | None:
    """A ``scf.if`` of two traced paths."""
    if then.undetermined and other.undetermined:
        raise Undetermined
    if then.undetermined or other.undetermined:
        known = other if then.undetermined else then
        known.splice()
        frame.env = known.env
        return known.result
    pairs: Pairs = {}
    for name in sorted(names):
        a, b = (GONE if gone(t.env, name) else t.env.get(name) for t in (then, other))
        if not (a is GONE and b is GONE):
            pairs[name] = a, b
    for name in JUMPS:
        if name in then.env or name in other.env:
            pairs[name] = then.env.get(name), other.env.get(name)
    if then.result is not None or other.result is not None:
        pairs[RESULT] = then.result, other.result
    same_objects(frame, then.env, other.env, pairs)
    envs = then.env | {RESULT: then.result}, other.env | {RESULT: other.result}
    merged = _merge(frame, condition, (then.block, other.block), pairs, envs)
    result = merged.pop(RESULT, None)
    for value in (result, merged.get(RETURN)):
        if isinstance(value, Poison):
            raise heap.unreadable(frame, value)
    for name in (*pairs, *JUMPS):
        if name != RESULT:
            frame.env.pop(name, None)
    frame.env.update(merged)
    return result


def either(frame: Frame, condition: Value, then: Traced, other: Traced, names: Iterable[str]) -> None:
    """Merge two paths of statements: the variables ``names``, and how control leaves them.

    Only the effects of a path that never ends remain, under its condition; the other path then needs no condition.
    """
    if (then.undetermined and other.never) or (other.undetermined and then.never):
        raise Undetermined
    if not (then.never or other.never):
        merge(frame, condition, then, other, names)
        return
    if then.never and other.never:
        for path in (then, other):
            with insert_at(path.block):
                build(ops.yield_, [])
        build(ops.if_, [condition], result_types=(), regions=(then.block, other.block))
        frame.env = then.env
        return
    end_with(condition, then.never, (then if then.never else other).block)
    stays = other if then.never else then
    stays.splice()
    frame.env = stays.env


def end_with(condition: Value, holds: bool, block: Block) -> None:
    """Append code that has no end, for the case that ``condition`` is ``holds``: one assertion if it only raises."""
    last = block.ops[-1]
    if last.opdef is ops.assert_ and constant_of(last.operands[0]) == 0 and all(o.opdef.pure for o in block.ops[:-1]):
        target = current_block()
        for op in block.ops[:-1]:
            target.append(op)
        last.set_operand(0, logical_not(condition) if holds else condition)
        target.append(last)
        return
    empty = Block()
    for region in (block, empty):
        with insert_at(region):
            build(ops.yield_, [])
    build(ops.if_, [condition], result_types=(), regions=(block, empty) if holds else (empty, block))


def _merge(
    frame: Frame,
    condition: Value,
    blocks: tuple[Block, Block],
    pairs: Pairs,
    envs: tuple[Env, Env],
) -> dict[str, AbstractValue]:
    done: dict[str, AbstractValue] = {}
    specs: dict[str, abstract.Abstract] = {}
    for name, (a, b) in pairs.items():
        pairs[name] = meet(frame, name, blocks, envs, a, b)
    for name, (a, b) in pairs.items():
        if a is None and b is None:
            continue
        if a is not None and b is not None and identical(a, b):
            done[name] = a
            continue
        if GONE in (a, b):
            value = b if a is GONE else a
            if value is None:
                continue
            spec = value if isinstance(value, Poison) else describe(value)
            if not isinstance(spec, Poison) and not types(spec):
                done[name] = value
                continue
        else:
            spec = _spec(frame, name, {**envs[0], **envs[1]}, a, b)
        if isinstance(spec, Poison):
            done[name] = spec
        else:
            specs[name] = spec
    roots = [_close(blocks[k], specs, {name: pairs[name][k] for name in specs}) for k in (0, 1)]
    result_types = [t for spec in specs.values() for t in types(spec)]
    op = build(ops.if_, [condition], result_types=result_types, regions=blocks)
    names = ["" if n in (RESULT, RETURN) else hint(n) for n, s in specs.items() for _ in types(s)]
    for result, name in zip(op.results, names, strict=True):
        result.hint = name
    values = iter(op.results)
    phases = Phases(_apart(roots[0], roots[1]))
    for name, spec in specs.items():
        done[name] = rebuild(spec, values, _phase_roots(frame, name, phases, roots))
    return done


def _spec(
    frame: Frame, name: str, env: Env, a: AbstractValue | None, b: AbstractValue | None
) -> abstract.Abstract | Poison:
    for value in (a, b):
        if isinstance(value, Poison):
            # If nothing comes after the inner ``if`` in its block, the one around it is divided next.
            further = value.divides in frame.tracer.attempt.divided and name != RETURN
            return replace(value, divides=frame.joins) if further else value
    if a is None or b is None:
        value = a or b
        assert value is not None
        spec = describe(value)
        return spec if isinstance(spec, Maybe) else Maybe(spec)
    try:
        return join_values(a, b)
    except Clash as clash:
        narrow(frame, name, describe(a), describe(b))
        narrow_values(frame, a, b)
        shown = _SHOWN.get(name) or heap.shown(frame, name)
        notes = [Note("assigned here", frame.assigned_at[name])] if name in frame.assigned_at else []
        return Poison(
            clash_message(shown, a, b, clash),
            tuple(notes),
            way_out(env, a, b, _instead(name, a, b)),
            kind=kinds.TYPE_DIFFERS,
            objects=tuple(ref for v in (a, b) for ref in heap.refs_of(v)),
            divides=frame.joins if name != RETURN else None,
        )


def _instead(name: str, a: AbstractValue, b: AbstractValue) -> str:
    """What to write instead of values of two types."""
    if not any(isinstance(v, Static) and v.value is None for v in (a, b)):
        return "return one type on every path" if name == RETURN else "use two names, or convert one of the two"
    if name == RETURN:
        return "end every path with a return of a value of one type"
    return "give it a value of its final type in place of None; a bool can say whether it is set"


def _close(
    block: Block, specs: dict[str, abstract.Abstract], values: dict[str, AbstractValue | None]
) -> dict[str, Roots]:
    """End a branch with its yields. Returns the roots of the arrays among them."""
    yields: list[Value] = []
    roots: dict[str, Roots] = {}
    with insert_at(block):
        for name, spec in specs.items():
            value = values[name]
            if value is GONE:
                value = unset(spec) if isinstance(spec, Maybe) else unset(spec).value
            elif value is None:
                value = unset(spec)
            value = coerce(value, spec)
            roots |= {f"{name}#{k}": a.roots for k, a in enumerate(arrays(value))}
            yields += flatten(value)
        build(ops.yield_, yields)
    return roots


def _apart(a: dict[str, Roots], b: dict[str, Roots]) -> set[frozenset[str]]:
    names = sorted(a.keys() | b.keys())
    return {
        frozenset((x, y))
        for n, x in enumerate(names)
        for y in names[:n]
        if not any(overlap(r.get(x, NOWHERE), r.get(y, NOWHERE)) for r in (a, b))
    }


def _phase_roots(frame: Frame, name: str, phases: Phases, roots: list[dict[str, Roots]]) -> Callable[[int], Roots]:
    def of(k: int) -> Roots:
        leaf = f"{name}#{k}"
        over = roots[0].get(leaf, NOWHERE) | roots[1].get(leaf, NOWHERE)
        return frozenset({Phase(leaf, frame.next_order(), "", phases, over)})

    return of
