"""Objects that can be mutated: lists, dicts, instances of classes.

A ``Ref`` is the identity of an object; its contents at the insertion point are the frame's variable ``ref.key``, a
``Contents``. So branches and loops merge and carry the contents of objects like variables. Where values are passed from
one function to another, or to Python, they are *packed*: the first occurrence of an object becomes its ``Contents``,
numbered; later ones refer to that number.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from adc.frontend.data.callables import Closure
from adc.frontend.data.compounds import Contents
from adc.frontend.data.values import AbstractValue, Compound, Poison, Ref, Static, Tuple, Unbound
from adc.frontend.errors import refuse
from adc.frontend.forms import Form
from adc.frontend.frame import Frame
from adc.frontend.sites import OtherPools
from adc.ir import kinds
from adc.ir.builder import current_loc
from adc.ir.core import Loc

ITEM = "it is in a list whose length depends on the run, which keeps a copy"  # why an item cannot be changed

PREFIX = "#"  # of the keys of objects among a frame's variables


def is_cell(name: str) -> bool:
    """Whether ``name`` is not a variable of the program but the key of an object's contents."""
    return name.startswith(PREFIX)


def reference(frame: Frame, form: Form, protected: str = "", *, caller: bool = False) -> Ref:
    """The identity of a new object, which has no contents yet."""
    frame.heap.made += 1
    ref = Ref(f"{PREFIX}{frame.heap.made:06d}", form.kind, form.cls, protected, caller)
    frame.heap.refs[ref.key] = ref
    frame.heap.sites[ref.key] = current_loc()
    return ref


def new(frame: Frame, form: Form, items: Iterable[AbstractValue]) -> Ref:
    """A new object."""
    ref = reference(frame, form)
    frame.env[ref.key] = Contents(tuple(items), form)
    return ref


class Unroll(Exception):
    """The loop ``stmt`` changes the number of items of a list, dict or object, so it must be unrolled, which is
    possible."""

    def __init__(self, stmt: ast.stmt) -> None:
        super().__init__()
        self.stmt = stmt


def unroll(frame: Frame, loops: Sequence[Any]) -> None:
    """Raise ``Unroll`` for the innermost of the loops that can be unrolled, if there is one."""
    for carry in reversed(loops):
        if carry.stmt in frame.unrollable:
            raise Unroll(carry.stmt)


def contents(frame: Frame, ref: Ref) -> Contents:
    """The contents of an object at the insertion point."""
    value = frame.env.get(ref.key)
    if isinstance(value, Poison):
        unroll(frame, frame.loops)
        frame.want_pool(ref)
        frame.want_list(ref)
        if ref.kind == "dict":
            frame.want_keyed(ref)
        raise unreadable(frame, value)
    if isinstance(value, Unbound):
        value = value.value
    if not isinstance(value, Contents):
        message = f"this {ref.cls.__name__} was made in a place whose objects are not known here"
        raise refuse(current_loc(), message, kind=kinds.UNBOUND_VARIABLE)
    return value


def unreadable(frame: Frame, value: Poison, loc: Loc | None = None) -> Exception:
    """The error to raise if ``value`` is read. The function is traced again instead if that may help."""
    for ref in value.objects:
        frame.want_pool(ref)
    frame.want_lists_in(*value.objects)
    error = refuse(loc or current_loc(), value.reason, value.help, value.notes, kind=value.kind)
    error.divides = value.divides
    return error


def _other_way(ref: Ref) -> str:
    """What to write instead of a change of a protected object."""
    if ref.protected != ITEM:
        return "pass it as an argument, or work on a copy"
    if ref.kind == "dict":
        return "change it before it becomes an item, or assign a new one: rows[k] = {**rows[k], 'x': x}"
    return (
        "assign a new row, M[i] = [...]; or make one array of all rows, M = np.zeros((m, n)), and write M[i, j]; to "
        "swap rows of an array, M[[i, k]] = M[[k, i]]"
    )


def assign(frame: Frame, ref: Ref, items: Iterable[AbstractValue], form: Form | None = None) -> None:
    """Assign new contents to an object. Refused if it must not be mutated."""
    if ref.protected:
        refusal = refuse(
            current_loc(),
            f"this {ref.cls.__name__} cannot be changed: {ref.protected}",
            _other_way(ref),
            kind=kinds.CAPTURED_WRITE,
        )
        if ref.protected == ITEM:
            raise OtherPools(lambda pools: pools.want_lists(pools.by_value), refusal)
        raise refusal
    frame.assigned_at[ref.key] = current_loc()
    for key in sorted(frame.heap.kin.get(ref.key, ())):
        other = frame.heap.refs[key]
        if other.caller or other.protected:
            frame.want_pool(ref)
            frame.want_list(ref)
            raise refuse(
                current_loc(),
                f"whether this {ref.cls.__name__} is the caller's is not known when the function is compiled",
                "give the two objects different names, or change a copy",
                kind=kinds.NOT_CONSTANT,
            )
        frame.env[key] = Poison(
            f"whether this {ref.cls.__name__} was changed under another name is not known when the function is "
            "compiled",
            (),
            "use the object by one name only after it was chosen in a branch or loop",
            kinds.NOT_CONSTANT,
        )
    frame.env[ref.key] = Contents(tuple(items), form or contents(frame, ref).form)


def relate(frame: Frame, a: Ref, b: Ref, apart: Collection[str] = ()) -> bool:
    """Note that ``a`` may be the object ``b``, or any that ``b`` may be, except those ``apart``. Whether this is
    new."""
    kin = frame.heap.kin
    more = ({b.key} | kin.get(b.key, set())) - {a.key, *apart} - kin.setdefault(a.key, set())
    kin[a.key] |= more
    for key in more:
        kin.setdefault(key, set()).add(a.key)
    return bool(more)


def may_be_one(frame: Frame, a: AbstractValue, b: AbstractValue) -> bool:
    """Whether it is not known if two objects are the same one."""
    if not isinstance(a, Ref) or not isinstance(b, Ref) or a is b:
        return False
    return b.key in frame.heap.kin.get(a.key, ()) or bool(a.protected or b.protected)


def merged(frame: Frame, a: Ref, b: Ref, apart: Collection[str] = ()) -> Ref:
    """A new object that stands for either ``a`` or ``b``."""
    reasons = [r.protected for r in (a, b) if r.protected]
    ref = reference(frame, Form(a.kind, a.cls), reasons[0] if reasons else "")
    del frame.heap.sites[ref.key]  # it was made where ``a`` or ``b`` was
    relate(frame, ref, a, apart)
    relate(frame, ref, b, apart)
    return ref


def refs_of(v: AbstractValue | None) -> Iterator[Ref]:
    """The objects that a value refers to directly."""
    if isinstance(v, Ref):
        yield v
    elif isinstance(v, Compound):
        for item in v.items:
            yield from refs_of(item)
    elif isinstance(v, Unbound):
        yield from refs_of(v.value)


def shown(frame: Frame, name: str) -> str:
    """The name of a variable in messages, or of an object by a variable that refers to it."""
    if not is_cell(name):
        return f"'{name}'"
    for variable, value in frame.env.items():
        if not is_cell(variable) and not variable.startswith("<") and any(r.key == name for r in refs_of(value)):
            return f"'{variable}'"
    ref = frame.heap.refs.get(name)
    return f"this {ref.cls.__name__}" if ref is not None else "this object"


def parting(frame: Frame, item: AbstractValue) -> str:
    """The variable that has a dict which becomes an item and under this name is not changed any more."""
    if not isinstance(item, Ref) or item.kind != "dict" or not frame.parting:
        return ""
    gathers = frame.source.node.args.kwarg  # a dict of keyword arguments, which no caller has
    return frame.parting if not item.caller or (gathers and gathers.arg == frame.parting) else ""


def changed(before: Mapping[str, AbstractValue], after: Mapping[str, AbstractValue]) -> list[str]:
    """The objects, by key, whose contents have changed."""
    return [name for name, v in before.items() if is_cell(name) and after.get(name) is not v]


# Packing --------------------------------------------------------------------------------------------------------------

UNCHANGED = Static(object())  # in the outcome of a call: unchanged


def pack(frame: Frame, values: Sequence[AbstractValue], numbers: dict[str, int]) -> list[AbstractValue]:
    """Values with the objects in them taken apart. ``numbers`` has the numbers of known objects, by key; the others are
    added."""

    def packed(v: AbstractValue) -> AbstractValue:
        if isinstance(v, Ref):
            if v.key in numbers:
                return Contents((), Form(v.kind, v.cls, (), numbers[v.key], again=True))
            kin = tuple(sorted(numbers[k] for k in frame.heap.kin.get(v.key, ()) if k in numbers))
            number = numbers[v.key] = len(numbers)
            held = contents(frame, v)
            return Contents(tuple(map(packed, held.items)), held.form.numbered(number, v.protected, kin))
        if isinstance(v, Closure):
            v = frame.tracer.captured(v)
        if isinstance(v, Compound):
            return v.of(map(packed, v.items))
        return v

    return [packed(v) for v in values]


def unpack(
    frame: Frame, v: AbstractValue, refs: dict[int, Ref], *, given: bool = False, part: str = ""
) -> AbstractValue:
    """A packed value with its objects. ``refs`` has the known objects, by number.

    ``given``: they are the caller's. ``part``: of which attribute the value is.
    """
    if isinstance(v, Contents) and v.form.number >= 0:
        number = v.form.number
        if v.form.again:
            return refs[number]
        ref = refs[number] = reference(frame, v.form, v.form.protected, caller=given)
        frame.heap.parts[ref.key] = part
        for other in v.form.kin:
            relate(frame, ref, refs[other])
        if given:
            frame.heap.given.append((ref, v))  # in the order of their numbers
            place = len(frame.heap.given) - 1
        items = (unpack(frame, i, refs, given=given, part=_part(v, k, part)) for k, i in enumerate(v.items))
        held = Contents(tuple(items), v.form.plain())
        frame.env[ref.key] = held
        if given:
            frame.heap.given[place] = (ref, held)
        return ref
    if isinstance(v, Compound):
        return v.of(unpack(frame, item, refs, given=given, part=part) for item in v.items)
    return v


def _part(held: Contents, position: int, part: str) -> str:
    """Of which attribute an item is, if the object is of ``part``."""
    return f"{part}.{held.form.names[position]}" if held.form.kind == "object" else part


def outcome(frame: Frame, result: AbstractValue, *, keeps: bool = False) -> Tuple:
    """A function's outcome, packed: its result and, for each of the caller's objects, its contents at the end.

    ``keeps``: the caller keeps the objects in pools, so objects that may be the same one must be in a pool here.
    """
    given = frame.heap.given
    numbers = {ref.key: n for n, (ref, _) in enumerate(given)}
    found = [result]
    for ref, before in given:
        now = contents(frame, ref)
        if now is before:
            found.append(UNCHANGED)
        else:
            items = [UNCHANGED if _item(before, now.form, k) is item else item for k, item in enumerate(now.items)]
            found.append(now.of(items))
    left = Tuple(tuple(pack(frame, found, numbers)))
    for key in [*numbers][len(given) :] if keeps else ():
        if not frame.heap.kin.get(key, set()).isdisjoint(numbers):
            frame.want_pool(frame.heap.refs[key])
    return left


def check_result(frame: Frame, result: AbstractValue) -> None:
    """Refuse to return an object from outside the function to Python, which would get another object."""
    given = {ref.key for ref, _ in frame.heap.given}
    work, seen = [result], set()
    while work:
        for ref in refs_of(work.pop()):
            if ref.key in seen:
                continue
            seen.add(ref.key)
            if ref.protected and ref.key not in given:
                raise refuse(
                    current_loc(),
                    f"cannot return this {ref.cls.__name__}: {ref.protected}",
                    "return a copy",
                    kind=kinds.CANNOT_RETURN,
                )
            work.append(contents(frame, ref))


def _item(old: Contents, form: Form, position: int) -> AbstractValue | None:
    """The item at the same position before."""
    if form.kind == "list":
        return old.items[position] if position < len(old.items) else None
    return old.field(form.names[position])


def absorb(frame: Frame, left: AbstractValue, refs: Sequence[Ref]) -> AbstractValue:
    """Apply the outcome of a call, and return its result. ``refs`` are the objects that were passed, by number."""
    assert isinstance(left, Tuple)
    known = dict(enumerate(refs))
    result = unpack(frame, left.items[0], known)
    for ref, now in zip(refs, left.items[1:], strict=True):
        if not is_unchanged(now):
            assert isinstance(now, Contents)
            old = contents(frame, ref)
            items = []
            for k, item in enumerate(now.items):
                part = _part(now, k, frame.heap.parts.get(ref.key, ""))
                kept = _item(old, now.form, k) if is_unchanged(item) else unpack(frame, item, known, part=part)
                assert kept is not None
                items.append(kept)
            assign(frame, ref, items, now.form)
    return result


def is_unchanged(v: AbstractValue) -> bool:
    return isinstance(v, Static) and v.value is UNCHANGED.value
