"""The questions that patterns of ``match`` ask about their subject (``syntax.matching``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adc.frontend.containers import sequences
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Ref, Static, Tuple, is_dict, known_int
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries.attributes import attribute
from adc.frontend.libraries.rules import Rule, static_of
from adc.frontend.looks import ABSENT, ClassVariable
from adc.frontend.prelude.python_dicts import is_dict_like
from adc.frontend.syntax import matching
from adc.ir import kinds
from adc.ir.builder import current_loc

_THEMSELVES = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


def _has_length(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    items = sequences.snapshot(frame, args[0])
    length, more = known_int(args[1]), static_of(args[2], "a bool")
    if not isinstance(items, Tuple) or length is None:
        return Static(False)
    return Static(len(items.items) == length or (more and len(items.items) > length))


def _has_keys(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    subject, *keys = args
    if isinstance(subject, Ref) and subject.kind == "object" and is_dict_like(subject.cls):
        message = "a pattern of a dict with keys that the run computes is not supported"
        raise refuse(current_loc(), message, "write if key in d", kind=kinds.UNSUPPORTED_STATEMENT)
    if not is_dict(subject):
        return Static(False)
    items = sequences.dict_items(frame, subject)  # type: ignore[arg-type]
    return Static(all(sequences.constant_key(key) in items for key in keys))


def _without_keys(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    subject, *keys = args
    left = {sequences.constant_key(key) for key in keys}
    items = sequences.dict_items(frame, subject)  # type: ignore[arg-type]
    return sequences.new_dict(frame, {name: v for name, v in items.items() if name not in left})


def _part_of(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    subject, of, position = args
    cls, k = static_of(of, "a class"), known_int(position)
    assert k is not None
    if cls in _THEMSELVES and k == 0:
        return subject
    found, where = frame.tracer.looks.member(cls, "__match_args__") if isinstance(cls, type) else ((), object)
    if found is ABSENT or len(found) <= k:
        many = 0 if found is ABSENT else len(found)
        message = f"{cls.__name__}() accepts {many} positional sub-patterns, not {k + 1}, for {describe_type(subject)}"
        raise refuse(current_loc(), message, "name the attribute: C(a=...)", kind=kinds.WRONG_TYPE)
    frame.tracer.looks.at(f"{where.__name__}.__match_args__", ClassVariable(where, "__match_args__"), found)
    return attribute(frame, subject, found[k])


RULES: dict[Any, Rule] = {
    matching.has_length: _has_length,
    matching.has_keys: _has_keys,
    matching.without_keys: _without_keys,
    matching.part_of: _part_of,
}
