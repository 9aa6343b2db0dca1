"""The derivative rules that a function of the IR carries, as attributes that name other functions.

- ``adc.rrule``: takes what the function takes, and returns what it returns, then the *residuals*;
- ``adc.pullback``: takes the residuals, then the cotangents of the float results (numbers and memrefs of floats), in
  order; returns the cotangents of the arguments ``adc.cotangents``;
- ``adc.frule``: takes what the function takes, then tangents of the arguments ``adc.tangents``; returns what it
  returns, then the tangents of the float results;
- ``adc.constant``: positions of float arguments without a derivative: they must not vary;
- ``adc.rule``: what messages call the rules;
- ``adc.rules``: the name under which a library keeps all of these except the text, until a derivative needs them
  (``attach``).

A function that has rules does not write to its arguments, and what it returns shares no memory with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adc.ir import ops
from adc.ir.callgraph import closure
from adc.ir.core import Func, Module, Op, Value
from adc.ir.externals import SYMBOL
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import of_kinds
from adc.ir.rewrite import clone_func
from adc.ir.types import MemRefType, Type

DERIVATIVE = "adc.derivative"  # of a function that is only declared: the function whose forward mode it is
TANGENT = "adc.tangent"  # of an argument of a function with tangents: the position of that whose tangent it is
ELSEWHERE = "adc.rules"
_GIVEN = ("adc.rrule", "adc.pullback", "adc.cotangents", "adc.frule", "adc.tangents", "adc.constant")
MARKS = ("adc.rule", ELSEWHERE, *_GIVEN)

REVERSE, FORWARD = "reverse", "forward"
Modes = tuple[str, ...]
"""Derivatives to be taken, one of the other, in this order."""


def is_float(t: Type) -> bool:
    """Whether a value of this type may have a cotangent."""
    return t.is_float or (isinstance(t, MemRefType) and t.element.is_float)


@dataclass(frozen=True)
class Attached:
    """The rules of one function; ``arguments`` is how many it takes."""

    text: str
    rrule: str | None
    pullback: str | None
    cotangents: tuple[int, ...]
    frule: str | None
    tangents: tuple[int, ...]
    constant: tuple[int, ...]

    @property
    def functions(self) -> list[str]:
        return [name for name in (self.rrule, self.pullback, self.frule) if name is not None]


def attached(func: Func) -> Attached | None:
    """The rules of a function, if it has any."""
    attrs = func.attrs
    if "adc.rule" not in attrs:
        return None
    return Attached(
        attrs["adc.rule"],
        attrs.get("adc.rrule"),
        attrs.get("adc.pullback"),
        tuple(attrs.get("adc.cotangents", ())),
        attrs.get("adc.frule"),
        tuple(attrs.get("adc.tangents", ())),
        tuple(attrs.get("adc.constant", ())),
    )


def is_constant(func: Func) -> bool:
    """Whether a function that is compiled by itself, and so writes to no memory, returns nothing that has
    derivatives."""
    return SYMBOL in func.attrs and not any(map(is_float, func.result_types))


_MENTION = frozenset({ops.call, ops.ruled, ops.gradient})


def mentioned(func: Func) -> list[str]:
    """The functions that ``func`` calls, names as rules, or is to become a derivative of."""
    found = [op.attrs["callee"] for op in of_kinds(func.body, _MENTION)]
    if DERIVATIVE in func.attrs:
        found.append(func.attrs[DERIVATIVE])
    rules = attached(func)
    return list(dict.fromkeys([*found, *(rules.functions if rules is not None else ())]))


def drop_unmentioned(module: Module, roots: Sequence[str]) -> None:
    """Remove the functions that no root calls or names, directly or indirectly."""
    keep = set(closure(module, roots, mentioned))
    for name in [name for name in module.funcs if name not in keep]:
        del module.funcs[name]


def attach(
    module: Module,
    roots: Sequence[str],
    find: Callable[[str], tuple[Module, str]],
    *,
    deep: bool = False,
    again: bool = False,
) -> None:
    """Bring the rules of the functions that ``roots`` call, where they are kept elsewhere, into the module.

    ``find`` returns the module in which a function has rules, and its name there. ``deep``: also bring the rules of
    what rules call, which derivatives of a derivative need. ``again``: the next derivative will ask for rules, too.
    """
    known = {func.attrs[ELSEWHERE]: func.name for func in module.funcs.values() if ELSEWHERE in func.attrs}
    known |= {func.attrs[SYMBOL]: func.name for func in module.funcs.values() if SYMBOL in func.attrs}
    done: set[str] = set()
    work = closure(module, roots, mentioned)
    while work:
        func = module.funcs[work.pop(0)]
        if func.name in done or ELSEWHERE not in func.attrs:
            continue
        done.add(func.name)
        source, name = find(func.attrs[ELSEWHERE] if again else func.attrs.pop(ELSEWHERE))
        kept = source.funcs[name]
        rules = attached(kept)
        assert rules is not None
        names = {name: func.name}
        new: list[Func] = []
        for other in closure(source, rules.functions, mentioned):
            if other == name:
                continue
            part = source.funcs[other]
            symbol = part.attrs.get(ELSEWHERE) or part.attrs.get(SYMBOL)
            if symbol is None or symbol not in known:
                new.append(module.add(clone_func(part, module.unique_name(other))))
                known[symbol or other] = new[-1].name
            names[other] = known[symbol or other]
        for mark in _GIVEN:
            if mark in kept.attrs:
                given = kept.attrs[mark]
                func.attrs[mark] = names[given] if isinstance(given, str) else given
        for made in new:
            for op in of_kinds(made.body, _MENTION):
                op.set_attr("callee", names[op.attrs["callee"]])
        if deep:
            work += [made.name for made in new]


def detach(module: Module) -> None:
    """Let rules that are kept elsewhere be brought again, as they are there."""
    for func in module.funcs.values():
        if ELSEWHERE in func.attrs:
            for mark in _GIVEN:
                func.attrs.pop(mark, None)


# adc.ruled: see adc.ir.ops -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parts:
    """The operands of ``adc.ruled``."""

    values: tuple[Value, ...]
    residuals: tuple[Value, ...]
    arguments: tuple[Value, ...]


def parts(op: Op, module: Module) -> Parts:
    count, first = len(op.results), len(op.operands) - len(module.funcs[op.attrs["callee"]].args)
    return Parts(op.operands[:count], op.operands[count:first], op.operands[first:])


def check(func: Func, module: Module) -> str | None:
    """What is wrong with the rules of a function, if anything."""
    rules = attached(func)
    if rules is None:
        return None
    missing = [name for name in rules.functions if name not in module.funcs]
    if missing:
        return f"there is no function @{missing[0]}"
    args, results = [a.type for a in func.args], list(func.result_types)
    positions = (*rules.cotangents, *rules.tangents, *rules.constant)
    if any(not (isinstance(k, int) and 0 <= k < len(args) and is_float(args[k])) for k in positions):
        return "a rule names a position that is not a float argument"
    floats = [t for t in results if is_float(t)]
    if (rules.rrule is None) != (rules.pullback is None):
        return "an rrule goes with a pullback"
    if rules.rrule is not None and rules.pullback is not None:
        first, second = module.funcs[rules.rrule], module.funcs[rules.pullback]
        if [a.type for a in first.args] != args or list(first.result_types[: len(results)]) != results:
            return f"@{first.name} does not take and return what the function does"
        taken = [a.type for a in second.args]
        residuals = list(first.result_types[len(results) :])
        if taken[: len(residuals)] != residuals or not _alike(taken[len(residuals) :], floats):
            return f"@{second.name} does not take the residuals, then cotangents of the results"
        if not _alike(second.result_types, [args[k] for k in rules.cotangents]):
            return f"@{second.name} does not return the cotangents of the arguments"
    if rules.frule is not None:
        third = module.funcs[rules.frule]
        if [a.type for a in third.args] != [*args, *(args[k] for k in rules.tangents)]:
            return f"@{third.name} does not take the arguments, then tangents"
        given = list(third.result_types)
        if given[: len(results)] != results or not _alike(given[len(results) :], floats):
            return f"@{third.name} does not return the results, then their tangents"
    return None


def _alike(found: list[Type] | tuple[Type, ...], wanted: list[Type]) -> bool:
    """Whether types are equal except for layouts."""

    def plain(t: Type) -> object:
        return (t.element, t.rank) if isinstance(t, MemRefType) else t

    return list(map(plain, found)) == list(map(plain, wanted))
