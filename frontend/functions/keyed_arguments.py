"""Arguments that are keys of dicts in the function that is called: known there, or computed, as the dicts are then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from adc.frontend.data.compounds import Contents
from adc.frontend.data.values import AbstractValue, Compound, Ref, Scalar, Static
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame, NeedsConstant
from adc.frontend.functions.signature import as_passed, prepare
from adc.frontend.objects import growing, heap
from adc.ir import kinds
from adc.ir.builder import current_loc
from adc.ir.lazy_dataclass import dataclass


def refused() -> Exception:
    return refuse(
        current_loc(),
        "the keys of this dict must be known when the function is compiled",
        "make the dict in the function that computes the keys, and return lists: list(d), list(d.values())",
        kind=kinds.NOT_CONSTANT,
    )


def keep_elsewhere(frame: Frame, ref: Ref) -> Exception:
    """Have an object that a callee was given be kept as that needs it, from where it is made on. What to raise if that
    cannot be."""
    if ref.kind == "dict":
        frame.want_keyed(ref)
        return refused()
    frame.want_pool(ref)
    frame.want_list(ref)
    return growing.not_made_here(ref)


@dataclass
class Constants:
    """The parameters of a function that it needs to know. ``keys``: those that are keys of a dict, and the number of
    the dict among the objects that are given. ``counts``: whether it is told the ints that its callers know,
    because numbers of dimensions or of items may depend on them."""

    names: set[str] = field(default_factory=set)
    keys: dict[str, int] = field(default_factory=dict)
    counts: bool = False

    def add(self, name: str, keyed: int | None) -> None:
        self.names.add(name)
        if keyed is not None:
            self.keys[name] = keyed

    def passed(
        self, frame: Frame, arguments: Mapping[str, AbstractValue]
    ) -> tuple[list[AbstractValue], set[str]]:
        """The arguments as they are passed, and which of them the callee needs to know in this call. Dicts get keys at
        run time where these are not known: the caller is traced again, unless they do already."""
        late = {name for name in self.keys if not _is_knowable(arguments[name])}
        given = _given(frame, arguments) if self.keys else []
        for name in sorted(late):
            if self.keys[name] < len(given) and given[self.keys[name]].kind == "dict":
                raise keep_elsewhere(frame, given[self.keys[name]])
        constants = self.names - late
        try:
            return [self.given(name, v, constants) for name, v in arguments.items()], constants
        except NeedsConstant as need:
            outer = [frame.given_number(given[number]) for number in self.keys.values() if number < len(given)]
            need.keyed = next((number for number in outer if number is not None), None)
            raise

    def given(self, name: str, v: AbstractValue, constants: set[str]) -> AbstractValue:
        """An argument as it is passed. The callee needs to know the values of those in ``constants``."""
        return _with_counts(v) if self.counts and name not in constants else as_passed(name, v, constants)


def _is_count(v: AbstractValue) -> bool:
    return isinstance(v, Static) and type(v.value) is int


def _has_counts(v: AbstractValue) -> bool:
    if isinstance(v, Contents) and v.form.grows:
        return False
    return any(map(_has_counts, v.items)) if isinstance(v, Compound) else _is_count(v)


def _with_counts(v: AbstractValue) -> AbstractValue:
    """An argument as it is passed, its known ints as they are."""
    if not _has_counts(v):
        return prepare(v)
    return v.of(map(_with_counts, v.items)) if isinstance(v, Compound) else v


def _is_knowable(v: AbstractValue) -> bool:
    if isinstance(v, Compound):
        return all(map(_is_knowable, v.items))
    return isinstance(v, Static | Ref) or (isinstance(v, Scalar) and v.pin is not None)


def _given(frame: Frame, arguments: Mapping[str, AbstractValue]) -> list[Ref]:
    numbers: dict[str, int] = {}
    heap.pack(frame, [prepare(v) for v in arguments.values()], numbers)
    return [frame.heap.refs[key] for key in numbers]
