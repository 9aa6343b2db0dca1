"""Passes and pipelines by name: what ``adc opt --passes`` takes and ``--list-passes`` shows.

A pipeline is spelled as names with commas between: of passes, and of the pipelines of ``adc.passes.pipelines``. A pass
may have options, which are the fields of its dataclass: ``tile-loops{tile=16,64} cse{memory=false}``.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from adc.ir import ops
from adc.ir.opdef import OpDef
from adc.passes import pipelines
from adc.passes.base import IfChanged, OnPart, Pass, Pipeline, Repeat, Step, passes_of
from adc.passes.checkpointing.count_steps import CountSteps
from adc.passes.checkpointing.outline_steps import OutlineSteps
from adc.passes.ranks.inline_shared import InlineShared
from adc.passes.ranks.split_nests import SplitNests
from adc.passes.simplify.check_finite import CheckFinite
from adc.passes.simplify.mark_forward import MarkForward

PIPELINES: dict[str, Pipeline] = {
    name.lower(): value for name, value in vars(pipelines).items() if name.isupper() and isinstance(value, tuple)
}


PASSES: dict[str, type[Pass]] = {step.name: type(step) for steps in PIPELINES.values() for step in passes_of(steps)}
PASSES |= {kind.name: kind for kind in (MarkForward, OutlineSteps, CheckFinite, InlineShared, SplitNests, CountSteps)}
"""All passes: those of pipelines, in their order, and those that are run between pipelines and last of all."""


def parse_pipeline(text: str) -> Pipeline:
    """The passes that ``text`` names. ``ValueError`` says what is wrong."""
    steps: list[Step] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            raise ValueError(f"{text[at:].strip()!r} is no name of a pass with options, as tile-loops{{tile=16}}")
        name, options = match.group("name"), match.group("options")
        if name in PIPELINES and options is None:
            steps += PIPELINES[name]
        elif name in PASSES:
            steps.append(_with_options(PASSES[name], options or ""))
        elif name in PIPELINES:
            raise ValueError(f"{name} is a pipeline, which has no options")
        else:
            raise ValueError(f"there is no pass or pipeline {name!r}")
        at = match.end()
    return tuple(steps)


_STEP = re.compile(r"\s*(?P<name>[a-z][a-z-]*)\s*(?:\{(?P<options>[^{}]*)\})?\s*(?:,|$)")
_OPTION = re.compile(r"\s*(?P<name>\w+)\s*=\s*(?P<value>\S*)\s*")


def options_of(kind: type[Pass]) -> dict[str, Any]:
    """The fields of a pass that a text can set, with their types."""
    hints = get_type_hints(kind)
    named = [field.name for field in fields(kind) if field.init]  # type: ignore[arg-type]
    return {name: hints[name] for name in named if _can_be_spelled(hints[name])}


def _can_be_spelled(wanted: Any) -> bool:
    origin, parts = get_origin(wanted), get_args(wanted)
    if origin in (Union, types.UnionType) or (isinstance(origin, type) and issubclass(origin, Sequence)):
        return all(_can_be_spelled(part) for part in parts if part is not ...)
    return origin is Literal or wanted in _SPELLED


def _with_options(kind: type[Pass], text: str) -> Pass:
    wanted, given = options_of(kind), {}
    at = 0
    while at < len(text):
        match = _OPTION.match(text, at)
        if match is None:
            raise ValueError(f"{kind.name}: an option is spelled name=value, not {text[at:].strip()!r}")
        name, value = match.group("name"), match.group("value")
        if name not in wanted:
            known = f"its options are {', '.join(wanted)}" if wanted else "it has none"
            raise ValueError(f"{kind.name} has no option {name!r}; {known}")
        try:
            given[name] = _convert(value, wanted[name])
        except ValueError:
            raise ValueError(f"{kind.name}: {name} cannot be {value!r}; it is {spelled(wanted[name])}") from None
        at = match.end()
    try:
        return kind(**given)
    except TypeError:
        needed = [name for name in wanted if name not in given]
        raise ValueError(f"{kind.name} needs the option {' and '.join(needed)}") from None


_BOOLEANS = {"true": True, "on": True, "false": False, "off": False}


def _convert(text: str, wanted: Any) -> Any:
    """``text`` as a value of the type ``wanted``."""
    origin, parts = get_origin(wanted), get_args(wanted)
    if origin in (Union, types.UnionType):
        for part in sorted(parts, key=lambda part: part is str):  # any text is a string
            try:
                return _convert(text, part)
            except ValueError:
                continue
        raise ValueError
    if origin is Literal:
        return next(choice for choice in parts if str(choice) == text) if text in map(str, parts) else _refused()
    if wanted is bool:
        return _BOOLEANS[text] if text in _BOOLEANS else _refused()
    if wanted is types.NoneType:
        return None if text == "none" else _refused()
    if wanted is OpDef:
        return ops.TABLE[text] if text in ops.TABLE else _refused()
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return tuple(_convert(part, parts[0]) for part in text.split(","))
    return wanted(text)


def _refused() -> Any:
    raise ValueError


def spelled(wanted: Any) -> str:
    """How values of a type are written."""
    origin, parts = get_origin(wanted), get_args(wanted)
    if origin in (Union, types.UnionType):
        return " or ".join(map(spelled, parts))
    if origin is Literal:
        return " or ".join(map(str, parts))
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return f"{spelled(parts[0])},..."
    return _SPELLED[wanted]


_SPELLED = {bool: "true or false", types.NoneType: "none", OpDef: "an operation", int: "a number", str: "a name"}


def summary(kind: type[Pass]) -> str:
    """The first sentence of a pass's docstring."""
    paragraph = inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0]
    return re.split(r"(?<=\.)\s", " ".join(paragraph.split()), maxsplit=1)[0].replace("``", "`")


def listing() -> str:
    """The list of all passes and pipelines, for people."""
    lines = ["Passes:"]
    for name, kind in PASSES.items():
        lines.append(f"  {name}: {summary(kind)}")
        lines += [f"      {option}: {spelled(wanted)}" for option, wanted in options_of(kind).items()]
    lines.append("Pipelines:")
    lines += [f"  {name}: {_shown(steps)}" for name, steps in PIPELINES.items()]
    return "\n".join(lines) + "\n"


def _shown(steps: Pipeline) -> str:
    return ", ".join(map(_shown_step, steps))


def _shown_step(step: Step) -> str:
    if isinstance(step, IfChanged):
        return f"{step.step.name} [if it changed anything: {_shown(step.then)}]"
    if isinstance(step, Repeat):
        return f"[until nothing changes: {_shown(step.steps)}]"
    if isinstance(step, OnPart):
        return f"[on a part of the module: {_shown(step.steps)}]"
    return step.name
