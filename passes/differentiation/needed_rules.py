"""Which derivative rules the derivatives that follow ask for.

A derivative needs the rules of the functions that are called in differentiated code, in one mode. The code of these
rules is not differentiated itself, unless another derivative follows: forward mode of a gradient needs the frules of
what rrules and pullbacks call, but not the pullbacks of these. Rules that no derivative asks for are often most of a
module, and would be prepared in vain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from adc.ir import ops
from adc.ir.attached import ELSEWHERE, FORWARD, MARKS, Attached, Modes, attached, drop_unmentioned
from adc.ir.core import Func, Module
from adc.ir.nesting import of_kinds

_IN_REVERSE = "adc.rrule", "adc.pullback"
_CALLS = frozenset({ops.call, ops.ruled})


def keep_needed(module: Module, entry: str, modes: Modes) -> None:
    """Remove the rules that derivatives of ``entry`` in these modes do not need."""
    needed: dict[str, set[str]] = {}
    expanded = _expanded(module)
    seen = set[tuple[str, Modes]]()
    work = [(entry, modes)]
    while work:
        if (this := work.pop()) in seen:
            continue
        seen.add(this)
        code, left = this
        for name in _called(module.funcs[code]):
            rules = attached(module.funcs[name])
            if rules is None:
                work.append((name, left))
                continue
            # A call that one derivative leaves as it is may be differentiated by one of the next. Of rules that are
            # kept elsewhere the next derivative brings those that it needs.
            last = len(left) if ELSEWHERE not in module.funcs[name].attrs else int(left == modes)
            for k, mode in enumerate(left[:last]):
                needed.setdefault(name, set()).add(mode)
                parts = rules.functions if name in expanded else _parts(rules, mode)
                work += [(part, left[k + 1 :]) for part in parts]
    for func in module.funcs.values():
        rules = attached(func)
        if rules is None or func.name in expanded:
            continue
        of = needed.get(func.name)
        if of is None:
            _drop(func, MARKS if len(modes) == 1 or ELSEWHERE not in func.attrs else (*_IN_REVERSE, "adc.frule"))
        elif not any(name in _parts(rules, mode) for mode in of for name in (rules.rrule, rules.pullback)):
            _drop(func, _IN_REVERSE)
        if of is not None and FORWARD not in of:
            _drop(func, ("adc.frule",))
    drop_unmentioned(module, [entry])


def without_rules(module: Module, roots: Sequence[str]) -> Module:
    """What ``roots`` need of a module when all derivatives have been taken. What is left of rules is that a function
    had some, for the pass ``drop-rules``, and those of calls that were expanded."""
    expanded = _expanded(module)
    for func in module.funcs.values():
        if func.name not in expanded:
            _drop(func, (*_IN_REVERSE, "adc.frule"))
    drop_unmentioned(part := Module(dict(module.funcs)), roots)
    return part


def _parts(rules: Attached, mode: str) -> list[str]:
    """The functions by which a derivative in this mode goes: of numbers, forward mode goes by the pullback if there is
    nothing else."""
    if mode == FORWARD and rules.frule is not None:
        return [rules.frule]
    return [name for name in (rules.rrule, rules.pullback) if name is not None]


def _expanded(module: Module) -> set[str]:
    """The functions of whose calls ``adc.ruled`` is left, which names their rules."""
    return {op.attrs["callee"] for func in module.funcs.values() for op in of_kinds(func.body, {ops.ruled})}


def _drop(func: Func, marks: Sequence[str]) -> None:
    for mark in marks:
        func.attrs.pop(mark, None)


def _called(func: Func) -> Iterator[str]:
    yield from dict.fromkeys(op.attrs["callee"] for op in of_kinds(func.body, _CALLS))
