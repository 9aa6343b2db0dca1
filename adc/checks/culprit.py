"""Which operation, or rule, has a wrong derivative?

A run of the interpreter records the inputs of each call and each operation. Then functions with rules are tested alone
with these inputs, then operations, then functions without rules, callees first. So a wrong rule is found wherever it is
used: in callees, in loops, and however its results are used. Everything runs in the reference interpreter, so this is
for small inputs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

from adc.checks.recording import Recording, record
from adc.checks.shifts import last_wrong
from adc.checks.suspects import FORWARD, REVERSE, Suspect, Wrong, alone
from adc.frontend.traced import Traced
from adc.ir import ops
from adc.ir.attached import Attached, attached
from adc.ir.callgraph import components
from adc.ir.core import Loc, Module, Op
from adc.ir.diagnostics import Note, render
from adc.ir.lazy_dataclass import dataclass
from adc.passes.calls.drop_rules import without_marks
from adc.passes.checkpointing.outline_steps import without_schedules

_FIRST, _LATER = 12, 400  # inputs that are tried for a function or operation, up to the first and second round
_FUNCTION = 3  # the same for a function without rules
_SECONDS = 20.0  # time limit


@dataclass(frozen=True)
class Culprit:
    """An operation, a call of a function with rules, or a function, whose derivative disagrees with differences.

    ``what`` is the operation, or the function with parentheses; ``loc`` its line. ``derivative`` is adc's,
    ``difference`` that of finite differences, with respect to ``argument``, or along a random direction if that is
    empty. ``mode`` is "forward mode" or "reverse mode". ``rule`` and ``rule_loc`` are the rule that gives the
    derivative and its line; empty and None without a user's rule. ``calls`` are the calls that lead there from the
    function, outermost first.
    """

    what: str
    loc: Loc
    derivative: float
    difference: float
    argument: str = ""
    mode: str = REVERSE
    rule: str = ""
    rule_loc: Loc | None = None
    calls: tuple[Loc, ...] = ()
    value: bool = False

    @property
    def message(self) -> str:
        """What is wrong, without its place."""
        subject = f"the {self.rule}" if self.rule else f"the derivative of {self.what}"
        if self.value:
            subject = f"the value that the {self.rule} computes" if self.rule else f"the value of {self.what}"
            said = f"{self.derivative:.9g}, where the function gives {self.difference:.9g} (a weighted sum)"
        else:
            by = f" by '{self.argument}'" if self.argument else ""
            said = f"{self.derivative:.9g}{by}, where finite differences give {self.difference:.9g}"
        return f"{subject}: {self.mode} gives {said}"

    @property
    def notes(self) -> tuple[Note, ...]:
        """The rule, and the calls that lead to the line."""
        rule = [Note("the rule is here", self.rule_loc)] if self.rule_loc is not None else []
        return (*rule, *(Note("called here", loc) for loc in reversed(self.calls)))

    def __str__(self) -> str:
        return render("wrong", self.message, self.loc, notes=self.notes)


def find(traced: Traced, args: Sequence[Any], tolerance: float, *, rules_only: bool = False) -> Culprit | None:
    """The operation or function that has a wrong derivative for these values of the IR arguments; None if all are
    right.

    Derivatives agree if they differ by at most ``tolerance`` of the larger one. ``rules_only``: only functions with
    rules are tested, each with a few inputs. Changes the module of ``traced``.
    """
    without_marks(traced.module)
    module = without_schedules(traced.module)
    if rules_only and all(attached(func) is None for func in module.funcs.values()):
        return None
    recording = record(module, traced.entry, args)
    search = _Search(module, traced.entry, args, recording, tolerance)
    if rules_only:
        return search.rules(0, _FIRST)
    found = search.rules(0, _FIRST) or search.operations(0, _FIRST) or search.rules(_FIRST, _LATER)
    if found is None:
        found = search.functions()
        # It may still be an operation, at one of the inputs that were not tried yet.
        found = found and (search.operations(_FIRST, _LATER) or found)
    return found


class _Search:
    def __init__(self, module: Module, entry: str, args: Sequence[Any], recording: Recording, tolerance: float) -> None:
        self.module = module
        self.entry = entry
        self.args = list(args)
        self.recording = recording
        self.tolerance = tolerance
        self.callers = recording.callers()
        self.suspects: dict[Any, Suspect] = {}
        self.end = time.monotonic() + _SECONDS

    def rules(self, first: int, last: int) -> Culprit | None:
        """A call of a function with a wrong rule."""
        for name, calls in self.callers.items():
            rules = attached(self.module.funcs[name])
            if rules is None:
                continue
            suspect = self._suspect(name, lambda name=name: name)  # type: ignore[misc]
            for op, inputs in self._tried(calls, first, last):
                wrong = suspect.wrong(inputs, self.tolerance, each=True)
                if wrong is not None:
                    return self._named(f"{name.replace('.ruled', '')}()", op, suspect, wrong, rules)
        return None

    def operations(self, first: int, last: int) -> Culprit | None:
        """An operation whose own rule is wrong."""
        alike: dict[Any, list[Op]] = {}
        for op in self.recording.inputs:
            if op.opdef is not ops.call and op.results[0].type.is_float:
                alike.setdefault(_kind(op), []).append(op)
        for kind, members in alike.items():
            suspect = self._suspect(kind, lambda op=members[0]: alone(self.module, op).name)  # type: ignore[misc]
            for op, inputs in self._tried(members, first, last):
                wrong = suspect.wrong(_free(op, inputs), self.tolerance, each=True)
                if wrong is not None:
                    return self._named(op.opdef.name, op, suspect, wrong, None)
        return None

    def functions(self) -> Culprit | None:
        """A function whose derivative is wrong although those of its operations are right."""
        for name in [name for component in components(self.module) for name in component]:
            calls = self.callers.get(name, [])
            if attached(self.module.funcs[name]) is not None or not (calls or name == self.entry):
                continue
            tried = [(None, self.args)] if name == self.entry else list(self._tried(calls, 0, _FUNCTION))
            suspect = self._suspect(name, lambda name=name: name)  # type: ignore[misc]
            for call, inputs in tried:
                wrong = suspect.wrong(inputs, self.tolerance, each=False)
                if wrong is not None:
                    return self._inside(name, call, inputs, wrong)
        return None

    def _inside(self, name: str, call: Op | None, inputs: Sequence[Any], wrong: Wrong) -> Culprit:
        found = last_wrong(self.module, name, inputs, self.tolerance, wrong.mode) if not wrong.value else None
        calls = (*self._way(self.recording.owners[call]), call.loc) if call is not None else ()
        if found is None:
            loc = self.module.funcs[name].loc
            return Culprit(f"{name}()", loc, wrong.found, wrong.truth, "", wrong.mode, calls=calls, value=wrong.value)
        op, loc, derivative, difference = found
        what = f"what uses this value in {name}()" if op is None else op.opdef.name
        if op is not None and op.opdef is ops.call:
            what = f"{op.attrs['callee'].replace('.ruled', '')}()"
        return Culprit(what, loc, derivative, difference, "", wrong.mode, calls=calls)

    # Helpers ---------------------------------------------------------------------------------------------------------

    def _suspect(self, key: Any, name: Callable[[], str]) -> Suspect:
        if key not in self.suspects:
            self.suspects[key] = Suspect(self.module, name())
        return self.suspects[key]

    def _tried(self, members: Sequence[Op], first: int, last: int) -> Iterator[tuple[Op, list[Any]]]:
        """Recorded inputs, taken from all members in turn."""
        rows = zip_longest(*([(op, inputs) for inputs in self.recording.inputs[op]] for op in members))
        every = [pair for row in rows for pair in row if pair is not None]
        # Spread over the run, so that errors at late inputs are found in the first round, too.
        step = max(1, len(every) // _FIRST)
        chosen = every[::step][:_FIRST]
        if first:
            known = set(map(id, chosen))
            chosen = [pair for pair in every if id(pair) not in known][: last - first]
        for pair in chosen[: last - first]:
            if time.monotonic() > self.end:
                return
            yield pair

    def _named(self, what: str, op: Op, suspect: Suspect, wrong: Wrong, rules: Attached | None) -> Culprit:
        rule, place = "", None
        if rules is not None:
            # Listed in the order reverse, forward; a rule that gives both modes is alone.
            texts = rules.text.split("; ")
            ahead = wrong.mode == FORWARD and rules.frule is not None
            rule = texts[-1] if ahead else texts[0]
            own = rules.frule if ahead else rules.rrule or rules.frule
            place = self.module.funcs[own].loc if own is not None else None
        argument = suspect.target.args[wrong.position].hint if wrong.position is not None else ""
        calls = self._way(self.recording.owners[op])
        return Culprit(what, op.loc, wrong.found, wrong.truth, argument, wrong.mode, rule, place, calls, wrong.value)

    def _way(self, name: str) -> tuple[Loc, ...]:
        """The calls that lead to a function; of each function the first call."""
        way: list[Loc] = []
        seen = {self.entry}
        while name not in seen and self.callers.get(name):
            seen.add(name)
            call = self.callers[name][0]
            way.append(call.loc)
            name = self.recording.owners[call]
        return tuple(reversed(way))


def _kind(op: Op) -> Any:
    """Operations of one kind have the same attributes and constants, and operands of the same types."""
    operands = tuple(_constant(op, k) if v.op is not None else str(v.type) for k, v in enumerate(op.operands))
    return op.opdef.name, operands, tuple(sorted((k, str(v)) for k, v in op.attrs.items())), _sharing(op)


def _constant(op: Op, k: int) -> Any:
    made = op.operands[k].op
    if made is not None and made.opdef is ops.constant:
        return "constant", repr(made.attrs["value"])
    return str(op.operands[k].type)


def _sharing(op: Op) -> tuple[int, ...]:
    """A key that says which operands are the same value."""
    order = list(dict.fromkeys(op.operands))
    return tuple(order.index(v) for v in op.operands)


def _free(op: Op, inputs: Sequence[Any]) -> list[Any]:
    """The values of the operands that are not constants, each once."""
    found = {v: x for v, x in zip(op.operands, inputs) if v.op is None or v.op.opdef is not ops.constant}
    return list(found.values())
