"""Schedules from a number of bytes: chosen when the function is called, before it begins.

Functions of steps whose schedule is to be chosen call ``@adc.schedule.K``, which says "one snapshot, pieces of one
step" as long as nothing else is known. ``choose_schedules`` replaces it by three functions:

- ``@f.footprint`` computes the peak of a run of ``f`` in bytes, and the number of steps of each loop, from the extents
  and numbers among the arguments and a schedule of each loop (see ``adc.passes.checkpointing.footprint``);
- ``@f.schedules`` searches (see ``adc.passes.checkpointing.search``). If nothing fits it raises a MemoryError that says
  how much would;
- ``f`` itself calls the search, and hands the schedules down to the functions of steps.

Several loops get equal parts of what is left after each has the least that it needs; what one does not use is left to
those after it.
"""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import build, insert_at
from adc.ir.callgraph import reachable
from adc.ir.core import Block, Func, Module, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import MemRefType, RecordType, Type, index
from adc.passes.checkpointing.conventions import PLANS
from adc.passes.checkpointing.footprint import MOST, Footprint
from adc.passes.checkpointing.schedule import FRUGAL, OPEN, UNDECIDED, WIDTH
from adc.passes.checkpointing.search import Search

_NUMBERS = ("snapshots", "steps", "room", "state", "tape")

TOO_SMALL = "the gradient needs at least {} bytes; memory= allows {}"


@dataclass(frozen=True)
class Chosen:
    """Names of functions: the footprint and the search of an entry; and its loops, by the functions they call.

    ``open_loops``: whether the number of steps of each is unknown beforehand.
    """

    footprint: str
    search: str
    loops: tuple[str, ...]
    open_loops: tuple[bool, ...]


def choose_schedules(
    module: Module, entry: str, memory: int, threads: int | None = None, measured: Func | None = None
) -> Chosen:
    """Let ``entry``, which is final, choose the schedules of its loops so that it stays within ``memory`` bytes.

    ``threads``: None if the number is known only at run time. ``measured``: a function that is to stay within the
    limit instead; it has the same arguments, calls ``entry``, and does more after that. Raises ``Unsized`` if memory
    needs cannot be known beforehand.
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
    """Add the function that computes the bytes that ``entry``, which is final, takes, from the numbers among its
    arguments and the extents of the arrays, except shadows, which have the same extents.

    ``chosen`` is the result of ``choose_schedules`` with ``memory``. If no machine has so much memory, the function
    returns ``MOST``, or with ``fails`` raises a MemoryError. Raises ``Unsized``.
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
        if chosen is not None:
            # The stand-in for tapes that share their room with snapshots takes a little more than they do.
            peak = ops.minsi(peak, const_index(memory))
        if fails:
            attrs = {"error": "MemoryError", "message": "no machine has the memory that it takes"}
            build(ops.assert_, [ops.cmpi(peak, const_index(MOST), predicate="slt")], attrs)
        build(ops.return_, [peak])
    return module.add(made)


def _sizes(func: Func) -> list[tuple[Type, str]]:
    """Types and names of what is known about the arguments beforehand: numbers, and extents of arrays."""
    return [pair for arg in func.args for pair in _sizes_of(arg)]


def _sizes_of(arg: Value) -> list[tuple[Type, str]]:
    """The same for one argument."""
    if isinstance(arg.type, MemRefType):
        return [(index, f"{arg.hint}_{d}") for d in range(arg.type.rank)]
    return [] if isinstance(arg.type, RecordType) else [(arg.type, arg.hint)]


def _footprint(module: Module, func: Func, loops: Sequence[str], threads: int | None) -> Func:
    sizes = _sizes(func)
    schedules = [(index, f"{what}_{k}") for k in range(len(loops)) for what in _NUMBERS]
    inputs = [*sizes, *schedules]
    made = Func(
        module.unique_name(f"{func.name}.footprint"),
        [t for t, _ in inputs],
        [index] * (1 + 2 * len(loops)),
        [hint for _, hint in inputs],
        func.loc,
    )
    asked = dict(zip(loops, _schedules(made.args[len(sizes) :]), strict=True))
    with insert_at(made.body, func.loc):
        counts: dict[str, Value] = {}
        blocks: dict[str, Value] = {}

        def seen(name: str, steps: Value) -> None:
            counts[name] = ops.maxsi(counts[name], steps) if name in counts else steps

        def found(name: str, size: Value) -> None:
            blocks[name] = ops.minsi(blocks[name], size) if name in blocks else size

        peak = Footprint(module, asked, seen, found, threads).peak(func, made.args[: len(sizes)])
        numbers = (known.get(name) or const_index(0) for known in (counts, blocks) for name in loops)
        build(ops.return_, [peak, *numbers])
    made.attrs.update({"adc.cold": True, "adc.noinline": True})
    return module.add(made)


def _schedules(values: Sequence[Value]) -> list[Sequence[Value]]:
    """The numbers of each loop."""
    return [values[k : k + WIDTH] for k in range(0, len(values), WIDTH)]


# The search -----------------------------------------------------------------------------------------------------------


def _search(module: Module, entry: str, footprint: Func, open_loops: Sequence[bool]) -> Func:
    """It takes the arguments of the footprint, with the number of bytes in place of schedules. ``open_loops``: whether
    the number of steps of each loop is unknown beforehand."""
    loops = len(open_loops)
    sizes = footprint.args[: len(footprint.args) - WIDTH * loops]
    func = Func(
        module.unique_name(f"{entry}.schedules"),
        [*(v.type for v in sizes), index],
        [index] * (WIDTH * loops),
        [*(v.hint for v in sizes), "memory"],
        footprint.loc,
    )
    with insert_at(func.body, func.loc):
        *given, allowed = func.args
        search = Search(module, footprint, given)
        chosen = [const_index(n) for n in FRUGAL * loops]
        least, *steps = search.measured(chosen)
        attrs = {"error": "MemoryError", "message": TOO_SMALL}
        build(ops.assert_, [ops.cmpi(least, allowed, predicate="sle"), least, allowed], attrs)
        # It is not known what a loop of unknown length can use: the others come first.
        for n, (is_open, k) in enumerate(sorted(zip(open_loops, range(loops), strict=True)), 1):
            part = ops.divsi(ops.muli(allowed - least, const_index(n)), const_index(loops))
            choose = search.open_loop if is_open else search.loop
            chosen = choose(k, chosen, steps[k], least + part)
            if not any(open_loops):
                chosen = search.shared(k, chosen, steps[k], least + part, more=n < loops)
        build(ops.return_, chosen)
    func.attrs.update({"adc.cold": True, "adc.noinline": True, PLANS: True})
    return module.add(func)


# Handing down ---------------------------------------------------------------------------------------------------------


def _hand_down(module: Module, entry: str, search: Func, memory: int, loops: Sequence[str]) -> None:
    """Let ``entry`` call the search, and pass what it finds to all functions in between as arguments."""
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
            chosen = [inner.body.add_arg(index) for _ in range(WIDTH * len(loops))]
            inner.arg_attrs += [{} for _ in chosen]
        answers = dict(zip(loops, _schedules(chosen), strict=True))
        for op in inner.walk():
            if op.opdef is ops.call and op.attrs["callee"] in asking:
                for value in chosen:
                    op.add_operand(value)
        _replace_asking(inner.body, answers)
    func.body.set_ops([*start.ops, *func.body.ops])


def _replace_asking(block: Block, answers: dict[str, Sequence[Value]]) -> None:
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
