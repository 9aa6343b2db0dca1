"""Loops that the user wrote with ``prange``: are their iterations as independent as promised?

There are four answers. Two iterations certainly meet in one element: ``CompileError`` with both lines. They only add to
that element: the loop stays parallel, and sums (``array_sums``). No two ever meet: the loop stays parallel. It cannot
be decided, as with subscripts that are loaded: the loop runs its iterations in order, which gives what Python gives,
whatever the subscripts are. Calls are looked into: the question is asked about a copy of the function with calls
inlined.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from adc.ir import kinds, ops
from adc.ir.arith import constant_of
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.diagnostics import Note
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import enclosing
from adc.ir.opdef import OpDef
from adc.ir.rewrite import clone_func, inline_block
from adc.passes.analysis.cold import is_cold
from adc.passes.analysis.dependence import Access, Analysis
from adc.passes.analysis.effects import Summaries
from adc.passes.analysis.form_conditions import TRUE
from adc.passes.analysis.integers import Integers
from adc.passes.analysis.kinds import COUNTED
from adc.passes.analysis.ranges import Ranges
from adc.passes.analysis.records import names_arguments
from adc.passes.analysis.running import running
from adc.passes.threads.array_sums import Update, accumulate, meets_everywhere, updated

PROMISED = "prange"  # attribute of a parallel loop of the user, who promises that iterations do not meet
INLINE_OPS = 200  # the largest function that is looked into
INLINE_ROUNDS = 4  # how many calls deep
MAX_ACCESSES = 400  # of one loop; loops with more are not analysed


@dataclass(frozen=True)
class KeepPromises:
    """Make those ``prange`` loops sequential whose iterations are not known to be independent."""

    name: ClassVar[str] = "keep-promises"

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in module.funcs.values():
            _keep_promises(func, module, summaries)
        return module


def _keep_promises(func: Func, module: Module, summaries: Summaries) -> None:
    promised = list(_promised(func.body))
    if not promised:
        return
    doubtful = [loop for loop in promised if is_cold_loop(loop)]
    asked = [loop for loop in promised if not is_cold_loop(loop)]
    copy, originals = _copied(func)
    mapping = {new: old for new, old in originals.items() if old in set(asked)}
    for block in [loop.regions[0] for loop in mapping]:
        for _ in range(INLINE_ROUNDS):
            _inline_calls(block, module)
    analysis = Analysis(copy, module, summaries)
    verdicts: dict[Op, Verdict] = {}
    _ask(copy.body, analysis, mapping, verdicts)
    for loop in asked:
        sums = [u.of(originals) for u in verdicts[loop].sums]
        if not verdicts[loop].apart or None in sums:
            doubtful.append(loop)
        else:
            accumulate(u for u in sums if u is not None)
    for loop in asked:
        loop.drop_attr(PROMISED)
    for loop in doubtful:
        loop.drop_attr(PROMISED)
    # Inner ones first: an outer one is copied with what is in it.
    for loop in sorted(doubtful, key=_depth, reverse=True):
        _in_order(loop)


def is_cold_loop(loop: Op) -> bool:
    return is_cold(loop.regions[0])


def _depth(loop: Op) -> int:
    return sum(1 for _ in enclosing(loop.parent))


def _promised(block: Block) -> Iterator[Op]:
    for op in block.ops:
        if op.opdef is ops.parallel and op.attrs.get(PROMISED):
            yield op
        for region in op.regions:
            yield from _promised(region)


# A copy to be asked ---------------------------------------------------------------------------------------------------


def _copied(func: Func) -> tuple[Func, dict[Op, Op]]:
    """A copy of the function, and a map from its operations to the original ones."""
    copy = clone_func(func, func.name)
    return copy, dict(zip(copy.body.walk(), func.body.walk(), strict=True))


def _inline_calls(block: Block, module: Module) -> None:
    new = block.in_place_of()
    for op in block.ops:
        callee = module.funcs.get(op.attrs["callee"]) if op.opdef is ops.call else None
        if callee is not None and sum(1 for _ in callee.walk()) <= INLINE_OPS and not names_arguments(callee):
            with insert_at(new, op.loc):
                results = inline_block(callee.body, op.operands)
            for old, value in zip(op.results, results, strict=True):
                old.replace_uses(value)
            op.drop()
            continue
        for region in op.regions:
            _inline_calls(region, module)
        new.append(op)
    block.set_ops(new.ops)


def _ask(block: Block, analysis: Analysis, mapping: dict[Op, Op], verdicts: dict[Op, Verdict]) -> None:
    for op in block.ops:
        if op in mapping:
            _settle_subscripts(op, analysis)
            verdicts[mapping[op]] = keeps_promise(op, analysis)
        for region in op.regions:
            with analysis.inside(region):
                _ask(region, analysis, mapping, verdicts)


def _settle_subscripts(loop: Op, analysis: Analysis) -> None:
    """Replace subscripts that are not negative by themselves: otherwise the run ends with an IndexError."""
    for op in loop.regions[0].walk():
        if op.opdef is ops.bound:
            loops = [o for o in enclosing(op.parent) if o.opdef in COUNTED]
            ranges = Ranges(analysis.forms, facts=[*analysis.facts, *running(analysis.forms, loops)])
            subscript = op.operands[0]
            if ranges.nonnegative(analysis.forms.of(subscript)) == TRUE:
                op.result.replace_uses(subscript)


@dataclass(frozen=True)
class Verdict:
    """Whether iterations are known not to meet, except in the ``sums`` into elements that they share."""

    apart: bool
    sums: tuple[Update, ...] = ()


def keeps_promise(loop: Op, analysis: Analysis) -> Verdict:
    """Whether iterations are known not to meet. Raises ``CompileError`` if they are known to meet."""
    trips = most_trips(loop)
    if trips is not None and trips < 2:
        return Verdict(True)
    accesses = analysis.accesses(loop)
    sums = _sums(loop, analysis, accesses.found)
    rest = [a for a in accesses.found if all(a.op is not u.before and a.op is not u.store for u in sums)]
    _check(loop, analysis, rest)
    if len(accesses.found) > MAX_ACCESSES or any(op.opdef is not ops.bound for op, _ in _lasting(accesses.obstacles)):
        return Verdict(False)
    apart = next(analysis.conflicts(loop, rest), None) is None
    return Verdict(apart and all(u.in_any_order for u in sums), tuple(sums))


def _sums(loop: Op, analysis: Analysis, found: list[Access]) -> list[Update]:
    """The sums into elements that iterations share: elements that are certainly the same in two of them."""
    sums: list[Update] = []
    for base in dict.fromkeys(a.base for a in found if a.changes and a.kind != "accumulate"):
        mine = [a for a in found if a.base is base]
        if any(meets_everywhere(loop, a, analysis) for a in mine) or any(_certain(loop, analysis, mine)):
            sums += updated(loop, found, analysis, base) or []
    return list({u.store: u for u in sums}.values())


def _lasting(obstacles: list[tuple[Op, str]]) -> list[tuple[Op, str]]:
    """The obstacles other than errors that may be raised."""
    return [(op, text) for op, text in obstacles if not (op.opdef in (ops.assert_, ops.bound) or "raise" in text)]


# What is certain ------------------------------------------------------------------------------------------------------


def check_races(loop: Op, analysis: Analysis) -> None:
    """Raise ``CompileError`` if two iterations certainly write, or write and read, one element."""
    trips = most_trips(loop)
    if trips is None or trips > 1:
        _check(loop, analysis, analysis.accesses(loop).found)


def _check(loop: Op, analysis: Analysis, accesses: list[Access]) -> None:
    for write, other in _certain(loop, analysis, accesses):
        raise _race(loop, write, other)


def _certain(loop: Op, analysis: Analysis, accesses: list[Access]) -> Iterator[tuple[Access, Access]]:
    """Pairs of accesses that certainly meet in two iterations."""
    found = [a for a in accesses if a.is_point and a.kind != "accumulate"]
    for write in (a for a in found if a.changes):
        for other in found:
            if analysis.certain_conflict(loop, write, other):
                yield write, other


def _race(loop: Op, write: Access, other: Access) -> Exception:
    name = write.base.hint or "an array"
    does = "written" if other.changes else "read"
    return kinds.RACE(
        f"iterations of a parallel loop write the same element of {name}"
        if other.changes
        else f"an iteration of a parallel loop writes an element of {name} that another one reads",
        write.op.loc,
        help="use range for iterations that depend on each other; all of them may add to one element: r[k] += x",
        notes=(Note(f"it is {does} here in another iteration", other.op.loc), Note("the parallel loop", loop.loc)),
    )


def most_trips(loop: Op) -> int | None:
    """The greatest number of iterations, if one is known."""
    lower, upper, step = loop.operands[:3]
    size = constant_of(step)
    if size is None:
        return None
    integers = Integers()
    uppers, lowers = _alternatives(upper, ops.minsi), _alternatives(lower, ops.maxsi)
    found = (integers.linear(u, exact=True).plus(integers.linear(v, exact=True), -1) for u in uppers for v in lowers)
    known = [max(0, form.constant) for form in found if not form.terms]
    return -(-min(known) // int(size)) if known else None


def _alternatives(bound: Value, extreme: OpDef) -> tuple[Value, ...]:
    """The operands if a bound is an ``extreme``, else the bound."""
    return bound.op.operands if bound.op is not None and bound.op.opdef is extreme else (bound,)


# One after the other --------------------------------------------------------------------------------------------------


def _in_order(loop: Op) -> None:
    """Replace ``loop`` by a sequential loop with its body."""
    body, block = loop.regions[0], loop.parent
    assert block is not None
    end = body.pop()
    terms, kinds_ = list(end.operands), end.attrs["kinds"]
    end.drop()
    carried: list[Value] = [body.add_arg(term.type, term.hint) for term in terms]
    with insert_at(body, loop.loc):
        build(ops.yield_, [_combined(kind, x, y) for kind, x, y in zip(kinds_, carried, terms, strict=True)])
    loop.set_regions(())
    attrs = {name: value for name, value in loop.attrs.items() if name != PROMISED}
    new = Op(ops.for_, loop.operands, [r.type for r in loop.results], attrs, [body], loop.loc)
    for old, result in zip(loop.results, new.results, strict=True):
        old.replace_uses(result)
        result.hint = old.hint
    block.set_ops([new if op is loop else op for op in block.ops])
    loop.drop()


def _combined(kind: str, x: Value, y: Value) -> Value:
    on_floats, on_integers = ops.COMBINE[kind]
    return (on_floats if x.type.is_float else on_integers)(x, y)
