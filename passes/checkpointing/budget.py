"""Schedules from a number of bytes: chosen when the function runs, before it begins.

Functions of steps whose schedule is to be chosen ask ``@adc.schedule.K`` for it, which says "one snapshot, pieces of
one step" as long as nothing else is known. ``choose_schedules`` puts three functions in its place:

- ``@f.footprint`` gives the peak of a run of ``f`` in bytes, and the number of steps of each loop, for the extents and
  numbers among the arguments and a schedule of each loop (see ``adc.passes.checkpointing.footprint``);
- ``@f.schedules`` searches: of the schedules that fit, and run no more steps again than pieces of one step would in the
  same room, the one with the fewest repeated steps, a piece counted as one more, and of these the one that takes the
  least memory. Where nothing fits it raises a MemoryError that says what would;
- ``f`` itself asks it, and hands the schedules down to the functions of steps.

Several loops get equal parts of what is left when each has the least that it needs; what one does not use is left to
those after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import build, insert_at
from adc.ir.callgraph import reachable
from adc.ir.core import Block, Func, Module, Value
from adc.ir.types import MemRefType, RecordType, Type, index
from adc.passes.checkpointing.footprint import MOST, Footprint
from adc.passes.checkpointing.schedule import OPEN, UNDECIDED, repeated_function

MOST_SNAPSHOTS = 1 << 16
"""Of a loop of unknown length, whose snapshots have their room before it begins."""

TOO_SMALL = "the gradient needs at least {} bytes; memory= allows {}"


@dataclass(frozen=True)
class Chosen:
    """Names of functions: the footprint and the search of an entry; and the loops, by the functions they ask.

    ``open_loops``: of which of them the number of steps is not known before.
    """

    footprint: str
    search: str
    loops: tuple[str, ...]
    open_loops: tuple[bool, ...]


def choose_schedules(
    module: Module, entry: str, memory: int, threads: int | None = None, measured: Func | None = None
) -> Chosen:
    """Let ``entry``, which is final, choose the schedules of its loops so that it keeps to ``memory`` bytes.

    ``threads``: None if that is known only when it runs. ``measured`` keeps to them instead: a function with the same
    arguments that calls ``entry``, and what follows it. Raises ``Unsized`` if it cannot be known before what it takes.
    """
    found = reachable(module, [entry])
    loops = tuple(name for name in module.funcs if name.startswith(f"{UNDECIDED}.") and name in found)
    footprint = _footprint(module, measured or module.funcs[entry], loops, threads)
    open_loops = tuple(OPEN in module.funcs[name].attrs for name in loops)
    search = _search(module, entry, footprint, open_loops)
    _hand_down(module, entry, search, memory, loops)
    return Chosen(footprint.name, search.name, loops, open_loops)


def allocates(module: Module, entry: str) -> bool:
    """Whether a function, or one that it calls, allocates memory."""
    funcs = (module.funcs[name] for name in reachable(module, [entry]))
    return any(op.opdef in (ops.alloc, ops.grow, ops.pack) for func in funcs for op in func.walk())


def workspace(
    module: Module, entry: str, chosen: Chosen | None, memory: int, threads: int | None = None, *, fails: bool = False
) -> Func:
    """Add the function that says what ``entry``, which is final, takes: the bytes, given the numbers among its
    arguments and the extents of the arrays, those of shadows excepted, which are the same.

    ``chosen`` is what ``choose_schedules`` made of it with ``memory``. Where no machine has so much it says ``MOST``,
    or with ``fails`` is a MemoryError. Raises ``Unsized``.
    """
    func = module.funcs[entry]
    footprint = module.funcs[chosen.footprint] if chosen else _footprint(module, func, (), threads)
    counted = [len(_sizes_of(arg)) for arg in func.args]
    asked = [k for k, attrs in enumerate(func.arg_attrs[: len(counted)]) if "adc.shadow" not in attrs]
    named = [pair for k in asked for pair in _sizes_of(func.args[k])]
    made = Func(
        module.unique_name(f"{entry}.workspace"), [t for t, _ in named], [index], [hint for _, hint in named], func.loc
    )
    with insert_at(made.body, func.loc):
        rest = iter(made.args)
        given = {k: [next(rest) for _ in range(counted[k])] for k in asked}
        shadowed = (int(attrs.get("adc.shadow", k)) for k, attrs in enumerate(func.arg_attrs[: len(counted)]))
        sizes: list[Value] = [v for k in shadowed for v in given[k]]
        schedules: Sequence[Value] = ()
        if chosen is not None:
            search = module.funcs[chosen.search]
            operands = [*sizes, const_index(memory)]
            schedules = build(ops.call, operands, {"callee": search.name, "types": search.result_types}).results
        attrs = {"callee": footprint.name, "types": footprint.result_types}
        peak = build(ops.call, [*sizes, *schedules], attrs).results[0]
        if fails:
            attrs = {"error": "MemoryError", "message": "no machine has the memory that it takes"}
            build(ops.assert_, [ops.cmpi(peak, const_index(MOST), predicate="slt")], attrs)
        build(ops.return_, [peak])
    return module.add(made)


def _sizes(func: Func) -> list[tuple[Type, str]]:
    """Types and names of what is known of the arguments before: numbers, and extents of arrays."""
    return [pair for arg in func.args for pair in _sizes_of(arg)]


def _sizes_of(arg: Value) -> list[tuple[Type, str]]:
    """The same of one argument."""
    if isinstance(arg.type, MemRefType):
        return [(index, f"{arg.hint}_{d}") for d in range(arg.type.rank)]
    return [] if isinstance(arg.type, RecordType) else [(arg.type, arg.hint)]


def _footprint(module: Module, func: Func, loops: Sequence[str], threads: int | None) -> Func:
    sizes = _sizes(func)
    schedules = [(index, f"{what}_{k}") for k in range(len(loops)) for what in ("snapshots", "steps")]
    inputs = [*sizes, *schedules]
    made = Func(
        module.unique_name(f"{func.name}.footprint"),
        [t for t, _ in inputs],
        [index] * (1 + len(loops)),
        [hint for _, hint in inputs],
        func.loc,
    )
    asked = dict(zip(loops, _pairs(made.args[len(sizes) :]), strict=True))
    with insert_at(made.body, func.loc):
        counts: dict[str, Value] = {}

        def seen(name: str, steps: Value) -> None:
            counts[name] = ops.maxsi(counts[name], steps) if name in counts else steps

        peak = Footprint(module, asked, seen, threads).peak(func, made.args[: len(sizes)])
        build(ops.return_, [peak, *(counts.get(name) or const_index(0) for name in loops)])
    made.attrs.update({"adc.cold": True, "adc.noinline": True})
    return module.add(made)


def _pairs(values: Sequence[Value]) -> list[tuple[Value, Value]]:
    return [(values[k], values[k + 1]) for k in range(0, len(values), 2)]


# The search -----------------------------------------------------------------------------------------------------------


def _search(module: Module, entry: str, footprint: Func, open_loops: Sequence[bool]) -> Func:
    """It takes what the footprint takes, and the number of bytes instead of schedules. ``open_loops``: of which loops
    the number of steps is not known before."""
    loops = len(open_loops)
    sizes = footprint.args[: len(footprint.args) - 2 * loops]
    func = Func(
        module.unique_name(f"{entry}.schedules"),
        [*(v.type for v in sizes), index],
        [index] * (2 * loops),
        [*(v.hint for v in sizes), "memory"],
        footprint.loc,
    )
    with insert_at(func.body, func.loc):
        *given, allowed = func.args
        search = _Search(module, footprint, given)
        chosen: list[Value] = [const_index(1)] * (2 * loops)
        least, *steps = search.measured(chosen)
        attrs = {"error": "MemoryError", "message": TOO_SMALL}
        build(ops.assert_, [ops.cmpi(least, allowed, predicate="sle"), least, allowed], attrs)
        # What a loop of unknown length can make use of is not known: the others come first.
        for n, (is_open, k) in enumerate(sorted(zip(open_loops, range(loops), strict=True)), 1):
            part = ops.divsi(ops.muli(allowed - least, const_index(n)), const_index(loops))
            choose = search.open_loop if is_open else search.loop
            chosen = choose(k, chosen, steps[k], least + part)
        build(ops.return_, chosen)
    func.attrs.update({"adc.cold": True, "adc.noinline": True})
    return module.add(func)


class _Search:
    """Appends the search for the schedule of one loop after the other."""

    def __init__(self, module: Module, footprint: Func, sizes: Sequence[Value]) -> None:
        self._footprint = footprint
        self._sizes = sizes
        self._repeated = repeated_function(module)

    def measured(self, chosen: Sequence[Value]) -> Sequence[Value]:
        """The peak, and the number of steps of each loop."""
        attrs = {"callee": self._footprint.name, "types": self._footprint.result_types}
        return build(ops.call, [*self._sizes, *chosen], attrs).results

    def _peak(self, k: int, chosen: Sequence[Value], snapshots: Value, length: Value) -> Value:
        """With another schedule of loop ``k``."""
        return self.measured([*chosen[: 2 * k], snapshots, length, *chosen[2 * k + 2 :]])[0]

    def open_loop(self, k: int, chosen: Sequence[Value], _: Value, allowed: Value) -> list[Value]:
        """The same for a loop of unknown length: as many snapshots as there is room for."""
        one = const_index(1)

        def fits(snapshots: Value) -> Value:
            return ops.cmpi(self._peak(k, chosen, snapshots, one), allowed, predicate="sle")

        return [*chosen[: 2 * k], _most(const_index(MOST_SNAPSHOTS), fits), one, *chosen[2 * k + 2 :]]

    def loop(self, k: int, chosen: Sequence[Value], steps: Value, allowed: Value) -> list[Value]:
        """The schedules with that of loop ``k`` chosen."""
        one = const_index(1)

        def peak(snapshots: Value, length: Value) -> Value:
            return self._peak(k, chosen, snapshots, length)

        def fitting(length: Value) -> tuple[Value, Value, Value, Value]:
            # Pieces that are equally long: of as many steps as the longest has.
            pieces = ops.ceildivsi(steps, length)
            length = ops.ceildivsi(steps, pieces)
            snapshots = _most(pieces, lambda n: ops.cmpi(peak(n, length), allowed, predicate="sle"))
            attrs = {"callee": self._repeated, "types": (index,)}
            again = ops.muli(build(ops.call, [pieces, snapshots], attrs).result, length)
            return pieces, length, snapshots, again

        # As few steps again as with snapshots alone, in the same room.
        *_, most = fitting(one)

        def attempt(length: Value, best: Sequence[Value]) -> Sequence[Value]:
            pieces, length, snapshots, again = fitting(length)
            # What a piece begins with is brought back from a snapshot, which was copied there: about a step's work
            # where steps are bound by memory. A few copies less are not worth a longer tape.
            cost = ops.addi(again, ops.maxsi(pieces, ops.divsi(steps, const_index(32))))
            taken = peak(snapshots, length)
            fewer = ops.cmpi(cost, best[2], predicate="slt")
            smaller = ops.andi(ops.cmpi(cost, best[2], predicate="eq"), ops.cmpi(taken, best[3], predicate="slt"))
            fits = ops.andi(
                ops.cmpi(taken, allowed, predicate="sle"), ops.cmpi(again, most, predicate="sle")
            )
            better = ops.andi(fits, ops.ori(fewer, smaller))
            found = (snapshots, length, cost, taken)
            return [ops.select(better, new, old) for new, old in zip(found, best, strict=True)]

        # Lengths grow by an eighth; the last one is all steps.
        head, body = Block([index] * 5), Block([index] * 5)
        with insert_at(head):
            build(ops.condition, [ops.cmpi(head.args[0], steps, predicate="sle"), *head.args])
        with insert_at(body):
            length, *best = body.args
            found = attempt(length, best)
            longer = ops.addi(length, ops.ceildivsi(length, const_index(8)))
            last = ops.andi(
                ops.cmpi(length, steps, predicate="slt"), ops.cmpi(steps, longer, predicate="slt")
            )
            build(ops.yield_, [ops.select(last, steps, longer), *found])
        worst = const_index((1 << 63) - 1)
        start = [one, one, one, worst, worst]
        results = build(ops.while_, start, None, [index] * 5, [head, body]).results
        return [*chosen[: 2 * k], results[1], results[2], *chosen[2 * k + 2 :]]


def _most(upper: Value, fits: Callable[[Value], Value]) -> Value:
    """Append a bisection: the largest number from 1 to ``upper`` that fits, if 1 does."""
    head, body = Block([index, index]), Block([index, index])
    with insert_at(head):
        build(ops.condition, [ops.cmpi(*head.args, predicate="slt"), *head.args])
    with insert_at(body):
        low, high = body.args
        middle = ops.divsi(ops.addi(ops.addi(low, high), const_index(1)), const_index(2))
        enough = fits(middle)
        build(ops.yield_, [ops.select(enough, middle, low), ops.select(enough, high, middle - const_index(1))])
    return build(ops.while_, [const_index(1), upper], None, [index, index], [head, body]).results[0]


# Handing down ---------------------------------------------------------------------------------------------------------


def _hand_down(module: Module, entry: str, search: Func, memory: int, loops: Sequence[str]) -> None:
    """Let ``entry`` ask the search, and all functions in between take what it finds as arguments."""
    asking = {
        name: func
        for name, func in module.funcs.items()
        if name not in (search.name, *loops) and not reachable(module, [name]).isdisjoint(loops)
    }
    start = Block()
    func = module.funcs[entry]
    with insert_at(start, func.loc):
        given: list[Value] = []
        for arg in func.args:
            if isinstance(arg.type, MemRefType):
                given += [ops.dim(arg, dim=d) for d in range(arg.type.rank)]
            elif not isinstance(arg.type, RecordType):
                given.append(arg)
        given.append(const_index(memory))
        found = build(ops.call, given, {"callee": search.name, "types": search.result_types}).results
    for name, inner in asking.items():
        if name == entry:
            chosen: Sequence[Value] = found
        else:
            chosen = [inner.body.add_arg(index) for _ in range(2 * len(loops))]
            inner.arg_attrs += [{} for _ in chosen]
        answers = dict(zip(loops, _pairs(chosen), strict=True))
        for op in inner.walk():
            if op.opdef is ops.call and op.attrs["callee"] in asking:
                for value in chosen:
                    op.add_operand(value)
        _replace_asking(inner.body, answers)
    func.body.set_ops([*start.ops, *func.body.ops])


def _replace_asking(block: Block, answers: dict[str, tuple[Value, Value]]) -> None:
    kept = []
    for op in block.ops:
        for region in op.regions:
            _replace_asking(region, answers)
        if op.opdef is ops.call and op.attrs["callee"] in answers:
            for result, value in zip(op.results, answers[op.attrs["callee"]], strict=True):
                result.replace_uses(value)
            op.drop()
        else:
            kept.append(op)
    block.set_ops(kept)
